/* SPDX-License-Identifier: Apache-2.0 */
/* steptime import nccl-topo */
#include "launch/cli/verbs.h"

#include "base/error_scope.h"
#include "steptime/keys.h"
#include "steptime/tool/input_files.h"
#include "launch/import/import.h"
#include "steptime/job.h"

typedef struct import_topology_options {
    const char *gpu;
    uint64_t nodes;
} import_topology_options;

static const cli_option option_rows[] = {
    CLI_TEXT(import_topology_options, gpu, "gpu", "NAME",
             "the GPU of the cluster; 'steptime list gpus' lists them"),
    CLI_COUNT(import_topology_options, nodes, "nodes", 1, CLI_MOST_GIVEN,
              "the number of nodes in the cluster"),
    CLI_ROW_PATH,
    CLI_ROW_OUTPUT,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime import nccl-topo topo.xml --gpu h100-sxm --nodes 16 -o my-cluster.yaml",
     "16 nodes like the one that NCCL_TOPO_DUMP_FILE described"},
    {"steptime import nccl-topo /var/run/nvidia-topologyd/virtualTopology.xml",
     "the topology file of a cloud node"},
    {NULL, NULL},
};

static bool move_to_option(const void *context, st_errors *errors, st_error *error)
{
    (void)context;
    (void)errors;
    if (error->place.line == 0)
        error->place = (st_place){.file = "--gpu"};
    return true;
}

static int run_topology(cli_run *run)
{
    st_source source = {0};
    const import_topology_options *options = run->options;
    st_topology_request request = {.gpu = options->gpu, .nodes = (size_t)options->nodes};
    st_status status = ST_OK;
    if (request.gpu != NULL) {
        /* The GPU must be one that a job finds; its compute capability is compared with the file's.
         */
        const st_job *job = NULL;
        st_error_scope scope = {.edit = move_to_option};
        const char *set = st_arena_printf(run->arena, ST_KEY_CLUSTER_GPU "=%s", request.gpu);
        st_status gpu_status = set != NULL ? cli_paths(run) : ST_ERR_MEMORY;
        st_errors_enter(run->errors, &scope);
        if (gpu_status == ST_OK)
            gpu_status = st_job_load(run->paths, NULL, &set, 1, run->arena, &job, run->errors);
        st_errors_leave(run->errors, &scope);
        const struct {
            const char *key;
            double *number;
        } wanted[] = {{ST_KEY_CLUSTER_GPU_COMPUTE_CAPABILITY, &request.compute_capability},
                      {ST_KEY_CLUSTER_GPU_LINK_BANDWIDTH, &request.link_bandwidth}};
        for (size_t i = 0; gpu_status == ST_OK && i < ST_COUNT(wanted); i++) {
            const st_job_value *value = st_job_value_of(job, wanted[i].key);
            bool is_known = value != NULL && value->origin != ST_ORIGIN_NONE;
            *wanted[i].number = is_known ? value->number : 0;
        }
        status = gpu_status;
    }
    if (status == ST_OK)
        status = st_file_read_foreign(run->arguments[0], (st_place){0}, run->arena, &source,
                                      run->errors);
    request.file = source.file;
    request.text = source.text;
    request.length = source.length;
    if (status == ST_OK)
        status = st_import_nccl_topology(&request, &run->result, run->errors);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_import_topology = {
    .name = "import nccl-topo",
    .arguments = "FILE",
    .words = {CLI_WORD_FILE, CLI_WORD_NONE},
    .summary = "describe a cluster from a topology file of NCCL",
    .doc = "Reads the XML that NCCL writes with NCCL_TOPO_DUMP_FILE or reads with NCCL_TOPO_FILE, "
           "and describes a cluster of such nodes: GPUs per node, their NVLinks, network "
           "ports and their speed. Without NVLinks in the file, the links are those of --gpu. "
           "Values that the file lacks are left to fill in. FILE may be - for standard input.",
    .examples = examples,
    CLI_OPTIONS(option_rows, import_topology_options),
    .run = run_topology,
};

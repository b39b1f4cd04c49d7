/* SPDX-License-Identifier: Apache-2.0 */
/* steptime export */
#include "launch/cli/verbs.h"
#include "launch/frameworks/formats.h"

typedef struct export_options {
    st_export_options launch;
} export_options;

static const cli_option option_rows[] = {
    CLI_TEXT(export_options, launch.version, "target-version", "VERSION",
             "release of the framework that will run it; default: the newest that is known"),
    CLI_FLAG(export_options, launch.is_batch, "slurm", "write a script for sbatch that starts it"),
    CLI_ROW_SET,
    CLI_ROW_PATH,
    CLI_ROW_OUTPUT,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime export megatron llama3-8b-8xh100 -o run.sh",
     "a shell script with the arguments of Megatron-LM"},
    {"steptime export torchtitan llama3-8b-8xh100 -o run.toml", "a configuration of torchtitan"},
    {"steptime export deepspeed gpt-3b-32x3090 --set parallel.zero=1 -o ds_config.json",
     "a configuration of DeepSpeed, and the arguments of Megatron-DeepSpeed"},
    {"steptime import torchtitan run.toml", "the same job again"},
    {NULL, NULL},
};

static int run_export(cli_run *run)
{
    const export_options *given = run->options;
    st_status status = cli_paths(run);
    const st_request request = {.job = run->arguments[1],
                                .sets = run->common.sets.items,
                                .set_count = run->common.sets.count};
    if (status == ST_OK)
        status = st_format_export(run->arguments[0], run->paths, &request, &given->launch,
                                  &run->result, run->errors);
    /* What `estimate` refuses is written to no file. */
    if (status != ST_OK)
        st_buffer_free(&run->result);
    return status == ST_ERR_CHECK ? CLI_FAILED : cli_exit_code(run, status);
}

const cli_verb cli_verb_export = {
    .name = "export",
    .arguments = "FRAMEWORK JOB",
    .words = {CLI_WORD_CHOICE, CLI_WORD_JOB},
    .choices = "megatron megatron-bridge torchtitan deepspeed",
    .summary = "write the arguments or the configuration that run a job's plan",
    .doc =
        "FRAMEWORK is megatron (a shell script with the arguments of Megatron-LM), "
        "megatron-bridge (overrides of a recipe, in YAML), torchtitan (TOML) or deepspeed (JSON, "
        "and the arguments of Megatron-DeepSpeed that go with it).\n\n"
        "Values without an option in the framework (the cluster, constants, shares of overlap) are "
        "written as comments, so that 'steptime import FRAMEWORK' restores the same job; standard "
        "error lists them. A plan that the framework cannot run is refused, with the nearest plan "
        "that it can run.",
    .examples = examples,
    CLI_OPTIONS(option_rows, export_options),
    .run = run_export,
};

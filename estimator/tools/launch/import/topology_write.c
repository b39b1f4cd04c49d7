/* SPDX-License-Identifier: Apache-2.0 */
/* A topology as the description of a cluster; see topology.h. */
#include "launch/import/topology.h"

#include "base/number.h"
#include "base/utf8.h"

#include <math.h>
#include <string.h>

/* Rates of one NVLink per direction, from the data sheets of the GPUs that have them. */
static const struct {
    unsigned from_sm;
    double giga_per_s;
    const char *sheets;
} link_rates[] = {
    {100, 50, "NVLink 5"}, {90, 25, "NVLink 4"}, {80, 25, "NVLink 3"},
    {70, 25, "NVLink 2"},  {60, 20, "NVLink 1"},
};

/* A text of the file or of the command line on a line of a comment or of a quoted value. */
static void write_plain(const char *text, st_buffer *buffer)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length;) {
        uint32_t code = 0;
        size_t bytes = st_utf8_decode(text + i, length - i, &code);
        if (bytes == 0 || st_utf8_is_control(code) || code == '"' || code == '\\')
            st_buffer_text(buffer, "?");
        else
            st_buffer_append(buffer, text + i, bytes);
        i += bytes == 0 ? 1 : bytes;
    }
}

static const char *significant(double value, char *text)
{
    return st_number_significant(value, 6, text, ST_QUANTITY_TEXT);
}

/* The bandwidth of one GPU to the others of its node. */
static void write_links(const st_topology_gpu *gpu, st_buffer *buffer)
{
    char rate[ST_QUANTITY_TEXT];
    char each[ST_QUANTITY_TEXT];
    for (size_t i = 0; gpu->nvlinks > 0 && i < ST_COUNT(link_rates); i++) {
        if (gpu->sm < link_rates[i].from_sm)
            continue;
        st_buffer_printf(buffer,
                         "  link_bandwidth: {value: %s GB/s, source: \"%u %s of %s GB/s\"}\n",
                         significant(gpu->nvlinks * link_rates[i].giga_per_s, rate), gpu->nvlinks,
                         link_rates[i].sheets, significant(link_rates[i].giga_per_s, each));
        return;
    }
    if (gpu->nvlinks > 0)
        st_buffer_printf(
            buffer,
            "  # %u NVLinks of a GPU of unknown compute capability; fill in link_bandwidth\n",
            gpu->nvlinks);
    else if (gpu->pcie_mbit_per_s > 0)
        st_buffer_printf(buffer,
                         "  link_bandwidth: {value: %s GB/s, source: PCIe as NCCL counts it}\n",
                         significant(gpu->pcie_mbit_per_s / 8000, rate));
    else
        st_buffer_text(buffer, "  # neither NVLinks nor a PCIe link; fill in link_bandwidth\n");
}

/* The NICs of one node. */
static void write_nics(const st_topology *topology, st_buffer *buffer)
{
    char text[ST_QUANTITY_TEXT];
    char each[ST_QUANTITY_TEXT];
    double total = 0;
    double first = topology->net_count > 0 ? topology->nets[0].mbit_per_s : 0;
    size_t silent = 0;
    bool same = true;
    for (size_t i = 0; i < topology->net_count; i++) {
        total += topology->nets[i].mbit_per_s;
        silent += topology->nets[i].mbit_per_s > 0 ? 0 : 1;
        same = same && topology->nets[i].mbit_per_s == first;
    }
    size_t count = topology->net_count / topology->hosts;
    if (topology->net_count == 0) {
        st_buffer_text(buffer, "# no network; fill in nic_bandwidth\n");
    } else if (silent > 0) {
        st_buffer_printf(buffer, "# %zu of %zu NICs of unknown speed; fill in nic_bandwidth\n",
                         silent, topology->net_count);
    } else {
        st_buffer_printf(buffer, "nic_bandwidth: {value: %s GB/s, source: \"%zu network ports",
                         significant(total / 8000 / (double)topology->hosts, text), count);
        if (same)
            st_buffer_printf(buffer, " of %s Gbit/s", significant(first / 1000, each));
        st_buffer_text(buffer, "\"}\n");
    }
}

static st_status check(const st_topology *topology, const st_topology_request *request,
                       st_errors *errors)
{
    size_t gpus = topology->gpu_count;
    if (gpus == 0)
        return st_fail(errors, ST_ERR_VALUE, (st_place){.file = request->file},
                       "the topology has no GPU");
    unsigned sm = topology->gpus[0].sm;
    unsigned named = request->gpu != NULL ? (unsigned)lround(request->compute_capability * 10) : 0;
    if (named > 0 && sm > 0 && named != sm)
        return st_fail(errors, ST_ERR_VALUE, (st_place){.file = request->file},
                       "the GPUs of the file are not %s" ST_FOUND
                       "compute capability %u.%u, and %u.%u of %s",
                       request->gpu, sm / 10, sm % 10, named / 10, named % 10, request->gpu);
    if (gpus % topology->hosts != 0)
        return st_fail(errors, ST_ERR_VALUE, (st_place){.file = request->file},
                       "the number of GPUs is not a multiple of that of hosts" ST_FOUND
                       "%zu GPUs of %zu hosts",
                       gpus, topology->hosts);
    for (size_t i = 1; i < gpus; i++) {
        const st_topology_gpu *gpu = &topology->gpus[i];
        if (gpu->sm != topology->gpus[0].sm)
            return st_fail(
                errors, ST_ERR_VALUE, (st_place){.file = request->file},
                "the GPUs are not all of one kind" ST_FOUND "compute capabilities %u.%u and %u.%u",
                topology->gpus[0].sm / 10, topology->gpus[0].sm % 10, gpu->sm / 10, gpu->sm % 10);
        if (gpu->nvlinks != topology->gpus[0].nvlinks)
            return st_fail(errors, ST_ERR_VALUE, (st_place){.file = request->file},
                           "the GPUs have different numbers of NVLinks" ST_FOUND "%u and %u",
                           topology->gpus[0].nvlinks, gpu->nvlinks);
    }
    return ST_OK;
}

st_status st_topology_write(const st_topology *topology, const st_topology_request *request,
                            st_buffer *cluster, st_errors *errors)
{
    st_status status = check(topology, request, errors);
    if (status != ST_OK)
        return status;
    st_buffer_text(cluster, "# Written by steptime import nccl-topo from ");
    write_plain(request->file, cluster);
    st_buffer_text(cluster, "\nname: \"Cluster of ");
    write_plain(request->file, cluster);
    st_buffer_text(cluster, "\"\nsource: \"NCCL topology file ");
    write_plain(request->file, cluster);
    st_buffer_printf(cluster, "\"\nnodes: %zu%s\ngpus_per_node: %zu\n",
                     request->nodes > 0 ? request->nodes : topology->hosts,
                     request->nodes > 0 ? "" : " # those of the file",
                     topology->gpu_count / topology->hosts);
    write_nics(topology, cluster);
    const st_topology_gpu *gpu = &topology->gpus[0];
    st_buffer_text(cluster, "gpu:\n");
    if (request->gpu != NULL) {
        st_buffer_text(cluster, "  base: \"");
        write_plain(request->gpu, cluster);
        st_buffer_text(cluster, "\"\n");
    } else {
        st_buffer_text(cluster, "  # the file does not name the GPU");
        if (gpu->sm > 0)
            st_buffer_printf(cluster, ", only its compute capability, %u.%u", gpu->sm / 10,
                             gpu->sm % 10);
        st_buffer_text(cluster, ": give --gpu NAME, or write 'base: NAME'\n");
    }
    write_links(gpu, cluster);
    return cluster->failed ? ST_ERR_MEMORY : ST_OK;
}

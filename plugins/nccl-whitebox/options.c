/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the plugin: what NCCL and the machine are, and factors that measurements adjust. */
#include "settings.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TUNING       "NCCL 2.22.3, 2.30.7 src/graph/tuning.cc"

#define CHOICE(id, list, first, text)                                                              \
    static const st_plugin_option id = {.struct_size = sizeof(st_plugin_option),                   \
                                        .kind = ST_PLUGIN_CHOICE,                                  \
                                        .name = #id,                                               \
                                        .unit = "",                                                \
                                        .choices = (list),                                         \
                                        .default_text = (first),                                   \
                                        .doc = (text),                                             \
                                        .cite = TUNING}

/* A number of NCCL's that a fit may multiply; `deviation` is that of its logarithm beforehand. */
#define FACTOR(id, text, deviation)                                                                \
    static const st_plugin_option id = {.struct_size = sizeof(st_plugin_option),                   \
                                        .kind = ST_PLUGIN_NUMBER,                                  \
                                        .flags = ST_PLUGIN_CALIBRATED,                             \
                                        .name = #id,                                               \
                                        .unit = "",                                                \
                                        .default_text = "1",                                       \
                                        .minimum = 0.01,                                           \
                                        .maximum = 100.0,                                          \
                                        .doc = text "; prior: log sd " deviation,                  \
                                        .cite = "steptime plugins/nccl-whitebox/README.md"}

CHOICE(model, "structure echo", "structure",
       "NCCL's own structure, or the equations of Echo over a table of measurements");
CHOICE(version, "2.22.3 2.30.7", "2.22.3", "version of NCCL whose constants count");
CHOICE(arch, "auto volta ampere hopper blackwell", "auto",
       "architecture of the GPU; auto: from cluster.gpu.compute_capability, Ampere without it");
CHOICE(link, "auto nvlink pcie", "auto",
       "links between the GPUs of a machine; auto: NVLink from 70 GB/s");
CHOICE(cpu, "intel amd other", "intel", "processor of the machines");
CHOICE(algorithm, "auto tree ring nvls nvls-tree pat", "auto", "the only algorithm allowed");
CHOICE(protocol, "auto ll ll128 simple", "auto", "the only protocol allowed");
CHOICE(nvls, "auto off on", "auto",
       "reduction in the NVLink switch; auto: from Hopper, where a machine has 8 GPUs or more");
CHOICE(echo_reading, "round operation", "round",
       "what a row of the table of Echo is: times of one round, or of the whole operation");

static const st_plugin_option channels = {
    .struct_size = sizeof(st_plugin_option),
    .kind = ST_PLUGIN_NUMBER,
    .name = "channels",
    .unit = "",
    .default_text = "0",
    .minimum = 0.0,
    .maximum = 64.0,
    .doc = "channels of a communicator; 0: as NCCL counts them",
    .cite = "NCCL 2.22.3 src/graph/connect.cc",
};
static const st_plugin_option echo_table = {
    .struct_size = sizeof(st_plugin_option),
    .kind = ST_PLUGIN_TEXT,
    .name = "echo_table",
    .unit = "",
    .default_text = "echo-table6.csv",
    .doc = "file in the plugin's folder with the times of model: echo",
    .cite = "echo Table 6",
};

FACTOR(setup_ll, "base latency of LL kernels", "0.6");
FACTOR(setup_ll128, "base latency of LL128 kernels", "0.6");
FACTOR(setup_simple, "base latency of Simple kernels", "0.6");
FACTOR(latency_ll, "latency of LL per hop", "0.7");
FACTOR(latency_ll128, "latency of LL128 per hop", "0.7");
FACTOR(latency_simple, "latency of Simple per hop", "0.7");
FACTOR(bandwidth_ll, "rate of LL", "0.4");
FACTOR(bandwidth_ll128, "rate of LL128", "0.4");
FACTOR(bandwidth_simple, "rate of Simple", "0.4");
FACTOR(tree_latency, "latency per hop of trees, besides latency_*", "0.2");
FACTOR(tree_bandwidth, "rate of trees, besides bandwidth_*", "0.2");
FACTOR(nvls_latency, "latency of NVLS and NVLS trees", "0.5");
FACTOR(nvls_bandwidth, "rate of NVLS and NVLS trees", "0.3");
FACTOR(net_latency, "latency per hop between machines, besides the others", "0.5");
FACTOR(net_bandwidth, "rate of groups that leave a machine, besides the others", "0.4");

static const st_plugin_option small_group = {
    .struct_size = sizeof(st_plugin_option),
    .kind = ST_PLUGIN_NUMBER,
    .flags = ST_PLUGIN_CALIBRATED,
    .name = "small_group",
    .unit = "",
    .default_text = "0.3",
    .minimum = 0.0,
    .maximum = 0.9,
    .doc = "loss of rate, times 1/ranks; prior: sd 0.1",
    .cite = "steptime docs/megatron.md#constants",
};
static const st_plugin_option sharpness = {
    .struct_size = sizeof(st_plugin_option),
    .kind = ST_PLUGIN_NUMBER,
    .flags = ST_PLUGIN_CALIBRATED,
    .name = "sharpness",
    .unit = "",
    .default_text = "32",
    .minimum = 1.0,
    .maximum = 1000.0,
    .doc = "exponent of the power mean over the protocols, large: their minimum; prior: log sd 1.0",
    .cite = "steptime plugins/nccl-whitebox/README.md",
};

const st_plugin_option *const st_nccl_options[ST_NCCL_OPTION_COUNT] = {
    &model,
    &version,
    &arch,
    &link,
    &cpu,
    &algorithm,
    &protocol,
    &nvls,
    &echo_reading,
    &channels,
    &echo_table,
    &setup_ll,
    &setup_ll128,
    &setup_simple,
    &latency_ll,
    &latency_ll128,
    &latency_simple,
    &bandwidth_ll,
    &bandwidth_ll128,
    &bandwidth_simple,
    &tree_latency,
    &tree_bandwidth,
    &nvls_latency,
    &nvls_bandwidth,
    &net_latency,
    &net_bandwidth,
    &small_group,
    &sharpness,
};

/* Index of the first factor in the list above. */
#define FIRST_FACTOR 11

void st_nccl_read_settings(const st_plugin_host *host, st_nccl_settings *settings)
{
    static const int nvls_modes[] = {ST_NCCL_ANY, 0, 1};
    const st_plugin_setting *const *given = host->settings;
    st_nccl_factors *f = &settings->factors;
    double *const factors[] = {
        &f->setup[0],       &f->setup[1],     &f->setup[2],       &f->latency[0],
        &f->latency[1],     &f->latency[2],   &f->bandwidth[0],   &f->bandwidth[1],
        &f->bandwidth[2],   &f->tree_latency, &f->tree_bandwidth, &f->nvls_latency,
        &f->nvls_bandwidth, &f->net_latency,  &f->net_bandwidth,  &f->small_group,
        &f->sharpness,
    };
    settings->host = host;
    settings->model = (int)given[0]->number;
    settings->choices.version = (int)given[1]->number;
    settings->arch = (int)given[2]->number - 1;
    settings->link = (int)given[3]->number - 1;
    settings->choices.cpu = (int)given[4]->number;
    settings->choices.algorithm = (int)given[5]->number - 1;
    settings->choices.protocol = (int)given[6]->number - 1;
    settings->choices.nvls = nvls_modes[(int)given[7]->number];
    settings->reading = (int)given[8]->number;
    settings->choices.channels = given[9]->number;
    for (size_t i = 0; i < COUNT(factors); i++) {
        *factors[i] = given[FIRST_FACTOR + i]->number;
    }
}

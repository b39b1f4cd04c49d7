/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the plugin: what NCCL and the machine are, and factors that measurements adjust. */
#include "settings.h"

#include <string.h>

#define TUNING "NCCL 2.22.3, 2.30.7 src/graph/tuning.cc"

#define CHOICE(id, list, first, text)                                                              \
    const st_plugin_option st_nccl_option_##id = {.struct_size = sizeof(st_plugin_option),         \
                                                  .kind = ST_PLUGIN_CHOICE,                        \
                                                  .name = #id,                                     \
                                                  .unit = "",                                      \
                                                  .choices = (list),                               \
                                                  .default_text = (first),                         \
                                                  .doc = (text),                                   \
                                                  .cite = TUNING}

/* A number that a fit to measured tables sets. */
#define FITTED(id, shown, initial, least, most, text, source)                                      \
    static const st_plugin_option id = {.struct_size = sizeof(st_plugin_option),                   \
                                        .kind = ST_PLUGIN_NUMBER,                                  \
                                        .flags = ST_PLUGIN_CALIBRATED,                             \
                                        .name = #id,                                               \
                                        .unit = shown,                                             \
                                        .default_text = initial,                                   \
                                        .minimum = least,                                          \
                                        .maximum = most,                                           \
                                        .doc = text,                                               \
                                        .cite = source}
#define DIGITS(number) #number
#define TEXT(number)   DIGITS(number)
#define README         "steptime plugins/nccl-whitebox/README.md"
/* A number of NCCL's that a fit may multiply; `deviation` is that of its logarithm beforehand. */
#define FACTOR(id, text, deviation)                                                                \
    FITTED(id, "", "1", 0.2, 20.0, text "; prior: log sd " deviation, README)
#define RATE_PRIOR         "; prior: log sd 0.5"
#define RATE(id, text)     FITTED(id, "GB/s", "0 GB/s", 0.0, 1e15, text RATE_PRIOR, README)
#define TRANSFER(id, text) FITTED(id, "", "1", 0.0, 1.0, text, README)

CHOICE(model, "structure echo", "structure",
       "NCCL's own structure, or the equations of Echo over a table of measurements");
CHOICE(version, "auto 2.22.3 2.27.3 2.28.3 2.29.2 2.30.7", "auto",
       "version of NCCL whose constants count, of one in between the one before it; auto: 2.22.3, "
       "2.29.2 for Blackwell");
CHOICE(arch, "auto volta ampere hopper blackwell", "auto",
       "architecture of the GPU; auto: from cluster.gpu.compute_capability");
CHOICE(link, "auto nvlink pcie", "auto",
       "links between the GPUs of a machine; auto: NVLink from 70 GB/s");
CHOICE(cpu, "intel amd other", "intel", "processor of the machines");
CHOICE(algorithm, "auto tree ring nvls nvls-tree pat", "auto", "the only algorithm allowed");
CHOICE(protocol, "auto ll ll128 simple", "auto", "the only protocol allowed");
CHOICE(nvls, "auto off on", "auto",
       "reduction in the NVLink switch; auto: from Hopper, where a machine has 8 GPUs or more");
CHOICE(echo_reading, "round operation", "round",
       "what a row of the table of Echo is: times of one round, or of the whole operation");

const st_plugin_option st_nccl_option_channels = {
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
    .doc =
        "file with alpha, beta, gamma and delta of model: echo, in the plugin's folder or, with a "
        "slash in its name, anywhere",
    .cite = "echo Table 6",
};

FACTOR(setup_ll, "base latency of LL kernels", "0.2");
FACTOR(setup_ll128, "base latency of LL128 kernels", "0.2");
FACTOR(setup_simple, "base latency of Simple kernels", "0.2");
FACTOR(latency_ll, "latency of LL per hop", "0.2");
FACTOR(latency_ll128, "latency of LL128 per hop", "0.2");
FACTOR(latency_simple, "latency of Simple per hop", "0.2");
FACTOR(bandwidth_ll, "rate of LL", "0.12");
FACTOR(bandwidth_ll128, "rate of LL128", "0.12");
FACTOR(bandwidth_simple, "rate of Simple", "0.12");
FACTOR(tree_latency, "latency per hop of trees, besides latency_*", "0.1");
FACTOR(tree_bandwidth, "rate of trees, besides bandwidth_*", "0.08");
FACTOR(net_setup_ll, "base latency of LL kernels across machines", "0.4");
FACTOR(net_setup_ll128, "base latency of LL128 kernels across machines", "0.4");
FACTOR(net_setup_simple, "base latency of Simple kernels across machines", "0.4");
FACTOR(net_latency_ll, "latency of LL per hop across machines", "0.4");
FACTOR(net_latency_ll128, "latency of LL128 per hop across machines", "0.4");
FACTOR(net_latency_simple, "latency of Simple per hop across machines", "0.4");
FACTOR(net_bandwidth_ll, "rate of LL across machines", "0.25");
FACTOR(net_bandwidth_ll128, "rate of LL128 across machines", "0.25");
FACTOR(net_bandwidth_simple, "rate of Simple across machines", "0.25");
FACTOR(net_tree_latency, "latency per hop of trees and NVLS trees across machines", "0.3");
FACTOR(net_tree_bandwidth, "their rate", "0.2");
FACTOR(nvls_latency, "latency of NVLS inside a machine", "0.1");
FACTOR(nvls_bandwidth, "its rate", "0.05");

FITTED(small_group, "", TEXT(ST_NCCL_SMALL_GROUP), 0.0, 0.9,
       "loss of rate, times 1/ranks; prior: sd 0.03", "steptime docs/megatron.md#constants");
RATE(link_rate, "what a GPU reaches of the others of its machine; stands in for "
                "cluster.gpu.link_bandwidth up to 69 GB/s");
RATE(nic_rate, "NICs of a machine, for each of its GPUs, one direction; stands in for "
               "cluster.nic_bandwidth");

TRANSFER(small_transfer, "share of the calibration that messages below 1 MiB take in groups of one "
                         "machine which were not measured; chosen by what was left out");
TRANSFER(transfer, "the same of messages from 1 MiB; chosen by what was left out");
TRANSFER(net_small_transfer,
         "the same below 1 MiB in groups of several machines; chosen by what was "
         "left out");
TRANSFER(net_transfer, "the same from 1 MiB in groups of several machines; chosen by what was left "
                       "out");

/* Not for a fit: setup_* take it up, each for its protocol. */
static const st_plugin_option offset = {
    .struct_size = sizeof(st_plugin_option),
    .kind = ST_PLUGIN_NUMBER,
    .name = "offset",
    .unit = "us",
    .default_text = "0 us",
    .minimum = 0.0,
    .maximum = 0.01,
    .doc = "time before every kernel, such as the start of a group call",
    .cite = "steptime plugins/nccl-whitebox/README.md",
};
static const st_plugin_option sharpness = {
    .struct_size = sizeof(st_plugin_option),
    .kind = ST_PLUGIN_NUMBER,
    .flags = ST_PLUGIN_CALIBRATED,
    .name = "sharpness",
    .unit = "",
    .default_text = TEXT(ST_NCCL_SHARPNESS),
    .minimum = 1.0,
    .maximum = 1000.0,
    .doc = "exponent of the power mean over the protocols, large: their minimum; prior: log sd 0.5",
    .cite = "steptime plugins/nccl-whitebox/README.md",
};

/* A text that a fit writes: the rest that the factors leave. */
static const st_plugin_option correction = {
    .struct_size = sizeof(st_plugin_option),
    .kind = ST_PLUGIN_TEXT,
    .flags = ST_PLUGIN_CALIBRATED,
    .name = "correction",
    .unit = "",
    .default_text = "",
    .doc = "factors of the time by size: RANKS/NODES SIZE=FACTOR ...; RANKS/NODES ...",
    .cite = "steptime plugins/nccl-whitebox/README.md",
};

const st_plugin_option *const st_nccl_options[ST_NCCL_OPTION_COUNT] = {
    &st_nccl_option_model,
    &st_nccl_option_version,
    &st_nccl_option_arch,
    &st_nccl_option_link,
    &st_nccl_option_cpu,
    &st_nccl_option_algorithm,
    &st_nccl_option_protocol,
    &st_nccl_option_nvls,
    &st_nccl_option_echo_reading,
    &st_nccl_option_channels,
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
    &net_setup_ll,
    &net_setup_ll128,
    &net_setup_simple,
    &net_latency_ll,
    &net_latency_ll128,
    &net_latency_simple,
    &net_bandwidth_ll,
    &net_bandwidth_ll128,
    &net_bandwidth_simple,
    &net_tree_latency,
    &net_tree_bandwidth,
    &small_group,
    &offset,
    &sharpness,
    &link_rate,
    &nic_rate,
    &small_transfer,
    &transfer,
    &net_small_transfer,
    &net_transfer,
    &correction,
};

static const st_plugin_setting *setting(const st_plugin_host *host, const char *name)
{
    for (size_t i = 0; i < host->setting_count; i++) {
        if (strcmp(host->settings[i]->name, name) == 0) {
            return host->settings[i];
        }
    }
    return NULL;
}

static double number(const st_plugin_host *host, const char *name, double without)
{
    const st_plugin_setting *found = setting(host, name);
    return found ? found->number : without;
}

/* Place of a choice whose first one is "auto". */
static int wish(const st_plugin_host *host, const char *name)
{
    return (int)number(host, name, 0.0) - 1;
}

const char *st_nccl_table_name(const st_plugin_host *host)
{
    const st_plugin_setting *found = setting(host, echo_table.name);
    return found ? found->text : echo_table.default_text;
}

const char *st_nccl_correction_text(const st_plugin_host *host)
{
    const st_plugin_setting *found = setting(host, correction.name);
    return found ? found->text : correction.default_text;
}

static void read_kind(const st_plugin_host *host, const st_plugin_option *const *options,
                      st_nccl_kind *kind)
{
    for (size_t i = 0; i < ST_NCCL_PROTOCOLS; i++) {
        kind->setup[i] = number(host, options[i]->name, 1.0);
        kind->latency[i] = number(host, options[3 + i]->name, 1.0);
        kind->bandwidth[i] = number(host, options[6 + i]->name, 1.0);
    }
    kind->tree_latency = number(host, options[9]->name, 1.0);
    kind->tree_bandwidth = number(host, options[10]->name, 1.0);
}

static void read_factors(const st_plugin_host *host, st_nccl_factors *factors)
{
    static const st_plugin_option *const inside[] = {
        &setup_ll,         &setup_ll128,    &setup_simple,  &latency_ll,
        &latency_ll128,    &latency_simple, &bandwidth_ll,  &bandwidth_ll128,
        &bandwidth_simple, &tree_latency,   &tree_bandwidth};
    static const st_plugin_option *const across[] = {
        &net_setup_ll,         &net_setup_ll128,    &net_setup_simple,  &net_latency_ll,
        &net_latency_ll128,    &net_latency_simple, &net_bandwidth_ll,  &net_bandwidth_ll128,
        &net_bandwidth_simple, &net_tree_latency,   &net_tree_bandwidth};
    read_kind(host, inside, &factors->inside);
    read_kind(host, across, &factors->across);
    factors->nvls_latency = number(host, nvls_latency.name, 1.0);
    factors->nvls_bandwidth = number(host, nvls_bandwidth.name, 1.0);
    factors->small_group = number(host, small_group.name, 0.0);
    factors->offset_us = 1e6 * number(host, offset.name, 0.0);
    factors->sharpness = number(host, sharpness.name, 0.0);
}

void st_nccl_read_settings(const st_plugin_host *host, st_nccl_settings *settings)
{
    static const int nvls_modes[] = {ST_NCCL_ANY, 0, 1};
    settings->host = host;
    settings->model = (int)number(host, "model", ST_NCCL_STRUCTURE);
    settings->reading = (int)number(host, "echo_reading", ST_ECHO_ROUND);
    settings->arch = wish(host, "arch");
    settings->link = wish(host, "link");
    settings->choices = (st_nccl_choices){
        .version = wish(host, "version"),
        .cpu = (int)number(host, "cpu", ST_NCCL_INTEL),
        .nvls = nvls_modes[(int)number(host, "nvls", 0.0)],
        .algorithm = wish(host, "algorithm"),
        .protocol = wish(host, "protocol"),
        .channels = number(host, "channels", 0.0),
    };
    settings->transfer[0][ST_NCCL_SMALL] = number(host, small_transfer.name, 1.0);
    settings->transfer[0][ST_NCCL_LARGE] = number(host, transfer.name, 1.0);
    settings->transfer[1][ST_NCCL_SMALL] = number(host, net_small_transfer.name, 1.0);
    settings->transfer[1][ST_NCCL_LARGE] = number(host, net_transfer.name, 1.0);
    settings->link_rate = number(host, link_rate.name, 0.0);
    settings->nic_rate = number(host, nic_rate.name, 0.0);
    read_factors(host, &settings->factors);
}

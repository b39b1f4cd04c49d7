/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the plugin: what NCCL and the machine are, and factors that measurements adjust. */
#include "settings.h"

#include <stdio.h>
#include <string.h>

#define DIGITS(number) #number
#define TEXT(number)   DIGITS(number)
#define README         "steptime plugins/nccl-whitebox/README.md"
#define ECHO_TABLE     "echo-table6.csv"
/* A number of NCCL's that a fit may multiply; `deviation` is that of its logarithm beforehand. */
#define FACTOR(id, words, deviation)                                                               \
    OPTION_FITTED(id, "", "1", 0.2, 20.0, words "; prior: log sd " deviation, README)
#define RATE(id, words)                                                                            \
    OPTION_FITTED(id, "GB/s", "0 GB/s", 0.0, 1e15, words "; prior: log sd 0.5", README)
#define TRANSFER(id, words) OPTION_FITTED(id, "", "1", 0.0, 1.0, words, README)

const st_plugin_option *const st_nccl_options[ST_NCCL_OPTION_COUNT] = {
    ST_NCCL_CHOICE("model", "structure echo", "structure",
                   "NCCL's own structure, or the equations of Echo over a table of measurements"),
    ST_NCCL_MACHINE_OPTIONS,
    ST_NCCL_CHOICE(
        "echo_reading", "round operation", "round",
        "meaning of a row in the table of Echo: times of one round, or of the whole operation"),
    ST_NCCL_CHANNELS_OPTION,
    OPTION_TEXT(0, "echo_table", ECHO_TABLE,
                "file with alpha, beta, gamma and delta of model: echo, in the plugin's folder or, "
                "with a slash in its name, anywhere",
                "echo Table 6"),
    FACTOR("setup_ll", "base latency of LL kernels", "0.2"),
    FACTOR("setup_ll128", "base latency of LL128 kernels", "0.2"),
    FACTOR("setup_simple", "base latency of Simple kernels", "0.2"),
    FACTOR("latency_ll", "latency of LL per hop", "0.2"),
    FACTOR("latency_ll128", "latency of LL128 per hop", "0.2"),
    FACTOR("latency_simple", "latency of Simple per hop", "0.2"),
    FACTOR("bandwidth_ll", "rate of LL", "0.12"),
    FACTOR("bandwidth_ll128", "rate of LL128", "0.12"),
    FACTOR("bandwidth_simple", "rate of Simple", "0.12"),
    FACTOR("tree_latency", "latency per hop of trees, in addition to latency_*", "0.1"),
    FACTOR("tree_bandwidth", "rate of trees, in addition to bandwidth_*", "0.08"),
    FACTOR("nvls_latency", "latency of NVLS inside a machine", "0.1"),
    FACTOR("nvls_bandwidth", "its rate", "0.05"),
    FACTOR("net_setup_ll", "base latency of LL kernels across machines", "0.4"),
    FACTOR("net_setup_ll128", "base latency of LL128 kernels across machines", "0.4"),
    FACTOR("net_setup_simple", "base latency of Simple kernels across machines", "0.4"),
    FACTOR("net_latency_ll", "latency of LL per hop across machines", "0.4"),
    FACTOR("net_latency_ll128", "latency of LL128 per hop across machines", "0.4"),
    FACTOR("net_latency_simple", "latency of Simple per hop across machines", "0.4"),
    FACTOR("net_bandwidth_ll", "rate of LL across machines", "0.25"),
    FACTOR("net_bandwidth_ll128", "rate of LL128 across machines", "0.25"),
    FACTOR("net_bandwidth_simple", "rate of Simple across machines", "0.25"),
    FACTOR("net_tree_latency", "latency per hop of trees and NVLS trees across machines", "0.3"),
    FACTOR("net_tree_bandwidth", "their rate", "0.2"),
    OPTION_FITTED("small_group", "", TEXT(ST_NCCL_SMALL_GROUP), 0.0, 0.9,
                  "loss of rate, times 1/ranks; prior: sd 0.03",
                  "steptime docs/megatron.md#constants"),
    /* Not for a fit: setup_* take it up, each for its protocol. */
    OPTION_NUMBER("offset", "us", "0 us", 0.0, 0.01,
                  "time before every kernel, such as the start of a group call", README),
    OPTION_FITTED(
        "sharpness", "", TEXT(ST_NCCL_SHARPNESS), 1.0, 1000.0,
        "exponent of the power mean over the protocols, large: their minimum; prior: log sd 0.5",
        README),
    RATE("link_rate", "what a GPU reaches of the others of its machine; stands in for "
                      "cluster.gpu.link_bandwidth up to 69 GB/s"),
    RATE("nic_rate", "NICs of a machine, for each of its GPUs, one direction; stands in for "
                     "cluster.nic_bandwidth"),
    TRANSFER("small_transfer", "share of the calibration for messages below 1 MiB in unmeasured "
                               "groups of one machine; chosen on held-out groups"),
    TRANSFER("transfer", "the same for messages from 1 MiB; chosen on held-out groups"),
    TRANSFER("net_small_transfer",
             "the same below 1 MiB in groups of several machines; chosen on held-out groups"),
    TRANSFER("net_transfer",
             "the same from 1 MiB in groups of several machines; chosen on held-out groups"),
    /* A text that a fit writes: the rest that the factors leave. */
    OPTION_TEXT(ST_PLUGIN_CALIBRATED, "correction", "",
                "factors of the time by size: RANKS/NODES SIZE=FACTOR ...; RANKS/NODES ...",
                README),
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
    const st_plugin_setting *found = setting(host, "echo_table");
    return found ? found->text : ECHO_TABLE;
}

const char *st_nccl_correction_text(const st_plugin_host *host)
{
    const st_plugin_setting *found = setting(host, "correction");
    return found ? found->text : "";
}

/* Options of groups of several machines have the same names behind "net_". */
static double factor(const st_plugin_host *host, const char *where, const char *what,
                     const char *protocol)
{
    char name[48];
    (void)snprintf(name, sizeof name, "%s%s%s", where, what, protocol);
    return number(host, name, 1.0);
}

static void read_kind(const st_plugin_host *host, const char *where, st_nccl_kind *kind)
{
    static const char *const protocols[ST_NCCL_PROTOCOLS] = {"ll", "ll128", "simple"};
    for (size_t i = 0; i < ST_NCCL_PROTOCOLS; i++) {
        kind->setup[i] = factor(host, where, "setup_", protocols[i]);
        kind->latency[i] = factor(host, where, "latency_", protocols[i]);
        kind->bandwidth[i] = factor(host, where, "bandwidth_", protocols[i]);
    }
    kind->tree_latency = factor(host, where, "tree_latency", "");
    kind->tree_bandwidth = factor(host, where, "tree_bandwidth", "");
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
    settings->transfer[0][ST_NCCL_SMALL] = number(host, "small_transfer", 1.0);
    settings->transfer[0][ST_NCCL_LARGE] = number(host, "transfer", 1.0);
    settings->transfer[1][ST_NCCL_SMALL] = number(host, "net_small_transfer", 1.0);
    settings->transfer[1][ST_NCCL_LARGE] = number(host, "net_transfer", 1.0);
    settings->link_rate = number(host, "link_rate", 0.0);
    settings->nic_rate = number(host, "nic_rate", 0.0);
    st_nccl_factors *factors = &settings->factors;
    read_kind(host, "", &factors->inside);
    read_kind(host, "net_", &factors->across);
    factors->nvls_latency = number(host, "nvls_latency", 1.0);
    factors->nvls_bandwidth = number(host, "nvls_bandwidth", 1.0);
    factors->small_group = number(host, "small_group", 0.0);
    factors->offset_us = 1e6 * number(host, "offset", 0.0);
    factors->sharpness = number(host, "sharpness", 0.0);
}

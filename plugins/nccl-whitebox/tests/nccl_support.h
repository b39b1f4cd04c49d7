/* SPDX-License-Identifier: Apache-2.0 */
/* A host for tests, settings from "name=value" pairs, and common machines. */
#ifndef ST_NCCL_SUPPORT_H
#define ST_NCCL_SUPPORT_H

#include "settings.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static inline void assert_near(double value, double expected, double most)
{
    if (!(fabs(value - expected) <= most))
        fail_msg("%.17g is not within %g of %.17g", value, most, expected);
}

/* A host that remembers the last error. */
typedef struct test_host {
    char error[512];
    size_t held; /* blocks that were not given back */
    bool no_memory;
    st_plugin_setting settings[ST_NCCL_OPTION_COUNT];
    const st_plugin_setting *pointers[ST_NCCL_OPTION_COUNT];
    st_plugin_host host;
} test_host;

static inline void test_error(void *context, const char *message)
{
    test_host *host = context;
    snprintf(host->error, sizeof(host->error), "%s", message);
}

static inline void test_log(void *context, int level, const char *message)
{
    (void)context;
    (void)level;
    (void)message;
}

static inline void *test_allocate(void *context, size_t size_bytes)
{
    test_host *host = context;
    host->held += host->no_memory ? 0 : 1;
    return host->no_memory ? NULL : malloc(size_bytes);
}

static inline void test_release(void *context, void *memory)
{
    ((test_host *)context)->held--;
    free(memory);
}

/* Place of a word among words separated by blanks. */
static inline double place_of(const char *words, const char *word)
{
    size_t place = 0;
    size_t length = strlen(word);
    const char *at = words;
    while (at) {
        if (strncmp(at, word, length) == 0 && (at[length] == ' ' || at[length] == '\0'))
            return (double)place;
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
        place++;
    }
    fail_msg("no choice %s in %s", word, words);
    return -1.0;
}

static inline void set_option(test_host *host, const char *name, const char *text)
{
    for (size_t i = 0; i < ST_NCCL_OPTION_COUNT; i++) {
        const st_plugin_option *option = st_nccl_options[i];
        if (strcmp(option->name, name) != 0)
            continue;
        host->settings[i].name = name;
        host->settings[i].text = text;
        host->settings[i].number = option->kind == ST_PLUGIN_CHOICE
                                       ? place_of(option->choices, text)
                                   : option->kind == ST_PLUGIN_NUMBER ? strtod(text, NULL)
                                                                      : 0.0;
        return;
    }
    fail_msg("no option %s", name);
}

/* All defaults; the folder of the plugin is the source's. */
static inline void start_host(test_host *host)
{
    memset(host, 0, sizeof(*host));
    for (size_t i = 0; i < ST_NCCL_OPTION_COUNT; i++) {
        set_option(host, st_nccl_options[i]->name, st_nccl_options[i]->default_text);
        host->pointers[i] = &host->settings[i];
    }
    host->host = (st_plugin_host){
        .struct_size = sizeof(st_plugin_host),
        .abi = ST_PLUGIN_ABI,
        .context = host,
        .log = test_log,
        .error = test_error,
        .allocate = test_allocate,
        .release = test_release,
        .directory = "plugins/nccl-whitebox",
        .settings = host->pointers,
        .setting_count = ST_NCCL_OPTION_COUNT,
    };
}

/* ---- machines of section 1.5 of NCCL's search, rates as NCCL counts them ----
 */

static const st_nccl_machine a100 = {ST_NCCL_AMPERE, ST_NCCL_NVLINK, ST_NCCL_INFINIBAND, 8.0, 240.0,
                                     192.0,          false};
static const st_nccl_machine a800 = {ST_NCCL_AMPERE, ST_NCCL_NVLINK, ST_NCCL_INFINIBAND, 8.0, 160.0,
                                     192.0,          false};
static const st_nccl_machine h800 = {ST_NCCL_HOPPER, ST_NCCL_NVLINK, ST_NCCL_INFINIBAND, 8.0, 164.8,
                                     384.0,          false};
static const st_nccl_machine h100 = {ST_NCCL_HOPPER, ST_NCCL_NVLINK, ST_NCCL_INFINIBAND, 8.0, 370.8,
                                     384.0,          false};
static const st_nccl_machine h100_4 = {
    ST_NCCL_HOPPER, ST_NCCL_NVLINK, ST_NCCL_INFINIBAND, 4.0, 370.8, 96.0, false};
static const st_nccl_machine v100 = {ST_NCCL_VOLTA, ST_NCCL_NVLINK, ST_NCCL_INFINIBAND, 8.0, 120.0,
                                     48.0,          false};

static inline st_nccl_choices plain_choices(int cpu, int nvls)
{
    return (st_nccl_choices){.version = ST_NCCL_2_22,
                             .cpu = cpu,
                             .nvls = nvls,
                             .algorithm = ST_NCCL_ANY,
                             .protocol = ST_NCCL_ANY};
}

/* NCCL's own lines, nothing calibrated. */
static inline st_nccl_plan nominal_plan(const st_nccl_machine *machine, double nodes,
                                        double per_node, int collective,
                                        const st_nccl_choices *choices)
{
    st_nccl_plan plan = {
        .collective = collective,
        .group = {.ranks = nodes * per_node, .per_node = per_node, .nodes = nodes}};
    plan.search = st_nccl_search_rings(machine, &plan.group, choices);
    if (collective >= ST_NCCL_ALL_TO_ALL)
        st_nccl_tune_transfers(&plan, machine, choices);
    else
        st_nccl_tune(&plan, machine, choices);
    st_nccl_finish(&plan);
    return plan;
}

static inline const st_nccl_line *find_line(const st_nccl_plan *plan, int algorithm, int protocol)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->lines[i].algorithm == algorithm && plan->lines[i].protocol == protocol)
            return &plan->lines[i];
    }
    return NULL;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The model that the options ask for. */
#include "answer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_TABLE 65536

static st_nccl_answer echo_answer(const st_nccl_settings *settings, const st_nccl_plan *plan,
                                  double bytes)
{
    static const st_nccl_line lines[ST_NCCL_PROTOCOLS][2] = {
        {{.algorithm = ST_NCCL_TREE, .protocol = ST_NCCL_LL},
         {.algorithm = ST_NCCL_RING, .protocol = ST_NCCL_LL}},
        {{.algorithm = ST_NCCL_TREE, .protocol = ST_NCCL_LL128},
         {.algorithm = ST_NCCL_RING, .protocol = ST_NCCL_LL128}},
        {{.algorithm = ST_NCCL_TREE, .protocol = ST_NCCL_SIMPLE},
         {.algorithm = ST_NCCL_RING, .protocol = ST_NCCL_SIMPLE}},
    };
    const st_nccl_choices *choices = &settings->choices;
    int protocol = choices->protocol == ST_NCCL_ANY ? ST_NCCL_LL128 : choices->protocol;
    st_nccl_answer best = {.total_us = (double)NAN};
    for (int algorithm = ST_NCCL_TREE; algorithm <= ST_NCCL_RING; algorithm++) {
        bool tree = algorithm == ST_NCCL_TREE;
        if ((tree && plan->collective != ST_NCCL_ALL_REDUCE) ||
            (choices->algorithm != ST_NCCL_ANY && choices->algorithm != algorithm)) {
            continue;
        }
        st_nccl_cut cut = st_nccl_cut_of(plan, algorithm, protocol, bytes);
        st_echo_symbols symbols = st_echo_look_up(&settings->table, cut.chunk_bytes);
        symbols.eta = cut.rounds;
        st_nccl_answer answer = tree
                                    ? st_echo_tree(&plan->group, bytes, &symbols)
                                    : st_echo_ring(&plan->group, plan->collective, bytes, &symbols);
        answer.line = &lines[protocol][algorithm];
        if (!(best.total_us <= answer.total_us)) {
            best = answer;
        }
    }
    return best;
}

st_nccl_answer st_nccl_answer_for(const st_nccl_settings *settings, const st_nccl_plan *plan,
                                  double bytes)
{
    static const st_nccl_line tree = {.algorithm = ST_NCCL_TREE, .protocol = ST_NCCL_LL128};
    if (settings->model != ST_NCCL_ECHO)
        return st_nccl_answer_of(plan, bytes);
    if (settings->reading == ST_ECHO_ROUND)
        return echo_answer(settings, plan, bytes);
    /* Totals hold for the operation and the group that were measured. */
    const st_echo_table *table = &settings->table;
    st_nccl_answer answer = {.total_us = (double)NAN};
    if (plan->collective == ST_NCCL_ALL_REDUCE && plan->group.ranks == table->ranks &&
        plan->group.per_node == table->per_node && bytes >= table->rows[0].size_bytes &&
        bytes <= table->rows[table->count - 1].size_bytes) {
        answer = st_echo_operation(table, bytes);
        answer.line = &tree;
    }
    return answer;
}

static bool fail(const st_plugin_host *host, const char *file, size_t line, const char *reason)
{
    char message[512];
    if (line > 0) {
        snprintf(message, sizeof(message), "%.200s:%zu: %s", file, line, reason);
    } else {
        snprintf(message, sizeof(message), "%.200s: %s", file, reason);
    }
    host->error(host->context, message);
    return false;
}

bool st_nccl_load_table(st_nccl_settings *settings)
{
    const st_plugin_host *host = settings->host;
    const char *name = st_nccl_table_name(host);
    char path[4096];
    char text[MOST_TABLE];
    if (name[0] == '\0')
        return fail(host, "echo_table", 0, "expected a file name");
    /* A path is the user's own file, a name alone one in the plugin's folder. */
    bool own = strchr(name, '/') != NULL;
    int written = own ? snprintf(path, sizeof(path), "%s", name)
                      : snprintf(path, sizeof(path), "%s/%s", host->directory, name);
    if (written < 0 || (size_t)written >= sizeof(path))
        return fail(host, name, 0, "the path is too long");
    FILE *file = fopen(path, "rb");
    if (!file)
        return fail(host, path, 0, "cannot be read");
    size_t length = fread(text, 1, sizeof(text), file);
    bool broken = ferror(file) != 0;
    fclose(file);
    if (broken || length == sizeof(text))
        return fail(host, path, 0, broken ? "cannot be read" : "longer than 64 KiB");
    size_t line = 0;
    const char *reason = st_echo_parse(text, length, &settings->table, &line);
    return reason ? fail(host, path, line, reason) : true;
}

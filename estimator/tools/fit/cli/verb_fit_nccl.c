/* SPDX-License-Identifier: Apache-2.0 */
/* steptime fit nccl */
#include "fit/cli/verbs.h"
#include "fit/cli/nccl.h"

#include "steptime/tool/profiles.h"
#include "base/result.h"

#include <math.h>
#include <string.h>

typedef struct fit_nccl_options {
    cli_nccl_options nccl;
    bool each;
    const char *save;
} fit_nccl_options;

static const cli_option option_rows[] = {
    CLI_NCCL_MODEL_ROWS(fit_nccl_options, nccl),
    CLI_NCCL_TABLE_ROWS(fit_nccl_options, nccl),
    CLI_FLAG(fit_nccl_options, each, "each",
             "fit each table alone instead of all tables of a collective together; report tables "
             "that fail and go on"),
    CLI_TEXT(
        fit_nccl_options, save, "save", "NAME",
        "store the options as a profile of this name, in place of what it had for the same tables"),
    CLI_ROW_DB,
    CLI_FLAG(cli_common, all, "all", "show every row", .common = true),
    CLI_ROW_SET,
    CLI_ROWS_FORMS,
    CLI_ROW_COLOR,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime fit nccl all_reduce.log --save my-cluster",
     "options of nccl-whitebox from one log of nccl-tests"},
    {"steptime fit nccl nodes-2.log nodes-4.log nodes-8.log", "one set for all sizes of a cluster"},
    {"steptime fit nccl tables/*.csv --each --refine three-lines --csv",
     "each table alone, for a program"},
    {NULL, NULL},
};

/* ---- saving ---- */

static void put_rate(st_node *map, const char *key, const st_nccl_sourced_rate *group_rates)
{
    if (isfinite(group_rates->rate))
        st_put_text(map, key,
                    st_arena_printf(map->result->arena, "%.6g GB/s", group_rates->rate / 1e9));
}

/* What was given, then what was fitted. */
static st_status write_payload(const cli_nccl *nccl, const st_nccl_fit *fit, st_buffer *buffer)
{
    st_arena *arena = nccl->run->arena;
    size_t most = nccl->given_count + fit->model.varied_count + ST_NCCL_SHARE_SLOTS + 1;
    st_profile_option *values = st_arena_alloc(arena, most + 1, sizeof *values);
    size_t count = 0;
    if (values == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < nccl->given_count; i++) {
        bool again = false;
        for (size_t k = i + 1; k < nccl->given_count; k++)
            again = again || strcmp(nccl->given[k].name, nccl->given[i].name) == 0;
        for (size_t k = 0; k < fit->model.varied_count; k++)
            again = again || strcmp(fit->model.varied[k].name, nccl->given[i].name) == 0;
        if (!again)
            values[count++] = (st_profile_option){nccl->given[i].name, nccl->given[i].text};
    }
    for (size_t i = 0; i < fit->model.varied_count; i++) {
        char text[ST_QUANTITY_TEXT];
        st_quantity_format(fit->values[i], &fit->model.varied[i].unit, ST_STYLE_EXACT, text,
                           sizeof text);
        values[count++] = (st_profile_option){fit->model.varied[i].name,
                                              st_arena_copy(arena, text, strlen(text))};
        if (values[count - 1].text == NULL)
            return ST_ERR_MEMORY;
    }
    for (size_t i = 0; i < ST_NCCL_SHARE_SLOTS; i++)
        if (fit->model.shares[i] != NULL)
            values[count++] = (st_profile_option){
                fit->model.shares[i], st_arena_printf(arena, "%g", fit->transfers[i].share)};
    if (fit->correction != NULL)
        values[count++] = (st_profile_option){fit->model.correction, fit->correction};
    st_profile_write_options(values, count, buffer);
    return ST_OK;
}

static st_status make_entry(const cli_nccl *nccl, const st_nccl_fit *fit, st_profile *entry)
{
    const fit_nccl_options *options = nccl->run->options;
    const char *cluster = nccl->options->cluster;
    const st_nccl_table *table = fit->tables[0];
    st_buffer payload = {0};
    bool same = true;
    for (size_t i = 1; i < fit->table_count; i++)
        same =
            same && fit->tables[i]->ranks == table->ranks && fit->tables[i]->nodes == table->nodes;
    st_status status = write_payload(nccl, fit, &payload);
    const char *payload_text = st_buffer_keep(&payload, nccl->run->arena);
    st_result result;
    st_node *map = st_result_begin_plain(&result, nccl->run->arena);
    st_buffer files = {0};
    size_t left_out = 0;
    for (size_t i = 0; i < fit->table_count; i++) {
        st_buffer_printf(&files, "%s%s:%d", i > 0 ? ", " : "", fit->tables[i]->file,
                         fit->tables[i]->line);
        left_out += fit->tables[i]->left_out;
    }
    st_put_text(map, "date", nccl->run->today);
    st_put_text(map, "steptime", STEPTIME_VERSION);
    st_put_text(map, "plugin", nccl->plugin);
    st_put_buffer(map, "tables", &files);
    /* What a job that uses the profile is compared with. */
    const char *gpu = fit->tables[0]->gpu;
    const st_nccl_group_rates *group_rates = &fit->model.group_rates[0];
    st_put_text(map, ST_PROFILE_GPU,
                gpu[0] == '\0' && fit->model.gpu != NULL ? fit->model.gpu : gpu);
    if (!nccl->options->rate_from_peak) {
        put_rate(map, ST_PROFILE_LINKS, &group_rates->links);
        put_rate(map, ST_PROFILE_NICS, &group_rates->nics);
    }
    st_put_text(map, "buffers",
                fit->tables[0]->buffers == ST_NCCL_IN_PLACE ? "in-place" : "out-of-place");
    st_put_count(map, "rows", fit->model.point_count - fit->refused);
    st_put_count(map, "left_out", left_out + fit->refused);
    for (size_t range = 1; range < ST_NCCL_RANGES; range++)
        for (st_nccl_kind kind = ST_NCCL_FITTED; kind < ST_NCCL_KINDS; kind++) {
            st_error_summary summary;
            if (st_nccl_fit_errors(fit, kind, range, SIZE_MAX, &summary) != ST_OK)
                result.failed = true;
            else if (summary.count > 0)
                st_put_number(map,
                              st_arena_printf(nccl->run->arena, "%s_error_%s",
                                              st_nccl_kind_keys[kind], st_nccl_ranges[range].key),
                              summary.mean_absolute);
        }
    const char *provenance_text = st_node_line(map);
    if (status != ST_OK || payload_text == NULL || provenance_text == NULL)
        return ST_ERR_MEMORY;
    *entry = (st_profile){.name = options->save,
                          .kind = ST_PROFILE_OPTIONS,
                          .plugin = nccl->plugin,
                          .cluster = cluster != NULL ? cluster : "",
                          .fabric = table->fabric,
                          .nccl = table->version,
                          .collective = table->collective,
                          .ranks = same ? table->ranks : 0,
                          .nodes = same ? table->nodes : 0,
                          .payload = payload_text,
                          .payload_bytes = strlen(payload_text),
                          .provenance = provenance_text};
    return ST_OK;
}

/* Two runs of the same would replace each other. */
static st_status check_twice(const cli_nccl *nccl, const st_profile *entries)
{
    for (size_t i = 0; i < nccl->fit_count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(entries[i].collective, entries[k].collective) == 0 &&
                strcmp(entries[i].nccl, entries[k].nccl) == 0 &&
                strcmp(entries[i].fabric, entries[k].fabric) == 0 &&
                entries[i].ranks == entries[k].ranks && entries[i].nodes == entries[k].nodes)
                return cli_wrong_use(
                    nccl->run,
                    st_errors_text(nccl->run->errors,
                                   "two tables of %s on %zu ranks and %zu nodes share one entry",
                                   entries[i].collective, entries[i].ranks, entries[i].nodes),
                    "leave --each out, or save them under different names");
    return ST_OK;
}

static st_status save(const cli_nccl *nccl)
{
    cli_run *run = nccl->run;
    st_profiles *profiles = NULL;
    st_profile *entries = st_arena_alloc(run->arena, nccl->fit_count + 1, sizeof *entries);
    st_status status = entries != NULL ? ST_OK : ST_ERR_MEMORY;
    for (size_t i = 0; i < nccl->fit_count && status == ST_OK; i++)
        status = make_entry(nccl, &nccl->fits[i], &entries[i]);
    /* Before a database is made for entries that it cannot take. */
    for (size_t i = 0; i < nccl->fit_count && status == ST_OK; i++)
        status = st_profile_check(&entries[i], (st_place){.file = "--save"}, run->errors);
    if (status == ST_OK)
        status = check_twice(nccl, entries);
    if (status == ST_OK)
        status = st_profiles_open(run->common.db, ST_PROFILES_WRITE, &profiles, run->errors);
    if (status == ST_OK)
        status = st_profiles_put(profiles, entries, nccl->fit_count, true, run->errors);
    st_profiles_close(profiles);
    return status;
}

/* A profile that lacks a part without a word would be worse than none. */
static st_status keep_out(const cli_nccl *nccl)
{
    const fit_nccl_options *options = nccl->run->options;
    st_errors *errors = nccl->run->errors;
    return st_fail(errors, ST_ERR_VALUE, (st_place){0},
                   "profile '%s' is not stored" ST_EXPECTED "only tables that can be fitted",
                   options->save);
}

static int run_fit_nccl(cli_run *run)
{
    const fit_nccl_options *options = run->options;
    cli_nccl nccl = {.run = run, .options = &options->nccl, .each = options->each};
    st_status status = cli_today(run);
    if (status == ST_OK)
        status = cli_paths(run);
    if (status == ST_OK)
        status = cli_nccl_read(&nccl, run->arguments, run->argument_count);
    if (status == ST_OK)
        status = cli_nccl_run(&nccl, true);
    if (status == ST_OK && options->save != NULL)
        status = nccl.refused > 0 ? keep_out(&nccl) : save(&nccl);
    if (status == ST_OK)
        cli_nccl_write(&nccl);
    return status == ST_OK && nccl.refused > 0 ? CLI_FAILED : cli_exit_code(run, status);
}

const cli_verb cli_verb_fit_nccl = {
    .name = "fit nccl",
    .arguments = "LOG...",
    .words = {CLI_WORD_FILE, CLI_WORD_FILE},
    .summary = "calibrate a model of collectives to output of nccl-tests",
    .doc =
        "Reads what nccl-tests prints (text behind any launcher, JSON of -J, or CSV), rccl-tests, "
        "MSCCL++, the OSU micro-benchmarks and look-up tables, or all such files of a folder, and "
        "fits the calibrated options of a plugin to the measured times, by least squares on the "
        "logarithm with a loss that limits outliers. Shows the options and, by range of sizes, the "
        "errors of the plugin: nominal, fitted, and for each size and each number of ranks fitted "
        "to the others.\n\n"
        "With --save the options become a profile: 'steptime validate --nccl FILE --profile NAME' "
        "compares other tables with it, and a job uses it with 'refine: {plugin: PLUGIN, profile: "
        "NAME}'. docs/profiles.md says more. LOG may be - for standard input.",
    .examples = examples,
    CLI_OPTIONS(option_rows, fit_nccl_options),
    .run = run_fit_nccl,
};

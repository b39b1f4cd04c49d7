/* SPDX-License-Identifier: Apache-2.0 */
/* Measured collectives on the command line; see nccl.h. */
#include "fit/cli/nccl.h"

#include "steptime/tool/input_files.h"
#include "steptime/tool/refine_words.h"
#include "steptime/tool/profiles.h"

#include <math.h>
#include <string.h>

static const char default_plugin[] = "nccl-whitebox";
static const char lines_plugin[] = "three-lines";

/* ---- tables ---- */

/* Endings of files that a folder may hold tables in. */
static const char *const endings[] = {".csv", ".log", ".txt", ".out", ".json", NULL};

static st_status read_file(cli_nccl *own, const st_nccl_request *request, const char *file)
{
    cli_run *run = own->run;
    st_source source = {0};
    st_nccl_table *tables = NULL;
    size_t count = 0;
    st_status status = st_file_read_foreign(file, (st_place){0}, run->arena, &source, run->errors);
    if (status != ST_OK)
        return status;
    st_nccl_input input = {source.file, source.text, source.length};
    status = st_nccl_read(request, &input, run->arena, &tables, &count, run->errors);
    if (status != ST_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        st_nccl_table *table = &tables[i];
        (void)ST_APPEND(run->arena, own->tables, own->table_count, table);
    }
    return st_arena_failed(run->arena) ? ST_ERR_MEMORY : ST_OK;
}

static st_status read_files(cli_nccl *own, const st_nccl_request *request, const char *const *files,
                            size_t count)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < count; i++) {
        st_status read = read_file(own, request, files[i]);
        if (read == ST_ERR_MEMORY)
            return read;
        own->refused += own->each && read != ST_OK ? 1 : 0;
        status = status == ST_OK ? read : status;
    }
    return status;
}

static st_status read_path(cli_nccl *own, const st_nccl_request *request, const char *path)
{
    cli_run *run = own->run;
    const char *const *files = NULL;
    size_t count = 0;
    if (!st_file_is_folder(path))
        return read_files(own, request, &path, 1);
    st_nccl_request in_folder = *request;
    in_folder.may_lack = true;
    st_status status = st_files_of_folder(path, endings, run->arena, &files, &count, run->errors);
    return status == ST_OK ? read_files(own, &in_folder, files, count) : status;
}

/* Halves of one run become a table; then each has the buffers that are asked for. */
static st_status finish_tables(cli_nccl *own, st_nccl_buffers buffers)
{
    cli_run *run = own->run;
    size_t kept = 0;
    st_status status = st_nccl_join_runs(own->tables, &own->table_count, run->errors);
    for (size_t i = 0; i < own->table_count && (status == ST_OK || own->each); i++) {
        st_status chosen = st_nccl_choose(own->tables[i], buffers, run->errors);
        if (chosen == ST_OK)
            own->tables[kept++] = own->tables[i];
        own->refused += own->each && chosen != ST_OK ? 1 : 0;
        status = status == ST_OK ? chosen : status;
    }
    own->table_count = kept;
    return status == ST_OK && !own->each
               ? st_nccl_check_runs((const st_nccl_table *const *)own->tables, kept, run->errors)
               : status;
}

st_status cli_nccl_read(cli_nccl *own, const char *const *files, size_t count)
{
    st_nccl_request request = {0};
    st_status status = ST_OK;
    const cli_nccl_options *options = own->options;
    if (options->in_place && options->out_of_place) {
        status = cli_wrong_use(own->run, "--in-place and --out-of-place exclude each other", NULL);
    } else {
        request = (st_nccl_request){.collective = options->collective,
                                    .ranks = (size_t)options->ranks,
                                    .nodes = (size_t)options->nodes,
                                    .buffers = options->in_place       ? ST_NCCL_IN_PLACE
                                               : options->out_of_place ? ST_NCCL_OUT_OF_PLACE
                                                                       : ST_NCCL_ANY,
                                    .chooses_later = true};
    }
    if (status != ST_OK)
        return status;
    for (size_t i = 0; i < count && status != ST_ERR_MEMORY; i++) {
        st_status read = read_path(own, &request, files[i]);
        status = status == ST_OK || read == ST_ERR_MEMORY ? read : status;
    }
    if (status == ST_OK || (own->each && status != ST_ERR_MEMORY)) {
        st_status finished = finish_tables(own, request.buffers);
        status = status == ST_OK ? finished : status;
    }
    if (status == ST_OK && own->table_count == 0)
        status = st_fail(own->run->errors, ST_ERR_VALUE, (st_place){.file = files[0]},
                         "no table of measured collectives");
    return own->refused > 0 && own->table_count > 0 ? ST_OK : status;
}

/* ---- plugin and profile ---- */

/* One plugin, as --refine has it everywhere; a profile counts as --profile does. */
static st_status read_plugin(cli_nccl *own)
{
    cli_run *run = own->run;
    const st_refinement *list = NULL;
    const st_words words = {run->common.refine.items, run->common.refine.count};
    size_t count = 0;
    if (words.count == 0)
        return ST_OK;
    st_status status =
        st_refine_parse(own->run->paths, &words, run->arena, &list, &count, run->errors);
    if (status != ST_OK)
        return status;
    if (count != 1 || list[0].fallback)
        return cli_wrong_use(run,
                             count != 1 ? "measured collectives are compared with one plugin"
                                        : "measured collectives have no formula to fall back on",
                             NULL);
    if (list[0].profile != NULL && (own->profile != NULL || !own->takes_profile))
        return cli_wrong_use(run,
                             own->takes_profile
                                 ? "--profile and --refine both name a profile"
                                 : "a fit starts from the plugin's own options, not from a profile",
                             NULL);
    own->worded = &list[0];
    own->plugin = list[0].plugin;
    own->profile = list[0].profile != NULL ? list[0].profile : own->profile;
    return ST_OK;
}

static st_status choose_plugin(cli_nccl *own)
{
    st_status status = read_plugin(own);
    if (status != ST_OK)
        return status;
    if (own->plugin == NULL && own->profile != NULL) {
        /* The one plugin that the profile has options for. */
        cli_run *run = own->run;
        st_profiles *profiles = NULL;
        const st_profile *entries = NULL;
        size_t count = 0;
        st_profile_filter filter = {.name = own->profile, .kind = ST_PROFILE_OPTIONS};
        st_status profile_status =
            st_profiles_open(run->common.db, ST_PROFILES_READ, &profiles, run->errors);
        if (profile_status != ST_OK)
            return profile_status;
        profile_status =
            st_profiles_find(profiles, &filter, run->arena, &entries, &count, run->errors);
        if (profile_status == ST_OK && count == 0)
            profile_status = st_profiles_unknown(profiles, own->profile, run->errors);
        st_profiles_close(profiles);
        for (size_t i = 0; i < count && profile_status == ST_OK; i++)
            if (strcmp(entries[i].plugin, entries[0].plugin) != 0)
                return cli_wrong_use(
                    run,
                    st_errors_text(run->errors,
                                   "profile '%s' holds options of several plugins: %s, %s",
                                   own->profile, entries[0].plugin, entries[i].plugin),
                    "choose one with --refine");
        if (profile_status == ST_OK)
            own->plugin = entries[0].plugin;
        return profile_status;
    }
    own->plugin = own->plugin != NULL ? own->plugin : default_plugin;
    return ST_OK;
}

/* What the profile has for the collective of a table. */
static st_status find_in_profile(const cli_nccl *own, const st_nccl_table *table,
                                 st_profile_found **found, size_t *count)
{
    const st_profile_filter filter = {
        .name = own->profile, .plugin = own->plugin, .collective = table->collective};
    return st_profile_all(own->run->common.db, &filter, own->run->arena, found, count,
                          own->run->errors);
}

static st_status add_profile(const cli_nccl *own, st_nccl_fit *fit, st_nccl_source *source,
                             const st_profile **entry)
{
    const st_nccl_table *table = fit->tables[0];
    st_profile_found *found = NULL;
    size_t count = 0;
    if (own->profile == NULL)
        return ST_OK;
    st_status status = find_in_profile(own, table, &found, &count);
    if (status != ST_OK)
        return status;
    if (count == 0) {
        st_report(own->run->errors, ST_SEVERITY_WARNING, ST_ERR_NAME, st_nccl_place_of(table),
                  "profile '%s' has no options of %s for %s, which keeps its nominal options",
                  own->profile, own->plugin, table->collective);
        return ST_OK;
    }
    const st_profile_filter group = {.ranks = table->ranks, .nodes = table->nodes};
    const st_profile_found *nearest = &found[st_profile_nearest(found, count, &group)];
    fit->profile = own->profile;
    *entry = nearest->entry;
    /* The options of a profile, then those of the command line. */
    st_arena *arena = own->run->arena;
    st_plugin_given *given =
        st_arena_alloc(arena, nearest->count + own->given_count + 1, sizeof *given);
    const char *place = st_arena_printf(arena, "profile '%s'", own->profile);
    if (given == NULL || place == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < nearest->count; i++)
        given[i] = (st_plugin_given){.name = nearest->options[i].name,
                                     .text = nearest->options[i].text,
                                     .name_place = {.file = place},
                                     .place = {.file = place}};
    if (own->given_count > 0)
        memcpy(given + nearest->count, own->given, own->given_count * sizeof *given);
    source->given = given;
    source->given_count = nearest->count + own->given_count;
    return ST_OK;
}

/* A profile that holds for none of the tables is the wrong one. */
static st_status must_serve(const cli_nccl *own)
{
    const st_nccl_table *first = own->fits[0].tables[0];
    const st_profile_filter filter = {.name = own->profile,
                                      .plugin = own->plugin,
                                      .collective = first->collective,
                                      .ranks = first->ranks,
                                      .nodes = first->nodes};
    st_profile_found found = {0};
    if (own->profile == NULL)
        return ST_OK;
    for (size_t i = 0; i < own->fit_count; i++) {
        st_profile_found *all = NULL;
        size_t count = 0;
        st_status status = find_in_profile(own, own->fits[i].tables[0], &all, &count);
        if (status != ST_OK || count > 0)
            return status;
    }
    return st_profile_settings(own->run->common.db, &filter, own->run->arena, &found,
                               own->run->errors);
}

/* Tables of another machine than the profile's. */
static st_status check_profile(const cli_nccl *own, const st_nccl_fit *fit, const st_profile *entry)
{
    const st_nccl_table *table = fit->tables[0];
    const st_nccl_group_rates *group_rates = &fit->model.group_rates[0];
    bool is_peak = own->options->rate_from_peak; /* what rows reach is not a rate of links */
    const st_profile_machine machine = {
        .whose = "the table",
        .gpu = table->gpu[0] != '\0' ? table->gpu : fit->model.gpu,
        .nccl = st_nccl_version_code(table->version),
        .links = is_peak ? (double)NAN : group_rates->links.rate,
        .nics = is_peak || table->nodes == 1 ? (double)NAN : group_rates->nics.rate};
    return st_profile_check_machine(own->run->paths, entry, &machine, st_nccl_place_of(table),
                                    own->run->errors);
}

/* ---- fits ---- */

/*
 * Three lines for each table, which ignore ranks and rates, as the baseline of every fit: their
 * errors at held-out sizes. Where their plugin is not installed they are left out.
 */
static st_status add_lines(cli_nccl *own, st_nccl_fit *fit)
{
    cli_run *run = own->run;
    st_nccl_source source = {
        .paths = own->run->paths, .plugin = lines_plugin, .rate_from_peak = true};
    double *times = st_arena_alloc(run->arena, fit->model.point_count + 1, sizeof *times);
    size_t next = 0;
    if (times == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < fit->table_count; i++) {
        st_nccl_fit lines = {.tables = &fit->tables[i], .table_count = 1, .plugin = lines_plugin};
        lines.wants_fit = true;
        st_status status =
            st_nccl_model_load(&source, lines.tables, 1, run->arena, &lines.model, NULL);
        if (status == ST_OK)
            status = st_nccl_fit_run(&lines, run->arena, NULL);
        if (status == ST_ERR_MEMORY)
            return status;
        const double *left_out = status == ST_OK ? lines.times_s[ST_NCCL_NO_SIZE] : NULL;
        for (size_t k = 0; k < fit->tables[i]->row_count; k++)
            times[next++] = left_out != NULL ? left_out[k] : (double)NAN;
    }
    fit->times_s[ST_NCCL_LINES] = times;
    return ST_OK;
}

static st_nccl_source source_of(const cli_nccl *own)
{
    return (st_nccl_source){.paths = own->run->paths,
                            .plugin = own->plugin,
                            .given = own->given,
                            .given_count = own->given_count,
                            .cluster = own->options->cluster,
                            .sets = own->run->common.sets.items,
                            .set_count = own->run->common.sets.count,
                            .rate_from_peak = own->options->rate_from_peak};
}

/* Results with a profile are shown next to the nominal plugin if that knows its rates. */
static st_status add_nominal(const cli_nccl *own, st_nccl_fit *fit)
{
    st_arena *arena = own->run->arena;
    const st_nccl_source source = source_of(own);
    st_nccl_fit plain = {
        .tables = fit->tables, .table_count = fit->table_count, .plugin = fit->plugin};
    fit->times_s[ST_NCCL_PROFILE] = fit->times_s[ST_NCCL_NOMINAL];
    fit->times_s[ST_NCCL_NOMINAL] = NULL;
    st_status status =
        st_nccl_model_load(&source, plain.tables, plain.table_count, arena, &plain.model, NULL);
    if (status == ST_OK)
        status = st_nccl_fit_run(&plain, arena, NULL);
    if (status == ST_OK)
        fit->times_s[ST_NCCL_NOMINAL] = plain.times_s[ST_NCCL_NOMINAL];
    return status == ST_ERR_MEMORY ? status : ST_OK;
}

/* Tables that are looked at together: a profile has an entry for each group of ranks. */
static bool goes_with(const cli_nccl *own, const st_nccl_table *table, const st_nccl_table *first)
{
    bool one_entry =
        own->profile == NULL || (table->ranks == first->ranks && table->nodes == first->nodes);
    return one_entry && strcmp(table->collective, first->collective) == 0;
}

/* Sorts tables by collective, in the order in which these came first; fits are pieces of that. */
static st_status divide(cli_nccl *own, bool each)
{
    cli_run *run = own->run;
    const st_nccl_table **sorted = st_arena_alloc(run->arena, own->table_count + 1, sizeof *sorted);
    bool *done = st_arena_alloc(run->arena, own->table_count + 1, sizeof *done);
    own->fits = st_arena_alloc(run->arena, own->table_count + 1, sizeof *own->fits);
    if (sorted == NULL || done == NULL || own->fits == NULL)
        return ST_ERR_MEMORY;
    size_t next = 0;
    for (size_t i = 0; i < own->table_count; i++) {
        if (done[i])
            continue;
        st_nccl_fit *fit = &own->fits[own->fit_count++];
        *fit = (st_nccl_fit){.tables = sorted + next, .plugin = own->plugin};
        for (size_t k = i; k < own->table_count; k++) {
            bool same = k == i || (!each && goes_with(own, own->tables[k], own->tables[i]));
            if (done[k] || !same)
                continue;
            done[k] = true;
            sorted[next++] = own->tables[k];
            fit->table_count++;
        }
    }
    return ST_OK;
}

static st_status run_fits(cli_nccl *own, bool wants_fit)
{
    size_t all = own->fit_count;
    st_status last = ST_OK;
    own->fit_count = 0;
    for (size_t i = 0; i < all; i++) {
        st_nccl_fit fit = own->fits[i];
        fit.wants_fit = wants_fit;
        cli_run *run = own->run;
        st_nccl_source source = source_of(own);
        const st_profile *entry = NULL;
        st_status fit_status = add_profile(own, &fit, &source, &entry);
        if (fit_status == ST_OK)
            fit_status = st_nccl_model_load(&source, fit.tables, fit.table_count, run->arena,
                                            &fit.model, run->errors);
        if (fit_status == ST_OK && entry != NULL)
            fit_status = check_profile(own, &fit, entry);
        if (fit_status == ST_OK)
            fit_status = st_nccl_fit_run(&fit, run->arena, run->errors);
        if (fit_status == ST_OK && fit.profile != NULL)
            fit_status = add_nominal(own, &fit);
        st_status status = fit_status == ST_OK && strcmp(own->plugin, lines_plugin) != 0
                               ? add_lines(own, &fit)
                               : fit_status;
        if (status == ST_OK) {
            own->fits[own->fit_count++] = fit;
            continue;
        }
        /* Wrong use would be wrong for every table. */
        if (!own->each || status == ST_ERR_MEMORY ||
            cli_exit_code(own->run, status) == CLI_WRONG_USE)
            return status;
        last = status;
        own->refused++;
    }
    return own->fit_count > 0 ? ST_OK : last;
}

/* Leaves out tables of collectives that the plugin lacks, unless it has none of them. */
static st_status keep_served(cli_nccl *own)
{
    const st_nccl_source source = source_of(own);
    size_t kept = 0;
    for (size_t i = 0; i < own->fit_count; i++) {
        const st_nccl_table *table = own->fits[i].tables[0];
        bool serves = false;
        st_status status = st_nccl_model_serves(&source, table->collective, own->run->arena,
                                                &serves, own->run->errors);
        if (status != ST_OK)
            return status;
        if (serves)
            own->fits[kept++] = own->fits[i];
        else if (kept > 0 || i + 1 < own->fit_count)
            st_report(own->run->errors, ST_SEVERITY_WARNING, ST_ERR_NAME, st_nccl_place_of(table),
                      "left out: plugin '%s' has no model of %s", own->plugin, table->collective);
    }
    own->fit_count = kept > 0 ? kept : own->fit_count;
    return ST_OK;
}

st_status cli_nccl_run(cli_nccl *own, bool wants_fit)
{
    own->takes_profile = !wants_fit;
    st_status status = choose_plugin(own);
    if (status == ST_OK) {
        status = ST_ERR_MEMORY;
        cli_run *run = own->run;
        size_t count = own->options->settings.count;
        size_t worded = own->worded != NULL ? own->worded->option_count : 0;
        own->given = st_arena_alloc(run->arena, worded + count + 1, sizeof *own->given);
        if (own->given != NULL) {
            for (size_t i = 0; i < worded; i++)
                own->given[i] = (st_plugin_given){.name = own->worded->options[i].name,
                                                  .text = own->worded->options[i].text,
                                                  .name_place = own->worded->options[i].name_place,
                                                  .place = own->worded->options[i].place};
            own->given_count = worded + count;
            status = st_plugin_read_options(own->options->settings.items, count, run->arena,
                                            own->given + worded, run->errors);
        }
    }
    if (status == ST_OK)
        status = divide(own, own->each || !wants_fit);
    if (status == ST_OK && !wants_fit)
        status = keep_served(own);
    if (status == ST_OK)
        status = must_serve(own);
    return status == ST_OK ? run_fits(own, wants_fit) : status;
}

void cli_nccl_write(const cli_nccl *own)
{
    cli_run *run = own->run;
    st_nccl_report report = {
        .fits = own->fits, .count = own->fit_count, .details = run->common.all};
    st_result result;
    st_nccl_report_make(&report, run->arena, &result);
    cli_show(run, &result);
}

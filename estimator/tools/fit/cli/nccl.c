/* SPDX-License-Identifier: Apache-2.0 */
/* Measured collectives on the command line; see nccl.h. */
#include "fit/cli/nccl.h"

#include "steptime/job.h"
#include "steptime/keys.h"
#include "steptime/tool/input_files.h"
#include "steptime/tool/job_values.h"
#include "steptime/tool/refine_words.h"
#include "steptime/tool/profiles.h"

#include <math.h>
#include <string.h>

static const char default_plugin[] = "nccl-whitebox";
static const char lines_plugin[] = "three-lines";

/* ---- tables ---- */

/* Endings of files that a folder may hold tables in. */
static const char *const endings[] = {".csv", ".log", ".txt", ".out", ".json", NULL};

static st_status read_file(cli_nccl *nccl, const st_nccl_request *request, const char *file)
{
    cli_run *run = nccl->run;
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
        (void)ST_APPEND(run->arena, nccl->tables, nccl->table_count, table);
    }
    return st_arena_failed(run->arena) ? ST_ERR_MEMORY : ST_OK;
}

static st_status read_files(cli_nccl *nccl, const st_nccl_request *request,
                            const char *const *files, size_t count)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < count; i++) {
        st_status read = read_file(nccl, request, files[i]);
        if (read == ST_ERR_MEMORY)
            return read;
        nccl->refused += nccl->each && read != ST_OK ? 1 : 0;
        status = status == ST_OK ? read : status;
    }
    return status;
}

static st_status read_path(cli_nccl *nccl, const st_nccl_request *request, const char *path)
{
    cli_run *run = nccl->run;
    const char *const *files = NULL;
    size_t count = 0;
    if (!st_file_is_folder(path))
        return read_files(nccl, request, &path, 1);
    st_nccl_request in_folder = *request;
    in_folder.may_lack = true;
    st_status status = st_files_of_folder(path, endings, run->arena, &files, &count, run->errors);
    return status == ST_OK ? read_files(nccl, &in_folder, files, count) : status;
}

/* Halves of one run become a table; then each has the buffers that are asked for. */
static st_status finish_tables(cli_nccl *nccl, st_nccl_buffers buffers)
{
    cli_run *run = nccl->run;
    size_t kept = 0;
    st_status status = st_nccl_join_runs(nccl->tables, &nccl->table_count, run->errors);
    for (size_t i = 0; i < nccl->table_count && (status == ST_OK || nccl->each); i++) {
        st_status chosen = st_nccl_choose(nccl->tables[i], buffers, run->errors);
        if (chosen == ST_OK)
            nccl->tables[kept++] = nccl->tables[i];
        nccl->refused += nccl->each && chosen != ST_OK ? 1 : 0;
        status = status == ST_OK ? chosen : status;
    }
    nccl->table_count = kept;
    return status == ST_OK && !nccl->each
               ? st_nccl_check_runs((const st_nccl_table *const *)nccl->tables, kept, run->errors)
               : status;
}

/* GPUs of a node of the cluster that the command line gives, which may be several hosts; 0: it does
 * not say. Errors are reported where its values are used. */
static size_t domain_of(const cli_nccl *nccl)
{
    cli_run *run = nccl->run;
    const cli_texts *given = &run->common.sets;
    const char **sets = st_arena_alloc(run->arena, given->count + 1, sizeof *sets);
    const st_job *job = NULL;
    size_t count = 0;
    if (sets == NULL)
        return 0;
    if (nccl->options->cluster != NULL)
        sets[count++] = st_arena_printf(run->arena, ST_KEY_CLUSTER "=%s", nccl->options->cluster);
    for (size_t i = 0; i < given->count; i++)
        if (strncmp(given->items[i], ST_KEY_CLUSTER, strlen(ST_KEY_CLUSTER)) == 0)
            sets[count++] = given->items[i];
    if (count == 0 || sets[0] == NULL || cli_paths(run) != ST_OK ||
        st_job_load(run->paths, NULL, sets, count, run->arena, &job, NULL) != ST_OK)
        return 0;
    const st_job_value *value = st_job_value_of(job, ST_KEY_CLUSTER_GPUS_PER_NODE);
    return value != NULL && value->origin != ST_ORIGIN_NONE && value->number >= 1 &&
                   value->number <= ST_NCCL_MAX_RANKS
               ? (size_t)value->number
               : 0;
}

st_status cli_nccl_read(cli_nccl *nccl, const char *const *files, size_t count)
{
    st_nccl_request request = {0};
    st_status status = ST_OK;
    const cli_nccl_options *options = nccl->options;
    if (options->in_place && options->out_of_place) {
        status = cli_wrong_use(nccl->run, "--in-place and --out-of-place exclude each other", NULL);
    } else {
        request = (st_nccl_request){.collective = options->collective,
                                    .ranks = (size_t)options->ranks,
                                    .nodes = (size_t)options->nodes,
                                    .domain = domain_of(nccl),
                                    .buffers = options->in_place       ? ST_NCCL_IN_PLACE
                                               : options->out_of_place ? ST_NCCL_OUT_OF_PLACE
                                                                       : ST_NCCL_ANY,
                                    .chooses_later = true};
    }
    if (status != ST_OK)
        return status;
    for (size_t i = 0; i < count && status != ST_ERR_MEMORY; i++) {
        st_status read = read_path(nccl, &request, files[i]);
        status = status == ST_OK || read == ST_ERR_MEMORY ? read : status;
    }
    if (status == ST_OK || (nccl->each && status != ST_ERR_MEMORY)) {
        st_status finished = finish_tables(nccl, request.buffers);
        status = status == ST_OK ? finished : status;
    }
    if (status == ST_OK && nccl->table_count == 0)
        status = st_fail(nccl->run->errors, ST_ERR_VALUE, (st_place){.file = files[0]},
                         "no table of measured collectives");
    return nccl->refused > 0 && nccl->table_count > 0 ? ST_OK : status;
}

/* ---- plugin and profile ---- */

/* One plugin, as --refine has it everywhere; a profile counts as --profile does. */
static st_status read_plugin(cli_nccl *nccl)
{
    cli_run *run = nccl->run;
    const st_refinement *list = NULL;
    const st_words words = {run->common.refine.items, run->common.refine.count};
    size_t count = 0;
    if (words.count == 0)
        return ST_OK;
    st_status status =
        st_refine_parse(nccl->run->paths, &words, run->arena, &list, &count, run->errors);
    if (status != ST_OK)
        return status;
    if (count != 1 || list[0].fallback)
        return cli_wrong_use(run,
                             count != 1 ? "measured collectives are compared with one plugin"
                                        : "measured collectives have no formula to fall back on",
                             NULL);
    if (list[0].profile != NULL && (nccl->profile != NULL || !nccl->takes_profile))
        return cli_wrong_use(run,
                             nccl->takes_profile
                                 ? "--profile and --refine both name a profile"
                                 : "a fit starts from the plugin's own options, not from a profile",
                             NULL);
    nccl->worded = &list[0];
    nccl->plugin = list[0].plugin;
    nccl->profile = list[0].profile != NULL ? list[0].profile : nccl->profile;
    return ST_OK;
}

static st_status choose_plugin(cli_nccl *nccl)
{
    st_status status = read_plugin(nccl);
    if (status != ST_OK)
        return status;
    if (nccl->plugin == NULL && nccl->profile != NULL) {
        /* The one plugin that the profile has options for. */
        cli_run *run = nccl->run;
        st_profiles *profiles = NULL;
        const st_profile *entries = NULL;
        size_t count = 0;
        st_profile_filter filter = {.name = nccl->profile, .kind = ST_PROFILE_OPTIONS};
        st_status profile_status =
            st_profiles_open(run->common.db, ST_PROFILES_READ, &profiles, run->errors);
        if (profile_status != ST_OK)
            return profile_status;
        profile_status =
            st_profiles_find(profiles, &filter, run->arena, &entries, &count, run->errors);
        if (profile_status == ST_OK && count == 0)
            profile_status = st_profiles_unknown(profiles, nccl->profile, run->errors);
        st_profiles_close(profiles);
        for (size_t i = 0; i < count && profile_status == ST_OK; i++)
            if (strcmp(entries[i].plugin, entries[0].plugin) != 0)
                return cli_wrong_use(
                    run,
                    st_errors_text(run->errors,
                                   "profile '%s' holds options of several plugins: %s, %s",
                                   nccl->profile, entries[0].plugin, entries[i].plugin),
                    "choose one with --refine");
        if (profile_status == ST_OK)
            nccl->plugin = entries[0].plugin;
        return profile_status;
    }
    nccl->plugin = nccl->plugin != NULL ? nccl->plugin : default_plugin;
    return ST_OK;
}

/* What the profile has for the collective of a table. */
static st_status find_in_profile(const cli_nccl *nccl, const st_nccl_table *table,
                                 st_profile_found **found, size_t *count)
{
    const st_profile_filter filter = {
        .name = nccl->profile, .plugin = nccl->plugin, .collective = table->collective};
    return st_profile_all(nccl->run->common.db, &filter, nccl->run->arena, found, count,
                          nccl->run->errors);
}

static st_status add_profile(const cli_nccl *nccl, st_nccl_fit *fit, st_nccl_source *source,
                             const st_profile **entry)
{
    const st_nccl_table *table = fit->tables[0];
    st_profile_found *found = NULL;
    size_t count = 0;
    if (nccl->profile == NULL)
        return ST_OK;
    st_status status = find_in_profile(nccl, table, &found, &count);
    if (status != ST_OK)
        return status;
    if (count == 0) {
        st_report(nccl->run->errors, ST_SEVERITY_WARNING, ST_ERR_NAME, st_nccl_place_of(table),
                  "profile '%s' has no options of %s for %s, which keeps its nominal options",
                  nccl->profile, nccl->plugin, table->collective);
        return ST_OK;
    }
    const st_profile_filter group = {.ranks = table->ranks, .nodes = table->nodes};
    const st_profile_found *nearest = &found[st_profile_nearest(found, count, &group)];
    fit->profile = nccl->profile;
    *entry = nearest->entry;
    /* The options of a profile, then those of the command line. */
    st_arena *arena = nccl->run->arena;
    st_plugin_given *given =
        st_arena_alloc(arena, nearest->count + nccl->given_count + 1, sizeof *given);
    const char *place = st_arena_printf(arena, "profile '%s'", nccl->profile);
    if (given == NULL || place == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < nearest->count; i++)
        given[i] = (st_plugin_given){.name = nearest->options[i].name,
                                     .text = nearest->options[i].text,
                                     .name_place = {.file = place},
                                     .place = {.file = place}};
    if (nccl->given_count > 0)
        memcpy(given + nearest->count, nccl->given, nccl->given_count * sizeof *given);
    source->given = given;
    source->given_count = nearest->count + nccl->given_count;
    return ST_OK;
}

/* A profile that holds for none of the tables is the wrong one. */
static st_status must_serve(const cli_nccl *nccl)
{
    const st_nccl_table *first = nccl->fits[0].tables[0];
    const st_profile_filter filter = {.name = nccl->profile,
                                      .plugin = nccl->plugin,
                                      .collective = first->collective,
                                      .ranks = first->ranks,
                                      .nodes = first->nodes};
    st_profile_found found = {0};
    if (nccl->profile == NULL)
        return ST_OK;
    for (size_t i = 0; i < nccl->fit_count; i++) {
        st_profile_found *all = NULL;
        size_t count = 0;
        st_status status = find_in_profile(nccl, nccl->fits[i].tables[0], &all, &count);
        if (status != ST_OK || count > 0)
            return status;
    }
    return st_profile_settings(nccl->run->common.db, &filter, nccl->run->arena, &found,
                               nccl->run->errors);
}

/* ---- fits ---- */

/*
 * Three lines for each table, which ignore ranks and rates, as the baseline of every fit: their
 * errors at held-out sizes. Where their plugin does not load they are left out, with a warning.
 */
static st_status add_lines(cli_nccl *nccl, st_nccl_fit *fit)
{
    cli_run *run = nccl->run;
    st_nccl_source source = {
        .paths = nccl->run->paths, .plugin = lines_plugin, .rate_from_peak = true};
    double *times = st_arena_alloc(run->arena, fit->model.point_count + 1, sizeof *times);
    size_t next = 0;
    if (times == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < fit->table_count; i++) {
        st_nccl_fit lines = {.tables = &fit->tables[i], .table_count = 1, .plugin = lines_plugin};
        lines.wants_fit = true;
        st_errors *why = st_errors_create();
        st_status status = why == NULL ? ST_ERR_MEMORY
                                       : st_nccl_model_load(&source, lines.tables, 1, run->arena,
                                                            &lines.model, why);
        if (status != ST_OK && status != ST_ERR_MEMORY && !nccl->lacks_lines) {
            nccl->lacks_lines = true;
            (void)st_report(run->errors, ST_SEVERITY_WARNING, status, (st_place){0},
                            "results lack the baseline of three lines: %s",
                            st_errors_size(why) > 0 ? st_errors_at(why, 0)->message : lines_plugin);
        }
        st_errors_destroy(why);
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

static st_nccl_source source_of(const cli_nccl *nccl)
{
    return (st_nccl_source){.paths = nccl->run->paths,
                            .plugin = nccl->plugin,
                            .given = nccl->given,
                            .given_count = nccl->given_count,
                            .cluster = nccl->options->cluster,
                            .sets = nccl->run->common.sets.items,
                            .set_count = nccl->run->common.sets.count,
                            .rate_from_peak = nccl->options->rate_from_peak};
}

/* Tables that are looked at together: a profile has an entry for each group of ranks. */
static bool goes_with(const cli_nccl *nccl, const st_nccl_table *table, const st_nccl_table *first)
{
    bool one_entry =
        nccl->profile == NULL || (table->ranks == first->ranks && table->nodes == first->nodes);
    return one_entry && strcmp(table->collective, first->collective) == 0;
}

/* Sorts tables by collective, in the order in which these came first; fits are pieces of that. */
static st_status divide(cli_nccl *nccl, bool each)
{
    cli_run *run = nccl->run;
    const st_nccl_table **sorted =
        st_arena_alloc(run->arena, nccl->table_count + 1, sizeof *sorted);
    bool *done = st_arena_alloc(run->arena, nccl->table_count + 1, sizeof *done);
    nccl->fits = st_arena_alloc(run->arena, nccl->table_count + 1, sizeof *nccl->fits);
    if (sorted == NULL || done == NULL || nccl->fits == NULL)
        return ST_ERR_MEMORY;
    size_t next = 0;
    for (size_t i = 0; i < nccl->table_count; i++) {
        if (done[i])
            continue;
        st_nccl_fit *fit = &nccl->fits[nccl->fit_count++];
        *fit = (st_nccl_fit){.tables = sorted + next, .plugin = nccl->plugin};
        for (size_t k = i; k < nccl->table_count; k++) {
            bool same = k == i || (!each && goes_with(nccl, nccl->tables[k], nccl->tables[i]));
            if (done[k] || !same)
                continue;
            done[k] = true;
            sorted[next++] = nccl->tables[k];
            fit->table_count++;
        }
    }
    return ST_OK;
}

static st_status run_fits(cli_nccl *nccl, bool wants_fit)
{
    size_t all = nccl->fit_count;
    st_status last = ST_OK;
    nccl->fit_count = 0;
    for (size_t i = 0; i < all; i++) {
        st_nccl_fit fit = nccl->fits[i];
        fit.wants_fit = wants_fit;
        cli_run *run = nccl->run;
        st_nccl_source source = source_of(nccl);
        const st_profile *entry = NULL;
        st_status fit_status = add_profile(nccl, &fit, &source, &entry);
        if (fit_status == ST_OK)
            fit_status = st_nccl_model_load(&source, fit.tables, fit.table_count, run->arena,
                                            &fit.model, run->errors);
        if (fit_status == ST_OK && entry != NULL) {
            /* Tables of another machine than the profile's. */
            const st_nccl_table *table = fit.tables[0];
            const st_nccl_group_rates *group_rates = &fit.model.group_rates[0];
            bool is_peak =
                nccl->options->rate_from_peak; /* what rows reach is not a rate of links */
            const st_profile_machine machine = {
                .whose = "the table",
                .gpu = table->gpu[0] != '\0' ? table->gpu : fit.model.gpu,
                .nccl = st_nccl_version_code(table->version),
                .links = is_peak ? (double)NAN : group_rates->links.rate,
                .nics = is_peak || table->nodes == 1 ? (double)NAN : group_rates->nics.rate};
            fit_status = st_profile_check_machine(nccl->run->paths, entry, &machine,
                                                  st_nccl_place_of(table), nccl->run->errors);
        }
        if (fit_status == ST_OK)
            fit_status = st_nccl_fit_run(&fit, run->arena, run->errors);
        if (fit_status == ST_OK && fit.profile != NULL) {
            /* Results with a profile are shown next to the nominal plugin if that knows its rates.
             */
            st_arena *arena = nccl->run->arena;
            const st_nccl_source nominal_source = source_of(nccl);
            st_nccl_fit plain = {
                .tables = fit.tables, .table_count = fit.table_count, .plugin = fit.plugin};
            fit.times_s[ST_NCCL_PROFILE] = fit.times_s[ST_NCCL_NOMINAL];
            fit.times_s[ST_NCCL_NOMINAL] = NULL;
            st_status nominal_status = st_nccl_model_load(
                &nominal_source, plain.tables, plain.table_count, arena, &plain.model, NULL);
            if (nominal_status == ST_OK)
                nominal_status = st_nccl_fit_run(&plain, arena, NULL);
            if (nominal_status == ST_OK)
                fit.times_s[ST_NCCL_NOMINAL] = plain.times_s[ST_NCCL_NOMINAL];
            fit_status = nominal_status == ST_ERR_MEMORY ? nominal_status : ST_OK;
        }
        st_status status = fit_status == ST_OK && strcmp(nccl->plugin, lines_plugin) != 0
                               ? add_lines(nccl, &fit)
                               : fit_status;
        if (status == ST_OK) {
            nccl->fits[nccl->fit_count++] = fit;
            continue;
        }
        /* Wrong use would be wrong for every table. */
        if (!nccl->each || status == ST_ERR_MEMORY ||
            cli_exit_code(nccl->run, status) == CLI_WRONG_USE)
            return status;
        last = status;
        nccl->refused++;
    }
    return nccl->fit_count > 0 ? ST_OK : last;
}

/* Leaves out tables of collectives that the plugin lacks, unless it has none of them. */
static st_status keep_served(cli_nccl *nccl)
{
    const st_nccl_source source = source_of(nccl);
    size_t kept = 0;
    for (size_t i = 0; i < nccl->fit_count; i++) {
        const st_nccl_table *table = nccl->fits[i].tables[0];
        bool serves = false;
        st_status status = st_nccl_model_serves(&source, table->collective, nccl->run->arena,
                                                &serves, nccl->run->errors);
        if (status != ST_OK)
            return status;
        if (serves)
            nccl->fits[kept++] = nccl->fits[i];
        else if (kept > 0 || i + 1 < nccl->fit_count)
            st_report(nccl->run->errors, ST_SEVERITY_WARNING, ST_ERR_NAME, st_nccl_place_of(table),
                      "left out: plugin '%s' has no model of %s", nccl->plugin, table->collective);
    }
    nccl->fit_count = kept > 0 ? kept : nccl->fit_count;
    return ST_OK;
}

st_status cli_nccl_run(cli_nccl *nccl, bool wants_fit)
{
    nccl->takes_profile = !wants_fit;
    st_status status = choose_plugin(nccl);
    if (status == ST_OK) {
        status = ST_ERR_MEMORY;
        cli_run *run = nccl->run;
        size_t count = nccl->options->settings.count;
        size_t worded = nccl->worded != NULL ? nccl->worded->option_count : 0;
        nccl->given = st_arena_alloc(run->arena, worded + count + 1, sizeof *nccl->given);
        if (nccl->given != NULL) {
            for (size_t i = 0; i < worded; i++)
                nccl->given[i] =
                    (st_plugin_given){.name = nccl->worded->options[i].name,
                                      .text = nccl->worded->options[i].text,
                                      .name_place = nccl->worded->options[i].name_place,
                                      .place = nccl->worded->options[i].place};
            nccl->given_count = worded + count;
            status = st_plugin_read_options(nccl->options->settings.items, count, run->arena,
                                            nccl->given + worded, run->errors);
        }
    }
    if (status == ST_OK)
        status = divide(nccl, nccl->each || !wants_fit);
    if (status == ST_OK && !wants_fit)
        status = keep_served(nccl);
    if (status == ST_OK)
        status = must_serve(nccl);
    return status == ST_OK ? run_fits(nccl, wants_fit) : status;
}

void cli_nccl_write(const cli_nccl *nccl)
{
    cli_run *run = nccl->run;
    st_nccl_report report = {
        .fits = nccl->fits, .count = nccl->fit_count, .details = run->common.all};
    st_result result;
    st_nccl_report_make(&report, run->arena, &result);
    cli_show(run, &result);
}

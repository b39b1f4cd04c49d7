/* SPDX-License-Identifier: Apache-2.0 */
/* steptime validate */
#include "fit/cli/verbs.h"
#include "fit/cli/nccl.h"
#include "fit/cli/run_logs.h"
#include "fit/cli/tables.h"

#include "fit/steps/band_check.h"
#include "fit/steps/nearest.h"
#include "fit/steps/step_pairs.h"
#include "base/error_scope.h"
#include "steptime/keys.h"
#include "steptime/tool/input_files.h"
#include "fit/steps/cases.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct validate_options {
    cli_table_options tables;
    cli_nccl_options nccl;
    cli_texts logs;
    cli_texts peers; /* files of another estimator */
    const char *profile;
    const char *errors; /* where to write the known errors */
    const char *site;   /* where to write the stack of the site */
    const char *near;   /* the job whose nearest rows are shown */
    bool pairs;
    bool bands;
} validate_options;

static const cli_option option_rows[] = {
    CLI_ROWS_TABLE(validate_options, tables),
    CLI_ROW_CONSTANTS(validate_options, tables),
    CLI_ROW_SHEET,
    CLI_ROW_SET,
    CLI_TEXTS(validate_options, logs, "nccl", "FILE",
              "measured collectives, such as output of nccl-tests; arguments are more such files",
              .word = CLI_WORD_FILE),
    CLI_TEXTS(validate_options, peers, "peer", "FILE",
              "plan, model, system and printed time of one job of Calculon or SimuMax, as JSON; "
              "arguments are more such files",
              .word = CLI_WORD_FILE),
    CLI_TEXT(validate_options, profile, "profile", "NAME",
             "options of the plugin from this profile; 'steptime profile list' lists them"),
    CLI_ROW_DB,
    CLI_TEXT(validate_options, errors, "write-errors", "FILE",
             "write the errors by GPU, precision, model and stack to FILE, for estimates with the "
             "sheet of the first table to show, as configs/errors/SHEET.yaml",
             .word = CLI_WORD_FILE),
    CLI_TEXT(validate_options, site, "save", "FILE",
             "write a stack to FILE with the term corrected that explains the measured jobs best",
             .word = CLI_WORD_FILE),
    CLI_TEXT(validate_options, near, "nearest", "JOB",
             "show the measured rows nearest to JOB, with the errors of their estimates",
             .word = CLI_WORD_JOB),
    CLI_FLAG(
        validate_options, pairs, "pairs",
        "predict rows of tables from rows that differ only in dp, pp, layers or micro-batches"),
    CLI_FLAG(validate_options, bands, "bands",
             "show how many rows are inside of their band, and its half-width, with their block, "
             "source, stack or kind of plan left out"),
    CLI_NCCL_MODEL_ROWS(validate_options, nccl),
    CLI_NCCL_TABLE_ROWS(validate_options, nccl),
    CLI_FLAG(cli_common, all, "all", "show every row of the tables and every assumption about them",
             .common = true),
    CLI_ROWS_FORMS,
    CLI_ROW_COLOR,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime validate", "every source"},
    {"steptime validate li2024", "the values of one paper against those of its sheet"},
    {"steptime validate --table runs.csv", "measured steps of your own"},
    {"steptime validate run.yaml",
     "a job with 'measured: {step_time: ...}', as 'steptime import' writes it from a log"},
    {"steptime validate run.log --cluster dgx-h100 --save site.yaml",
     "the log of a run, and a stack with the term corrected that explains the difference best"},
    {"steptime validate --table runs.csv --rows 'gpus=64|128' --constants my-cluster --all",
     "some of their rows, one by one, with constants from `steptime fit`"},
    {"steptime validate --nearest llama3-8b-8xh100",
     "the measured rows nearest to a job, with the errors of their estimates"},
    {"steptime validate --table runs.csv --pairs",
     "checks what-if: predicts each step from the layer time of another"},
    {"steptime validate --nccl all_reduce.log --profile my-cluster",
     "a model of collectives calibrated by `steptime fit nccl`, by range of sizes"},
    {NULL, NULL},
};

/* Everything that is compared. */
typedef struct validation {
    cli_run *run;
    const validate_options *options;
    st_case_source *cases;
    size_t case_count;
    st_measured_request request;
    st_accuracy *tables;
    size_t table_count;
    st_pairs *pairs;   /* with --pairs, one for each table */
    const char **jobs; /* with a measured step time */
    size_t job_count;
    size_t peer_count; /* files at `logs` that make one job */
    st_source *logs;   /* by job; without text where it is none */
    st_site site;
    st_near_rows nearest; /* with --nearest */
    st_error_rows errors; /* with --bands */
    size_t failed;
    size_t missed; /* cases that could not run */
} validation;

/* ---- which sources ---- */

static bool is_listed(const st_path_entry *entries, size_t count, const char *name)
{
    return ST_HAS(entries, count, name, name);
}

/* Whether a name on the command line is that of a source of tables. */
static bool has_tables(const validation *verb, const char *name)
{
    return ST_HAS(verb->request.sources, verb->request.source_count, name, name);
}

/* A job and a file of cases are both YAML; a file that has cases is one of cases. */
static bool is_job(const validation *verb, const char *name)
{
    const st_yaml_node *root = NULL;
    st_status status =
        st_paths_read_yaml(verb->run->paths, ST_FOLDER_JOBS, name, verb->run->arena, &root, NULL);
    return status == ST_OK && root->kind == ST_YAML_MAP && st_yaml_get(root, "cases") == NULL &&
           st_yaml_get(root, "match") == NULL;
}

/* A name that is not a source may be a job. */
static st_status choose_jobs(validation *verb, const st_path_entry *entries, size_t count)
{
    cli_run *run = verb->run;
    verb->jobs = st_arena_alloc(run->arena, run->argument_count + 1, sizeof *verb->jobs);
    verb->logs = st_arena_alloc(run->arena, run->argument_count + 1, sizeof *verb->logs);
    if (verb->jobs == NULL || verb->logs == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < run->argument_count; i++) {
        const char *name = run->arguments[i];
        if (is_listed(entries, count, name) || has_tables(verb, name))
            continue;
        st_source *log = &verb->logs[verb->job_count];
        if (is_job(verb, name))
            *log = (st_source){0};
        else if (!cli_is_log(run, name, log))
            continue;
        verb->jobs[verb->job_count++] = name;
    }
    return ST_OK;
}

/* --peer: one job of several files. */
static st_status choose_peer(validation *verb)
{
    cli_run *run = verb->run;
    const cli_texts *given = &verb->options->peers;
    const size_t count = given->count + run->argument_count;
    st_status status = ST_OK;
    verb->jobs = st_arena_alloc(run->arena, 1, sizeof *verb->jobs);
    verb->logs = st_arena_alloc(run->arena, count, sizeof *verb->logs);
    if (verb->jobs == NULL || verb->logs == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        const char *name = i < given->count ? given->items[i] : run->arguments[i - given->count];
        status = st_file_read_foreign(name, (st_place){0}, run->arena, &verb->logs[i], run->errors);
    }
    verb->jobs[0] = given->items[0];
    verb->job_count = 1;
    verb->peer_count = count;
    return status;
}

/* A file that is neither a job nor a log. */
static st_status refuse_file(st_errors *errors, const st_source *file)
{
    static const char *const starts[][2] = {{"\x1f\x8b", "compressed by gzip"},
                                            {"\x28\xb5\x2f\xfd", "compressed by zstd"},
                                            {"\xff\xfe", "in UTF-16"},
                                            {"\xfe\xff", "in UTF-16"}};
    const st_place place = {.file = file->file};
    for (size_t i = 0; i < ST_COUNT(starts); i++)
        if (strncmp(file->text, starts[i][0], strlen(starts[i][0])) == 0)
            return st_fail(errors, ST_ERR_VALUE, place,
                           "the file is %s" ST_EXPECTED "text in UTF-8", starts[i][1]);
    if (strspn(file->text, " \t\r\n") >= file->length)
        return st_fail(errors, ST_ERR_VALUE, place, "the file is empty");
    return st_fail(errors, ST_ERR_VALUE, place,
                   "neither a job nor the log of a run" ST_EXPECTED
                   "YAML with 'measured: {step_time: ...}', or lines of steps");
}

/* A name that is neither a source, of cases or of tables, nor a job. */
static st_status refuse_name(validation *verb, const char *name, const st_path_entry *entries,
                             size_t count)
{
    st_errors *errors = verb->run->errors;
    size_t most = count + verb->request.source_count;
    const char **names = st_arena_alloc(verb->run->arena, most + 1, sizeof *names);
    size_t known = 0;
    if (names == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        names[known++] = entries[i].name;
    for (size_t i = 0; i < verb->request.source_count; i++)
        names[known++] = verb->request.sources[i].name;
    const char *near = st_nearest(name, names, known);
    st_source file = {0};
    if (access(name, R_OK) == 0 && !st_file_is_folder(name) &&
        st_file_read_foreign(name, (st_place){0}, verb->run->arena, &file, NULL) == ST_OK)
        return refuse_file(errors, &file);
    return st_fail(
        errors, ST_ERR_USAGE, (st_place){0}, "unknown validation source or job '%s'" ST_HINT "%s",
        name,
        near != NULL ? near : "'steptime list validation' and 'steptime list tables' list them");
}

/* All sources of cases are read before any is run, so that all errors are reported at once. */
static st_status load_cases(validation *verb, const st_path_entry *entries, size_t count)
{
    cli_run *run = verb->run;
    const char **names = NULL;
    size_t chosen = 0;
    /* The sources of cases that are asked for; an unknown name is one of them, to be reported. */
    st_status status = ST_OK;
    const cli_run *case_run = verb->run;
    size_t most = count + case_run->argument_count;
    names = st_arena_alloc(case_run->arena, most + 1, sizeof *names);
    chosen = 0;
    if (names == NULL) {
        status = ST_ERR_MEMORY;
    } else {
        for (size_t i = 0; i < case_run->argument_count; i++)
            if (is_listed(entries, count, case_run->arguments[i]) ||
                (!has_tables(verb, case_run->arguments[i]) &&
                 !st_has_text(verb->jobs, verb->job_count, case_run->arguments[i])))
                names[chosen++] = case_run->arguments[i];
        for (size_t i = 0; case_run->argument_count == 0 && i < count; i++)
            names[chosen++] = entries[i].name;
    }
    verb->cases = st_arena_alloc(run->arena, chosen + 1, sizeof *verb->cases);
    if (status == ST_OK && verb->cases == NULL)
        status = ST_ERR_MEMORY;
    for (size_t i = 0; i < chosen && status != ST_ERR_MEMORY; i++) {
        bool is_known = is_listed(entries, count, names[i]) || st_name_is_path(names[i]);
        st_status loaded = is_known ? st_cases_load(verb->run->paths, names[i], run->arena,
                                                    &verb->cases[verb->case_count++], run->errors)
                                    : refuse_name(verb, names[i], entries, count);
        status = status == ST_OK ? loaded : status;
    }
    return status;
}

static st_status run_cases(validation *verb)
{
    const st_path_entry *entries = NULL;
    size_t count = 0;
    cli_run *run = verb->run;
    st_status status = st_paths_list(verb->run->paths, ST_FOLDER_VALIDATION, run->arena, &entries,
                                     &count, run->errors);
    if (status == ST_OK && count + verb->request.source_count == 0)
        status = st_fail(run->errors, ST_ERR_NAME, (st_place){0},
                         "the search path has no validation sources");
    if (status == ST_OK)
        status = choose_jobs(verb, entries, count);
    if (status == ST_OK)
        status = load_cases(verb, entries, count);
    if (status == ST_OK && verb->case_count > 0 && run->common.refine.count > 0)
        st_report(verb->run->errors, ST_SEVERITY_WARNING, ST_ERR_IO, (st_place){0},
                  "published cases ignore --refine; each case defines its own job");
    for (size_t i = 0; status == ST_OK && i < verb->case_count; i++) {
        status = st_cases_run(verb->run->paths, run->arena, &verb->cases[i], run->errors);
        verb->failed += verb->cases[i].failed;
        verb->missed += verb->cases[i].missed;
    }
    return status;
}

/* ---- tables ---- */

/* Runs the rows and pairs them. */
static st_status add_pairs(validation *verb, st_measured *measured)
{
    cli_run *run = verb->run;
    size_t count = verb->table_count;
    if (!ST_APPEND(run->arena, verb->pairs, count, (st_pairs){0}))
        return ST_ERR_MEMORY;
    return st_pairs_of(measured, run->arena, &verb->pairs[verb->table_count], run->errors);
}

static st_status add_table(validation *verb, st_measured *measured)
{
    bool in_pairs = verb->options->pairs;
    bool by_name = verb->run->argument_count > 0 || verb->options->tables.files.count > 0;
    if (in_pairs && !by_name && !st_pairs_known(measured))
        return ST_OK;
    cli_run *run = verb->run;
    st_accuracy table = {0};
    st_status status = cli_mark_fitted(run, verb->options->tables.constants, measured);
    if (status == ST_OK)
        status = in_pairs ? add_pairs(verb, measured)
                          : st_measured_run(measured, run->arena, run->errors);
    if (status == ST_OK && !in_pairs)
        status = st_rows_find_bands(run->paths, measured, run->arena, run->errors);
    if (status == ST_OK)
        status = st_accuracy_of(measured, run->arena, &table);
    if (status == ST_OK && !ST_APPEND(run->arena, verb->tables, verb->table_count, table))
        status = ST_ERR_MEMORY;
    return status;
}

/* A source that none of the rows match says nothing of the estimates. */
static st_status refuse_source(validation *verb, const st_table_source *source, const char *file)
{
    return st_fail(verb->run->errors, ST_ERR_VALUE, source->place,
                   "source %s matches no row of %s" ST_EXPECTED
                   "rows whose fields are those under 'match'",
                   source->name, file);
}

static st_status read_table(validation *verb, const st_measured_request *request, const char *file,
                            st_place place, const char *filter)
{
    st_measured *sets = NULL;
    size_t count = 0;
    st_measured_table asked = {.file = file, .place = place, .filter = filter};
    st_status status =
        st_measured_read(request, &asked, verb->run->arena, &sets, &count, verb->run->errors);
    if (status == ST_OK && count == 0 && request->known_only)
        return refuse_source(verb, &request->sources[0], file);
    for (size_t i = 0; status == ST_OK && i < count; i++)
        status = add_table(verb, &sets[i]);
    return status;
}

/* If no row of a table can be compared, report the first reasons. */
static st_status require_rows(validation *verb, size_t first, const char *file)
{
    const char *why = "no row is selected";
    for (size_t i = first; i < verb->table_count; i++) {
        if (verb->tables[i].compared > 0 || verb->tables[i].verdicts > 0)
            return ST_OK;
        if (verb->tables[i].reason_count > 0)
            why = verb->tables[i].reasons[0].text;
    }
    st_errors *errors = verb->run->errors;
    return st_fail(errors, ST_ERR_VALUE, (st_place){.file = file}, "no row can be compared: %s",
                   why);
}

static st_status run_given_tables(validation *verb, const st_measured_table *tables, size_t count)
{
    st_status status = ST_OK;
    if (verb->run->argument_count > 0)
        return cli_wrong_use(verb->run, "a source and --table exclude each other", NULL);
    for (size_t i = 0; i < count; i++) {
        size_t first = verb->table_count;
        st_status read =
            read_table(verb, &verb->request, tables[i].file, (st_place){0}, tables[i].filter);
        if (read == ST_OK)
            read = require_rows(verb, first, tables[i].file);
        status = status == ST_OK ? read : status;
    }
    return status;
}

/* A source's table where the measurements are kept; a source that is not there is reported. */
static st_status run_source_data(validation *verb, const st_measured_request *request,
                                 const st_table_source *source, const char *folder)
{
    st_arena *arena = verb->run->arena;
    const char *file = st_arena_printf(arena, "%s/%s", folder, source->data);
    if (file == NULL)
        return ST_ERR_MEMORY;
    if (access(file, F_OK) == 0)
        return read_table(verb, request, file, (st_place){0}, NULL);
    st_report(verb->run->errors, ST_SEVERITY_WARNING, ST_ERR_IO, (st_place){0},
              "source %s is not compared: missing %s", source->name, file);
    return ST_OK;
}

/* ---- results ---- */

static void write_result(const validation *verb)
{
    cli_run *run = verb->run;
    st_result result;
    st_node *root = st_result_begin(&result, run->arena);
    if (verb->options->near != NULL) {
        (void)st_put_list(root, "sources");
        (void)st_put_list(root, "tables");
        st_nearest_put(&verb->nearest, root);
        st_result_csv(root->result, "nearest", "id,source,gpu,stack,distance,measured,error");
    } else if (verb->options->bands) {
        (void)st_put_list(root, "sources");
        (void)st_put_list(root, "tables");
        if (st_band_check_put(&verb->errors, run->arena, root) != ST_OK)
            (void)st_out_of_memory(run->errors);
        st_result_csv(root->result, "band_rows",
                      "source,id,gpu,precision,model,stack,sharded,stages,fitted,error,"
                      "with_all,without_block,without_source,without_stack,without_plan");
    } else if (verb->options->pairs) {
        const bool details = run->common.all;
        st_node *tables = st_put_list(root, "tables");
        for (size_t i = 0; i < verb->table_count; i++) {
            st_say(tables, i > 0 ? "\n" : "");
            st_pairs_put(&verb->pairs[i], details, st_put_map(tables, NULL));
        }
        st_result_csv(root->result, "tables/kinds",
                      "source,edit,pairs,errors/mean_absolute=mean_absolute,"
                      "errors/median_absolute=median_absolute,errors/bias=bias,"
                      "errors/largest=largest,errors/within_5=within_5,errors/within_10=within_10,"
                      "errors_of_the_estimate_alone/mean_absolute=alone_mean_absolute,"
                      "errors_of_the_estimate_alone/median_absolute=alone_median_absolute");
    } else {
        const bool details = run->common.all;
        st_cases_put(verb->cases, verb->case_count, root);
        st_node *tables = st_put_list(root, "tables");
        for (size_t i = 0; i < verb->table_count; i++) {
            st_say(tables, i > 0 || verb->case_count > 0 ? "\n" : "");
            st_accuracy_put(&verb->tables[i], details, st_put_map(tables, NULL));
        }
        if (verb->site.run_count > 0)
            st_site_put(&verb->site, root);
        st_result_csv(root->result, "tables/rows",
                      "source,id,cell,measured,estimated,unit,.difference,.none,.verdict,.why");
    }
    cli_show(run, &result);
}

/* The limits of a source are about what is shipped. */
static size_t count_failures(const validation *verb, bool given_tables)
{
    cli_run *run = verb->run;
    size_t failed = verb->failed;
    bool shipped = !given_tables && !verb->options->pairs && run->common.sets.count == 0 &&
                   verb->options->tables.constants == NULL && run->common.sheet == NULL &&
                   run->common.refine.count == 0;
    for (size_t i = 0; shipped && i < verb->table_count; i++)
        failed += verb->tables[i].failed;
    return failed;
}

/* Pairs are rows of tables: a name must be that of a source of some. */
static st_status require_sources(validation *verb)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < verb->run->argument_count; i++) {
        if (has_tables(verb, verb->run->arguments[i]))
            continue;
        st_status refused = refuse_name(verb, verb->run->arguments[i], NULL, 0);
        status = status == ST_OK ? refused : status;
    }
    return status;
}

static bool has_same_stack(const st_measured *run, const st_measured *other)
{
    const st_stack *stacks[] = {st_job_stack(run->rows[0].job), st_job_stack(other->rows[0].job)};
    return strcmp(st_sheet_name(run->sheet), st_sheet_name(other->sheet)) == 0 &&
           strcmp(stacks[0] != NULL ? stacks[0]->name : "",
                  stacks[1] != NULL ? stacks[1]->name : "") == 0;
}

/* Jobs with a measured step time, and the term that explains how far they are off. */
static st_status run_jobs(validation *verb)
{
    st_status job_status = ST_OK;
    st_measured *measured = st_arena_alloc(verb->run->arena, verb->job_count + 1, sizeof *measured);
    const st_measured **runs = st_arena_alloc(verb->run->arena, verb->job_count + 1, sizeof *runs);
    size_t run_count = 0;
    if (measured == NULL || runs == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < verb->job_count; i++) {
        st_status job =
            verb->logs[i].text != NULL
                ? cli_measured_log(verb->run, &verb->request, verb->options->nccl.cluster,
                                   &verb->logs[i], verb->peer_count, &measured[i])
                : st_measured_job(&verb->request, verb->jobs[i], verb->run->arena, &measured[i],
                                  verb->run->errors);
        size_t first = verb->table_count;
        if (job == ST_OK)
            job = add_table(verb, &measured[i]);
        if (job == ST_OK)
            job = require_rows(verb, first, measured[i].file);
        if (job == ST_OK && measured[i].rows[0].left_out == NULL) {
            if (run_count == 0 || has_same_stack(runs[0], &measured[i]))
                runs[run_count++] = &measured[i];
            else
                st_report(verb->run->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE,
                          (st_place){.file = measured[i].file},
                          "another stack or sheet than of %s: not used to find the term that "
                          "explains the difference",
                          runs[0]->rows[0].id);
        }
        job_status = job_status == ST_OK ? job : job_status;
    }
    return job_status == ST_OK && run_count > 0
               ? st_site_of(verb->run->paths, runs, run_count, verb->run->arena, &verb->site,
                            verb->run->errors)
               : job_status;
}

static st_status run_peer(validation *verb)
{
    st_status status = choose_peer(verb);
    return status == ST_OK ? run_jobs(verb) : status;
}

/* Cases, tables and jobs: everything that no --table replaces. */
static st_status run_sources(validation *verb)
{
    bool in_pairs = verb->options->pairs;
    st_status status = in_pairs ? require_sources(verb) : run_cases(verb);
    if (status == ST_OK) {
        const char *folder = getenv("STEPTIME_DATA");
        const char *absent = NULL;
        st_status table_status = ST_OK;
        for (size_t i = 0; i < verb->request.source_count && table_status == ST_OK; i++) {
            const st_table_source *source = &verb->request.sources[i];
            st_measured_request request = verb->request;
            request.sources = source;
            request.source_count = 1;
            request.known_only = true;
            if (verb->run->argument_count != 0 &&
                !st_has_text(verb->run->arguments, verb->run->argument_count, source->name))
                continue;
            if (source->rows != NULL)
                table_status = read_table(verb, &request, source->rows, source->place, NULL);
            else if (source->data != NULL && folder != NULL && folder[0] != '\0')
                table_status = run_source_data(verb, &request, source, folder);
            else if (source->data != NULL)
                absent = absent == NULL
                             ? source->name
                             : st_errors_text(verb->run->errors, "%s, %s", absent, source->name);
        }
        if (absent != NULL)
            st_report(verb->run->errors, ST_SEVERITY_WARNING, ST_ERR_IO, (st_place){0},
                      "not compared: %s" ST_HINT
                      "set STEPTIME_DATA to the folder with their tables",
                      absent);
        status = table_status;
    }
    return status == ST_OK ? run_jobs(verb) : status;
}

/* ---- collectives ---- */

/* --nccl, all of it. */
static int validate_collectives(cli_run *run)
{
    const validate_options *options = run->options;
    cli_nccl nccl = {.run = run, .options = &options->nccl, .profile = options->profile};
    const char **files = NULL;
    size_t count = 0;
    st_status status = options->tables.files.count > 0
                           ? cli_wrong_use(run, "--nccl and --table exclude each other", NULL)
                           : cli_paths(run);
    if (status == ST_OK) {
        const cli_texts *given = &options->logs;
        count = given->count + run->argument_count;
        files = st_arena_alloc(run->arena, count + 1, sizeof *files);
        if (files == NULL) {
            status = ST_ERR_MEMORY;
        } else {
            for (size_t i = 0; i < given->count; i++)
                files[i] = given->items[i];
            for (size_t i = 0; i < run->argument_count; i++)
                files[given->count + i] = run->arguments[i];
        }
    }
    if (status == ST_OK)
        status = cli_nccl_read(&nccl, files, count);
    if (status == ST_OK)
        status = cli_nccl_run(&nccl, false);
    if (status == ST_OK)
        cli_nccl_write(&nccl);
    return cli_exit_code(run, status);
}

/* The job need not have been measured: only its place among the rows counts. */
static st_status find_nearest(validation *verb)
{
    cli_run *run = verb->run;
    st_measured_request request = verb->request;
    st_measured *job = st_arena_alloc(run->arena, 1, sizeof *job);
    const char **sets = st_arena_alloc(run->arena, run->common.sets.count + 1, sizeof *sets);
    if (job == NULL || sets == NULL)
        return ST_ERR_MEMORY;
    sets[0] = ST_KEY_MEASURED_STEP_TIME "=1 s";
    request.set_count = 1;
    for (size_t i = 0; i < run->common.sets.count; i++)
        sets[request.set_count++] = run->common.sets.items[i];
    request.sets = sets;
    st_error_scope scope = {.edit = st_error_is_severe};
    st_errors_enter(run->errors, &scope);
    st_status status = st_measured_job(&request, verb->options->near, run->arena, job, run->errors);
    st_errors_leave(run->errors, &scope);
    verb->nearest = (st_near_rows){.job = job};
    for (size_t i = 0; i < verb->table_count && status == ST_OK; i++)
        st_nearest_add(&verb->nearest, verb->tables[i].measured);
    if (status == ST_OK && verb->nearest.count == 0)
        status = st_fail(run->errors, ST_ERR_VALUE, (st_place){.file = verb->options->near},
                         "no measured row is of the job's sheet" ST_HINT
                         "set STEPTIME_DATA to the folder with the sources' tables");
    return status;
}

/* Errors of all rows of tables; a file of bands is of one sheet. */
static st_status add_error_rows(const validation *verb, st_error_rows *rows)
{
    st_status status = verb->table_count > 0
                           ? ST_OK
                           : st_fail(verb->run->errors, ST_ERR_USAGE, (st_place){0},
                                     "no errors to count: no table was compared" ST_HINT
                                     "set STEPTIME_DATA to the folder with the sources' tables");
    for (size_t i = 0; i < verb->table_count && status == ST_OK; i++)
        if (strcmp(st_sheet_name(verb->tables[i].measured->sheet),
                   st_sheet_name(verb->tables[0].measured->sheet)) == 0)
            status = st_error_rows_add(rows, verb->tables[i].measured, verb->run->arena);
    return status;
}

/* --write-errors */
static st_status write_errors(const validation *verb)
{
    cli_run *error_run = verb->run;
    st_error_rows rows = {0};
    st_buffer buffer = {0};
    st_status status = add_error_rows(verb, &rows);
    if (status == ST_OK)
        status = st_error_rows_write(&rows, st_sheet_name(verb->tables[0].measured->sheet),
                                     error_run->arena, &buffer);
    if (status == ST_OK)
        status = cli_write_file(error_run, verb->options->errors, &buffer);
    st_buffer_free(&buffer);
    return status;
}

/* Options that exclude each other. */
static st_status choose_what(cli_run *run, const validate_options *options)
{
    if (options->peers.count > 0 && options->tables.files.count > 0)
        return cli_wrong_use(run, "--peer and --table exclude each other", NULL);
    if (options->bands && (options->pairs || options->near != NULL))
        return cli_wrong_use(run, "--bands excludes --pairs and --nearest", NULL);
    return cli_paths(run);
}

/* What follows from the tables that were compared. */
static st_status finish(validation *verb)
{
    cli_run *run = verb->run;
    st_status status = ST_OK;
    if (verb->options->errors != NULL)
        status = write_errors(verb);
    if (status == ST_OK && verb->options->bands)
        status = add_error_rows(verb, &verb->errors);
    if (status == ST_OK && verb->options->near != NULL)
        status = find_nearest(verb);
    if (status == ST_OK && verb->options->site != NULL)
        status = verb->site.run_count > 0
                     ? cli_save_site(run, &verb->site, verb->options->site)
                     : cli_wrong_use(run, "--save requires logs or measured jobs", NULL);
    return status;
}

static int run_validate(cli_run *run)
{
    validation verb = {.run = run, .options = run->options};
    if (verb.options->logs.count > 0)
        return validate_collectives(run);
    const st_measured_table *tables = NULL;
    size_t count = 0;
    const bool has_peer = verb.options->peers.count > 0;
    st_status status = choose_what(run, verb.options);
    if (status == ST_OK)
        status = cli_tables(run, &verb.options->tables, &tables, &count);
    if (status == ST_OK)
        status = cli_table_request(run, &verb.options->tables, &verb.request);
    if (verb.options->near != NULL) /* --set is about that job, not about rows */
        verb.request.set_count = 0;
    if (status == ST_OK)
        status = has_peer    ? run_peer(&verb)
                 : count > 0 ? run_given_tables(&verb, tables, count)
                             : run_sources(&verb);
    if (status == ST_OK)
        status = finish(&verb);
    if (status == ST_OK)
        write_result(&verb);
    if (status != ST_OK)
        return cli_exit_code(run, status);
    if (verb.options->near != NULL)
        return CLI_DONE;
    bool faulty = verb.missed > 0 || st_errors_status(run->errors) != ST_OK;
    return faulty || count_failures(&verb, count > 0) > 0 ? CLI_FAILED : CLI_DONE;
}

const cli_verb cli_verb_validate = {
    .name = "validate",
    .arguments = "[SOURCE|JOB...]",
    .words = {CLI_WORD_SOURCE, CLI_WORD_SOURCE},
    .summary = "compare estimates with published and measured numbers",
    .doc =
        "Compares each source under validation/: published values next to ours with the actual and "
        "the declared difference, and tables of measured steps with the mean, median and largest "
        "error, separately for rows used in a fit and rows held out. Exits 1 if a difference or a "
        "mean error exceeds the declared one or a case cannot run.\n\n"
        "The environment variable STEPTIME_DATA names the folder with tables that are not part of "
        "steptime.\n\n"
        "With --table the rows of a file are compared instead. Rows of a known source, recognized "
        "by their ids, are completed with the settings of that source; rows that still lack a "
        "value are left out, with the reason. A mean error above the one that the source declares "
        "is shown and changes the exit status only without --table.\n\n"
        "With --pairs, rows that differ only in the data-parallel size, the pipeline size, the "
        "layers or the micro-batches are predicted from each other: the layer time is scaled until "
        "one row's estimate equals its measurement, and the other row is estimated with the same "
        "scale. The errors are shown by kind of edit, next to those of the estimates alone.\n\n"
        "With --peer the files of one job of Calculon (execution, application, system, stats) or "
        "SimuMax (strategy, model, system, result) are read, in any order, and the estimate is "
        "compared with the time that the tool printed, of its result or of --set "
        "measured.step_time=...; --cluster replaces the system.\n\n"
        "With --nccl the times of a plugin, nominal or with the options of a profile, are compared "
        "with output of nccl-tests; see 'steptime help fit nccl'.",
    .examples = examples,
    CLI_OPTIONS(option_rows, validate_options),
    .run = run_validate,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* steptime compare */
#include "cli/verbs.h"
#include "cli/job_from_options.h"
#include "timeline/schedule_choice.h"
#include "plugin/refine_parse.h"
#include "estimate/compare_providers.h"
#include "estimate/compare.h"
#include "timeline/timeline.h"

#include <string.h>

typedef struct compare_options {
    const char *sheet_a;
    const char *sheet_b;
    cli_texts sets_b;
    bool timeline;
} compare_options;

static const cli_option option_rows[] = {
    CLI_TEXT(compare_options, sheet_a, "sheet-a", "SHEET", "use this sheet for A",
             .word = CLI_WORD_SHEET),
    CLI_TEXT(compare_options, sheet_b, "sheet-b", "SHEET", "use this sheet for B",
             .word = CLI_WORD_SHEET),
    CLI_TEXTS(cli_common, sets, "set", "KEY=VALUE", "set a key of both jobs; may be repeated",
              .word = CLI_WORD_KEY, .common = true),
    CLI_ROW_STACK,
    CLI_TEXTS(compare_options, sets_b, "set-b", "KEY=VALUE", "set a key of B only; may be repeated",
              .word = CLI_WORD_KEY),
    CLI_TEXTS(cli_common, refine, "refine", "PLUGIN[:NAME=VALUE,...]|...",
              "estimate A under each of these sets of plugins, one column per set; separate sets "
              "with '|' or repeat the option, join plugins of a set with '+'; with two jobs, a "
              "single set applies to both",
              .common = true),
    CLI_FLAG(cli_common, all, "all", "show every cell, including equal ones", .common = true),
    CLI_FLAG(compare_options, timeline, "timeline",
             "compare the closed form of one job with its replayed timeline"),
    CLI_ROW_CHECK,
    CLI_ROW_DB,
    CLI_ROW_QUIET,
    CLI_ROWS_FORMS,
    CLI_ROW_COLOR,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime compare gpt-3b-32x3090 gpt-1.5b-16x3090", "two jobs"},
    {"steptime compare gpt-3b-32x3090 --set-b parallel.tp=4 --set-b parallel.dp=2",
     "one job under two plans"},
    {"steptime compare gpt-3b-32x3090 --sheet-b mine.yaml", "one job by two sheets"},
    {"steptime compare gpt3-175b-64xa100 --refine 'none|constant|nccl-whitebox+constant'",
     "one job under several sets of plugins"},
    {"steptime compare gpt3-175b-64xa100 --timeline", "the closed form and the replayed schedule"},
    {NULL, NULL},
};

static bool has_two_sides(const cli_run *run)
{
    const compare_options *options = run->options;
    return run->argument_count > 1 || options->sets_b.count > 0 || options->sheet_b != NULL;
}

static st_status run_side(cli_run *run, bool is_b, const char *refine, st_estimate *estimate)
{
    const compare_options *options = run->options;
    st_request request = {.job = run->arguments[is_b ? run->argument_count - 1 : 0],
                          .sheet = is_b ? options->sheet_b : options->sheet_a,
                          .checks_warn = run->common.check == CLI_CHECK_NONE};
    /* Assignments of one side: those of both, then those of B. */
    st_status status = ST_OK;
    const cli_texts *both = &run->common.sets;
    size_t extra = is_b ? options->sets_b.count : 0;
    const char **sets = st_arena_alloc(run->arena, both->count + extra + 1, sizeof *sets);
    if (sets == NULL) {
        status = ST_ERR_MEMORY;
    } else {
        for (size_t i = 0; i < both->count; i++)
            sets[i] = both->items[i];
        for (size_t i = 0; i < extra; i++)
            sets[both->count + i] = options->sets_b.items[i];
        request.sets = sets;
        request.set_count = both->count + extra;
    }
    request.refine = &refine;
    request.refine_count = refine != NULL ? 1 : 0;
    if (status == ST_OK)
        status = st_estimate_load(run->paths, &request, run->arena, estimate, run->errors);
    if (status == ST_OK)
        status = st_estimate_show_report(estimate, run->common.all, run->arena);
    return status == ST_OK ? st_estimate_run(estimate, run->arena, run->errors) : status;
}

/* The columns of every --refine in order; a single one is compared with the job's own. */
static st_status list_columns(cli_run *run, st_columns *columns)
{
    const cli_texts *texts = &run->common.refine;
    st_status status = ST_OK;
    for (size_t i = 0; i < texts->count && status == ST_OK; i++) {
        const char *const *list = NULL;
        size_t length = 0;
        status = st_refine_columns(texts->items[i], run->arena, &list, &length, run->errors);
        for (size_t k = 0; k < length && status == ST_OK; k++) {
            if (columns->count == ST_COLUMNS_MAX)
                return cli_wrong_use(run, "option --refine yields more than 8 columns", NULL);
            columns->names[columns->count++] = list[k];
        }
    }
    return status;
}

/* Estimates one column; one that fails says why and leaves the others alone. */
static st_status run_column(cli_run *run, const char *refine, st_columns *columns, size_t index)
{
    st_errors *all = run->errors;
    st_errors *own = st_errors_create();
    if (own == NULL)
        return ST_ERR_MEMORY;
    run->errors = own;
    st_status status = run_side(run, false, refine, &columns->estimates[index]);
    run->errors = all;
    /* Why a column has failed, in words; every error of it is reported once, whatever columns
     * share it. */
    const char *fault_why = NULL;
    for (size_t i = 0; i < st_errors_size(own); i++) {
        const st_error *fault = st_errors_at(own, i);
        bool is_known = false;
        for (size_t j = 0; j < st_errors_size(run->errors); j++) {
            const st_error *known = st_errors_at(run->errors, j);
            if (known->severity == fault->severity && known->place.line == fault->place.line &&
                strcmp(known->message, fault->message) == 0) {
                is_known = true;
                break;
            }
        }
        if (!is_known)
            (void)st_errors_add(run->errors, fault);
        if (fault->severity == ST_SEVERITY_ERROR && fault_why == NULL)
            fault_why = st_arena_printf(run->arena, "%s%s%s", fault->message,
                                        fault->found != NULL ? ": found " : "",
                                        fault->found != NULL ? fault->found : "");
    }
    const char *why = fault_why != NULL ? fault_why : "it is undefined";
    if (status != ST_OK) {
        columns->estimates[index] = (st_estimate){0};
        columns->faults[index] = why;
    }
    st_errors_destroy(own);
    return status;
}

/* One job under several refinements. */
static st_status compare_columns(cli_run *run, st_columns *columns)
{
    bool lone = columns->count == 1;
    size_t good = 0;
    st_status status = ST_OK;
    if (has_two_sides(run))
        return cli_wrong_use(run, "several sets of plugins require a single job",
                             "omit B, --set-b and --sheet-b");
    if (lone) {
        columns->names[1] = columns->names[0];
        columns->names[0] = "job's own";
        columns->count = 2;
    }
    columns->all = run->common.all;
    for (size_t i = 0; i < columns->count && status != ST_ERR_MEMORY; i++) {
        const char *refine = lone && i == 0 ? NULL : columns->names[i];
        st_status ran = run_column(run, refine, columns, i);
        good += ran == ST_OK ? 1 : 0;
        status = ran == ST_OK ? status : ran;
    }
    /* A file changes only on success. */
    if (status == ST_OK || (status != ST_ERR_MEMORY && good > 0 && run->common.output == NULL)) {
        st_result result;
        st_columns_report(columns, run->arena, &result);
        cli_show(run, &result);
    }
    return status;
}

static st_status compare_sides(cli_run *run, const char *refine)
{
    st_estimate a = {0};
    st_estimate b = {0};
    st_comparison comparison;
    st_status status = run_side(run, false, refine, &a);
    if (status == ST_OK)
        status = run_side(run, true, refine, &b);
    if (status == ST_OK)
        status = st_comparison_make(&a, &b, run->common.all, run->arena, &comparison, run->errors);
    if (status == ST_OK) {
        st_result result;
        st_comparison_report(&comparison, run->arena, &result);
        cli_show(run, &result);
    }
    return status;
}

static int run_compare(cli_run *run)
{
    const compare_options *options = run->options;
    if (options->timeline) {
        /* --timeline: the closed form of one job next to its replay. */
        st_estimate estimate = {0};
        st_timeline_plan plan = {0};
        st_timeline timeline = {0};
        if (has_two_sides(run))
            return cli_exit_code(run,
                                 cli_wrong_use(run, "--timeline compares a single job with itself",
                                               "omit B, --set-b and --sheet-b"));
        const st_schedule_wish own_schedule = {0};
        st_request request = cli_request(run);
        request.sheet = options->sheet_a;
        st_status timeline_status = cli_paths(run);
        if (timeline_status == ST_OK)
            timeline_status =
                st_estimate_load(run->paths, &request, run->arena, &estimate, run->errors);
        if (timeline_status == ST_OK)
            timeline_status = st_timeline_plan_make(&estimate, run->arena, &plan, run->errors);
        if (timeline_status == ST_OK)
            timeline_status = st_schedule_choose(&own_schedule, run->paths, estimate.job,
                                                 run->arena, &plan, run->errors);
        if (timeline_status == ST_OK)
            timeline_status = st_timeline_make(&plan, false, run->arena, &timeline, run->errors);
        if (timeline_status == ST_OK) {
            st_result result;
            st_timeline_terms_report(&timeline, run->arena, &result);
            cli_show(run, &result);
        }
        st_timeline_free(&timeline);
        return cli_exit_code(run, timeline_status);
    }
    st_columns *columns = st_arena_alloc(run->arena, 1, sizeof *columns);
    st_status status = columns != NULL ? cli_paths(run) : ST_ERR_MEMORY;
    if (status == ST_OK)
        status = list_columns(run, columns);
    if (status == ST_OK)
        status = columns->count > 1 || (columns->count == 1 && !has_two_sides(run))
                     ? compare_columns(run, columns)
                     : compare_sides(run, columns->names[0]);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_compare = {
    .name = "compare",
    .arguments = "A [B]",
    .words = {CLI_WORD_JOB, CLI_WORD_JOB},
    .summary = "compare two jobs cell by cell",
    .doc = "Estimates two jobs, or one job twice, and shows the inputs and report cells that "
           "differ. Without B, --sheet-b or --set-b compares the job with a variant of itself, "
           "--timeline compares its closed form with the replayed schedule term by term, and "
           "--refine compares sets of plugins and shows the changes from the first.",
    .examples = examples,
    CLI_OPTIONS(option_rows, compare_options),
    .run = run_compare,
};

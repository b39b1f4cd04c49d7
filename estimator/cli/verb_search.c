/* SPDX-License-Identifier: Apache-2.0 */
/* steptime search */
#include "cli/verbs.h"
#include "cli/job_from_options.h"
#include "cli/explore.h"
#include "cli/ranks.h"
#include "search/search_state.h"
#include "search/space_file.h"

#include <string.h>

enum { BY_REPLAY, BY_CLOSED_FORM };

typedef struct search_options {
    cli_explore_options explore;
    const char *gpus;
    cli_texts varies;
    cli_texts only;
    const char *space;
    const char *write;
    uint64_t rank;
    const char *svg;
    const char *minimise;
    const char *maximise;
    uint64_t top;
    uint64_t confirm;
    unsigned by;
    double tie_percent;
    cli_texts pareto;
    cli_texts map;
    bool all;
    bool verbose;
} search_options;

static const cli_option option_rows[] = {
    CLI_ROW_MODEL,
    CLI_ROW_CLUSTER,
    CLI_ROW_BATCH,
    CLI_ROW_SEQUENCE,
    CLI_TEXT(search_options, gpus, "gpus", "N,...",
             "numbers of GPUs: 512, a list or a range such as 8..4096*2 (default: as many as the "
             "job's plan uses)"),
    CLI_TEXTS(search_options, varies, "vary", "KEY[=VALUES]",
              "also vary this key, over these values or over all possible ones; separate several "
              "keys with commas",
              .word = CLI_WORD_KEY),
    CLI_TEXTS(search_options, only, "only", "KEY[=VALUES]",
              "vary only these keys of the plan (default: all that no --set fixes)",
              .word = CLI_WORD_KEY),
    CLI_FILE(search_options, space, "space",
             "read GPUs, keys to vary alone or jointly, keys to set, and conditions from FILE; "
             "options of the command line are added"),
    CLI_TEXT(search_options, minimise, "minimise", "CELL",
             "rank plans by this cell: step_time, cost, energy, memory or any other (default: "
             "step_time)",
             .word = CLI_WORD_CELL),
    CLI_TEXT(search_options, maximise, "maximise", "CELL",
             "rank by this cell, greatest value first: tokens_per_s, mfu or any other",
             .word = CLI_WORD_CELL),
    CLI_COUNT(search_options, top, "top", 1, ST_SEARCH_MAX_TOP, "show the N best plans",
              .initial = "10"),
    CLI_COUNT(search_options, confirm, "confirm", 1, ST_CONFIRM_MOST,
              "replay the N best plans, at least those that are shown, and rank them by it",
              .initial = "20"),
    CLI_CHOICE(search_options, by, "by", "TIME", "replay closed-form",
               "rank by the replay of the schedule, as of 'steptime timeline', or by the closed "
               "form alone"),
    CLI_NUMBER(search_options, tie_percent, "tie", "PERCENT", 0, 100,
               "group plans whose columns and memory differ by at most P percent, and count the "
               "others; 0 lists each",
               .range = "percent, from 0 to 100", .initial = "0.1"),
    CLI_FLAG(search_options, all, "all",
             "also rank plans that exceed a limit, such as the memory of a GPU, and mark them"),
    CLI_ROW_CELLS,
    CLI_RESULT(search_options, write, "write",
               "write a plan as a job file with the same estimate; FILE changes only on success"),
    CLI_COUNT(search_options, rank, "rank", 1, ST_SEARCH_MAX_TOP,
              "with --write: write the plan of this rank", .initial = "1"),
    CLI_RESULT(search_options, svg, "svg",
               "also draw the step time of all plans over their memory, or the cells of --pareto, "
               "into FILE"),
    CLI_NAMES(search_options, pareto, "pareto", "CELL,CELL",
              "show the Pareto front of two cells: the plans that no other plan beats in both",
              .once = true),
    CLI_NAMES(search_options, map, "map", "KEY,KEY",
              "show the best plan for every pair of values of these keys, such as tp,pp, and the "
              "missing memory of the others; --svg draws it",
              .once = true),
    CLI_ROWS_GUIDE,
    CLI_ROW_WHERE,
    CLI_COUNT(cli_explore_options, sample, "sample", 1, CLI_MOST_DIGITS,
              "consider N plans drawn uniformly from all of them"),
    CLI_ROW_SEED,
    CLI_ROW_THREADS,
    CLI_FLAG(search_options, verbose, "verbose",
             "show parts, settings, cost and energy of every plan and the sources of limits, and "
             "on standard error the work of every process"),
    CLI_ROW_CHECK,
    CLI_ROWS_JOB,
    CLI_ROWS_FORMS,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime search gpt3-175b-64xa100 --gpus 512", "the ten fastest plans"},
    {"steptime search --model llama3-70b --cluster dgx-h100 --gpus 64",
     "the fastest plans of a model on a cluster, without a job"},
    {"steptime search gpt3-175b-64xa100 --gpus 512 --where 'memory <= 72[GiB]' --minimise cost",
     "the cheapest plans that leave some memory free"},
    {"steptime search gpt3-175b-64xa100 --gpus 64..1024*2 --pareto step_time,cost",
     "the price of speed"},
    {"steptime search gpt3-175b-64xa100 --only batch.micro,recompute",
     "vary only these two keys; all others as in the job"},
    {"steptime search gpt3-175b-64xa100 --vary cluster.gpu=a100-sxm-80gb,h100-sxm",
     "every plan with each of two GPUs"},
    {"steptime search gpt3-175b-64xa100 --gpus 512 --write best.yaml",
     "write the best plan as a job, for 'steptime estimate best.yaml'"},
    {"steptime search gpt3-175b-64xa100 --gpus 512 --svg plans.svg",
     "every plan as a point, and the Pareto front of time and memory"},
    {"steptime search gpt3-175b-64xa100 --gpus 512 --map tp,pp --svg map.svg",
     "the plans that fit, by two sizes"},
    {"steptime search gpt3-175b-64xa100 --space space.yaml", "a space defined in a file"},
    {NULL, NULL},
};

static void show_progress(void *context, uint64_t done, uint64_t rows)
{
    cli_progress_show(context, done, rows);
}

/* Options that do not go together. */
static st_status check_options(cli_run *run, const search_options *options, const st_guide *guide)
{
    const size_t cells = options->pareto.count;
    if (cells != 0 && cells != 2)
        return cli_wrong_use(run, "option --pareto requires two cells, such as step_time,memory",
                             NULL);
    if (cli_is_given(run, &options->rank) && options->write == NULL)
        return cli_wrong_use(run, "option --rank requires --write", "add --write FILE");
    if (options->svg != NULL && st_guide_is_given(guide))
        return cli_wrong_use(run, "--svg needs every plan, but --method and --prune skip some",
                             NULL);
    if (options->all && st_guide_is_given(guide))
        return cli_wrong_use(run, "--all needs every plan, but --method and --prune skip some",
                             NULL);
    if (run->common.check == CLI_CHECK_NONE && st_guide_is_given(guide))
        return cli_wrong_use(
            run, "--check none needs every plan, but --method and --prune skip some", NULL);
    if (options->by == BY_CLOSED_FORM && cli_is_given(run, &options->confirm))
        return cli_wrong_use(run, "--confirm replays plans, but --by closed-form ranks without",
                             "omit one of the two");
    if (options->minimise != NULL && options->maximise != NULL)
        return cli_wrong_use(run, "--minimise and --maximise are mutually exclusive", NULL);
    return ST_OK;
}

static st_status read_request(cli_run *run, st_search_request *request)
{
    const search_options *options = run->options;
    const cli_texts *front = &options->pareto;
    st_status status = cli_job_read(run, options->gpus);
    cli_job_warn(run);
    if (status == ST_OK)
        status = cli_explore_request(run, &request->space);
    if (status == ST_OK)
        status = cli_explore_guide(run, &request->guide);
    if (status == ST_OK)
        status = check_options(run, options, &request->guide);
    if (status == ST_OK) {
        /* --map and what it does not go with. */
        const size_t keys = options->map.count;
        if (keys != 0) {
            if (keys != 2)
                status = cli_wrong_use(run, "option --map requires two keys, such as tp,pp", NULL);
            else if (options->pareto.count != 0 || options->write != NULL ||
                     st_guide_is_given(&request->guide))
                status =
                    cli_wrong_use(run, "--map excludes --pareto, --write, --method and --prune",
                                  "omit them, or omit --map");
        }
    }
    request->varies = options->varies.items;
    request->vary_count = options->varies.count;
    request->only = options->only.items;
    request->only_count = options->only.count;
    request->threads = cli_explore_threads(run);
    request->gpus = options->gpus;
    request->maximise = options->maximise != NULL;
    request->goal = request->maximise ? options->maximise : options->minimise;
    request->cells = options->explore.cells.items;
    request->cell_count = options->explore.cells.count;
    request->front[0] = front->count == 2 ? front->items[0] : NULL;
    request->front[1] = front->count == 2 ? front->items[1] : NULL;
    request->picture = options->svg != NULL;
    request->top = (size_t)(options->top > options->rank ? options->top : options->rank);
    request->detailed = options->verbose;
    request->tries = true;
    bool replays = options->by == BY_REPLAY && !st_guide_is_given(&request->guide);
    request->confirm = replays ? (size_t)options->confirm : 0;
    request->all = options->all || run->common.check == CLI_CHECK_NONE;
    request->tie_frac = options->tie_percent / 100;
    request->merges = !st_guide_is_given(&request->guide) && request->tie_frac > 0;
    return status;
}

/* The plan that --write asks for; conclude() reports a missing one. */
static st_status write_plan(cli_run *run, const st_search_view *view)
{
    const search_options *options = run->options;
    size_t count = view->ranked_count;
    if (options->write == NULL || count == 0)
        return ST_OK;
    if (options->rank > count)
        return st_fail(run->errors, ST_ERR_USAGE, (st_place){.file = "--rank"},
                       "no plan of rank %llu" ST_EXPECTED "1 to %zu",
                       (unsigned long long)options->rank, count);
    return st_search_write_plan(run->paths, view, (size_t)options->rank,
                                cli_make_file(run, options->write), run->errors);
}

static st_status show(cli_run *run, const st_search *search, const st_search_result *result)
{
    st_search_view view;
    st_status status = st_search_view_make(run->paths, search, result, &view, run->errors);
    if (status != ST_OK)
        return status;
    st_result tree;
    st_search_put(&view, &tree);
    cli_show(run, &tree);
    run->interrupted = result->interrupted;
    if (run->interrupted && run->common.csv)
        cli_say_partial(run, result->found.done, search->rows, &run->result);
    bool writes = !run->interrupted && !cli_is_other_process();
    status = writes ? write_plan(run, &view) : ST_OK;
    if (status == ST_OK && writes) {
        const search_options *options = run->options;
        status =
            options->svg == NULL || view.search->rows == 0
                ? ST_OK
                : st_search_svg(run->paths, &view, cli_make_file(run, options->svg), run->errors);
    }
    if (status != ST_OK)
        return status;
    /* What a search that found nothing, or was cut short, ends with. */
    if (result->interrupted)
        return st_fail(run->errors, ST_ERR_IO, (st_place){0},
                       "interrupted after %llu of %llu plans" ST_HINT "%s",
                       (unsigned long long)result->found.done, (unsigned long long)search->rows,
                       cli_partial_name(run));
    if (result->found.kept > 0)
        return ST_OK;
    const char *miss =
        view.miss != NULL ? st_errors_text(run->errors, "the nearest lacks: %s", view.miss) : NULL;
    bool partly = search->rows < search->total || result->guided.untried > 0;
    const char *message =
        partly ? "none of the plans considered passes all checks" : "no plan passes all checks";
    if (search->rows == 0)
        message = "no plan for that many GPUs: sizes, layers and batch do not divide";
    return st_fail(run->errors, ST_ERR_CHECK, (st_place){0}, "%s" ST_HINT "%s", message,
                   run->common.csv ? miss : "");
}

/* What a process reports to the first one. */
typedef struct deeds {
    uint64_t plans;
    uint64_t threads;
    double seconds;
} deeds;

/* With what a file adds, whose errors are reported with their places there. */
static st_status create(cli_run *run, st_search_request *request, st_search **made)
{
    const search_options *options = run->options;
    st_space_file file;
    st_error_scope scope = {.edit = st_space_file_place, .context = &file};
    if (options->space == NULL)
        return st_search_create(run->paths, request, run->arena, made, run->errors);
    st_status status = st_space_file_read(options->space, run->arena, &file, run->errors);
    if (status == ST_OK)
        status = st_space_file_add(&file, run->arena, request, run->errors);
    if (status != ST_OK)
        return status;
    st_errors_enter(run->errors, &scope);
    status = st_search_create(run->paths, request, run->arena, made, run->errors);
    st_errors_leave(run->errors, &scope);
    return status;
}

static st_status search(cli_run *run, const st_processes *processes)
{
    const search_options *options = run->options;
    st_search *made = NULL;
    st_search_result result;
    st_search_request request = {0};
    cli_progress progress = {0};
    const volatile sig_atomic_t *interrupted = cli_catch_interrupts();
    st_status status = read_request(run, &request);
    if (processes->count > 1 && request.threads == 0)
        request.threads = 1; /* there are as many processes as the user wants cores */
    if (status == ST_OK)
        status = create(run, &request, &made);
    if (status != ST_OK)
        return status;
    if (options->map.count == 2) {
        if (cli_is_other_process())
            return ST_OK;
        const char *const keys[2] = {options->map.items[0], options->map.items[1]};
        st_fit_map map;
        st_result map_result;
        st_status map_status = st_search_map_make(run->paths, made, keys, &map, run->errors);
        if (map_status != ST_OK)
            return map_status;
        st_fit_map_put(&map, &map_result);
        cli_show(run, &map_result);
        if (options->svg != NULL)
            st_fit_map_svg(&map, cli_make_file(run, options->svg));
        return st_fit_map_fits(&map)
                   ? ST_OK
                   : st_fail(run->errors, ST_ERR_CHECK, (st_place){0}, "no plan passes all checks");
    }
    st_search_watch watch = {
        .progress = show_progress, .context = &progress, .interrupted = interrupted};
    cli_progress_begin(&progress, "plans");
    status = st_search_run(made, processes, &watch, &result, run->errors);
    cli_progress_end(&progress);
    deeds own = {result.own_done, (uint64_t)result.threads, cli_progress_seconds(&progress)};
    if (status == ST_OK && options->verbose) {
        deeds *all = st_arena_alloc(run->arena, (size_t)processes->count, sizeof *all);
        if (all == NULL) {
            status = ST_ERR_MEMORY;
        } else {
            all[0] = own;
            if (processes->count > 1 &&
                processes->gather(processes->context, &own, sizeof own, all) != 0) {
                status = ST_ERR_IO;
            } else {
                for (int i = 0; i < processes->count && processes->rank == 0; i++)
                    fprintf(stderr, "process %d of %d: %llu plans in %.3f s, %llu thread%s\n",
                            i + 1, processes->count, (unsigned long long)all[i].plans,
                            all[i].seconds, (unsigned long long)all[i].threads,
                            all[i].threads == 1 ? "" : "s");
            }
        }
    }
    return status == ST_OK ? show(run, made, &result) : status;
}

static int run_search(cli_run *run)
{
    cli_ranks ranks;
    st_status status = cli_ranks_begin(run, &ranks);
    if (status == ST_OK)
        status = cli_paths(run);
    if (status == ST_OK)
        status = search(run, &ranks.ranks);
    bool fault = status == ST_ERR_MEMORY;
    return cli_ranks_end(run, &ranks, cli_exit_code(run, status), fault);
}

const cli_verb cli_verb_search = {
    .name = "search",
    .arguments = "[JOB]",
    .words = {CLI_WORD_JOB, CLI_WORD_NONE},
    .summary = "rank every plan of a job for a number of GPUs",
    .doc = "Enumerates the ways to divide the job over the GPUs (tensor, pipeline, data, context "
           "and expert ranks, chunks per stage, micro-batch, recomputation, sequence parallelism, "
           "ZeRO), keeps those that pass the checks of the sheet and every --where, and ranks "
           "them. The search is exhaustive unless --method selects another one; it skips sizes "
           "that do not divide. If no plan passes, it shows the nearest plan in full with the "
           "checks that fail, and the exit status is 3.",
    .examples = examples,
    CLI_OPTIONS(option_rows, search_options),
    .run = run_search,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* steptime sweep */
#include "cli/verbs.h"
#include "cli/explore.h"
#include "cli/ranks.h"
#include "sweep/plot.h"
#include "search/space_file.h"
#include "sweep/sweep.h"

#include <string.h>

typedef struct sweep_options {
    cli_explore_options explore;
    cli_texts overs;
    bool zip;
    const char *space;
    const char *plot;
    const char *xlsx;
    cli_texts map;
    const char *svg;
} sweep_options;

static const cli_option option_rows[] = {
    CLI_TEXTS(sweep_options, overs, "over", "KEY=VALUES",
              "an axis: a list 1,2,4, a range 1..8, 1..64*2 or 1..9+2, quantities (100..400*2 "
              "GB/s), names or files; may be repeated, the last axis varies fastest",
              .word = CLI_WORD_KEY),
    CLI_FLAG(sweep_options, zip, "zip", "advance all axes together instead of combining them"),
    CLI_FILE(sweep_options, space, "space",
             "read keys to vary alone or jointly, keys to set, and conditions from FILE; options "
             "of the command line are added"),
    CLI_ROW_CELLS,
    CLI_ROW_WHERE,
    CLI_FLAG(cli_common, all, "all", "also show rejected rows, with the reason", .common = true),
    CLI_COUNT(cli_explore_options, sample, "sample", 1, CLI_MOST_DIGITS,
              "compute N rows drawn uniformly from all of them"),
    CLI_ROW_SEED,
    CLI_TEXT(sweep_options, plot, "plot", "x=KEY,y=CELL",
             "draw an SVG line chart instead of a table, one line per combination of the other "
             "axes; x=KEY,y=KEY,z=CELL draws a heat map"),
    CLI_NAMES(sweep_options, map, "map", "KEY,KEY",
              "show the step time over two axes, or the missing memory, instead of a table",
              .once = true),
    CLI_RESULT(sweep_options, svg, "svg", "with --map: also draw it into FILE"),
    CLI_RESULT(sweep_options, xlsx, "xlsx", "also write the rows as a workbook with a chart"),
    CLI_ROW_THREADS,
    CLI_ROW_CHECK,
    CLI_ROWS_JOB,
    CLI_ROWS_FORMS,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime sweep gpt3-175b-64xa100 --over batch.micro=1,2,4", "a table of three rows"},
    {"steptime sweep gpt3-175b-64xa100 --over parallel.tp=1..8*2 --over parallel.pp=1..64*2 "
     "--cells step_time,memory --csv",
     "all combinations of two sizes"},
    {"steptime sweep gpt3-175b-64xa100 --over 'cluster.nic_bandwidth=100..400+100 Gbit/s'",
     "the effect of more bandwidth"},
    {"steptime sweep gpt3-175b-64xa100 --space space.yaml", "axes defined in a file"},
    {NULL, NULL},
};

static void show_progress(void *context, uint64_t done, uint64_t rows)
{
    cli_explorer *explorer = context;
    cli_progress_show(&explorer->progress, done, rows);
}

static st_status write_rows(void *context, const char *data, size_t length)
{
    cli_explorer *explorer = context;
    return cli_stream_write(&explorer->stream, data, length);
}

static st_sweep_format format_of(const cli_run *run)
{
    const sweep_options *options = run->options;
    if (options->plot != NULL)
        return ST_SWEEP_NOTHING;
    if (run->common.json)
        return ST_SWEEP_JSON;
    return run->common.csv ? ST_SWEEP_CSV : ST_SWEEP_TEXT;
}

static st_status take_rows(void *context, const st_space_worker *worker, uint64_t first)
{
    cli_explorer *explorer = context;
    (void)first;
    if (explorer->plot != NULL)
        st_plot_take(explorer->plot, worker);
    return explorer->book != NULL ? st_sweep_book_take(explorer->book, worker, explorer->errors)
                                  : ST_OK;
}

/* What was rejected, on standard error; nothing fits where all was. */
static st_status write_reasons(cli_run *run, const st_space *space, const st_sweep_result *result)
{
    st_buffer text = {0};
    st_status status = ST_OK;
    st_sweep_write_reasons(space, result, &text);
    if (text.length > 0)
        fputs(text.data, stderr);
    if (text.failed)
        status = ST_ERR_MEMORY;
    st_buffer_free(&text);
    if (result->interrupted)
        return st_fail(run->errors, ST_ERR_IO, (st_place){0},
                       "interrupted after %llu of %llu rows" ST_HINT "%s",
                       (unsigned long long)result->done, (unsigned long long)space->rows,
                       cli_partial_name(run));
    if (status == ST_OK && result->kept == 0)
        return st_fail(run->errors, ST_ERR_CHECK, (st_place){0},
                       "all rows were rejected" ST_HINT "--all shows the reason for each");
    return status;
}

/* Of a sweep that failed or was interrupted no workbook is left. */
static st_status close_book(cli_explorer *explorer, bool keep, st_status status)
{
    if (explorer->book == NULL)
        return status;
    st_status ended = st_sweep_book_end(explorer->book, keep, explorer->errors);
    return status == ST_OK ? ended : status;
}

/* Rows that are there are worth having, and say that they are not all; half a picture is none. */
static st_status finish_table(cli_run *run, cli_explorer *explorer, const st_space *space,
                              const st_sweep_result *result, st_status status)
{
    bool picture = ((const sweep_options *)run->options)->plot != NULL;
    bool whole = !result->interrupted;
    if (status == ST_OK && picture && whole) {
        st_buffer plot_picture = {0};
        st_plot_write(explorer->plot, &plot_picture);
        status = plot_picture.failed
                     ? ST_ERR_MEMORY
                     : cli_stream_write(&explorer->stream, plot_picture.data, plot_picture.length);
        st_buffer_free(&plot_picture);
    }
    if (status == ST_OK && !picture && !whole) {
        st_buffer text = {0};
        cli_say_partial(run, result->done, space->rows, &text);
        st_status partial_status =
            text.failed ? ST_ERR_MEMORY
                        : cli_stream_write(&explorer->stream, text.data, text.length);
        st_buffer_free(&text);
        status = partial_status;
    }
    status = close_book(explorer, status == ST_OK && whole, status);
    return cli_stream_close(&explorer->stream, status == ST_OK && (whole || !picture), status);
}

/* With what a file adds, whose errors are reported with their places there. */
static st_status create_space(cli_run *run, st_space_request *request, st_space **space)
{
    const sweep_options *options = run->options;
    st_space_file file;
    st_error_scope scope = {.edit = st_space_file_place, .context = &file};
    if (options->space == NULL)
        return st_space_create(run->paths, request, run->arena, space, run->errors);
    st_status status = st_space_file_read(options->space, run->arena, &file, run->errors);
    if (status == ST_OK)
        status = st_space_file_add_axes(&file, run->arena, request, run->errors);
    if (status != ST_OK)
        return status;
    st_errors_enter(run->errors, &scope);
    status = st_space_create(run->paths, request, run->arena, space, run->errors);
    st_errors_leave(run->errors, &scope);
    return status;
}

/* A picture takes the place of a table, and shows its own cell where no others are asked for. */
static st_status choose_picture(cli_run *run, st_space_request *request)
{
    const sweep_options *options = run->options;
    const char *plot = options->plot;
    if (plot == NULL)
        return ST_OK;
    if (run->common.json || run->common.csv)
        return cli_wrong_use(run, "--plot excludes --json and --csv", "omit --json and --csv");
    const char *cell = st_plot_cell(plot, run->arena);
    const char **cells = st_arena_alloc(run->arena, 1, sizeof *cells);
    if (cells == NULL)
        return ST_ERR_MEMORY;
    if (request->cell_count == 0 && cell != NULL) {
        cells[0] = cell;
        request->cells = cells;
        request->cell_count = 1;
    }
    return ST_OK;
}

static st_status take_map(void *context, const st_space_worker *worker, uint64_t first)
{
    (void)first;
    st_sweep_map_take(context, worker);
    return ST_OK;
}

/* The map takes the place of the table. */
static st_status show_map(cli_run *run, const st_space *space)
{
    const sweep_options *options = run->options;
    const char *const keys[2] = {options->map.items[0], options->map.items[1]};
    const st_sweep_options wanted = {.format = ST_SWEEP_NOTHING,
                                     .threads = cli_explore_threads(run)};
    st_sweep_map map;
    st_sweep_result swept;
    st_result result;
    st_status status = st_sweep_map_create(run->paths, space, keys, &map, run->errors);
    const st_sweep_sink sink = {.look = take_map, .context = &map};
    if (status == ST_OK)
        status = st_sweep_run(map.space, &wanted, &sink, &swept, run->errors);
    if (status != ST_OK)
        return status;
    st_fit_map_pack(&map.map);
    st_fit_map_put(&map.map, &result);
    cli_show(run, &result);
    if (options->svg != NULL)
        st_fit_map_svg(&map.map, cli_make_file(run, options->svg));
    return st_fit_map_fits(&map.map)
               ? ST_OK
               : st_fail(run->errors, ST_ERR_CHECK, (st_place){0}, "no row passes all checks");
}

static st_status sweep(cli_run *run, cli_explorer *explorer)
{
    const sweep_options *options = run->options;
    st_space *space = NULL;
    st_sweep_result result;
    st_sweep_options wanted = {
        .format = format_of(run), .all = run->common.all, .threads = cli_explore_threads(run)};
    const volatile sig_atomic_t *interrupted = cli_catch_interrupts();
    st_space_request request = {.option = "--over",
                                .overs = options->overs.items,
                                .over_count = options->overs.count,
                                .zip = options->zip,
                                .once = true};
    st_status status = ST_OK;
    if (options->map.count == 0)
        status = options->svg == NULL ? ST_OK : cli_wrong_use(run, "--svg requires --map", NULL);
    else if (options->map.count != 2)
        status = cli_wrong_use(run, "option --map requires two keys, such as tp,pp", NULL);
    else if (options->plot != NULL || options->xlsx != NULL || options->zip)
        status = cli_wrong_use(run, "--map excludes --plot, --xlsx and --zip",
                               "omit them, or omit --map");
    if (status == ST_OK)
        status = cli_explore_request(run, &request);
    if (status == ST_OK)
        status = choose_picture(run, &request);
    if (status == ST_OK)
        status = create_space(run, &request, &space);
    if (status == ST_OK && options->map.count == 2)
        return show_map(run, space);
    if (status == ST_OK && options->plot != NULL)
        status = st_plot_create(space, options->plot, &explorer->plot, run->errors);
    const char *book = options->xlsx;
    explorer->errors = run->errors;
    if (status == ST_OK && book != NULL)
        status = st_sweep_book_begin(space, book, &explorer->book, run->errors);
    if (status == ST_OK)
        status = cli_stream_open(run, &explorer->stream);
    if (status != ST_OK)
        return close_book(explorer, false, status);
    st_sweep_sink sink = {.write = write_rows,
                          .look = take_rows,
                          .progress = show_progress,
                          .context = explorer,
                          .interrupted = interrupted};
    cli_progress_begin(&explorer->progress, "rows");
    status = st_sweep_run(space, &wanted, &sink, &result, run->errors);
    cli_progress_end(&explorer->progress);
    run->interrupted = result.interrupted;
    status = finish_table(run, explorer, space, &result, status);
    return status == ST_OK ? write_reasons(run, space, &result) : status;
}

static int run_sweep(cli_run *run)
{
    cli_explorer explorer = {0};
    if (cli_is_other_process())
        return 0;
    st_status status = cli_paths(run);
    if (status == ST_OK)
        status = sweep(run, &explorer);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_sweep = {
    .name = "sweep",
    .arguments = "JOB",
    .words = {CLI_WORD_JOB, CLI_WORD_NONE},
    .summary = "estimate a job over a grid of its keys",
    .doc = "Computes cells of the job's sheet for every combination of values on the axes and "
           "writes the rows as it computes them; see docs/search.md. Rows that fail a check of the "
           "sheet are omitted and counted by the first check that they fail.",
    .examples = examples,
    CLI_OPTIONS(option_rows, sweep_options),
    .run = run_sweep,
};

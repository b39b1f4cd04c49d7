/* SPDX-License-Identifier: Apache-2.0 */
/* steptime trace sql */
#include "trace/cli/verbs.h"
#include "trace/cli/traces.h"

#include "base/text.h"
#include "trace/xalloc.h"

#include <string.h>

static const double MOST_SECONDS = 86400;

typedef struct sql_options {
    const char *view;
    double limit_s;
} sql_options;

static const cli_option rows[] = {
    CLI_TEXT(sql_options, view, "view", "NAME|FILE.sql",
             "run the statements of a view instead: NAME.sql in the folder 'views' of the search "
             "path, or a file",
             .word = CLI_WORD_FILE),
    CLI_NUMBER(sql_options, limit_s, "limit", "SECONDS", 0, MOST_SECONDS,
               "stop a statement that takes longer; 0: never",
               .range = "a number of seconds from 0 to 86400", .initial = "60"),
    CLI_ROW_STEPS,
    CLI_ROW_PATH,
    CLI_ROWS_TRACES,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime trace sql traces/ 'SELECT class, sum(duration_ns) / 1e6 AS ms FROM kernels GROUP BY "
     "class ORDER BY ms DESC'",
     "time by class of kernel"},
    {"steptime trace sql rank0.json.gz 'SELECT * FROM columns'", "all tables and their columns"},
    {"steptime trace sql traces/ --view slow.sql --csv -o slow.csv", "a view of your own"},
    {NULL, NULL},
};

st_status cli_read_view(cli_run *run, const char *name, st_source *source)
{
    /* A name with the ending is a file of the working folder, as with .yaml. */
    bool is_file = strchr(name, '/') == NULL && st_ends_in(name, ".sql");
    const char *path = is_file ? st_xprintf(run->arena, "./%s", name) : name;
    st_status status = cli_paths(run);
    if (status == ST_OK)
        status = st_paths_read(run->paths, ST_FOLDER_VIEWS, path, (st_place){.file = "--view"},
                               run->arena, source, run->errors);
    return status;
}

static int ask(cli_run *run)
{
    const sql_options *options = run->options;
    st_sql_question question = {.is_view = options->view != NULL, .limit_s = options->limit_s};
    st_status status = ST_OK;
    if (question.is_view) {
        status = cli_read_view(run, options->view, &question.text);
    } else if (run->argument_count < 2) {
        status = cli_wrong_use(run, "the statement is missing",
                               "write it after the files, or name a view with --view");
    } else {
        const char *sql = run->arguments[--run->argument_count];
        question.text = (st_source){.file = "SQL", .text = sql, .length = strlen(sql)};
    }
    bool needs_details = false;
    st_trace_set *set = NULL;
    st_result result;
    if (status == ST_OK)
        status = st_sql_check(&question, &needs_details, run->errors);
    if (status == ST_OK)
        status = cli_read_traces(run, needs_details ? CLI_TRACE_DETAILS : CLI_TRACE_CALLS, &set);
    if (status == ST_OK)
        status = st_sql_ask(&question, set, run->arena, &result, run->errors);
    if (status == ST_OK)
        cli_show(run, &result);
    st_trace_set_destroy(set);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_trace_sql = {
    .name = "trace sql",
    .arguments = "FILE|FOLDER... [SELECT]",
    .words = {CLI_WORD_FILE, CLI_WORD_FILE},
    .run = ask,
    .summary = "query a recorded step with SQL",
    .doc = "Runs one SELECT of SQLite on the recordings, whose kernels, calls, steps and other "
           "events are tables. 'SELECT * FROM columns' lists them; docs/traces.md has the same "
           "list. A view is a file of such statements. Statements can only read.",
    .examples = examples,
    .options = rows,
    .options_bytes = sizeof(sql_options),
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a plugin: what it may do to its arguments, say and explain, here and across a border. */
#include "base_support.h"

#include "plugin/isolate.h"
#include "plugin/module.h"
#include "plugin/ipc.h"
#include "steptime/tool/providers.h"

#include <signal.h>

enum { SIZE, RANKS, RAIL, COLUMNS };

/* What the plugin does. */
static struct {
    const st_plugin_host *host;
    size_t written_row; /* of the size, SIZE_MAX: none */
    size_t forgotten;   /* rows at the end */
    int result;
    const char *error;
    const char *warning;
    size_t terms;     /* of an explanation, beside those that always are */
    const char *name; /* of these */
    size_t closed;
} deed;

static int open_plugin(const st_plugin_host *host, void **instance)
{
    deed.host = host;
    *instance = &deed;
    return ST_PLUGIN_OK;
}

static void close_plugin(void *instance)
{
    assert_ptr_equal(instance, &deed);
    deed.closed++;
}

static int evaluate(void *instance, size_t rows, const double *const *columns, double *values)
{
    assert_ptr_equal(instance, &deed);
    for (size_t row = 0; row + deed.forgotten < rows; row++)
        values[row] = columns[SIZE][row] < 0 ? NOT_A_NUMBER
                                             : columns[SIZE][row] * columns[RANKS][row] * 2.385e-9 +
                                                   (columns[RAIL] != NULL ? columns[RAIL][row] : 0);
    if (deed.written_row != SIZE_MAX) {
        double *column;
        memcpy(&column, &columns[SIZE], sizeof column); /* what it must not do */
        column[deed.written_row] += 1;
    }
    if (deed.error != NULL)
        deed.host->error(deed.host->context, deed.error);
    if (deed.warning != NULL)
        deed.host->log(deed.host->context, ST_PLUGIN_LOG_WARNING, deed.warning);
    deed.host->log(deed.host->context, ST_PLUGIN_LOG_INFO, "not worth a word");
    return deed.result;
}

static int explain(void *instance, const double *const *columns, const st_plugin_sink *sink)
{
    assert_ptr_equal(instance, &deed);
    st_plugin_term term = {.name = "n\x01me \xFF", .unit = "no unit", .value = columns[RANKS][0]};
    if (columns[SIZE][0] < 0)
        return st_plugin_fail(deed.host, "less than nothing");
    st_plugin_tell_part(sink, "wire", "us", 2.385e-5, "on the wire");
    st_plugin_tell_value(sink, "rate", "GB/s", 3.1e9, NULL);
    st_plugin_tell_text(sink, "origin", "measured", "of a table");
    st_plugin_tell_term(sink, term);
    term.struct_size = sizeof term - sizeof term.doc; /* older than any ABI */
    sink->term(sink->context, &term);
    sink->term(sink->context, NULL);
    for (size_t i = 0; i < deed.terms; i++)
        st_plugin_tell_value(sink, deed.name, "", (double)i, NULL);
    return ST_PLUGIN_OK;
}

#define ARGUMENT(label, given_unit, given_flags)                                                   \
    {                                                                                              \
        .struct_size = sizeof(st_plugin_argument), .flags = (given_flags), .name = (label),        \
        .unit = (given_unit), .doc = "read"                                                        \
    }

static const st_plugin_argument arguments[COLUMNS] = {ARGUMENT("size", "MB", 0),
                                                      ARGUMENT("ranks", "", 0),
                                                      ARGUMENT("rail", "us", ST_PLUGIN_OPTIONAL)};
static const st_plugin_argument *const argument_list[COLUMNS] = {
    &arguments[SIZE], &arguments[RANKS], &arguments[RAIL]};
static const st_plugin_provider stretch = {.struct_size = sizeof stretch,
                                           .name = "stretch",
                                           .unit = "us",
                                           .doc = "a time",
                                           .cite = "",
                                           .arguments = argument_list,
                                           .argument_count = COLUMNS,
                                           .evaluate = evaluate,
                                           .explain = explain};
static const st_plugin_provider *const providers[] = {&stretch};
static const st_plugin described = {.struct_size = sizeof described,
                                    .abi = ST_PLUGIN_ABI,
                                    .id = "calls-test",
                                    .version = "2.3.85",
                                    .licence = "Apache-2.0",
                                    .summary = "answers and does what it must not",
                                    .providers = providers,
                                    .provider_count = 1,
                                    .open = open_plugin,
                                    .close = close_plugin};

typedef struct opened {
    st_arena *arena;
    st_errors *errors;
    st_plugin_module module;
    st_plugin_instance *instance;
} opened;

static int open_it(void **state)
{
    opened *own = calloc(1, sizeof *own);
    assert_non_null(own);
    own->arena = st_arena_create();
    own->errors = st_errors_create();
    own->module = (st_plugin_module){.file = "f.so", .folder = "/", .who = "plugin 'calls-test'"};
    memset(&deed, 0, sizeof deed);
    deed.written_row = SIZE_MAX;
    deed.name = "more";
    assert_int_equal(st_module_describe(&own->module, &described, here, own->arena, own->errors),
                     ST_OK);
    assert_int_equal(st_plugin_open(&own->module, NULL, 0, here, &own->instance, own->errors),
                     ST_OK);
    *state = own;
    return 0;
}

static int close_it(void **state)
{
    opened *own = *state;
    st_plugin_close(own->instance);
    assert_int_equal(deed.closed, 1);
    st_errors_destroy(own->errors);
    st_arena_destroy(own->arena);
    free(own);
    return 0;
}

/* ---- in this process ------------------------------------------------------------------------- */

enum { ROWS = 21 }; /* two runs of eight and five more */

typedef struct rows {
    double columns[COLUMNS][ROWS];
    const double *given[COLUMNS];
    double values[ROWS];
} rows;

static void fill_rows(rows *made)
{
    for (size_t i = 0; i < ROWS; i++) {
        made->columns[SIZE][i] = 1e5 + 238.5 * (double)i;
        made->columns[RANKS][i] = 3 + (double)i;
        made->columns[RAIL][i] = 1.5e-6;
    }
    for (size_t i = 0; i < COLUMNS; i++)
        made->given[i] = made->columns[i];
}

static void answers_count_where_the_call_succeeds(void **state)
{
    opened *own = *state;
    rows made;
    fill_rows(&made);
    assert_int_equal(st_plugin_evaluate(own->instance, 0, ROWS, made.given, made.values), ST_OK);
    for (size_t i = 0; i < ROWS; i++)
        assert_same_double(made.values[i],
                           (1e5 + 238.5 * (double)i) * (3 + (double)i) * 2.385e-9 + 1.5e-6);
    made.given[RAIL] = NULL;
    assert_int_equal(st_plugin_evaluate(own->instance, 0, 1, made.given, made.values), ST_OK);
    assert_same_double(made.values[0], 1e5 * 3 * 2.385e-9);
    deed.result = 2385; /* no code of the ABI: it failed */
    assert_int_equal(st_plugin_evaluate(own->instance, 0, 1, made.given, made.values),
                     ST_ERR_PROVIDER);
    deed.result = ST_PLUGIN_FAILED;
    assert_int_equal(st_plugin_evaluate(own->instance, 0, 1, made.given, made.values),
                     ST_ERR_PROVIDER);
    assert_int_equal(st_guard_tell(own->errors), ST_OK);
}

/* Wherever in the block it writes: in the first or the last row of a run, or behind the runs. */
static void who_writes_to_its_arguments_is_accused(void **state)
{
    static const size_t written[] = {0, 7, 8, 15, 16, 20};
    opened *own = *state;
    for (size_t i = 0; i < COUNT(written); i++) {
        rows made;
        fill_rows(&made);
        deed.written_row = written[i];
        assert_int_equal(st_plugin_evaluate(own->instance, 0, ROWS, made.given, made.values),
                         ST_ERR_PROVIDER);
    }
    assert_int_equal(st_guard_tell(own->errors), ST_ERR_PROVIDER);
    assert_contains(said(own->errors), "plugin 'calls-test'");
}

static void expect_terms(const st_provider_account *account)
{
    static const struct {
        const char *name, *doc, *text, *unit;
        double value;
        bool part;
    } expected[] = {{"wire", "on the wire", NULL, "us", 2.385e-5, true},
                    {"rate", "", NULL, "GB/s", 3.1e9, false},
                    {"origin", "of a table", "measured", "1", 0, false},
                    {"n?me ?", "", NULL, "1", 7, false}};
    assert_null(account->refusal);
    assert_int_equal(account->count, COUNT(expected));
    for (size_t i = 0; i < COUNT(expected); i++) {
        const st_provider_term *term = &account->terms[i];
        assert_string_equal(term->name, expected[i].name);
        assert_string_equal(term->doc, expected[i].doc);
        assert_true((term->text == NULL) == (expected[i].text == NULL));
        if (term->text != NULL)
            assert_string_equal(term->text, expected[i].text);
        assert_string_equal(term->unit.text, expected[i].unit);
        assert_same_double(term->value, expected[i].value);
        assert_int_equal(term->part, expected[i].part);
    }
}

static void explanations_are_cleaned_and_bounded(void **state)
{
    opened *own = *state;
    const double size = 1e5;
    const double ranks = 7;
    const double *columns[COLUMNS] = {&size, &ranks, NULL};
    st_provider_account account;
    assert_int_equal(st_plugin_explain(own->instance, 0, columns, own->arena, &account), ST_OK);
    expect_terms(&account);
    deed.terms = 2385;
    assert_int_equal(st_plugin_explain(own->instance, 0, columns, own->arena, &account), ST_OK);
    assert_int_equal(account.count, 1000);
    assert_same_double(account.terms[999].value, 995); /* behind four others */
}

/* The first reason of a call counts, up to the end of its line, and none of the call before. */
static void refusals_have_the_first_reason(void **state)
{
    opened *own = *state;
    const double size = -1e5;
    const double good = 1e5;
    const double ranks = 7;
    const double *columns[COLUMNS] = {&size, &ranks, NULL};
    st_provider_account account;
    assert_int_equal(st_plugin_explain(own->instance, 0, columns, own->arena, &account), ST_OK);
    assert_string_equal(account.refusal, "less than nothing");
    assert_int_equal(account.count, 0);
    deed.error = "no\x02 row\nand more";
    assert_int_equal(st_plugin_explain(own->instance, 0, columns, own->arena, &account), ST_OK);
    assert_string_equal(account.refusal, "no? row");
    /* What fails when it is evaluated is refused, whatever it explains. */
    columns[SIZE] = &good;
    deed.result = ST_PLUGIN_FAILED;
    assert_int_equal(st_plugin_explain(own->instance, 0, columns, own->arena, &account), ST_OK);
    assert_string_equal(account.refusal, "no? row");
    assert_int_equal(account.count, 0);
    deed.error = NULL;
    assert_int_equal(st_plugin_explain(own->instance, 0, columns, own->arena, &account), ST_OK);
    assert_null(account.refusal);
    assert_int_equal(account.count, 0);
    deed.result = ST_PLUGIN_OK;
    assert_int_equal(st_plugin_explain(own->instance, 0, columns, own->arena, &account), ST_OK);
    assert_int_equal(account.count, 4);
}

static void warnings_are_told_once(void **state)
{
    opened *own = *state;
    rows made;
    fill_rows(&made);
    deed.warning = "23 rows are old\nand this is no line of its own";
    assert_int_equal(st_plugin_evaluate(own->instance, 0, 1, made.given, made.values), ST_OK);
    deed.warning = "7 are new";
    assert_int_equal(st_plugin_evaluate(own->instance, 0, 1, made.given, made.values), ST_OK);
    st_plugin_take_warnings(own->instance, here, own->errors);
    assert_string_equal(said(own->errors), "f:3:7: warning: plugin 'calls-test': 23 rows are old\n"
                                           "f:3:7: warning: plugin 'calls-test': 7 are new\n");
    st_plugin_take_warnings(own->instance, here, own->errors);
    assert_string_equal(said(own->errors), "");
}

/* ---- for another process --------------------------------------------------------------------- */

static st_remote_lane *lane_of(uint32_t kind, double size)
{
    st_remote_lane *lane = calloc(1, sizeof *lane);
    assert_non_null(lane);
    lane->kind = kind;
    lane->rows = 3;
    lane->given[SIZE] = lane->given[RANKS] = 1;
    for (size_t i = 0; i < 3; i++) {
        lane->columns[SIZE][i] = size + 238.5 * (double)i;
        lane->columns[RANKS][i] = 7;
        lane->columns[RAIL][i] = 2385; /* not given */
    }
    return lane;
}

static void rows_are_served(void **state)
{
    opened *own = *state;
    st_remote_lane *lane = lane_of(ST_ISOLATE_EVALUATE, 1e5);
    st_isolate_serve(own->instance, lane);
    assert_int_equal(lane->result, ST_PLUGIN_OK);
    assert_int_equal(lane->text_length, 0);
    for (size_t i = 0; i < 3; i++)
        assert_same_double(lane->values[i], (1e5 + 238.5 * (double)i) * 7 * 2.385e-9);
    deed.forgotten = 1;
    st_isolate_serve(own->instance, lane);
    assert_true(isnan(lane->values[2]));
    deed.forgotten = 0;
    lane->given[RAIL] = 1;
    deed.warning = "23 rows are old";
    st_isolate_serve(own->instance, lane);
    assert_same_double(lane->values[2], (1e5 + 477) * 7 * 2.385e-9 + 2385);
    st_ipc_reader from = {.at = lane->text, .end = lane->text + lane->text_length};
    assert_null(st_ipc_read(&from)); /* no error */
    assert_string_equal(st_ipc_read(&from), "23 rows are old\n");
    assert_ptr_equal(from.at, from.end);
    deed.warning = NULL;
    deed.error = "no row";
    deed.result = ST_PLUGIN_FAILED;
    st_isolate_serve(own->instance, lane);
    assert_int_equal(lane->result, ST_PLUGIN_FAILED);
    from = (st_ipc_reader){.at = lane->text, .end = lane->text + lane->text_length};
    assert_string_equal(st_ipc_read(&from), "no row");
    assert_null(st_ipc_read(&from)); /* the warning was told before */
    assert_false(from.broken);
    free(lane);
}

/* With a rail and without, which makes two of one. */
static void rows_of_several_providers_are_served(void **state)
{
    opened *own = *state;
    st_remote_lane *lane = lane_of(ST_ISOLATE_SEVERAL, 1e5);
    const double *columns[COLUMNS] = {lane->columns[SIZE], lane->columns[RANKS], NULL};
    lane->heads[0] = lane->heads[1] = st_call_head(0, COLUMNS, columns);
    columns[RAIL] = lane->columns[RAIL];
    lane->heads[2] = st_call_head(0, COLUMNS, columns);
    st_isolate_serve(own->instance, lane);
    assert_int_equal(lane->result, ST_PLUGIN_OK);
    assert_int_equal(lane->provider, 2);
    assert_same_double(lane->values[0], 1e5 * 7 * 2.385e-9);
    assert_same_double(lane->values[1], (1e5 + 238.5) * 7 * 2.385e-9);
    assert_same_double(lane->values[2], (1e5 + 477) * 7 * 2.385e-9 + 2385);
    deed.result = ST_PLUGIN_FAILED;
    st_isolate_serve(own->instance, lane);
    assert_int_equal(lane->result, ST_PLUGIN_FAILED);
    free(lane);
}

static void explanations_are_served(void **state)
{
    opened *own = *state;
    st_remote_lane *lane = lane_of(ST_ISOLATE_EXPLAIN, 1e5);
    st_isolate_serve(own->instance, lane);
    st_ipc_reader from = {.at = lane->text, .end = lane->text + lane->text_length};
    assert_null(st_ipc_read(&from)); /* no refusal */
    assert_int_equal(st_ipc_read_count(&from, 1000), 4);
    assert_int_equal(st_ipc_read_count(&from, UINT32_MAX), ST_PLUGIN_PART);
    assert_string_equal(st_ipc_read(&from), "wire");
    assert_string_equal(st_ipc_read(&from), "us");
    assert_same_double(st_ipc_read_number(&from), 2.385e-5);
    assert_null(st_ipc_read(&from));
    assert_string_equal(st_ipc_read(&from), "on the wire");
    assert_int_equal(st_ipc_read_count(&from, UINT32_MAX), 0);
    assert_string_equal(st_ipc_read(&from), "rate");
    free(lane);
    lane = lane_of(ST_ISOLATE_EXPLAIN, -1e5);
    st_isolate_serve(own->instance, lane);
    from = (st_ipc_reader){.at = lane->text, .end = lane->text + lane->text_length};
    assert_string_equal(st_ipc_read(&from), "less than nothing");
    assert_int_equal(st_ipc_read_count(&from, 1000), 0);
    assert_ptr_equal(from.at, from.end);
    free(lane);
}

/* What is too long for a lane is not sent in part. */
static void what_does_not_fit_is_left_out(void **state)
{
    static char line[200];
    opened *own = *state;
    st_remote_lane *lane = lane_of(ST_ISOLATE_EVALUATE, 1e5);
    memset(line, 'x', sizeof line - 1);
    deed.warning = line;
    deed.terms = 2385;
    st_isolate_serve(own->instance, lane);
    assert_int_equal(lane->text_length, 1 + 1 + 1 + (sizeof line - 1) + 1 + 1);
    free(lane);
    lane = lane_of(ST_ISOLATE_EXPLAIN, 1e5);
    st_isolate_serve(own->instance, lane);
    st_ipc_reader from = {.at = lane->text, .end = lane->text + lane->text_length};
    assert_null(st_ipc_read(&from));
    assert_int_equal(st_ipc_read_count(&from, 1000), 1000);
    deed.name = line; /* 1000 terms with 200 bytes each are more than 64 KiB */
    st_isolate_serve(own->instance, lane);
    assert_int_equal(lane->text_length, 0);
    free(lane);
}

/* ---- through another process ----------------------------------------------------------------- */

static void serve_apart(void *context, st_remote_lane *lane)
{
    if (lane->rows == 13)
        (void)raise(SIGUSR2);
    st_isolate_serve(context, lane);
}

/* What is done from now on is done by a process that has the deeds of this moment. */
static void move_apart(opened *own)
{
    static char reason[ST_REMOTE_TEXT];
    const st_remote_server server = {
        .serve = serve_apart, .context = own->instance, .limit_ms = 20000};
    own->instance->remote = st_remote_start(&server, reason);
    if (own->instance->remote == NULL)
        fail_msg("%s", reason);
}

static int close_apart(void **state)
{
    deed.closed++; /* by the process that is no more */
    opened *own = *state;
    own->instance->is_open = false;
    return close_it(state);
}

static void answers_come_from_another_process(void **state)
{
    static double columns[2][ST_REMOTE_ROWS + 1];
    static double values[ST_REMOTE_ROWS + 1];
    const double *given[COLUMNS] = {columns[0], columns[1], NULL};
    opened *own = *state;
    for (size_t i = 0; i <= ST_REMOTE_ROWS; i++) {
        columns[0][i] = 1e5 + 238.5 * (double)i;
        columns[1][i] = 7;
    }
    deed.warning = "23 rows are old";
    move_apart(own);
    assert_int_equal(st_plugin_evaluate(own->instance, 0, ST_REMOTE_ROWS, given, values), ST_OK);
    for (size_t i = 0; i < ST_REMOTE_ROWS; i++)
        assert_same_double(values[i], (1e5 + 238.5 * (double)i) * 7 * 2.385e-9);
    st_plugin_take_warnings(own->instance, here, own->errors);
    assert_string_equal(said(own->errors),
                        "f:3:7: warning: plugin 'calls-test': 23 rows are old\n");
    given[RAIL] = columns[1];
    assert_int_equal(st_plugin_evaluate(own->instance, 0, 1, given, values), ST_OK);
    assert_same_double(values[0], 1e5 * 7 * 2.385e-9 + 7);
    /* One row more than there is room for. */
    assert_int_equal(st_plugin_evaluate(own->instance, 0, ST_REMOTE_ROWS + 1, given, values),
                     ST_ERR_PROVIDER);
    assert_int_equal(st_guard_tell(own->errors), ST_OK);
}

/* What is put off is asked at once, and known then. */
static void questions_that_are_put_off_are_asked_together(void **state)
{
    static double columns[2][20];
    static double values[20];
    const double *given[COLUMNS] = {columns[0], columns[1], NULL};
    opened *own = *state;
    for (size_t i = 0; i < 20; i++) {
        columns[0][i] = 1e5 + 238.5 * (double)(i / 2);
        columns[1][i] = 7;
    }
    assert_false(st_plugin_put_off(own->instance, 0, 20, given)); /* in this process */
    move_apart(own);
    assert_true(st_plugin_put_off(own->instance, 0, 8, given));
    given[RAIL] = columns[1];
    assert_true(st_plugin_put_off(own->instance, 0, 20, given));
    assert_true(st_plugin_catch_up(NULL));
    assert_false(st_plugin_put_off(own->instance, 0, 20, given));
    assert_int_equal(st_plugin_evaluate(own->instance, 0, 20, given, values), ST_OK);
    assert_same_double(values[19], (1e5 + 238.5 * 9) * 7 * 2.385e-9 + 7);
    given[RAIL] = NULL;
    assert_false(st_plugin_put_off(own->instance, 0, 8, given));
    /* Whatever is asked first catches up. */
    assert_true(st_plugin_put_off(own->instance, 0, 12, given));
    assert_int_equal(st_plugin_evaluate(own->instance, 0, 20, given, values), ST_OK);
    assert_same_double(values[19], (1e5 + 238.5 * 9) * 7 * 2.385e-9);
    assert_true(st_plugin_catch_up(NULL)); /* of nothing */
    assert_int_equal(st_guard_tell(own->errors), ST_OK);
}

static void explanations_come_from_another_process(void **state)
{
    double size = 1e5;
    const double ranks = 7;
    const double *columns[COLUMNS] = {&size, &ranks, NULL};
    st_provider_account account;
    opened *own = *state;
    move_apart(own);
    assert_int_equal(st_plugin_explain(own->instance, 0, columns, own->arena, &account), ST_OK);
    expect_terms(&account);
    size = -1e5;
    assert_int_equal(st_plugin_explain(own->instance, 0, columns, own->arena, &account), ST_OK);
    assert_string_equal(account.refusal, "less than nothing");
    assert_int_equal(account.count, 0);
}

static void who_ends_its_process_among_several_is_accused(void **state)
{
    rows made;
    opened *own = *state;
    const st_plugin_module *module = own->instance->module;
    st_plugin_module other = *module; /* each plugin is accused once */
    other.who = "plugin 'several'";
    fill_rows(&made);
    made.given[RAIL] = NULL;
    move_apart(own);
    own->instance->module = &other;
    assert_true(st_plugin_put_off(own->instance, 0, 13, made.given));
    assert_false(st_plugin_catch_up(NULL));
    own->instance->module = module;
    assert_int_equal(st_guard_tell(own->errors), ST_ERR_PROVIDER);
    const char *text = said(own->errors);
    assert_contains(text, "plugin 'several' ended its process");
    assert_contains(text, ") while computing 13 rows, the first with size = 100 kB, ranks = 3)");
}

static void who_ends_its_process_is_accused(void **state)
{
    rows made;
    opened *own = *state;
    fill_rows(&made);
    made.given[RAIL] = NULL;
    move_apart(own);
    assert_int_equal(st_plugin_evaluate(own->instance, 0, 13, made.given, made.values),
                     ST_ERR_PROVIDER);
    assert_int_equal(st_guard_tell(own->errors), ST_ERR_PROVIDER);
    const char *text = said(own->errors);
    assert_contains(text, "plugin 'calls-test' ended its process or was killed in 'stretch' (it "
                          "crashed: signal 12 (");
    assert_contains(text, ") while computing 13 rows, the first with size = 100 kB, ranks = 3)");
    st_provider_account account;
    assert_int_equal(st_plugin_explain(own->instance, 0, made.given, own->arena, &account), ST_OK);
    assert_contains(account.refusal, "it crashed: signal 12 (");
}

TEST_GROUP(plugin_calls)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers_count_where_the_call_succeeds, open_it, close_it),
        cmocka_unit_test_setup_teardown(explanations_are_cleaned_and_bounded, open_it, close_it),
        cmocka_unit_test_setup_teardown(refusals_have_the_first_reason, open_it, close_it),
        cmocka_unit_test_setup_teardown(warnings_are_told_once, open_it, close_it),
        cmocka_unit_test_setup_teardown(rows_are_served, open_it, close_it),
        cmocka_unit_test_setup_teardown(rows_of_several_providers_are_served, open_it, close_it),
        cmocka_unit_test_setup_teardown(explanations_are_served, open_it, close_it),
        cmocka_unit_test_setup_teardown(what_does_not_fit_is_left_out, open_it, close_it),
        cmocka_unit_test_setup_teardown(answers_come_from_another_process, open_it, close_apart),
        cmocka_unit_test_setup_teardown(questions_that_are_put_off_are_asked_together, open_it,
                                        close_apart),
        cmocka_unit_test_setup_teardown(explanations_come_from_another_process, open_it,
                                        close_apart),
        /* The last ones: no result of a process counts behind it. */
        cmocka_unit_test_setup_teardown(who_writes_to_its_arguments_is_accused, open_it, close_it),
        cmocka_unit_test_setup_teardown(who_ends_its_process_among_several_is_accused, open_it,
                                        close_apart),
        cmocka_unit_test_setup_teardown(who_ends_its_process_is_accused, open_it, close_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

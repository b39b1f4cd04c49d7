/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of nccl-tests: headings of several versions, launchers' prefixes, rows that others write
 * into, JSON and CSV, and what is refused. The logs are shaped like real ones, with numbers of
 * their own.
 */
#include "nccl_support.h"

#include "../support/text_cases.h"

#include "base/json_read.h"

static const st_nccl_request any = {.buffers = ST_NCCL_ANY};

/* What a case writes in short. */
static const char *expand(char *given, st_arena *arena)
{
    static const char *const pieces[][2] = {{"%start", START},
                                            {"%devices", DEVICES("")},
                                            {"%heading", HEADING("")},
                                            {"%row", ROW},
                                            {"%pair", ROW_OF("17.97", "18.04")},
                                            {"%share", ROW_OF("13.48", "13.53")},
                                            {"%end", END}};
    st_buffer text = {0};
    for (char *line = given, *end; *line != '\0'; line = end + 1) {
        const char *piece = NULL;
        end = strchr(line, '\n');
        *end = '\0';
        for (size_t i = 0; i < COUNT(pieces); i++)
            if (strcmp(line, pieces[i][0]) == 0)
                piece = pieces[i][1];
        if (strcmp(line, "%cut") == 0)
            text.length--;
        else if (piece != NULL)
            st_buffer_text(&text, piece);
        else
            st_buffer_printf(&text, "%s\n", line);
    }
    const char *copy = st_arena_copy(arena, text.data != NULL ? text.data : "", text.length);
    st_buffer_free(&text);
    return copy;
}

/* "NAME file=FILE ranks=N nodes=N domain=N collective=NAME buffers=in-place" */
static st_nccl_request requested(char *words, const char **file)
{
    st_nccl_request request = any;
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        char *value = strchr(word, '=');
        if (value == NULL)
            continue;
        value++;
        if (word[0] == 'f')
            *file = value;
        else if (word[0] == 'r')
            request.ranks = strtoul(value, NULL, 10);
        else if (word[0] == 'n')
            request.nodes = strtoul(value, NULL, 10);
        else if (word[0] == 'd')
            request.domain = strtoul(value, NULL, 10);
        else if (word[0] == 'c')
            request.collective = value;
        else
            request.buffers = ST_NCCL_IN_PLACE;
    }
    return request;
}

static void print_tables(const table_case *with, st_buffer *text)
{
    static const char *const buffers[] = {[ST_NCCL_OUT_OF_PLACE] = "out of place",
                                          [ST_NCCL_IN_PLACE] = "in place",
                                          [ST_NCCL_ANY] = "any"};
    for (size_t i = 0; i < with->count; i++) {
        const st_nccl_table *table = &with->tables[i];
        st_buffer_printf(text,
                         "%s of line %d: %zu ranks on %zu nodes, GPU '%s', NCCL '%s', network '%s' "
                         "of %d:%d, %s, %zu left out\n",
                         table->collective, table->line, table->ranks, table->nodes, table->gpu,
                         table->version, table->fabric, table->fabric_at.line,
                         table->fabric_at.column, buffers[table->buffers], table->left_out);
        for (size_t k = 0; k < table->row_count; k++)
            st_buffer_printf(text, "  line %d: %.17g B in %.12g us, %.12g us\n",
                             table->rows[k].line, table->rows[k].size_bytes,
                             1e6 * table->rows[k].time_s[0], 1e6 * table->rows[k].time_s[1]);
    }
}

static const char *answer(void *context, const char *name, char *given)
{
    st_arena *arena = context;
    st_buffer text = {0};
    const char *file = "some.log";
    const st_nccl_request request = requested(st_arena_copy(arena, name, strlen(name)), &file);
    table_case *with = read_as(file, expand(given, arena), request);
    assert_true((with->status == ST_OK) == (with->tables != NULL));
    st_buffer_printf(&text, "=> %s\n%s", st_status_text(with->status), said(with->errors));
    print_tables(with, &text);
    end(with);
    const char *found = st_arena_copy(arena, text.data, text.length);
    st_buffer_free(&text);
    return found;
}

TEST(tables_are_those_of_the_cases)
{
    st_arena *arena = st_arena_create();
    run_text_cases("tests/unit/cases/nccl_table.txt", answer, arena, arena);
    st_arena_destroy(arena);
}

TEST(odd_tables_are_read_or_diagnosed)
{
    st_arena *arena = st_arena_create();
    run_text_cases("tests/unit/cases/nccl_check.txt", answer, arena, arena);
    st_arena_destroy(arena);
}

TEST(tables_of_json_are_those_of_the_cases)
{
    if (!st_json_available())
        skip();
    st_arena *arena = st_arena_create();
    run_text_cases("tests/unit/cases/nccl_json.txt", answer, arena, arena);
    st_arena_destroy(arena);
}

TEST(logs_that_end_inside_of_a_row_are_refused)
{
    static const char *const texts[] = {
        START ROW ROW, START "[1,0]<stdout>:" ROW "[1,0]<stdout>:" ROW,
        START "11:22:33.456 INFO | " ROW "11:22:33.789 INFO | " ROW};
    for (size_t i = 0; i < COUNT(texts); i++) {
        /* from the first digit of the last row's size up to its last value */
        for (size_t cut = 4; cut + 3 < sizeof ROW; cut++) {
            char *copy = strdup(texts[i]);
            copy[strlen(texts[i]) - cut] = '\0';
            table_case *with = read_as("some.log", copy, any);
            if (with->status != ST_ERR_SYNTAX)
                fail_msg("read although it ends in '%s'", copy + strlen(copy) - 30);
            assert_contains(said(with->errors), "some.log:12: error: the log ends inside a row");
            end(with);
            free(copy);
        }
    }
}

TEST(csv_may_name_its_columns_anywhere)
{
    static const char *const good[] = {
        "op,size_bytes,time_us\nx,1048576,58.35\n", "\"time_us\",\"size\"\r\n58.35,1048576\r\n",
        "\xEF\xBB\xBF# ranks: 16\nsize_bytes,time_us\n1048576,58.35\n"};
    const st_nccl_request all = {
        .collective = "all_gather", .ranks = 16, .nodes = 2, .buffers = ST_NCCL_ANY};
    for (size_t i = 0; i < COUNT(good); i++) {
        table_case *with = read_as("some.csv", good[i], all);
        if (with->status != ST_OK)
            fail_msg("%s", said(with->errors));
        expect_row(&with->tables[0].rows[0], 1048576, 58.35, NOT_A_NUMBER);
        assert_int_equal(st_errors_size(with->errors), 0);
        end(with);
    }
}

/* Codes of NCCL have one digit for the minor version up to 2.8, and two from 2.9 on. */
TEST(codes_of_versions_are_read)
{
    static const char *const codes[][2] = {
        {"2406", "2.4.6"},      {"2804", "2.8.4"},   {"9999", "9.9.99"},
        {"1000", "1.0.0"},      {"999", ""},         {"20908", "2.9.8"},
        {"21005", "2.10.5"},    {"22809", "2.28.9"}, {"10000", "1.0.0"},
        {"999999", "99.99.99"}, {"1000000", ""},     {"22809.5", ""},
        {"\"22809\"", ""},      {"null", ""}};
    (void)state;
    if (!st_json_available())
        skip();
    for (size_t i = 0; i < COUNT(codes); i++) {
        char text[400];
        (void)snprintf(text, sizeof text,
                       "{\"args\": [\"all_reduce_perf\"], \"nccl_version\": %s,\n"
                       "\"results\": [{\"size\": 1048576, \"out_of_place\": {\"time\": 58.35}}]}",
                       codes[i][0]);
        table_case *with = read_as(
            "some.json", text, (st_nccl_request){.ranks = 8, .nodes = 1, .buffers = ST_NCCL_ANY});
        if (with->status != ST_OK)
            fail_msg("%s: %s", codes[i][0], said(with->errors));
        assert_string_equal(with->tables[0].version, codes[i][1]);
        end(with);
    }
}

TEST(collectives_have_several_names)
{
    static const char *const good[][2] = {{"all_reduce_perf", "all_reduce"},
                                          {"AllReduce", "all_reduce"},
                                          {"bcast", "broadcast"},
                                          {"alltoall_perf", "all_to_all"},
                                          {"send-recv", "send_recv"}};
    static const char *const bad[] = {"", "_perf", "hypercube_perf", "allreduces",
                                      "a_very_long_name_that_is_not_a_collective_at_all"};
    for (size_t i = 0; i < COUNT(good); i++)
        assert_string_equal(st_nccl_collective(good[i][0], strlen(good[i][0])), good[i][1]);
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_null(st_nccl_collective(bad[i], strlen(bad[i])));
}

TESTS(nccl_table);

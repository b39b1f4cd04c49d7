/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error list and how it prints: what is kept, counted, shortened and escaped; and which name is
 * the nearest.
 */
#include "base_support.h"

#include "base/error_scope.h"

#define TEN(text) text text text text text text text text text text

TEST(every_status_has_its_own_text)
{
    for (int i = ST_ERR_PROVIDER; i <= ST_OK; i++) {
        const char *text = st_status_text((st_status)i);
        assert_true(strlen(text) > 4);
        assert_string_not_equal(text, "unknown status");
        for (int j = ST_ERR_PROVIDER; j < i; j++)
            assert_string_not_equal(text, st_status_text((st_status)j));
    }
    assert_string_equal(st_status_text((st_status)77), "unknown status");
}

TEST_OF(a_new_list_is_empty, st_errors *errors, make_errors, drop_errors)
{
    assert_int_equal(st_errors_size(errors), 0);
    assert_int_equal(st_errors_count(errors, ST_SEVERITY_ERROR), 0);
    assert_int_equal(st_errors_count(errors, ST_SEVERITY_WARNING), 0);
    assert_int_equal(st_errors_status(errors), ST_OK);
    assert_null(st_errors_at(errors, 0));
    assert_false(st_errors_full(errors));
    assert_string_equal(said(errors), "");
}

TEST_OF(entries_own_their_texts, st_errors *errors, make_errors, drop_errors)
{
    char file[] = "job.yaml";
    char message[] = "unknown key 'hiden'";
    char suggestion[] = "hidden";
    st_status status = st_errors_add(errors, &(st_error){.status = ST_ERR_NAME,
                                                         .place = {file, 12, 5},
                                                         .message = message,
                                                         .suggestion = suggestion});
    assert_int_equal(status, ST_ERR_NAME);
    memset(file, 'x', sizeof file - 1);
    memset(message, 'x', sizeof message - 1);
    memset(suggestion, 'x', sizeof suggestion - 1);
    const st_error *kept = st_errors_at(errors, 0);
    assert_string_equal(kept->place.file, "job.yaml");
    assert_int_equal(kept->place.line, 12);
    assert_int_equal(kept->place.column, 5);
    assert_string_equal(kept->message, "unknown key 'hiden'");
    assert_null(kept->found);
    assert_null(kept->expected);
    assert_string_equal(kept->suggestion, "hidden");
}

TEST_OF(parts_of_a_format_fill_an_entry, st_errors *errors, make_errors, drop_errors)
{
    st_place place = {"job.yaml", 12, 5};
    assert_int_equal(st_fail(errors, ST_ERR_LIMIT, place, "%d files", 7), ST_ERR_LIMIT);
    assert_int_equal(st_fail(errors, ST_ERR_VALUE, place,
                             "key '%s'" ST_EXPECTED "%g%s" ST_HINT "%s" ST_FOUND "'%s'", "tp",
                             2.385, " s", "pp", "3.5"),
                     ST_ERR_VALUE);
    const st_error *plain = st_errors_at(errors, 0);
    assert_string_equal(plain->message, "7 files");
    assert_null(plain->found);
    assert_null(plain->expected);
    assert_null(plain->suggestion);
    const st_error *full = st_errors_at(errors, 1);
    assert_int_equal(full->severity, ST_SEVERITY_ERROR);
    assert_string_equal(full->place.file, "job.yaml");
    assert_int_equal(full->place.column, 5);
    assert_string_equal(full->message, "key 'tp'");
    assert_string_equal(full->found, "'3.5'");
    assert_string_equal(full->expected, "2.385 s");
    assert_string_equal(full->suggestion, "pp");
    assert_int_equal(st_fail(NULL, ST_ERR_NAME, place, "%s", "nowhere"), ST_ERR_NAME);
}

TEST_OF(marks_in_what_a_user_wrote_cut_nothing, st_errors *errors, make_errors, drop_errors)
{
    const char *hostile = "a" ST_FOUND "b" ST_HINT ST_EXPECTED;
    (void)st_fail(errors, ST_ERR_NAME, (st_place){0}, "no '%s'" ST_FOUND "'%s'" ST_HINT "%s",
                  hostile, hostile, "");
    assert_string_equal(st_errors_at(errors, 0)->message, "no 'a\x1c"
                                                          "b\x1e\x1d'");
    assert_string_equal(st_errors_at(errors, 0)->found, "'a\x1c"
                                                        "b\x1e\x1d'");
    assert_null(st_errors_at(errors, 0)->expected);
    assert_null(st_errors_at(errors, 0)->suggestion);
}

TEST_OF(a_warning_reported_fails_nothing, st_errors *errors, make_errors, drop_errors)
{
    st_place place = {.file = "a.csv"};
    assert_int_equal(
        st_report(errors, ST_SEVERITY_WARNING, ST_ERR_NAME, place, "left out" ST_HINT "%s", "x y"),
        ST_OK);
    assert_int_equal(st_errors_status(errors), ST_OK);
    assert_string_equal(st_errors_at(errors, 0)->suggestion, "x y");
    assert_int_equal(st_report(errors, ST_SEVERITY_ERROR, ST_ERR_NAME, place, "needed"),
                     ST_ERR_NAME);
    assert_int_equal(st_errors_status(errors), ST_ERR_NAME);
}

TEST_WITH(a_full_list_formats_and_looks_for_nothing, make_errors, drop_errors)
{
    static const char *const names[] = {"hidden", "heads"};
    st_errors *errors = *state;
    assert_string_equal(st_errors_nearest(errors, "hiden", names, 2), "hidden");
    assert_string_equal(st_errors_nearest(errors, "xyz", names, 2), "");
    for (int i = 0; i < ST_ERRORS_KEPT + 7; i++)
        assert_int_equal(st_fail(errors, ST_ERR_VALUE, (st_place){0}, "value %d", i), ST_ERR_VALUE);
    assert_string_equal(st_errors_nearest(errors, "hiden", names, 2), "");
    assert_int_equal(st_errors_count(errors, ST_SEVERITY_ERROR), ST_ERRORS_KEPT + 7);
    assert_string_equal(st_errors_at(errors, ST_ERRORS_KEPT - 1)->message, "value 49");
}

TEST_OF(the_first_error_gives_the_status, st_errors *errors, make_errors, drop_errors)
{
    st_errors_add(
        errors,
        &(st_error){.status = ST_ERR_UNIT, .severity = ST_SEVERITY_WARNING, .message = "unused"});
    assert_int_equal(st_errors_status(errors), ST_OK);
    st_errors_add(errors, &(st_error){.status = ST_ERR_CYCLE, .message = "first"});
    st_errors_add(errors, &(st_error){.status = ST_ERR_MATH, .message = "second"});
    assert_int_equal(st_errors_status(errors), ST_ERR_CYCLE);
    assert_int_equal(st_errors_count(errors, ST_SEVERITY_ERROR), 2);
    assert_int_equal(st_errors_count(errors, ST_SEVERITY_WARNING), 1);
    assert_string_equal(said(errors), "warning: unused\nerror: first\nerror: second\n");
    assert_int_equal(st_errors_status(errors), ST_OK);
    assert_int_equal(st_errors_size(errors), 0);
}

TEST(a_missing_list_still_passes_the_status)
{
    st_error error = {.status = ST_ERR_IO, .message = "gone"};
    assert_int_equal(st_errors_add(NULL, &error), ST_ERR_IO);
    assert_string_equal(st_errors_text(NULL, "%d", 7), "");
    assert_true(st_errors_full(NULL));
    st_errors_destroy(NULL);
}

static void add_numbered(st_errors *errors, int number, st_severity severity)
{
    const char *text = st_errors_text(errors, "fault %d", number);
    st_errors_add(errors,
                  &(st_error){.status = ST_ERR_VALUE, .severity = severity, .message = text});
}

TEST_OF(the_list_keeps_fifty_and_counts_the_rest, st_errors *errors, make_errors, drop_errors)
{
    for (int i = 0; i < 49; i++)
        add_numbered(errors, i, ST_SEVERITY_ERROR);
    assert_false(st_errors_full(errors));
    for (int i = 49; i < 52; i++)
        add_numbered(errors, i, ST_SEVERITY_ERROR);
    add_numbered(errors, 52, ST_SEVERITY_WARNING);
    assert_true(st_errors_full(errors));
    assert_string_equal(st_errors_text(errors, "more"), "");
    assert_int_equal(st_errors_size(errors), ST_ERRORS_KEPT);
    assert_int_equal(st_errors_count(errors, ST_SEVERITY_ERROR), 52);
    assert_string_equal(st_errors_at(errors, 49)->message, "fault 49");
    assert_null(st_errors_at(errors, 50));
    const char *text = said(errors);
    assert_contains(text, "error: fault 49\n2 more errors not shown\n1 more warning not shown\n");
    assert_false(st_errors_full(errors));
    assert_string_equal(st_errors_text(errors, "more"), "more");
}

TEST_OF(warnings_give_way_to_errors, st_errors *errors, make_errors, drop_errors)
{
    for (int i = 0; i < 60; i++)
        add_numbered(errors, i, ST_SEVERITY_WARNING);
    assert_false(st_errors_full(errors));
    assert_int_equal(st_errors_size(errors), ST_ERRORS_KEPT);
    add_numbered(errors, 60, ST_SEVERITY_ERROR);
    add_numbered(errors, 61, ST_SEVERITY_ERROR);
    assert_int_equal(st_errors_size(errors), ST_ERRORS_KEPT);
    assert_string_equal(st_errors_at(errors, 0)->message, "fault 0");
    assert_string_equal(st_errors_at(errors, 47)->message, "fault 47");
    assert_string_equal(st_errors_at(errors, 48)->message, "fault 60");
    assert_string_equal(st_errors_at(errors, 49)->message, "fault 61");
    const char *text = said(errors);
    assert_contains(text, "warning: fault 47\nerror: fault 60\nerror: fault 61\n");
    assert_contains(text, "12 more warnings not shown\n");
}

TEST_OF(long_texts_are_stored_without_their_middle, st_errors *errors, make_errors, drop_errors)
{
    char text[5000];
    memset(text, 'a', sizeof text);
    memcpy(text + sizeof text - 4, "end", 4);
    st_errors_add(errors, &(st_error){.status = ST_ERR_VALUE, .message = text, .found = "'x'"});
    const char *kept = st_errors_at(errors, 0)->message;
    assert_int_equal(strlen(kept), 2003);
    assert_contains(kept, "aaa...aaa");
    assert_string_equal(kept + 2000, "end");
    /* formatted texts may be longer than any fixed buffer */
    assert_int_equal(strlen(st_errors_text(errors, "<%s>", text)), sizeof text + 1);
}

TEST_OF(a_shortened_text_cuts_no_character, st_errors *errors, make_errors, drop_errors)
{
    char text[6004];
    for (size_t i = 0; i < 6000; i += 3)
        (void)snprintf(text + i, 4, "\xE2\x82\xAC"); /* the euro sign */
    (void)snprintf(text + 6000, 4, "ab");
    st_errors_add(errors, &(st_error){.status = ST_ERR_VALUE, .message = text});
    const char *kept = st_errors_at(errors, 0)->message;
    assert_contains(kept, "\xE2\x82\xAC...\xE2\x82\xAC");
    const char *line = said(errors);
    assert_null(strstr(line, "\\x"));
    assert_contains(line, "\xE2\x82\xAC...\xE2\x82\xAC");
    assert_true(strlen(line) < 1050);
}

TEST(an_error_prints_on_one_line)
{
    static const struct {
        st_error error;
        const char *line;
    } rows[] = {
        {{ST_ERR_NAME, ST_SEVERITY_ERROR, {"a.yaml", 3, 5}, "unknown key", NULL, NULL, NULL},
         "a.yaml:3:5: error: unknown key\n"},
        {{ST_ERR_NAME, ST_SEVERITY_WARNING, {"a.yaml", 3, 0}, "unused", NULL, NULL, NULL},
         "a.yaml:3: warning: unused\n"},
        {{ST_ERR_NAME, ST_SEVERITY_ERROR, {"--set", 0, 4}, "odd", NULL, NULL, NULL},
         "--set: column 4: error: odd\n"},
        {{ST_ERR_NAME, ST_SEVERITY_ERROR, {NULL, 3, 5}, "odd", NULL, NULL, NULL},
         "line 3, column 5: error: odd\n"},
        {{ST_ERR_NAME, ST_SEVERITY_ERROR, {NULL, 3, 0}, "odd", NULL, NULL, NULL},
         "line 3: error: odd\n"},
        {{ST_ERR_NAME, ST_SEVERITY_ERROR, {NULL, 0, 5}, "odd", NULL, NULL, NULL},
         "column 5: error: odd\n"},
        {{ST_ERR_IO, ST_SEVERITY_ERROR, {"b", 0, 0}, NULL, NULL, NULL, NULL},
         "b: error: cannot read or write a file\n"},
        {{ST_ERR_VALUE, ST_SEVERITY_ERROR, {NULL, 0, 0}, "bad", "'3.5'", "a whole number", NULL},
         "error: bad: found '3.5', expected a whole number\n"},
        {{ST_ERR_VALUE, ST_SEVERITY_ERROR, {NULL, 0, 0}, "bad", "", "a whole number", ""},
         "error: bad: expected a whole number\n"},
        {{ST_ERR_VALUE, ST_SEVERITY_ERROR, {NULL, 0, 0}, "bad", "'x'", NULL, "layers"},
         "error: bad: found 'x'; did you mean 'layers'?\n"},
        {{ST_ERR_VALUE, ST_SEVERITY_ERROR, {NULL, 0, 0}, "bad", NULL, NULL, "Gbit/s or GB/s"},
         "error: bad; did you mean 'Gbit/s' or 'GB/s'?\n"},
        {{ST_ERR_VALUE, ST_SEVERITY_ERROR, {NULL, 0, 0}, "bad", NULL, NULL, "set model.hidden"},
         "error: bad; set model.hidden\n"},
        {{ST_ERR_VALUE, ST_SEVERITY_ERROR, {NULL, 0, 0}, "bad", NULL, NULL, "a or b or c"},
         "error: bad; a or b or c\n"},
        {{ST_ERR_VALUE, ST_SEVERITY_ERROR, {NULL, 0, 0}, "bad", NULL, NULL, "go on or stop"},
         "error: bad; go on or stop\n"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_string_equal(printed(&rows[i].error), rows[i].line);
}

TEST(hostile_texts_cannot_steer_a_terminal)
{
    static const struct {
        const char *found;
        const char *shown;
    } rows[] = {
        {"\x1B[31mred", "\\x1B[31mred"},
        {"a\nb\tc\rd", "a\\nb\\tc\\x0Dd"},
        {"\x07\x08\x7F", "\\x07\\x08\\x7F"},
        {"\xC2\x9B"
         "2J",
         "\\x9B2J"}, /* a control of one character */
        {"\xE2\x80\xAE"
         "abc",
         "\\u202Eabc"},              /* right to left */
        {"\xE2\x80\xA8", "\\u2028"}, /* line separator */
        {"\xEF\xBB\xBF", "\\uFEFF"},
        {"a\xFF\xC0\x80z", "a\\xFF\\xC0\\x80z"}, /* not UTF-8 */
        {"\xE2\x82", "\\xE2\\x82"},              /* cut */
        {"gr\xC3\xBC\xC3\x9F \xE2\x82\xAC", "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        st_error error = {.status = ST_ERR_VALUE, .message = "bad", .found = rows[i].found};
        const char *line = printed(&error);
        char expected[256];
        (void)snprintf(expected, sizeof expected, "error: bad: found %s\n", rows[i].shown);
        assert_string_equal(line, expected);
        st_error everywhere = {.status = ST_ERR_VALUE,
                               .place = {rows[i].found, 1, 1},
                               .message = rows[i].found,
                               .expected = rows[i].found,
                               .suggestion = rows[i].found};
        for (const char *at = printed(&everywhere); *at != '\n'; at++)
            assert_false((unsigned char)*at < 0x20 || *at == 0x7F);
    }
}

TEST(long_findings_are_shown_without_their_middle)
{
    st_error error = {.status = ST_ERR_VALUE,
                      .message = "bad",
                      .found = "'" TEN(TEN("0123456789")) "'",
                      .expected = "less"};
    const char *line = printed(&error);
    assert_true(strlen(line) < 180);
    assert_contains(line, "error: bad: found '0123456789");
    assert_contains(line, "...56789");
    assert_contains(line, "0123456789', expected less\n");
}

TEST(the_nearest_name_is_found)
{
    static const char *const names[] = {"layers",      "hidden",         "heads", "parallel.tp",
                                        "parallel.dp", "global",         "V",     "GB",
                                        "micro_batch", "sequence_length"};
    static const struct {
        const char *name;
        const char *nearest;
    } rows[] = {
        {"hiden", "hidden"},
        {"hiddden", "hidden"},
        {"hidedn", "hidden"},
        {"hodden", "hidden"},
        {"HIDDEN", "hidden"},
        {"Hiden", "hidden"},
        {"ehads", "heads"},
        {"leyars", "layers"},
        {"lay", "layers"},
        {"la", NULL},
        {"layers_per_stage", "layers"},
        {"layersperstage", NULL},
        {"tp", "parallel.tp"},
        {"dp", "parallel.dp"},
        {"parallel.pt", "parallel.tp"},
        {"parallel-tp", "parallel.tp"},
        {"paralel.dp", "parallel.dp"},
        {"micro-batch", "micro_batch"},
        {"microbatch", "micro_batch"},
        {"sequense_lenth", "sequence_length"},
        {"seqence_lengthh", "sequence_length"},
        {"v", "V"},
        {"W", NULL},
        {"gb", "GB"},
        {"xyzzy", NULL},
        {"", NULL},
        {"glbl", NULL},
        {"lobal", "global"},
        {TEN("hidden_"), NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *nearest = st_nearest(rows[i].name, names, COUNT(names));
        if (rows[i].nearest == NULL && nearest != NULL)
            fail_msg("'%s' is said to be near '%s'", rows[i].name, nearest);
        if (rows[i].nearest != NULL && (nearest == NULL || strcmp(nearest, rows[i].nearest) != 0))
            fail_msg("'%s': %s instead of %s", rows[i].name, nearest != NULL ? nearest : "nothing",
                     rows[i].nearest);
    }
}

TEST(ties_go_to_the_first_candidate)
{
    static const char *const names[] = {NULL, "", "data_b", "data_a", "data_c"};
    assert_ptr_equal(st_nearest("data_x", names, COUNT(names)), names[2]);
    assert_ptr_equal(st_nearest("data_A", names, COUNT(names)), names[3]);
    assert_null(st_nearest("data_x", names, 0));
    assert_null(st_nearest("data_x", names, 2));
}

TEST(a_longer_name_may_differ_more)
{
    static const char *const names[] = {"abcd", "abcdefgh", "abcdefghijkl"};
    assert_string_equal(st_nearest("abxd", names, 1), "abcd");
    assert_null(st_nearest("axxd", names, 1));
    assert_string_equal(st_nearest("abxxefgh", names + 1, 1), "abcdefgh");
    assert_null(st_nearest("axxxefgh", names + 1, 1));
    assert_string_equal(st_nearest("axxxxfghijkl", names + 2, 1), "abcdefghijkl");
    assert_null(st_nearest("axxxxxghijkl", names + 2, 1));
}

/* One name and one candidate, on both sides of each rule. */
TEST(slips_are_told_from_other_names)
{
    static const struct {
        const char *name;
        const char *candidate;
        bool near;
    } cases[] = {
        /* Of four letters one may be exchanged, lost, added, or change places with the next. */
        {"abed", "abcd", true},
        {"acd", "abcd", true},
        {"abcde", "abcd", true},
        {"abdc", "abcd", true},
        {"bacd", "abcd", true},
        {"ABDC", "abcd", true},
        {"wxab", "wxbc", false},
        {"wxab", "wxca", false},
        {"bcad", "abcd", false},
        /* Not more than half of what is short. */
        {"ab", "ac", true},
        {"a", "ab", true},
        {"a", "b", false},
        /* Of eight letters two; three that lack are too many. */
        {"abcdefgh", "abcdef", true},
        {"abcdefgh", "abcde", false},
        /* A whole part behind a point, of two letters or more. */
        {"tp", "parallel.tp", true},
        {"TP", "parallel.tp", true},
        {"tp", "parallel_tp", false},
        {"dp", "parallel.tp", false},
        {"p", "x.p", false},
        /* A beginning of three letters or more. */
        {"lay", "layers", true},
        {"la", "layers", false},
        {"lax", "layers", false},
        /* More words behind the name. */
        {"layers-of-model", "layers", true},
        {"layers.of.model", "layers", true},
        {"layersofmodel", "layers", false},
        {"la-model-of-all", "la", false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        if ((st_nearest(cases[i].name, &cases[i].candidate, 1) != NULL) != cases[i].near)
            fail_msg("'%s' and '%s'", cases[i].name, cases[i].candidate);
}

TEST(the_smaller_difference_counts)
{
    static const struct {
        const char *name;
        const char *candidates[2];
    } cases[] = {
        /* the second one is nearer */
        {"head_dim", {"head_din", "head.dim"}},
        {"abcdfe", {"abcxyf", "abcdef"}},
        {"lay", {"layers_of_all", "layers"}},
        {"tp", {"parallel.sub.tp", "parallel.tp"}},
        {"layers-of-all-models", {"layers", "layers-of"}},
        {"lays", {"lays_of_stages", "layr"}},
        {"Name", {"NAME", "name"}},
    };
    char long_name[66];
    const char *const candidate = long_name;
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(st_nearest(cases[i].name, cases[i].candidates, 2),
                            cases[i].candidates[1]);
    memset(long_name, 'x', sizeof long_name);
    long_name[64] = '\0';
    assert_ptr_equal(st_nearest(long_name, &candidate, 1), candidate);
    long_name[64] = 'x';
    long_name[65] = '\0'; /* 65 letters are data */
    assert_null(st_nearest(long_name, &candidate, 1));
    assert_null(st_nearest(long_name + 1, &candidate, 1));
}

TEST_OF(a_fault_met_twice_is_one_line, st_errors *errors, make_errors, drop_errors)
{
    st_error fault = {.status = ST_ERR_UNIT,
                      .place = {.file = "--over", .line = 3, .column = 7},
                      .message = "unknown unit",
                      .found = "'GB/z'"};
    (void)st_errors_add(errors, &fault);
    (void)st_errors_add(errors, &fault);
    fault.found = "'GB/y'";
    (void)st_errors_add(errors, &fault);
    assert_int_equal(st_errors_count(errors, ST_SEVERITY_ERROR), 3);
    assert_string_equal(said(errors), "--over:3:7: error: unknown unit: found 'GB/z'\n"
                                      "--over:3:7: error: unknown unit: found 'GB/y'\n");
}

static bool move_to_line_7(const void *context, st_errors *errors, st_error *error)
{
    (void)errors;
    error->place = (st_place){.file = context, .line = 7};
    return true;
}

TEST_OF(scopes_edit_errors_from_the_inside_out, st_errors *errors, make_errors, drop_errors)
{
    st_error_scope outer = {.edit = move_to_line_7, .context = "space.yaml"};
    st_error_scope inner = {.edit = st_error_name, .context = "overlap.tp"};
    st_error_scope quiet = {.edit = st_error_is_severe};
    st_errors_enter(errors, &outer);
    st_errors_enter(errors, &inner);
    assert_int_equal(st_fail(errors, ST_ERR_UNIT, (st_place){0}, "no share"), ST_ERR_UNIT);
    st_errors_enter(errors, &quiet);
    st_report(errors, ST_SEVERITY_WARNING, ST_ERR_NAME, (st_place){0}, "told before");
    st_errors_leave(errors, &quiet);
    st_errors_leave(errors, &inner);
    st_errors_leave(errors, &outer);
    (void)st_fail(errors, ST_ERR_NAME, (st_place){.file = "job.yaml"}, "no key");
    assert_int_equal(st_errors_count(errors, ST_SEVERITY_WARNING), 0);
    assert_string_equal(said(errors), "space.yaml:7: error: overlap.tp: no share\n"
                                      "job.yaml: error: no key\n");
    st_errors_enter(NULL, &outer);
    st_errors_leave(NULL, &outer);
    assert_int_equal(st_errors_size(NULL), 0);
}

TESTS(status);

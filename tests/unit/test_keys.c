/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of keys: that it is consistent, that every kind of value is read and refused as the
 * table says, and that docs/configuration.md says the same.
 */
#include "job_support.h"
#include "job/sections.h"
#include "base/dimension.h"

#include "job/keys.h"
#include "job/value.h"

#include <float.h>

TEST(every_key_is_well_formed)
{
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    assert_true(count > 25);
    for (size_t i = 0; i < count; i++) {
        const st_key *key = &keys[i];
        assert_ptr_equal(st_key_find(key->path), key);
        assert_int_equal(st_key_index(key), i);
        assert_true(strlen(key->doc) > 4);
        assert_true(key->doc[strlen(key->doc) - 1] != '.');
        assert_true((key->kind == ST_KEY_QUANTITY) == (key->unit != NULL));
        assert_true((key->kind == ST_KEY_ENUM) == (key->values != NULL));
        if (key->kind <= ST_KEY_QUANTITY)
            assert_true(key->minimum < key->maximum);
    }
}

TEST(every_key_stands_in_a_section)
{
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    for (size_t i = 0; i < count; i++) {
        const char *dot = strrchr(keys[i].path, '.');
        char section[64] = "";
        if (dot != NULL)
            (void)snprintf(section, sizeof section, "%.*s", (int)(dot - keys[i].path),
                           keys[i].path);
        assert_true(dot == NULL || st_section_find(section) != NULL);
        assert_ptr_equal(st_key_in(section, dot != NULL ? dot + 1 : keys[i].path), &keys[i]);
        assert_null(st_section_find(keys[i].path));
    }
}

TEST(every_section_is_well_formed)
{
    size_t count = 0;
    const st_key_section *sections = st_key_sections(&count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(st_section_index(st_section_find(sections[i].path)), i);
        assert_true(sections[i].is_file == (sections[i].folder < ST_FOLDERS));
        assert_true(sections[i].doc[0] >= 'a' && sections[i].doc[0] <= 'z');
    }
}

TEST_OF(every_default_is_a_value, fixture *own, set_up, tear_down)
{
    size_t count = 0;
    size_t defaults = 0;
    const st_key *keys = st_keys(&count);
    for (size_t i = 0; i < count; i++) {
        double number = -1;
        if (keys[i].default_text == NULL)
            continue;
        const st_value_text text = {
            .text = keys[i].default_text,
            .length = strlen(keys[i].default_text),
        };
        assert_int_equal(st_value_parse(&keys[i], &text, &number, own->errors), ST_OK);
        assert_true(number >= 0);
        defaults++;
    }
    assert_true(defaults >= 5);
}

TEST_OF(every_unit_is_one, fixture *own, set_up, tear_down)
{
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    for (size_t i = 0; i < count; i++) {
        st_unit unit;
        if (keys[i].unit == NULL)
            continue;
        assert_int_equal(
            st_unit_parse(keys[i].unit, strlen(keys[i].unit), (st_place){0}, &unit, own->errors),
            ST_OK);
        assert_false(st_dimension_is_number(unit.dimension));
    }
}

/* ---- values ---- */

typedef struct value_case {
    const char *key;
    const char *text;
    st_status status;
    double number;
} value_case;

static st_status parse(fixture *own, const char *key, const char *text, double *number)
{
    const st_value_text value = {text, strlen(text), false, {"job.yaml", 7, 11}};
    const st_key *found = st_key_find(key);
    assert_non_null(found);
    return st_value_parse(found, &value, number, own->errors);
}

static const value_case value_cases[] = {
    {"parallel.tp", "8", ST_OK, 8},
    {"parallel.tp", "08", ST_OK, 8},
    {"parallel.tp", "8.0", ST_OK, 8},
    {"parallel.tp", "1e3", ST_OK, 1000},
    {"parallel.tp", "+37", ST_OK, 37},
    {"parallel.tp", "1000000", ST_OK, 1e6},
    {"parallel.tp", "1000001", ST_ERR_VALUE, 0},
    {"parallel.tp", "3.5", ST_ERR_VALUE, 0},
    {"parallel.tp", "0", ST_ERR_VALUE, 0},
    {"parallel.tp", "-4", ST_ERR_VALUE, 0},
    {"parallel.tp", "8x", ST_ERR_VALUE, 0},
    {"parallel.tp", "8 ", ST_ERR_VALUE, 0},
    {"parallel.tp", "", ST_ERR_VALUE, 0},
    {"parallel.tp", "0x8", ST_ERR_VALUE, 0},
    {"parallel.tp", "1_000", ST_ERR_VALUE, 0},
    {"parallel.tp", "1,000", ST_ERR_VALUE, 0},
    {"parallel.tp", "nan", ST_ERR_VALUE, 0},
    {"parallel.tp", "inf", ST_ERR_VALUE, 0},
    {"parallel.tp", "1e400", ST_ERR_VALUE, 0},
    {"parallel.tp", "eight", ST_ERR_VALUE, 0},
    {"parallel.tp", "8 B", ST_ERR_VALUE, 0},
    {"batch.global", "999999999", ST_OK, 999999999},
    {"batch.global", "1000000001", ST_ERR_VALUE, 0},
    {"model.layers", "1000001", ST_ERR_VALUE, 0},
    {"cluster.gpu_utilization", "0.3125", ST_OK, 0.3125},
    {"cluster.gpu_utilization", "62.5 %", ST_OK, 0.625},
    {"cluster.gpu_utilization", "1", ST_OK, 1},
    {"cluster.gpu_utilization", "1.0625", ST_ERR_VALUE, 0},
    {"cluster.gpu_utilization", "0", ST_ERR_VALUE, 0},
    {"cluster.gpu_utilization", "0.3 s", ST_ERR_UNIT, 0},
    {"cluster.nic_bandwidth", "200 Gbit/s", ST_OK, 25e9},
    {"cluster.nic_bandwidth", "23.85GB/s", ST_OK, 23.85e9},
    {"cluster.nic_bandwidth", "1.5 GiB/s", ST_OK, 1.5 * 1073741824},
    {"cluster.nic_bandwidth", "200", ST_ERR_UNIT, 0},
    {"cluster.nic_bandwidth", "200 GB", ST_ERR_UNIT, 0},
    {"cluster.nic_bandwidth", "200 Gbps", ST_ERR_UNIT, 0},
    {"cluster.nic_bandwidth", "0 GB/s", ST_ERR_VALUE, 0},
    {"cluster.nic_bandwidth", "-12.5 GB/s", ST_ERR_VALUE, 0},
    {"cluster.gpu.memory", "24 GiB", ST_OK, 24.0 * 1073741824},
    {"cluster.gpu.peak_fp16", "71 TFLOP/s", ST_OK, 71e12},
    {"cluster.gpu.power", "0.35 kW", ST_OK, 350},
    {"recompute", "none", ST_OK, 0},
    {"recompute", "selective", ST_OK, 1},
    {"recompute", "full", ST_OK, 2},
    {"recompute", "Full", ST_ERR_VALUE, 0},
    {"recompute", "2", ST_ERR_VALUE, 0},
    {"name", "GPT-3 175B \xC2\xB5", ST_OK, 0},
    {"name", "two\nlines", ST_ERR_VALUE, 0},
    {"name", "bell\x07", ST_ERR_VALUE, 0},
    {"name", "\xFF", ST_ERR_VALUE, 0},
    {"parallel.order", "tp", ST_OK, 0},
    {"parallel.order", "tp-cp-ep-dp-pp", ST_OK, 0},
    {"parallel.order", "pp-dp-tp", ST_OK, 0},
    {"parallel.order", "tp-dp-tp", ST_ERR_VALUE, 0},
    {"parallel.order", "tp-xp", ST_ERR_VALUE, 0},
    {"parallel.order", "tp--pp", ST_ERR_VALUE, 0},
    {"parallel.order", "tp-", ST_ERR_VALUE, 0},
    {"parallel.order", "-tp", ST_ERR_VALUE, 0},
    {"parallel.order", "TP-PP", ST_ERR_VALUE, 0},
    {"parallel.order", "tp,pp", ST_ERR_VALUE, 0},
};

TEST_OF(values_are_read_by_kind, fixture *own, set_up, tear_down)
{
    for (size_t i = 0; i < sizeof value_cases / sizeof value_cases[0]; i++) {
        double number = -2.385;
        st_status status = parse(own, value_cases[i].key, value_cases[i].text, &number);
        if (status != value_cases[i].status)
            fail_msg("%s=%s gives status %d", value_cases[i].key, value_cases[i].text, status);
        double expected = value_cases[i].status == ST_OK ? value_cases[i].number : -2.385;
        if (number != expected)
            fail_msg("%s=%s gives %.17g", value_cases[i].key, value_cases[i].text, number);
        assert_int_equal(st_errors_count(own->errors, ST_SEVERITY_ERROR), status != ST_OK);
        assert_int_equal(st_errors_status(own->errors), value_cases[i].status);
        st_errors_clear(own->errors);
    }
}

TEST_WITH(messages_name_the_key_and_what_it_accepts, set_up, tear_down)
{
    static const struct {
        const char *key;
        const char *text;
        const char *message;
    } cases[] = {
        {"parallel.tp", "3.5",
         "job.yaml:7:11: error: wrong value for parallel.tp: found '3.5', expected a whole number "
         "from 1 to 1000000\n"},
        {"cluster.gpu_utilization", "1.25",
         "job.yaml:7:11: error: wrong value for cluster.gpu_utilization: found '1.25', expected a "
         "number above 0 and at most 1\n"},
        {"cluster.nic_bandwidth", "-1 GB/s",
         "job.yaml:7:11: error: wrong value for cluster.nic_bandwidth: found '-1 GB/s', expected a "
         "number above 0 with a unit, e.g. GB/s\n"},
        {"recompute", "fulll",
         "job.yaml:7:11: error: wrong value for recompute: found 'fulll', expected none, selective "
         "or full; did you mean 'full'?\n"},
        {"parallel.order", "tp-dq",
         "job.yaml:7:11: error: unknown group in parallel.order: found 'dq', expected some of tp, "
         "cp, ep, dp and pp, joined by '-', each at most once; did you mean 'dp'?\n"},
        {"parallel.order", "tp-tp",
         "job.yaml:7:11: error: duplicate group in parallel.order: found 'tp', expected some of "
         "tp, cp, ep, dp and pp, joined by '-', each at most once\n"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double number = 0;
        assert_int_not_equal(parse(own, cases[i].key, cases[i].text, &number), ST_OK);
        assert_string_equal(said(own), cases[i].message);
    }
}

TEST_OF(faults_of_units_name_the_key_too, fixture *own, set_up, tear_down)
{
    double number = 0;
    assert_int_equal(parse(own, "cluster.gpu.memory", "24 GB/s", &number), ST_ERR_UNIT);
    const char *text = said(own);
    assert_non_null(strstr(text, "error: cluster.gpu.memory: "));
    assert_non_null(strstr(text, "B/s"));
    assert_int_equal(parse(own, "cluster.nic_bandwidth", "200 Gbps", &number), ST_ERR_UNIT);
    assert_non_null(strstr(said(own), "did you mean 'Gbit/s'?"));
}

TEST_WITH(truth_is_true_or_false, set_up, tear_down)
{
    static const struct {
        const char *text;
        bool quoted;
        double number; /* -1: refused */
        const char *hint;
    } cases[] = {
        {"true", false, 1, NULL},
        {"false", false, 0, NULL},
        {"true", true, -1, "write it without quotes"},
        {"yes", false, -1, "did you mean 'true'?"},
        {"off", false, -1, "did you mean 'false'?"},
        {"True", false, -1, "did you mean 'true'?"},
        {"truely", false, -1, "expected true or false\n"},
        {"tru", false, -1, "expected true or false\n"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double number = -1;
        const st_value_text value = {
            cases[i].text, strlen(cases[i].text), cases[i].quoted, {"job.yaml", 2, 3}};
        st_status status = st_value_parse_bool("model.tied", &value, &number, own->errors);
        assert_true(number == cases[i].number);
        assert_int_equal(status, cases[i].number >= 0 ? ST_OK : ST_ERR_VALUE);
        const char *text = said(own);
        if (cases[i].hint != NULL)
            assert_non_null(strstr(text, cases[i].hint));
    }
}

TEST_OF(long_texts_are_refused_briefly, fixture *own, set_up, tear_down)
{
    double number = 0;
    char *text = st_arena_alloc(own->arena, 100001, 1);
    assert_non_null(text);
    memset(text, 'x', 100000);
    assert_int_equal(parse(own, "name", text, &number), ST_ERR_VALUE);
    assert_true(strlen(said(own)) < 500);
    assert_int_equal(parse(own, "recompute", text, &number), ST_ERR_VALUE);
    assert_true(strlen(said(own)) < 500);
    assert_int_equal(parse(own, "parallel.order", text, &number), ST_ERR_VALUE);
    assert_true(strlen(said(own)) < 500);
}

TEST(values_may_be_read_without_a_list_of_errors)
{
    double number = 0;
    const st_value_text wrong = {"3 furlongs", 10, false, {0}};
    assert_int_equal(st_value_parse(st_key_find("parallel.tp"), &wrong, &number, NULL),
                     ST_ERR_VALUE);
    assert_int_equal(st_value_parse(st_key_find("cluster.gpu.power"), &wrong, &number, NULL),
                     ST_ERR_UNIT);
    assert_int_equal(st_value_parse(st_key_find("recompute"), &wrong, &number, NULL), ST_ERR_VALUE);
}

/* ---- names ---- */

TEST_WITH(suggestions_lead_to_the_right_key, set_up, tear_down)
{
    static const struct {
        const char *section;
        const char *name;
        const char *suggestion;
    } cases[] = {
        {"model", "hiden", "hidden"},
        {"model", "vocabluary", "vocabulary"},
        {"", "modle", "model"},
        {"", "recomput", "recompute"},
        {"cluster", "gpu_per_node", "gpus_per_node"},
        {"cluster.gpu", "power_", "power"},
        {"model", "bse", "base"},
        {"batch", "sorce", "source"},
        {"batch", "vocabulary", "'vocabulary' belongs under model"},
        {"model", "tp", "'tp' belongs under parallel or overlap or cluster.bandwidth"},
        {"model", "recompute", "'recompute' belongs under the top level of the job"},
        {"model", "gpu", "'gpu' belongs under cluster"},
        {"batch", "vocabularies", "model.vocabulary"},
        {"", "hiden", "model.hidden"},
        {"", "parallel.tp", "write parallel: {tp: ...}"},
        {"", "quux", NULL},
        {"parallel", "zzzzzzzzzzzzzz", NULL},
    };
    fixture *own = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *suggestion = st_key_suggestion(cases[i].section, cases[i].name, own->errors);
        if (cases[i].suggestion == NULL)
            assert_null(suggestion);
        else if (suggestion == NULL || strcmp(suggestion, cases[i].suggestion) != 0)
            fail_msg("'%s' in '%s' suggests '%s'", cases[i].name, cases[i].section,
                     suggestion != NULL ? suggestion : "nothing");
    }
}

TEST(paths_are_near_to_paths)
{
    assert_string_equal(st_key_nearest_path("parallel.tpp"), "parallel.tp");
    assert_string_equal(st_key_nearest_path("model.hiden"), "model.hidden");
    assert_string_equal(st_key_nearest_path("clustr"), "cluster");
    assert_string_equal(st_key_nearest_path("hidden"), "model.hidden");
    assert_string_equal(st_key_nearest_path("tp"), "parallel.tp");
    assert_null(st_key_nearest_path("qwertyuiop"));
}

TEST(names_below_a_section)
{
    assert_string_equal(st_path_below("parallel.tp", "parallel"), "tp");
    assert_string_equal(st_path_below("name", ""), "name");
    assert_null(st_path_below("parallel.tp", ""));
    assert_null(st_path_below("cluster.gpu.memory", "cluster"));
    assert_null(st_path_below("parallelism.tp", "parallel"));
    assert_null(st_key_in("model", "tp"));
    assert_null(st_key_in("", "parallel.tp"));
    assert_null(st_key_find("parallel"));
    assert_null(st_key_find(""));
}

TEST(constants_have_plain_names)
{
    assert_true(st_is_constant_name("mu"));
    assert_true(st_is_constant_name("_alpha_2"));
    assert_false(st_is_constant_name(""));
    assert_false(st_is_constant_name("2nd"));
    assert_false(st_is_constant_name("a.b"));
    assert_false(st_is_constant_name("a-b"));
    assert_false(st_is_constant_name("\xC2\xB5"));
    assert_true(
        st_is_constant_name("a234567890123456789012345678901234567890123456789012345678901234"));
    assert_false(
        st_is_constant_name("a2345678901234567890123456789012345678901234567890123456789012345"));
}

/* ---- the page ---- */

TEST(the_page_says_what_the_table_says)
{
    st_buffer page = {0};
    st_buffer expected = {0};
    char chunk[4096];
    FILE *stream = fopen("docs/configuration.md", "rb");
    assert_non_null(stream); /* tests run in the project's root */
    for (size_t count = 1; count > 0;) {
        count = fread(chunk, 1, sizeof chunk, stream);
        st_buffer_append(&page, chunk, count);
    }
    assert_int_equal(fclose(stream), 0);
    st_job_write_reference(&expected);
    assert_false(expected.failed);
    assert_string_equal(page.data, expected.data);
    st_buffer_free(&page);
    st_buffer_free(&expected);
}

/* As a cell of a table has it, in which '|' would end the cell. */
static const char *in_a_cell(st_arena *arena, const char *doc)
{
    char *text = st_arena_alloc(arena, 2 * strlen(doc) + 1, 1);
    size_t length = 0;
    assert_non_null(text);
    for (const char *c = doc; *c != '\0'; c++) {
        if (*c == '|')
            text[length++] = '\\';
        text[length++] = *c;
    }
    text[length] = '\0';
    return text;
}

TEST_OF(the_page_has_every_key, fixture *own, set_up, tear_down)
{
    st_buffer page = {0};
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    st_job_write_reference(&page);
    for (size_t i = 0; i < count; i++) {
        const char *dot = strrchr(keys[i].path, '.');
        const char *row =
            st_arena_printf(own->arena, "| `%s` | ", dot != NULL ? dot + 1 : keys[i].path);
        assert_non_null(row);
        assert_non_null(strstr(page.data, row));
        assert_non_null(strstr(page.data, in_a_cell(own->arena, keys[i].doc)));
    }
    st_buffer_free(&page);
}

TESTS(keys);

/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of measured rows by our names, numbers inside texts, and conditions on fields. */
#include "base_support.h"

#include "fit/steps/row_condition.h"
#include "fit/steps/row_fields.h"
#include "fit/steps/row_words.h"

TEST(numbers_stand_behind_or_before_a_mark)
{
    static const struct {
        const char *text;
        const char *behind;
        const char *before;
        const char *found;
    } rows[] = {
        {"tp8pp4", "tp", "", "8"},
        {"tp8pp4", "pp", "", "4"},
        {"http-tp16", "tp", "", "16"}, /* the first mark has no digits behind it */
        {"tt8", "t", "", "8"},         /* marks one behind the other */
        {"dp", "dp", "", ""},
        {"none", "tp", "", ""},
        {"cp2385x", "cp", "", "2385"},
        {"7B-2048 GPUs", "", "B", "7"},
        {"7B-2048GPUs", "", "GPU", "2048"},
        {"GPU of 64GPUs", "", "GPU", "64"}, /* the first mark has nothing before it */
        {"xB 13B", "", "B", "13"},
        {"B", "", "B", ""},
        {"none", "", "GPU", ""},
        {"n1234567890123456789012345678901", "n", "", "1234567890123456789012345678901"},
        {"n12345678901234567890123456789012", "n", "", ""},
    };
    (void)state;
    st_arena *arena = st_arena_create();
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[128];
        char storage[ST_SOURCE_FIELD_BYTES];
        const st_csv *csv = NULL;
        const st_extraction number = {"parallel.tp", "plan", rows[i].behind, rows[i].before};
        (void)snprintf(text, sizeof text, "id,plan\nr1,%s\n", rows[i].text);
        assert_int_equal(st_csv_parse("t.csv", text, strlen(text), arena, &csv, NULL), ST_OK);
        const st_source_field field = {1, &number};
        assert_string_equal(st_source_field_text(csv, field, 0, storage), rows[i].found);
    }
    st_arena_destroy(arena);
}

TEST(fields_are_found_by_our_names)
{
    static const char text[] = "id,Tensor,plan,pp\nr1,8,dp4,2\n";
    static const st_renamed renamed[] = {{.name = "tp", .theirs = "Tensor"}};
    static const st_extraction inside[] = {{"dp", "plan", "dp", ""}};
    static const st_table_source source = {
        .columns = renamed, .column_count = 1, .extractions = inside, .extraction_count = 1};
    static const struct {
        const char *name;
        const st_table_source *source;
        size_t column;
        const char *text;
    } rows[] = {
        {"tp", &source, 1, "8"},       {"dp", &source, 2, "4"},    {"pp", &source, 3, "2"},
        {"cp", &source, SIZE_MAX, ""}, {"tp", NULL, SIZE_MAX, ""}, {"Tensor", NULL, 1, "8"},
    };
    (void)state;
    st_arena *arena = st_arena_create();
    const st_csv *csv = NULL;
    assert_int_equal(st_csv_parse("t.csv", text, strlen(text), arena, &csv, NULL), ST_OK);
    for (size_t i = 0; i < COUNT(rows); i++) {
        char storage[ST_SOURCE_FIELD_BYTES];
        st_source_field field = st_source_field_find(csv, rows[i].source, rows[i].name);
        assert_true(field.column == rows[i].column);
        assert_string_equal(st_source_field_text(csv, field, 0, storage), rows[i].text);
    }
    st_arena_destroy(arena);
}

TEST(standard_columns_have_their_keys)
{
    const st_standard_column *vp = st_standard_column_of("parallel.virtual_stages");
    assert_string_equal(vp->name, "vp");
    assert_true(vp->may_be_blank);
    const st_standard_column *tp = st_standard_column_of("parallel.tp");
    assert_string_equal(tp->name, "tp");
    assert_false(tp->may_be_blank);
    assert_string_equal(st_standard_column_of("cluster.gpus_per_node")->name, "gpus_per_node");
    assert_null(st_standard_column_of("tp"));
    static const char *const known[] = {"layers", "gpus_per_node", "id", "mfu_pct"};
    for (size_t i = 0; i < COUNT(known); i++)
        assert_true(st_is_standard_column(known[i]));
    assert_false(st_is_standard_column("mfu"));
    assert_false(st_is_standard_column(""));
}

TEST(stars_match_any_text)
{
    static const struct {
        const char *text;
        const char *pattern;
        bool matches;
    } rows[] = {
        {"", "", true},
        {"", "*", true},
        {"", "a", false},
        {"a", "", false},
        {"h100", "h100", true},
        {"h100", "h10", false},
        {"h10", "h100", false},
        {"h100", "h*", true},
        {"h100", "*0", true},
        {"h100", "*1*", true},
        {"h100", "*2*", false},
        {"h100", "h**00", true},
        {"aabab", "*ab", true},
        {"aabab", "a*ab", true},
        {"aabab", "*aa", false},
        {"abcabd", "*abd", true},
        {"abcabd", "*ab*c", false},
        {"ab", "ab*", true},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (st_text_matches(rows[i].text, rows[i].pattern) != rows[i].matches)
            fail_msg("'%s' against '%s'", rows[i].text, rows[i].pattern);
}

TEST(conditions_hold_for_one_of_their_values)
{
    static const char *const values[] = {"2.50", "h100*", ""};
    static const struct {
        const char *field;
        bool holds;
    } rows[] = {{"2.5", true},  {"2.50", true}, {"25e-1", true}, {"2.49", false},
                {"h100", true}, {"", true},     {"h200", false}, {"2.5x", false}};
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        st_condition condition = {.column = "c", .values = values, .value_count = COUNT(values)};
        assert_int_equal(st_condition_holds(&condition, rows[i].field), rows[i].holds);
        condition.negated = true;
        assert_int_equal(st_condition_holds(&condition, rows[i].field), !rows[i].holds);
    }
}

/* The map `text` as conditions: what they are, or what is said. */
static const st_condition *read_map(const char *text, st_arena *arena, st_errors *errors,
                                    size_t *count)
{
    const st_yaml_node *root = NULL;
    st_yaml_reader reader = {.arena = arena, .errors = errors, .file = "s.yaml"};
    assert_int_equal(st_yaml_parse("s.yaml", text, strlen(text), arena, &root, errors), ST_OK);
    return st_read_conditions(&reader, root, "when", "unless", count);
}

TEST_WITH(conditions_are_read_from_maps, make_errors, drop_errors)
{
    st_arena *arena = st_arena_create();
    size_t count = 0;
    const st_condition *found = read_map(
        "when: {gpu: [h100, 'a100*'], tp: 8}\nunless: {dp: 2.385}\n", arena, *state, &count);
    assert_int_equal(count, 3);
    assert_string_equal(found[0].column, "gpu");
    assert_int_equal(found[0].value_count, 2);
    assert_string_equal(found[0].values[1], "a100*");
    assert_false(found[0].negated || found[1].negated);
    assert_string_equal(found[1].values[0], "8");
    assert_true(found[2].negated);
    assert_string_equal(found[2].column, "dp");
    assert_int_equal(found[2].place.line, 2);
    (void)read_map("when: {gpu: {a: b}}\n", arena, *state, &count);
    assert_contains(said(*state), "s.yaml:1:13: error: the value of a condition is not a text");
    st_arena_destroy(arena);
}

/* ---- words ---- */

TEST(words_are_cut_at_signs_of_plus)
{
    static const struct {
        const char *field;
        const char *words; /* joined by ';' */
    } cases[] = {{"mlp", "mlp;"},
                 {"mlp+norm", "mlp;norm;"},
                 {" mlp  + layer norm + ", "mlp;layer norm;"},
                 {"++a", "a;"},
                 {"", ""},
                 {" + ", ""}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char word[ST_WORD_BYTES];
        st_buffer found = {0};
        const char *field = cases[i].field;
        while (st_next_word(&field, word))
            st_buffer_printf(&found, "%s;", word);
        assert_string_equal(found.data != NULL ? found.data : "", cases[i].words);
        st_buffer_free(&found);
    }
}

TEST(words_are_cut_to_their_room)
{
    char field[ST_WORD_BYTES + 40];
    (void)state;
    memset(field, 'k', sizeof field);
    for (size_t length = ST_WORD_BYTES - 2; length <= ST_WORD_BYTES + 1; length++) {
        char word[ST_WORD_BYTES];
        const char *at = field;
        memcpy(field + length, "+x", 3);
        assert_true(st_next_word(&at, word));
        assert_int_equal(strlen(word), length < ST_WORD_BYTES ? length : ST_WORD_BYTES - 1);
        assert_true(st_next_word(&at, word));
        assert_string_equal(word, "x");
        assert_false(st_next_word(&at, word));
        memset(field, 'k', sizeof field);
    }
}

/* ---- columns that nothing reads ---- */

/* Each part of a source knows a column of its own, the last of two. */
TEST_WITH(each_part_of_a_source_reads_columns, make_errors, drop_errors)
{
    static const st_condition conditions[][2] = {{{.column = "x"}, {.column = "in-match"}},
                                                 {{.column = "x"}, {.column = "in-assumption"}},
                                                 {{.column = "x"}, {.column = "in-omission"}},
                                                 {{.column = "x"}, {.column = "in-group"}}};
    static const st_assumption assumptions[2] = {{.when = {conditions[1], 1, ST_NO_FORMULA}},
                                                 {.when = {conditions[1], 2, ST_NO_FORMULA}}};
    static const st_omission omissions[2] = {{.when = {conditions[2], 1, ST_NO_FORMULA}},
                                             {.when = {conditions[2], 2, ST_NO_FORMULA}}};
    static const st_row_group groups[2] = {{.when = {conditions[3], 1, ST_NO_FORMULA}},
                                           {.when = {conditions[3], 2, ST_NO_FORMULA}}};
    static const char *const ignored[] = {"y", "remark*"};
    static const st_renamed renamed[] = {{.name = "tp", .theirs = "z"},
                                         {.name = "pp", .theirs = "Stages"}};
    static const st_extraction inside[] = {{"dp", "z", "dp", ""}, {"cp", "plan", "cp", ""}};
    static const st_words lists[] = {{.path = "z"}, {.path = "again"}};
    const char *columns[] = {"z", "in-formula"};
    st_row_formulas formulas = {.columns = columns, .column_count = 2};
    const st_table_source source = {.match = {conditions[0], 2, ST_NO_FORMULA},
                                    .assumptions = assumptions,
                                    .assumption_count = 2,
                                    .omissions = omissions,
                                    .omission_count = 2,
                                    .groups = groups,
                                    .group_count = 2,
                                    .ignored = ignored,
                                    .ignored_count = 2,
                                    .columns = renamed,
                                    .column_count = 2,
                                    .extractions = inside,
                                    .extraction_count = 2,
                                    .lists = lists,
                                    .list_count = 2,
                                    .formulas = &formulas};
    static const char text[] =
        "id,layers,step,model.hidden,constants.work,in-match,in-assumption,in-omission,in-group,"
        "in-formula,remarks,Stages,plan,again,odd,constants\n"
        "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16\n";
    st_errors *errors = *state;
    st_arena *arena = st_arena_create();
    const st_csv *csv = NULL;
    assert_int_equal(st_csv_parse("t.csv", text, strlen(text), arena, &csv, errors), ST_OK);
    st_columns_tell_unread(csv, &source, "step", errors);
    assert_contains(said(errors), "t.csv:1: warning: columns that nothing reads: odd, constants\n");
    st_columns_tell_unread(csv, NULL, "odd", errors);
    assert_contains(said(errors),
                    "columns that nothing reads: step, in-match, in-assumption, in-omission, "
                    "in-group, in-formula, remarks, Stages, plan, again, constants\n");
    assert_int_equal(st_csv_parse("t.csv", "id,odd\n1,2\n", 11, arena, &csv, errors), ST_OK);
    st_columns_tell_unread(csv, NULL, "step", errors);
    assert_contains(said(errors), "warning: column that nothing reads: odd\n");
    st_columns_tell_unread(csv, NULL, "odd", errors);
    assert_string_equal(said(errors), "");
    st_arena_destroy(arena);
}

TESTS(row_fields);

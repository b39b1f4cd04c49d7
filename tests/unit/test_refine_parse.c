/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins as a command line asks for them, and columns of such wishes. */
#include "job_support.h"

#include "plugin/refine_parse.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const st_refinement *read_all(fixture *own, const char *const *texts, size_t text_count,
                                     size_t *count)
{
    const st_refinement *list = NULL;
    const st_words words = {texts, text_count};
    if (st_refine_parse(own->paths, &words, own->arena, &list, count, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return list;
}

static void assert_option(const st_refinement *entry, size_t index, const char *name,
                          const char *text)
{
    assert_true(index < entry->option_count);
    assert_string_equal(entry->options[index].name, name);
    assert_string_equal(entry->options[index].text, text);
}

TEST_OF(options_are_read, fixture *own, set_up, tear_down)
{
    const char *text = " mine : alpha = 2.385 us ,share=1e+5,profile=site a,fallback=formula,x=";
    size_t count = 0;
    const st_refinement *list = read_all(own, &text, 1, &count);
    assert_int_equal(count, 1);
    assert_string_equal(list[0].plugin, "mine");
    assert_string_equal(list[0].profile, "site a");
    assert_true(list[0].fallback);
    assert_int_equal(list[0].option_count, 3);
    assert_option(&list[0], 0, "alpha", "2.385 us");
    assert_option(&list[0], 1, "share", "1e+5");
    assert_option(&list[0], 2, "x", "");
    assert_true(strncmp(list[0].options[0].place.file, "--refine  mine", 14) == 0);
}

TEST_OF(plugins_come_in_order, fixture *own, set_up, tear_down)
{
    const char *const texts[] = {"first:a=1+second", "./third.so:b=x+y-not=2", "4th:c=-1e+3"};
    size_t count = 0;
    const st_refinement *list = read_all(own, texts, 2, &count);
    assert_int_equal(count, 4);
    size_t quiet = 0; /* also where nobody reads errors */
    const st_refinement *same = NULL;
    assert_int_equal(
        st_refine_parse(own->paths, &(st_words){texts, 2}, own->arena, &same, &quiet, NULL), ST_OK);
    assert_int_equal(quiet, 4);
    assert_string_equal(same[3].plugin, list[3].plugin);
    assert_string_equal(list[0].plugin, "first");
    assert_option(&list[0], 0, "a", "1");
    assert_string_equal(list[1].plugin, "second");
    assert_string_equal(list[2].plugin, "./third.so");
    assert_option(&list[2], 0, "b", "x");
    assert_string_equal(list[3].plugin, "y-not=2"); /* a name, which no plugin has */
    list = read_all(own, texts + 2, 1, &count);
    assert_int_equal(count, 1);
    assert_option(&list[0], 0, "c", "-1e+3");
    assert_false(list[0].fallback);
    assert_null(list[0].profile);
}

/* Who asks quietly gets as many plugins. */
TEST_OF(a_text_is_read_without_a_list_of_errors, fixture *own, set_up, tear_down)
{
    const char *text = "first:a=1+second+third:b=2";
    const st_refinement *list = NULL;
    size_t count = 0;
    const st_words words = {&text, 1};
    assert_int_equal(st_refine_parse(own->paths, &words, own->arena, &list, &count, NULL), ST_OK);
    assert_int_equal(count, 3);
    assert_string_equal(list[2].plugin, "third");
    assert_option(&list[2], 0, "b", "2");
    text = "first+first+third";
    assert_int_not_equal(st_refine_parse(own->paths, &words, own->arena, &list, &count, NULL),
                         ST_OK);
}

TEST_OF(backslashes_protect, fixture *own, set_up, tear_down)
{
    const char *text = "mine:table=a\\,b\\+c\\|d\\\\e\\f,sum=x\\=y,of=a:b";
    size_t count = 0;
    const st_refinement *list = read_all(own, &text, 1, &count);
    assert_int_equal(count, 1);
    assert_option(&list[0], 0, "table", "a,b+c|d\\e\\f");
    assert_option(&list[0], 1, "sum", "x=y");
    assert_option(&list[0], 2, "of", "a:b");
    text = "mine:ends=a\\,"; /* what is protected may be the last one, and a backslash itself */
    list = read_all(own, &text, 1, &count);
    assert_int_equal(list[0].option_count, 1);
    assert_option(&list[0], 0, "ends", "a,");
    text = "mine:ends=a\\";
    list = read_all(own, &text, 1, &count);
    assert_option(&list[0], 0, "ends", "a\\");
}

TEST_OF(none_is_nothing, fixture *own, set_up, tear_down)
{
    const char *text = "none";
    size_t count = 7;
    (void)read_all(own, &text, 1, &count);
    assert_int_equal(count, 0);
}

TEST_OF(short_names_yield_to_plugins, fixture *own, set_up, tear_down)
{
    const char *const texts[] = {"constant", "xgboost:model=m"};
    size_t count = 0;
    const st_refinement *list = read_all(own, texts, 2, &count);
    assert_int_equal(count, 2);
    assert_string_equal(list[0].plugin, "overlap-constant");
    assert_string_equal(list[1].plugin, "overlap-xgboost");
    write_text(own, "plugins/constant/constant.so", "nobody loads it here");
    list = read_all(own, texts, 1, &count);
    assert_string_equal(list[0].plugin, "constant");
}

TEST_WITH(faults_are_told, set_up, tear_down)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "missing plugin name"},
        {":a=1", "--refine :a=1: error: missing plugin name"},
        {"mine:", "invalid plugin option: found '', expected NAME=VALUE"},
        {"mine:a=1,", "invalid plugin option: found ''"},
        {"mine:=3", "invalid plugin option: found '=3'"},
        {"mine:a", "invalid plugin option: found 'a', expected NAME=VALUE, as in"},
        {"mine:a=1,a=2", "'a' is given twice"},
        {"mine:profile=a,profile=b", "'profile' is given twice"},
        {"mine:fallback=error,fallback=error", "'fallback' is given twice"},
        {"mine:fallback=Formula", "invalid fallback: found 'Formula', expected formula or error"},
        {"mine+mine", "--refine: error: plugin 'mine' is given twice"},
        {"mine+none", "'none' cannot be combined with plugins"},
        {"mine:fallback=x,a", "found 'a'"}, /* both are reported */
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_refinement *list = NULL;
        size_t count = 0;
        st_errors_clear(own->errors);
        assert_int_equal(st_refine_parse(own->paths, &(st_words){&cases[i].text, 1}, own->arena,
                                         &list, &count, own->errors),
                         ST_ERR_USAGE);
        if (strstr(said(own), cases[i].message) == NULL)
            fail_msg("'%s' says: %s", cases[i].text, said(own));
    }
}

TEST_OF(there_are_limits, fixture *own, set_up, tear_down)
{
    st_buffer text = {0};
    const st_refinement *list = NULL;
    size_t count = 0;
    for (size_t i = 0; i <= 32; i++)
        st_buffer_printf(&text, "%sp%zu", i > 0 ? "+" : "", i);
    const char *many = text.data;
    assert_int_equal(
        st_refine_parse(own->paths, &(st_words){&many, 1}, own->arena, &list, &count, own->errors),
        ST_ERR_USAGE);
    assert_non_null(strstr(said(own), "more than 32 plugins"));
    st_errors_clear(own->errors);
    st_buffer_free(&text);
    st_buffer_text(&text, "p:");
    for (size_t i = 0; i <= 1000; i++)
        st_buffer_printf(&text, "%sa%zu=%zu", i > 0 ? "," : "", i, 3 * i);
    many = text.data;
    assert_int_equal(
        st_refine_parse(own->paths, &(st_words){&many, 1}, own->arena, &list, &count, own->errors),
        ST_ERR_USAGE);
    assert_non_null(strstr(said(own), "too many options"));
    st_errors_clear(own->errors);
    for (size_t i = 0; i < 66000; i++)
        st_buffer_text(&text, "x");
    many = text.data;
    assert_int_equal(
        st_refine_parse(own->paths, &(st_words){&many, 1}, own->arena, &list, &count, own->errors),
        ST_ERR_USAGE);
    assert_non_null(strstr(said(own), "exceeds 65536 bytes"));
    st_buffer_free(&text);
}

TEST_OF(columns_are_split, fixture *own, set_up, tear_down)
{
    const char *const *columns = NULL;
    size_t count = 0;
    assert_int_equal(st_refine_columns(" none | mine:table=a\\|b+other|constant ", own->arena,
                                       &columns, &count, own->errors),
                     ST_OK);
    assert_int_equal(count, 3);
    assert_string_equal(columns[0], "none");
    assert_string_equal(columns[1], "mine:table=a\\|b+other");
    assert_string_equal(columns[2], "constant");
    static const char *const empty[] = {"", "|none", "none|", "none| |mine", "none||mine"};
    for (size_t i = 0; i < COUNT(empty); i++) {
        st_errors_clear(own->errors);
        assert_int_equal(st_refine_columns(empty[i], own->arena, &columns, &count, own->errors),
                         ST_ERR_USAGE);
        assert_non_null(strstr(said(own), "a column is empty"));
    }
    st_errors_clear(own->errors);
    assert_int_equal(
        st_refine_columns("a|b|c|d|e|f|g|h|i", own->arena, &columns, &count, own->errors),
        ST_ERR_USAGE);
    assert_non_null(strstr(said(own), "more than 8 columns"));
}

/* What st_refine_parse reads, st_refine_text says. */
TEST_OF(words_are_said_again, fixture *own, set_up, tear_down)
{
    static const char *const texts[][2] = {
        {"mine", "mine"},
        {" mine : alpha = 2.385 us , x=1e+5", "mine:alpha=2.385 us,x=1e+5"},
        {"mine:fallback=formula,profile=site-b,a=1", "mine:profile=site-b,a=1,fallback=formula"},
        {"mine:fallback=error", "mine"},
        {"mine:t=a\\|b\\,c\\:d\\=e\\\\f\\+g", "mine:t=a\\|b\\,c\\:d\\=e\\\\f\\+g"},
        {"./a\\+b/c.so:d\\+e=f", "./a\\+b/c.so:d\\+e=f"}};
    for (size_t i = 0; i < COUNT(texts); i++) {
        size_t count = 0;
        const char *first = texts[i][0];
        const char *said_again = st_refine_text(read_all(own, &first, 1, &count), own->arena);
        assert_int_equal(count, 1);
        assert_string_equal(said_again, texts[i][1]);
        const st_refinement *again = read_all(own, &said_again, 1, &count);
        assert_int_equal(count, 1);
        assert_string_equal(st_refine_text(again, own->arena), said_again);
    }
}

TEST_GROUP(refine_parse)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return RUN_TESTS(refine_parse);
}

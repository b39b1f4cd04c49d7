/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of a table --rows leaves, and the words that a field joins. */
#include "base_support.h"

#include "fit/steps/filter.h"
#include "fit/steps/row_words.h"

enum { ROWS = 7 };

static const char table[] = "gpu,tp\nA100,1\nH100,1\nH100,2\nA100,4\nH100,8\nB200,8\nB200,16\n";

typedef struct choice {
    const char *filter;
    const char *kept; /* '1' of a row that is left; NULL: refused */
} choice;

static void choose(const choice *asked, st_errors *errors)
{
    st_arena *arena = st_arena_create();
    const st_csv *csv = NULL;
    bool kept[ROWS];
    char found[ROWS + 1] = "";
    assert_int_equal(st_csv_parse("t.csv", table, strlen(table), arena, &csv, errors), ST_OK);
    assert_int_equal(csv->row_count, ROWS);
    for (size_t i = 0; i < ROWS; i++)
        kept[i] = true;
    st_status status = st_filter_rows(asked->filter, csv, arena, kept, errors);
    for (size_t i = 0; i < ROWS; i++)
        found[i] = kept[i] ? '1' : '0';
    if ((status == ST_OK) != (asked->kept != NULL))
        fail_msg("%s: %s", asked->filter, said(errors));
    if (status == ST_OK)
        assert_string_equal(found, asked->kept);
    else
        assert_int_equal(status, ST_ERR_USAGE);
    st_errors_clear(errors);
    st_arena_destroy(arena);
}

TEST_WITH(test_slices, make_errors, drop_errors)
{
    static const choice choices[] = {
        {":", "1111111"},
        {"0:", "1111111"},
        {"1:", "0111111"},
        {":1", "1000000"},
        {"2:5", "0011100"},
        {"2:2", "0000000"},
        {":7", "1111111"},
        {":6", "1111110"},
        {"::1", "1111111"},
        {"::3", "1001001"},
        {"1::3", "0100100"},
        {"1:4:3", "0100000"},
        {"1:5:3", "0100100"},
        {"6:", "0000001"},
        {"7:", "0000000"},
        {"000000002:", "0011111"},
        /* nine digits are the most, and nothing else than digits is a number */
        {"0000000002:", NULL},
        {"::0", NULL},
        {"0:1:1:1", NULL},
        {"/:", NULL},
        {"a:", NULL},
        {"-1:", NULL},
    };
    for (size_t i = 0; i < ST_COUNT(choices); i++)
        choose(&choices[i], *state);
}

TEST_WITH(test_terms, make_errors, drop_errors)
{
    static const choice choices[] = {
        {"gpu=H100", "0110100"},
        {"gpu!=H100", "1001011"},
        {"gpu=A100|B200", "1001011"},
        {"gpu=H100,tp=1", "0100000"},
        /* a slice counts the rows that are left, and what follows it is of its rows */
        {"gpu=H100,1:", "0010100"},
        {"gpu=H100,1:2", "0010000"},
        {"1:,gpu=A100", "0001000"},
        {"::2,1:3", "0010100"},
        {"gpus=H100", NULL},
        {"=H100", NULL},
        {"gpu", NULL},
    };
    for (size_t i = 0; i < ST_COUNT(choices); i++)
        choose(&choices[i], *state);
}

TEST(test_mentions)
{
    assert_true(st_filter_mentions("gpu=H100", "gpu"));
    assert_true(st_filter_mentions("tp=1,gpu!=H100", "gpu"));
    assert_false(st_filter_mentions("tp=1,gpus=H100", "gpu"));
    assert_false(st_filter_mentions("tp=gpu", "gpu"));
    assert_false(st_filter_mentions("gpu,tp=1", "gpu"));
    assert_false(st_filter_mentions("gpu", "gpu"));
    assert_false(st_filter_mentions(NULL, "gpu"));
}

TEST(test_words)
{
    char word[ST_WORD_BYTES];
    const char *field = " a + layer norm ++b c  ";
    (void)state;
    assert_true(st_next_word(&field, word));
    assert_string_equal(word, "a");
    assert_true(st_next_word(&field, word));
    assert_string_equal(word, "layer norm");
    assert_true(st_next_word(&field, word));
    assert_string_equal(word, "b c");
    assert_false(st_next_word(&field, word));
    assert_string_equal(word, "");
    field = "+ ";
    assert_false(st_next_word(&field, word));
}

/* A word that has no room is cut where the room ends. */
TEST(test_long_words)
{
    char word[ST_WORD_BYTES];
    char text[ST_WORD_BYTES + 3];
    (void)state;
    for (size_t length = ST_WORD_BYTES - 2; length <= ST_WORD_BYTES + 1; length++) {
        memset(text, 'w', length);
        memcpy(text + length, "+", 2);
        const char *field = text;
        assert_true(st_next_word(&field, word));
        assert_int_equal(strlen(word), length < ST_WORD_BYTES ? length : ST_WORD_BYTES - 1);
        assert_string_equal(field, "+");
    }
}

TESTS(filter);

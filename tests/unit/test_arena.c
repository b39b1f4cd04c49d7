/* SPDX-License-Identifier: Apache-2.0 */
/* Arena, text buffer and UTF-8: alignment, growth, escapes, and requests that no memory could meet.
 */
#include "base_support.h"

#include "base/index.h"
#include "base/lists.h"
#include "base/utf8.h"

static int make_arena(void **state)
{
    *state = st_arena_create();
    return *state == NULL ? -1 : 0;
}

static int drop_arena(void **state)
{
    st_arena_destroy(*state);
    return 0;
}

TEST_WITH(memory_is_zeroed_aligned_and_apart, make_arena, drop_arena)
{
    enum { REQUESTS = 2000 };
    static unsigned char *places[REQUESTS];
    st_arena *arena = *state;
    for (size_t i = 0; i < REQUESTS; i++) {
        size_t size = i * 37 % 613 + 1;
        places[i] = st_arena_alloc(arena, size, 1);
        assert_non_null(places[i]);
        assert_int_equal((uintptr_t)places[i] % _Alignof(max_align_t), 0);
        for (size_t j = 0; j < size; j++)
            assert_int_equal(places[i][j], 0);
        memset(places[i], (int)(i % 251) + 1, size);
    }
    for (size_t i = 0; i < REQUESTS; i++)
        for (size_t j = 0; j < i * 37 % 613 + 1; j++)
            assert_int_equal(places[i][j], i % 251 + 1);
}

TEST_OF(large_requests_get_a_chunk_of_their_own, st_arena *arena, make_arena, drop_arena)
{
    unsigned char *large = st_arena_alloc(arena, 3 * 1024 * 1024 + 17, 1);
    unsigned char *small = st_arena_alloc(arena, 5, 1);
    assert_non_null(large);
    assert_non_null(small);
    large[3 * 1024 * 1024 + 16] = 9;
    small[4] = 7;
    assert_int_equal(large[3 * 1024 * 1024 + 16], 9);
}

TEST(impossible_requests_are_refused_for_good)
{
    for (int i = 0; i < 6; i++) {
        st_arena *arena = st_arena_create();
        size_t capacity = 4;
        void *items = st_arena_alloc(arena, capacity, 8);
        assert_false(st_arena_failed(arena));
        void *refused = i == 0   ? st_arena_alloc(arena, SIZE_MAX, 1)
                        : i == 1 ? st_arena_alloc(arena, SIZE_MAX - 64, 1)
                        : i == 2 ? st_arena_alloc(arena, SIZE_MAX / 2 + 2, 2)
                        : i == 3 ? st_arena_alloc(arena, 3, SIZE_MAX / 2)
                        : i == 4 ? st_arena_copy(arena, "x", SIZE_MAX)
                                 : st_arena_grow(arena, items, 8, SIZE_MAX / 4, &capacity);
        assert_null(refused);
        assert_true(st_arena_failed(arena));
        assert_int_equal(capacity, 4);
        assert_null(st_arena_alloc(arena, 23, 1));
        assert_null(st_arena_printf(arena, "%d", 2385));
        st_arena_destroy(arena);
    }
}

TEST_OF(lists_hold_whole_items_until_the_arena_fails, st_arena *arena, make_arena, drop_arena)
{
    double *items = NULL;
    size_t count = 0;
    size_t capacity = 0;
    for (int i = 0; i < 100; i++) {
        const double item = 2.385 * i;
        assert_true(st_arena_append(arena, &items, &count, &capacity, &item, sizeof item));
    }
    assert_int_equal(count, 100);
    for (int i = 0; i < 100; i++)
        assert_true(items[i] == 2.385 * i);
    assert_true(capacity > count); /* there would be room */
    assert_null(st_arena_alloc(arena, SIZE_MAX, 1));
    const double late = 3.5;
    assert_false(st_arena_append(arena, &items, &count, &capacity, &late, sizeof late));
    assert_int_equal(count, 100);
    assert_true(items[99] == 2.385 * 99);
}

TEST(arrays_of_an_owner_double)
{
    double *items = NULL;
    size_t capacity = 0;
    (void)state;
    for (size_t i = 0; i < 1000; i++) {
        assert_true(ST_ROOM(items, i, capacity));
        assert_true(capacity > i);
        items[i] = 2.385 * (double)i;
    }
    for (size_t i = 0; i < 1000; i++)
        assert_true(items[i] == 2.385 * (double)i);
    size_t whole = SIZE_MAX / 16;
    double *kept = items;
    assert_false(ST_ROOM(items, whole, whole)); /* more than there can be */
    assert_ptr_equal(items, kept);
    assert_int_equal(whole, SIZE_MAX / 16);
    free(items);
}

/* Of 997 keys 50 share each hash. */
TEST_WITH(an_index_finds_each_key, make_arena, drop_arena)
{
    enum { KEYS = 997, HASHES = 20 };
    uint32_t keys[KEYS];
    st_index indices[2] = {{0}};
    for (int owner = 0; owner < 2; owner++) {
        st_index *index = &indices[owner];
        st_arena *arena = owner == 0 ? *state : NULL;
        uint32_t found = 0;
        ST_INDEX_FIND(index, 2385, found, true);
        assert_int_equal(found, ST_INDEX_NONE);
        for (uint32_t i = 0; i < KEYS; i++) {
            keys[i] = i * 2654435761U;
            assert_true(st_index_add(index, arena, keys[i] % HASHES, i));
        }
        assert_int_equal(index->count, KEYS);
        for (uint32_t i = 0; i < KEYS; i++) {
            ST_INDEX_FIND(index, keys[i] % HASHES, found, keys[found] == keys[i]);
            assert_int_equal(found, i);
            ST_INDEX_FIND(index, keys[i] % HASHES + 23, found, keys[found] == keys[i]);
            assert_int_equal(found, ST_INDEX_NONE);
        }
    }
    st_index_free(&indices[1]);
    assert_null(indices[1].slots);
    assert_null(st_arena_alloc(*state, SIZE_MAX, 1));
    st_index none = {0};
    assert_false(st_index_add(&none, *state, 2385, 3));
    assert_int_equal(none.count, 0);
}

TEST_OF(empty_requests_get_different_places, st_arena *arena, make_arena, drop_arena)
{
    void *a = st_arena_alloc(arena, 0, 8);
    void *b = st_arena_alloc(arena, 8, 0);
    assert_non_null(a);
    assert_non_null(b);
    assert_ptr_not_equal(a, b);
}

TEST_OF(texts_are_copied_and_formatted, st_arena *arena, make_arena, drop_arena)
{
    char source[] = "hidden size";
    char *copy = st_arena_copy(arena, source, 6);
    memset(source, 'x', 6);
    assert_string_equal(copy, "hidden");
    assert_string_equal(st_arena_copy(arena, NULL, 0), "");
    assert_memory_equal(st_arena_copy(arena, "a\0b", 3), "a\0b", 4);
    assert_string_equal(st_arena_printf(arena, "%s:%d", "a.yaml", 23), "a.yaml:23");
    char *wide = st_arena_printf(arena, "%9000d|", 5);
    assert_int_equal(strlen(wide), 9001);
    assert_string_equal(wide + 8998, " 5|");
}

TEST_OF(arrays_grow_and_keep_their_items, st_arena *arena, make_arena, drop_arena)
{
    uint32_t *items = NULL;
    size_t capacity = 0;
    for (uint32_t i = 0; i < 5000; i++) {
        uint32_t *grown = st_arena_grow(arena, items, sizeof *items, i + 1, &capacity);
        assert_non_null(grown);
        assert_true(capacity > i);
        items = grown;
        items[i] = i * 2654435761U;
    }
    for (uint32_t i = 0; i < 5000; i++)
        assert_int_equal(items[i], i * 2654435761U);
    assert_true(capacity < 10001);
    size_t before = capacity;
    assert_ptr_equal(st_arena_grow(arena, items, sizeof *items, before, &capacity), items);
    assert_int_equal(capacity, before);
    assert_non_null(st_arena_grow(arena, items, sizeof *items, 3 * before, &capacity));
    assert_int_equal(capacity, 3 * before);
}

TEST(destroying_nothing_is_fine)
{
    st_arena_destroy(NULL);
    st_arena *unused = st_arena_create();
    assert_non_null(unused);
    st_arena_destroy(unused);
}

TEST(a_buffer_appends)
{
    st_buffer buffer = {0};
    assert_null(buffer.data);
    st_buffer_append(&buffer, NULL, 0);
    assert_string_equal(buffer.data, "");
    st_buffer_text(&buffer, "step");
    st_buffer_append(&buffer, "timeline", 4);
    st_buffer_printf(&buffer, " %d %s", 2385, "ms");
    assert_string_equal(buffer.data, "steptime 2385 ms");
    assert_int_equal(buffer.length, 16);
    assert_false(buffer.failed);
    st_buffer_free(&buffer);
    assert_null(buffer.data);
    assert_int_equal(buffer.length, 0);
    assert_int_equal(buffer.capacity, 0);
}

TEST(a_buffer_grows)
{
    st_buffer buffer = {0};
    for (int i = 0; i < 3000; i++)
        st_buffer_printf(&buffer, "%d,", i);
    assert_int_equal(buffer.length, strlen(buffer.data));
    assert_int_equal(buffer.length, 10 * 2 + 90 * 3 + 900 * 4 + 2000 * 5);
    assert_string_equal(buffer.data + buffer.length - 10, "2998,2999,");
    st_buffer_printf(&buffer, "%70000d", 7);
    assert_int_equal(buffer.length, 13890 + 70000);
    st_buffer_free(&buffer);
}

TEST(a_failed_buffer_stays_as_it_is)
{
    st_buffer buffer = {0};
    st_buffer_text(&buffer, "kept");
    st_buffer_append(&buffer, "x", SIZE_MAX / 2);
    assert_true(buffer.failed);
    st_buffer_text(&buffer, "lost");
    st_buffer_printf(&buffer, "%d", 1);
    st_buffer_json_string(&buffer, "lost");
    st_buffer_csv_field(&buffer, "lost");
    assert_string_equal(buffer.data, "kept");
    assert_true(buffer.failed);
    st_buffer_free(&buffer);
    assert_false(buffer.failed);
}

typedef void writer(st_buffer *buffer, const char *text);

static void assert_written(writer *write, const char *text, const char *expected)
{
    st_buffer buffer = {0};
    write(&buffer, text);
    assert_false(buffer.failed);
    assert_string_equal(buffer.data, expected);
    st_buffer_free(&buffer);
}

TEST(json_strings_are_escaped)
{
    static const char *const rows[][2] = {
        {"", "\"\""},
        {"T_comp", "\"T_comp\""},
        {"a\"b\\c/", "\"a\\\"b\\\\c/\""},
        {"\b\t\n\f\r", "\"\\b\\t\\n\\f\\r\""},
        {"\x01\x1F\x7F", "\"\\u0001\\u001f\\u007f\""},
        {"\xC2\xB5s \xE2\x82\xAC \xF0\x9F\x98\x80", "\"\xC2\xB5s \xE2\x82\xAC \xF0\x9F\x98\x80\""},
        {"a\xFFz\xE2\x82", "\"a\\ufffdz\\ufffd\\ufffd\""},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_written(st_buffer_json_string, rows[i][0], rows[i][1]);
}

TEST(csv_fields_are_quoted_where_needed)
{
    static const char *const rows[][2] = {
        {"", ""},           {"T_comp", "T_comp"}, {"a b", "a b"},
        {"a,b", "\"a,b\""}, {"a;b", "\"a;b\""},   {"a\nb", "\"a\nb\""},
        {"a\r", "\"a\r\""}, {"\"", "\"\"\"\""},   {"say \"so\"", "\"say \"\"so\"\"\""},
        {" a", "\" a\""},   {"a ", "\"a \""},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_written(st_buffer_csv_field, rows[i][0], rows[i][1]);
}

TEST(utf8_is_decoded_strictly)
{
    static const struct {
        const char *text;
        size_t size;
        uint32_t code;
    } rows[] = {
        {"A", 1, 0x41},
        {"\x7F", 1, 0x7F},
        {"\xC2\x80", 2, 0x80},
        {"\xDF\xBF", 2, 0x7FF},
        {"\xE0\xA0\x80", 3, 0x800},
        {"\xED\x9F\xBF", 3, 0xD7FF},
        {"\xEE\x80\x80", 3, 0xE000},
        {"\xEF\xBF\xBF", 3, 0xFFFF},
        {"\xF0\x90\x80\x80", 4, 0x10000},
        {"\xF4\x8F\xBF\xBF", 4, 0x10FFFF},
        {"", 0, 0},
        {"\x80", 0, 0},
        {"\xBF", 0, 0},
        {"\xC0\x80", 0, 0},         /* 0 in two bytes */
        {"\xC1\xBF", 0, 0},         /* 0x7F in two bytes */
        {"\xE0\x9F\xBF", 0, 0},     /* 0x7FF in three */
        {"\xF0\x8F\xBF\xBF", 0, 0}, /* 0xFFFF in four */
        {"\xED\xA0\x80", 0, 0},     /* a surrogate */
        {"\xED\xBF\xBF", 0, 0},
        {"\xF4\x90\x80\x80", 0, 0}, /* beyond the last */
        {"\xF5\x80\x80\x80", 0, 0},
        {"\xFE", 0, 0},
        {"\xE2\x82", 0, 0},
        {"\xE2\x28\xA1", 0, 0},
        {"\xF0\x9F\x98", 0, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint32_t code = 0;
        assert_int_equal(st_utf8_decode(rows[i].text, strlen(rows[i].text), &code), rows[i].size);
        assert_int_equal(code, rows[i].code);
    }
    uint32_t code = 7;
    assert_int_equal(st_utf8_decode("\0", 1, &code), 1);
    assert_int_equal(code, 0);
}

TEST(utf8_is_counted_and_cut)
{
    const char *text = "a\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80z"; /* 1 + 2 + 3 + 4 + 1 bytes */
    static const size_t cuts[12] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
    assert_int_equal(st_utf8_count(text, 11), 5);
    assert_int_equal(st_utf8_count("\xFF\xC3\xFF", 3), 3);
    for (size_t limit = 0; limit < 12; limit++)
        assert_int_equal(st_utf8_cut(text, 11, limit), cuts[limit]);
    assert_int_equal(st_utf8_cut("\x80\x80\x80\x80\x80\x80\x80\x80", 8, 6), 6);
    assert_int_equal(st_utf8_cut("\xC3\xBC", 2, 1), 0); /* nothing fits */
    st_place place = st_utf8_advance(here, text, 6);
    assert_int_equal(place.column, here.column + 3);
    assert_int_equal(place.line, here.line);
    place = st_utf8_advance((st_place){"f", 4, 0}, text, 6);
    assert_int_equal(place.column, 0);
}

TEST(controls_are_told_from_text)
{
    static const uint32_t controls[] = {0,      0x1F,   0x7F,   0x80,   0x85,
                                        0x9F,   0x200E, 0x200F, 0x2028, 0x2029,
                                        0x202A, 0x202E, 0x2066, 0x2069, 0xFEFF};
    static const uint32_t letters[] = {0x20,   0x7E,   0xA0,   0xB5,   0x200D, 0x2010,
                                       0x2027, 0x202F, 0x2065, 0x206A, 0xFFFD, 0x1F600};
    for (size_t i = 0; i < COUNT(controls); i++)
        assert_true(st_utf8_is_control(controls[i]));
    for (size_t i = 0; i < COUNT(letters); i++)
        assert_false(st_utf8_is_control(letters[i]));
}

/* --- what is no memory ----------------------------------------------------------------------- */

typedef struct diary {
    char text[16];
    size_t length;
} diary;

typedef struct entry {
    diary *diary;
    char letter;
} entry;

static void note(void *context)
{
    const entry *self = context; /* memory of the arena that is being destroyed */
    self->diary->text[self->diary->length++] = self->letter;
}

TEST(what_is_deferred_is_released_backwards_before_the_memory)
{
    diary kept = {.text = ""};
    st_arena *arena = st_arena_create();
    (void)state;
    assert_non_null(arena);
    for (char letter = 'a'; letter <= 'e'; letter++) {
        entry *one = st_arena_alloc(arena, 1, sizeof *one);
        assert_non_null(one);
        *one = (entry){&kept, letter};
        assert_true(st_arena_defer(arena, note, one));
        assert_non_null(st_arena_alloc(arena, 2385, 7)); /* chunks between them */
    }
    assert_int_equal(kept.length, 0);
    st_arena_destroy(arena);
    assert_string_equal(kept.text, "edcba");
}

/* A release may use the arena's memory, and what another one has yet to release is still there. */
static void release_other(void *context)
{
    entry *const *pair = context;
    assert_int_equal(pair[1]->letter, 'y');
    note(pair[0]);
}

TEST(what_was_deferred_earlier_is_there_until_its_turn)
{
    diary kept = {.text = ""};
    st_arena *arena = st_arena_create();
    (void)state;
    assert_non_null(arena);
    entry *pair = st_arena_alloc(arena, 2, sizeof *pair);
    entry **both = st_arena_alloc(arena, 2, sizeof *both);
    assert_non_null(pair);
    assert_non_null(both);
    pair[0] = (entry){&kept, 'x'};
    pair[1] = (entry){&kept, 'y'};
    both[0] = &pair[0];
    both[1] = &pair[1];
    assert_true(st_arena_defer(arena, note, &pair[1]));
    assert_true(st_arena_defer(arena, release_other, both));
    st_arena_destroy(arena);
    assert_string_equal(kept.text, "xy");
}

TESTS(arena);

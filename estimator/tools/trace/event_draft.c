/* SPDX-License-Identifier: Apache-2.0 */
/* See scan.h. Keys may come in any order, and unknown ones are passed over. */
#include "trace/scan.h"

#include "base/chars.h"
#include "base/lists.h"

#include <stddef.h>
#include <string.h>

/* Until 2067, so that no window, and no time since 1970 of a file with a base, overflows. */
static const int64_t MOST_NS = INT64_MAX / 3;
/* About 36 years. */
static const int64_t LONGEST_NS = INT64_C(1) << 60;

enum { MOST_EXPONENT = 30, NS_DIGITS = 3 };

/* A decimal number's digits, as one number that is scaled by a power of ten. */
typedef struct decimal {
    uint64_t digits;
    int exponent;
    bool negative;
    bool too_long;
} decimal;

static decimal read_decimal(const char *text, size_t length)
{
    decimal made = {.negative = length > 0 && text[0] == '-'};
    bool behind_point = false;
    size_t i = made.negative;
    for (; i < length && text[i] != 'e' && text[i] != 'E'; i++) {
        if (text[i] == '.') {
            behind_point = true;
        } else if (made.digits > (UINT64_MAX - 9) / 10) {
            made.too_long = made.too_long || !behind_point; /* further decimals do not count */
        } else {
            made.digits = made.digits * 10 + (uint64_t)(text[i] - '0');
            made.exponent -= behind_point;
        }
    }
    int power = 0;
    bool power_negative = i + 1 < length && text[i + 1] == '-';
    i += i + 1 < length && (text[i + 1] == '-' || text[i + 1] == '+');
    for (i++; i < length; i++)
        power = power < 10000 ? power * 10 + (text[i] - '0') : power;
    made.exponent += power_negative ? -power : power;
    return made;
}

bool st_time_ns(const char *text, size_t length, int64_t *time_ns, bool *decimals)
{
    decimal number = read_decimal(text, length);
    int scale = number.exponent + NS_DIGITS;
    if (number.too_long || (number.digits != 0 && scale > MOST_EXPONENT))
        return false;
    if (scale < NS_DIGITS && number.digits != 0)
        *decimals = true;
    for (; scale > 0 && number.digits != 0; scale--) {
        if (number.digits > (uint64_t)MOST_NS / 10)
            return false;
        number.digits *= 10;
    }
    for (; scale < 0 && number.digits != 0; scale++)
        number.digits /= 10;
    if (number.digits > (uint64_t)MOST_NS)
        return false;
    *time_ns = number.negative ? -(int64_t)number.digits : (int64_t)number.digits;
    return true;
}

/* A whole number; false where it is none or does not fit. */
static bool whole(const char *text, size_t length, int64_t *value)
{
    bool negative = length > 0 && text[0] == '-';
    size_t i = negative;
    uint64_t sum = 0;
    if (i == length)
        return false;
    for (; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || sum > (uint64_t)INT64_MAX / 10 - 1)
            return false;
        sum = sum * 10 + (uint64_t)(text[i] - '0');
    }
    *value = negative ? -(int64_t)sum : (int64_t)sum;
    return true;
}

static bool key_is(const char *key, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(key, name, length) == 0;
}

/* A whole number, which some tools that rewrite traces spell with a fraction of zeros. */
bool st_whole_value(const char *text, size_t length, int64_t *value)
{
    size_t end = length;
    while (end > 1 && text[end - 1] == '0')
        end--;
    bool has_zeros = end > 1 && end < length && text[end - 1] == '.';
    return whole(text, has_zeros ? end - 1 : length, value);
}

/* A value that is a whole number or a text that spells one; others leave *value as it is. */
static bool read_whole(st_scan *scan, int64_t *value)
{
    st_scan_span text;
    uint64_t digits = 0;
    int decimals = 0;
    size_t at = scan->at;
    if (st_scan_usual_number(scan, &digits, &decimals) && decimals == 0) {
        *value = (int64_t)digits;
        return true;
    }
    scan->at = at;
    char c = st_scan_peek(scan);
    if (c != '"' && c != '-' && !st_is_digit(c))
        return st_scan_skip(scan);
    if (c == '"' ? !st_scan_string(scan, &text) : !st_scan_number(scan, &text))
        return false;
    if (!st_whole_value(st_scan_text(scan, text), text.length, value) && text.length > 0)
        st_scan_odd(scan, (size_t)(text.start - scan->base));
    return true;
}

/* A text; values of other kinds are passed over. */
static bool read_text(st_scan *scan, st_scan_span *text)
{
    return st_scan_peek(scan) == '"' ? st_scan_string(scan, text) : st_scan_skip(scan);
}

/* The event is of no use; the file is read on. */
static bool is_wrong(st_draft *draft, st_place place, const char *wrong, const char *expected)
{
    if (draft->wrong == NULL) {
        draft->wrong = wrong;
        draft->expected = expected;
        draft->wrong_place = place;
    }
    return true;
}

/* Microseconds, also as a text; null is none. */
static bool read_time(st_scan *scan, const char *what, int64_t *time_ns, st_draft *draft,
                      bool *given)
{
    static const uint64_t scales[] = {1000, 100, 10, 1}; /* by decimals, which end at a ns */
    st_scan_span text;
    uint64_t digits = 0;
    int decimals = 0;
    size_t at = scan->at;
    if (st_scan_usual_number(scan, &digits, &decimals) && decimals <= NS_DIGITS &&
        digits <= (uint64_t)MOST_NS / scales[decimals]) {
        *time_ns = (int64_t)(digits * scales[decimals]);
        draft->has_decimals = draft->has_decimals || (decimals > 0 && digits > 0);
        *given = true;
        return true;
    }
    scan->at = at;
    char c = st_scan_peek(scan);
    st_place place = st_scan_place(scan);
    if (c != '"' && c != '-' && !st_is_digit(c)) {
        uint64_t odd = scan->odd_values;
        if (!st_scan_skip(scan))
            return false;
        bool is_null = c == 'n' && odd == scan->odd_values;
        return is_null || is_wrong(draft, place, "invalid time", "microseconds");
    }
    if (c == '"' ? !st_scan_string(scan, &text) : !st_scan_number(scan, &text))
        return false;
    const char *number = st_scan_text(scan, text);
    if (text.length == 0 || st_scan_number_length(number) != text.length)
        return is_wrong(draft, place, "invalid time", "microseconds");
    *given = true;
    return st_time_ns(number, text.length, time_ns, &draft->has_decimals) ||
           is_wrong(draft, place, what, "less than 97 years of microseconds");
}

static inline uint64_t load_word(const char *text)
{
    uint64_t word;
    memcpy(&word, text, sizeof word);
    return word;
}

/* A short number is kept: the next event is often of the same process and thread. */
static void keep_number(st_shape_node *node, const char *text, size_t length, int64_t number)
{
    if (node == NULL || length >= sizeof node->number_text || text[length] != ',')
        return;
    node->number_mask = 0;
    memset(&node->number_mask, 0xFF, length + 1);
    node->number_text = load_word(text) & node->number_mask;
    node->number = number;
    node->digits = (uint8_t)length;
}

/* "stream 7" of 2020 is stream 7. */
static bool read_mark(st_scan *scan, st_shape_node *node, st_mark *mark)
{
    static const char stream[] = "stream ";
    st_scan_span text;
    if (node != NULL && node->digits > 0 &&
        ((load_word(scan->data + scan->at) ^ node->number_text) & node->number_mask) == 0) {
        *mark = (st_mark){.given = true,
                          .number = node->number,
                          .text = {.start = scan->base + scan->at, .length = node->digits}};
        scan->at += node->digits;
        return true;
    }
    char c = st_scan_peek(scan);
    if (c != '"' && c != '-' && (c < '0' || c > '9'))
        return st_scan_skip(scan);
    mark->given = true;
    uint64_t digits = 0;
    int decimals = 0;
    size_t at = scan->at;
    if (st_scan_usual_number(scan, &digits, &decimals) && decimals == 0) {
        mark->number = (int64_t)digits;
        mark->is_text = false;
        mark->text = (st_scan_span){.start = scan->base + at, .length = (uint32_t)(scan->at - at)};
        keep_number(node, scan->data + at, scan->at - at, mark->number);
        return true;
    }
    scan->at = at;
    if (c != '"') {
        if (!st_scan_number(scan, &text))
            return false;
        mark->is_text = !whole(st_scan_text(scan, text), text.length, &mark->number);
        mark->text = text;
        return true;
    }
    if (!st_scan_string(scan, &text))
        return false;
    const char *word = st_scan_text(scan, text);
    size_t skip = text.length >= sizeof stream && memcmp(word, stream, sizeof stream - 1) == 0
                      ? sizeof stream - 1
                      : 0;
    mark->is_text = !whole(word + skip, text.length - skip, &mark->number);
    mark->text = text;
    return true;
}

/* What is done with the value of a key. */
typedef enum key_use {
    USE_NONE,
    USE_END, /* no key, but the end of the object */
    USE_ID,
    USE_PHASE,
    USE_START,
    USE_DURATION,
    USE_NAME,
    USE_CATEGORY,
    USE_PROCESS,
    USE_THREAD,
    USE_ARGUMENTS,
    USE_NUMBER,
    USE_TEXT,
    USE_BLOCKS,
    USE_DETAILS, /* those below are details */
    USE_DETAIL = USE_DETAILS,
    USE_LIST,
    USE_STACK
} key_use;

typedef struct known_key {
    const char *name;
    key_use use;
    size_t offset; /* in st_draft or its details */
} known_key;

#define OF(member)        offsetof(st_draft, member)
#define DETAIL_OF(member) offsetof(st_draft_details, member)

enum { KEY_NONE, KEY_END, FIRST_KEY };

/* Of events, then of their args. */
static const known_key keys[] = {
    {"", USE_NONE, 0},
    {"", USE_END, 0},
    {"ph", USE_PHASE, 0},
    {"cat", USE_CATEGORY, 0},
    {"name", USE_NAME, 0},
    {"pid", USE_PROCESS, 0},
    {"tid", USE_THREAD, 0},
    {"ts", USE_START, 0},
    {"dur", USE_DURATION, 0},
    {"args", USE_ARGUMENTS, 0},
    {"id", USE_ID, 0},
    {"correlation", USE_NUMBER, OF(correlation)},
    {"device", USE_NUMBER, OF(device)},
    {"stream", USE_NUMBER, OF(stream)},
    {"wait_on_stream", USE_NUMBER, OF(wait_stream)},
    {"wait_on_cuda_event_record_corr_id", USE_NUMBER, OF(record_correlation)},
    {"In msg nelems", USE_NUMBER, OF(in_elements)},
    {"Out msg nelems", USE_NUMBER, OF(out_elements)},
    {"Group size", USE_NUMBER, OF(group_size)},
    {"Seq", USE_NUMBER, OF(sequence)},
    {"Src Rank", USE_NUMBER, OF(source)},
    {"Dst Rank", USE_NUMBER, OF(destination)},
    {"grid", USE_BLOCKS, 0},
    {"Collective name", USE_TEXT, OF(collective)},
    {"dtype", USE_TEXT, OF(dtype)},
    {"Process Group Name", USE_TEXT, OF(group)},
    {"Process Group Ranks", USE_TEXT, OF(ranks)},
    {"Sequence number", USE_DETAIL, DETAIL_OF(number)},
    {"Fwd thread id", USE_DETAIL, DETAIL_OF(forward)},
    {"Bytes", USE_DETAIL, DETAIL_OF(bytes)},
    {"Addr", USE_DETAIL, DETAIL_OF(address)},
    {"Total Allocated", USE_DETAIL, DETAIL_OF(allocated)},
    {"Total Reserved", USE_DETAIL, DETAIL_OF(reserved)},
    {"Device Type", USE_DETAIL, DETAIL_OF(device_type)},
    {"Device Id", USE_DETAIL, DETAIL_OF(device_id)},
    {"Input Dims", USE_LIST, DETAIL_OF(shapes)},
    {"Input dims", USE_LIST, DETAIL_OF(shapes)},
    {"Input type", USE_LIST, DETAIL_OF(types)},
    {"Call stack", USE_STACK, DETAIL_OF(stack)},
};

static size_t find_key(const char *name, size_t length, bool in_arguments)
{
    for (size_t i = FIRST_KEY; i < ST_COUNT(keys); i++)
        if (in_arguments == (keys[i].use > USE_ARGUMENTS) && key_is(name, length, keys[i].name))
            return i;
    return KEY_NONE;
}

/* The keys of an object that are read, along those of earlier ones. */
typedef struct key_path {
    st_shapes *shapes;
    st_shape_node *node; /* NULL: what comes next is not kept */
    bool started;
    bool in_arguments;
} key_path;

static inline uint64_t other_bits(const char *text, const st_shape_node *node, size_t i)
{
    return (load_word(text + i * sizeof(uint64_t)) ^ node->text[i]) & node->mask[i];
}

static inline bool is_next(const char *text, const st_shape_node *node)
{
    uint64_t other = other_bits(text, node, 0) | other_bits(text, node, 1);
    for (size_t i = 2; i < node->words && other == 0; i++)
        other = other_bits(text, node, i);
    return other == 0;
}

/* Keeps that this text came next. */
static void learn(key_path *path, const char *text, size_t length, size_t key)
{
    enum { MOST_BRANCHES = 6 };
    st_shapes *shapes = path->shapes;
    size_t branches = 0;
    st_shape_node **last = &path->node->child;
    for (; *last != NULL; last = &(*last)->sibling)
        branches++;
    path->node = NULL;
    if (shapes->count == ST_COUNT(shapes->nodes) || branches == MOST_BRANCHES ||
        length > ST_SHAPE_BYTES)
        return;
    st_shape_node *node = &shapes->nodes[shapes->count++];
    memcpy(node->text, text, length);
    memset(node->mask, 0xFF, length);
    node->words = (uint8_t)((length + sizeof(uint64_t) - 1) / sizeof(uint64_t));
    node->length = (uint8_t)length;
    node->key = (uint8_t)key;
    *last = node;
    path->node = node;
}

__attribute__((noinline)) static const known_key *new_key(st_scan *scan, key_path *path)
{
    st_scan_span span;
    const uint64_t start = scan->base + scan->at;
    size_t key = KEY_END;
    if (st_scan_key(scan, &path->started, &span)) {
        scan->at += scan->data[scan->at] == ' ';
        key = find_key(st_scan_text(scan, span), span.length, path->in_arguments);
    }
    if (path->node != NULL && st_scan_ok(scan))
        learn(path, scan->data + (start - scan->base), (size_t)(scan->base + scan->at - start),
              key);
    return &keys[key];
}

/* The next key, its value behind the scanner; that of use USE_END after the last and an error. */
static inline const known_key *next_key(st_scan *scan, key_path *path)
{
    const char *text = scan->data + scan->at; /* zeros follow the window */
    st_shape_node *node = path->node != NULL ? path->node->child : NULL;
    while (node != NULL && !is_next(text, node))
        node = node->sibling;
    if (node == NULL)
        return new_key(scan, path);
    scan->at += node->length;
    path->node = node;
    path->started = true;
    return &keys[node->key];
}

/* A list as the text has it; longer ones, as of all parameters of a model, are passed over.
 */
static bool read_list(st_scan *scan, st_scan_span *text)
{
    enum { LONGEST = 4096 };
    bool is_list = st_scan_peek(scan) == '[';
    uint64_t start = scan->base + scan->at;
    if (!st_scan_skip(scan))
        return false;
    uint64_t length = scan->base + scan->at - start;
    if (is_list && length <= LONGEST)
        *text = (st_scan_span){.start = start, .length = (uint32_t)length};
    return true;
}

/* The first number of a list; others are passed over. */
static bool read_first(st_scan *scan, int64_t *number)
{
    bool started = false;
    if (st_scan_peek(scan) != '[')
        return st_scan_skip(scan);
    if (!st_scan_enter(scan, '['))
        return false;
    for (size_t i = 0; st_scan_item(scan, &started); i++)
        if (i == 0 ? !read_whole(scan, number) : !st_scan_skip(scan))
            return false;
    return st_scan_ok(scan);
}

static bool read_argument(st_scan *scan, st_draft *draft, const known_key *key)
{
    bool is_detail = key->use >= USE_DETAILS;
    if (is_detail && draft->details == NULL)
        return st_scan_skip(scan);
    void *place = (is_detail ? (char *)draft->details : (char *)draft) + key->offset;
    switch (key->use) {
    case USE_NUMBER:
    case USE_DETAIL:
        return read_whole(scan, place);
    case USE_TEXT:
    case USE_STACK:
        return read_text(scan, place);
    case USE_LIST:
        return read_list(scan, place);
    case USE_BLOCKS:
        return read_first(scan, &draft->blocks);
    default:
        return st_scan_skip(scan);
    }
}

static bool read_arguments(st_scan *scan, st_draft *draft)
{
    /* Of operators no argument is kept. A category that comes later has no place yet. */
    bool wanted = draft->details != NULL || draft->marked != NULL || draft->category.length == 0 ||
                  !key_is(st_scan_text(scan, draft->category), draft->category.length, "cpu_op");
    if (!wanted || st_scan_peek(scan) != '{')
        return st_scan_skip(scan);
    if (!st_scan_enter(scan, '{'))
        return false;
    key_path path = {
        .shapes = draft->shapes, .node = &draft->shapes->arguments, .in_arguments = true};
    for (const known_key *key; (key = next_key(scan, &path))->use != USE_END;)
        if (!read_argument(scan, draft, key))
            return false;
    return st_scan_ok(scan);
}

static bool read_phase(st_scan *scan, st_draft *draft)
{
    st_scan_span text = {0};
    if (st_scan_peek(scan) != '"') {
        st_place place = st_scan_place(scan);
        return st_scan_skip(scan) && is_wrong(draft, place, "invalid phase", "a letter");
    }
    if (!st_scan_string(scan, &text))
        return false;
    draft->phase = text.length == 1 ? *st_scan_text(scan, text) : '?';
    return true;
}

/* Reads a time, which may be given again only as it was before. */
static bool read_one_time(st_scan *scan, const char *fault, int64_t *time_ns, st_draft *draft,
                          bool *has_time)
{
    const bool again = *has_time;
    const int64_t before_ns = *time_ns;
    return read_time(scan, fault, time_ns, draft, has_time) &&
           (!again || *time_ns == before_ns ||
            is_wrong(draft, st_scan_place(scan), "two times under one key", "one"));
}

static bool read_duration(st_scan *scan, st_draft *draft)
{
    uint64_t start = scan->base + scan->at;
    if (!read_one_time(scan, "a duration is too large", &draft->duration_ns, draft,
                       &draft->has_duration))
        return false;
    return draft->duration_ns <= LONGEST_NS ||
           is_wrong(draft, st_scan_place_of(scan, (size_t)(start - scan->base)),
                    "a duration is too large", "less than 36 years");
}

static bool read_member(st_scan *scan, st_draft *draft, key_use use, st_shape_node *node)
{
    switch (use) {
    case USE_PHASE:
        return read_phase(scan, draft);
    case USE_START:
        return read_one_time(scan, "a time is too large", &draft->start_ns, draft,
                             &draft->has_start);
    case USE_DURATION:
        return read_duration(scan, draft);
    case USE_NAME:
        draft->has_name = st_scan_peek(scan) == '"';
        return read_text(scan, &draft->name);
    case USE_CATEGORY:
        draft->has_category = st_scan_peek(scan) == '"';
        return read_text(scan, &draft->category);
    case USE_PROCESS:
        return read_mark(scan, node, &draft->process);
    case USE_THREAD:
        return read_mark(scan, node, &draft->thread);
    case USE_ARGUMENTS:
        return read_arguments(scan, draft);
    case USE_ID: {
        char c = st_scan_peek(scan);
        return c == '"'                     ? st_scan_string(scan, &draft->id)
               : c == '-' || st_is_digit(c) ? st_scan_number(scan, &draft->id)
                                            : st_scan_skip(scan);
    }
    default:
        return st_scan_skip(scan);
    }
}

/* The same, and where the value is. */
static bool read_marked(st_scan *scan, st_draft *draft, key_use use, st_shape_node *node)
{
    static const key_use uses[ST_MARKED] = {USE_START, USE_DURATION, USE_PROCESS, USE_ID,
                                            USE_PHASE};
    size_t which = 0;
    while (which < ST_MARKED && uses[which] != use)
        which++;
    (void)st_scan_peek(scan);
    uint64_t start = scan->base + scan->at;
    if (!read_member(scan, draft, use, node))
        return false;
    if (which < ST_MARKED)
        draft->marked[which] =
            (st_scan_span){.start = start, .length = (uint32_t)(scan->base + scan->at - start)};
    return true;
}

bool st_draft_read(st_scan *scan, st_draft *draft)
{
    *draft = (st_draft){.details = draft->details,
                        .marked = draft->marked,
                        .shapes = draft->shapes,
                        .correlation = -1,
                        .device = -1,
                        .stream = -1,
                        .wait_stream = -1,
                        .record_correlation = -1,
                        .in_elements = -1,
                        .out_elements = -1,
                        .group_size = -1,
                        .sequence = -1,
                        .source = -1,
                        .destination = -1,
                        .blocks = -1};
    key_path path = {.shapes = draft->shapes, .node = &draft->shapes->event};
    if (!st_scan_enter(scan, '{'))
        return false;
    for (const known_key *key; (key = next_key(scan, &path))->use != USE_END;)
        if (draft->marked == NULL ? !read_member(scan, draft, key->use, path.node)
                                  : !read_marked(scan, draft, key->use, path.node))
            return false;
    return st_scan_ok(scan);
}

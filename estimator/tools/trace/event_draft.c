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

/* "stream 7" of 2020 is stream 7. */
static bool read_mark(st_scan *scan, st_mark *mark)
{
    static const char stream[] = "stream ";
    st_scan_span text;
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

/* Where the value of a key of args belongs. */
typedef struct args_key {
    const char *name;
    size_t length;
    size_t offset; /* in st_draft */
} args_key;

#define ARGS_KEY(name, member)                                                                     \
    {                                                                                              \
        (name), sizeof(name) - 1, offsetof(st_draft, member)                                       \
    }

#define DETAIL_KEY(name, member)                                                                   \
    {                                                                                              \
        (name), sizeof(name) - 1, offsetof(st_draft_details, member)                               \
    }

static const args_key number_keys[] = {
    ARGS_KEY("correlation", correlation),
    ARGS_KEY("device", device),
    ARGS_KEY("stream", stream),
    ARGS_KEY("wait_on_stream", wait_stream),
    ARGS_KEY("wait_on_cuda_event_record_corr_id", record_correlation),
    ARGS_KEY("In msg nelems", in_elements),
    ARGS_KEY("Out msg nelems", out_elements),
    ARGS_KEY("Group size", group_size),
    ARGS_KEY("Seq", sequence),
    ARGS_KEY("Src Rank", source),
    ARGS_KEY("Dst Rank", destination),
};

static const args_key detail_keys[] = {
    DETAIL_KEY("Sequence number", number),
    DETAIL_KEY("Fwd thread id", forward),
    DETAIL_KEY("Bytes", bytes),
    DETAIL_KEY("Addr", address),
    DETAIL_KEY("Total Allocated", allocated),
    DETAIL_KEY("Total Reserved", reserved),
    DETAIL_KEY("Device Type", device_type),
    DETAIL_KEY("Device Id", device_id),
};

static const args_key text_keys[] = {
    ARGS_KEY("Collective name", collective),
    ARGS_KEY("dtype", dtype),
    ARGS_KEY("Process Group Name", group),
    ARGS_KEY("Process Group Ranks", ranks),
};

/* The place of a key's value in the draft, NULL for keys that do not matter. */
static void *find_place(void *draft, const args_key *keys, size_t count, const char *key,
                        size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (keys[i].length == length && memcmp(key, keys[i].name, length) == 0)
            return (char *)draft + keys[i].offset;
    return NULL;
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

/* False for most keys of which no value is kept, by length and first letter alone. */
static bool may_be_kept(const char *key, size_t length)
{
#define ONE(n) (UINT64_C(1) << (n))
    static const uint64_t lengths = ONE(3) | ONE(4) | ONE(5) | ONE(6) | ONE(8) | ONE(10) | ONE(11) |
                                    ONE(13) | ONE(14) | ONE(15) | ONE(18) | ONE(19) | ONE(33);
    static const uint64_t letters = ONE('c' & 63) | ONE('d' & 63) | ONE('s' & 63) | ONE('w' & 63) |
                                    ONE('g' & 63) | ONE('I' & 63) | ONE('O' & 63) | ONE('G' & 63) |
                                    ONE('S' & 63) | ONE('D' & 63) | ONE('C' & 63) | ONE('P' & 63);
#undef ONE
    return length < 64 && (lengths >> length & letters >> (*key & 63) & 1) != 0;
}

static bool read_argument(st_scan *scan, st_draft *draft, st_scan_span key)
{
    const char *name = st_scan_text(scan, key);
    if (draft->details == NULL && !may_be_kept(name, key.length))
        return st_scan_skip(scan);
    int64_t *number = find_place(draft, number_keys, ST_COUNT(number_keys), name, key.length);
    if (number != NULL)
        return read_whole(scan, number);
    if (key_is(name, key.length, "grid")) {
        /* The first number of a list; others are passed over. */
        bool started = false;
        if (st_scan_peek(scan) != '[')
            return st_scan_skip(scan);
        if (!st_scan_enter(scan, '['))
            return false;
        for (size_t i = 0; st_scan_item(scan, &started); i++)
            if (i == 0 ? !read_whole(scan, &draft->blocks) : !st_scan_skip(scan))
                return false;
        return st_scan_ok(scan);
    }
    st_scan_span *text = find_place(draft, text_keys, ST_COUNT(text_keys), name, key.length);
    if (text != NULL)
        return read_text(scan, text);
    if (draft->details == NULL)
        return st_scan_skip(scan);
    st_draft_details *details = draft->details;
    const char *detail_name = st_scan_text(scan, key);
    int64_t *detail_number =
        find_place(details, detail_keys, ST_COUNT(detail_keys), detail_name, key.length);
    if (detail_number != NULL)
        return read_whole(scan, detail_number);
    if (key_is(detail_name, key.length, "Input Dims") ||
        key_is(detail_name, key.length, "Input dims"))
        return read_list(scan, &details->shapes);
    if (key_is(detail_name, key.length, "Input type"))
        return read_list(scan, &details->types);
    return key_is(detail_name, key.length, "Call stack") ? read_text(scan, &details->stack)
                                                         : st_scan_skip(scan);
}

static bool read_member(st_scan *scan, st_draft *draft, st_scan_span key)
{
    const char *name = st_scan_text(scan, key);
    if (key_is(name, key.length, "args")) {
        st_scan_span arg_key;
        bool started = false;
        /* Of operators no argument is kept. A category that comes later has no place yet. */
        bool wanted =
            draft->details != NULL || draft->marked != NULL || draft->category.length == 0 ||
            !key_is(st_scan_text(scan, draft->category), draft->category.length, "cpu_op");
        if (!wanted || st_scan_peek(scan) != '{')
            return st_scan_skip(scan);
        if (!st_scan_enter(scan, '{'))
            return false;
        while (st_scan_key(scan, &started, &arg_key))
            if (!read_argument(scan, draft, arg_key))
                return false;
        return st_scan_ok(scan);
    }
    if (key_is(name, key.length, "ph")) {
        st_scan_span text = {0};
        st_place place = st_scan_place(scan);
        if (st_scan_peek(scan) != '"')
            return st_scan_skip(scan) && is_wrong(draft, place, "invalid phase", "a letter");
        if (!st_scan_string(scan, &text))
            return false;
        draft->phase = text.length == 1 ? *st_scan_text(scan, text) : '?';
        return true;
    }
    if (key_is(name, key.length, "ts"))
        return read_time(scan, "a time is too large", &draft->start_ns, draft, &draft->has_start);
    if (key_is(name, key.length, "dur")) {
        (void)st_scan_peek(scan);
        st_place place = st_scan_place(scan);
        if (!read_time(scan, "a duration is too large", &draft->duration_ns, draft,
                       &draft->has_duration))
            return false;
        return draft->duration_ns <= LONGEST_NS ||
               is_wrong(draft, place, "a duration is too large", "less than 36 years");
    }
    if (key_is(name, key.length, "name")) {
        draft->has_name = st_scan_peek(scan) == '"';
        return read_text(scan, &draft->name);
    }
    if (key_is(name, key.length, "cat")) {
        draft->has_category = st_scan_peek(scan) == '"';
        return read_text(scan, &draft->category);
    }
    if (key_is(name, key.length, "pid"))
        return read_mark(scan, &draft->process);
    if (key_is(name, key.length, "tid"))
        return read_mark(scan, &draft->thread);
    return st_scan_skip(scan);
}

/* The same, and where the value is. */
static bool read_marked(st_scan *scan, st_draft *draft, st_scan_span key)
{
    static const char *const names[ST_MARKED] = {"ts", "dur", "pid", "id"};
    const char *name = st_scan_text(scan, key);
    size_t which = 0;
    while (which < ST_MARKED && !key_is(name, key.length, names[which]))
        which++;
    (void)st_scan_peek(scan);
    uint64_t start = scan->base + scan->at;
    if (!read_member(scan, draft, key))
        return false;
    if (which < ST_MARKED)
        draft->marked[which] =
            (st_scan_span){.start = start, .length = (uint32_t)(scan->base + scan->at - start)};
    return true;
}

bool st_draft_read(st_scan *scan, st_draft *draft)
{
    st_scan_span key;
    bool started = false;
    *draft = (st_draft){.details = draft->details,
                        .marked = draft->marked,
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
    if (!st_scan_enter(scan, '{'))
        return false;
    while (draft->marked == NULL && st_scan_key(scan, &started, &key))
        if (!read_member(scan, draft, key))
            return false;
    while (draft->marked != NULL && st_scan_key(scan, &started, &key))
        if (!read_marked(scan, draft, key))
            return false;
    return st_scan_ok(scan);
}

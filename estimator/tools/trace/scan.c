/* SPDX-License-Identifier: Apache-2.0 */
/* See scan.h. Strings are nine tenths of a trace: they are passed sixteen bytes at a time. */
#include "trace/scan.h"

#include "base/chars.h"
#include "base/memory.h"
#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { PADDING = ST_SHAPE_BYTES }; /* at least what a key is compared in, and a vector */

void st_scan_init(st_scan *scan, st_bytes *bytes, st_errors *errors)
{
    *scan = (st_scan){.bytes = bytes, .errors = errors, .hold = SIZE_MAX, .line = 1};
    scan->data = st_xcalloc(1, ST_SCAN_WINDOW_BYTES + PADDING);
    scan->capacity = ST_SCAN_WINDOW_BYTES;
}

void st_scan_free(st_scan *scan)
{
    free(scan->data);
    scan->data = NULL;
}

void st_scan_hold(st_scan *scan)
{
    scan->hold = scan->at;
}

void st_scan_release(st_scan *scan)
{
    scan->hold = SIZE_MAX;
}

/* Lines are counted where somebody asks, and of what leaves the window. */
static void count_lines(st_scan *scan, size_t end)
{
    enum { BLOCK = 240 }; /* a byte counts them */
    typedef uint8_t vector __attribute__((vector_size(16)));
    const char *data = scan->data;
    size_t lines = 0;
    size_t last = end;
    size_t from = scan->counted;
    for (; from + BLOCK <= end; from += BLOCK) {
        vector found = {0};
        vector word;
        for (size_t i = 0; i < BLOCK; i += sizeof word) {
            memcpy(&word, data + from + i, sizeof word);
            found -= (vector)(word == '\n');
        }
        for (size_t i = 0; i < sizeof word; i++)
            lines += found[i];
    }
    for (; from < end; from++)
        lines += data[from] == '\n';
    while (lines > 0 && data[last - 1] != '\n')
        last--;
    scan->line_start = lines > 0 ? scan->base + last : scan->line_start;
    lines += (size_t)scan->line;
    scan->line = lines < INT32_MAX ? (int)lines : INT32_MAX;
    scan->counted = end > scan->counted ? end : scan->counted;
}

st_place st_scan_place_of(const st_scan *scan, size_t at)
{
    st_scan until = *scan;
    count_lines(&until, at);
    uint64_t column = until.base + at - until.line_start + 1;
    return (st_place){.file = st_bytes_name(scan->bytes),
                      .line = until.line,
                      .column = column < INT32_MAX ? (int)column : 0};
}

st_place st_scan_place(st_scan *scan)
{
    count_lines(scan, scan->at);
    return st_scan_place_of(scan, scan->at);
}

st_status st_scan_fail(st_scan *scan, st_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (scan->status == ST_OK)
        scan->status = st_vfail(scan->errors, status, st_scan_place(scan), format, arguments);
    va_end(arguments);
    return scan->status;
}

static bool fail_as(st_scan *scan, const char *message, const char *expected)
{
    char c = scan->data[scan->at];
    if (scan->status != ST_OK)
        return false;
    const char *found = (unsigned char)c < ' ' || (unsigned char)c > '~'
                            ? st_errors_text(scan->errors, "byte 0x%02X", (unsigned char)c)
                            : st_errors_text(scan->errors, "'%c'", c);
    scan->status = st_fail(scan->errors, ST_ERR_SYNTAX, st_scan_place(scan),
                           "%s" ST_FOUND "%s" ST_EXPECTED "%s", message, st_or_none(found),
                           st_or_none(expected));
    return false;
}

static bool fail_found(st_scan *scan, const char *expected)
{
    return fail_as(scan, "this is not JSON", expected);
}

/* This may be JSON, but not what belongs here. */
static bool fail_kind(st_scan *scan, const char *expected)
{
    const char *text = scan->data + scan->at; /* zeros follow the window */
    bool is_value = (*text != '\0' && strchr("\"{[-0123456789", *text) != NULL) ||
                    strncmp(text, "true", 4) == 0 || strncmp(text, "false", 5) == 0 ||
                    strncmp(text, "null", 4) == 0;
    return fail_as(scan, is_value ? "a value of the wrong kind" : "this is not JSON", expected);
}

/* Reads on, where `next` is at the window's end; false at the end of the text. */
static bool more(st_scan *scan, size_t *next)
{
    size_t got = 0;
    if (scan->ended || scan->status != ST_OK)
        return false;
    /* Forgets what nobody needs; *next moves with the window. */
    size_t keep = scan->hold < scan->at ? scan->hold : scan->at;
    if (keep != 0) {
        count_lines(scan, keep);
        scan->counted -= keep;
        memmove(scan->data, scan->data + keep, scan->used - keep);
        scan->base += keep;
        scan->used -= keep;
        scan->at -= keep;
        *next -= keep;
        if (scan->hold != SIZE_MAX)
            scan->hold -= keep;
    }
    if (scan->used == scan->capacity) {
        if (scan->capacity >= ST_SCAN_MAX_HOLD_BYTES) {
            (void)st_scan_fail(scan, ST_ERR_LIMIT,
                               "one event is larger than 64 MiB" ST_EXPECTED
                               "the events of a profiler");
            return false;
        }
        char *data = st_xmemory(realloc(scan->data, 2 * scan->capacity + PADDING));
        scan->data = data;
        scan->capacity *= 2;
    }
    st_status status = st_bytes_read(scan->bytes, scan->data + scan->used,
                                     scan->capacity - scan->used, &got, scan->errors);
    if (status != ST_OK) {
        scan->status = status;
        return false;
    }
    scan->used += got;
    memset(scan->data + scan->used, 0, PADDING);
    scan->ended = got == 0;
    return got > 0;
}

/* As `more`, where the grammar demands that something follows. */
static bool demand(st_scan *scan, size_t *next)
{
    if (more(scan, next))
        return true;
    if (scan->status == ST_OK) {
        scan->at = *next;
        scan->cut = true;
    }
    return false;
}

/* Reads on behind the blanks that end at `next`; where the text goes on then, SIZE_MAX: nowhere. */
static size_t read_on(st_scan *scan, size_t next)
{
    return more(scan, &next) ? next : SIZE_MAX;
}

char st_scan_peek_far(st_scan *scan)
{
    size_t next = scan->at;
    if (!st_scan_ok(scan))
        return 0;
    for (;;) {
        char c = scan->data[next];
        if (st_is_blank(c)) {
            next++;
            continue;
        }
        scan->at = next;
        if (c != '\0' || next < scan->used)
            return c;
        next = read_on(scan, next);
        if (next == SIZE_MAX)
            return 0;
    }
}

/* As st_scan_peek inside of something: the end of the text is a cut. */
static inline char peek_inside(st_scan *scan)
{
    char c = st_scan_peek(scan);
    if (c != 0)
        return c;
    /* Nothing is where something must be: the text is cut, or a zero is in it. */
    if (st_scan_ok(scan)) {
        if (scan->at < scan->used)
            (void)fail_found(scan, "a value");
        else
            scan->cut = true;
    }
    return 0;
}

bool st_scan_enter(st_scan *scan, char bracket)
{
    if (peek_inside(scan) != bracket)
        return st_scan_ok(scan) && fail_kind(scan, bracket == '{' ? "'{'" : "'['");
    scan->at++;
    return true;
}

/* Index of the next byte that ends a run of plain text: a quote, a backslash or a control. */
static inline size_t plain_text(const char *data, size_t next)
{
#ifdef __SSE2__
    const __m128i quotes = _mm_set1_epi8('"');
    const __m128i slashes = _mm_set1_epi8('\\');
    const __m128i controls = _mm_set1_epi8(' ' - 1);
    for (;; next += sizeof(__m128i)) {
        __m128i word = _mm_loadu_si128((const __m128i *)(const void *)(data + next));
        __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(word, quotes), _mm_cmpeq_epi8(word, slashes));
        hit = _mm_or_si128(hit, _mm_cmpeq_epi8(_mm_min_epu8(word, controls), word));
        int bits = _mm_movemask_epi8(hit);
        if (bits != 0)
            return next + (size_t)__builtin_ctz((unsigned)bits);
    }
#else
    while (data[next] != '"' && data[next] != '\\' && (unsigned char)data[next] >= ' ')
        next++;
    return next;
#endif
}

static inline size_t pass_blanks(const char *data, size_t next)
{
    next += data[next] == ' ';
    while (data[next] == ' ' || data[next] == '\n')
        next++;
    return next;
}

/* ',' between members, none before the first; the end closes. */
static bool next_member(st_scan *scan, bool *started, char end, const char *expected)
{
    char c = peek_inside(scan);
    if (c == end) {
        scan->at++;
        return false;
    }
    if (!*started) {
        *started = true;
        return st_scan_ok(scan);
    }
    if (c != ',')
        return st_scan_ok(scan) && fail_found(scan, expected);
    scan->at++;
    if (peek_inside(scan) == end)
        return fail_found(scan, "what the comma before it announces");
    return st_scan_ok(scan);
}

bool st_scan_item(st_scan *scan, bool *started)
{
    return next_member(scan, started, ']', "',' or ']'");
}

bool st_scan_key(st_scan *scan, bool *started, st_scan_span *key)
{
    if (!next_member(scan, started, '}', "',' or '}'"))
        return false;
    if (peek_inside(scan) != '"')
        return st_scan_ok(scan) && fail_found(scan, "a string");
    if (!st_scan_string(scan, key))
        return false;
    if (peek_inside(scan) != ':')
        return st_scan_ok(scan) && fail_found(scan, "':'");
    scan->at++;
    return true;
}

bool st_scan_held_key(st_scan *scan, bool *started, st_scan_span *key)
{
    st_scan_hold(scan);
    if (st_scan_key(scan, started, key))
        return true;
    st_scan_release(scan);
    return false;
}

/* What follows a backslash; *next is on it. */
static bool pass_escape(st_scan *scan, size_t *next)
{
    size_t digits = 0;
    if (*next == scan->used && !demand(scan, next))
        return false;
    char c = scan->data[*next];
    if (c == '\0' || strchr("\"\\/bfnrtu", c) == NULL) {
        scan->at = *next;
        return fail_found(scan, "an escape that JSON has");
    }
    ++*next;
    for (; c == 'u' && digits < 4; digits++) {
        if (*next == scan->used && !demand(scan, next))
            return false;
        char digit = scan->data[*next];
        if (digit == '\0' || strchr("0123456789abcdefABCDEF", digit) == NULL) {
            scan->at = *next;
            return fail_found(scan, "four hexadecimal digits");
        }
        ++*next;
    }
    return true;
}

/* Where the first of what is mended is. */
static void note_odd(st_scan *scan, size_t at)
{
    if (scan->odd_values + scan->controls == 0)
        scan->first_odd = st_scan_place_of(scan, at);
}

void st_scan_odd(st_scan *scan, size_t at)
{
    note_odd(scan, at);
    scan->odd_values++;
}

/* Some profilers of 2024 and before wrote names without escapes. */
static void mend_control(st_scan *scan, size_t at)
{
    note_odd(scan, at);
    scan->controls++;
    count_lines(scan, at + 1); /* before its end is gone */
    scan->data[at] = ' ';
}

__attribute__((noinline)) static bool unusual_string(st_scan *scan, st_scan_span *text)
{
    if (peek_inside(scan) != '"')
        return st_scan_ok(scan) && fail_kind(scan, "a string");
    uint64_t start = scan->base + scan->at + 1;
    size_t next = scan->at + 1;
    bool escaped = false;
    for (;;) {
        next = plain_text(scan->data, next);
        char c = scan->data[next];
        if (next >= scan->used) {
            next = scan->used;
            if (!demand(scan, &next))
                return false;
        } else if (c == '"') {
            break;
        } else if (c == '\\') {
            next++;
            escaped = true;
            if (!pass_escape(scan, &next))
                return false;
        } else {
            mend_control(scan, next++);
        }
    }
    *text = (st_scan_span){
        .start = start, .length = (uint32_t)(scan->base + next - start), .escaped = escaped};
    scan->at = next + 1;
    return true;
}

bool st_scan_string(st_scan *scan, st_scan_span *text)
{
    const char *data = scan->data;
    const size_t start = scan->at + (data[scan->at] == ' ');
    if (data[start] == '"' && st_scan_ok(scan)) {
        const size_t end = plain_text(data, start + 1);
        if (data[end] == '"') {
            *text = (st_scan_span){.start = scan->base + start + 1,
                                   .length = (uint32_t)(end - start - 1)};
            scan->at = end + 1;
            return true;
        }
    }
    return unusual_string(scan, text);
}

size_t st_scan_number_length(const char *text)
{
    const char *next = text + (*text == '-');
    if (!st_is_digit(*next))
        return 0;
    if (*next == '0' && st_is_digit(next[1]))
        return 0;
    while (st_is_digit(*next))
        next++;
    if (*next == '.') {
        if (!st_is_digit(*++next))
            return 0;
        while (st_is_digit(*next))
            next++;
    }
    if (*next == 'e' || *next == 'E') {
        next += next[1] == '-' || next[1] == '+' ? 2 : 1;
        if (!st_is_digit(*next))
            return 0;
        while (st_is_digit(*next))
            next++;
    }
    return (size_t)(next - text);
}

static bool in_word(char c)
{
    const char letter = (char)(c | ' ');
    return (letter >= 'a' && letter <= 'z') || st_is_digit(c) || c == '.' || c == '+' || c == '-';
}

static size_t word_end(const char *data, size_t next)
{
    while (in_word(data[next]))
        next++;
    return next;
}

/* All of a number or word in the window; its end in *end. */
static bool pass_word(st_scan *scan, size_t *end)
{
    size_t next = word_end(scan->data, scan->at);
    while (next >= scan->used) {
        next = scan->used;
        if (!more(scan, &next))
            break;
        next = word_end(scan->data, next);
    }
    *end = next;
    return scan->status == ST_OK;
}

/* "inf", "NaN", "-Infinity", "-nan" as printf and Python spell them. */
static bool is_odd_number(const char *word, size_t length)
{
    static const char *const words[] = {"inf", "infinity", "nan"};
    size_t sign = length > 0 && (*word == '-' || *word == '+');
    for (size_t i = 0; i < ST_COUNT(words); i++)
        if (strlen(words[i]) == length - sign &&
            strncasecmp(words[i], word + sign, length - sign) == 0)
            return true;
    return false;
}

/* Passes a number that JSON lacks; false where there is none, or after an error. */
static bool mend_number(st_scan *scan)
{
    size_t end = 0;
    char c = scan->data[scan->at];
    if (c == '\0' || strchr("-+iInN", c) == NULL || !pass_word(scan, &end) ||
        !is_odd_number(scan->data + scan->at, end - scan->at))
        return false;
    st_scan_odd(scan, scan->at);
    memset(scan->data + scan->at, ' ', end - scan->at);
    memset(scan->data + scan->at, '"', 2);
    scan->at = end;
    return true;
}

/* Puts at most eight digits behind those of *sum; how many. */
static inline size_t add_digits(const char *text, uint64_t *sum)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    static const uint32_t powers[] = {1,      10,      100,      1000,     10000,
                                      100000, 1000000, 10000000, 100000000};
    const uint64_t tops = UINT64_C(0x8080808080808080);
    size_t count = 8;
    uint64_t word;
    memcpy(&word, text, sizeof word);
    word ^= UINT64_C(0x3030303030303030);
    const uint64_t others = (word | (word + UINT64_C(0x7676767676767676))) & tops;
    if (others != 0) {
        count = (size_t)__builtin_ctzll(others) / 8;
        word = word << 1 << (63 - 8 * count);
    }
    /* Pairs are joined, then pairs of pairs. */
    word = (word * 10 + (word >> 8)) & UINT64_C(0x00FF00FF00FF00FF);
    word = (word * 100 + (word >> 16)) & UINT64_C(0x0000FFFF0000FFFF);
    *sum = *sum * powers[count] + (uint32_t)(word * 10000 + (word >> 32));
#else
    size_t count = 0;
    for (; count < 8 && st_is_digit(text[count]); count++)
        *sum = *sum * 10 + (uint64_t)(text[count] - '0');
#endif
    return count;
}

bool st_scan_usual_number(st_scan *scan, uint64_t *digits, int *decimals)
{
    enum { MOST_DIGITS = 18 };
    const char *const start = scan->data + scan->at + (scan->data[scan->at] == ' ');
    const char *at = start;
    const char *behind = NULL; /* the point */
    uint64_t sum = 0;
    for (;;) {
        const size_t count = add_digits(at, &sum);
        at += count;
        if (count == 8)
            continue;
        if (*at != '.' || behind != NULL || at == start)
            break;
        behind = ++at;
    }
    const char c = *at;
    if (at - start > MOST_DIGITS + 2 * (behind != NULL) || at == start || at == behind ||
        (c != ',' && c != '}' && c != '\n') || !st_scan_ok(scan) ||
        (*start == '0' && st_is_digit(start[1])))
        return false;
    *digits = sum;
    *decimals = behind == NULL ? 0 : (int)(at - behind);
    scan->at = (size_t)(at - scan->data);
    return true;
}

bool st_scan_number(st_scan *scan, st_scan_span *text)
{
    char c = peek_inside(scan);
    if (!st_is_digit(c) && st_scan_ok(scan) && mend_number(scan)) {
        *text = (st_scan_span){.start = scan->base + scan->at};
        return true;
    }
    if (c != '-' && !st_is_digit(c))
        return st_scan_ok(scan) && fail_kind(scan, "a number");
    size_t length = st_scan_number_length(scan->data + scan->at);
    size_t end = scan->at + length;
    if (length == 0 || end >= scan->used || in_word(scan->data[end])) {
        /* A number that the window may cut, or that is none. */
        size_t far_end = 0;
        if (!pass_word(scan, &far_end))
            return false;
        if (far_end == scan->used && scan->ended) { /* a number may go on behind a cut */
            scan->cut = true;
            return false;
        }
        size_t far_length = st_scan_number_length(scan->data + scan->at);
        if (far_length != far_end - scan->at)
            return fail_found(scan, "a number");
        *text = (st_scan_span){.start = scan->base + scan->at, .length = (uint32_t)far_length};
        scan->at = far_end;
        return true;
    }
    *text = (st_scan_span){.start = scan->base + scan->at, .length = (uint32_t)length};
    scan->at = end;
    return true;
}

static bool skip_scalar(st_scan *scan, char c)
{
    st_scan_span text;
    if (c == '"')
        return st_scan_string(scan, &text);
    if (c == '-' || st_is_digit(c))
        return st_scan_number(scan, &text);
    if (!st_scan_ok(scan))
        return false;
    static const char *const words[] = {"true", "false", "null"};
    size_t end = 0;
    if (!pass_word(scan, &end))
        return false;
    size_t length = end - scan->at;
    if (end == scan->used && scan->ended) {
        scan->cut = true;
        return false;
    }
    for (size_t i = 0; i < 3; i++) {
        if (strlen(words[i]) == length && memcmp(words[i], scan->data + scan->at, length) == 0) {
            scan->at = end;
            return true;
        }
    }
    if (mend_number(scan))
        return true;
    return scan->status == ST_OK && fail_found(scan, "a value");
}

/* Moves to the next value inside of the containers; *depth is 0 behind the last. */
static bool skip_to_value(st_scan *scan, uint64_t objects, bool *started, int *depth)
{
    st_scan_span key;
    while (*depth > 0) {
        bool is_object = (objects >> *depth & 1) != 0;
        if (is_object ? st_scan_key(scan, started, &key) : st_scan_item(scan, started))
            return true;
        if (!st_scan_ok(scan))
            return false;
        --*depth;
        *started = true;
    }
    return true;
}

/* Where the number at `at` ends; there where it is none. */
static inline size_t number_end(const char *data, size_t at)
{
    size_t end = at;
    while (st_is_digit(data[end]))
        end++;
    if (end > at && (data[at] != '0' || end == at + 1) && (data[end] == ',' || !in_word(data[end])))
        return end;
    end = at + st_scan_number_length(data + at);
    return in_word(data[end]) ? at : end;
}

/*
 * Passes a value that is all in the window and without escapes, by the same grammar; false and
 * nothing done where it is not so, for whatever reason: then it is passed token by token, which
 * reports errors. Zeros follow the window, so that nothing runs past its end.
 */
static bool usual_value(st_scan *scan)
{
    const char *data = scan->data;
    uint64_t objects = 0; /* a bit per depth */
    int depth = 0;
    for (size_t at = pass_blanks(data, scan->at);; at = pass_blanks(data, at)) {
        char c = data[at];
        bool opens = c == '[' || c == '{';
        if (c == '"') {
            at = plain_text(data, at + 1);
            if (data[at++] != '"')
                return false;
        } else if (opens) {
            if (++depth > ST_SCAN_MAX_DEPTH)
                return false;
            objects = (objects & ~(UINT64_C(1) << depth)) | (uint64_t)(c == '{') << depth;
            at++;
        } else {
            const size_t end = number_end(data, at);
            if (end == at)
                return false;
            at = end;
        }
        /* What closes, and a comma unless something has just been opened. */
        for (; depth > 0 && data[at] != ','; opens = false, depth--) {
            at = pass_blanks(data, at);
            if (data[at] != ((objects >> depth & 1) != 0 ? '}' : ']'))
                break;
            at++;
        }
        if (depth == 0) {
            if (at >= scan->used)
                return false;
            scan->at = at;
            return true;
        }
        if (!opens && data[at++] != ',')
            return false;
        if ((objects >> depth & 1) == 0)
            continue;
        at = pass_blanks(data, at);
        if (data[at] != '"')
            return false;
        at = plain_text(data, at + 1);
        if (data[at] != '"' || data[at + 1] != ':')
            return false;
        at += 2;
    }
}

__attribute__((noinline)) static bool skip_unusual(st_scan *scan)
{
    uint64_t objects = 0; /* a bit per depth */
    bool started = true;
    int depth = 0;
    do {
        char c = peek_inside(scan);
        if (c == '{' || c == '[') {
            if (++depth > ST_SCAN_MAX_DEPTH) {
                (void)st_scan_fail(scan, ST_ERR_LIMIT,
                                   "values are nested too deeply" ST_EXPECTED "at most 60 levels");
                return false;
            }
            objects &= ~(UINT64_C(1) << depth);
            objects |= (uint64_t)(c == '{') << depth;
            started = false;
            scan->at++;
        } else if (!skip_scalar(scan, c)) {
            return false;
        }
        if (!skip_to_value(scan, objects, &started, &depth))
            return false;
    } while (depth > 0);
    return true;
}

bool st_scan_skip(st_scan *scan)
{
    return (st_scan_ok(scan) && usual_value(scan)) || skip_unusual(scan);
}

bool st_scan_end(st_scan *scan)
{
    if (st_scan_peek(scan) != 0 || (st_scan_ok(scan) && scan->at < scan->used))
        return fail_found(scan, "the end of the file");
    return st_scan_ok(scan);
}

/* what surrounds the events of a file. */

static const char events[] = "traceEvents";

/* One member; the events themselves are passed over. */
static void add_member(st_scan *scan, st_scan_span key, st_buffer *members)
{
    bool is_events =
        key.length == sizeof events - 1 && memcmp(st_scan_text(scan, key), events, key.length) == 0;
    if (is_events) {
        st_scan_release(scan);
        (void)st_scan_skip(scan);
        return;
    }
    uint64_t start = key.start - 1; /* with its quote */
    if (!st_scan_skip(scan))
        return;
    st_scan_span all = {.start = start, .length = (uint32_t)(scan->base + scan->at - start)};
    st_buffer_append(members, st_scan_text(scan, all), all.length);
    st_buffer_text(members, ",\n");
}

static st_status read_members(st_bytes *bytes, st_buffer *members, st_errors *errors)
{
    st_scan scan;
    st_scan_span key;
    bool started = false;
    st_scan_init(&scan, bytes, errors);
    if (st_scan_peek(&scan) == '{' && st_scan_enter(&scan, '{')) {
        while (st_scan_held_key(&scan, &started, &key)) {
            add_member(&scan, key, members);
            st_scan_release(&scan);
        }
    }
    st_scan_free(&scan);
    st_xdone(!members->failed);
    return scan.status;
}

st_status st_visit_members(const char *path, st_buffer *members, st_errors *errors)
{
    st_bytes *bytes = NULL;
    st_status status = st_bytes_open(path, &bytes, errors);
    if (status == ST_OK)
        status = read_members(bytes, members, errors);
    st_bytes_close(bytes);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people write instead of a unit, and what they mean by it. A suggestion is made only when the
 * corrected text is a unit, so that following it never leads to the next error.
 */
#include "base/unit_names.h"

#include "base/lists.h"

#include <string.h>

enum { UNIT_BYTES = sizeof((st_unit *)NULL)->text };

typedef struct slip {
    const char *written; /* lower case, unless exact */
    const char *meant;
    const char *or_meant; /* where it is ambiguous */
    bool exact;           /* the case distinguishes two meanings */
} slip;

static const slip slips[] = {
    {"bps", "bit/s", NULL, true},
    {"Bps", "B/s", NULL, true},
    {"bps", "bit/s", "B/s", false},
    {"FLOPS", "FLOP/s", NULL, true},
    {"FLOPS", "FLOP", NULL, true}, /* in "TFLOPS/s" */
    {"flops", "FLOP/s", "FLOP", false},
    {"flop", "FLOP", NULL, false},
    {"B", "B", NULL, true},
    {"b", "bit", "B", false},
    {"bits", "bit", NULL, false},
    {"bit", "bit", NULL, false},
    {"bytes", "B", NULL, false},
    {"byte", "B", NULL, false},
    {"m", "min", "ms", true},
    {"seconds", "s", NULL, false},
    {"second", "s", NULL, false},
    {"secs", "s", NULL, false},
    {"sec", "s", NULL, false},
    {"s", "s", NULL, false},
    {"minutes", "min", NULL, false},
    {"minute", "min", NULL, false},
    {"mins", "min", NULL, false},
    {"min", "min", NULL, false},
    {"hours", "h", NULL, false},
    {"hour", "h", NULL, false},
    {"hrs", "h", NULL, false},
    {"hr", "h", NULL, false},
    {"h", "h", NULL, false},
    {"days", "day", NULL, false},
    {"day", "day", NULL, false},
    {"d", "day", NULL, false},
    {"hz", "1/s", NULL, false},
    {"joules", "J", NULL, false},
    {"joule", "J", NULL, false},
    {"j", "J", NULL, false},
    {"watts", "W", NULL, false},
    {"watt", "W", NULL, false},
    {"w", "W", NULL, false},
    {"wh", "Wh", NULL, false},
    {"dollars", "$", NULL, false},
    {"dollar", "$", NULL, false},
    {"usd", "$", NULL, false},
    {"percent", "%", NULL, false},
};

static const char *const counts[] = {
    "gpu",  "device",    "core", "rank",   "node",    "token",    "param", "parameter", "layer",
    "step", "iteration", "iter", "sample", "message", "sequence", "image", "batch",     "count"};

static bool is_same(const char *text, size_t length, const char *wanted, bool exact)
{
    if (strlen(wanted) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (text[i] != wanted[i] && (exact || st_to_lower(text[i]) != st_to_lower(wanted[i])))
            return false;
    return true;
}

bool st_unit_is_count(const char *name, size_t length)
{
    for (size_t i = 0; i < ST_COUNT(counts); i++) {
        bool is_plural = length > 1 && st_to_lower(name[length - 1]) == 's';
        if (is_same(name, length, counts[i], false) ||
            (is_plural && is_same(name, length - 1, counts[i], false)))
            return true;
    }
    return false;
}

/* The text being corrected and the units that it may have meant. */
typedef struct correction {
    const char *text;
    size_t length;
    size_t at;
    size_t name_length;
    char found[2][UNIT_BYTES];
    size_t count;
} correction;

static void keep_if_unit(correction *one, const char *text, size_t length)
{
    st_unit unit;
    if (one->count == 2 || length >= UNIT_BYTES ||
        st_unit_parse(text, length, (st_place){0}, &unit, NULL) != ST_OK)
        return;
    if (one->count == 1 && strcmp(one->found[0], unit.text) == 0)
        return;
    memcpy(one->found[one->count++], unit.text, UNIT_BYTES);
}

/* Tries the whole text with the name replaced. */
static void try_name(correction *one, const char *prefix, const char *name)
{
    size_t behind = one->at + one->name_length;
    const char *rest = one->text + behind;
    size_t rest_length = one->length - behind;
    bool is_rate = strchr(name, '/') != NULL;
    bool has_time = rest_length >= 2 && rest[0] == '/' && st_to_lower(rest[1]) == 's';
    if (is_rate && has_time)
        return; /* "GFLOPS/s" means no acceleration */
    char text[3 * UNIT_BYTES];
    int length = snprintf(text, sizeof text, "%.*s%s%s%.*s", (int)one->at, one->text, prefix, name,
                          (int)rest_length, rest);
    if (length > 0 && (size_t)length < sizeof text)
        keep_if_unit(one, text, (size_t)length);
}

/* Tries every prefix that the letters or the word before a slip can mean. */
static void try_prefixes(correction *one, size_t prefix_length, const slip *meant)
{
    const char *written = one->text + one->at;
    if (prefix_length == 0) {
        try_name(one, "", meant->meant);
        if (meant->or_meant != NULL)
            try_name(one, "", meant->or_meant);
        return;
    }
    /* In its own case first: "m" is milli where that can be, mega where it cannot. */
    for (int pass = 0; pass < 2 && one->count == 0; pass++) {
        for (const st_unit_prefix *prefix = st_unit_prefixes; prefix->text != NULL; prefix++) {
            bool is_binary_k =
                prefix_length == 1 && written[0] == 'K' && strcmp(prefix->text, "Ki") == 0;
            bool is_word = is_same(written, prefix_length, prefix->word, false);
            bool is_letter =
                is_same(written, prefix_length, prefix->text, pass == 0 && written[0] != 'K');
            if (!is_binary_k && !is_word && !is_letter)
                continue;
            try_name(one, prefix->text, meant->meant);
            if (meant->or_meant != NULL && !is_binary_k)
                try_name(one, prefix->text, meant->or_meant);
        }
    }
}

/* "GB/s" for "GB/s/GPU" and "1/s" for "token/s". */
static void try_without(correction *one)
{
    size_t behind = one->at + one->name_length;
    size_t head = one->at > 0 ? one->at - 1 : 0;
    bool is_first = one->at == 0 && behind < one->length;
    char text[3 * UNIT_BYTES];
    int length = snprintf(text, sizeof text, "%.*s%s%.*s", (int)head, one->text,
                          is_first ? "1" : "", (int)(one->length - behind), one->text + behind);
    if (length > 0 && (size_t)length < sizeof text)
        keep_if_unit(one, text, (size_t)length);
}

const char *st_unit_suggest(const char *text, size_t length, size_t at, size_t name_length,
                            st_errors *errors)
{
    if (st_errors_full(errors))
        return NULL;
    correction one = {.text = text, .length = length, .at = at, .name_length = name_length};
    if (st_unit_is_count(text + at, name_length))
        try_without(&one);
    for (size_t i = 0; i < ST_COUNT(slips) && one.count == 0; i++) {
        size_t size = strlen(slips[i].written);
        if (size > name_length ||
            !is_same(text + at + name_length - size, size, slips[i].written, slips[i].exact))
            continue;
        try_prefixes(&one, name_length - size, &slips[i]);
    }
    if (one.count == 0)
        return NULL;
    return one.count == 1 ? st_errors_text(errors, "%s", one.found[0])
                          : st_errors_text(errors, "%s or %s", one.found[0], one.found[1]);
}

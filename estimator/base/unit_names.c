/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of units and prefixes; see unit_names.h. */
#include "base/unit_names.h"

#include "base/chars.h"

#define KIBI 1024.0

const st_unit_prefix st_unit_prefixes[] = {
    {"p", "pico", 1, 1e12, ST_PREFIX_TINY},
    {"n", "nano", 1, 1e9, ST_PREFIX_TINY},
    {"u", "micro", 1, 1e6, ST_PREFIX_TINY},
    {"m", "milli", 1, 1e3, ST_PREFIX_MILLI},
    {"", "", 1, 1, ST_PREFIX_NONE},
    {"k", "kilo", 1e3, 1, ST_PREFIX_LARGE},
    {"M", "mega", 1e6, 1, ST_PREFIX_LARGE},
    {"G", "giga", 1e9, 1, ST_PREFIX_LARGE},
    {"T", "tera", 1e12, 1, ST_PREFIX_LARGE},
    {"P", "peta", 1e15, 1, ST_PREFIX_LARGE},
    {"E", "exa", 1e18, 1, ST_PREFIX_LARGE},
    {"Ki", "kibi", KIBI, 1, ST_PREFIX_BINARY},
    {"Mi", "mebi", KIBI *KIBI, 1, ST_PREFIX_BINARY},
    {"Gi", "gibi", KIBI *KIBI *KIBI, 1, ST_PREFIX_BINARY},
    {"Ti", "tebi", KIBI *KIBI *KIBI *KIBI, 1, ST_PREFIX_BINARY},
    {"Pi", "pebi", KIBI *KIBI *KIBI *KIBI *KIBI, 1, ST_PREFIX_BINARY},
    {"Ei", "exbi", KIBI *KIBI *KIBI *KIBI *KIBI *KIBI, 1, ST_PREFIX_BINARY},
    {NULL, NULL, 0, 0, 0},
};

#define LARGE ST_PREFIX_LARGE
#define BYTES (ST_PREFIX_LARGE | ST_PREFIX_BINARY)
#define POWER (ST_PREFIX_LARGE | ST_PREFIX_MILLI)
#define TIMES (ST_PREFIX_TINY | ST_PREFIX_MILLI)

/* Exponents of byte, flop, second, joule, dollar. The first name of a scale is the one printed. */
const st_unit_name st_unit_names[] = {
    {"B", {1, 0, 0, 0, 0}, 1, 1, BYTES},     {"bit", {1, 0, 0, 0, 0}, 1, 8, BYTES},
    {"FLOP", {0, 1, 0, 0, 0}, 1, 1, LARGE},  {"flop", {0, 1, 0, 0, 0}, 1, 1, LARGE},
    {"s", {0, 0, 1, 0, 0}, 1, 1, TIMES},     {"min", {0, 0, 1, 0, 0}, 60, 1, 0},
    {"h", {0, 0, 1, 0, 0}, 3600, 1, 0},      {"day", {0, 0, 1, 0, 0}, 86400, 1, 0},
    {"J", {0, 0, 0, 1, 0}, 1, 1, POWER},     {"W", {0, 0, -1, 1, 0}, 1, 1, POWER},
    {"Wh", {0, 0, 0, 1, 0}, 3600, 1, LARGE}, {"$", {0, 0, 0, 0, 1}, 1, 1, LARGE},
    {"USD", {0, 0, 0, 0, 1}, 1, 1, LARGE},   {NULL, {0, 0, 0, 0, 0}, 0, 0, 0},
};

static const st_unit_name *find_plain(const char *text, size_t length)
{
    for (const st_unit_name *name = st_unit_names; name->text != NULL; name++)
        if (length > 0 && st_same_part(text, length, name->text))
            return name;
    return NULL;
}

/* Bytes that `prefix` takes at the start of `text`, 0 when it is not there. Micro may be a mu. */
static size_t prefix_length(const st_unit_prefix *prefix, const char *text, size_t length)
{
    size_t size = strlen(prefix->text);
    if (length > size && memcmp(text, prefix->text, size) == 0)
        return size;
    bool is_mu =
        length > 2 && (memcmp(text, "\xC2\xB5", 2) == 0 || memcmp(text, "\xCE\xBC", 2) == 0);
    return is_mu && prefix->text[0] == 'u' ? 2 : 0;
}

const st_unit_name *st_unit_name_find(const char *text, size_t length,
                                      const st_unit_prefix **prefix)
{
    *prefix = NULL;
    const st_unit_name *name = find_plain(text, length);
    if (name != NULL)
        return name;
    for (const st_unit_prefix *one = st_unit_prefixes; one->text != NULL; one++) {
        size_t size = prefix_length(one, text, length);
        name = size > 0 ? find_plain(text + size, length - size) : NULL;
        if (name != NULL && (name->families & one->family) != 0) {
            *prefix = one;
            return name;
        }
    }
    return NULL;
}

size_t st_unit_name_length(const char *text, size_t length)
{
    size_t size = 0;
    while (size < length && text[size] != '\0' && strchr("*/^() \t\r\n", text[size]) == NULL)
        size++;
    return size;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* See mangled.h. */
#include "record/library/mangled.h"

#include "record/log.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Behind a name with its length in front of it; NULL: there is none. */
static const char *skip_name(const char *at)
{
    char *end = NULL;
    unsigned long length = strtoul(at, &end, 10);
    if (end == at || length == 0 || length > strlen(end))
        return NULL;
    return end + length;
}

uint64_t st_mangled_bytes(uint8_t kind)
{
    static const char *const letters[] = {[1] = "bahc", [2] = "st", [4] = "ijf", [8] = "lmxydP"};
    for (size_t bytes = 1; bytes <= 8; bytes *= 2)
        if (kind != 0 && strchr(letters[bytes], kind) != NULL)
            return bytes;
    return 0;
}

/* A type, as far as it matters: a number by its letter, a pointer by what it points to. */
typedef struct type {
    uint8_t letter; /* 'P' of a pointer, 0 of a class */
    uint8_t bytes;  /* of the type, 0: not known */
    uint8_t width;  /* of what a pointer points to */
} type;

/* Types that later ones are spelled by: S_, S0_, S1_, ... in the order in which they are read. */
typedef struct spelling {
    type known[64];
    size_t count;
} name_spelling;

static type class_of(const char *name)
{
    static const struct {
        const char *name;
        uint8_t bytes;
    } known[] = {{"13__nv_bfloat16", 2}, {"6__half", 2},        {"13__nv_fp8_e4m3", 1},
                 {"6float4", 16},        {"6float2", 8},        {"14__nv_bfloat162", 4},
                 {"7__half2", 4},        {"13__nv_fp8_e5m2", 1}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strncmp(name, known[i].name, strlen(known[i].name)) == 0)
            return (type){.bytes = known[i].bytes};
    return (type){0};
}

static void remember(name_spelling *spelling, type read)
{
    if (spelling->count < sizeof spelling->known / sizeof spelling->known[0])
        spelling->known[spelling->count++] = read;
}

/* Behind a type; NULL: it is spelled in a way not known here. Qualifiers and pointers are read up
 * to what they are of, and remembered from there on. */
static const char *read_type(name_spelling *spelling, const char *at, type *read)
{
    const char *prefix = at;
    at += strspn(at, "PKVr");
    const char *end = NULL;
    if (*at == 'S') {
        /* S_ is the first, S0_ the second, up to S9_, SA_. */
        end = NULL;
        const char *substitution_at = at + 1;
        size_t index = 0;
        if (isdigit((unsigned char)*substitution_at))
            index = (size_t)(*substitution_at++ - '0') + 1;
        else if (isupper((unsigned char)*substitution_at))
            index = (size_t)(*substitution_at++ - 'A') + 11;
        if (*substitution_at == '_' && index < spelling->count) {
            *read = spelling->known[index];
            end = substitution_at + 1;
        }
    } else if (isdigit((unsigned char)*at)) {
        *read = class_of(at);
        end = skip_name(at);
        remember(spelling, *read);
    } else if (islower((unsigned char)*at)) {
        *read = (type){.letter = (uint8_t)*at, .bytes = (uint8_t)st_mangled_bytes((uint8_t)*at)};
        end = at + 1;
    }
    for (; end != NULL && at > prefix; at--) {
        if (at[-1] == 'P')
            *read = (type){.letter = 'P', .bytes = 8, .width = read->bytes};
        remember(spelling, *read);
    }
    return end;
}

size_t st_mangled_kinds(const char *name, uint8_t *kinds, uint8_t *width, size_t most)
{
    name_spelling spelling = {.count = 0};
    type read = {0};
    if (strncmp(name, "_Z", 2) != 0)
        return 0;
    const char *at = skip_name(name + 2);
    size_t count = 0;
    while (at != NULL && *at != '\0' && count < most) {
        at = read_type(&spelling, at, &read);
        if (at == NULL || read.letter == 0 || st_mangled_bytes(read.letter) == 0)
            break;
        kinds[count] = read.letter;
        width[count++] = read.width;
    }
    return count;
}

uint8_t st_mangled_argument(uint8_t kind)
{
    if (kind == 'P')
        return ST_LOG_ARG_POINTER;
    return kind == 'f' || kind == 'd' ? ST_LOG_ARG_FLOAT : ST_LOG_ARG_INTEGER;
}

uint64_t st_mangled_value(uint8_t kind, uint64_t raw)
{
    if (kind == 'f') {
        float number;
        memcpy(&number, &raw, sizeof number);
        double wide = (double)number;
        memcpy(&raw, &wide, sizeof raw);
    } else if (kind == 'i') {
        raw = (uint64_t)(int64_t)(int32_t)(uint32_t)raw;
    } else if (kind == 's') {
        raw = (uint64_t)(int64_t)(int16_t)(uint16_t)raw;
    } else if (kind == 'a' || kind == 'c') {
        raw = (uint64_t)(int64_t)(int8_t)(uint8_t)raw;
    }
    return raw;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See numbered_texts.h. The table is looked up by the text as it is in the file; a name that is
 * spelled in two ways is found again once it is decoded.
 */
#include "base/numbered_texts.h"

#include "base/lists.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t value)
{
    value ^= value >> 32;
    value *= UINT64_C(0x9E3779B97F4A7C15);
    return value ^ value >> 29;
}

static uint64_t hash_of(const char *text, size_t length)
{
    uint64_t hash = length;
    uint64_t word = 0;
    for (; length >= sizeof word; length -= sizeof word, text += sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = mix(hash ^ word) + UINT64_C(0x632BE59BD9B4E019);
    }
    word = 0;
    if (length > 0)
        memcpy(&word, text, length);
    return mix(hash ^ word);
}

st_status st_names_init(st_names *names)
{
    *names = (st_names){.arena = st_arena_create()};
    return names->arena != NULL ? ST_OK : ST_ERR_MEMORY;
}

void st_names_free(st_names *names)
{
    st_arena_destroy(names->arena);
    *names = (st_names){0};
}

/* The number of a text; ST_INDEX_NONE where it is new. */
static uint32_t find_text(const st_names *names, const char *text, size_t length, uint64_t hash)
{
    uint32_t found = 0;
    ST_INDEX_FIND(&names->index, hash, found,
                  strncmp(names->texts[found], text, length) == 0 &&
                      names->texts[found][length] == '\0');
    return found;
}

static unsigned hex4(const char *text)
{
    unsigned value = 0;
    for (size_t i = 0; i < 4; i++) {
        unsigned c = (unsigned char)text[i];
        value = value * 16 + (c <= '9' ? c - '0' : (c | 0x20U) - 'a' + 10U);
    }
    return value;
}

static size_t put_utf8(unsigned code, char *out)
{
    if (code < ' ' || (code >= 0xD800 && code < 0xE000))
        code = '?'; /* a control, or half of a pair, which the scanner lets through */
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    out[0] = (char)(0xE0 | code >> 12);
    out[1] = (char)(0x80 | (code >> 6 & 0x3F));
    out[2] = (char)(0x80 | (code & 0x3F));
    return 3;
}

static st_status add_text(st_names *names, const char *text, size_t length, uint64_t hash)
{
    if (names->count >= ST_NAMES_MAX || length > ST_NAMES_MAX_BYTES - names->bytes)
        return ST_ERR_LIMIT;
    const char *copy = st_arena_copy(names->arena, text, length);
    size_t count = names->count;
    if (!ST_APPEND(names->arena, names->texts, count, copy) ||
        !st_index_add(&names->index, names->arena, hash, names->count))
        return ST_ERR_MEMORY;
    names->count++;
    names->bytes += length;
    return ST_OK;
}

static bool is_plain(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || (unsigned char)text[i] >= 0x7F)
            return false;
    return true;
}

static st_status add_odd(st_names *names, const char *text, size_t length, bool escaped,
                         uint32_t *name)
{
    char *clean = malloc(length + 1);
    if (clean == NULL)
        return ST_ERR_MEMORY;
    if (escaped) {
        /* Decodes escapes; the scanner has checked them. No escape is shorter than its
         * character. */
        size_t done = 0;
        for (size_t i = 0; i < length; i++) {
            if (text[i] != '\\' || i + 1 >= length) {
                clean[done++] = text[i];
            } else if (text[++i] == 'u' && i + 4 < length) {
                done += put_utf8(hex4(text + i + 1), clean + done);
                i += 4;
            } else {
                clean[done++] = strchr("bfnrt", text[i]) != NULL ? ' ' : text[i];
            }
        }
        length = done;
    } else {
        memcpy(clean, text, length);
    }
    for (size_t i = 0; i < length;) {
        uint32_t code = 0;
        size_t size = st_utf8_decode(clean + i, length - i, &code);
        if (size == 0 || (unsigned char)clean[i] < ' ' || clean[i] == 0x7F) {
            clean[i] = '?';
            size = 1;
        }
        i += size;
    }
    uint64_t hash = hash_of(clean, length);
    st_status status = ST_OK;
    *name = find_text(names, clean, length, hash);
    if (*name == ST_INDEX_NONE) {
        *name = names->count;
        status = add_text(names, clean, length, hash);
    }
    free(clean);
    return status;
}

st_status st_names_add(st_names *names, const char *text, size_t length, bool escaped,
                       uint32_t *name)
{
    uint64_t hash = hash_of(text, length);
    *name = escaped ? ST_INDEX_NONE : find_text(names, text, length, hash);
    if (*name != ST_INDEX_NONE)
        return ST_OK;
    if (escaped || !is_plain(text, length))
        return add_odd(names, text, length, escaped, name);
    *name = names->count;
    return add_text(names, text, length, hash);
}

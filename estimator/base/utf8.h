/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8, strictly: what is not shortest form, a surrogate or beyond U+10FFFF is invalid.
 *
 * Shared by everything that counts columns or prints text that a stranger wrote.
 */
#ifndef STEPTIME_BASE_UTF8_H
#define STEPTIME_BASE_UTF8_H

#include "steptime/status.h"

#include <string.h>

/* Bytes of the character at the start of `text` and its code point; 0 where it is invalid. */
size_t st_utf8_decode(const char *text, size_t length, uint32_t *code);

/* The longest prefix of at most `limit` bytes that does not cut a character in two. */
size_t st_utf8_cut(const char *text, size_t length, size_t limit);

/* Characters in `text`; an invalid byte counts as one. */
size_t st_utf8_count(const char *text, size_t length);
static inline size_t st_shown_width(const char *text)
{
    return st_utf8_count(text, strlen(text));
}

/* Characters that a terminal acts on instead of showing: controls, line and direction marks. */
bool st_utf8_is_control(uint32_t code);

/* `place` moved right over `bytes` of `text`; a place without a column stays as it is. */
st_place st_utf8_advance(st_place place, const char *text, size_t bytes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Characters and texts: what they are, how they begin and end, whether they are the same. */
#ifndef STEPTIME_BASE_CHARS_H
#define STEPTIME_BASE_CHARS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool st_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool st_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static inline bool st_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Of a name, though not of its beginning. */
static inline bool st_is_name(char c)
{
    return st_is_letter(c) || st_is_digit(c);
}

static inline const char *st_text_or_empty(const char *text)
{
    return text != NULL ? text : "";
}

/* Of names and values in turn, as expat hands attributes over, the value of a name; NULL: none. */
static inline const char *st_attribute(const char *const *attributes, const char *name)
{
    for (size_t i = 0; attributes[i] != NULL; i += 2)
        if (strcmp(attributes[i], name) == 0)
            return attributes[i + 1];
    return NULL;
}

/* ASCII alone. */
static inline char st_to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline bool st_begins(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static inline bool st_ends_in(const char *text, const char *ending)
{
    size_t length = strlen(text);
    size_t ending_length = strlen(ending);
    return length >= ending_length && strcmp(text + length - ending_length, ending) == 0;
}

/* The text after the last separator: "tp" of "parallel.tp". */
static inline const char *st_last_part(const char *text, char separator)
{
    const char *last = strrchr(text, separator);
    return last != NULL ? last + 1 : text;
}

/* Whether "parallel.tp" is a key of "parallel". */
static inline bool st_is_below(const char *key, const char *section)
{
    size_t length = strlen(section);
    return strncmp(key, section, length) == 0 && key[length] == '.';
}

/* For walks through short lists: most differ in their first byte. */
static inline bool st_same(const char *a, const char *b)
{
    return a[0] == b[0] && strcmp(a, b) == 0;
}

/* Whether `length` bytes of `text`, at least one and none of them NUL, are all of `whole`. */
static inline bool st_same_part(const char *text, size_t length, const char *whole)
{
    return text[0] == whole[0] && strncmp(text, whole, length) == 0 && whole[length] == '\0';
}

#endif

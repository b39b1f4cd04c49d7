/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of names, each as one text with blanks between them. */
#ifndef STEPTIME_BASE_WORD_SETS_H
#define STEPTIME_BASE_WORD_SETS_H

#include <stdbool.h>
#include <string.h>

static inline bool st_has_word_of(const char *words, const char *name, size_t length)
{
    for (const char *word = words; *word != '\0';) {
        size_t size = strcspn(word, " ");
        if (size == length && memcmp(word, name, size) == 0)
            return true;
        word += size;
        word += strspn(word, " ");
    }
    return false;
}

/* A name with a blank is in no set. */
static inline bool st_has_word(const char *words, const char *name)
{
    return st_has_word_of(words, name, strlen(name));
}

#endif

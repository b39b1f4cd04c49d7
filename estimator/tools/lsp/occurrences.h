/* SPDX-License-Identifier: Apache-2.0 */
/* Where the text of a sheet names a cell, an input, a function or a value. */
#ifndef STEPTIME_LSP_OCCURRENCES_H
#define STEPTIME_LSP_OCCURRENCES_H

#include "lsp/spots.h"
#include "steptime/arena.h"

/* A name, and what may have it: functions and everything else do not see each other's names. */
typedef struct st_lsp_name {
    const char *text;
    bool is_function;
} st_lsp_name;

typedef struct st_lsp_words {
    st_lsp_word *items;
    size_t count;
} st_lsp_words;

/* Every place of the text where the name is meant, in order. */
void st_lsp_find_name(const char *text, size_t length, st_lsp_name name, st_arena *arena,
                      st_lsp_words *words);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a YAML file that is being written: places as editors count them, and what the line of
 * the cursor is part of. Works on lines and indents alone, since half a file has no tree.
 */
#ifndef STEPTIME_LSP_SPOTS_H
#define STEPTIME_LSP_SPOTS_H

#include "steptime/arena.h"

/* A text, and an offset in it in bytes. */
typedef struct st_lsp_spot {
    const char *text; /* NUL-terminated */
    size_t length;
    size_t offset;
} st_lsp_spot;

/* As the protocol counts: from 0, characters in units of UTF-16. */
typedef struct st_lsp_position {
    size_t line;
    size_t character;
} st_lsp_position;

/* Beyond the end of a line or of the text: that end. */
size_t st_lsp_offset(const char *text, size_t length, st_lsp_position position);
/* The same of a place in a message; one without a line is the beginning. */
size_t st_lsp_offset_of_place(const char *text, size_t length, st_place place);
st_lsp_position st_lsp_position_of(const char *text, size_t length, size_t offset);

/* A range of the protocol, from the spot to an offset. */
void st_lsp_put_range(st_buffer *json, st_lsp_spot at, size_t end);

/* The word around an offset: letters, digits, '_' and the characters of `more`. */
typedef struct st_lsp_word {
    size_t start;
    size_t end; /* start: there is none */
} st_lsp_word;

st_lsp_word st_lsp_word_at(st_lsp_spot at, const char *more);

enum { ST_LSP_KEYS = 12, ST_LSP_KEY_BYTES = 80 };

/* What an offset is part of: "parallel", "tp" in "parallel: {tp: 8}". */
typedef struct st_lsp_context {
    char keys[ST_LSP_KEYS][ST_LSP_KEY_BYTES];
    size_t count;
    bool in_value;   /* of the last key; else a key inside of it is being written */
    bool in_comment; /* or deeper than ST_LSP_KEYS */
} st_lsp_context;

void st_lsp_context_at(st_lsp_spot at, st_lsp_context *context);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a language server says of a place in a file: each writes the `result` of its request. */
#ifndef STEPTIME_LSP_ANSWERS_H
#define STEPTIME_LSP_ANSWERS_H

#include "lsp/documents.h"

/* A request about a place; `arena` ends with it. */
typedef struct st_lsp_question {
    const st_documents *documents;
    st_document *document;
    size_t offset;   /* in its text */
    const char *job; /* of the settings */
    st_arena *arena;
} st_lsp_question;

void st_lsp_hover(const st_lsp_question *question, st_buffer *json);
void st_lsp_complete(const st_lsp_question *question, st_buffer *json);
void st_lsp_define(const st_lsp_question *question, st_buffer *json);
/* `name` is the new one; a reason in `errors` and no result where it cannot be. */
st_status st_lsp_rename(const st_lsp_question *question, const char *name, st_buffer *json,
                        st_errors *errors);

/* Where a job or a part has the first of the keys that a message names, as "tp"; 0: none of them.
 */
size_t st_lsp_named_key(const st_document *document, const char *message);

/* What a word of a sheet names; all NULL: nothing. */
typedef struct st_lsp_meaning {
    const st_sheet_input *input;
    const st_sheet_cell *cell; /* the first member of a family */
    const st_sheet_function *function;
    const st_enum *enumeration; /* that has a value of this name, or is called so */
} st_lsp_meaning;

/* `called` asks for functions. */
st_lsp_meaning st_lsp_meaning_of(const st_sheet *sheet, const char *word, bool called);
/* Where it was defined. */
st_place st_lsp_place_of(const st_lsp_meaning *meaning);
/* The word of a sheet at the place, in the arena; "" where there is none. */
const char *st_lsp_name_at(const st_lsp_question *question, bool *called);

#endif

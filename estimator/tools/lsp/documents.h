/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that an editor has open: their texts, which count in place of the disk's, what is wrong
 * with them, and the sheet that they were when they were last free of errors.
 */
#ifndef STEPTIME_LSP_DOCUMENTS_H
#define STEPTIME_LSP_DOCUMENTS_H

#include "lsp/spots.h"
#include "steptime/job.h"
#include "steptime/tool/input_files.h"

typedef enum st_document_kind {
    ST_DOCUMENT_SHEET,
    ST_DOCUMENT_JOB,
    ST_DOCUMENT_PART /* of a job: a model, a cluster, a GPU, a stack */
} st_document_kind;

typedef struct st_document {
    char *uri;
    char *path;
    char *text; /* NUL-terminated */
    size_t length;
    size_t version; /* the editor's number of its text; 0: it gave none */
    bool is_due;    /* its diagnostics are older than its text */
    st_document_kind kind;
    const char *section;   /* of a part: "cluster.gpu" */
    const st_sheet *sheet; /* a sheet: when it was last right; a job: its own; NULL: none so far */
    st_arena *arena;       /* that the sheet lives in */
    char *job; /* that gives a sheet its values; NULL: not looked for, "": there is none */
} st_document;

/* Takes the place of U+0000 in a text for st_documents_put: U+FDD0, which no text has. */
#define ST_LSP_NUL "\xEF\xB7\x90"

enum { ST_DOCUMENTS_MAX = 256 };

typedef struct st_documents {
    st_paths *paths;
    st_document *items[ST_DOCUMENTS_MAX];
    st_edited_file edited[ST_DOCUMENTS_MAX];
    size_t count;
} st_documents;

/* Opens a file or replaces its text; NULL where there are too many, the URI is not a file's or
 * memory ran out. */
st_document *st_documents_put(st_documents *documents, const char *uri, const char *text);
void st_documents_close(st_documents *documents, const char *uri);
st_document *st_documents_find(const st_documents *documents, const char *uri);
void st_documents_free(st_documents *documents);

/* Reads the file anew and reports all that is wrong with it; keeps the sheet where there is one. */
bool st_document_has_key(const st_document *document, const char *key); /* in its outer map */
void st_document_check(const st_documents *documents, st_document *document, st_errors *errors);

/* "/a/b c" of "file:///a/b%20c", NULL where it is none; and back. Both live in the arena. */
char *st_uri_path(const char *uri, st_arena *arena);
const char *st_path_uri(const char *path, st_arena *arena);
/* A path of the working folder from the root; and whether two paths are the same file. */
const char *st_lsp_absolute(const char *path, st_arena *arena);
bool st_lsp_is_same_file(const char *one, const char *other);

#endif

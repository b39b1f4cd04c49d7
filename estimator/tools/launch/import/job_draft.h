/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job file in the making: values by key, each with the words that say where it comes from, and
 * notes at the top. Assignments of the request are never overwritten.
 */
#ifndef STEPTIME_IMPORT_JOB_DRAFT_H
#define STEPTIME_IMPORT_JOB_DRAFT_H

#include "base/memory.h"
#include "launch/import/import.h"

enum { ST_DRAFT_NOTES = 200 };

typedef struct st_draft_value {
    const char *text;   /* as the job file has it; NULL: no value */
    const char *origin; /* for the comment */
} st_draft_value;

/* A key of the source and what became of it. */
typedef enum st_key_fate { ST_FATE_READ, ST_FATE_HARMLESS, ST_FATE_UNKNOWN } st_key_fate;

typedef struct st_source_key {
    const char *name;
    const char *value; /* NULL: a list or a map */
    int line;
    st_key_fate fate;
} st_source_key;

typedef struct st_draft {
    const st_import_request *request;
    st_arena *arena;
    st_errors *errors;
    st_status status; /* of the first error */
    const st_job *given;
    st_draft_value *values; /* by index of the key */
    const char *notes[ST_DRAFT_NOTES];
    size_t note_count;
    const char *cluster;    /* by name; NULL: left open */
    const char *gpu;        /* by name, where the cluster's own is another or there is none */
    const char **constants; /* "NAME=VALUE", carried by the source */
    size_t constant_count;
    const char **files; /* "SECTION=NAME" of other sections */
    size_t file_count;
    bool has_model;      /* named by the request, in place of the source's */
    st_source_key *keys; /* of the source, for a report */
    size_t key_count;
} st_draft;

/* Checks the request's cluster and assignments. */
st_status st_draft_start(st_draft *draft, const st_import_request *request, st_arena *arena,
                         st_errors *errors) ST_NODISCARD;

/* Adds that an allocation failed, once for a draft. */
void st_draft_out_of_memory(st_draft *draft);

/* Gives a key its value, which must be one that a job accepts; `line` is that of the source. */
void st_draft_put(st_draft *draft, const char *path, int line, const char *text,
                  const char *origin);
/* The same of a value in another file than the request's. */
void st_draft_put_at(st_draft *draft, const char *path, st_place place, const char *text,
                     const char *origin);
void st_draft_put_count(st_draft *draft, const char *path, int line, uint64_t value,
                        const char *origin);
void st_draft_put_bool(st_draft *draft, const char *path, bool value, const char *origin);

/* An assignment of the request gives this key. */
bool st_draft_is_given(const st_draft *draft, const char *path);
/* The number of a count, 0 where the key has none. */
uint64_t st_draft_count(const st_draft *draft, const char *path);

/* Memory of the arena, all zero; NULL when out of memory, which the draft remembers. */
void *st_draft_alloc(st_draft *draft, size_t count, size_t size_bytes);
/* The text of a buffer in the arena, and the buffer freed; "" when out of memory, likewise. */
const char *st_draft_keep(st_draft *draft, st_buffer *buffer);
/* Formats a text that lives in the arena; "" when out of memory, which the draft remembers. */
const char *st_draft_text(st_draft *draft, const char *format, ...) ST_PRINTF(2, 3);
/* A comment of one paragraph; it may have blanks but no line ends. */
void st_draft_note(st_draft *draft, const char *format, ...) ST_PRINTF(2, 3);

/* Remembers a key of the source; of one that is known, a fate other than read. */
void st_draft_key(st_draft *draft, const char *name, const char *value, int line, st_key_fate fate);

/* What the job calls its source: the last part of the path, not where this machine keeps it. */
const char *st_draft_source(const st_draft *draft);

/* A paragraph of a comment, "# ..." wrapped at blanks, with '?' for what is not printable ASCII. */
void st_comment_write(const char *text, st_buffer *buffer);

/* Appends the file: `title` is the comment that it begins with. Only where nothing failed. */
st_status st_draft_write(st_draft *draft, const char *title, st_buffer *buffer) ST_NODISCARD;

#endif

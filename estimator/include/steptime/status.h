/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status codes and the error list.
 *
 * Every function that can fail returns an st_status and takes an st_errors list. The first
 * function that knows the cause adds one st_error with its place in the input; callers only pass
 * the status on. A reader goes on after an error where it can, so that a user sees all errors of a
 * file in one run.
 */
#ifndef STEPTIME_STATUS_H
#define STEPTIME_STATUS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ST_NODISCARD __attribute__((warn_unused_result))
#define ST_PRINTF(format_index, first_index)                                                       \
    __attribute__((format(printf, format_index, first_index)))
#define ST_INLINE static inline __attribute__((unused))
#else
#define ST_INLINE static inline
#define ST_NODISCARD
#define ST_PRINTF(format_index, first_index)
#endif
#define ST_API __attribute__((visibility("default")))

typedef enum st_status {
    ST_OK = 0,
    ST_ERR_MEMORY = -1,   /* an allocation failed */
    ST_ERR_IO = -2,       /* a file cannot be read or written */
    ST_ERR_SYNTAX = -3,   /* text does not follow its grammar */
    ST_ERR_VALUE = -4,    /* a value of the wrong kind or out of its range */
    ST_ERR_UNIT = -5,     /* units or dimensions do not agree */
    ST_ERR_NAME = -6,     /* a name is unknown, missing or used twice */
    ST_ERR_LIMIT = -7,    /* input is larger, deeper or longer than allowed */
    ST_ERR_CYCLE = -8,    /* cells, functions or files that depend on themselves */
    ST_ERR_MATH = -9,     /* a cell has no finite value */
    ST_ERR_CHECK = -10,   /* a check of the sheet fails: the configuration makes no sense */
    ST_ERR_USAGE = -11,   /* an invalid argument of a function or of the command line */
    ST_ERR_PROVIDER = -12 /* a provider refused, failed or returned an impossible value */
} st_status;

/* One line of English for a status, never NULL. */
ST_API const char *st_status_text(st_status status);

typedef enum st_severity {
    ST_SEVERITY_ERROR,
    ST_SEVERITY_WARNING,
    ST_SEVERITY_LIMIT /* a limit is exceeded, such as a GPU's memory; the values are kept */
} st_severity;

/* A place in an input; line and column count from 1, 0 where they make no sense. */
typedef struct st_place {
    const char *file; /* path, "--set", "<embedded>/..." or NULL */
    int line;
    int column; /* in characters (UTF-8 code points) */
} st_place;

/* Text of one file, owned by the arena that was passed to whoever reads it. */
typedef struct st_source {
    const char *file; /* how to name it in messages and where relative includes start */
    const char *text;
    size_t length;
    const struct st_yaml_packed *tree; /* of the library's own files; NULL for all others */
} st_source;

/* One error. Texts may be NULL where they add nothing; `message` may not. */
typedef struct st_error {
    st_status status;
    st_severity severity;
    st_place place;
    const char *message;    /* what is wrong, e.g. "unknown key 'hiden' in model" */
    const char *found;      /* what was found, e.g. "'3.5'" */
    const char *expected;   /* what is valid, e.g. "a whole number of at least 1" */
    const char *suggestion; /* nearest valid name, or a remedy as a sentence fragment */
} st_error;

/* A list of errors in the order in which they were found; owns the texts of its entries. */
typedef struct st_errors st_errors;

enum { ST_ERRORS_KEPT = 50 };

/* Returns NULL when out of memory. */
ST_API st_errors *st_errors_create(void);
ST_API void st_errors_destroy(st_errors *errors); /* NULL is fine */

/*
 * Copies `error` with all its texts to the end of the list and returns error->status, so that a
 * caller can write `return st_errors_add(...)`. Beyond ST_ERRORS_KEPT entries (an input that is
 * wrong everywhere) entries are counted but not kept; a kept warning gives way to an error. Texts
 * of more than 2000 bytes lose their middle. `errors` may be NULL: then only the status counts.
 */
ST_API st_status st_errors_add(st_errors *errors, const st_error *error);

/*
 * Adds an error with a printf format and returns `status`. What follows ST_FOUND, ST_EXPECTED
 * and ST_HINT in the format fills the other texts of the entry; an empty text counts
 * as absent:
 *
 *     return st_fail(errors, ST_ERR_VALUE, place, "invalid value of %s" ST_FOUND "'%s'" ST_EXPECTED
 *                    "at least %d", name, text, least);
 *
 * Nothing is formatted when no further error would be kept.
 */
ST_API st_status st_fail(st_errors *errors, st_status status, st_place place, const char *format,
                         ...) ST_PRINTF(4, 5);
#define ST_FOUND    "\x1c"
#define ST_EXPECTED "\x1d"
#define ST_HINT     "\x1e" /* the suggestion */

/* A stage that goes on after errors ends with the status of the first. */
ST_INLINE void st_note(st_status *first, st_status status)
{
    if (*first == ST_OK)
        *first = status;
}

/* A text for one of these parts that may be NULL. */
ST_INLINE const char *st_or_none(const char *text)
{
    return text != NULL ? text : "";
}

/* The same with the arguments of a function that is formatted like it. */
ST_API st_status st_vfail(st_errors *errors, st_status status, st_place place, const char *format,
                          va_list arguments) ST_PRINTF(4, 0);

/* The same at any severity: a warning and an exceeded limit give ST_OK. */
ST_API st_status st_report(st_errors *errors, st_severity severity, st_status status,
                           st_place place, const char *format, ...) ST_PRINTF(5, 6);

/*
 * Formats a text for an entry that lives as long as the list; never NULL: "" when out of memory,
 * when `errors` is NULL and when no further error would be kept.
 */
ST_API const char *st_errors_text(st_errors *errors, const char *format, ...) ST_PRINTF(2, 3);

/* No further error would be kept: costly suggestions may be left out. True for NULL. */
ST_API bool st_errors_full(const st_errors *errors);

/* All that were added, kept or not. */
ST_API size_t st_errors_count(const st_errors *errors, st_severity severity);
ST_API size_t st_errors_size(const st_errors *errors); /* kept entries of any severity */
ST_API const st_error *st_errors_at(const st_errors *errors, size_t index);
/* Status of the first error, ST_OK when there are only warnings and limits, or nothing. */
ST_API st_status st_errors_status(const st_errors *errors);
ST_API void st_errors_clear(st_errors *errors); /* as new; texts of entries are gone */

/*
 * One line, "file:line:column: error: message: found F, expected E; did you mean 'S'?"; "A or
 * B" gives "did you mean 'A' or 'B'?", and any other suggestion with blanks is a remedy and shown
 * as it is: "...; write it without the comma". Controls are escaped and long texts shortened.
 */
ST_API void st_error_write(const st_error *error, FILE *stream);
/* Every kept entry on a line, equal ones on one, then how many more there were. */
ST_API void st_errors_write(const st_errors *errors, FILE *stream);

/*
 * The candidate nearest to `name` by edit distance (transpositions count once, case is ignored at a
 * small price), or NULL where none is near enough to be a likely typo.
 */
ST_API const char *st_nearest(const char *name, const char *const *candidates, size_t count);
/* The same for the text behind ST_HINT: "" where there is none or the error would be dropped. */
ST_API const char *st_errors_nearest(const st_errors *errors, const char *name,
                                     const char *const *candidates, size_t count);

#ifdef __cplusplus
}
#endif
#endif

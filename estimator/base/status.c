/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error list, bounded in entries and in the length of their texts: an input that is wrong
 * everywhere costs no more memory than one that is wrong fifty times.
 */
#include "steptime/arena.h"

#include "base/error_scope.h"
#include "base/oom_flag.h"
#include "base/lists.h"
#include "base/print.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum {
    STORED_TEXT_BYTES = 2000, /* of each text of an entry */
    TAIL_BYTES = 24           /* kept at the end of a shortened text, closing quote included */
};

struct st_errors {
    st_arena *texts;
    st_error kept[ST_ERRORS_KEPT];
    size_t kept_count;
    size_t total[3]; /* by severity, kept or not */
    st_status first_status;
    st_error_scope *scope; /* the innermost; NULL: none */
};

const char *st_status_text(st_status status)
{
    switch (status) {
    case ST_OK:
        return "success";
    case ST_ERR_MEMORY:
        return "out of memory";
    case ST_ERR_IO:
        return "cannot read or write a file";
    case ST_ERR_SYNTAX:
        return "syntax error";
    case ST_ERR_VALUE:
        return "wrong type or value out of range";
    case ST_ERR_UNIT:
        return "units do not match";
    case ST_ERR_NAME:
        return "unknown, missing or duplicate name";
    case ST_ERR_LIMIT:
        return "input exceeds a limit";
    case ST_ERR_CYCLE:
        return "circular dependency";
    case ST_ERR_MATH:
        return "a cell has no finite value";
    case ST_ERR_CHECK:
        return "a check of the sheet fails";
    case ST_ERR_USAGE:
        return "unknown item or option requested";
    case ST_ERR_PROVIDER:
        return "a provider failed";
    }
    return "unknown status";
}

st_errors *st_errors_create(void)
{
    st_errors *errors = calloc(1, sizeof *errors);
    if (errors == NULL) {
        st_oom_note();
        return NULL;
    }
    errors->texts = st_arena_create();
    if (errors->texts == NULL) {
        free(errors);
        return NULL;
    }
    return errors;
}

void st_errors_destroy(st_errors *errors)
{
    if (errors == NULL)
        return;
    st_arena_destroy(errors->texts);
    free(errors);
}

/* Copies a text, without its middle where it is very long. NULL stays NULL. */
static const char *keep_text(st_errors *errors, const char *text)
{
    if (text == NULL)
        return NULL;
    size_t length = strlen(text);
    if (length <= STORED_TEXT_BYTES) {
        const char *copy = st_arena_copy(errors->texts, text, length);
        return copy != NULL ? copy : "";
    }
    size_t head = st_utf8_cut(text, length, STORED_TEXT_BYTES - TAIL_BYTES);
    size_t tail = st_utf8_cut(text, length, length - TAIL_BYTES);
    const char *copy = st_arena_printf(errors->texts, "%.*s...%s", (int)head, text, text + tail);
    return copy != NULL ? copy : "";
}

static bool is_same(const st_error *left, const st_error *right)
{
    return left->severity == right->severity && left->place.line == right->place.line &&
           strcmp(st_or_none(left->place.file), st_or_none(right->place.file)) == 0 &&
           strcmp(st_or_none(left->message), st_or_none(right->message)) == 0 &&
           strcmp(st_or_none(left->found), st_or_none(right->found)) == 0;
}

st_status st_errors_add(st_errors *errors, const st_error *error)
{
    if (error->status == ST_ERR_MEMORY)
        st_oom_note();
    if (errors == NULL)
        return error->status;
    st_error kept = *error;
    for (st_error_scope *scope = errors->scope; scope != NULL; scope = scope->outer)
        if (!scope->edit(scope->context, errors, &kept))
            return kept.status;
    error = &kept;
    bool is_error = error->severity == ST_SEVERITY_ERROR;
    /* A search and the estimate of its plan warn of the same. */
    for (size_t i = 0; i < errors->kept_count && !is_error; i++)
        if (is_same(&errors->kept[i], error))
            return error->status;
    errors->total[error->severity]++;
    if (is_error && errors->first_status == ST_OK)
        errors->first_status = error->status;
    /* A place for one more entry. Warnings give way to errors: a user must see why a command
     * failed, however many warnings came first. */
    st_error *entry;
    const st_severity severity = error->severity;
    if (errors->kept_count < ST_ERRORS_KEPT) {
        entry = &errors->kept[errors->kept_count++];
    } else if (severity == ST_SEVERITY_WARNING) {
        entry = NULL;
    } else {
        size_t victim = ST_ERRORS_KEPT;
        while (victim > 0 && errors->kept[victim - 1].severity != ST_SEVERITY_WARNING)
            victim--;
        if (victim == 0) {
            entry = NULL;
        } else {
            memmove(&errors->kept[victim - 1], &errors->kept[victim],
                    (ST_ERRORS_KEPT - victim) * sizeof errors->kept[0]);
            entry = &errors->kept[ST_ERRORS_KEPT - 1];
        }
    }
    if (entry == NULL)
        return error->status;
    *entry = *error;
    entry->place.file = keep_text(errors, error->place.file);
    entry->message = keep_text(errors, error->message);
    if (st_arena_failed(errors->texts))
        entry->message = st_status_text(error->status);
    entry->found = keep_text(errors, error->found);
    entry->expected = keep_text(errors, error->expected);
    entry->suggestion = keep_text(errors, error->suggestion);
    return error->status;
}

/* No further error can be kept, so that texts for one would only cost memory. */
static bool is_full(const st_errors *errors)
{
    if (errors->kept_count < ST_ERRORS_KEPT)
        return false;
    for (size_t i = 0; i < ST_ERRORS_KEPT; i++)
        if (errors->kept[i].severity == ST_SEVERITY_WARNING)
            return false;
    return true;
}

const char *st_errors_text(st_errors *errors, const char *format, ...)
{
    if (errors == NULL || is_full(errors))
        return "";
    va_list arguments;
    va_start(arguments, format);
    const char *text = st_arena_vprintf(errors->texts, format, arguments);
    va_end(arguments);
    return st_or_none(text);
}

bool st_errors_full(const st_errors *errors)
{
    return errors == NULL || is_full(errors);
}

/* Clang wants each format to be a literal; these begin one that the compiler has checked. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static size_t formatted_length(const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    return length < 0 ? 0 : (size_t)length;
}

static void add_formatted(st_errors *errors, st_error error, const char *format, va_list arguments)
{
    char *text = NULL;
    char *cut = NULL;
    error.message = st_status_text(error.status);
    if (!st_errors_full(errors)) {
        size_t size = formatted_length(format, arguments) + 1;
        text = calloc(size, 1);
        cut = malloc(strlen(format) + 1);
        if (text != NULL && cut != NULL) {
            va_list again;
            va_copy(again, arguments);
            (void)vsnprintf(text, size, format, again);
            va_end(again);
            memcpy(cut, format, strlen(format) + 1);
            /*
             * Cuts `text` where the marks of `format` came out. Arguments may hold any byte, marks
             * too: how much the format up to its mark writes gives the places.
             */
            static const char marks[] = ST_FOUND ST_EXPECTED ST_HINT;
            const char **parts[] = {&error.found, &error.expected, &error.suggestion};
            error.message = text;
            for (char *at = strpbrk(cut, marks); at != NULL; at = strpbrk(at + 1, marks)) {
                char mark = *at;
                *at = '\0';
                size_t end = formatted_length(cut, arguments);
                *at = mark;
                text[end] = '\0';
                *parts[strchr(marks, mark) - marks] = text + end + 1;
            }
            for (size_t i = 0; i < ST_COUNT(parts); i++)
                if (*parts[i] != NULL && **parts[i] == '\0')
                    *parts[i] = NULL;
        } else {
            st_oom_note();
        }
    }
    (void)st_errors_add(errors, &error);
    free(cut);
    free(text);
}

#pragma GCC diagnostic pop

st_status st_vfail(st_errors *errors, st_status status, st_place place, const char *format,
                   va_list arguments)
{
    add_formatted(errors, (st_error){.status = status, .place = place}, format, arguments);
    return status;
}

st_status st_fail(st_errors *errors, st_status status, st_place place, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)st_vfail(errors, status, place, format, arguments);
    va_end(arguments);
    return status;
}

st_status st_report(st_errors *errors, st_severity severity, st_status status, st_place place,
                    const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    st_error error = {.status = status, .severity = severity, .place = place};
    add_formatted(errors, error, format, arguments);
    va_end(arguments);
    return severity == ST_SEVERITY_ERROR ? status : ST_OK;
}

void st_errors_enter(st_errors *errors, st_error_scope *scope)
{
    if (errors == NULL)
        return;
    scope->outer = errors->scope;
    errors->scope = scope;
}

void st_errors_leave(st_errors *errors, const st_error_scope *scope)
{
    if (errors != NULL)
        errors->scope = scope->outer;
}

bool st_error_is_severe(const void *context, st_errors *errors, st_error *error)
{
    (void)context;
    (void)errors;
    return error->severity == ST_SEVERITY_ERROR;
}

bool st_error_name(const void *context, st_errors *errors, st_error *error)
{
    error->message = st_errors_text(errors, "%s: %s", (const char *)context, error->message);
    return true;
}

size_t st_errors_count(const st_errors *errors, st_severity severity)
{
    return errors != NULL ? errors->total[severity] : 0;
}

size_t st_errors_size(const st_errors *errors)
{
    return errors != NULL ? errors->kept_count : 0;
}

const st_error *st_errors_at(const st_errors *errors, size_t index)
{
    return index < st_errors_size(errors) ? &errors->kept[index] : NULL;
}

st_status st_errors_status(const st_errors *errors)
{
    return errors != NULL ? errors->first_status : ST_OK;
}

void st_errors_clear(st_errors *errors)
{
    st_arena *fresh = st_arena_create();
    if (fresh != NULL) {
        st_arena_destroy(errors->texts);
        errors->texts = fresh;
    }
    errors->kept_count = 0;
    memset(errors->total, 0, sizeof errors->total);
    errors->first_status = ST_OK;
}

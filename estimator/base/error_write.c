/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors as lines of text. What a message quotes comes from strangers: controls are escaped and
 * long texts lose their middle, so that an input can neither flood a terminal nor steer it.
 */
#include "steptime/arena.h"

#include "base/utf8.h"

#include <string.h>

enum {
    FOUND_BYTES = 120,
    MESSAGE_BYTES = 1000,
    OTHER_BYTES = 400,
    TAIL_BYTES = 16 /* shown at the end of a shortened text */
};

static void write_escaped(const char *text, size_t length, FILE *stream)
{
    for (size_t i = 0; i < length;) {
        uint32_t code = 0;
        size_t size = st_utf8_decode(text + i, length - i, &code);
        if (size == 0) {
            fprintf(stream, "\\x%02X", (unsigned)(unsigned char)text[i]);
            size = 1;
        } else if (code == '\n') {
            fputs("\\n", stream);
        } else if (code == '\t') {
            fputs("\\t", stream);
        } else if (st_utf8_is_control(code)) {
            fprintf(stream, code < 0x100 ? "\\x%02X" : "\\u%04X", (unsigned)code);
        } else {
            (void)fwrite(text + i, 1, size, stream);
        }
        i += size;
    }
}

static void write_text(const char *text, size_t limit, FILE *stream)
{
    size_t length = strlen(text);
    if (length <= limit) {
        write_escaped(text, length, stream);
        return;
    }
    size_t head = st_utf8_cut(text, length, limit - TAIL_BYTES);
    size_t tail = st_utf8_cut(text, length, length - TAIL_BYTES);
    write_escaped(text, head, stream);
    fputs("...", stream);
    write_escaped(text + tail, length - tail, stream);
}

static void write_place(const st_place *place, FILE *stream)
{
    if (place->file != NULL) {
        write_text(place->file, OTHER_BYTES, stream);
        if (place->line > 0)
            fprintf(stream, ":%d", place->line);
        if (place->line > 0 && place->column > 0)
            fprintf(stream, ":%d", place->column);
        if (place->line <= 0 && place->column > 0)
            fprintf(stream, ": column %d", place->column);
    } else if (place->line > 0 && place->column > 0) {
        fprintf(stream, "line %d, column %d", place->line, place->column);
    } else if (place->line > 0) {
        fprintf(stream, "line %d", place->line);
    } else if (place->column > 0) {
        fprintf(stream, "column %d", place->column);
    } else {
        return;
    }
    fputs(": ", stream);
}

static bool is_given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

void st_error_write(const st_error *error, FILE *stream)
{
    write_place(&error->place, stream);
    fputs(error->severity == ST_SEVERITY_WARNING ? "warning: " : "error: ", stream);
    write_text(is_given(error->message) ? error->message : st_status_text(error->status),
               MESSAGE_BYTES, stream);
    bool has_found = is_given(error->found);
    if (has_found) {
        fputs(": found ", stream);
        write_text(error->found, FOUND_BYTES, stream);
    }
    if (is_given(error->expected)) {
        fputs(has_found ? ", expected " : ": expected ", stream);
        write_text(error->expected, OTHER_BYTES, stream);
    }
    if (is_given(error->suggestion)) {
        /* A suggestion of one word, or of two with "or" between them, is a name; more words are a
         * remedy that reads as it is. */
        const char *suggestion = error->suggestion;
        const char *joint = strstr(suggestion, " or ");
        const char *blank = strchr(suggestion, ' ');
        if (blank != NULL && (blank != joint || strchr(joint + strlen(" or "), ' ') != NULL)) {
            fputs("; ", stream);
            write_text(suggestion, OTHER_BYTES, stream);
        } else {
            fputs("; did you mean '", stream);
            if (joint != NULL) {
                write_escaped(suggestion, (size_t)(joint - suggestion), stream);
                fputs("' or '", stream);
                suggestion = joint + strlen(" or ");
            }
            write_text(suggestion, OTHER_BYTES, stream);
            fputs("'?", stream);
        }
    }
    fputc('\n', stream);
}

static void write_rest(size_t count, const char *noun, FILE *stream)
{
    if (count > 0)
        fprintf(stream, "%zu more %s%s not shown\n", count, noun, count == 1 ? "" : "s");
}

static bool is_same_text(const char *left, const char *right)
{
    return left == right || (left != NULL && right != NULL && strcmp(left, right) == 0);
}

static bool is_same(const st_error *left, const st_error *right)
{
    return left->severity == right->severity && left->place.line == right->place.line &&
           left->place.column == right->place.column &&
           is_same_text(left->place.file, right->place.file) &&
           is_same_text(left->message, right->message) && is_same_text(left->found, right->found) &&
           is_same_text(left->expected, right->expected) &&
           is_same_text(left->suggestion, right->suggestion);
}

void st_errors_write(const st_errors *errors, FILE *stream)
{
    size_t shown[2] = {0, 0};
    size_t errors_in_all =
        st_errors_count(errors, ST_SEVERITY_ERROR) + st_errors_count(errors, ST_SEVERITY_LIMIT);
    for (size_t i = 0; i < st_errors_size(errors); i++) {
        const st_error *error = st_errors_at(errors, i);
        shown[error->severity == ST_SEVERITY_WARNING ? ST_SEVERITY_WARNING : ST_SEVERITY_ERROR]++;
        /* An error that several values or jobs run into is one line to its reader. */
        bool is_told = false;
        for (size_t j = 0; j < i; j++)
            if (is_same(st_errors_at(errors, j), st_errors_at(errors, i))) {
                is_told = true;
                break;
            }
        if (!is_told)
            st_error_write(error, stream);
    }
    write_rest(errors_in_all - shown[ST_SEVERITY_ERROR], "error", stream);
    write_rest(st_errors_count(errors, ST_SEVERITY_WARNING) - shown[ST_SEVERITY_WARNING], "warning",
               stream);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void st_limits_say(const st_errors *errors, st_node *root)
{
    for (size_t i = 0; i < st_errors_size(errors); i++) {
        const st_error *error = st_errors_at(errors, i);
        if (error->severity != ST_SEVERITY_LIMIT)
            continue;
        st_say_ink(root, ST_INK_BAD, "TOO LARGE");
        st_say(root, "  ");
        st_say_wrapped(root, error->message, 11, 2);
        st_say(root, "\n\n");
    }
}

void st_limits_put(const st_errors *errors, st_node *root)
{
    st_node *list = NULL;
    for (size_t i = 0; i < st_errors_size(errors); i++) {
        const st_error *error = st_errors_at(errors, i);
        if (error->severity != ST_SEVERITY_LIMIT)
            continue;
        if (list == NULL) {
            st_put_bool(root, "fits", false);
            list = st_put_list(root, "checks");
        }
        st_node *row = st_put_line_map(list, NULL);
        st_put_text(row, "level", "limit");
        st_put_bool(row, "holds", false);
        st_put_text(row, "message", error->message);
        st_put_place(row, "place", error->place);
    }
}

static void put_warnings(const st_errors *errors, bool aloud, st_node *root)
{
    st_node *list = st_put_list(root, "warnings");
    if (aloud && st_errors_count(errors, ST_SEVERITY_WARNING) > 0)
        st_say_title(root, "Warnings");
    for (size_t i = 0; i < st_errors_size(errors); i++) {
        st_buffer line = {0};
        if (st_errors_at(errors, i)->severity != ST_SEVERITY_WARNING)
            continue;
        /* An error as one line without a newline, as st_error_write shows it. */
        const st_error *error = st_errors_at(errors, i);
        char *text = NULL;
        size_t length = 0;
        FILE *stream = open_memstream(&text, &length);
        if (stream == NULL) {
            line.failed = true;
        } else {
            st_error_write(error, stream);
            bool whole = ferror(stream) == 0;
            if (fclose(stream) != 0 || !whole ||
                text == NULL) /* NULL: no memory at the end, with 0 */
                line.failed = true;
            else
                st_buffer_append(&line, text, length > 0 ? length - 1 : 0);
            free(text);
        }
        st_put_text(list, NULL, st_buffer_read(&line));
        if (aloud) {
            st_say(root, "  ");
            st_say_wrapped(root, st_buffer_read(&line), 2, 4);
            st_say(root, "\n");
        }
        st_buffer_end(&line, &root->result->failed);
    }
}

void st_warnings_put(const st_errors *errors, st_node *root)
{
    static const char name[] = "warnings";
    if (st_errors_count(errors, ST_SEVERITY_WARNING) > 0 &&
        st_node_find(root, name, strlen(name)) == NULL)
        put_warnings(errors, false, root);
}

void st_report_warnings(const st_errors *errors, st_node *root)
{
    put_warnings(errors, true, root);
}

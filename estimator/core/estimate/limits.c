/* SPDX-License-Identifier: Apache-2.0 */
/* Limits that a job exceeds; see report.h. */
#include "estimate/report.h"

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

const char *st_check_message(const st_errors *errors, const st_sheet_check *check)
{
    const st_place *place = &check->place;
    for (size_t i = 0; i < st_errors_size(errors); i++) {
        const st_error *error = st_errors_at(errors, i);
        bool same = error->status == ST_ERR_CHECK && error->place.line == place->line &&
                    error->place.column == place->column && error->place.file != NULL &&
                    place->file != NULL && strcmp(error->place.file, place->file) == 0;
        if (same)
            return error->message;
    }
    return NULL;
}

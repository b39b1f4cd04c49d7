/* SPDX-License-Identifier: Apache-2.0 */
/* Roles, reports and explanations of an estimate; see steptime/estimate.h. */
#include "estimate/handle.h"

#include "base/memory.h"
#include "base/sized_struct.h"
#include "estimate/brief_report.h"
#include "estimate/report.h"
#include "steptime/tool/roles.h"

#include <string.h>

enum {
    DEPTH_MAX = 1000, /* levels; nobody reads deeper, and every level costs a call */
    DIGITS_MAX = 17
};

/* ---- roles ---- */

/* The nearest role of the same length of name, or of the parts of the one that is named before the
 * point. */
static void unknown_role(const char *name, const st_role_row *head, st_errors *errors)
{
    const char *names[ST_ROLES]; /* more than any role has parts */
    size_t count = 0;
    for (st_role role = 0; head == NULL && role < ST_ROLES; role++)
        names[count++] = st_role_describe(role)->name;
    for (size_t i = 0; head != NULL && head->parts[i] != NULL && count < ST_ROLES; i++)
        names[count++] = st_errors_text(errors, "%s.%s", head->name, head->parts[i]);
    (void)st_fail(errors, ST_ERR_NAME, (st_place){0},
                  "unknown role '%s'" ST_EXPECTED "a role of docs/sheet-language.md" ST_HINT "%s",
                  name, st_errors_nearest(errors, name, names, count));
}

/* The cell that fills "step" or "communication.hidden"; NULL, with an error, where none does. */
static const char *cell_of_role(const st_sheet *sheet, const char *name, st_errors *errors)
{
    size_t length = strcspn(name, ".");
    for (st_role role = 0; role < ST_ROLES; role++) {
        const st_role_row *row = st_role_describe(role);
        if (strlen(row->name) != length || strncmp(row->name, name, length) != 0)
            continue;
        bool is_part = false;
        for (size_t part = 0; row->parts[part] != NULL; part++) {
            const char *cell = st_sheet_role_part(sheet, role, part);
            bool is_meant =
                name[length] == '\0' ? part == 0 : strcmp(row->parts[part], name + length + 1) == 0;
            if (is_meant && cell != NULL)
                return cell;
            is_part |= is_meant;
        }
        if (!is_part) {
            unknown_role(name, row, errors);
            return NULL;
        }
        (void)st_fail(errors, ST_ERR_NAME, (st_place){0},
                      "sheet '%s' has no cell with the role '%s'" ST_EXPECTED "%s",
                      st_sheet_name(sheet), name, row->doc);
        return NULL;
    }
    unknown_role(name, NULL, errors);
    return NULL;
}

st_status st_estimate_read_role(st_estimate *estimate, const char *role, st_estimate_cell *cell,
                                st_errors *errors)
{
    const char *name = cell_of_role(estimate->sheet, role, errors);
    return name != NULL ? st_estimate_read(estimate, name, cell, errors) : ST_ERR_NAME;
}

/* ---- reports ---- */

void st_view_write(const st_result *result, const st_estimate_view *view, st_buffer *buffer)
{
    static const st_form forms[] = {[ST_ESTIMATE_TEXT] = ST_FORM_TEXT,
                                    [ST_ESTIMATE_JSON] = ST_FORM_JSON,
                                    [ST_ESTIMATE_CSV] = ST_FORM_CSV,
                                    [ST_ESTIMATE_SVG] = ST_FORM_TEXT}; /* has none here */
    const st_paint paint = {.color = view->color, .width = view->width};
    st_result_write(result, forms[view->form], &paint, buffer);
}

st_status st_view_read(const st_estimate_view *view, st_estimate_view *asked, st_errors *errors)
{
    st_status status = st_sized_take(view, asked, sizeof *asked, errors);
    if (status == ST_OK && (unsigned)asked->form > ST_ESTIMATE_SVG)
        return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                       "unknown form %d" ST_EXPECTED "text, JSON, CSV or SVG", (int)asked->form);
    return status;
}

/* A report says what is wrong with its values, also where a reading before has said it elsewhere.
 */
static void judge_again(st_estimate_handle *handle, const st_errors *errors)
{
    for (size_t i = 0; i < st_errors_size(errors); i++)
        if (st_errors_at(errors, i)->status == ST_ERR_CHECK)
            return;
    handle->is_judged = false;
}

st_status st_estimate_write(st_estimate *estimate, const st_estimate_view *view, st_buffer *buffer,
                            st_errors *errors)
{
    st_estimate_handle *handle = st_estimate_handle_of(estimate);
    st_estimate_view asked;
    st_status status = st_view_read(view, &asked, errors);
    bool is_brief = status == ST_OK && asked.form == ST_ESTIMATE_TEXT && !asked.all;
    if (status == ST_OK) {
        judge_again(handle, errors);
        status = st_estimate_complete(handle, !is_brief && asked.form != ST_ESTIMATE_SVG, errors);
    }
    if (status != ST_OK)
        return status;
    st_arena *arena = st_arena_create();
    if (arena == NULL)
        return st_out_of_memory(errors);
    st_result result;
    const st_brief brief = {.cite = asked.cite, .quiet = asked.quiet};
    if (asked.form == ST_ESTIMATE_SVG)
        status = st_summary_svg(estimate, arena, buffer, errors);
    else if (is_brief)
        status = st_estimate_brief(estimate, &brief, errors, arena, &result);
    else
        st_estimate_report(estimate, errors, arena, &result);
    if (status == ST_OK && asked.form != ST_ESTIMATE_SVG)
        st_view_write(&result, &asked, buffer);
    st_arena_destroy(arena);
    if (status != ST_OK)
        return status;
    return buffer->failed ? st_out_of_memory(errors) : ST_OK;
}

static st_status read_explain_view(const st_estimate_view *view, const char *cell,
                                   st_estimate_view *asked, st_explain_view *wanted,
                                   st_errors *errors)
{
    st_status status = st_view_read(view, asked, errors);
    if (status != ST_OK)
        return status;
    if (asked->form == ST_ESTIMATE_CSV || asked->form == ST_ESTIMATE_SVG)
        return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                       "an explanation is neither a table nor a picture" ST_EXPECTED
                       "text or JSON");
    if (asked->digits > DIGITS_MAX)
        return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                       "invalid number of digits" ST_FOUND "%zu" ST_EXPECTED "from 1 to 17, or 0",
                       asked->digits);
    bool is_short = asked->levels > 0 && asked->levels <= DEPTH_MAX;
    *wanted = (st_explain_view){.cell = cell,
                                .depth = is_short ? (int)asked->levels - 1 : DEPTH_MAX,
                                .style = asked->digits > 0 ? ST_STYLE_DIGITS((int)asked->digits)
                                                           : ST_STYLE_SCALED};
    return ST_OK;
}

/* All of it if that fits, else as large a tree as does. */
static void write_explanation(const st_estimate *estimate, const st_explanation *explanation,
                              const st_estimate_view *view, st_arena *arena, st_buffer *buffer,
                              st_errors *errors)
{
    size_t rows = 0;
    for (size_t lines = SIZE_MAX; lines > 0;) {
        st_buffer text = {0};
        st_result result = {.arena = arena};
        st_explanation_report(estimate, explanation, rows, errors, &result);
        st_view_write(&result, view, &text);
        size_t count = 0;
        for (const char *at = st_buffer_read(&text); *at != '\0'; at++)
            count += *at == '\n' ? 1 : 0;
        bool fits = view->form != ST_ESTIMATE_TEXT || view->lines == 0 || count <= view->lines;
        lines = rows == 0 ? view->lines + 1 : rows;
        size_t over = rows == 0 ? 1 : (count - view->lines + 3) / 4;
        if (fits || over >= lines) {
            st_buffer_text(buffer, st_buffer_read(&text));
            lines = 0;
        }
        rows = fits ? 0 : lines - over;
        st_buffer_end(&text, &buffer->failed);
    }
}

st_status st_estimate_explain(st_estimate *estimate, const char *cell, const st_estimate_view *view,
                              st_buffer *buffer, st_errors *errors)
{
    st_estimate_handle *handle = st_estimate_handle_of(estimate);
    const st_explanation *explanation = NULL;
    st_estimate_view asked;
    st_explain_view wanted;
    double value = 0;
    st_status status = read_explain_view(view, cell, &asked, &wanted, errors);
    if (status == ST_OK)
        status = st_handle_look(handle, &cell, 1, &value, errors);
    if (status == ST_OK)
        status = st_handle_judge(handle, errors);
    if (status != ST_OK)
        return status;
    st_arena *arena = st_arena_create();
    if (arena == NULL)
        return st_out_of_memory(errors);
    status = st_program_explain_view(st_handle_program_of(handle, cell), estimate->input_values,
                                     &wanted, arena, &explanation, errors);
    if (status == ST_OK)
        write_explanation(estimate, explanation, &asked, arena, buffer, errors);
    st_arena_destroy(arena);
    if (status != ST_OK)
        return status;
    return buffer->failed ? st_out_of_memory(errors) : ST_OK;
}

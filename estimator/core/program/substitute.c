/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of a formula is walked along with its text: names give way to values, the rest stays. */
#include "program/substitute.h"

#include <string.h>

double st_show_name(st_session *session, const st_formula_view *shown, const st_expr *name,
                    const st_type **type)
{
    const st_sheet *sheet = session->program->sheet;
    switch (name->name_kind) {
    case ST_NAME_INPUT:
        *type = &sheet->inputs[name->index].type;
        break;
    case ST_NAME_CELL:
        *type = &sheet->cells[name->index].type;
        break;
    case ST_NAME_ARGUMENT:
        *type = &shown->function->arguments[name->index].type;
        break;
    case ST_NAME_VALUE:
    case ST_NAME_FUNCTION:
    case ST_NAME_UNKNOWN:
        *type = st_expr_type(name);
        break;
    }
    return st_session_value(session, name, shown->scope);
}

/* Copies the text between the names, and the values of the names; returns how far it came. */
static size_t show_tree(st_session *session, const st_formula_view *shown, const st_expr *expr,
                        size_t position, st_buffer *buffer)
{
    if (expr->kind == ST_EXPR_NAME && expr->name_kind != ST_NAME_VALUE) {
        const st_type *type = NULL;
        double value = st_show_name(session, shown, expr, &type);
        st_buffer_append(buffer, shown->text + position, expr->operator_offset - position);
        /* Appends a value as the language would write it: "16.73[s]", "8", "(-2)", "full". */
        st_style style = session->style;
        char text[ST_QUANTITY_TEXT];
        (void)st_type_format(type, value, style, text, sizeof(text));
        char *blank = type->kind == ST_TYPE_NUMBER ? strchr(text, ' ') : NULL;
        if (type->kind == ST_TYPE_BOOL) {
            st_buffer_text(buffer, value == 1.0 ? "true" : value == 0.0 ? "false" : text);
        } else if (blank != NULL && value - value == 0) {
            *blank = '\0';
            st_buffer_printf(buffer, text[0] == '-' ? "(%s[%s])" : "%s[%s]", text, blank + 1);
        } else {
            st_buffer_printf(buffer, text[0] == '-' ? "(%s)" : "%s", text);
        }
        return (size_t)expr->operator_offset + expr->name_length;
    }
    for (size_t i = 0; i < expr->child_count; i++)
        position = show_tree(session, shown, st_expr_child(expr, i), position, buffer);
    return position;
}

void st_show_numbers(st_session *session, const st_formula_view *shown, st_buffer *buffer)
{
    size_t end = show_tree(session, shown, shown->expr, 0, buffer);
    st_buffer_text(buffer, shown->text + end);
}

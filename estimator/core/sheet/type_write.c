/* SPDX-License-Identifier: Apache-2.0 */
/* Values of sheets as text that reads back to the same value; see type_write.h. */
#include "sheet/type_write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void st_put_value(st_node *node, const char *key, const st_type *type, double value)
{
    char text[ST_QUANTITY_TEXT];
    if (type->kind == ST_TYPE_NUMBER)
        st_put_quantity(node, key, value, &type->unit);
    else if (!isfinite(value))
        st_put_null(node, key);
    else if (type->kind == ST_TYPE_BOOL)
        st_put_bool(node, key, value != 0.0);
    else
        st_put_text(node, key, st_type_format(type, value, ST_STYLE_EXACT, text, sizeof text));
}

void st_put_unit(st_node *node, const char *key, const st_type *type)
{
    st_put_text(node, key, st_type_unit_text(type));
}

void st_exact_text(const st_type *type, double value, char *text, size_t size)
{
    if (type->kind == ST_TYPE_BOOL && isfinite(value)) {
        snprintf(text, size, "%s", value != 0.0 ? "true" : "false");
        return;
    }
    st_type_format(type, value, ST_STYLE_EXACT, text, size);
    if (type->kind != ST_TYPE_NUMBER || !isfinite(value))
        return;
    size_t length = strspn(text, "+-.0123456789eE");
    const char *unit = text + length + (text[length] == ' ' ? 1 : 0);
    bool is_declared = strcmp(*unit != '\0' ? unit : "1", type->unit.text) == 0;
    text[length] = '\0';
    /* No decimal in the declared unit is exact: the nearest one, for that is the unit we name. */
    if (!is_declared)
        (void)st_number_format(st_unit_from_base(&type->unit, value), text, size);
}

const char *st_type_unit_text(const st_type *type)
{
    switch (type->kind) {
    case ST_TYPE_BOOL:
        return "bool";
    case ST_TYPE_ENUM:
        return type->enumeration->name;
    case ST_TYPE_NUMBER:
        break;
    }
    return type->unit.text;
}

void st_put_change(st_node *node, const char *key, double change)
{
    char text[ST_QUANTITY_TEXT];
    st_unit percent = st_unit_one();
    if (!isfinite(change) || change == 0 ||
        st_unit_parse("%", 1, (st_place){0}, &percent, NULL) != ST_OK)
        return;
    st_put_format(node, key, "%c%s", change > 0 ? '+' : '-',
                  st_quantity_format(fabs(change), &percent, ST_STYLE_SCALED, text, sizeof text));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at a sheet. */
#include "sheet/internal.h"

#include <string.h>

const char *st_sheet_name(const st_sheet *sheet)
{
    return sheet->name;
}

const char *st_sheet_title(const st_sheet *sheet)
{
    return sheet->title;
}

const char *st_sheet_doc(const st_sheet *sheet)
{
    return sheet->doc;
}

const char *st_sheet_file(const st_sheet *sheet)
{
    return sheet->file;
}

const st_sheet_input *st_sheet_inputs(const st_sheet *sheet, size_t *count)
{
    *count = sheet->input_count;
    return sheet->inputs;
}

const st_sheet_cell *st_sheet_cells(const st_sheet *sheet, size_t *count)
{
    *count = sheet->cell_count;
    return sheet->cells;
}

const st_sheet_function *st_sheet_functions(const st_sheet *sheet, size_t *count)
{
    *count = sheet->function_count;
    return sheet->functions;
}

const st_sheet_check *st_sheet_checks(const st_sheet *sheet, size_t *count)
{
    *count = sheet->check_count;
    return sheet->checks;
}

const st_sheet_section *st_sheet_sections(const st_sheet *sheet, size_t *count)
{
    *count = sheet->section_count;
    return sheet->sections;
}

const st_enum *st_sheet_enums(const st_sheet *sheet, size_t *count)
{
    *count = sheet->enum_count;
    return sheet->enums;
}

const st_sheet_input *st_sheet_find_input(const st_sheet *sheet, const char *name)
{
    size_t index = 0;
    return st_names_get(&sheet->input_names, name, &index) ? &sheet->inputs[index] : NULL;
}

const st_sheet_cell *st_sheet_find_cell(const st_sheet *sheet, const char *name)
{
    size_t index = 0;
    return st_names_get(&sheet->cell_names, name, &index) ? &sheet->cells[index] : NULL;
}

const char *st_sheet_nearest(const st_sheet *sheet, const char *name)
{
    /* A member of the family of that very name, which itself is no cell. */
    const char *member = NULL;
    for (size_t i = 0; i < sheet->cell_count; i++)
        if (sheet->cell_members[i].family != NULL &&
            strcmp(sheet->cell_members[i].family->name, name) == 0) {
            member = sheet->cells[i].name;
            break;
        }
    if (member != NULL)
        return member;
    /* Nearest of each kind first, then the nearest of these, without building one list. */
    const char *best[3] = {NULL, NULL, NULL};
    size_t count = 0;
    for (size_t i = 0; i < sheet->cell_count; i++) {
        const char *pair[2] = {best[0], sheet->cells[i].name};
        best[0] = best[0] == NULL ? st_nearest(name, pair + 1, 1) : st_nearest(name, pair, 2);
    }
    for (size_t i = 0; i < sheet->input_count; i++) {
        const char *pair[2] = {best[1], sheet->inputs[i].name};
        best[1] = best[1] == NULL ? st_nearest(name, pair + 1, 1) : st_nearest(name, pair, 2);
    }
    for (size_t i = 0; i < sheet->family_count; i++) {
        const char *pair[2] = {best[2], sheet->families[i]->name};
        best[2] = best[2] == NULL ? st_nearest(name, pair + 1, 1) : st_nearest(name, pair, 2);
    }
    const char *found[3];
    for (size_t i = 0; i < 3; i++)
        if (best[i] != NULL)
            found[count++] = best[i];
    return count == 0 ? NULL : st_nearest(name, found, count);
}

const char *st_type_format(const st_type *type, double value, st_style style, char *text,
                           size_t size)
{
    if (type->kind == ST_TYPE_NUMBER)
        return st_quantity_format(value, &type->unit, style, text, size);
    if (type->kind == ST_TYPE_BOOL) {
        (void)snprintf(text, size, "%s", value == 1.0 ? "yes" : value == 0.0 ? "no" : "not finite");
        return text;
    }
    bool known = value >= 0 && value < (double)type->enumeration->count;
    (void)snprintf(text, size, "%s",
                   known ? type->enumeration->values[(size_t)value] : "not finite");
    return text;
}

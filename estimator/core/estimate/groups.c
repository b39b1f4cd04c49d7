/* SPDX-License-Identifier: Apache-2.0 */
/* The cells of a sheet in the order of its report; see groups.h. */
#include "estimate/groups.h"

const st_cell_group *st_sheet_groups(const st_sheet *sheet, st_arena *arena, size_t *count)
{
    size_t section_count = 0;
    size_t cell_count = 0;
    const st_sheet_section *sections = st_sheet_sections(sheet, &section_count);
    const st_sheet_cell *cells = st_sheet_cells(sheet, &cell_count);
    st_cell_group *groups = st_arena_alloc(arena, section_count + 1, sizeof *groups);
    const st_sheet_cell **members = st_arena_alloc(arena, cell_count + 1, sizeof *members);
    bool *taken = st_arena_alloc(arena, cell_count + 1, sizeof *taken);
    *count = 0;
    if (groups == NULL || members == NULL || taken == NULL)
        return NULL;
    for (size_t i = 0; i < section_count; i++) {
        groups[*count] = (st_cell_group){.cells = members};
        /* Takes the cells of a section that no earlier one took. */
        const st_sheet_section *section = &sections[i];
        st_cell_group *group = &groups[*count];
        size_t section_cell_count = 0;
        const st_sheet_cell *section_cells = st_sheet_cells(sheet, &section_cell_count);
        group->title = section->title;
        for (size_t j = 0; j < section->count; j++) {
            const st_sheet_cell *cell = st_sheet_find_cell(sheet, section->cells[j]);
            if (cell == NULL || taken[cell - section_cells])
                continue;
            taken[cell - section_cells] = true;
            group->cells[group->count++] = cell;
        }
        members += groups[*count].count;
        *count += groups[*count].count > 0 ? 1 : 0;
    }
    st_cell_group *rest = &groups[*count];
    *rest = (st_cell_group){.title = "", .cells = members};
    for (size_t i = 0; i < cell_count; i++)
        if (!taken[i])
            rest->cells[rest->count++] = &cells[i];
    *count += rest->count > 0 ? 1 : 0;
    return groups;
}

void st_signature_write(const st_sheet_function *function, st_buffer *buffer)
{
    st_buffer_printf(buffer, "%s(", function->name);
    for (size_t i = 0; i < function->argument_count; i++)
        st_buffer_printf(buffer, "%s%s", i > 0 ? ", " : "", function->arguments[i].name);
    st_buffer_text(buffer, ")");
}

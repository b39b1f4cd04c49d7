/* SPDX-License-Identifier: Apache-2.0 */
/* The roles of a sheet: read with its file, checked when all cells are known. */
#include "sheet/loader.h"
#include "base/dimension.h"
#include "base/memory.h"

#include <string.h>

static st_role find_role(const char *name)
{
    int role = 0;
    while (role < ST_ROLES && strcmp(st_role_describe((st_role)role)->name, name) != 0)
        role++;
    return (st_role)role;
}

/* The sheet that fills a role keeps it, unless one that includes that sheet overrides it. */
static bool may_fill(st_loader *loader, const st_role_entry *known, const char *name,
                     st_place place, bool override)
{
    if (known->place.file == NULL)
        return !override || st_loader_fail(loader, place, ST_ERR_NAME,
                                           "role '%s' overrides nothing" ST_EXPECTED
                                           "a role filled by an included sheet",
                                           name);
    if (!override || strcmp(known->place.file, place.file) == 0)
        return st_loader_fail(
            loader, place, ST_ERR_NAME,
            "role '%s' is already filled at %s:%d" ST_EXPECTED
            "one cell per role, or 'override: true' to replace the cell of an included sheet",
            name, known->place.file, known->place.line);
    st_loader_note_override(loader, &loader->role_overrides, name, place);
    return true;
}

/* Cells by part: "exposed: T_e" in a map, or one name for the first part. */
static bool read_parts(st_loader *loader, const st_role_row *row, const st_yaml_node *node,
                       st_role_entry *entry)
{
    enum { KEYS = ST_ROLE_PARTS + 1 };
    const char *what = st_errors_text(loader->errors, "role '%s'", row->name);
    const char *keys[KEYS];
    size_t count = 0;
    if (node->kind == ST_YAML_SCALAR) {
        entry->cells[0] = node->text;
        entry->places[0] = node->place;
        return true;
    }
    if (node->kind != ST_YAML_MAP)
        return st_loader_fail(loader, node->place, ST_ERR_VALUE,
                              "%s" ST_EXPECTED "the name of a cell, or a map with names of cells",
                              what);
    for (; row->parts[count] != NULL; count++) {
        const st_yaml_node *cell =
            st_loader_get(loader, node, row->parts[count], ST_YAML_SCALAR, what);
        keys[count] = row->parts[count];
        entry->cells[count] = cell != NULL ? cell->text : NULL;
        entry->places[count] = cell != NULL ? cell->place : node->place;
    }
    keys[count++] = "override";
    st_loader_check_keys(loader, node, keys, count, what);
    return true;
}

void st_loader_roles(st_loader *loader, const st_yaml_node *map)
{
    for (size_t i = 0; i < map->count; i++) {
        const st_yaml_node *node = map->items[i];
        const char *name = map->keys[i];
        st_role role = find_role(name);
        st_role_entry entry = {.place = map->key_places[i]};
        if (role == ST_ROLES) {
            const st_place place = entry.place;
            const char *names[ST_ROLES];
            for (int j = 0; j < ST_ROLES; j++)
                names[j] = st_role_describe((st_role)j)->name;
            (void)st_fail(loader->errors, ST_ERR_NAME, place,
                          "unknown role '%.60s'" ST_EXPECTED
                          "a role of docs/sheet-language.md" ST_HINT "%s",
                          name, st_errors_nearest(loader->errors, name, names, ST_ROLES));
            continue;
        }
        bool override =
            node->kind == ST_YAML_MAP && st_loader_flag(loader, node, "override", "the role");
        if (read_parts(loader, st_role_describe(role), node, &entry) &&
            may_fill(loader, &loader->sheet->roles[role], name, entry.place, override))
            loader->sheet->roles[role] = entry;
    }
}

/* --- when all cells are known ---------------------------------------------------------------- */

static bool has_unit(const st_type *type, const char *unit)
{
    st_unit wanted;
    if (strcmp(unit, "bool") == 0)
        return type->kind == ST_TYPE_BOOL;
    return type->kind == ST_TYPE_NUMBER &&
           st_unit_parse(unit, strlen(unit), (st_place){0}, &wanted, NULL) == ST_OK &&
           st_dimension_equal(type->unit.dimension, wanted.dimension);
}

static st_status check_part(st_sheet *sheet, const st_role_row *row, const char *name,
                            st_place place, st_errors *errors)
{
    /* The type of a cell, or of an input, which then is of use. */
    const st_type *type;
    size_t index = 0;
    if (st_names_get(&sheet->cell_names, name, &index)) {
        type = &sheet->cells[index].type;
    } else if (!st_names_get(&sheet->input_names, name, &index)) {
        type = NULL;
    } else {
        sheet->inputs[index].used = true;
        type = &sheet->inputs[index].type;
    }
    if (type == NULL) {
        const char *nearest = st_sheet_nearest(sheet, name);
        return st_fail(errors, ST_ERR_NAME, place, "role '%s': unknown cell '%.60s'" ST_HINT "%s",
                       row->name, name, nearest != NULL ? nearest : "");
    }
    if (has_unit(type, row->unit))
        return ST_OK;
    const char *unit = type->kind == ST_TYPE_NUMBER ? type->unit.text
                       : type->kind == ST_TYPE_BOOL ? "bool"
                                                    : type->enumeration->name;
    return st_fail(errors, ST_ERR_UNIT, place,
                   "role '%s' requires another unit" ST_FOUND "'%s' (%s)" ST_EXPECTED "%s",
                   row->name, name, unit, row->unit);
}

/* The name of a family fills the parts that are called as its members are. */
static bool spread_family(const st_sheet *sheet, const st_role_row *row, st_role_entry *entry,
                          st_arena *arena)
{
    size_t index = 0;
    const char *family = entry->cells[0];
    if (family == NULL || entry->cells[1] != NULL || row->parts[1] == NULL ||
        st_names_get(&sheet->cell_names, family, &index))
        return true;
    const char *first = st_arena_printf(arena, "%s[%s]", family, row->parts[0]);
    if (first == NULL || !st_names_get(&sheet->cell_names, first, &index))
        return first != NULL;
    for (size_t part = 0; row->parts[part] != NULL; part++) {
        const char *member = st_arena_printf(arena, "%s[%s]", family, row->parts[part]);
        if (member == NULL)
            return false;
        if (st_names_get(&sheet->cell_names, member, &index))
            entry->cells[part] = member;
        entry->places[part] = entry->places[0];
    }
    return true;
}

st_status st_sheet_check_roles(st_sheet *sheet, st_arena *arena, st_errors *errors)
{
    st_status status = ST_OK;
    for (int role = 0; role < ST_ROLES; role++) {
        st_role_entry *entry = &sheet->roles[role];
        if (!spread_family(sheet, st_role_describe((st_role)role), entry, arena))
            return st_out_of_memory(errors);
        for (size_t part = 0; part < ST_ROLE_PARTS; part++) {
            const char *name = entry->cells[part];
            st_note(&status, name == NULL ? ST_OK
                                          : check_part(sheet, st_role_describe((st_role)role), name,
                                                       entry->places[part], errors));
        }
    }
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a sheet's file: enumerations, inputs, functions, cells, checks, report. */
#include "sheet/loader.h"

#include <string.h>

enum { MAX_ENUM_VALUES = 64, MAX_LIST = 1000, FIRST_ENTRIES = 512 };

/* Mostly for an error that never comes: without the cost of a format. */
const char *st_loader_describe(st_loader *loader, const char *kind, const char *name)
{
    enum { SHOWN = 60 };
    char *to = loader->what;
    to = stpcpy(to, kind);
    to = stpcpy(to, " '");
    size_t length = strnlen(name, SHOWN);
    to = (char *)memcpy(to, name, length) + length;
    to[0] = '\'';
    to[1] = '\0';
    return loader->what;
}

static bool is_map(st_loader *loader, const st_yaml_node *node, const char *what,
                   const char *example)
{
    if (node->kind == ST_YAML_MAP)
        return true;
    st_fail(loader->errors, ST_ERR_VALUE, node->place,
            "%s must be a map" ST_FOUND "%s" ST_EXPECTED "a map, e.g. %s", what,
            st_yaml_describe(node, loader->errors), example);
    return false;
}

/* --- enumerations ---------------------------------------------------------------------------- */

static bool read_enum_values(st_loader *loader, const st_yaml_node *list, st_enum *entry)
{
    if (list->kind != ST_YAML_LIST || list->count == 0 || list->count > MAX_ENUM_VALUES)
        return st_loader_fail(loader, list->place, ST_ERR_VALUE,
                              "%s" ST_EXPECTED "a list of 1 to 64 names",
                              st_loader_describe(loader, "enumeration", entry->name));
    const char **values = st_arena_alloc(loader->arena, list->count, sizeof(*values));
    if (values == NULL)
        return st_loader_out_of_memory(loader);
    for (size_t i = 0; i < list->count; i++) {
        const st_yaml_node *item = list->items[i];
        if (item->kind != ST_YAML_SCALAR)
            return false;
        /* A value may begin with digits, as 1f1b does; a formula can then compare it with others
         * only. */
        const char *name = item->text + strspn(item->text, "0123456789");
        if (!st_loader_name(loader, *name != '\0' ? name : item->text, item->place,
                            "a value of an enumeration"))
            return false;
        size_t taken = 0;
        if (st_names_get(&loader->entry_names, item->text, &taken) ||
            st_sheet_family(loader->sheet, item->text) != NULL)
            return st_loader_fail(loader, item->place, ST_ERR_NAME,
                                  "'%s' already names a cell or an input", item->text);
        if (st_has_text(values, i, item->text))
            return st_loader_fail(loader, item->place, ST_ERR_NAME, "duplicate value '%s'",
                                  item->text);
        values[i] = item->text;
        if (!st_names_put(&loader->sheet->value_names, item->text, i))
            return st_loader_out_of_memory(loader);
    }
    entry->values = values;
    entry->count = list->count;
    return true;
}

void st_loader_enums(st_loader *loader, const st_yaml_node *map)
{
    st_sheet *sheet = loader->sheet;
    for (size_t i = 0; i < map->count; i++) {
        st_enum entry = {.name = map->keys[i], .place = map->key_places[i]};
        if (ST_HAS(sheet->enums, sheet->enum_count, name, entry.name)) {
            (void)st_loader_fail(loader, entry.place, ST_ERR_NAME,
                                 "enumeration '%s' is already defined", entry.name);
            continue;
        }
        if (!st_loader_name(loader, entry.name, entry.place, "an enumeration"))
            continue;
        /* Under `unit:` both are allowed. */
        st_unit unit;
        if ((st_unit_parse(entry.name, strlen(entry.name), (st_place){0}, &unit, NULL) == ST_OK &&
             !st_loader_fail(loader, entry.place, ST_ERR_NAME,
                             "'%s' cannot name an enumeration: it is a unit", entry.name)) ||
            !read_enum_values(loader, map->items[i], &entry))
            continue;
        if (sheet->enum_count == MAX_LIST) {
            (void)st_loader_fail(loader, entry.place, ST_ERR_LIMIT,
                                 "too many enumerations" ST_EXPECTED "at most 1000");
            return;
        }
        if (sheet->enums == NULL) {
            /* One block from the start: types point into it. */
            sheet->enums = st_arena_alloc(loader->arena, MAX_LIST, sizeof(*sheet->enums));
        }
        if (sheet->enums == NULL) {
            (void)st_loader_out_of_memory(loader);
            return;
        }
        sheet->enums[sheet->enum_count++] = entry;
    }
}

/* --- inputs and cells ------------------------------------------------------------------------ */

st_symbol_entry *st_loader_place(st_loader *loader, const char *name, st_place place, bool override)
{
    size_t index = 0;
    bool member = strchr(name, '[') != NULL;
    const st_family *family = member ? NULL : st_sheet_family(loader->sheet, name);
    if (family != NULL) {
        (void)st_loader_fail(loader, place, ST_ERR_NAME,
                             "'%s' is already defined at %s:%d, as a family" ST_EXPECTED
                             "another name, or 'per' with the same enumerations to override it",
                             name, family->place.file, family->place.line);
        return NULL;
    }
    if (!member && st_names_get(&loader->sheet->value_names, name, &index)) {
        (void)st_loader_fail(loader, place, ST_ERR_NAME,
                             "'%s' is already a value of an enumeration", name);
        return NULL;
    }
    if (st_names_get(&loader->entry_names, name, &index)) {
        const st_symbol_entry *entry = &loader->entries[index];
        st_place first = entry->is_cell ? entry->cell.place : entry->input.place;
        bool same_file = strcmp(first.file, place.file) == 0;
        if (!override || same_file) {
            (void)st_loader_fail(loader, place, ST_ERR_NAME,
                                 "'%s' is already defined at %s:%d" ST_EXPECTED "%s", name,
                                 first.file, first.line,
                                 same_file ? "another name"
                                           : "another name, or 'override: true' to replace a "
                                             "definition of an included sheet");
            return NULL;
        }
        st_loader_note_override(loader, &loader->value_overrides, name, place);
        return &loader->entries[index];
    }
    if (override) {
        (void)st_loader_fail(loader, place, ST_ERR_NAME,
                             "'%s' overrides nothing" ST_EXPECTED
                             "the name of an input or a cell of an included sheet",
                             name);
        return NULL;
    }
    if (loader->entry_count == ST_SHEET_MAX_SYMBOLS) {
        if (!loader->too_many_reported)
            (void)st_loader_fail(loader, place, ST_ERR_LIMIT,
                                 "the sheet has too many inputs and cells" ST_EXPECTED
                                 "at most 20000");
        loader->too_many_reported = true;
        return NULL;
    }
    /* A new entry at the end; NULL without room. */
    if (loader->entries == NULL)
        loader->entry_capacity = FIRST_ENTRIES / 2;
    static const st_symbol_entry none;
    if (!st_arena_append(loader->arena, &loader->entries, &loader->entry_count,
                         &loader->entry_capacity, &none, sizeof none) ||
        !st_names_put(&loader->entry_names, name, loader->entry_count - 1)) {
        (void)st_loader_out_of_memory(loader);
        return NULL;
    }
    return &loader->entries[loader->entry_count - 1];
}

/* "10 us" of an input without `unit`, which is a pure number: it needs a unit of its own, too. */
static bool refuse_lone_unit(st_loader *loader, const st_yaml_node *node, const char *name)
{
    st_unit unit;
    const st_unit one = st_unit_one();
    const char *rest = node->text + strspn(node->text, "0123456789.+-eE ");
    double number = 0;
    if (st_quantity_parse(node->text, node->length, &one, node->place, &number, NULL) == ST_OK ||
        *rest == '\0' || st_unit_parse(rest, strlen(rest), node->place, &unit, NULL) != ST_OK)
        return false;
    st_fail(loader->errors, ST_ERR_UNIT, node->place,
            "the default of '%s' has a unit but the input does not" ST_FOUND "'%s'" ST_EXPECTED
            "'unit: %s' with 'default: %s'",
            name, node->text, rest, node->text);
    return true;
}

void st_loader_inputs(st_loader *loader, const st_yaml_node *map)
{
    for (size_t i = 0; i < map->count; i++) {
        const char *name = map->keys[i];
        st_place place = map->key_places[i];
        const st_yaml_node *node = map->items[i];
        static const char *const keys[] = {"from",  "unit",    "doc",     "cite",
                                           "steps", "default", "override"};
        const char *what = st_loader_describe(loader, "input", name);
        if (!st_loader_name(loader, name, place, "an input") ||
            !is_map(loader, node, what, "{from: constants.latency, unit: us, doc: latency}"))
            continue;
        st_loader_check_keys(loader, node, keys, ST_COUNT(keys), what);
        st_sheet_input input = {.name = name, .place = place};
        input.from = st_loader_text(loader, node, "from", what);
        input.doc = st_loader_text(loader, node, "doc", what);
        input.cite = st_loader_text(loader, node, "cite", what);
        input.steps = st_loader_text(loader, node, "steps", what);
        bool typed = st_loader_type(loader, st_yaml_get(node, "unit"), &input.type);
        const st_yaml_node *value = st_loader_get(loader, node, "default", ST_YAML_SCALAR, what);
        if (value != NULL && typed) {
            const bool has_unit = st_yaml_get(node, "unit") != NULL;
            input.has_default = true;
            if (has_unit || !refuse_lone_unit(loader, value, input.name)) {
                if (input.type.kind == ST_TYPE_NUMBER) {
                    if (st_quantity_parse(value->text, value->length, &input.type.unit,
                                          st_yaml_place_at(value, 0), &input.default_value,
                                          loader->errors) != ST_OK)
                        input.default_value = 0;
                } else {
                    static const char *const truths[] = {"false", "true"};
                    bool truth = input.type.kind == ST_TYPE_BOOL;
                    const char *const *values = truth ? truths : input.type.enumeration->values;
                    size_t count = truth ? ST_COUNT(truths) : input.type.enumeration->count;
                    size_t at = st_text_at(values, count, value->text);
                    if (at < count)
                        input.default_value = (double)at;
                    else
                        st_fail(loader->errors, ST_ERR_VALUE, value->place,
                                "the default of '%s'" ST_FOUND "%s" ST_EXPECTED "%s" ST_HINT "%s",
                                input.name, st_yaml_describe(value, loader->errors),
                                truth ? "true or false" : "a value of its enumeration",
                                st_errors_nearest(loader->errors, value->text, values, count));
                }
            }
        }
        if (input.from[0] == '\0')
            (void)st_loader_fail(loader, place, ST_ERR_NAME,
                                 "%s has no key 'from'" ST_EXPECTED
                                 "the job key that gives its value, e.g. 'from: model.hidden'",
                                 what);
        st_symbol_entry *entry =
            st_loader_place(loader, name, place, st_loader_flag(loader, node, "override", what));
        if (entry != NULL)
            *entry = (st_symbol_entry){.input = input};
    }
}

bool st_loader_cell_texts(st_loader *loader, const st_yaml_node *node, const char *what,
                          st_sheet_cell *cell)
{
    cell->doc = st_loader_text(loader, node, "doc", what);
    cell->cite = st_loader_text(loader, node, "cite", what);
    cell->open = st_loader_flag(loader, node, "open", what);
    return st_loader_type(loader, st_yaml_get(node, "unit"), &cell->type);
}

void st_loader_cell_formula(st_loader *loader, const st_yaml_node *is, bool typed,
                            st_symbol_entry *entry)
{
    bool parsed = st_loader_formula(loader, is, &entry->formula);
    entry->cell.formula = entry->formula.text;
    entry->cell.formula_place = st_formula_place_at(&entry->formula, 0);
    entry->formula.expr = parsed && typed ? entry->formula.expr : NULL;
}

void st_loader_cells(st_loader *loader, const st_yaml_node *map)
{
    for (size_t i = 0; i < map->count; i++) {
        const char *name = map->keys[i];
        st_place place = map->key_places[i];
        const st_yaml_node *node = map->items[i];
        static const char *const keys[] = {"unit", "is", "doc", "cite", "open", "override"};
        const char *what = st_loader_describe(loader, "cell", name);
        if (strchr(name, '[') != NULL) {
            st_loader_member(loader, name, place, node);
            continue;
        }
        if (node->kind == ST_YAML_MAP && st_yaml_get(node, "per") != NULL) {
            st_loader_family(loader, name, place, node);
            continue;
        }
        if (!st_loader_name(loader, name, place, "a cell") ||
            !is_map(loader, node, what, "{unit: us, is: V/C, doc: transfer}"))
            continue;
        st_loader_check_keys(loader, node, keys, ST_COUNT(keys), what);
        st_symbol_entry read = {.is_cell = true, .cell = {.name = name, .place = place}};
        bool typed = st_loader_cell_texts(loader, node, what, &read.cell);
        const st_yaml_node *is = st_loader_get(loader, node, "is", ST_YAML_SCALAR, what);
        read.cell.formula = "";
        if (is != NULL)
            st_loader_cell_formula(loader, is, typed, &read);
        else if (st_yaml_get(node, "is") == NULL)
            (void)st_loader_fail(loader, place, ST_ERR_NAME,
                                 "%s has no key 'is'" ST_EXPECTED "its formula, e.g. 'is: V/C'",
                                 what);
        st_symbol_entry *entry =
            st_loader_place(loader, name, place, st_loader_flag(loader, node, "override", what));
        if (entry != NULL)
            *entry = read;
    }
}

/* --- functions ------------------------------------------------------------------------------- */

static bool read_arguments(st_loader *loader, const st_yaml_node *map, st_sheet_function *function)
{
    if (map == NULL)
        return true;
    if (map->count > ST_EXPR_MAX_ARGUMENTS)
        return st_loader_fail(loader, map->place, ST_ERR_LIMIT,
                              "%s" ST_EXPECTED "at most 144 arguments",
                              st_loader_describe(loader, "function", function->name));
    st_sheet_argument *arguments = st_arena_alloc(loader->arena, map->count, sizeof(*arguments));
    if (arguments == NULL && map->count > 0)
        return st_loader_out_of_memory(loader);
    bool good = true;
    for (size_t i = 0; i < map->count; i++) {
        size_t taken = 0;
        arguments[i].name = map->keys[i];
        good = st_loader_name(loader, map->keys[i], map->key_places[i], "an argument") && good;
        if (st_names_get(&loader->sheet->value_names, map->keys[i], &taken))
            good = st_loader_fail(loader, map->key_places[i], ST_ERR_NAME,
                                  "'%s' is already a value of an enumeration", map->keys[i]);
        good = st_loader_type(loader, map->items[i], &arguments[i].type) && good;
    }
    function->arguments = arguments;
    function->argument_count = map->count;
    return good;
}

/* The slot for a function: an overridden one or a new one; SIZE_MAX when it may not go anywhere. */
static size_t place_function(st_loader *loader, const char *name, st_place place, bool override)
{
    st_sheet *sheet = loader->sheet;
    size_t index = 0;
    bool exists = st_names_get(&sheet->function_names, name, &index);
    if (exists != override) {
        (void)st_loader_fail(
            loader, place, ST_ERR_NAME, "%s" ST_EXPECTED "%s",
            st_errors_text(loader->errors,
                           exists ? "function '%s' is already defined"
                                  : "function '%s' overrides nothing",
                           name),
            exists
                ? "another name, or 'override: true' to replace a definition of an included sheet"
                : "the name of a function of an included sheet");
        return SIZE_MAX;
    }
    if (exists) {
        st_loader_note_override(loader, &loader->function_overrides, name, place);
        return index;
    }
    size_t formulas = sheet->function_count;
    if (!ST_APPEND(loader->arena, sheet->function_formulas, formulas, (st_formula){0}) ||
        !ST_APPEND(loader->arena, sheet->functions, sheet->function_count,
                   (st_sheet_function){0}) ||
        !st_names_put(&sheet->function_names, name, sheet->function_count - 1)) {
        (void)st_loader_out_of_memory(loader);
        return SIZE_MAX;
    }
    return sheet->function_count - 1;
}

void st_loader_functions(st_loader *loader, const st_yaml_node *map)
{
    if (map->count > MAX_LIST) {
        (void)st_loader_fail(loader, map->place, ST_ERR_LIMIT,
                             "the sheet has too many functions" ST_EXPECTED "at most 1000");
        return;
    }
    for (size_t i = 0; i < map->count; i++) {
        const char *name = map->keys[i];
        st_place place = map->key_places[i];
        const st_yaml_node *node = map->items[i];
        static const char *const keys[] = {"args", "unit", "is", "open", "doc", "cite", "override"};
        const char *what = st_loader_describe(loader, "function", name);
        if (!st_loader_name(loader, name, place, "a function") ||
            !is_map(loader, node, what, "{args: {size: B}, unit: us, is: size/1[GB/s], doc: d}"))
            continue;
        st_loader_check_keys(loader, node, keys, ST_COUNT(keys), what);
        st_sheet_function function = {.name = name, .place = place};
        st_formula formula = {.place = place};
        function.doc = st_loader_text(loader, node, "doc", what);
        function.cite = st_loader_text(loader, node, "cite", what);
        function.open = st_loader_flag(loader, node, "open", what);
        bool typed = st_loader_type(loader, st_yaml_get(node, "unit"), &function.type);
        typed = read_arguments(loader, st_loader_get(loader, node, "args", ST_YAML_MAP, what),
                               &function) &&
                typed;
        const char *body_what = st_loader_describe(loader, "function", function.name);
        const st_yaml_node *is = st_loader_get(loader, node, "is", ST_YAML_SCALAR, body_what);
        if (is != NULL) {
            bool parsed = st_loader_formula(loader, is, &formula);
            function.formula = formula.text;
            function.formula_place = st_formula_place_at(&formula, 0);
            formula.expr = parsed && typed ? formula.expr : NULL;
            function.expr = formula.expr;
        } else if (!function.open && st_yaml_get(node, "is") == NULL) {
            (void)st_loader_fail(loader, function.place, ST_ERR_NAME,
                                 "%s has no key 'is'" ST_EXPECTED
                                 "its formula, or 'open: true' where a provider gives the value",
                                 body_what);
        }
        bool override = st_loader_flag(loader, node, "override", what);
        size_t index = place_function(loader, name, place, override);
        if (index != SIZE_MAX) {
            loader->sheet->functions[index] = function;
            loader->sheet->function_formulas[index] = formula;
        }
    }
}

/* --- report ---------------------------------------------------------------------------------- */

static st_sheet_section *section_titled(st_loader *loader, const char *title)
{
    st_sheet *sheet = loader->sheet;
    size_t i = ST_FIND(sheet->sections, sheet->section_count, title, title);
    if (i < sheet->section_count)
        return &sheet->sections[i];
    return ST_LOADER_APPEND(loader, sheet->sections, sheet->section_count,
                            (st_sheet_section){.title = title})
               ? &sheet->sections[sheet->section_count - 1]
               : NULL;
}

/* How many names an item can be. */
static size_t section_room(const st_loader *loader, const st_yaml_node *item)
{
    const st_family *family =
        item->kind == ST_YAML_SCALAR ? st_sheet_family(loader->sheet, item->text) : NULL;
    return family == NULL ? 1 : family->member_count;
}

static void read_section(st_loader *loader, const st_yaml_node *node)
{
    static const char *const keys[] = {"section", "cells"};
    const char *what = "a report section";
    if (!is_map(loader, node, what, "{section: Time, cells: [step_time]}"))
        return;
    st_loader_check_keys(loader, node, keys, ST_COUNT(keys), what);
    const char *title = st_loader_text(loader, node, "section", what);
    const st_yaml_node *cells = st_loader_get(loader, node, "cells", ST_YAML_LIST, what);
    if (title[0] == '\0' || (cells == NULL && st_yaml_get(node, "cells") == NULL)) {
        (void)st_loader_fail(loader, node->place, ST_ERR_NAME,
                             "a report section requires 'section' and 'cells'" ST_EXPECTED
                             "{section: TITLE, cells: [names]}");
        return;
    }
    st_sheet_section *section = cells == NULL ? NULL : section_titled(loader, title);
    if (section == NULL)
        return;
    size_t total = section->count;
    for (size_t i = 0; i < cells->count; i++)
        total += section_room(loader, cells->items[i]);
    const char **names = st_arena_alloc(loader->arena, total + 1, sizeof(*names));
    if (names == NULL) {
        (void)st_loader_out_of_memory(loader);
        return;
    }
    size_t count = section->count;
    for (size_t i = 0; i < count; i++)
        names[i] = section->cells[i];
    for (size_t i = 0; i < cells->count; i++) {
        /*
         * Adds what an item names: a cell, an input, all members of a family. Names are checked
         * here: everything that they may name was read before.
         */
        const st_yaml_node *item = cells->items[i];
        size_t index = 0;
        if (item->kind != ST_YAML_SCALAR) {
            (void)st_loader_fail(loader, item->place, ST_ERR_VALUE,
                                 "a report section must list cell names" ST_EXPECTED
                                 "the name of a cell or an input");
            continue;
        }
        if (st_names_get(&loader->entry_names, item->text, &index)) {
            names[count++] = item->text;
            continue;
        }
        const st_family *family = st_sheet_family(loader->sheet, item->text);
        if (family == NULL || strchr(item->text, '[') != NULL) {
            if (!loader->include_failed) {
                const char *nearest = NULL;
                for (size_t j = 0; j < loader->entry_count && !st_errors_full(loader->errors);
                     j++) {
                    const st_symbol_entry *entry = &loader->entries[j];
                    const char *pair[2] = {nearest,
                                           entry->is_cell ? entry->cell.name : entry->input.name};
                    nearest = nearest == NULL ? st_nearest(item->text, pair + 1, 1)
                                              : st_nearest(item->text, pair, 2);
                }
                st_fail(loader->errors, ST_ERR_NAME, item->place,
                        "unknown cell or input '%.60s' in the report" ST_HINT "%s", item->text,
                        st_or_none(nearest));
            }
            continue;
        }
        for (size_t j = 0; j < family->member_count; j++)
            names[count++] = st_family_member_name(family, j, loader->arena);
    }
    section->cells = names;
    section->count = count;
}

void st_loader_report(st_loader *loader, const st_yaml_node *list)
{
    if (list->count > MAX_LIST) {
        (void)st_loader_fail(loader, list->place, ST_ERR_LIMIT,
                             "the report has too many sections" ST_EXPECTED "at most 1000");
        return;
    }
    for (size_t i = 0; i < list->count; i++)
        read_section(loader, list->items[i]);
}

/* ---- families ---- */

/* Reading cells that are `per` enumerations: one entry for every member. */

static bool refuse_enum(st_loader *loader, const st_yaml_node *item)
{
    const char *names[64];
    size_t count = 0;
    for (size_t i = 0; i < loader->sheet->enum_count && count < ST_COUNT(names); i++)
        names[count++] = loader->sheet->enums[i].name;
    st_fail(loader->errors, ST_ERR_NAME, item->place,
            "a family requires enumerations" ST_FOUND "%s" ST_EXPECTED
            "the name of an enumeration, or a list of up to 4" ST_HINT "%s",
            st_yaml_describe(item, loader->errors),
            item->kind == ST_YAML_SCALAR
                ? st_errors_nearest(loader->errors, item->text, names, count)
                : "");
    return false;
}

static bool read_axes(st_loader *loader, const st_yaml_node *per, st_family *family)
{
    bool list = per->kind == ST_YAML_LIST;
    size_t count = list ? per->count : 1;
    if (count == 0 || count > ST_FAMILY_MAX_AXES)
        return refuse_enum(loader, per);
    family->axis_count = count;
    family->member_count = 1;
    for (size_t i = 0; i < count; i++) {
        const st_yaml_node *item = list ? per->items[i] : per;
        const st_sheet *sheet = loader->sheet;
        const size_t axis = item->kind == ST_YAML_SCALAR
                                ? ST_FIND(sheet->enums, sheet->enum_count, name, item->text)
                                : SIZE_MAX;
        if (axis == SIZE_MAX)
            return refuse_enum(loader, item);
        family->axes[i] = &sheet->enums[axis];
        family->member_count *= sheet->enums[axis].count;
    }
    if (family->member_count > ST_SHEET_MAX_SYMBOLS)
        return st_loader_fail(loader, per->place, ST_ERR_LIMIT,
                              "the family has too many members" ST_EXPECTED "at most 20000");
    /* In a formula the name of an enumeration is the member's value: no value may be called so. */
    const st_place place = per->place;
    for (size_t i = 0; i < family->axis_count; i++) {
        for (size_t k = 0; k < family->axis_count; k++) {
            const char *name = family->axes[k]->name;
            if ((i < k && family->axes[i] == family->axes[k]) ||
                st_has_text(family->axes[i]->values, family->axes[i]->count, name))
                return st_loader_fail(loader, place, ST_ERR_NAME,
                                      "ambiguous index '%s'" ST_EXPECTED
                                      "each enumeration once, with a name that no value has",
                                      name);
        }
    }
    return true;
}

/* --- texts for members ----------------------------------------------------------------------- */

static st_formula *read_formula(st_loader *loader, const st_yaml_node *scalar)
{
    st_formula *formula = st_arena_alloc(loader->arena, 1, sizeof *formula);
    if (formula == NULL) {
        (void)st_loader_out_of_memory(loader);
        return NULL;
    }
    if (!st_loader_formula(loader, scalar, formula))
        formula->expr = NULL;
    return formula;
}

/* The axis one of whose values is called so; axis_count: none. */
static size_t axis_of_key(const st_family *family, const char *key, size_t *value)
{
    for (size_t i = 0; i < family->axis_count; i++) {
        *value = st_text_at(family->axes[i]->values, family->axes[i]->count, key);
        if (*value != SIZE_MAX)
            return i;
    }
    return family->axis_count;
}

/* {first: A, last: B}: the keys are values of one of the family's enumerations. */
static bool read_map(st_loader *loader, const st_yaml_node *map, const st_family *family,
                     st_formula **items)
{
    size_t axis = family->axis_count;
    for (size_t i = 0; i < map->count; i++) {
        size_t value = 0;
        size_t found = axis_of_key(family, map->keys[i], &value);
        if (found == family->axis_count || (i > 0 && found != axis)) {
            const st_enum *key_axis = family->axes[0];
            st_fail(
                loader->errors, ST_ERR_NAME, map->key_places[i],
                "'%.60s' is not in the enumerations of '%s'" ST_EXPECTED
                "values of one of its enumerations" ST_HINT "%s",
                map->keys[i], family->name,
                st_errors_nearest(loader->errors, map->keys[i], key_axis->values, key_axis->count));
            return false;
        }
        axis = found;
        if (map->items[i]->kind != ST_YAML_SCALAR)
            return st_loader_fail(loader, map->items[i]->place, ST_ERR_VALUE,
                                  "a member's formula must be text" ST_EXPECTED
                                  "e.g. 'first: V/C'");
        st_formula *formula = read_formula(loader, map->items[i]);
        for (size_t k = 0; k < family->member_count; k++)
            if (st_family_value(family, k, axis) == value)
                items[k] = formula;
    }
    return true;
}

static st_formula **read_templates(st_loader *loader, const st_yaml_node *node,
                                   const st_family *family)
{
    st_formula **items = st_arena_alloc(loader->arena, family->member_count + 1, sizeof *items);
    if (items == NULL) {
        (void)st_loader_out_of_memory(loader);
        return NULL;
    }
    if (node == NULL)
        return items;
    if (node->kind == ST_YAML_MAP)
        return read_map(loader, node, family, items) ? items : NULL;
    if (node->kind != ST_YAML_SCALAR) {
        (void)st_loader_fail(loader, node->place, ST_ERR_VALUE,
                             "a family's formula must be text or a map" ST_EXPECTED
                             "a formula, or a map from values of its enumeration to formulas");
        return NULL;
    }
    st_formula *formula = read_formula(loader, node);
    for (size_t i = 0; i < family->member_count; i++)
        items[i] = formula;
    return items;
}

/* --- families -------------------------------------------------------------------------------- */

/* Whether a family may be called so: a new one, or one that overrides a family of the same kind. */
static bool may_stand(st_loader *loader, const st_family *family, bool override)
{
    const st_family *known = st_sheet_family(loader->sheet, family->name);
    size_t index = 0;
    bool cell = st_names_get(&loader->entry_names, family->name, &index);
    bool value = st_names_get(&loader->sheet->value_names, family->name, &index);
    if (cell || value)
        return st_loader_fail(loader, family->place, ST_ERR_NAME,
                              "%s" ST_EXPECTED "another name: a family cannot override it",
                              st_errors_text(loader->errors,
                                             value ? "'%s' is already a value of an enumeration"
                                                   : "'%s' is already a cell or an input",
                                             family->name));
    if (known == NULL)
        return !override || st_loader_fail(loader, family->place, ST_ERR_NAME,
                                           "'%s' overrides nothing" ST_EXPECTED
                                           "the name of a family of an included sheet",
                                           family->name);
    bool same_file = strcmp(known->place.file, family->place.file) == 0;
    if (!override || same_file)
        return st_loader_fail(
            loader, family->place, ST_ERR_NAME, "'%s' is already defined at %s:%d" ST_EXPECTED "%s",
            family->name, known->place.file, known->place.line,
            same_file
                ? "another name"
                : "another name, or 'override: true' to replace a definition of an included sheet");
    return (known->axis_count == family->axis_count &&
            memcmp(known->axes, family->axes, known->axis_count * sizeof known->axes[0]) == 0) ||
           st_loader_fail(loader, family->place, ST_ERR_NAME,
                          "'%s' has different enumerations at %s:%d" ST_EXPECTED "the same 'per'",
                          family->name, known->place.file, known->place.line);
}

/* A family that overrides another takes its slot. */
static bool keep_family(st_loader *loader, const st_family *family)
{
    st_sheet *sheet = loader->sheet;
    size_t index = 0;
    if (st_names_get(&sheet->family_names, family->name, &index)) {
        sheet->families[index] = family;
        return true;
    }
    return (ST_APPEND(loader->arena, sheet->families, sheet->family_count, family) &&
            st_names_put(&sheet->family_names, family->name, sheet->family_count - 1)) ||
           st_loader_out_of_memory(loader);
}

static bool has_zero(st_loader *loader, const st_family *family, const st_type *type)
{
    for (size_t i = 0; i < family->member_count && type->kind == ST_TYPE_ENUM; i++)
        if (family->wheres[i] != NULL)
            return st_loader_fail(loader, family->place, ST_ERR_VALUE,
                                  "enumeration values cannot have 'where'" ST_EXPECTED
                                  "a family of numbers or truth values with 'where'");
    return true;
}

static void place_members(st_loader *loader, const st_family *family, const st_sheet_cell *texts,
                          st_formula *const *formulas, bool override)
{
    for (size_t i = 0; i < family->member_count; i++) {
        const char *name = st_family_member_name(family, i, loader->arena);
        const st_formula *formula = formulas[i];
        if (name == NULL) {
            (void)st_loader_out_of_memory(loader);
            return;
        }
        if (formula == NULL) {
            (void)st_loader_fail(loader, family->place, ST_ERR_NAME,
                                 "'%s' has no formula" ST_EXPECTED
                                 "one formula for all members, or one for each, in 'is'",
                                 name);
            return;
        }
        st_symbol_entry *entry = st_loader_place(loader, name, family->place, override);
        if (entry == NULL)
            return;
        *entry = (st_symbol_entry){.is_cell = true,
                                   .cell = *texts,
                                   .formula = *formula,
                                   .member = {.family = family, .index = i}};
        entry->cell.name = name;
        /* The text with {stage} replaced by the member's value. */
        const char *text = texts->doc;
        st_buffer made = {0};
        const char *from = text;
        for (const char *open = strchr(text, '{'); open != NULL; open = strchr(open + 1, '{')) {
            for (size_t j = 0; j < family->axis_count; j++) {
                size_t length = strlen(family->axes[j]->name);
                if (strncmp(open + 1, family->axes[j]->name, length) == 0 &&
                    open[length + 1] == '}') {
                    st_buffer_append(&made, from, (size_t)(open - from));
                    st_buffer_text(&made, family->axes[j]->values[st_family_value(family, i, j)]);
                    from = open + length + 2;
                }
            }
        }
        const char *copy = text;
        if (from != text) {
            st_buffer_text(&made, from);
            copy = made.failed ? NULL : st_arena_copy(loader->arena, made.data, made.length);
        }
        st_buffer_free(&made);
        if (copy == NULL)
            (void)st_loader_out_of_memory(loader);
        entry->cell.doc = copy == NULL ? "" : copy;
        entry->cell.formula = formula->text;
        entry->cell.formula_place = st_formula_place_at(formula, 0);
        entry->formula.origin = formula;
    }
}

void st_loader_family(st_loader *loader, const char *name, st_place place, const st_yaml_node *node)
{
    static const char *const keys[] = {"per", "where", "unit", "is",
                                       "doc", "cite",  "open", "override"};
    const char *what = st_loader_describe(loader, "cell", name);
    st_family *family = st_arena_alloc(loader->arena, 1, sizeof *family);
    if (family == NULL) {
        (void)st_loader_out_of_memory(loader);
        return;
    }
    if (!st_loader_name(loader, name, place, "a cell"))
        return;
    *family = (st_family){.name = name, .place = place};
    st_loader_check_keys(loader, node, keys, ST_COUNT(keys), what);
    st_sheet_cell texts = {.place = place};
    bool typed = st_loader_cell_texts(loader, node, what, &texts);
    bool override = st_loader_flag(loader, node, "override", what);
    if (st_yaml_get(node, "is") == NULL) {
        (void)st_loader_fail(loader, place, ST_ERR_NAME,
                             "%s has no key 'is'" ST_EXPECTED "its formula, e.g. 'is: V/C'", what);
        return;
    }
    if (!read_axes(loader, st_yaml_get(node, "per"), family) ||
        !may_stand(loader, family, override))
        return;
    st_formula **wheres = read_templates(loader, st_yaml_get(node, "where"), family);
    st_formula **formulas = read_templates(loader, st_yaml_get(node, "is"), family);
    if (wheres == NULL || formulas == NULL)
        return;
    family->wheres = wheres;
    for (size_t i = 0; i < family->member_count; i++) {
        /* Without a tree its error is reported: the sheet will not be used. */
        bool faulty = wheres[i] != NULL && wheres[i]->expr == NULL;
        wheres[i] = faulty ? NULL : wheres[i];
        if (!typed && formulas[i] != NULL)
            formulas[i]->expr = NULL;
    }
    if (has_zero(loader, family, &texts.type) && keep_family(loader, family))
        place_members(loader, family, &texts, formulas, override);
}

/* --- one member ------------------------------------------------------------------------------ */

void st_loader_member(st_loader *loader, const char *name, st_place place, const st_yaml_node *node)
{
    static const char *const keys[] = {"unit", "is", "doc", "cite", "open", "override"};
    const char *plain = "";
    char *text = st_arena_copy(loader->arena, name, strlen(name));
    size_t count = 0;
    for (const char *c = name; text != NULL && *c != '\0'; c++)
        if (*c != ' ')
            text[count++] = *c;
    if (text == NULL) {
        (void)st_loader_out_of_memory(loader);
    } else {
        text[count] = '\0';
        plain = text;
    }
    const char *what = st_loader_describe(loader, "cell", name);
    const st_family *family = st_sheet_family(loader->sheet, plain);
    size_t index = 0;
    if (family == NULL || st_family_find(family, plain) == SIZE_MAX ||
        !st_names_get(&loader->entry_names, plain, &index)) {
        (void)st_loader_fail(
            loader, place, ST_ERR_NAME,
            "'%.60s' overrides nothing" ST_EXPECTED
            "a member of a family of an included sheet; a family is defined with 'per'",
            name);
        return;
    }
    const st_yaml_node *is =
        node->kind == ST_YAML_MAP ? st_loader_get(loader, node, "is", ST_YAML_SCALAR, what) : NULL;
    if (is == NULL) {
        (void)st_loader_fail(
            loader, node->place, ST_ERR_NAME,
            "%s has no key 'is'" ST_EXPECTED "its formula, e.g. {override: true, is: V/C}", what);
        return;
    }
    st_loader_check_keys(loader, node, keys, ST_COUNT(keys), what);
    const st_symbol_entry *known = &loader->entries[index];
    st_symbol_entry read = {
        .is_cell = true, .cell = {.name = plain, .place = place}, .member = known->member};
    bool typed = st_loader_cell_texts(loader, node, what, &read.cell);
    if (st_yaml_get(node, "unit") == NULL)
        read.cell.type = known->cell.type;
    read.cell.doc = st_yaml_get(node, "doc") == NULL ? known->cell.doc : read.cell.doc;
    read.cell.cite = st_yaml_get(node, "cite") == NULL ? known->cell.cite : read.cell.cite;
    st_loader_cell_formula(loader, is, typed, &read);
    st_symbol_entry *entry =
        st_loader_place(loader, plain, place, st_loader_flag(loader, node, "override", what));
    if (entry != NULL)
        *entry = read;
}

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
            "%s is not described by keys" ST_FOUND "%s" ST_EXPECTED "a map, e.g. %s", what,
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
            return st_loader_fail(loader, item->place, ST_ERR_NAME, "value '%s' stands twice",
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
        /* Under `unit:` both may stand. */
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
            (void)st_loader_fail(
                loader, place, ST_ERR_NAME, "'%s' is already defined at %s:%d" ST_EXPECTED "%s",
                name, first.file, first.line,
                same_file ? "another name"
                          : "another name, or 'override: true' to replace what an included sheet "
                            "defines");
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
        if (!loader->too_many_told)
            (void)st_loader_fail(loader, place, ST_ERR_LIMIT,
                                 "the sheet has too many inputs and cells" ST_EXPECTED
                                 "at most 20000");
        loader->too_many_told = true;
        return NULL;
    }
    /* A new entry at the end; NULL where there is no room. */
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

/* "10 us" of an input without `unit`, which is a pure number: the unit belongs beside it, too. */
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
            "the default of '%s' has a unit and the input has none" ST_FOUND "'%s'" ST_EXPECTED
            "'unit: %s' beside 'default: %s'",
            name, node->text, rest, node->text);
    return true;
}

static void read_input(st_loader *loader, const char *name, st_place place,
                       const st_yaml_node *node)
{
    static const char *const keys[] = {"from", "unit", "doc", "cite", "default", "override"};
    const char *what = st_loader_describe(loader, "input", name);
    if (!st_loader_name(loader, name, place, "an input") ||
        !is_map(loader, node, what, "{from: constants.latency, unit: us, doc: latency}"))
        return;
    st_loader_check_keys(loader, node, keys, ST_COUNT(keys), what);
    st_sheet_input input = {.name = name, .place = place};
    input.from = st_loader_text(loader, node, "from", what);
    input.doc = st_loader_text(loader, node, "doc", what);
    input.cite = st_loader_text(loader, node, "cite", what);
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

void st_loader_inputs(st_loader *loader, const st_yaml_node *map)
{
    for (size_t i = 0; i < map->count; i++)
        read_input(loader, map->keys[i], map->key_places[i], map->items[i]);
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

static void read_cell(st_loader *loader, const char *name, st_place place, const st_yaml_node *node)
{
    static const char *const keys[] = {"unit", "is", "doc", "cite", "open", "override"};
    const char *what = st_loader_describe(loader, "cell", name);
    if (strchr(name, '[') != NULL) {
        st_loader_member(loader, name, place, node);
        return;
    }
    if (node->kind == ST_YAML_MAP && st_yaml_get(node, "per") != NULL) {
        st_loader_family(loader, name, place, node);
        return;
    }
    if (!st_loader_name(loader, name, place, "a cell") ||
        !is_map(loader, node, what, "{unit: us, is: V/C, doc: transfer}"))
        return;
    st_loader_check_keys(loader, node, keys, ST_COUNT(keys), what);
    st_symbol_entry read = {.is_cell = true, .cell = {.name = name, .place = place}};
    bool typed = st_loader_cell_texts(loader, node, what, &read.cell);
    const st_yaml_node *is = st_loader_get(loader, node, "is", ST_YAML_SCALAR, what);
    read.cell.formula = "";
    if (is != NULL)
        st_loader_cell_formula(loader, is, typed, &read);
    else if (st_yaml_get(node, "is") == NULL)
        (void)st_loader_fail(loader, place, ST_ERR_NAME,
                             "%s has no key 'is'" ST_EXPECTED "its formula, e.g. 'is: V/C'", what);
    st_symbol_entry *entry =
        st_loader_place(loader, name, place, st_loader_flag(loader, node, "override", what));
    if (entry != NULL)
        *entry = read;
}

void st_loader_cells(st_loader *loader, const st_yaml_node *map)
{
    for (size_t i = 0; i < map->count; i++)
        read_cell(loader, map->keys[i], map->key_places[i], map->items[i]);
}

/* --- functions ------------------------------------------------------------------------------- */

static bool read_arguments(st_loader *loader, const st_yaml_node *map, st_sheet_function *function)
{
    if (map == NULL)
        return true;
    if (map->count > ST_EXPR_MAX_ARGUMENTS)
        return st_loader_fail(loader, map->place, ST_ERR_LIMIT,
                              "%s" ST_EXPECTED "at most 64 arguments",
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
            exists ? "another name, or 'override: true' to replace what an included sheet defines"
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

static void read_function(st_loader *loader, const char *name, st_place place,
                          const st_yaml_node *node)
{
    static const char *const keys[] = {"args", "unit", "is", "open", "doc", "cite", "override"};
    const char *what = st_loader_describe(loader, "function", name);
    if (!st_loader_name(loader, name, place, "a function") ||
        !is_map(loader, node, what, "{args: {size: B}, unit: us, is: size/1[GB/s], doc: d}"))
        return;
    st_loader_check_keys(loader, node, keys, ST_COUNT(keys), what);
    st_sheet_function function = {.name = name, .place = place};
    st_formula formula = {.place = place};
    function.doc = st_loader_text(loader, node, "doc", what);
    function.cite = st_loader_text(loader, node, "cite", what);
    function.open = st_loader_flag(loader, node, "open", what);
    bool typed = st_loader_type(loader, st_yaml_get(node, "unit"), &function.type);
    typed =
        read_arguments(loader, st_loader_get(loader, node, "args", ST_YAML_MAP, what), &function) &&
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

void st_loader_functions(st_loader *loader, const st_yaml_node *map)
{
    if (map->count > MAX_LIST) {
        (void)st_loader_fail(loader, map->place, ST_ERR_LIMIT,
                             "the sheet has too many functions" ST_EXPECTED "at most 1000");
        return;
    }
    for (size_t i = 0; i < map->count; i++)
        read_function(loader, map->keys[i], map->key_places[i], map->items[i]);
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

/*
 * Adds what an item names: a cell, an input, all members of a family. Names are checked here:
 * everything that they may name was read before.
 */
static void section_add(st_loader *loader, const st_yaml_node *item, const char **names,
                        size_t *count)
{
    size_t index = 0;
    if (item->kind != ST_YAML_SCALAR) {
        (void)st_loader_fail(loader, item->place, ST_ERR_VALUE,
                             "a report lists names of cells" ST_EXPECTED
                             "the name of a cell or an input");
        return;
    }
    if (st_names_get(&loader->entry_names, item->text, &index)) {
        names[(*count)++] = item->text;
        return;
    }
    const st_family *family = st_sheet_family(loader->sheet, item->text);
    if (family == NULL || strchr(item->text, '[') != NULL) {
        if (!loader->include_failed) {
            const char *nearest = NULL;
            for (size_t i = 0; i < loader->entry_count && !st_errors_full(loader->errors); i++) {
                const st_symbol_entry *entry = &loader->entries[i];
                const char *pair[2] = {nearest,
                                       entry->is_cell ? entry->cell.name : entry->input.name};
                nearest = nearest == NULL ? st_nearest(item->text, pair + 1, 1)
                                          : st_nearest(item->text, pair, 2);
            }
            st_fail(loader->errors, ST_ERR_NAME, item->place,
                    "the report names '%.60s', which is no cell or input" ST_HINT "%s", item->text,
                    st_or_none(nearest));
        }
        return;
    }
    for (size_t i = 0; i < family->member_count; i++)
        names[(*count)++] = st_family_member_name(family, i, loader->arena);
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
                             "a report section needs 'section' and 'cells'" ST_EXPECTED
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
    for (size_t i = 0; i < cells->count; i++)
        section_add(loader, cells->items[i], names, &count);
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

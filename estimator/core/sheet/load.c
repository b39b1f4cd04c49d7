/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a sheet: a file, what it includes before it, then its parts in an order in which each
 * finds what it needs. Errors are collected; names are checked even when some formulas are faulty,
 * but not when an included file is missing, since every name of that file would be reported.
 */
#include "sheet/image.h"
#include "sheet/loader.h"
#include "sheet/unit_faults.h"

#include "base/memory.h"

#include <string.h>

static void read_file(st_loader *loader, const char *name, st_place place);

static void read_parts(st_loader *loader, const st_yaml_node *root)
{
    static const struct {
        const char *key;
        st_yaml_kind kind;
        void (*read)(st_loader *loader, const st_yaml_node *node);
    } parts[] = {
        {"enums", ST_YAML_MAP, st_loader_enums},
        {"inputs", ST_YAML_MAP, st_loader_inputs},
        {"functions", ST_YAML_MAP, st_loader_functions},
        {"cells", ST_YAML_MAP, st_loader_cells},
        {"roles", ST_YAML_MAP, st_loader_roles},
        {"checks", ST_YAML_LIST, st_loader_checks},
        {"report", ST_YAML_LIST, st_loader_report},
        {"summary", ST_YAML_MAP, st_loader_summary},
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        const st_yaml_node *node =
            st_loader_get(loader, root, parts[i].key, parts[i].kind, "the sheet");
        if (node != NULL)
            parts[i].read(loader, node);
    }
}

static void read_sheet(st_loader *loader, const st_yaml_node *root)
{
    static const char *const keys[] = {"sheet",  "title",  "doc",       "stack", "include",
                                       "enums",  "inputs", "functions", "cells", "roles",
                                       "checks", "report", "summary"};
    st_sheet *sheet = loader->sheet;
    if (root->kind != ST_YAML_MAP) {
        st_fail(loader->errors, ST_ERR_VALUE, root->place,
                "a sheet must be a map" ST_FOUND "%s" ST_EXPECTED
                "a map with 'sheet', 'inputs', 'cells', ...",
                st_yaml_describe(root, loader->errors));
        return;
    }
    st_loader_check_keys(loader, root, keys, sizeof(keys) / sizeof(keys[0]), "the sheet");
    const char *name = st_loader_text(loader, root, "sheet", "the sheet");
    const st_yaml_node *node = st_yaml_get(root, "sheet");
    if (node == NULL || name[0] == '\0') {
        (void)st_loader_fail(loader, root->place, ST_ERR_NAME,
                             "missing sheet name" ST_EXPECTED "'sheet: NAME' at the top");
    } else {
        for (const char *c = name; *c != '\0'; c++) {
            bool good = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_' ||
                        *c == '-' || *c == '.' || (*c >= '0' && *c <= '9');
            if (!good) {
                (void)st_loader_fail(loader, node->place, ST_ERR_NAME,
                                     "'%s' cannot name a sheet" ST_EXPECTED
                                     "letters, digits, '-', '_' and '.'",
                                     name);
                break;
            }
        }
    }
    if (loader->depth == 1) {
        sheet->name = name;
        sheet->title = st_loader_text(loader, root, "title", "the sheet");
        sheet->doc = st_loader_text(loader, root, "doc", "the sheet");
    }
    const st_yaml_node *include = st_yaml_get(root, "include");
    if (include != NULL) {
        bool list = include->kind == ST_YAML_LIST;
        size_t count = list ? include->count : 1;
        for (size_t i = 0; i < count; i++) {
            const st_yaml_node *item = list ? include->items[i] : include;
            if (item->kind != ST_YAML_SCALAR || item->length == 0) {
                (void)st_loader_fail(loader, item->place, ST_ERR_VALUE,
                                     "'include' must be a list of sheets" ST_EXPECTED
                                     "names of sheets, or paths relative to this file");
                loader->include_failed = true;
                continue;
            }
            read_file(loader, item->text, item->place);
        }
    }
    read_parts(loader, root);
}

/* True when the file is new; marks it as being read. */
static bool enter_file(st_loader *loader, const char *file, st_place place)
{
    size_t index = 0;
    size_t open = st_text_at(loader->stack, loader->depth, file);
    if (open < loader->depth) {
        st_buffer path = {0};
        for (size_t i = open; i < loader->depth; i++)
            st_buffer_printf(&path, "%s -> ", loader->stack[i]);
        st_buffer_text(&path, loader->stack[open]);
        const char *message =
            loader->depth - open == 1 ? "the sheet includes itself" : "sheets include each other";
        (void)st_loader_fail(loader, place, ST_ERR_CYCLE, "%s: %s", message,
                             path.data == NULL ? "" : path.data);
        st_buffer_free(&path);
        loader->include_failed = true;
        return false;
    }
    if (st_names_get(&loader->files, file, &index))
        return false;
    if (loader->depth == ST_SHEET_MAX_INCLUDES) {
        (void)st_loader_fail(loader, place, ST_ERR_LIMIT,
                             "includes are nested too deep" ST_EXPECTED "at most 32 levels");
        loader->include_failed = true;
        return false;
    }
    if (!st_loader_new_file(loader, file, place))
        return false;
    loader->stack[loader->depth++] = file;
    return true;
}

/* What is read, where it was not read before; `place`: who asked for it. */
static void read_source(st_loader *loader, const st_source *source, st_place place)
{
    const st_yaml_node *root = NULL;
    if (!enter_file(loader, source->file, place)) {
        st_loader_note_include(loader, source->file);
        return;
    }
    (void)!st_yaml_read(source, loader->arena, &root,
                        loader->errors); /* errors are counted at the end */
    if (root != NULL)
        read_sheet(loader, root);
    else
        loader->include_failed = true;
    loader->depth--;
    st_loader_note_include(loader, source->file);
}

static void read_file(st_loader *loader, const char *name, st_place place)
{
    st_source source = {0};
    if (loader->reader->read(loader->reader->context, name, place, loader->arena, &source,
                             loader->errors) == ST_OK)
        read_source(loader, &source, place);
    else
        loader->include_failed = true;
}

/* Sorts the entries into inputs and cells, in the order in which they were first defined. */
static bool sort_entries(st_loader *loader)
{
    st_sheet *sheet = loader->sheet;
    size_t count = loader->entry_count;
    sheet->inputs = st_arena_alloc(loader->arena, count + 1, sizeof(*sheet->inputs));
    sheet->cells = st_arena_alloc(loader->arena, count + 1, sizeof(*sheet->cells));
    sheet->cell_formulas = st_arena_alloc(loader->arena, count + 1, sizeof(*sheet->cell_formulas));
    sheet->cell_members = st_arena_alloc(loader->arena, count + 1, sizeof(*sheet->cell_members));
    if (sheet->inputs == NULL || sheet->cells == NULL || sheet->cell_formulas == NULL ||
        sheet->cell_members == NULL)
        return st_loader_out_of_memory(loader);
    for (size_t i = 0; i < count; i++) {
        const st_symbol_entry *entry = &loader->entries[i];
        st_names *names = entry->is_cell ? &sheet->cell_names : &sheet->input_names;
        size_t index = entry->is_cell ? sheet->cell_count++ : sheet->input_count++;
        const char *name = entry->is_cell ? entry->cell.name : entry->input.name;
        if (!st_names_put(names, name, index))
            return st_loader_out_of_memory(loader);
        if (entry->is_cell) {
            sheet->cells[index] = entry->cell;
            sheet->cells[index].expr = entry->formula.expr;
            sheet->cell_formulas[index] = entry->formula;
            sheet->cell_members[index] = entry->member;
        } else {
            sheet->inputs[index] = entry->input;
        }
    }
    return true;
}

static st_status load_sheet(st_loader *loader, const st_source *source, const st_sheet **sheet)
{
    st_errors *errors = loader->errors;
    size_t before = st_errors_count(errors, ST_SEVERITY_ERROR);
    st_status status = ST_OK;
    read_source(loader, source, (st_place){0});
    st_loader_check_overrides(loader, &loader->value_overrides);
    st_loader_check_overrides(loader, &loader->function_overrides);
    st_loader_check_overrides(loader, &loader->role_overrides);
    if (!loader->include_failed && sort_entries(loader)) {
        st_sheet_expand(loader->sheet, loader->arena, errors);
        st_unit_faults faults = {.count = 0};
        st_errors *found = st_errors_create();
        if (found == NULL)
            return st_out_of_memory(errors);
        status = st_sheet_check_all(loader->sheet, loader->arena, &faults, found);
        st_status roles = st_sheet_check_roles(loader->sheet, loader->arena, found);
        st_note(&status, roles);
        st_note(&status, st_sheet_check_summary(loader->sheet, loader->arena, found));
        st_unit_faults_report(loader->sheet, &faults, found, errors);
        st_errors_destroy(found);
    }
    if (st_errors_count(errors, ST_SEVERITY_ERROR) > before)
        return status == ST_ERR_MEMORY ? status : st_errors_status(errors);
    st_sheet_warn_unused(loader->sheet, errors);
    *sheet = loader->sheet;
    return ST_OK;
}

st_status st_sheet_read(const st_sheet_reader *reader, const st_source *source, st_arena *arena,
                        const st_sheet **sheet, st_errors *errors)
{
    st_sheet *loaded = st_arena_alloc(arena, 1, sizeof(*loaded));
    /* The reader counts errors, also for a caller who does not want to see them. */
    st_errors *unseen = errors == NULL ? st_errors_create() : NULL;
    st_status status = ST_ERR_MEMORY;
    if (loaded == NULL || (errors == NULL && unseen == NULL)) {
        (void)st_out_of_memory(errors);
        goto cleanup;
    }
    *loaded = (st_sheet){.name = "", .title = "", .doc = "", .file = source->file};
    loaded->input_names.arena = arena;
    loaded->cell_names.arena = arena;
    loaded->family_names.arena = arena;
    loaded->function_names.arena = arena;
    loaded->value_names.arena = arena;
    st_loader loader = {.reader = reader,
                        .arena = arena,
                        .errors = errors == NULL ? unseen : errors,
                        .sheet = loaded};
    loader.entry_names.arena = arena;
    loader.files.arena = arena;
    status = load_sheet(&loader, source, sheet);
cleanup:
    st_errors_destroy(unseen);
    return status;
}

st_status st_sheet_load(const st_sheet_reader *reader, const char *name, st_arena *arena,
                        const st_sheet **sheet, st_errors *errors)
{
    st_source source = {0};
    st_status status = reader->read(reader->context, name, (st_place){0}, arena, &source, errors);
    if (status != ST_OK)
        return status;
    const st_sheet *ready = st_sheet_from_image(reader, &source, arena);
    if (ready == NULL)
        return st_sheet_read(reader, &source, arena, sheet, errors);
    *sheet = ready;
    return ST_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The state of reading a sheet, shared by the files that read its parts. */
#ifndef STEPTIME_SHEET_LOADER_H
#define STEPTIME_SHEET_LOADER_H

#include "sheet/internal.h"

/* An input or a cell, before the two are sorted apart (an override may turn one into the other). */
typedef struct st_symbol_entry {
    bool is_cell;
    st_sheet_input input;
    st_sheet_cell cell;
    st_formula formula;
    st_family_member member; /* the cell's family */
} st_symbol_entry;

enum { ST_SHEET_MAX_FILES = 1024 };

/* A bit for each file that a file includes, by itself or by what it includes. */
typedef struct st_included {
    uint64_t words[ST_SHEET_MAX_FILES / 64];
} st_included;

/* A name that is overridden; `rival` is another override; neither sheet includes the other. */
typedef struct st_override {
    const char *name;
    st_place last;
    st_place rival; /* without a file: none */
} st_override;

typedef struct st_overrides {
    st_names names;
    st_override *items;
    size_t count;
} st_overrides;

typedef struct st_loader {
    const st_sheet_reader *reader;
    st_arena *arena;
    st_errors *errors;
    st_sheet *sheet;
    st_symbol_entry *entries;
    size_t entry_count;
    size_t entry_capacity;
    st_names entry_names;
    const char *stack[ST_SHEET_MAX_INCLUDES]; /* files that are being read, for cycles */
    size_t depth;
    st_names files; /* files that were read, so that each counts once */
    st_included *included;
    st_overrides value_overrides; /* inputs and cells */
    st_overrides function_overrides;
    st_overrides role_overrides;
    char what[100]; /* "cell 'M'": what is being read */
    bool too_many_reported;
    bool include_failed; /* names would be missing: do not report them one by one */
} st_loader;

/* Reports an error at `place`; the format is that of st_fail. Returns false, for `return
 * st_loader_fail()`.
 */
bool st_loader_fail(st_loader *loader, st_place place, st_status status, const char *format, ...)
    ST_PRINTF(4, 5);
bool st_loader_out_of_memory(st_loader *loader);

/* "cell 'M'", until the next call; the kind is a short word. */
const char *st_loader_describe(st_loader *loader, const char *kind, const char *name);

/* Appends to a list; false (reported) when out of memory. */
#define ST_LOADER_APPEND(loader, items, count, ...)                                                \
    (ST_APPEND((loader)->arena, items, count, __VA_ARGS__) || st_loader_out_of_memory(loader))

/* Reports keys of `map` that are not among `allowed`; `what` names the thing, e.g. "cell 'T'". */
void st_loader_check_keys(st_loader *loader, const st_yaml_node *map, const char *const *allowed,
                          size_t count, const char *what);

/* The node of `key` if it has the kind; NULL when absent or (reported) of another kind. */
const st_yaml_node *st_loader_get(st_loader *loader, const st_yaml_node *map, const char *key,
                                  st_yaml_kind kind, const char *what);
/* Text of a scalar key with outer blanks removed; "" when absent. */
const char *st_loader_text(st_loader *loader, const st_yaml_node *map, const char *key,
                           const char *what);
bool st_loader_flag(st_loader *loader, const st_yaml_node *map, const char *key, const char *what);
/* True when `name` may name a thing of the language; reports otherwise. */
bool st_loader_name(st_loader *loader, const char *name, st_place place, const char *what);
/* The type that a unit, "bool" or the name of an enumeration means; NULL node: pure number. */
bool st_loader_type(st_loader *loader, const st_yaml_node *node, st_type *type);
/* The formula in a scalar, parsed; a faulty one has no tree. */
bool st_loader_formula(st_loader *loader, const st_yaml_node *scalar, st_formula *formula);

/*
 * Where an input or a cell goes: the slot of the definition that it overrides, or a new one. NULL
 * when it may not go anywhere (reported).
 */
st_symbol_entry *st_loader_place(st_loader *loader, const char *name, st_place place,
                                 bool override);
/* A cell's type and texts. False where its unit is faulty. */
bool st_loader_cell_texts(st_loader *loader, const st_yaml_node *node, const char *what,
                          st_sheet_cell *cell);
/* Formula `is` of a cell, whose tree is kept where its type is known. */
void st_loader_cell_formula(st_loader *loader, const st_yaml_node *is, bool typed,
                            st_symbol_entry *entry);
/* A cell that is `per` some enumerations, and an override of one member, "M[first]". */
void st_loader_family(st_loader *loader, const char *name, st_place place,
                      const st_yaml_node *node);
void st_loader_member(st_loader *loader, const char *name, st_place place,
                      const st_yaml_node *node);

/* A file that is read for the first time; false (reported) beyond the limit or without memory. */
bool st_loader_new_file(st_loader *loader, const char *file, st_place place);
/* The file that is being read includes one that has been read. */
void st_loader_note_include(st_loader *loader, const char *file);
void st_loader_note_override(st_loader *loader, st_overrides *overrides, const char *name,
                             st_place place);
/* Reports overrides that contradict each other. */
void st_loader_check_overrides(st_loader *loader, const st_overrides *overrides);

/* The parts of a file; each reports its errors and goes on. */
void st_loader_enums(st_loader *loader, const st_yaml_node *map);
void st_loader_inputs(st_loader *loader, const st_yaml_node *map);
void st_loader_functions(st_loader *loader, const st_yaml_node *map);
void st_loader_cells(st_loader *loader, const st_yaml_node *map);
void st_loader_roles(st_loader *loader, const st_yaml_node *map);
void st_loader_checks(st_loader *loader, const st_yaml_node *list);
void st_loader_summary(st_loader *loader, const st_yaml_node *map);
void st_loader_report(st_loader *loader, const st_yaml_node *list);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A sheet from the inside: what reading, checking, compiling and explaining share. */
#ifndef STEPTIME_SHEET_INTERNAL_H
#define STEPTIME_SHEET_INTERNAL_H

#include "sheet/family.h"
#include "sheet/names.h"
#include "steptime/tool/roles.h"
#include "sheet/summary.h"

enum {
    ST_SHEET_MAX_SYMBOLS = 20000,
    ST_SHEET_MAX_NAME = 100, /* characters of an identifier */
    ST_SHEET_MAX_INCLUDES = 32,
    ST_SHEET_MAX_HEIGHT = 4000 /* of a formula with its functions' bodies in place */
};

/* A piece of a check's message: text, or an expression whose value is shown. */
typedef struct st_message_part {
    const char *text;
    st_formula formula; /* without a tree: text alone */
} st_message_part;

typedef struct st_message {
    st_message_part *parts;
    size_t count;
} st_message;

/* The cells that fill a role, by part. */
typedef struct st_role_entry {
    st_place place; /* without a file: nothing fills it */
    const char *cells[ST_ROLE_PARTS];
    st_place places[ST_ROLE_PARTS];
} st_role_entry;

struct st_sheet {
    const char *name;
    const char *title;
    const char *doc;
    const char *file;
    st_sheet_input *inputs;
    size_t input_count;
    st_sheet_cell *cells;
    st_formula *cell_formulas;
    size_t cell_count;
    st_family_member *cell_members;
    const st_family **families;
    size_t family_count;
    st_names family_names;
    st_sheet_function *functions;
    st_formula *function_formulas;
    size_t function_count;
    st_sheet_check *checks;
    st_formula *check_formulas;
    st_message *messages;
    size_t check_count;
    st_sheet_section *sections;
    size_t section_count;
    st_enum *enums;
    size_t enum_count;
    st_role_entry roles[ST_ROLES];
    st_summary summary;
    st_names input_names;
    st_names cell_names;
    st_names function_names;
    st_names value_names; /* values of enumerations */
    size_t *cell_order;   /* every cell behind the cells that it reads */
    /* What formulas name, in the order of their texts: 2 * a cell or 2 * a function + 1. Those of
     * cell i begin at first_reads[i], those of function i at first_reads[cell_count + i]. */
    uint32_t *reads;
    size_t read_count;
    uint32_t *first_reads;
    size_t owner_count; /* cells, functions, and one more, where the last ones end */
};

/*
 * Resolves names, checks types, finds cycles. Adds every error to `errors`; returns the status of
 * the first.
 */
struct st_unit_faults;
st_status st_sheet_check_all(st_sheet *sheet, st_arena *arena, struct st_unit_faults *faults,
                             st_errors *errors) ST_NODISCARD;
/* Roles that name no cell, or one of another unit. */
st_status st_sheet_check_roles(st_sheet *sheet, st_arena *arena, st_errors *errors) ST_NODISCARD;
/* The same for what the summary names. */
st_status st_sheet_check_summary(st_sheet *sheet, st_arena *arena, st_errors *errors) ST_NODISCARD;
/* Warns about inputs that nothing reads; of use only when every formula could be read. */
void st_sheet_warn_unused(const st_sheet *sheet, st_errors *errors);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sheets: named cells with units, formulas and citations, read from YAML and checked.
 *
 * A loaded sheet is type-checked, free of cycles and read-only; any number of threads may use it.
 * The language is described in docs/sheet-language.md.
 */
#ifndef STEPTIME_SHEET_H
#define STEPTIME_SHEET_H

#include "steptime/quantity.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct st_sheet st_sheet;
typedef struct st_expr st_expr; /* a parsed expression */

/* A named list of values, such as none, selective, full; a value's number is its index. */
typedef struct st_enum {
    const char *name;
    const char *const *values;
    size_t count;
    st_place place;
} st_enum;

typedef enum st_type_kind { ST_TYPE_NUMBER, ST_TYPE_BOOL, ST_TYPE_ENUM } st_type_kind;

typedef struct st_type {
    st_type_kind kind;
    st_unit unit;               /* ST_TYPE_NUMBER: the declared unit, for showing values */
    const st_enum *enumeration; /* ST_TYPE_ENUM */
} st_type;

typedef struct st_sheet_input {
    const char *name; /* the formulas' letter, e.g. "h" */
    const char *from; /* job key, e.g. "model.hidden" */
    const char *doc;
    const char *cite;
    const char *steps; /* why results jump where the value changes a little; NULL: no jump */
    st_type type;
    bool has_default;
    double default_value; /* base units; an assumption that reports show */
    bool used;            /* some cell or check reads it */
    st_place place;
} st_sheet_input;

typedef struct st_sheet_cell {
    const char *name;
    const char *doc;
    const char *cite;
    const char *formula; /* as written, outer blanks removed */
    st_type type;
    bool open; /* a provider may replace it */
    const st_expr *expr;
    st_place place;         /* of the name */
    st_place formula_place; /* of the formula's first character */
} st_sheet_cell;

typedef struct st_sheet_argument {
    const char *name;
    st_type type;
} st_sheet_argument;

typedef struct st_sheet_function {
    const char *name;
    const char *doc;
    const char *cite;
    const char *formula; /* NULL: needs a provider */
    st_type type;
    bool open;
    const st_sheet_argument *arguments;
    size_t argument_count;
    const st_expr *expr;
    st_place place;
    st_place formula_place;
} st_sheet_function;

typedef struct st_sheet_check {
    const char *formula;
    const char *message; /* template with {cell} or {expression} */
    bool warning;        /* `level: warning`: reported, never a failure */
    bool limit;          /* `level: limit`: the values are kept where it fails */
    const st_expr *expr;
    st_place place;
} st_sheet_check;

typedef struct st_sheet_section {
    const char *title;
    const char *const *cells; /* names of cells or inputs */
    size_t count;
} st_sheet_section;

/*
 * How a sheet finds files: `read` resolves `name` (a sheet's name or a path), asked for at `place`
 * (file NULL for the sheet the user named). It reports its own errors.
 */
typedef struct st_sheet_reader {
    st_status (*read)(void *context, const char *name, st_place place, st_arena *arena,
                      st_source *source, st_errors *errors);
    void *context;
} st_sheet_reader;

/*
 * Reads, parses and checks a sheet with everything it includes. Reports all errors at once; unused
 * inputs are warnings. The sheet lives in `arena`.
 */
ST_API st_status st_sheet_load(const st_sheet_reader *reader, const char *name, st_arena *arena,
                               const st_sheet **sheet, st_errors *errors) ST_NODISCARD;

ST_API const char *st_sheet_name(const st_sheet *sheet);  /* `sheet:` of the file */
ST_API const char *st_sheet_title(const st_sheet *sheet); /* never NULL, may be "" */
ST_API const char *st_sheet_doc(const st_sheet *sheet);   /* never NULL, may be "" */
ST_API const char *st_sheet_file(const st_sheet *sheet);

/* What the sheet and its includes declare, in the order of the files; *count is set, never NULL. */
ST_API const st_sheet_input *st_sheet_inputs(const st_sheet *sheet, size_t *count);
ST_API const st_sheet_cell *st_sheet_cells(const st_sheet *sheet, size_t *count);
ST_API const st_sheet_function *st_sheet_functions(const st_sheet *sheet, size_t *count);
ST_API const st_sheet_check *st_sheet_checks(const st_sheet *sheet, size_t *count);
ST_API const st_sheet_section *st_sheet_sections(const st_sheet *sheet, size_t *count);
ST_API const st_enum *st_sheet_enums(const st_sheet *sheet, size_t *count);

/* "error", "limit" or "warning". */
ST_API const char *st_check_level(const st_sheet_check *check);

/* NULL where there is none of that name. */
ST_API const st_sheet_input *st_sheet_find_input(const st_sheet *sheet, const char *name);
ST_API const st_sheet_cell *st_sheet_find_cell(const st_sheet *sheet, const char *name);
/* The cell or input whose name is nearest to `name`, NULL where nothing is near. */
ST_API const char *st_sheet_nearest(const st_sheet *sheet, const char *name);

/* Shows a value of a type: "16.73 s", "full", "yes"; returns `text`. */
ST_API const char *st_type_format(const st_type *type, double value, st_style style, char *text,
                                  size_t size);

#ifdef __cplusplus
}
#endif
#endif

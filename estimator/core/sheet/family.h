/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Families: cells over the values of enumerations, expanded into ordinary cells before a sheet is
 * checked, so that nothing behind the checker knows of them.
 *
 * A family M that is `per: stage` becomes the cells M[first], M[middle], M[last]. In the formula of
 * a member the name of the enumeration means the member, as an index (A[stage]) and alone
 * (stage == first); an `if` that depends on it alone is decided. In a reduction '*' means each
 * value of its enumeration in turn: max(M[*]), sum(L[*]*t[*]).
 */
#ifndef STEPTIME_SHEET_FAMILY_H
#define STEPTIME_SHEET_FAMILY_H

#include "sheet/expr.h"

enum { ST_FAMILY_MAX_AXES = 4 };

typedef struct st_family {
    const char *name;
    st_place place;
    const st_enum *axes[ST_FAMILY_MAX_AXES];
    size_t axis_count;
    size_t member_count;
    /* Per member the condition under which it exists; NULL: always. A member that does not exist is
     * zero, and reductions other than sums pass over it. */
    st_formula **wheres;
} st_family;

/* The family and the member that a cell is; without a family: an ordinary cell. */
typedef struct st_family_member {
    const st_family *family;
    size_t index; /* the last axis runs fastest */
} st_family_member;

/* The value that a member has on an axis, as an index of its enumeration. */
size_t st_family_value(const st_family *family, size_t member, size_t axis);
/* "M[first,moe]"; NULL when out of memory. */
const char *st_family_member_name(const st_family *family, size_t member, st_arena *arena);
/* The member with the values in `name`, as "M[first,moe]"; SIZE_MAX: none. */
size_t st_family_find(const st_family *family, const char *name);
/* The family whose name precedes the index of `name`, or is all of it; NULL: none. */
const st_family *st_sheet_family(const st_sheet *sheet, const char *name);

/* sum, min, max, argmin or argmax of one argument. */
bool st_family_is_reduction(const st_expr *expr);
/* The condition under which a member exists; NULL: it always does. */
const st_formula *st_family_where(st_family_member member);
/* Whether two members exist under the same condition, as far as its text shows. */
bool st_family_same_condition(st_family_member a, st_family_member b);
/* Whether a formula of no family has something to put in place: else it stays as it is. */
bool st_family_has_places(const st_expr *expr);

/* The sheet whose formulas are expanded, where errors go, and texts that are being made. */
typedef struct st_expansion {
    const st_sheet *sheet;
    st_arena *arena;
    st_errors *errors;
    st_buffer text;
    st_buffer name; /* of a member, while it is looked up */
} st_expansion;

/*
 * Puts values in the place of a formula's own indices and of '*', and what is decided in the place
 * of an `if` about the own index. Of a member that may not exist the formula becomes a choice with
 * zero of `type`. Sets formula->expr to NULL where an error was reported.
 */
void st_family_expand(st_expansion *expansion, st_family_member of, const st_type *type,
                      st_formula *formula);
/* Expands all formulas of a sheet. */
void st_sheet_expand(st_sheet *sheet, st_arena *arena, st_errors *errors);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Names that spreadsheets take; see cell_names.h. */
#include "export/cell_names.h"

#include "base/lists.h"

#include <string.h>

static const char digits[] = "0123456789";
static const char letters[] = "abcdefghijklmnopqrstuvwxyz";

/* T1, XFD1048576; and a few names with more digits than any cell has. */
static bool is_cell(const char *lower)
{
    size_t column = strspn(lower, letters);
    size_t row = strspn(lower + column, digits);
    return column >= 1 && column <= 3 && row > 0 && lower[column + row] == '\0';
}

/* R, C, R7, RC, R7C3. */
static bool is_row_and_column(const char *lower)
{
    const char *rest = lower;
    if (*rest == 'r')
        rest += 1 + strspn(rest + 1, digits);
    if (*rest == 'c')
        rest += 1 + strspn(rest + 1, digits);
    return rest != lower && *rest == '\0';
}

static bool is_kept(const char *lower)
{
    static const char *const kept[] = {
        "true",      "false",      "print_area",  "print_titles",     "criteria",
        "database",  "extract",    "recorder",    "consolidate_area", "data_form",
        "auto_open", "auto_close", "sheet_title", "auto_activate",    "auto_deactivate"};
    return st_has_text(kept, ST_COUNT(kept), lower);
}

char *st_cell_name_lower(st_arena *arena, const char *name)
{
    char *lower = st_arena_copy(arena, name, strlen(name));
    for (char *c = lower; lower != NULL && *c != '\0'; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
    return lower;
}

static const char *make_legal(st_arena *arena, const char *name)
{
    /* M[first,moe] becomes M_first_moe. */
    char *plain = strchr(name, '[') == NULL ? NULL : st_arena_copy(arena, name, strlen(name));
    for (char *c = plain; c != NULL && *c != '\0'; c++)
        *c = (char)(*c == '[' || *c == ',' ? '_' : *c == ']' ? '\0' : *c);
    const char *wanted = strchr(name, '[') == NULL ? name : plain;
    if (wanted == NULL)
        return NULL;
    const char *lower = st_cell_name_lower(arena, wanted);
    if (lower == NULL)
        return NULL;
    if (strncmp(lower, "_xl", 3) == 0)
        return st_arena_printf(arena, "n%s", wanted);
    bool mangled = is_cell(lower) || is_row_and_column(lower) || is_kept(lower);
    return mangled ? st_arena_printf(arena, "%s_", wanted) : wanted;
}

const char *st_cell_names_add(st_cell_names *names, const char *wanted)
{
    const char *name = make_legal(names->arena, wanted);
    const char *base = name != NULL ? st_cell_name_lower(names->arena, name) : NULL;
    const char *lower = base;
    size_t number = 2; /* next suffix; stored with the base, so that equal names are cheap */
    names->taken.arena = names->arena;
    if (base == NULL || !st_names_get(&names->taken, base, &number))
        return base != NULL && st_names_put(&names->taken, base, 2) ? name : NULL;
    const char *first = name;
    for (size_t taken = 0; lower != NULL && st_names_get(&names->taken, lower, &taken); number++) {
        name = st_arena_printf(names->arena, "%s_%zu", first, number);
        lower = name != NULL ? st_cell_name_lower(names->arena, name) : NULL;
    }
    bool kept = lower != NULL && st_names_put(&names->taken, base, number) &&
                st_names_put(&names->taken, lower, 2);
    return kept ? name : NULL;
}

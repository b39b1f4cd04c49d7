/* SPDX-License-Identifier: Apache-2.0 */
/* Names in formulas. */
#ifndef STEPTIME_TOOL_FORMULA_NAMES_H
#define STEPTIME_TOOL_FORMULA_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Name of a built-in function or a word of the language, which nothing else may be called. */
bool st_expr_is_reserved(const char *name);

/* Names of all built-in functions, for suggestions; constant. */
const char *const *st_builtin_names(size_t *count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of a shell, of which nothing is run. */
#ifndef STEPTIME_IMPORT_SHELL_NUMBER_H
#define STEPTIME_IMPORT_SHELL_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

/* The value of a variable; NULL: not known. */
typedef const char *shell_value_of(void *context, const char *name, size_t length);

/* The value between the parentheses of $((...)); false where it is not whole numbers and known
 * names. */
bool shell_number(const char *text, shell_value_of *value_of, void *context, double *number);

#endif

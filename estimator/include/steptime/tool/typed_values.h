/* SPDX-License-Identifier: Apache-2.0 */
/* Values as their types show them to programs: exact numbers in the declared unit, names, truth. */
#ifndef STEPTIME_TOOL_TYPED_VALUES_H
#define STEPTIME_TOOL_TYPED_VALUES_H

#include "base/result.h"
#include "steptime/sheet.h"

/* A base value as its type shows it: a number in the declared unit, a name, true or false. The type
 * lives as long as the result. */
void st_put_value(st_node *node, const char *key, const st_type *type, double value);
void st_put_unit(st_node *node, const char *key, const st_type *type);

#endif

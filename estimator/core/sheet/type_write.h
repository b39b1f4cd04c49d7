/* SPDX-License-Identifier: Apache-2.0 */
/* Values as their types show them to programs: exact numbers in the declared unit, names, truth. */
#ifndef STEPTIME_SHEET_TYPE_WRITE_H
#define STEPTIME_SHEET_TYPE_WRITE_H

#include "base/result.h"
#include "steptime/sheet.h"
#include "steptime/tool/typed_values.h"

/* The number of ST_STYLE_EXACT without its unit, "true", "false", or the name of a value. */
void st_exact_text(const st_type *type, double value, char *text, size_t size);
/* "GB/s", "bool", the enumeration's name. */
const char *st_type_unit_text(const st_type *type);

/* A relative change as "+2.90 %"; nothing where there is none, or the ratio says nothing. */
void st_put_change(st_node *node, const char *key, double change);

#endif

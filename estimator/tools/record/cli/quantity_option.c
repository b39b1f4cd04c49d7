/* SPDX-License-Identifier: Apache-2.0 */
/* See quantity_option.h. */
#include "record/cli/quantity_option.h"

#include <string.h>

st_status quantity_option_read(cli_run *run, const quantity_option *option, const char *text,
                               double *value)
{
    st_unit unit;
    st_place place = {.file = option->name};
    if (text == NULL)
        return ST_OK;
    st_status status = st_unit_parse(option->unit, strlen(option->unit), place, &unit, run->errors);
    if (status == ST_OK)
        status = st_quantity_parse(text, strlen(text), &unit, place, value, run->errors);
    if (status == ST_OK && !(*value >= option->least && *value <= option->most))
        status =
            st_fail(run->errors, ST_ERR_VALUE, place,
                    "value is out of range" ST_FOUND "%s" ST_EXPECTED "%s", text, option->expected);
    return status;
}

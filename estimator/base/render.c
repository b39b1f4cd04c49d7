/* SPDX-License-Identifier: Apache-2.0 */
/* A result in the form that is asked for; the forms are in render_*.c. */
#include "base/result.h"

void st_result_write(const st_result *result, st_form form, const st_paint *paint,
                     st_buffer *buffer)
{
    switch (form) {
    case ST_FORM_TEXT:
        st_result_write_text(result, paint, buffer);
        break;
    case ST_FORM_JSON:
        st_result_write_json(result, buffer);
        break;
    case ST_FORM_CSV:
        st_result_write_csv(result, buffer);
        break;
    }
}

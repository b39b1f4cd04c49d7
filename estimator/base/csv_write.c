/* SPDX-License-Identifier: Apache-2.0 */
/* CSV lines; see csv_write.h. */
#include "base/csv_write.h"

void st_csv_row(const char *const *fields, size_t count, st_buffer *buffer)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            st_buffer_text(buffer, ",");
        st_buffer_csv_field(buffer, fields[i] != NULL ? fields[i] : "");
    }
    st_buffer_text(buffer, "\n");
}

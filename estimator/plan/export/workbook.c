/* SPDX-License-Identifier: Apache-2.0 */
/* A workbook of an estimate; see steptime/estimate.h. */
#include "estimate/handle.h"
#include "export/xlsx.h"

st_status st_estimate_workbook(st_estimate *estimate, const char *file, st_errors *errors)
{
    st_estimate_handle *self = st_estimate_handle_of(estimate);
    st_status status = st_estimate_complete(self, false, errors);
    return status == ST_OK ? st_estimate_write_xlsx(estimate, file, self->arena, errors) : status;
}

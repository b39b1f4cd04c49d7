/* SPDX-License-Identifier: Apache-2.0 */
/* Prints cells of a job: consumer JOB CELL... */
#include <steptime/estimate.h>

#include <stdio.h>

static st_status print_cells(st_estimate *estimate, const char *const *names, st_errors *errors)
{
    st_status status = st_estimate_compute(estimate, errors);
    for (; *names != NULL && status == ST_OK; names++) {
        st_estimate_cell cell = ST_ESTIMATE_CELL_INIT;
        status = st_estimate_read(estimate, *names, &cell, errors);
        if (status == ST_OK)
            printf("%s = %s (%s)\n", cell.name, cell.text, cell.doc);
    }
    return status;
}

int main(int argc, char **argv)
{
    st_errors *errors = st_errors_create();
    st_estimate *estimate = NULL;
    st_estimate_request request = ST_ESTIMATE_REQUEST_INIT;
    if (argc < 3 || errors == NULL)
        return 2;
    request.job = argv[1];
    st_status status = st_estimate_create(&request, &estimate, errors);
    if (status == ST_OK)
        status = print_cells(estimate, (const char *const *)argv + 2, errors);
    st_errors_write(errors, stderr);
    st_estimate_destroy(estimate);
    st_errors_destroy(errors);
    return status == ST_OK ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What steptime-mpi.so exports; see processes.h. */
#ifndef STEPTIME_SEARCH_MPI_MODULE_H
#define STEPTIME_SEARCH_MPI_MODULE_H

#include "search/processes.h"

#define ST_MPI_BEGIN "st_mpi_begin"
#define ST_MPI_END   "st_mpi_end"

/* Both return 0 where they succeed. An error ends the other processes. */
__attribute__((visibility("default"))) int st_mpi_begin(st_processes *ranks);
__attribute__((visibility("default"))) int st_mpi_end(int fault);

#endif

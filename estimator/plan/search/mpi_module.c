/* SPDX-License-Identifier: Apache-2.0 */
/* The one file that knows MPI. */
#include "search/mpi_module.h"

#include <limits.h>
#include <mpi.h>

static int gather(void *context, const void *own, size_t bytes, void *all)
{
    (void)context;
    if (bytes > INT_MAX)
        return 1;
    return MPI_Allgather(own, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, MPI_COMM_WORLD) !=
           MPI_SUCCESS;
}

int st_mpi_begin(st_processes *ranks)
{
    int provided = 0;
    *ranks = (st_processes){.count = 1, .gather = gather};
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
        return 1;
    return MPI_Comm_rank(MPI_COMM_WORLD, &ranks->rank) != MPI_SUCCESS ||
           MPI_Comm_size(MPI_COMM_WORLD, &ranks->count) != MPI_SUCCESS;
}

int st_mpi_end(int fault)
{
    if (fault != 0)
        (void)MPI_Abort(MPI_COMM_WORLD, 1);
    return MPI_Finalize() != MPI_SUCCESS;
}

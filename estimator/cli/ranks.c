/* SPDX-License-Identifier: Apache-2.0 */
/* Loading the MPI module; see ranks.h. */
#include "cli/ranks.h"

#include "steptime/tool/input_files.h"

#include "search/mpi_module.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static const char module_name[] = "steptime-mpi.so";

/* Number of processes that a launcher announces; 1 where none does. */
static long announced(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE",
                                        "MPI_LOCALNRANKS"};
    long most = 1;
    for (size_t i = 0; i < ST_COUNT(names); i++) {
        const char *value = getenv(names[i]);
        long count = value != NULL ? strtol(value, NULL, 10) : 1;
        most = count > most ? count : most;
    }
    return most;
}

bool cli_is_other_process(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK"};
    long most = 0;
    for (size_t i = 0; i < ST_COUNT(names) && announced() > 1; i++) {
        const char *value = getenv(names[i]);
        long rank = value != NULL ? strtol(value, NULL, 10) : 0;
        most = rank > most ? rank : most;
    }
    return most > 0;
}

static void *open_beside_program(void)
{
    char path[PATH_BYTES];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof module_name);
    if (length <= 0)
        return NULL;
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        return NULL;
    memcpy(slash + 1, module_name, sizeof module_name);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* What dlsym finds is a function; ISO C knows no way from one kind of pointer to the other. */
static void find(void *module, const char *name, void *function)
{
    void *symbol = dlsym(module, name);
    memcpy(function, &symbol, sizeof symbol);
}

st_status cli_ranks_begin(cli_run *run, cli_ranks *ranks)
{
    *ranks = (cli_ranks){.ranks = st_one_process};
    if (announced() <= 1)
        return ST_OK;
    ranks->module = open_beside_program();
    const char *installed =
        st_installed_folder(STEPTIME_LIBDIR "/steptime/steptime-mpi.so", run->arena);
    if (ranks->module == NULL && installed != NULL)
        ranks->module = dlopen(installed, RTLD_NOW | RTLD_LOCAL);
    int (*begin)(st_processes *) = NULL;
    if (ranks->module != NULL) {
        find(ranks->module, ST_MPI_BEGIN, &begin);
        find(ranks->module, ST_MPI_END, &ranks->end);
    }
    if (begin == NULL || ranks->end == NULL || begin(&ranks->ranks) != 0) {
        ranks->end = NULL;
        return st_fail(run->errors, ST_ERR_IO, (st_place){0},
                       "mpirun started several processes, but MPI is unavailable" ST_FOUND
                       "%s" ST_HINT
                       "build with -Dmpi=enabled, or start one process with several --threads",
                       ranks->module == NULL ? "missing module steptime-mpi.so" : "");
    }
    return ST_OK;
}

int cli_ranks_end(cli_run *run, cli_ranks *ranks, int code, bool fault)
{
    if (ranks->ranks.rank > 0) {
        st_buffer_free(&run->result);
        cli_free_files(run);
        st_errors_clear(run->errors);
    } else if (ranks->end != NULL && ranks->ranks.count > 1) {
        /* After an interrupt mpirun lets no process come back from the end of MPI. */
        code = cli_write_result(run, code);
        st_buffer_free(&run->result);
        st_errors_write(run->errors, stderr);
        st_errors_clear(run->errors);
    }
    if (ranks->end != NULL)
        (void)ranks->end(fault ? 1 : 0);
    /* The module stays loaded: libraries of MPI do not like to leave before the program. */
    return code;
}

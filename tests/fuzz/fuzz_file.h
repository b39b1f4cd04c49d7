/* SPDX-License-Identifier: Apache-2.0 */
/* Readers that take the path of a file; see fuzz_file.c. */
#ifndef STEPTIME_TESTS_FUZZ_FILE_H
#define STEPTIME_TESTS_FUZZ_FILE_H

#include "fuzz.h"

typedef struct fuzz_given {
    const char *path;
    const st_paths *paths;
    st_arena *arena;
    st_errors *errors;
} fuzz_given;

/* Those whose headers do not go with the headers of traces. */
st_status fuzz_read_fit_spec(const fuzz_given *own);
st_status fuzz_read_manifest(const fuzz_given *own);
st_status fuzz_read_operators(const fuzz_given *own);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds for every importer: a file that is refused leaves nothing behind, and one that is
 * accepted gives a job file of printable lines that the loader of jobs takes.
 */
#ifndef STEPTIME_TESTS_FUZZ_IMPORT_H
#define STEPTIME_TESTS_FUZZ_IMPORT_H

#include "fuzz.h"
#include "launch/import/import.h"

typedef st_status fuzz_importer(const st_import_request *request, st_buffer *job,
                                st_errors *errors);

/* The first part of the input is the source, every further one a --set. */
void fuzz_import(fuzz_importer *importer, const uint8_t *data, size_t size);

#endif

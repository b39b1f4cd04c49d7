/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fuzz targets share.
 *
 * A target states what must hold for every input, not only that nothing crashes: a reader that
 * fails says why, in one printable line with a place; what was read prints and reads back; a block
 * of rows gives the bits of its single rows. FUZZ_REQUIRE aborts, which any engine takes for a
 * finding.
 */
#ifndef STEPTIME_TESTS_FUZZ_H
#define STEPTIME_TESTS_FUZZ_H

#include "steptime/steptime.h"

#define FUZZ_REQUIRE(condition) ((condition) ? (void)0 : fuzz_fail(#condition, __FILE__, __LINE__))

enum { FUZZ_PARTS = 4 };

/* A piece of the input; not NUL-terminated. */
typedef struct fuzz_part {
    const char *text;
    size_t length;
} fuzz_part;

/* The entry that libFuzzer and replay.c call; always returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

_Noreturn void fuzz_fail(const char *condition, const char *file, int line);

/* Cuts the input at form feeds (which no reader of text files accepts); returns how many parts. */
size_t fuzz_split(const uint8_t *data, size_t size, fuzz_part parts[FUZZ_PARTS]);

/* A copy that ends where it says, so that reading one byte too many is seen. */
char *fuzz_copy(const char *text, size_t length);

/* A status and its list belong together, and every message is one printable line. */
void fuzz_check_errors(st_status status, const st_errors *errors);

/*
 * Compiles a sheet that was accepted and holds its program to what program.h promises, over rows of
 * ordinary and of impossible inputs.
 */
void fuzz_check_sheet(const st_sheet *sheet, st_arena *arena);

#endif

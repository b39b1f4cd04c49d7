/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs that are recorded do when a call gives what it must not. */
#ifndef STEPTIME_TESTS_RECORD_MUST_H
#define STEPTIME_TESTS_RECORD_MUST_H

#include <stdio.h>
#include <stdlib.h>

#define MUST(call) must((call), #call, __LINE__)

static inline void must(int got, const char *what, int line)
{
    if (got == 0)
        return;
    fprintf(stderr, "line %d: %s gave %d\n", line, what, got);
    exit(9);
}

#endif

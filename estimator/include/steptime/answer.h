/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a verb of a tool answers in this process. <steptime/trace.h>, <steptime/launch.h> and
 * <steptime/fit.h> have a function each that runs a verb with the words of its command line, as
 * {"trace", "kernels", "run.json", "--json"}: same options, results and messages as the program.
 */
#ifndef STEPTIME_ANSWER_H
#define STEPTIME_ANSWER_H

#include "steptime/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct st_answer {
    size_t size;   /* sizeof(st_answer), set by the caller */
    int exit_code; /* of the program: 0 done, 1 failed, 2 wrong use, 3 a check does not hold */
    char *text; /* the result, length bytes and a 0 behind them; the caller frees it with free() */
    size_t length;
} st_answer;
#define ST_ANSWER_INIT                                                                             \
    {                                                                                              \
        sizeof(st_answer), 0, NULL, 0                                                              \
    }

#ifdef __cplusplus
}
#endif

#endif

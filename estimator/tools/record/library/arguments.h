/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of kernels and their records in the log. */
#ifndef STEPTIME_RECORD_LIBRARY_ARGUMENTS_H
#define STEPTIME_RECORD_LIBRARY_ARGUMENTS_H

#include "record/library/entry.h"
#include "record/library/layouts.h"

/* What is known of a kernel's parameters: kinds by its name, sizes by its binary. */
typedef struct st_parameters {
    uint8_t count;                     /* of `kinds` */
    uint8_t kinds[ST_MOST_PARAMETERS]; /* as st_mangled_kinds gives them */
    uint8_t bytes[ST_MOST_PARAMETERS]; /* of the argument */
    st_layout layout;
} st_parameters;

void st_parameters_name(st_parameters *of, const char *kernel);

/* Where a launch has its arguments. */
typedef struct st_arguments {
    uint64_t list;   /* an address for each; 0: they lie in a row */
    uint64_t buffer; /* of all of them, each at its offset; 0: none */
} st_arguments;

/* Drafts ST_LOG_ARGUMENTS records; KiB that the pointers reach to the ends of their blocks. */
uint32_t st_arguments_draft(st_call *call, const st_parameters *of, const st_arguments *given);

/* Copies of arguments, behind their addresses; NULL where they are not known. */
void *st_arguments_copy(const st_parameters *of, uint64_t list);

#endif

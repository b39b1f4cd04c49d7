/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sizes of launches by the formulas of rules (configs/kernels), which are expressions of SQL
 * over what was recorded of a launch; docs/record.md lists their names and functions.
 */
#ifndef STEPTIME_RECORD_PRICE_LAUNCH_SIZES_H
#define STEPTIME_RECORD_PRICE_LAUNCH_SIZES_H

#include "record/price/kernel_names.h"
#include "trace/prices.h"

enum { ST_LAUNCH_NUMBERS = 16, ST_LAUNCH_STRUCTURES = 8 };

/* What was recorded of a launch. */
typedef struct st_launch_facts {
    const char *name;    /* as st_kernel_name has it */
    const st_rule *rule; /* that fits the name; NULL: none does */
    uint32_t grid[3];
    uint32_t threads; /* of a block */
    int64_t numbers[ST_LAUNCH_NUMBERS];
    size_t number_count;
    unsigned widths[ST_LAUNCH_NUMBERS]; /* bytes of what pointers point to; 0: not known */
    size_t pointer_count;
    const char *structures[ST_LAUNCH_STRUCTURES]; /* in hexadecimal */
    size_t structure_count;
    double read_bytes; /* of tensors that the launch only reads, or whose pointers have no type */
    double written_bytes; /* of all others */
    bool at_most;         /* they may be fewer */
    double reached_bytes; /* from its pointers to the ends of their blocks */
} st_launch_facts;

typedef struct st_launch_sizer st_launch_sizer;

/* Compiles the formulas of all rules; errors are at their places. Lives in the arena. */
st_status st_launch_sizer_open(const st_rules *rules, st_arena *arena, st_launch_sizer **sizer,
                               st_errors *errors) ST_NODISCARD;

/* Sets those sizes of the shape for which the rule has a formula; false: none has. */
bool st_launch_size(st_launch_sizer *sizer, const st_launch_facts *facts, st_task_shape *shape);

#endif

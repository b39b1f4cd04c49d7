/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What launches read and write, by their arguments.
 *
 * A pointer reaches to the end of its allocation, which is too far where a program divides one
 * allocation among many tensors. Two rules narrow it. An integer argument, or a product of adjacent
 * ones, that fits the launch (its threads with 1, 2, 4, 8 or 16 elements each) is the number of
 * elements. Otherwise a tensor ends where a tensor of another launch begins, and the bytes are an
 * upper bound.
 */
#ifndef STEPTIME_RECORD_PRICE_MEMORY_RANGES_H
#define STEPTIME_RECORD_PRICE_MEMORY_RANGES_H

#include "record/log.h"
#include "record/price/launch_sizes.h"

typedef struct st_memory_ranges st_memory_ranges;

/* Of one thread's log; goes with the arena. NULL: out of memory. */
st_memory_ranges *st_memory_ranges_create(st_arena *arena);
/* Takes a launch, with its kernel's name in st_run.names, or arguments of the last one. False: out
 * of memory. */
bool st_memory_ranges_add(st_memory_ranges *ranges, const st_log_record *record);
/* All records were given: the launches' bytes can be asked for. *launches: how many of them differ.
 * False: out of memory. */
bool st_memory_ranges_settle(st_memory_ranges *ranges, size_t *launches);
/* Which of these the index-th of all launches is. */
size_t st_memory_ranges_launch(const st_memory_ranges *ranges, size_t index);
/* The kernel of one of them; *measured: by CUPTI. */
uint32_t st_memory_ranges_kernel(const st_memory_ranges *ranges, size_t which, bool *measured);
/*
 * What is known of one of them, of a kernel with this name: numbers, pointers, structures
 * (as the records have them: the caller's numbers of their texts, in `structures`) and bytes.
 */
void st_memory_ranges_facts(const st_memory_ranges *ranges, size_t which,
                            const st_kernel_name *name, st_launch_facts *facts,
                            uint32_t structures[ST_LAUNCH_STRUCTURES]);

#endif

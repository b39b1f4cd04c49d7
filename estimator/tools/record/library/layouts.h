/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters of kernels as their binaries describe them: fat binaries and cubins, in which section
 * .nv.info.KERNEL holds place and size of each (attribute 0x17). Entries of fat binaries are plain,
 * LZ4 blocks or frames of zstd (https://github.com/n-eiling/cuda-fatbin-decompression). PTX has no
 * such section.
 */
#ifndef STEPTIME_RECORD_LIBRARY_LAYOUTS_H
#define STEPTIME_RECORD_LIBRARY_LAYOUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ST_MOST_PARAMETERS = 48 };

typedef struct st_layout {
    uint8_t count; /* 0: not known */
    uint16_t offset[ST_MOST_PARAMETERS];
    uint16_t bytes[ST_MOST_PARAMETERS];
} st_layout;

/* Of a kernel in a cubin, a fat binary or its wrapper; false where it has none. */
bool st_layout_find(const void *image, const char *kernel, st_layout *layout);

/* A copy of a cubin or a fat binary, for free(); NULL where it is none. */
void *st_layout_copy(const void *image);

#endif

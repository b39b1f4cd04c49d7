/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking up a GPU's file under configs/gpus: by the name of the file, or by what a table or a log
 * calls the GPU. A job's `cluster.gpu` is read like any other part of a job (load.c).
 */
#ifndef STEPTIME_TOOL_GPUS_H
#define STEPTIME_TOOL_GPUS_H

#include "steptime/paths.h"

/* The files of GPUs on a search path. */
typedef struct st_gpus {
    const st_path_entry *entries; /* NULL: not listed yet */
    size_t count;
} st_gpus;

/* Lists them unless that was done before; in `arena`. */
st_status st_gpus_list(const st_paths *paths, st_arena *arena, st_gpus *gpus,
                       st_errors *errors) ST_NODISCARD;

/*
 * The file with exactly that name, else the name whose words all occur in `text`, in any order and
 * case: "A100-80GB-SXM" is a100-sxm-80gb, "H100-80GB-SXM" is h100-sxm. Of several the one with the
 * most words; NULL where none fits, two fit equally well, or `text` has further words than a form
 * factor and a size of memory, which is then in *memory_gb (0: none is reported; may be NULL).
 */
const char *st_gpus_find(const st_gpus *gpus, const char *text, double *memory_gb);

/*
 * The file that a device's name means: words of its maker and memory do not count, and what has no
 * form factor in its name is SXM. "NVIDIA H100 80GB HBM3" is h100-sxm. NULL where none fits.
 */
const char *st_gpus_of_device(const st_gpus *gpus, const char *device);

/*
 * Whether two names mean one GPU: one file, or where there is none for one of them the same word of
 * the product ("A100").
 */
bool st_gpus_same(const st_gpus *gpus, const char *a, const char *b);

/* The file that an unknown name may mean: that of a device, else the nearest name, or "". */
const char *st_gpus_nearest(const st_gpus *gpus, const char *text, st_errors *errors);
/* Reports an unknown GPU, with that name. */
st_status st_gpus_unknown(const st_gpus *gpus, const char *text, st_place place, st_errors *errors);

#endif

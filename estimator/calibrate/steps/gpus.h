/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which GPU's file a table means by its own name for the GPU.
 */
#ifndef STEPTIME_CALIBRATE_STEPS_GPUS_H
#define STEPTIME_CALIBRATE_STEPS_GPUS_H

#include "steptime/paths.h"

/*
 * The one name among `entries` whose words all stand in `text`, in any order and case:
 * "A100-80GB-SXM" is a100-sxm-80gb, "H100-80GB-SXM" is h100-sxm. Of several the one with the most
 * words; NULL where none fits, two fit equally well, or `text` has further words than a form factor
 * and a size of memory, which is then in *memory_gb (0: none is told).
 */
const char *st_gpu_named(const char *text, const st_path_entry *entries, size_t count,
                         double *memory_gb);

#endif

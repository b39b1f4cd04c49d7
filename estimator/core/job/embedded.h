/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copies of formulas, configs and validation cases inside the library;
 * estimator/core/job/embed.c writes them at build time.
 */
#ifndef STEPTIME_JOB_EMBEDDED_H
#define STEPTIME_JOB_EMBEDDED_H

#include "base/yaml_packed.h"

#include <stddef.h>

typedef struct st_embedded_file {
    const char *path;           /* relative to the project's root, e.g. "formulas/li2024.yaml" */
    const unsigned char *bytes; /* followed by a NUL */
    size_t length;
    const st_yaml_packed *tree; /* of YAML files */
} st_embedded_file;

extern const st_embedded_file st_embedded_files[]; /* sorted by path */
extern const size_t st_embedded_count;

#endif

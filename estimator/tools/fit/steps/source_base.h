/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of a source's file. With `base: NAME` the columns, words, lists, GPUs and assumptions of
 * another source come before its own; what identifies and judges rows does not.
 */
#ifndef STEPTIME_CALIBRATE_STEPS_SOURCE_BASE_H
#define STEPTIME_CALIBRATE_STEPS_SOURCE_BASE_H

#include "base/yaml_read.h"
#include "steptime/tool/input_files.h"

st_status st_source_read(const st_paths *paths, const char *name, st_arena *arena,
                         const st_yaml_node **root, st_errors *errors) ST_NODISCARD;

#endif

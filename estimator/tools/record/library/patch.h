/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA's runtime where it is linked into a program or a library, as nvcc does by itself. Its
 * functions are not dynamic symbols and cannot be preloaded; but an object that was not stripped
 * names them in its symbol table, and a jump overwrites each before the program's own constructors
 * run. Real libraries of CUDA, found by a path, and objects that are loaded later get the same
 * treatment before anything in them runs.
 */
#ifndef STEPTIME_RECORD_LIBRARY_PATCH_H
#define STEPTIME_RECORD_LIBRARY_PATCH_H

#include <stdint.h>

/* The version of a patched runtime, 13000; 0: none, or unknown. */
uint32_t st_patched_version(void);

#endif

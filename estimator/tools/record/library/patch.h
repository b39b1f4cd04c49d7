/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA's runtime where it is linked into a program or a library, as nvcc does by itself. Its
 * functions are no dynamic symbols, so that nothing can come before them; but an object that was
 * not stripped names them in its symbol table, and a jump is written over each before the program's
 * own constructors run. The same is done with real libraries of CUDA, which a path led to, and with
 * what is loaded later: before anything in it runs.
 */
#ifndef STEPTIME_RECORD_LIBRARY_PATCH_H
#define STEPTIME_RECORD_LIBRARY_PATCH_H

#include <stdint.h>

/* The version of a runtime that was patched, 13000; 0: there is none, or it does not tell. */
uint32_t st_patched_version(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the name of a kernel says about its arguments, as far as the C++ ABI spells it in single
 * letters (Itanium C++ ABI, "Mangling"): pointers, whole numbers and floats. From the first
 * argument on that is a class, or of a template, nothing is known. What pointers are to is read
 * when the recording is (price/kernel_names.h).
 */
#ifndef STEPTIME_RECORD_LIBRARY_MANGLED_H
#define STEPTIME_RECORD_LIBRARY_MANGLED_H

#include <stddef.h>
#include <stdint.h>

/* Letters of the ABI, 'P' for any pointer; how many are known. */
size_t st_mangled_kinds(const char *name, uint8_t *kinds, size_t most);
/* Bytes of an argument; 0: unknown. */
uint64_t st_mangled_bytes(uint8_t kind);

#endif

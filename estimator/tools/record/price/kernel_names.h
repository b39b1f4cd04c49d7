/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the mangled name of a kernel says: its name as people read it, arguments of its template,
 * and what each parameter is. Names are demangled by the C++ runtime.
 */
#ifndef STEPTIME_RECORD_PRICE_KERNEL_NAMES_H
#define STEPTIME_RECORD_PRICE_KERNEL_NAMES_H

#include "steptime/arena.h"

#include <stdint.h>

enum { ST_KERNEL_PARAMETERS = 48 };

/* The parameter at some place, as far as its type says it. */
typedef struct st_kernel_parameter {
    bool pointer;
    bool constant; /* a pointer to what the kernel only reads */
    bool real;     /* no whole number */
    uint8_t width; /* bytes of what it points to; 0: not known */
} st_kernel_parameter;

typedef struct st_kernel_name {
    const char *name; /* without its result, parameters and the namespaces around it */
    st_kernel_parameter parameters[ST_KERNEL_PARAMETERS];
    size_t parameter_count; /* 0: the name says nothing of them */
} st_kernel_name;

/* Whether the C++ runtime is there; without it names stay as they are. */
bool st_kernel_names_known(void);

/* Texts live in the arena. */
void st_kernel_name_read(const char *mangled, st_arena *arena, st_kernel_name *name);

/* Bytes of a type of numbers by its name in C++, "c10::BFloat16"; 0: not known. */
unsigned st_kernel_type_bytes(const char *type, size_t length);

/*
 * The index-th argument of the first template of this name in a text, "Flash_fwd_kernel_traits<64,
 * 128, ...>", of the text's own with an empty name: a number as it is, true as 1, a type as its
 * bytes. False: there is none, or it is none of these.
 */
bool st_kernel_template(const char *text, const char *template_name, size_t index, double *value);

#endif

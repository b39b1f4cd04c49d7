/* SPDX-License-Identifier: Apache-2.0 */
/* Texts and numbers between two processes of one machine, one after the other. */
#ifndef STEPTIME_PLUGIN_WIRE_H
#define STEPTIME_PLUGIN_WIRE_H

#include "steptime/arena.h"

/* NULL and "" are distinct. */
void st_wire_put(st_buffer *to, const char *text);
void st_wire_put_number(st_buffer *to, double number);

typedef struct st_wire {
    const char *at;
    const char *end;
    bool broken; /* the other side does not keep to the order: nothing of it counts */
} st_wire;

const char *st_wire_take(st_wire *from); /* a part of what was read, or NULL */
double st_wire_take_number(st_wire *from);
/* A whole number from 0 to `most`. */
size_t st_wire_take_count(st_wire *from, size_t most);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Texts and numbers exchanged by two processes of one machine. */
#ifndef STEPTIME_PLUGIN_IPC_H
#define STEPTIME_PLUGIN_IPC_H

#include "steptime/arena.h"

/* NULL and "" are distinct. */
void st_ipc_write(st_buffer *to, const char *text);
void st_ipc_write_number(st_buffer *to, double number);

typedef struct st_ipc_reader {
    const char *at;
    const char *end;
    bool broken; /* the other side broke the format; nothing of it is valid */
} st_ipc_reader;

const char *st_ipc_read(st_ipc_reader *from); /* lives as long as the text; or NULL */
double st_ipc_read_number(st_ipc_reader *from);
/* A whole number from 0 to `most`. */
size_t st_ipc_read_count(st_ipc_reader *from, size_t most);

#endif

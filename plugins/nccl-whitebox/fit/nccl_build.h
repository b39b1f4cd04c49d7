/* SPDX-License-Identifier: Apache-2.0 */
/* Tables in the making: what a file has said so far, and its errors; see nccl_table.h. */
#ifndef STEPTIME_CALIBRATE_COLLECTIVES_NCCL_BUILD_H
#define STEPTIME_CALIBRATE_COLLECTIVES_NCCL_BUILD_H

#include "base/memory.h"
#include "nccl-whitebox/fit/nccl_table.h"

/* One line of the list of devices. */
typedef struct st_nccl_device {
    const char *host;
    const char *gpu;
    size_t rank;
    size_t group;
    size_t device; /* on its host; SIZE_MAX: not said */
} st_nccl_device;

typedef struct st_nccl_reader {
    const st_nccl_request *request;
    const st_nccl_input *input;
    st_arena *arena;
    st_errors *errors;
    st_status status; /* of the first error */
    st_nccl_table *tables;
    size_t table_count;
    /* what the file has said; it holds for the tables that follow */
    const char *collective;
    const char *version;
    const char *gpu;
    const char *fabric;
    st_place fabric_at;
    const char *source;
    size_t ranks;
    size_t nodes;
    bool in_place; /* of forms with one time a row */
    st_nccl_device *devices;
    size_t device_count;
    bool devices_counted;
    st_nccl_list list; /* what they say, once they are counted */
    size_t broken;     /* rows that could not be put together */
    int first_broken;
} st_nccl_reader;

st_place st_nccl_place(const st_nccl_reader *reader, int line);
void st_nccl_warn(st_nccl_reader *reader, int line, const char *format, ...) ST_PRINTF(3, 4);
/* An error of a line. */
void st_nccl_refuse(st_nccl_reader *reader, st_status status, int line, const char *format, ...)
    ST_PRINTF(4, 5);
/* A text of the arena without control characters; "" when out of memory, which fails the reader. */
const char *st_nccl_text(st_nccl_reader *reader, const char *text, size_t length);

void st_nccl_add_device(st_nccl_reader *reader, const st_nccl_device *device, int line);
/* Begins a table with what the file has said. */
void st_nccl_open_table(st_nccl_reader *reader, int line);
void st_nccl_add_row(st_nccl_reader *reader, const st_nccl_row *row);
/* Its times are above zero, and bandwidths follow from them: not digits of two rows in one. */
bool st_nccl_is_plausible(const st_nccl_row *row);
/* Counts a row of the last table, or of some, that is left out. */
void st_nccl_skip_row(st_nccl_reader *reader, int line);
void st_nccl_break(st_nccl_reader *reader, st_nccl_table *table, int line);
/*
 * Checks ranks, sizes, times and bandwidths of a table against each other, and what the list of
 * devices says; the table needs its collective. Leaves out rows that contradict the others.
 */
void st_nccl_check_table(st_nccl_reader *reader, st_nccl_table *table);
/* GPUs connected by NVLink count as a node, as NCCL does: the trays of an NVL72 are not nodes. */
void st_nccl_join_trays(st_nccl_reader *reader, st_nccl_table *table);
/* busbw / algbw. */
double st_nccl_bus_factor(const char *collective, double ranks);

/* nccl_csv.c */
bool st_nccl_is_csv(const st_nccl_input *input);
void st_nccl_read_csv(st_nccl_reader *reader);
bool st_nccl_is_lines(const st_nccl_input *input);
void st_nccl_read_lines(st_nccl_reader *reader);
/* "2.22.3" from 22203, as NCCL's header packs it. */
const char *st_nccl_version(st_nccl_reader *reader, double code);
/* A number of ranks or nodes that a file gives as text; 0 and an error where it is none. */
size_t st_nccl_count(st_nccl_reader *reader, int line, const char *what, const char *text);

/* Whether the file's name is one such as "x.inplace.csv". */
bool st_nccl_path_in_place(const char *path);

/* Chooses the collective, checks every table, and warns of broken rows. */
void st_nccl_finish(st_nccl_reader *reader);

#endif

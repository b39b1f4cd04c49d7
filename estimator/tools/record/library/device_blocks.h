/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the devices and pinned memory of the host: what is charged, where it lies, and what it
 * reads back as.
 *
 * A device has a range of addresses of its own. Blocks are charged as the driver does: up to 1 MiB
 * in steps of 512 bytes within pieces of 2 MiB, above in steps of 2 MiB; pools in pieces of 32 MiB.
 * What copies and sets write is kept in the same addresses of the host as far as the policy says
 * (shadow: up to ST_SHADOW_BYTES a copy; full: all; zero: nothing); the rest reads as
 * zeros.
 */
#ifndef STEPTIME_RECORD_LIBRARY_DEVICE_BLOCKS_H
#define STEPTIME_RECORD_LIBRARY_DEVICE_BLOCKS_H

#include "record/library/entry.h"

enum { ST_SHADOW_BYTES = 1 << 20 };

typedef struct st_block {
    uint64_t start;
    uint64_t bytes;
    uint64_t charged;
    uint32_t number; /* from 1 */
    uint32_t device;
    uint8_t memory; /* st_log_memory_kind */
    bool backed;    /* the host can read and write it */
    bool freed;     /* only marks the place until the list is packed */
    bool borrowed;  /* cudaHostRegister: the program's own */
} st_block;

/* 0 or an error of CUDA; *block lives until the next call. */
uint64_t st_memory_take(st_call *call, uint64_t bytes, st_log_memory_kind memory, st_block *block);
uint64_t st_memory_register(uint64_t start, uint64_t bytes);
/* The block that begins there is gone, *block is what it was; false: there is none. */
bool st_memory_give(uint64_t start, st_block *block);
/* The block that has this address; NULL: none. */
const st_block *st_memory_find(uint64_t address);

uint64_t st_memory_live(uint32_t device);
/* Charges memory other than a block; false where it does not fit. */
bool st_memory_charge(uint32_t device, uint64_t bytes);
void st_memory_discharge(uint32_t device, uint64_t bytes);
/* Records an out of memory with the largest live blocks; CUDA's error. */
uint64_t st_memory_exhausted(st_call *call, uint64_t bytes, uint64_t charged);

/* What a copy or a set does to memory that the program can see. */
void st_memory_copy(uint64_t to, uint64_t from, uint64_t bytes);
/* A kernel was given this address: a number that it would have put there reads as zero, instead of
 * what was copied there before. */
void st_memory_touch(const st_block *block, uint64_t address);
void st_memory_set(uint64_t to, uint64_t value, unsigned width, uint64_t count);

#endif

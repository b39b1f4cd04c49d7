/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a (Fowler, Noll, Vo): begin with ST_HASH_BEGIN and give one thing after another. */
#ifndef STEPTIME_BASE_HASH_H
#define STEPTIME_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define ST_HASH_BEGIN UINT64_C(0xcbf29ce484222325)

static inline uint64_t st_hash_word(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * UINT64_C(0x100000001b3);
}

static inline uint64_t st_hash_bytes(uint64_t hash, const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        hash = st_hash_word(hash, ((const unsigned char *)bytes)[i]);
    return hash;
}

static inline uint64_t st_hash_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = st_hash_word(hash, (unsigned char)*text);
    return hash;
}

/* All eight bytes of a number, the lowest first. */
static inline uint64_t st_hash_number(uint64_t hash, uint64_t number)
{
    for (size_t i = 0; i < sizeof number; i++)
        hash = st_hash_word(hash, (number >> (8 * i)) & 0xFF);
    return hash;
}

/* Texts one after another: "ab", "c" is another one than "a", "bc". */
static inline uint64_t st_hash_next_text(uint64_t hash, const char *text)
{
    return st_hash_word(st_hash_text(hash, text), 0xFF);
}

#endif

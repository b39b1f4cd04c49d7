/* SPDX-License-Identifier: Apache-2.0 */
/* See mangled.h. */
#include "record/library/mangled.h"

#include "record/log.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Behind a name with its length in front of it; NULL: there is none. */
static const char *skip_name(const char *at)
{
    char *end = NULL;
    unsigned long length = strtoul(at, &end, 10);
    if (end == at || length == 0 || length > strlen(end))
        return NULL;
    return end + length;
}

/* Behind what a pointer points to; NULL: that is spelled in a way not known here. */
static const char *skip_pointee(const char *at)
{
    while (*at == 'K' || *at == 'V' || *at == 'r' || *at == 'P')
        at++;
    if (isdigit((unsigned char)*at))
        return skip_name(at);
    if (*at == 'S' || *at == 'T') { /* a substitution S0_ or a parameter T0_ */
        at++;
        while (isdigit((unsigned char)*at) || isupper((unsigned char)*at))
            at++;
        return *at == '_' ? at + 1 : NULL;
    }
    return *at != '\0' && islower((unsigned char)*at) ? at + 1 : NULL;
}

uint64_t st_mangled_bytes(uint8_t kind)
{
    static const char *const letters[] = {[1] = "bahc", [2] = "st", [4] = "ijf", [8] = "lmxydP"};
    for (size_t bytes = 1; bytes <= 8; bytes *= 2)
        if (kind != 0 && strchr(letters[bytes], kind) != NULL)
            return bytes;
    return 0;
}

/* Bytes of what a pointer points to: of numbers, and of CUDA's own two. */
static uint8_t pointee_bytes(const char *at)
{
    static const struct {
        const char *name;
        uint8_t bytes;
    } known[] = {{"13__nv_bfloat16", 2}, {"6__half", 2}, {"13__nv_fp8_e4m3", 1}, {"6float4", 16}};
    while (*at == 'K' || *at == 'V' || *at == 'r')
        at++;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strncmp(at, known[i].name, strlen(known[i].name)) == 0)
            return known[i].bytes;
    return *at == 'P' ? 8 : (uint8_t)st_mangled_bytes((uint8_t)*at);
}

size_t st_mangled_kinds(const char *name, uint8_t *kinds, uint8_t *width, size_t most)
{
    if (strncmp(name, "_Z", 2) != 0)
        return 0;
    const char *at = skip_name(name + 2);
    size_t count = 0;
    uint8_t last = 0; /* what S_ and its like stand for, which are pointers to it most often */
    while (at != NULL && *at != '\0' && count < most) {
        bool is_pointer = *at == 'P';
        if (!is_pointer && st_mangled_bytes((uint8_t)*at) == 0)
            break;
        kinds[count] = (uint8_t)*at;
        width[count] = is_pointer ? pointee_bytes(at + 1) : 0;
        if (is_pointer && width[count] == 0)
            width[count] = last;
        last = is_pointer ? width[count] : last;
        at = is_pointer ? skip_pointee(at + 1) : at + 1;
        count += at != NULL;
    }
    return count;
}

uint8_t st_mangled_argument(uint8_t kind)
{
    if (kind == 'P')
        return ST_LOG_ARG_POINTER;
    return kind == 'f' || kind == 'd' ? ST_LOG_ARG_FLOAT : ST_LOG_ARG_INTEGER;
}

uint64_t st_mangled_value(uint8_t kind, uint64_t raw)
{
    if (kind == 'f') {
        float number;
        memcpy(&number, &raw, sizeof number);
        double wide = (double)number;
        memcpy(&raw, &wide, sizeof raw);
    } else if (kind == 'i') {
        raw = (uint64_t)(int64_t)(int32_t)(uint32_t)raw;
    } else if (kind == 's') {
        raw = (uint64_t)(int64_t)(int16_t)(uint16_t)raw;
    } else if (kind == 'a' || kind == 'c') {
        raw = (uint64_t)(int64_t)(int8_t)(uint8_t)raw;
    }
    return raw;
}

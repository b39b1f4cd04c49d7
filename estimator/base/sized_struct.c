/* SPDX-License-Identifier: Apache-2.0 */
/* Structures of a caller; see sized_struct.h. */
#include "base/sized_struct.h"

#include <string.h>

enum { MOST_BYTES = 1 << 16 }; /* nobody's structure; read as a size that was never set */

static st_status refuse(size_t given, size_t known, const char *expected, st_errors *errors)
{
    return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                   "structure has %zu bytes, this library supports %zu" ST_EXPECTED "%s", given,
                   known, expected);
}

/* Reads the size; what is there besides is not looked at before it is known to be sensible. */
static st_status read_size(const void *given, size_t known, size_t *size, st_errors *errors)
{
    *size = 0;
    if (given != NULL)
        memcpy(size, given, sizeof *size);
    if (*size < sizeof *size || *size > MOST_BYTES)
        return refuse(*size, known, "the structure's size in its first member", errors);
    return ST_OK;
}

st_status st_sized_take(const void *given, void *ours, size_t size, st_errors *errors)
{
    size_t given_size = 0;
    st_status status = read_size(given, size, &given_size, errors);
    if (status != ST_OK)
        return status;
    const unsigned char *bytes = given;
    for (size_t i = size; i < given_size; i++)
        if (bytes[i] != 0)
            return refuse(given_size, size, "zeros after the supported members", errors);
    memset(ours, 0, size);
    memcpy(ours, given, given_size < size ? given_size : size);
    return ST_OK;
}

st_status st_sized_give(const void *ours, size_t size, void *given, st_errors *errors)
{
    size_t given_size = 0;
    st_status status = read_size(given, size, &given_size, errors);
    if (status != ST_OK)
        return status;
    memset(given, 0, given_size);
    memcpy(given, ours, given_size < size ? given_size : size);
    memcpy(given, &given_size, sizeof given_size);
    return ST_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol Buffers as bytes: what Chakra's execution traces and XLA's profiles are written in.
 *
 * A message is a list of fields, each a number with a wire type (encoding.html of protobuf.dev);
 * the meaning of a field is the schema's, and belongs to its reader or writer.
 */
#ifndef STEPTIME_BASE_PROTOBUF_H
#define STEPTIME_BASE_PROTOBUF_H

#include "steptime/arena.h"

typedef enum st_wire {
    ST_WIRE_VARINT = 0,
    ST_WIRE_FIXED64 = 1,
    ST_WIRE_BYTES = 2, /* texts, messages, packed lists */
    ST_WIRE_FIXED32 = 5
} st_wire;

/* --- writing --------------------------------------------------------------------------------- */

void st_proto_varint(st_buffer *buffer, uint64_t value);
void st_proto_number(st_buffer *buffer, uint32_t field, uint64_t value);
void st_proto_bytes(st_buffer *buffer, uint32_t field, const char *bytes, size_t length);
void st_proto_text(st_buffer *buffer, uint32_t field, const char *text);

/* --- reading --------------------------------------------------------------------------------- */

/* A stretch of bytes of a file: a message, or the file itself. */
typedef struct st_proto {
    const char *bytes;
    size_t length;
    size_t at;
    size_t origin;     /* of the first byte in the file, for messages */
    const char *fault; /* why reading ended too soon; NULL: it did not */
} st_proto;

typedef struct st_proto_field {
    uint32_t number;
    st_wire wire;
    uint64_t value;    /* of a varint and of fixed fields, as bits */
    const char *bytes; /* of ST_WIRE_BYTES, inside the message */
    size_t length;
    size_t origin; /* of the field in the file */
} st_proto_field;

st_proto st_proto_of(const char *bytes, size_t length);
/* The message that a field holds, or an empty one. */
st_proto st_proto_inside(const st_proto_field *field);
/* False at the end of the message and at a fault. */
bool st_proto_next(st_proto *message, st_proto_field *field);
/* The next message of a file in which each begins with its length; false at the end or a fault. */
bool st_proto_next_delimited(st_proto *file, st_proto *message);
/* One number of a list that is packed or not: call until it is false. `at` begins with 0. */
bool st_proto_listed(const st_proto_field *field, size_t *at, uint64_t *value);
/* A varint of a signed type. */
int64_t st_proto_signed(uint64_t value);

#endif

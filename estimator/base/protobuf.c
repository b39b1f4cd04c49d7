/* SPDX-License-Identifier: Apache-2.0 */
/* Wire format of Protocol Buffers; every length is compared with what is left. */
#include "base/protobuf.h"

#include <string.h>

enum { CONTINUES = 0x80, LOW_BITS = 0x7f, BITS = 7, MOST_SHIFT = 63, WIRE_BITS = 3 };

/* ---- writing ---- */

void st_proto_varint(st_buffer *buffer, uint64_t value)
{
    char bytes[10];
    size_t count = 0;
    for (; value > LOW_BITS; value >>= BITS)
        bytes[count++] = (char)(unsigned char)((value & LOW_BITS) | CONTINUES);
    bytes[count++] = (char)value;
    st_buffer_append(buffer, bytes, count);
}

static void write_key(st_buffer *buffer, uint32_t field, st_wire wire)
{
    st_proto_varint(buffer, (uint64_t)field << WIRE_BITS | (uint64_t)wire);
}

void st_proto_number(st_buffer *buffer, uint32_t field, uint64_t value)
{
    write_key(buffer, field, ST_WIRE_VARINT);
    st_proto_varint(buffer, value);
}

void st_proto_bytes(st_buffer *buffer, uint32_t field, const char *bytes, size_t length)
{
    write_key(buffer, field, ST_WIRE_BYTES);
    st_proto_varint(buffer, length);
    st_buffer_append(buffer, bytes, length);
}

void st_proto_text(st_buffer *buffer, uint32_t field, const char *text)
{
    st_proto_bytes(buffer, field, text, strlen(text));
}

/* ---- reading ---- */

st_proto st_proto_of(const char *bytes, size_t length)
{
    return (st_proto){.bytes = bytes, .length = length};
}

st_proto st_proto_inside(const st_proto_field *field)
{
    if (field->wire != ST_WIRE_BYTES)
        return (st_proto){.origin = field->origin};
    return (st_proto){.bytes = field->bytes, .length = field->length, .origin = field->origin};
}

static bool fail(st_proto *message, const char *fault)
{
    message->fault = fault;
    return false;
}

static bool read_varint(st_proto *message, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift <= MOST_SHIFT; shift += BITS) {
        if (message->at == message->length)
            return fail(message, "truncated number");
        unsigned char byte = (unsigned char)message->bytes[message->at++];
        if (shift == MOST_SHIFT && byte > 1)
            break;
        *value |= (uint64_t)(byte & LOW_BITS) << shift;
        if ((byte & CONTINUES) == 0)
            return true;
    }
    return fail(message, "number exceeds 64 bits");
}

static bool read_fixed(st_proto *message, size_t bytes, uint64_t *value)
{
    if (message->length - message->at < bytes)
        return fail(message, "truncated number");
    *value = 0;
    for (size_t i = 0; i < bytes; i++)
        *value |= (uint64_t)(unsigned char)message->bytes[message->at++] << (8 * i);
    return true;
}

static bool read_bytes(st_proto *message, st_proto_field *field)
{
    uint64_t length = 0;
    if (!read_varint(message, &length))
        return false;
    if (length > message->length - message->at)
        return fail(message, "field extends beyond its message");
    field->bytes = message->bytes + message->at;
    field->length = (size_t)length;
    field->origin = message->origin + message->at;
    message->at += (size_t)length;
    return true;
}

bool st_proto_next(st_proto *message, st_proto_field *field)
{
    enum { MOST_FIELD = (1 << 29) - 1, WIRE_MASK = 7 };
    uint64_t key = 0;
    if (message->fault != NULL || message->at == message->length)
        return false;
    *field = (st_proto_field){.origin = message->origin + message->at};
    if (!read_varint(message, &key))
        return false;
    if (key >> WIRE_BITS == 0 || key >> WIRE_BITS > MOST_FIELD)
        return fail(message, "invalid field number");
    field->number = (uint32_t)(key >> WIRE_BITS);
    field->wire = (st_wire)(key & WIRE_MASK);
    switch (field->wire) {
    case ST_WIRE_VARINT:
        return read_varint(message, &field->value);
    case ST_WIRE_FIXED64:
        return read_fixed(message, 8, &field->value);
    case ST_WIRE_BYTES:
        return read_bytes(message, field);
    case ST_WIRE_FIXED32:
        return read_fixed(message, 4, &field->value);
    }
    return fail(message, "invalid wire type");
}

bool st_proto_next_delimited(st_proto *file, st_proto *message)
{
    st_proto_field field = {.wire = ST_WIRE_BYTES};
    if (file->fault != NULL || file->at == file->length)
        return false;
    if (!read_bytes(file, &field))
        return false;
    *message = st_proto_inside(&field);
    return true;
}

bool st_proto_listed(const st_proto_field *field, size_t *at, uint64_t *value)
{
    if (field->wire != ST_WIRE_BYTES) {
        *value = field->value;
        return (*at)++ == 0;
    }
    st_proto list = {.bytes = field->bytes, .length = field->length, .at = *at};
    if (list.at >= list.length || !read_varint(&list, value))
        return false;
    *at = list.at;
    return true;
}

int64_t st_proto_signed(uint64_t value)
{
    int64_t number = 0;
    memcpy(&number, &value, sizeof number);
    return number;
}

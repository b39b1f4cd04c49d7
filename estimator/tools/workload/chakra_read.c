/* SPDX-License-Identifier: Apache-2.0 */
/* Chakra's files; see execution.h. Places in them are bytes. */
#include "workload/execution.h"

#include "base/memory.h"
#include "base/protobuf.h"

#include <string.h>

typedef struct chakra_reader {
    const st_execution_text *text;
    st_execution *execution;
    st_arena *arena;
    st_errors *errors;
    bool partial;
    st_status status; /* of the first error */
} chakra_reader;

/* An attribute: its name, and its value as a number or a text. */
typedef struct attribute {
    const char *name;
    size_t name_length;
    int64_t number;
    bool is_number;
    const char *text;
    size_t text_length;
} attribute;

static bool ok(const chakra_reader *reader)
{
    return reader->status == ST_OK;
}

static void fail(chakra_reader *reader, st_status status, size_t at, const char *message)
{
    ST_NOTE(reader, status, (st_place){.file = reader->text->file}, "byte %zu: %s", at, message);
}

static void check_whole(chakra_reader *reader, const st_proto *message)
{
    if (ok(reader) && message->fault != NULL)
        ST_NOTE(reader, ST_ERR_SYNTAX, (st_place){.file = reader->text->file},
                "byte %zu: %s" ST_EXPECTED "a Chakra execution trace, whole",
                message->origin + message->at, message->fault);
}

/* The next field of a message; false at its end, where it is broken, and after a failure. */
static bool next(chakra_reader *reader, st_proto *message, st_proto_field *field)
{
    if (!ok(reader) || st_proto_next(message, field))
        return ok(reader);
    check_whole(reader, message);
    return false;
}

/* Whether a field has its wire type. */
static bool has_wire(chakra_reader *reader, const st_proto_field *field, st_wire wire,
                     const char *what)
{
    if (field->wire != wire)
        ST_NOTE(reader, ST_ERR_SYNTAX, (st_place){.file = reader->text->file},
                "byte %zu: %s has wire type %d", field->origin, what, (int)field->wire);
    return field->wire == wire;
}

/* ---- attributes ---- */

static void take_value(const st_proto_field *field, attribute *made)
{
    made->is_number = true;
    switch (field->number) {
    case ST_CHAKRA_ATTR_INT32:
    case ST_CHAKRA_ATTR_INT64:
    case ST_CHAKRA_ATTR_UINT32:
    case ST_CHAKRA_ATTR_UINT64:
    case ST_CHAKRA_ATTR_FIXED32:
    case ST_CHAKRA_ATTR_FIXED64:
    case ST_CHAKRA_ATTR_SFIXED64:
    case ST_CHAKRA_ATTR_BOOL:
        made->number = st_proto_signed(field->value);
        return;
    case ST_CHAKRA_ATTR_SFIXED32:
        made->number = (int32_t)(uint32_t)field->value;
        return;
    case ST_CHAKRA_ATTR_SINT32:
    case ST_CHAKRA_ATTR_SINT64:
        made->number = st_proto_signed(field->value >> 1 ^ (~(field->value & 1) + 1));
        return;
    default:
        made->is_number = false;
    }
    if (field->number == ST_CHAKRA_ATTR_STRING && field->wire == ST_WIRE_BYTES) {
        made->text = field->bytes;
        made->text_length = field->length;
    }
}

static bool is_named(const attribute *given, const char *name)
{
    return given->name_length == strlen(name) && memcmp(given->name, name, given->name_length) == 0;
}

static void take_attribute(chakra_reader *reader, const st_proto_field *field,
                           st_execution_node *node)
{
    st_proto message = st_proto_inside(field);
    st_proto_field attribute_field;
    attribute given = {.name = ""};
    while (next(reader, &message, &attribute_field)) {
        if (attribute_field.number != ST_CHAKRA_ATTR_NAME) {
            take_value(&attribute_field, &given);
        } else if (has_wire(reader, &attribute_field, ST_WIRE_BYTES, "the name of an attribute")) {
            given.name = attribute_field.bytes;
            given.name_length = attribute_field.length;
        }
    }
    const struct {
        const char *name;
        int64_t *into;
    } numbers[] = {{"num_ops", &node->num_ops},      {"tensor_size", &node->tensor_size},
                   {"comm_type", &node->collective}, {"comm_size", &node->bytes},
                   {"comm_src", &node->source},      {"comm_dst", &node->target},
                   {"comm_tag", &node->tag}};
    for (size_t i = 0; i < ST_COUNT(numbers) && ok(reader); i++) {
        if (!is_named(&given, numbers[i].name))
            continue;
        if (!given.is_number || given.number < 0)
            ST_NOTE(reader, ST_ERR_VALUE, (st_place){.file = reader->text->file},
                    "byte %zu: '%s' must be a number of at least 0", field->origin,
                    numbers[i].name);
        *numbers[i].into = given.number;
    }
    if (is_named(&given, "is_cpu_op"))
        node->host = given.is_number && given.number != 0;
    if (ok(reader) && is_named(&given, "pg_name") && given.text_length > 0)
        node->group = st_arena_copy(reader->arena, given.text, given.text_length);
}

/* ---- nodes ---- */

static void take_dependencies(chakra_reader *reader, const st_proto_field *field,
                              st_execution_node *node)
{
    st_execution *execution = reader->execution;
    uint64_t id = 0;
    size_t at = 0;
    for (; ok(reader) && st_proto_listed(field, &at, &id); node->dep_count++) {
        if (execution->dep_count >= ST_EXECUTION_MAX_DEPS)
            fail(reader, ST_ERR_LIMIT, field->origin, "too many dependencies");
        else
            (void)ST_APPEND(reader->arena, execution->deps, execution->dep_count, id);
    }
    if (ok(reader) && field->wire == ST_WIRE_BYTES && at < field->length)
        fail(reader, ST_ERR_SYNTAX, field->origin + at,
             "a dependency breaks off or exceeds 64 bits");
}

static void take_field(chakra_reader *reader, const st_proto_field *field, st_execution_node *node)
{
    switch (field->number) {
    case ST_CHAKRA_NODE_ID:
    case ST_CHAKRA_NODE_TYPE:
    case ST_CHAKRA_NODE_START:
    case ST_CHAKRA_NODE_DURATION:
        if (has_wire(reader, field, ST_WIRE_VARINT, "a number of a node")) {
            if (field->number == ST_CHAKRA_NODE_ID)
                node->id = field->value;
            else if (field->number == ST_CHAKRA_NODE_TYPE)
                node->type =
                    field->value < INT32_MAX ? (st_chakra_type)field->value : ST_CHAKRA_INVALID;
            else if (field->number == ST_CHAKRA_NODE_START)
                node->start_us = field->value;
            else
                node->duration_us = field->value;
        }
        return;
    case ST_CHAKRA_NODE_NAME:
        if (has_wire(reader, field, ST_WIRE_BYTES, "the name of a node"))
            node->name = st_arena_copy(reader->arena, field->bytes, field->length);
        return;
    case ST_CHAKRA_NODE_CTRL_DEPS:
    case ST_CHAKRA_NODE_DATA_DEPS:
        take_dependencies(reader, field, node);
        return;
    case ST_CHAKRA_NODE_ATTR:
        take_attribute(reader, field, node);
        return;
    default:
        return;
    }
}

static void fail_node(chakra_reader *reader, const st_execution_node *node, st_status status,
                      const char *what)
{
    int length = (int)(strlen(node->name) < 80 ? strlen(node->name) : 80);
    ST_NOTE(reader, status, (st_place){.file = reader->text->file},
            "byte %zu: node %llu '%.*s' has %s", node->offset, (unsigned long long)node->id, length,
            node->name, what);
}

static void read_node(chakra_reader *reader, st_proto message)
{
    st_execution *execution = reader->execution;
    st_execution_node node = st_execution_node_at(message.origin, execution->dep_count);
    st_proto_field field;
    if (message.length == 0)
        fail(reader, ST_ERR_SYNTAX, message.origin, "a node without a field");
    while (next(reader, &message, &field))
        take_field(reader, &field, &node);
    if (ok(reader)) {
        /* What a node of its kind needs. */
        bool transfers = node.type == ST_CHAKRA_SEND || node.type == ST_CHAKRA_RECV;
        if (node.type <= ST_CHAKRA_INVALID || node.type >= ST_CHAKRA_TYPES)
            fail_node(
                reader, &node, ST_ERR_VALUE,
                st_errors_text(reader->errors,
                               "the unknown type %d, which is none of 1 to 7: metadata, memory "
                               "load or store, compute, send, receive, collective",
                               (int)node.type));
        else if (transfers && (node.source < 0 || node.target < 0))
            fail_node(reader, &node, ST_ERR_NAME, "no comm_src or no comm_dst");
        else if (node.duration_us > INT64_MAX / 1000000)
            fail_node(reader, &node, ST_ERR_LIMIT, "a duration of more than 100,000 years");
        else if (node.type == ST_CHAKRA_COLL) {
            if (node.collective < 0)
                fail_node(reader, &node, ST_ERR_NAME, "no comm_type");
            else if (node.collective >= ST_CHAKRA_COLLECTIVES)
                fail_node(reader, &node, ST_ERR_VALUE,
                          st_errors_text(reader->errors,
                                         "the unknown comm_type %lld" ST_EXPECTED "0 to 9",
                                         (long long)node.collective));
            else if (node.bytes < 0 && node.collective != ST_CHAKRA_BARRIER)
                fail_node(reader, &node, ST_ERR_NAME, "no comm_size");
        }
    }
    if (ok(reader) && execution->count >= ST_EXECUTION_MAX_NODES)
        fail(reader, ST_ERR_LIMIT, node.offset, "more than 2^26 nodes");
    if (ok(reader))
        (void)ST_APPEND(reader->arena, execution->nodes, execution->count, node);
}

/* ---- ids ---- */

typedef struct numbered {
    uint64_t id;
    size_t place;
} numbered;

ST_COMPARE(by_id, numbered, ST_RISING(id));

/* ---- the file ---- */

/* The first message: GlobalMetadata, which begins with a version. */
static void check_metadata(chakra_reader *reader, st_proto message)
{
    st_proto_field field;
    bool begins = st_proto_next(&message, &field) && field.number == ST_CHAKRA_META_VERSION &&
                  field.wire == ST_WIRE_BYTES;
    if (!begins && message.length > 0)
        fail(reader, ST_ERR_SYNTAX, message.origin,
             "the file does not begin with Chakra's metadata");
}

st_status st_execution_read_chakra(const st_execution_text *text, bool partial, st_arena *arena,
                                   st_execution *execution, st_errors *errors)
{
    chakra_reader reader = {
        .text = text, .execution = execution, .arena = arena, .errors = errors, .partial = partial};
    st_proto file = st_proto_of(text->bytes, text->length);
    st_proto message;
    *execution = (st_execution){.file = text->file, .rank = -1};
    if (text->length == 0)
        fail(&reader, ST_ERR_SYNTAX, 0, "the file is empty");
    else if (text->bytes[0] == '{')
        fail(&reader, ST_ERR_SYNTAX, 0,
             "this is JSON, as PyTorch writes execution traces" ST_EXPECTED
             "a file of Chakra" ST_HINT "execution traces of PyTorch end in .json");
    else if (st_proto_next_delimited(&file, &message))
        check_metadata(&reader, message);
    while (ok(&reader) && st_proto_next_delimited(&file, &message))
        read_node(&reader, message);
    check_whole(&reader, &file);
    if (ok(&reader)) {
        numbered *order = st_arena_alloc(reader.arena, execution->count + 1, sizeof *order);
        for (size_t i = 0; i < execution->count; i++)
            order[i] = (numbered){execution->nodes[i].id, i};
        st_sort(order, execution->count, sizeof *order, by_id);
        for (size_t i = 1; i < execution->count && ok(&reader); i++)
            if (order[i].id == order[i - 1].id)
                ST_NOTE(&reader, ST_ERR_NAME, (st_place){.file = reader.text->file},
                        "byte %zu: two nodes have the id %llu",
                        execution->nodes[order[i].place].offset, (unsigned long long)order[i].id);
        for (size_t i = 0; i < execution->count && ok(&reader); i++) {
            /* Turns what a node waits for from ids into places. */
            st_execution_node *node = &execution->nodes[i];
            size_t kept = 0;
            for (size_t j = 0; j < node->dep_count && ok(&reader); j++) {
                const numbered wanted = {.id = execution->deps[node->dep_first + j]};
                const numbered *found =
                    bsearch(&wanted, order, execution->count, sizeof wanted, by_id);
                if (found != NULL)
                    execution->deps[node->dep_first + kept++] = found->place;
                else if (reader.partial)
                    execution->dangling++;
                else
                    ST_NOTE(&reader, ST_ERR_NAME, (st_place){.file = reader.text->file},
                            "byte %zu: node %llu waits for node %llu, which the file lacks" ST_HINT
                            "ignore such dependencies with --partial",
                            node->offset, (unsigned long long)node->id,
                            (unsigned long long)wanted.id);
            }
            node->dep_count = kept;
        }
        if (ok(&reader) && execution->dangling > 0)
            st_report(reader.errors, ST_SEVERITY_WARNING, ST_ERR_NAME,
                      (st_place){.file = reader.text->file},
                      "ignored %zu dependencies on nodes that the file lacks", execution->dangling);
    }
    return reader.status;
}

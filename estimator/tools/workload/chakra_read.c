/* SPDX-License-Identifier: Apache-2.0 */
/* Chakra's files; see execution.h. Places in them are bytes. */
#include "workload/execution.h"

#include "base/memory.h"
#include "base/protobuf.h"

#include <string.h>

typedef struct reader {
    const st_execution_text *text;
    st_execution *execution;
    st_arena *arena;
    st_errors *errors;
    bool partial;
    st_status status; /* of the first error */
} reader;

/* An attribute: its name, and its value as a number or a text. */
typedef struct attribute {
    const char *name;
    size_t name_length;
    int64_t number;
    bool is_number;
    const char *text;
    size_t text_length;
} attribute;

static bool ok(const reader *own)
{
    return own->status == ST_OK;
}

static void fail(reader *own, st_status status, size_t at, const char *message)
{
    ST_NOTE(own, status, (st_place){.file = own->text->file}, "byte %zu: %s", at, message);
}

static void check_whole(reader *own, const st_proto *message)
{
    if (ok(own) && message->fault != NULL)
        ST_NOTE(own, ST_ERR_SYNTAX, (st_place){.file = own->text->file},
                "byte %zu: %s" ST_EXPECTED "a Chakra execution trace, whole",
                message->origin + message->at, message->fault);
}

/* The next field of a message; false at its end, where it is broken, and after a failure. */
static bool next(reader *own, st_proto *message, st_proto_field *field)
{
    if (!ok(own) || st_proto_next(message, field))
        return ok(own);
    check_whole(own, message);
    return false;
}

/* Whether a field has its wire type. */
static bool has_wire(reader *own, const st_proto_field *field, st_wire wire, const char *what)
{
    if (field->wire != wire)
        ST_NOTE(own, ST_ERR_SYNTAX, (st_place){.file = own->text->file},
                "byte %zu: %s has wire type %d", field->origin, what, (int)field->wire);
    return field->wire == wire;
}

static void check_memory(reader *own, bool has)
{
    if (!has)
        own->status = st_out_of_memory(own->errors);
}

static const char *keep_text(reader *own, const char *text, size_t length)
{
    const char *kept = st_arena_copy(own->arena, text, length);
    check_memory(own, kept != NULL);
    return kept;
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

static void take_attribute(reader *own, const st_proto_field *field, st_execution_node *node)
{
    st_proto message = st_proto_inside(field);
    st_proto_field attribute_field;
    attribute given = {.name = ""};
    while (next(own, &message, &attribute_field)) {
        if (attribute_field.number != ST_CHAKRA_ATTR_NAME) {
            take_value(&attribute_field, &given);
        } else if (has_wire(own, &attribute_field, ST_WIRE_BYTES, "the name of an attribute")) {
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
    for (size_t i = 0; i < ST_COUNT(numbers) && ok(own); i++) {
        if (!is_named(&given, numbers[i].name))
            continue;
        if (!given.is_number || given.number < 0)
            ST_NOTE(own, ST_ERR_VALUE, (st_place){.file = own->text->file},
                    "byte %zu: '%s' must be a number of at least 0", field->origin,
                    numbers[i].name);
        *numbers[i].into = given.number;
    }
    if (is_named(&given, "is_cpu_op"))
        node->host = given.is_number && given.number != 0;
    if (ok(own) && is_named(&given, "pg_name") && given.text_length > 0)
        node->group = keep_text(own, given.text, given.text_length);
}

/* ---- nodes ---- */

static void take_dependencies(reader *own, const st_proto_field *field, st_execution_node *node)
{
    st_execution *execution = own->execution;
    uint64_t id = 0;
    for (size_t at = 0; ok(own) && st_proto_listed(field, &at, &id); node->dep_count++) {
        if (execution->dep_count >= ST_EXECUTION_MAX_DEPS)
            fail(own, ST_ERR_LIMIT, field->origin, "too many dependencies");
        else
            check_memory(own, ST_APPEND(own->arena, execution->deps, execution->dep_count, id));
    }
}

static void take_field(reader *own, const st_proto_field *field, st_execution_node *node)
{
    switch (field->number) {
    case ST_CHAKRA_NODE_ID:
    case ST_CHAKRA_NODE_TYPE:
    case ST_CHAKRA_NODE_START:
    case ST_CHAKRA_NODE_DURATION:
        if (has_wire(own, field, ST_WIRE_VARINT, "a number of a node")) {
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
        if (has_wire(own, field, ST_WIRE_BYTES, "the name of a node"))
            node->name = keep_text(own, field->bytes, field->length);
        return;
    case ST_CHAKRA_NODE_CTRL_DEPS:
    case ST_CHAKRA_NODE_DATA_DEPS:
        take_dependencies(own, field, node);
        return;
    case ST_CHAKRA_NODE_ATTR:
        take_attribute(own, field, node);
        return;
    default:
        return;
    }
}

static void fail_node(reader *own, const st_execution_node *node, st_status status,
                      const char *what)
{
    int length = (int)(strlen(node->name) < 80 ? strlen(node->name) : 80);
    ST_NOTE(own, status, (st_place){.file = own->text->file}, "byte %zu: node %llu '%.*s' has %s",
            node->offset, (unsigned long long)node->id, length, node->name, what);
}

static void check_collective(reader *own, const st_execution_node *node)
{
    if (node->collective < 0)
        fail_node(own, node, ST_ERR_NAME, "no comm_type");
    else if (node->collective >= ST_CHAKRA_COLLECTIVES)
        fail_node(own, node, ST_ERR_VALUE,
                  st_errors_text(own->errors, "the unknown comm_type %lld" ST_EXPECTED "0 to 9",
                                 (long long)node->collective));
    else if (node->bytes < 0 && node->collective != ST_CHAKRA_BARRIER)
        fail_node(own, node, ST_ERR_NAME, "no comm_size");
}

static void read_node(reader *own, st_proto message)
{
    st_execution *execution = own->execution;
    st_execution_node node = st_execution_node_at(message.origin, execution->dep_count);
    st_proto_field field;
    if (message.length == 0)
        fail(own, ST_ERR_SYNTAX, message.origin, "a node without a field");
    while (next(own, &message, &field))
        take_field(own, &field, &node);
    if (ok(own)) {
        /* What a node of its kind needs. */
        bool transfers = node.type == ST_CHAKRA_SEND || node.type == ST_CHAKRA_RECV;
        if (node.type <= ST_CHAKRA_INVALID || node.type >= ST_CHAKRA_TYPES)
            fail_node(
                own, &node, ST_ERR_VALUE,
                st_errors_text(own->errors,
                               "the unknown type %d, which is none of 1 to 7: metadata, memory "
                               "load or store, compute, send, receive, collective",
                               (int)node.type));
        else if (transfers && (node.source < 0 || node.target < 0))
            fail_node(own, &node, ST_ERR_NAME, "no comm_src or no comm_dst");
        else if (node.duration_us > INT64_MAX / 1000000)
            fail_node(own, &node, ST_ERR_LIMIT, "a duration of more than 100,000 years");
        else if (node.type == ST_CHAKRA_COLL)
            check_collective(own, &node);
    }
    if (ok(own) && execution->count >= ST_EXECUTION_MAX_NODES)
        fail(own, ST_ERR_LIMIT, node.offset, "more than 2^26 nodes");
    if (ok(own))
        check_memory(own, ST_APPEND(own->arena, execution->nodes, execution->count, node));
}

/* ---- ids ---- */

typedef struct numbered {
    uint64_t id;
    size_t place;
} numbered;

ST_COMPARE(by_id, numbered, ST_RISING(id));

/* ---- the file ---- */

/* The first message: GlobalMetadata, which begins with a version. */
static void check_metadata(reader *own, st_proto message)
{
    st_proto_field field;
    bool begins = st_proto_next(&message, &field) && field.number == ST_CHAKRA_META_VERSION &&
                  field.wire == ST_WIRE_BYTES;
    if (!begins && message.length > 0)
        fail(own, ST_ERR_SYNTAX, message.origin, "the file does not begin with Chakra's metadata");
}

st_status st_execution_read_chakra(const st_execution_text *text, bool partial, st_arena *arena,
                                   st_execution *execution, st_errors *errors)
{
    reader own = {
        .text = text, .execution = execution, .arena = arena, .errors = errors, .partial = partial};
    st_proto file = st_proto_of(text->bytes, text->length);
    st_proto message;
    *execution = (st_execution){.file = text->file, .rank = -1};
    if (text->length == 0)
        fail(&own, ST_ERR_SYNTAX, 0, "the file is empty");
    else if (text->bytes[0] == '{')
        fail(&own, ST_ERR_SYNTAX, 0,
             "this is JSON, as PyTorch writes execution traces" ST_EXPECTED
             "a file of Chakra" ST_HINT "execution traces of PyTorch end in .json");
    else if (st_proto_next_delimited(&file, &message))
        check_metadata(&own, message);
    while (ok(&own) && st_proto_next_delimited(&file, &message))
        read_node(&own, message);
    check_whole(&own, &file);
    if (ok(&own)) {
        st_execution *resolve_execution = own.execution;
        numbered *order = st_arena_alloc(own.arena, resolve_execution->count + 1, sizeof *order);
        check_memory(&own, order != NULL);
        if (ok(&own)) {
            for (size_t i = 0; i < resolve_execution->count; i++)
                order[i] = (numbered){resolve_execution->nodes[i].id, i};
            st_sort(order, resolve_execution->count, sizeof *order, by_id);
            for (size_t i = 1; i < resolve_execution->count && ok(&own); i++)
                if (order[i].id == order[i - 1].id)
                    ST_NOTE(&own, ST_ERR_NAME, (st_place){.file = own.text->file},
                            "byte %zu: two nodes have the id %llu",
                            resolve_execution->nodes[order[i].place].offset,
                            (unsigned long long)order[i].id);
            for (size_t i = 0; i < resolve_execution->count && ok(&own); i++) {
                /* Turns what a node waits for from ids into places. */
                st_execution_node *node = &resolve_execution->nodes[i];
                st_execution *node_execution = own.execution;
                size_t kept = 0;
                for (size_t j = 0; j < node->dep_count && ok(&own); j++) {
                    const numbered wanted = {.id = node_execution->deps[node->dep_first + j]};
                    const numbered *found =
                        bsearch(&wanted, order, node_execution->count, sizeof wanted, by_id);
                    if (found != NULL)
                        node_execution->deps[node->dep_first + kept++] = found->place;
                    else if (own.partial)
                        node_execution->dangling++;
                    else
                        ST_NOTE(
                            &own, ST_ERR_NAME, (st_place){.file = own.text->file},
                            "byte %zu: node %llu waits for node %llu, which the file lacks" ST_HINT
                            "ignore such dependencies with --partial",
                            node->offset, (unsigned long long)node->id,
                            (unsigned long long)wanted.id);
                }
                node->dep_count = kept;
            }
            if (ok(&own) && resolve_execution->dangling > 0)
                st_report(own.errors, ST_SEVERITY_WARNING, ST_ERR_NAME,
                          (st_place){.file = own.text->file},
                          "ignored %zu dependencies on nodes that the file lacks",
                          resolve_execution->dangling);
        }
    }
    return own.status;
}

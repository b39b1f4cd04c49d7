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

static st_status fail(const reader *own, st_status status, size_t at, const char *message)
{
    return st_fail(own->errors, status, (st_place){.file = own->text->file}, "byte %zu: %s", at,
                   message);
}

static st_status broken(const reader *own, const st_proto *message)
{
    return st_fail(own->errors, ST_ERR_SYNTAX, (st_place){.file = own->text->file},
                   "byte %zu: %s" ST_EXPECTED "a Chakra execution trace, whole",
                   message->origin + message->at, message->fault);
}

static st_status wrong_wire(const reader *own, const st_proto_field *field, const char *what)
{
    return st_fail(own->errors, ST_ERR_SYNTAX, (st_place){.file = own->text->file},
                   "byte %zu: %s has wire type %d", field->origin, what, (int)field->wire);
}

static const char *keep_text(const reader *own, const char *text, size_t length)
{
    return st_arena_copy(own->arena, text, length);
}

/* ---- attributes ---- */

static int64_t unzigzag(uint64_t value)
{
    return st_proto_signed(value >> 1 ^ (~(value & 1) + 1));
}

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
        made->number = unzigzag(field->value);
        return;
    default:
        made->is_number = false;
    }
    if (field->number == ST_CHAKRA_ATTR_STRING && field->wire == ST_WIRE_BYTES) {
        made->text = field->bytes;
        made->text_length = field->length;
    }
}

static st_status read_attribute(const reader *own, const st_proto_field *of, attribute *made)
{
    st_proto message = st_proto_inside(of);
    st_proto_field field;
    *made = (attribute){.name = ""};
    while (st_proto_next(&message, &field)) {
        if (field.number == ST_CHAKRA_ATTR_NAME) {
            if (field.wire != ST_WIRE_BYTES)
                return wrong_wire(own, &field, "the name of an attribute");
            made->name = field.bytes;
            made->name_length = field.length;
        } else {
            take_value(&field, made);
        }
    }
    return message.fault != NULL ? broken(own, &message) : ST_OK;
}

static bool is_named(const attribute *given, const char *name)
{
    return given->name_length == strlen(name) && memcmp(given->name, name, given->name_length) == 0;
}

static st_status take_attribute(const reader *own, const st_proto_field *field,
                                st_execution_node *node)
{
    attribute given;
    st_status status = read_attribute(own, field, &given);
    const struct {
        const char *name;
        int64_t *into;
    } numbers[] = {{"num_ops", &node->num_ops},      {"tensor_size", &node->tensor_size},
                   {"comm_type", &node->collective}, {"comm_size", &node->bytes},
                   {"comm_src", &node->source},      {"comm_dst", &node->target},
                   {"comm_tag", &node->tag}};
    for (size_t i = 0; i < ST_COUNT(numbers) && status == ST_OK; i++) {
        if (!is_named(&given, numbers[i].name))
            continue;
        if (!given.is_number || given.number < 0)
            return st_fail(own->errors, ST_ERR_VALUE, (st_place){.file = own->text->file},
                           "byte %zu: '%s' is no number of at least 0", field->origin,
                           numbers[i].name);
        *numbers[i].into = given.number;
    }
    if (status == ST_OK && is_named(&given, "is_cpu_op"))
        node->host = given.is_number && given.number != 0;
    if (status == ST_OK && is_named(&given, "pg_name") && given.text_length > 0) {
        node->group = keep_text(own, given.text, given.text_length);
        status = node->group != NULL ? ST_OK : st_out_of_memory(own->errors);
    }
    return status;
}

/* ---- nodes ---- */

static st_status take_dependencies(const reader *own, const st_proto_field *field,
                                   st_execution_node *node)
{
    st_execution *execution = own->execution;
    uint64_t id = 0;
    for (size_t at = 0; st_proto_listed(field, &at, &id);) {
        if (execution->dep_count >= ST_EXECUTION_MAX_DEPS)
            return fail(own, ST_ERR_LIMIT, field->origin, "too many dependencies");
        if (!ST_APPEND(own->arena, execution->deps, execution->dep_count, id))
            return st_out_of_memory(own->errors);
        node->dep_count++;
    }
    return ST_OK;
}

static st_status take_number(const reader *own, const st_proto_field *field,
                             st_execution_node *node)
{
    if (field->wire != ST_WIRE_VARINT)
        return wrong_wire(own, field, "a number of a node");
    if (field->number == ST_CHAKRA_NODE_ID)
        node->id = field->value;
    else if (field->number == ST_CHAKRA_NODE_TYPE)
        node->type = field->value < INT32_MAX ? (st_chakra_type)field->value : ST_CHAKRA_INVALID;
    else if (field->number == ST_CHAKRA_NODE_START)
        node->start_us = field->value;
    else
        node->duration_us = field->value;
    return ST_OK;
}

static st_status take_field(const reader *own, const st_proto_field *field, st_execution_node *node)
{
    switch (field->number) {
    case ST_CHAKRA_NODE_ID:
    case ST_CHAKRA_NODE_TYPE:
    case ST_CHAKRA_NODE_START:
    case ST_CHAKRA_NODE_DURATION:
        return take_number(own, field, node);
    case ST_CHAKRA_NODE_NAME:
        if (field->wire != ST_WIRE_BYTES)
            return wrong_wire(own, field, "the name of a node");
        node->name = keep_text(own, field->bytes, field->length);
        return node->name != NULL ? ST_OK : st_out_of_memory(own->errors);
    case ST_CHAKRA_NODE_CTRL_DEPS:
    case ST_CHAKRA_NODE_DATA_DEPS:
        return take_dependencies(own, field, node);
    case ST_CHAKRA_NODE_ATTR:
        return take_attribute(own, field, node);
    default:
        return ST_OK;
    }
}

static st_status fail_node(const reader *own, const st_execution_node *node, st_status status,
                           const char *what)
{
    int length = (int)(strlen(node->name) < 80 ? strlen(node->name) : 80);
    return st_fail(own->errors, status, (st_place){.file = own->text->file},
                   "byte %zu: node %llu '%.*s' has %s", node->offset, (unsigned long long)node->id,
                   length, node->name, what);
}

static st_status check_collective(const reader *own, const st_execution_node *node)
{
    if (node->collective < 0)
        return fail_node(own, node, ST_ERR_NAME, "no comm_type");
    if (node->collective >= ST_CHAKRA_COLLECTIVES)
        return fail_node(own, node, ST_ERR_VALUE,
                         st_errors_text(own->errors,
                                        "the unknown comm_type %lld" ST_EXPECTED "0 to 9",
                                        (long long)node->collective));
    return node->bytes < 0 && node->collective != ST_CHAKRA_BARRIER
               ? fail_node(own, node, ST_ERR_NAME, "no comm_size")
               : ST_OK;
}

/* What a node of its kind needs. */
static st_status check_node(const reader *own, const st_execution_node *node)
{
    bool transfers = node->type == ST_CHAKRA_SEND || node->type == ST_CHAKRA_RECV;
    if (node->type <= ST_CHAKRA_INVALID || node->type >= ST_CHAKRA_TYPES)
        return fail_node(own, node, ST_ERR_VALUE,
                         st_errors_text(own->errors,
                                        "the unknown type %d, which is none of "
                                        "1 to 7: metadata, memory load or "
                                        "store, compute, send, receive, collective",
                                        (int)node->type));
    if (transfers && (node->source < 0 || node->target < 0))
        return fail_node(own, node, ST_ERR_NAME, "no comm_src or no comm_dst");
    if (node->duration_us > INT64_MAX / 1000000)
        return fail_node(own, node, ST_ERR_LIMIT, "a duration of more than 100,000 years");
    return node->type == ST_CHAKRA_COLL ? check_collective(own, node) : ST_OK;
}

static st_status read_node(const reader *own, st_proto message)
{
    st_execution *execution = own->execution;
    st_execution_node node = st_execution_node_at(message.origin, execution->dep_count);
    st_proto_field field;
    st_status status = message.length > 0
                           ? ST_OK
                           : fail(own, ST_ERR_SYNTAX, message.origin, "a node without a field");
    while (status == ST_OK && st_proto_next(&message, &field))
        status = take_field(own, &field, &node);
    if (status == ST_OK && message.fault != NULL)
        status = broken(own, &message);
    if (status == ST_OK)
        status = check_node(own, &node);
    if (status == ST_OK && execution->count >= ST_EXECUTION_MAX_NODES)
        status = fail(own, ST_ERR_LIMIT, node.offset, "more than 2^26 nodes");
    if (status != ST_OK)
        return status;
    return ST_APPEND(own->arena, execution->nodes, execution->count, node)
               ? ST_OK
               : st_out_of_memory(own->errors);
}

/* ---- ids ---- */

typedef struct numbered {
    uint64_t id;
    size_t place;
} numbered;

ST_COMPARE(by_id, numbered, ST_RISING(id));

/* Turns what a node waits for from ids into places. */
static st_status resolve_node(const reader *own, const numbered *order, st_execution_node *node)
{
    st_execution *execution = own->execution;
    size_t kept = 0;
    for (size_t i = 0; i < node->dep_count; i++) {
        const numbered wanted = {.id = execution->deps[node->dep_first + i]};
        const numbered *found = bsearch(&wanted, order, execution->count, sizeof wanted, by_id);
        if (found == NULL && !own->partial)
            return st_fail(own->errors, ST_ERR_NAME, (st_place){.file = own->text->file},
                           "byte %zu: node %llu waits for node %llu, which the file does not "
                           "have" ST_HINT "--partial leaves such dependencies out",
                           node->offset, (unsigned long long)node->id,
                           (unsigned long long)wanted.id);
        if (found == NULL)
            execution->dangling++;
        else
            execution->deps[node->dep_first + kept++] = found->place;
    }
    node->dep_count = kept;
    return ST_OK;
}

static st_status resolve(const reader *own)
{
    st_execution *execution = own->execution;
    numbered *order = st_arena_alloc(own->arena, execution->count + 1, sizeof *order);
    st_status status = order != NULL ? ST_OK : st_out_of_memory(own->errors);
    for (size_t i = 0; i < execution->count && status == ST_OK; i++)
        order[i] = (numbered){execution->nodes[i].id, i};
    if (status == ST_OK)
        st_sort(order, execution->count, sizeof *order, by_id);
    for (size_t i = 1; i < execution->count && status == ST_OK; i++)
        if (order[i].id == order[i - 1].id)
            status =
                st_fail(own->errors, ST_ERR_NAME, (st_place){.file = own->text->file},
                        "byte %zu: two nodes have the id %llu",
                        execution->nodes[order[i].place].offset, (unsigned long long)order[i].id);
    for (size_t i = 0; i < execution->count && status == ST_OK; i++)
        status = resolve_node(own, order, &execution->nodes[i]);
    if (status == ST_OK && execution->dangling > 0)
        st_report(own->errors, ST_SEVERITY_WARNING, ST_ERR_NAME,
                  (st_place){.file = own->text->file},
                  "%zu dependencies on nodes that the file does not have are left out",
                  execution->dangling);
    return status;
}

/* ---- the file ---- */

/* The first message: GlobalMetadata, which begins with a version. */
static st_status read_metadata(const reader *own, st_proto message)
{
    st_proto_field field;
    bool ok = st_proto_next(&message, &field) && field.number == ST_CHAKRA_META_VERSION &&
              field.wire == ST_WIRE_BYTES;
    return ok || message.length == 0 ? ST_OK
                                     : fail(own, ST_ERR_SYNTAX, message.origin,
                                            "the file does not begin with Chakra's metadata");
}

st_status st_execution_read_chakra(const st_execution_text *text, bool partial, st_arena *arena,
                                   st_execution *execution, st_errors *errors)
{
    const reader own = {
        .text = text, .execution = execution, .arena = arena, .errors = errors, .partial = partial};
    st_proto file = st_proto_of(text->bytes, text->length);
    st_proto message;
    *execution = (st_execution){.file = text->file, .rank = -1};
    if (text->length == 0)
        return fail(&own, ST_ERR_SYNTAX, 0, "the file is empty");
    if (text->bytes[0] == '{')
        return fail(&own, ST_ERR_SYNTAX, 0,
                    "this is JSON, as PyTorch writes execution traces" ST_EXPECTED
                    "a file of Chakra" ST_HINT "execution traces of PyTorch end in .json");
    st_status status =
        st_proto_next_delimited(&file, &message) ? read_metadata(&own, message) : ST_OK;
    while (status == ST_OK && st_proto_next_delimited(&file, &message))
        status = read_node(&own, message);
    if (status == ST_OK && file.fault != NULL)
        status = broken(&own, &file);
    return status == ST_OK ? resolve(&own) : status;
}

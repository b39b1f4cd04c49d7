/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chakra's form of a workload. Durations are whole microseconds there: what a rank computes is
 * rounded from its begin to its end, so that no step grows or shrinks by rounding its tasks.
 */
#include "workload/workload.h"

#include "base/protobuf.h"

#include <math.h>
#include <string.h>

#define TICKS_PER_US (ST_TICKS_PER_S / 1e6)

/* Of the schema that ASTRA-sim's feeder of 2025 reads. */
static const char schema_version[] = "0.0.4";

/* A buffer for the message inside, used again and again. */
typedef struct writer {
    const st_workload *workload;
    size_t rank;
    st_buffer *file;
    st_buffer node;
    st_buffer inner;
    st_buffer value;
    double computed; /* ticks of all computation before */
} writer;

/* ---- attributes ---- */

static void begin_attribute(writer *write, const char *name)
{
    write->inner.length = 0;
    st_proto_text(&write->inner, ST_CHAKRA_ATTR_NAME, name);
}

static void end_attribute(writer *write, uint32_t field)
{
    st_proto_bytes(&write->node, field, write->inner.data, write->inner.length);
}

static void put_number(writer *write, const char *name, uint32_t kind, uint64_t value)
{
    begin_attribute(write, name);
    st_proto_number(&write->inner, kind, value);
    end_attribute(write, ST_CHAKRA_NODE_ATTR);
}

static void put_text(writer *write, const char *name, const char *text, uint32_t field)
{
    begin_attribute(write, name);
    st_proto_text(&write->inner, ST_CHAKRA_ATTR_STRING, text);
    end_attribute(write, field);
}

/* ---- nodes ---- */

static void end_message(writer *write)
{
    st_proto_varint(write->file, write->node.length);
    st_buffer_append(write->file, write->node.data, write->node.length);
    write->node.length = 0;
}

static uint64_t whole_us(double ticks)
{
    return (uint64_t)llround(ticks / TICKS_PER_US);
}

static uint64_t duration_us(writer *write, const st_work_node *node)
{
    if (node->type != ST_CHAKRA_COMP)
        return whole_us((double)node->duration);
    double before = write->computed;
    write->computed += (double)node->duration;
    return whole_us(write->computed) - whole_us(before);
}

void st_chakra_write(const st_workload *workload, size_t rank, st_buffer *buffer)
{
    const st_work_stage *stage = &workload->stages[st_workload_stage(workload, rank)];
    writer write = {.workload = workload, .rank = rank, .file = buffer};
    char text[32];
    st_proto_text(&write.node, ST_CHAKRA_META_VERSION, schema_version);
    put_text(&write, "job", write.workload->job, ST_CHAKRA_META_ATTR);
    put_text(&write, "sheet", write.workload->sheet, ST_CHAKRA_META_ATTR);
    put_text(&write, "schedule", write.workload->schedule, ST_CHAKRA_META_ATTR);
    (void)snprintf(text, sizeof text, "%zu", write.rank);
    put_text(&write, "rank", text, ST_CHAKRA_META_ATTR);
    end_message(&write);
    for (size_t i = 0; i < stage->count; i++) {
        const st_work_node *node = &stage->nodes[i];
        st_proto_number(&write.node, ST_CHAKRA_NODE_ID, i);
        st_proto_text(&write.node, ST_CHAKRA_NODE_NAME, node->name);
        st_proto_number(&write.node, ST_CHAKRA_NODE_TYPE, (uint64_t)node->type);
        write.value.length = 0;
        for (uint32_t j = 0; j < node->dep_count; j++)
            st_proto_varint(&write.value, stage->deps[node->dep_first + j]);
        if (node->dep_count > 0)
            st_proto_bytes(&write.node, ST_CHAKRA_NODE_DATA_DEPS, write.value.data,
                           write.value.length);
        st_proto_number(&write.node, ST_CHAKRA_NODE_START, whole_us((double)node->start));
        st_proto_number(&write.node, ST_CHAKRA_NODE_DURATION, duration_us(&write, node));
        put_number(&write, "is_cpu_op", ST_CHAKRA_ATTR_BOOL, node->host);
        if (node->type == ST_CHAKRA_COLL) {
            char node_text[32];
            put_number(&write, "comm_type", ST_CHAKRA_ATTR_INT64, node->collective);
            put_number(&write, "comm_size", ST_CHAKRA_ATTR_INT64, node->bytes);
            (void)snprintf(node_text, sizeof node_text, "%zu",
                           st_workload_group_id(write.workload, node->group, write.rank));
            put_text(&write, "pg_name", node_text, ST_CHAKRA_NODE_ATTR);
        } else if (node->type != ST_CHAKRA_COMP) {
            size_t peer = st_workload_peer(write.workload, write.rank, node->peer);
            bool sends = node->type == ST_CHAKRA_SEND;
            put_number(&write, "comm_src", ST_CHAKRA_ATTR_INT32, sends ? write.rank : peer);
            put_number(&write, "comm_dst", ST_CHAKRA_ATTR_INT32, sends ? peer : write.rank);
            put_number(&write, "comm_tag", ST_CHAKRA_ATTR_INT32, node->tag);
            put_number(&write, "comm_size", ST_CHAKRA_ATTR_INT64, node->bytes);
        }
        end_message(&write);
    }
    buffer->failed =
        buffer->failed || write.node.failed || write.inner.failed || write.value.failed;
    st_buffer_free(&write.node);
    st_buffer_free(&write.inner);
    st_buffer_free(&write.value);
}

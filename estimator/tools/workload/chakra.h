/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chakra execution traces: what a rank computes and sends, as a graph of nodes, for simulators such
 * as ASTRA-sim. Numbers and names of fields are those of MLCommons' schema/protobuf/et_def.proto
 * (Sridharan et al. 2023, arXiv:2305.14516); docs/workloads.md shows them.
 */
#ifndef STEPTIME_WORKLOAD_CHAKRA_H
#define STEPTIME_WORKLOAD_CHAKRA_H

typedef enum st_chakra_type {
    ST_CHAKRA_INVALID,
    ST_CHAKRA_METADATA,
    ST_CHAKRA_MEM_LOAD,
    ST_CHAKRA_MEM_STORE,
    ST_CHAKRA_COMP,
    ST_CHAKRA_SEND,
    ST_CHAKRA_RECV,
    ST_CHAKRA_COLL,
    ST_CHAKRA_TYPES
} st_chakra_type;

typedef enum st_chakra_collective {
    ST_CHAKRA_ALL_REDUCE,
    ST_CHAKRA_REDUCE,
    ST_CHAKRA_ALL_GATHER,
    ST_CHAKRA_GATHER,
    ST_CHAKRA_SCATTER,
    ST_CHAKRA_BROADCAST,
    ST_CHAKRA_ALL_TO_ALL,
    ST_CHAKRA_REDUCE_SCATTER,
    ST_CHAKRA_REDUCE_SCATTER_BLOCK,
    ST_CHAKRA_BARRIER,
    ST_CHAKRA_COLLECTIVES
} st_chakra_collective;

/* Fields of GlobalMetadata. */
enum { ST_CHAKRA_META_VERSION = 1, ST_CHAKRA_META_ATTR = 2 };

/* Fields of Node. */
enum {
    ST_CHAKRA_NODE_ID = 1,
    ST_CHAKRA_NODE_NAME = 2,
    ST_CHAKRA_NODE_TYPE = 3,
    ST_CHAKRA_NODE_CTRL_DEPS = 4,
    ST_CHAKRA_NODE_DATA_DEPS = 5,
    ST_CHAKRA_NODE_START = 6,    /* microseconds */
    ST_CHAKRA_NODE_DURATION = 7, /* microseconds */
    ST_CHAKRA_NODE_INPUTS = 8,
    ST_CHAKRA_NODE_OUTPUTS = 9,
    ST_CHAKRA_NODE_ATTR = 10
};

/* Fields of AttributeProto; of its values those that are in use. */
enum {
    ST_CHAKRA_ATTR_NAME = 1,
    ST_CHAKRA_ATTR_DOUBLE = 3,
    ST_CHAKRA_ATTR_FLOAT = 5,
    ST_CHAKRA_ATTR_INT32 = 7,
    ST_CHAKRA_ATTR_INT64 = 9,
    ST_CHAKRA_ATTR_UINT32 = 11,
    ST_CHAKRA_ATTR_UINT64 = 13,
    ST_CHAKRA_ATTR_SINT32 = 15,
    ST_CHAKRA_ATTR_SINT64 = 17,
    ST_CHAKRA_ATTR_FIXED32 = 19,
    ST_CHAKRA_ATTR_FIXED64 = 21,
    ST_CHAKRA_ATTR_SFIXED32 = 23,
    ST_CHAKRA_ATTR_SFIXED64 = 25,
    ST_CHAKRA_ATTR_BOOL = 27,
    ST_CHAKRA_ATTR_STRING = 29
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Chakra's files written by hand: what is read, how it is replayed, what is refused. */
#include "base_support.h"
#include "../support/fixture.h"

#include "base/protobuf.h"
#include "workload/execution.h"

FIXTURE(st_buffer file; st_buffer node; st_execution ranks[2]; st_execution_replay replay;
        , st_execution_replay_free(&own->replay); st_buffer_free(&own->file);
        st_buffer_free(&own->node););

/* The message in `node` behind its length. */
static void end_message(fixture *self)
{
    st_proto_varint(&self->file, self->node.length);
    st_buffer_append(&self->file, self->node.data, self->node.length);
    st_buffer_free(&self->node);
}

static void begin_file(fixture *self)
{
    st_buffer_free(&self->file);
    st_proto_text(&self->node, 1, "0.0.4");
    end_message(self);
}

static void begin_node(fixture *self, uint64_t id, uint64_t type, uint64_t duration_us)
{
    st_proto_number(&self->node, 1, id);
    st_proto_text(&self->node, 2, "layer");
    st_proto_number(&self->node, 3, type);
    st_proto_number(&self->node, 7, duration_us);
}

static void put(fixture *self, const char *name, uint32_t arm, uint64_t value)
{
    st_buffer inner = {0};
    st_proto_text(&inner, 1, name);
    st_proto_number(&inner, arm, value);
    st_proto_bytes(&self->node, 10, inner.data, inner.length);
    st_buffer_free(&inner);
}

/* A dependency that is not packed, as older writers have them. */
static void wait_for(fixture *self, uint64_t id)
{
    st_proto_number(&self->node, 5, id);
}

static st_status read_rank(fixture *self, size_t rank, bool partial)
{
    const st_execution_text text = {"a.et", self->file.data, self->file.length};
    st_status status =
        st_execution_read_chakra(&text, partial, self->arena, &self->ranks[rank], self->errors);
    self->ranks[rank].rank = (int64_t)rank;
    return status;
}

static st_status replay(fixture *self, size_t count)
{
    static st_execution_set set;
    set = (st_execution_set){.ranks = self->ranks, .count = count};
    return st_execution_replay_make(&set, self->arena, &self->replay, self->errors);
}

static void assert_refused(fixture *self, st_status found, st_status expected, const char *text)
{
    const char *told = said(self->errors);
    assert_int_equal(found, expected);
    if (strstr(told, text) == NULL)
        fail_msg("'%s' lacks '%s'", told, text);
}

/* Rank 0 computes 2385 us and sends; rank 1 computes 1238 us, receives, both all-reduce for 385. */
static void write_rank(fixture *self, uint64_t rank)
{
    begin_file(self);
    begin_node(self, 40, 4, rank == 0 ? 2385 : 1238);
    put(self, "is_cpu_op", 27, 0);
    end_message(self);
    begin_node(self, 41, rank == 0 ? 5 : 6, 99);
    put(self, "comm_src", 7, 0);
    put(self, "comm_dst", 7, 1);
    put(self, "comm_tag", 7, 17);
    put(self, "comm_size", 13, 23850);
    wait_for(self, 40);
    end_message(self);
    begin_node(self, 3, 7, 385);
    put(self, "comm_type", 9, 0);
    put(self, "comm_size", 15, 4770); /* zigzag: 2385 */
    wait_for(self, 41);
    end_message(self);
}

TEST_OF(ranks_meet_and_wait, fixture *self, set_up, tear_down)
{
    for (size_t rank = 0; rank < 2; rank++) {
        write_rank(self, rank);
        assert_int_equal(read_rank(self, rank, false), ST_OK);
    }
    assert_int_equal(self->ranks[0].count, 3);
    assert_int_equal(self->ranks[0].nodes[2].bytes, 2385);
    assert_int_equal(self->ranks[1].nodes[1].tag, 17);
    assert_int_equal(replay(self, 2), ST_OK);
    assert_int_equal(st_replay_end_ns(self->replay.replay), (2385 + 99 + 385) * 1000);
    assert_int_equal(self->replay.times[1].exposed_compute_ns, 1238 * 1000);
    assert_int_equal(self->replay.unmatched, 0);
}

TEST_OF(ends_in_no_file_are_told, fixture *self, set_up, tear_down)
{
    write_rank(self, 1);
    assert_int_equal(read_rank(self, 0, false), ST_OK);
    assert_int_equal(replay(self, 1), ST_OK);
    assert_int_equal(self->replay.unmatched, 1);
    assert_int_equal(st_replay_end_ns(self->replay.replay), (1238 + 385) * 1000);
    assert_non_null(strstr(said(self->errors), "1 transfers have no counterpart"));
}

TEST_OF(unknown_types_are_told_with_their_place, fixture *self, set_up, tear_down)
{
    begin_file(self);
    begin_node(self, 2385, 23, 5);
    end_message(self);
    assert_refused(self, read_rank(self, 0, false), ST_ERR_VALUE,
                   "byte 9: node 2385 'layer' has the unknown type 23");
}

TEST_OF(collectives_need_kind_and_size, fixture *self, set_up, tear_down)
{
    begin_file(self);
    begin_node(self, 7, 7, 5);
    put(self, "comm_type", 9, 2);
    end_message(self);
    assert_refused(self, read_rank(self, 0, false), ST_ERR_NAME, "node 7 'layer' has no comm_size");
    begin_file(self);
    begin_node(self, 7, 7, 5);
    put(self, "comm_type", 9, 23);
    put(self, "comm_size", 9, 2385);
    end_message(self);
    assert_refused(self, read_rank(self, 0, false), ST_ERR_VALUE, "unknown comm_type 23");
    begin_file(self);
    begin_node(self, 7, 7, 5);
    put(self, "comm_size", 9, UINT64_MAX);
    end_message(self);
    assert_refused(self, read_rank(self, 0, false), ST_ERR_VALUE,
                   "'comm_size' must be a number of at least 0");
}

TEST_OF(ids_are_looked_at, fixture *self, set_up, tear_down)
{
    begin_file(self);
    begin_node(self, 7, 4, 5);
    wait_for(self, 4485);
    end_message(self);
    assert_refused(self, read_rank(self, 0, false), ST_ERR_NAME,
                   "node 7 waits for node 4485, which the file lacks");
    assert_int_equal(read_rank(self, 0, true), ST_OK);
    assert_int_equal(self->ranks[0].dangling, 1);
    assert_non_null(strstr(said(self->errors), "1 dependencies on nodes"));
    begin_node(self, 7, 4, 5);
    end_message(self);
    assert_refused(self, read_rank(self, 0, true), ST_ERR_NAME, "two nodes have the id 7");
}

/* Packed, as newer writers have them: a number that breaks off is not passed over. */
TEST_OF(packed_dependencies_are_read_whole, fixture *self, set_up, tear_down)
{
    static const char *const lists[] = {"\xff\xff", "\x07\xff", "\x07"};
    for (size_t i = 0; i < 3; i++) {
        begin_file(self);
        begin_node(self, 7, 4, 2385);
        end_message(self);
        begin_node(self, 8, 4, 385);
        st_proto_bytes(&self->node, 5, lists[i], strlen(lists[i]));
        end_message(self);
        if (i < 2)
            assert_refused(self, read_rank(self, 0, false), ST_ERR_SYNTAX,
                           "a dependency breaks off or exceeds 64 bits");
    }
    assert_int_equal(read_rank(self, 0, false), ST_OK);
    assert_int_equal(self->ranks[0].dep_count, 1);
}

TEST_OF(a_node_that_waits_for_itself_is_refused, fixture *self, set_up, tear_down)
{
    begin_file(self);
    begin_node(self, 7, 4, 2385);
    wait_for(self, 7);
    end_message(self);
    assert_int_equal(read_rank(self, 0, false), ST_OK);
    assert_refused(self, replay(self, 1), ST_ERR_CYCLE, "node 7 'layer' waits for itself");
}

TEST_OF(nodes_that_wait_for_themselves_are_refused, fixture *self, set_up, tear_down)
{
    begin_file(self);
    for (uint64_t id = 7; id < 9; id++) {
        begin_node(self, id, 4, 2385);
        wait_for(self, 15 - id);
        end_message(self);
    }
    assert_int_equal(read_rank(self, 0, false), ST_OK);
    assert_refused(self, replay(self, 1), ST_ERR_CYCLE,
                   "node 7 'layer' waits for itself, directly or through others; 2 nodes");
}

TEST_OF(work_without_a_time_is_refused, fixture *self, set_up, tear_down)
{
    begin_file(self);
    begin_node(self, 7, 4, 0);
    put(self, "num_ops", 9, 2385);
    end_message(self);
    assert_int_equal(read_rank(self, 0, false), ST_OK);
    assert_refused(self, replay(self, 1), ST_ERR_VALUE, "2385 operations and no duration");
}

TEST_OF(faulty_files_are_refused, fixture *self, set_up, tear_down)
{
    size_t read = 0;
    write_rank(self, 0);
    size_t whole = self->file.length;
    for (self->file.length = 0; self->file.length < whole; self->file.length++)
        read += read_rank(self, 0, false) == ST_OK ? 1 : 0;
    assert_int_equal(read, 3); /* behind the metadata, the first node, the second */
    (void)said(self->errors);
    begin_file(self);
    st_proto_text(&self->node, 1, "seven");
    end_message(self);
    assert_refused(self, read_rank(self, 0, false), ST_ERR_SYNTAX,
                   "a number of a node has wire type 2");
    st_buffer_free(&self->file);
    st_buffer_text(&self->file, "{\"schema\": \"1.0.1\"}");
    assert_refused(self, read_rank(self, 0, false), ST_ERR_SYNTAX, "a.et: error: byte");
}

TESTS(chakra);

/* SPDX-License-Identifier: Apache-2.0 */
/* Execution traces of several ranks: which files are theirs, what nodes cost, what is told of them.
 */
#include "report_support.h"

#include "base/protobuf.h"
#include "workload/execution.h"

#include <math.h>

/* ---- files ---- */

/* A file of Chakra with one collective of group "7". */
static void write_chakra(const fixture *own, const char *name)
{
    st_buffer file = {0};
    st_buffer node = {0};
    st_buffer inner = {0};
    st_proto_text(&node, ST_CHAKRA_META_VERSION, "0.0.4");
    st_proto_varint(&file, node.length);
    st_buffer_append(&file, node.data, node.length);
    node.length = 0;
    st_proto_number(&node, ST_CHAKRA_NODE_ID, 40);
    st_proto_number(&node, ST_CHAKRA_NODE_TYPE, ST_CHAKRA_COLL);
    for (int i = 0; i < 2; i++) {
        inner.length = 0;
        st_proto_text(&inner, ST_CHAKRA_ATTR_NAME, i == 0 ? "comm_type" : "comm_size");
        st_proto_number(&inner, ST_CHAKRA_ATTR_INT64, i == 0 ? ST_CHAKRA_ALL_REDUCE : 2385);
        st_proto_bytes(&node, ST_CHAKRA_NODE_ATTR, inner.data, inner.length);
    }
    inner.length = 0;
    st_proto_text(&inner, ST_CHAKRA_ATTR_NAME, "pg_name");
    st_proto_text(&inner, ST_CHAKRA_ATTR_STRING, "7");
    st_proto_bytes(&node, ST_CHAKRA_NODE_ATTR, inner.data, inner.length);
    st_proto_varint(&file, node.length);
    st_buffer_append(&file, node.data, node.length);
    write_bytes(own, name, file.data, file.length);
    st_buffer_free(&file);
    st_buffer_free(&node);
    st_buffer_free(&inner);
}

/* One operator that scales 23850 numbers of 4 bytes on a GPU. */
static const char pytorch[] =
    "{\"schema\":\"1.1.1-chakra.0.0.4\",\"pid\":385,\"nodes\":[{\"id\":2,\"name\":\"aten::mul_\","
    "\"ctrl_deps\":1,\"inputs\":{\"values\":[[13,33,0,23850,4,\"cuda:0\"]],\"shapes\":[[2385,10]],"
    "\"types\":[\"Tensor(float)\"]},\"outputs\":{\"values\":[[13,33,0,23850,4,\"cuda:0\"]],"
    "\"shapes\":[[2385,10]],\"types\":[\"Tensor(float)\"]},\"attrs\":[]}]}";

static st_status read_paths(fixture *own, const char *first, const char *second,
                            st_execution_set *set)
{
    const char *paths[] = {below(own, first), second != NULL ? below(own, second) : NULL};
    return st_execution_read_files(paths, second != NULL ? 2 : 1, false, own->arena, set,
                                   own->errors);
}

TEST_OF(folders_give_the_files_of_their_ranks, fixture *own, set_up, tear_down)
{
    st_execution_set set;
    write_chakra(own, "run/a.12.et");
    write_chakra(own, "run/a.3.et");
    write_chakra(own, "run/.a.4.et");
    write_text(own, "run/notes.txt", "2385");
    write_text(own, "run/network.5.json", "2385");
    write_text(own, "run/comm_group.json", "{\"7\": [3, 12, 21]}");
    assert_int_equal(read_paths(own, "run", NULL, &set), ST_OK);
    assert_string_equal(said(own), "");
    assert_int_equal(set.count, 2);
    assert_int_equal(set.ranks[0].rank, 3);
    assert_int_equal(set.ranks[1].rank, 12);
    for (size_t i = 0; i < set.count; i++) {
        assert_false(set.ranks[i].needs_prices);
        assert_int_equal(set.ranks[i].nodes[0].group_size, 3);
        assert_int_equal(set.ranks[i].nodes[0].group_stride, 9);
    }
}

TEST_OF(folders_without_chakra_give_those_of_pytorch, fixture *own, set_up, tear_down)
{
    st_execution_set set;
    write_text(own, "et/x_rank1.json", pytorch);
    write_text(own, "et/x_rank0.json", pytorch);
    write_text(own, "et/comm_group.json", "{\"7\": [3, 12, 21]}");
    assert_int_equal(read_paths(own, "et", NULL, &set), ST_OK);
    assert_int_equal(set.count, 2);
    assert_int_equal(set.ranks[1].rank, 1);
    assert_true(set.ranks[1].needs_prices);
}

TEST_WITH(names_tell_ranks, set_up, tear_down)
{
    static const struct {
        const char *name;
        int64_t rank;
    } cases[] = {
        {"a.17.et", 17},
        {"a_17.et", 17},
        {"a-0.et", 0},
        {"trank5.et", 5},
        {"a.123456789.et", 123456789},
        {"a17.et", -1},
        {"17.et", -1},
        {"a.et", -1},
        {"a.1234567890.et", -1},
        {"a.17b.et", -1},
        {"ank5.et", -1},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_execution_set set;
        write_chakra(own, cases[i].name);
        assert_int_equal(read_paths(own, cases[i].name, NULL, &set), ST_OK);
        assert_int_equal(set.count, 1);
        if (set.ranks[0].rank != cases[i].rank)
            fail_msg("%s: %lld", cases[i].name, (long long)set.ranks[0].rank);
        assert_int_equal(set.ranks[0].nodes[0].group_size, -1); /* no groups stand beside it */
    }
}

TEST_WITH(files_that_are_no_ranks_are_refused, set_up, tear_down)
{
    static const struct {
        const char *first;
        const char *second;
        st_status status;
        const char *text;
    } cases[] = {
        {"none", NULL, ST_ERR_IO, "@/none: error: the folder holds no .et, .json or .json.gz file"},
        {"a.1.et", "plain.et", ST_ERR_NAME, "@/plain.et: error: the file name lacks a "},
        {"a.1.et", "b.1.et", ST_ERR_NAME, "rank 1 is also in @/"},
        {"missing.1.et", NULL, ST_ERR_IO, "missing.1.et"},
    };
    fixture *own = *state;
    write_text(own, "none/notes.txt", "2385");
    write_chakra(own, "a.1.et");
    write_chakra(own, "b.1.et");
    write_chakra(own, "plain.et");
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_execution_set set;
        assert_int_equal(read_paths(own, cases[i].first, cases[i].second, &set), cases[i].status);
        assert_contains(said(own), cases[i].text);
    }
}

TEST_WITH(groups_say_how_far_apart_their_ranks_are, set_up, tear_down)
{
    static const struct {
        const char *text;
        int64_t size;
        int64_t stride;
        const char *said;
    } cases[] = {
        {"{\"5\": [1], \"7\": [38, 24, 10]}", 3, 14, ""},
        {"{\"7\": [17]}", 1, 1, ""},
        {"{\"7\": []}", 0, 1, ""},
        {"{\"7\": [3, 12, 22]}", 3, 9, "the ranks of 1 groups, such as '7', are not evenly spaced"},
        {"{\"7\": [3, 3]}", 2, 1, "the ranks of 1 groups, such as '7', are not evenly spaced"},
        {"{\"8\": [1, 2, 4], \"7\": [3, 5, 4]}", 3, 2, "the ranks of 2 groups, such as '7', are"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_execution_groups groups;
        st_execution_node nodes[] = {st_execution_node_at(0, 0), st_execution_node_at(0, 0),
                                     st_execution_node_at(0, 0)};
        st_execution rank = {.nodes = nodes, .count = COUNT(nodes)};
        nodes[1].group = "7";
        nodes[2].group = "71";
        write_text(own, "comm_group.json", cases[i].text);
        assert_int_equal(st_execution_groups_read(below(own, "comm_group.json"), own->arena,
                                                  &groups, own->errors),
                         ST_OK);
        st_execution_groups_give(&groups, &rank);
        assert_int_equal(nodes[1].group_size, cases[i].size);
        assert_int_equal(nodes[1].group_stride, cases[i].stride);
        assert_int_equal(nodes[0].group_size, -1);
        assert_int_equal(nodes[2].group_size, -1);
        const char *told = said(own);
        if (cases[i].said[0] == '\0')
            assert_string_equal(told, "");
        assert_contains(told, cases[i].said);
    }
}

TEST_WITH(faulty_groups_are_refused, set_up, tear_down)
{
    static const struct {
        const char *text;
        st_status status;
        const char *said;
    } cases[] = {
        {"{\"7\": [3], \"5\": [1], \"7\": [3]}", ST_ERR_NAME, "group '7' is given twice"},
        {"{\"7\": [-3]}", ST_ERR_VALUE, "a rank must be a whole number of at least 0"},
        {"{\"7\": [2.385]}", ST_ERR_VALUE, "a rank must be a whole number of at least 0"},
        {"{\"7\": [3, ", ST_ERR_SYNTAX, "the file ends in the middle"},
        {"{\"7\": {}}", ST_ERR_SYNTAX, "comm_group.json"},
    };
    fixture *own = *state;
    st_execution_groups groups;
    for (size_t i = 0; i < COUNT(cases); i++) {
        write_text(own, "comm_group.json", cases[i].text);
        assert_int_equal(st_execution_groups_read(below(own, "comm_group.json"), own->arena,
                                                  &groups, own->errors),
                         cases[i].status);
        assert_contains(said(own), cases[i].said);
    }
    assert_int_equal(
        st_execution_groups_read(below(own, "absent"), own->arena, &groups, own->errors), ST_OK);
    assert_int_equal(groups.count, 0);
}

/* ---- prices ---- */

typedef struct priced {
    st_prices *prices;
    st_execution_prices made;
    st_execution ranks[2];
    st_execution_node nodes[2][4];
    st_execution_set set;
} priced;

/* Two ranks without nodes, and prices of a cluster whose collectives a plugin knows. */
static priced *make_priced(fixture *own)
{
    static const st_prices_request request = {.cluster = "dgx-a100"};
    const char *tests = getenv("STEPTIME_TEST_PLUGINS");
    const char *folders[] = {
        st_arena_printf(own->arena, "%s/..", tests != NULL ? tests : "build/tests")};
    priced *self = st_arena_alloc(own->arena, 1, sizeof *self);
    st_paths_destroy(own->paths);
    assert_int_equal(st_paths_create(folders, 1, &own->paths, own->errors), ST_OK);
    st_status status = st_prices_open(own->paths, &request, own->arena, &self->prices, own->errors);
    if (status != ST_OK)
        fail_msg("%s", said(own));
    for (size_t i = 0; i < 2; i++)
        self->ranks[i] = (st_execution){.rank = (int64_t)(10 + i), .nodes = self->nodes[i]};
    self->set = (st_execution_set){self->ranks, 2};
    return self;
}

/* Rank 0 and 1 get a node more; returns it. */
static st_execution_node *add_node(priced *self, size_t rank, st_chakra_type type)
{
    st_execution *own = &self->ranks[rank];
    st_execution_node *node = &own->nodes[own->count++];
    *node = st_execution_node_at(0, 0);
    node->type = type;
    return node;
}

static void forget(priced *self)
{
    self->ranks[0].count = self->ranks[1].count = 0;
}

static void price(fixture *own, priced *self, uint64_t world)
{
    assert_int_equal(
        st_execution_price(&self->set, self->prices, world, own->arena, &self->made, own->errors),
        ST_OK);
}

/* What the sheet says of a shape, in nanoseconds. */
static int64_t shape_ns(fixture *own, const priced *self, const st_task_shape *shape)
{
    st_price made;
    assert_int_equal(st_prices_of_task(self->prices, shape, &made, own->errors), ST_OK);
    assert_true(made.time_s > 0);
    return (int64_t)llround(made.time_s * 1e9);
}

static const st_task_shape product = {
    .form = ST_FORM_PRODUCT,
    .name = "",
    .type = "bf16",
    .sizes = {[ST_SIZE_M] = 2385, [ST_SIZE_N] = 2385, [ST_SIZE_K] = 2385}};
static const st_task_shape moved = {
    .form = ST_FORM_KERNEL, .name = "", .sizes = {[ST_SIZE_BYTES] = 2385000000}};

/* A product of 2385 by 2385 by 2385 has two operations for each of its steps. */
TEST_WITH(nodes_cost_what_they_do, set_up, tear_down)
{
    const int64_t ops = INT64_C(2) * 2385 * 2385 * 2385;
    fixture *own = *state;
    priced *self = make_priced(own);
    int64_t product_ns = shape_ns(own, self, &product);
    int64_t moved_ns = shape_ns(own, self, &moved);
    assert_true(moved_ns > product_ns);
    const struct {
        int64_t ops;
        int64_t bytes;
        uint64_t duration_us;
        bool host;
        const st_task_shape *shape;
        int64_t price_ns;
        uint64_t unknown;
        uint64_t kept;
    } cases[] = {
        {-1, -1, 71, false, &product, product_ns, 0, 0},
        {ops, -1, 0, false, NULL, product_ns, 1, 0},
        {-1, 2385000000, 0, false, NULL, moved_ns, 1, 0},
        {ops, 2385000000, 0, false, NULL, moved_ns, 1, 0},
        {ops, 17, 0, false, NULL, product_ns, 1, 0},
        {ops, 2385000000, 71, false, NULL, -1, 0, 1},
        {-1, -1, 0, false, NULL, -1, 0, 1},
        {0, 0, 0, false, NULL, -1, 0, 1},
        {ops, 2385000000, 0, true, NULL, -1, 0, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        bool has_price = cases[i].price_ns >= 0;
        forget(self);
        st_execution_node *node = add_node(self, 1, ST_CHAKRA_COMP);
        node->num_ops = cases[i].ops;
        node->tensor_size = cases[i].bytes;
        node->duration_us = cases[i].duration_us;
        node->host = cases[i].host;
        node->shape = cases[i].shape;
        price(own, self, 0);
        assert_true(llabs(node->price_ns - cases[i].price_ns) <= 1); /* sides are roots */
        assert_int_equal(self->made.nodes, has_price);
        assert_int_equal(self->made.time_ns, has_price ? node->price_ns : 0);
        assert_int_equal(self->made.unknown, cases[i].unknown);
        assert_int_equal(self->made.unknown_ns, cases[i].unknown > 0 ? node->price_ns : 0);
        assert_int_equal(self->made.untimed, 0);
        assert_int_equal(self->made.refined, 0);
        assert_int_equal(self->made.kept, cases[i].kept);
    }
}

static int64_t transfer_ns(fixture *own, const priced *self, const char *collective,
                           double size_bytes, double ranks, double stride)
{
    const st_trace_transfer transfer = {.collective = collective,
                                        .size_bytes = size_bytes,
                                        .ranks = ranks,
                                        .stride = stride,
                                        .bandwidth_factor = 1};
    st_price made;
    assert_int_equal(st_prices_of_transfer(self->prices, &transfer, &made, own->errors), ST_OK);
    assert_false(made.unknown);
    return (int64_t)llround(made.time_s * 1e9);
}

TEST_WITH(collectives_cost_what_their_groups_tell, set_up, tear_down)
{
    enum { BYTES = 23850000 };
    fixture *own = *state;
    priced *self = make_priced(own);
    int64_t eight_ns = transfer_ns(own, self, "all_reduce", BYTES, 8, 1);
    int64_t apart_ns = transfer_ns(own, self, "all_reduce", BYTES, 4, 8);
    int64_t gather_ns = transfer_ns(own, self, "all_gather", 4.0 * BYTES, 4, 1);
    int64_t block_ns = transfer_ns(own, self, "reduce_scatter", BYTES, 8, 1);
    assert_true(eight_ns != apart_ns && gather_ns != block_ns);
    const struct {
        st_chakra_collective collective;
        int64_t size;
        int64_t stride;
        uint64_t duration_us;
        int64_t price_ns;
        uint64_t unpriced;
    } cases[] = {
        {ST_CHAKRA_ALL_REDUCE, 8, 1, 0, eight_ns, 0},
        {ST_CHAKRA_ALL_REDUCE, 8, 1, 71, eight_ns, 0},
        {ST_CHAKRA_ALL_REDUCE, 4, 8, 0, apart_ns, 0},
        {ST_CHAKRA_ALL_GATHER, 4, 1, 0, gather_ns, 0},
        {ST_CHAKRA_REDUCE_SCATTER_BLOCK, 8, 1, 0, block_ns, 0},
        {ST_CHAKRA_REDUCE_SCATTER, 8, 1, 0, block_ns, 0},
        {ST_CHAKRA_BARRIER, 8, 1, 0, 0, 0},
        {ST_CHAKRA_BARRIER, 8, 1, 71, -1, 0},
        {ST_CHAKRA_SCATTER, 8, 1, 0, 0, 1},
        {ST_CHAKRA_SCATTER, 8, 1, 71, -1, 0},
        {ST_CHAKRA_ALL_REDUCE, -1, 1, 0, 0, 1}, /* alone in the files, and of no told size */
        {ST_CHAKRA_ALL_REDUCE, -1, 1, 71, -1, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        forget(self);
        st_execution_node *node = add_node(self, 0, ST_CHAKRA_COLL);
        node->collective = cases[i].collective;
        node->bytes = BYTES;
        node->group = "7";
        node->group_size = cases[i].size;
        node->group_stride = cases[i].stride;
        node->duration_us = cases[i].duration_us;
        price(own, self, 0);
        if (node->price_ns != cases[i].price_ns)
            fail_msg("case %zu: %lld ns", i, (long long)node->price_ns);
        assert_int_equal(self->made.collectives, 1);
        assert_int_equal(self->made.unpriced, cases[i].unpriced);
        assert_int_equal(self->made.nodes, 0);
    }
}

/* A group of no told size has as many ranks as name it, each once, or as the world is said to. */
TEST_WITH(ranks_of_a_group_are_counted, set_up, tear_down)
{
    enum { BYTES = 23850000 };
    fixture *own = *state;
    priced *self = make_priced(own);
    for (size_t i = 0; i < 3; i++) {
        st_execution_node *node = add_node(self, i % 2, ST_CHAKRA_COLL);
        node->collective = ST_CHAKRA_ALL_REDUCE;
        node->bytes = BYTES;
    }
    (void)add_node(self, 1, ST_CHAKRA_COMP);
    price(own, self, 0);
    int64_t two_ns = transfer_ns(own, self, "all_reduce", BYTES, 2, 1);
    assert_int_equal(self->nodes[0][0].price_ns, two_ns);
    assert_int_equal(self->nodes[0][1].price_ns, two_ns);
    assert_int_equal(self->nodes[1][0].price_ns, two_ns);
    assert_int_equal(self->made.collectives, 3);
    price(own, self, 8);
    assert_int_equal(self->nodes[0][0].price_ns, transfer_ns(own, self, "all_reduce", BYTES, 8, 1));
}

/* Groups named by their size alone: only that of all ranks of the set meets. */
TEST_OF(groups_of_some_ranks_are_parted, fixture *own, set_up, tear_down)
{
    priced *self = make_priced(own);
    static const int64_t sizes[] = {2, 8, 8};
    static const char *const names[] = {"size 2", "size 8 of rank 11", "size 8"};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        st_execution_node *node = add_node(self, 1, i == 2 ? ST_CHAKRA_COMP : ST_CHAKRA_COLL);
        node->collective = ST_CHAKRA_BARRIER;
        node->group = sizes[i] == 2 ? "size 2" : "size 8";
        node->group_size = sizes[i];
        node->duration_us = 71;
    }
    price(own, self, 0);
    assert_string_equal(self->nodes[1][1].group, "size 8");
    self->ranks[1].needs_prices = true;
    price(own, self, 0);
    for (size_t i = 0; i < COUNT(sizes); i++)
        assert_string_equal(self->nodes[1][i].group, names[i]);
}

/* ---- replays ---- */

/* Nodes of a rank by name; what they wait for are places of nodes, ended by -1. */
typedef struct given {
    const char *name;
    st_chakra_type type;
    uint64_t start_us;
    uint64_t duration_us;
    int deps[3];
    bool host;
    int64_t source, target, tag;
} given;

static st_execution rank_of(fixture *own, int64_t number, const given *nodes, size_t count)
{
    st_execution rank = {.file = "a.et", .rank = number, .count = count};
    rank.nodes = st_arena_alloc(own->arena, count, sizeof *rank.nodes);
    rank.deps = st_arena_alloc(own->arena, 3 * count, sizeof *rank.deps);
    for (size_t i = 0; i < count; i++) {
        st_execution_node *node = &rank.nodes[i];
        *node = st_execution_node_at(i, rank.dep_count);
        node->id = i;
        node->name = nodes[i].name;
        node->type = nodes[i].type;
        node->host = nodes[i].host;
        node->start_us = nodes[i].start_us;
        node->duration_us = nodes[i].duration_us;
        node->source = nodes[i].source;
        node->target = nodes[i].target;
        node->tag = nodes[i].tag;
        for (size_t k = 0; k < 3 && nodes[i].deps[k] >= 0; k++, node->dep_count++)
            rank.deps[rank.dep_count++] = (uint64_t)nodes[i].deps[k];
    }
    return rank;
}

/* When the task of a name begins, in microseconds. */
static void assert_begins(const st_execution_replay *replay, const char *name, int64_t start_us)
{
    for (st_task_id i = 0; i < st_graph_task_count(replay->graph); i++)
        if (strcmp(st_graph_task(replay->graph, i).name, name) == 0) {
            if (st_replay_task(replay->replay, i).start_ns != 1000 * start_us)
                fail_msg("%s begins at %lld ns", name,
                         (long long)st_replay_task(replay->replay, i).start_ns);
            return;
        }
    fail_msg("no task '%s'", name);
}

#define NO_DEPS                                                                                    \
    {                                                                                              \
        -1, -1, -1                                                                                 \
    }

/* What could begin runs in the order in which it began in the file, of equal times the first. */
TEST_WITH(nodes_run_in_the_order_of_the_file, set_up, tear_down)
{
    static const given nodes[] = {
        {"d", ST_CHAKRA_COMP, 50, 101, .deps = NO_DEPS},
        {"b", ST_CHAKRA_COMP, 20, 103, .deps = NO_DEPS},
        {"g", ST_CHAKRA_COMP, 90, 107, .deps = NO_DEPS},
        {"c", ST_CHAKRA_COMP, 20, 109, .deps = NO_DEPS},
        {"f", ST_CHAKRA_COMP, 70, 113, .deps = NO_DEPS},
        {"a", ST_CHAKRA_COMP, 10, 127, .deps = NO_DEPS},
        {"e", ST_CHAKRA_COMP, 60, 131, .deps = NO_DEPS},
        {"h", ST_CHAKRA_COMP, 95, 137, .deps = NO_DEPS},
    };
    static const int64_t begins_us[] = {0, 127, 230, 339, 440, 571, 684, 791}; /* "a" to "h" */
    fixture *own = *state;
    st_execution rank = rank_of(own, 0, nodes, COUNT(nodes));
    const st_execution_set set = {&rank, 1};
    st_execution_replay replay = {0};
    assert_int_equal(st_execution_replay_make(&set, own->arena, &replay, own->errors), ST_OK);
    for (size_t i = 0; i < COUNT(begins_us); i++)
        assert_begins(&replay, (const char[]){(char)('a' + i), '\0'}, begins_us[i]);
    st_execution_replay_free(&replay);
}

/* Host, GPU and copies run beside each other; each node waits for all of its own. */
TEST_WITH(nodes_wait_for_what_they_need, set_up, tear_down)
{
    static const given nodes[] = {
        {"product", ST_CHAKRA_COMP, 10, 100, .deps = NO_DEPS},
        {"prepare", ST_CHAKRA_COMP, 11, 250, .deps = NO_DEPS, .host = true},
        {"load", ST_CHAKRA_MEM_LOAD, 12, 170, .deps = NO_DEPS},
        {"sum", ST_CHAKRA_COMP, 30, 30, .deps = {0, 2, -1}},               /* 170 to 200 */
        {"log", ST_CHAKRA_COMP, 31, 40, .deps = {3, 1, -1}, .host = true}, /* 250 to 290 */
        {"scale", ST_CHAKRA_COMP, 29, 10, .deps = {0, -1, -1}},    /* 100 to 110, before the sum */
        {"store", ST_CHAKRA_MEM_STORE, 32, 60, .deps = {5, 4, 3}}, /* 290 to 350 */
        {"last", ST_CHAKRA_COMP, 33, 7, .deps = {6, -1, -1}},
    };
    static const int64_t begins_us[] = {0, 0, 0, 170, 250, 100, 290, 350};
    fixture *own = *state;
    st_execution rank = rank_of(own, 0, nodes, COUNT(nodes));
    const st_execution_set set = {&rank, 1};
    st_execution_replay replay = {0};
    assert_int_equal(st_execution_replay_make(&set, own->arena, &replay, own->errors), ST_OK);
    for (size_t i = 0; i < COUNT(nodes); i++)
        assert_begins(&replay, nodes[i].name, begins_us[i]);
    assert_int_equal(st_replay_end_ns(replay.replay), 357000);
    assert_int_equal(replay.unmatched, 0);
    st_execution_replay_free(&replay);
}

/* Sends to one rank go one after the other, to several beside each other; the k-th of a tag is
 * received by the k-th that waits for it. */
TEST_WITH(transfers_meet_by_their_ends_tag_and_turn, set_up, tear_down)
{
    static const given first[] = {
        {"s1", ST_CHAKRA_SEND, 1, 100, .deps = NO_DEPS, .source = 0, .target = 1, .tag = 5},
        {"s2", ST_CHAKRA_SEND, 2, 120, .deps = NO_DEPS, .source = 0, .target = 1, .tag = 5},
        {"s3", ST_CHAKRA_SEND, 3, 130, .deps = NO_DEPS, .source = 0, .target = 2, .tag = 5},
        {"s4", ST_CHAKRA_SEND, 4, 140, .deps = NO_DEPS, .source = 0, .target = 1, .tag = 6},
    };
    static const given second[] = {
        {"r1", ST_CHAKRA_RECV, 1, 999, .deps = NO_DEPS, .source = 0, .target = 1, .tag = 5},
        {"c1", ST_CHAKRA_COMP, 2, 10, .deps = {0, -1, -1}},
        {"r2", ST_CHAKRA_RECV, 3, 999, .deps = {1, -1, -1}, .source = 0, .target = 1, .tag = 5},
        {"c2", ST_CHAKRA_COMP, 4, 10, .deps = {2, -1, -1}},
        {"r3", ST_CHAKRA_RECV, 5, 999, .deps = {3, -1, -1}, .source = 0, .target = 1, .tag = 7},
        {"c3", ST_CHAKRA_COMP, 6, 10, .deps = {4, -1, -1}},
    };
    fixture *own = *state;
    st_execution ranks[] = {rank_of(own, 0, first, COUNT(first)),
                            rank_of(own, 1, second, COUNT(second))};
    const st_execution_set set = {ranks, 2};
    st_execution_replay replay = {0};
    assert_int_equal(st_execution_replay_make(&set, own->arena, &replay, own->errors), ST_OK);
    assert_begins(&replay, "s1", 0);
    assert_begins(&replay, "s2", 100);
    assert_begins(&replay, "s3", 0);
    assert_begins(&replay, "s4", 220);
    assert_begins(&replay, "c1", 100);
    assert_begins(&replay, "c2", 220);
    assert_begins(&replay, "c3", 230); /* nobody sends it */
    assert_int_equal(replay.unmatched, 3);
    assert_contains(said(own), "3 transfers have no counterpart in the files");
    st_execution_replay_free(&replay);
}

TEST_WITH(rings_of_nodes_never_begin, set_up, tear_down)
{
    static const given nodes[] = {
        {"before", ST_CHAKRA_COMP, 1, 10, .deps = NO_DEPS},
        {"first", ST_CHAKRA_COMP, 2, 10, .deps = {0, 2, -1}},
        {"second", ST_CHAKRA_COMP, 3, 10, .deps = {1, -1, -1}},
        {"behind", ST_CHAKRA_COMP, 4, 10, .deps = {2, -1, -1}},
    };
    fixture *own = *state;
    st_execution rank = rank_of(own, 0, nodes, COUNT(nodes));
    const st_execution_set set = {&rank, 1};
    st_execution_replay replay = {0};
    assert_int_equal(st_execution_replay_make(&set, own->arena, &replay, own->errors),
                     ST_ERR_CYCLE);
    assert_contains(said(own), "node 1 'first' waits for itself, directly or through others; 3 "
                               "nodes can never begin");
    st_execution_replay_free(&replay);
}

/* ---- reports ---- */

/* Both compute, rank 10 for longer, and all-reduce for 385 us. */
static void replay_two(fixture *own, priced *self, st_execution_replay *replay)
{
    for (size_t i = 0; i < 2; i++) {
        st_execution_node *node = add_node(self, i, ST_CHAKRA_COMP);
        node->duration_us = i == 0 ? 2385 : 1238;
        node = add_node(self, i, ST_CHAKRA_COLL);
        node->collective = ST_CHAKRA_ALL_REDUCE;
        node->duration_us = 385;
        node->dep_count = 1;
        self->ranks[i].deps = st_arena_alloc(own->arena, 1, sizeof *self->ranks[i].deps);
        self->ranks[i].dep_count = 1;
    }
    assert_int_equal(st_execution_replay_make(&self->set, own->arena, replay, own->errors), ST_OK);
}

TEST_WITH(replays_are_told_by_rank_and_kind, set_up, tear_down)
{
    static const char *const json[] = {
        "\"nodes\": 4,\n  \"step_time_s\": 0.00277,\n  \"unmatched_transfers\": 0,",
        "{\"rank\": 10, \"exposed_compute_s\": 0.002385, \"exposed_communication_s\": 0.000385, "
        "\"overlapped_s\": 0, \"waiting_s\": 0, \"idle_s\": 0}",
        "{\"rank\": 11, \"exposed_compute_s\": 0.001238, \"exposed_communication_s\": 0.000385, "
        "\"overlapped_s\": 0, \"waiting_s\": 0.001147, \"idle_s\": 0}",
        "\"kinds\": [\n    {\"name\": \"compute\", \"nodes\": 2, \"all_ranks_s\": 0.003623},\n    "
        "{\"name\": \"all_reduce\", \"nodes\": 2, \"all_ranks_s\": 0.00077}\n  ]",
    };
    static const char *const text[] = {"ranks      2\nnodes      4\nstep time  0.00277 s\n\nWhere"};
    fixture *own = *state;
    priced self = {.nodes = {{{0}}}};
    st_execution_replay replay = {0};
    st_result result;
    for (size_t i = 0; i < 2; i++)
        self.ranks[i] = (st_execution){.rank = (int64_t)(10 + i), .nodes = self.nodes[i]};
    self.set = (st_execution_set){self.ranks, 2};
    replay_two(own, &self, &replay);
    st_execution_report(&replay, NULL, own->arena, &result);
    assert_form_has(&result, ST_FORM_JSON, json, COUNT(json));
    assert_form_has(&result, ST_FORM_TEXT, text, COUNT(text));
    st_execution_prices prices = {.device = "a100",
                                  .nodes = 7,
                                  .unknown = 3,
                                  .untimed = 1,
                                  .time_ns = INT64_C(4000000000),
                                  .unknown_ns = 500000000,
                                  .kept = 5,
                                  .collectives = 17,
                                  .unpriced = 6};
    st_execution_report(&replay, &prices, own->arena, &result);
    static const char *const said_prices[] = {
        "priced for a100: 7 kernels, 2 of them (12.5 % of their time) by a guess, 1 without a "
        "time\n5 nodes as recorded; 17 collectives, 6 without a price\n"};
    assert_form_has(&result, ST_FORM_TEXT, said_prices, COUNT(said_prices));
    prices.plugins = "operator-times";
    prices.refined = 4;
    prices.time_ns = prices.unknown_ns = 0;
    st_execution_report(&replay, &prices, own->arena, &result);
    static const char *const refined[] = {"(0.0 % of", "4 of the kernels by operator-times\n"};
    assert_form_has(&result, ST_FORM_TEXT, refined, COUNT(refined));
    static const char *const fields[] = {"\"kernels\": 7,",
                                         "\"unknown\": 3,",
                                         "\"untimed\": 1,",
                                         "\"refined\": 4,",
                                         "\"as_recorded\": 5,",
                                         "\"collectives\": 17,",
                                         "\"unpriced_collectives\": 6"};
    assert_form_has(&result, ST_FORM_JSON, fields, COUNT(fields));
    st_execution_replay_free(&replay);
}

TESTS(execution);

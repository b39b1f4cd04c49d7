/* SPDX-License-Identifier: Apache-2.0 */
/* What calls put on the GPU: sizes of tasks, streams that wait, graphs, groups of collectives. */
#include "record_support.h"

enum { KIB_SMALL = 2385, KIB_LARGE = 238500 };

typedef struct world {
    char folder[64];
    st_arena *arena;
    st_errors *errors;
    st_paths *paths;
    log_maker log;
} world;

static int make_world(void **state)
{
    world *own = calloc(1, sizeof *own);
    assert_non_null(own);
    (void)run_folder(own->folder);
    own->arena = st_arena_create();
    own->errors = st_errors_create();
    *state = own;
    const char *tests = getenv("STEPTIME_TEST_PLUGINS");
    char folder[512];
    (void)snprintf(folder, sizeof folder, "%s/..", tests != NULL ? tests : "build/tests");
    const char *const folders[] = {folder};
    return st_paths_create(folders, 1, &own->paths, own->errors) == ST_OK ? 0 : -1;
}

static int drop_world(void **state)
{
    world *own = *state;
    remove_run(own->folder);
    st_arena_destroy(own->arena);
    st_errors_destroy(own->errors);
    st_paths_destroy(own->paths);
    free(own);
    return 0;
}

/* ---- sizes ---- */

TEST(products_are_told_by_their_sides)
{
    static const struct {
        uint8_t type;
        uint8_t compute;
        const char *name;
    } types[] = {
        {ST_LOG_FP32, 68, "fp32"},    {ST_LOG_FP32, 77, "tf32"},     {ST_LOG_FP16, 77, "fp16"},
        {ST_LOG_FP64, 68, "fp64"},    {ST_LOG_BF16, 68, "bf16"},     {ST_LOG_INT8, 68, "int8"},
        {ST_LOG_UINT8, 68, "uint8"},  {ST_LOG_INT32, 68, "int32"},   {ST_LOG_UINT32, 68, "uint32"},
        {ST_LOG_INT64, 68, "int64"},  {ST_LOG_UINT64, 68, "uint64"}, {ST_LOG_FP8_E4M3, 68, "fp8"},
        {ST_LOG_FP8_E5M2, 68, "fp8"}, {ST_LOG_FP4_E2M1, 68, "fp4"},  {ST_LOG_COMPLEX32, 68, NULL},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(types); i++) {
        const st_log_record record = {.kind = ST_LOG_GEMM,
                                      .gemm = {.m = 2385,
                                               .n = 385,
                                               .k = 38,
                                               .batch = 17,
                                               .stream = 5,
                                               .type_a = types[i].type,
                                               .compute = types[i].compute}};
        st_task_shape shape;
        assert_true(st_task_shape_of(&record, "gemm", &shape));
        assert_int_equal(shape.form, ST_FORM_PRODUCT);
        assert_true(shape.sizes[ST_SIZE_M] == 385 && shape.sizes[ST_SIZE_N] == 2385);
        assert_true(shape.sizes[ST_SIZE_K] == 38 && shape.sizes[ST_SIZE_PRODUCTS] == 17);
        if (types[i].name == NULL)
            assert_null(shape.type);
        else
            assert_string_equal(shape.type, types[i].name);
        assert_int_equal(*st_record_stream(&record), 5);
    }
}

TEST(cudnn_is_attention_product_or_bytes)
{
    static const struct {
        uint8_t matmuls;
        uint8_t share;
        st_task_form form;
        double kv_heads;
    } cases[] = {{2, 0, ST_FORM_ATTENTION, 0},  {2, 1, ST_FORM_ATTENTION, 0},
                 {2, 2, ST_FORM_ATTENTION, 19}, {5, 4, ST_FORM_ATTENTION_BACKWARD, 9.5},
                 {1, 4, ST_FORM_PRODUCT, 0},    {0, 4, ST_FORM_KERNEL, 0},
                 {3, 4, ST_FORM_KERNEL, 0}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_log_record record = {.kind = ST_LOG_CUDNN,
                                      .cudnn = {.stream = 6,
                                                .dims = {7, 38, 2385, 64},
                                                .type = ST_LOG_BF16,
                                                .matmuls = cases[i].matmuls,
                                                .share = cases[i].share,
                                                .kib = KIB_SMALL}};
        st_task_shape shape;
        assert_true(st_task_shape_of(&record, "cudnn", &shape));
        const double *sizes = shape.sizes;
        assert_int_equal(shape.form, cases[i].form);
        assert_string_equal(shape.type, "bf16");
        assert_true(sizes[ST_SIZE_KV_HEADS] == cases[i].kv_heads);
        bool is_kernel = shape.form == ST_FORM_KERNEL;
        bool is_product = shape.form == ST_FORM_PRODUCT;
        bool attends = !is_kernel && !is_product;
        assert_true(sizes[ST_SIZE_BYTES] == (is_kernel ? 2385 * 1024.0 : 0));
        assert_true(sizes[ST_SIZE_M] == (is_product ? 7 : 0));
        assert_true(sizes[ST_SIZE_N] == (is_product ? 38 : 0));
        assert_true(sizes[ST_SIZE_K] == (is_product ? 2385 : 0));
        assert_true(sizes[ST_SIZE_PRODUCTS] == (is_product ? 64 : 0));
        assert_true(sizes[ST_SIZE_BATCH] == (attends ? 7 : 0));
        assert_true(sizes[ST_SIZE_HEADS] == (attends ? 38 : 0));
        assert_true(sizes[ST_SIZE_SEQUENCE] == (attends ? 2385 : 0));
        assert_true(sizes[ST_SIZE_HEAD_DIM] == (attends ? 64 : 0));
        assert_int_equal(*st_record_stream(&record), 6);
    }
}

TEST(other_calls_move_bytes)
{
    static const struct {
        st_log_record record;
        bool runs;
        st_task_form form;
        double bytes;
    } cases[] = {
        {{.kind = ST_LOG_LAUNCH, .launch = {.pointer_kib = 385}}, true, ST_FORM_KERNEL, 394240},
        {{.kind = ST_LOG_BLAS, .gemm = {.m = 38, .n = 2385, .type_a = ST_LOG_FP64, .epilogue = 3}},
         true,
         ST_FORM_KERNEL,
         3 * 8 * 38 * 2385},
        {{.kind = ST_LOG_BLAS, .gemm = {.n = 2385, .type_a = ST_LOG_BF16, .epilogue = 2}},
         true,
         ST_FORM_KERNEL,
         2 * 2 * 2385},
        {{.kind = ST_LOG_COPY, .copy = {.bytes = 2385, .direction = ST_LOG_DEVICE_TO_DEVICE}},
         true,
         ST_FORM_COPY,
         2385},
        {{.kind = ST_LOG_COPY, .copy = {.bytes = 2385, .direction = ST_LOG_HOST_TO_DEVICE}},
         true,
         ST_FORM_HOST_COPY,
         2385},
        {{.kind = ST_LOG_COPY, .copy = {.bytes = 2385, .direction = ST_LOG_HOST_TO_HOST}},
         false,
         ST_FORM_HOST_COPY,
         2385},
        {{.kind = ST_LOG_SET, .copy = {.bytes = 2385, .direction = ST_LOG_DEVICE_TO_DEVICE}},
         true,
         ST_FORM_FILL,
         2385},
        {{.kind = ST_LOG_COLLECTIVE}, false, ST_FORM_KERNEL, 0},
        {{.kind = ST_LOG_FREE}, false, ST_FORM_KERNEL, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_task_shape shape;
        assert_int_equal(st_task_shape_of(&cases[i].record, "call", &shape), cases[i].runs);
        assert_int_equal(shape.form, cases[i].form);
        assert_true(shape.sizes[ST_SIZE_BYTES] == cases[i].bytes);
        assert_string_equal(shape.name, "call");
    }
    assert_null(st_record_stream(&(st_log_record){.kind = ST_LOG_FREE}));
}

/* ---- streams ---- */

static void put_graph(log_maker *log, st_log_kind kind, const st_log_graph *graph, uint16_t status)
{
    st_log_record *record = next_call(log, NAME_GRAPH);
    record->graph = *graph;
    record->status = status;
    st_log_commit(record, kind);
}

static void put_captured(log_maker *log, uint32_t stream, uint32_t kib)
{
    st_log_record *record = next_call(log, NAME_LAUNCH);
    record->flags = ST_LOG_CAPTURED;
    record->launch = (st_log_launch){.kernel = NAME_KERNEL,
                                     .stream = stream,
                                     .grid = {96, 2, 1},
                                     .block = {256, 1, 1},
                                     .pointer_kib = kib};
    st_log_commit(record, ST_LOG_LAUNCH);
}

static const st_imported *import(world *own)
{
    const st_import_request request = {
        .folder = own->folder, .prices = {.cluster = "dgx-a100"}, .gap_ns = 5000};
    st_imported *imported = NULL;
    if (st_imported_make(own->paths, &request, own->arena, &imported, own->errors) != ST_OK)
        fail_msg("%s", said(own->errors));
    return imported;
}

/* What is walked of one worker. */
static const st_walk_worker *walk(world *own)
{
    own->log.now_ns += 500;
    end_log(&own->log, 0);
    return &import(own)->walk->workers[0];
}

static const st_walk_lane *lane_at(const st_walk_worker *walked, size_t task)
{
    return &walked->lanes[walked->tasks[task].lane];
}

/* Nodes of the first stream go where the graph is launched, those of others to streams of its own.
 */
TEST_OF(graphs_put_their_nodes_into_streams, world *own, make_world, drop_world)
{
    log_maker *log = &own->log;
    *log = begin_log(own->folder, 0, 1);
    put_graph(log, ST_LOG_CAPTURE_BEGIN, &(st_log_graph){.capture = 17, .stream = 1}, 0);
    put_captured(log, 1, KIB_SMALL);
    put_captured(log, 2, KIB_LARGE);
    put_kernel(log, 4, NAME_KERNEL, KIB_SMALL); /* beside the capture */
    put_graph(log, ST_LOG_CAPTURE_END, &(st_log_graph){.capture = 17, .graph = 5}, 0);
    put_captured(log, 1, KIB_SMALL); /* of none */
    put_graph(log, ST_LOG_GRAPH_INSTANTIATE, &(st_log_graph){.graph = 5, .executable = 9}, 0);
    put_graph(log, ST_LOG_GRAPH_LAUNCH, &(st_log_graph){.executable = 9, .stream = 3}, 0);
    put_graph(log, ST_LOG_GRAPH_LAUNCH, &(st_log_graph){.executable = 9, .stream = 3}, 2);
    put_graph(log, ST_LOG_GRAPH_LAUNCH, &(st_log_graph){.executable = 8, .stream = 3}, 0);
    put_graph(log, ST_LOG_GRAPH_LAUNCH, &(st_log_graph){.executable = 9, .stream = 1}, 0);
    const st_walk_worker *walked = walk(own);
    static const struct {
        uint32_t call;
        uint32_t what;
        uint32_t stream;
        bool inner;
    } tasks[] = {
        {3, 3, 4, false}, {7, 1, 3, false}, {7, 2, 2, true}, {10, 1, 1, false}, {10, 2, 2, true}};
    assert_int_equal(walked->task_count, COUNT(tasks));
    for (size_t i = 0; i < COUNT(tasks); i++) {
        assert_int_equal(walked->tasks[i].call, tasks[i].call);
        assert_int_equal(walked->tasks[i].what, tasks[i].what);
        assert_int_equal(lane_at(walked, i)->stream, tasks[i].stream);
        assert_int_equal(lane_at(walked, i)->inner, tasks[i].inner);
    }
    assert_true(st_walk_task_ns(walked, &walked->tasks[2]) >
                st_walk_task_ns(walked, &walked->tasks[1]));
}

/* A graph that was captured in a stream of which another graph is made. */
TEST_OF(graphs_launch_graphs, world *own, make_world, drop_world)
{
    log_maker *log = &own->log;
    *log = begin_log(own->folder, 0, 1);
    put_graph(log, ST_LOG_CAPTURE_BEGIN, &(st_log_graph){.capture = 17, .stream = 1}, 0);
    put_captured(log, 1, KIB_SMALL);
    put_graph(log, ST_LOG_CAPTURE_END, &(st_log_graph){.capture = 17, .graph = 5}, 0);
    put_graph(log, ST_LOG_CAPTURE_BEGIN, &(st_log_graph){.capture = 18, .stream = 2}, 0);
    st_log_record *inner = next_call(log, NAME_GRAPH);
    inner->flags = ST_LOG_CAPTURED;
    inner->graph = (st_log_graph){.graph = 5, .stream = 2};
    st_log_commit(inner, ST_LOG_GRAPH_LAUNCH);
    put_graph(log, ST_LOG_CAPTURE_END, &(st_log_graph){.capture = 18, .graph = 6}, 0);
    put_graph(log, ST_LOG_GRAPH_INSTANTIATE, &(st_log_graph){.graph = 6, .executable = 9}, 0);
    put_graph(log, ST_LOG_GRAPH_LAUNCH, &(st_log_graph){.executable = 9, .stream = 3}, 0);
    const st_walk_worker *walked = walk(own);
    assert_int_equal(walked->task_count, 1);
    assert_int_equal(walked->tasks[0].call, 7);
    assert_int_equal(walked->tasks[0].what, 1);
    assert_int_equal(lane_at(walked, 0)->stream, 3);
}

/* The default stream and those that block wait for each other, others go their own way. */
TEST_OF(the_default_stream_waits, world *own, make_world, drop_world)
{
    log_maker *log = &own->log;
    *log = begin_log(own->folder, 0, 1);
    put_stream(log, ST_LOG_STREAM_CREATE, 2); /* non-blocking */
    put_kernel(log, 1, NAME_KERNEL, KIB_LARGE);
    put_kernel(log, 2, NAME_KERNEL, KIB_SMALL);
    put_kernel(log, 0, NAME_KERNEL, KIB_LARGE);
    put_kernel(log, 1, NAME_KERNEL, KIB_SMALL);
    put_kernel(log, 3, NAME_KERNEL, KIB_SMALL);
    put_kernel(log, 2, NAME_KERNEL, KIB_SMALL);
    const st_walk_worker *walked = walk(own);
    const st_walk_task *tasks = walked->tasks;
    assert_int_equal(walked->task_count, 6);
    assert_int_equal(tasks[0].start_ns, walked->end_ns[tasks[0].call]);
    assert_int_equal(tasks[0].end_ns, tasks[0].start_ns + st_walk_task_ns(walked, &tasks[0]));
    assert_int_equal(tasks[1].start_ns, walked->end_ns[tasks[1].call]);
    assert_true(walked->end_ns[tasks[2].call] < tasks[0].end_ns);
    assert_int_equal(tasks[2].start_ns, tasks[0].end_ns);
    assert_int_equal(tasks[3].start_ns, tasks[2].end_ns);
    assert_int_equal(tasks[4].start_ns, tasks[2].end_ns);
    assert_true(tasks[5].start_ns < tasks[2].end_ns);
}

TEST_OF(failed_calls_put_nothing_into_streams, world *own, make_world, drop_world)
{
    log_maker *log = &own->log;
    *log = begin_log(own->folder, 0, 1);
    put_kernel(log, 1, NAME_KERNEL, KIB_SMALL);
    st_log_record *failed = next_call(log, NAME_LAUNCH);
    failed->status = 2;
    failed->launch = (st_log_launch){.kernel = NAME_KERNEL, .stream = 1, .pointer_kib = 385};
    st_log_commit(failed, ST_LOG_LAUNCH);
    put_event(log, ST_LOG_EVENT_WAIT, 38, 2); /* that was never recorded */
    put_kernel(log, 2, NAME_KERNEL, KIB_SMALL);
    const st_walk_worker *walked = walk(own);
    assert_int_equal(walked->task_count, 2);
    assert_int_equal(walked->tasks[1].start_ns, walked->end_ns[walked->tasks[1].call]);
}

TEST_WITH(too_many_events_are_refused, make_world, drop_world)
{
    static const uint32_t events[] = {(1U << 20) - 1, 1U << 20};
    for (size_t i = 0; i < COUNT(events); i++) {
        world *own = *state;
        const st_import_request request = {.folder = own->folder,
                                           .prices = {.cluster = "dgx-a100"}};
        st_imported *imported = NULL;
        own->log = begin_log(own->folder, 0, 1);
        put_kernel(&own->log, 1, NAME_KERNEL, KIB_SMALL);
        put_event(&own->log, ST_LOG_EVENT_RECORD, events[i], 1);
        end_log(&own->log, 0);
        assert_int_equal(st_imported_make(own->paths, &request, own->arena, &imported, own->errors),
                         i == 0 ? ST_OK : ST_ERR_LIMIT);
        if (i > 0)
            assert_contains(said(own->errors), "too many streams, events or GPU tasks");
        remove_run(own->folder);
        (void)run_folder(own->folder);
    }
}

/* ---- groups of collectives ---- */

static void put_in_group(log_maker *log, uint32_t group, uint32_t stream, uint8_t operation,
                         uint64_t count)
{
    st_log_record *record = next_call(log, NAME_COLLECTIVE);
    record->collective = (st_log_collective){.comm = 7,
                                             .count = count,
                                             .sequence = log->sequence++,
                                             .stream = stream,
                                             .group = group,
                                             .peer = 1,
                                             .operation = operation,
                                             .type = ST_LOG_BF16};
    if (operation != ST_LOG_SEND && operation != ST_LOG_RECEIVE)
        record->collective.peer = -1;
    st_log_commit(record, ST_LOG_COLLECTIVE);
}

/* What the collectives of a task take, those that send and receive apart. */
static void add_up_meets(const st_imported *imported, const st_walk_task *task, size_t *count,
                         int64_t *others_ns)
{
    const st_walk *walked = imported->walk;
    *count = 0;
    *others_ns = 0;
    for (uint32_t i = task->meet; i != ST_NO_INDEX; i = walked->workers[0].meets[i].next) {
        const st_walk_meet *meet = &walked->workers[0].meets[i];
        assert_true(walked->groups->instances[meet->instance].duration_ns > 0);
        *others_ns += walked->groups->instances[meet->instance].duration_ns;
        ++*count;
    }
}

/* Those of a group in one stream are one task, one after the other; others are tasks of their own.
 */
TEST_WITH(collectives_of_a_group_are_one_task, make_world, drop_world)
{
    static const size_t counts[] = {2, 1, 1, 1, 1};
    world *own = *state;
    own->log = begin_log(own->folder, 0, 8);
    put_comm(&own->log, 7, 0, 8);
    put_in_group(&own->log, 38, 1, ST_LOG_ALL_REDUCE, 2385000);
    put_in_group(&own->log, 38, 1, ST_LOG_ALL_REDUCE, 4385000);
    put_in_group(&own->log, 38, 2, ST_LOG_ALL_REDUCE, 2385000);
    put_in_group(&own->log, 39, 1, ST_LOG_ALL_REDUCE, 2385000);
    put_in_group(&own->log, 0, 1, ST_LOG_ALL_REDUCE, 2385000);
    put_in_group(&own->log, 0, 1, ST_LOG_ALL_REDUCE, 2385000);
    end_log(&own->log, 0);
    const st_imported *imported = import(own);
    const st_walk_worker *walked = &imported->walk->workers[0];
    assert_int_equal(walked->task_count, COUNT(counts));
    for (size_t i = 0; i < COUNT(counts); i++) {
        size_t count = 0;
        int64_t sum_ns = 0;
        add_up_meets(imported, &walked->tasks[i], &count, &sum_ns);
        assert_int_equal(count, counts[i]);
        assert_int_equal(st_walk_task_ns(walked, &walked->tasks[i]), sum_ns);
        assert_int_equal(walked->tasks[i].end_ns, walked->tasks[i].start_ns + sum_ns);
    }
}

/* ---- who meets ---- */

TEST(messages_are_what_a_rank_has_of_all)
{
    static const struct {
        st_log_operation operation;
        double bytes; /* of 2385 numbers of 2 bytes and 8 ranks */
    } cases[] = {
        {ST_LOG_ALL_REDUCE, 4770},  {ST_LOG_BROADCAST, 4770},   {ST_LOG_REDUCE, 4770},
        {ST_LOG_SEND, 4770},        {ST_LOG_RECEIVE, 4770},     {ST_LOG_REDUCE_SCATTER, 38160},
        {ST_LOG_ALL_GATHER, 38160}, {ST_LOG_ALL_TO_ALL, 38160}, {ST_LOG_GATHER, 38160},
        {ST_LOG_SCATTER, 38160},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_log_collective collective = {
            .operation = (uint8_t)cases[i].operation, .count = 2385, .type = ST_LOG_BF16};
        assert_true(st_collective_message(&collective, 8) == cases[i].bytes);
    }
}

/* Of a communicator not all of whose ranks were recorded, the smallest distance that fits. */
TEST_WITH(distances_of_ranks_are_inferred, make_world, drop_world)
{
    static const struct {
        int rank; /* of 24 */
        int place;
        int ranks;
        int64_t stride;
        int64_t base;
    } cases[] = {
        {5, 1, 3, 4, 1},                       /* 1, 5, 9 */
        {5, 2, 3, 1, 3},                       /* 3, 4, 5 */
        {13, 1, 2, 1, 12},  {20, 2, 4, 2, 16}, /* 16, 18, 20, 22 */
        {17, 2, 5, 1, 15},                     /* no five divide the world */
        {17, 0, 24, 1, 17},                    /* nor is it in its place: its own base, as told */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        world *own = *state;
        own->log = begin_log(own->folder, cases[i].rank, 24);
        put_comm(&own->log, 7, cases[i].place, cases[i].ranks);
        put_kernel(&own->log, 1, NAME_KERNEL, KIB_SMALL);
        end_log(&own->log, 0);
        const st_groups *groups = import(own)->groups;
        assert_int_equal(groups->group_count, 1);
        assert_int_equal(groups->inferred, 1);
        assert_false(groups->groups[0].exact);
        assert_int_equal(groups->groups[0].meets, 1); /* one worker represents all */
        if (groups->groups[0].stride != cases[i].stride || groups->groups[0].base != cases[i].base)
            fail_msg("case %zu: %lld from %lld", i, (long long)groups->groups[0].stride,
                     (long long)groups->groups[0].base);
        remove_run(own->folder);
        (void)run_folder(own->folder);
        st_errors_clear(own->errors);
    }
}

TEST_WITH(distances_of_known_ranks_are_measured, make_world, drop_world)
{
    static const int ranks[] = {3, 11, 19};
    world *own = *state;
    for (int i = 0; i < 3; i++) {
        own->log = begin_log(own->folder, ranks[i], 24);
        put_comm(&own->log, 7, i, 3);
        put_gemm(&own->log, 1, (const uint32_t[]){385, 38, 17 + (uint32_t)i}, 1, ST_LOG_BF16);
        end_log(&own->log, 0);
    }
    const st_groups *groups = import(own)->groups;
    assert_int_equal(groups->group_count, 3);
    assert_int_equal(groups->inferred, 0);
    for (size_t i = 0; i < 3; i++) {
        assert_true(groups->groups[i].exact);
        assert_int_equal(groups->groups[i].stride, 8);
        assert_int_equal(groups->groups[i].base, 3);
        assert_int_equal(groups->groups[i].meets, 3);
    }
}

/* ---- traces ---- */

static const char *trace_of_rank(world *own, const st_imported *imported, uint64_t rank)
{
    st_buffer buffer = {0};
    st_imported_write(imported, rank, &buffer);
    const char *text = st_arena_copy(own->arena, buffer.data, buffer.length);
    st_buffer_free(&buffer);
    return text;
}

TEST_WITH(traces_name_collectives_with_their_sizes, make_world, drop_world)
{
    static const struct {
        uint8_t operation;
        const char *kernel;
        const char *name;
        unsigned in_elements;
        unsigned out_elements;
    } cases[] = {
        {ST_LOG_ALL_REDUCE, "AllReduce", "allreduce", 2385, 2385},
        {ST_LOG_REDUCE_SCATTER, "ReduceScatter", "_reduce_scatter_base", 19080, 2385},
        {ST_LOG_ALL_GATHER, "AllGather", "_allgather_base", 2385, 19080},
        {ST_LOG_ALL_TO_ALL, "AlltoAll", "all_to_all", 19080, 19080},
        {ST_LOG_BROADCAST, "Broadcast", "broadcast", 2385, 2385},
        {ST_LOG_REDUCE, "Reduce", "reduce", 2385, 2385},
        {ST_LOG_GATHER, "Gather", "gather", 2385, 2385},
        {ST_LOG_SCATTER, "Scatter", "scatter", 2385, 2385},
        {ST_LOG_SEND, "SendRecv", "send", 2385, 2385},
        {ST_LOG_RECEIVE, "SendRecv", "recv", 2385, 2385},
    };
    world *own = *state;
    own->log = begin_log(own->folder, 0, 8);
    put_comm(&own->log, 7, 0, 8);
    for (size_t i = 0; i < COUNT(cases); i++)
        put_in_group(&own->log, 0, 1, cases[i].operation, 2385);
    end_log(&own->log, 0);
    const char *text = trace_of_rank(own, import(own), 5);
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_contains(
            text, st_arena_printf(own->arena, "\"name\":\"ncclDevKernel_%s\"", cases[i].kernel));
        assert_contains(
            text, st_arena_printf(own->arena,
                                  "\"Collective name\":\"%s\",\"dtype\":\"BFloat16\",\"In msg "
                                  "nelems\":%u,\"Out msg nelems\":%u,\"Group size\":8,\"Seq\":%zu,",
                                  cases[i].name, cases[i].in_elements, cases[i].out_elements, i));
    }
    assert_contains(text, "\"Process Group Ranks\":\"[0, 1, 2, 3, 4, 5, 6, 7]\"");
    assert_contains(text, "\"rank\":5,\"world_size\":8}");
}

static void put_copy(log_maker *log, st_log_kind kind, st_log_direction direction)
{
    st_log_record *record = next_call(log, NAME_COPY);
    record->copy = (st_log_copy){.bytes = 23850, .stream = 1, .direction = (uint8_t)direction};
    st_log_commit(record, kind);
}

TEST_WITH(traces_name_what_ran, make_world, drop_world)
{
    static const char *const parts[] = {
        "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD\"",
        "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy DtoH\"",
        "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy DtoD\"",
        "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy PtoP\"",
        "{\"ph\":\"X\",\"cat\":\"gpu_memset\",\"name\":\"Memset (Device)\"",
        "\"name\":\"cublasGemmEx gemm\"",
        "\"MNK\":[4096,2304,768],\"batch\":17,\"type\":\"bf16\"",
        "\"grid\":[96,2,1],\"block\":[256,1,1],\"shared memory\":0,\"bytes\":2442240,",
        "\"device\":0,\"stream\":2000000,\"correlation\":",
        "\"bytes\":23850,",
        "\"Bytes\":2385,\"Device Type\":1,\"Device Id\":0,\"Total Allocated\":440404305,",
        "\"Bytes\":-2385,\"Device Type\":1,\"Device Id\":0,\"Total Allocated\":440401920,",
        "{\"ph\":\"X\",\"cat\":\"cuda_driver\",\"name\":\"cuLaunchKernel\"",
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaMemcpyAsync\"",
    };
    static const st_log_direction directions[] = {ST_LOG_HOST_TO_HOST, ST_LOG_HOST_TO_DEVICE,
                                                  ST_LOG_DEVICE_TO_HOST, ST_LOG_DEVICE_TO_DEVICE,
                                                  ST_LOG_PEER};
    world *own = *state;
    log_maker *log = &own->log;
    *log = begin_log(own->folder, 0, 1);
    assert_true(st_log_define(log->writer, NAMES, "cuLaunchKernel"));
    for (size_t i = 0; i < COUNT(directions); i++)
        put_copy(log, ST_LOG_COPY, directions[i]);
    put_copy(log, ST_LOG_SET, ST_LOG_DEVICE_TO_DEVICE);
    put_gemm(log, 1, (const uint32_t[]){2304, 4096, 768}, 17, ST_LOG_BF16);
    put_kernel(log, ST_LOG_STREAM_PER_THREAD, NAME_KERNEL, KIB_SMALL);
    put_memory(log, false, 2385);
    put_memory(log, true, 2385);
    st_log_commit(next_call(log, NAMES), ST_LOG_CALL);
    end_log(log, 0);
    const char *text = trace_of_rank(own, import(own), 0);
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(text, parts[i]);
    assert_null(strstr(text, "Memcpy HtoH"));
}

/* ---- what was measured ---- */

static void put_times(log_maker *log, const st_log_measured *times)
{
    st_log_record *record = next_call(log, 0);
    record->measured = *times;
    st_log_commit(record, ST_LOG_MEASURED);
}

/* A call of a thread and its separate record: a kernel, or the product it was made for. */
static void put_measured_call(log_maker *log, uint32_t name, uint32_t thread, uint32_t correlation)
{
    st_log_commit(next_call(log, name), ST_LOG_CALL);
    put_times(log,
              &(st_log_measured){.correlation = correlation, .thread = thread, .length_ns = 61});
}

static void put_measured_kernel(log_maker *log, uint32_t stream, uint32_t correlation,
                                uint64_t length_ns)
{
    st_log_record *record = next_call(log, 0);
    record->launch = (st_log_launch){
        .kernel = NAME_KERNEL, .stream = stream, .grid = {1, 1, 1}, .block = {1, 1, 1}};
    st_log_commit(record, ST_LOG_LAUNCH);
    put_times(log, &(st_log_measured){.correlation = correlation, .length_ns = length_ns});
}

static void put_part(log_maker *log, uint32_t correlation, uint64_t product, uint32_t m)
{
    st_log_record *record = next_call(log, 0);
    record->gemm =
        (st_log_gemm){.m = m, .n = 385, .k = 38, .batch = 1, .type_a = ST_LOG_BF16, .compute = 68};
    st_log_commit(record, ST_LOG_GEMM);
    put_times(log, &(st_log_measured){.correlation = correlation, .product = product});
}

static const st_worker_call *call_at(const st_imported *imported, size_t index)
{
    assert_true(index < imported->run->workers[0].call_count);
    return &imported->run->workers[0].calls[index];
}

/* GPU tasks of a call take its place, in the order in which they ran. */
TEST_WITH(measured_calls_get_what_they_put_on_the_gpu, make_world, drop_world)
{
    static const struct {
        st_log_kind kind;
        uint32_t thread; /* of the log's own, 7 and 9 */
        uint32_t behind;
        uint16_t flags;
        uint64_t length_ns;
        int64_t begin_ns; /* by 5 us between the calls of a thread */
    } expected[] = {
        {ST_LOG_LAUNCH, 1, 0, 0, 500, 0},    {ST_LOG_COPY, 2, 0, ST_LOG_ASYNC, 600, 0},
        {ST_LOG_LAUNCH, 1, 0, 0, 700, 5050}, {ST_LOG_LAUNCH, 1, 1, 0, 800, 5100},
        {ST_LOG_CALL, 1, 0, 0, 61, 10100},
    };
    world *own = *state;
    log_maker *log = &own->log;
    *log = begin_log(own->folder, 0, 1);
    put_measured_call(log, NAME_LAUNCH, 7, 10);
    put_measured_call(log, NAME_COPY, 9, 11);
    put_measured_call(log, NAME_GRAPH, 7, 12);
    put_measured_call(log, NAME_SYNC, 7, 13);
    put_measured_kernel(log, 1, 12, 700);
    put_measured_kernel(log, 1, 99, 900); /* of no call */
    put_measured_kernel(log, 1, 10, 500);
    put_measured_kernel(log, 2, 12, 800);
    st_log_record *copy = next_call(log, 0);
    copy->copy =
        (st_log_copy){.bytes = 385, .stream = 1, .direction = (uint8_t)ST_LOG_HOST_TO_DEVICE};
    st_log_commit(copy, ST_LOG_COPY);
    put_times(log, &(st_log_measured){.correlation = 11, .length_ns = 600});
    end_log(log, 0);
    const st_imported *imported = import(own);
    assert_int_equal(imported->run->lost_tasks, 1);
    assert_int_equal(imported->run->workers[0].thread_count, 3);
    for (size_t i = 0; i < COUNT(expected); i++) {
        const st_worker_call *call = call_at(imported, i);
        assert_int_equal(call->record->kind, expected[i].kind);
        assert_int_equal(call->thread, expected[i].thread);
        const st_call_times *times = &imported->run->times[call->times];
        assert_int_equal(times->behind, expected[i].behind);
        assert_int_equal(call->record->flags & ST_LOG_ASYNC, expected[i].flags);
        assert_int_equal(times->log.length_ns, expected[i].length_ns);
        assert_int_equal(call->begin_ns, expected[i].begin_ns);
        assert_int_equal(call->length_ns, expected[i].behind == 0 ? 50 : 0);
        assert_int_equal(call->record->call == 0, expected[i].behind > 0);
    }
}

/* Of a product's kernels the longest has its sizes, of equal ones the first. */
TEST_WITH(the_longest_kernel_multiplies, make_world, drop_world)
{
    static const struct {
        uint32_t product; /* 0: none */
        uint64_t length_ns;
        bool multiplies;
    } kernels[] = {{1, 500, false}, {1, 900, true},  {1, 400, false}, {2, 300, true},
                   {3, 700, true},  {3, 700, false}, {0, 2385, false}};
    world *own = *state;
    log_maker *log = &own->log;
    *log = begin_log(own->folder, 0, 1);
    for (uint32_t i = 0; i < COUNT(kernels); i++)
        put_measured_call(log, NAME_LAUNCH, 7, 20 + i);
    for (uint32_t i = COUNT(kernels); i-- > 0;)
        put_measured_kernel(log, 1, 20 + i, kernels[i].length_ns);
    for (uint32_t i = COUNT(kernels); i-- > 0;)
        if (kernels[i].product > 0)
            put_part(log, 20 + i, kernels[i].product, 1000 + kernels[i].product);
    end_log(log, 0);
    const st_imported *imported = import(own);
    assert_int_equal(imported->workers[0].tasks, COUNT(kernels));
    for (size_t i = 0; i < COUNT(kernels); i++) {
        const st_task_shape *shape = &imported->run->shapes[call_at(imported, i)->shape];
        assert_int_equal(shape->form, kernels[i].multiplies ? ST_FORM_PRODUCT : ST_FORM_KERNEL);
        if (kernels[i].multiplies)
            assert_true(shape->sizes[ST_SIZE_N] == 1000 + kernels[i].product);
        const st_call_times *times = &imported->run->times[call_at(imported, i)->times];
        assert_int_equal(times->log.length_ns, kernels[i].length_ns);
    }
}

/* CUPTI gives default streams numbers among those of others. */
TEST_WITH(measured_default_streams_are_stream_0, make_world, drop_world)
{
    static const uint32_t streams[] = {7, 8, 4095, 4096, ST_LOG_STREAM_PER_THREAD};
    static const uint32_t named[] = {0, 8, 0, 4096, ST_LOG_STREAM_PER_THREAD};
    static const uint32_t defaults[] = {7, 4095, 4096};
    world *own = *state;
    log_maker *log = &own->log;
    *log = begin_log(own->folder, 0, 1);
    for (uint32_t i = 0; i < COUNT(streams); i++)
        put_measured_call(log, NAME_LAUNCH, 7, 20 + i);
    for (uint32_t i = 0; i < COUNT(streams); i++)
        put_measured_kernel(log, streams[i], 20 + i, 385);
    for (size_t i = 0; i < COUNT(defaults); i++) {
        st_log_record *record = next_call(log, NAME_STREAM);
        record->stream = (st_log_stream){.stream = defaults[i]};
        record->flags = ST_LOG_DEFAULT;
        st_log_commit(record, ST_LOG_STREAM_CREATE);
    }
    end_log(log, 0);
    const st_imported *imported = import(own);
    for (size_t i = 0; i < COUNT(streams); i++)
        assert_int_equal(call_at(imported, i)->record->launch.stream, named[i]);
}

TESTS(record_streams);

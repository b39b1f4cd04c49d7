/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a what-if by themselves: keys and values, messages of collectives, another GPU, what the
 * recording has, and whether it is of a job. */
#include "base_support.h"

#include "trace/whatif.h"

enum { MOST_EVENTS = 4 };

typedef struct fixture {
    st_errors *errors;
    st_arena *arena;
    st_whatif w;
    st_trace_outcome outcome;
    st_trace_graph graph;
    st_trace_rank rank;
    st_trace_set set;
    st_trace *ranks[1];
    st_trace trace;
    st_trace_event events[MOST_EVENTS];
    st_trace_collective collectives[MOST_EVENTS];
    const char *names[4 * MOST_EVENTS];
    st_repeats repeats;
} fixture;

static int setup(void **state)
{
    fixture *own = calloc(1, sizeof *own);
    own->errors = st_errors_create();
    own->arena = st_arena_create();
    own->ranks[0] = &own->trace;
    own->trace = (st_trace){.file = "r3.json",
                            .events = own->events,
                            .collectives = own->collectives,
                            .names = own->names};
    own->set = (st_trace_set){.ranks = own->ranks, .count = 1, .world_size = -1};
    own->rank = (st_trace_rank){.trace = &own->trace};
    own->graph = (st_trace_graph){.set = &own->set, .ranks = &own->rank};
    own->w = (st_whatif){.graph = &own->graph,
                         .repeats = &own->repeats,
                         .arena = own->arena,
                         .errors = own->errors,
                         .outcome = &own->outcome};
    *state = own;
    return 0;
}

static int teardown(void **state)
{
    fixture *own = *state;
    st_errors_destroy(own->errors);
    st_arena_destroy(own->arena);
    free(own);
    return 0;
}

static uint32_t name(fixture *own, const char *text)
{
    if (text == NULL)
        return ST_TRACE_NONE;
    own->names[own->trace.name_count] = text;
    return own->trace.name_count++;
}

static st_trace_event *add_kernel(fixture *own, const char *text, st_trace_class class_)
{
    st_trace_event *event = &own->events[own->trace.event_count++];
    *event = (st_trace_event){.kind = ST_TRACE_KERNEL,
                              .class_ = (uint8_t)class_,
                              .duration_ns = 2385000,
                              .name = name(own, text),
                              .link = -1};
    return event;
}

static st_trace_collective *add_collective(fixture *own, const char *ranks, int64_t group_size)
{
    st_trace_event *event = add_kernel(own, "ncclKernel", ST_TRACE_COMMUNICATION);
    st_trace_collective *made = &own->collectives[own->trace.collective_count];
    st_trace_set_detail(event, (uint32_t)own->trace.collective_count++);
    *made = (st_trace_collective){.name = name(own, "allreduce"),
                                  .dtype = name(own, "Float"),
                                  .group = ST_TRACE_NONE,
                                  .ranks = name(own, ranks),
                                  .in_elements = 385,
                                  .out_elements = 771,
                                  .group_size = group_size};
    return made;
}

/* Forgets the recording, its notes and what failed. */
static void start_again(fixture *own)
{
    own->trace.event_count = own->trace.collective_count = own->trace.name_count = 0;
    own->outcome = (st_trace_outcome){0};
    own->w.status = ST_OK;
    memset(&own->w.values, 0, sizeof own->w.values);
    memset(own->w.moved, 0, sizeof own->w.moved);
    st_errors_clear(own->errors);
}

static void expect_notes(const fixture *own, const char *const *notes)
{
    size_t count = 0;
    while (notes[count] != NULL) {
        if (count >= own->outcome.note_count)
            fail_msg("nothing says '%s'", notes[count]);
        assert_contains(own->outcome.notes[count], notes[count]);
        count++;
    }
    assert_int_equal(own->outcome.note_count, count);
}

#define NOTES(own, ...) expect_notes(own, (const char *const[]){__VA_ARGS__, NULL})

/* ---- keys and values ---- */

static st_status parse(fixture *own, const char *have, const char *set, st_whatif_values *values)
{
    const st_trace_change change = {.have = &have,
                                    .have_count = have != NULL ? 1 : 0,
                                    .sets = &set,
                                    .set_count = set != NULL ? 1 : 0};
    return st_whatif_parse(&change, own->arena, values, own->errors);
}

/* Whole numbers from 1, or any above 0, of at most a thousand million. */
TEST_WITH(values_have_bounds, setup, teardown)
{
    static const struct {
        const char *set;
        st_whatif_key key;
        double value; /* 0: refused */
    } cases[] = {{"parallel.tp=1", ST_WHATIF_TP, 1},
                 {"parallel.tp=1000000000", ST_WHATIF_TP, 1e9},
                 {"parallel.tp=1000000001", ST_WHATIF_TP, 0},
                 {"parallel.tp=0", ST_WHATIF_TP, 0},
                 {"parallel.tp=2.385", ST_WHATIF_TP, 0},
                 {"parallel.tp=2x", ST_WHATIF_TP, 0},
                 {"speed.gemm=2.385x", ST_WHATIF_SPEED + ST_TRACE_GEMM, 2.385},
                 {"speed.gemm=0.385", ST_WHATIF_SPEED + ST_TRACE_GEMM, 0.385},
                 {"speed.other=0", ST_WHATIF_SPEED + ST_TRACE_OTHER, 0},
                 {"speed.other=x", ST_WHATIF_SPEED + ST_TRACE_OTHER, 0},
                 {"speed.other=7x", ST_WHATIF_SPEED + ST_TRACE_OTHER, 7},
                 {"speed.other=", ST_WHATIF_SPEED + ST_TRACE_OTHER, 0},
                 {"model.ffn=6144", ST_WHATIF_FFN, 6144}};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_whatif_values values;
        st_status status = parse(own, NULL, cases[i].set, &values);
        if (status != (cases[i].value > 0 ? ST_OK : ST_ERR_USAGE))
            fail_msg("'%s' has status %d", cases[i].set, (int)status);
        assert_true(values.set[cases[i].key] == cases[i].value);
        assert_true(values.have[cases[i].key] == 0);
        st_errors_clear(own->errors);
    }
}

/* What describes the recorded job, and what only a change can be. */
TEST_WITH(some_keys_describe_the_recorded_job, setup, teardown)
{
    static const struct {
        const char *have;
        const char *words; /* NULL: taken */
    } cases[] = {{"parallel.pp=3", NULL},
                 {"overlap.slowdown=1.385", NULL},
                 {"batch.micro=3", NULL},
                 {"bandwidth.tp=2", "unknown key 'bandwidth.tp'"},
                 {"speed.gemm=2", "unknown key 'speed.gemm'"},
                 {"pipeline.schedule=gpipe", "unknown key 'pipeline.schedule'"},
                 {"speed.kernel:gemm=2", "unknown key 'speed.kernel:gemm'"},
                 {"model.layer=3", "did you mean 'model.layers'?"},
                 {"parallel.tp.x=3", "unknown key 'parallel.tp.x'"}};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_whatif_values values;
        st_status status = parse(own, cases[i].have, "speed.gemm=2", &values);
        assert_int_equal(status, cases[i].words == NULL ? ST_OK : ST_ERR_USAGE);
        if (cases[i].words != NULL)
            assert_contains(said(own->errors), cases[i].words);
    }
}

TEST_OF(patterns_end_at_the_last_equals_sign, fixture *own, setup, teardown)
{
    st_whatif_values values;
    assert_int_equal(parse(own, NULL, "speed.kernel:gemm<n=7>*=2.385", &values), ST_OK);
    assert_int_equal(values.kernel_count, 1);
    assert_string_equal(values.kernels[0].pattern, "gemm<n=7>*");
    assert_true(values.kernels[0].speed == 2.385);
    assert_int_equal(parse(own, NULL, "speed.kernel:gemm", &values), ST_ERR_USAGE);
    assert_contains(said(own->errors), "expected speed.kernel:PATTERN=VALUE");
    assert_int_equal(parse(own, NULL, "speed.kernel:gemm=0", &values), ST_ERR_USAGE);
    assert_contains(said(own->errors), "invalid value of speed.kernel");
}

TEST_OF(at_most_64_patterns_are_taken, fixture *own, setup, teardown)
{
    const char *removed[65];
    st_whatif_values values;
    for (size_t i = 0; i < 65; i++)
        removed[i] = "gemm*";
    st_trace_change change = {.removed = removed, .removed_count = 64};
    assert_int_equal(st_whatif_parse(&change, own->arena, &values, own->errors), ST_OK);
    assert_int_equal(values.kernel_count, 64);
    assert_true(values.kernels[63].speed == 0);
    change.removed_count = 65;
    assert_int_equal(st_whatif_parse(&change, own->arena, &values, own->errors), ST_ERR_USAGE);
    assert_contains(said(own->errors), "--remove: error: too many patterns: expected at most 64");
}

/* A schedule and a transfer are of a new pipeline: of stages, or of micro-batches. */
TEST_WITH(schedules_need_a_new_pipeline, setup, teardown)
{
    static const char *const pipelines[] = {"parallel.pp=2", "batch.micro_batches=9"};
    static const char *const details[] = {"pipeline.schedule=gpipe", "pipeline.transfer_us=23.85"};
    static const char *const words[] = {"pipeline.schedule describes a new pipeline",
                                        "pipeline.transfer_us describes a new pipeline"};
    fixture *own = *state;
    st_whatif_values values;
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < 2; k++) {
            const char *sets[] = {details[i], pipelines[k]};
            const st_trace_change both = {.sets = sets, .set_count = 2};
            assert_int_equal(st_whatif_parse(&both, own->arena, &values, own->errors), ST_OK);
            assert_int_equal(values.has_schedule, i == 0);
        }
        assert_int_equal(parse(own, NULL, details[i], &values), ST_ERR_USAGE);
        assert_contains(said(own->errors), words[i]);
    }
    assert_int_equal(parse(own, NULL, "parallel.pp=2", &values), ST_OK);
    assert_int_equal(values.schedule, ST_SCHEDULE_1F1B);
    assert_int_equal(parse(own, "parallel.pp=2", NULL, &values), ST_ERR_USAGE);
    assert_contains(said(own->errors), "nothing to change");
}

/* ---- collectives ---- */

TEST_WITH(elements_have_their_sizes, setup, teardown)
{
    static const struct {
        const char *dtype;
        int bytes;
    } cases[] = {{"Double", 8},        {"Long", 8},        {"Float", 4},  {"Int", 4},  {"Half", 2},
                 {"BFloat16", 2},      {"Short", 2},       {"Byte", 1},   {"Char", 1}, {"Bool", 1},
                 {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}, {"Complex", 0}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_true(st_trace_element_bytes(cases[i].dtype) == cases[i].bytes);
}

/* In: 385 elements of 4 bytes, out: 771, which only gathering counts. */
TEST_WITH(messages_are_as_the_profiler_names_them, setup, teardown)
{
    static const struct {
        const char *recorded;
        const char *collective; /* NULL: unknown */
        double bytes;
    } cases[] = {{"allreduce", "all_reduce", 1540},
                 {"allreduce_coalesced", "all_reduce", 1540},
                 {"_allgather_base", "all_gather", 3084},
                 {"all_gather_into_tensor", "all_gather", 3084},
                 {"allgather_into_tensor_coalesced", "all_gather", 3084},
                 {"ALLGATHER", "all_gather", 3084},
                 {"reduce_scatter", "reduce_scatter", 1540},
                 {"_reduce_scatter_base", "reduce_scatter", 1540},
                 {"reduce_scatter_tensor", "reduce_scatter", 1540},
                 {"reduce_scatter_tensor_coalesced", "reduce_scatter", 1540},
                 {"all_to_all", "all_to_all", 1540},
                 {"alltoall_base", "all_to_all", 1540},
                 {"all_to_allv", "all_to_all", 1540},
                 {"broadcast", "broadcast", 1540},
                 {"send", NULL, 0},
                 {"allreduc", NULL, 0}};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_trace_transfer transfer = {0};
        start_again(own);
        st_trace_collective *made = add_collective(own, "[0, 1]", 2);
        made->name = name(own, cases[i].recorded);
        bool known = st_whatif_transfer(&own->trace, &own->events[0], &transfer);
        if (known != (cases[i].collective != NULL))
            fail_msg("'%s' is %s", cases[i].recorded, known ? "known" : "unknown");
        if (!known)
            continue;
        assert_string_equal(transfer.collective, cases[i].collective);
        assert_true(transfer.size_bytes == cases[i].bytes);
        assert_true(transfer.ranks == 2 && transfer.stride == 1 && transfer.bandwidth_factor == 1);
    }
}

TEST_OF(messages_may_be_unknown, fixture *own, setup, teardown)
{
    st_trace_transfer transfer;
    st_trace_collective *made = add_collective(own, "[0, 1]", 2);
    const st_trace_collective whole = *made;
    assert_true(st_whatif_transfer(&own->trace, &own->events[0], &transfer));
    made->group_size = 1;
    assert_false(st_whatif_transfer(&own->trace, &own->events[0], &transfer));
    *made = whole;
    made->dtype = ST_TRACE_NONE;
    assert_false(st_whatif_transfer(&own->trace, &own->events[0], &transfer));
    made->dtype = name(own, "Complex");
    assert_false(st_whatif_transfer(&own->trace, &own->events[0], &transfer));
    *made = whole;
    made->name = ST_TRACE_NONE;
    assert_false(st_whatif_transfer(&own->trace, &own->events[0], &transfer));
    *made = whole;
    made->in_elements = 0;
    assert_false(st_whatif_transfer(&own->trace, &own->events[0], &transfer));
    *made = whole;
    own->events[0].link = -1;
    assert_false(st_whatif_transfer(&own->trace, &own->events[0], &transfer));
}

/* Seconds are the stride; more than 9 it refuses. */
static st_status time_of(void *context, const st_trace_transfer *transfer, double *seconds,
                         st_errors *errors)
{
    (void)context;
    *seconds = transfer->stride;
    return transfer->stride > 9 ? st_fail(errors, ST_ERR_PROVIDER, here, "too far") : ST_OK;
}

TEST_WITH(a_model_gives_the_ratio_of_two_times, setup, teardown)
{
    static const struct {
        double before;
        double after;
        double ratio;
        st_status status;
    } cases[] = {
        {2, 5, 2.5, ST_OK},          {2, 2, 0, ST_OK},           {0, 5, 0, ST_OK}, {2, 0, 0, ST_OK},
        {2, 10, 0, ST_ERR_PROVIDER}, {10, 2, 0, ST_ERR_PROVIDER}};
    fixture *own = *state;
    const st_trace_collective_model model = {.time = time_of};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_trace_transfer before = {.stride = cases[i].before};
        const st_trace_transfer after = {.stride = cases[i].after};
        start_again(own);
        own->w.model = &model;
        assert_true(st_whatif_ratio(&own->w, &before, &after) == cases[i].ratio);
        assert_int_equal(own->w.status, cases[i].status);
        own->w.model = NULL;
        assert_true(st_whatif_ratio(&own->w, &before, &after) == 0);
    }
}

/* Of one known size, groups of that size must have the same ranks; others do not count. */
TEST_WITH(groups_of_one_size_are_of_one_kind, setup, teardown)
{
    static const struct {
        double tp;
        double dp;
        int64_t sizes[2];
        const char *lists[2];
        const char *words; /* NULL: they are */
    } cases[] = {{2, 0, {2, 2}, {"[0, 1]", "[0, 2]"}, "--have parallel.dp, too"},
                 {0, 2, {2, 2}, {"[0, 1]", "[0, 2]"}, "--have parallel.tp, too"},
                 {2, 0, {2, 2}, {"[0, 1]", NULL}, NULL},
                 {2, 0, {2, 4}, {"[0, 1]", "[0, 2]"}, NULL},
                 {2, 2, {2, 2}, {"[0, 1]", "[0, 2]"}, NULL},
                 {0, 0, {2, 2}, {"[0, 1]", "[0, 2]"}, NULL},
                 {1, 0, {1, 1}, {"[0]", "[1]"}, NULL},
                 {4, 0, {2, 2}, {"[0, 1]", "[0, 2]"}, NULL}};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        start_again(own);
        own->w.values.have[ST_WHATIF_TP] = cases[i].tp;
        own->w.values.have[ST_WHATIF_DP] = cases[i].dp;
        for (size_t k = 0; k < 2; k++)
            (void)add_collective(own, cases[i].lists[k], cases[i].sizes[k]);
        st_whatif_check_groups(&own->w);
        assert_int_equal(own->w.status, cases[i].words == NULL ? ST_OK : ST_ERR_VALUE);
        const char *heard = said(own->errors);
        if (cases[i].words == NULL)
            continue;
        assert_contains(heard, cases[i].words);
        assert_contains(heard, "r3.json: its groups of 2 ranks are of two kinds, [0, 1] and");
    }
}

TEST_OF(equal_lists_are_of_one_kind, fixture *own, setup, teardown)
{
    own->w.values.have[ST_WHATIF_TP] = 2;
    st_trace_collective *first = add_collective(own, "[0, 1]", 2);
    st_trace_collective *second = add_collective(own, "[0, 1]", 2);
    second->ranks = first->ranks;
    st_whatif_check_groups(&own->w);
    assert_int_equal(own->w.status, ST_OK);
    /* A call that has the details of another group is none. */
    second->ranks = name(own, "[0, 2]");
    own->events[1].kind = ST_TRACE_CALL;
    st_whatif_check_groups(&own->w);
    assert_int_equal(own->w.status, ST_OK);
    own->events[1].kind = ST_TRACE_MEMSET;
    st_whatif_check_groups(&own->w);
    assert_int_equal(own->w.status, ST_ERR_VALUE);
}

/* ---- another GPU ---- */

/* Attention is taken for GEMMs; nothing is like norms. */
static double ratio_of(const void *context, size_t rank, size_t event, st_trace_class *taken)
{
    const fixture *own = context;
    st_trace_class class_ = (st_trace_class)own->events[event].class_;
    assert_int_equal(rank, 0);
    *taken = class_ == ST_TRACE_ATTENTION ? ST_TRACE_GEMM : class_;
    return class_ == ST_TRACE_NORM ? NOT_A_NUMBER : 0.385;
}

TEST_OF(kernels_that_compute_move, fixture *own, setup, teardown)
{
    const char *notes[] = {"clocks as measured"};
    const st_trace_kernel_ratios ratios = {.context = own,
                                           .to = "h100-sxm",
                                           .by = "what was measured on",
                                           .ratio = ratio_of,
                                           .notes = notes,
                                           .note_count = 1};
    (void)add_kernel(own, "gemm", ST_TRACE_GEMM);
    (void)add_kernel(own, "flash", ST_TRACE_ATTENTION);
    (void)add_kernel(own, "layer_norm", ST_TRACE_NORM);
    st_trace_event *last = add_kernel(own, "nccl", ST_TRACE_COMMUNICATION);
    assert_true(st_whatif_move(&own->w, 0, 0) == 1);
    own->w.ratios = &ratios;
    assert_true(st_whatif_move(&own->w, 0, 0) == 0.385);
    assert_true(st_whatif_move(&own->w, 0, 1) == 0.385);
    assert_true(st_whatif_move(&own->w, 0, 2) == 1);
    assert_true(st_whatif_move(&own->w, 0, 3) == 1);
    last->class_ = ST_TRACE_GEMM;
    last->duration_ns = 0;
    assert_true(st_whatif_move(&own->w, 0, 3) == 1);
    last->duration_ns = 1;
    last->kind = ST_TRACE_MEMCPY;
    assert_true(st_whatif_move(&own->w, 0, 3) == 1);
    last->kind = ST_TRACE_KERNEL;
    assert_true(st_whatif_move(&own->w, 0, 3) == 0.385);
    st_whatif_note_moved(&own->w);
    assert_int_equal(own->w.status, ST_OK);
    NOTES(own, "3 kernels take what was measured on h100-sxm; copies, launches, the host",
          "clocks as measured",
          "1 kernels of class attention, 2.385 ms, take the ratios of gemm: there are none of "
          "their own",
          "1 kernels of class norm, 2.385 ms, last as recorded");
}

TEST_OF(kernels_without_ratios_are_refused, fixture *own, setup, teardown)
{
    const st_trace_kernel_ratios ratios = {
        .context = own, .to = "h100-sxm", .by = "what was measured on", .ratio = ratio_of};
    st_whatif_note_moved(&own->w);
    assert_int_equal(own->outcome.note_count, 0);
    own->w.ratios = &ratios;
    (void)add_kernel(own, "layer_norm", ST_TRACE_NORM);
    (void)st_whatif_move(&own->w, 0, 0);
    st_whatif_note_moved(&own->w);
    assert_int_equal(own->w.status, ST_ERR_VALUE);
    assert_contains(said(own->errors), "no kernel of the trace has a ratio on h100-sxm");
}

/* ---- what the recording has ---- */

TEST_OF(classes_that_no_kernel_has_are_told, fixture *own, setup, teardown)
{
    (void)add_kernel(own, "gemm", ST_TRACE_GEMM);
    add_kernel(own, "cudaLaunchKernel", ST_TRACE_NORM)->kind = ST_TRACE_CALL;
    own->w.values.set[ST_WHATIF_SPEED + ST_TRACE_GEMM] = 2.385;
    own->w.values.set[ST_WHATIF_SPEED + ST_TRACE_NORM] = 0.5;
    own->w.values.set[ST_WHATIF_BANDWIDTH] = 0.5;
    st_whatif_check_kernels(&own->w);
    assert_int_equal(own->w.status, ST_OK);
    NOTES(own, "no kernel is of class 'norm': it changes nothing",
          "no kernel is a collective, for 'bandwidth': it changes nothing");
    assert_int_equal(st_errors_count(own->errors, ST_SEVERITY_WARNING), 2);
    start_again(own);
    (void)add_kernel(own, "layer_norm", ST_TRACE_NORM);
    (void)add_collective(own, "[0, 1]", 2);
    own->w.values.set[ST_WHATIF_SPEED + ST_TRACE_NORM] = 0.5;
    own->w.values.set[ST_WHATIF_BANDWIDTH] = 0.5;
    st_whatif_check_kernels(&own->w);
    assert_int_equal(own->outcome.note_count, 0);
}

/* ---- the job ---- */

typedef struct job_case {
    double tp;
    double pp;
    double dp;
    st_trace_job job;
    int64_t world_size;
    const char *words; /* NULL: it may be the recorded one */
} job_case;

TEST_WITH(jobs_have_the_recorded_ranks, setup, teardown)
{
    static const job_case cases[] = {
        {2, 3, 5, {.name = "run.yaml", .cp = 1}, 30, NULL},
        {2, 3, 5, {.name = "run.yaml", .cp = 7}, 210, NULL},
        {0, 0, 0, {.name = "run.yaml", .cp = 0}, 1, NULL},
        {2, 3, 5, {.name = "run.yaml", .cp = 7}, -1, NULL},
        {2,
         3,
         5,
         {.name = "run.yaml", .cp = 7},
         30,
         "found 210 GPUs (tp 2, pp 3, dp 5, cp 7), expected 30, including r3.json"},
        {2,
         0,
         0,
         {.name = "run.yaml", .cp = 0},
         1,
         "job 'run.yaml' is not the recorded one: found 2 GPUs (tp 2, pp 1, dp 1, cp 1)"}};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        start_again(own);
        own->w.job = &cases[i].job;
        own->set.world_size = cases[i].world_size;
        own->w.values.have[ST_WHATIF_TP] = cases[i].tp;
        own->w.values.have[ST_WHATIF_PP] = cases[i].pp;
        own->w.values.have[ST_WHATIF_DP] = cases[i].dp;
        st_whatif_check_job(&own->w);
        assert_int_equal(own->w.status, cases[i].words == NULL ? ST_OK : ST_ERR_VALUE);
        if (cases[i].words != NULL)
            assert_contains(said(own->errors), cases[i].words);
    }
}

/* One collective of that many ranks is enough; without any known group nothing is said. */
TEST_WITH(shards_have_collectives, setup, teardown)
{
    static const struct {
        double tp;
        int64_t sizes[3];
        const char *words;
    } cases[] = {{4, {8, 4, 2}, NULL},
                 {4,
                  {8, 16, 2},
                  "tensor-parallel size 4, and no collective of the trace is of 4 "
                  "ranks: the smallest groups have 2"},
                 {4, {8, 16, -1}, "the smallest groups have 8"},
                 {4, {16, 1, 8}, "the smallest groups have 1"},
                 {4, {-1, 0, -1}, NULL},
                 {1, {8, 16, 2}, NULL},
                 {2, {8, 16, 4}, "the smallest groups have 4"}};
    static const st_trace_job job = {.name = "run.yaml"};
    fixture *own = *state;
    own->set.world_size = -1;
    own->w.job = &job;
    for (size_t i = 0; i < COUNT(cases); i++) {
        start_again(own);
        own->w.values.have[ST_WHATIF_TP] = cases[i].tp;
        (void)add_kernel(own, "gemm", ST_TRACE_GEMM);
        for (size_t k = 0; k < 3; k++)
            (void)add_collective(own, "[0, 1]", cases[i].sizes[k]);
        st_whatif_check_job(&own->w);
        assert_int_equal(own->w.status, ST_OK);
        assert_int_equal(own->outcome.note_count, cases[i].words == NULL ? 0 : 1);
        if (cases[i].words == NULL)
            continue;
        assert_contains(own->outcome.notes[0], cases[i].words);
        assert_contains(said(own->errors), "--job: warning: the job has tensor-parallel size");
    }
}

/* Layers of a stage, or of one of its chunks; a stage that stands alone has none. */
TEST_WITH(layers_are_dealt_out_to_stages, setup, teardown)
{
    static const struct {
        double pp;
        double layers;
        double virtual_stages;
        double expected; /* 0: it does not tell */
    } cases[] = {{4, 48, 0, 12}, {4, 48, 3, 4}, {0, 48, 3, 48}, {1, 48, 3, 48},
                 {5, 48, 0, 0},  {2, 6, 2, 0},  {2, 6, 1, 3}};
    fixture *own = *state;
    assert_true(st_whatif_job_layers(&own->w) == 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_trace_job job = {.name = "run.yaml",
                                  .layers = cases[i].layers,
                                  .virtual_stages = cases[i].virtual_stages};
        own->w.job = &job;
        own->w.values.have[ST_WHATIF_PP] = cases[i].pp;
        assert_true(st_whatif_job_layers(&own->w) == cases[i].expected);
    }
}

/* ---- notes ---- */

TEST_OF(equal_notes_stand_once, fixture *own, setup, teardown)
{
    st_whatif_note(&own->w, "%d layers", 23);
    st_whatif_note(&own->w, "%d layers", 85);
    st_whatif_note(&own->w, "%d layers", 23);
    NOTES(own, "23 layers", "85 layers");
    st_whatif_refuse(&own->w, "%d is too much", 23);
    st_whatif_refuse(&own->w, "%d is too much", 85);
    assert_int_equal(st_errors_size(own->errors), 1);
    assert_contains(said(own->errors), "23 is too much");
}

TESTS(whatif_parts);

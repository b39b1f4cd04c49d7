/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of recorded programs: ranks that are started, those that do as others, what logs add up to.
 */
#include "record_support.h"

#include "record/run_outcome.h"
#include "record/rank_dedup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

typedef struct fixture {
    char folder[64];
    st_arena *arena;
    st_errors *errors;
} fixture;

static int setup(void **state)
{
    fixture *self = calloc(1, sizeof *self);
    (void)run_folder(self->folder);
    self->arena = st_arena_create();
    self->errors = st_errors_create();
    *state = self;
    return 0;
}

static int teardown(void **state)
{
    fixture *self = *state;
    remove_run(self->folder);
    st_errors_destroy(self->errors);
    st_arena_destroy(self->arena);
    free(self);
    return 0;
}

/* ---- what logs add up to ---- */

enum { TEXT_HALF = NAMES, TEXT_TWICE };

/* The log of one thread of a process; processes of one number differ by when they began. */
static log_maker thread_log(const fixture *self, uint32_t pid, uint32_t thread, uint64_t start_ns)
{
    char path[128];
    log_maker maker = {.now_ns = 1000};
    const st_log_header header = {.rank = (int32_t)pid - 100,
                                  .world = 24,
                                  .pid = pid,
                                  .tid = pid + thread,
                                  .thread = thread,
                                  .device_count = 1,
                                  .start_monotonic_ns = start_ns};
    (void)snprintf(path, sizeof path, "%s/%u-%u%s", self->folder, pid,
                   pid + thread + (uint32_t)start_ns, ST_LOG_SUFFIX);
    maker.writer = st_log_create(path, &header);
    assert_non_null(maker.writer);
    assert_true(st_log_define(maker.writer, NAME_GEMM, "cublasGemmEx"));
    assert_true(st_log_define(maker.writer, NAME_FREE, "cudaFree"));
    assert_true(st_log_define(maker.writer, TEXT_HALF, "a half"));
    assert_true(st_log_define(maker.writer, TEXT_TWICE, "freed twice"));
    return maker;
}

static void put_mark(log_maker *maker, st_log_kind kind, uint32_t name, uint32_t text,
                     uint16_t status)
{
    st_log_record *record = next_call(maker, name);
    record->status = status;
    record->mark.text = text;
    st_log_commit(record, kind);
}

static void put_block(log_maker *maker, st_log_kind kind, uint64_t bytes, uint64_t live_bytes)
{
    st_log_record *record = next_call(maker, NAME_FREE);
    record->memory.bytes = bytes;
    record->memory.charged_bytes = bytes + 15;
    record->memory.live_bytes = live_bytes;
    st_log_commit(record, kind);
}

static void put_split(log_maker *maker, uint64_t parent, int32_t ranks)
{
    st_log_record *record = next_call(maker, NAME_INIT);
    record->comm = (st_log_comm){.comm = 385, .parent = parent, .ranks = ranks};
    st_log_commit(record, ST_LOG_COMM);
}

static void end_thread(log_maker *maker, uint64_t calls, uint64_t unsupported, uint64_t hash)
{
    st_log_record *record = next_call(maker, 0);
    record->end = (st_log_end){.calls = calls, .unsupported = unsupported, .work_hash = hash};
    st_log_commit(record, ST_LOG_END);
    st_log_close(maker->writer);
}

/* Kernels and products of a process of two threads, the second of which meets a second product. */
static void write_two_threads(const fixture *self)
{
    static const uint32_t mnk[] = {2304, 4096, 768};
    log_maker first = thread_log(self, 103, 0, 17);
    put_kernel(&first, 1, NAME_KERNEL, 385);
    put_kernel(&first, 1, NAME_KERNEL, 385);
    put_gemm(&first, 1, mnk, 1, ST_LOG_BF16);
    put_collective(&first, 7, 1, ST_LOG_ALL_REDUCE, 2385);
    put_split(&first, 7, -1);
    put_split(&first, 7, 8);
    put_split(&first, 0, -1);
    put_mark(&first, ST_LOG_UNSUPPORTED, NAME_GEMM, TEXT_HALF, 15);
    put_mark(&first, ST_LOG_UNSUPPORTED, NAME_FREE, TEXT_HALF, 16);
    put_mark(&first, ST_LOG_MISUSE, NAME_FREE, TEXT_TWICE, 1);
    put_block(&first, ST_LOG_MALLOC, 5000, 71000);
    end_thread(&first, 2385, 38, 50);
    log_maker second = thread_log(self, 103, 1, 17);
    put_gemm(&second, 1, mnk, 1, ST_LOG_BF16);
    st_log_record *further = next_call(&second, NAME_GEMM);
    further->flags = ST_LOG_FURTHER;
    st_log_commit(further, ST_LOG_GEMM);
    put_mark(&second, ST_LOG_UNSUPPORTED, NAME_GEMM, TEXT_HALF, 15);
    put_mark(&second, ST_LOG_UNSUPPORTED, NAME_GEMM, TEXT_TWICE, 15);
    put_mark(&second, ST_LOG_FORKED, NAME_FREE, 0, 0);
    end_thread(&second, 385, 17, 60);
}

/* Two out of memory, the first of which counts, and identical processes. */
static void write_others(const fixture *self)
{
    log_maker low = thread_log(self, 104, 0, 17);
    put_block(&low, ST_LOG_MALLOC, 1000, 69000);
    put_block(&low, ST_LOG_OUT_OF_MEMORY, 30000, 72000);
    put_block(&low, ST_LOG_BLOCK, 6100, 99000);
    put_block(&low, ST_LOG_BLOCK, 4100, 99000);
    put_block(&low, ST_LOG_OUT_OF_MEMORY, 31000, 70000);
    put_block(&low, ST_LOG_BLOCK, 9100, 99000);
    end_thread(&low, 10, 0, 60);
    log_maker twin = thread_log(self, 104, 0, 23); /* the number once more, another process */
    put_block(&twin, ST_LOG_OUT_OF_MEMORY, 32000, 70000);
    put_block(&twin, ST_LOG_BLOCK, 9200, 99000);
    end_thread(&twin, 10, 0, 60);
    log_maker cut = thread_log(self, 105, 0, 17);
    put_kernel(&cut, 1, NAME_KERNEL, 385);
    put_mark(&cut, ST_LOG_MISUSE, 0, TEXT_TWICE, 1); /* it is no call */
    put_kernel(&cut, 1, NAME_KERNEL, 385);
    st_log_close(cut.writer);
    char path[128];
    (void)snprintf(path, sizeof path, "%s/9-9%s", self->folder, ST_LOG_SUFFIX);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("2385", file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void read_run(fixture *self, st_run_outcome *outcome)
{
    assert_int_equal(st_run_outcome_read(self->folder, self->arena, outcome, self->errors), ST_OK);
}

static void logs_add_up(void **state)
{
    fixture *self = *state;
    st_run_outcome outcome;
    write_two_threads(self);
    write_others(self);
    read_run(self, &outcome);
    assert_int_equal(outcome.logs, 6);
    assert_int_equal(outcome.cut_logs, 1);
    assert_int_equal(outcome.unreadable, 1);
    assert_int_equal(outcome.calls, 2385 + 385 + 10 + 10 + 2);
    assert_int_equal(outcome.launches, 4);
    assert_int_equal(outcome.products, 2);
    assert_int_equal(outcome.collectives, 1);
    assert_int_equal(outcome.unsupported, 38 + 17);
    assert_int_equal(outcome.processes, 4);
    assert_int_equal(outcome.unique, 2); /* the two threads together, and both of pid 104 */
    assert_int_equal(outcome.forks, 1);
    assert_int_equal(outcome.unsure_splits, 1);
    assert_int_equal(outcome.peak_bytes, 72000);
}

/* Processes are what all their threads did, in any order: of five the first two did the same. */
static void threads_of_a_process_are_one(void **state)
{
    static const uint64_t hashes[][2] = {{50, 60}, {60, 50}, {50, 0}, {60, 0}, {70, 0}};
    fixture *self = *state;
    st_run_outcome outcome;
    for (uint32_t i = 0; i < COUNT(hashes); i++)
        for (uint32_t k = 0; k < 2 && hashes[i][k] != 0; k++) {
            log_maker log = thread_log(self, 103 + 5 * i, k, 17);
            end_thread(&log, 1, 0, hashes[i][k]);
        }
    read_run(self, &outcome);
    assert_int_equal(outcome.logs, 7);
    assert_int_equal(outcome.processes, 5);
    assert_int_equal(outcome.unique, 4);
}

static void the_first_out_of_memory_is_kept(void **state)
{
    fixture *self = *state;
    st_run_outcome outcome;
    write_others(self);
    read_run(self, &outcome);
    assert_true(outcome.out_of_memory);
    assert_int_equal(outcome.oom_rank, 4);
    assert_int_equal(outcome.oom_bytes, 30000);
    assert_int_equal(outcome.oom_live_bytes, 72000);
    assert_int_equal(outcome.oom_block_count, 2);
    assert_int_equal(outcome.oom_blocks[0].bytes, 6100);
    assert_int_equal(outcome.oom_blocks[1].charged_bytes, 4115);
}

static void faults_are_counted_by_call_and_text(void **state)
{
    static const st_run_outcome_item expected[] = {
        {"a half", "cublasGemmEx", 15, 2},
        {"a half", "cudaFree", 16, 1},
        {"freed twice", "cublasGemmEx", 15, 1},
    };
    fixture *self = *state;
    st_run_outcome outcome;
    write_two_threads(self);
    read_run(self, &outcome);
    assert_int_equal(outcome.unsupported_count, COUNT(expected));
    for (size_t i = 0; i < COUNT(expected); i++) {
        assert_string_equal(outcome.unsupported_items[i].text, expected[i].text);
        assert_string_equal(outcome.unsupported_items[i].call, expected[i].call);
        assert_int_equal(outcome.unsupported_items[i].status, expected[i].status);
        assert_int_equal(outcome.unsupported_items[i].count, expected[i].count);
    }
    assert_int_equal(outcome.misuse_count, 1);
    assert_string_equal(outcome.misuses[0].text, "freed twice");
    assert_false(outcome.out_of_memory);
    assert_int_equal(outcome.oom_rank, -1);
}

static void programs_that_call_nothing_have_no_logs(void **state)
{
    fixture *self = *state;
    st_run_outcome outcome;
    read_run(self, &outcome);
    assert_int_equal(outcome.logs, 0);
    assert_int_equal(st_run_outcome_read("/no/such", self->arena, &outcome, self->errors),
                     ST_ERR_IO);
    assert_contains(said(self->errors), "/no/such");
}

static const char *outcome_as(fixture *self, const st_run_outcome *outcome,
                              const st_launch_end *ends, size_t count, st_form form)
{
    static char text[16384];
    static const st_paint plain = {false, 0};
    st_result result;
    st_buffer buffer = {0};
    st_node *root = st_result_begin(&result, self->arena);
    st_run_outcome_put(outcome, ends, count, root);
    st_result_write(&result, form, &plain, &buffer);
    (void)snprintf(text, sizeof text, "%s", st_buffer_read(&buffer));
    st_buffer_free(&buffer);
    return text;
}

static void outcomes_are_told(void **state)
{
    static const st_launch_end ends[] = {{.rank = 0},
                                         {.rank = 1, .exit_code = 38},
                                         {.rank = -1, .signal = 9, .exit_code = -1},
                                         {.rank = 3, .over_time = true}};
    static const char *const json[] = {
        "\"processes\": 4,\n  \"unique_processes\": 2,\n  \"logs\": 6,\n  \"cut_logs\": 1,\n  "
        "\"unreadable_logs\": 1,\n  \"calls\": 2792,\n  \"launches\": 4,\n  \"gemms\": 2,\n  "
        "\"collectives\": 1,\n  \"reads\": 0,\n  \"unsupported_calls\": 55,\n  \"forks\": 1,\n  "
        "\"unsure_splits\": 1,\n  \"peak_bytes\": 72000,",
        "\"rank\": 4,\n    \"request_bytes\": 30000,\n    \"live_bytes\": 72000,",
        "{\"bytes\": 6100, \"charged_bytes\": 6115}",
        "{\"call\": \"cublasGemmEx\", \"what\": \"a half\", \"answer\": 15, \"times\": 2}",
        "\"failed\": [\n    {\"rank\": 1, \"exit_code\": 38, \"signal\": 0, \"over_time\": "
        "false},\n    {\"rank\": null, \"exit_code\": null, \"signal\": 9, \"over_time\": "
        "false},\n    {\"rank\": 3, \"exit_code\": 0, \"signal\": 0, \"over_time\": true}\n",
    };
    static const char *const text[] = {
        "2792 CUDA calls by 4 processes, 2 identical to another\n",
        "4 kernels, 2 matrix products, 1 collectives\n",
        "1 of 6 truncated, 1 unreadable\n",
        "unknown    55 calls of unsupported functions\n",
        "Not supported\n",
        "Misuse\n",
        "Out of memory\n",
    };
    fixture *self = *state;
    st_run_outcome outcome;
    write_two_threads(self);
    write_others(self);
    read_run(self, &outcome);
    for (size_t i = 0; i < COUNT(json); i++)
        assert_contains(outcome_as(self, &outcome, ends, COUNT(ends), ST_FORM_JSON), json[i]);
    for (size_t i = 0; i < COUNT(text); i++)
        assert_contains(outcome_as(self, &outcome, ends, COUNT(ends), ST_FORM_TEXT), text[i]);
}

static void good_outcomes_are_short(void **state)
{
    fixture *self = *state;
    const st_run_outcome outcome = {.logs = 1,
                                    .processes = 1,
                                    .unique = 1,
                                    .calls = 2385,
                                    .peak_bytes = UINT64_C(2561032847),
                                    .oom_rank = -1};
    assert_string_equal(outcome_as(self, &outcome, NULL, 0, ST_FORM_TEXT),
                        "calls      2385 CUDA calls by 1 process\n"
                        "work       0 kernels, 0 matrix products, 0 collectives\n"
                        "memory     at most 2.39 GiB on a GPU, including CUDA's own memory\n");
    assert_contains(outcome_as(self, &outcome, NULL, 0, ST_FORM_JSON), "\"out_of_memory\": null");
    const st_run_outcome cut = {.logs = 3, .cut_logs = 1};
    const st_run_outcome torn = {.logs = 3, .unreadable = 1};
    assert_contains(outcome_as(self, &cut, NULL, 0, ST_FORM_TEXT),
                    "1 of 3 truncated, 0 unreadable");
    assert_contains(outcome_as(self, &torn, NULL, 0, ST_FORM_TEXT),
                    "0 of 3 truncated, 1 unreadable");
    const st_run_outcome full = {.out_of_memory = true,
                                 .oom_rank = -1,
                                 .oom_bytes = UINT64_C(2684354560),
                                 .oom_live_bytes = UINT64_C(4026531840)};
    assert_contains(outcome_as(self, &full, NULL, 0, ST_FORM_JSON), "\"rank\": null,\n    \"req");
    assert_contains(
        outcome_as(self, &full, NULL, 0, ST_FORM_TEXT),
        "  2.500 GiB did not fit with 3.750 GiB in use, and the log has no live block\n");
}

/* ---- started ranks ---- */

/* What programs print, and what the loader says of a recorder that is not there, goes nowhere. */
static int mute(void)
{
    int kept = dup(STDERR_FILENO);
    int nowhere = open("/dev/null", O_WRONLY);
    assert_true(kept >= 0 && nowhere >= 0);
    assert_true(dup2(nowhere, STDERR_FILENO) >= 0);
    assert_int_equal(close(nowhere), 0);
    return kept;
}

static void unmute(int kept)
{
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    assert_int_equal(close(kept), 0);
}

static st_launch_end *run_program(fixture *self, st_launch_request *request, const int32_t *ranks,
                                  size_t count)
{
    st_fleet *fleet = NULL;
    size_t ended = 0;
    request->path = request->command[0];
    request->library = "/nowhere";
    request->folder = self->folder;
    request->device = "a100-sxm-80gb";
    request->charges = "some";
    request->policy = "zero";
    fleet = st_fleet_make(request, self->arena);
    int kept = mute();
    st_status status = st_fleet_run(fleet, ranks, count, false, self->errors);
    unmute(kept);
    assert_int_equal(status, ST_OK);
    assert_int_equal(st_fleet_alive(fleet), 0);
    const st_launch_end *ends = st_fleet_ends(fleet, &ended);
    assert_int_equal(ended, count);
    st_launch_end *copy = st_arena_alloc(self->arena, count, sizeof *copy);
    memcpy(copy, ends, count * sizeof *copy);
    return copy;
}

static void ranks_know_who_they_are(void **state)
{
    static const struct {
        const char *test; /* of the shell */
        uint32_t devices;
        uint32_t world;
        int32_t rank;
    } cases[] = {
        {"$RANK = 13 -a $WORLD_SIZE = 24 -a $LOCAL_RANK = 5 -a $LOCAL_WORLD_SIZE = 8", 8, 24, 13},
        {"$RANK = 3 -a $WORLD_SIZE = 6 -a $LOCAL_RANK = 3 -a $LOCAL_WORLD_SIZE = 6", 8, 6, 3},
        {"$MASTER_ADDR = 127.0.0.1 -a $MASTER_PORT = 29500", 8, 24, 13},
        {"$STEPTIME_RECORD_DEVICE = a100-sxm-80gb -a $STEPTIME_RECORD_DEVICES = 8", 8, 24, 13},
        {"$STEPTIME_RECORD_CHARGES = some -a $STEPTIME_RECORD_POLICY = zero", 8, 24, 13},
        {"$STEPTIME_RECORD_COMPLETE = 0 -a -d $STEPTIME_RECORD", 8, 24, 13},
        {"${LD_PRELOAD%%:*} = /nowhere/libsteptime-record.so -a -z \"$RANK\"", 8, 0, -1},
        {"${LD_LIBRARY_PATH%%:*} = /nowhere", 8, 24, 13},
    };
    fixture *self = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *const command[] = {"/bin/sh", "-c",
                                       st_arena_printf(self->arena, "[ %s ]", cases[i].test), NULL};
        st_launch_request request = {
            .command = command, .devices = cases[i].devices, .world = cases[i].world};
        const st_launch_end *end = run_program(self, &request, &cases[i].rank, 1);
        if (end->exit_code != 0)
            fail_msg("not so: %s", cases[i].test);
        assert_int_equal(end->rank, cases[i].rank);
        assert_int_equal(end->signal, 0);
        assert_false(end->over_time);
    }
}

static void ranks_end_in_their_own_way(void **state)
{
    static const char *const command[] = {
        "/bin/sh", "-c",
        "case $RANK in 1) exit 38;; 2) kill -9 $$;; 3) exec sleep 2385;; "
        "4) trap '' TERM; while :; do sleep 0.05; done;; esac",
        NULL};
    static const int32_t ranks[] = {0, 1, 2, 3, 4};
    static const int codes[] = {0, 38, -1, -1, -1};
    static const int signals[] = {0, 0, 9, 15, 9};
    fixture *self = *state;
    st_launch_request request = {
        .command = command, .devices = 8, .world = 5, .limit_s = 1.385, .together = true};
    const st_launch_end *ends = run_program(self, &request, ranks, COUNT(ranks));
    for (size_t i = 0; i < COUNT(ranks); i++) {
        assert_int_equal(ends[i].rank, ranks[i]);
        assert_int_equal(ends[i].exit_code, codes[i]);
        assert_int_equal(ends[i].signal, signals[i]);
        assert_int_equal(ends[i].over_time, i >= 3);
    }
    static const char *const missing[] = {"/no/such", NULL};
    request.command = missing;
    assert_int_equal(run_program(self, &request, ranks, 1)->exit_code, 127);
}

/* ---- ranks that do as others ---- */

/* What a rank of the programs below does, by its number: equal numbers for equal work. */
static uint64_t work_of(const char *program, int rank)
{
    if (strcmp(program, "stages") == 0) /* of eight stages of twelve the ends differ */
        return rank < 12 ? 2 : rank < 84 ? 3 : 5;
    if (strcmp(program, "halves") == 0)
        return rank < 24 ? 2 : 3;
    if (strcmp(program, "blocks") == 0) /* of eight neighbours the first three do the same */
        return rank % 8 < 3 ? 2 : 3;
    return (uint64_t)rank + 2;
}

static void join(log_maker *log, const char *program, int rank)
{
    if (strcmp(program, "blocks") == 0)
        put_comm(log, 1001, rank % 8, 8);
    if (strcmp(program, "stages") != 0)
        return;
    put_comm(log, 1001, rank % 4, 4);
    put_comm(log, 2001, rank / 4 % 3, 3);
    put_comm(log, 3001, rank / 12, 8);
}

/* This program as one of those that are recorded: it writes its log as the recorder does. */
static int be_rank(const char *program)
{
    int rank = atoi(getenv("RANK"));
    int world = atoi(getenv("WORLD_SIZE"));
    log_maker log = begin_log(getenv("STEPTIME_RECORD"), rank, world);
    join(&log, program, rank);
    if (strcmp(program, "cuts") == 0 && rank == 0)
        return 0;
    end_log(&log, work_of(program, rank));
    if (strcmp(program, "dies") == 0 && rank == 0)
        (void)raise(SIGKILL);
    return strcmp(program, "fails") == 0 && rank == 0 ? 38 : 0;
}

static st_rank_dedup run_dedup(fixture *self, const char *program, uint32_t devices, uint32_t world)
{
    const char *const command[] = {"/proc/self/exe", "be-rank", program, NULL};
    const st_launch_request request = {.command = command,
                                       .path = command[0],
                                       .library = "/nowhere",
                                       .folder = self->folder,
                                       .device = "",
                                       .charges = "",
                                       .policy = "",
                                       .devices = devices,
                                       .world = world};
    st_fleet *fleet = NULL;
    st_rank_dedup dedup;
    fleet = st_fleet_make(&request, self->arena);
    int kept = mute();
    st_status status = st_rank_dedup_run(fleet, &request, self->arena, &dedup, self->errors);
    unmute(kept);
    assert_int_equal(status, ST_OK);
    assert_int_equal(st_fleet_alive(fleet), 0);
    assert_int_equal(dedup.world, world);
    assert_false(dedup.met);
    assert_int_equal(dedup.again, 0);
    return dedup;
}

/* All ranks are identical to one that ran, which represents itself. */
static void assert_right(const char *program, const st_rank_dedup *dedup)
{
    for (uint32_t i = 0; i < dedup->world; i++) {
        assert_in_range(dedup->as[i], 0, dedup->world - 1);
        assert_int_equal(work_of(program, dedup->as[i]), work_of(program, (int)i));
        assert_int_equal(dedup->as[dedup->as[i]], dedup->as[i]);
    }
}

/*
 * Of 4 x 3 x 8 axes (nodes, groups and stages) through ranks 0, 95 and 36 there
 * are 13 + 13 + 5 ranks, beside the first look at 69, and 8 that prove it.
 */
static void ranks_of_a_grid_do_as_its_corners(void **state)
{
    fixture *self = *state;
    const st_rank_dedup dedup = run_dedup(self, "stages", 4, 96);
    assert_right("stages", &dedup);
    assert_false(dedup.is_complete);
    assert_int_equal(dedup.run, 40);
    assert_int_equal(dedup.proven, 8);
    for (uint32_t i = 0; i < 12; i++)
        assert_true(dedup.as[i] == 0 || dedup.as[i] == (int32_t)i);
}

/* 0, 63, 24 and 46 first, then 6 that could all have done the same, then 1, 2, 32 and 62, the
 * middles 17, 20, 22 and 23, and 8 proofs. */
static void long_axes_are_halved(void **state)
{
    fixture *self = *state;
    const st_rank_dedup dedup = run_dedup(self, "halves", 64, 64);
    assert_right("halves", &dedup);
    assert_int_equal(dedup.run, 26);
    assert_int_equal(dedup.proven, 8);
    assert_false(dedup.is_complete);
}

/* Eight neighbours and eight places, 15 + 13 + 6 ranks of them, 46 and the proofs. */
static void a_communicator_tells_an_axis(void **state)
{
    fixture *self = *state;
    const st_rank_dedup dedup = run_dedup(self, "blocks", 64, 64);
    assert_right("blocks", &dedup);
    assert_int_equal(dedup.run, 43);
    assert_int_equal(dedup.proven, 8);
    assert_false(dedup.is_complete);
}

static void few_ranks_and_those_without_a_grid_are_all_run(void **state)
{
    static const struct {
        const char *program;
        uint32_t world;
        bool at_once; /* nobody asks who does as whom */
    } cases[] = {{"stages", 16, true}, {"own", 17, false}, {"own", 1, true}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        fixture *self = *state;
        const st_rank_dedup dedup = run_dedup(self, cases[i].program, 4, cases[i].world);
        assert_int_equal(dedup.is_complete, cases[i].at_once);
        assert_int_equal(dedup.run, cases[i].world);
        for (uint32_t k = 0; k < dedup.world; k++)
            assert_int_equal(dedup.as[k], k);
        remove_run(self->folder);
        assert_int_equal(mkdir(self->folder, 0700), 0);
    }
}

/* Ranks 0, 95, 36 and 69 are looked at first. */
static void no_more_is_run_where_a_rank_fails(void **state)
{
    static const char *const programs[] = {"fails", "dies", "cuts"};
    for (size_t i = 0; i < COUNT(programs); i++) {
        fixture *self = *state;
        const st_rank_dedup dedup = run_dedup(self, programs[i], 8, 96);
        assert_int_equal(dedup.run, 4);
        assert_false(dedup.is_complete);
        for (int32_t k = 0; k < 96; k++)
            assert_int_equal(dedup.as[k], k == 0 || k == 36 || k == 69 || k == 95 ? k : -1);
        remove_run(self->folder);
        assert_int_equal(mkdir(self->folder, 0700), 0);
    }
}

int main(int count, char **words)
{
    if (count > 2 && strcmp(words[1], "be-rank") == 0)
        return be_rank(words[2]);
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(logs_add_up),
        TEST(threads_of_a_process_are_one),
        TEST(the_first_out_of_memory_is_kept),
        TEST(faults_are_counted_by_call_and_text),
        TEST(programs_that_call_nothing_have_no_logs),
        TEST(outcomes_are_told),
        TEST(good_outcomes_are_short),
        TEST(ranks_know_who_they_are),
        TEST(ranks_end_in_their_own_way),
        TEST(ranks_of_a_grid_do_as_its_corners),
        TEST(long_axes_are_halved),
        TEST(a_communicator_tells_an_axis),
        TEST(few_ranks_and_those_without_a_grid_are_all_run),
        TEST(no_more_is_run_where_a_rank_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

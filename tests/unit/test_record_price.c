/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded runs priced: counts to the last one, what waits for what, ranks that stand in for
 * others, what is unknown, and the trace that is written of it, read back.
 */
#include "record_support.h"

#include "record/price/kernel_names.h"
#include "record/price/launch_sizes.h"

#include "trace/link.h"

enum { STEPS = 3 };

typedef struct world {
    char folder[64];
    st_arena *arena;
    st_errors *errors;
    st_paths *paths;
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

static st_imported *import(world *own, const st_import_request *asked)
{
    st_imported *imported = NULL;
    st_import_request request = *asked;
    request.folder = own->folder;
    st_status status = st_imported_make(own->paths, &request, own->arena, &imported, own->errors);
    if (status != ST_OK)
        print_error("%s\n", said(own->errors));
    assert_int_equal(status, ST_OK);
    return imported;
}

static const st_import_request plain = {.prices = {.cluster = "dgx-a100", .refine = NULL},
                                        .gap_ns = 5000};

TEST_OF(counts_are_exact, world *own, make_world, drop_world)
{
    write_rank(own->folder, 0, 1, 0);
    const st_imported *imported = import(own, &(st_import_request){.gap_ns = 5000});
    const st_imported_worker *counts = &imported->workers[0];
    assert_int_equal(imported->run->worker_count, 1);
    assert_int_equal(counts->tasks, 5 * STEPS);
    assert_int_equal(counts->products, 2 * STEPS);
    double work = 2.0 * 2304 * 4096 * 768 + 2.0 * 48 * 1024 * 1024 * 64;
    assert_true(counts->work_flop == STEPS * work);
    assert_int_equal(counts->collectives[ST_LOG_ALL_REDUCE].count, STEPS);
    assert_true(counts->collectives[ST_LOG_ALL_REDUCE].bytes == STEPS * 2.0 * 7087872);
    assert_int_equal(counts->peak_bytes, UINT64_C(440401920) + UINT64_C(2386558976));
    assert_int_equal(counts->unknown, STEPS);
    assert_true(counts->unknown_ns > 0 && counts->unknown_ns < counts->busy_ns);
    assert_int_equal(counts->steps, STEPS);
    assert_int_equal(counts->step_tasks, 5);
}

/* Steps of a product and a kernel over `kib`, times `grows` from one to the next. */
static size_t steps_of(world *own, uint32_t kib, uint32_t grows, uint32_t more)
{
    log_maker log = begin_log(own->folder, 0, 1);
    put_stream(&log, ST_LOG_STREAM_CREATE, 1);
    for (int i = 0; i < STEPS; i++) {
        put_gemm(&log, 1, (const uint32_t[]){2304, 4096, 768}, 1, ST_LOG_BF16);
        put_kernel(&log, 1, NAME_KERNEL, kib);
        put_stream(&log, ST_LOG_STREAM_SYNC, 1);
        kib = kib * grows + more;
    }
    end_log(&log, 0);
    return import(own, &plain)->workers[0].steps;
}

/* Buckets of tokens have a few elements more or less in each step; twice as many are another one.
 */
TEST_WITH(steps_follow_their_tokens, make_world, drop_world)
{
    assert_int_equal(steps_of(*state, 48624, 1, 48), STEPS);
}

TEST_WITH(other_sizes_are_other_steps, make_world, drop_world)
{
    assert_int_equal(steps_of(*state, 48624, 2, 48), 0);
}

/* Training of `train` steps of three kernels and an optimizer, then 20 evaluations of one kernel.
 */
static const st_imported_worker *train_and_evaluate(world *own, int train, const char *ends_with)
{
    log_maker log = begin_log(own->folder, 0, 1);
    put_stream(&log, ST_LOG_STREAM_CREATE, 1);
    for (int i = 0; i < train + 20; i++) {
        for (int k = 0; k < (i < train ? 3 : 1); k++)
            put_kernel(&log, 1, NAME_KERNEL, 48624);
        if (i < train)
            put_kernel(&log, 1, NAME_OPTIMIZER, 2385);
        put_stream(&log, ST_LOG_STREAM_SYNC, 1);
    }
    end_log(&log, 0);
    st_import_request request = plain;
    request.step_kernel = ends_with;
    return &import(own, &request)->workers[0];
}

TEST_WITH(evaluations_are_no_steps, make_world, drop_world)
{
    const st_imported_worker *counts = train_and_evaluate(*state, 5, NULL);
    assert_int_equal(counts->steps, 5);
    assert_int_equal(counts->step_tasks, 4);
    assert_int_equal(counts->step_unknown, 0);
}

/* One step repeats nothing, and the evaluations are not it. */
TEST_WITH(a_single_step_has_no_time, make_world, drop_world)
{
    assert_int_equal(train_and_evaluate(*state, 1, NULL)->steps, 0);
}

TEST_WITH(users_name_what_ends_a_step, make_world, drop_world)
{
    assert_int_equal(train_and_evaluate(*state, 5, "gelu*")->steps, 20);
}

/* A program of passes, a letter each: forward and backward of a batch, s of a smaller one, and of
 * another network; their optimizers o, p; e an evaluation, which reads its loss. */
static const st_imported_worker *train(world *own, const char *passes)
{
    log_maker log = begin_log(own->folder, 0, 1);
    put_stream(&log, ST_LOG_STREAM_CREATE, 1);
    for (; *passes != '\0'; passes++) {
        const uint32_t rows = *passes == 's' ? 1536 : *passes == 'd' ? 238 : 4096;
        if (*passes == 'o' || *passes == 'p')
            put_kernel(&log, 1, NAME_OPTIMIZER, *passes == 'o' ? 2385 : 17);
        else
            put_gemm(&log, 1, (const uint32_t[]){2304, rows, 768}, 1, ST_LOG_BF16);
        if (strchr("fsd", *passes) != NULL)
            put_gemm(&log, 1, (const uint32_t[]){768, rows, 2304}, 1, ST_LOG_BF16);
        if (*passes == 'e')
            put_kernel(&log, 1, NAME_KERNEL, 5);
    }
    end_log(&log, 0);
    return &import(own, &plain)->workers[0];
}

TEST_WITH(evaluations_between_steps_are_none, make_world, drop_world)
{
    const st_imported_worker *counts = train(*state, "eefofofoeefofofoeefofofoeefofofoee");
    assert_int_equal(counts->step_tasks, 3);
    assert_int_equal(counts->steps, 3);
}

TEST_WITH(evaluations_after_every_second_step_are_none, make_world, drop_world)
{
    const st_imported_worker *counts = train(*state, "fofoefofoefofoefofoefofo");
    assert_int_equal(counts->step_tasks, 3);
    assert_int_equal(counts->steps, 2);
}

TEST_WITH(smaller_last_batches_are_no_steps, make_world, drop_world)
{
    assert_int_equal(train(*state, "fofofofosofofofofosofofofofoso")->step_tasks, 3);
}

TEST_WITH(fewer_last_micro_batches_are_no_steps, make_world, drop_world)
{
    assert_int_equal(train(*state, "ffffoffffofoffffoffffofoffffoffffofo")->step_tasks, 9);
}

TEST_WITH(two_networks_are_one_step, make_world, drop_world)
{
    assert_int_equal(train(*state, "fodpfodpfodpfodpfodp")->step_tasks, 6);
}

TEST_WITH(several_steps_of_a_critic_are_part_of_one, make_world, drop_world)
{
    assert_int_equal(train(*state, "dpdpdpfodpdpdpfodpdpdpfodpdpdpfo")->step_tasks, 12);
}

/* Streams, events, memory and communicators have no shape. */
TEST_WITH(tasks_alone_have_shapes, make_world, drop_world)
{
    static const st_log_kind others[] = {
        ST_LOG_MALLOC,      ST_LOG_FREE, ST_LOG_EVENT_RECORD, ST_LOG_EVENT_WAIT,
        ST_LOG_STREAM_SYNC, ST_LOG_COMM, ST_LOG_STREAM_CREATE};
    world *own = *state;
    st_task_shape shape;
    write_rank(own->folder, 0, 1, 0);
    const st_imported *imported = import(own, &plain);
    assert_int_equal(imported->run->shape_count, 4); /* two products, two kernels */
    for (size_t i = 0; i < ST_COUNT(others); i++) {
        const st_log_record record = {.kind = (uint8_t)others[i]};
        if (st_task_shape_of(&record, "call", &shape))
            fail_msg("a record of kind %d has a shape", (int)others[i]);
    }
}

/* One all-reduce of one step: a row for it, and none for what did not run. */
TEST_OF(rows_are_of_what_ran, world *own, make_world, drop_world)
{
    st_result result;
    st_buffer json = {0};
    log_maker log = begin_log(own->folder, 0, 1);
    put_comm(&log, 0xABCDEF12, 0, 1);
    put_stream(&log, ST_LOG_STREAM_CREATE, 1);
    put_stream(&log, ST_LOG_STREAM_CREATE, 2);
    put_step(&log, 0xABCDEF12);
    end_log(&log, 0);
    const st_imported *imported = import(own, &plain);
    assert_int_equal(imported->workers[0].operation_count, 3);
    st_imported_result(imported, own->arena, &result);
    st_result_write_json(&result, &json);
    assert_false(json.failed);
    const char *rows = strstr(json.data, "\"collectives\"");
    assert_non_null(rows);
    const char *row = strstr(rows, "\"operation\": \"all_reduce\", \"count\": 1,");
    if (row == NULL || strstr(row + 1, "\"operation\"") != NULL)
        fail_msg("expected one row, of one all-reduce: %s", rows);
    st_buffer_free(&json);
}

/* 48 MiB at the share of an A100's bandwidth, and the fixed time of a kernel. */
TEST_OF(kernels_have_the_sheets_times, world *own, make_world, drop_world)
{
    write_rank(own->folder, 0, 1, 0);
    const st_imported *imported = import(own, &(st_import_request){.gap_ns = 5000});
    const st_run *run = imported->run;
    size_t found = 0;
    for (size_t i = 0; i < run->shape_count; i++) {
        const st_price *price = &imported->shape_prices[i];
        if (strcmp(run->shapes[i].name, "gelu_forward") == 0) {
            assert_true(fabs(price->time_s - 2e-6 - 49152 * 1024.0 / (0.67 * 2039e9)) < 1e-12);
            assert_false(price->unknown);
            found++;
        }
        if (strncmp(run->shapes[i].name, "frobnicate_7", 12) == 0) {
            assert_true(price->unknown);
            found++;
        }
    }
    assert_int_equal(found, 2);
}

static void put_measured(log_maker *log, uint32_t thread, uint64_t length_ns)
{
    st_log_record *record = next_call(log, 0);
    record->measured =
        (st_log_measured){.correlation = 2385, .thread = thread, .length_ns = length_ns};
    st_log_commit(record, ST_LOG_MEASURED);
}

/* A broken log may give all calls one number: the tasks belong to the first of them alone. */
TEST_WITH(measured_tasks_have_one_call, make_world, drop_world)
{
    enum { CALLS = 40, TASKS = 30 };
    world *own = *state;
    log_maker log = begin_log(own->folder, 0, 1);
    for (size_t i = 0; i < CALLS; i++) {
        st_log_commit(next_call(&log, NAME_LAUNCH), ST_LOG_CALL);
        put_measured(&log, 7, 61);
    }
    for (size_t i = 0; i < TASKS; i++) {
        put_kernel(&log, 0, NAME_KERNEL, 3);
        put_measured(&log, 0, 2385);
    }
    end_log(&log, 0);
    const st_imported *imported = import(own, &plain);
    assert_int_equal(imported->workers[0].tasks, TASKS);
    assert_int_equal(imported->run->lost_tasks, 0);
}

TEST_OF(measured_times_are_held_against_an_hour, world *own, make_world, drop_world)
{
    st_imported *imported = NULL;
    const st_import_request request = {.folder = own->folder, .prices = {.gpu = "a100-sxm-80gb"}};
    log_maker log = begin_log(own->folder, 0, 1);
    put_kernel(&log, 0, NAME_KERNEL, 3);
    put_measured(&log, 0, UINT64_C(3600000000001));
    end_log(&log, 0);
    assert_int_equal(st_imported_make(own->paths, &request, own->arena, &imported, own->errors),
                     ST_ERR_VALUE);
    assert_non_null(strstr(said(own->errors), "measured time in the log is out of range"));
}

TEST_OF(streams_wait_for_events, world *own, make_world, drop_world)
{
    write_rank(own->folder, 0, 1, 0);
    const st_imported *imported = import(own, &plain);
    const st_walk_worker *walked = &imported->walk->workers[0];
    for (size_t i = 0; i < walked->task_count; i += 5) {
        const st_walk_task *task = &walked->tasks[i];
        assert_true(task[1].start_ns >= task[0].end_ns); /* one stream */
        assert_true(task[2].start_ns >= task[1].end_ns); /* the collective waits for the event */
        assert_true(task[3].start_ns >= task[1].end_ns);
        assert_true(task[4].start_ns >= task[3].end_ns && task[4].start_ns >= task[2].end_ns);
        if (i + 5 < walked->task_count) /* the host waited for the stream */
            assert_true(task[5].start_ns >= task[4].end_ns + 4000);
    }
}

/* The step of a rank that comes later delays the other's collective. */
TEST_OF(ranks_meet, world *own, make_world, drop_world)
{
    write_rank(own->folder, 0, 2, 0);
    log_maker late = begin_log(own->folder, 1, 2);
    put_comm(&late, 0xABCDEF12, 1, 2);
    put_stream(&late, ST_LOG_STREAM_CREATE, 1);
    put_stream(&late, ST_LOG_STREAM_CREATE, 2);
    for (int i = 0; i < STEPS; i++) {
        put_gemm(&late, 1, (const uint32_t[]){8192, 8192, 8192}, 1, ST_LOG_BF16);
        put_step(&late, 0xABCDEF12);
    }
    end_log(&late, 0);
    const st_imported *imported = import(own, &plain);
    const st_imported_worker *first = &imported->workers[0];
    const st_imported_worker *second = &imported->workers[1];
    assert_int_equal(imported->run->worker_count, 2);
    assert_int_equal(imported->walk->unmatched, 0);
    assert_true(first->waiting_ns > 7000000);
    assert_true(second->waiting_ns < first->waiting_ns / 10);
    assert_true(llabs(first->step_ns - second->step_ns) < 100000);
    assert_true(first->collectives[ST_LOG_ALL_REDUCE].time_ns > 0);
    assert_int_equal(first->collectives[ST_LOG_ALL_REDUCE].time_ns,
                     second->collectives[ST_LOG_ALL_REDUCE].time_ns);
}

/* Ranks with the same hash are read once, with the same result. */
TEST_OF(equal_ranks_are_read_once, world *own, make_world, drop_world)
{
    for (int rank = 0; rank < 6; rank++)
        write_rank(own->folder, rank, 6, 0x2385);
    st_import_request each = plain;
    each.run.each = true;
    const st_imported *once = import(own, &plain);
    assert_null(strstr(said(own->errors), "communicators"));
    const st_imported *all = import(own, &each);
    assert_int_equal(once->run->worker_count, 1);
    assert_int_equal(once->run->workers[0].rank_count, 6);
    assert_int_equal(all->run->worker_count, 6);
    assert_int_equal(once->workers[0].step_ns, all->workers[5].step_ns);
    assert_int_equal(once->workers[0].waiting_ns, 0);
}

/* Groups of three of six ranks may be neighbours or every second rank: one log does not say which.
 */
TEST_OF(equal_ranks_leave_distances_open, world *own, make_world, drop_world)
{
    for (int rank = 0; rank < 6; rank++) {
        log_maker maker = begin_log(own->folder, rank, 6);
        put_comm(&maker, 0xABCDEF12 + (uint64_t)rank % 2, rank / 2, 3);
        put_stream(&maker, ST_LOG_STREAM_CREATE, 1);
        put_stream(&maker, ST_LOG_STREAM_CREATE, 2);
        for (int i = 0; i < 3; i++)
            put_step(&maker, 0xABCDEF12 + (uint64_t)rank % 2);
        end_log(&maker, 0x2385);
    }
    st_import_request each = plain;
    each.run.each = true;
    const st_imported *all = import(own, &each);
    assert_int_equal(all->groups->groups[0].stride, 2);
    assert_null(strstr(said(own->errors), "communicators"));
    (void)import(own, &plain);
    assert_non_null(strstr(said(own->errors), "1 communicators fit several distances between"));
}

/* One rank represents all 64; the reduction goes over 64. */
TEST_OF(a_rank_stands_for_a_world, world *own, make_world, drop_world)
{
    write_rank(own->folder, 17, 64, 0);
    const st_imported *imported = import(own, &plain);
    assert_int_equal(imported->run->world, 64);
    assert_int_equal(imported->run->assumed, 63);
    assert_int_equal(imported->run->workers[0].rank_count, 64);
    assert_int_equal(imported->groups->groups[0].ranks, 64);
    assert_int_equal(imported->groups->groups[0].stride, 1);
    assert_int_equal(imported->walk->unmatched, 0);
    assert_non_null(strstr(said(own->errors), "1 communicators have unread ranks"));
}

/* A pipeline of two stages, each by one rank of four: sends meet receives. */
TEST_OF(stages_send_and_receive, world *own, make_world, drop_world)
{
    for (int stage = 0; stage < 2; stage++) {
        log_maker maker = begin_log(own->folder, 4 * stage, 8);
        put_comm(&maker, 0x77 + (uint64_t)stage, stage, 2);
        for (int i = 0; i < STEPS; i++) {
            if (stage == 1)
                put_pair(&maker, 0x78, 1, ST_LOG_RECEIVE, 0);
            put_gemm(&maker, 1, (const uint32_t[]){4096, 4096, 4096}, 1, ST_LOG_BF16);
            if (stage == 0)
                put_pair(&maker, 0x77, 1, ST_LOG_SEND, 1);
        }
        end_log(&maker, 0);
    }
    const st_imported *imported = import(own, &plain);
    const st_walk_worker *first = &imported->walk->workers[0];
    const st_walk_worker *second = &imported->walk->workers[1];
    assert_int_equal(imported->run->assumed, 6);
    assert_int_equal(imported->groups->groups[0].stride, 4);
    assert_int_equal(imported->walk->unmatched, 0);
    assert_true(second->tasks[1].start_ns >= first->tasks[1].end_ns);
    assert_true(imported->workers[1].waiting_ns > 0);
    assert_true(first->tasks[1].end_ns <= second->tasks[0].end_ns);
}

/* Some never come: the others go on, with a warning. */
TEST_OF(missing_ranks_are_told, world *own, make_world, drop_world)
{
    write_rank(own->folder, 0, 2, 0);
    log_maker short_one = begin_log(own->folder, 1, 2);
    put_comm(&short_one, 0xABCDEF12, 1, 2);
    put_step(&short_one, 0xABCDEF12);
    st_log_close(short_one.writer);
    const st_imported *imported = import(own, &plain);
    assert_int_equal(imported->walk->unmatched, 2);
    assert_false(imported->run->workers[1].whole);
    const char *text = said(own->errors);
    assert_non_null(strstr(text, "2 collectives lack ranks"));
    assert_non_null(strstr(text, "truncated log"));
}

/* A copy of a run that was not finished: its summary ends in the middle, or counts more logs. */
TEST_OF(copies_in_part_are_reported, world *own, make_world, drop_world)
{
    write_rank(own->folder, 0, 2, 0);
    write_rank(own->folder, 1, 2, 0);
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/run.json", own->folder);
    const char *const texts[] = {"{\"logs\": 2, \"calls\": [3]}\n", "{\n  \"logs\": 2,\n  \"ca",
                                 "{\"calls\": [2, {}], \"logs\": 3}"};
    const char *const messages[] = {"", "run.json:3:", "2 of the run's 3 logs"};
    for (size_t i = 0; i < 3; i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_true(fputs(texts[i], file) >= 0);
        assert_int_equal(fclose(file), 0);
        st_errors_clear(own->errors);
        (void)import(own, &plain);
        const char *text = said(own->errors);
        assert_non_null(strstr(text, messages[i]));
        assert_int_equal(strstr(text, "whole folder") != NULL, i > 0);
    }
    (void)remove(path);
}

/* ---- results ---- */

static st_imported_operation told_operations[] = {{"product", 9, 2.385e9, 3000000, false},
                                                  {"strange", 3, 0, 500000, true}};

/* Two workers with different numbers; the second has no steps. */
static void fill_told(st_imported *imported)
{
    imported->workers[0] =
        (st_imported_worker){.tasks = 17,
                             .products = 5,
                             .work_flop = 2.385e9,
                             .busy_ns = 3000000,
                             .waiting_ns = 385000,
                             .unknown = 3,
                             .unknown_ns = 750000,
                             .bounded = 2,
                             .bounded_ns = 400000,
                             .refined = 6,
                             .refined_ns = 71000,
                             .collectives[ST_LOG_ALL_GATHER] = {38, 2385000, 450000},
                             .operations = told_operations,
                             .operation_count = 2,
                             .peak_bytes = UINT64_C(403701760),
                             .peak_ns = 123,
                             .length_ns = 5000000,
                             .steps = 3,
                             .step_ns = 1238600};
    imported->workers[1] = (st_imported_worker){.tasks = 4,
                                                .busy_ns = 1000000,
                                                .unknown = 1,
                                                .unknown_ns = 250000,
                                                .bounded = 7,
                                                .bounded_ns = 600000,
                                                .refined = 1,
                                                .refined_ns = 5000};
}

static const char *told_as(const st_imported *imported, st_arena *arena, st_form form)
{
    static char text[65536];
    static const st_paint no_paint = {false, 0};
    st_result result;
    st_buffer buffer = {0};
    st_imported_result(imported, arena, &result);
    st_result_write(&result, form, &no_paint, &buffer);
    (void)snprintf(text, sizeof text, "%s", st_buffer_read(&buffer));
    st_buffer_free(&buffer);
    return text;
}

TEST_WITH(imports_are_told, make_world, drop_world)
{
    static const char *const text[] = {
        "2 ranks, 2 recorded, 2 distinct, 0 assumed identical\n",
        "4 of 21 GPU tasks are unknown, 25.0 % of their time\n",
        "9 more, 25.0 % of the time, are upper bounds because their sizes are unknown",
        "step: 1.239 ms\n",
        "  strange (unknown)      3  ",
        "  all_gather            38  ",
        "  1.239 ms  3.000 ms  0.385 ms  385 MiB   25.0 %\n",
    };
    static const char *const json[] = {
        "\"tasks\": 21,\n  \"unknown\": 4,\n  \"unknown_ns\": 1000000,\n  \"at_most\": 9,\n  "
        "\"at_most_ns\": 1000000,\n  \"refined\": 7,\n  \"refined_ns\": 76000,\n  "
        "\"busy_ns\": 4000000,\n  \"step_ns\": 1238600,",
        "\"steps\": 3,\n      \"step_ns\": 1238600,\n      \"peak_bytes\": 403701760,\n      "
        "\"peak_at_ns\": 123,",
        "\"steps\": 0,\n      \"step_ns\": null,",
        "{\"operation\": \"strange\", \"known\": false, \"count\": 3, \"time_ns\": 500000, "
        "\"flop\": 0}",
        "\"collectives\": [\n        {\"operation\": \"all_gather\", \"count\": 38, \"time_ns\": "
        "450000, \"bytes\": 2385000}\n      ]",
    };
    world *own = *state;
    write_rank(own->folder, 0, 2, 0);
    write_rank(own->folder, 1, 2, 0);
    st_imported *imported = import(own, &plain);
    fill_told(imported);
    for (size_t i = 0; i < COUNT(text); i++)
        assert_contains(told_as(imported, own->arena, ST_FORM_TEXT), text[i]);
    for (size_t i = 0; i < COUNT(json); i++)
        assert_contains(told_as(imported, own->arena, ST_FORM_JSON), json[i]);
    imported->workers[0] = imported->workers[1] = (st_imported_worker){.tasks = 4};
    const char *none = told_as(imported, own->arena, ST_FORM_TEXT);
    assert_contains(none, "0 of 8 GPU tasks are unknown, 0.0 % of their time\n");
    assert_null(strstr(none, "step: "));
    assert_null(strstr(none, " more, "));
    assert_contains(told_as(imported, own->arena, ST_FORM_JSON), "\n  \"step_ns\": null,");
}

TEST_WITH(gap_and_costs_are_taken, make_world, drop_world)
{
    static const char costs[] = "call,time_us\ncublasGemmEx,7.25\ncuda*,2.5\n";
    world *own = *state;
    char file[128];
    (void)snprintf(file, sizeof file, "%s/costs.csv", own->folder);
    FILE *stream = fopen(file, "w");
    assert_non_null(stream);
    assert_true(fputs(costs, stream) >= 0 && fclose(stream) == 0);
    write_rank(own->folder, 0, 1, 0);
    st_import_request request = plain;
    request.costs = file;
    const st_imported *imported = import(own, &request);
    const st_walk_worker *walked = &imported->walk->workers[0];
    /* comm, two streams, malloc, then the first product */
    assert_int_equal(walked->worker->calls[4].begin_ns - walked->end_ns[3], 5000);
    assert_int_equal(walked->end_ns[4] - walked->worker->calls[4].begin_ns, 7250);
    assert_int_equal(walked->end_ns[6] - walked->worker->calls[6].begin_ns, 2500);
    request.gap_ns = -1;
    request.costs = NULL;
    imported = import(own, &request);
    walked = &imported->walk->workers[0];
    assert_int_equal(walked->worker->calls[4].begin_ns - walked->end_ns[3], 450);
}

/* What is written reads back: every task with its times, stream, correlation and collective. */
TEST_OF(traces_read_back, world *own, make_world, drop_world)
{
    st_buffer text = {0};
    st_trace *trace = NULL;
    write_rank(own->folder, 0, 2, 0);
    write_rank(own->folder, 1, 2, 0);
    const st_imported *imported = import(own, &plain);
    st_imported_write(imported, 1, &text);
    assert_int_equal(
        st_trace_read_memory("t.json", text.data, text.length, NULL, &trace, own->errors), ST_OK);
    const st_walk_worker *walked = &imported->walk->workers[1];
    assert_int_equal(trace->rank, 1);
    assert_int_equal(trace->world_size, 2);
    assert_int_equal(trace->kind_counts[ST_TRACE_KERNEL], walked->task_count);
    assert_int_equal(trace->kind_counts[ST_TRACE_STEP], STEPS);
    size_t found = 0;
    for (size_t i = 0; i < walked->task_count; i++) {
        const st_walk_task *task = &walked->tasks[i];
        for (size_t k = 0; k < trace->event_count; k++) {
            const st_trace_event *event = &trace->events[k];
            if (event->kind != ST_TRACE_KERNEL ||
                st_trace_correlation(trace, event) != (int64_t)task->call + 1)
                continue;
            assert_int_equal(event->start_ns, task->start_ns);
            assert_int_equal(event->duration_ns, task->end_ns - task->start_ns);
            assert_int_equal(trace->tracks[event->track].number, walked->lanes[task->lane].stream);
            found++;
        }
    }
    assert_int_equal(found, walked->task_count);
    assert_int_equal(trace->collective_count, STEPS);
    assert_int_equal(trace->collectives[0].in_elements, 7087872);
    assert_int_equal(trace->collectives[0].group_size, 2);
    assert_int_equal(trace->wait_count, 2 * STEPS);
    st_trace_destroy(trace);
    st_buffer_free(&text);
}

TEST(names_of_kernels_are_read)
{
    static const char *const names[][2] = {
        {"_Z12gelu_forwardPfPKfi", "gelu_forward"},
        {"_ZN5thing12frobnicate_7I6half_tEEvPT_", "frobnicate_7<half_t>"},
        {"triton_poi_fused_0", "triton_poi_fused_0"},
        {"_Z99short", "_Z99short"},
    };
    st_arena *arena = st_arena_create();
    st_kernel_name name;
    double value = 0;
    (void)state;
    for (size_t i = 0; i < ST_COUNT(names); i++) {
        st_kernel_name_read(names[i][0], arena, &name);
        assert_string_equal(name.name, names[i][1]);
    }
    st_kernel_name_read("_Z12gelu_forwardPfPKfi", arena, &name);
    assert_int_equal(name.parameter_count, 3);
    assert_true(name.parameters[0].pointer && !name.parameters[0].constant);
    assert_true(name.parameters[1].pointer && name.parameters[1].constant);
    assert_int_equal(name.parameters[1].width, 4);
    assert_false(name.parameters[2].pointer);
    const char *text =
        "flash_fwd_kernel<a::Flash_fwd_kernel_traits<64, 128, c10::Half>, (bool)1, 2385ul>";
    assert_true(st_kernel_template(text, "Flash_fwd_kernel_traits", 1, &value));
    assert_float_equal(value, 128, 0);
    assert_true(st_kernel_template(text, "Flash_fwd_kernel_traits", 2, &value));
    assert_float_equal(value, 2, 0);
    assert_true(st_kernel_template(text, "", 1, &value));
    assert_float_equal(value, 1, 0);
    assert_true(st_kernel_template(text, "", 2, &value));
    assert_float_equal(value, 2385, 0);
    assert_false(st_kernel_template(text, "", 3, &value));
    assert_false(st_kernel_template(text, "Other", 0, &value));
    st_arena_destroy(arena);
}

/* Calls that are alike in all but their times share what the log has of them. */
TEST_WITH(equal_calls_share_their_record, make_world, drop_world)
{
    world *own = *state;
    write_rank(own->folder, 0, 1, 0);
    const st_run *run = import(own, &plain)->run;
    const st_worker *worker = &run->workers[0];
    size_t alike = 0;
    size_t shared = 0;
    for (size_t i = 0; i < worker->call_count; i++)
        for (size_t j = 0; j < i; j++) {
            bool same = memcmp(worker->calls[i].record, worker->calls[j].record,
                               sizeof(st_log_record)) == 0;
            alike += same;
            shared += same && worker->calls[i].record == worker->calls[j].record;
        }
    assert_true(alike > 0);
    assert_int_equal(shared, alike);
    assert_true(run->record_count < worker->call_count);
    assert_true(sizeof(st_worker_call) < sizeof(st_log_record));
}

/* What rules make of a launch: numbers of a structure, whole numbers, one size of it. */
typedef struct rule_case {
    const char *name;
    const char *operation;
    uint32_t words[6]; /* of the first structure; all 0: it has none */
    int64_t number;
    size_t key; /* st_size_key */
    double size;
} rule_case;

#define FLASH3_TYPES                                                                               \
    "cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, cute::tuple<cute::C<128>, cute::C<128>, "   \
    "cute::C<64> >, 64, cutlass::bfloat16_t, float, cutlass::arch::Sm90, "
#define FLASH3_BACK                                                                                \
    "flash::enable_sm90<flash::FlashAttnBwdSm90<flash::CollectiveMainloopBwdSm90<2, 2, "           \
    "2, " FLASH3_TYPES

TEST_WITH(rules_read_structures, make_world, drop_world)
{
    static const rule_case cases[] = {
        {"device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<"
         "flash::CollectiveMainloopFwdSm90<2, " FLASH3_TYPES "true, false, false> > >",
         "attention",
         {11, 22, 2385, 96, 7, 3},
         0,
         ST_SIZE_SEQUENCE,
         2385},
        {"device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<"
         "flash::CollectiveMainloopFwdSm90<2, " FLASH3_TYPES "false, false, false> > >",
         "attention_full",
         {11, 22, 2385, 96, 7, 3},
         0,
         ST_SIZE_BATCH,
         3},
        {"device_kernel<" FLASH3_BACK "true, false, false> > >",
         "attention_backward",
         {2385, 96, 7, 3, 5, 6},
         0,
         ST_SIZE_HEADS,
         7},
        {"device_kernel<" FLASH3_BACK "false, true, false> > >",
         "attention_full_backward",
         {2385, 96, 7, 3, 5, 6},
         0,
         ST_SIZE_HEAD_DIM,
         96},
        {"device_kernel<flash::FlashAttnBwdPreprocess<cute::tuple<cute::C<128> > > >",
         "memory",
         {11, 22, 2385, 96, 7, 3},
         0,
         ST_SIZE_BYTES,
         8.0 * 2385 * 96 * 7 * 3},
        {"device_kernel<flash::FlashAttnBwdPostprocessConvertdQ<cute::tuple<cute::C<128> > > >",
         "memory",
         {11, 22, 2385 * 96, 7, 3, 9},
         0,
         ST_SIZE_BYTES,
         6.0 * 2385 * 96 * 7 * 3},
        {"global_sum_single_block_kernel<float>", "memory", {0}, 2385, ST_SIZE_BYTES, 4.0 * 2385},
        {"triu_tril_kernel<bool, int, false, 8, false>",
         "memory",
         {0},
         5,
         ST_SIZE_BYTES,
         2.0 * 23 * 256 * 8},
    };
    world *own = *state;
    const st_rules *rules = NULL;
    st_launch_sizer *sizer = NULL;
    assert_int_equal(st_rules_load(own->paths, ST_RULES_USUAL, own->arena, &rules, own->errors),
                     ST_OK);
    assert_int_equal(st_launch_sizer_open(rules, own->arena, &sizer, own->errors), ST_OK);
    for (size_t i = 0; i < ST_COUNT(cases) && sizer != NULL; i++) {
        const rule_case *one = &cases[i];
        char hex[64] = "";
        for (size_t j = 0; j < 4 * ST_COUNT(one->words); j++)
            (void)snprintf(hex + 2 * j, 3, "%02x", one->words[j / 4] >> (8 * (j % 4)) & 255);
        st_launch_facts facts = {.name = one->name,
                                 .rule = st_rules_find(rules, ST_FORM_KERNEL, one->name),
                                 .grid = {23, 1, 1},
                                 .threads = 256,
                                 .numbers = {one->number},
                                 .number_count = 1,
                                 .widths = {4, 4},
                                 .pointer_count = 2,
                                 .structures = {hex},
                                 .structure_count = one->words[0] > 0,
                                 .at_most = true,
                                 .reached_bytes = 1e9};
        st_task_shape shape = {.form = ST_FORM_KERNEL, .name = one->name};
        assert_non_null(facts.rule);
        assert_string_equal(rules->operations[facts.rule->operation].name, one->operation);
        assert_true(st_launch_size(sizer, &facts, &shape));
        assert_float_equal(shape.sizes[one->key], one->size, 0);
        assert_false(shape.at_most); /* only what pointers reach may be less */
    }
}

TEST_WITH(kernels_of_ggml_are_known, make_world, drop_world)
{
    static const char *const names[] = {
        "soft_max_f32<true, 0, 0, float>", "mul_mat_f<__half2, 32, 5, 1, false>",
        "cpy_scalar_contiguous<float, __half>", "void k_get_rows_float<__half, float>"};
    const world *own = *state;
    const st_rules *rules = NULL;
    assert_int_equal(st_rules_load(own->paths, ST_RULES_USUAL, own->arena, &rules, own->errors),
                     ST_OK);
    for (size_t i = 0; i < ST_COUNT(names); i++) {
        const st_rule *rule = st_rules_find(rules, ST_FORM_KERNEL, names[i]);
        assert_non_null(rule);
        assert_false(rule->unknown);
    }
}

/* PyTorch's lists of tensors, with and without a number for each: addresses, elements, the numbers,
 * and for each block its tensor and its chunk of that. */
TEST_WITH(lists_of_tensors_are_counted, make_world, drop_world)
{
    enum { BYTES = 4096, BLOCKS = 320 };
    static const struct {
        const char *name;
        size_t lists, listed, scalar;
    } cases[] = {
        {"multi_tensor_apply_kernel<at::native::TensorListMetadata<1>, at::F<float>>", 1, 110, 0},
        {"multi_tensor_apply_kernel<at::native::TensorListScalarListMetadata<float, 1>, "
         "at::F<float>>",
         1, 96, 4},
        {"multi_tensor_apply_kernel<at::native::TensorListScalarListMetadata<double, 3>, "
         "at::F<float>>",
         3, 48, 8}};
    static const uint64_t elements[] = {70001, 2385};
    static const uint8_t tensors[] = {0, 0, 1};
    static const uint32_t chunks[] = {0, 1, 0};
    world *own = *state;
    const st_rules *rules = NULL;
    st_launch_sizer *sizer = NULL;
    assert_int_equal(st_rules_load(own->paths, ST_RULES_USUAL, own->arena, &rules, own->errors),
                     ST_OK);
    assert_int_equal(st_launch_sizer_open(rules, own->arena, &sizer, own->errors), ST_OK);
    for (size_t i = 0; i < ST_COUNT(cases) && sizer != NULL; i++) {
        unsigned char bytes[BYTES];
        char hex[2 * BYTES + 1];
        unsigned char *at = bytes + 8 * cases[i].listed * cases[i].lists;
        memset(bytes, 0xd5, sizeof bytes);
        memcpy(at, elements, sizeof elements);
        at += (8 + cases[i].scalar) * cases[i].listed;
        memcpy(at, tensors, sizeof tensors);
        memcpy(at + BLOCKS, chunks, sizeof chunks);
        for (size_t j = 0; j < sizeof bytes; j++)
            (void)snprintf(hex + 2 * j, 3, "%02x", bytes[j]);
        const st_launch_facts facts = {.name = cases[i].name,
                                       .rule = st_rules_find(rules, ST_FORM_KERNEL, cases[i].name),
                                       .grid = {ST_COUNT(tensors), 1, 1},
                                       .threads = 512,
                                       .structures = {hex},
                                       .structure_count = 1};
        st_task_shape shape = {.form = ST_FORM_KERNEL, .name = cases[i].name};
        assert_true(st_launch_size(sizer, &facts, &shape));
        assert_true(shape.sizes[ST_SIZE_BYTES] ==
                    4.0 * (double)(cases[i].lists + 1) * (70001 + 2385));
    }
}

enum { NAME = 13 }; /* characters of "a100-sxm-80gb" */

/* Puts another name of the device in the place of one that is as long. */
static void rename_device(const world *own, const char *before, const char *device)
{
    char path[128];
    char bytes[4096];
    (void)snprintf(path, sizeof path, "%s/100-100%s", own->folder, ST_LOG_SUFFIX);
    FILE *stream = fopen(path, "r+b");
    assert_non_null(stream);
    size_t count = fread(bytes, 1, sizeof bytes, stream);
    size_t at = 0;
    while (at + NAME <= count && memcmp(bytes + at, before, NAME) != 0)
        at++;
    assert_true(at + NAME <= count);
    assert_int_equal(fseek(stream, (long)at, SEEK_SET), 0);
    assert_int_equal(fwrite(device, 1, NAME, stream), NAME);
    assert_int_equal(fclose(stream), 0);
}

/* A log may say anything: no file is read for the name of a device, and none is needed. */
TEST_WITH(devices_are_names, make_world, drop_world)
{
    static const char *const devices[] = {"a100-sxm-80gb", "../gpus/a.yml", "\0............",
                                          "a200-sxm-80gb"};
    world *own = *state;
    st_imported *imported = NULL;
    const st_import_request request = {.folder = own->folder};
    write_rank(own->folder, 0, 1, 0);
    for (size_t i = 1; i < ST_COUNT(devices); i++) {
        rename_device(own, devices[i - 1], devices[i]);
        st_errors_clear(own->errors);
        st_status status =
            st_imported_make(own->paths, &request, own->arena, &imported, own->errors);
        assert_int_equal(status, i < 3 ? ST_ERR_VALUE : ST_ERR_NAME);
        assert_non_null(
            strstr(said(own->errors), i < 3 ? "does not name the recorded GPU"
                                            : "no file for the GPU 'a200-sxm-80gb'; did you mean"));
    }
}

TEST_OF(faults_are_told, world *own, make_world, drop_world)
{
    st_imported *imported = NULL;
    st_import_request request = {.folder = own->folder};
    assert_int_equal(st_imported_make(own->paths, &request, own->arena, &imported, own->errors),
                     ST_ERR_VALUE);
    assert_non_null(strstr(said(own->errors), "contains no recorder logs"));
    write_rank(own->folder, 3, 2, 0);
    request.run.world = 2;
    assert_int_equal(st_imported_make(own->paths, &request, own->arena, &imported, own->errors),
                     ST_ERR_VALUE);
    assert_non_null(strstr(said(own->errors), "rank 3 is out of range in a run of 2 ranks"));
    request.run.world = 4;
    request.prices.gpu = "a100-smx";
    assert_int_not_equal(st_imported_make(own->paths, &request, own->arena, &imported, own->errors),
                         ST_OK);
    assert_non_null(strstr(said(own->errors), "a100-smx"));
}

/* Whose logs sort first: they would take the places of others. */
TEST_OF(processes_without_a_rank_take_free_places, world *own, make_world, drop_world)
{
    st_imported *imported = NULL;
    const st_import_request request = {.folder = own->folder, .run.each = true};
    for (int rank = -1; rank < 2; rank++) {
        log_maker log = begin_log(own->folder, rank, -1);
        put_gemm(&log, 0, (const uint32_t[]){2, 3, (uint32_t)(rank + 7)}, 1, ST_LOG_BF16);
        end_log(&log, 0);
    }
    assert_int_equal(st_imported_make(own->paths, &request, own->arena, &imported, own->errors),
                     ST_OK);
    assert_int_equal(imported->run->world, 3);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(imported->run->workers[imported->run->worker_of[i]].rank, i);
    assert_int_equal(imported->run->worker_of[2], 0);
}

TESTS(record_price);

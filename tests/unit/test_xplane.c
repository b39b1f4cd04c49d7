/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of XLA written by hand: devices, launches, steps, and what is refused. */
#include "base_support.h"

#include "base/protobuf.h"
#include "trace/store.h"
#include "trace/bytes.h"

#include <string.h>
#include <unistd.h>

typedef struct fixture {
    st_errors *errors;
    st_store *store;
    st_buffer space;
    st_buffer plane;
} fixture;

static int setup(void **state)
{
    fixture *self = calloc(1, sizeof *self);
    self->errors = st_errors_create();
    *state = self;
    return 0;
}

static int teardown(void **state)
{
    fixture *self = *state;
    st_store_destroy(self->store);
    st_buffer_free(&self->space);
    st_buffer_free(&self->plane);
    st_errors_destroy(self->errors);
    free(self);
    return 0;
}

/* Ends a message that was written into `inner` as a field of `outer`. */
static void nest(st_buffer *outer, uint32_t field, st_buffer *inner)
{
    st_proto_bytes(outer, field, inner->data != NULL ? inner->data : "", inner->length);
    st_buffer_free(inner);
}

static void add_name(fixture *self, uint32_t field, uint64_t key, const char *name)
{
    st_buffer entry = {0};
    st_buffer value = {0};
    st_proto_number(&value, 1, key);
    st_proto_text(&value, 2, name);
    st_proto_number(&entry, 1, key);
    nest(&entry, 2, &value);
    nest(&self->plane, field, &entry);
}

typedef struct made_event {
    const char *line;
    uint64_t line_id;
    uint64_t metadata;
    uint64_t start_ns;
    uint64_t duration_ns;
    uint64_t stat; /* of the plane; 0: none */
    uint64_t value;
} made_event;

/* The line begins at `line_ns`; the event's times are given in picoseconds. */
static void add_event_of(fixture *self, const made_event *event, uint64_t line_ns,
                         const uint64_t *times_ps)
{
    st_buffer line = {0};
    st_buffer made = {0};
    st_buffer stat = {0};
    st_proto_number(&made, 1, event->metadata);
    st_proto_number(&made, 2, times_ps[0]);
    st_proto_number(&made, 3, times_ps[1]);
    if (event->stat != 0) {
        st_proto_number(&stat, 1, event->stat);
        st_proto_number(&stat, 3, event->value);
        nest(&made, 4, &stat);
    }
    st_proto_number(&line, 1, event->line_id);
    st_proto_text(&line, 2, event->line);
    st_proto_number(&line, 3, line_ns);
    nest(&line, 4, &made);
    nest(&self->plane, 3, &line);
}

static void add_event(fixture *self, const made_event *event)
{
    const uint64_t times_ps[] = {event->start_ns * 1000, event->duration_ns * 1000};
    add_event_of(self, event, UINT64_C(1700000000000002385), times_ps);
}

static void end_plane(fixture *self, const char *name)
{
    st_proto_text(&self->plane, 2, name);
    nest(&self->space, 1, &self->plane);
}

/* Two GPUs of one process: each ran one kernel, a thread launched both. */
static void make_space(fixture *self)
{
    for (uint64_t device = 0; device < 2; device++) {
        add_name(self, 4, 71, device == 0 ? "ampere_sgemm_128x64_nn" : "loop_add_fusion");
        add_name(self, 5, 5, "correlation_id");
        add_event(self, &(made_event){"Stream #13(Compute)", 13, 71, 9385 + device, 2385, 5,
                                      31 + device});
        add_event(self, &(made_event){"XLA Ops", 20, 71, 9385, 2385, 0, 0});
        end_plane(self, device == 0 ? "/device:GPU:0" : "/device:GPU:1");
    }
    add_name(self, 4, 8, "cuLaunchKernel");
    add_name(self, 4, 9, "train");
    add_name(self, 5, 2, "step_num");
    add_name(self, 5, 3, "correlation_id");
    add_event(self, &(made_event){"main", 77, 8, 3385, 1238, 3, 31});
    add_event(self, &(made_event){"main", 77, 8, 5385, 1385, 3, 32});
    add_event(self, &(made_event){"main", 77, 9, 2385, 9999, 2, 17});
    end_plane(self, "/host:CPU");
}

static st_status read_part(fixture *self, size_t length, size_t part, bool partial)
{
    const st_trace_text text = {self->space.data, length};
    st_store_destroy(self->store);
    self->store = NULL;
    st_store_create("a.xplane.pb", NULL, &self->store);
    st_status status = st_xplane_read_memory(&text, &(st_trace_part){"a.xplane.pb", part}, partial,
                                             self->store, self->errors);
    if (status == ST_OK)
        st_store_finish(self->store);
    return status;
}

static const char *name_of(const fixture *self, size_t event)
{
    return self->store->trace.names[self->store->trace.events[event].name];
}

TEST_OF(devices_are_ranks, fixture *self, setup, teardown)
{
    make_space(self);
    for (size_t part = 0; part < 2; part++) {
        assert_int_equal(read_part(self, self->space.length, part, false), ST_OK);
        const st_trace *trace = &self->store->trace;
        assert_int_equal(trace->event_count, 3);
        assert_string_equal(name_of(self, 0), "train#17");
        assert_int_equal(trace->events[0].kind, ST_TRACE_STEP);
        assert_int_equal(trace->events[1].kind, ST_TRACE_CALL);
        assert_int_equal(trace->events[1].link, 31 + part);
        assert_int_equal(trace->events[1].start_ns, part == 0 ? 3385 : 5385);
        assert_int_equal(trace->events[2].kind, ST_TRACE_KERNEL);
        assert_int_equal(trace->events[2].duration_ns, 2385);
        assert_int_equal(trace->events[2].start_ns, 9385 + part);
        assert_string_equal(name_of(self, 2),
                            part == 0 ? "ampere_sgemm_128x64_nn" : "loop_add_fusion");
        assert_int_equal(trace->base_ns, 1700000000000002385);
    }
}

TEST_OF(operations_of_a_tpu_are_tasks, fixture *self, setup, teardown)
{
    add_name(self, 4, 6, "%convolution.5");
    add_event(self, &(made_event){"XLA Ops", 2, 6, 1238, 2385, 0, 0});
    add_event(self, &(made_event){"Steps", 1, 6, 1238, 9385, 0, 0});
    end_plane(self, "/device:TPU:0");
    add_event(self, &(made_event){"XLA Ops", 2, 6, 1238, 2385, 0, 0});
    end_plane(self, "/device:TPU:0 SparseCore 1");
    assert_int_equal(read_part(self, self->space.length, 0, false), ST_OK);
    assert_int_equal(self->store->trace.event_count, 1);
    assert_int_equal(self->store->trace.kind_counts[ST_TRACE_KERNEL], 1);
}

/* A file that ends too soon is told, or ends between two planes. */
TEST_OF(cut_files_are_refused, fixture *self, setup, teardown)
{
    make_space(self);
    size_t read = 0;
    for (size_t length = 0; length < self->space.length; length++)
        read += read_part(self, length, 0, false) == ST_OK ? 1 : 0;
    assert_int_equal(read, 2);
    assert_true(st_errors_count(self->errors, ST_SEVERITY_ERROR) > 100);
}

static void assert_refused(fixture *self, st_status status, const char *expected)
{
    assert_int_equal(read_part(self, self->space.length, 0, false), status);
    assert_true(st_errors_size(self->errors) > 0);
    assert_non_null(strstr(st_errors_at(self->errors, 0)->message, expected));
}

TEST_OF(metadata_that_is_missing_is_told, fixture *self, setup, teardown)
{
    add_event(self, &(made_event){"Stream #7", 7, 2385, 10, 20, 0, 0});
    end_plane(self, "/device:GPU:0");
    assert_refused(self, ST_ERR_NAME, "metadata 2385, which plane '/device:GPU:0'");
}

/* A line years away, and an event of a name that the plane lacks. */
TEST_OF(far_and_nameless_events_are_left_out_when_asked, fixture *self, setup, teardown)
{
    static const uint64_t times_ps[] = {10000, 20000};
    add_name(self, 4, 71, "gemm");
    add_event(self, &(made_event){"Stream #7", 7, 71, 10, 2385, 0, 0});
    add_event(self, &(made_event){"Stream #7", 7, 2385, 10, 20, 0, 0});
    add_event_of(self, &(made_event){.line = "Stream #9", .metadata = 71}, UINT64_C(1) << 62,
                 times_ps);
    end_plane(self, "/device:GPU:0");
    assert_int_equal(read_part(self, self->space.length, 0, true), ST_OK);
    assert_int_equal(self->store->trace.left_out, 2);
    assert_int_equal(self->store->trace.event_count, 1);
    assert_int_equal(self->store->trace.events[0].duration_ns, 2385);
}

static void add_value(fixture *self, uint64_t id, const char *name, uint64_t value,
                      const char *text)
{
    st_buffer stat = {0};
    add_name(self, 5, id, name);
    st_proto_number(&stat, 1, id);
    if (text != NULL)
        st_proto_text(&stat, 5, text);
    else
        st_proto_number(&stat, 4, value);
    nest(&self->plane, 6, &stat);
}

/* Devices of one model are one GPU; idle ones are none of the ranks. */
TEST_WITH(devices_are_named_by_what_they_are, setup, teardown)
{
    fixture *self = *state;
    static const char *const planes[] = {"/device:GPU:0", "/device:GPU:1", "/device:GPU:2"};
    for (size_t i = 0; i < COUNT(planes); i++) {
        add_value(self, 1, "device_vendor", 0, "AMD");
        add_value(self, 2, "core_count", 304, NULL);
        add_value(self, 3, "compute_cap_major", 9, NULL);
        add_value(self, 4, "compute_cap_minor", 4, NULL);
        if (i != 1) {
            add_name(self, 4, 71, "gemm");
            add_event(self, &(made_event){"Stream #7", 7, 71, 10 + i, 2385, 0, 0});
        }
        end_plane(self, planes[i]);
    }
    for (size_t part = 0; part < 2; part++) {
        assert_int_equal(read_part(self, self->space.length, part, false), ST_OK);
        const st_trace *trace = &self->store->trace;
        assert_string_equal(st_trace_name(trace, trace->gpu), "AMD 9.4, 304 multiprocessors");
        assert_int_equal(trace->sm_count, 304);
        assert_int_equal(trace->event_count, 1);
        assert_int_equal(trace->events[0].start_ns, 10 + 2 * part);
    }
}

TEST_OF(wrong_wire_types_are_told, fixture *self, setup, teardown)
{
    st_proto_number(&self->plane, 3, 2385);
    end_plane(self, "/device:GPU:0");
    assert_refused(self, ST_ERR_SYNTAX, "field 3 of a plane has wire type 0");
}

TEST_OF(impossible_times_are_left_out_when_asked, fixture *self, setup, teardown)
{
    add_name(self, 4, 71, "gemm");
    add_event(self, &(made_event){"Stream #7", 7, 71, 10, UINT64_MAX / 1000 - 2385, 0, 0});
    end_plane(self, "/device:GPU:0");
    assert_refused(self, ST_ERR_VALUE, "an event has an impossible time");
    assert_int_equal(read_part(self, self->space.length, 0, true), ST_OK);
    assert_int_equal(self->store->trace.left_out, 1);
}

TEST_OF(a_file_without_planes_is_none, fixture *self, setup, teardown)
{
    st_proto_text(&self->space, 4, "localhost");
    assert_refused(self, ST_ERR_NAME, "the profile has no planes");
}

/* ---- planes and lines ---- */

static size_t tasks_of(fixture *self)
{
    st_status status = read_part(self, self->space.length, 0, false);
    st_buffer_free(&self->space);
    return status == ST_OK ? self->store->trace.event_count : 0;
}

/* A plane of a device has a number and nothing behind it. */
TEST_WITH(devices_are_told_by_their_names, setup, teardown)
{
    static const struct {
        const char *name;
        bool is_device;
    } cases[] = {{"/device:GPU:0", true},    {"/device:GPU:9", true},   {"/device:GPU:238", true},
                 {"/device:GPU:", false},    {"/device:GPU:1x", false}, {"/device:GPU:/", false},
                 {"/device:GPU:1:", false},  {"/device:CPU:0", false},  {"device:GPU:0", false},
                 {"/device:GPU:0 7", false}, {"/device:GPU", false}};
    fixture *self = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        add_name(self, 4, 71, "gemm");
        add_event(self, &(made_event){"Stream #7", 7, 71, 10, 20, 0, 0});
        end_plane(self, cases[i].name);
        if (tasks_of(self) != (cases[i].is_device ? 1 : 0))
            fail_msg("'%s' is %s device", cases[i].name, cases[i].is_device ? "no" : "a");
    }
}

TEST_WITH(tasks_are_on_lines_of_streams_or_operations, setup, teardown)
{
    static const struct {
        const char *plane;
        const char *line;
        bool is_task;
    } cases[] = {{"/device:GPU:0", "Stream #7(Compute)", true},
                 {"/device:GPU:0", "Stream", true},
                 {"/device:GPU:0", "Strea", false},
                 {"/device:GPU:0", "XLA Ops", false},
                 {"/device:GPU:0", "Async XLA Ops", false},
                 {"/device:TPU:0", "XLA Ops", true},
                 {"/device:TPU:0", "Async XLA Ops", true},
                 {"/device:TPU:0", "XLA Ops 2", false},
                 {"/device:TPU:0", "XLA Modules", false},
                 {"/device:TPU:0", "Stream #7", false}};
    fixture *self = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        add_name(self, 4, 71, "gemm");
        add_event(self, &(made_event){cases[i].line, 7, 71, 10, 20, 0, 0});
        end_plane(self, cases[i].plane);
        if (tasks_of(self) != (cases[i].is_task ? 1 : 0))
            fail_msg("'%s' of '%s' has %s", cases[i].line, cases[i].plane,
                     cases[i].is_task ? "no task" : "tasks");
    }
}

TEST_WITH(copies_and_fills_are_told_by_their_names, setup, teardown)
{
    static const struct {
        const char *name;
        st_trace_kind kind;
        st_trace_class class_;
    } cases[] = {{"MemcpyD2H", ST_TRACE_MEMCPY, ST_TRACE_MEMORY},
                 {"Memset", ST_TRACE_MEMSET, ST_TRACE_MEMORY},
                 {"my_Memcpy_kernel", ST_TRACE_KERNEL, ST_TRACE_MEMORY},
                 {"Memcp", ST_TRACE_KERNEL, ST_TRACE_OTHER},
                 {"ampere_sgemm_128x64_nn", ST_TRACE_KERNEL, ST_TRACE_GEMM}};
    fixture *self = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        add_name(self, 4, 71, cases[i].name);
        add_event(self, &(made_event){"Stream #7", 7, 71, 10, 20, 0, 0});
        end_plane(self, "/device:GPU:0");
        assert_int_equal(tasks_of(self), 1);
        const st_trace_event *event = &self->store->trace.events[0];
        const st_trace_track *track = &self->store->trace.tracks[event->track];
        assert_int_equal(event->kind, cases[i].kind);
        assert_int_equal(event->class_, cases[i].class_);
        assert_true(track->is_stream);
        assert_int_equal(track->process, 0);
        assert_int_equal(track->number, 7);
    }
}

/* What a correlation makes a call and a number a step; both may be as small as can be. */
TEST_WITH(events_of_hosts_are_calls_steps_or_operators, setup, teardown)
{
    static const struct {
        const char *plane;
        uint64_t stat; /* 2: step, 3: correlation */
        uint64_t value;
        st_trace_kind kind;
        const char *name;
    } cases[] = {{"/host:CPU", 3, 1, ST_TRACE_CALL, "train"},
                 {"/host:CUPTI", 3, 31, ST_TRACE_CALL, "train"},
                 {"/host:ROCTRACER", 3, 31, ST_TRACE_CALL, "train"},
                 {"/host:CPU", 3, 0, ST_TRACE_OPERATOR, "train"},
                 {"/host:CPU", 2, 0, ST_TRACE_STEP, "train#0"},
                 {"/host:CPU", 2, 2385, ST_TRACE_STEP, "train#2385"},
                 {"/host:CPU", 4, 31, ST_TRACE_OPERATOR, "train"},
                 {"/host:CPU", 0, 0, ST_TRACE_OPERATOR, "train"}};
    fixture *self = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        add_name(self, 4, 9, "train");
        add_name(self, 5, 2, "step_num");
        add_name(self, 5, 3, "correlation_id");
        add_name(self, 5, 4, "correlation_id_2");
        add_event(self, &(made_event){"main", 77, 9, 10, 20, cases[i].stat, cases[i].value});
        end_plane(self, cases[i].plane);
        assert_int_equal(tasks_of(self), 1);
        const st_trace_event *event = &self->store->trace.events[0];
        const st_trace_track *track = &self->store->trace.tracks[event->track];
        assert_int_equal(event->kind, cases[i].kind);
        assert_string_equal(name_of(self, 0), cases[i].name);
        assert_false(track->is_stream);
        assert_int_equal(track->process, 1);
        assert_int_equal(track->number, 77);
    }
    add_name(self, 4, 9, "train");
    add_event(self, &(made_event){"main", 77, 9, 10, 20, 0, 0});
    end_plane(self, "/host:TPU");
    assert_int_equal(tasks_of(self), 0);
}

/* Of two devices each has its launches; what waits is of both. Of one, all are its own. */
TEST_WITH(launches_are_of_the_device_that_ran_them, setup, teardown)
{
    static const size_t events[] = {1 + 2, 1 + 1};
    fixture *self = *state;
    for (uint64_t devices = 1; devices <= 2; devices++) {
        for (uint64_t device = 0; device < devices; device++) {
            add_name(self, 4, 71, "gemm");
            add_name(self, 5, 5, "correlation_id");
            add_event(self, &(made_event){"Stream #7", 7, 71, 10, 20, 5, 31 + 10 * device});
            end_plane(self, device == 0 ? "/device:GPU:0" : "/device:GPU:1");
        }
        add_name(self, 4, 8, "cuLaunchKernel");
        add_name(self, 4, 9, "cuStreamSynchronize");
        add_name(self, 5, 3, "correlation_id");
        add_event(self, &(made_event){"main", 77, 8, 5, 7, 3, 41});
        add_event(self, &(made_event){"main", 77, 9, 15, 7, 3, 51});
        end_plane(self, "/host:CPU");
        assert_int_equal(tasks_of(self), events[devices - 1]);
    }
}

/* ---- times ---- */

/* Times are told from the earliest line of a host or a device, whole nanoseconds of it. */
TEST_WITH(times_begin_with_the_first_line, setup, teardown)
{
    static const uint64_t device_ps[] = {2385999, 571001};
    static const uint64_t host_ps[] = {999, 1};
    fixture *self = *state;
    add_name(self, 4, 71, "gemm");
    add_event_of(self, &(made_event){.line = "Stream #7", .metadata = 71}, 7000, device_ps);
    end_plane(self, "/device:GPU:0");
    add_name(self, 4, 9, "train");
    add_event_of(self, &(made_event){.line = "main", .metadata = 9}, 6000, host_ps);
    end_plane(self, "/host:CPU");
    add_event_of(self, &(made_event){.line = "main", .metadata = 9}, 5000, host_ps);
    end_plane(self, "/host:metadata");
    assert_int_equal(tasks_of(self), 2);
    const st_trace *trace = &self->store->trace;
    assert_int_equal(trace->base_ns, 6000);
    assert_int_equal(trace->events[0].start_ns, 0);
    assert_int_equal(trace->events[0].duration_ns, 1);
    assert_int_equal(trace->events[1].start_ns, 3385);
    assert_int_equal(trace->events[1].duration_ns, 572);
    assert_true(trace->has_decimals);
    assert_string_equal(st_trace_name(trace, trace->gpu), "");
}

TEST_WITH(whole_microseconds_have_no_decimals, setup, teardown)
{
    static const uint64_t times_ps[] = {3000000, 571000};
    fixture *self = *state;
    add_name(self, 4, 9, "train");
    add_event_of(self, &(made_event){.line = "main", .metadata = 9}, 0, times_ps);
    end_plane(self, "/host:CPU");
    assert_int_equal(tasks_of(self), 1);
    assert_false(self->store->trace.has_decimals);
    assert_int_equal(self->store->trace.base_ns, -1);
    assert_int_equal(self->store->trace.events[0].start_ns, 3000);
    assert_int_equal(self->store->trace.gpu, ST_TRACE_NONE);
}

/* An event before all lines, or of a negative duration. */
TEST_WITH(negative_times_are_refused, setup, teardown)
{
    static const uint64_t cases_ps[][2] = {{(uint64_t)-1000, 1000}, {1000, (uint64_t)-5000}};
    fixture *self = *state;
    for (size_t i = 0; i < COUNT(cases_ps); i++) {
        add_name(self, 4, 9, "train");
        add_event_of(self, &(made_event){.line = "main", .metadata = 9}, 2385, cases_ps[i]);
        end_plane(self, "/host:CPU");
        assert_refused(self, ST_ERR_VALUE, "an event has an impossible time");
        assert_int_equal(read_part(self, self->space.length, 0, true), ST_OK);
        assert_int_equal(self->store->trace.left_out, 1);
        assert_int_equal(self->store->trace.event_count, 0);
        st_buffer_free(&self->space);
        st_errors_clear(self->errors);
    }
}

/* Of a line, in nanoseconds: sums of them would be none. */
TEST_WITH(times_beyond_a_lifetime_are_refused, setup, teardown)
{
    static const uint64_t lines_ns[] = {INT64_MAX, (uint64_t)INT64_MIN};
    fixture *self = *state;
    for (size_t i = 0; i < COUNT(lines_ns); i++) {
        add_name(self, 4, 9, "train");
        add_event_of(self, &(made_event){.line = "main", .metadata = 9}, lines_ns[i],
                     (const uint64_t[]){2385, 385});
        end_plane(self, "/host:CPU");
        assert_refused(self, ST_ERR_LIMIT, "a time beyond 73 years");
        st_buffer_free(&self->space);
        st_errors_clear(self->errors);
    }
}

/* ---- files ---- */

static const char *write_profile(const char *ending, const char *bytes, size_t length)
{
    static char path[48];
    char base[] = "/tmp/st-xla-XXXXXX";
    int file = mkstemp(base);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, length), (ssize_t)length);
    assert_int_equal(close(file), 0);
    (void)snprintf(path, sizeof path, "%s%s", base, ending);
    assert_int_equal(rename(base, path), 0);
    return path;
}

/* Plain or packed, which the endings tell: each device is a part. */
TEST_WITH(profiles_are_read_from_files, setup, teardown)
{
    static const char *const endings[] = {".xplane.pb", ".xplane.pb.gz"};
    fixture *self = *state;
    make_space(self);
    for (size_t i = 0; i < COUNT(endings); i++) {
        size_t count = 0;
        st_trace *trace = NULL;
        if (i == 1)
            assert_int_equal(st_gzip(&self->space, self->errors), ST_OK);
        const char *path = write_profile(endings[i], self->space.data, self->space.length);
        assert_int_equal(st_trace_parts(path, &count, self->errors), ST_OK);
        assert_int_equal(count, 2);
        assert_int_equal(st_trace_read_part(&(st_trace_part){path, 1}, NULL, &trace, self->errors),
                         ST_OK);
        assert_int_equal(trace->event_count, 3);
        assert_int_equal(trace->events[2].start_ns, 9386);
        st_trace_destroy(trace);
        unlink(path);
    }
}

/* The file is read once for each: as many as one host has. */
TEST_WITH(devices_are_bounded, setup, teardown)
{
    fixture *self = *state;
    for (int devices = 1; devices <= 257; devices++) {
        char name[32];
        size_t count = 0;
        (void)snprintf(name, sizeof name, "/device:GPU:%d", devices);
        add_name(self, 4, 71, "gemm");
        add_event(self, &(made_event){"Stream #7", 7, 71, 10, 2385, 0, 0});
        end_plane(self, name);
        if (devices < 256)
            continue;
        const char *path = write_profile(".xplane.pb", self->space.data, self->space.length);
        const st_status status = st_trace_parts(path, &count, self->errors);
        unlink(path);
        assert_int_equal(status, devices == 256 ? ST_OK : ST_ERR_LIMIT);
        if (devices == 256)
            assert_int_equal(count, 256);
    }
    assert_contains(said(self->errors), "found 257, expected at most 256");
}

/* A host alone is one part. */
TEST_OF(a_profile_without_devices_is_one, fixture *self, setup, teardown)
{
    size_t count = 0;
    add_name(self, 4, 9, "train");
    end_plane(self, "/host:CPU");
    const char *path = write_profile(".xplane.pb", self->space.data, self->space.length);
    assert_int_equal(st_trace_parts(path, &count, self->errors), ST_OK);
    assert_int_equal(count, 1);
    unlink(path);
}

/* 512 zeros were never written; fewer are a message that is broken. */
TEST_WITH(files_of_zeros_are_refused, setup, teardown)
{
    static const struct {
        size_t length;
        char last;
        const char *words;
    } cases[] = {{512, '\0', "the file begins with zeros, as one that was never written"},
                 {513, 'x', "the file begins with zeros, as one that was never written"},
                 {511, '\0', "invalid field number"},
                 {512, 'x', "invalid field number"}};
    fixture *self = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char bytes[513] = {0};
        st_trace *trace = NULL;
        bytes[cases[i].length - 1] = cases[i].last;
        const char *path = write_profile(".xplane.pb", bytes, cases[i].length);
        assert_int_equal(st_trace_read_part(&(st_trace_part){path, 0}, NULL, &trace, self->errors),
                         ST_ERR_SYNTAX);
        assert_contains(said(self->errors), cases[i].words);
        unlink(path);
    }
    st_trace *trace = NULL;
    assert_int_equal(
        st_trace_read_part(&(st_trace_part){"/tmp/none.xplane.pb", 0}, NULL, &trace, self->errors),
        ST_ERR_IO);
}

/* ---- the wire format ---- */

TEST(numbers_come_back)
{
    static const uint64_t values[] = {0, 1, 127, 128, 2385, UINT32_MAX, UINT64_MAX};
    (void)state;
    for (size_t i = 0; i < COUNT(values); i++) {
        st_buffer buffer = {0};
        st_proto_field field;
        st_proto_number(&buffer, 536870911, values[i]);
        st_proto message = st_proto_of(buffer.data, buffer.length);
        assert_true(st_proto_next(&message, &field));
        assert_int_equal(field.number, 536870911);
        assert_true(field.value == values[i]);
        assert_false(st_proto_next(&message, &field));
        assert_null(message.fault);
        st_buffer_free(&buffer);
    }
}

TEST(faults_of_the_wire_are_named)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *fault;
    } cases[] = {
        {"\x08", 1, "truncated number"},
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11, "number exceeds 64 bits"},
        {"\x0a\x05help", 6, "field extends beyond its message"},
        {"\x0b", 1, "invalid wire type"},
        {"\x02", 1, "invalid field number"},
        {"\x0d\x01\x02", 3, "truncated number"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_proto_field field;
        st_proto message = st_proto_of(cases[i].bytes, cases[i].length);
        assert_false(st_proto_next(&message, &field));
        assert_string_equal(message.fault, cases[i].fault);
    }
}

TESTS(xplane);

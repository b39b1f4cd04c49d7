/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of XLA written by hand: devices, launches, steps, and what is refused. */
#include "base_support.h"

#include "base/protobuf.h"
#include "trace/formats.h"

#include <string.h>

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

static void add_event(fixture *self, const made_event *event)
{
    st_buffer line = {0};
    st_buffer made = {0};
    st_buffer stat = {0};
    st_proto_number(&made, 1, event->metadata);
    st_proto_number(&made, 2, event->start_ns * 1000);
    st_proto_number(&made, 3, event->duration_ns * 1000);
    if (event->stat != 0) {
        st_proto_number(&stat, 1, event->stat);
        st_proto_number(&stat, 3, event->value);
        nest(&made, 4, &stat);
    }
    st_proto_number(&line, 1, event->line_id);
    st_proto_text(&line, 2, event->line);
    st_proto_number(&line, 3, UINT64_C(1700000000000002385));
    nest(&line, 4, &made);
    nest(&self->plane, 3, &line);
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
    assert_int_equal(st_store_create("a.xplane.pb", &self->store), ST_OK);
    st_status status = st_xplane_read_memory(&text, &(st_trace_part){"a.xplane.pb", part}, partial,
                                             self->store, self->errors);
    return status == ST_OK ? st_store_finish(self->store) : status;
}

static const char *name_of(const fixture *self, size_t event)
{
    return self->store->trace.names[self->store->trace.events[event].name];
}

static void devices_are_ranks(void **state)
{
    fixture *self = *state;
    make_space(self);
    for (size_t part = 0; part < 2; part++) {
        assert_int_equal(read_part(self, self->space.length, part, false), ST_OK);
        const st_trace *trace = &self->store->trace;
        assert_int_equal(trace->event_count, 3);
        assert_string_equal(name_of(self, 0), "train#17");
        assert_int_equal(trace->events[0].kind, ST_TRACE_STEP);
        assert_int_equal(trace->events[1].kind, ST_TRACE_CALL);
        assert_int_equal(trace->events[1].correlation, 31 + part);
        assert_int_equal(trace->events[1].start_ns, part == 0 ? 3385 : 5385);
        assert_int_equal(trace->events[2].kind, ST_TRACE_KERNEL);
        assert_int_equal(trace->events[2].duration_ns, 2385);
        assert_int_equal(trace->events[2].start_ns, 9385 + part);
        assert_string_equal(name_of(self, 2),
                            part == 0 ? "ampere_sgemm_128x64_nn" : "loop_add_fusion");
        assert_int_equal(trace->base_ns, 1700000000000002385);
    }
}

static void operations_of_a_tpu_are_tasks(void **state)
{
    fixture *self = *state;
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
static void cut_files_are_refused(void **state)
{
    fixture *self = *state;
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

static void metadata_that_is_missing_is_told(void **state)
{
    fixture *self = *state;
    add_event(self, &(made_event){"Stream #7", 7, 2385, 10, 20, 0, 0});
    end_plane(self, "/device:GPU:0");
    assert_refused(self, ST_ERR_NAME, "metadata 2385, which plane '/device:GPU:0'");
}

static void wrong_wire_types_are_told(void **state)
{
    fixture *self = *state;
    st_proto_number(&self->plane, 3, 2385);
    end_plane(self, "/device:GPU:0");
    assert_refused(self, ST_ERR_SYNTAX, "field 3 of a plane has wire type 0");
}

static void impossible_times_are_left_out_when_asked(void **state)
{
    fixture *self = *state;
    add_name(self, 4, 71, "gemm");
    add_event(self, &(made_event){"Stream #7", 7, 71, 10, UINT64_MAX / 1000 - 2385, 0, 0});
    end_plane(self, "/device:GPU:0");
    assert_refused(self, ST_ERR_VALUE, "an event has an impossible time");
    assert_int_equal(read_part(self, self->space.length, 0, true), ST_OK);
    assert_int_equal(self->store->trace.left_out, 1);
}

static void a_file_without_planes_is_none(void **state)
{
    fixture *self = *state;
    st_proto_text(&self->space, 4, "localhost");
    assert_refused(self, ST_ERR_NAME, "the profile has no planes");
}

/* ---- the wire format ---- */

static void numbers_come_back(void **state)
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

static void faults_of_the_wire_are_named(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *fault;
    } cases[] = {
        {"\x08", 1, "a number is cut"},
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11, "a number of more than 64 bits"},
        {"\x0a\x05help", 6, "a field is longer than what it lies in"},
        {"\x0b", 1, "a field has no valid wire type"},
        {"\x02", 1, "a field has no valid number"},
        {"\x0d\x01\x02", 3, "a number is cut"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_proto_field field;
        st_proto message = st_proto_of(cases[i].bytes, cases[i].length);
        assert_false(st_proto_next(&message, &field));
        assert_string_equal(message.fault, cases[i].fault);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(devices_are_ranks, setup, teardown),
        cmocka_unit_test_setup_teardown(operations_of_a_tpu_are_tasks, setup, teardown),
        cmocka_unit_test_setup_teardown(cut_files_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(metadata_that_is_missing_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_wire_types_are_told, setup, teardown),
        cmocka_unit_test_setup_teardown(impossible_times_are_left_out_when_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_without_planes_is_none, setup, teardown),
        cmocka_unit_test(numbers_come_back),
        cmocka_unit_test(faults_of_the_wire_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

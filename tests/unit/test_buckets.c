/* SPDX-License-Identifier: Apache-2.0 */
/* Layer lists, gradient buckets and what of their all-reduces stays exposed. */
#include "estimate/estimate_internal.h"
#include "schedule/buckets.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct fixture {
    st_arena *arena;
    st_errors *errors;
    st_paths *paths;
} fixture;

static int setup(void **state)
{
    fixture *self = calloc(1, sizeof(*self));
    self->arena = st_arena_create();
    self->errors = st_errors_create();
    *state = self;
    return st_paths_create(NULL, 0, &self->paths, self->errors) == ST_OK ? 0 : -1;
}

static int teardown(void **state)
{
    fixture *self = *state;
    st_paths_destroy(self->paths);
    st_errors_destroy(self->errors);
    st_arena_destroy(self->arena);
    free(self);
    return 0;
}

/* --- shipped lists --------------------------------------------------------------------------- */

TEST_WITH(shipped_lists_have_the_known_number_of_parameters, setup, teardown)
{
    /* torchvision's counts; BERT with the masked-language head; GPT-2 small; T5's checkpoints. */
    static const struct {
        const char *name;
        double parameters;
        double gflop; /* forward, per sample or per token; 0: not compared */
    } known[] = {{"resnet50", 25557032, 8.178},
                 {"resnet101", 44549160, 15.602},
                 {"resnet152", 60192808, 23.025},
                 {"vgg16", 138357544, 30.94},
                 {"vgg19", 143667240, 39.26},
                 {"bert-base", 109514298, 0},
                 {"bert-large", 335174458, 0},
                 {"gpt2", 124439808, 0},
                 {"densenet121", 7978856, 5.668},
                 {"mobilenet-v2", 3504872, 0.602},
                 {"vit-b16", 86567656, 35.13},
                 {"vit-l16", 304326632, 123.11},
                 {"vit-h14", 632045800, 334.59},
                 {"t5-base", 222903552, 0},
                 {"t5-large", 737668096, 0},
                 {"t5-3b", 2851598336, 0},
                 {"unet", 31030658, 0}};
    fixture *self = *state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const st_layers *layers = NULL;
        assert_int_equal(st_layers_load(self->paths, known[i].name, (st_place){0}, self->arena,
                                        &layers, self->errors),
                         ST_OK);
        assert_true(layers->parameters == known[i].parameters);
        if (known[i].gflop > 0) {
            assert_true(fabs(layers->forward_flop / 1e9 / known[i].gflop - 1) < 0.001);
        }
    }
}

/* --- buckets of a small network -------------------------------------------------------------- */

static st_tensor small_tensors[] = {
    {.parameters = 700, .forward_flop = 2385}, /* first layer */
    {.parameters = 13},
    {.parameters = 450, .forward_flop = 1117},
    {.parameters = 29, .forward_flop = 331},
    {.parameters = 310, .forward_flop = 167},
};

static const st_layers small = {.name = "small",
                                .tensors = small_tensors,
                                .count = 5,
                                .parameters = 1502,
                                .forward_flop = 4000};

typedef struct record {
    st_bucket buckets[8];
    size_t count;
    size_t stop_after;
} record;

static bool keep(void *context, const st_bucket *bucket)
{
    record *list = context;
    list->buckets[list->count++] = *bucket;
    return list->count != list->stop_after;
}

TEST(buckets_fill_from_the_last_layer)
{
    st_bucket_caps caps = {.first_bytes = 600, .cap_bytes = 1900, .width_bytes = 2};
    record list = {0};
    assert_int_equal(st_buckets_visit(&small, &caps, keep, &list), 2);
    /* 310 values are 620 bytes and close the first bucket; 29+450+13 = 984 bytes do not close the
     * second, the 700 of the first layer do. */
    assert_true(list.buckets[0].bytes == 620);
    assert_true(list.buckets[1].bytes == 2 * (29 + 450 + 13 + 700));
    caps.cap_bytes = 900;
    list = (record){0};
    assert_int_equal(st_buckets_visit(&small, &caps, keep, &list), 3);
    assert_true(list.buckets[1].bytes == 958);
    assert_true(list.buckets[2].bytes == 1426);
    assert_true(list.buckets[0].ready_frac == 167.0 / 4000);
    assert_true(list.buckets[1].ready_frac == (167.0 + 331 + 1117) / 4000);
    assert_true(list.buckets[2].ready_frac == 1);
    st_layers scaled = small;
    scaled.forward_flop = 0.835; /* a small unit of FLOPs is no lack of them */
    list = (record){0};
    assert_int_equal(st_buckets_visit(&scaled, &caps, keep, &list), 3);
    assert_true(list.buckets[0].ready_frac == 167.0 / 0.835);
    scaled.forward_flop = 0;
    list = (record){0};
    assert_int_equal(st_buckets_visit(&scaled, &caps, keep, &list), 3);
    assert_true(list.buckets[0].ready_frac == 1);
}

TEST(a_visitor_may_stop)
{
    st_bucket_caps caps = {.first_bytes = 1, .cap_bytes = 1, .width_bytes = 4};
    record list = {.stop_after = 2};
    assert_int_equal(st_buckets_visit(&small, &caps, keep, &list), 2);
}

TEST(bytes_are_never_lost)
{
    for (double cap = 1; cap < 8000; cap *= 1.7) {
        st_bucket_caps caps = {.first_bytes = cap / 3, .cap_bytes = cap, .width_bytes = 4};
        record list = {0};
        double bytes = 0;
        size_t count = st_buckets_visit(&small, &caps, keep, &list);
        for (size_t i = 0; i < count; i++) {
            bytes += list.buckets[i].bytes;
            assert_true(i == 0 || list.buckets[i].ready_frac >= list.buckets[i - 1].ready_frac);
        }
        assert_true(bytes == 4 * small.parameters);
    }
}

/* Every size takes `start` and so much per byte. */
static void fill_line(st_bucket_curve *curve, const st_bucket_caps *caps, double start,
                      double per_byte)
{
    st_bucket_sizes(&small, caps, curve);
    for (size_t i = 0; i < curve->count; i++) {
        curve->times[i] = start + per_byte * curve->bytes[i];
    }
}

TEST(exposed_time_follows_the_clock)
{
    st_bucket_caps caps = {.first_bytes = 600, .cap_bytes = 900, .width_bytes = 2};
    st_bucket_curve curve;
    st_bucket_times times = {.backward = 8000, .curve = &curve, .slowdown = 1};
    fill_line(&curve, &caps, 11, 2.385);
    /* Ready at 334, 3230 and 8000; each transfer ends before the next is ready. */
    assert_true(fabs(st_buckets_run(&small, &caps, &times).exposed - (11 + 1426 * 2.385)) < 1e-9);
    fill_line(&curve, &caps, 11, 7.5);
    /* Now they queue: 334+11+4650 = 4995, then 4995+11+7185 = 12191, then 12191+11+10695. */
    assert_true(fabs(st_buckets_run(&small, &caps, &times).exposed - (22897 - 8000)) < 1e-9);
    caps.first_bytes = caps.cap_bytes = 1e9;
    fill_line(&curve, &caps, 11, 7.5);
    /* One bucket: nothing overlaps. */
    assert_true(fabs(st_buckets_run(&small, &caps, &times).exposed - (11 + 3004 * 7.5)) < 1e-9);
}

TEST(hiding_slows_the_pass_down)
{
    st_bucket_caps caps = {.first_bytes = 600, .cap_bytes = 900, .width_bytes = 2};
    st_bucket_curve curve;
    st_bucket_times times = {.backward = 8000, .curve = &curve, .slowdown = 1.4};
    fill_line(&curve, &caps, 11, 2.385);
    /* Ready at 334; 1489.7 beside it cost 1489.7*(1 - 1/1.4). The second is ready at 3230 and as
     * much later, and 958 bytes cost 2295.83; the third starts when the pass has ended. */
    double added = (11 + 620 * 2.385 + 11 + 958 * 2.385) * (1 - 1 / 1.4);
    st_bucket_outcome outcome = st_buckets_run(&small, &caps, &times);
    assert_true(fabs(outcome.added - added) < 1e-9);
    assert_true(fabs(outcome.exposed - (11 + 1426 * 2.385)) < 1e-9);
    fill_line(&curve, &caps, 11, 7.5);
    /* Now they queue from 334 on: the pass has 7666 left and needs 1.4 times as long for them. */
    outcome = st_buckets_run(&small, &caps, &times);
    assert_true(fabs(outcome.added - 0.4 * 7666) < 1e-9);
    assert_true(fabs(outcome.exposed - (22897 - 334 - 1.4 * 7666)) < 1e-9);
}

/* The pass does all of its work, however it is slowed: what it takes is the work, and the time that
 * it runs beside all-reduces less the work done in it. */
TEST(slower_passes_end_later)
{
    st_bucket_caps caps = {.first_bytes = 500, .cap_bytes = 700, .width_bytes = 2};
    double end_before = 0;
    for (double slowdown = 1; slowdown < 9; slowdown *= 1.17) {
        st_bucket_curve curve;
        st_bucket_times times = {.backward = 6170, .curve = &curve, .slowdown = slowdown};
        fill_line(&curve, &caps, 7, 1.913);
        st_bucket_outcome outcome = st_buckets_run(&small, &caps, &times);
        double end = times.backward + outcome.added + outcome.exposed;
        assert_true(end >= end_before);
        assert_true(outcome.added <= times.backward * (slowdown - 1) + 1e-9);
        assert_true(slowdown > 1 || outcome.added == 0);
        end_before = end;
    }
}

/* Up to 24 sizes are kept as they are, more become as many between the smallest and the largest. */
TEST(sizes_rise_and_times_lie_between)
{
    enum { TENSORS = 61 };
    st_tensor tensors[TENSORS];
    st_layers list = {.name = "many", .tensors = tensors, .forward_flop = 1};
    const st_bucket_caps caps = {.first_bytes = 1, .cap_bytes = 1, .width_bytes = 2};
    for (size_t i = 0; i < TENSORS; i++) {
        tensors[i] = (st_tensor){.parameters = 100 + 7 * (double)(i * 17 % TENSORS)};
    }
    for (size_t count = 1; count <= TENSORS; count++) {
        st_bucket_curve curve;
        list.count = count;
        st_bucket_sizes(&list, &caps, &curve);
        assert_int_equal(curve.count, count < ST_BUCKET_SIZES ? count : ST_BUCKET_SIZES);
        for (size_t i = 0; i < curve.count; i++) {
            curve.times[i] = 3.5 + 0.25 * curve.bytes[i];
            assert_true(i == 0 || curve.bytes[i] > curve.bytes[i - 1]);
        }
        for (size_t i = 0; i < count; i++) {
            double bytes = 2 * tensors[i].parameters;
            assert_true(fabs(st_bucket_time(&curve, bytes) - (3.5 + 0.25 * bytes)) < 1e-9);
        }
    }
    assert_true(isnan(st_bucket_time(&(st_bucket_curve){.count = 0}, 5)));
}

/* --- what the sheet counts ---------------------------------------------------------------------
 */

/* Bounds of the sheet's ranges in MiB; the last has no end. */
static const double bounds[] = {0, 1, 10, 25, 50, 100, HUGE_VAL};
enum { RANGES = sizeof(bounds) / sizeof(bounds[0]) - 1 };

typedef struct tally {
    double counts[RANGES];
} tally;

static bool count_range(void *context, const st_bucket *bucket)
{
    tally *own = context;
    for (size_t i = 0; i < RANGES; i++) {
        double mib = bucket->bytes / (1024 * 1024);
        own->counts[i] += mib >= bounds[i] && mib < bounds[i + 1] ? 1 : 0;
    }
    return true;
}

/* Buckets of all sizes: their ranges have no gap and do not overlap. */
TEST_WITH(every_bucket_is_in_one_range, setup, teardown)
{
    static const char *const cells[RANGES] = {"messages_to_1MiB",   "messages_to_10MiB",
                                              "messages_to_25MiB",  "messages_to_50MiB",
                                              "messages_to_100MiB", "messages_above_100MiB"};
    static const struct {
        const char *set;
        double bytes;
    } caps[] = {{"constants.bucket=0.31 MiB", 0.31},
                {"constants.bucket=7.3 MiB", 7.3},
                {"constants.bucket=23.85 MiB", 23.85},
                {"constants.bucket=52 MiB", 52}};
    fixture *self = *state;
    const st_layers *layers = NULL;
    bool seen[RANGES] = {false};
    assert_int_equal(
        st_layers_load(self->paths, "vgg16", (st_place){0}, self->arena, &layers, self->errors),
        ST_OK);
    for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
        tally expected = {0};
        st_bucket_caps cap = {
            .first_bytes = 1024 * 1024, .cap_bytes = caps[i].bytes * 1024 * 1024, .width_bytes = 4};
        st_request request = {.job = "vgg16-32x3090", .sets = &caps[i].set, .set_count = 1};
        st_estimate estimate;
        (void)st_buckets_visit(layers, &cap, count_range, &expected);
        assert_int_equal(
            st_estimate_load(self->paths, &request, self->arena, &estimate, self->errors), ST_OK);
        assert_int_equal(st_estimate_show_names(&estimate, cells, RANGES, (st_place){0},
                                                self->arena, self->errors),
                         ST_OK);
        assert_int_equal(st_estimate_run(&estimate, self->arena, self->errors), ST_OK);
        for (size_t k = 0; k < RANGES; k++) {
            assert_true(estimate.shown[k].value == expected.counts[k]);
            seen[k] = seen[k] || expected.counts[k] > 0;
        }
    }
    for (size_t k = 0; k < RANGES; k++) {
        assert_true(seen[k]);
    }
}

/* --- faulty lists ---------------------------------------------------------------------------- */

static void expect_fault(fixture *self, const char *text, const char *message)
{
    char path[] = "/tmp/steptime-layers-XXXXXX";
    char named[sizeof(path) + 8];
    const st_layers *layers = NULL;
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
    (void)snprintf(named, sizeof(named), "%s.yaml", path);
    assert_int_equal(rename(path, named), 0);
    st_errors_clear(self->errors);
    st_status status =
        st_layers_load(self->paths, named, (st_place){0}, self->arena, &layers, self->errors);
    unlink(named);
    assert_int_not_equal(status, ST_OK);
    assert_null(layers);
    bool found = false;
    for (size_t i = 0; i < st_errors_size(self->errors); i++) {
        found = found || strstr(st_errors_at(self->errors, i)->message, message) != NULL;
    }
    if (!found) {
        st_errors_write(self->errors, stderr);
    }
    assert_true(found);
}

TEST_OF(faulty_lists_are_refused, fixture *self, setup, teardown)
{
    expect_fault(self, "[1, 2]\n", "must be a map");
    expect_fault(self, "layers: x\nunit: sample\n", "missing list of layers");
    expect_fault(self, "layers: x\nlist: []\n", "no valid 'unit'");
    expect_fault(self, "layers: x\nunit: sample\nlist: [{name: a}]\n", "no 'parameters'");
    expect_fault(self, "layers: x\nunit: sample\nlist: [{parameters: [2.5]}]\n", "is not a count");
    expect_fault(self, "layers: x\nunit: sample\nlist: [{parameters: [-3]}]\n", "is not a count");
    expect_fault(self, "layers: x\nunit: sample\nlist: [{parameters: [3], flops: 1}]\n",
                 "unknown key 'flops'");
    expect_fault(self, "layers: x\nunit: sample\nlist: [{repeat: 1e18, list: []}]\n",
                 "missing list of layers");
    expect_fault(self, "layers: x\nunit: sample\nlist: [{repeat: 0, list: []}]\n",
                 "is not a count");
    st_buffer deep = {0};
    st_buffer_text(&deep, "layers: x\nunit: sample\nlist: ");
    for (int i = 0; i < 9; i++) {
        st_buffer_text(&deep, "[{repeat: 2, list: ");
    }
    st_buffer_text(&deep, "[{parameters: [3]}]");
    for (int i = 0; i < 9; i++) {
        st_buffer_text(&deep, "}]");
    }
    st_buffer_text(&deep, "\n");
    expect_fault(self, deep.data, "too deeply");
    st_buffer_free(&deep);
}

TEST_OF(an_unknown_list_is_named, fixture *self, setup, teardown)
{
    const st_layers *layers = NULL;
    assert_int_not_equal(
        st_layers_load(self->paths, "resnet51", (st_place){0}, self->arena, &layers, self->errors),
        ST_OK);
    assert_string_equal(st_errors_at(self->errors, 0)->suggestion, "resnet50");
}

TESTS(buckets);

/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes over time: each that crosses nodes is sent once, when its stage has messages of its kind.
 */
#include "megatron_support.h"
#include "report_support.h"

#include "timeline/nic.h"
#include "timeline/schedule_choice.h"

enum { BINS = 97, FINE_BINS = 4999 };

typedef struct laid_out {
    st_timeline timeline;
    st_traffic_report traffic;
    st_nic_usage nic;
} laid_out;

static void lay_out(fixture *own, const char *job, const char *sets, laid_out *made)
{
    st_estimate estimate = estimate_of(own, job, sets);
    st_timeline_plan plan = {0};
    if (st_timeline_plan_make(&estimate, own->arena, &plan, own->errors) != ST_OK ||
        st_timeline_make(&plan, false, own->arena, &made->timeline, own->errors) != ST_OK ||
        st_traffic_report_make(&estimate, ST_GROUPS, own->arena, &made->traffic, own->errors) !=
            ST_OK ||
        st_nic_usage_make(&estimate, &made->timeline, BINS, own->arena, &made->nic, own->errors) !=
            ST_OK)
        fail_msg("%s %s: %s", job, sets, said(own));
    st_errors_clear(own->errors);
}

static double sum_of(const st_nic_class *class, size_t bins)
{
    double sum = 0;
    for (size_t i = 0; i < bins; i++) {
        assert_true(class->bytes[i] >= 0);
        sum += class->bytes[i];
    }
    return sum;
}

TEST_WITH(every_byte_is_sent_once, set_up, tear_down)
{
    static const struct {
        const char *job;
        const char *sets;
    } jobs[] = {
        {"gpt-3b-32x3090", ""},
        {"gpt-3b-32x3090", "parallel.order=tp-pp-dp"},
        {"gpt3-175b-64xa100", ""},
        {"mixtral-8x7b-64xh100", ""},
        {"mixtral-8x7b-64xh100",
         "parallel.zero=3 parallel.virtual_stages=1 parallel.pp=1 parallel.dp=64"},
        {"vgg16-32x3090", ""},
        {"gpt3-175b-64xa100", "overlap.pp=1 overlap.tp=0.5"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(jobs); i++) {
        laid_out made;
        lay_out(own, jobs[i].job, jobs[i].sets, &made);
        double all = 0;
        double crossing = 0;
        for (size_t k = 0; k < made.nic.class_count; k++) {
            const st_nic_class *class = &made.nic.classes[k];
            assert_near(sum_of(class, BINS), class->sent_bytes, 1e-9, jobs[i].job);
            all += class->sent_bytes * (double)class->nodes;
        }
        for (st_group group = ST_GROUP_TP; group < ST_GROUPS; group++)
            crossing += (double)made.traffic.crossing_bytes[group];
        assert_near(all, crossing, 1e-9, jobs[i].job);
        assert_true(crossing > 0);
        st_timeline_free(&made.timeline);
    }
}

/* Buckets of gradients: nothing leaves a node in the forward pass, which is the first of the step.
 */
TEST_WITH(nodes_are_silent_in_the_forward_pass, set_up, tear_down)
{
    laid_out made;
    lay_out(*state, "vgg16-32x3090", "", &made);
    assert_int_equal(made.nic.class_count, 1);
    assert_int_equal(made.nic.classes[0].nodes, 4);
    assert_true(made.nic.classes[0].bytes[0] == 0);
    assert_true(made.nic.classes[0].bytes[BINS - 2] > 0);
    assert_true(made.nic.classes[0].hidden_bytes == 0);
    st_timeline_free(&made.timeline);
}

/* First and last stage have one neighbour, those between two. */
TEST_WITH(stages_between_send_twice, set_up, tear_down)
{
    laid_out made;
    lay_out(*state, "gpt-3b-32x3090", "", &made);
    assert_int_equal(made.nic.class_count, 4);
    assert_near(made.nic.classes[1].sent_bytes, 16777216000, 1e-12, "transfers of a middle stage");
    assert_near(made.nic.classes[0].sent_bytes, 8388608000 + 806912000, 1e-12,
                "transfers and embedding of the first stage");
    assert_near(made.nic.classes[0].hidden_bytes, 806912000, 1e-12, "no task of the embedding");
    st_timeline_free(&made.timeline);
}

/* Messages that use the cards leave them to others only for the rest of their time: no more than
 * 400 GB/s do, and next to nothing has to wait. */
TEST_OF(cards_send_at_their_rate, fixture *own, set_up, tear_down)
{
    laid_out made;
    st_nic_usage fine;
    st_estimate estimate = estimate_of(own, "mixtral-8x7b-64xh100", "");
    double most = 0;
    lay_out(own, "mixtral-8x7b-64xh100", "", &made);
    assert_int_equal(
        st_nic_usage_make(&estimate, &made.timeline, FINE_BINS, own->arena, &fine, own->errors),
        ST_OK);
    assert_near(fine.rate, 400e9, 1e-12, "eight cards of 400 Gbit/s");
    for (size_t k = 0; k < fine.class_count; k++) {
        const st_nic_class *class = &fine.classes[k];
        assert_near(sum_of(class, FINE_BINS), class->sent_bytes, 1e-9, "all bytes");
        assert_true(class->delayed_bytes < 0.05 * class->sent_bytes);
        for (size_t bin = 0; bin < FINE_BINS; bin++)
            most = fmax(most, class->bytes[bin] / fine.bin_s);
    }
    assert_true(most > 200e9 && most <= 400e9 * (1 + 1e-9));
    st_errors_clear(own->errors);
    st_timeline_free(&made.timeline);
}

/* Two kinds of nodes, four bins of a quarter second each. */
TEST_WITH(text_rows_and_picture_follow_the_bins, set_up, tear_down)
{
    static const double bytes[2][4] = {{0, 3e9, 6e9, 0}, {1e9, 1e9, 0, 0}};
    static const struct {
        st_form form;
        const char *parts[8];
    } forms[] = {
        {ST_FORM_TEXT,
         {"step time  1 s", "its NICs have 48 GB/s",
          "9 GB         2 GB         3 GB       9 GB/s      24 GB/s", "50.0 %",
          "       0       3         9 GB", "       7       1         2 GB",
          "|               ▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄█", "0 GB         0 GB       2 GB/s       4 GB/s"}},
        {ST_FORM_CSV,
         {"node,from_s,until_s,bytes,bytes_per_s\n0,0,0.25,0,0\n",
          "0,0.5,0.75,6000000000,24000000000\n", "7,0,0.25,1000000000,4000000000\n",
          "7,0.75,1,0,0\n"}},
        {ST_FORM_JSON,
         {"\"step_time_s\": 1", "\"bin_s\": 0.25", "\"capacity_bytes_per_s\": 48000000000",
          "\"mean_bytes_per_s\": 9000000000", "\"peak_bytes_per_s\": 24000000000",
          "\"on_share\": 0.5"}},
    };
    fixture *own = *state;
    const st_nic_class classes[] = {
        {.first_node = 0,
         .nodes = 3,
         .bytes = bytes[0],
         .sent_bytes = 9e9,
         .hidden_bytes = 2e9,
         .delayed_bytes = 3e9},
        {.first_node = 7, .nodes = 1, .bytes = bytes[1], .sent_bytes = 2e9}};
    const st_timeline timeline = {.plan = {.job = "small", .sheet = "own"}, .end = ST_TICKS_PER_S};
    st_nic_usage usage = {.timeline = &timeline,
                          .bins = 4,
                          .bin_s = 0.25,
                          .rate = 48e9,
                          .classes = classes,
                          .class_count = COUNT(classes)};
    for (size_t i = 0; i < COUNT(forms); i++) {
        st_result result;
        st_nic_report(&usage, own->arena, &result);
        assert_form_has(&result, forms[i].form, forms[i].parts, COUNT(forms[i].parts));
    }
    /* the scale ends at the cards' 48 GB/s, or without them at the highest bin's 24 */
    static const char *const curves[][3] = {
        {"M540 300L540 220", "M540 220L765 220", "node 7, 1 alike"},
        {"M540 220L540 60", "M315 326.67L540 326.67", "node 0, 3 alike"}};
    for (size_t i = 0; i < COUNT(curves); i++) {
        st_buffer svg = {0};
        usage.rate = i == 0 ? 48e9 : 0;
        st_nic_svg(&usage, &svg);
        for (size_t k = 0; k < COUNT(curves[i]); k++)
            assert_contains(st_buffer_read(&svg), curves[i][k]);
        st_buffer_free(&svg);
    }
}

TESTS(nic);

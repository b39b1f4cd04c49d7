/* SPDX-License-Identifier: Apache-2.0 */
/* Corrections: their text, what other groups take from them, and the times of plans. */
#include "nccl_support.h"

#include "correction.h"

#define NODE  "16/2 1024=0.937 65536=1.218 67108864=0.982"
#define NODES "64/8 1024=1.131 67108864=0.953"

/* ---- text ---- */

static const char *parse(const char *text, st_nccl_curve *curves, size_t *count, size_t *at)
{
    st_nccl_correction correction = {.curves = curves};
    const char *reason = st_nccl_correction_parse(text, &correction, at);
    *count = correction.count;
    return reason;
}

TEST(curves_of_a_text)
{
    st_nccl_curve curves[3];
    size_t count = 0;
    size_t at = 0;
    assert_int_equal(st_nccl_correction_count(NODE " ;\n " NODES ";"), 3);
    assert_null(parse(NODE " ;\n " NODES ";", curves, &count, &at));
    assert_int_equal(count, 2);
    assert_near(curves[0].ranks, 16, 0);
    assert_near(curves[0].nodes, 2, 0);
    assert_near(curves[0].logs[0], log(0.937), 1e-12); /* as the first one */
    assert_near(curves[0].logs[10], log(0.937), 1e-12);
    assert_near(curves[0].logs[13], 0.5 * (log(0.937) + log(1.218)), 1e-12);
    assert_near(curves[0].logs[16], log(1.218), 1e-12);
    assert_near(curves[0].logs[21], 0.5 * (log(1.218) + log(0.982)), 1e-12);
    assert_near(curves[0].logs[40], log(0.982), 1e-12);
    assert_near(curves[1].logs[18], 0.5 * (log(1.131) + log(0.953)), 1e-12);
    assert_near(curves[1].logs[ST_NCCL_OCTAVES - 1], log(0.953), 1e-12);
}

TEST(sizes_that_are_no_powers_of_two)
{
    st_nccl_curve curve;
    size_t count = 0;
    size_t at = 0;
    assert_null(parse("8/1 3000=1.37 5000=0.81 300000=1.06", &curve, &count, &at));
    double share = (12.0 - log2(3000)) / (log2(5000) - log2(3000));
    assert_near(curve.logs[11], log(1.37), 1e-12);
    assert_near(curve.logs[12], log(1.37) + share * (log(0.81) - log(1.37)), 1e-12);
    assert_true(curve.logs[13] > log(0.81) && curve.logs[13] < log(1.06));
}

TEST(what_is_no_correction)
{
    static const struct {
        const char *text;
        const char *reason;
        size_t at;
    } cases[] = {
        {"there", "expected a number of at most 24 digits", 0},
        {"16 1024=1.1", "expected RANKS/NODES", 2},
        {"16/3 1024=1.1", "expected whole numbers of ranks and of machines that divide them", 0},
        {"16/0 1024=1.1", "expected whole numbers of ranks and of machines that divide them", 0},
        {"16.5/1 1024=1.1", "expected whole numbers of ranks and of machines that divide them", 0},
        {"99999999/1 1024=1.1", "expected whole numbers of ranks and of machines that divide them",
         0},
        {"16/2", "expected SIZE=FACTOR", 4},
        {"16/2 ; 8/1 1024=1", "expected SIZE=FACTOR", 5},
        {"16/2 1024", "expected SIZE=FACTOR", 9},
        {"16/2 1024=-1.1", "expected a number of at most 24 digits", 10},
        {"16/2 1024=0", "expected a factor from 0.001 to 1000", 5},
        {"16/2 1024=1000.5", "expected a factor from 0.001 to 1000", 5},
        {"16/2 2048=1.1 1024=1.2", "expected rising sizes in bytes", 14},
        {"16/2 0=1.1", "expected rising sizes in bytes", 5},
        {"16/2 1024=1.0000000000000000000000001", "expected a number of at most 24 digits", 10},
        {"16/2~larg 1024=1.1", "expected ~small, ~large or ~all", 4},
        {"16/2 1024=1.1 x", "expected a number of at most 24 digits", 14},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_nccl_curve curves[4];
        size_t count = 0;
        size_t at = 0;
        const char *reason = parse(cases[i].text, curves, &count, &at);
        if (!reason || strcmp(reason, cases[i].reason) != 0 || at != cases[i].at)
            fail_msg("'%s': %s at %zu", cases[i].text, reason ? reason : "no complaint", at);
    }
    assert_int_equal(st_nccl_correction_count(" \n"), 0);
}

/* ---- plans ---- */

/* All-reduce of A100 machines of 8 GPUs. */
static void make_plans(double ranks, const char *text, st_nccl_plans *plans)
{
    static st_nccl_curve curves[4];
    size_t at = 0;
    test_host host;
    st_nccl_settings settings = {0};
    start_host(&host);
    st_nccl_read_settings(&host.host, &settings);
    settings.correction.curves = curves;
    assert_null(st_nccl_correction_parse(text, &settings.correction, &at));
    st_nccl_row row = {{1e6, ranks, fmin(ranks, 8), (double)NAN, 8, 300e9, 200e9, 8.0}};
    st_nccl_case from = {0};
    assert_null(st_nccl_read_row(&settings, ST_NCCL_ALL_REDUCE, &row, &from));
    st_nccl_make_plans(&settings, ST_NCCL_ALL_REDUCE, &from, plans);
}

static void make_plan(double ranks, const char *text, st_nccl_plan *plan)
{
    st_nccl_plans plans;
    make_plans(ranks, text, &plans);
    assert_false(plans.differ);
    *plan = plans.large;
}

/* Times of a message as those of small ones and of large ones are made. */
static void make_times(double ranks, const char *text, double bytes, double times[2])
{
    st_nccl_plans plans;
    make_plans(ranks, text, &plans);
    times[0] = st_nccl_time_us(plans.differ ? &plans.small : &plans.large, bytes);
    times[1] = st_nccl_time_us(&plans.large, bytes);
}

/* Time of a corrected plan over that of a plain one. */
static double factor_at(double ranks, const char *text, double bytes)
{
    st_nccl_plan plain;
    st_nccl_plan plan;
    make_plan(ranks, "", &plain);
    make_plan(ranks, text, &plan);
    return st_nccl_time_us(&plan, bytes) / st_nccl_time_us(&plain, bytes);
}

TEST(the_measured_group)
{
    assert_near(factor_at(16, NODE, 1024), 0.937, 1e-9);
    assert_near(factor_at(16, NODE, 65536), 1.218, 1e-9);
    assert_near(factor_at(16, NODE, 67108864), 0.982, 1e-9);
    assert_near(factor_at(16, NODE, 1e14), 0.982, 1e-9);
    assert_near(factor_at(16, NODE, 0.25), 0.937, 1e-9);
    assert_near(factor_at(16, "16/2 1024=1", 3e5), 1, 1e-9);
}

TEST(between_powers_of_two)
{
    /* A straight line over the logarithm of the size, from 65536 to 67108864. */
    static const double sizes[] = {1 << 20, 1.4e6, 1.96e6, 1 << 21};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        double share = log2(sizes[i] / 65536) / 10;
        double expected = log(1.218) + share * (log(0.982) - log(1.218));
        assert_near(log(factor_at(16, NODE, sizes[i])), expected, 1e-9);
    }
}

TEST(other_groups)
{
    /* 32 ranks on 4 machines: two octaves from 16 on 2, two from 64 on 8. */
    double share = sinh(2.0 / 4.0) / sinh(4.0 / 4.0);
    double between = factor_at(32, NODE "; " NODES, 268435456);
    assert_near(log(between), share * (log(0.982) + log(0.953)), 1e-9);
    /* 128 on 16 machines: nothing above, two octaves below. */
    assert_near(log(factor_at(128, NODE "; " NODES, 268435456)), exp(-0.5) * log(0.953), 1e-9);
    /* As many bytes per rank: 65536 of 16 ranks are 131072 of 32. */
    assert_near(log(factor_at(32, NODE, 131072)), exp(-0.5) * log(1.218), 1e-9);
    assert_near(log(factor_at(32, NODE, 0.5)), exp(-0.5) * log(0.937), 1e-9);
    assert_near(log(factor_at(32, NODE, 1e15)), exp(-0.5) * log(0.982), 1e-9);
    /* One machine is another matter than several. */
    assert_near(factor_at(8, NODE "; " NODES, 1024), 1, 0);
    /* Of two curves on a side the nearer one counts. */
    assert_near(factor_at(16, "8/4 1024=1.7; 16/2 1024=0.937", 1024), 0.937, 1e-9);
}

/* Behind a marked group the times themselves are interpolated, over the logarithm of the ranks. */
TEST(times_between_groups)
{
    static const char *const words[] = {"16/2~large 1024=1.31 67108864=2.385; " NODES,
                                        "16/2~all 1024=1.31 67108864=2.385; " NODES};
    static const double sizes[] = {4096, 268435456};
    for (size_t i = 0; i < COUNT(words); i++)
        for (size_t k = 0; k < COUNT(sizes); k++) {
            st_nccl_plan ends[2];
            double times[2];
            make_plan(16, words[i], &ends[0]);
            make_plan(64, words[i], &ends[1]);
            make_times(48, words[i], sizes[k], times);
            double share = log(48.0 / 16.0) / log(64.0 / 16.0);
            double line = exp((1 - share) * log(st_nccl_time_us(&ends[0], sizes[k])) +
                              share * log(st_nccl_time_us(&ends[1], sizes[k])));
            assert_near(times[1], line, 1e-9 * line);
            if (i == 0)
                assert_true(fabs(times[0] - line) > 1e-3 * line);
            else
                assert_near(times[0], line, 1e-9 * line);
        }
    /* Beyond the last group nothing lies between. */
    assert_near(factor_at(128, "16/2 1024=1.31; 64/8~all 1024=1.17", 4096),
                factor_at(128, "16/2 1024=1.31; 64/8 1024=1.17", 4096), 0);
    st_nccl_curve curves[2];
    st_nccl_correction correction = {.curves = curves};
    size_t at = 0;
    char text[192];
    static const double shares[2] = {0.83, 0.37};
    static const st_nccl_group group = {.ranks = 32, .per_node = 8, .nodes = 4};
    static const st_nccl_group sparse = {.ranks = 32, .per_node = 4, .nodes = 8};
    assert_null(
        st_nccl_correction_parse("16/2~small 1024=1.031; 64/8 1024=0.952", &correction, &at));
    st_nccl_verdict(&group, &correction, shares, 0, text, sizeof(text));
    assert_string_equal(text, "interpolated between the times of 16 and 64 ranks");
    st_nccl_verdict(&group, &correction, shares, 1, text, sizeof(text));
    assert_string_equal(text, "interpolated between 16 and 64 ranks, with 37 % of the calibration");
    st_nccl_verdict(&sparse, &correction, shares, 0, text, sizeof(text));
    assert_true(strncmp(text, "extrapolated", 12) == 0);
}

/* NCCL may go over to a faster protocol late; the time then follows what was measured. */
TEST(times_that_fall)
{
    static const char cliff[] = "16/2 1024=1.2 262144=0.71 524288=4.13 1048576=0.52 2097152=2.7 "
                                "4194304=0.66 1073741824=1.3";
    static const double sizes[] = {262144, 524288, 1048576, 2097152, 4194304};
    static const double factors[] = {0.71, 4.13, 0.52, 2.7, 0.66};
    st_nccl_plan plan;
    st_nccl_plan plain;
    make_plan(16, cliff, &plan);
    make_plan(16, "", &plain);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        double time = st_nccl_time_us(&plan, sizes[i]);
        assert_near(time, factors[i] * st_nccl_time_us(&plain, sizes[i]), 1e-9 * time);
    }
    assert_true(st_nccl_time_us(&plan, 1048576) < st_nccl_time_us(&plan, 524288));
    /* No jumps between the points. */
    for (int i = 0; i < 700; i++) {
        double bytes = 0.5 * pow(1.037, i);
        double near = st_nccl_time_us(&plan, bytes * (1 + 1e-9));
        assert_near(st_nccl_time_us(&plan, bytes), near, 1e-7 * near);
    }
}

TEST(parts_sum)
{
    st_nccl_plan plan;
    st_nccl_plan plain;
    make_plan(16, NODE, &plan);
    make_plan(16, "", &plain);
    for (int i = 0; i < 8; i++) {
        double bytes = 700 * pow(7.3, i);
        st_nccl_answer answer = st_nccl_answer_of(&plan, bytes);
        st_nccl_answer without = st_nccl_answer_of(&plain, bytes);
        double sum = answer.setup_us + answer.intra_us + answer.inter_us + answer.reduction_us +
                     answer.correction_us;
        assert_near(sum, st_nccl_time_us(&plan, bytes), 1e-12 * sum);
        assert_near(answer.total_us, sum, 1e-12 * sum);
        assert_near(answer.setup_us, without.setup_us, 0);
        assert_near(without.correction_us, 0, 0);
    }
    assert_true(st_nccl_answer_of(&plan, 1024).correction_us < 0);
    assert_true(st_nccl_answer_of(&plan, 65536).correction_us > 0);
}

/* ---- the plugin ---- */

static int open_with(test_host *host, const char *text, void **instance)
{
    start_host(host);
    set_option(host, "correction", text);
    return st_plugin_describe()->open(&host->host, instance);
}

typedef struct heard {
    double sum;
    double correction;
    size_t corrections;
} heard;

static void hear(void *context, const st_plugin_term *term)
{
    heard *h = context;
    if (term->flags & ST_PLUGIN_PART)
        h->sum += term->value;
    if (strcmp(term->name, "correction") == 0) {
        h->correction = term->value;
        h->corrections++;
    }
}

static heard explain(void *instance, double *value)
{
    static const double row[ST_NCCL_COLUMNS] = {65536, 16, 8, 1e11, 8, 300e9, 200e9, 8.0};
    const double *columns[ST_NCCL_COLUMNS];
    heard h = {0};
    st_plugin_sink sink = {.struct_size = sizeof(sink), .context = &h, .term = hear};
    const st_plugin_provider *provider = st_plugin_describe()->providers[0];
    for (size_t i = 0; i < ST_NCCL_COLUMNS; i++)
        columns[i] = &row[i];
    assert_int_equal(provider->evaluate(instance, 1, columns, value), ST_PLUGIN_OK);
    assert_int_equal(provider->explain(instance, columns, &sink), ST_PLUGIN_OK);
    return h;
}

TEST(explanations)
{
    test_host host;
    void *instance = NULL;
    double value = 0;
    double plain = 0;
    assert_int_equal(open_with(&host, "", &instance), ST_PLUGIN_OK);
    assert_int_equal(explain(instance, &plain).corrections, 0);
    st_plugin_describe()->close(instance);
    assert_int_equal(open_with(&host, NODE, &instance), ST_PLUGIN_OK);
    heard h = explain(instance, &value);
    assert_int_equal(h.corrections, 1);
    assert_near(value, 1.218 * plain, 1e-9 * value);
    assert_near(h.sum, value, 1e-12 * value);
    assert_near(h.correction, 0.218 * plain, 1e-9 * value);
    st_plugin_describe()->close(instance);
    assert_int_equal(host.held, 0);
}

TEST(refused)
{
    test_host host;
    void *instance = NULL;
    assert_int_equal(open_with(&host, "16/2 2048=1.1 1024=1.2", &instance), ST_PLUGIN_FAILED);
    assert_string_equal(
        host.error, "correction: expected rising sizes in bytes, found '1024=1.2' after 14 bytes");
    assert_int_equal(host.held, 0);
    static char many[260 * 12];
    for (size_t i = 0; i < 257; i++)
        memcpy(many + 8 * i, "2/1 1=1;", 9);
    assert_int_equal(open_with(&host, many, &instance), ST_PLUGIN_FAILED);
    assert_string_equal(host.error, "correction: more than 256 groups");
    assert_int_equal(host.held, 0);
}

/* The distance of a group from the measured ones is reported. */
TEST(verdicts)
{
    static const struct {
        st_nccl_group group;
        const char *verdict;
    } cases[] = {
        {{.ranks = 16, .per_node = 8, .nodes = 2}, "measured"},
        {{.ranks = 32, .per_node = 8, .nodes = 4},
         "interpolated between 16 and 64 ranks, with 37 % of the calibration"},
        {{.ranks = 128, .per_node = 8, .nodes = 16},
         "extrapolated by 1.0 octaves of ranks, 1.0 of nodes, 0.0 of ranks on a node, with 37 % of "
         "the calibration"},
        {{.ranks = 4, .per_node = 1, .nodes = 4},
         "extrapolated by 2.0 octaves of ranks, 1.0 of nodes, 3.0 of ranks on a node, with 2 % of "
         "the calibration"},
        {{.ranks = 8, .per_node = 8, .nodes = 1}, "no group of its kind was measured: nominal"},
    };
    static const double shares[2] = {0.83, 0.37};
    st_nccl_curve curves[2];
    st_nccl_correction correction = {.curves = curves};
    size_t at = 0;
    char text[192];
    assert_null(st_nccl_correction_parse("16/2 1024=1.031; 64/8 1024=0.952", &correction, &at));
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_nccl_verdict(&cases[i].group, &correction, shares, 1, text, sizeof(text));
        assert_string_equal(text, cases[i].verdict);
    }
    correction.count = 0;
    st_nccl_verdict(&cases[0].group, &correction, shares, 1, text, sizeof(text));
    assert_string_equal(text, "");
}

/* Of the factors a measured group takes all, others a share that fades with ranks on a machine. */
TEST(calibrations_fade)
{
    st_nccl_curve curves[2];
    st_nccl_correction correction = {.curves = curves};
    size_t at = 0;
    assert_null(st_nccl_correction_parse("16/2 1024=1.031; 8/1 1024=0.952", &correction, &at));
    const st_nccl_group same = {.ranks = 16, .per_node = 8, .nodes = 2};
    const st_nccl_group more = {.ranks = 64, .per_node = 8, .nodes = 8};
    const st_nccl_group lone = {.ranks = 2, .per_node = 1, .nodes = 2};
    const st_nccl_group four = {.ranks = 4, .per_node = 4, .nodes = 1};
    assert_near(st_nccl_closeness(&same, &correction, 0.37), 1.0, 0);
    assert_near(st_nccl_closeness(&more, &correction, 0.37), 0.37, 1e-12);
    assert_near(st_nccl_closeness(&lone, &correction, 0.37), 0.37 * exp(-3.0), 1e-12);
    assert_near(st_nccl_closeness(&four, &correction, 0.37), 0.37, 1e-12);
    /* Over PCIe a pair predicts pairs, and others predict others. */
    const st_nccl_group pair = {.ranks = 2, .per_node = 2, .nodes = 1, .over_pcie = true};
    const st_nccl_group board = {.ranks = 4, .per_node = 4, .nodes = 1, .over_pcie = true};
    assert_near(st_nccl_closeness(&pair, &correction, 0.37), 0.0, 0);
    assert_near(st_nccl_closeness(&board, &correction, 0.37), 0.37, 1e-12);
    correction.count = 0;
    assert_near(st_nccl_closeness(&more, &correction, 0.37), 1.0, 0);
}

TESTS(nccl_correction);

/* SPDX-License-Identifier: Apache-2.0 */
/* Axes: lists, ranges and what is wrong with them. */
#include "job_support.h"

#include "sweep/axis.h"

static const st_axis *parse(fixture *own, const char *text)
{
    st_axis *axis = st_arena_alloc(own->arena, 1, sizeof *axis);
    assert_non_null(axis);
    if (st_axis_parse("--over", text, own->arena, axis, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return axis;
}

static void assert_values(fixture *own, const char *text, const char *expected)
{
    const st_axis *axis = parse(own, text);
    const char *joined = "";
    for (size_t i = 0; i < axis->count; i++) {
        char storage[ST_AXIS_TEXT];
        joined = st_arena_printf(own->arena, "%s%s%s", joined, i > 0 ? "|" : "",
                                 st_axis_text(axis, i, storage));
    }
    assert_string_equal(joined, expected);
}

TEST_OF(values_are_listed, fixture *own, set_up, tear_down)
{
    assert_values(own, "parallel.tp=7", "7");
    assert_values(own, " parallel.tp = 3 , 11,5 ", "3|11|5");
    assert_values(own, "parallel.tp=3..7", "3|4|5|6|7");
    assert_values(own, "parallel.tp=3..8+2", "3|5|7");
    assert_values(own, "parallel.tp=3..50*2", "3|6|12|24|48");
    assert_values(own, "parallel.tp=3..5,17,20..22", "3|4|5|17|20|21|22");
    assert_values(own, "overlap.tp=0.1..0.7+0.2", "0.1|0.3|0.5|0.7");
    assert_values(own, "cluster.nic_bandwidth=13..39+13 Gbit/s", "13 Gbit/s|26 Gbit/s|39 Gbit/s");
    assert_values(own, "cluster.nic_bandwidth=13 GB/s..60*2", "13 GB/s|26 GB/s|52 GB/s");
    assert_values(own, "constants.x=1.5..3+0.5 ms", "1.5 ms|2 ms|2.5 ms|3 ms");
    assert_values(own, "recompute=full,none", "full|none");
    assert_values(own, "cluster.gpu=../h100.yaml,a100", "../h100.yaml|a100");
    assert_values(own, "parallel.order=tp-dp,dp-tp", "tp-dp|dp-tp");
}

TEST_OF(long_ranges_keep_no_texts, fixture *own, set_up, tear_down)
{
    const st_axis *axis = parse(own, "batch.global=5..900000000+3");
    char storage[ST_AXIS_TEXT];
    assert_null(axis->texts);
    assert_int_equal(axis->count, 299999999);
    assert_string_equal(st_axis_text(axis, 299999998, storage), "899999999");
}

TEST_WITH(faults_are_told, set_up, tear_down)
{
    static const struct {
        const char *text;
        st_status status;
        const char *said;
    } cases[] = {
        {"parallel.tp", ST_ERR_USAGE, "missing '='"},
        {"parallel.tp= ", ST_ERR_USAGE, "the axis over parallel.tp is empty"},
        {"parallel.tp=3,,5", ST_ERR_USAGE, "value 2 of parallel.tp is empty"},
        {"parallel.tp=3,", ST_ERR_USAGE, "value 2 of parallel.tp is empty"},
        {"parallel.tq=3", ST_ERR_USAGE, "did you mean 'parallel.tp'?"},
        {"parallel=3", ST_ERR_USAGE, "parallel is a section, not a key"},
        {"parallel.tp=9..3", ST_ERR_VALUE, "the range '9..3' of parallel.tp is empty"},
        {"parallel.tp=3..9*1", ST_ERR_VALUE, "the factor of a range must be above 1"},
        {"parallel.tp=3..9+0", ST_ERR_VALUE, "the step of a range must be above 0"},
        {"parallel.tp=0..9*2", ST_ERR_VALUE, "must start above 0"},
        {"cluster.nic_bandwidth=3..9..12 GB/s", ST_ERR_VALUE, "has two '..'"},
        {"cluster.nic_bandwidth=3 GB/s..9 MB/s", ST_ERR_UNIT, "two units: 'GB/s' and 'MB/s'"},
        {"overlap.tp=0..1+0.0000001", ST_ERR_LIMIT, "overlap.tp has too many values"},
        {"parallel.tp=x..9", ST_ERR_SYNTAX, "'x'"},
        {"parallel.tp=\1", ST_ERR_USAGE, "invalid or too many characters"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        st_axis axis;
        st_status status = st_axis_parse("--over", cases[i].text, own->arena, &axis, own->errors);
        const char *text = said(own);
        if (status != cases[i].status || strstr(text, cases[i].said) == NULL)
            fail_msg("'%s': status %d, %s", cases[i].text, status, text);
    }
}

TEST_OF(two_axes_over_one_key_are_one_too_many, fixture *own, set_up, tear_down)
{
    st_axis axes[3] = {*parse(own, "parallel.tp=3"), *parse(own, "parallel.pp=5"),
                       *parse(own, "parallel.tp=7")};
    assert_int_equal(st_axes_check(axes, 2, own->errors), ST_OK);
    assert_int_equal(st_axes_check(axes, 3, own->errors), ST_ERR_USAGE);
    assert_non_null(strstr(said(own), "parallel.tp has two axes"));
}

TEST_GROUP(axis)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return RUN_TESTS(axis);
}

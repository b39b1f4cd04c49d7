/* SPDX-License-Identifier: Apache-2.0 */
/* Scaling studies: the best plan of every number of GPUs, efficiencies, what is said of them. */
#include "search_support.h"

#include "search/scale.h"

#include <math.h>

static const st_scale *study(fixture *own, const st_scale_request *request)
{
    static const st_search_watch watch = {.progress = NULL};
    st_scale *scale = st_arena_alloc(own->arena, 1, sizeof *scale);
    assert_non_null(scale);
    write_text(own, "formulas/oven.yaml", oven);
    write_text(own, "configs/jobs/bread.yaml", bread);
    if (st_scale_run(own->paths, request, &watch, own->arena, scale, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return scale;
}

static const char *text_of(fixture *own, const st_scale *scale, st_form form)
{
    st_result result;
    st_buffer buffer = {0};
    st_scale_put(scale, &result, own->arena);
    st_result_write(&result, form, &plain, &buffer);
    assert_false(buffer.failed);
    const char *text = st_arena_copy(own->arena, st_buffer_read(&buffer), buffer.length);
    assert_non_null(text);
    st_buffer_free(&buffer);
    return text;
}

static st_scale_request request_of(const char *gpus, const char *const *sets, size_t count)
{
    st_scale_request request = {.search = bread_request(sets, count, 1)};
    request.search.gpus = gpus;
    return request;
}

/*
 * Two GPUs: 1.2 x 1.05 + 0.0385 / 4 s, since eight loaves at once would be too hot. Sixteen: 0.15 x
 * 1.15 + 0.0385 / 2. Efficiency is the first time over the own one, by as many GPUs.
 */
TEST_WITH(every_number_has_its_best_plan, set_up, tear_down)
{
    const st_scale_request request = request_of("2,4,16", NULL, 0);
    const st_scale *scale = study(*state, &request);
    static const double seconds[] = {1.269625, 0.639625, 0.19175};
    static const double gpus[] = {2, 4, 16};
    static const double gib[] = {8, 8, 4};
    assert_int_equal(scale->count, 3);
    assert_int_equal(scale->found, 3);
    for (size_t i = 0; i < 3; i++) {
        const st_scale_row *row = &scale->rows[i];
        assert_true(row->found && row->gpus == gpus[i] && row->batch == 8);
        assert_true(fabs(row->time - seconds[i]) < 1e-12);
        assert_true(fabs(row->efficiency - seconds[0] / seconds[i] * 2 / gpus[i]) < 1e-12);
        assert_true(fabs(row->values[ST_SCALE_MEMORY] / 1073741824 - gib[i]) < 1e-9);
    }
    const char *text = text_of(*state, scale, ST_FORM_TEXT);
    static const char *const parts[] = {
        "job      bread\nsheet    oven\n"
        "scaling  strong: the batch is fixed, the best plan for every number of GPUs\n"
        "fixed    batch.global=8 (bread.yaml:3), 1 more of bread.yaml\nvaried   tp pp dp micro\n\n"
        "  GPUs  batch         T  efficiency  memory\n",
        "     4      8  639.6 ms     99.25 %   8 GiB\n",
        "\n\nPlans\n  2: parallel.tp=1 parallel.pp=2 parallel.dp=1 batch.micro=4\n",
        "\n  16: parallel.tp=1 parallel.pp=4 parallel.dp=4 batch.micro=2\n"};
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(text, parts[i]);
    const char *csv = text_of(*state, scale, ST_FORM_CSV);
    assert_contains(csv,
                    "gpus,batch,T [s],efficiency,memory [GiB],plan\n2,8,1.269625,1,8,parallel");
    const char *json = text_of(*state, scale, ST_FORM_JSON);
    assert_contains(json, "\"scaling\": \"strong\",\n  \"fixed\": false,");
    assert_contains(json, "{\"gpus\": 2, \"batch\": 8, \"seconds\": 1.269625, \"efficiency\": 1, "
                          "\"memory_bytes\": 8589934592, \"plan\": \"parallel.tp=1");
    assert_lacks(json, "gap");
    assert_lacks(json, "interrupted");
}

/* As many loaves for each GPU as the job has for its one: all sides grow, and time stays. */
TEST_WITH(a_batch_may_grow_with_the_gpus, set_up, tear_down)
{
    st_scale_request request = request_of("2,4", NULL, 0);
    request.weak = true;
    const st_scale *scale = study(*state, &request);
    assert_true(scale->rows[0].batch == 16 && scale->rows[1].batch == 32);
    assert_true(fabs(scale->rows[1].efficiency - 2 * 1.269625 / 0.639625 / 2) < 1e-12);
    const char *text = text_of(*state, scale, ST_FORM_TEXT);
    assert_contains(text, "scaling  weak: the batch grows with the GPUs, the best plan for");
    assert_contains(text, "fixed    1 more of bread.yaml\n"); /* and not the batch */
    assert_contains(text_of(*state, scale, ST_FORM_JSON), "\"scaling\": \"weak\"");
}

TEST_WITH(a_plan_may_stay_but_for_data_parallel_ranks, set_up, tear_down)
{
    static const char *const sets[] = {"parallel.pp=2", "batch.micro=2"};
    st_scale_request request = request_of("2,8", sets, 2);
    request.fixed = true;
    const st_scale *scale = study(*state, &request);
    assert_int_equal(scale->found, 2);
    assert_true(fabs(scale->rows[0].time - 1.27925) < 1e-12);
    assert_true(fabs(scale->rows[1].time - 0.33425) < 1e-12);
    const char *text = text_of(*state, scale, ST_FORM_TEXT);
    assert_contains(text, ", the job's plan with more data-parallel ranks\n");
    assert_contains(text, "\nvaried   dp\n");
    assert_contains(text_of(*state, scale, ST_FORM_JSON), "\"fixed\": true");
}

/* A number without a plan says what it lacks; efficiencies are those of the first that has one. */
TEST_WITH(numbers_without_a_plan_say_why, set_up, tear_down)
{
    static const char *const sets[] = {"cluster.gpu.memory=4.6 GiB"};
    const st_scale_request request = request_of("2,4,8", sets, 1);
    const st_scale *scale = study(*state, &request);
    assert_int_equal(scale->found, 2);
    assert_false(scale->rows[0].found);
    assert_string_equal(scale->rows[0].miss, "too hot");
    assert_true(scale->rows[1].found && scale->rows[1].efficiency == 1);
    const char *text = text_of(*state, scale, ST_FORM_TEXT);
    assert_contains(text, "     2      8         -           -       -\n");
    assert_contains(text, "\n  2: none; too hot\n  4: parallel.");
    const char *json = text_of(*state, scale, ST_FORM_JSON);
    assert_contains(json, "{\"gpus\": 2, \"batch\": 8, \"plan\": null, \"lacks\": \"too hot\"}");
    assert_contains(text_of(*state, scale, ST_FORM_CSV), "\n2,8,,,,\n4,8,0.");
}

/* ---- what a row says ---- */

static const char *const refine[] = {"nccl", "wide"};

static st_type unit_type(const char *text)
{
    st_type type = {.kind = ST_TYPE_NUMBER};
    assert_int_equal(st_unit_parse(text, strlen(text), (st_place){0}, &type.unit, NULL), ST_OK);
    return type;
}

/* 0.125 of 1.375 s exposed; 16 $ for two million tokens. */
TEST_OF(rows_have_what_the_sheet_has, fixture *own, set_up, tear_down)
{
    const st_type seconds = unit_type("s");
    const st_type share = unit_type("%");
    const st_type bytes = unit_type("GiB");
    const st_type dollars = unit_type("$");
    const st_type one = unit_type("1");
    st_scale_request request = request_of("2", NULL, 0);
    st_scale scale = *study(own, &request);
    st_scale_row rows[] = {{.gpus = 2,
                            .batch = 8,
                            .found = true,
                            .time = 1.375,
                            .efficiency = 1,
                            .values = {0.125, 0.385, 3221225472, 16, 2e6},
                            .gap = (double)NAN,
                            .plan = "parallel.dp=2"},
                           {.gpus = 4,
                            .batch = 8,
                            .found = true,
                            .time = 0.75,
                            .efficiency = 0.9167,
                            .values = {0.125, 0.385, 3221225472, 0, 2e6},
                            .gap = 0.0385,
                            .plan = "parallel.dp=4"},
                           {.gpus = 8, .found = true, .time = 0.5, .plan = "parallel.dp=8"}};
    scale.rows = rows;
    scale.count = 3;
    scale.found = 3;
    scale.types[ST_SCALE_EXPOSED] = &seconds;
    scale.types[ST_SCALE_MFU] = &share;
    scale.types[ST_SCALE_MEMORY] = &bytes;
    scale.types[ST_SCALE_COST] = &dollars;
    scale.types[ST_SCALE_TOKENS] = &one;
    scale.guide = (st_guide){.method = ST_METHOD_CMAES, .pruning = ST_PRUNING_PROVEN};
    scale.refine = refine;
    scale.refine_count = 2;
    scale.interrupted = true;
    const char *text = text_of(own, &scale, ST_FORM_TEXT);
    static const char *const parts[] = {
        "\nrefine   nccl\n         wide\nsearch   cmaes, with rules that skip plans\n",
        "  GPUs  batch        T  efficiency  exposed     mfu  memory  $/Mtoken\n"
        "     2      8  1.375 s       100 %  9.091 %  38.5 %   3 GiB         8\n"
        "     4      8   750 ms     91.67 %  16.67 %  38.5 %   3 GiB         -\n",
        "  2: parallel.dp=2 (the gap to the best plan is unknown)\n  4: parallel.dp=4",
        "  4: parallel.dp=4 (another plan may be up to 3.85 % better)\n  8: parallel.dp=8\n"};
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(text, parts[i]);
    const char *json = text_of(own, &scale, ST_FORM_JSON);
    assert_contains(json, "\"mfu_share\": 0.385, \"memory_bytes\": 3221225472, "
                          "\"dollars_per_million_tokens\": 8, \"gap\": null, ");
    assert_contains(json, "\"dollars_per_million_tokens\": null, \"gap\": 0.0385, ");
    const char *csv = text_of(own, &scale, ST_FORM_CSV);
    assert_contains(csv, "gpus,batch,T [s],efficiency,exposed [s],mfu [%],memory [GiB],cost "
                         "[$/Mtoken],gap,plan\n2,8,1.375,1,0.125,38.5,3,8,,parallel.dp=2\n");
    assert_contains(json, "\"interrupted\": true");
    scale.guide.pruning = ST_PRUNING_NONE;
    assert_contains(text_of(own, &scale, ST_FORM_TEXT), "\nsearch   cmaes\n");
}

TESTS(scale);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators fitted to times that are computed here from constants that are known: what a fit to
 * them must give back.
 */
#include "report_support.h"

#include "operator-times/fit/operators.h"

#include <math.h>

static const double peak_16 = 989.4e12; /* of configs/gpus/h100-sxm.yaml */
static const double peak_8 = 1978.9e12;
static const double bandwidth = 3350e9;

static void assert_near(double value, double wanted, double tolerance)
{
    if (!(fabs(value - wanted) <= tolerance * fabs(wanted)))
        fail_msg("%.17g is not %.17g", value, wanted);
}

static double corner(double left, double right)
{
    return pow(pow(left, 4) + pow(right, 4), 0.25);
}

/* ---- tables ---- */

/* Attention of two widths of heads: e 0.613 and 0.487, half at 731 and 1187 tokens, 13.7 us. */
static const char *attention_table(fixture *own)
{
    st_buffer text = {0};
    st_buffer_text(&text, "gpu,batch,seq,heads,kv_heads,head_dim,dtype,kv_dtype,window,past,us\n");
    for (int seq = 2048; seq <= 16384; seq *= 2)
        for (int heads = 8; heads <= 64; heads += 8)
            for (int width = 64; width <= 128; width *= 2) {
                double work = 2.0 * 3 * heads * width * seq * (double)seq;
                double rows = (1 + 8.0 / heads) / 2 / seq; /* eight heads of keys */
                double slow = width == 64 ? (1 + 1187 * rows) / 0.487 : (1 + 731 * rows) / 0.613;
                st_buffer_printf(&text, "h100_sxm,3,%d,%d,8,%d,bfloat16,bfloat16,0,0,%.12g\n", seq,
                                 heads, width, 13.7 + 1e6 * work * slow / peak_16);
            }
    st_buffer_text(&text, "h100_sxm,3,4096,8,8,128,bfloat16,bfloat16,512,0,3.7\n");
    write_text(own, "attention.csv", text.data);
    st_buffer_free(&text);
    return below(own, "attention.csv");
}

/* Experts in bf16 and FP8: grouped over plain products 0.871 and 0.643, half at 57 tokens, memory
 * 0.783, 23.7 us; plain products reach 0.7 and 0.5 in short bursts. */
static const char *experts_table(fixture *own)
{
    st_buffer text = {0};
    st_buffer_text(&text,
                   "gpu,source,dtype,tokens,hidden,inter,topk,experts,tp,ep,distribution,us\n");
    for (int fp8 = 0; fp8 < 2; fp8++)
        for (int tokens = 1024; tokens <= 16384; tokens *= 2)
            for (int hidden = 2048; hidden <= 8192; hidden += 1024)
                for (int inter = 768; inter <= 3072; inter *= 2) {
                    double copies = tokens * 8.0;
                    double width = fp8 ? 1 : 2;
                    double rate = fp8 ? 0.643 * 0.5 * peak_8 : 0.871 * 0.7 * peak_16;
                    double work = 6 * copies * hidden * inter * (1 + 57.0 / (copies / 64)) / rate;
                    double weights = 3 * width * 64 * hidden * inter / (0.783 * bandwidth);
                    double rows = 2 * copies * (4.0 * hidden + 3 * inter) / (0.783 * bandwidth);
                    st_buffer_printf(&text,
                                     "h100_sxm,cutlass %d,%s,%d,%d,%d,8,64,1,1,balanced,%.12g\n",
                                     fp8, fp8 ? "fp8" : "bfloat16", tokens, hidden, inter,
                                     23.7 + 1e6 * (rows + corner(work, weights)));
                }
    write_text(own, "experts.csv", text.data);
    st_buffer_free(&text);
    return below(own, "experts.csv");
}

/* Products in FP8 of two libraries, one with 4.1 us of constants and one with 12.3. */
static const char *two_libraries_table(fixture *own)
{
    st_buffer text = {0};
    st_buffer_text(&text, "gpu,dtype,source,m,n,k,us\n");
    for (int m = 1024; m <= 16384; m *= 2)
        for (int n = 1024; n <= 7168; n += 1024)
            for (int k = 1536; k <= 6144; k *= 2) {
                double cast = 3.0 * m * k / (0.6 * bandwidth);
                double moved = (double)k * (m + n) + 2.0 * m * n;
                double rest =
                    cast + corner(2.0 * m * n * k / (0.57 * peak_8), moved / (0.6 * bandwidth));
                st_buffer_printf(&text, "h100_sxm,fp8,sglang 1,%d,%d,%d,%.12g\n", m, n, k,
                                 4.1 + 1e6 * rest);
                st_buffer_printf(&text, "h100_sxm,fp8,vllm 2,%d,%d,%d,%.12g\n", m, n, k,
                                 12.3 + 1e6 * rest);
            }
    write_text(own, "products-two-libraries.csv", text.data);
    st_buffer_free(&text);
    return below(own, "products-two-libraries.csv");
}

static void fit_table(fixture *own, const char *const *sets, size_t set_count, const char *file,
                      st_operator_fit *fit)
{
    const char **files = st_arena_alloc(own->arena, 1, sizeof *files);
    assert_non_null(files);
    files[0] = file;
    *fit = (st_operator_fit){.request = {.paths = own->paths, .sets = sets, .set_count = set_count},
                             .files = files,
                             .file_count = 1,
                             .each = fit->each,
                             .leave_gpu = fit->leave_gpu,
                             .date = "2026-11-21",
                             .arena = own->arena,
                             .errors = own->errors};
    st_status status = st_operators_read(fit);
    if (status == ST_OK)
        status = st_operators_fit(fit);
    if (status != ST_OK)
        fail_msg("refused: %s", said(own));
}

static double fitted(const st_operator_group *group, const char *key)
{
    for (size_t i = 0; i < group->varied_count; i++)
        if (strcmp(group->varied[i].path + strlen("cluster.gpu."), key) == 0)
            return group->solution.values[i];
    fail_msg("%s was not fitted", key);
    return 0;
}

/* ---- tests ---- */

TEST_OF(attention_has_constants_for_each_width_of_heads, fixture *own, set_up, tear_down)
{
    st_operator_fit fit = {0};
    fit_table(own, NULL, 0, attention_table(own), &fit);
    assert_int_equal(fit.group_count, 1);
    const st_operator_group *group = &fit.groups[0];
    assert_null(group->fault);
    assert_int_equal(group->row_count, 64); /* without the window */
    assert_int_equal(group->varied_count, 5);
    assert_near(fitted(group, "attention_efficiency_64"), 0.487, 1e-5);
    assert_near(fitted(group, "attention_half_64"), 1187, 1e-4);
    assert_near(fitted(group, "attention_efficiency_128"), 0.613, 1e-5);
    assert_near(fitted(group, "attention_half_128"), 731, 1e-4);
    assert_near(fitted(group, "attention_constant"), 13.7e-6, 1e-3);
    assert_true(group->held_out.mean_absolute < 1e-4);
    assert_true(group->rate.mean_absolute > 0.03);
    assert_int_equal(group->held_out.count, group->rate.count);
    assert_in_range(group->held_out.count, 16, 48);
}

TEST_OF(experts_of_all_precisions_share_what_is_no_rate, fixture *own, set_up, tear_down)
{
    static const char *const sets[] = {"cluster.gpu.gemm_burst=1",
                                       "cluster.gpu.gemm_efficiency_bf16=0.7",
                                       "cluster.gpu.gemm_efficiency_fp8=0.5"};
    st_operator_fit fit = {0};
    fit_table(own, sets, 3, experts_table(own), &fit);
    assert_int_equal(fit.group_count, 1);
    const st_operator_group *group = &fit.groups[0];
    assert_null(group->fault);
    assert_int_equal(group->varied_count, 5);
    assert_near(fitted(group, "grouped_efficiency_bf16"), 0.871, 1e-4);
    assert_near(fitted(group, "grouped_efficiency_fp8"), 0.643, 1e-4);
    assert_near(fitted(group, "grouped_half"), 57, 1e-3);
    assert_near(fitted(group, "grouped_memory"), 0.783, 1e-4);
    assert_near(fitted(group, "grouped_constant"), 23.7e-6, 1e-3);
    assert_true(group->held_out.mean_absolute < 1e-4);
}

TEST_OF(each_source_may_be_fitted_alone, fixture *own, set_up, tear_down)
{
    st_operator_fit fit = {.each = true};
    fit_table(own, NULL, 0, experts_table(own), &fit);
    assert_int_equal(fit.group_count, 2);
    assert_string_equal(fit.groups[0].source, "cutlass 0");
    assert_string_equal(fit.groups[0].precision_name, "bf16");
    assert_string_equal(fit.groups[1].source, "cutlass 1");
    assert_string_equal(fit.groups[1].precision_name, "fp8");
    assert_int_equal(fit.groups[0].varied_count, 4);
    assert_string_equal(st_operator_gpu(&fit.groups[0]), "h100-sxm");
}

TEST_OF(libraries_are_told_apart_by_factors, fixture *own, set_up, tear_down)
{
    st_operator_fit fit = {0};
    static const char *const sets[] = {"cluster.gpu.gemm_burst=1"};
    fit_table(own, sets, 1, two_libraries_table(own), &fit);
    assert_int_equal(fit.group_count, 1);
    const st_operator_group *group = &fit.groups[0];
    assert_null(group->fault);
    assert_int_equal(group->shared_count, 3);
    assert_int_equal(group->varied_count, 5); /* no factor for a library without rows */
    double sglang = fitted(group, "gemm_overhead_fp8_sglang");
    double vllm = fitted(group, "gemm_overhead_fp8_vllm");
    assert_near(vllm / sglang, 3, 0.1); /* the base lies between both, and takes some of it */
    assert_true(sglang < 1 && vllm > 1);
    assert_near(vllm * fitted(group, "gemm_constant_fp8"), 12.3e-6, 0.1);
    assert_true(group->held_out.mean_absolute < 0.02);
    assert_true(group->fitted.mean_absolute < 0.02);
}

/* Factors that the GPU's file has do not count where a library is fitted alone. */
TEST_OF(a_library_alone_has_no_factor, fixture *own, set_up, tear_down)
{
    st_operator_fit fit = {.each = true};
    static const char *const sets[] = {"cluster.gpu.gemm_burst=1",
                                       "cluster.gpu.gemm_overhead_fp8_vllm=2.385"};
    fit_table(own, sets, 2, two_libraries_table(own), &fit);
    assert_int_equal(fit.group_count, 2);
    assert_int_equal(fit.groups[0].varied_count, 3);
    assert_int_equal(fit.groups[1].varied_count, 3);
    assert_near(fitted(&fit.groups[0], "gemm_constant_fp8"), 4.1e-6, 1e-3);
    assert_near(fitted(&fit.groups[1], "gemm_constant_fp8"), 12.3e-6, 1e-3);
}

/* Each table has jobs of its own, and constants of the same GPU are no others'. */
TEST_OF(a_gpu_is_no_kin_of_itself, fixture *own, set_up, tear_down)
{
    const char *files[2] = {two_libraries_table(own), below(own, "again.csv")};
    char command[512];
    (void)snprintf(command, sizeof command, "cp '%s' '%s'", files[0], files[1]);
    assert_int_equal(system(command), 0);
    static const char *const sets[] = {"cluster.gpu.gemm_burst=1"};
    st_operator_fit fit = {.request = {.paths = own->paths, .sets = sets, .set_count = 1},
                           .files = files,
                           .file_count = 2,
                           .leave_gpu = true,
                           .date = "2026-11-21",
                           .arena = own->arena,
                           .errors = own->errors};
    assert_int_equal(st_operators_read(&fit), ST_OK);
    assert_int_equal(st_operators_fit(&fit), ST_OK);
    assert_int_equal(fit.group_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_null(fit.groups[i].fault);
        assert_string_equal(fit.groups[i].kin_names, "");
        assert_int_equal(fit.groups[i].kin.count, 0);
    }
}

/* ---- reports ---- */

enum { GROUPS = 4 };

/* Groups of two GPUs, the first in two tables that have jobs of their own. */
static void make_groups(fixture *own, st_operator_fit *fit, st_type *types)
{
    static const char *const gpus[GROUPS] = {"h100-sxm", "a100-sxm-80gb", "h100-sxm", "h100-sxm"};
    static const st_measured tables[2] = {{.file = "far/products.csv"}, {.file = "attention.csv"}};
    static const char *const paths[] = {"cluster.gpu.gemm_efficiency_bf16",
                                        "cluster.gpu.gemm_constant_bf16",
                                        "cluster.gpu.attention_half_64"};
    st_operator_group *groups = st_arena_alloc(own->arena, GROUPS, sizeof *groups);
    assert_non_null(groups);
    assert_int_equal(st_unit_parse("1", 1, (st_place){0}, &types[0].unit, own->errors), ST_OK);
    assert_int_equal(st_unit_parse("us", 2, (st_place){0}, &types[1].unit, own->errors), ST_OK);
    for (size_t i = 0; i < GROUPS; i++) {
        const char *set = st_arena_printf(own->arena, "cluster.gpu=%s", gpus[i]);
        groups[i] = (st_operator_group){.table = &tables[i / 2],
                                        .burst = 1,
                                        .precision_name = "bf16",
                                        .row_count = 57 + i,
                                        .varied_count = 3,
                                        .fitted = {.count = 57, .mean_absolute = 0.0213},
                                        .held_out = {.count = 29, .mean_absolute = 0.0327},
                                        .rate = {.count = 29, .mean_absolute = 0.2387}};
        assert_int_equal(
            st_job_load(own->paths, NULL, &set, 1, own->arena, &groups[i].job, own->errors), ST_OK);
        for (size_t k = 0; k < 3; k++)
            groups[i].varied[k] = (st_varied){.path = paths[k], .type = &types[k % 2]};
        const double values[3] = {0.71349, 13.77e-6, 731.4};
        const double errors[3] = {0.0125, 0.25e-6, (double)NAN};
        memcpy(groups[i].solution.values, values, sizeof values);
        memcpy(groups[i].solution.errors, errors, sizeof errors);
    }
    *fit = (st_operator_fit){
        .date = "2026-11-21", .arena = own->arena, .groups = groups, .group_count = GROUPS};
}

/* What a result says, where runs of blanks are one. */
static const char *text_of(fixture *own, const st_result *result)
{
    st_buffer text = {0};
    st_buffer short_text = {0};
    st_result_write(result, ST_FORM_TEXT, &plain, &text);
    assert_false(text.failed);
    for (const char *c = st_buffer_read(&text); *c != '\0'; c++)
        if (c[0] != ' ' || (c[1] != ' ' && c[1] != '\n'))
            st_buffer_append(&short_text, c, 1);
    const char *kept = st_arena_copy(own->arena, short_text.data, short_text.length);
    st_buffer_free(&text);
    st_buffer_free(&short_text);
    assert_non_null(kept);
    return kept;
}

TEST_WITH(operators_are_named_by_what_tells_them_apart, set_up, tear_down)
{
    static const struct {
        st_operator_kind kind;
        bool each;
        double burst;
        const char *source;
        const char *name;
    } cases[] = {
        {ST_OPERATOR_GEMM, false, 1, NULL, "h100-sxm gemm bf16 57 2.1 %"},
        {ST_OPERATOR_GEMM, true, 0, "vllm 2", "h100-sxm gemm bf16, sustained, vllm 2 57 2.1 %"},
        {ST_OPERATOR_ATTENTION, true, 1, "", "h100-sxm attention 57 2.1 %"},
        {ST_OPERATOR_EXPERTS, false, 1, NULL, "h100-sxm experts 57 2.1 %"},
        {ST_OPERATOR_EXPERTS, true, 1, "vllm 2", "h100-sxm experts bf16, vllm 2 57 2.1"}};
    st_type types[2] = {{.kind = ST_TYPE_NUMBER}, {.kind = ST_TYPE_NUMBER}};
    st_operator_fit fit;
    st_result result;
    make_groups(*state, &fit, types);
    fit.group_count = 1;
    for (size_t i = 0; i < COUNT(cases); i++) {
        fit.each = cases[i].each;
        fit.groups[0].kind = cases[i].kind;
        fit.groups[0].burst = cases[i].burst;
        fit.groups[0].source = cases[i].source;
        st_operators_report(&fit, &result);
        assert_contains(text_of(*state, &result), cases[i].name);
    }
}

TEST_OF(a_report_has_errors_and_constants, fixture *own, set_up, tear_down)
{
    st_type types[2] = {{.kind = ST_TYPE_NUMBER}, {.kind = ST_TYPE_NUMBER}};
    st_operator_fit fit;
    st_result result;
    make_groups(own, &fit, types);
    fit.groups[0].solution.at_low[0] = true;
    fit.groups[0].solution.at_high[1] = true;
    fit.groups[1].fault = "too few rows";
    st_operators_report(&fit, &result);
    const char *text = text_of(own, &result);
    assert_contains(text, " GPU operator rows fitted held out one rate neighbours with them\n"
                          " h100-sxm gemm bf16 57 2.1 % 3.3 % 23.9 %");
    assert_contains(text, "\n a100-sxm-80gb gemm bf16 58 2.1 % 3.3 % 23.9 %");
    assert_contains(text, " too few rows\n");
    assert_contains(text, "Constants, fitted to all rows\n"
                          " GPU key of its file fitted standard error\n"
                          " h100-sxm gemm_efficiency_bf16 0.71349 0.0125 at a bound\n"
                          " gemm_constant_bf16 13.77 us 0.25 us at a bound\n"
                          " attention_half_64 731.4 unknown\n"
                          " h100-sxm gemm_efficiency_bf16 0.71349 0.0125\n");
    const char *const parts[] = {"\"date\": \"2026-11-21\"",
                                 "\"precision\": \"bf16\"",
                                 "\"burst\": true",
                                 "\"source\": null",
                                 "\"table\": \"far/products.csv\"",
                                 "\"neighbours\": null",
                                 "\"at_bound\": true",
                                 "\"at_bound\": false",
                                 "\"error\": null",
                                 "\"error\": \"too few rows\"",
                                 "\"constants\": []"};
    assert_form_has(&result, ST_FORM_JSON, parts, COUNT(parts));
}

TEST_OF(kin_have_columns_where_they_were_asked_for, fixture *own, set_up, tear_down)
{
    st_type types[2] = {{.kind = ST_TYPE_NUMBER}, {.kind = ST_TYPE_NUMBER}};
    st_operator_fit fit;
    st_result result;
    make_groups(own, &fit, types);
    fit.leave_gpu = true;
    fit.groups[0].kin = (st_error_summary){.count = 57, .mean_absolute = 0.1471};
    fit.groups[0].kin_names = "a100-sxm-80gb";
    st_operators_report(&fit, &result);
    assert_contains(text_of(own, &result), " with them kin of\n h100-sxm gemm bf16 57 2.1 % 3.3 % "
                                           "23.9 % - - 14.7 % a100-sxm-80gb\n");
    const char *const parts[] = {"\"kin_gpus\": \"a100-sxm-80gb\"", "\"kin\": null",
                                 "\"kin_gpus\": null"};
    assert_form_has(&result, ST_FORM_JSON, parts, COUNT(parts));
}

/* A GPU stands once, whatever tables it is in; a group that was not fitted has no keys. */
TEST_OF(keys_of_files_stand_by_gpu, fixture *own, set_up, tear_down)
{
    st_type types[2] = {{.kind = ST_TYPE_NUMBER}, {.kind = ST_TYPE_NUMBER}};
    st_operator_fit fit;
    st_buffer text = {0};
    make_groups(own, &fit, types);
    fit.groups[0].solution.at_low[1] = true;
    fit.groups[1].varied_count = 0;
    fit.groups[1].burst = 0;
    fit.groups[1].source = "vllm 2";
    fit.groups[2].fault = "too few rows";
    fit.groups[3].varied_count = 1;
    st_operators_write_yaml(&fit, &text);
    assert_text(&text,
                "# Written by steptime fit operators, 2026-11-21: keys for files of GPUs\n"
                "h100-sxm:\n"
                "  # 57 rows, 2.1 % off; held out 3.3 %, one rate 23.9 %\n"
                "  gemm_efficiency_bf16: {value: 0.713, source: \"by steptime fit operators on "
                "products.csv, +- 0.0125\"}\n"
                "  gemm_constant_bf16: {value: 13.8 us, source: \"by steptime fit operators on "
                "products.csv, at a bound\"}\n"
                "  attention_half_64: {value: 731, source: \"by steptime fit operators on "
                "products.csv, standard error unknown\"}\n"
                "  # 60 rows, 2.1 % off; held out 3.3 %, one rate 23.9 %\n"
                "  gemm_efficiency_bf16: {value: 0.713, source: \"by steptime fit operators on "
                "attention.csv, +- 0.0125\"}\n"
                "a100-sxm-80gb:\n"
                "  # 58 rows under sustained load of vllm 2, 2.1 % off; held out 3.3 %, one rate "
                "23.9 %\n");
}

/* ---- neighbours ---- */

TEST(neighbours_weigh_by_their_distance)
{
    double logs[] = {0.7, 1.3, 0.7, 2.3};
    double ratios[] = {1.9, 0.9};
    const st_operator_points points = {.logs = logs, .ratios = ratios, .count = 2, .keys = 2};
    const double at[] = {0.7, 1.5};
    double first = 1 / (0.2 * 0.2 + 0.01);
    double second = 1 / (0.8 * 0.8 + 0.01);
    assert_near(st_operator_between(&points, at), (1.9 * first + 0.9 * second) / (first + second),
                1e-12);
}

TEST(only_the_nearest_eight_count)
{
    double logs[12];
    double ratios[12];
    const double at[] = {0.3};
    for (size_t i = 0; i < 12; i++) {
        logs[i] = 0.3 + 0.1 * (double)(12 - i);
        ratios[i] = i < 4 ? 1000 : 2.385; /* the far ones stand first */
    }
    const st_operator_points points = {.logs = logs, .ratios = ratios, .count = 12, .keys = 1};
    assert_near(st_operator_between(&points, at), 2.385, 1e-12);
}

TESTS(operators);

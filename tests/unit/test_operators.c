/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators fitted to times that are computed here from constants that are known: what a fit to
 * them must give back.
 */
#include "job_support.h"

#include "calibrate/operators/operators.h"

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

static void attention_has_constants_for_each_width_of_heads(void **state)
{
    fixture *own = *state;
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

static void experts_of_all_precisions_share_what_is_no_rate(void **state)
{
    fixture *own = *state;
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

static void each_source_may_be_fitted_alone(void **state)
{
    fixture *own = *state;
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

static void libraries_are_told_apart_by_factors(void **state)
{
    fixture *own = *state;
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
static void a_library_alone_has_no_factor(void **state)
{
    fixture *own = *state;
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

static void neighbours_weigh_by_their_distance(void **state)
{
    (void)state;
    double logs[] = {0.7, 1.3, 0.7, 2.3};
    double ratios[] = {1.9, 0.9};
    const st_operator_points points = {.logs = logs, .ratios = ratios, .count = 2, .keys = 2};
    const double at[] = {0.7, 1.5};
    double first = 1 / (0.2 * 0.2 + 0.01);
    double second = 1 / (0.8 * 0.8 + 0.01);
    assert_near(st_operator_between(&points, at), (1.9 * first + 0.9 * second) / (first + second),
                1e-12);
}

static void only_the_nearest_eight_count(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(attention_has_constants_for_each_width_of_heads, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(experts_of_all_precisions_share_what_is_no_rate, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(each_source_may_be_fitted_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(libraries_are_told_apart_by_factors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_library_alone_has_no_factor, set_up, tear_down),
        cmocka_unit_test(neighbours_weigh_by_their_distance),
        cmocka_unit_test(only_the_nearest_eight_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

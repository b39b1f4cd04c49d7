/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer times of three models, taken from tables whose times are those of a roofline: what a fit
 * says of tables that it has not seen, and of each model by a fit to the others.
 */
#include "job_support.h"

#include "kernel-times/fit/layer_fit.h"
#include "kernel-times/fit/predict.h"
#include "steptime/tool/profiles.h"

#include <math.h>

enum { MODELS = 3, PIECES = 3 };
static const st_times_piece pieces[PIECES] = {ST_TIMES_NORM_1, ST_TIMES_MLP_UP, ST_TIMES_ADD};
static const st_times_roofline line = {7.3e-6, 4.7e-15, 6.1e-13};
static const char head[] =
    "time_stats.input_layernorm.median,time_stats.mlp_up_proj.median,time_stats.add.median,n_head,"
    "n_kv_head,n_embd,n_expanded_embd,vocab_size,use_gated_mlp,num_tokens,"
    "num_tensor_parallel_workers\n";

static void near_to(double value, double wanted, double tolerance)
{
    if (!(fabs(value - wanted) <= tolerance))
        fail_msg("%.17g is not %.17g", value, wanted);
}

/* Seconds of a piece of a layer of a model with this width. */
static double seconds_of(st_times_piece piece, double hidden, double tokens)
{
    st_times_shape shape;
    double flop = 0;
    double bytes = 0;
    for (size_t i = 0; i < ST_TIMES_FEATURES; i++)
        shape.features[i] = (double)NAN;
    shape.features[ST_TIMES_TOKENS] = tokens;
    shape.features[ST_TIMES_HIDDEN] = hidden;
    shape.features[ST_TIMES_INNER] = 3.5 * hidden;
    shape.features[ST_TIMES_HEADS] = hidden / 128;
    shape.features[ST_TIMES_KV_HEADS] = 8;
    shape.features[ST_TIMES_TENSOR] = 2;
    shape.features[ST_TIMES_UP] = 2;
    st_times_work(piece, &shape, &flop, &bytes);
    return st_times_roofline_time(&line, flop, bytes);
}

/* A table of a model; its pieces take `factors` times as long as the roofline says. */
static const char *table_of(fixture *own, const char *name, double hidden, const double *factors)
{
    st_buffer text = {0};
    st_buffer_text(&text, head);
    for (double tokens = 1; tokens <= 16384; tokens = floor(1.5 * tokens + 0.5)) {
        for (size_t i = 0; i < PIECES; i++)
            st_buffer_printf(&text, "%.17g,",
                             1e3 * factors[i] * seconds_of(pieces[i], hidden, tokens));
        st_buffer_printf(&text, "%g,8,%g,%g,32768,True,%g,2\n", hidden / 128, hidden, 3.5 * hidden,
                         tokens);
    }
    write_text(own, name, text.data);
    st_buffer_free(&text);
    return below(own, name);
}

static st_status fit(fixture *own, const st_layer_fit_request *asked, st_layer_fit *fitted)
{
    *fitted = (st_layer_fit){
        .asked = asked, .paths = own->paths, .arena = own->arena, .errors = own->errors};
    st_status status = st_layer_fit_read(fitted);
    for (size_t i = 0; status == ST_OK && i < fitted->sets->count; i++)
        status = st_times_learn(&fitted->sets->sets[i], NULL, ST_TIMES_FORMS, own->arena,
                                &fitted->models[i], own->errors);
    if (status == ST_OK)
        status = st_layer_fit_try_steps(fitted);
    if (status == ST_OK)
        status = st_layer_fit_test_all(fitted);
    return status;
}

static const double plain[PIECES] = {1, 1, 1};
static const double widths[MODELS] = {2048, 4096, 6144};

static void write_models(fixture *own, const char *files[MODELS])
{
    static const char *const names[MODELS] = {"a.csv", "b.csv", "c.csv"};
    for (size_t i = 0; i < MODELS; i++)
        files[i] = table_of(own, names[i], widths[i], plain);
}

TEST_OF(each_model_follows_from_the_others, fixture *own, set_up, tear_down)
{
    const char *files[MODELS];
    st_layer_fit fitted;
    write_models(own, files);
    const st_layer_fit_request asked = {
        .files = files, .file_count = MODELS, .gpu = "a100-sxm-80gb", .leave_one_out = true};
    assert_int_equal(fit(own, &asked, &fitted), ST_OK);
    assert_int_equal(fitted.sets->count, 1);
    assert_int_equal(fitted.test_count, MODELS);
    for (size_t i = 0; i < MODELS; i++) {
        const st_layer_fit_test *test = &fitted.tests[i];
        assert_string_equal(test->name, fitted.sets->groups[i]);
        assert_ptr_equal(test->models, &fitted.models[0]);
        for (size_t piece = 0; piece < PIECES; piece++) {
            const st_error_summary *errors = &test->errors[piece][ST_TIMES_ROOFLINE];
            assert_int_equal(errors->count, fitted.sets->sets[0].count / MODELS);
            near_to(errors->largest, 0, 2e-3);
            assert_true(isnan(test->errors[piece][ST_TIMES_TREES].mean_absolute));
        }
        near_to(test->sums[ST_TIMES_ROOFLINE].largest, 0, 2e-3);
    }
}

/* A table whose pieces take longer by known factors: the fit misses it by them, and not its own. */
TEST_WITH(a_slower_table_is_missed_by_its_factors, set_up, tear_down)
{
    static const double slower[PIECES] = {1.25, 1.6, 0.8};
    static const double repeats[PIECES] = {1, 1, 2}; /* a layer adds its residual twice */
    fixture *own = *state;
    const char *files[MODELS];
    const char *tests[2] = {table_of(own, "slower.csv", 8192, slower),
                            table_of(own, "same.csv", 8192, plain)};
    st_layer_fit fitted;
    double largest = 0;
    double bias = 0;
    size_t count = 0;
    write_models(own, files);
    const st_layer_fit_request asked = {.files = files,
                                        .file_count = MODELS,
                                        .gpu = "a100-sxm-80gb",
                                        .tests = tests,
                                        .test_count = 2};
    assert_int_equal(fit(own, &asked, &fitted), ST_OK);
    assert_int_equal(fitted.test_count, 2);
    assert_string_equal(fitted.tests[0].name, tests[0]);
    for (size_t i = 0; i < PIECES; i++) {
        near_to(fitted.tests[0].errors[i][ST_TIMES_ROOFLINE].bias, 1 / slower[i] - 1, 2e-3);
        near_to(fitted.tests[1].errors[i][ST_TIMES_ROOFLINE].bias, 0, 2e-3);
    }
    for (double tokens = 1; tokens <= 16384; tokens = floor(1.5 * tokens + 0.5)) {
        double estimate = 0;
        double measured = 0;
        for (size_t i = 0; i < PIECES; i++) {
            estimate += repeats[i] * seconds_of(pieces[i], 8192, tokens);
            measured += repeats[i] * slower[i] * seconds_of(pieces[i], 8192, tokens);
        }
        bias += estimate / measured - 1;
        largest = fmax(largest, fabs(estimate / measured - 1));
        count++;
    }
    const st_error_summary *sums = &fitted.tests[0].sums[ST_TIMES_ROOFLINE];
    assert_int_equal(sums->count, count);
    near_to(sums->bias, bias / (double)count, 2e-3);
    near_to(sums->largest, largest, 2e-3);
    near_to(fitted.tests[1].sums[ST_TIMES_ROOFLINE].largest, 0, 2e-3);
}

/* What is written for the plugin predicts what was measured, and shapes that were not. */
TEST_OF(times_are_saved_to_a_file, fixture *own, set_up, tear_down)
{
    const char *files[MODELS];
    char reason[200];
    st_layer_fit fitted;
    st_times times;
    st_buffer text = {0};
    const char *output = below(own, "layers.times");
    write_models(own, files);
    const st_layer_fit_request asked = {.files = files,
                                        .file_count = MODELS,
                                        .gpu = "a100-sxm-80gb",
                                        .date = "2026-11-23",
                                        .output = output};
    assert_int_equal(fit(own, &asked, &fitted), ST_OK);
    assert_int_equal(st_layer_fit_save(&fitted), ST_OK);
    FILE *stream = fopen(output, "rb");
    assert_non_null(stream);
    for (int c = getc(stream); c != EOF; c = getc(stream))
        st_buffer_append(&text, &(char){(char)c}, 1);
    (void)fclose(stream);
    const char *fault = st_times_read(&times, text.data, text.length, reason, sizeof reason);
    if (fault != NULL)
        fail_msg("%s", fault);
    assert_int_equal(times.piece_count, PIECES);
    assert_int_equal(times.row_count, fitted.sets->sets[0].count);
    for (size_t i = 0; i < times.row_count; i++) {
        st_times_shape shape;
        const double *row = times.rows + i * (times.shape_count + times.piece_count);
        st_times_shape_of(&times, row, &shape);
        for (size_t piece = 0; piece < PIECES; piece++) {
            double measured = row[times.shape_count + piece];
            near_to(st_times_predict(&times, piece, &shape) / measured, 1, 2e-3);
        }
    }
    st_times_free(&times);
    st_buffer_free(&text);
}

/* Entries of a profile by their cells. */
static const st_profile *entries_of(fixture *own, const char *name, size_t *count)
{
    st_profiles *profiles = NULL;
    const st_profile *found = NULL;
    const st_profile_filter filter = {.name = name};
    assert_int_equal(
        st_profiles_open(below(own, "profiles.db"), ST_PROFILES_READ, &profiles, own->errors),
        ST_OK);
    assert_int_equal(st_profiles_find(profiles, &filter, own->arena, &found, count, own->errors),
                     ST_OK);
    st_profiles_close(profiles);
    return found;
}

/* Forward times whose pieces are products tell the backward pass and the weight gradients. */
TEST_WITH(times_are_saved_to_a_profile, set_up, tear_down)
{
    static const char *const cells[] = {"t_backward[dense]", "t_forward[dense]", "t_wgrad[dense]"};
    fixture *own = *state;
    const char *files[MODELS];
    st_layer_fit fitted;
    size_t count = 0;
    if (!st_profiles_available())
        return;
    write_models(own, files);
    const st_layer_fit_request asked = {.files = files,
                                        .file_count = MODELS,
                                        .gpu = "a100-sxm-80gb",
                                        .date = "2026-11-23",
                                        .profile = "layers",
                                        .database = below(own, "profiles.db")};
    assert_int_equal(fit(own, &asked, &fitted), ST_OK);
    for (int again = 0; again < 2; again++) { /* over what was there */
        assert_int_equal(st_layer_fit_save(&fitted), ST_OK);
        const st_profile *found = entries_of(own, "layers", &count);
        assert_int_equal(count, 3);
        for (size_t i = 0; i < 3; i++) {
            assert_string_equal(found[i].collective, cells[i]);
            assert_string_equal(found[i].kind, "times");
            assert_string_equal(found[i].plugin, "kernel-times");
            assert_string_equal(found[i].cluster, "a100-sxm-80gb");
            const char *shapes =
                st_arena_printf(own->arena, "\"measurements\": %zu, \"shapes\": %zu",
                                fitted.sets->sets[0].count, fitted.sets->sets[0].count);
            const char *names = st_arena_printf(own->arena, "\"files\": \"%s, %s, %s\"", files[0],
                                                files[1], files[2]);
            assert_non_null(strstr(found[i].provenance, shapes));
            assert_non_null(strstr(found[i].provenance, names));
            assert_non_null(strstr(found[i].provenance, "\"date\": \"2026-11-23\""));
            assert_non_null(strstr(found[i].provenance, "\"gpu\": \"a100-sxm-80gb\""));
            assert_non_null(strstr(found[i].provenance, "\"mlp_up_error_held_out\": "));
        }
    }
}

/* A profile has models of one plugin; --output has the times of one cell. */
TEST_WITH(what_another_plugin_has_is_not_replaced, set_up, tear_down)
{
    static const st_profile other = {.name = "layers",
                                     .kind = "options",
                                     .plugin = "alpha-beta",
                                     .cluster = "",
                                     .fabric = "",
                                     .nccl = "",
                                     .collective = "",
                                     .provenance = "{}",
                                     .payload = "{}",
                                     .payload_bytes = 2};
    fixture *own = *state;
    const char *files[MODELS];
    st_layer_fit fitted;
    st_profiles *profiles = NULL;
    size_t count = 0;
    if (!st_profiles_available())
        return;
    write_models(own, files);
    const st_layer_fit_request asked = {.files = files,
                                        .file_count = MODELS,
                                        .gpu = "a100-sxm-80gb",
                                        .date = "2026-11-23",
                                        .profile = "layers",
                                        .database = below(own, "profiles.db")};
    assert_int_equal(fit(own, &asked, &fitted), ST_OK);
    assert_int_equal(st_profiles_open(asked.database, ST_PROFILES_WRITE, &profiles, own->errors),
                     ST_OK);
    assert_int_equal(st_profiles_put(profiles, &other, 1, false, own->errors), ST_OK);
    st_profiles_close(profiles);
    assert_int_equal(st_layer_fit_save(&fitted), ST_ERR_NAME);
    assert_non_null(strstr(said(own), "profile 'layers' belongs to plugin alpha-beta"));
    const st_profile *found = entries_of(own, "layers", &count);
    assert_int_equal(count, 1);
    assert_string_equal(found->plugin, "alpha-beta");
}

static void expect_refusal(fixture *own, const st_layer_fit_request *asked, const char *words)
{
    st_layer_fit fitted;
    assert_int_not_equal(fit(own, asked, &fitted), ST_OK);
    const char *text = said(own);
    if (strstr(text, words) == NULL)
        fail_msg("'%s' is not in '%s'", words, text);
}

TEST_OF(fits_without_times_are_refused, fixture *own, set_up, tear_down)
{
    const char *files[MODELS];
    write_models(own, files);
    write_text(own, "other.csv", "hidden,tokens,forward_us\n4096,2385,17.5\n");
    const char *const tests[] = {below(own, "other.csv")};
    expect_refusal(own, &(st_layer_fit_request){.gpu = "a100-sxm-80gb"}, "needs measured times");
    expect_refusal(
        own,
        &(st_layer_fit_request){
            .files = files, .file_count = 1, .gpu = "a100-sxm-80gb", .leave_one_out = true},
        "needs times of two models or files");
    expect_refusal(own,
                   &(st_layer_fit_request){.files = files,
                                           .file_count = MODELS,
                                           .gpu = "a100-sxm-80gb",
                                           .tests = tests,
                                           .test_count = 1},
                   "none of the fitted times");
    write_text(own, "trace.json", "{}");
    const char *const traces[] = {below(own, "trace.json")};
    expect_refusal(own, &(st_layer_fit_request){.files = traces, .file_count = 1},
                   "give the traced job with --job");
    const char *const folder[] = {own->folder};
    expect_refusal(own, &(st_layer_fit_request){.files = folder, .file_count = 1},
                   "give the traced job with --job");
}

TESTS(layer_fit);

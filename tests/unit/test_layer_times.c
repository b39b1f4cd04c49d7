/* SPDX-License-Identifier: Apache-2.0 */
/* Layer times from tables and measured steps, what predicts them, and how it is chosen. */
#include "job_support.h"

#include "base/csv_file.h"
#include "fit/trees/shuffle.h"
#include "fit/steps/table_csv.h"
#include "kernel-times/fit/predict.h"
#include "kernel-times/fit/steps.h"

#include <math.h>

static void assert_near(double value, double wanted, double tolerance)
{
    if (!(fabs(value - wanted) <= tolerance * fabs(wanted))) {
        fail_msg("%.17g is not %.17g", value, wanted);
    }
}

static st_status read_table(fixture *own, const char *text, const char *gpu, st_time_sets *sets)
{
    const st_csv *csv = NULL;
    *sets = (st_time_sets){.count = 0};
    write_text(own, "layers.csv", text);
    st_status status = st_packed_csv_read(below(own, "layers.csv"), own->arena, &csv, own->errors);
    return status == ST_OK ? st_time_table_read(csv, own->paths, gpu, own->arena, sets, own->errors)
                           : status;
}

/* ---- tables ---- */

TEST_OF(a_table_of_whole_layers, fixture *own, set_up, tear_down)
{
    st_time_sets sets;
    assert_int_equal(read_table(own,
                                "gpu,micro_batch,seq,hidden,tp,cp,recompute,forward_us,"
                                "backward_ms,vocab,logits_s\n"
                                "A100-80GB-SXM,4,2048,5120,2,2,full,2385.5,4.117,50304,0.00231\n"
                                "A100-80GB-SXM,4,2048,5120,2,2,full,2391.5,4.121,50304,0.00233\n"
                                "A100-80GB-SXM,1,2048,5120,4,1,none,613.25,1.017,50304,0.00031\n",
                                NULL, &sets),
                     ST_OK);
    assert_string_equal(sets.gpu, "a100-sxm-80gb");
    assert_near(sets.peak, 312e12, 1e-12);
    assert_near(sets.bandwidth, 2039e9, 1e-12);
    assert_int_equal(sets.count, 3);
    assert_int_equal(sets.sets[0].cell, ST_TIMES_OF_FORWARD);
    assert_int_equal(sets.sets[1].cell, ST_TIMES_OF_BACKWARD);
    assert_int_equal(sets.sets[2].cell, ST_TIMES_OF_LOGITS);
    assert_true(sets.sets[2].has[ST_TIMES_VOCABULARY]);
    assert_true(!sets.sets[0].has[ST_TIMES_VOCABULARY]);
    for (size_t i = 0; i < sets.count; i++) {
        st_time_merge(&sets.sets[i]);
        assert_int_equal(sets.sets[i].count, 2);
    }
    const st_time_sample *twice = &sets.sets[0].samples[1]; /* sorted by tokens */
    assert_near(twice->shape.features[ST_TIMES_TOKENS], 4096, 1e-15);
    assert_near(twice->shape.features[ST_TIMES_PASSES], 2, 1e-15);
    assert_near(twice->times[0], 2388.5e-6, 1e-12);
    assert_int_equal(twice->repeats, 2);
    assert_near(sets.sets[1].samples[0].times[0], 1.017e-3, 1e-12);
    assert_near(sets.sets[2].samples[1].times[0], 0.00232, 1e-12);
}

static const char vidur_head[] =
    "time_stats.emb.median,time_stats.input_layernorm.median,time_stats.attn_pre_proj.median,"
    "time_stats.mlp_up_proj.median,time_stats.mlp_up_proj.mean,time_stats.add.median,n_head,"
    "n_kv_head,n_embd,n_expanded_embd,vocab_size,use_gated_mlp,num_tokens,"
    "num_tensor_parallel_workers\n";

TEST_OF(a_table_of_pieces_by_the_names_of_profiles, fixture *own, set_up, tear_down)
{
    st_time_sets sets;
    const char *text = st_arena_printf(
        own->arena, "%s0.2,0.105,1.911,3.3655,3.4,0.055,32,8,4096,11008,32768,True,4096,2\n",
        vidur_head);
    assert_int_equal(read_table(own, text, "h100-sxm", &sets), ST_OK);
    assert_int_equal(sets.count, 1);
    const st_time_set *set = &sets.sets[0];
    const st_times_piece pieces[] = {ST_TIMES_NORM_1, ST_TIMES_QKV, ST_TIMES_MLP_UP, ST_TIMES_ADD};
    const double seconds[] = {0.105e-3, 1.911e-3, 3.3655e-3, 0.055e-3};
    assert_int_equal(set->cell, ST_TIMES_OF_FORWARD);
    assert_int_equal(set->piece_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(set->pieces[i], pieces[i]);
        assert_near(set->samples[0].times[i], seconds[i], 1e-12);
    }
    assert_near(set->samples[0].shape.features[ST_TIMES_KV_HEADS], 8, 1e-15);
    assert_near(set->samples[0].shape.features[ST_TIMES_UP], 2, 1e-15);
}

typedef struct table_fault {
    const char *text;
    const char *gpu;
    const char *says;
} table_fault;

TEST_WITH(faults_of_a_table, set_up, tear_down)
{
    static const table_fault faults[] = {
        {"tokens,forward_us\n1,2\n", "h100-sxm", "@/layers.csv:1:1: error: no column 'hidden'"},
        {"hiden,tokens,forward_us\n7,1,2\n", "h100-sxm", "did you mean 'hiden'?"},
        {"hidden,forward_us\n7,2\n", "h100-sxm", "no column 'tokens'; give tokens, or micro_batch"},
        {"hidden,tokens\n7,2\n", "h100-sxm", "missing time column; name one layer_us"},
        {"hidden,tokens,mlp_up_us\n7,2,3\n", "h100-sxm", "no column 'ffn'"},
        {"hidden,tokens,logits_us\n7,2,3\n", "h100-sxm", "no column 'vocab'"},
        {"hidden,tokens,optimizer_us\n7,2,3\n", "h100-sxm", "no column 'parameters'"},
        {"hidden,tokens,forward_us\n7,2,3\n", NULL, "no column 'gpu'; give the GPU with --gpu"},
        {"hidden,tokens,forward_us\n7,2,3\n", "h100-sxn", "did you mean 'h100-sxm'?"},
        {"hidden,tokens,forward_us\n7,2,-3.5\n", "h100-sxm",
         "@/layers.csv:2:5: error: column forward_us: found '-3.5', expected a time above 0"},
        {"hidden,tokens,forward_us\n7,2,0\n", "h100-sxm", "found '0', expected a time above 0"},
        {"hidden,tokens,forward_us\n7,2,NaN\n", "h100-sxm", "found 'NaN', expected a time above 0"},
        {"hidden,tokens,forward_us\n7,2,inf\n", "h100-sxm", "found 'inf'"},
        {"hidden,tokens,forward_us\n7,2,\n", "h100-sxm", "found ''"},
        {"hidden,tokens,forward_us\n7,2,1e13\n", "h100-sxm", "found '1e13'"},
        {"hidden,tokens,forward_us\n7,2.5,3\n", "h100-sxm", "column tokens: found '2.5'"},
        {"hidden,tokens,forward_us\n0,2,3\n", "h100-sxm", "column hidden: found '0'"},
        {"hidden,tokens,gated,forward_us\n7,2,maybe,3\n", "h100-sxm", "expected True or False"},
        {"hidden,tokens,recompute,forward_us\n7,2,half,3\n", "h100-sxm", "none, selective or full"},
        {"hidden,tokens,dtype,forward_us\n7,2,fp12,3\n", "h100-sxm", "fp32, bf16, fp16 or fp8"},
        {"hidden,tokens,forward_us\n", "h100-sxm", "the table has a header but no rows"},
        {"gpu,hidden,tokens,forward_us\nh100-sxm,7,2,3\na100-sxm-80gb,7,4,5\n", NULL,
         "times of two GPUs, h100-sxm and a100-sxm-80gb; make a profile for each"},
        {"gpu,hidden,tokens,forward_us\na99,7,2,3\n", NULL, "no file for the GPU 'a99'"},
        {"", "h100-sxm", "@/layers.csv"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        st_time_sets sets;
        assert_int_not_equal(read_table(own, faults[i].text, faults[i].gpu, &sets), ST_OK);
        const char *says = said(own);
        if (strstr(says, faults[i].says) == NULL) {
            fail_msg("case %zu says '%s', not '%s'", i, says, faults[i].says);
        }
    }
}

TEST_OF(tables_must_be_alike, fixture *own, set_up, tear_down)
{
    st_time_sets sets;
    const st_csv *csv = NULL;
    assert_int_equal(read_table(own, "hidden,tokens,forward_us\n7,2,3\n", "h100-sxm", &sets),
                     ST_OK);
    write_text(own, "other.csv", "hidden,tokens,tp,forward_us\n7,2,3,4\n");
    assert_int_equal(st_packed_csv_read(below(own, "other.csv"), own->arena, &csv, own->errors),
                     ST_OK);
    assert_int_not_equal(
        st_time_table_read(csv, own->paths, "h100-sxm", own->arena, &sets, own->errors), ST_OK);
    assert_non_null(strstr(said(own), "@/other.csv:1: error: the table has other columns"));
}

TEST_OF(packed_tables, fixture *own, set_up, tear_down)
{
    const st_csv *csv = NULL;
    char command[256];
    write_text(own, "a.csv", "hidden,tokens,forward_us\n4096,2385,17.5\n");
    (void)snprintf(command, sizeof command,
                   "gzip -k '%s/a.csv' && head -c 30 '%s/a.csv.gz' >'%s/b.gz'", own->folder,
                   own->folder, own->folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(st_packed_csv_read(below(own, "a.csv.gz"), own->arena, &csv, own->errors),
                     ST_OK);
    assert_string_equal(st_csv_field(csv, 0, 1), "2385");
    assert_int_not_equal(st_packed_csv_read(below(own, "b.gz"), own->arena, &csv, own->errors),
                         ST_OK);
    assert_non_null(strstr(said(own), "cannot unpack the table"));
    assert_int_not_equal(st_packed_csv_read(own->folder, own->arena, &csv, own->errors), ST_OK);
    assert_non_null(strstr(said(own), "not a regular file"));
    assert_int_not_equal(st_packed_csv_read(below(own, "c.gz"), own->arena, &csv, own->errors),
                         ST_OK);
    assert_non_null(strstr(said(own), "cannot read the table"));
}

/* ---- predictors ---- */

/* Times of the MLP's first matrix by a roofline, times what `bend` makes of them. */
static void fill_set(fixture *own, st_time_set *set, double noise, double bend)
{
    static const double hidden[] = {2048, 4096, 6144, 8192};
    const st_times_roofline line = {7.3e-6, 4.7e-15, 6.1e-13};
    st_dice dice = st_dice_of(2385);
    *set =
        (st_time_set){.cell = ST_TIMES_OF_FORWARD, .pieces = {ST_TIMES_MLP_UP}, .piece_count = 1};
    for (size_t i = ST_TIMES_TOKENS; i <= ST_TIMES_UP; i++) {
        set->has[i] = i != ST_TIMES_SEQUENCE;
    }
    for (size_t group = 0; group < 4; group++) {
        for (double tokens = 1; tokens <= 16384; tokens *= 1.5) {
            st_time_sample sample = {.group = group, .repeats = 1};
            for (size_t i = 0; i < ST_TIMES_FEATURES; i++) {
                sample.shape.features[i] = (double)NAN;
            }
            sample.shape.features[ST_TIMES_TOKENS] = floor(tokens);
            sample.shape.features[ST_TIMES_HIDDEN] = hidden[group];
            sample.shape.features[ST_TIMES_INNER] = 3.5 * hidden[group];
            sample.shape.features[ST_TIMES_HEADS] = hidden[group] / 128;
            sample.shape.features[ST_TIMES_KV_HEADS] = 8;
            sample.shape.features[ST_TIMES_TENSOR] = 2;
            sample.shape.features[ST_TIMES_UP] = 2;
            double flop = 0;
            double bytes = 0;
            st_times_work(ST_TIMES_MLP_UP, &sample.shape, &flop, &bytes);
            double spread = (double)(st_dice_next(&dice) % 2001) / 1000 - 1;
            sample.times[0] = st_times_roofline_time(&line, flop, bytes) * (1 + noise * spread) *
                              (tokens > 300 ? 1 + bend : 1);
            assert_int_equal(st_time_add(set, &sample, own->arena, own->errors), ST_OK);
        }
    }
    st_time_merge(set);
}

TEST_OF(a_roofline_is_found_again, fixture *own, set_up, tear_down)
{
    st_time_set set;
    st_times_roofline line;
    fill_set(own, &set, 0, 0);
    assert_int_equal(st_times_fit_roofline(&set, 0, NULL, own->arena, &line, own->errors), ST_OK);
    assert_near(line.floor, 7.3e-6, 1e-3);
    assert_near(line.per_flop, 4.7e-15, 1e-3);
    assert_near(line.per_byte, 6.1e-13, 1e-3);
}

TEST_OF(a_kink_is_for_trees_and_a_line_for_the_roofline, fixture *own, set_up, tear_down)
{
    st_trees_library *library = NULL;
    st_time_set set;
    st_time_models models;
    if (st_trees_open(&library, own->errors) != ST_OK) {
        print_message("[ SKIPPED  ] %s\n", said(own));
        return;
    }
    fill_set(own, &set, 0.004, 0);
    assert_int_equal(
        st_times_learn(&set, library, ST_TIMES_FORMS, own->arena, &models, own->errors), ST_OK);
    assert_true(models.held_out[0][ST_TIMES_ROOFLINE].mean_absolute < 0.004);
    assert_int_equal(models.held_out[0][ST_TIMES_ROOFLINE].count, set.count);
    /* plain trees cannot know a width that they have not seen */
    assert_true(models.held_out[0][ST_TIMES_TREES].mean_absolute > 0.1);
    /* what is held out lies outside of the range, where the roofline stands alone */
    assert_int_equal(models.times.models[0].form, ST_TIMES_WITHIN);
    fill_set(own, &set, 0.004, 0.4);
    assert_int_equal(
        st_times_learn(&set, library, ST_TIMES_FORMS, own->arena, &models, own->errors), ST_OK);
    double line = models.held_out[0][ST_TIMES_ROOFLINE].mean_absolute;
    double both = models.held_out[0][ST_TIMES_BOTH].mean_absolute;
    if (!(both < 0.6 * line)) {
        fail_msg("%g is not far below %g", both, line);
    }
    assert_int_equal(models.times.models[0].form, ST_TIMES_BOTH);
    st_trees_close(library);
}

/* What is written is read back, and the plain walk says what the library's own trees say. */
TEST_OF(trees_survive_their_text, fixture *own, set_up, tear_down)
{
    st_trees_library *library = NULL;
    st_time_set set;
    st_time_models models;
    st_buffer text = {0};
    st_times times;
    char reason[200];
    if (st_trees_open(&library, own->errors) != ST_OK) {
        print_message("[ SKIPPED  ] %s\n", said(own));
        return;
    }
    fill_set(own, &set, 0.03, 0.3);
    assert_int_equal(st_times_learn(&set, library, ST_TIMES_BOTH, own->arena, &models, own->errors),
                     ST_OK);
    const st_time_sets sets = {.gpu = "a b\tc", .peak = 312e12, .bandwidth = 2039e9};
    st_times_write(&models, &sets, &text);
    const char *fault = st_times_read(&times, text.data, text.length, reason, sizeof reason);
    if (fault != NULL) {
        fail_msg("%s", fault);
    }
    assert_string_equal(times.gpu, "a-b-c");
    assert_int_equal(times.row_count, set.count);
    for (double tokens = 3; tokens < 20000; tokens *= 1.7) {
        st_times_shape shape = set.samples[0].shape;
        shape.features[ST_TIMES_TOKENS] = tokens;
        shape.features[ST_TIMES_HIDDEN] = 5120;
        assert_near(st_times_predict(&times, 0, &shape), st_times_predict(&models.times, 0, &shape),
                    1e-6);
    }
    st_times_free(&times);
    st_buffer_free(&text);
    st_trees_close(library);
}

/* A product is told by its own three sizes, and beyond those measured the roofline stands alone. */
TEST_OF(trees_inside_end_where_the_measurements_do, fixture *own, set_up, tear_down)
{
    st_trees_library *library = NULL;
    st_time_set set;
    st_time_models trees;
    st_time_models inside;
    double dimensions[3];
    if (st_trees_open(&library, own->errors) != ST_OK) {
        print_message("[ SKIPPED  ] %s\n", said(own));
        return;
    }
    fill_set(own, &set, 0.004, 0.4);
    assert_int_equal(st_times_learn(&set, library, ST_TIMES_BOTH, own->arena, &trees, own->errors),
                     ST_OK);
    assert_int_equal(
        st_times_learn(&set, library, ST_TIMES_WITHIN, own->arena, &inside, own->errors), ST_OK);
    st_times_shape shape = set.samples[set.count - 1].shape;
    assert_true(st_times_dimensions(ST_TIMES_MLP_UP, &shape, dimensions));
    assert_true(dimensions[0] == shape.features[ST_TIMES_TOKENS]);
    assert_true(dimensions[2] == shape.features[ST_TIMES_HIDDEN]);
    assert_false(st_times_dimensions(ST_TIMES_LAYER, &shape, dimensions));
    double flop = 0;
    double bytes = 0;
    st_times_work(ST_TIMES_MLP_UP, &shape, &flop, &bytes);
    double line = st_times_roofline_time(&inside.times.models[0].roofline, flop, bytes);
    assert_true(st_times_predict(&inside.times, 0, &shape) ==
                st_times_predict(&trees.times, 0, &shape));
    assert_true(fabs(st_times_predict(&inside.times, 0, &shape) / line - 1) > 0.01);
    shape.features[ST_TIMES_TOKENS] *= 1.07;
    st_times_work(ST_TIMES_MLP_UP, &shape, &flop, &bytes);
    line = st_times_roofline_time(&inside.times.models[0].roofline, flop, bytes);
    assert_true(st_times_predict(&inside.times, 0, &shape) == line);
    assert_true(st_times_predict(&trees.times, 0, &shape) != line);
    st_trees_close(library);
}

TEST_WITH(the_plain_walk_is_xgboosts_own_prediction, set_up, tear_down)
{
    enum { ROWS = 60 };
    fixture *own = *state;
    st_trees_library *library = NULL;
    st_trees *trees = NULL;
    st_time_set set;
    st_time_models models;
    float features[ROWS * ST_TIMES_INPUTS];
    float targets[ROWS];
    float predictions[ROWS];
    if (st_trees_open(&library, own->errors) != ST_OK) {
        print_message("[ SKIPPED  ] %s\n", said(own));
        return;
    }
    fill_set(own, &set, 0.1, 0.5);
    assert_int_equal(
        st_times_learn(&set, library, ST_TIMES_TREES, own->arena, &models, own->errors), ST_OK);
    st_times *times = &models.times;
    size_t count = set.count < ROWS ? set.count : ROWS;
    set.count = count;
    times->row_count = count;
    const st_times_learner learner = {&set, library, own->arena, own->errors};
    assert_int_equal(st_times_train(times, 0, &learner), ST_OK);
    double mean = 0;
    for (size_t i = 0; i < count; i++) {
        st_times_shape shape;
        st_times_shape_of(times, times->rows + i * (times->shape_count + 1), &shape);
        st_times_inputs(times, 0, &shape, features + i * ST_TIMES_INPUTS);
        targets[i] = (float)log(set.samples[i].times[0]);
        mean += log(set.samples[i].times[0]) / (double)count;
    }
    assert_near(times->models[0].base, mean, 1e-5);
    st_samples samples = {features, targets, NULL, count, ST_TIMES_INPUTS};
    st_trees_options options = {.objective = "reg:squarederror",
                                .huber_slope = 1,
                                .depth = 5,
                                .rounds = 80,
                                .learning_rate = 0.12,
                                .min_child_weight = 1,
                                .base_score = times->models[0].base,
                                .seed = 1};
    assert_int_equal(st_trees_train(library, &samples, &options, &trees, own->errors), ST_OK);
    assert_int_equal(st_trees_predict(trees, features, count, predictions, own->errors), ST_OK);
    for (size_t i = 0; i < count; i++) {
        assert_near(st_times_predict(times, 0, &set.samples[i].shape), exp((double)predictions[i]),
                    1e-5);
    }
    st_trees_destroy(trees);
    st_trees_close(library);
}

TEST_OF(few_samples_are_left_to_the_roofline, fixture *own, set_up, tear_down)
{
    st_time_set set;
    st_time_models models;
    fill_set(own, &set, 0.02, 0);
    set.count = 4;
    assert_int_equal(st_times_learn(&set, NULL, ST_TIMES_FORMS, own->arena, &models, own->errors),
                     ST_OK);
    assert_int_equal(models.times.models[0].form, ST_TIMES_ROOFLINE);
    assert_int_equal(models.held_out[0][ST_TIMES_ROOFLINE].count, 0);
    for (size_t i = 0; i < 4; i++) {
        assert_true(st_times_predict(&models.times, 0, &set.samples[i].shape) > 0);
    }
}

/* ---- measured steps ---- */

static const char steps_head[] =
    "id,layers,hidden,heads,seq,vocab,gpu,gpus,gpus_per_node,tp,pp,dp,micro_batch,global_batch,"
    "recompute,dtype,step_time_s\n";

typedef struct step_plan {
    int layers;
    int tp;
    int pp;
    int batch;
} step_plan;

static const char *step_row(fixture *own, const char *text, step_plan plan, double time_s)
{
    return st_arena_printf(
        own->arena,
        "%sr-%d-%d-%d-%d,%d,2048,16,1024,50257,A100-80GB-SXM,%d,8,%d,%d,1,2,%d,full,fp16,%.17g\n",
        text, plan.layers, plan.tp, plan.pp, plan.batch, plan.layers, plan.tp * plan.pp, plan.tp,
        plan.pp, plan.batch, time_s);
}

static void read_steps(fixture *own, const char *text, st_measured **sets, size_t *count)
{
    static const char *const assumed[] = {"attention=unfused", "cluster.nic_bandwidth=100 GB/s",
                                          "parallel.ep=1"};
    const st_measured_request request = {
        .paths = own->paths, .sets = assumed, .set_count = sizeof assumed / sizeof assumed[0]};
    const st_measured_table table = {.file = below(own, "steps.csv")};
    write_text(own, "steps.csv", text);
    if (st_measured_read(&request, &table, own->arena, sets, count, own->errors) != ST_OK) {
        fail_msg("%s", said(own));
    }
    assert_int_equal(*count, 1);
}

/* The step times that the sheet would have with layers of 1.3 times its own time. */
static const char *slow_steps(fixture *own, const char *rows, double factor)
{
    double *values[ST_STEP_VALUES];
    st_measured *sets = NULL;
    size_t count = 0;
    read_steps(own, rows, &sets, &count);
    assert_int_equal(st_step_ask(sets, NULL, own->arena, values, own->errors), ST_OK);
    const char *text = steps_head;
    for (size_t i = 0; i < sets->row_count; i++) {
        step_plan plan;
        assert_int_equal(sscanf(sets->rows[i].id, "r-%d-%d-%d-%d", &plan.layers, &plan.tp, &plan.pp,
                                &plan.batch),
                         4);
        if (sets->rows[i].left_out != NULL) {
            fail_msg("%s", sets->rows[i].left_out);
        }
        double time_s = values[ST_STEP_TIME][i] + (factor - 1) * values[ST_STEP_LAYER][i] *
                                                      values[ST_STEP_LAYERS][i] *
                                                      values[ST_STEP_MICROS][i];
        text = step_row(own, text, plan, time_s);
    }
    return text;
}

TEST_OF(layer_times_from_steps_give_other_steps, fixture *own, set_up, tear_down)
{
    st_measured *sets = NULL;
    size_t count = 0;
    st_time_sets times = {.count = 0};
    st_step_rows rows = {0};
    const char *text = step_row(own, steps_head, (step_plan){12, 2, 1, 16}, 1);
    text = step_row(own, text, (step_plan){16, 2, 1, 8}, 1);
    text = step_row(own, text, (step_plan){16, 4, 1, 24}, 1);
    text = step_row(own, text, (step_plan){16, 2, 2, 16}, 1);
    text = slow_steps(own, text, 1.3);
    read_steps(own, text, &sets, &count);
    assert_int_equal(st_time_steps(sets, own->arena, &times, &rows, own->errors), ST_OK);
    assert_int_equal(rows.used, 3);
    assert_int_equal(rows.pipelined, 1);
    assert_int_equal(times.count, 1);
    st_time_merge(&times.sets[0]);
    assert_int_equal(times.sets[0].count, 2); /* two shapes, whatever the number of layers */
    for (size_t i = 0; i < 2; i++) {
        const st_time_sample *sample = &times.sets[0].samples[i];
        assert_near(sample->times[0], 1.3 * sample->shape.features[ST_TIMES_CLOSED], 1e-9);
    }
    st_time_models models;
    bool used[4] = {true, true, true, false};
    st_step_errors errors = {.count = {0}};
    assert_int_equal(
        st_times_learn(&times.sets[0], NULL, ST_TIMES_FORMS, own->arena, &models, own->errors),
        ST_OK);
    assert_int_equal(st_step_try(sets, &models.times, used, own->arena, &errors, own->errors),
                     ST_OK);
    assert_int_equal(errors.count[ST_STEPS_USED], 3);
    assert_int_equal(errors.count[ST_STEPS_MEASURED], 1);
    assert_int_equal(errors.count[ST_STEPS_OTHERS], 1);
    for (size_t i = 0; i < 3; i++) {
        assert_true(fabs(errors.refined[ST_STEPS_USED][i]) < 1e-9);
        assert_true(errors.formula[ST_STEPS_USED][i] < -0.15);
    }
}

TEST_OF(steps_that_tell_no_layer_time, fixture *own, set_up, tear_down)
{
    st_measured *sets = NULL;
    size_t count = 0;
    st_time_sets times = {.count = 0};
    st_step_rows rows = {0};
    const char *text =
        step_row(own, steps_head, (step_plan){16, 2, 1, 16}, 1e-6); /* faster than its ends */
    text = step_row(own, text, (step_plan){16, 2, 4, 16}, 1.75);
    read_steps(own, text, &sets, &count);
    assert_int_equal(st_time_steps(sets, own->arena, &times, &rows, own->errors), ST_OK);
    assert_int_equal(rows.used, 0);
    assert_int_equal(rows.shorter, 1);
    assert_int_equal(rows.pipelined, 1);
    assert_int_equal(times.sets[0].count, 0);
}

/* ---- public measurements ---- */

/* A file of the data folder; NULL where it is not there, which is said aloud. */
static const char *data_file(fixture *own, const char *name)
{
    const char *data = getenv("STEPTIME_DATA");
    const char *path =
        st_arena_printf(own->arena, "%s/%s", data != NULL ? data : "../shared/data", name);
    assert_non_null(path);
    if (access(path, R_OK) == 0) {
        return path;
    }
    print_message("[ SKIPPED  ] %s is not there (STEPTIME_DATA)\n", path);
    return NULL;
}

static double mean_error(const double *errors, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += fabs(errors[i]) / (double)count;
    }
    return sum;
}

/* Layer times from 60 rows without pipeline and data parallelism, tried on all other rows. */
TEST_OF(few_steps_of_one_machine_tell_the_others, fixture *own, set_up, tear_down)
{
    st_measured_request request = {.paths = own->paths};
    st_measured *used = NULL;
    st_measured *all = NULL;
    size_t count = 0;
    st_time_sets times = {.count = 0};
    st_step_rows rows = {0};
    st_time_models models;
    st_step_errors errors = {.count = {0}};
    const char *path = data_file(own, "step_times/vtrain_single.csv");
    if (path == NULL) {
        return;
    }
    assert_int_equal(st_table_sources_load(own->paths, own->arena, &request.sources,
                                           &request.source_count, own->errors),
                     ST_OK);
    st_measured_table table = {.file = path};
    assert_int_equal(st_measured_read(&request, &table, own->arena, &all, &count, own->errors),
                     ST_OK);
    table.filter = "pp=1,dp=1,:60";
    assert_int_equal(st_measured_read(&request, &table, own->arena, &used, &count, own->errors),
                     ST_OK);
    assert_int_equal(count, 1);
    assert_int_equal(st_time_steps(used, own->arena, &times, &rows, own->errors), ST_OK);
    assert_true(rows.used >= 30 && rows.used <= 60);
    bool *lines = st_arena_alloc(own->arena, all->csv->row_count, sizeof *lines);
    assert_non_null(lines);
    assert_int_equal(st_step_usable(used, own->arena, lines, own->errors), ST_OK);
    st_time_merge(&times.sets[0]);
    assert_int_equal(
        st_times_learn(&times.sets[0], NULL, ST_TIMES_FORMS, own->arena, &models, own->errors),
        ST_OK);
    assert_int_equal(st_step_try(all, &models.times, lines, own->arena, &errors, own->errors),
                     ST_OK);
    double measured =
        mean_error(errors.refined[ST_STEPS_MEASURED], errors.count[ST_STEPS_MEASURED]);
    double formula = mean_error(errors.formula[ST_STEPS_MEASURED], errors.count[ST_STEPS_MEASURED]);
    print_message(
        "%zu rows used, %zu others whose layers were measured: %.2f %%, formulas %.2f %%\n",
        rows.used, errors.count[ST_STEPS_MEASURED], 100 * measured, 100 * formula);
    assert_true(errors.count[ST_STEPS_MEASURED] > 50);
    assert_true(measured < 0.025 && measured < 0.5 * formula);
}

/* One piece of another model's layers: the roofline, and the trees that stand on it. */
TEST_WITH(two_models_predict_the_mlp_of_a_third, set_up, tear_down)
{
    static const char *const files[] = {"layer_profiles/a100_Llama-2-7b-hf.csv.gz",
                                        "layer_profiles/a100_Meta-Llama-3-70B.csv.gz",
                                        "layer_profiles/a100_Qwen-72B.csv.gz"};
    fixture *own = *state;
    st_trees_library *library = NULL;
    st_time_sets *sets = st_arena_alloc(own->arena, 1, sizeof *sets);
    double *errors_of[ST_TIMES_FORMS];
    size_t count = 0;
    assert_non_null(sets);
    for (size_t i = 0; i < 3; i++) {
        const st_csv *csv = NULL;
        const char *path = data_file(own, files[i]);
        if (path == NULL) {
            return;
        }
        assert_int_equal(st_packed_csv_read(path, own->arena, &csv, own->errors), ST_OK);
        assert_int_equal(
            st_time_table_read(csv, own->paths, "a100-sxm-80gb", own->arena, sets, own->errors),
            ST_OK);
    }
    if (st_trees_open(&library, own->errors) != ST_OK) {
        print_message("[ SKIPPED  ] %s\n", said(own));
        return;
    }
    st_time_set *set = &sets->sets[0];
    st_time_merge(set);
    size_t piece = 0;
    while (set->pieces[piece] != ST_TIMES_MLP_UP) {
        piece++;
    }
    bool *counts = st_arena_alloc(own->arena, set->count, sizeof *counts);
    assert_non_null(counts);
    for (size_t i = 0; i < set->count; i++) {
        counts[i] = set->samples[i].group != 2;
    }
    for (size_t i = 0; i < ST_TIMES_FORMS; i++) {
        errors_of[i] = st_arena_alloc(own->arena, set->count, sizeof *errors_of[i]);
        assert_non_null(errors_of[i]);
    }
    const st_times_learner learner = {set, library, own->arena, own->errors};
    assert_int_equal(st_times_hold_out(&learner, piece, counts, errors_of, &count), ST_OK);
    double line = mean_error(errors_of[ST_TIMES_ROOFLINE], count);
    double both = mean_error(errors_of[ST_TIMES_BOTH], count);
    print_message("%zu shapes: roofline %.1f %%, trees on it %.1f %%\n", count, 100 * line,
                  100 * both);
    assert_true(count > 1000 && line < 0.09 && both < 0.09);
    st_trees_close(library);
}

TESTS(layer_times);

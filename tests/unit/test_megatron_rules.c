/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sheet megatron refuses and warns of, with the reason; what it names as the bottleneck;
 * and that every line of it says what it means and where it comes from.
 */
#include "megatron_support.h"
#include "program/program.h"

#include <ctype.h>

static const char *const sheets[] = {
    "megatron-model",       "megatron-plan",    "megatron-compute",
    "megatron-network",     "megatron-overlap", "megatron-schedule",
    "megatron-activations", "megatron-memory",  "megatron"};

/* ---- refusals ---- */

typedef struct rule_case {
    const char *job;
    const char *plan;
    const char *says;
} rule_case;

static const rule_case refusals[] = {
    {"megatron-22b-8xa100", "constants.overlap_slowdown=0.93",
     "error: slowdowns during communication must be at least 1; tensor 0.93"},
    {"megatron-22b-8xa100", "parallel.tp=6",
     "error: tensor-parallel size 6 does not divide the 64 heads"},
    {"megatron-22b-8xa100", "model.ffn=24580", "does not divide the MLP's inner width 24580"},
    {"megatron-22b-8xa100", "parallel.pp=49 parallel.tp=1 cluster.nodes=9",
     "error: 49 pipeline stages leave stages empty, the model has 48 layers"},
    {"gpt3-175b-64xa100", "parallel.virtual_stages=13",
     "error: 8 pipeline stages of 13 chunks leave chunks empty, the model has 96 layers"},
    {"mixtral-8x7b-64xh100", "parallel.ep=3",
     "error: expert-parallel size 3 does not divide the 8 experts"},
    {"mixtral-8x7b-64xh100", "parallel.dp=2 parallel.ep=4 parallel.expert_tp=1 batch.global=64",
     "error: expert groups of 4 x 1 ranks (ep x expert_tp) do not divide the 2 ranks of a stage"},
    {"mixtral-8x7b-64xh100", "parallel.expert_tp=3", "does not divide an expert's inner width"},
    {"mixtral-8x7b-64xh100", "model.top_k=9", "error: a token cannot visit 9 of 8 experts"},
    {"mixtral-8x7b-64xh100", "model.top_k=0", "tokens visit none of the 8 experts"},
    {"mixtral-8x7b-64xh100", "model.dense_layers=32", "leaves no MoE layer"},
    {"megatron-22b-8xa100", "parallel.ep=2", "error: expert-parallel size 2 requires experts"},
    {"megatron-22b-8xa100", "model.top_k=2", "the model has keys of experts"},
    {"megatron-22b-8xa100", "parallel.dp=2 batch.global=8 cluster.nodes=1",
     "8 x 1 x 1 x 2 = 16 ranks (tp x cp x pp x dp), the cluster 1 x 8 = 8 GPUs"},
    {"megatron-22b-8xa100", "batch.micro=8",
     "error: micro-batch 8 times data-parallel size 1 needs 8 sequences, the global batch has 4"},
    {"megatron-22b-8xa100", "batch.global=6",
     "error: global batch 6 is not a multiple of micro-batch 4 times data-parallel size 1"},
    {"megatron-22b-8xa100", "model.kv_heads=7",
     "error: the 7 key-value heads (model.kv_heads) do not divide the 64 heads"},
    {"megatron-22b-8xa100", "model.heads=56", "the hidden size 6144 is not a multiple of the 56"},
    {"megatron-22b-8xa100", "model.positions=1024",
     "error: sequences of 2048 tokens do not fit the 1024 learned positions"},
    {"megatron-22b-8xa100", "parallel.cp=3", "error: context-parallel size 3 does not divide"},
    {"megatron-22b-8xa100", "batch.sequence=2044", "sequence parallelism requires 2044 tokens"},
    {"megatron-22b-8xa100", "parallel.virtual_stages=2", "require a pipeline, parallel.pp is 1"},
    {"megatron-22b-8xa100", "parallel.schedule=interleaved", "requires at least 2 chunks per rank"},
    {"gpt3-175b-64xa100", "parallel.schedule=gpipe", "schedule gpipe with 3 chunks per rank"},
    {"gpt3-175b-64xa100", "parallel.schedule=zero_bubble", "schedule zero_bubble with 3 chunks"},
    {"megatron-22b-8xa100", "parallel.first_stage_layers=3", "there is only one stage"},
    {"gpt3-175b-64xa100", "parallel.first_stage_layers=60 parallel.last_stage_layers=33",
     "take 93 of 96 layers, which leaves too few for the other 6 stages"},
    {"gpt3-175b-64xa100",
     "parallel.pp=2 parallel.first_stage_layers=60 parallel.last_stage_layers=33 "
     "cluster.gpu.memory=999~GiB",
     "the stages are given 93 layers, the model has 96"},
    {"megatron-22b-8xa100", "precision.fp8=true", "the GPU has no FP8"},
    {"megatron-22b-8xa100", "cluster.gpu=v100-sxm precision.weights=bf16",
     "the GPU has no peak rate for weights in bf16 (cluster.gpu.peak_bf16)"},
    {"megatron-22b-8xa100", "constants.gemm_scale=1.5", "of the peak rate"},
    {"megatron-22b-8xa100", "constants.memory_efficiency=1.1", "efficiencies must be above 0"},
    {"megatron-22b-8xa100", "constants.network_efficiency=0", "constants of the network"},
    {"megatron-22b-8xa100", "constants.layer_launch=0~ms", "constants of the launch floor"},
    {"megatron-22b-8xa100", "constants.overlap_launch=0", "constants of the launch floor"},
    {"mixtral-8x7b-64xh100", "model.expert_groups=3 model.top_groups=2",
     "tokens choose 2 groups (model.top_groups) of 3 (model.expert_groups), which must divide"},
    {"mixtral-8x7b-64xh100", "model.expert_groups=8 model.top_groups=1",
     "1 of 8 groups (model.top_groups, model.expert_groups) have fewer than the 2 experts"},
    {"megatron-22b-8xa100", "constants.launch_sharpness=0.5", "must be from 1 to 64"},
    {"megatron-22b-8xa100", "constants.site_factor=-0.5", "must be above 0"},
    {"megatron-22b-8xa100", "constants.power_factor=-1", "must be above 0"},
    {"megatron-22b-8xa100", "constants.fragmentation=0.9", "constants of memory"},
    {"megatron-22b-8xa100", "constants.selective_saving=1", "must be at least 0 and below 1"},
};

TEST_OF(what_makes_no_sense_is_refused_with_the_reason, fixture *own, set_up, tear_down)
{
    for (size_t i = 0; i < COUNT(refusals); i++) {
        st_estimate estimate;
        st_status status = try_estimate(own, refusals[i].job, refusals[i].plan, &estimate);
        const char *text = said(own);
        if (status != ST_ERR_CHECK || strstr(text, refusals[i].says) == NULL)
            fail_msg("%s %s: %s", refusals[i].job, refusals[i].plan, text);
        if (strstr(text, "has no value") != NULL || strstr(text, "{") != NULL)
            fail_msg("%s %s stumbles: %s", refusals[i].job, refusals[i].plan, text);
    }
}

/* Its numbers stand, so that one sees what takes the memory. */
TEST_OF(a_plan_that_does_not_fit_has_values, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    assert_int_equal(try_estimate(own, "megatron-22b-8xa100",
                                  "recompute=none parallel.sequence_parallel=false", &estimate),
                     ST_OK);
    assert_true(fabs(cell(&estimate, "memory") / 1073741824 - 107.66) < 0.01);
    assert_int_equal(st_errors_count(own->errors, ST_SEVERITY_LIMIT), 1);
    assert_non_null(strstr(said(own),
                           "error: the plan does not fit; the first stage needs 107.7 GiB, a GPU "
                           "has 80 GiB, 27.66 GiB too little. What would help most: full "
                           "recomputation, 53.61 GiB, which is enough."));
}

TEST_OF(several_faults_are_told_at_once, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    assert_int_equal(try_estimate(own, "megatron-22b-8xa100",
                                  "parallel.tp=6 parallel.ep=2 model.positions=512 batch.global=6",
                                  &estimate),
                     ST_ERR_CHECK);
    const char *text = said(own);
    static const char *const parts[] = {"does not divide the 64 heads", "requires experts",
                                        "512 learned positions", "not a multiple of micro-batch"};
    for (size_t i = 0; i < COUNT(parts); i++)
        if (strstr(text, parts[i]) == NULL)
            fail_msg("does not say '%s': %s", parts[i], text);
}

/* ---- what a cluster has to tell ---- */

static void write_bare_cluster(const fixture *own, const char *cluster)
{
    write_text(own, "configs/jobs/bare.yaml",
               st_arena_printf(own->arena,
                               "model: megatron-1.7b\ncluster: %s\n"
                               "batch: {global: 64, micro: 1, sequence: 2048}\nrecompute: full\n",
                               cluster));
}

TEST_OF(links_are_asked_for_where_they_are_used, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    static const char gpu[] = "peak_fp16: 312 TFLOP/s, peak_bf16: 312 TFLOP/s, memory: 80 GiB, "
                              "memory_bandwidth: 2039 GB/s, power: 400 W, gemm_efficiency: 0.769";
    write_bare_cluster(own,
                       st_arena_printf(own->arena, "{nodes: 2, gpus_per_node: 4, gpu: {%s}}", gpu));
    (void)estimate_of(own, "bare", "");
    assert_int_equal(try_estimate(own, "bare", "parallel.dp=4", &estimate), ST_ERR_CHECK);
    const char *text = said(own);
    assert_non_null(strstr(text, "which requires cluster.gpu.link_bandwidth"));
    assert_null(strstr(text, "nic_bandwidth"));
    assert_int_equal(
        try_estimate(own, "bare", "parallel.dp=8 cluster.gpu.link_bandwidth=300~GB/s", &estimate),
        ST_ERR_CHECK);
    assert_non_null(strstr(said(own), "8 ranks span machines of 4 GPUs, which requires "
                                      "cluster.nic_bandwidth"));
    (void)estimate_of(own, "bare",
                      "parallel.dp=2 cluster.gpus_per_node=1 "
                      "cluster.nic_bandwidth=12.5~GB/s");
    (void)estimate_of(own, "bare",
                      "parallel.dp=8 cluster.gpu.link_bandwidth=300~GB/s "
                      "cluster.nic_bandwidth=12.5~GB/s");
}

TEST_OF(what_has_no_default_is_asked_for, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    write_text(own, "configs/jobs/bare.yaml", "parallel: {tp: 2}\n");
    assert_int_equal(try_estimate(own, "bare", "", &estimate), ST_ERR_NAME);
    const char *text = said(own);
    static const char *const keys[] = {
        "model.layers",  "model.hidden",          "model.heads",        "model.vocabulary",
        "batch.global",  "batch.micro",           "batch.sequence",     "recompute",
        "cluster.nodes", "cluster.gpu.peak_fp16", "cluster.gpu.memory", "cluster.gpu.power"};
    for (size_t i = 0; i < COUNT(keys); i++)
        if (strstr(text, st_arena_printf(own->arena, "error: %s has no value", keys[i])) == NULL)
            fail_msg("does not ask for %s: %s", keys[i], text);
}

/* Peaks and widths are enough: what products reach alone is then the sheet's own. */
TEST_WITH(a_data_sheet_is_enough, set_up, tear_down)
{
    static const struct {
        const char *recipe;
        double rate;
    } cases[] = {{"bf16", 0.7 * 1813e12},
                 {"fp8_current", 0.52 * 3607e12},
                 {"fp8_block", 0.5 * 3607e12},
                 {"mxfp8", 0.52 * 3607e12},
                 {"nvfp4", 0.42 * 7211e12}};
    fixture *own = *state;
    write_bare_cluster(own, "{nodes: 1, gpus_per_node: 8, gpu: {peak_fp16: 1813 TFLOP/s, "
                            "peak_bf16: 1813 TFLOP/s, peak_fp8: 3607 TFLOP/s, "
                            "peak_fp4: 7211 TFLOP/s, mxfp8: true, memory: 192 GiB, power: 1013 W, "
                            "memory_bandwidth: 6501 GB/s, link_bandwidth: 607 GB/s}}");
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate estimate = estimate_of(
            own, "bare",
            st_arena_printf(own->arena, "parallel.dp=8 precision.weights=bf16 precision.recipe=%s",
                            cases[i].recipe));
        assert_near(cell(&estimate, "rate_q"), cases[i].rate, 1e-9, cases[i].recipe);
    }
}

/* ---- warnings ---- */

static const rule_case warnings[] = {
    {"megatron-22b-8xa100", "model.hidden=6208 model.heads=64 model.head_dim=96",
     "warning: hidden size over tensor-parallel size, 776, is not a multiple of 64"},
    {"megatron-22b-8xa100", "model.head_dim=100",
     "warning: the width of a head, 100, is not a multiple of 8"},
    {"gpt3-175b-64xa100", "parallel.pp=9 parallel.virtual_stages=1",
     "warning: 9 pipeline stages do not divide the 96 layers; the fullest stage has 11; "
     "parallel.layout=auto balances them, as layouts of recipes do"},
    {"gpt3-175b-64xa100", "parallel.pp=7 parallel.virtual_stages=2",
     "warning: 7 pipeline stages of 2 chunks do not divide the 96 layers, but 98: embedding and "
     "output layer count as a layer each"},
    {"gpt3-175b-64xa100", "batch.global=61",
     "warning: 61 micro-batches are not a multiple of 8 stages"},
    {"megatron-22b-8xa100", "parallel.tp=16 cluster.nodes=2",
     "warning: tensor-parallel groups of 16 ranks span machines of 8 GPUs"},
    {"megatron-22b-8xa100", "model.kv_heads=4",
     "warning: 4 key-value heads on 8 tensor-parallel ranks are replicated"},
};

TEST_OF(what_is_odd_is_warned_of, fixture *own, set_up, tear_down)
{
    for (size_t i = 0; i < COUNT(warnings); i++) {
        st_estimate estimate;
        st_status status = try_estimate(own, warnings[i].job, warnings[i].plan, &estimate);
        const char *text = said(own);
        if (status != ST_OK || strstr(text, warnings[i].says) == NULL)
            fail_msg("%s %s: %s", warnings[i].job, warnings[i].plan, text);
    }
}

TEST_OF(sound_plans_are_not_warned_of, fixture *own, set_up, tear_down)
{
    static const char *const jobs[] = {"megatron-22b-8xa100",    "gpt3-175b-64xa100",
                                       "megatron-530b-280xa100", "megatron-1t-512xa100",
                                       "llama3-8b-8xh100",       "mixtral-8x7b-64xh100"};
    for (size_t i = 0; i < COUNT(jobs); i++) {
        st_estimate estimate;
        assert_int_equal(try_estimate(own, jobs[i], "", &estimate), ST_OK);
        assert_string_equal(said(own), "");
    }
}

/* ---- bottlenecks ---- */

static const rule_case bottlenecks[] = {
    {"megatron-22b-8xa100",
     "constants.overlap_slowdown=23.85 overlap.tp=1 cluster.gpu.link_bandwidth=10~GB/s",
     "overlap_slowdowns"},
    {"megatron-530b-280xa100", "", "gemms"},
    {"megatron-22b-8xa100", "constants.loss_traffic=99999~B", "memory_traffic"},
    {"megatron-22b-8xa100", "model.hidden=512 model.heads=8", "host_launches"},
    {"megatron-22b-8xa100", "cluster.gpu.link_bandwidth=10~GB/s", "tensor_parallel"},
    {"megatron-22b-8xa100",
     "parallel.cp=16 batch.sequence=32768 model.positions=32768 overlap.cp=0 "
     "cluster.nic_bandwidth=0.05~GB/s cluster.nodes=16",
     "context_parallel"},
    {"mixtral-8x7b-64xh100", "cluster.gpu.link_bandwidth=2~GB/s overlap.ep=0", "expert_parallel"},
    {"megatron-1t-512xa100", "cluster.nic_bandwidth=0.1~GB/s", "stage_transfers"},
    {"megatron-22b-8xa100",
     "parallel.dp=2 batch.global=8 cluster.nic_bandwidth=0.1~GB/s "
     "cluster.gpu.memory=999~GiB",
     "data_parallel"},
    {"megatron-1t-512xa100", "batch.global=8", "pipeline_bubble"},
    {"megatron-22b-8xa100",
     "batch.global=1 batch.micro=1 batch.sequence=8 model.layers=2 "
     "constants.stream_efficiency=0.01 constants.layer_launch=1~us "
     "constants.rank_launch=0~us precision.fused_wgrad=true "
     "precision.optimizer=fp32 recompute=none",
     "optimizer_step"},
};

TEST_OF(the_largest_part_is_named, fixture *own, set_up, tear_down)
{
    for (size_t i = 0; i < COUNT(bottlenecks); i++) {
        st_estimate estimate = estimate_of(
            own, bottlenecks[i].job,
            st_arena_printf(own->arena, "cluster.gpu.memory=9999~GiB %s", bottlenecks[i].plan));
        if (strcmp(named(&estimate, "bottleneck"), bottlenecks[i].says) != 0)
            fail_msg("%s %s: %s, not %s", bottlenecks[i].job, bottlenecks[i].plan,
                     named(&estimate, "bottleneck"), bottlenecks[i].says);
        bool is_matrix = strcmp(bottlenecks[i].says, "gemms") == 0;
        if (!is_matrix)
            assert_string_equal(named(&estimate, "overhead"), bottlenecks[i].says);
        assert_true((cell(&estimate, "time_gemm") >= cell(&estimate, "overhead_time")) ==
                    is_matrix);
    }
}

/* ---- where everything comes from ---- */

static char *read_file(const char *path)
{
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    assert_int_equal(fseek(stream, 0, SEEK_END), 0);
    long size = ftell(stream);
    assert_true(size > 0);
    rewind(stream);
    char *text = calloc((size_t)size + 1, 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, stream), size);
    assert_int_equal(fclose(stream), 0);
    return text;
}

/* "## Data parallelism" gives the anchor "data-parallelism". */
static bool has_anchor(const char *page, const char *anchor)
{
    for (const char *line = strstr(page, "\n## "); line != NULL; line = strstr(line + 1, "\n## ")) {
        const char *heading = line + 4;
        size_t i = 0;
        while (anchor[i] != '\0' &&
               (heading[i] == ' ' ? '-' : tolower((unsigned char)heading[i])) == anchor[i])
            i++;
        if (anchor[i] == '\0' && heading[i] == '\n')
            return true;
    }
    return false;
}

/* One of the citations that semicolons separate: its first word is a key of the bibliography. */
static void expect_known(const char *bibliography, const char *page, const char *name,
                         const char *cite)
{
    char key[80];
    static const char own_page[] = "steptime docs/megatron.md#";
    (void)snprintf(key, sizeof key, "{%.*s,", (int)strcspn(cite, " "), cite);
    if (strstr(bibliography, key) == NULL)
        fail_msg("%s cites '%s', which references.bib does not have", name, cite);
    if (strncmp(cite, own_page, sizeof own_page - 1) == 0 &&
        !has_anchor(page, cite + sizeof own_page - 1))
        fail_msg("%s cites '%s', a section that the page does not have", name, cite);
}

static void expect_described(const char *const *texts, const char *name, const char *doc,
                             const char *cite)
{
    char one[200];
    if (doc == NULL || strlen(doc) < 4 || doc[strlen(doc) - 1] == '.')
        fail_msg("%s does not say what it means in one line", name);
    if (cite == NULL || cite[0] == '\0')
        fail_msg("%s cites nothing", name);
    for (const char *rest = cite; *rest != '\0';) {
        size_t length = strcspn(rest, ";");
        assert_true(length < sizeof one);
        (void)snprintf(one, sizeof one, "%.*s", (int)length, rest);
        expect_known(texts[0], texts[1], name, one);
        rest += length;
        rest += strspn(rest, "; ");
    }
}

TEST_OF(every_line_says_what_it_means_and_where_it_comes_from, fixture *own, set_up, tear_down)
{
    char *bibliography = read_file("formulas/references.bib");
    char *page = read_file("docs/megatron.md");
    const char *const texts[] = {bibliography, page};
    const st_sheet *sheet = NULL;
    st_sheet_reader reader = st_paths_sheet_reader(own->paths);
    size_t count = 0;
    assert_int_equal(st_sheet_load(&reader, "megatron", own->arena, &sheet, own->errors), ST_OK);
    const st_sheet_input *inputs = st_sheet_inputs(sheet, &count);
    for (size_t i = 0; i < count; i++)
        expect_described(texts, inputs[i].name, inputs[i].doc, inputs[i].cite);
    const st_sheet_cell *cells = st_sheet_cells(sheet, &count);
    assert_true(count > 200);
    for (size_t i = 0; i < count; i++)
        expect_described(texts, cells[i].name, cells[i].doc, cells[i].cite);
    const st_sheet_function *functions = st_sheet_functions(sheet, &count);
    for (size_t i = 0; i < count; i++)
        expect_described(texts, functions[i].name, functions[i].doc, functions[i].cite);
    free(bibliography);
    free(page);
}

TEST_OF(every_part_is_a_sheet_of_its_own_without_warnings, fixture *own, set_up, tear_down)
{
    for (size_t i = 0; i < COUNT(sheets); i++) {
        const st_sheet *sheet = NULL;
        const st_program *program = NULL;
        st_sheet_reader reader = st_paths_sheet_reader(own->paths);
        assert_int_equal(st_sheet_load(&reader, sheets[i], own->arena, &sheet, own->errors), ST_OK);
        assert_int_equal(
            st_program_compile(sheet, &(st_program_options){0}, own->arena, &program, own->errors),
            ST_OK);
        assert_string_equal(said(own), "");
        assert_string_equal(st_sheet_name(sheet), sheets[i]);
        assert_true(strlen(st_sheet_title(sheet)) > 10);
        assert_true(strlen(st_sheet_doc(sheet)) > 40);
    }
}

TEST_OF(seams_for_plugins_are_open, fixture *own, set_up, tear_down)
{
    const st_sheet *sheet = NULL;
    st_sheet_reader reader = st_paths_sheet_reader(own->paths);
    assert_int_equal(st_sheet_load(&reader, "megatron", own->arena, &sheet, own->errors), ST_OK);
    static const char *const functions[] = {"gemm",          "all_reduce", "all_gather",
                                            "all_to_all",    "send_recv",  "start_up",
                                            "ring_bandwidth"};
    static const char *const cells[] = {"tp_per_node",      "cp_per_node",        "ep_per_node",
                                        "dp_per_node",      "expert_dp_per_node", "pp_crossing",
                                        "t_forward[dense]", "t_backward[dense]",  "t_forward[moe]",
                                        "t_backward[moe]"};
    for (size_t i = 0; i < COUNT(cells); i++)
        assert_true(st_sheet_find_cell(sheet, cells[i])->open);
    size_t count = 0;
    const st_sheet_function *all = st_sheet_functions(sheet, &count);
    for (size_t i = 0; i < COUNT(functions); i++) {
        bool open = false;
        for (size_t k = 0; k < count; k++)
            open = open || (strcmp(all[k].name, functions[i]) == 0 && all[k].open);
        if (!open)
            fail_msg("%s is not open", functions[i]);
    }
}

/*
 * A few microseconds for one evaluation are promised: the sheet has to stay lean. Each of ten kinds
 * of layers has its row of times, which a job without that kind folds away (docs/decisions/0060);
 * one without groups of experts or adapters folds away draws of groups and adapters. A sixth of the
 * operations are what each kind hides of its own messages, in each pass (docs/decisions/0084), two
 * in a hundred the gather that its backward pass repeats, one gradients that nobody reads, one the
 * GEMMs of each pass and the last backward pass of a step, one products larger than any measured;
 * four in a thousand are the backward passes of indexers, streams and several experts.
 */
TEST_OF(the_sheet_stays_lean, fixture *own, set_up, tear_down)
{
    const st_sheet *sheet = NULL;
    const st_program *program = NULL;
    st_sheet_reader reader = st_paths_sheet_reader(own->paths);
    assert_int_equal(st_sheet_load(&reader, "megatron", own->arena, &sheet, own->errors), ST_OK);
    assert_int_equal(
        st_program_compile(sheet, &(st_program_options){0}, own->arena, &program, own->errors),
        ST_OK);
    assert_true(st_program_operation_count(program) <= 12000);
    static const char *const outputs[] = {"step_time", "memory"};
    assert_int_equal(st_program_compile(sheet,
                                        &(st_program_options){.outputs = outputs,
                                                              .output_count = COUNT(outputs),
                                                              .without_checks = true},
                                        own->arena, &program, own->errors),
                     ST_OK);
    assert_true(st_program_operation_count(program) <= 8400);
}

TESTS(megatron_rules);

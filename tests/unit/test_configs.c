/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shipped GPUs, clusters, models, constants and jobs: complete, sourced, of sane size, and each
 * good for an estimate. GPUs are compared with the table of facts where that is present.
 */
#include "megatron_support.h"

#include "estimate/effects.h"

#include <ctype.h>

typedef struct listing {
    const st_path_entry *entries;
    size_t count;
} listing;

static listing list_folder(fixture *own, st_folder folder)
{
    listing list = {0};
    assert_int_equal(
        st_paths_list(own->paths, folder, own->arena, &list.entries, &list.count, own->errors),
        ST_OK);
    return list;
}

/* A job on a model and a cluster, or with the text of them. */
static const st_job *load(fixture *own, const char *text)
{
    const st_job *job = NULL;
    write_text(own, "job.yaml", text);
    if (st_job_load(own->paths, below(own, "job.yaml"), NULL, 0, own->arena, &job, own->errors) !=
        ST_OK)
        fail_msg("%s: %s", text, said(own));
    return job;
}

static double number_of(const st_job *job, const char *key)
{
    const st_job_value *value = st_job_value_of(job, key);
    assert_non_null(value);
    return value->origin == ST_ORIGIN_NONE ? 0 : value->number;
}

static void assert_sourced(const st_job *job, const char *key, const char *who)
{
    const st_job_value *value = st_job_value_of(job, key);
    if (value == NULL || value->origin != ST_ORIGIN_FILE)
        fail_msg("%s does not give %s", who, key);
    else if (value->source == NULL || value->source[0] == '\0')
        fail_msg("%s gives no source for %s", who, key);
}

/* ---- GPUs ---- */

TEST_OF(every_gpu_is_complete_and_sourced, fixture *own, set_up, tear_down)
{
    static const char *const keys[] = {
        "cluster.gpu.peak_fp16",        "cluster.gpu.peak_fp32",      "cluster.gpu.memory",
        "cluster.gpu.memory_bandwidth", "cluster.gpu.link_bandwidth", "cluster.gpu.power",
        "cluster.gpu.gemm_efficiency",  "cluster.gpu.host_bandwidth"};
    listing list = list_folder(own, ST_FOLDER_GPUS);
    assert_true(list.count >= 30);
    for (size_t i = 0; i < list.count; i++) {
        const st_job *job =
            load(own, st_arena_printf(own->arena, "stack: plain\ncluster: {gpu: %s}\n",
                                      list.entries[i].name));
        for (size_t k = 0; k < COUNT(keys); k++)
            assert_sourced(job, keys[k], list.entries[i].name);
        assert_true(st_job_value_of(job, "cluster.gpu.name")->origin == ST_ORIGIN_FILE);
        double fp16 = number_of(job, "cluster.gpu.peak_fp16");
        double fp8 = number_of(job, "cluster.gpu.peak_fp8");
        double bf16 = number_of(job, "cluster.gpu.peak_bf16");
        assert_true(bf16 == 0 || bf16 == fp16);
        assert_true(fp8 == 0 || fabs(fp8 / fp16 - 2) < 0.03);
        double fp4 = number_of(job, "cluster.gpu.peak_fp4");
        assert_true(fp4 == 0 || (fp4 > 1.9 * fp8 && fp4 < 3.1 * fp8));
        assert_true(number_of(job, "cluster.gpu.peak_fp32") < fp16);
        /* a step reaches no more of the peak than products alone */
        double alone = number_of(job, "cluster.gpu.gemm_efficiency_bf16");
        assert_true(alone == 0 || number_of(job, "cluster.gpu.gemm_efficiency") <= alone);
        assert_true(number_of(job, "cluster.gpu.gemm_kept") <= 1);
    }
}

/* Both directions of a link together, or rates with sparsity, are the usual slips. */
TEST_OF(well_known_gpus_are_not_doubled, fixture *own, set_up, tear_down)
{
    static const struct {
        const char *name;
        double tera_flops, links_gb, memory_gib, watts;
    } cases[] = {
        {"v100-sxm", 125, 150, 32, 300},      {"a100-sxm-80gb", 312, 300, 80, 400},
        {"h100-sxm", 989.4, 450, 80, 700},    {"h800-sxm", 989.4, 200, 80, 700},
        {"h200-sxm", 989.4, 450, 141, 700},   {"b200", 2250, 900, 180, 1000},
        {"v100-sxm-16gb", 125, 150, 16, 300}, {"rtx4090", 165.2, 31.5, 24, 450},
        {"b300", 2250, 900, 268, 1100},       {"gb300", 2500, 900, 277, 1400},
        {"mi300x", 1307.4, 448, 192, 750},    {"mi355x", 2516.6, 538, 288, 1400},
        {"tpu-v5p", 459, 300, 88, 350},       {"rtx-pro-6000", 500, 63, 95, 600},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_job *job =
            load(own, st_arena_printf(own->arena, "cluster: {gpu: %s}\n", cases[i].name));
        assert_near(number_of(job, "cluster.gpu.peak_fp16"), cases[i].tera_flops * 1e12, 1e-12,
                    cases[i].name);
        assert_near(number_of(job, "cluster.gpu.link_bandwidth"), cases[i].links_gb * 1e9, 1e-12,
                    cases[i].name);
        assert_near(number_of(job, "cluster.gpu.memory"), cases[i].memory_gib * GIB, 1e-12,
                    cases[i].name);
        assert_near(number_of(job, "cluster.gpu.power"), cases[i].watts, 1e-12, cases[i].name);
    }
}

TEST_OF(an_unknown_gpu_is_an_error, fixture *own, set_up, tear_down)
{
    const st_job *job = NULL;
    write_text(own, "job.yaml", "cluster: {gpu: h100-smx}\n");
    assert_int_not_equal(
        st_job_load(own->paths, below(own, "job.yaml"), NULL, 0, own->arena, &job, own->errors),
        ST_OK);
    assert_non_null(strstr(
        said(own), "cannot find GPU 'h100-smx' on the search path; did you mean 'h100-sxm'?"));
}

/* "A100-SXM4-80GB" of the table is the file a100-sxm-80gb. */
static const char *const table_names[][2] = {
    {"V100-SXM2-32GB", "v100-sxm"},
    {"V100-PCIe-32GB", "v100-pcie"},
    {"A100-SXM4-40GB", "a100-sxm-40gb"},
    {"A100-SXM4-80GB", "a100-sxm-80gb"},
    {"A100-PCIe-80GB", "a100-pcie-80gb"},
    {"A800-SXM4-80GB", "a800-sxm-80gb"},
    {"H100-SXM5-80GB", "h100-sxm"},
    {"H100-PCIe-80GB", "h100-pcie"},
    {"H800-SXM5-80GB", "h800-sxm"},
    {"H200-SXM-141GB", "h200-sxm"},
    {"H20-96GB", "h20"},
    {"GH200-96GB", "gh200"},
    {"B200-SXM-180GB", "b200"},
    {"GB200-186GB", "gb200"},
    {"RTX3090-24GB", "rtx3090"},
    {"RTX4090-24GB", "rtx4090"},
    {"A40-48GB", "a40"},
    {"L40S-48GB", "l40s"},
    {"L40-48GB", "l40"},
    {"A10-24GB", "a10"},
    {"T4-16GB", "t4"},
};

/* The number in a column of a line, 0 where it is empty. */
static double column(const char *line, int index)
{
    for (int i = 0; i < index; i++) {
        line = strchr(line, ',');
        assert_non_null(line);
        line++;
    }
    return *line == ',' ? 0 : atof(line);
}

TEST_OF(gpus_are_those_of_the_table_of_facts, fixture *own, set_up, tear_down)
{
    enum { FP16 = 3, BF16 = 4, FP32 = 6, FP8 = 7, BANDWIDTH = 11, POWER = 17 };
    const char *data = getenv("STEPTIME_DATA");
    const char *path =
        st_arena_printf(own->arena, "%s/gpus.csv", data != NULL ? data : "../shared/data");
    FILE *stream = fopen(path, "r");
    char line[2048];
    size_t compared = 0;
    if (stream == NULL) {
        print_message("[ SKIPPED  ] %s is not there (STEPTIME_DATA)\n", path);
        skip();
    }
    while (fgets(line, sizeof line, stream) != NULL)
        for (size_t i = 0; i < COUNT(table_names); i++) {
            size_t length = strlen(table_names[i][0]);
            if (strncmp(line, table_names[i][0], length) != 0 || line[length] != ',')
                continue;
            const st_job *job =
                load(own, st_arena_printf(own->arena, "cluster: {gpu: %s}\n", table_names[i][1]));
            assert_near(number_of(job, "cluster.gpu.peak_fp16"), column(line, FP16) * 1e12, 1e-12,
                        line);
            assert_near(number_of(job, "cluster.gpu.peak_bf16"), column(line, BF16) * 1e12, 1e-12,
                        line);
            assert_near(number_of(job, "cluster.gpu.peak_fp32"), column(line, FP32) * 1e12, 1e-12,
                        line);
            assert_near(number_of(job, "cluster.gpu.peak_fp8"), column(line, FP8) * 1e12, 1e-12,
                        line);
            assert_near(number_of(job, "cluster.gpu.memory_bandwidth"),
                        column(line, BANDWIDTH) * 1e9, 1e-12, line);
            compared++;
        }
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(compared, COUNT(table_names));
}

/* ---- clusters ---- */

TEST_OF(every_cluster_estimates_with_the_default_sheet, fixture *own, set_up, tear_down)
{
    listing list = list_folder(own, ST_FOLDER_CLUSTERS);
    assert_true(list.count >= 20);
    for (size_t i = 0; i < list.count; i++) {
        write_text(
            own, "configs/jobs/small.yaml",
            st_arena_printf(own->arena,
                            "model: {layers: 4, hidden: 1024, heads: 16, vocabulary: 32000}\n"
                            "cluster: %s\nparallel: {dp: 2}\nrecompute: none\n"
                            "precision: {weights: fp16}\n"
                            "batch: {global: 8, micro: 1, sequence: 512}\n",
                            list.entries[i].name));
        st_estimate estimate = estimate_of(own, "small", "");
        assert_true(cell(&estimate, "step_time") > 0);
        const st_job *job =
            load(own, st_arena_printf(own->arena, "cluster: %s\n", list.entries[i].name));
        assert_sourced(job, "cluster.nodes", list.entries[i].name);
        assert_sourced(job, "cluster.gpus_per_node", list.entries[i].name);
        assert_sourced(job, "cluster.nic_bandwidth", list.entries[i].name);
    }
}

TEST_OF(clusters_of_measured_tables_have_their_network, fixture *own, set_up, tear_down)
{
    static const struct {
        const char *name;
        double nics_gb;
        int least_gpus;
    } cases[] = {
        {"selene", 200, 3072},           {"vtrain-a100", 100, 512},
        {"jean-zay-a100", 50, 384},      {"zero-bubble-a100", 50, 32},
        {"dgx-h100", 400, 512},          {"dgx-b200", 400, 8},
        {"foundry-a100-80gb", 200, 512}, {"foundry-h100", 200, 512},
        {"foundry-a100-40gb", 200, 128},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_job *job = load(own, st_arena_printf(own->arena, "cluster: %s\n", cases[i].name));
        assert_near(number_of(job, "cluster.nic_bandwidth"), cases[i].nics_gb * 1e9, 1e-12,
                    cases[i].name);
        assert_true(number_of(job, "cluster.nodes") * number_of(job, "cluster.gpus_per_node") >=
                    cases[i].least_gpus);
    }
}

/* ---- models ---- */

/* The size in a model's name, "llama3-8b" or "megatron-1t"; 0 where it has none, or counts experts
 * ("8x7b"). */
static double size_in_name(const char *name)
{
    const char *dash = strrchr(name, '-');
    char *end = NULL;
    if (strchr(name, 'x') != NULL || dash == NULL)
        return 0;
    double size = strtod(dash + 1, &end);
    if (end == dash + 1 || (*end != 'b' && *end != 't') || end[1] != '\0')
        return 0;
    return *end == 't' ? size * 1e12 : size * 1e9;
}

TEST_OF(models_are_of_the_size_in_their_name, fixture *own, set_up, tear_down)
{
    listing list = list_folder(own, ST_FOLDER_MODELS);
    size_t compared = 0;
    for (size_t i = 0; i < list.count; i++) {
        const char *name = list.entries[i].name;
        double size = size_in_name(name);
        const st_job *job = load(own, st_arena_printf(own->arena, "model: %s\n", name));
        if (size == 0 || number_of(job, "model.heads") == 0)
            continue;
        assert_sourced(job, "model.layers", name);
        assert_sourced(job, "model.vocabulary", name);
        st_estimate estimate =
            estimate_of(own, "llama3-8b-8xh100",
                        st_arena_printf(own->arena, "model=%s sheet=megatron-model", name));
        assert_near(cell(&estimate, "parameters"), size, 0.09, name);
        compared++;
    }
    assert_true(compared >= 35);
}

TEST_OF(families_of_the_papers_are_complete, fixture *own, set_up, tear_down)
{
    static const char *const names[] = {"echo-gpt-13b",
                                        "echo-gpt-30b",
                                        "echo-gpt-40b",
                                        "echo-gpt-70b",
                                        "echo-gpt-175b",
                                        "moye-gpt-485b",
                                        "lumos-gpt3-15b",
                                        "lumos-gpt3-44b",
                                        "lumos-gpt3-117b",
                                        "lumos-gpt3-175b",
                                        "moye-mixtral-8x1.75b",
                                        "moye-mixtral-8x7b",
                                        "moye-mixtral-16x7b",
                                        "moye-mixtral-32x7b",
                                        "moye-mixtral-8x22b",
                                        "llama2-7b",
                                        "llama2-13b",
                                        "llama2-70b",
                                        "llama3-8b",
                                        "llama3-70b",
                                        "llama3-405b",
                                        "mixtral-8x7b",
                                        "mixtral-8x22b",
                                        "deepseek-v2",
                                        "deepseek-v3",
                                        "opt-6.7b",
                                        "opt-175b",
                                        "bloom-176b",
                                        "megatron-22b",
                                        "megatron-530b",
                                        "megatron-1t",
                                        "gpt3-175b",
                                        "megatron-1.7b",
                                        "megatron-3.6b",
                                        "megatron-7.5b",
                                        "megatron-18.4b",
                                        "megatron-39.1b",
                                        "megatron-76.1b",
                                        "megatron-145.6b",
                                        "megatron-310.1b",
                                        "megatron-529.6b",
                                        "megatron-1008b"};
    for (size_t i = 0; i < COUNT(names); i++) {
        const st_job *job = load(own, st_arena_printf(own->arena, "model: %s\n", names[i]));
        assert_true(number_of(job, "model.layers") > 0);
        assert_true(number_of(job, "model.heads") > 0);
    }
}

/* ---- constants ---- */

TEST_OF(the_shipped_constants_are_the_sheets_defaults, fixture *own, set_up, tear_down)
{
    st_estimate plain = estimate_of(own, "megatron-530b-280xa100", "");
    st_estimate with = estimate_of(own, "megatron-530b-280xa100", "constants=a100-vtrain");
    assert_true(cell(&plain, "step_time") == cell(&with, "step_time"));
    listing list = list_folder(own, ST_FOLDER_CONSTANTS);
    for (size_t i = 0; i < list.count; i++)
        (void)load(own, st_arena_printf(own->arena, "constants: %s\n", list.entries[i].name));
}

TEST_OF(constants_come_from_a_file_and_are_overridden_by_hand, fixture *own, set_up, tear_down)
{
    write_text(own, "configs/constants/mine.yaml",
               "source: fit of 2026-11-21\nsite_factor: {value: 1.25, assumption: true}\n"
               "gemm_scale: 0.9\n");
    st_estimate plain = estimate_of(own, "megatron-530b-280xa100", "constants.gemm_scale=0.9");
    st_estimate with = estimate_of(own, "megatron-530b-280xa100", "constants=mine");
    assert_near(cell(&with, "step_time"), 1.25 * cell(&plain, "step_time"), 1e-14, "site factor");
    st_estimate both =
        estimate_of(own, "megatron-530b-280xa100", "constants=mine constants.site_factor=2.5");
    assert_near(cell(&both, "step_time"), 2.5 * cell(&plain, "step_time"), 1e-14, "site factor");
    const st_job *job = load(own, "constants: mine\n");
    assert_string_equal(st_job_value_of(job, "constants.gemm_scale")->source, "fit of 2026-11-21");
    assert_true(st_job_value_of(job, "constants.site_factor")->assumption);
    assert_string_equal(st_job_section_name(job, "constants"), "mine");
}

TEST_OF(constants_build_on_others, fixture *own, set_up, tear_down)
{
    write_text(own, "configs/constants/mine.yaml", "base: a100-vtrain\nlayer_launch: 2.385 ms\n");
    const st_job *job = load(own, "constants: mine\n");
    assert_string_equal(st_job_value_of(job, "constants.layer_launch")->text, "2.385 ms");
    assert_string_equal(st_job_value_of(job, "constants.rank_launch")->text, "102 us");
}

/* ---- jobs ---- */

TEST_OF(every_job_estimates, fixture *own, set_up, tear_down)
{
    listing list = list_folder(own, ST_FOLDER_JOBS);
    size_t of_this_sheet = 0;
    for (size_t i = 0; i < list.count; i++) {
        st_estimate estimate = estimate_of(own, list.entries[i].name, "");
        if (strcmp(st_sheet_name(estimate.sheet), "megatron") != 0)
            continue;
        of_this_sheet++;
        assert_true(cell(&estimate, "mfu") > 0.1 && cell(&estimate, "mfu") < 0.7);
        assert_true(cell(&estimate, "fits") == 1);
        /* "gpt3-175b-1024xa100": so many GPUs */
        const char *dash = strrchr(list.entries[i].name, '-');
        assert_non_null(dash);
        assert_true(cell(&estimate, "gpus") == atof(dash + 1));
    }
    assert_true(of_this_sheet >= 10);
}

/* A rate, or a share of one: not a price, a size, or a time that each call takes. */
static bool is_rate(const st_sheet_input *input)
{
    static const char *const shares[] = {"efficiency", "gemm_memory", "gemm_kept", "utilization"};
    const char *key = input->from;
    bool shared = false;
    for (size_t i = 0; i < COUNT(shares); i++)
        shared = shared || strstr(key, shares[i]) != NULL;
    const char *unit = strchr(input->type.unit.text, '/');
    return strncmp(key, "cluster.", 8) == 0 && input->type.kind == ST_TYPE_NUMBER &&
           (shared || (unit != NULL && strcmp(unit, "/s") == 0));
}

TEST_OF(no_rate_of_a_device_slows_a_step, fixture *own, set_up, tear_down)
{
    static const char *const variants[] = {NULL, "stack=megatron-bridge",
                                           "precision.recipe=fp8_current", "cluster.gpu=b200",
                                           "sheet=li2024"};
    static const char *const recipes[] = {"precision.recipe=nvfp4", "precision.recipe=mxfp8"};
    listing list = list_folder(own, ST_FOLDER_JOBS);
    size_t tried = 0;
    for (size_t i = 0; i < list.count * COUNT(variants); i++) {
        const char *sets[] = {variants[i % COUNT(variants)], recipes[i % COUNT(recipes)]};
        bool narrow = sets[0] != NULL && strcmp(sets[0], "cluster.gpu=b200") == 0;
        const st_request request = {.job = list.entries[i / COUNT(variants)].name,
                                    .sets = sets,
                                    .set_count = sets[0] == NULL ? 0
                                                 : narrow        ? 2
                                                                 : 1};
        st_estimate found = {.checks_warn = true};
        st_status status = st_estimate_load(own->paths, &request, own->arena, &found, own->errors);
        if (status == ST_OK)
            status = st_estimate_show_report(&found, false, own->arena);
        if (status == ST_OK)
            status = st_estimate_run(&found, own->arena, own->errors);
        if (status == ST_OK)
            status = st_estimate_find_effects(&found, true, own->arena);
        for (size_t k = 0; status == ST_OK && k < found.input_count; k++) {
            const st_effect *effect = &found.effects[k];
            bool rate = is_rate(effect->input->input);
            tried += rate && effect->change < 0 ? 1 : 0;
            if (rate && !(effect->change <= 1e-12))
                fail_msg("%s %s: 10 %% more of %s slows a step by %g", request.job,
                         st_or_none(sets[0]), effect->input->input->from, effect->change);
        }
        st_errors_clear(own->errors); /* a sheet or a recipe that the job cannot have */
    }
    assert_true(tried > 200);
}

/* What papers print of these runs, without any fit to them. */
TEST_OF(published_runs_are_met, fixture *own, set_up, tear_down)
{
    static const struct {
        const char *job;
        const char *what;
        double published;
        double tolerance;
    } cases[] = {
        {"megatron-22b-8xa100", "step_time", 1.10, 0.075},
        {"gpt3-175b-64xa100", "step_time", 13.75, 0.03},
        /* 7.7 % above, 0.8 of them since all-gathers and reduce-scatters start apart and lose
         * more in groups of 8, as they do where they are measured; the three smaller models of
         * that paper are within 3.2 %. */
        {"megatron-1t-512xa100", "step_time", 71.49, 0.08},
        {"gpt3-175b-1024xa100", "flops_gpu_hardware", 140e12, 0.09},
        {"llama3-405b-16384xh100", "flops_gpu", 400e12, 0.12},
        {"deepseek-v3-2048xh800", "gpu_time", 2.664e6 * 3600, 0.1}, /* with interruptions */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate estimate = estimate_of(own, cases[i].job, "");
        assert_near(cell(&estimate, cases[i].what), cases[i].published, cases[i].tolerance,
                    cases[i].job);
    }
}

TESTS(configs);

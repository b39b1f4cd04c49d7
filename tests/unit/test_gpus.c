/* SPDX-License-Identifier: Apache-2.0 */
/* Files of GPUs by what tables, logs and devices call them. */
#include "job_support.h"

#include "steptime/tool/gpus.h"

static const st_path_entry entries[] = {
    {.name = "a100-pcie-80gb"},
    {.name = "a100-sxm-40gb"},
    {.name = "a100-sxm-80gb"},
    {.name = "h100-sxm"},
    {.name = "h100-pcie"},
    {.name = "rtx4090"},
    {.name = "l40"},
    {.name = "l40s"},
    {.name = "v100-sxm"},
    {.name = "rtx-pro-6000"},
    {.name = "mi300x"},
    {.name = "mi325x"},
    {.name = "mi355x"},
    {.name = "mi210"},
    {.name = "mi250"},
    {.name = "mi250x"},
    {.name = "a100-pcie-40gb"},
    {.name = "h200-nvl"},
    {.name = "a10"},
    {.name = "a10g"},
};
static const st_gpus gpus = {entries, sizeof entries / sizeof entries[0]};

static void expect_text(const char *asked, const char *found, const char *expected)
{
    if ((found == NULL) != (expected == NULL) || (found != NULL && strcmp(found, expected) != 0))
        fail_msg("'%s' is %s", asked, found != NULL ? found : "nothing");
}

TEST(names_are_found_by_their_words)
{
    static const struct {
        const char *text;
        const char *expected;
        double memory_gb;
    } cases[] = {
        {"h100-sxm", "h100-sxm", 0},
        {"A100-80GB-SXM", "a100-sxm-80gb", 0},
        {"A100 SXM4 40GB", "a100-sxm-40gb", 0},
        {"PCIE/A100/80gb", "a100-pcie-80gb", 0},
        {"H100-80GB-SXM", "h100-sxm", 80},
        {"H100 SXM5 94GB", "h100-sxm", 94},
        {"l40 48GB", "l40", 48},
        {"L40S", "l40s", 0},
        {"l40 sxm", "l40", 0},
        {"L40 S", NULL, 0},
        {"H100", NULL, 0},
        {"A100 SXM", NULL, 0},
        {"H100 SXM 80GB 94GB", NULL, 0},
        {"H100 SXM SXM", "h100-sxm", 0},
        {"H100 SXM turbo", NULL, 0},
        {"A100 SXM 40GB 80GB", NULL, 0}, /* two fit equally well */
        {"rtx 4090", NULL, 0},
        {"", NULL, 0},
        {" - ", NULL, 0},
        {"l40 sxm sxm sxm sxm sxm sxm sxm sxm sxm sxm sxm", "l40", 0}, /* twelve words */
        {"l40 sxm sxm sxm sxm sxm sxm sxm sxm sxm sxm sxm sxm", NULL, 0},
        {"l40 abcdefghijklmnopqrstuvwx", NULL, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double memory_gb = 2385;
        expect_text(cases[i].text, st_gpus_find(&gpus, cases[i].text, &memory_gb),
                    cases[i].expected);
        if (cases[i].expected != NULL &&
            (memory_gb < cases[i].memory_gb || memory_gb > cases[i].memory_gb))
            fail_msg("'%s' has %g GB", cases[i].text, memory_gb);
        expect_text(cases[i].text, st_gpus_find(&gpus, cases[i].text, NULL), cases[i].expected);
    }
}

TEST(devices_have_words_that_do_not_count)
{
    static const char *const cases[][2] = {
        {"NVIDIA H100 80GB HBM3", "h100-sxm"},
        {"AMD Instinct MI300X", "mi300x"},
        {"AMD_Instinct_MI300X_OAM", "mi300x"},
        {"AMD Instinct MI300X VF", "mi300x"},
        {"NVIDIA H100 PCIe", "h100-pcie"},
        {"NVIDIA A100 80 GB (one of eight)", "a100-sxm-80gb"},
        {"NVIDIA A100(one of eight) 80 GB", NULL},
        {"Tesla V100-SXM2-32GB", "v100-sxm"},
        {"NVIDIA GeForce RTX 4090", "rtx4090"},
        {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000"},
        {"NVIDIA L40S", "l40s"},
        {"  L40  ", "l40"},
        {"AMD Instinct MI300X", "mi300x"},
        {"AMD Instinct MI300X OAM", "mi300x"},
        {"AMD Instinct MI300X VF", "mi300x"},
        {"AMD_Instinct_MI325X", "mi325x"},
        {"AMD Instinct MI325 VF", "mi325x"},
        {"AMD Instinct MI355X", "mi355x"},
        {"gfx942:sramecc+:xnack-", "mi300x"},
        {"gfx950", "mi355x"},
        {"AMD Instinct MI250X", "mi250x"},
        {"AMD Instinct MI250X/MI250", "mi250x"},
        {"AMD Instinct MI250", "mi250"},
        {"AMD Instinct MI210", "mi210"},
        {"NVIDIA A100-PCIE-40GB", "a100-pcie-40gb"},
        {"NVIDIA H200 NVL", "h200-nvl"},
        {"NVIDIA A10", "a10"},
        {"NVIDIA A10G", "a10g"},
        {"gfx90a:sramecc+:xnack-", NULL},
        {"AMD Instinct MI350X", NULL},
        {"AMD Instinct MI300A", NULL},
        {"gfx90a", NULL},
        {"NVIDIA", NULL},
        {"Quadro", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_text(cases[i][0], st_gpus_of_device(&gpus, cases[i][0]), cases[i][1]);
}

/* By their file, else by the word of the product, else by all that they are called. */
TEST(two_names_may_mean_one_gpu)
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"NVIDIA H100 80GB HBM3", "h100-sxm", true},
        {"h100-sxm", "h100-pcie", false},
        {"P100-PCIE", "Tesla P100", true},
        {"P100", "K80", false},
        {"80GB P100", "P100", true},
        {"H100", "P100", false},
        {"Quadro", "Quadro", true},
        {"Quadro", "Titan", false},
        {"P100", "Quadro", false},
        {"Quadro", "P100", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (st_gpus_same(&gpus, cases[i].a, cases[i].b) != cases[i].same)
            fail_msg("'%s' and '%s'", cases[i].a, cases[i].b);
}

TEST_OF(unknown_ones_are_told_with_the_nearest, fixture *own, set_up, tear_down)
{
    const st_place place = {"f", 3, 7};
    assert_int_equal(st_gpus_unknown(&gpus, "h100-sxn", place, own->errors), ST_ERR_NAME);
    assert_string_equal(said(own),
                        "f:3:7: error: no file for the GPU 'h100-sxn'; did you mean 'h100-sxm'?\n");
    assert_int_equal(st_gpus_unknown(&gpus, "Quadro", place, own->errors), ST_ERR_NAME);
    assert_string_equal(said(own), "f:3:7: error: no file for the GPU 'Quadro'\n");
}

TEST_OF(files_are_listed_once, fixture *own, set_up, tear_down)
{
    st_gpus listed = {0};
    write_text(own, "configs/gpus/zz-2385.yaml", "memory: 24 GiB\n");
    assert_int_equal(st_gpus_list(own->paths, own->arena, &listed, own->errors), ST_OK);
    expect_text("ZZ 2385", st_gpus_find(&listed, "ZZ 2385", NULL), "zz-2385");
    const st_path_entry *first = listed.entries;
    assert_int_equal(st_gpus_list(own->paths, own->arena, &listed, own->errors), ST_OK);
    assert_ptr_equal(listed.entries, first);
}

TESTS(gpus);

/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks: what they fill in, what goes before them, and what is refused. */
#include "load_support.h"

/* Two stacks, a GPU of which the first speaks, and a sheet that names the second. */
static void write_stacks(fixture *own)
{
    write_text(own, "configs/gpus/g.yaml", "memory: 80 GiB\ngemm_efficiency: 0.385\n");
    write_text(own, "configs/gpus/kin.yaml", "base: g\nmemory: 96 GiB\n");
    write_text(own, "configs/stacks/one.yaml",
               "name: First\nsource: its manual\nrecompute: selective\n"
               "parallel: {zero: 1}\noverlap: {gradients: {value: 0.625, source: flag}}\n"
               "constants: {nu: 0.25, mu: 0.75}\n"
               "gpus: {g: {gemm_efficiency: 0.6375, constants: {mu: 0.875}}, other: {}}\n"
               "doc: for readers\n");
    write_text(own, "configs/stacks/two.yaml", "base: one\noverlap: {gradients: 0.375}\n");
    write_text(own, "formulas/low.yaml", "sheet: low\nstack: two\n");
    write_text(own, "formulas/high.yaml", "sheet: high\ninclude: [low]\n");
    write_text(own, "formulas/bare.yaml", "sheet: bare\n");
}

TEST_OF(a_stack_fills_in_what_nobody_gives, fixture *own, set_up, tear_down)
{
    write_stacks(own);
    const st_job *job = load(own, "stack: one\nsheet: high\ncluster: {gpu: kin}\n"
                                  "parallel: {zero: 3}\nconstants: {nu: 0.5}\n");
    assert_number(job, "overlap.gradients", ST_ORIGIN_STACK, 0.625);
    assert_string_equal(value_of(job, "overlap.gradients")->source, "flag");
    assert_false(value_of(job, "overlap.gradients")->assumption);
    assert_number(job, "recompute", ST_ORIGIN_STACK, 1);
    assert_string_equal(value_of(job, "recompute")->source, "its manual");
    assert_number(job, "parallel.zero", ST_ORIGIN_FILE, 3);
    assert_number(job, "cluster.gpu.gemm_efficiency", ST_ORIGIN_STACK, 0.6375);
    assert_string_equal(value_of(job, "constants.nu")->text, "0.5");
    assert_string_equal(value_of(job, "constants.mu")->text, "0.875");
    assert_int_equal(value_of(job, "constants.mu")->origin, ST_ORIGIN_STACK);
    assert_true(st_job_is_given(job, "parallel.zero"));
    assert_false(st_job_is_given(job, "recompute"));
    assert_false(st_job_is_given(job, "parallel.tp"));
    assert_false(st_job_is_given(job, "parallel.tq"));
    const st_stack *stack = st_job_stack(job);
    assert_string_equal(stack->name, "one");
    assert_string_equal(stack->title, "First");
    assert_string_equal(stack->source, "its manual");
    assert_false(stack->is_default);
}

TEST_OF(what_a_job_says_of_its_gpu_goes_before_the_stack, fixture *own, set_up, tear_down)
{
    static const char *const sets[] = {"stack=two", "overlap.gradients=0.125"};
    write_stacks(own);
    const st_job *job = load(own, "stack: one\ncluster: {gpu: {base: g, gemm_efficiency: 0.25}}\n");
    assert_number(job, "cluster.gpu.gemm_efficiency", ST_ORIGIN_FILE, 0.25);
    job = load_with(own, sets, 2);
    assert_number(job, "overlap.gradients", ST_ORIGIN_SET, 0.125);
    assert_string_equal(st_job_stack(job)->name, "two");
    assert_string_equal(st_job_stack(job)->title, "First");
    job = load(own, "stack: {base: one, overlap: {tp: 0.3}}\n");
    assert_number(job, "overlap.tp", ST_ORIGIN_STACK, 0.3);
    assert_number(job, "overlap.gradients", ST_ORIGIN_STACK, 0.625);
    assert_string_equal(st_job_section_name(job, "stack"), "inline");
}

TEST_OF(a_job_without_a_stack_takes_that_of_its_sheet, fixture *own, set_up, tear_down)
{
    write_stacks(own);
    const st_job *job = load(own, "sheet: high\n");
    assert_number(job, "overlap.gradients", ST_ORIGIN_STACK, 0.375);
    assert_true(value_of(job, "overlap.gradients")->assumption);
    assert_true(st_job_stack(job)->is_default);
    job = load(own, "sheet: bare\n");
    const st_job_parts parts = {.name = below(own, "job.yaml"), .sheet = "low"};
    assert_null(st_job_stack(job));
    assert_number(job, "overlap.gradients", ST_ORIGIN_DEFAULT, 0);
    assert_int_equal(st_job_load_for(own->paths, &parts, own->arena, &job, own->errors), ST_OK);
    assert_string_equal(st_job_stack(job)->name, "two");
}

TEST_OF(faulty_stacks_are_refused, fixture *own, set_up, tear_down)
{
    write_stacks(own);
    assert_faults(own, "stack: ones\n", ST_ERR_NAME,
                  "@/job.yaml:1:8: error: cannot find stack 'ones' on the search path; did you "
                  "mean 'one'?\n");
    assert_faults(
        own, "stack: [one, two]\n", ST_ERR_VALUE,
        "@/job.yaml:1:8: error: wrong value for stack: found a list, expected a map or the "
        "name of a file, with keys such as release\n");
    assert_faults(
        own, "stack: {model: {layers: 37}}\n", ST_ERR_NAME,
        "@/job.yaml:1:25: error: a stack cannot set model.layers: expected recompute, "
        "recomputed, attention, graphs, offload, parallel.zero, parallel.sequence_parallel, "
        "parallel.dispatcher, parallel.layout, model.capacity_factor, precision, overlap, "
        "constants or gpus\n");
    assert_faults(
        own, "stack: {overlap: {gradients: 1.5}}\n", ST_ERR_VALUE,
        "@/job.yaml:1:30: error: wrong value for overlap.gradients: found '1.5', expected a "
        "number from 0 to 1\n");
}

/* Found when the stack is read, whatever the plan. */
TEST_OF(cut_layouts_are_refused, fixture *own, set_up, tear_down)
{
    static const char *const cut[] = {"16=", "16=; auto", "16=Et|tL; 8=", "auto; 8=Et|tL",
                                      "0=Et|tL"};
    static const char *const shown[] = {"16=", "16=", "8=", "auto", "0=Et|tL"};
    write_stacks(own);
    for (size_t i = 0; i < sizeof cut / sizeof cut[0]; i++)
        assert_faults(
            own, st_arena_printf(own->arena, "stack: {parallel: {layout: \"%s\"}}\n", cut[i]),
            ST_ERR_SYNTAX,
            st_arena_printf(own->arena,
                            "@/job.yaml:1:29: error: a layout of a stack is cut or out of order: "
                            "found '%s', expected STAGES=LAYOUT; ...; LAYOUT\n",
                            shown[i]));
}

/* Recipes by GPU, experts and release, one inside of another. */
static void write_recipes(fixture *own)
{
    write_text(own, "configs/gpus/g.yaml", "memory: 80 GiB\n");
    write_text(own, "configs/gpus/kin.yaml", "base: g\n");
    write_text(own, "configs/stacks/cook.yaml",
               "name: Cook\nreleases: ['24.07', '25.09', '25.11.02']\noverlap: {ep: 0.125}\n"
               "recipes:\n"
               "  - if: {model.experts: '> 5', precision.recipe: [default, bf16]}\n"
               "    source: book\n"
               "    set: {parallel.dispatcher: deepep, overlap.ep: 0.875, recompute: selective,\n"
               "          recomputed.norms: true, constants: {nu: 0.25}}\n"
               "    recipes:\n"
               "      - {if: {cluster.gpu: g}, set: {graphs: scoped}}\n"
               "      - {if: {stack.release: < 25.9}, set: {graphs: full}, source: old}\n");
}

TEST_OF(recipes_go_by_the_job, fixture *own, set_up, tear_down)
{
    write_recipes(own);
    const st_job *job = load(own, "stack: cook\nmodel: {experts: 6}\ncluster: {gpu: kin}\n");
    assert_number(job, "overlap.ep", ST_ORIGIN_STACK, 0.875);
    assert_string_equal(value_of(job, "overlap.ep")->source, "book");
    assert_string_equal(value_of(job, "parallel.dispatcher")->text, "deepep");
    assert_string_equal(value_of(job, "graphs")->text, "scoped");
    assert_string_equal(value_of(job, "graphs")->source, "book");
    assert_string_equal(value_of(job, "constants.nu")->text, "0.25");
    assert_number(job, "recomputed.norms", ST_ORIGIN_STACK, 1);
    assert_string_equal(st_job_stack(job)->release, "25.11.02");
    assert_string_equal(st_job_stack(job)->recipes,
                        "recompute=selective parallel.dispatcher=deepep overlap.ep=0.875 "
                        "graphs=scoped recomputed.norms=true (book)");
    /* Modules are recomputed as one list says. */
    job = load(own, "stack: cook\nmodel: {experts: 6}\nrecomputed: {mlp: true}\n");
    assert_number(job, "recomputed.norms", ST_ORIGIN_DEFAULT, 0);
    assert_string_equal(value_of(job, "recompute")->text, "selective");
    job = load(own, "stack: cook\nmodel: {experts: 5}\n");
    assert_number(job, "overlap.ep", ST_ORIGIN_STACK, 0.125);
    job = load(own, "stack: cook\nmodel: {experts: 6}\nprecision: {recipe: mxfp8}\n");
    assert_number(job, "overlap.ep", ST_ORIGIN_STACK, 0.125);
}

TEST_OF(releases_are_known_or_the_nearest, fixture *own, set_up, tear_down)
{
    static const char *const sets[] = {"stack=cook@24.9"};
    write_recipes(own);
    const st_job *job = load(own, "stack: cook@24.07\nmodel: {experts: 6}\n");
    assert_string_equal(st_job_stack(job)->name, "cook");
    assert_string_equal(st_job_stack(job)->release, "24.07");
    assert_string_equal(value_of(job, "graphs")->text, "full");
    assert_string_equal(value_of(job, "graphs")->source, "old");
    assert_int_equal(st_errors_count(own->errors, ST_SEVERITY_WARNING), 0);
    job = load(own, "stack: {base: cook, release: '25.09'}\nmodel: {experts: 6}\n");
    assert_string_equal(st_job_stack(job)->release, "25.09");
    job = load_with(own, sets, 1);
    assert_string_equal(st_job_stack(job)->release, "24.07");
    assert_string_equal(
        st_errors_at(own->errors, 0)->message,
        "release 24.9 of stack cook is unknown; the last that is not newer, 24.07, counts");
}

/* A release may be named after its month, or have a date behind its name. */
TEST_OF(releases_have_dates, fixture *own, set_up, tear_down)
{
    write_stacks(own);
    write_recipes(own);
    write_text(own, "configs/stacks/dated.yaml",
               "releases: ['1.2 2025-11', '1.3 2026-03', '1.10 2026-07']\n");
    static const struct {
        const char *stack;
        const char *release;
        int warnings; /* with those before */
    } cases[] = {
        {"cook@2025-09", "25.09", 0}, {"cook@2025-10", "25.09", 0}, {"cook@2025-11", "25.11.02", 0},
        {"cook@2025", "25.11.02", 0}, {"cook@2024-06", "24.07", 1}, {"dated@2026-06", "1.3", 1},
        {"dated@2025-10", "1.2", 2},  {"dated@1.3", "1.3", 2},      {"dated", "1.10", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const st_job *job = load(own, st_arena_printf(own->arena, "stack: %s\n", cases[i].stack));
        assert_string_equal(st_job_stack(job)->release, cases[i].release);
        assert_int_equal(st_errors_count(own->errors, ST_SEVERITY_WARNING), cases[i].warnings);
    }
    assert_null(st_job_stack(load(own, "stack: one@2026-02\n"))->release);
    assert_null(st_job_stack(load(own, "stack: one@25.09\n"))->release);
    assert_string_equal(st_errors_at(own->errors, 3)->message,
                        "stack one has no releases; 25.09 changes nothing");
}

TEST_OF(faulty_recipes_are_refused, fixture *own, set_up, tear_down)
{
    write_stacks(own);
    write_recipes(own);
    assert_faults(own, "stack: cook@may\n", ST_ERR_VALUE,
                  "@/job.yaml:1:8: error: stack.release: found 'may', expected numbers and "
                  "dots, such as 25.11.02, or a date such as 2026-02 or 2026\n");
    static const char *const odd[] = {"25..09", ".25",      "25.",    "24.07@25.09",
                                      "2025-9", "2025-091", "2025-13"};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        assert_faults(own, st_arena_printf(own->arena, "stack: cook@%s\n", odd[i]), ST_ERR_VALUE,
                      st_arena_printf(own->arena,
                                      "@/job.yaml:1:8: error: stack.release: found '%s', expected "
                                      "numbers and dots, such as 25.11.02, or a date such as "
                                      "2026-02 or 2026\n",
                                      odd[i]));
    assert_faults(own, "stack: {recipes: [{if: {model.expert: 6}, set: {graphs: full}}]}\n",
                  ST_ERR_NAME,
                  "@/job.yaml:1:25: error: unknown key 'model.expert' in a recipe's conditions; "
                  "did you mean 'model.experts'?\n");
    assert_faults(own, "stack: {recipes: [{if: {parallel.tp: 6}, set: {graphs: full}}]}\n",
                  ST_ERR_NAME,
                  "@/job.yaml:1:25: error: recipes cannot go by parallel.tp: expected the model, "
                  "precision, GPU, parallel.zero or stack.release; a search varies plans\n");
    assert_faults(own, "stack: {recipes: [{if: {model.experts: 6}}]}\n", ST_ERR_VALUE,
                  "@/job.yaml:1:18: error: wrong value for recipes: found a list, expected a list "
                  "of maps with `set`, and `if`, `source` and `recipes` where needed\n");
    assert_faults(own, "stack: {releases: [25.09, 24.07]}\n", ST_ERR_VALUE,
                  "@/job.yaml:1:19: error: wrong value for releases: found a list, expected a list "
                  "of releases, the oldest first, such as ['24.07', '25.09'], with a date where "
                  "the name is none, such as '26.1 2026-01'\n");
}

TESTS(stack);

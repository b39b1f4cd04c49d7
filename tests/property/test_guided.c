/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches that do not compute every plan lose nothing: on random sheets, with a slow provider or
 * without, the least bound first and the rules that were proven give the ranking of an exhaustive
 * search, to the last bit; CMA-ES finds no plan that is none, and what it says of the plans that it
 * did not look at holds.
 */
#include "../unit/job_support.h"
#include "program/program.h"
#include "steptime/tool/providers.h"
#include "property.h"

#include "search/guided/guided_module.h"
#include "search/guided/states.h"

enum { SHEETS = DRAWS(60), DEPTH = 4, TOP = 7 };

/* --- random sheets --------------------------------------------------------------------------- */

static const char *const names[] = {"t", "p", "c", "d", "v", "b", "z", "B", "n"};

static void write_number(property_random *random, st_buffer *text, int depth);

static void write_pair(property_random *random, st_buffer *text, int depth, const char *between)
{
    write_number(random, text, depth - 1);
    st_buffer_text(text, between);
    write_number(random, text, depth - 1);
}

static void write_leaf(property_random *random, st_buffer *text)
{
    if (random_below(random, 3) == 0) {
        st_buffer_printf(text, "%.6g", fabs(random_magnitude(random, 2)));
    } else {
        st_buffer_text(text, names[random_below(random, sizeof names / sizeof names[0])]);
    }
}

static void write_call(property_random *random, st_buffer *text, int depth)
{
    static const char *const calls[] = {"max", "min", "slow"};
    static const char *const single[] = {"abs", "floor", "ceil", "sqrt", "log", "round"};
    if (random_below(random, 2) == 0) {
        st_buffer_printf(text, "%s(", calls[random_below(random, 3)]);
        write_pair(random, text, depth, ", ");
    } else {
        st_buffer_printf(text, "%s(", single[random_below(random, 6)]);
        write_number(random, text, depth - 1);
    }
    st_buffer_text(text, ")");
}

static void write_choice(property_random *random, st_buffer *text, int depth)
{
    st_buffer_text(text, random_below(random, 3) == 0 ? "if(q and " : "if(");
    write_pair(random, text, depth, " < ");
    st_buffer_text(text, ", ");
    write_pair(random, text, depth, ", ");
    st_buffer_text(text, ")");
}

static void write_number(property_random *random, st_buffer *text, int depth)
{
    static const char *const operators[] = {" + ", " - ", " * ", " / "};
    if (depth <= 0) {
        write_leaf(random, text);
        return;
    }
    switch (random_below(random, 8)) {
    case 0:
        write_leaf(random, text);
        break;
    case 1:
    case 2:
        write_call(random, text, depth);
        break;
    case 3:
        write_choice(random, text, depth);
        break;
    default:
        st_buffer_text(text, "(");
        write_pair(random, text, depth, operators[random_below(random, 4)]);
        st_buffer_text(text, ")");
    }
}

/* A formula with a random one in place of "@". */
static void write_cell(property_random *random, const char *name, const char *around,
                       st_buffer *text)
{
    st_buffer formula = {0};
    write_number(random, &formula, DEPTH);
    assert_false(formula.failed);
    size_t length = strcspn(around, "@");
    st_buffer_printf(text, "  %s:\n    is: %.*s%s%s\n", name, (int)length, around, formula.data,
                     around + length + 1);
    st_buffer_free(&formula);
}

/* Goals and needs as sheets have them, for which some rules hold, and others at random. */
static void write_sheet(property_random *random, fixture *own)
{
    static const char *const goals[] = {
        "@",
        "B/d/b*(2.385*b + 0.31) + slow(t*p, 3.7*d) + 0.0001*abs(@)",
        "max(slow(t, d), B/d*(1 + 0.7*p/b)) + 0.0002*abs(@)",
        "B*(1.2 + 0.3/b)/d + 0.21*z + 0.00001*abs(@)",
        "if(B > 0, B*(1.2 + 0.3/b)/d + 0.21*z, @)",
        "7.7/t/d + slow(t, p) - min(0.8*slow(t, p), 0.3*b) + 0.0001*abs(@)",
        "max(b/t + slow(t, b), 0.4)*(1 + (min(b/t + slow(t, b), 0.4)/max(b/t + slow(t, b), "
        "0.4))^7.3)"
        "^(1/7.3)/d + 0.0001*abs(@)",
    };
    static const char *const needs[] = {
        "@",
        "if(r == full, 1.7, if(r == selective, 4.1, 9.3))*b/t/p + 3.3/d*(4 - z) + 0.0001*abs(@)",
        "if(q, 1.9, 4.8)*b/t + if(r == none, 8.4, 3.2) + slow(p, t)*0.01 + 0.0001*abs(@)",
        "b*9.1/t/p/if(q, t, 1.5) + 0.001*abs(@)",
    };
    st_buffer text = {0};
    st_buffer_text(&text, "sheet: random\nenums:\n  recompute: [none, selective, full]\ninputs:\n"
                          "  t: {from: parallel.tp}\n  p: {from: parallel.pp}\n"
                          "  c: {from: parallel.cp}\n  d: {from: parallel.dp}\n"
                          "  v: {from: parallel.virtual_stages}\n  b: {from: batch.micro}\n"
                          "  z: {from: parallel.zero}\n  B: {from: batch.global}\n"
                          "  n: {from: cluster.nodes}\n"
                          "  q: {from: parallel.sequence_parallel, unit: bool}\n"
                          "  r: {from: recompute, unit: recompute}\n"
                          "functions:\n  slow:\n    open: true\n    args: {x: 1, y: 1}\n"
                          "    is: 0.01*abs(x) + 0.02*abs(y)\ncells:\n");
    write_cell(random, "step_time", goals[random_below(random, 7)], &text);
    write_cell(random, "memory", needs[random_below(random, 4)], &text);
    st_buffer_printf(&text, "checks:\n  - that: memory <= %.6g\n    else: too much\n",
                     pow(10, 1.6 * random_unit_interval(random)));
    if (random_below(random, 3) == 0) {
        st_buffer_text(&text, "  - that: slow(b, d) + t < 9.77\n    else: too slow\n");
    }
    assert_false(text.failed);
    write_text(own, "random.yaml", text.data);
    st_buffer_free(&text);
}

/* --- the provider ---------------------------------------------------------------------------- */

/* Like the formula it replaces, or unlike it, or no value at all. */
static st_status evaluate_slow(void *self, size_t rows, const double *const *arguments,
                               double *values)
{
    const unsigned *kind = self;
    for (size_t i = 0; i < rows; i++) {
        double x = fabs(arguments[0][i]);
        double y = fabs(arguments[1][i]);
        bool refuses = *kind == 2 && fmod(x + y, 5) < 1;
        values[i] = *kind == 0 ? 0.017 * x + 0.02 * y : 3.1 / (1 + x) + 0.3 * sqrt(y);
        values[i] = refuses ? (double)NAN : values[i];
    }
    return ST_OK;
}

typedef struct double_of_slow {
    unsigned kind;
    st_unit units[2];
    st_provider provider;
} double_of_slow;

static void set_provider(double_of_slow *made, unsigned kind)
{
    *made = (double_of_slow){.kind = kind};
    made->units[0] = made->units[1] = st_unit_one();
    made->provider = (st_provider){.name = "slow",
                                   .source = "test",
                                   .argument_units = made->units,
                                   .argument_count = 2,
                                   .unit = st_unit_one(),
                                   .evaluate = evaluate_slow,
                                   .self = &made->kind};
}

/* --- searches -------------------------------------------------------------------------------- */

typedef struct world {
    fixture *own;
    const double_of_slow *slow; /* NULL: the formula */
    const char *gpus;
} world;

static st_search_result find(const world *w, st_guide guide, int threads)
{
    static const char *const varies[] = {"parallel.tp",   "parallel.pp",
                                         "recompute",     "parallel.sequence_parallel",
                                         "parallel.zero", "batch.micro=2,1,3,4"};
    static const char *const sets[] = {"batch.global=48", "parallel.virtual_stages=1"};
    st_search_request request = {.space = {.job = "gpt3-175b-64xa100",
                                           .sheet = below(w->own, "random.yaml"),
                                           .sets = sets,
                                           .set_count = 2},
                                 .gpus = w->gpus,
                                 .only = varies,
                                 .only_count = sizeof varies / sizeof varies[0],
                                 .goal = "step_time",
                                 .top = TOP,
                                 .threads = threads,
                                 .guide = guide};
    request.guide.methods = st_guided_module;
    st_search *search = NULL;
    st_search_result result;
    st_search_watch watch = {.progress = NULL};
    if (st_search_create(w->own->paths, &request, w->own->arena, &search, w->own->errors) != ST_OK)
        fail_msg("%s", said(w->own));
    if (w->slow != NULL) {
        const st_provider *providers[] = {&w->slow->provider};
        st_space *space = search->space;
        st_program_options options = {.outputs = space->cells,
                                      .output_count = space->cell_count,
                                      .providers = providers,
                                      .provider_count = 1};
        assert_int_equal(st_program_compile(space->sheet, &options, w->own->arena,
                                            &space->variants[0].program, w->own->errors),
                         ST_OK);
        space->variants[0].plugin_count = 1;
    }
    if (st_search_run(search, &st_one_process, &watch, &result, w->own->errors) != ST_OK)
        fail_msg("%s", said(w->own));
    const st_guided *guided = &result.guided;
    uint64_t settled = guided->computed + guided->ruled_out + guided->cut + guided->untried;
    for (size_t i = 0; i < ST_RULES; i++)
        settled += guided->rules[i].skipped;
    if (guided->used)
        assert_int_equal(settled, search->rows);
    return result;
}

static void expect_same(const char *what, const st_search_result *every,
                        const st_search_result *some)
{
    if (every->found.ranking_count != some->found.ranking_count)
        fail_msg("%s finds %zu plans and not %zu", what, some->found.ranking_count,
                 every->found.ranking_count);
    for (size_t i = 0; i < every->found.ranking_count; i++) {
        const st_found *a = &every->found.ranking[i];
        const st_found *b = &some->found.ranking[i];
        if (a->row != b->row || !same_bits(a->goal, b->goal))
            fail_msg("%s has plan %" PRIu64 " with %.17g at %zu, and not %" PRIu64 " with %.17g",
                     what, b->row, b->goal, i + 1, a->row, a->goal);
    }
}

/* What a walk says of what it did not see. */
static void expect_true(const st_search_result *every, const st_search_result *walk)
{
    assert_true(walk->found.ranking_count <= every->found.ranking_count);
    if (every->found.ranking_count == 0)
        return;
    double best = every->found.ranking[0].goal;
    double found = walk->found.ranking_count > 0 ? walk->found.ranking[0].goal : HUGE_VAL;
    assert_true(found >= best);
    assert_true(walk->guided.has_floor);
    if (found != best && best < walk->guided.floor)
        fail_msg("%.17g was found, no other plan was to be below %.17g, but one has %.17g", found,
                 walk->guided.floor, best);
}

/* What the searches of all sheets did: a test that never skips anything tests nothing. */
typedef struct tally {
    uint64_t plans;
    uint64_t found;
    uint64_t cut;
    uint64_t ruled_out;
    uint64_t skipped[ST_RULES];
    uint64_t walked;
    uint64_t best; /* walks that found the best plan */
} tally;

static void count(const st_search_result *every, const st_search_result *bound,
                  const st_search_result *pruned, const st_search_result *walk, tally *all)
{
    all->plans += every->found.done;
    all->found += every->found.ranking_count > 0 ? 1 : 0;
    all->cut += bound->guided.cut;
    all->ruled_out += bound->guided.ruled_out;
    all->walked += walk->guided.computed;
    for (size_t i = 0; i < ST_RULES; i++)
        all->skipped[i] += pruned->guided.rules[i].skipped;
    all->best += every->found.ranking_count > 0 && walk->found.ranking_count > 0 &&
                         walk->found.ranking[0].row == every->found.ranking[0].row
                     ? 1
                     : 0;
}

static void compare_methods(const world *w, tally *all)
{
    static const st_guide bound = {.method = ST_METHOD_BOUND};
    static const st_guide pruned = {.pruning = ST_PRUNING_PROVEN};
    static const st_guide both = {.method = ST_METHOD_BOUND, .pruning = ST_PRUNING_PROVEN};
    static const st_guide walk = {
        .method = ST_METHOD_CMAES, .pruning = ST_PRUNING_PROVEN, .trials = 70};
    st_search_result every = find(w, (st_guide){0}, 1);
    st_search_result least = find(w, bound, 1);
    expect_same("bound", &every, &least);
    st_search_result some = find(w, bound, 3);
    expect_same("bound on three threads", &every, &some);
    st_search_result fewer = find(w, pruned, 1);
    expect_same("pruning", &every, &fewer);
    assert_true(fewer.guided.computed <= every.found.done);
    some = find(w, both, 1);
    expect_same("bound with pruning", &every, &some);
    some = find(w, walk, 1);
    expect_true(&every, &some);
    st_search_result again = find(w, walk, 3);
    expect_same("CMA-ES on three threads", &some, &again);
    assert_true(some.guided.computed <= 70);
    count(&every, &least, &fewer, &some, all);
}

TEST_OF(test_nothing_better_is_left_out, property_random *random, NULL, NULL)
{
    static const char *const gpus[] = {"8", "16", "8,16"};
    tally all = {0};
    for (size_t i = 0; i < SHEETS; i++) {
        fixture *own = NULL;
        double_of_slow slow;
        set_up((void **)&own);
        write_sheet(random, own);
        size_t kind = random_below(random, 4);
        set_provider(&slow, (unsigned)kind);
        world w = {
            .own = own, .slow = kind < 3 ? &slow : NULL, .gpus = gpus[random_below(random, 3)]};
        compare_methods(&w, &all);
        (void)tear_down((void **)&own);
    }
    printf("# %" PRIu64 " plans, ruled out %" PRIu64 ", cut %" PRIu64, all.plans, all.ruled_out,
           all.cut);
    for (size_t i = 0; i < ST_RULES; i++)
        printf(", %s %" PRIu64, st_rule_name(i), all.skipped[i]);
    printf("; the best of %" PRIu64 " sheets by %" PRIu64 " trials on %" PRIu64 "\n", all.found,
           all.walked, all.best);
    assert_true(all.cut > 0 && all.ruled_out > 0 && all.found > 0);
}

TESTS_WITH(guided, property_setup, NULL);

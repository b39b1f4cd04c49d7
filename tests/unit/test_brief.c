/* SPDX-License-Identifier: Apache-2.0 */
/* The report that a person reads first: its answer, its bars, and what matters most. */
#include "report_support.h"

#include "estimate/found_plan.h"

static const char mill[] =
    "sheet: mill\n"
    "enums:\n"
    "  stone: [upper, lower_half]\n"
    "inputs:\n"
    "  n: {from: parallel.dp, doc: stones}\n"
    "  G: {from: constants.grain, unit: s, doc: 'grinding, of a sack', cite: handbook}\n"
    "  S: {from: constants.sieve, unit: s, doc: sieving}\n"
    "  H: {from: constants.hidden, unit: s, doc: meanwhile, default: 0.4 s}\n"
    "  B: {from: constants.bran, unit: GiB, doc: bran, default: 7.2 GiB}\n"
    "  room: {from: cluster.gpu.memory, unit: GiB, doc: bin}\n"
    "  idle: {from: constants.idle, unit: s, doc: waiting, default: 0 s}\n"
    "  k: {from: cluster.nodes, doc: mills, default: 2}\n"
    "  g: {from: cluster.gpus_per_node, doc: millers, default: 3}\n"
    "  b: {from: batch.micro, doc: sacks, default: 2}\n"
    "  l: {from: model.layers, doc: layers, default: 2}\n"
    "  dust: {from: constants.dust, doc: dust, default: 1.0}\n"
    "  worn: {from: constants.worn, unit: stone, doc: worn stone, default: lower_half}\n"
    "cells:\n"
    "  T: {unit: s, is: 'dust*(G + S + idle + 0.031*G)*k*g*b*l/24', doc: time}\n"
    "  rate: {unit: 1/s, is: n/T, doc: sacks}\n"
    "  used: {unit: GiB, is: 'B + 19[GiB]', doc: used}\n"
    "  flour: {unit: GiB, is: '19[GiB]', doc: flour}\n"
    "  which: {unit: stone, is: worn, doc: stone}\n"
    "  wear_of: {per: stone, unit: s, is: 'if(stone == upper, 0.635[s], 0.265[s])'}\n"
    "  rows: {per: stone, is: 'if(stone == upper, 0, 4096.5)'}\n"
    "  columns: {per: stone, is: '23.85'}\n"
    "  part_of: {per: stone, unit: s, is: 'wear_of[stone] * 0.8'}\n"
    "  wear: {unit: s, is: 'if(worn == upper, wear_of[upper], wear_of[lower_half])'}\n"
    "checks:\n"
    "  - {that: n < 1000000, else: too many stones}\n"
    "  - {that: used <= room, else: the bin is too small, level: limit}\n"
    "  - {that: 'used <= 30[GiB]', else: no lid fits, level: limit}\n"
    "report:\n"
    "  - section: Time\n"
    "    cells: [T, rate]\n"
    "summary:\n"
    "  answer:\n"
    "    - {per sack: T, sacks/s: rate}\n"
    "    - {'worn by {} on the {worn} of a worn mill': wear}\n"
    "  bars:\n"
    "    - bar: Where the sack goes\n"
    "      of: T\n"
    "      parts: {grinding: G, sieving: {exposed: S, hidden: H}, waiting: idle}\n"
    "    - bar: The bin\n"
    "      of: used\n"
    "      limit: room\n"
    "      parts: {bran: B, flour: flour}\n"
    "    - bar: Wear\n"
    "      of: wear\n"
    "      member: which\n"
    "      parts: {edge: part_of}\n"
    "  rests:\n"
    "    - {rests: time of sacks, on: [G, S, worn], sizes: [rows, columns]}\n"
    "    - {rests: time of sieves, on: [S]}\n"
    "    - {rests: stones never turned, sizes: [rows, columns]}\n";

static const char village[] = "name: village\n"
                              "cluster:\n"
                              "  gpu: {memory: 40 GiB}\n"
                              "parallel: {dp: 3}\n"
                              "constants:\n"
                              "  grain: {value: 2.385 s, source: seen, assumption: true}\n"
                              "  sieve: {value: 0.715 s, source: timed}\n"
                              "sheet: mill\n";

static st_estimate *open_job(fixture *own, const char *const *sets, size_t count)
{
    st_estimate_request request = ST_ESTIMATE_REQUEST_INIT;
    const char *folders[] = {own->folder};
    st_estimate *estimate = NULL;
    write_text(own, "formulas/mill.yaml", mill);
    write_text(own, "configs/jobs/village.yaml", village);
    request.job = "village";
    request.folders = folders;
    request.folder_count = 1;
    request.sets = sets;
    request.set_count = count;
    if (st_estimate_create(&request, &estimate, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return estimate;
}

/* As text of 80 columns; the estimate is gone then. */
static const char *text_of(fixture *own, st_estimate *estimate, bool cite, bool quiet)
{
    st_estimate_view view = ST_ESTIMATE_VIEW_INIT;
    st_buffer buffer = {0};
    view.width = 80;
    view.cite = cite;
    view.quiet = quiet;
    st_errors_clear(own->errors);
    if (st_estimate_write(estimate, &view, &buffer, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    const char *text = st_arena_copy(own->arena, st_buffer_read(&buffer), buffer.length);
    assert_non_null(text);
    st_buffer_free(&buffer);
    st_estimate_destroy(estimate);
    return text;
}

/* What is said with an assignment; NULL: without. */
static const char *brief_with(fixture *own, const char *set)
{
    return text_of(own, open_job(own, &set, set != NULL ? 1 : 0), false, false);
}

/*
 * 2.385 + 0.715 + 0.031 x 2.385 = 3.173935 s, in bars of 30 characters for the 2.385 s of the
 * longest row: 0.715 s are 9 of them, up to 1.115 s 14.03. 26.2 of 40 GiB.
 */
TEST_WITH(the_report_stands_as_it_is_worked_out, set_up, tear_down)
{
    const char *text = brief_with(*state, NULL);
    static const char *const parts[] = {
        "3.174 s per sack, 0.9452 sacks/s, fits (26.2 of 40 GiB)\nworn by 265 ms on the ",
        "the lower half of a worn mill\n\njob ",
        "\nWhere the sack goes: 3.174 s\n"
        "  grinding   2.385 s  75 %  ",
        "\n  sieving     715 ms  23 %  ", "░  400 ms hidden\n  other     73.93 ms   2 %  ",
        "\n\nThe bin: 26.2 of 40 GiB\n"
        "  bran   7.2 GiB  27 %  ",
        "\n  flour   19 GiB  73 %  ",
        /* The edge is 0.8 of 265 ms. */
        "\n\nWear, lower_half stone: 265 ms\n"
        "  edge   212 ms  80 %  ",
        "\n  other   53 ms  20 %  ",
        /* The sieve is timed, the upper stone has no rows. */
        "\nWhat rests on defaults or extrapolation, not on measurements\n"
        "  time of sacks: constants.grain 2.385 s: lower half 4096.5 x 23.85\n"
        "  stones never turned: lower half 4096.5 x 23.85\n\n",
        "\n\nWhat 10 % more of a constant changes\n"
        "  +7.7 %  constants.grain  2.385 s, assumed  grinding\n"};
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(text, parts[i]);
    assert_lacks(text, "waiting");
    assert_lacks(text, "TOO LARGE");
    assert_lacks(text, "refined");
    assert_contains(text, "  constants.sieve  "); /* measured, and no cluster's */
    assert_lacks(text, "constants.dust"); /* of which all is a multiple, and which nobody gave */
    assert_lacks(text, "cluster.nodes");
    assert_lacks(text, "batch.micro");
    assert_lacks(text, "model.layers");
    assert_lacks(text, "gpus_per_node");
}

/* How many times `part` stands in one line that begins with two blanks and `label`. */
static size_t in_row(const char *text, const char *label, const char *part)
{
    char start[64];
    (void)snprintf(start, sizeof start, "\n  %s ", label);
    const char *row = strstr(text, start);
    if (row == NULL)
        fail_msg("no row '%s' in\n%s", label, text);
    const char *end = row != NULL ? strchr(row + 1, '\n') : NULL;
    assert_non_null(end);
    size_t count = 0;
    for (const char *at = strstr(row, part); at != NULL && at < end; at = strstr(at + 1, part))
        count++;
    return count;
}

/* Of 2.385 s a row's characters are its share; what is stacked ends at the share of the limit. */
TEST_WITH(bars_are_as_long_as_their_parts, set_up, tear_down)
{
    const char *text = brief_with(*state, NULL);
    size_t whole = in_row(text, "grinding", "█");
    assert_true(whole >= 15);
    assert_int_equal(in_row(text, "grinding", "░"), 0);
    assert_in_range(in_row(text, "sieving", "█") * 1000, 270 * whole, 330 * whole);
    assert_in_range(in_row(text, "sieving", "░") * 1000, 130 * whole, 210 * whole);
    assert_in_range(in_row(text, "other", "█"), 1, 2);
    /* The line of 40 GiB ends the width; 26.2 GiB are 65.5 % of it. */
    size_t bran = in_row(text, "bran", "█");
    size_t flour = in_row(text, "flour", "█");
    assert_int_equal(in_row(text, "bran", "│"), 1);
    assert_in_range(flour * 10, bran * 24, bran * 30); /* 19 of 7.2: 2.64 */
    const char *row = strstr(text, "\n  flour");
    const char *blank = strstr(row, "73 %");
    assert_non_null(blank);
    size_t before = strspn(blank + 4, " ") - 2;
    assert_in_range(before, bran - 1, bran + 1); /* it begins where the other ends */
}

/* A tenth more waiting than grinding makes that the longest row, with what is hidden. */
TEST_WITH(the_longest_row_fills_the_width, set_up, tear_down)
{
    const char *first = brief_with(*state, NULL);
    const char *second = brief_with(*state, "constants.hidden=2.385s");
    size_t whole = in_row(first, "grinding", "█");
    /* 0.715 + 2.385 s fill it now, of which 2.385 s are 77 %. */
    assert_in_range(in_row(second, "grinding", "█") * 1000, 700 * whole, 790 * whole);
    assert_in_range(in_row(second, "sieving", "░") * 1000, 700 * whole, 800 * whole);
}

TEST_WITH(a_row_needs_a_share_that_is_seen, set_up, tear_down)
{
    /* 0.0005 of a total near 3.1755 s are 1.588 ms. */
    assert_contains(brief_with(*state, "constants.idle=1.6ms"), "\n  waiting");
    assert_lacks(brief_with(*state, "constants.idle=1.55ms"), "\n  waiting");
    assert_contains(brief_with(*state, "constants.hidden=1.6ms"), "1.6 ms hidden");
    assert_lacks(brief_with(*state, "constants.hidden=1.55ms"), " hidden\n");
    /* What takes no time of its own is a row all the same where it runs alongside. */
    const char *text = brief_with(*state, "constants.sieve=0s");
    assert_contains(text, "\n  sieving");
    assert_contains(text, "0 %");
    assert_contains(text, "400 ms hidden");
}

/* Numbers of 1/s go without their unit, from 10,000 on without a fraction. */
TEST_WITH(counts_of_a_second_are_plain, set_up, tear_down)
{
    assert_contains(brief_with(*state, "parallel.dp=31739"), ", 1e4 sacks/s");
    assert_contains(brief_with(*state, "parallel.dp=31740"), ", 10000 sacks/s");
    assert_contains(brief_with(*state, "parallel.dp=412358"), ", 129920 sacks/s");
}

/* One limit that does not hold is enough, whichever it is; it is said again in full. */
TEST_WITH(any_limit_may_be_exceeded, set_up, tear_down)
{
    const char *text = brief_with(*state, "cluster.gpu.memory=26.1GiB");
    assert_contains(text,
                    "sacks/s, TOO LARGE (26.2 of 26.1 GiB)\n"
                    "worn by 265 ms on the lower half of a worn mill\n\nTOO LARGE  the bin is too "
                    "small\n\njob");
    assert_contains(text, "The bin: 26.2 of 26.1 GiB\n");
    assert_contains(brief_with(*state, "cluster.gpu.memory=26.3GiB"), "fits (26.2 of 26.3 GiB)");
    text = brief_with(*state, "constants.bran=11.5GiB");
    assert_contains(text, "TOO LARGE (30.5 of 40 GiB)\nworn by 265 ms on the lower half of a worn "
                          "mill\n\nTOO LARGE  no lid fits\n\n");
    /* Units that differ stand both: 21.5 of 0.9766 GiB would hide which is which. */
    assert_contains(brief_with(*state, "cluster.gpu.memory=1000MiB"),
                    "TOO LARGE (26.2 GiB of 1000 MiB)");
}

/* What nobody gave and only scales is left out; once somebody gave it, it is told. */
TEST_OF(constants_that_matter_are_told, fixture *own, set_up, tear_down)
{
    const char *sets[] = {"constants.dust=1.385"};
    const char *text = brief_with(own, sets[0]);
    assert_contains(text, "  constants.dust   ");
    assert_contains(text, "constants.grain");
    text = text_of(own, open_job(own, NULL, 0), true, false);
    assert_contains(text, "2.385 s, assumed  grinding  seen\n");
    assert_lacks(brief_with(own, NULL), "  seen\n");
}

TEST_WITH(the_member_is_that_of_the_job, set_up, tear_down)
{
    const char *text = brief_with(*state, "constants.worn=upper");
    assert_contains(text, "\nWear, upper stone: 635 ms\n");
    assert_contains(text, "\n  edge   508 ms  80 %  ");
}

TEST_OF(warnings_end_it_unless_nobody_wants_them, fixture *own, set_up, tear_down)
{
    static const char *const sets[] = {"cluster.gpu.memory=41GiB"}; /* which changes nothing */
    const char *text = text_of(own, open_job(own, sets, 1), false, false);
    assert_contains(text, "\nWarnings\n");
    assert_contains(text, "cluster.gpu.memory has no effect");
    text = text_of(own, open_job(own, sets, 1), false, true);
    assert_lacks(text, "Warnings");
}

/* ---- how many effects ---- */

/* A bar of `parts`, each the same share of the total and an assumption. */
static const char *bar_of(fixture *own, size_t parts)
{
    static const char head[] = "sheet: even\ninputs:\n";
    const char *inputs = "";
    const char *sum = "";
    const char *rows = "";
    for (size_t i = 0; i < parts; i++) {
        st_text_add(own->arena, &inputs, "",
                    "  p%zu: {from: constants.p%zu, unit: s, doc: d, default: 0.2385 s}\n", i, i);
        st_text_add(own->arena, &sum, " + ", "p%zu", i);
        st_text_add(own->arena, &rows, ", ", "part%zu: p%zu", i, i);
    }
    write_text(own, "formulas/even.yaml",
               st_arena_printf(own->arena,
                               "%s%scells: {T: {unit: s, is: '%s', doc: all}}\n"
                               "report: [{section: Time, cells: [T]}]\n"
                               "summary:\n  answer: {in all: T}\n"
                               "  bars: [{bar: All, of: T, parts: {%s}}]\n",
                               head, inputs, sum, rows));
    st_estimate_request request = ST_ESTIMATE_REQUEST_INIT;
    st_estimate *estimate = NULL;
    request.sheet = below(own, "formulas/even.yaml");
    if (st_estimate_create(&request, &estimate, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return text_of(own, estimate, false, false);
}

/* Six, fewer below many rows of bars, two at least. */
TEST_WITH(rows_of_bars_take_the_room_of_effects, set_up, tear_down)
{
    static const struct {
        size_t parts;
        size_t told;
        const char *more; /* NULL: none */
    } cases[] = {{5, 5, NULL},
                 {7, 6, "\n  1 more assumption with --all\n"},
                 {10, 6, "\n  4 more assumptions with --all\n"},
                 {11, 5, "\n  6 more assumptions with --all\n"},
                 {13, 3, "\n  10 more assumptions with --all\n"},
                 {14, 2, "\n  12 more assumptions with --all\n"},
                 {17, 2, "\n  15 more assumptions with --all\n"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *text = bar_of(*state, cases[i].parts);
        size_t told = 0;
        for (const char *at = text; (at = strstr(at, ", assumed")) != NULL; at++)
            told++;
        assert_int_equal(told, cases[i].told);
        if (cases[i].more != NULL)
            assert_contains(text, cases[i].more);
        else
            assert_lacks(text, "--all");
        assert_lacks(text, "fits"); /* it has no limit */
        assert_lacks(text, "other");
    }
}

/* ---- a sheet without a summary ---- */

/* Cells c0, c1, ... of 0.385, 1.385, ...; of each section two, of the third the value is zero. */
static const char *cells_of(fixture *own, size_t count)
{
    const char *cells = "";
    const char *report = "";
    for (size_t i = 0; i < count; i++) {
        st_text_add(own->arena, &cells, "", "  c%zu: {unit: s, is: '%zu[s]', doc: 'd%zu, e'}\n", i,
                    i == 2 ? 0 : i + 10, i);
        if (i % 2 == 0)
            st_text_add(own->arena, &report, "", "  - section: Part %zu\n    cells: [c%zu%s\n",
                        i / 2, i, i + 1 < count ? "," : "]");
        else
            st_text_add(own->arena, &report, "", "      c%zu]\n", i);
    }
    write_text(own, "formulas/bare.yaml",
               st_arena_printf(own->arena, "sheet: bare\ncells:\n%sreport:\n%s", cells, report));
    st_estimate_request request = ST_ESTIMATE_REQUEST_INIT;
    st_estimate *estimate = NULL;
    request.sheet = below(own, "formulas/bare.yaml");
    if (st_estimate_create(&request, &estimate, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return text_of(own, estimate, false, false);
}

TEST_WITH(a_sheet_without_a_summary_shows_its_cells, set_up, tear_down)
{
    const char *text = cells_of(*state, 31);
    assert_memory_equal(text, "c0: 10 s, d0, e\n\n", strlen("c0: 10 s, d0, e\n\n"));
    assert_contains(text, "\n\nPart 0\n  c0   10 s  d0, e\n  c1   11 s  d1, e\n\nPart 1\n"
                          "  c3   13 s  d3, e\n");
    assert_lacks(text, "\n  c2 "); /* of zero */
    /* Twenty-four, of which c2 is none. */
    assert_contains(text, "\n  c24  34 s  d24, e\n");
    assert_lacks(text, "\n  c25 ");
    assert_contains(cells_of(*state, 25), "\n\nPart 12\n  c24  34 s  d24, e\n");
}

/* ---- a plan that was searched ---- */

TEST_OF(a_found_plan_stands_at_the_head, fixture *own, set_up, tear_down)
{
    static const char *const sets[] = {"parallel.tp=4", "parallel.pp=2"};
    static const char *const assumed[] = {"--batch=512", "--seq=2048"};
    const st_found_plan found = {"T", 2385, 1, sets, 2, assumed, 2};
    const st_found_plan none = {"T", 2385, 0, sets, 1, assumed, 0};
    st_estimate *estimate = open_job(own, NULL, 0);
    st_estimate_tell_found(estimate, &found);
    assert_contains(text_of(own, estimate, false, false),
                    "\n\nfound    the plan with the lowest T: 2385 plans compared, 1 pass all "
                    "checks\n         --set parallel.tp=4 --set parallel.pp=2\n"
                    "assumed  --batch=512 --seq=2048\n\njob ");
    estimate = open_job(own, NULL, 0);
    st_estimate_tell_found(estimate, &none);
    const char *text = text_of(own, estimate, false, false);
    assert_contains(text, "\n\nfound    none of 2385 plans passes all checks; this one is the "
                          "closest\n         --set parallel.tp=4\n");
    assert_lacks(text, "assumed  -");
    assert_lacks(text, "assumed  \n");
}

TEST_OF(a_found_plan_is_a_map_for_programs, fixture *own, set_up, tear_down)
{
    static const char *const sets[] = {"parallel.tp=4", "parallel.pp=2"};
    static const char *const assumed[] = {"--batch=512"};
    const st_found_plan found = {"T", 2385, 71, sets, 2, assumed, 1};
    st_result result;
    st_found_plan_put(&found, st_result_begin(&result, own->arena));
    assert_form_has(&result, ST_FORM_JSON,
                    (const char *const[]){"\"minimise\": \"T\"", "\"plans\": 2385",
                                          "\"passed\": 71", "\"parallel.tp=4\"",
                                          "\"parallel.pp=2\"", "\"--batch=512\""},
                    6);
}

TESTS(brief);

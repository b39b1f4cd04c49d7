/* SPDX-License-Identifier: Apache-2.0 */
/* Running through a space: rows in every form, what is rejected and why, pictures and maps. */
#include "report_support.h"

#include "sweep/plot.h"
#include "sweep/sweep.h"

#include <math.h>

/* Of d kilns a day is 2.5 s / d and 0.125 s, the heat 12 GiB / d, 3 more for thick glaze. */
static const char kiln[] =
    "sheet: kiln\n"
    "enums:\n"
    "  glaze: [plain, thick]\n"
    "inputs:\n"
    "  d: {from: parallel.dp, doc: kilns}\n"
    "  room: {from: cluster.gpu.memory, unit: GiB, doc: room}\n"
    "  glaze: {from: constants.glaze, unit: glaze, doc: glaze, default: plain}\n"
    "cells:\n"
    "  T: {unit: s, is: '2.5[s]/d + 0.125[s]', doc: a day}\n"
    "  M: {unit: GiB, is: '12[GiB]/d + if(glaze == thick, 3[GiB], 0[GiB])', doc: heat}\n"
    "  shape: {unit: glaze, is: glaze, doc: glaze}\n"
    "  far: {is: 1/(d - 3), doc: distance}\n"
    "checks:\n"
    "  - {that: d < 7, else: 'too many kilns; {d} of them'}\n"
    "  - {that: d > 1, else: a lonely kiln, level: warning}\n"
    "  - {that: M <= room, else: too hot. Really, level: limit}\n"
    "report: [{section: Times, cells: [T, M]}]\n"
    "roles: {step: T, memory: M, gpu_memory: room, dp: d}\n";

static const char pottery[] = "name: pottery\n"
                              "cluster: {gpu: {memory: 8 GiB}}\n"
                              "parallel: {dp: 2}\n"
                              "sheet: kiln\n";

static const char *const usual[] = {"parallel.dp=1,2,3,4,7", "constants.glaze=plain,thick"};
static const char *const cells[] = {"T", "M", "shape", "far"};

static st_space *space_of(fixture *own, const char *const *overs, size_t count, bool checks_warn)
{
    static const char *const wheres[] = {"T < 2.6[s]"};
    const st_space_request request = {.job = "pottery",
                                      .option = "--over",
                                      .overs = overs,
                                      .over_count = count,
                                      .wheres = wheres,
                                      .where_count = checks_warn ? 0 : 1,
                                      .cells = cells,
                                      .cell_count = 4,
                                      .checks_warn = checks_warn};
    st_space *space = NULL;
    write_text(own, "formulas/kiln.yaml", kiln);
    write_text(own, "configs/jobs/pottery.yaml", pottery);
    if (st_space_create(own->paths, &request, own->arena, &space, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    st_errors_clear(own->errors);
    return space;
}

/* ---- who looks ---- */

typedef struct watcher {
    st_buffer text;
    size_t writes;
    size_t fail_at; /* the write of that number fails; 0: none */
    uint64_t done[8];
    uint64_t firsts[8];
    size_t looks;
    size_t reports;
    volatile sig_atomic_t interrupted;
    uint64_t interrupt_at; /* rows; 0: never */
    st_plot *plot;
    st_sweep_map *map;
} watcher;

static st_status take_text(void *context, const char *data, size_t length)
{
    watcher *self = context;
    if (++self->writes == self->fail_at)
        return ST_ERR_IO;
    st_buffer_append(&self->text, data, length);
    return ST_OK;
}

static void take_progress(void *context, uint64_t done, uint64_t rows)
{
    watcher *self = context;
    assert_true(done <= rows);
    if (self->reports < 8)
        self->done[self->reports++] = done;
    if (self->interrupt_at > 0 && done >= self->interrupt_at)
        self->interrupted = 1;
}

static st_status take_rows(void *context, const st_space_worker *worker, uint64_t first)
{
    watcher *self = context;
    if (self->looks < 8)
        self->firsts[self->looks++] = first;
    if (self->plot != NULL)
        st_plot_take(self->plot, worker);
    if (self->map != NULL)
        st_sweep_map_take(self->map, worker);
    return ST_OK;
}

static st_status run(fixture *own, const st_space *space, st_sweep_options options, watcher *self,
                     st_sweep_result *result)
{
    const st_sweep_sink sink = {.write = take_text,
                                .progress = take_progress,
                                .look = take_rows,
                                .context = self,
                                .interrupted = &self->interrupted};
    return st_sweep_run(space, &options, &sink, result, own->errors);
}

static void expect_rows(fixture *own, const st_space *space, st_sweep_options options,
                        const char *expected)
{
    watcher self = {0};
    st_sweep_result result;
    assert_int_equal(run(own, space, options, &self, &result), ST_OK);
    assert_text(&self.text, expected);
}

/* ---- forms ---- */

/* d = 1 and thick glaze on two kilns are too hot, three have no distance, seven are too many. */
TEST_WITH(rows_are_kept_that_pass, set_up, tear_down)
{
    const st_space *space = space_of(*state, usual, 2, false);
    expect_rows(*state, space, (st_sweep_options){.format = ST_SWEEP_CSV, .threads = 1},
                "parallel.dp,constants.glaze,T [s],M [GiB],shape,far\n"
                "2,plain,1.375,6,plain,-1\n"
                "4,plain,0.75,3,plain,1\n"
                "4,thick,0.75,6,thick,1\n");
    expect_rows(*state, space, (st_sweep_options){.format = ST_SWEEP_TEXT, .threads = 1},
                "parallel.dp  constants.glaze           T           M       shape         far\n"
                "          2            plain     1.375 s       6 GiB       plain          -1\n"
                "          4            plain      750 ms       3 GiB       plain           1\n"
                "          4            thick      750 ms       6 GiB       thick           1\n");
    expect_rows(*state, space, (st_sweep_options){.format = ST_SWEEP_NOTHING, .threads = 1}, "");
}

/* What exceeds a limit keeps its numbers; a row that another check rejects has none. */
TEST_WITH(all_rows_say_why_they_are_rejected, set_up, tear_down)
{
    const st_space *space = space_of(*state, usual, 2, false);
    expect_rows(*state, space,
                (st_sweep_options){.format = ST_SWEEP_CSV, .all = true, .threads = 1},
                "parallel.dp,constants.glaze,T [s],M [GiB],shape,far,rejected\n"
                "1,plain,2.625,12,plain,-0.5,M <= room\n"
                "1,thick,2.625,15,thick,-0.5,M <= room\n"
                "2,plain,1.375,6,plain,-1,\n"
                "2,thick,1.375,9,thick,-1,M <= room\n"
                "3,plain,,,,,a cell or check has no finite value\n"
                "3,thick,,,,,a cell or check has no finite value\n"
                "4,plain,0.75,3,plain,1,\n"
                "4,thick,0.75,6,thick,1,\n"
                "7,plain,,,,,d < 7\n"
                "7,thick,,,,,d < 7\n");
}

TEST_WITH(rows_are_objects_for_programs, set_up, tear_down)
{
    static const char *const overs[] = {"parallel.dp=2,3,4", "cluster.gpu.memory=8GiB",
                                        "constants.glaze=thick"};
    const st_space *space = space_of(*state, overs, 3, false);
    watcher self = {0};
    st_sweep_result result;
    const st_sweep_options options = {.format = ST_SWEEP_JSON, .all = true, .threads = 1};
    assert_int_equal(run(*state, space, options, &self, &result), ST_OK);
    const char *text = st_buffer_read(&self.text);
    assert_contains(text, "\"job\": \"pottery\", \"sheet\": \"kiln\", \"axes\": [{\"name\": "
                          "\"parallel.dp\", \"unit\": \"1\"}, {\"name\": \"cluster.gpu.memory\", "
                          "\"unit\": \"GiB\"}, {\"name\": \"constants.glaze\", \"unit\": \"1\"}], "
                          "\"cells\": [{\"name\": \"T\", \"unit\": \"s\"}, ");
    assert_contains(text, "\n{\"parallel.dp\": 2, \"cluster.gpu.memory\": 8, \"constants.glaze\": "
                          "\"thick\", \"T\": 1.375, \"M\": 9, \"shape\": \"thick\", \"far\": -1, "
                          "\"rejected\": \"M <= room\"}\n{\"parallel.dp\": 3, ");
    assert_contains(text, "\"T\": null, \"M\": null, \"shape\": null, \"far\": null, \"rejected\": "
                          "\"a cell or check has no finite value\"}\n");
    assert_contains(text, "\"T\": 0.75, \"M\": 6, \"shape\": \"thick\", \"far\": 1, "
                          "\"rejected\": null}\n");
    st_buffer_free(&self.text);
}

/* Without checks a row is marked; warnings mark none. */
TEST_WITH(rows_may_be_marked_instead, set_up, tear_down)
{
    static const char *const overs[] = {"parallel.dp=1,2,8", "constants.glaze=plain"};
    const st_space *space = space_of(*state, overs, 2, true);
    expect_rows(*state, space, (st_sweep_options){.format = ST_SWEEP_CSV, .threads = 1},
                "parallel.dp,constants.glaze,T [s],M [GiB],shape,far,fits,failed\n"
                "1,plain,2.625,12,plain,-0.5,false,M <= room\n"
                "2,plain,1.375,6,plain,-1,true,\n"
                "8,plain,0.4375,1.5,plain,0.2,true,d < 7\n");
    expect_rows(*state, space, (st_sweep_options){.format = ST_SWEEP_TEXT, .threads = 1},
                "parallel.dp  constants.glaze           T           M       shape         far  "
                "failed\n"
                "          1            plain     2.625 s      12 GiB       plain        -0.5  "
                "M <= room\n"
                "          2            plain     1.375 s       6 GiB       plain          -1  -\n"
                "          8            plain    437.5 ms     1.5 GiB       plain         0.2  "
                "d < 7\n");
    watcher self = {0};
    st_sweep_result result;
    const st_sweep_options options = {.format = ST_SWEEP_JSON, .threads = 1};
    assert_int_equal(run(*state, space, options, &self, &result), ST_OK);
    assert_contains(st_buffer_read(&self.text), ", \"fits\": false, \"failed\": \"M <= room\"}\n");
    assert_contains(st_buffer_read(&self.text), ", \"fits\": true, \"failed\": \"\"}\n");
    st_buffer_free(&self.text);
}

/* ---- counts ---- */

TEST_OF(reasons_are_counted, fixture *own, set_up, tear_down)
{
    static const char *const overs[] = {"parallel.dp=1,2,3,4,7,8", "constants.glaze=plain,thick",
                                        "cluster.gpu.memory=8GiB,20GiB"};
    const st_space *space = space_of(own, overs, 3, false);
    watcher self = {0};
    st_sweep_result result;
    st_buffer text = {0};
    const st_sweep_options options = {.format = ST_SWEEP_NOTHING, .threads = 1};
    assert_int_equal(run(own, space, options, &self, &result), ST_OK);
    assert_int_equal(result.done, 24);
    assert_int_equal(result.kept, 7); /* 2: three, 4: four */
    assert_false(result.interrupted);
    /* Of one kiln half are too hot, and half too slow. */
    st_sweep_write_reasons(space, &result, &text);
    assert_text(&text, "rejected 17 of 24 rows\n"
                       "         8  not: d < 7 - too many kilns\n"
                       "         3  not: M <= room - too hot\n"
                       "         2  not: T < 2.6[s]\n"
                       "         4  a cell or check has no finite value\n");
    result.done = result.kept;
    st_sweep_write_reasons(space, &result, &text);
    assert_text(&text, "");
}

static const char *const many[] = {"constants.glaze=plain,thick", "parallel.dp=4..1503"};

/* 3000 rows are three blocks, whose bytes do not depend on who computes them. */
TEST_OF(threads_do_not_change_the_rows, fixture *own, set_up, tear_down)
{
    const st_space *space = space_of(own, many, 2, true);
    char *texts[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        watcher self = {0};
        st_sweep_result result;
        const st_sweep_options options = {.format = ST_SWEEP_CSV, .threads = i == 0 ? 1 : 3};
        assert_int_equal(run(own, space, options, &self, &result), ST_OK);
        assert_int_equal(result.done, 3000);
        assert_int_equal(self.writes, 4); /* with the head */
        assert_int_equal(self.looks, 3);
        assert_int_equal(self.reports, 3);
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(self.firsts[k], 1024 * k);
        assert_int_equal(self.done[0], 1024);
        assert_int_equal(self.done[2], 3000);
        texts[i] = strdup(st_buffer_read(&self.text));
        st_buffer_free(&self.text);
    }
    assert_contains(texts[0], "\nthick,1503,");
    assert_string_equal(texts[0], texts[1]);
    free(texts[0]);
    free(texts[1]);
}

TEST_OF(a_sweep_ends_where_somebody_wants_it_to, fixture *own, set_up, tear_down)
{
    const st_space *space = space_of(own, many, 2, true);
    watcher self = {.interrupt_at = 1024};
    st_sweep_result result;
    const st_sweep_options options = {.format = ST_SWEEP_CSV, .threads = 1};
    assert_int_equal(run(own, space, options, &self, &result), ST_OK);
    assert_true(result.interrupted);
    assert_int_equal(result.done, 1024);
    st_buffer_free(&self.text);
    watcher failing = {.fail_at = 3};
    assert_int_equal(run(own, space, options, &failing, &result), ST_ERR_IO);
    assert_false(result.interrupted);
    assert_int_equal(failing.writes, 3);
    assert_int_equal(result.done, 1024);
    st_buffer_free(&failing.text);
    watcher first = {.fail_at = 1};
    assert_int_equal(run(own, space, options, &first, &result), ST_ERR_IO);
    assert_int_equal(first.looks, 0);
    st_buffer_free(&first.text);
}

/* ---- pictures ---- */

TEST_OF(a_picture_names_its_cell, fixture *own, set_up, tear_down)
{
    assert_string_equal(st_plot_cell("x=parallel.dp,y=T", own->arena), "T");
    assert_string_equal(st_plot_cell("y=T,x=parallel.dp", own->arena), "T");
    assert_string_equal(st_plot_cell("x=a,z=M,y=b", own->arena), "M");
    assert_string_equal(st_plot_cell("x=a,y=b,z=M", own->arena), "M");
    assert_null(st_plot_cell("x=parallel.dp", own->arena));
    assert_null(st_plot_cell("x=a,y=", own->arena));
    assert_null(st_plot_cell("y:T", own->arena));
}

TEST_OF(pictures_that_cannot_be_drawn_are_refused, fixture *own, set_up, tear_down)
{
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        {"x=parallel.dp,w=T", "cannot read a part of the plot"},
        {"x=parallel.dp,x=constants.glaze,y=T", "cannot read a part of the plot"},
        {"x=,y=T", "cannot read a part of the plot"},
        {"x:parallel.dp,y=T", "cannot read a part of the plot"},
        {"x=parallel.dp", "the plot lacks x or y"},
        {"y=T", "the plot lacks x or y"},
        {"x=parallel.dp,z=T", "the plot lacks x or y"},
        {"x=parallel.pp,y=T", "'parallel.pp' is not an axis of the sweep"},
        {"x=parallel.dp,y=T,z=M", "'T' is not an axis of the sweep"},
        {"x=parallel.dp,y=parallel.dp,z=M", "'parallel.dp' is not an axis of the sweep"},
        {"x=parallel.dp,y=shape", "'shape' is not a column of numbers"},
        {"x=parallel.dp,y=parallel.dp", "'parallel.dp' is not a column of numbers"},
    };
    const st_space *space = space_of(own, usual, 2, false);
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_plot *plot = NULL;
        if (st_plot_create(space, cases[i].text, &plot, own->errors) != ST_ERR_USAGE)
            fail_msg("%s is not refused", cases[i].text);
        assert_contains(said(own), cases[i].words);
    }
}

TEST_OF(a_picture_has_room_for_so_much, fixture *own, set_up, tear_down)
{
    static const struct {
        const char *overs[2];
        const char *text;
        bool drawn;
    } cases[] = {
        {{"parallel.dp=1..24", "constants.glaze=plain,thick"}, "x=constants.glaze,y=T", true},
        {{"parallel.dp=1..25", "constants.glaze=plain,thick"}, "x=constants.glaze,y=T", false},
        {{"parallel.dp=1..25", "constants.glaze=plain,thick"},
         "x=constants.glaze,y=parallel.dp,z=T",
         true},
        {{"parallel.dp=1..50000", "constants.glaze=plain,thick"}, "x=parallel.dp,y=T", true},
        {{"parallel.dp=1..50001", "constants.glaze=plain,thick"}, "x=parallel.dp,y=T", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_plot *plot = NULL;
        const st_space *space = space_of(own, cases[i].overs, 2, false);
        st_status status = st_plot_create(space, cases[i].text, &plot, own->errors);
        if ((status == ST_OK) != cases[i].drawn)
            fail_msg("%s, %s: %s", cases[i].overs[0], cases[i].text, said(own));
        if (status != ST_OK)
            assert_contains(said(own), "the plot is too large");
    }
}

/* The SVG of a space. */
static const char *drawn(fixture *own, const char *const *overs, size_t count, const char *text)
{
    const st_space *space = space_of(own, overs, count, false);
    watcher self = {0};
    st_sweep_result result;
    st_buffer svg = {0};
    const st_sweep_options options = {.format = ST_SWEEP_NOTHING, .threads = 1};
    if (st_plot_create(space, text, &self.plot, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    assert_int_equal(run(own, space, options, &self, &result), ST_OK);
    st_plot_write(self.plot, &svg);
    assert_false(svg.failed);
    const char *copy = st_arena_copy(own->arena, svg.data, svg.length);
    st_buffer_free(&svg);
    assert_non_null(copy);
    return copy;
}

/*
 * 440 by 350 pixels: kilns from 1 to 7 over 0.03 to 0.97 of the width, 0 to 1.375 s over the
 * height. Three kilns have no distance, which breaks the line.
 */
TEST_WITH(lines_go_over_numbers_to_scale, set_up, tear_down)
{
    static const char *const parts[] = {
        "<text x=\"90\" y=\"24\" class=\"large\">T of pottery</text>\n"
        "<text x=\"90\" y=\"42\" class=\"faint\">a day</text>\n"
        "<path d=\"M90 410L530 410\" class=\"grid\"/>\n"
        "<text x=\"82\" y=\"414\" class=\"end\">0 s</text>\n",
        "<text x=\"542\" y=\"44\">constants.glaze</text>\n"
        "<path d=\"M172.13 60L172.13 60M310 219.09L310 219.09\" stroke-width=\"2\" "
        "stroke-linecap=\"round\" stroke=\"#0072b2\"/>\n"
        "<path d=\"M542 68L562 68\" stroke=\"#0072b2\"/>\n<text x=\"568\" y=\"72\">plain</text>\n"
        "<path d=\"M310 219.09L310 219.09\" stroke-width=\"2\" stroke-linecap=\"round\" "
        "stroke=\"#d55e00\"/>\n"
        "<path d=\"M542 84L562 84\" stroke=\"#d55e00\"/>\n<text x=\"568\" y=\"88\">thick</text>\n",
        "<text x=\"103.2\" y=\"428\" class=\"middle\">1</text>\n",
        "<text x=\"516.8\" y=\"428\" class=\"middle\">7</text>\n"
        "<text x=\"310\" y=\"456\" class=\"middle\">parallel.dp</text>\n"
        "<text transform=\"translate(20 235) rotate(-90)\" class=\"middle upwards\">T</text>\n"};
    const char *text = drawn(*state, usual, 2, "x=parallel.dp,y=T");
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(text, parts[i]);
    assert_lacks(text, ">5</text>"); /* whole numbers, where they are few, label themselves */
}

/* 88 by 175 pixels for each pair; the least is pale, the most dark. */
TEST_WITH(maps_go_over_two_axes, set_up, tear_down)
{
    static const char *const parts[] = {
        "<rect x=\"90\" y=\"60\" width=\"440\" height=\"350\" class=\"map\"/>\n"
        "<rect x=\"178\" y=\"235\" width=\"88\" height=\"175\" fill=\"#320a50\"/>\n"
        "<rect x=\"354\" y=\"235\" width=\"88\" height=\"175\" fill=\"#fee6a5\"/>\n"
        "<rect x=\"354\" y=\"60\" width=\"88\" height=\"175\" fill=\"#fee6a5\"/>\n"
        "<text x=\"82\" y=\"326.5\" class=\"end\">plain</text>\n"
        "<text x=\"82\" y=\"151.5\" class=\"end\">thick</text>\n"
        "<text x=\"546\" y=\"44\">T</text>\n",
        /* log(1 / 0.75) / log(1.375 / 0.75) = 0.4746 of the height */
        "<text x=\"572\" y=\"247.88\">1 s</text>\n",
        "<text x=\"134\" y=\"428\" class=\"middle\">1</text>\n",
        "<text x=\"486\" y=\"428\" class=\"middle\">7</text>\n",
        "class=\"middle upwards\">constants.glaze</text>\n"};
    const char *text = drawn(*state, usual, 2, "x=parallel.dp,y=constants.glaze,z=T");
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(text, parts[i]);
}

/* From a power of ten on the axis is logarithmic; words stand in a row. */
TEST_WITH(axes_are_as_their_values_are, set_up, tear_down)
{
    static const char *const wide[] = {"cluster.gpu.memory=8 GiB,25 GiB,80 GiB"};
    const char *text = drawn(*state, wide, 1, "x=cluster.gpu.memory,y=T");
    /* 0.03 + 0.94 log(25 / 8) / log(10) = 0.49516 */
    assert_contains(text, "<path d=\"M103.2 60L103.2 60L307.87 60L516.8 60\" stroke-width");
    assert_contains(text, "<text x=\"310\" y=\"456\" class=\"middle\">cluster.gpu.memory [GiB]<");
    assert_lacks(text, "M542 "); /* one line needs no name */
    assert_lacks(text, "x=\"542\"");
    static const char *const narrow[] = {"cluster.gpu.memory=8 GiB,25 GiB,79.9 GiB"};
    text = drawn(*state, narrow, 1, "x=cluster.gpu.memory,y=T");
    /* 0.03 + 0.94 x 17 / 71.9 = 0.25225; 20 GiB: 0.03 + 0.94 x 12 / 71.9 = 0.18688 */
    assert_contains(text, "<path d=\"M103.2 60L103.2 60L200.99 60L516.8 60\" stroke-width");
    assert_contains(text, "<text x=\"172.23\" y=\"428\" class=\"middle\">20</text>\n");
    assert_lacks(text, ">25</text>");
    static const char *const falling[] = {"parallel.dp=4,2"};
    text = drawn(*state, falling, 1, "x=parallel.dp,y=T");
    assert_contains(text, "<path d=\"M200 219.09L200 219.09L420 60\" stroke-width");
    assert_contains(text, "<text x=\"200\" y=\"428\" class=\"middle\">4</text>\n");
}

/* Of rows that share a place the least is drawn. */
TEST_WITH(the_least_of_several_is_drawn, set_up, tear_down)
{
    static const char *const overs[] = {"constants.glaze=plain,thick", "parallel.dp=4,2,5"};
    fixture *own = *state;
    const st_space *space = space_of(own, overs, 2, false);
    watcher self = {0};
    st_sweep_result result;
    const st_sweep_options options = {.format = ST_SWEEP_NOTHING, .threads = 1};
    assert_int_equal(
        st_plot_create(space, "x=parallel.dp,y=constants.glaze,z=M", &self.plot, own->errors),
        ST_OK);
    assert_int_equal(run(own, space, options, &self, &result), ST_OK);
    assert_int_equal(self.plot->columns, 3);
    assert_int_equal(self.plot->rows, 2);
    static const double gib[] = {3, 6, 2.4, 6, (double)NAN, 5.4};
    for (size_t i = 0; i < 6; i++)
        assert_true(isnan(gib[i]) ? isnan(self.plot->values[i])
                                  : fabs(self.plot->values[i] / 1073741824 - gib[i]) < 1e-9);
    for (size_t i = 0; i < 6; i++)
        self.plot->values[i] = i < 3 ? 4.2 * 1073741824 : (double)NAN;
    assert_int_equal(run(own, space, options, &self, &result), ST_OK);
    assert_true(fabs(self.plot->values[0] / 1073741824 - 3) < 1e-9);
    assert_true(fabs(self.plot->values[1] / 1073741824 - 4.2) < 1e-9);
    assert_true(fabs(self.plot->values[3] / 1073741824 - 6) < 1e-9);
}

/* ---- maps of what fits ---- */

TEST_OF(maps_say_what_fits_and_what_it_lacks, fixture *own, set_up, tear_down)
{
    const st_space *space = space_of(own, usual, 2, false);
    st_sweep_map map;
    watcher self = {.map = &map};
    st_sweep_result result;
    const st_sweep_options options = {.format = ST_SWEEP_NOTHING, .threads = 1};
    static const char *const keys[2] = {"dp", "constants.glaze"};
    static const struct {
        bool tried;
        bool fits;
        double goal_s;
        double gib;
        double missing_gib;
    } expected[10] = {{true, false, 2.625, 12, 4},
                      {true, false, 2.625, 15, 7},
                      {true, true, 1.375, 6, 0},
                      {true, false, 1.375, 9, 1},
                      {true, true, 0.95833333333333333, 4, 0},
                      {true, true, 0.95833333333333333, 7, 0},
                      {true, true, 0.75, 3, 0},
                      {true, true, 0.75, 6, 0}};
    assert_int_equal(st_sweep_map_create(own->paths, space, keys, &map, own->errors), ST_OK);
    assert_int_equal(run(own, map.space, options, &self, &result), ST_OK);
    assert_string_equal(map.map.keys[0], "parallel.dp");
    assert_string_equal(map.map.texts[0][4], "7");
    assert_string_equal(map.map.texts[1][1], "thick");
    assert_string_equal(map.map.goal, "T");
    assert_true(map.map.sign == 1); /* the least is best */
    assert_int_equal(map.map.plans, 10);
    assert_int_equal(map.map.count[0] * map.map.count[1], 10);
    for (size_t i = 0; i < 10; i++) {
        const st_map_cell *cell = &map.map.cells[i];
        bool slow = i < 2; /* of which a condition says that they are no rows */
        assert_int_equal(cell->tried, expected[i].tried && !slow);
        if (!cell->tried)
            continue;
        assert_int_equal(cell->fits, expected[i].fits);
        assert_true(fabs(cell->goal - expected[i].goal_s) < 1e-12);
        assert_true(fabs(cell->memory_bytes / 1073741824 - expected[i].gib) < 1e-9);
        assert_true(fabs(cell->missing_bytes / 1073741824 - expected[i].missing_gib) < 1e-9);
    }
}

TEST_OF(keys_of_maps_are_two_axes, fixture *own, set_up, tear_down)
{
    const st_space *space = space_of(own, usual, 2, false);
    st_sweep_map map;
    static const char *const cases[][3] = {
        {"pp", "dp", "'pp' is not an axis of the sweep"},
        {"dp", "constants.gloss", "'constants.gloss' is not an axis of the sweep"},
        {"dp", "parallel.dp", "both keys are parallel.dp"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(st_sweep_map_create(own->paths, space, cases[i], &map, own->errors),
                         ST_ERR_USAGE);
        assert_contains(said(own), cases[i][2]);
    }
}

TESTS(sweep_run);

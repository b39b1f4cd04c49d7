/* SPDX-License-Identifier: Apache-2.0 */
/* A search whose plans are counted by hand: thirty, of eight GPUs and as many sequences. */
#ifndef STEPTIME_TESTS_SEARCH_SUPPORT_H
#define STEPTIME_TESTS_SEARCH_SUPPORT_H

#include "report_support.h"

#include "search/search_state.h"

/*
 * tp t, pp p, dp d with t p d = 8, micro-batches of b with b d a divisor of 8. Baking takes 0.3 s
 * and 10 % more for each of t and 5 % more for each of p, rising 38.5 ms / b. Heat is 12 GiB / (t
 * p) and half a GiB for each of b. Four plans of t = 8 are too wide, one of d = 8 too hot.
 */
static const char oven[] =
    "sheet: oven\n"
    "inputs:\n"
    "  t: {from: parallel.tp, doc: width}\n"
    "  p: {from: parallel.pp, doc: depth}\n"
    "  d: {from: parallel.dp, doc: ovens}\n"
    "  b: {from: batch.micro, doc: loaves, default: 1}\n"
    "  B: {from: batch.global, doc: all loaves}\n"
    "  room: {from: cluster.gpu.memory, unit: GiB, doc: room}\n"
    "  W: {from: constants.work, unit: s, doc: work}\n"
    "cells:\n"
    "  T: {unit: s, is: T_bake + T_rise, doc: a day}\n"
    "  T_bake: {unit: s, is: 'W/(t*p*d)*(1 + 0.1*(t - 1) + 0.05*(p - 1))', doc: baking}\n"
    "  T_rise: {unit: s, is: '0.0385[s]/b', doc: rising}\n"
    "  M: {unit: GiB, is: '12[GiB]/(t*p) + b*0.5[GiB]', doc: heat}\n"
    "  loaves: {is: B/b, doc: batches}\n"
    "checks:\n"
    "  - {that: t <= 4, else: too wide}\n"
    "  - {that: M <= room, else: too hot, level: limit}\n"
    "  - {that: p <= 4 or b > 1, else: long and thin, level: warning}\n"
    "report:\n"
    "  - {section: Time, cells: [T, T_bake, T_rise, loaves]}\n"
    "  - {section: Heat, cells: [M]}\n"
    "summary:\n"
    "  bars: [{bar: Heat, of: M, limit: room, parts: {heat: M}}]\n"
    "roles: {step: T, memory: M, gpu_memory: room, tp: t, pp: p, dp: d}\n";

static const char bread[] = "name: bread\n"
                            "cluster: {gpu: {memory: 8 GiB}}\n"
                            "batch: {global: 8}\n"
                            "constants: {work: {value: 2.4 s, source: seen}}\n"
                            "sheet: oven\n";

/* The request of a search of eight GPUs that lists `top` plans. */
static inline st_search_request bread_request(const char *const *sets, size_t count, size_t top)
{
    return (st_search_request){.space = {.job = "bread", .sets = sets, .set_count = count},
                               .gpus = "8",
                               .top = top,
                               .merges = true,
                               .detailed = true,
                               .tie_frac = 0.001,
                               .threads = 1};
}

static inline st_search *search_of(fixture *own, const st_search_request *request)
{
    st_search *search = NULL;
    write_text(own, "formulas/oven.yaml", oven);
    write_text(own, "configs/jobs/bread.yaml", bread);
    if (st_search_create(own->paths, request, own->arena, &search, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return search;
}

/* Has run; lives in the arena. */
static inline st_search_view *view_of(fixture *own, const st_search_request *request)
{
    st_search_result *result = st_arena_alloc(own->arena, 1, sizeof *result);
    st_search_view *view = st_arena_alloc(own->arena, 1, sizeof *view);
    const st_search_watch watch = {.progress = NULL};
    const st_search *search = search_of(own, request);
    assert_non_null(result);
    assert_non_null(view);
    if (st_search_run(search, &st_one_process, &watch, result, own->errors) != ST_OK ||
        st_search_view_make(own->paths, search, result, view, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return view;
}

/* What is said of a view, in a form. */
static inline const char *form_of(fixture *own, const st_search_view *view, st_form form)
{
    st_result result;
    st_buffer buffer = {0};
    st_search_put(view, &result);
    st_result_write(&result, form, &plain, &buffer);
    assert_false(buffer.failed);
    const char *text = st_arena_copy(own->arena, st_buffer_read(&buffer), buffer.length);
    assert_non_null(text);
    st_buffer_free(&buffer);
    return text;
}

#endif

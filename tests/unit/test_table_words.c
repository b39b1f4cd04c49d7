/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables with words of their own: values of keys, lists of words, texts, sources that read as
 * another does, and columns that nothing reads.
 */
#include "fit_support.h"

#include "fit/steps/accuracy.h"

#define KINDS                                                                                      \
    "sheet: kinds\n"                                                                               \
    "title: A step that depends on words\n"                                                        \
    "enums:\n"                                                                                     \
    "  graphs: [none, layer, scoped, full]\n"                                                      \
    "inputs:\n"                                                                                    \
    "  a: {from: model.layers, doc: layers}\n"                                                     \
    "  g: {from: graphs, unit: graphs, doc: graphs}\n"                                             \
    "  m: {from: recomputed.mlp, unit: bool, doc: MLPs again}\n"                                   \
    "  n: {from: recomputed.norms, unit: bool, doc: norms again}\n"                                \
    "cells:\n"                                                                                     \
    "  step_time:\n"                                                                               \
    "    unit: s\n"                                                                                \
    "    is: a*1[s] + if(g == full, 100[s], 0[s]) + if(m, 2000[s], 0[s]) + if(n, 30000[s], "       \
    "0[s])\n"                                                                                      \
    "    doc: time\n"                                                                              \
    "roles: {step: step_time}\n"

#define SOURCE                                                                                     \
    "source: lab\n"                                                                                \
    "title: Runs of a laboratory\n"                                                                \
    "cite: lab2024\n"                                                                              \
    "match: {id: lab-*}\n"                                                                         \
    "columns: {graphs: cuda_graph, model.pattern: kinds, optimizer: optimizer}\n"                  \
    "words:\n"                                                                                     \
    "  graphs: {off: none, whole: full, part*: scoped}\n"                                          \
    "  model.pattern: {all dense: d*23, unknown: none}\n"                                          \
    "  optimizer: {dist_muon: muon}\n"                                                             \
    "lists:\n"                                                                                     \
    "  again: {mlp: recomputed.mlp, layernorm: recomputed.norms, block: none}\n"                   \
    "ignore: [remark*]\n"

#define HEAD "id,layers,cuda_graph,kinds,optimizer,again,remarks,target_iter_s\n"

static st_measured_request lab_request(fixture *own, const char *text)
{
    write_text(own, "kinds.yaml", KINDS);
    write_text(own, "validation/lab/table.yaml", text);
    st_table_source *source = st_arena_alloc(own->arena, 1, sizeof *source);
    if (st_table_source_load(own->paths, below(own, "validation/lab/table.yaml"), own->arena,
                             source, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return (st_measured_request){.paths = own->paths,
                                 .sheet = below(own, "kinds.yaml"),
                                 .sources = source,
                                 .source_count = 1};
}

static void refuse_source(fixture *own, const char *text, const char *words)
{
    st_table_source source;
    write_text(own, "validation/lab/table.yaml", text);
    st_status status = st_table_source_load(own->paths, below(own, "validation/lab/table.yaml"),
                                            own->arena, &source, own->errors);
    const char *messages = said(own);
    if (status == ST_OK || strstr(messages, words) == NULL)
        fail_msg("status %d, expected '%s' in:\n%s", status, words, messages);
}

TEST_WITH(words_become_values, set_up, tear_down)
{
    const st_measured_request request = lab_request(*state, SOURCE);
    const st_measured *measured =
        good_rows(*state, &request,
                  HEAD "lab-1,23,whole,,,,,2.5\nlab-2,23,partly,,,,,2.5\n"
                       "lab-3,23,full,,dist_muon,,,2.5\nlab-4,23,,,adam,,,2.5\n",
                  NULL);
    near_to(measured->rows[0].estimate, 123, 1e-14);
    near_to(measured->rows[1].estimate, 23, 1e-14);
    near_to(measured->rows[2].estimate, 123, 1e-14); /* the key's own word */
    near_to(measured->rows[3].estimate, 23, 1e-14);
}

TEST_WITH(lists_say_yes_to_keys, set_up, tear_down)
{
    const st_measured_request request = lab_request(*state, SOURCE);
    const st_measured *measured =
        good_rows(*state, &request,
                  HEAD "lab-1,23,off,,,mlp,,2.5\nlab-2,23,off,,,layernorm + mlp,,2.5\n"
                       "lab-3,23,off,,,block,,2.5\nlab-4,23,off,,,,,2.5\n",
                  NULL);
    near_to(measured->rows[0].estimate, 2023, 1e-14);
    near_to(measured->rows[1].estimate, 32023, 1e-14);
    near_to(measured->rows[2].estimate, 23, 1e-14);
    near_to(measured->rows[3].estimate, 23, 1e-14);
}

static const char *pattern_of(const st_row *row)
{
    const st_job_value *value = st_job_value_of(row->job, "model.pattern");
    return value != NULL && value->origin != ST_ORIGIN_NONE ? value->text : "";
}

TEST_WITH(texts_reach_the_job, set_up, tear_down)
{
    const st_measured_request request = lab_request(
        *state, SOURCE "assume:\n"
                       "  - {fill: {model.pattern: e*23}, if: {remarks: sparse}, why: w}\n"
                       "  - {set: {model.pattern: x*23}, if: {remarks: windows}, why: w}\n");
    const st_measured *measured =
        good_rows(*state, &request,
                  HEAD "lab-1,23,off,(de)*11d,,,,2.5\nlab-2,23,off,all dense,,,,2.5\n"
                       "lab-3,23,off,unknown,,,,2.5\nlab-4,23,off,,,,sparse,2.5\n"
                       "lab-5,23,off,all dense,,,windows,2.5\nlab-6,23,off,(de)*11d,,,sparse,2.5\n",
                  NULL);
    assert_string_equal(pattern_of(&measured->rows[0]), "(de)*11d");
    assert_string_equal(pattern_of(&measured->rows[1]), "d*23");
    assert_string_equal(pattern_of(&measured->rows[2]), "");
    assert_string_equal(pattern_of(&measured->rows[3]), "e*23");
    assert_string_equal(pattern_of(&measured->rows[4]), "x*23");
    assert_string_equal(pattern_of(&measured->rows[5]), "(de)*11d");
}

/* The row is left out with these words, and the others stay. */
static void leave_out(fixture *own, const st_measured_request *request, const char *text,
                      const char *words)
{
    (void)good_rows(own, request, text, NULL);
    if (strstr(said(own), words) == NULL)
        fail_msg("no '%s' in:\n%s", words, said(own));
}

TEST_WITH(unknown_words_leave_out_their_row, set_up, tear_down)
{
    const st_measured_request request = lab_request(*state, SOURCE);
    leave_out(*state, &request, HEAD "lab-1,23,whole,,,,,2.5\nlab-2,23,whle,,,,,2.5\n",
              "table.csv:3:10: warning: row lab-2 is left out: column cuda_graph: found 'whle', "
              "expected off, whole, "
              "part*; did you mean 'whole'?");
    leave_out(*state, &request, HEAD "lab-1,23,off,,,mlp+layernrm,,2.5\n",
              "table.csv:2:16: warning: row lab-1 is left out: column again: found 'layernrm', "
              "expected mlp, layernorm, "
              "block; did you mean 'layernorm'?");
    leave_out(*state, &request, HEAD "lab-1,23,off,,dist_moun,,,2.5\n",
              "table.csv:2:15: warning: row lab-1 is left out: column optimizer: found "
              "'dist_moun', expected dist_muon; "
              "did you mean 'dist_muon'?");
}

TEST_WITH(wrong_words_of_a_source_are_refused, set_up, tear_down)
{
#define LAB "source: lab\ntitle: t\ncite: c\nmatch: {id: lab-*}\n"
    refuse_source(*state, LAB "words: {graps: {off: none}}\n", "unknown key 'graps'");
    refuse_source(*state, LAB "words: {graphs: {off: nonne}}\n", "found 'nonne'");
    refuse_source(*state, LAB "lists: {again: {mlp: recomputed.mpl}}\n",
                  "'recomputed.mpl' is not a boolean key: expected such a key, or none; "
                  "did you mean 'recomputed.mlp'?");
    refuse_source(*state, LAB "lists: {again: {mlp: graphs}}\n", "'graphs' is not a boolean key");
#undef LAB
}

TEST_OF(unread_columns_are_told_once, fixture *own, set_up, tear_down)
{
    const st_measured_request request = lab_request(own, SOURCE);
    (void)good_rows(own, &request,
                    "id,layers,cuda_graph,kinds,again,remark,remarks,fans,mood,target_iter_s\n"
                    "lab-1,23,off,,,a,b,c,d,2.5\nlab-2,23,off,,,a,b,c,d,2.5\n",
                    NULL);
    const char *messages = said(own);
    const char *first = strstr(messages, "table.csv:1: warning: columns that nothing reads: fans, "
                                         "mood\n");
    if (first == NULL)
        fail_msg("%s", messages);
    assert_null(strstr(strstr(first, "mood"), "nothing reads"));
}

TEST_OF(a_source_may_read_as_another, fixture *own, set_up, tear_down)
{
    write_text(own, "validation/first/table.yaml",
               "source: first\ntitle: t\ncite: c\nmatch: {id: first-*}\n"
               "columns: {graphs: cuda_graph}\nwords: {graphs: {whole: full, off: none}}\n"
               "lists: {again: {mlp: recomputed.mlp}}\n"
               "assume:\n"
               "  - {set: {model.layers: = layers + 2}, why: w}\n"
               "  - {set: {recomputed.norms: true}, if: {id: '*-2'}, why: w}\n"
               "skip:\n  - {if: {id: '*-3'}, why: broken}\n");
    write_text(own, "validation/second/table.yaml",
               st_arena_printf(own->arena,
                               "source: second\ntitle: t\ncite: c\nmatch: {id: second-*}\n"
                               "base: %s\n",
                               below(own, "validation/first/table.yaml")));
    const char *base =
        st_arena_printf(own->arena, "base: %s\n", below(own, "validation/second/table.yaml"));
    const char *text = st_arena_printf(
        own->arena, "source: lab\ntitle: t\ncite: c\nmatch: {id: lab-*}\n%s%s", base,
        "words: {graphs: {all: full}}\n"
        "assume:\n  - {set: {recomputed.norms: false}, if: {cuda_graph: all}, why: w}\n");
    const st_measured_request request = lab_request(own, text);
    const st_measured *measured =
        good_rows(own, &request,
                  "id,layers,cuda_graph,again,target_iter_s\nlab-1,23,all,mlp,2.5\n"
                  "lab-2,23,none,,2.5\nlab-3,23,all,,2.5\nlab-4-2,23,all,,2.5\n",
                  NULL);
    near_to(measured->rows[0].estimate, 2125, 1e-14);
    near_to(measured->rows[1].estimate, 30025, 1e-14);
    near_to(measured->rows[2].estimate, 125, 1e-14);
    near_to(measured->rows[3].estimate, 125, 1e-14); /* its own assumption comes last */
}

TEST_OF(bases_are_a_chain_without_a_circle, fixture *own, set_up, tear_down)
{
    write_text(own, "validation/first/table.yaml",
               st_arena_printf(own->arena,
                               "source: first\ntitle: t\ncite: c\nmatch: {id: first-*}\n"
                               "base: %s\n",
                               below(own, "validation/first/table.yaml")));
    refuse_source(own, "source: lab\ntitle: t\ncite: c\nmatch: {id: lab-*}\nbase: nowhere\n",
                  "nowhere");
    refuse_source(own,
                  st_arena_printf(own->arena,
                                  "source: lab\ntitle: t\ncite: c\nmatch: {id: lab-*}\nbase: %s\n",
                                  below(own, "validation/first/table.yaml")),
                  "too many bases, or a circle of them: expected at most 4");
}

/* ---- what was judged ---- */

TEST_OF(memory_is_judged_within_a_limit, fixture *own, set_up, tear_down)
{
    write_text(own, "tight.yaml",
               "sheet: tight\ntitle: t\ninputs:\n  a: {from: model.layers, doc: layers}\n"
               "cells:\n  step_time: {unit: s, is: 'a*1[s]', doc: time}\n"
               "  fits: {unit: bool, is: a < 30, doc: it fits}\n"
               "roles: {step: step_time, fits: fits}\n");
    static const char *const limits[] = {"", "memory_limit: 74 %\n", "memory_limit: 76 %\n"};
    for (size_t i = 0; i < 3; i++) {
        st_accuracy accuracy;
        st_measured_request request = lab_request(
            own,
            st_arena_printf(own->arena, "source: lab\ntitle: t\ncite: c\nmatch: {id: lab-*}\n%s",
                            limits[i]));
        request.sheet = below(own, "tight.yaml");
        const st_measured *measured =
            good_rows(own, &request,
                      "id,layers,target_iter_s\nlab-1,23,2.5\nlab-2,31,2.5\nlab-3,11,2.5\n"
                      "lab-4,7,2.5\n",
                      NULL);
        assert_int_equal(st_accuracy_of(measured, own->arena, &accuracy), ST_OK);
        near_to(st_memory_share(&accuracy), 0.75, 1e-15);
        assert_int_equal(accuracy.failed, i == 2 ? 1 : 0);
    }
}

TEST_OF(rows_that_nobody_measured_are_estimated, fixture *own, set_up, tear_down)
{
    st_accuracy accuracy;
    const st_measured_request request = lab_request(own, SOURCE);
    const st_measured *measured = good_rows(
        own, &request, HEAD "lab-1,23,whole,,,,,\nlab-2,,off,,,,,\nlab-3,23,off,,,,,2.5\n", NULL);
    near_to(measured->rows[0].estimate, 123, 1e-14);
    assert_true(measured->rows[0].estimated && measured->rows[2].estimated);
    assert_string_equal(measured->rows[0].left_out, "nothing was measured");
    assert_string_equal(measured->rows[1].left_out, "no value for model.layers (column layers)");
    assert_int_equal(st_accuracy_of(measured, own->arena, &accuracy), ST_OK);
    assert_int_equal(accuracy.estimated, 2);
    assert_int_equal(accuracy.compared, 1);
}

/* ---- texts and their numbers ---- */

#define PLAN_HEAD                                                                                  \
    "id,layers,hidden,heads,ffn,vocab,seq,micro_batch,global_batch,recompute,dtype,tp,pp,vp,dp,"   \
    "cp,gpu,gpus,gpus_per_node,parallel.layout,target_iter_s\n"
#define PLAN(pp, dp, layout)                                                                       \
    "22,3072,24,12288,50257,2048,1,384,selective,bf16,4," pp ",1," dp                              \
    ",1,A100-80GB-SXM,48,8," layout ",3.1\n"

static double layout_time(fixture *own, const char *pp, const char *dp, const char *layout)
{
    const char *const sets[] = {st_arena_printf(own->arena, "parallel.pp=%s", pp),
                                st_arena_printf(own->arena, "parallel.dp=%s", dp),
                                st_arena_printf(own->arena, "parallel.layout=%s", layout)};
    write_text(own, "job.yaml",
               "stack: plain\n"
               "model: {name: m, layers: 22, hidden: 3072, heads: 24, ffn: 12288, "
               "vocabulary: 50257}\n"
               "batch: {sequence: 2048, micro: 1, global: 384}\n"
               "recompute: selective\n"
               "parallel: {tp: 4, cp: 1}\n"
               "cluster: {base: dgx-a100, nodes: 6}\n"
               "measured: {step_time: 2.385 s}\n");
    const st_measured_request request = {.paths = own->paths, .sets = sets, .set_count = 3};
    st_measured measured = {0};
    if (st_measured_job(&request, below(own, "job.yaml"), own->arena, &measured, own->errors) !=
            ST_OK ||
        st_measured_run(&measured, own->arena, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return measured.rows[0].estimate;
}

TEST_WITH(layouts_agree_with_their_rows, set_up, tear_down)
{
    static const char *const sets[] = {"cluster=dgx-a100", "cluster.nodes=6", "stack=plain"};
    fixture *own = *state;
    const st_measured_request request = {.paths = own->paths, .sets = sets, .set_count = 3};
    const st_measured *measured = good_rows(
        own, &request,
        PLAN_HEAD "a," PLAN("2", "6", "Et*9|t*13L") "b," PLAN("2", "6", "Et*13|t*9L") "c," PLAN(
            "3", "4", "Et*7|t*9|t*6L") "d," PLAN("2", "6", "Et*9|t*9L") "e," PLAN("3", "4",
                                                                                  "Et*9|t*13L"),
        NULL);
    near_to(measured->rows[0].estimate, layout_time(own, "2", "6", "Et*9|t*13L"), 1e-14);
    near_to(measured->rows[1].estimate, layout_time(own, "2", "6", "Et*13|t*9L"), 1e-14);
    near_to(measured->rows[2].estimate, layout_time(own, "3", "4", "Et*7|t*9|t*6L"), 1e-14);
    assert_true(fabs(measured->rows[1].estimate / measured->rows[0].estimate - 1) > 1e-3);
    assert_non_null(strstr(measured->rows[3].left_out, "different numbers of layers"));
    assert_non_null(measured->rows[4].left_out);
}

TESTS(table_words);

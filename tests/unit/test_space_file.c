/* SPDX-License-Identifier: Apache-2.0 */
/* Spaces from files: what they become, where their errors stand, and axes that advance together. */
#include "job_support.h"

#include "search/space_file.h"

#include <string.h>

#define JOB          "gpt3-175b-64xa100"
#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static const char good[] = "space: two machines\n"
                           "doc: what a move buys\n"
                           "gpus: [64, 128]\n"
                           "set: {batch.global: 768}\n"
                           "vary:\n"
                           "  parallel.pp: all\n"
                           "  batch.micro: 1..4*2\n"
                           "  overlap.tp: [0.1, 0.2385]\n"
                           "zip:\n"
                           "  - cluster.gpu: [a100-sxm-80gb, h100-sxm]\n"
                           "    cluster.nic_bandwidth: [25 GB/s, 37.5 GB/s]\n"
                           "    overlap.cp: 0.2..0.3+0.1\n"
                           "where: ['memory <= 72[GiB]', mfu > 0.2]\n";

static st_status parse(fixture *own, const char *text, st_space_file *space)
{
    return st_space_file_parse("s.yaml", text, strlen(text), own->arena, space, own->errors);
}

TEST_WITH(files_become_options, set_up, tear_down)
{
    static const char *const varies[] = {
        "parallel.pp",
        "batch.micro=1..4*2",
        "overlap.tp=0.1,0.2385",
        "cluster.gpu=a100-sxm-80gb,h100-sxm",
        "cluster.nic_bandwidth=25 GB/s,37.5 GB/s",
        "overlap.cp=0.2..0.3+0.1",
    };
    static const char *const own_sets[] = {"seed=1"};
    fixture *own = *state;
    st_space_file space;
    st_search_request request = {.space = {.sets = own_sets, .set_count = 1}};
    assert_int_equal(parse(own, good, &space), ST_OK);
    assert_string_equal(space.title, "two machines");
    assert_int_equal(st_space_file_add(&space, own->arena, &request, own->errors), ST_OK);
    assert_string_equal(request.gpus, "64,128");
    assert_int_equal(request.space.set_count, 2);
    assert_string_equal(request.space.sets[0], "batch.global=768");
    assert_string_equal(request.space.sets[1], "seed=1"); /* behind, and so it wins */
    assert_int_equal(request.vary_count, 6);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(request.varies[i], varies[i]);
    assert_int_equal(request.space.where_count, 2);
    assert_string_equal(request.space.wheres[1], "mfu > 0.2");
    assert_int_equal(request.space.joined_count, 2);
    assert_string_equal(request.space.joined[1].key, "overlap.cp");
    assert_string_equal(request.space.joined[1].with, "cluster.gpu");
    request.gpus = "8";
    assert_int_equal(st_space_file_add(&space, own->arena, &request, own->errors), ST_OK);
    assert_string_equal(request.gpus, "8");
}

TEST_WITH(faults_of_form_stand_where_they_are, set_up, tear_down)
{
    static const char *const bad[][2] = {
        {"[1]\n", "s.yaml:1:1: error: a space must be a map"},
        {"vary: {}\n", "s.yaml:1:1: error: missing key 'space' in a space"},
        {"space: x\nvarry: {}\n",
         "s.yaml:2:1: error: unknown key 'varry' in a space; did you mean"},
        {"space: x\nvary: 3\n", "s.yaml:2:7: error: "},
        {"space: x\nzip: {a: 1}\n", "s.yaml:2:6: error: "},
        {"space: x\nzip: [{a: 1}]\n", "s.yaml:2:7: error: a single key cannot advance together"},
        {"space: x\nzip: [3]\n", "s.yaml:2:7: error: keys that advance together must be a map"},
        {"space: x\nvary: {a: {b: 1}}\n", "s.yaml:2:11: error: a list of values cannot be a map"},
        {"space: x\nvary: {a: [1, [2]]}\n", "s.yaml:2:15: error: list items must be values"},
        {"space: x\nvary: {a: ['1,2']}\n", "s.yaml:2:12: error: list items must be values"},
        {"space: x\nvary: {'a b': 1}\n", "s.yaml:2:8: error: unknown job key 'a b'"},
        {"space: x\nvary: {'': 1}\n", "s.yaml:2:8: error: unknown job key ''"},
        {"space: x\nset: {batch.micro: [1]}\n", "s.yaml:2:20: error: a key in 'set' must have one"},
        {"space: x\nset: {batch.micro: 3 GB}\n", "s.yaml:2:20: error: wrong value for batch.micro"},
        {"space: x\nwhere: [{}]\n", "s.yaml:2:9: error: a condition must be a string"},
        {"space: x\ngpus: {a: 1}\n", "s.yaml:2:7: error: a list of values cannot be a map"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        st_space_file space;
        assert_true(parse(own, bad[i][0], &space) != ST_OK);
        const char *told = said(own);
        if (strstr(told, bad[i][1]) == NULL)
            fail_msg("'%s' does not say '%s'", told, bad[i][1]);
    }
}

TEST_OF(too_many_parts_are_refused, fixture *own, set_up, tear_down)
{
    st_buffer text = {0};
    st_space_file space;
    st_buffer_text(&text, "space: x\nvary:\n");
    for (size_t i = 0; i <= ST_SPACE_FILE_MAX_ITEMS; i++)
        st_buffer_printf(&text, "  constants.c%zu: 1\n", i);
    assert_int_equal(parse(own, text.data, &space), ST_ERR_LIMIT);
    assert_non_null(strstr(said(own), "s.yaml:1003:3: error: too many items in the space"));
    st_buffer_free(&text);
}

/* Runs a search's preparation and returns what it says, with the file's places. */
static const char *told_of(fixture *own, const char *text)
{
    st_space_file space;
    st_search *search = NULL;
    st_search_request request = {.space = {.job = JOB}, .top = 1};
    st_error_scope scope = {.edit = st_space_file_place, .context = &space};
    assert_int_equal(parse(own, text, &space), ST_OK);
    assert_int_equal(st_space_file_add(&space, own->arena, &request, own->errors), ST_OK);
    st_errors_enter(own->errors, &scope);
    assert_true(st_search_create(own->paths, &request, own->arena, &search, own->errors) != ST_OK);
    st_errors_leave(own->errors, &scope);
    return said(own);
}

TEST_WITH(faults_of_meaning_stand_where_they_are, set_up, tear_down)
{
    static const char *const bad[][2] = {
        {"space: x\nvary:\n  overlap.tpp: 1\n", "s.yaml:3:3: error: unknown key 'overlap.tpp'"},
        {"space: x\nvary:\n  step_time: 1\n", "s.yaml:3:3: error: 'step_time' is a computed cell"},
        {"space: x\nvary:\n  overlap.tp: []\n", "s.yaml:3:3: error: the axis over overlap.tp is"},
        {"space: x\nvary:\n  batch.micro: []\n", "s.yaml:3:3: error: the axis over batch.micro is"},
        {"space: x\nset: {batch.globl: 2}\n", "s.yaml:2:7: error: unknown key 'batch.globl'"},
        {"space: x\ngpus: 8..2\n", "s.yaml:2:7: error: the range '8..2'"},
        {"space: x\nwhere:\n  - mfu > 0.1\n  - memory < 72[s]\n",
         "s.yaml:4:12: error: cannot compare 'memory' (B) and '72[s]' (s)"},
        {"space: x\nwhere: ['mfu > 0.1 and memry < 72[GiB]']\n",
         "s.yaml:2:24: error: unknown name 'memry'; did you mean 'memory'?"},
        {"space: x\nzip:\n  - overlap.tp: [0.1, 0.2]\n    overlap.cp: 0.3\n",
         "s.yaml:4:5: error: zipped axes differ in length: overlap.tp has 2 values, overlap.cp 1"},
        {"space: x\nzip:\n  - batch.micro: [1, 2, 4]\n    overlap.cp: [0.3, 0.2]\n",
         "s.yaml:3:5: error: zipped axes differ in length: overlap.cp has 2 values, batch.micro 3"},
        {"space: x\nzip:\n  - parallel.tp: [1, 2, 4]\n    parallel.pp: [3, 2]\n",
         "s.yaml:4:5: error: zipped axes differ in length: parallel.tp has 3 values, parallel.pp "
         "2"},
        {"space: x\nzip:\n  - parallel.tp: [1, 2]\n    parallel.pp: all\n",
         "s.yaml:4:5: error: parallel.pp is zipped without values"},
        {"space: x\nvary:\n  overlap.tp: 0..1+0.00001\n  overlap.cp: 0..1+0.00001\n",
         "s.yaml:1:1: error: the axes make 10000"},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        const char *told = told_of(own, bad[i][0]);
        if (strstr(told, bad[i][1]) == NULL)
            fail_msg("'%s' does not say '%s'", told, bad[i][1]);
    }
}

/* --- axes that advance together -------------------------------------------------------------- */

static st_space *make_space(fixture *own, const char *const *overs, size_t count,
                            const st_joined *joined, size_t joined_count)
{
    static const char *const cells[] = {"step_time", "memory"};
    st_space_request request = {.job = JOB,
                                .option = "--over",
                                .overs = overs,
                                .over_count = count,
                                .joined = joined,
                                .joined_count = joined_count,
                                .cells = cells,
                                .cell_count = 2};
    st_space *space = NULL;
    if (st_space_create(own->paths, &request, own->arena, &space, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return space;
}

/* Every row of the joined space has the bits of the row with the same values in the full one. */
static void compare_spaces(const st_space *joined, const st_space *full, const size_t *axes)
{
    st_space_worker *few = st_space_worker_create(joined);
    st_space_worker *many = st_space_worker_create(full);
    assert_non_null(few);
    assert_non_null(many);
    assert_true(full->rows <= ST_SPACE_BLOCK);
    st_space_run(few, 0, (size_t)joined->rows);
    st_space_run(many, 0, (size_t)full->rows);
    for (uint64_t row = 0; row < joined->rows; row++) {
        uint64_t other = 0;
        for (size_t i = 0; i < full->axis_count; i++) {
            uint64_t digit = st_space_digit(joined, axes[i], row);
            assert_int_equal(few->digits[axes[i]][row], digit);
            other = other * full->axes[i].axis.count + digit;
        }
        assert_int_equal(few->reasons[row], many->reasons[other]);
        for (size_t cell = 0; cell < 2; cell++)
            assert_memory_equal(&few->outputs[cell][row], &many->outputs[cell][other],
                                sizeof(double));
    }
    st_space_worker_destroy(few);
    st_space_worker_destroy(many);
}

TEST_WITH(joined_axes_advance_together, set_up, tear_down)
{
    static const char *const overs[] = {"overlap.tp=0.1,0.2385,0.3", "parallel.pp=8,16",
                                        "cluster.nic_bandwidth=25 GB/s,37.5 GB/s,50 GB/s",
                                        "batch.global=64..704+64", "overlap.cp=0.2,0.5,0.9"};
    static const st_joined joined[] = {{"cluster.nic_bandwidth", "overlap.tp"},
                                       {"overlap.cp", "overlap.tp"}};
    static const size_t axes[] = {0, 1, 2, 3, 4};
    fixture *own = *state;
    const st_space *full = make_space(own, overs, 5, NULL, 0);
    assert_int_equal(full->rows, 3 * 2 * 3 * 11 * 3);
    const st_space *two = make_space(own, overs, 5, joined, 1);
    assert_int_equal(two->rows, 3 * 2 * 11 * 3);
    compare_spaces(two, full, axes);
    const st_space *three = make_space(own, overs, 5, joined, 2);
    assert_int_equal(three->rows, 3 * 2 * 11);
    compare_spaces(three, full, axes);
}

/* Programs change along both, as orders and files do. */
TEST_WITH(joined_axes_may_change_programs, set_up, tear_down)
{
    static const char *const overs[] = {"parallel.order=tp-cp-dp-pp,tp-pp-dp-cp,tp-dp-cp-pp",
                                        "cluster.gpu=a100-sxm-80gb,h100-sxm,h200-sxm",
                                        "batch.micro=1,2"};
    static const st_joined joined[] = {{"cluster.gpu", "parallel.order"}};
    static const size_t axes[] = {0, 1, 2};
    fixture *own = *state;
    const st_space *full = make_space(own, overs, 3, NULL, 0);
    const st_space *two = make_space(own, overs, 3, joined, 1);
    assert_int_equal(two->rows, 6);
    compare_spaces(two, full, axes);
}

TEST_WITH(searches_of_a_file_are_searches, set_up, tear_down)
{
    static const char *const varies[] = {"parallel.pp", "batch.micro=1..4*2",
                                         "overlap.tp=0.1,0.2385"};
    static const char text[] = "space: x\ngpus: 64\nonly:\n  parallel.pp: all\n"
                               "  batch.micro: 1..4*2\n  overlap.tp: [0.1, 0.2385]\n";
    fixture *own = *state;
    st_space_file space;
    st_search_result results[2];
    for (size_t i = 0; i < 2; i++) {
        st_search *search = NULL;
        st_search_watch watch = {0};
        st_search_request request = {.space = {.job = JOB}, .top = 3};
        if (i == 0) {
            assert_int_equal(parse(own, text, &space), ST_OK);
            assert_int_equal(st_space_file_add(&space, own->arena, &request, own->errors), ST_OK);
        } else {
            request.gpus = "64";
            request.only = varies;
            request.only_count = 3;
        }
        assert_int_equal(st_search_create(own->paths, &request, own->arena, &search, own->errors),
                         ST_OK);
        assert_int_equal(st_search_run(search, &st_one_process, &watch, &results[i], own->errors),
                         ST_OK);
    }
    assert_true(results[0].found.kept > 3);
    assert_int_equal(results[0].found.kept, results[1].found.kept);
    for (size_t i = 0; i < 3; i++) {
        const st_found *one = &results[0].found.ranking[i];
        const st_found *other = &results[1].found.ranking[i];
        assert_int_equal(one->row, other->row);
        assert_true(one->goal == other->goal && one->too_large == other->too_large);
    }
}

TESTS(space_file);

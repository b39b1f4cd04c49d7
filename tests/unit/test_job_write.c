/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs written as files: what stands in them, and that they are the same jobs when read. */
#include "load_support.h"

#include "base/text.h"
#include "steptime/tool/job_write.h"

static const char *written(fixture *own, const st_job_writing *file)
{
    st_buffer text = {0};
    assert_int_equal(st_job_write(file, own->arena, &text, own->errors), ST_OK);
    const size_t length = text.length;
    const char *kept = st_buffer_keep(&text, own->arena);
    assert_int_equal(strlen(kept), length); /* nothing of a section that was taken back */
    return kept;
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("'%s' is not in\n%s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part) != NULL)
        fail_msg("'%s' is in\n%s", part, text);
}

static void write_configs(const fixture *own)
{
    write_text(own, "configs/models/m.yaml", "name: M 2.385B\nlayers: 37\nhidden: 2385\n");
    write_text(own, "configs/clusters/c.yaml", "nodes: 3\ngpus_per_node: 6\ngpu: g\n");
    write_text(own, "configs/gpus/g.yaml", "memory: 24 GiB\n");
    write_text(own, "job.yaml",
               "name: j\n"
               "model: m\n"
               "cluster: c\n"
               "parallel: {tp: 2, order: tp-pp}\n"
               "recompute: full\n"
               "batch: {global: {value: 96, source: \"table 3\"}, micro: {value: 3, "
               "assumption: true}}\n"
               "constants: {mu: 0.385, way: \"a: b\"}\n");
}

/* Of a file with a name only what was set stands beside it, of all else what was given. */
TEST_WITH(what_was_given_is_written, set_up, tear_down)
{
    static const char *const sets[] = {"model.layers=41", "parallel.pp=5", "constants.nu=7 MB",
                                       "cluster.gpu.memory=80 GiB"};
    fixture *own = *state;
    write_configs(own);
    const st_job_writing file = {.job = load_with(own, sets, 4)};
    const char *text = written(own, &file);
    assert_int_equal(strncmp(text, "name: \"j\"\n", 10), 0);
    assert_has(text, "\nrecompute: full\n");
    assert_has(text, "\nmodel:\n  base: \"m\"\n  layers: 41\n");
    assert_has(text, "\ncluster:\n  base: \"c\"\n  gpu:\n    base: \"g\"\n    memory: 80 GiB\n");
    assert_has(text, "  tp: 2\n");
    assert_has(text, "  pp: 5\n");
    assert_has(text, "  order: \"tp-pp\"\n");
    assert_has(text, "  global: {value: 96, source: \"table 3\"}\n");
    assert_has(text, "  micro: {value: 3, assumption: true}\n");
    assert_has(text, "\nconstants:\n  mu: 0.385\n  way: \"a: b\"\n  nu: 7 MB\n");
    assert_lacks(text, "hidden");
    assert_lacks(text, "nodes");
    assert_lacks(text, "sheet");
    assert_lacks(text, "refine");
    assert_lacks(text, "overlap");
    assert_lacks(text, "#");
}

TEST_OF(a_file_alone_is_its_name, fixture *own, set_up, tear_down)
{
    write_configs(own);
    const st_job_writing file = {.job = load_with(own, NULL, 0)};
    const char *text = written(own, &file);
    assert_has(text, "\nmodel: \"m\"\n");
    assert_has(text, "\ncluster:\n  base: \"c\"\n  gpu: \"g\"\n"); /* and that of the one in it */
    /* Without its folder it holds what the file had. */
    write_text(own, "job.yaml", "name: j\nmodel: {base: m, layers: 41}\nsheet: own\n");
    const st_job_writing whole = {.job = load_with(own, NULL, 0)};
    text = written(own, &whole);
    assert_has(text, "\nsheet: \"own\"\n");
    assert_has(text, "  layers: 41\n");
    assert_has(text, "  hidden: 2385\n");
    assert_lacks(text, "cluster");
    write_text(own, "job.yaml", "name: j\ncluster: {nodes: 5, gpu: {memory: 80 GiB}}\n");
    const st_job_writing nested = {.job = load_with(own, NULL, 0)};
    assert_has(written(own, &nested), "\ncluster:\n  nodes: 5\n  gpu:\n    memory: 80 GiB\n");
    const st_job_writing other = {.job = whole.job, .sheet = "other"};
    assert_has(written(own, &other), "\nsheet: \"other\"\n");
}

TEST_WITH(comments_and_plugins_come_first, set_up, tear_down)
{
    static const st_refinement_option options[] = {{.name = "latency", .text = "2.385 us"},
                                                   {.name = "table", .text = "a \"b\""}};
    static const st_refinement refinements[] = {
        {.plugin = "one", .fallback = true},
        {.plugin = "two", .profile = "site-b", .options = options, .option_count = 2},
        {.plugin = "three", .options = options, .option_count = 1}};
    fixture *own = *state;
    write_text(own, "job.yaml", "name: j\n");
    const st_job_writing file = {.job = load_with(own, NULL, 0),
                                 .comment = "First line,\n\nand third.",
                                 .refinements = refinements,
                                 .refinement_count = 3};
    const char *text = written(own, &file);
    assert_string_equal(
        text, "# First line,\n# \n# and third.\n"
              "name: \"j\"\n"
              "refine:\n"
              "  - {plugin: \"one\", fallback: formula}\n"
              "  - {plugin: \"two\", profile: \"site-b\", options: {latency: \"2.385 us\", "
              "table: \"a \\\"b\\\"\"}}\n"
              "  - {plugin: \"three\", options: {latency: \"2.385 us\"}}\n"
              "stack: \"megatron-bridge\"\n");
}

TEST_WITH(what_is_written_is_the_same_job, set_up, tear_down)
{
    static const char *const sets[] = {"model.layers=41", "constants.nu=7 MB",
                                       "cluster.gpu.memory=80 GiB"};
    fixture *own = *state;
    size_t count = 0;
    write_configs(own);
    const st_job *job = load_with(own, sets, 3);
    const st_job_writing file = {.job = job};
    const st_job *back = load(own, written(own, &file));
    const st_key *keys = st_keys(&count);
    for (size_t i = 0; i < count; i++) {
        const st_job_value *one = st_job_value_of(job, keys[i].path);
        const st_job_value *other = st_job_value_of(back, keys[i].path);
        assert_true((one->text == NULL) == (other->text == NULL));
        if (one->text != NULL)
            assert_string_equal(one->text, other->text);
        assert_true(memcmp(&one->number, &other->number, sizeof one->number) == 0);
    }
    assert_string_equal(value_of(back, "constants.nu")->text, "7 MB");
    assert_string_equal(value_of(back, "constants.way")->text, "a: b");
}

TESTS(job_write);

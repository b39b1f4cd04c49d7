/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading jobs: what the files say, what --set changes, what is assumed, and that every error of
 * every file is reported in one run, where it stands.
 */
#include "load_support.h"

#include "../support/text_cases.h"

#include "job/job_loader.h"

TEST_OF(a_job_is_read_with_all_its_files, fixture *own, set_up, tear_down)
{
    write_text(own, "configs/models/m.yaml", "name: M 2.385B\nlayers: 37\nhidden: 2385\n");
    write_text(own, "configs/clusters/c.yaml",
               "gpu: g\nnodes: 3\nbandwidth: {tp: 23.85 GB/s, dp: \"11 Gbit/s\"}\n");
    write_text(own, "configs/gpus/g.yaml", "memory: 24 GiB\npeak_fp16: 71.5 TFLOP/s\n");
    const st_job *job = load(own, "model: m\n"
                                  "cluster: c\n"
                                  "parallel: {tp: 2, pp: \"3\", order: tp-pp}\n"
                                  "batch: {global: 1e3, micro: 08}\n"
                                  "recompute: selective\n"
                                  "sheet: other\n"
                                  "constants: {mu: 0.385, size: 25 MB}\n");
    assert_number(job, "model.layers", ST_ORIGIN_FILE, 37);
    assert_number(job, "model.hidden", ST_ORIGIN_FILE, 2385);
    assert_number(job, "cluster.nodes", ST_ORIGIN_FILE, 3);
    assert_number(job, "cluster.bandwidth.tp", ST_ORIGIN_FILE, 23.85e9);
    assert_number(job, "cluster.bandwidth.dp", ST_ORIGIN_FILE, 1.375e9);
    assert_number(job, "cluster.gpu.memory", ST_ORIGIN_FILE, 24.0 * 1073741824);
    assert_number(job, "cluster.gpu.peak_fp16", ST_ORIGIN_FILE, 71.5e12);
    assert_number(job, "parallel.tp", ST_ORIGIN_FILE, 2);
    assert_number(job, "parallel.pp", ST_ORIGIN_FILE, 3);
    assert_number(job, "batch.global", ST_ORIGIN_FILE, 1000);
    assert_number(job, "batch.micro", ST_ORIGIN_FILE, 8);
    assert_number(job, "recompute", ST_ORIGIN_FILE, 1);
    assert_string_equal(value_of(job, "sheet")->text, "other");
    assert_string_equal(value_of(job, "model.name")->text, "M 2.385B");
    assert_string_equal(value_of(job, "parallel.order")->text, "tp-pp");
    assert_string_equal(value_of(job, "constants.mu")->text, "0.385");
    assert_string_equal(value_of(job, "constants.size")->text, "25 MB");
    assert_null(value_of(job, "constants.mu")->key);
    assert_null(st_job_value_of(job, "constants.nu"));
    assert_null(st_job_value_of(job, "model.hiden"));
    assert_int_equal(value_of(job, "model.heads")->origin, ST_ORIGIN_NONE);
    assert_null(value_of(job, "model.heads")->text);
    assert_place(own, value_of(job, "model.hidden")->place, "configs/models/m.yaml", 3, 9);
    assert_place(own, value_of(job, "parallel.tp")->place, "job.yaml", 3, 16);
    assert_place(own, value_of(job, "constants.size")->place, "job.yaml", 7, 30);
}

TEST_OF(defaults_are_assumptions, fixture *own, set_up, tear_down)
{
    const st_job *job = load(own, "stack: plain\nparallel: {pp: 7}\n");
    assert_number(job, "parallel.tp", ST_ORIGIN_DEFAULT, 1);
    assert_number(job, "parallel.dp", ST_ORIGIN_DEFAULT, 1);
    assert_number(job, "model.vocabulary_multiple", ST_ORIGIN_DEFAULT, 128);
    assert_string_equal(value_of(job, "sheet")->text, "megatron");
    assert_true(value_of(job, "sheet")->assumption);
    assert_true(value_of(job, "parallel.tp")->assumption);
    assert_string_equal(value_of(job, "parallel.tp")->text, "1");
    assert_false(value_of(job, "parallel.pp")->assumption);
    assert_int_equal(value_of(job, "recompute")->origin, ST_ORIGIN_NONE);
    assert_int_equal(value_of(job, "parallel.order")->origin, ST_ORIGIN_NONE);
}

TEST_OF(jobs_and_sections_have_names, fixture *own, set_up, tear_down)
{
    write_text(own, "configs/models/m.yaml", "layers: 3\n");
    write_text(own, "configs/clusters/c.yaml", "gpu: {memory: 3 GiB}\n");
    const st_job *job = load(own, "name: My job\nmodel: m\ncluster: c\nbatch: {micro: 3}\n");
    assert_string_equal(st_job_name(job), "My job");
    assert_string_equal(st_job_file(job), below(own, "job.yaml"));
    assert_string_equal(st_job_section_name(job, "model"), "m");
    assert_string_equal(st_job_section_name(job, "cluster"), "c");
    assert_string_equal(st_job_section_name(job, "cluster.gpu"), "inline");
    assert_string_equal(st_job_section_name(job, "batch"), "inline");
    assert_null(st_job_section_name(job, "parallel"));
    assert_null(st_job_section_name(job, "no.such.section"));
    job = load(own, "model: ./configs/models/m.yaml\n");
    assert_string_equal(st_job_name(job), "job");
    assert_string_equal(st_job_section_name(job, "model"), "./configs/models/m.yaml");
    assert_null(st_job_section_name(job, "cluster"));
}

TEST_OF(values_say_where_they_come_from, fixture *own, set_up, tear_down)
{
    write_text(own, "configs/gpus/g.yaml",
               "source: data sheet\nmemory: 24 GiB\npower: {value: 350 W, source: measured}\n");
    const st_job *job = load(own, "source: >-\n"
                                  "  a paper,\n"
                                  "  its   Table 3\n"
                                  "doc: |\n"
                                  "  many\n"
                                  "  lines\n"
                                  "parallel:\n"
                                  "  tp: {value: 2, assumption: true}\n"
                                  "  pp: {value: 3, source: \"tab\\there\", assumption: false}\n"
                                  "  dp: 4\n"
                                  "  source: the plan\n"
                                  "cluster: {gpu: g}\n"
                                  "constants: {mu: {value: 0.385, source: fitted}}\n"
                                  "recompute: full\n");
    assert_string_equal(value_of(job, "recompute")->source, "a paper, its Table 3");
    assert_string_equal(value_of(job, "parallel.dp")->source, "the plan");
    assert_string_equal(value_of(job, "parallel.tp")->source, "the plan");
    assert_string_equal(value_of(job, "parallel.pp")->source, "tab here");
    assert_string_equal(value_of(job, "cluster.gpu.memory")->source, "data sheet");
    assert_string_equal(value_of(job, "cluster.gpu.power")->source, "measured");
    assert_string_equal(value_of(job, "constants.mu")->source, "fitted");
    assert_true(value_of(job, "parallel.tp")->assumption);
    assert_false(value_of(job, "parallel.pp")->assumption);
    assert_false(value_of(job, "cluster.gpu.power")->assumption);
    assert_place(own, value_of(job, "parallel.tp")->place, "job.yaml", 8, 15);
}

TEST_OF(sources_of_a_job_do_not_cover_its_files, fixture *own, set_up, tear_down)
{
    write_text(own, "configs/models/m.yaml", "layers: 37\n");
    const st_job *job = load(own, "source: the job's\nmodel: m\nbatch: {micro: 3}\n");
    assert_null(value_of(job, "model.layers")->source);
    assert_string_equal(value_of(job, "batch.micro")->source, "the job's");
}

TEST_OF(maps_override_their_base, fixture *own, set_up, tear_down)
{
    write_text(own, "configs/models/m.yaml", "base: n\nlayers: 37\nheads: 11\n");
    write_text(own, "configs/models/n.yaml", "layers: 5\nheads: 7\nhidden: 2385\n");
    const st_job *job = load(own, "model: {layers: 41, base: m}\n");
    assert_number(job, "model.layers", ST_ORIGIN_FILE, 41);
    assert_number(job, "model.heads", ST_ORIGIN_FILE, 11);
    assert_number(job, "model.hidden", ST_ORIGIN_FILE, 2385);
    assert_string_equal(st_job_section_name(job, "model"), "inline");
    job = load(own, "model: {base: ./configs/models/n.yaml}\n");
    assert_number(job, "model.layers", ST_ORIGIN_FILE, 5);
}

TEST_OF(a_named_gpu_replaces_that_of_the_base_and_a_map_changes_it, fixture *own, set_up, tear_down)
{
    write_text(own, "configs/clusters/c.yaml", "gpu: old\nnodes: 3\n");
    write_text(own, "configs/gpus/old.yaml", "memory: 24 GiB\npower: 350 W\n");
    write_text(own, "configs/gpus/new.yaml", "memory: 80 GiB\n");
    const st_job *job = load(own, "cluster: {base: c, gpu: new}\n");
    assert_number(job, "cluster.gpu.memory", ST_ORIGIN_FILE, 80.0 * 1073741824);
    assert_int_equal(value_of(job, "cluster.gpu.power")->origin, ST_ORIGIN_NONE);
    assert_number(job, "cluster.nodes", ST_ORIGIN_FILE, 3);
    assert_string_equal(st_job_section_name(job, "cluster.gpu"), "new");
    job = load(own, "cluster: {base: c, gpu: {memory: 40 GiB}}\n");
    assert_number(job, "cluster.gpu.memory", ST_ORIGIN_FILE, 40.0 * 1073741824);
    assert_number(job, "cluster.gpu.power", ST_ORIGIN_FILE, 350);
}

TEST_OF(paths_in_files_are_relative_to_them, fixture *own, set_up, tear_down)
{
    write_text(own, "deep/cluster.yaml", "gpu: ./er/gpu.yaml\n");
    write_text(own, "deep/er/gpu.yaml", "base: ../base.yaml\npower: 123 W\n");
    write_text(own, "deep/base.yaml", "memory: 37 GiB\n");
    const st_job *job = load(own, "cluster: deep/cluster.yaml\nsheet: ./sheets/mine.yaml\n");
    assert_number(job, "cluster.gpu.memory", ST_ORIGIN_FILE, 37.0 * 1073741824);
    assert_number(job, "cluster.gpu.power", ST_ORIGIN_FILE, 123);
    assert_string_equal(value_of(job, "sheet")->text, below(own, "sheets/mine.yaml"));
    const char *set = "sheet=./mine.yaml";
    job = load_with(own, &set, 1);
    assert_string_equal(value_of(job, "sheet")->text, "./mine.yaml");
}

TEST_OF(jobs_may_be_piped, fixture *own, set_up, tear_down)
{
    static const char text[] = "model: {layers: 37}\nbatch: {micro: 3.5}\n";
    const st_job *job = NULL;
    for (size_t length = 20; length < sizeof text; length += sizeof text - 21) {
        int ends[2];
        int saved = dup(STDIN_FILENO);
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], text, length), length);
        (void)close(ends[1]);
        assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
        (void)close(ends[0]);
        st_status status = st_job_load(own->paths, "-", NULL, 0, own->arena, &job, own->errors);
        assert_true(dup2(saved, STDIN_FILENO) >= 0);
        (void)close(saved);
        assert_int_equal(status, length == 20 ? ST_OK : ST_ERR_VALUE);
    }
    assert_string_equal(st_job_name(job), "stdin");
    assert_string_equal(st_job_file(job), "<stdin>");
    assert_number(job, "model.layers", ST_ORIGIN_FILE, 37);
    assert_non_null(strstr(said(own), "<stdin>:2:16: error: wrong value for batch.micro"));
}

TEST_OF(shipped_jobs_load, fixture *own, set_up, tear_down)
{
    const st_path_entry *entries = NULL;
    size_t count = 0;
    assert_int_equal(
        st_paths_list(own->paths, ST_FOLDER_JOBS, own->arena, &entries, &count, own->errors),
        ST_OK);
    assert_true(count >= 4);
    for (size_t i = 0; i < count; i++) {
        const st_job *job = NULL;
        assert_int_equal(
            st_job_load(own->paths, entries[i].name, NULL, 0, own->arena, &job, own->errors),
            ST_OK);
        assert_int_equal(st_errors_size(own->errors), 0);
        assert_non_null(st_job_section_name(job, "model"));
    }
}

/* ---- --set ---- */

TEST_OF(assignments_override_files, fixture *own, set_up, tear_down)
{
    static const char *const sets[] = {"parallel.tp=3",
                                       "parallel.tp = 8",
                                       "cluster.nic_bandwidth=200 Gbit/s",
                                       " recompute =\tnone ",
                                       "constants.mu=0.4375",
                                       "constants.new=25 MB",
                                       "name=a=b",
                                       "batch.global=1.024e3"};
    write_text(own, "job.yaml",
               "parallel: {tp: 2, pp: 5}\nrecompute: full\nconstants: {mu: 0.3}\n");
    const st_job *job = load_with(own, sets, sizeof sets / sizeof sets[0]);
    assert_number(job, "parallel.tp", ST_ORIGIN_SET, 8);
    assert_number(job, "parallel.pp", ST_ORIGIN_FILE, 5);
    assert_number(job, "cluster.nic_bandwidth", ST_ORIGIN_SET, 25e9);
    assert_number(job, "recompute", ST_ORIGIN_SET, 0);
    assert_number(job, "batch.global", ST_ORIGIN_SET, 1024);
    assert_string_equal(value_of(job, "constants.mu")->text, "0.4375");
    assert_int_equal(value_of(job, "constants.mu")->origin, ST_ORIGIN_SET);
    assert_string_equal(value_of(job, "constants.new")->text, "25 MB");
    assert_string_equal(st_job_name(job), "a=b");
    assert_string_equal(value_of(job, "parallel.tp")->place.file, "--set parallel.tp = 8");
    assert_int_equal(value_of(job, "parallel.tp")->place.line, 0);
    assert_null(value_of(job, "parallel.tp")->source);
}

TEST_OF(assignments_replace_sections_first, fixture *own, set_up, tear_down)
{
    static const char *const sets[] = {"model.layers=41", "model=gone", "model=m",
                                       "cluster.gpu=new", "cluster=c"};
    write_text(own, "configs/models/m.yaml", "layers: 37\nheads: 11\n");
    write_text(own, "configs/clusters/c.yaml", "gpu: missing\nnodes: 3\n");
    write_text(own, "configs/gpus/new.yaml", "memory: 80 GiB\n");
    write_text(own, "job.yaml",
               "model: {base: missing, layers: wrong, hidden: 2385}\ncluster: missing\n");
    const st_job *job = load_with(own, sets, sizeof sets / sizeof sets[0]);
    assert_number(job, "model.layers", ST_ORIGIN_SET, 41);
    assert_number(job, "model.heads", ST_ORIGIN_FILE, 11);
    assert_int_equal(value_of(job, "model.hidden")->origin, ST_ORIGIN_NONE);
    assert_number(job, "cluster.nodes", ST_ORIGIN_FILE, 3);
    assert_number(job, "cluster.gpu.memory", ST_ORIGIN_FILE, 80.0 * 1073741824);
    assert_string_equal(st_job_section_name(job, "model"), "m");
    assert_string_equal(st_job_section_name(job, "cluster.gpu"), "new");
}

TEST_OF(assignments_are_text_without_control_characters, fixture *own, set_up, tear_down)
{
    write_text(own, "job.yaml", "name: sound\n");
    assert_set_fault(own, "name=\xff", ST_ERR_USAGE,
                     "--set name=\\xFF: error: invalid or too many characters: expected at most "
                     "4096 bytes of UTF-8 without control characters\n");
    assert_set_fault(own, "name=a\nb", ST_ERR_USAGE,
                     "--set name=a\\nb: error: invalid or too many characters: expected at most "
                     "4096 bytes of UTF-8 without control characters\n");
}

/* Which plugins there are is asked when they are bound. */
TEST_WITH(options_of_plugins_are_kept_as_they_are, set_up, tear_down)
{
    static const char *const sets[] = {"refine.template.latency=2.385 us", "parallel.tp=8",
                                       "refine.no-such.a.b = c=d"};
    fixture *own = *state;
    const st_job *job = NULL;
    write_text(own, "job.yaml", "name: sound\n");
    assert_int_equal(
        st_job_load(own->paths, below(own, "job.yaml"), sets, 3, own->arena, &job, own->errors),
        ST_OK);
    assert_int_equal(job->option_count, 2);
    assert_string_equal(job->options[0].plugin, "template");
    assert_string_equal(job->options[0].option.name, "latency");
    assert_string_equal(job->options[0].option.text, "2.385 us");
    assert_string_equal(job->options[0].option.place.file,
                        "--set refine.template.latency=2.385 us");
    assert_string_equal(job->options[1].plugin, "no-such");
    assert_string_equal(job->options[1].option.name, "a.b");
    assert_string_equal(job->options[1].option.text, "c=d");
}

TEST_OF(long_assignments_are_refused_briefly, fixture *own, set_up, tear_down)
{
    char *set = st_arena_alloc(own->arena, 60001, 1);
    assert_non_null(set);
    memset(set, 'x', 60000);
    memcpy(set, "name=", 5);
    write_text(own, "job.yaml", "name: sound\n");
    const char *const sets[] = {set};
    assert_int_equal(refused_with(own, sets, 1), ST_ERR_USAGE);
    assert_true(strlen(said(own)) < 1000);
}

/* ---- errors of files ---- */

static const char *answer(void *context, const char *name, char *given)
{
    enum { MOST_SETS = 8 };
    const char *sets[MOST_SETS];
    size_t count = 0;
    void *state = NULL;
    (void)name;
    assert_int_equal(set_up(&state), 0); /* a folder of its own */
    fixture *own = state;
    for (char *set = strstr(given, "\n%set "), *end; set != NULL; set = end) {
        assert_true(count < MOST_SETS);
        *set = '\0';
        sets[count++] = set + strlen("\n%set ");
        end = strstr(set + 1, "\n%set ");
        if (end == NULL)
            *strrchr(set + 1, '\n') = '\0';
    }
    for (char *file = given + 1, *next; file != NULL; file = next) {
        char *text = strchr(file, '\n');
        *text++ = '\0';
        next = strstr(text, "\n@");
        size_t length = next != NULL ? (size_t)(next + 1 - text) : strlen(text);
        write_bytes(own, file, text, length);
        next = next != NULL ? next + 2 : NULL;
    }
    st_status status = refused_with(own, sets, count);
    const char *found = st_arena_printf(context, "=> %s\n%s", st_status_text(status), said(own));
    assert_int_equal(tear_down(&state), 0);
    return found;
}

TEST(faults_are_those_of_the_cases)
{
    st_arena *arena = st_arena_create();
    run_text_cases("tests/unit/cases/job.txt", answer, arena, arena);
    st_arena_destroy(arena);
}

TEST_OF(files_that_are_no_jobs_are_refused, fixture *own, set_up, tear_down)
{
    static const struct {
        const char *text;
        st_status status;
    } cases[] = {
        {"", ST_ERR_SYNTAX},
        {"- a\n- b\n", ST_ERR_VALUE},
        {"just a text\n", ST_ERR_VALUE},
        {"name: a\nname: b\n", ST_ERR_NAME},
        {"name: \xFF\n", ST_ERR_SYNTAX},
        {"name: [\n", ST_ERR_SYNTAX},
        {"\tname: x\n", ST_ERR_SYNTAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_text(own, "job.yaml", cases[i].text);
        st_status status = refused_with(own, NULL, 0);
        const char *text = said(own);
        if (status != cases[i].status)
            fail_msg("'%s' gives %d: %s", cases[i].text, status, text);
        assert_non_null(strstr(text, "@/job.yaml"));
        assert_int_equal(strchr(text, '\n')[1], '\0'); /* one line */
    }
}

TEST_OF(unreadable_jobs_are_refused, fixture *own, set_up, tear_down)
{
    const st_job *job = NULL;
    assert_int_equal(st_job_load(own->paths, "no-such-job", NULL, 0, own->arena, &job, own->errors),
                     ST_ERR_NAME);
    assert_non_null(strstr(said(own), "cannot find job 'no-such-job' on the search path"));
    assert_int_equal(st_job_load(own->paths, own->folder, NULL, 0, own->arena, &job, own->errors),
                     ST_ERR_IO);
    assert_string_equal(said(own),
                        "error: cannot read '@': found a folder, expected a YAML file\n");
    write_text(own, "large.yaml", "");
    assert_int_equal(truncate(below(own, "large.yaml"), 104857600), 0);
    assert_int_equal(
        st_job_load(own->paths, below(own, "large.yaml"), NULL, 0, own->arena, &job, own->errors),
        ST_ERR_LIMIT);
    assert_null(job);
}

TEST_OF(alias_bombs_are_refused, fixture *own, set_up, tear_down)
{
    st_buffer text = {0};
    st_buffer_text(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 12; i++) {
        st_buffer_printf(&text, "a%d: &a%d [", i, i);
        for (int j = 0; j < 10; j++)
            st_buffer_printf(&text, "%s*a%d", j > 0 ? ", " : "", i - 1);
        st_buffer_text(&text, "]\n");
    }
    write_text(own, "job.yaml", text.data);
    st_buffer_free(&text);
    assert_int_equal(refused_with(own, NULL, 0), ST_ERR_LIMIT);
    assert_true(strlen(said(own)) < 500);
}

TEST_OF(aliases_are_values, fixture *own, set_up, tear_down)
{
    const st_job *job = load(own, "batch: {global: &n 96, micro: *n}\nparallel: {tp: *n}\n");
    assert_number(job, "batch.micro", ST_ORIGIN_FILE, 96);
    assert_number(job, "parallel.tp", ST_ORIGIN_FILE, 96);
}

TEST_OF(a_thousand_faults_are_counted, fixture *own, set_up, tear_down)
{
    st_buffer text = {0};
    for (int i = 0; i < 1000; i++)
        st_buffer_printf(&text, "unknown%d: %d\n", i, i);
    write_text(own, "job.yaml", text.data);
    st_buffer_free(&text);
    assert_int_equal(refused_with(own, NULL, 0), ST_ERR_NAME);
    assert_int_equal(st_errors_count(own->errors, ST_SEVERITY_ERROR), 1000);
    assert_non_null(strstr(said(own), "950 more errors not shown"));
}

/* ---- files that name files ---- */

TEST_OF(bases_end_after_eight, fixture *own, set_up, tear_down)
{
    write_text(own, "configs/models/m0.yaml", "layers: 37\n");
    for (int i = 1; i < 10; i++)
        write_text(own, st_arena_printf(own->arena, "configs/models/m%d.yaml", i),
                   st_arena_printf(own->arena, "base: m%d\n", i - 1));
    assert_number(load(own, "model: m8\n"), "model.layers", ST_ORIGIN_FILE, 37);
    assert_number(load(own, "model: {base: m7}\n"), "model.layers", ST_ORIGIN_FILE, 37);
    assert_faults(own, "model: m9\n", ST_ERR_LIMIT,
                  "@/configs/models/m1.yaml:1:7: error: more than 8 files form a chain of bases\n");
    assert_faults(own, "model: {base: m8}\n", ST_ERR_LIMIT,
                  "@/configs/models/m1.yaml:1:7: error: more than 8 files form a chain of bases\n");
}

TEST_OF(a_job_is_of_few_files, fixture *own, set_up, tear_down)
{
    write_text(own, "configs/gpus/g0.yaml", "memory: 3 GiB\n");
    write_text(own, "configs/clusters/c0.yaml", "gpu: g8\n");
    for (int i = 1; i < 9; i++) {
        write_text(own, st_arena_printf(own->arena, "configs/gpus/g%d.yaml", i),
                   st_arena_printf(own->arena, "base: g%d\n", i - 1));
        write_text(own, st_arena_printf(own->arena, "configs/clusters/c%d.yaml", i),
                   st_arena_printf(own->arena, "base: c%d\ngpu: g8\n", i - 1));
    }
    write_text(own, "job.yaml", "cluster: c8\n");
    assert_int_equal(refused_with(own, NULL, 0), ST_ERR_LIMIT);
    assert_non_null(strstr(said(own), "error: the job consists of more than 32 files"));
}

TEST_OF(loading_works_without_a_list_of_errors, fixture *own, set_up, tear_down)
{
    const st_job *job = NULL;
    static const char *const sets[] = {"parallel.tp=x", "nonsense", "model=gone"};
    write_text(own, "job.yaml", "parallel: {tp: 3.5, tq: 4}\nmodel: [x]\ncluster: gone\n");
    assert_int_equal(
        st_job_load(own->paths, below(own, "job.yaml"), sets, 3, own->arena, &job, NULL),
        ST_ERR_USAGE);
    assert_int_equal(
        st_job_load(own->paths, below(own, "job.yaml"), NULL, 0, own->arena, &job, NULL),
        ST_ERR_VALUE);
    assert_null(job);
}

TESTS(job);

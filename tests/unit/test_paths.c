/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search path: which root wins, what counts as a path, what is refused before it is read, and
 * what a user is told who asked for something that is not there.
 */
#include "job_support.h"

#include "base/yaml.h"
#include "job/embedded.h"
#include "job/files.h"

#include <fcntl.h>

static const st_place on_command_line = {0};

static st_status read_from(fixture *own, st_folder folder, const char *name, st_place place,
                           st_source *source)
{
    return st_paths_read(own->paths, folder, name, place, own->arena, source, own->errors);
}

static void assert_reads(fixture *own, st_folder folder, const char *name, const char *text)
{
    st_source source = {0};
    st_status status = read_from(own, folder, name, on_command_line, &source);
    if (status != ST_OK)
        fail_msg("'%s': %s", name, said(own));
    assert_int_equal(source.length, strlen(text));
    assert_memory_equal(source.text, text, source.length);
}

static void assert_refused(fixture *own, st_folder folder, const char *name, st_status status,
                           const char *message)
{
    st_source source = {.file = "untouched"};
    assert_int_equal(read_from(own, folder, name, on_command_line, &source), status);
    assert_string_equal(source.file, "untouched");
    assert_string_equal(said(own), message);
}

/* ---- roots ---- */

static void make_paths(fixture *own, const char *const *folders, size_t count)
{
    st_paths_destroy(own->paths);
    own->paths = NULL;
    assert_int_equal(st_paths_create(folders, count, &own->paths, own->errors), ST_OK);
}

TEST_OF(earlier_roots_win, fixture *own, set_up, tear_down)
{
    write_text(own, "a/configs/models/m.yaml", "from a");
    write_text(own, "b/configs/models/m.yaml", "from b");
    write_text(own, "b/configs/models/n.yaml", "n from b");
    write_text(own, "c/configs/models/n.yaml", "n from c");
    write_text(own, "c/configs/models/o.yaml", "o from c");
    write_text(own, "x/steptime/configs/models/o.yaml", "o from x");
    write_text(own, "x/steptime/configs/models/p.yaml", "p from x");
    const char *folders[] = {below(own, "a"), below(own, "b/")};
    setenv("STEPTIME_PATH", st_arena_printf(own->arena, ":%s/c::", own->folder), 1);
    setenv("XDG_CONFIG_HOME", below(own, "x"), 1);
    make_paths(own, folders, 2);
    assert_reads(own, ST_FOLDER_MODELS, "m", "from a");
    assert_reads(own, ST_FOLDER_MODELS, "n", "n from b");
    assert_reads(own, ST_FOLDER_MODELS, "o", "o from c");
    assert_reads(own, ST_FOLDER_MODELS, "p", "p from x");
    st_source source;
    assert_int_equal(read_from(own, ST_FOLDER_MODELS, "n", on_command_line, &source), ST_OK);
    assert_string_equal(source.file, below(own, "b/configs/models/n.yaml"));
    assert_string_equal(said(own), "");
}

TEST_OF(home_stands_in_for_the_configuration_folder, fixture *own, set_up, tear_down)
{
    write_text(own, ".config/steptime/formulas/mine.yaml", "from home");
    unsetenv("XDG_CONFIG_HOME");
    setenv("HOME", own->folder, 1);
    make_paths(own, NULL, 0);
    assert_reads(own, ST_FOLDER_SHEETS, "mine", "from home");
    setenv("XDG_CONFIG_HOME", "relative", 1); /* as good as not set */
    make_paths(own, NULL, 0);
    assert_reads(own, ST_FOLDER_SHEETS, "mine", "from home");
    setenv("XDG_CONFIG_HOME", below(own, "elsewhere"), 1);
    make_paths(own, NULL, 0);
    st_source source;
    assert_int_equal(read_from(own, ST_FOLDER_SHEETS, "mine", on_command_line, &source),
                     ST_ERR_NAME);
}

TEST_OF(folders_that_do_not_exist_are_errors, fixture *own, set_up, tear_down)
{
    st_paths *paths = NULL;
    write_text(own, "file", "no folder");
    const char *folders[] = {below(own, "missing"), own->folder, below(own, "file"), ""};
    assert_int_equal(st_paths_create(folders, 4, &paths, own->errors), ST_ERR_IO);
    assert_null(paths);
    assert_string_equal(said(own), "--path: error: the folder '@/missing' does not exist\n"
                                   "--path: error: the folder '@/file' is not a folder\n"
                                   "--path: error: the folder '' does not exist\n");
}

TEST_OF(folders_of_the_environment_are_only_warned_about, fixture *own, set_up, tear_down)
{
    setenv("STEPTIME_PATH", st_arena_printf(own->arena, "%s/missing:%s", own->folder, own->folder),
           1);
    write_text(own, "formulas/s.yaml", "sheet");
    make_paths(own, NULL, 0);
    assert_string_equal(said(own),
                        "STEPTIME_PATH: warning: the folder '@/missing' does not exist\n");
    assert_reads(own, ST_FOLDER_SHEETS, "s", "sheet");
}

TEST_OF(the_working_folder_is_no_root, fixture *own, set_up, tear_down)
{
    write_text(own, "elsewhere/configs/jobs/local.yaml", "of the working folder");
    setenv("STEPTIME_PATH", "", 1);
    make_paths(own, NULL, 0);
    char *before = getcwd(NULL, 0);
    assert_non_null(before);
    assert_int_equal(chdir(below(own, "elsewhere")), 0);
    st_source source;
    assert_int_equal(read_from(own, ST_FOLDER_JOBS, "local", on_command_line, &source),
                     ST_ERR_NAME);
    assert_int_equal(chdir(before), 0);
    free(before);
}

TEST_OF(every_folder_has_its_place, fixture *own, set_up, tear_down)
{
    write_text(own, "formulas/x.yaml", "sheet");
    write_text(own, "configs/jobs/x.yaml", "job");
    write_text(own, "configs/models/x.yaml", "model");
    write_text(own, "configs/clusters/x.yaml", "cluster");
    write_text(own, "configs/gpus/x.yaml", "gpu");
    write_text(own, "validation/x/cases.yaml", "cases");
    assert_reads(own, ST_FOLDER_SHEETS, "x", "sheet");
    assert_reads(own, ST_FOLDER_JOBS, "x", "job");
    assert_reads(own, ST_FOLDER_MODELS, "x", "model");
    assert_reads(own, ST_FOLDER_CLUSTERS, "x", "cluster");
    assert_reads(own, ST_FOLDER_GPUS, "x", "gpu");
    assert_reads(own, ST_FOLDER_VALIDATION, "x", "cases");
}

/* ---- the library's own files ---- */

TEST_OF(the_library_is_the_last_root, fixture *own, set_up, tear_down)
{
    st_source source;
    assert_true(st_embedded_count > 5);
    make_paths(own, NULL, 0);
    assert_int_equal(read_from(own, ST_FOLDER_SHEETS, "<embedded>/formulas/li2024.yaml",
                               on_command_line, &source),
                     ST_OK);
    assert_string_equal(source.file, "sheet li2024");
    size_t length = source.length;
    assert_int_equal(read_from(own, ST_FOLDER_SHEETS, "li2024", on_command_line, &source), ST_OK);
    write_text(own, "formulas/li2024.yaml", "mine");
    const char *folders[] = {own->folder};
    make_paths(own, folders, 1);
    assert_reads(own, ST_FOLDER_SHEETS, "li2024", "mine");
    assert_true(length > 1000);
}

TEST_OF(embedded_files_are_those_of_the_source, fixture *own, set_up, tear_down)
{
    for (size_t i = 0; i < st_embedded_count; i++) {
        const st_embedded_file *file = &st_embedded_files[i];
        st_source source;
        assert_true(i == 0 || strcmp(st_embedded_files[i - 1].path, file->path) < 0);
        assert_int_equal(file->bytes[file->length], 0);
        assert_true(st_file_embedded(file->path, own->arena, &source));
        assert_int_equal(source.length, file->length);
        bool is_view = strncmp(file->path, "views/", strlen("views/")) == 0;
        const char *path = st_arena_printf(
            own->arena, is_view ? "./estimator/tools/trace/%s" : "./%s", file->path);
        st_source disk;
        assert_int_equal(st_file_read(path, on_command_line, own->arena, &disk, own->errors),
                         ST_OK);
        assert_int_equal(disk.length, file->length);
        assert_memory_equal(disk.text, file->bytes, file->length);
        /* What it is called leads back to it. */
        assert_string_equal(st_embedded_path(own->arena, source.file),
                            st_arena_printf(own->arena, "<embedded>/%s", file->path));
        assert_null(strstr(file->path, "configs/") != NULL ? strstr(source.file, "<embedded>")
                                                           : NULL);
    }
    st_source source;
    assert_false(st_file_embedded("formulas/li2024.yam", own->arena, &source));
}

static void assert_same_place(st_place left, st_place right)
{
    assert_string_equal(left.file, right.file);
    assert_int_equal(left.line, right.line);
    assert_int_equal(left.column, right.column);
}

/* Whatever a reader may ask of a node. */
static size_t assert_same_tree(const st_yaml_node *left, const st_yaml_node *right)
{
    size_t nodes = 1;
    assert_int_equal(left->kind, right->kind);
    assert_same_place(left->place, right->place);
    assert_int_equal(left->source_offset, right->source_offset);
    assert_int_equal(left->source_length, right->source_length);
    assert_memory_equal(left->source, right->source, left->source_length);
    assert_int_equal(left->quoted, right->quoted);
    assert_int_equal(left->length, right->length);
    assert_int_equal(left->count, right->count);
    assert_int_equal(left->text == NULL, right->text == NULL);
    if (left->text != NULL)
        assert_memory_equal(left->text, right->text, left->length + 1);
    for (size_t i = 0; i < left->count; i++) {
        if (left->kind == ST_YAML_MAP) {
            assert_string_equal(left->keys[i], right->keys[i]);
            assert_same_place(left->key_places[i], right->key_places[i]);
        }
        nodes += assert_same_tree(left->items[i], right->items[i]);
    }
    return nodes;
}

TEST_OF(embedded_trees_are_those_of_the_texts, fixture *own, set_up, tear_down)
{
    size_t trees = 0;
    size_t nodes = 0;
    for (size_t i = 0; i < st_embedded_count; i++) {
        const char *path = st_embedded_files[i].path;
        bool is_yaml = strlen(path) > 5 && strcmp(path + strlen(path) - 5, ".yaml") == 0;
        st_source source;
        assert_true(st_file_embedded(path, own->arena, &source));
        assert_int_equal(source.tree != NULL, is_yaml);
        if (!is_yaml)
            continue;
        const st_yaml_node *kept = NULL;
        const st_yaml_node *read = NULL;
        assert_int_equal(st_yaml_read(&source, own->arena, &kept, own->errors), ST_OK);
        source.tree = NULL;
        assert_int_equal(st_yaml_read(&source, own->arena, &read, own->errors), ST_OK);
        nodes += assert_same_tree(kept, read);
        trees++;
    }
    assert_true(trees > 100 && nodes > 5000);
}

TEST_OF(paths_inside_the_library_do_not_leave_it, fixture *own, set_up, tear_down)
{
    st_source source;
    const st_place in_job = {"job gpt-3b-32x3090", 4, 3};
    assert_int_equal(
        read_from(own, ST_FOLDER_SHEETS, ".././../formulas//li2024.yaml", in_job, &source), ST_OK);
    assert_string_equal(source.file, "sheet li2024");
    static const char *const bad[] = {"../../../etc/passwd", "../../..", "./gone.yaml", "..",
                                      "/etc/steptime-no-such.yaml"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(read_from(own, ST_FOLDER_SHEETS, bad[i], in_job, &source), ST_ERR_IO);
        st_errors_clear(own->errors);
    }
}

/* ---- paths ---- */

TEST_OF(paths_are_looked_for_nowhere_else, fixture *own, set_up, tear_down)
{
    write_text(own, "configs/jobs/known.yaml", "known");
    write_text(own, "deep/known.yaml", "deep");
    write_text(own, "deep/bare", "without ending");
    assert_reads(own, ST_FOLDER_JOBS, below(own, "deep/known.yaml"), "deep");
    assert_reads(own, ST_FOLDER_JOBS, below(own, "deep/bare"), "without ending");
    st_source source;
    assert_int_equal(read_from(own, ST_FOLDER_JOBS, "deep/known", on_command_line, &source),
                     ST_ERR_IO);
    st_errors_clear(own->errors);
    assert_refused(own, ST_FOLDER_JOBS, "known.yaml", ST_ERR_IO,
                   "error: the job file 'known.yaml' does not exist; write known, without .yaml, "
                   "to read the one in @/configs/jobs/known.yaml\n");
    assert_refused(own, ST_FOLDER_JOBS, "unknown.yaml", ST_ERR_IO,
                   "error: the job file 'unknown.yaml' does not exist\n");
}

TEST_OF(paths_in_a_file_are_relative_to_it, fixture *own, set_up, tear_down)
{
    st_source source;
    write_text(own, "jobs/model.yaml", "beside");
    write_text(own, "model.yaml", "above");
    const st_place place = {below(own, "jobs/job.yaml"), 3, 8};
    assert_int_equal(read_from(own, ST_FOLDER_MODELS, "./model.yaml", place, &source), ST_OK);
    assert_string_equal(source.text, "beside");
    assert_string_equal(source.file, below(own, "jobs/model.yaml"));
    assert_int_equal(read_from(own, ST_FOLDER_MODELS, "model.yaml", place, &source), ST_OK);
    assert_string_equal(source.text, "beside");
    assert_int_equal(read_from(own, ST_FOLDER_MODELS, "../model.yaml", place, &source), ST_OK);
    assert_string_equal(source.text, "above");
    assert_int_equal(read_from(own, ST_FOLDER_MODELS, below(own, "model.yaml"), place, &source),
                     ST_OK);
    assert_string_equal(source.text, "above");
}

TEST_OF(paths_of_assignments_are_relative_to_the_working_folder, fixture *own, set_up, tear_down)
{
    const st_place in_set = {"--set model=/x/./a.yaml", 0, 0};
    const st_place in_stdin = {"<stdin>", 4, 1};
    const st_place in_bare = {"job.yaml", 4, 1};
    assert_string_equal(st_path_resolve(own->arena, in_set, "./a.yaml"), "./a.yaml");
    assert_string_equal(st_path_resolve(own->arena, in_stdin, "./a.yaml"), "./a.yaml");
    assert_string_equal(st_path_resolve(own->arena, in_bare, "./a"), "./a");
    assert_string_equal(st_path_resolve(own->arena, on_command_line, "../a"), "../a");
    const st_place in_file = {"jobs/job.yaml", 4, 1};
    assert_string_equal(st_path_resolve(own->arena, in_file, ".//./a"), "jobs/a");
    assert_string_equal(st_path_resolve(own->arena, in_file, "/a"), "/a");
    assert_string_equal(st_path_resolve(own->arena, in_file, "<embedded>/a"), "<embedded>/a");
}

/* ---- names that do not exist ---- */

TEST_OF(unknown_names_get_the_nearest_one, fixture *own, set_up, tear_down)
{
    write_text(own, "configs/gpus/a100-sxm.yaml", "x");
    write_text(own, "configs/gpus/h200.yaml", "x");
    const st_place place = {"c.yaml", 4, 6};
    st_source source;
    assert_int_equal(read_from(own, ST_FOLDER_GPUS, "a100-smx", place, &source), ST_ERR_NAME);
    assert_string_equal(said(own), "c.yaml:4:6: error: cannot find GPU 'a100-smx' on the search "
                                   "path; did you mean 'a100-sxm'?\n");
    assert_refused(own, ST_FOLDER_GPUS, "", ST_ERR_NAME, "error: the name of the GPU is empty\n");
}

TEST_OF(names_far_from_all_get_a_list, fixture *own, set_up, tear_down)
{
    for (int i = 0; i < 3; i++)
        write_text(own, st_arena_printf(own->arena, "validation/aa%d/cases.yaml", i), "x");
    st_source source;
    assert_int_equal(read_from(own, ST_FOLDER_VALIDATION, "qqqqqqqq", on_command_line, &source),
                     ST_ERR_NAME);
    const char *text = said(own);
    assert_non_null(strstr(text, "cannot find validation source 'qqqqqqqq' on the search path"));
    assert_non_null(strstr(text, "expected one of "));
    assert_non_null(strstr(text, "aa0, aa1, aa2"));
}

TEST_OF(local_files_are_pointed_at, fixture *own, set_up, tear_down)
{
    char *before = getcwd(NULL, 0);
    assert_non_null(before);
    write_text(own, "mine.yaml", "x");
    write_text(own, "other.yml", "x");
    write_text(own, "folder/inner", "x");
    assert_int_equal(chdir(own->folder), 0);
    assert_refused(own, ST_FOLDER_JOBS, "mine", ST_ERR_NAME,
                   "error: cannot find job 'mine' on the search path; write ./mine.yaml to read "
                   "the file of that name\n");
    assert_refused(own, ST_FOLDER_JOBS, "other.yml", ST_ERR_NAME,
                   "error: cannot find job 'other.yml' on the search path; write ./other.yml to "
                   "read the file of that name\n");
    st_source source;
    assert_int_equal(read_from(own, ST_FOLDER_JOBS, "folder", on_command_line, &source),
                     ST_ERR_NAME);
    assert_null(strstr(said(own), "write ./folder"));
    assert_int_equal(chdir(before), 0);
    free(before);
}

TEST_OF(names_do_not_lead_out_of_a_root, fixture *own, set_up, tear_down)
{
    st_source source;
    write_text(own, "cases.yaml", "outside");
    static const char *const names[] = {"..", "."};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(read_from(own, ST_FOLDER_VALIDATION, names[i], on_command_line, &source),
                         ST_ERR_IO);
        assert_non_null(strstr(said(own), "found a folder, expected a YAML file"));
    }
}

TEST_OF(names_with_controls_are_refused, fixture *own, set_up, tear_down)
{
    assert_refused(own, ST_FOLDER_MODELS, "a\033[2Jb", ST_ERR_NAME,
                   "error: the name of the model has a control character: 'a\\x1B[2Jb'\n");
    st_source source;
    assert_int_equal(read_from(own, ST_FOLDER_MODELS, "./\x9c\xff", on_command_line, &source),
                     ST_ERR_IO);
}

TEST_OF(long_names_are_refused, fixture *own, set_up, tear_down)
{
    st_source source;
    char name[ST_PATH_MAX_BYTES + 2];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_refused(own, ST_FOLDER_JOBS, name, ST_ERR_LIMIT,
                   "error: the name of the job exceeds 4096 bytes\n");
    name[300] = '\0'; /* longer than any file's name */
    assert_int_equal(read_from(own, ST_FOLDER_JOBS, name, on_command_line, &source), ST_ERR_NAME);
}

/* ---- what is no small regular file ---- */

TEST_OF(folders_are_refused, fixture *own, set_up, tear_down)
{
    write_text(own, "configs/jobs/odd.yaml/inner", "x");
    assert_refused(own, ST_FOLDER_JOBS, "odd", ST_ERR_IO,
                   "error: cannot read '@/configs/jobs/odd.yaml': found a folder, expected a YAML "
                   "file\n");
    assert_refused(own, ST_FOLDER_JOBS, "/tmp/", ST_ERR_IO,
                   "error: cannot read '/tmp/': found a folder, expected a YAML file\n");
}

TEST_OF(large_files_are_refused_unread, fixture *own, set_up, tear_down)
{
    write_text(own, "large.yaml", "");
    assert_int_equal(truncate(below(own, "large.yaml"), 104857600), 0);
    assert_refused(own, ST_FOLDER_JOBS, below(own, "large.yaml"), ST_ERR_LIMIT,
                   "error: '@/large.yaml' is too large: found 104857600 bytes, expected at most "
                   "2097152 bytes\n");
    assert_int_equal(truncate(below(own, "large.yaml"), ST_YAML_MAX_BYTES), 0);
    st_source source;
    assert_int_equal(
        read_from(own, ST_FOLDER_JOBS, below(own, "large.yaml"), on_command_line, &source), ST_OK);
    assert_int_equal(source.length, ST_YAML_MAX_BYTES);
    assert_int_equal(truncate(below(own, "large.yaml"), ST_YAML_MAX_BYTES + 1), 0);
    assert_int_equal(
        read_from(own, ST_FOLDER_JOBS, below(own, "large.yaml"), on_command_line, &source),
        ST_ERR_LIMIT);
}

TEST_OF(endless_devices_are_refused, fixture *own, set_up, tear_down)
{
    st_source source;
    assert_refused(own, ST_FOLDER_JOBS, "/dev/zero", ST_ERR_LIMIT,
                   "error: '/dev/zero' is too large: found more than 2097152 bytes, expected at "
                   "most 2097152 bytes\n");
    const st_place in_file = {below(own, "job.yaml"), 1, 8};
    assert_int_equal(read_from(own, ST_FOLDER_MODELS, "/dev/zero", in_file, &source), ST_ERR_IO);
    assert_string_equal(said(own), "@/job.yaml:1:8: error: cannot read '/dev/zero': found a device "
                                   "or pipe, expected a YAML file\n");
}

/* Runs with `text` on standard input. */
static st_status read_standard_input(fixture *own, st_folder folder, const char *name,
                                     const char *text, st_source *source)
{
    int pipes[2];
    int saved = dup(STDIN_FILENO);
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(write(pipes[1], text, strlen(text)), strlen(text));
    (void)close(pipes[1]);
    assert_true(dup2(pipes[0], STDIN_FILENO) >= 0);
    (void)close(pipes[0]);
    st_status status = read_from(own, folder, name, on_command_line, source);
    assert_true(dup2(saved, STDIN_FILENO) >= 0);
    (void)close(saved);
    return status;
}

TEST_OF(jobs_come_from_standard_input_too, fixture *own, set_up, tear_down)
{
    st_source source = {0};
    assert_int_equal(read_standard_input(own, ST_FOLDER_JOBS, "-", "name: piped", &source), ST_OK);
    assert_string_equal(source.text, "name: piped");
    assert_string_equal(source.file, "<stdin>");
    assert_int_equal(read_standard_input(own, ST_FOLDER_JOBS, "/dev/stdin", "name: x", &source),
                     ST_OK);
    assert_string_equal(source.text, "name: x");
    assert_int_equal(read_standard_input(own, ST_FOLDER_MODELS, "-", "name: x", &source),
                     ST_ERR_NAME);
    assert_string_equal(said(own), "error: only a job can come from standard input ('-')\n");
    const st_place in_file = {"job.yaml", 2, 2};
    assert_int_equal(read_from(own, ST_FOLDER_JOBS, "-", in_file, &source), ST_ERR_NAME);
}

TEST_OF(closed_standard_input_is_an_error, fixture *own, set_up, tear_down)
{
    st_source source = {0};
    int saved = fcntl(STDIN_FILENO, F_DUPFD, 100);
    assert_true(saved >= 0);
    (void)close(STDIN_FILENO);
    st_status status = read_from(own, ST_FOLDER_JOBS, "-", on_command_line, &source);
    assert_true(dup2(saved, STDIN_FILENO) >= 0);
    (void)close(saved);
    assert_int_equal(status, ST_ERR_IO);
    assert_string_equal(said(own), "error: cannot read '<stdin>': bad file descriptor\n");
}

TEST_OF(bytes_are_kept_as_they_are, fixture *own, set_up, tear_down)
{
    static const char bytes[] = "a\0b\xFF\n";
    st_source source;
    write_bytes(own, "odd.yaml", bytes, 5);
    write_text(own, "empty.yaml", "");
    assert_int_equal(
        read_from(own, ST_FOLDER_JOBS, below(own, "odd.yaml"), on_command_line, &source), ST_OK);
    assert_int_equal(source.length, 5);
    assert_memory_equal(source.text, bytes, 6);
    assert_reads(own, ST_FOLDER_JOBS, below(own, "empty.yaml"), "");
}

TEST_OF(broken_links_and_loops_are_errors, fixture *own, set_up, tear_down)
{
    write_text(own, "configs/models/real.yaml", "x");
    assert_int_equal(symlink("loop.yaml", below(own, "configs/models/loop.yaml")), 0);
    assert_int_equal(symlink("nowhere.yaml", below(own, "configs/models/broken.yaml")), 0);
    st_source source;
    assert_int_equal(read_from(own, ST_FOLDER_MODELS, "loop", on_command_line, &source), ST_ERR_IO);
    assert_non_null(strstr(said(own), "cannot read '@/configs/models/loop.yaml': too many"));
    assert_int_equal(read_from(own, ST_FOLDER_MODELS, "broken", on_command_line, &source),
                     ST_ERR_NAME);
}

/* ---- lists ---- */

static const st_path_entry *find_entry(const st_path_entry *entries, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(entries[i].name, name) == 0)
            return &entries[i];
    return NULL;
}

TEST_OF(lists_are_sorted_and_name_the_winning_root, fixture *own, set_up, tear_down)
{
    const st_path_entry *entries = NULL;
    size_t count = 0;
    write_text(own, "a/formulas/zeta.yaml", "x");
    write_text(own, "a/formulas/li2024.yaml", "x");
    write_text(own, "a/formulas/.hidden.yaml", "x");
    write_text(own, "a/formulas/notes.txt", "x");
    write_text(own, "a/formulas/folder.yaml/x", "x");
    write_text(own, "a/formulas/bell\x07.yaml", "x");
    write_text(own, "b/formulas/zeta.yaml", "x");
    write_text(own, "b/formulas/alpha.yaml", "x");
    const char *folders[] = {below(own, "a"), below(own, "b")};
    make_paths(own, folders, 2);
    assert_int_equal(
        st_paths_list(own->paths, ST_FOLDER_SHEETS, own->arena, &entries, &count, own->errors),
        ST_OK);
    for (size_t i = 1; i < count; i++)
        assert_true(strcmp(entries[i - 1].name, entries[i].name) < 0);
    assert_string_equal(find_entry(entries, count, "zeta")->root, below(own, "a"));
    assert_string_equal(find_entry(entries, count, "li2024")->root, below(own, "a"));
    assert_string_equal(find_entry(entries, count, "alpha")->root, below(own, "b"));
    assert_null(find_entry(entries, count, "notes"));
    assert_null(find_entry(entries, count, "notes.txt"));
    assert_null(find_entry(entries, count, "folder"));
    assert_null(find_entry(entries, count, ".hidden"));
    assert_null(find_entry(entries, count, "references"));
}

TEST_OF(every_listed_name_can_be_read, fixture *own, set_up, tear_down)
{
    make_paths(own, NULL, 0);
    for (int folder = 0; folder < ST_FOLDERS; folder++) {
        const st_path_entry *entries = NULL;
        size_t count = 0;
        assert_int_equal(
            st_paths_list(own->paths, (st_folder)folder, own->arena, &entries, &count, own->errors),
            ST_OK);
        assert_true(count > 0); /* the library brings some of each */
        for (size_t i = 0; i < count; i++) {
            st_source source;
            assert_int_equal(
                read_from(own, (st_folder)folder, entries[i].name, on_command_line, &source),
                ST_OK);
        }
    }
}

TEST_OF(validation_sources_are_folders_with_cases, fixture *own, set_up, tear_down)
{
    const st_path_entry *entries = NULL;
    size_t count = 0;
    write_text(own, "validation/full/cases.yaml", "x");
    write_text(own, "validation/void/SOURCE.md", "x");
    write_text(own, "validation/file.yaml", "x");
    assert_int_equal(
        st_paths_list(own->paths, ST_FOLDER_VALIDATION, own->arena, &entries, &count, own->errors),
        ST_OK);
    assert_non_null(find_entry(entries, count, "full"));
    assert_null(find_entry(entries, count, "void"));
    assert_null(find_entry(entries, count, "file"));
}

/* Hidden ones, and those with what a terminal acts on. */
TEST_WITH(names_that_nobody_types_are_not_listed, set_up, tear_down)
{
    static const struct {
        const char *name;
        bool listed;
    } cases[] = {{"zz-plain", true},
                 {".zz-hidden", false},
                 {"zz\x07"
                  "bell",
                  false},
                 {"zz\xC3\xBC", true},
                 {"zz\xC3", false},
                 {"zz\xE2\x80\xAE", false},
                 {"zz.point", true},
                 {"zz with blanks", true}};
    fixture *own = *state;
    const st_path_entry *entries = NULL;
    size_t count = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        write_text(own, st_arena_printf(own->arena, "configs/gpus/%s.yaml", cases[i].name), "x");
    assert_int_equal(
        st_paths_list(own->paths, ST_FOLDER_GPUS, own->arena, &entries, &count, own->errors),
        ST_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if ((find_entry(entries, count, cases[i].name) != NULL) != cases[i].listed)
            fail_msg("%s", cases[i].name);
}

TEST_OF(folders_with_too_many_files_are_refused, fixture *own, set_up, tear_down)
{
    const st_path_entry *entries = NULL;
    size_t count = 0;
    write_text(own, "configs/gpus/g.yaml", "x");
    for (int i = 0; i < 10000; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "%s/configs/gpus/g%d.yaml", own->folder, i);
        assert_int_equal(link(below(own, "configs/gpus/g.yaml"), path), 0);
    }
    assert_int_equal(
        st_paths_list(own->paths, ST_FOLDER_GPUS, own->arena, &entries, &count, own->errors),
        ST_ERR_LIMIT);
    assert_string_equal(said(own), "error: more than 10000 files in 'configs/gpus' over all roots "
                                   "of the search path\n");
    assert_reads(own, ST_FOLDER_GPUS, "g77", "x"); /* reading does not need the list */
}

TEST_OF(sheets_are_read_over_the_search_path, fixture *own, set_up, tear_down)
{
    st_source source;
    write_text(own, "formulas/s.yaml", "of s");
    write_text(own, "formulas/t.yaml", "of t");
    st_sheet_reader reader = st_paths_sheet_reader(own->paths);
    assert_int_equal(
        reader.read(reader.context, "s", on_command_line, own->arena, &source, own->errors), ST_OK);
    assert_string_equal(source.text, "of s");
    const st_place place = {source.file, 2, 3};
    assert_int_equal(
        reader.read(reader.context, "./t.yaml", place, own->arena, &source, own->errors), ST_OK);
    assert_string_equal(source.text, "of t");
}

TEST_OF(paths_work_without_a_list_of_errors, fixture *own, set_up, tear_down)
{
    st_source source;
    st_paths *paths = NULL;
    const char *missing = below(own, "missing");
    assert_int_equal(st_paths_create(&missing, 1, &paths, NULL), ST_ERR_IO);
    assert_int_equal(st_paths_read(own->paths, ST_FOLDER_JOBS, "qqq", on_command_line, own->arena,
                                   &source, NULL),
                     ST_ERR_NAME);
    assert_int_equal(st_paths_read(own->paths, ST_FOLDER_JOBS, "/tmp", on_command_line, own->arena,
                                   &source, NULL),
                     ST_ERR_IO);
    st_paths_destroy(NULL);
}

TESTS(paths);

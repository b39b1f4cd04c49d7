/* SPDX-License-Identifier: Apache-2.0 */
/* Names of another kind than the one that is asked for, and the files of a folder. */
#include "job_support.h"

#include "job/files.h"

/* Two clusters have the GPU 'zz-gpu', one by what its own is based on, and one has another. */
static void write_configs(const fixture *own)
{
    write_text(own, "configs/models/zz-model.yaml", "layers: 37\n");
    write_text(own, "configs/clusters/zz-b.yaml", "gpu: {base: zz-gpu, memory: 24 GiB}\n");
    write_text(own, "configs/clusters/zz-a.yaml", "nodes: 3\ngpu: zz-gpu\n");
    write_text(own, "configs/clusters/zz-other.yaml", "gpu: zz-lone\n");
    write_text(own, "configs/clusters/zz-none.yaml", "nodes: 3\n");
    write_text(own, "configs/gpus/zz-gpu.yaml", "memory: 24 GiB\n");
    write_text(own, "configs/gpus/zz-bare.yaml", "memory: 24 GiB\n");
    write_text(own, "configs/jobs/zz-job.yaml", "name: sound\n");
    write_text(own, "formulas/zz-sheet.yaml", "sheet: zz-sheet\n");
}

TEST_WITH(what_was_meant_is_told, set_up, tear_down)
{
    static const struct {
        st_folder wanted;
        const char *name;
        const char *expected;
    } cases[] = {
        {ST_FOLDER_JOBS, "zz-model",
         "zz-model is a model: steptime estimate --model zz-model --cluster dgx-h100 --gpus 64"},
        {ST_FOLDER_JOBS, "zz-a",
         "zz-a is a cluster: steptime estimate --model llama3-70b --cluster zz-a --gpus 64"},
        {ST_FOLDER_MODELS, "zz-a", "zz-a is a cluster"},
        {ST_FOLDER_CLUSTERS, "zz-model", "zz-model is a model"},
        {ST_FOLDER_JOBS, "zz-gpu", "zz-gpu is a GPU; clusters with it: zz-a, zz-b"},
        {ST_FOLDER_CLUSTERS, "zz-gpu", "zz-gpu is a GPU; clusters with it: zz-a, zz-b"},
        {ST_FOLDER_MODELS, "zz-gpu", "zz-gpu is a GPU"},
        {ST_FOLDER_JOBS, "zz-bare", "zz-bare is a GPU"},
        {ST_FOLDER_SHEETS, "zz-job", "zz-job is a job"},
        {ST_FOLDER_JOBS, "zz-sheet", "zz-sheet is a sheet"},
        {ST_FOLDER_JOBS, "zz-job", NULL}, /* it is what is wanted */
        {ST_FOLDER_MODELS, "zz-model", NULL},
        {ST_FOLDER_JOBS, "zz-nothing", NULL},
    };
    fixture *own = *state;
    write_configs(own);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text =
            st_wrong_kind_hint(own->paths, cases[i].wanted, cases[i].name, own->arena, own->errors);
        if ((text == NULL) != (cases[i].expected == NULL) ||
            (text != NULL && strcmp(text, cases[i].expected) != 0))
            fail_msg("%s: %s", cases[i].name, text != NULL ? text : "nothing");
    }
}

/* Six clusters are shown, and that there are more. */
TEST_OF(only_some_clusters_are_shown, fixture *own, set_up, tear_down)
{
    write_text(own, "configs/gpus/zz-gpu.yaml", "memory: 24 GiB\n");
    for (int i = 1; i <= 7; i++) {
        const char *name = st_arena_printf(own->arena, "configs/clusters/zz-%d.yaml", i);
        write_text(own, name, "gpu: zz-gpu\n");
        if (i < 6)
            continue;
        const char *text =
            st_wrong_kind_hint(own->paths, ST_FOLDER_JOBS, "zz-gpu", own->arena, own->errors);
        assert_string_equal(text, i == 6 ? "zz-gpu is a GPU; clusters with it: zz-1, zz-2, zz-3, "
                                           "zz-4, zz-5, zz-6"
                                         : "zz-gpu is a GPU; clusters with it: zz-1, zz-2, zz-3, "
                                           "zz-4, zz-5, zz-6, ...");
    }
}

/* ---- folders --------------------------------------------------------------------------------- */

TEST_WITH(files_of_a_folder_are_told_by_their_endings, set_up, tear_down)
{
    static const char *const endings[] = {".csv", ".tsv", NULL};
    static const char *const expected[] = {"all/a.tsv", "all/b.csv", "all/c.csv"};
    fixture *own = *state;
    const char *const *files = NULL;
    size_t count = 0;
    write_text(own, "all/c.csv", "x\n");
    write_text(own, "all/b.csv", "x\n");
    write_text(own, "all/a.tsv", "x\n");
    write_text(own, "all/d.txt", "x\n");
    write_text(own, "all/.e.csv", "x\n");
    write_text(own, "all/folder.csv/f.csv", "x\n");
    for (int slash = 0; slash < 2; slash++) {
        const char *folder = below(own, slash ? "all/" : "all");
        assert_int_equal(
            st_files_of_folder(folder, endings, own->arena, &files, &count, own->errors), ST_OK);
        assert_int_equal(count, 3);
        for (size_t i = 0; i < count; i++)
            assert_string_equal(files[i], below(own, expected[i]));
    }
    assert_int_equal(
        st_files_of_folder(below(own, "all"), endings + 1, own->arena, &files, &count, own->errors),
        ST_OK);
    assert_int_equal(count, 1);
    assert_true(st_file_is_folder(below(own, "all")));
    assert_false(st_file_is_folder(below(own, "all/c.csv")));
    assert_false(st_file_is_folder(below(own, "none")));
}

TEST_WITH(folders_without_such_files_are_errors, set_up, tear_down)
{
    static const char *const endings[] = {".csv", NULL};
    fixture *own = *state;
    const char *const *files = NULL;
    size_t count = 0;
    write_text(own, "bare/d.txt", "x\n");
    assert_int_equal(
        st_files_of_folder(below(own, "bare"), endings, own->arena, &files, &count, own->errors),
        ST_ERR_IO);
    assert_string_equal(said(own), "@/bare: error: the folder has no file that can hold a table\n");
    assert_int_equal(
        st_files_of_folder(below(own, "none"), endings, own->arena, &files, &count, own->errors),
        ST_ERR_IO);
    assert_string_equal(said(own),
                        "@/none: error: cannot read the folder: No such file or directory\n");
}

TESTS(mistaken);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images of sheets: each is what reading the library's texts gives, word by word, and stands for
 * its sheet only where those texts are what the search path has.
 */
#include "job_support.h"

#include "base/yaml.h"
#include "sheet/pack.h"

enum { MOST_FILES = 64 };

static st_source source_of(fixture *own, const char *name)
{
    st_source source = {0};
    assert_int_equal(st_paths_read(own->paths, ST_FOLDER_SHEETS, name, (st_place){0}, own->arena,
                                   &source, own->errors),
                     ST_OK);
    return source;
}

/* The search path has no folder of tests/mutate.py. */
static void use_own_texts(fixture *own)
{
    const char *folders[] = {own->folder};
    st_paths_destroy(own->paths);
    own->paths = NULL;
    unsetenv("STEPTIME_PATH");
    assert_int_equal(st_paths_create(folders, 1, &own->paths, own->errors), ST_OK);
}

static void assert_same_image(const st_packed *packed, const st_sheet_image *kept)
{
    const st_sheet_image *made = &packed->image;
    assert_int_equal(made->fixed_count, kept->fixed_count);
    for (size_t i = 0; i < kept->fixed_count; i++)
        assert_int_equal(made->fixed[i].number,
                         kept->fixed[i].number -
                             (packed->points[i] ? (uintptr_t)kept->fixed : (uintptr_t)0));
    assert_ptr_equal(kept->words, kept->fixed + kept->fixed_count);
    assert_int_equal(made->copied, kept->copied);
    assert_int_equal(made->word_count, kept->word_count);
    assert_memory_equal(made->words, kept->words, kept->word_count * sizeof kept->words[0]);
    for (size_t i = 0; i < ST_IMAGE_STEPS; i++) {
        const st_image_steps *steps = &kept->steps[i];
        assert_int_equal(made->steps[i].count, steps->count);
        assert_memory_equal(made->steps[i].items, steps->items,
                            steps->count * sizeof *steps->items);
    }
    assert_int_equal(made->text_count, kept->text_count);
    assert_memory_equal(made->texts, kept->texts, kept->text_count * sizeof kept->texts[0]);
}

static void images_are_what_reading_gives(void **state)
{
    fixture *own = *state;
    use_own_texts(own);
    const st_sheet_reader reader = st_paths_sheet_reader(own->paths);
    for (size_t i = 0; i < st_sheet_image_count; i++) {
        const st_sheet_image *image = &st_sheet_images[i];
        st_source sources[MOST_FILES];
        const st_sheet *sheet = NULL;
        assert_true(image->file_count <= MOST_FILES);
        for (size_t k = 0; k < image->file_count; k++)
            sources[k] = source_of(own, image->files[k].name);
        assert_int_equal(st_sheet_read(&reader, &sources[0], own->arena, &sheet, own->errors),
                         ST_OK);
        const st_packed *made =
            st_sheet_pack(sheet, image->files, sources, image->file_count, own->arena);
        assert_non_null(made);
        assert_same_image(made, image);
        assert_string_equal(said(own), "");
    }
}

static const st_sheet *from_image(fixture *own, const char *name)
{
    const st_sheet_reader reader = st_paths_sheet_reader(own->paths);
    const st_source root = source_of(own, name);
    return st_sheet_from_image(&reader, &root, own->arena);
}

static void whole_sheets_have_images(void **state)
{
    fixture *own = *state;
    use_own_texts(own);
    const st_sheet *sheet = from_image(own, "megatron");
    if (st_sheet_image_count == 0)
        skip(); /* built for another machine */
    assert_non_null(sheet);
    assert_string_equal(st_sheet_name(sheet), "megatron");
    const st_sheet_cell *cell = st_sheet_find_cell(sheet, "step_time");
    assert_non_null(cell);
    assert_string_equal(cell->type.unit.text, "s");
    /* Parts of others have none. */
    assert_null(from_image(own, "megatron-plan"));
}

/* A file of the user's stands for the library's of the same name, wherever it is included. */
static void files_on_the_path_are_read(void **state)
{
    static const char name[] = "megatron-overlap";
    fixture *own = *state;
    use_own_texts(own);
    const st_source part = source_of(own, name);
    const char *file = st_arena_printf(own->arena, "formulas/%s.yaml", name);
    write_bytes(own, file, part.text, part.length);
    assert_null(from_image(own, "megatron"));
    const st_sheet_reader reader = st_paths_sheet_reader(own->paths);
    const st_sheet *sheet = NULL;
    size_t count = 0;
    size_t own_cells = 0;
    assert_int_equal(st_sheet_load(&reader, "megatron", own->arena, &sheet, own->errors), ST_OK);
    const st_sheet_cell *cells = st_sheet_cells(sheet, &count);
    for (size_t i = 0; i < count; i++)
        own_cells += strcmp(cells[i].place.file, below(own, file)) == 0 ? 1 : 0;
    assert_true(own_cells > 0);
}

/* An error in a part of the user's is told, though the library has a good one. */
static void faults_on_the_path_are_told(void **state)
{
    fixture *own = *state;
    use_own_texts(own);
    write_text(own, "formulas/ddp.yaml",
               "sheet: ddp\n"
               "inputs:\n"
               "  V: {from: model.hidden, unit: MB, doc: d}\n"
               "cells:\n"
               "  T: {unit: s, is: 2.385*V, doc: d}\n");
    const st_sheet_reader reader = st_paths_sheet_reader(own->paths);
    const st_sheet *sheet = NULL;
    assert_int_equal(st_sheet_load(&reader, "ddp", own->arena, &sheet, own->errors), ST_ERR_UNIT);
    assert_string_equal(said(own),
                        "@/formulas/ddp.yaml:5:20: error: cell 'T' has the wrong unit: found "
                        "'2.385*V' (B), expected s\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(images_are_what_reading_gives, set_up, tear_down),
        cmocka_unit_test_setup_teardown(whole_sheets_have_images, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_on_the_path_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(faults_on_the_path_are_told, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

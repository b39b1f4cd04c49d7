/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build tool: reads and checks the sheets that the library carries and writes what they become into
 * one C file, as images (sheet/image.h). A sheet that others include has none of its own: jobs name
 * the whole ones.
 *
 *     pack-sheets OUTPUT.c
 */
#include "base/memory.h"
#include "job/embedded.h"
#include "job/files.h"
#include "sheet/pack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHEETS = 128, MOST_FILES = 64, WORDS_A_LINE = 16 };

static const char folder[] = "formulas/";
static const char ending[] = ".yaml";

/* A sheet with what it was read from, each file once. */
typedef struct reading {
    st_arena *arena;
    const st_sheet *sheet;
    st_image_file files[MOST_FILES];
    st_source sources[MOST_FILES];
    size_t count;
} reading;

static st_status read_file(void *context, const char *name, st_place place, st_arena *arena,
                           st_source *source, st_errors *errors)
{
    reading *own = context;
    const char *path = st_arena_printf(arena, "%s%s%s", folder, name, ending);
    if (path == NULL || own->count == MOST_FILES || !st_file_embedded(path, arena, source))
        return st_fail(errors, ST_ERR_IO, place, "there is no sheet '%s'", name);
    for (size_t i = 0; i < own->count; i++)
        if (strcmp(own->files[i].name, name) == 0)
            return ST_OK;
    own->sources[own->count] = *source;
    own->files[own->count++] =
        (st_image_file){.name = st_arena_copy(arena, name, strlen(name)), .file = source->file};
    return ST_OK;
}

static st_status load(reading *own, const char *path, st_errors *errors)
{
    const size_t length = strlen(path) - strlen(folder) - strlen(ending);
    const char *name = st_arena_copy(own->arena, path + strlen(folder), length);
    const st_sheet_reader reader = {.read = read_file, .context = own};
    return name == NULL ? st_out_of_memory(errors)
                        : st_sheet_load(&reader, name, own->arena, &own->sheet, errors);
}

static bool is_sheet(const char *path)
{
    size_t length = strlen(path);
    return strncmp(path, folder, strlen(folder)) == 0 && length > strlen(ending) &&
           strcmp(path + length - strlen(ending), ending) == 0;
}

static bool is_included(const reading *all, size_t count, const reading *one)
{
    bool found = false;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 1; k < all[i].count; k++)
            found = found || strcmp(all[i].files[k].file, one->files[0].file) == 0;
    return found;
}

/* --- the C file --------------------------------------------------------------------------------
 */

static void write_fixed(FILE *stream, const st_packed *packed, size_t index)
{
    const st_sheet_image *image = &packed->image;
    fprintf(
        stream,
        "static const struct {\nst_image_word fixed[%zu];\nuintptr_t words[%zu];\n} image_%zu = "
        "{{",
        image->fixed_count, image->word_count, index);
    for (size_t i = 0; i < image->fixed_count; i++)
        if (packed->points[i])
            fprintf(stream, "\n{.pointer = (const char *)&image_%zu + %" PRIuPTR "},", index,
                    image->fixed[i].number);
        else
            fprintf(stream, "{%" PRIuPTR "U},", image->fixed[i].number);
    fprintf(stream, "}, {");
}

static void write_image(FILE *stream, const st_packed *packed, size_t index)
{
    const st_sheet_image *image = &packed->image;
    write_fixed(stream, packed, index);
    for (size_t i = 0; i < image->word_count; i++)
        fprintf(stream, "%s%" PRIuPTR "%s", i % WORDS_A_LINE == 0 ? "\n" : "", image->words[i],
                image->words[i] > INT32_MAX ? "U," : ",");
    fprintf(stream, "}};\nstatic const uint16_t steps_%zu[] = {", index);
    for (size_t i = 0; i < image->step_count; i++)
        fprintf(stream, "%s%u,", i % WORDS_A_LINE == 0 ? "\n" : "", (unsigned)image->steps[i]);
    fprintf(stream, "};\nstatic const st_image_text texts_%zu[] = {\n", index);
    for (size_t i = 0; i < image->text_count; i++)
        fprintf(stream, "{%" PRIu32 ", %" PRIu32 "},\n", image->texts[i].word,
                image->texts[i].file);
    fprintf(stream, "{0, 0}};\nstatic const st_image_file files_%zu[] = {\n", index);
    for (size_t i = 0; i < image->file_count; i++)
        fprintf(stream, "{\"%s\", \"%s\"},\n", image->files[i].name, image->files[i].file);
    fprintf(stream, "};\n\n");
}

static void write_table(FILE *stream, const st_packed *const *images, size_t count)
{
    fprintf(stream, "const st_sheet_image st_sheet_images[] = {\n");
    for (size_t i = 0; i < count; i++) {
        const st_sheet_image *image = &images[i]->image;
        fprintf(stream, "{image_%zu.fixed, %zu, image_%zu.words, %zu, %zu, ", i, image->fixed_count,
                i, image->copied, image->word_count);
        fprintf(stream, "steps_%zu, %zu, texts_%zu, %zu, files_%zu, %zu},\n", i, image->step_count,
                i, image->text_count, i, image->file_count);
    }
    fprintf(stream, "};\nconst size_t st_sheet_image_count = %zu;\n", count);
}

static bool write_images(const char *path, const st_packed *const *images, size_t count)
{
    FILE *stream = fopen(path, "wb");
    if (stream == NULL) {
        fprintf(stderr, "pack-sheets: cannot write %s\n", path);
        return false;
    }
    fprintf(stream, "/* Generated by estimator/core/job/pack_sheets.c. */\n"
                    "#include \"sheet/image.h\"\n\n");
    for (size_t i = 0; i < count; i++)
        write_image(stream, images[i], i);
    write_table(stream, images, count);
    bool good = ferror(stream) == 0;
    good = fclose(stream) == 0 && good;
    if (!good)
        fprintf(stderr, "pack-sheets: cannot write %s\n", path);
    return good;
}

static bool pack_all(reading *all, size_t count, const char *path)
{
    const st_packed *images[MOST_SHEETS];
    size_t image_count = 0;
    for (size_t i = 0; i < count; i++) {
        reading *one = &all[i];
        if (is_included(all, count, one))
            continue;
        images[image_count] =
            st_sheet_pack(one->sheet, one->files, one->sources, one->count, one->arena);
        if (images[image_count++] == NULL) {
            fprintf(stderr, "pack-sheets: %s cannot be packed: see the tables of sheet/pack.c\n",
                    one->files[0].file);
            return false;
        }
    }
    return write_images(path, images, image_count);
}

int main(int argc, char **argv)
{
    int result = 1;
    st_errors *errors = st_errors_create();
    reading *all = calloc(MOST_SHEETS, sizeof *all);
    size_t count = 0;
    if (argc != 2 || errors == NULL || all == NULL) {
        fprintf(stderr, "usage: pack-sheets OUTPUT.c\n");
        goto cleanup;
    }
    for (size_t i = 0; i < st_embedded_count && count < MOST_SHEETS; i++) {
        if (!is_sheet(st_embedded_files[i].path))
            continue;
        reading *one = &all[count++];
        one->arena = st_arena_create();
        if (one->arena == NULL || load(one, st_embedded_files[i].path, errors) != ST_OK) {
            st_errors_write(errors, stderr);
            goto cleanup;
        }
    }
    result = pack_all(all, count, argv[1]) ? 0 : 1;
cleanup:
    for (size_t i = 0; i < count; i++)
        st_arena_destroy(all[i].arena);
    free(all);
    st_errors_destroy(errors);
    return result;
}

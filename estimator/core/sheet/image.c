/* SPDX-License-Identifier: Apache-2.0 */
/* From an image to a sheet: one copy, and the pointers. */
#include "sheet/image.h"

#include "sheet/internal.h"

#include <string.h>

/* Whether the reader gives the library's own text of each file; its sources are kept in `found`. */
static bool is_current(const st_sheet_image *image, const st_sheet_reader *reader,
                       const st_source *root, st_arena *arena, st_source *found)
{
    if (strcmp(image->files[0].file, root->file) != 0)
        return false;
    found[0] = *root;
    const st_place place = {.file = root->file, .line = 1, .column = 1};
    for (size_t i = 1; i < image->file_count; i++)
        if (reader->read(reader->context, image->files[i].name, place, arena, &found[i], NULL) !=
                ST_OK ||
            found[i].tree == NULL || strcmp(found[i].file, image->files[i].file) != 0)
            return false;
    return true;
}

/* Turns offsets into pointers. */
static void move(uintptr_t *word, const st_image_steps *steps, uintptr_t distance)
{
    for (size_t i = 0; i < steps->count; i++) {
        word += steps->items[i];
        *word += distance;
    }
}

const st_sheet *st_sheet_from_image(const st_sheet_reader *reader, const st_source *root,
                                    st_arena *arena)
{
    st_source files[ST_SHEET_MAX_INCLUDES];
    for (size_t i = 0; i < st_sheet_image_count && root->tree != NULL; i++) {
        const st_sheet_image *image = &st_sheet_images[i];
        if (image->file_count <= ST_SHEET_MAX_INCLUDES &&
            is_current(image, reader, root, arena, files)) {
            const size_t bytes = image->copied * sizeof(uintptr_t);
            uintptr_t *words = st_arena_alloc(arena, image->copied, sizeof *words);
            if (words == NULL)
                return NULL;
            memcpy(words, image->words, bytes);
            const uintptr_t first = image->fixed_count * sizeof(uintptr_t);
            move(words, &image->steps[ST_IMAGE_INSIDE], (uintptr_t)words - first);
            move(words, &image->steps[ST_IMAGE_OUTSIDE], (uintptr_t)image->fixed);
            for (size_t j = 0; j < image->text_count; j++)
                words[image->texts[j].word] = (uintptr_t)files[image->texts[j].file].text;
            return (const st_sheet *)(const void *)words;
        }
    }
    return NULL;
}

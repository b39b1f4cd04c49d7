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

/* The words of one list of steps, as far as they are pointers already. */
typedef struct mover {
    const st_image_steps *steps;
    uintptr_t distance;
    size_t done;
    size_t word; /* the next one, where any are left */
} mover;

static mover begin_moving(const st_image_steps *steps, uintptr_t distance)
{
    return (mover){steps, distance, 0, steps->count > 0 ? steps->items[0] : 0};
}

/* Turns the offsets before word `end` into pointers. */
static void move(mover *self, uintptr_t *words, size_t end)
{
    const st_image_steps *steps = self->steps;
    size_t word = self->word;
    size_t done = self->done;
    while (done < steps->count && word < end) {
        words[word] += self->distance;
        if (++done < steps->count)
            word += steps->items[done];
    }
    self->word = word;
    self->done = done;
}

/* Piece by piece, so that each is in the cache while its pointers are set. */
static void copy_words(const st_sheet_image *image, uintptr_t *words)
{
    enum { PIECE_WORDS = 256 };
    const uintptr_t first = image->fixed_count * sizeof(uintptr_t);
    mover inside = begin_moving(&image->steps[ST_IMAGE_INSIDE], (uintptr_t)words - first);
    mover outside = begin_moving(&image->steps[ST_IMAGE_OUTSIDE], (uintptr_t)image->fixed);
    for (size_t start = 0; start < image->copied; start += PIECE_WORDS) {
        const size_t left = image->copied - start;
        const size_t count = left < PIECE_WORDS ? left : PIECE_WORDS;
        memcpy(words + start, image->words + start, count * sizeof *words);
        move(&inside, words, start + count);
        move(&outside, words, start + count);
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
            uintptr_t *words = st_arena_alloc(arena, image->copied, sizeof *words);
            if (words == NULL)
                return NULL;
            copy_words(image, words);
            for (size_t j = 0; j < image->text_count; j++)
                words[image->texts[j].word] = (uintptr_t)files[image->texts[j].file].text;
            return (const st_sheet *)(const void *)words;
        }
    }
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs by their files' names and by the words of these; see gpus.h. */
#include "steptime/tool/gpus.h"

#include "base/chars.h"
#include "base/lists.h"

#include <stdio.h>
#include <string.h>

enum { MAX_WORDS = 12, WORD_BYTES = 24 };

typedef struct word_list {
    char words[MAX_WORDS][WORD_BYTES];
    size_t count;
} word_list;

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* False where there are too many words or too long ones to be a GPU's name. */
static bool split(const char *text, word_list *list)
{
    char word[WORD_BYTES];
    size_t length = 0;
    list->count = 0;
    for (;; text++) {
        char c = st_to_lower(*text);
        if (is_word(c) && length + 1 < WORD_BYTES) {
            word[length++] = c;
            continue;
        }
        if (is_word(c) || (length > 0 && list->count == MAX_WORDS))
            return false;
        word[length] = '\0';
        if (length > 0) {
            /* "SXM2" is the socket of its time and no other product. */
            if (strncmp(word, "sxm", 3) == 0 && strlen(word) == 4)
                word[3] = '\0';
            if (list->count < MAX_WORDS)
                memcpy(list->words[list->count++], word, strlen(word) + 1);
        }
        length = 0;
        if (c == '\0')
            return list->count > 0;
    }
}

/* The size in "80gb"; 0 where the word is none. */
static double size_of(const char *word)
{
    double size = 0;
    while (*word >= '0' && *word <= '9')
        size = size * 10 + (*word++ - '0');
    return strcmp(word, "gb") == 0 ? size : 0;
}

/* Every word of `name` is in `text`, and the rest of it names no other product. */
static bool fits(const word_list *text, const word_list *name, double *memory_gb)
{
    bool used[MAX_WORDS] = {false};
    *memory_gb = 0;
    for (size_t i = 0; i < name->count; i++) {
        bool found = false;
        for (size_t k = 0; k < text->count && !found; k++) {
            found = !used[k] && strcmp(text->words[k], name->words[i]) == 0;
            used[k] = used[k] || found;
        }
        if (!found)
            return false;
    }
    for (size_t k = 0; k < text->count; k++) {
        if (used[k] || strcmp(text->words[k], "sxm") == 0)
            continue;
        if (size_of(text->words[k]) == 0 || *memory_gb > 0)
            return false;
        *memory_gb = size_of(text->words[k]);
    }
    return true;
}

st_status st_gpus_list(const st_paths *paths, st_arena *arena, st_gpus *gpus, st_errors *errors)
{
    if (gpus->entries != NULL)
        return ST_OK;
    return st_paths_list(paths, ST_FOLDER_GPUS, arena, &gpus->entries, &gpus->count, errors);
}

const char *st_gpus_find(const st_gpus *gpus, const char *text, double *memory_gb)
{
    word_list words;
    double memory = 0;
    const char *found = NULL;
    for (size_t i = 0; i < gpus->count && found == NULL; i++)
        found = strcmp(gpus->entries[i].name, text) == 0 ? gpus->entries[i].name : NULL;
    if (found == NULL && split(text, &words)) {
        /* The name with the most words that fits. */
        const char *best = NULL;
        size_t best_words = 0;
        bool tie = false;
        for (size_t i = 0; i < gpus->count; i++) {
            word_list name;
            double fit_memory = 0;
            if (!split(gpus->entries[i].name, &name) || !fits(&words, &name, &fit_memory) ||
                name.count < best_words)
                continue;
            tie = name.count == best_words;
            best = gpus->entries[i].name;
            best_words = name.count;
            memory = fit_memory;
        }
        found = tie ? NULL : best;
    }
    if (memory_gb != NULL)
        *memory_gb = memory;
    return found;
}

/*
 * What ROCm calls a GPU by its architecture: one product, where others of it have no file (AMD,
 * ROCm "Accelerator and GPU hardware specifications"; gfx942 is the MI325X and MI300A as well,
 * which have their own names).
 */
static const char *const architectures[][2] = {
    {"gfx942", "mi300x"}, {"gfx950", "mi355x"}, {"mi325", "mi325x"}};

/* Words of a device's name that say no more than its maker and memory. */
static bool is_plain_word(const char *word, size_t length)
{
    static const char *const plain[] = {"nvidia",   "geforce", "tesla",     "hbm2",        "hbm2e",
                                        "hbm3",     "hbm3e",   "gpu",       "graphics",    "ac",
                                        "sxm6",     "server",  "blackwell", "edition",     "amd",
                                        "instinct", "oam",     "vf",        "accelerator", "dgxs"};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (strlen(plain[i]) == length && strncmp(plain[i], word, length) == 0)
            return true;
    return false;
}

/* The word of the product in place of that of its architecture, "gfx942:sramecc+:xnack-". */
static size_t product_word(char *word, size_t length)
{
    for (size_t i = 0; i < ST_COUNT(architectures); i++) {
        size_t end = strlen(architectures[i][0]);
        if (length < end || strncmp(word, architectures[i][0], end) != 0 ||
            (length > end && word[end] != ':'))
            continue;
        memcpy(word, architectures[i][1], strlen(architectures[i][1]));
        return strlen(architectures[i][1]);
    }
    return length;
}

const char *st_gpus_of_device(const st_gpus *gpus, const char *device)
{
    char name[128];
    char other[140];
    size_t used = 0;
    /* "NVIDIA H100 80GB HBM3 (x)" as "h100 80gb ", and "80 GB" as "80gb"; "MI250X/MI250" is the
     * first of them. */
    const char *gpu = device;
    const size_t size = sizeof name;
    size_t name_used = 0;
    while (*gpu != '\0' && *gpu != '(' && *gpu != '/') {
        size_t length = strcspn(gpu, " _(/");
        char word[64];
        const size_t lower_size = sizeof word;
        for (size_t i = 0; i < length && i < lower_size - 1; i++)
            word[i] = (char)(gpu[i] >= 'A' && gpu[i] <= 'Z' ? gpu[i] - 'A' + 'a' : gpu[i]);
        size_t named = product_word(word, length < sizeof word ? length : sizeof word - 1);
        if (named > 0 && length < sizeof word && !is_plain_word(word, named) &&
            name_used + named + 2 < size) {
            /* "gb" behind a number. */
            name_used -= name_used > 1 && named == 2 && strncmp(word, "gb", 2) == 0 &&
                                 name[name_used - 2] >= '0' && name[name_used - 2] <= '9'
                             ? 1
                             : 0;
            memcpy(name + name_used, word, named);
            name_used += named;
            name[name_used++] = ' ';
        }
        gpu += length + (gpu[length] == ' ' || gpu[length] == '_' ? 1 : 0);
    }
    name[name_used] = '\0';
    const char *found = st_gpus_find(gpus, name, NULL);
    if (found != NULL)
        return found;
    snprintf(other, sizeof other, "%ssxm", name);
    found = st_gpus_find(gpus, other, NULL);
    if (found != NULL)
        return found;
    for (size_t i = 0; name[i] != '\0'; i++) /* "rtx 4090" is "rtx4090" */
        if (name[i] != ' ')
            other[used++] = name[i];
    other[used] = '\0';
    return st_gpus_find(gpus, other, NULL);
}

/* The first word with a digit that is not a size of memory: "a100", "4090"; NULL: none. */
static const char *product_of(const word_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (strpbrk(list->words[i], "0123456789") != NULL && size_of(list->words[i]) == 0)
            return list->words[i];
    return NULL;
}

bool st_gpus_same(const st_gpus *gpus, const char *a, const char *b)
{
    const char *files[] = {st_gpus_of_device(gpus, a), st_gpus_of_device(gpus, b)};
    word_list words[2];
    if (files[0] != NULL && files[1] != NULL)
        return strcmp(files[0], files[1]) == 0;
    const char *products[] = {split(a, &words[0]) ? product_of(&words[0]) : NULL,
                              split(b, &words[1]) ? product_of(&words[1]) : NULL};
    return products[0] != NULL && products[1] != NULL ? strcmp(products[0], products[1]) == 0
                                                      : strcmp(a, b) == 0;
}

const char *st_gpus_nearest(const st_gpus *gpus, const char *text, st_errors *errors)
{
    const char *names[100];
    size_t count = gpus->count < 100 ? gpus->count : 100;
    const char *device = st_gpus_of_device(gpus, text); /* "H100" does not mean "a100" */
    for (size_t i = 0; i < count; i++)
        names[i] = gpus->entries[i].name;
    return device != NULL ? device : st_errors_nearest(errors, text, names, count);
}

st_status st_gpus_unknown(const st_gpus *gpus, const char *text, st_place place, st_errors *errors)
{
    return st_fail(errors, ST_ERR_NAME, place, "no file for the GPU '%.80s'" ST_HINT "%s", text,
                   st_gpus_nearest(gpus, text, errors));
}

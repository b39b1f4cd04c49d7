/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugins that a job or a command line asks for, from any bytes. The first part of the input is
 * what stands below `refine:`, the second what follows --refine, the third what --set says of their
 * options, a line each. What is accepted names each plugin once, and written as words again it
 * reads back.
 */
#include "fuzz.h"

#include "plugin/module.h"
#include "plugin/refine_parse.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PLUGINS = 32, MOST_OPTIONS = 1000, MOST_SETS = 8 };

static const st_paths *get_paths(void)
{
    static st_paths *paths;
    if (paths == NULL) {
        FUZZ_REQUIRE(st_paths_create(NULL, 0, &paths, NULL) == ST_OK);
    }
    return paths;
}

static void check_list(const st_refinement *list, size_t count)
{
    FUZZ_REQUIRE(count <= MOST_PLUGINS);
    for (size_t i = 0; i < count; i++) {
        FUZZ_REQUIRE(list[i].plugin != NULL && list[i].plugin[0] != '\0');
        FUZZ_REQUIRE(list[i].option_count <= MOST_OPTIONS);
        for (size_t k = 0; k < list[i].option_count; k++) {
            FUZZ_REQUIRE(list[i].options[k].name != NULL && list[i].options[k].text != NULL);
        }
        for (size_t k = 0; k < i; k++) {
            FUZZ_REQUIRE(strcmp(list[i].plugin, list[k].plugin) != 0);
        }
    }
}

/* ---- jobs ---- */

/* What counts in the end: the job's plugins, with options that were set beside them. */
static void check_used(const st_job *job, bool sets, st_arena *arena, st_errors *errors)
{
    st_refinements used = {0};
    st_result result = {0};
    size_t count = 0;
    const st_refinement *list = st_job_refinements(job, &count);
    st_status status = st_refine_for(get_paths(), job, &(st_words){NULL, 0}, arena, &used, errors);
    fuzz_check_errors(status, errors);
    FUZZ_REQUIRE(status == ST_OK || sets);
    if (status == ST_OK) {
        st_refine_put(&used, st_result_begin(&result, arena));
        FUZZ_REQUIRE(used.count == count);
        check_list(used.items, count);
    }
    check_list(list, count);
    for (size_t i = 0; i < count; i++) {
        FUZZ_REQUIRE(st_plugin_is_id(list[i].plugin));
    }
}

/* Lines of a part, as texts of their own. */
static size_t split_lines(const fuzz_part *part, st_arena *arena, const char *lines[MOST_SETS])
{
    size_t count = 0;
    const char *at = part->text;
    const char *end = part->text + part->length;
    while (at < end && count < MOST_SETS) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((line_end != NULL ? line_end : end) - at);
        lines[count] = st_arena_copy(arena, at, strnlen(at, length));
        FUZZ_REQUIRE(lines[count] != NULL);
        count++;
        at += length + 1;
    }
    return count;
}

static void read_job(const fuzz_part *part, const fuzz_part *sets, st_arena *arena,
                     st_errors *errors)
{
    const char *lines[MOST_SETS];
    size_t line_count = sets != NULL ? split_lines(sets, arena, lines) : 0;
    char path[] = "/tmp/steptime-fuzz-XXXXXX";
    int file = mkstemp(path);
    const st_job *job = NULL;
    FUZZ_REQUIRE(file >= 0);
    FUZZ_REQUIRE(write(file, "refine:", 7) == 7);
    FUZZ_REQUIRE(write(file, part->text, part->length) == (ssize_t)part->length);
    FUZZ_REQUIRE(close(file) == 0);
    st_status status = st_job_load(get_paths(), path, lines, line_count, arena, &job, errors);
    FUZZ_REQUIRE(unlink(path) == 0);
    fuzz_check_errors(status, errors);
    if (status == ST_OK) {
        check_used(job, line_count > 0, arena, errors);
    }
}

/* ---- words ---- */

static void add_escaped(const char *text, const char *special, st_buffer *words)
{
    for (; *text != '\0'; text++) {
        if (strchr(special, *text) != NULL) {
            st_buffer_append(words, "\\", 1);
        }
        st_buffer_append(words, text, 1);
    }
}

static void write_words(const st_refinement *entry, st_buffer *words)
{
    add_escaped(entry->plugin, ":+|\\", words);
    st_buffer_printf(words, ":fallback=%s", entry->fallback ? "formula" : "error");
    if (entry->profile != NULL) {
        st_buffer_text(words, ",profile=");
        add_escaped(entry->profile, ",+|\\", words);
    }
    for (size_t i = 0; i < entry->option_count; i++) {
        st_buffer_text(words, ",");
        add_escaped(entry->options[i].name, ",+|\\", words);
        st_buffer_text(words, "=");
        add_escaped(entry->options[i].text, ",+|\\", words);
    }
}

static void check_same(const st_refinement *a, const st_refinement *b)
{
    FUZZ_REQUIRE(strcmp(a->plugin, b->plugin) == 0 && a->fallback == b->fallback);
    FUZZ_REQUIRE((a->profile == NULL) == (b->profile == NULL));
    FUZZ_REQUIRE(a->profile == NULL || strcmp(a->profile, b->profile) == 0);
    FUZZ_REQUIRE(a->option_count == b->option_count);
    for (size_t i = 0; i < a->option_count; i++) {
        FUZZ_REQUIRE(strcmp(a->options[i].name, b->options[i].name) == 0);
        FUZZ_REQUIRE(strcmp(a->options[i].text, b->options[i].text) == 0);
    }
}

static void read_words(const char *text, st_arena *arena, st_errors *errors)
{
    const st_refinement *list = NULL;
    size_t count = 0;
    st_status status =
        st_refine_parse(get_paths(), &(st_words){&text, 1}, arena, &list, &count, errors);
    fuzz_check_errors(status, errors);
    if (status != ST_OK) {
        return;
    }
    check_list(list, count);
    for (size_t i = 0; i < count; i++) {
        const st_refinement *again = NULL;
        size_t again_count = 0;
        st_buffer words = {0};
        write_words(&list[i], &words);
        FUZZ_REQUIRE(!words.failed);
        const char *written = words.data;
        FUZZ_REQUIRE(st_refine_parse(get_paths(), &(st_words){&written, 1}, arena, &again,
                                     &again_count, errors) == ST_OK);
        FUZZ_REQUIRE(again_count == 1);
        check_same(&list[i], &again[0]);
        const char *shown = st_refine_text(&list[i], arena);
        FUZZ_REQUIRE(shown != NULL);
        FUZZ_REQUIRE(st_refine_parse(get_paths(), &(st_words){&shown, 1}, arena, &again,
                                     &again_count, errors) == ST_OK);
        FUZZ_REQUIRE(again_count == 1);
        check_same(&list[i], &again[0]);
        st_buffer_free(&words);
    }
}

static void read_columns(const char *text, st_arena *arena, st_errors *errors)
{
    const char *const *columns = NULL;
    size_t count = 0;
    st_status status = st_refine_columns(text, arena, &columns, &count, errors);
    fuzz_check_errors(status, errors);
    st_errors_clear(errors);
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        FUZZ_REQUIRE(columns[i][0] != '\0');
        read_words(columns[i], arena, errors);
        st_errors_clear(errors);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_part parts[FUZZ_PARTS];
    st_errors *errors = st_errors_create();
    st_arena *arena = st_arena_create();
    FUZZ_REQUIRE(errors != NULL && arena != NULL);
    size_t count = fuzz_split(data, size, parts);
    read_job(&parts[0], count > 2 ? &parts[2] : NULL, arena, errors);
    st_errors_clear(errors);
    if (count > 1) {
        const char *text =
            st_arena_copy(arena, parts[1].text, strnlen(parts[1].text, parts[1].length));
        FUZZ_REQUIRE(text != NULL);
        read_columns(text, arena, errors);
    }
    st_arena_destroy(arena);
    st_errors_destroy(errors);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steptime page: the page that the build made (estimator/page), with a job, a sheet and lessons of
 * the user's own inside.
 */
#include "cli/verbs.h"

#include "steptime/tool/job_write.h"
#include "steptime/tool/input_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, MOST_LESSONS = 50 };

/* What the build left for this: see build.mjs. */
static const char slot[] = "<script id=\"own\" type=\"application/json\">{}</script>";

typedef struct page_options {
    const char *job;
    const char *lessons;
} page_options;

static const cli_option option_rows[] = {
    CLI_TEXT(page_options, job, "job", "NAME|FILE", "the job that the page opens with",
             .word = CLI_WORD_JOB),
    CLI_TEXT(page_options, lessons, "lessons", "DIR",
             "add the lessons of this folder, files *.md, in front of those that steptime brings",
             .word = CLI_WORD_FOLDER),
    CLI_ROW_SHEET,
    CLI_ROW_PATH,
    CLI_ROW_OUTPUT,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime page -o steptime.html", "a live sheet for the browser, in one file"},
    {"steptime page --job my-job.yaml --sheet mine.yaml -o mine.html",
     "the same, open at a job and a sheet of your own"},
    {"steptime page --lessons course -o course.html", "with lessons of your own"},
    {NULL, NULL},
};

/* In a build tree ./dev page leaves it next to the build; an installed one is with the data. */
static st_status read_page(cli_run *run, st_buffer *page)
{
    static const char *const places[] = {"/../../../build-page/steptime.html",
                                         "/../share/steptime/steptime.html",
                                         STEPTIME_PAGES "/steptime.html"};
    char self[PATH_BYTES] = "";
    char path[PATH_BYTES];
    char block[BUFSIZ];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash = length > 0 ? strrchr(self, '/') : NULL;
    FILE *file = NULL;
    if (slash != NULL)
        *slash = '\0';
    for (size_t i = 0; i < ST_COUNT(places) && file == NULL; i++) {
        const bool is_relative = i + 1 < ST_COUNT(places);
        if (snprintf(path, sizeof path, "%s%s", is_relative ? self : "", places[i]) <
            (int)sizeof path)
            file = fopen(path, "rb");
    }
    if (file == NULL)
        return st_fail(run->errors, ST_ERR_IO, (st_place){0},
                       "steptime was built without the page" ST_HINT
                       "run './dev page' in its source folder");
    for (size_t bytes = 1; bytes > 0;) {
        bytes = fread(block, 1, sizeof block, file);
        st_buffer_append(page, block, bytes);
    }
    const int fault = ferror(file) != 0 ? errno : 0;
    (void)fclose(file);
    if (fault != 0)
        return st_fail(run->errors, ST_ERR_IO, (st_place){.file = path}, "cannot read: %s",
                       strerror(fault));
    return ST_OK;
}

/* A shipped job by name, any other as a file that needs no other. */
static st_status put_job(cli_run *run, const char *name, st_node *own)
{
    const st_job *job = NULL;
    st_buffer text = {0};
    st_status status =
        st_job_load_for(run->paths, &(st_job_parts){.name = name, .sheet = run->common.sheet},
                        run->arena, &job, run->errors);
    if (status != ST_OK)
        return status;
    if (strncmp(st_job_file(job), "job ", 4) == 0) {
        st_put_text(own, "job", name);
        return ST_OK;
    }
    status = st_job_write(&(st_job_writing){.job = job}, run->arena, &text, run->errors);
    st_put_buffer(own, "text", &text);
    return status;
}

/* A sheet is checked before it travels; one that includes others of the user's own cannot. */
typedef struct watched_reader {
    st_sheet_reader inner;
    st_source first;
    const char *other; /* a second file of the user's own; NULL: none */
} watched_reader;

static st_status read_watched(void *context, const char *name, st_place place, st_arena *arena,
                              st_source *source, st_errors *errors)
{
    watched_reader *self = context;
    st_status status = self->inner.read(self->inner.context, name, place, arena, source, errors);
    if (status != ST_OK)
        return status;
    if (self->first.text == NULL)
        self->first = *source;
    else if (st_name_is_path(name) && self->other == NULL)
        self->other = source->file;
    return status;
}

static st_status put_sheet(cli_run *run, st_node *own)
{
    const st_sheet *sheet = NULL;
    const st_sheet_reader inner = st_paths_sheet_reader(run->paths);
    watched_reader watched = {.inner = inner};
    const st_sheet_reader reader = {.read = read_watched, .context = &watched};
    st_status status = st_sheet_load(&reader, run->common.sheet, run->arena, &sheet, run->errors);
    if (status == ST_OK && watched.other != NULL)
        return st_fail(run->errors, ST_ERR_VALUE, (st_place){.file = watched.first.file},
                       "a page holds one sheet of your own" ST_FOUND "it includes %s" ST_HINT
                       "put both into one file",
                       watched.other);
    if (status == ST_OK)
        st_put_text(own, "sheet", watched.first.text);
    return status;
}

static st_status put_lessons(cli_run *run, const char *folder, st_node *own)
{
    static const char *const endings[] = {".md", NULL};
    const char *const *files = NULL;
    size_t count = 0;
    st_status status = st_files_of_folder(folder, endings, run->arena, &files, &count, run->errors);
    if (status == ST_OK && count > MOST_LESSONS)
        status = st_fail(run->errors, ST_ERR_LIMIT, (st_place){.file = folder},
                         "too many lessons" ST_FOUND "%zu" ST_EXPECTED "at most %d", count,
                         MOST_LESSONS);
    st_node *list = st_put_list(own, "lessons");
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        st_source source;
        status = st_file_read(files[i], (st_place){0}, run->arena, &source, run->errors);
        if (status == ST_OK) {
            st_node *lesson = st_put_map(list, NULL);
            st_put_text(lesson, "name", files[i]);
            st_put_text(lesson, "text", source.text);
        }
    }
    return status;
}

/* Data in a page: no text of it can end its element. */
static void append_data(st_buffer *result, const st_buffer *json)
{
    for (size_t i = 0; i < json->length; i++) {
        if (json->data[i] == '<')
            st_buffer_text(result, "\\u003c");
        else
            st_buffer_append(result, json->data + i, 1);
    }
}

static int run_page(cli_run *run)
{
    const page_options *options = run->options;
    st_result own;
    st_node *root = st_result_begin_plain(&own, run->arena);
    st_buffer page = {0};
    st_buffer json = {0};
    st_status status = cli_paths(run);
    if (status == ST_OK)
        status = read_page(run, &page);
    if (status == ST_OK && options->job != NULL)
        status = put_job(run, options->job, root);
    if (status == ST_OK && run->common.sheet != NULL)
        status = put_sheet(run, root);
    if (status == ST_OK && options->lessons != NULL)
        status = put_lessons(run, options->lessons, root);
    const char *whole = status == ST_OK ? st_buffer_read(&page) : NULL;
    const char *at = whole != NULL ? strstr(whole, slot) : NULL;
    if (status == ST_OK && at == NULL)
        status = st_fail(run->errors, ST_ERR_VALUE, (st_place){0},
                         "the page is one of another release" ST_HINT "run './dev page' again");
    if (status == ST_OK && at != NULL) {
        const size_t before = (size_t)(at - whole) + strcspn(at, "{");
        const size_t after = before + strlen("{}");
        st_result_write_json(&own, &json);
        st_buffer_append(&run->result, whole, before);
        append_data(&run->result, &json);
        st_buffer_append(&run->result, whole + after, page.length - after);
        run->result.failed = run->result.failed || json.failed || page.failed;
    }
    st_buffer_free(&json);
    st_buffer_free(&page);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_page = {
    .name = "page",
    .arguments = "",
    .summary = "write a page for the browser that estimates while you type",
    .doc =
        "Writes one HTML file that works offline, from disk: all sheets and configurations, and "
        "steptime itself in WebAssembly. Change an input and every number follows; click a number "
        "to see how it is computed; edit a formula, sweep, search, compare, share by a link. "
        "docs/page.md describes the page and the format of lessons.",
    .examples = examples,
    CLI_OPTIONS(option_rows, page_options),
    .run = run_page,
};

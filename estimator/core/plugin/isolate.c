/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugins in processes of their own (--isolate). One process loads the plugin, describes it and
 * ends; each instance is another one, which opens the plugin and answers calls over shared memory
 * (remote.h). This process never has the plugin's code. What comes back is verified as what a
 * plugin in this process says is: descriptor, values, terms and texts.
 */
#include "plugin/isolate_answer.h"
#include "plugin/offered.h"

#include "job/files.h"
#include "plugin/child.h"
#include "plugin/namespaces.h"
#include "plugin/remote.h"
#include "plugin/ipc.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIMIT_MS = 10000, LOAD_LIMIT_MS = 5000, MEMORY_LIMIT_MIB = 8192 };

static const size_t memory_limit = (size_t)MEMORY_LIMIT_MIB * 1024 * 1024;

/* ---- in the process of the plugin ------------------------------------------------------------ */

typedef struct visit {
    const st_paths *paths;
    const char *file;
    const st_plugin_given *given; /* to open it */
    size_t given_count;
    st_plugin_instance *instance;
} visit;

/* The first error of a list; never NULL. */
static const char *first_error(const st_errors *errors)
{
    for (size_t i = 0; errors != NULL && i < st_errors_size(errors); i++)
        if (st_errors_at(errors, i)->severity == ST_SEVERITY_ERROR)
            return st_errors_at(errors, i)->message;
    return "out of memory";
}

/* "+" and the descriptor, or "-" and the reason. */
static void describe(void *context, st_buffer *answer)
{
    const visit *request = context;
    const st_plugin_module *module = NULL;
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    if (arena != NULL && errors != NULL &&
        st_plugin_load_here(request->paths, request->file, (st_place){0}, arena, &module, errors) ==
            ST_OK) {
        st_ipc_write(answer, "+");
        st_isolate_put(st_plugin_descriptor(module), answer);
    } else {
        st_ipc_write(answer, "-");
        st_ipc_write(answer, first_error(errors));
    }
    st_arena_destroy(arena);
    st_errors_destroy(errors);
}

static int open_there(void *context, st_remote_lane *lane)
{
    visit *request = context;
    const st_plugin_module *module = NULL;
    st_arena *arena = st_arena_create(); /* as long as the process */
    st_errors *errors = st_errors_create();
    st_status status = arena != NULL && errors != NULL ? ST_OK : ST_ERR_MEMORY;
    if (status == ST_OK)
        status = st_plugin_load_here(request->paths, request->file, (st_place){0}, arena, &module,
                                     errors);
    if (status == ST_OK)
        status = st_plugin_open(module, request->given, request->given_count, (st_place){0},
                                &request->instance, errors);
    if (status != ST_OK)
        (void)snprintf(lane->text, sizeof lane->text, "%s", first_error(errors));
    return status == ST_OK ? 0 : -1;
}

static void serve_there(void *context, st_remote_lane *lane)
{
    const visit *request = context;
    st_isolate_serve(request->instance, lane);
}

/* ---- in this process ------------------------------------------------------------------------- */

/* Texts that follow each other stay apart. */
static void write_text(st_buffer *to, const char *text)
{
    st_buffer_printf(to, "%zu:%s ", text != NULL ? strlen(text) : SIZE_MAX,
                     text != NULL ? text : "");
}

/* Which file it is, as it is now. */
static void write_identity(st_buffer *to, const char *file)
{
    struct stat found = {0};
    (void)stat(file, &found);
    write_text(to, file);
    st_buffer_printf(to, "%ju %ju %jd %jd.%ld ", (uintmax_t)found.st_dev, (uintmax_t)found.st_ino,
                     (intmax_t)found.st_size, (intmax_t)found.st_mtim.tv_sec,
                     found.st_mtim.tv_nsec);
}

/* What plugins said of themselves, by their files, for those that are loaded again. */
typedef struct description {
    char *identity;
    char *text;
    size_t length;
} description;

enum { MOST_DESCRIPTIONS = 64 };
static pthread_mutex_t described_lock = PTHREAD_MUTEX_INITIALIZER;
static description described[MOST_DESCRIPTIONS];
static size_t described_count;

/* The text in the arena; NULL where the file was not described as it is now. */
static const char *find_description(const char *identity, st_arena *arena, size_t *length)
{
    const char *found = NULL;
    (void)pthread_mutex_lock(&described_lock);
    for (size_t i = 0; i < described_count && found == NULL; i++)
        if (strcmp(described[i].identity, identity) == 0) {
            *length = described[i].length;
            found = st_arena_copy(arena, described[i].text, *length);
        }
    (void)pthread_mutex_unlock(&described_lock);
    return found;
}

static void keep_description(const char *identity, const char *text, size_t length)
{
    description made = {.identity = strdup(identity), .text = malloc(length + 1), .length = length};
    const bool has_memory = made.identity != NULL && made.text != NULL;
    if (has_memory)
        memcpy(made.text, text, length);
    (void)pthread_mutex_lock(&described_lock);
    const bool is_kept = has_memory && described_count < MOST_DESCRIPTIONS;
    if (is_kept)
        described[described_count++] = made;
    (void)pthread_mutex_unlock(&described_lock);
    if (!is_kept) {
        free(made.identity);
        free(made.text);
    }
}

/*
 * A search opens a plugin for each plan that it replays: all of them share one process, with the
 * same file and options on the same search path. A process that was forked has its own.
 */
static void write_key(st_buffer *to, const st_plugin_module *module, const st_plugin_given *given,
                      size_t count)
{
    write_identity(to, module->file);
    st_buffer_printf(to, "%jd %p ", (intmax_t)getpid(), (const void *)module->paths);
    for (size_t i = 0; i < count; i++) {
        write_text(to, given[i].name);
        write_text(to, given[i].text);
        write_text(to, given[i].place.file); /* paths are relative to it */
        st_buffer_printf(to, "%a ", given[i].number);
    }
}

static st_status start(st_plugin_instance *instance, const st_plugin_given *given, size_t count,
                       st_place place, st_errors *errors)
{
    const st_plugin_module *module = instance->module;
    visit request = {
        .paths = module->paths, .file = module->file, .given = given, .given_count = count};
    const st_remote_server server = {.open = open_there,
                                     .serve = serve_there,
                                     .context = &request,
                                     .limit_ms = LIMIT_MS,
                                     .memory_bytes = memory_limit};
    char *reason = malloc(ST_REMOTE_TEXT);
    if (reason == NULL)
        return st_out_of_memory(errors);
    st_buffer key = {0};
    write_key(&key, module, given, count);
    instance->remote = st_remote_start(&server, key.failed ? NULL : key.data, reason);
    st_buffer_free(&key);
    static const char mark[] = "cannot be opened: ";
    const char *found = strstr(reason, mark);
    st_status status =
        instance->remote != NULL
            ? ST_OK
            : st_fail(errors, ST_ERR_PROVIDER, place, "plugin '%s' cannot be opened: %.400s",
                      module->shown.id, found != NULL ? found + strlen(mark) : reason);
    free(reason);
    if (status == ST_OK && (st_remote_walls(instance->remote) & ST_WALL_FILTER) == 0)
        st_report(errors, ST_SEVERITY_WARNING, ST_ERR_PROVIDER, place,
                  "plugin '%s' runs in its own process, but this system cannot filter its "
                  "system calls: only limits on memory, files and time confine it",
                  module->shown.id);
    return status;
}

st_status st_plugin_load_apart(const st_paths *paths, const char *name, st_place place,
                               st_arena *arena, const st_plugin_module **module, st_errors *errors)
{
    const st_child_limits limits = {LOAD_LIMIT_MS, memory_limit, NULL};
    st_child_result result;
    const char *file = NULL;
    if (st_plugin_offered(name) != NULL) { /* its code is this process */
        st_report(errors, ST_SEVERITY_WARNING, ST_ERR_PROVIDER, place,
                  "plugin '%s' is not isolated: it is part of this process", name);
        return st_plugin_load_here(paths, name, place, arena, module, errors);
    }
    st_plugin_module *loaded = st_arena_alloc(arena, 1, sizeof *loaded);
    if (loaded == NULL)
        return st_out_of_memory(errors);
    st_status status = st_plugin_locate(paths, name, place, arena, &file, errors);
    if (status != ST_OK)
        return status;
    st_plugin_warn_if_open(file, place, arena, errors);
    bool has_slash = strchr(file, '/') != NULL;
    loaded->file = has_slash ? file : st_arena_printf(arena, "./%s", file);
    loaded->who = st_arena_printf(arena, "plugin '%s'", name);
    if (loaded->file == NULL || loaded->who == NULL)
        return st_out_of_memory(errors);
    loaded->folder = "";
    loaded->paths = paths;
    loaded->start = start;
    visit request = {.paths = paths, .file = loaded->file};
    st_buffer identity = {0};
    write_identity(&identity, loaded->file);
    size_t length = 0;
    const char *known = identity.failed ? NULL : find_description(identity.data, arena, &length);
    if (known != NULL) {
        status = st_answer_module(loaded, known, length, place, arena, errors);
    } else if ((status = st_child_run(describe, &request, &limits, arena, &result, errors)) ==
               ST_OK) {
        const char *reason =
            result.end == ST_CHILD_DONE ? NULL : st_child_end_text(&result, LOAD_LIMIT_MS, arena);
        if (result.end == ST_CHILD_DONE)
            status = st_answer_module(loaded, result.text, result.length, place, arena, errors);
        else
            status = reason != NULL ? st_module_fail(loaded, ST_ERR_PROVIDER, place, reason, errors)
                                    : st_out_of_memory(errors);
        if (status == ST_OK && !identity.failed)
            keep_description(identity.data, result.text, result.length);
    }
    st_buffer_free(&identity);
    if (status == ST_OK && strchr(name, '/') == NULL && strcmp(loaded->shown.id, name) != 0)
        status = st_module_fail(
            loaded, ST_ERR_PROVIDER, place,
            st_errors_text(errors, "its id is '%s', not '%s'", loaded->shown.id, name), errors);
    if (status == ST_OK)
        *module = loaded;
    return status;
}

st_status st_plugin_load(const st_paths *paths, const char *name, st_place place, st_arena *arena,
                         const st_plugin_module **module, st_errors *errors)
{
    return st_paths_isolates(paths)
               ? st_plugin_load_apart(paths, name, place, arena, module, errors)
               : st_plugin_load_here(paths, name, place, arena, module, errors);
}

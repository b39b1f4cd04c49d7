/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugins in processes of their own (--isolate). A process loads the plugin and describes it, then
 * opens an instance and answers calls over shared memory (remote.h); further instances get further
 * processes. This process never has the plugin's code. What comes back is verified as what a plugin
 * in this process says is: descriptor, values, terms and texts.
 */
#include "plugin/isolate_answer.h"
#include "plugin/offered.h"

#include "job/files.h"
#include "plugin/child.h"
#include "plugin/confine.h"
#include "plugin/namespaces.h"
#include "plugin/remote.h"
#include "plugin/ipc.h"

#include <pthread.h>
#include <stdatomic.h>
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
    st_arena *arena; /* as long as the process */
    st_errors *errors;
    const st_plugin_module *module;
    st_plugin_instance *instance;
} visit;

/* The first error; never NULL. */
static const char *first_error(const visit *self)
{
    for (size_t i = 0; self->errors != NULL && i < st_errors_size(self->errors); i++)
        if (st_errors_at(self->errors, i)->severity == ST_SEVERITY_ERROR)
            return st_errors_at(self->errors, i)->message;
    return "out of memory";
}

static st_status load_there(visit *self)
{
    if (self->module != NULL)
        return ST_OK;
    self->arena = st_arena_create();
    self->errors = st_errors_create();
    return self->arena == NULL || self->errors == NULL
               ? ST_ERR_MEMORY
               : st_plugin_load_here(self->paths, self->file, (st_place){0}, self->arena,
                                     &self->module, self->errors);
}

/* "+" and the descriptor, or "-" and the reason. */
static void describe_there(visit *self, st_remote_lane *lane)
{
    st_buffer answer = {0};
    const bool is_loaded = load_there(self) == ST_OK;
    st_ipc_write(&answer, is_loaded ? "+" : "-");
    if (is_loaded)
        st_isolate_put(st_plugin_descriptor(self->module), &answer);
    else
        st_ipc_write(&answer, first_error(self));
    if (answer.length > sizeof lane->long_text) {
        answer.length = 0;
        st_ipc_write(&answer, "-");
        st_ipc_write(&answer, "its descriptor has more than half a megabyte");
    }
    lane->text_length = answer.failed ? 0 : (uint32_t)answer.length;
    if (lane->text_length > 0)
        memcpy(lane->long_text, answer.data, answer.length);
    st_buffer_free(&answer);
}

/* Reads what write_given has written. */
static void open_there(visit *self, st_remote_lane *lane)
{
    st_plugin_given *given = NULL;
    size_t count = 0;
    st_status status = load_there(self);
    if (status == ST_OK) {
        const size_t length = lane->text_length;
        const char *text = st_arena_copy(self->arena, lane->long_text, length);
        st_ipc_reader from = {.at = text, .end = text + (text != NULL ? length : 0)};
        count = st_ipc_read_count(&from, ST_PLUGIN_MAX_OPTIONS);
        given = st_arena_alloc(self->arena, count + 1, sizeof *given);
        status = text == NULL || given == NULL ? ST_ERR_MEMORY : ST_OK;
        for (size_t i = 0; i < count && status == ST_OK; i++) {
            given[i].name = st_ipc_read(&from);
            given[i].text = st_ipc_read(&from);
            given[i].place.file = st_ipc_read(&from);
            given[i].number = st_ipc_read_number(&from);
        }
    }
    if (status == ST_OK)
        status = st_plugin_open(self->module, given, count, (st_place){0}, &self->instance,
                                self->errors);
    lane->result = status == ST_OK ? ST_PLUGIN_OK : ST_PLUGIN_FAILED;
    if (status != ST_OK)
        (void)snprintf(lane->text, sizeof lane->text, "%s", first_error(self));
}

static void serve_there(void *context, st_remote_lane *lane)
{
    visit *self = context;
    if (lane->kind == ST_ISOLATE_DESCRIBE)
        describe_there(self, lane);
    else if (lane->kind == ST_ISOLATE_OPEN)
        open_there(self, lane);
    else
        st_isolate_serve(self->instance, lane);
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

static void write_given(st_buffer *to, const st_plugin_given *given, size_t count)
{
    st_ipc_write_number(to, (double)count);
    for (size_t i = 0; i < count; i++) {
        st_ipc_write(to, given[i].name);
        st_ipc_write(to, given[i].text);
        st_ipc_write(to, given[i].place.file);
        st_ipc_write_number(to, given[i].number);
    }
}

static st_remote *start_process(const st_paths *paths, const char *file, char *reason)
{
    visit self = {.paths = paths, .file = file};
    const st_remote_server server = {.serve = serve_there,
                                     .context = &self,
                                     .limit_ms = LOAD_LIMIT_MS,
                                     .memory_bytes = memory_limit};
    return st_remote_start(&server, reason);
}

/* The process that has described a plugin, until an instance takes it. */
struct st_described {
    st_remote *_Atomic process;
    pid_t owner; /* a process that was forked has no use for it */
};

static st_remote *take_described(struct st_described *slot)
{
    return slot != NULL && slot->owner == getpid() ? atomic_exchange(&slot->process, NULL) : NULL;
}

static void end_described(void *context)
{
    st_remote_stop(take_described(context));
}

typedef struct opening {
    const st_plugin_module *module;
    const st_buffer *given;
    char *reason; /* of ST_REMOTE_TEXT bytes */
} opening;

static st_remote *open_apart(void *context)
{
    const opening *self = context;
    const st_plugin_module *module = self->module;
    st_remote *remote = take_described(module->described);
    if (remote == NULL)
        remote = start_process(module->paths, module->file, self->reason);
    if (remote == NULL)
        return NULL;
    st_remote_set_limit(remote, LIMIT_MS);
    st_remote_lane *lane = st_remote_take(remote);
    const size_t length = self->given->length;
    bool is_open = false;
    if (length <= sizeof lane->long_text) {
        lane->kind = ST_ISOLATE_OPEN;
        lane->text_length = (uint32_t)length;
        memcpy(lane->long_text, self->given->data, length);
        const bool answered = st_remote_ask(remote, lane);
        is_open = answered && lane->result == ST_PLUGIN_OK;
        /* At most its bytes are read: the text may change meanwhile. */
        if (!is_open)
            (void)snprintf(self->reason, ST_REMOTE_TEXT, "%.*s", ST_REMOTE_TEXT - 1,
                           answered ? lane->text : st_remote_reason(remote));
    } else {
        (void)snprintf(self->reason, ST_REMOTE_TEXT, "its options have over half a megabyte");
    }
    st_remote_give(remote, lane);
    if (is_open)
        return remote;
    st_remote_stop(remote);
    return NULL;
}

static st_status start(st_plugin_instance *instance, const st_plugin_given *given, size_t count,
                       st_place place, st_errors *errors)
{
    const st_plugin_module *module = instance->module;
    st_buffer key = {0};
    st_buffer texts = {0};
    write_key(&key, module, given, count);
    write_given(&texts, given, count);
    opening request = {module, &texts, malloc(ST_REMOTE_TEXT)};
    st_status status = request.reason == NULL || texts.failed ? st_out_of_memory(errors) : ST_OK;
    if (status == ST_OK)
        instance->remote = st_remote_share(key.failed ? NULL : key.data, open_apart, &request);
    st_buffer_free(&key);
    st_buffer_free(&texts);
    static const char mark[] = "cannot be opened: ";
    if (status == ST_OK && instance->remote == NULL) {
        const char *found = strstr(request.reason, mark);
        status = st_fail(errors, ST_ERR_PROVIDER, place, "plugin '%s' cannot be opened: %.400s",
                         module->shown.id, found != NULL ? found + strlen(mark) : request.reason);
    }
    free(request.reason);
    if (status == ST_OK && (st_remote_walls(instance->remote) & ST_WALL_FILTER) == 0)
        st_report(errors, ST_SEVERITY_WARNING, ST_ERR_PROVIDER, place,
                  "plugin '%s' runs in its own process, but this system cannot filter its "
                  "system calls: only limits on memory, files and time confine it",
                  module->shown.id);
    return status;
}

/* Has a process describe the plugin, and keeps it for the instance to come. */
static st_status describe(st_plugin_module *loaded, const char *identity, st_place place,
                          st_arena *arena, st_errors *errors)
{
    struct st_described *slot = st_arena_alloc(arena, 1, sizeof *slot);
    char *reason = st_arena_alloc(arena, ST_REMOTE_TEXT, 1);
    if (slot == NULL || reason == NULL || !st_arena_defer(arena, end_described, slot))
        return st_out_of_memory(errors);
    st_remote *remote = start_process(loaded->paths, loaded->file, reason);
    if (remote == NULL)
        return st_is_confined_here()
                   ? st_child_is_refused(errors)
                   : st_module_fail(loaded, ST_ERR_PROVIDER, place, reason, errors);
    *slot = (struct st_described){remote, getpid()};
    loaded->described = slot;
    st_remote_lane *lane = st_remote_take(remote);
    lane->kind = ST_ISOLATE_DESCRIBE;
    const char *text = NULL;
    size_t length = 0;
    const bool answered = st_remote_ask(remote, lane);
    if (answered) {
        const size_t claimed = lane->text_length; /* copied before it is read: it may change */
        length = claimed < sizeof lane->long_text ? claimed : sizeof lane->long_text;
        text = st_arena_copy(arena, lane->long_text, length);
    }
    st_remote_give(remote, lane);
    if (!answered)
        return st_module_fail(loaded, ST_ERR_PROVIDER, place, st_remote_reason(remote), errors);
    if (text == NULL)
        return st_out_of_memory(errors);
    st_status status = st_answer_module(loaded, text, length, place, arena, errors);
    if (status == ST_OK && identity != NULL)
        keep_description(identity, text, length);
    return status;
}

st_status st_plugin_load_apart(const st_paths *paths, const char *name, st_place place,
                               st_arena *arena, const st_plugin_module **module, st_errors *errors)
{
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
    st_buffer identity = {0};
    write_identity(&identity, loaded->file);
    size_t length = 0;
    const char *key = identity.failed ? NULL : identity.data;
    const char *known = key != NULL ? find_description(key, arena, &length) : NULL;
    status = known != NULL ? st_answer_module(loaded, known, length, place, arena, errors)
                           : describe(loaded, key, place, arena, errors);
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

/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* S_ISVTX; NOLINT(bugprone-reserved-identifier) */
/*
 * Loading. The file is looked at before the dynamic linker runs its code, and the descriptor's ABI
 * number and size before anything in it is called.
 */
#include "plugin/isolate.h"
#include "plugin/offered.h"

#include "job/files.h"
#include "job/installed.h"
#include "plugin/linked.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct loading {
    st_plugin_module *module;
    st_place place;
    st_arena *arena;
    st_errors *errors;
} loading;

static st_status refuse(const loading *loader, st_status status, const char *message)
{
    return st_module_fail(loader->module, status, loader->place, message, loader->errors);
}

/*
 * Who may write a plugin may run anything as whoever uses it; and so may who can put another folder
 * in the place of its folder, which a sticky one above does not allow.
 */
static void warn_if_open(const char *path, const char *what, bool sticky_is_safe, st_place place,
                         st_errors *errors)
{
    struct stat status;
    if (path == NULL || stat(path, &status) != 0 ||
        (sticky_is_safe && (status.st_mode & S_ISVTX) != 0))
        return;
    bool all = (status.st_mode & S_IWOTH) != 0;
    if (!all && ((status.st_mode & S_IWGRP) == 0 || status.st_gid == 0 ||
                 (gid_t)status.st_uid == status.st_gid))
        return;
    const char *message = st_errors_text(
        errors, "%s can write to the %s %s of a plugin",
        all ? "everyone" : st_errors_text(errors, "group %u", (unsigned)status.st_gid), what, path);
    for (size_t i = 0; i < st_errors_size(errors); i++)
        if (strcmp(st_errors_at(errors, i)->message, message) == 0)
            return; /* the folder of several plugins */
    st_report(errors, ST_SEVERITY_WARNING, ST_ERR_PROVIDER, place, "%s", message);
}

/* "a/b" of "a/b/c.so" */
static const char *folder_of(const char *file, st_arena *arena)
{
    const char *slash = strrchr(file, '/');
    return slash == NULL   ? "."
           : slash == file ? "/"
                           : st_arena_copy(arena, file, (size_t)(slash - file));
}

void st_plugin_warn_if_open(const char *file, st_place place, st_arena *arena, st_errors *errors)
{
    const char *folder = folder_of(file, arena);
    warn_if_open(file, "file", false, place, errors);
    warn_if_open(folder, "folder", false, place, errors);
    if (folder != NULL)
        warn_if_open(folder_of(folder, arena), "folder", true, place, errors);
}

static st_status check_file(const loading *loader)
{
    static const unsigned char elf[4] = {0x7F, 'E', 'L', 'F'};
    unsigned char head[sizeof(elf)] = {0};
    struct stat status;
    const char *file = loader->module->file;
    int descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return refuse(loader, ST_ERR_IO, errno == ENOENT ? "it does not exist" : "cannot be read");
    bool regular = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    ssize_t length = regular ? read(descriptor, head, sizeof(head)) : 0;
    (void)close(descriptor);
    if (!regular)
        return refuse(loader, ST_ERR_IO, "not a regular file");
    if (length != (ssize_t)sizeof(head) || memcmp(head, elf, sizeof(elf)) != 0)
        return refuse(loader, ST_ERR_PROVIDER, "not a shared object (not ELF)");
    return ST_OK;
}

/* The linker's words without the file, which the message has already. */
static const char *linker_error(const loading *loader)
{
    const char *text = dlerror();
    size_t length = strlen(loader->module->file);
    if (text == NULL)
        return "the dynamic linker refused it";
    if (strncmp(text, loader->module->file, length) == 0 && text[length] == ':') {
        text += length + 1;
        text += strspn(text, " ");
    }
    return st_errors_text(loader->errors, "%.400s", text);
}

/* LeakSanitizer looks at the end for the thread-local data of libraries that a plugin has loaded.
 */
#if defined(__SANITIZE_ADDRESS__)
#define STAYS_LOADED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STAYS_LOADED 1
#endif
#endif
#ifndef STAYS_LOADED
#define STAYS_LOADED 0
#endif

/* Threads of this process; 0 if unknown. */
static size_t count_threads(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/task");
    for (const struct dirent *one; folder != NULL && (one = readdir(folder)) != NULL;)
        count += one->d_name[0] != '.';
    if (folder != NULL)
        (void)closedir(folder);
    return count;
}

typedef struct linked_file {
    void *handle;
    const char *who;
    size_t threads; /* before it was loaded */
} linked_file;

/* A thread that began since then may be in the plugin's code, which then has to stay. */
static void unload(void *context)
{
    st_guard guard;
    const linked_file *file = context;
    st_guard_begin(&guard, file->who, "unload", false);
    if (!STAYS_LOADED && count_threads() <= file->threads)
        (void)dlclose(file->handle);
    st_guard_end(&guard);
}

static st_status describe_with(const loading *loader, st_plugin_describe_function describe)
{
    st_guard guard;
    st_guard_begin(&guard, loader->module->who, ST_PLUGIN_SYMBOL, true);
    const st_plugin *raw = describe();
    st_status status =
        st_module_describe(loader->module, raw, loader->place, loader->arena, loader->errors);
    st_guard_end(&guard);
    return status;
}

static st_status link_file(const loading *loader)
{
    st_plugin_describe_function describe = NULL;
    st_guard guard;
    linked_file *kept = st_arena_alloc(loader->arena, 1, sizeof *kept);
    if (kept == NULL)
        return st_out_of_memory(loader->errors);
    kept->threads = count_threads();
    kept->who = loader->module->who;
    st_guard_remember();
    st_guard_begin(&guard, loader->module->who, "load", true);
    void *handle = dlopen(loader->module->file, RTLD_NOW | RTLD_LOCAL);
    st_guard_end(&guard);
    if (handle == NULL)
        return refuse(loader, ST_ERR_PROVIDER, linker_error(loader));
    kept->handle = handle;
    if (!st_arena_defer(loader->arena, unload, kept)) {
        unload(kept);
        return st_out_of_memory(loader->errors);
    }
    loader->module->handle = handle;
    void *symbol = dlsym(handle, ST_PLUGIN_SYMBOL);
    if (symbol == NULL)
        return refuse(loader, ST_ERR_PROVIDER, "it does not export " ST_PLUGIN_SYMBOL);
    memcpy(&describe, &symbol, sizeof(describe)); /* ISO C knows no such cast */
    return describe_with(loader, describe);
}

/* One that is part of this program; its data is where those of other programs are installed. */
static st_status load_linked(const loading *loader, const st_linked_plugin *linked)
{
    loader->module->folder =
        st_installed_folder(st_or_none(st_arena_printf(
                                loader->arena, STEPTIME_LIBDIR "/steptime/plugins/%s", linked->id)),
                            loader->arena);
    return loader->module->folder == NULL ? st_out_of_memory(loader->errors)
                                          : describe_with(loader, linked->describe);
}

static st_status load_file(const loading *loader)
{
    if (st_linked_plugin_count > 0)
        return refuse(loader, ST_ERR_PROVIDER,
                      "this program is static: it has the plugins that ship with steptime, and "
                      "cannot load others");
    st_status status = check_file(loader);
    if (status != ST_OK)
        return status;
    st_plugin_warn_if_open(loader->module->file, loader->place, loader->arena, loader->errors);
    return link_file(loader);
}

st_status st_plugin_locate(const st_paths *paths, const char *name, st_place place, st_arena *arena,
                           const char **file, st_errors *errors)
{
    const st_linked_plugin *linked = st_linked_plugin_find(name);
    bool by_path = linked == NULL && strchr(name, '/') != NULL;
    *file = linked != NULL          ? st_arena_printf(arena, ST_LINKED_ROOT "/%s", linked->id)
            : by_path               ? st_path_resolve(arena, place, name)
            : st_plugin_is_id(name) ? st_plugin_find(paths, name, arena)
                                    : NULL;
    if (*file == NULL && by_path)
        return st_out_of_memory(errors);
    if (by_path && access(*file, F_OK) != 0)
        return st_fail(errors, ST_ERR_IO, place, "plugin %s cannot be used: it does not exist",
                       *file);
    if (*file != NULL)
        return ST_OK;
    const st_plugin_entry *entries = NULL;
    size_t count = 0;
    st_status status = st_plugins_list(paths, arena, &entries, &count, errors);
    const char **names = st_arena_alloc(arena, count + 1, sizeof(*names));
    if (status != ST_OK || names == NULL)
        count = 0;
    for (size_t i = 0; i < count; i++)
        names[i] = entries[i].id;
    const char *nearest = st_nearest(name, names, count);
    st_fail(errors, ST_ERR_NAME, place,
            "no plugin '%.80s' on the search path" ST_EXPECTED "%s" ST_HINT "%s", name,
            nearest == NULL ? "one of 'steptime plugin list'" : "", st_or_none(nearest));
    return ST_ERR_NAME;
}

st_status st_plugin_load_here(const st_paths *paths, const char *name, st_place place,
                              st_arena *arena, const st_plugin_module **module, st_errors *errors)
{
    bool by_path = strchr(name, '/') != NULL;
    st_plugin_module *loaded = st_arena_alloc(arena, 1, sizeof(*loaded));
    const st_plugin *own = st_plugin_offered(name);
    if (loaded == NULL)
        return st_out_of_memory(errors);
    if (own != NULL) {
        *loaded = (st_plugin_module){.file = own->id, .folder = "", .who = own->id};
        *module = loaded;
        return st_module_describe(loaded, own, place, arena, errors);
    }
    st_status status = st_plugin_locate(paths, name, place, arena, &loaded->file, errors);
    if (status != ST_OK)
        return status;
    loaded->folder = folder_of(loaded->file, arena);
    loaded->who = st_arena_printf(arena, "plugin '%s'", name);
    if (loaded->folder == NULL || loaded->who == NULL)
        return st_out_of_memory(errors);
    const loading loader = {.module = loaded, .place = place, .arena = arena, .errors = errors};
    const st_linked_plugin *linked = st_linked_plugin_find(name);
    status = linked != NULL ? load_linked(&loader, linked) : load_file(&loader);
    if (status == ST_OK && !by_path) {
        /* A plugin that goes by another name than its folder would be listed and asked for by two.
         */
        const char *id = loader.module->shown.id;
        status = strcmp(id, name) == 0
                     ? ST_OK
                     : refuse(&loader, ST_ERR_PROVIDER,
                              st_errors_text(loader.errors, "its id is '%s', not '%s'", id, name));
    }
    if (status == ST_OK)
        *module = loaded;
    return status;
}

const st_plugin *st_plugin_descriptor(const st_plugin_module *module)
{
    return &module->shown;
}

const st_plugin_module *st_instance_module(const st_plugin_instance *instance)
{
    return instance->module;
}

const char *st_plugin_file(const st_plugin_module *module)
{
    return module->file;
}

size_t st_plugin_find_provider(const st_plugin_module *module, const char *name)
{
    for (size_t i = 0; i < module->shown.provider_count; i++)
        if (strcmp(module->shown.providers[i]->name, name) == 0)
            return i;
    return SIZE_MAX;
}

double st_plugin_default(const st_plugin_module *module, size_t option)
{
    return module->options[option].default_number;
}

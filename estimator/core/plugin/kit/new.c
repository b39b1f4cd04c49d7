/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new project from plugins/template, whose files are embedded. It is written next to its
 * place and renamed, so that there is all of it or nothing.
 */
#include "plugin/kit/new.h"

#include "base/text.h"
#include "base/output.h"
#include "base/scratch.h"
#include "job/files.h"
#include "plugin/kit/new_function.h"
#include "plugin/module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPLATE "template"

/*
 * Where each file lies in the source, and where in the project; every TEMPLATE becomes the name.
 * `filled` is the template instead where the plugin begins with a function of a sheet.
 */
static const struct {
    const char *source;
    const char *target;
    const char *filled;
} files[] = {
    {"plugins/template/meson.build", "meson.build", NULL},
    {"plugins/template/README.md", "README.md", "plugins/template/function/README.md.in"},
    {"plugins/template/plugins/template/meson.build", "plugins/template/meson.build", NULL},
    {"plugins/template/plugins/template/template.c", "plugins/template/template.c",
     "plugins/template/function/plugin.c.in"},
    {"plugins/template/tests/values.c", "tests/values.c", "plugins/template/function/values.c.in"},
    {"estimator/include/steptime/plugin.h", "include/steptime/plugin.h", NULL},
};

enum { FILES = ST_COUNT(files) };

typedef struct project {
    const char *name;
    const char *folder;
    const st_plugin_start *start;
    char *work; /* what becomes the folder */
    st_arena *arena;
    st_errors *errors;
} project;

static st_status cannot(const project *made, const char *what, const char *path)
{
    return st_fail(made->errors, ST_ERR_IO, (st_place){0}, "cannot %s '%s': %s", what, path,
                   strerror(errno));
}

/* The text with every TEMPLATE replaced; NULL when out of memory. */
static const char *renamed(const project *made, const char *text)
{
    st_buffer buffer = {0};
    for (const char *rest = text;;) {
        const char *found = strstr(rest, TEMPLATE);
        st_buffer_append(&buffer, rest, found == NULL ? strlen(rest) : (size_t)(found - rest));
        if (found == NULL)
            break;
        st_buffer_text(&buffer, made->name);
        rest = found + strlen(TEMPLATE);
    }
    return st_buffer_keep(&buffer, made->arena);
}

/* Makes the folders on the way to a file below the project. */
static st_status make_folders(const project *project_files, char *path)
{
    for (char *slash = strchr(path + strlen(project_files->work) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
        st_status status = made ? ST_OK : cannot(project_files, "create the folder", path);
        *slash = '/';
        if (status != ST_OK)
            return status;
    }
    return ST_OK;
}

static st_status write_file(const project *made, size_t index)
{
    const char *target = renamed(made, files[index].target);
    const char *text = NULL;
    st_source source = {0};
    bool is_filled = made->start->function != NULL && files[index].filled != NULL;
    bool is_header = index == FILES - 1;
    if (st_file_embedded(is_filled ? files[index].filled : files[index].source, made->arena,
                         &source))
        text = is_filled
                   ? st_plugin_function_file(source.text, made->start, made->name, made->arena)
               : is_header ? source.text
                           : renamed(made, source.text);
    char *path = target == NULL ? NULL : st_arena_printf(made->arena, "%s/%s", made->work, target);
    if (path == NULL || text == NULL)
        return st_out_of_memory(made->errors);
    st_status status = make_folders(made, path);
    return status == ST_OK ? st_output_write(path, text, strlen(text), made->errors) : status;
}

static st_status check(const project *made)
{
    struct stat status;
    if (!st_plugin_is_id(made->name))
        return st_fail(made->errors, ST_ERR_USAGE, (st_place){0},
                       "invalid plugin name" ST_FOUND "'%.80s'" ST_EXPECTED
                       "a lower-case letter, then lower-case letters, digits and '-', at most 64",
                       made->name);
    /* Targets of every meson project, which a plugin's module cannot use as its name. */
    const char *name = made->name;
    static const char *const names[] = {
        "all",         "benchmark", "clean",      "clean-ctlist", "clean-gcda",    "clean-gcno",
        "coverage",    "dist",      "distcheck",  "install",      "coverage-html", "coverage-text",
        "reconfigure", "phony",     "scan-build", "test",         "coverage-xml",  "uninstall"};
    if (st_has_text(names, ST_COUNT(names), name))
        return st_fail(made->errors, ST_ERR_USAGE, (st_place){0},
                       "'%s' cannot be a plugin name: meson reserves it", made->name);
    if (lstat(made->folder, &status) == 0)
        return st_fail(made->errors, ST_ERR_USAGE, (st_place){0},
                       "'%s' already exists" ST_HINT "choose another folder with --dir",
                       made->folder);
    return ST_OK;
}

/* In a folder of another name, which gets its own when all is there. */
static st_status make_project(const project *made)
{
    st_status status = ST_OK;
    if (mkdtemp(made->work) == NULL)
        return cannot(made, "create the folder", made->folder);
    for (size_t i = 0; i < FILES && status == ST_OK; i++)
        status = write_file(made, i);
    if (status == ST_OK && chmod(made->work, 0755) != 0)
        status = cannot(made, "set the permissions of", made->folder);
    if (status == ST_OK && rename(made->work, made->folder) != 0)
        status = cannot(made, "create the folder", made->folder);
    if (status != ST_OK) {
        /* Takes away what was written of a project that failed; errors change nothing. */
        const char *folders[] = {"plugins/template", "plugins", "tests", "include/steptime",
                                 "include"};
        for (size_t i = 0; i < FILES; i++) {
            const char *target = renamed(made, files[i].target);
            const char *path =
                target == NULL ? NULL : st_arena_printf(made->arena, "%s/%s", made->work, target);
            if (path != NULL)
                (void)unlink(path);
        }
        for (size_t i = 0; i < ST_COUNT(folders); i++) {
            const char *target = renamed(made, folders[i]);
            const char *path =
                target == NULL ? NULL : st_arena_printf(made->arena, "%s/%s", made->work, target);
            if (path != NULL)
                (void)rmdir(path);
        }
        (void)rmdir(made->work);
    }
    return status;
}

st_status st_plugin_new(const char *name, const char *folder, const st_plugin_start *start,
                        st_arena *arena, st_errors *errors)
{
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--; /* as shells complete the name of a folder */
    const char *trimmed = st_arena_copy(arena, folder, length);
    if (trimmed == NULL)
        return st_out_of_memory(errors);
    project made = {
        .name = name, .folder = trimmed, .start = start, .arena = arena, .errors = errors};
    st_status status = check(&made);
    if (status != ST_OK)
        return status;
    made.work = st_arena_printf(arena, "%s.XXXXXX", trimmed);
    if (made.work == NULL)
        return st_out_of_memory(errors);
    sigset_t before;
    st_signals_hold(&before); /* a project is a few small files */
    status = make_project(&made);
    st_signals_release(&before);
    return status;
}

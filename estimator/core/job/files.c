/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a file. The limit is checked before and while reading, so that neither a huge file nor an
 * endless device costs more than the limit itself.
 */
#include "job/files.h"

#include "base/chars.h"
#include "base/csv.h"
#include "base/oom_flag.h"
#include "base/yaml.h"
#include "job/embedded.h"
#include "job/roots.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK_BYTES = 16384, REASON_BYTES = 160 };

bool st_place_is_embedded(st_place place)
{
    return place.file != NULL && st_embedded_stem(place.file) != NULL;
}

bool st_place_in_file(st_place place)
{
    return place.file != NULL && place.line > 0;
}

bool st_name_is_path(const char *name)
{
    return strchr(name, '/') != NULL || st_ends_in(name, ".yaml") || strcmp(name, ".") == 0 ||
           strcmp(name, "..") == 0;
}

const char *st_path_resolve(st_arena *arena, st_place place, const char *name)
{
    const char *from = st_place_in_file(place) ? st_embedded_path(arena, place.file) : NULL;
    const char *slash = from != NULL ? strrchr(from, '/') : NULL;
    bool own = strncmp(name, ST_EMBEDDED_ROOT "/", strlen(ST_EMBEDDED_ROOT "/")) == 0;
    if (name[0] == '/' || slash == NULL || own)
        return st_arena_copy(arena, name, strlen(name));
    while (name[0] == '.' && name[1] == '/') {
        name += 2;
        while (name[0] == '/')
            name++;
    }
    size_t folder_bytes = (size_t)(slash - from) + 1;
    const char *folder = st_arena_copy(arena, from, folder_bytes);
    return folder != NULL ? st_arena_printf(arena, "%s%s", folder, name) : NULL;
}

static st_status cannot_read(const char *path, int code, st_place place, st_errors *errors)
{
    char reason[REASON_BYTES];
    /* Why a call on a file failed, without the C library's capital letter. */
    if (strerror_r(code, reason, REASON_BYTES) != 0)
        (void)snprintf(reason, REASON_BYTES, "error %d", code);
    if (reason[0] >= 'A' && reason[0] <= 'Z' && reason[1] >= 'a' && reason[1] <= 'z')
        reason[0] = (char)(reason[0] - 'A' + 'a');
    return st_fail(errors, ST_ERR_IO, place, "cannot read '%s': %s", path, reason);
}

/* What is expected of a file. */
typedef struct file_kind {
    const char *name;
    size_t most_bytes;
} file_kind;

static const file_kind yaml_file = {"a YAML file", ST_YAML_MAX_BYTES};
static const file_kind csv_file = {"a CSV file", ST_CSV_MAX_BYTES};
static const file_kind foreign_file = {"a file to import", ST_IMPORT_MAX_BYTES};

static st_status wrong_kind(const file_kind *wanted, const char *path, const char *kind,
                            st_place place, st_errors *errors)
{
    return st_fail(errors, ST_ERR_IO, place, "cannot read '%s'" ST_FOUND "%s" ST_EXPECTED "%s",
                   path, kind, wanted->name);
}

static st_status too_large(const file_kind *wanted, const char *path, const char *size,
                           st_place place, st_errors *errors)
{
    return st_fail(errors, ST_ERR_LIMIT, place,
                   "'%s' is too large" ST_FOUND "%s" ST_EXPECTED "at most %zu bytes", path, size,
                   wanted->most_bytes);
}

/* Reads to the end; false with errno set, or with errno 0 when the limit was passed. */
static bool read_all(const file_kind *wanted, int descriptor, st_buffer *buffer)
{
    char chunk[CHUNK_BYTES];
    for (;;) {
        ssize_t count = read(descriptor, chunk, sizeof chunk);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return false;
        if (count == 0)
            return true;
        if (buffer->length + (size_t)count > wanted->most_bytes) {
            errno = 0;
            return false;
        }
        st_buffer_append(buffer, chunk, (size_t)count);
        if (buffer->failed)
            return true; /* the caller looks; an endless device must not be read on */
    }
}

/* A file that is asked for. */
typedef struct file_request {
    const file_kind *wanted;
    const char *path;
    st_place place;
    st_arena *arena;
    st_errors *errors;
} file_request;

static st_status read_descriptor(const file_request *request, int descriptor, st_source *source)
{
    const char *path = request->path;
    st_errors *errors = request->errors;
    st_buffer buffer = {0};
    st_status status = ST_OK;
    const char *text = NULL;
    const char *file = NULL;
    if (!read_all(request->wanted, descriptor, &buffer)) {
        int code = errno;
        char size[64];
        (void)snprintf(size, sizeof size, "more than %zu bytes", request->wanted->most_bytes);
        status = code == 0 ? too_large(request->wanted, path, size, request->place, errors)
                           : cannot_read(path, code, request->place, errors);
        goto cleanup;
    }
    text = st_arena_copy(request->arena, buffer.data != NULL ? buffer.data : "", buffer.length);
    file = st_arena_copy(request->arena, path, strlen(path));
    if (buffer.failed || text == NULL || file == NULL) {
        status = st_out_of_memory(errors);
        goto cleanup;
    }
    *source = (st_source){.file = file, .text = text, .length = buffer.length};
cleanup:
    st_buffer_free(&buffer);
    return status;
}

/* Refuses by kind and size before anything is opened: opening a device may already do something. */
static st_status check_file(const file_request *request)
{
    const char *path = request->path;
    st_place place = request->place;
    st_errors *errors = request->errors;
    struct stat status;
    if (stat(path, &status) != 0)
        return cannot_read(path, errno, place, errors);
    if (S_ISDIR(status.st_mode))
        return wrong_kind(request->wanted, path, "a folder", place, errors);
    if (!S_ISREG(status.st_mode) && st_place_in_file(place))
        return wrong_kind(request->wanted, path, "a device or pipe", place, errors);
    if (S_ISREG(status.st_mode) && (uintmax_t)status.st_size > request->wanted->most_bytes) {
        char size[64];
        (void)snprintf(size, sizeof size, "%lld bytes", (long long)status.st_size);
        return too_large(request->wanted, path, size, place, errors);
    }
    return ST_OK;
}

/* Removes "." and ".." from a path inside the library, in place; false where it leads out of it. */
static bool normalise(char *path)
{
    char *out = path;
    const char *in = path;
    for (bool last = false; !last;) {
        size_t length = strcspn(in, "/");
        last = in[length] == '\0';
        bool up = length == 2 && in[0] == '.' && in[1] == '.';
        bool stay = length == 0 || (length == 1 && in[0] == '.');
        if (up && out == path)
            return false;
        if (up) {
            out--; /* the '/' behind the folder that is left */
            while (out > path && out[-1] != '/')
                out--;
        } else if (!stay) {
            memmove(out, in, length);
            out += length;
            *out++ = '/';
        }
        in += length + 1;
    }
    if (out > path)
        out--;
    *out = '\0';
    return true;
}

static int compare_path(const void *path, const void *file)
{
    return strcmp(path, ((const st_embedded_file *)file)->path);
}

bool st_file_embedded(const char *path, st_arena *arena, st_source *source)
{
    const st_embedded_file *file = bsearch(path, st_embedded_files, st_embedded_count,
                                           sizeof st_embedded_files[0], compare_path);
    if (file == NULL)
        return false;
    const char *name = st_embedded_name(arena, path);
    *source = (st_source){
        .file = name != NULL ? name : file->path,
        .text = (const char *)file->bytes,
        .length = file->length,
        .tree = file->tree,
    };
    return true;
}

static st_status read_file(const file_request *request, st_source *source)
{
    const char *path = request->path;
    if (strncmp(path, ST_EMBEDDED_ROOT "/", strlen(ST_EMBEDDED_ROOT "/")) == 0) {
        st_place place = request->place;
        const char *inner = path + strlen(ST_EMBEDDED_ROOT "/");
        char *copy = st_arena_copy(request->arena, inner, strlen(inner));
        if (copy == NULL)
            return st_out_of_memory(request->errors);
        if (normalise(copy) && st_file_embedded(copy, request->arena, source))
            return ST_OK;
        return cannot_read(path, ENOENT, place, request->errors);
    }
    st_status status = check_file(request);
    if (status != ST_OK)
        return status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return cannot_read(path, errno, request->place, request->errors);
    status = read_descriptor(request, descriptor, source);
    (void)close(descriptor);
    return status;
}

st_status st_file_read(const char *path, st_place place, st_arena *arena, st_source *source,
                       st_errors *errors)
{
    const file_request request = {&yaml_file, path, place, arena, errors};
    return read_file(&request, source);
}

st_status st_file_read_table(const char *path, st_place place, st_arena *arena, st_source *source,
                             st_errors *errors)
{
    const file_request request = {&csv_file, path, place, arena, errors};
    return read_file(&request, source);
}

/* Colours of a terminal, "\033[32m", which launchers and jq write, up to the letter that ends them.
 */
static st_status drop_colours(st_arena *arena, st_source *source, st_errors *errors)
{
    const char *text = source->text;
    size_t length = 0;
    if (memchr(text, '\033', source->length) == NULL)
        return ST_OK;
    char *copy = st_arena_alloc(arena, source->length + 1, 1);
    if (copy == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < source->length; i++) {
        const bool is_colour = text[i] == '\033' && text[i + 1] == '[';
        while (is_colour && i + 1 < source->length && text[i + 1] != '\n' && !st_is_letter(text[i]))
            i++;
        if (!is_colour)
            copy[length++] = text[i];
    }
    copy[length] = '\0';
    source->text = copy;
    source->length = length;
    return ST_OK;
}

st_status st_file_read_foreign(const char *path, st_place place, st_arena *arena, st_source *source,
                               st_errors *errors)
{
    const file_request request = {&foreign_file, path, place, arena, errors};
    const file_request standard = {&foreign_file, ST_STANDARD_INPUT, place, arena, errors};
    const st_status status = strcmp(path, "-") != 0
                                 ? read_file(&request, source)
                                 : read_descriptor(&standard, STDIN_FILENO, source);
    return status == ST_OK ? drop_colours(arena, source, errors) : status;
}

st_status st_file_read_stdin(st_place place, st_arena *arena, st_source *source, st_errors *errors)
{
    const file_request request = {&yaml_file, ST_STANDARD_INPUT, place, arena, errors};
    return read_descriptor(&request, STDIN_FILENO, source);
}

/* ---- folders ---- */

enum { MOST_FILES = 4096 };

bool st_file_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool has_ending(const char *name, const char *const *endings)
{
    for (size_t i = 0; endings[i] != NULL; i++)
        if (name[0] != '.' && st_ends_in(name, endings[i]))
            return true;
    return false;
}

static st_status add_entry(const char *path, st_arena *arena, const char ***files, size_t *count,
                           st_errors *errors)
{
    struct stat info;
    if (path == NULL)
        return st_out_of_memory(errors);
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return ST_OK;
    if (*count >= MOST_FILES)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){.file = path},
                       "more than 4096 such files in the folder");
    return ST_APPEND(arena, *files, *count, path) ? ST_OK : st_out_of_memory(errors);
}

st_status st_files_of_folder(const char *folder, const char *const *endings, st_arena *arena,
                             const char *const **files, size_t *count, st_errors *errors)
{
    const char **found = NULL;
    st_status status = ST_OK;
    DIR *stream = st_open_folder(folder);
    *count = 0;
    if (stream == NULL)
        return st_fail(errors, ST_ERR_IO, (st_place){.file = folder}, "cannot read the folder: %s",
                       strerror(errno));
    const char *slash = st_ends_in(folder, "/") ? "" : "/";
    for (struct dirent *entry = readdir(stream); entry != NULL && status == ST_OK;
         entry = readdir(stream))
        if (has_ending(entry->d_name, endings))
            status = add_entry(st_arena_printf(arena, "%s%s%s", folder, slash, entry->d_name),
                               arena, &found, count, errors);
    (void)closedir(stream);
    if (status == ST_OK && *count == 0)
        return st_fail(errors, ST_ERR_IO, (st_place){.file = folder},
                       "the folder has no file that can hold a table");
    if (status == ST_OK)
        qsort(found, *count, sizeof *found, st_order_texts);
    *files = found;
    return status;
}

/* ---- names of embedded files ---- */

/*
 * Names of the library's own files. A place in one of them is shown to people who have no such
 * file, so that it says which sheet, job or GPU this is. Whatever reads a file again, or another
 * a file outside, asks for the path.
 */

const char *st_embedded_name(st_arena *arena, const char *path)
{
    size_t start = 0;
    size_t length = 0;
    for (unsigned folder = 0; folder < ST_FOLDERS; folder++) {
        const st_folder_shape *shape = st_folder_shape_of((st_folder)folder);
        bool is_below = false;
        size_t below_folder = strlen(shape->path);
        size_t ending = strlen(shape->ending);
        size_t whole = strlen(path);
        if (strncmp(path, shape->path, below_folder) == 0 && path[below_folder] == '/' &&
            whole > below_folder + 1 + ending &&
            strcmp(path + whole - ending, shape->ending) == 0) {
            start = below_folder + 1;
            length = whole - below_folder - 1 - ending;
            is_below = memchr(path + start, '/', length) == NULL;
        }
        if (is_below)
            return st_arena_printf(arena, "%s %.*s", shape->noun, (int)length, path + start);
    }
    return st_arena_printf(arena, ST_EMBEDDED_ROOT "/%s", path);
}

/* The folder whose noun the name begins with; NULL: it is a path, which has a '/' or an ending. */
static const st_folder_shape *shape_of(const char *name)
{
    for (unsigned folder = 0; folder < ST_FOLDERS && !st_name_is_path(name); folder++) {
        const st_folder_shape *shape = st_folder_shape_of((st_folder)folder);
        size_t length = strlen(shape->noun);
        if (strncmp(name, shape->noun, length) == 0 && name[length] == ' ')
            return shape;
    }
    return NULL;
}

const char *st_embedded_stem(const char *name)
{
    const st_folder_shape *shape = shape_of(name);
    return shape != NULL ? name + strlen(shape->noun) + 1 : NULL;
}

const char *st_embedded_path(st_arena *arena, const char *name)
{
    const st_folder_shape *shape = shape_of(name);
    if (shape == NULL)
        return name;
    return st_arena_printf(arena, ST_EMBEDDED_ROOT "/%s/%s%s", shape->path, st_embedded_stem(name),
                           shape->ending);
}

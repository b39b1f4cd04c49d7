/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search path: an ordered list of roots of one shape; the last is the library itself.
 * The working folder is deliberately none of them: a bare name means the same thing everywhere.
 */
#include "steptime/paths.h"

#include "base/text.h"
#include "base/utf8.h"
#include "job/files.h"
#include "job/installed.h"
#include "job/roots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { SHOWN_NAMES = 8, SHOWN_BYTES = 300 };

static st_status add_root(st_paths *paths, const char *folder, size_t length, st_errors *errors)
{
    while (length > 1 && folder[length - 1] == '/')
        length--;
    const char *copy = st_arena_copy(paths->arena, folder, length);
    return ST_APPEND(paths->arena, paths->roots, paths->count, copy) ? ST_OK
                                                                     : st_out_of_memory(errors);
}

/* NULL when `path` is a folder that exists, else what is wrong with it. */
static const char *folder_fault(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return errno == ENOENT || errno == ENOTDIR ? "does not exist" : "cannot be read";
    return S_ISDIR(status.st_mode) ? NULL : "is not a folder";
}

/* An empty part would mean the working folder to a shell; here it means nothing. */
static st_status add_environment(st_paths *paths, st_errors *errors)
{
    const char *rest = getenv("STEPTIME_PATH");
    while (rest != NULL && *rest != '\0') {
        size_t length = strcspn(rest, ":");
        char *folder = st_arena_copy(paths->arena, rest, length);
        if (folder == NULL)
            return st_out_of_memory(errors);
        const char *fault = length > 0 ? folder_fault(folder) : NULL;
        if (fault != NULL) {
            st_report(errors, ST_SEVERITY_WARNING, ST_ERR_IO, (st_place){.file = "STEPTIME_PATH"},
                      "the folder '%s' %s", folder, fault);
        } else if (length > 0) {
            st_status status = add_root(paths, folder, length, errors);
            if (status != ST_OK)
                return status;
        }
        rest += length;
        if (*rest == ':')
            rest++;
    }
    return ST_OK;
}

static st_status add_if_there(st_paths *paths, const char *folder, st_errors *errors)
{
    if (folder == NULL)
        return st_out_of_memory(errors);
    return folder_fault(folder) == NULL ? add_root(paths, folder, strlen(folder), errors) : ST_OK;
}

st_status st_paths_create(const char *const *folders, size_t count, st_paths **paths,
                          st_errors *errors)
{
    st_paths *created = calloc(1, sizeof *created);
    st_status status = ST_OK;
    if (created == NULL)
        return st_out_of_memory(errors);
    created->self = created;
    created->arena = st_arena_create();
    if (created->arena == NULL) {
        status = st_out_of_memory(errors);
        goto cleanup;
    }
    st_status first = ST_OK;
    for (size_t i = 0; i < count; i++) {
        const char *fault = folder_fault(folders[i]);
        st_status argument_status = fault == NULL
                                        ? add_root(created, folders[i], strlen(folders[i]), errors)
                                        : st_fail(errors, ST_ERR_IO, (st_place){.file = "--path"},
                                                  "the folder '%s' %s", folders[i], fault);
        if (first == ST_OK)
            first = argument_status;
    }
    status = first;
    if (status == ST_OK)
        status = add_environment(created, errors);
    if (status == ST_OK) {
        const char *config = getenv("XDG_CONFIG_HOME");
        const char *home = getenv("HOME");
        st_status standard_status = ST_OK;
        /* Both variables count only as absolute paths: a relative one would be the working folder.
         */
        if (config != NULL && config[0] == '/')
            standard_status = add_if_there(
                created, st_arena_printf(created->arena, "%s/steptime", config), errors);
        else if (home != NULL && home[0] == '/')
            standard_status = add_if_there(
                created, st_arena_printf(created->arena, "%s/.config/steptime", home), errors);
        if (standard_status == ST_OK)
            standard_status = add_if_there(
                created, st_installed_folder(STEPTIME_DATADIR "/steptime", created->arena), errors);
        status = standard_status;
    }
    if (status == ST_OK) {
        /* The library itself is the last root. */
        st_status embedded_status = add_root(created, "", 0, errors);
        if (embedded_status == ST_OK)
            created->roots[created->count - 1] = NULL;
        status = embedded_status;
    }
cleanup:
    if (status == ST_OK)
        *paths = created;
    else
        st_paths_destroy(created);
    return status;
}

void st_paths_destroy(st_paths *paths)
{
    if (paths == NULL)
        return;
    st_arena_destroy(paths->arena);
    free(paths);
}

/* ---- reading ---- */

typedef struct lookup {
    const st_paths *paths;
    st_folder folder;
    const char *name;
    st_place place;
    st_arena *arena;
    st_errors *errors;
} lookup;

static const char *noun_of(const lookup *request)
{
    return st_folder_shape_of(request->folder)->noun;
}

/* The names that exist, for a message: the first few of them. */
static const char *known_names(const lookup *request, const st_path_entry *entries, size_t count)
{
    char text[SHOWN_BYTES];
    size_t used = 0;
    for (size_t i = 0; i < count && i < SHOWN_NAMES; i++) {
        int length =
            snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? ", " : "", entries[i].name);
        if (length < 0 || (size_t)length >= sizeof text - used) {
            text[used] = '\0';
            break;
        }
        used += (size_t)length;
    }
    if (used == 0)
        return NULL;
    return st_errors_text(request->errors, "one of %s%s", text, count > SHOWN_NAMES ? ", ..." : "");
}

static bool is_file(const char *path)
{
    struct stat status;
    return path != NULL && stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

/* Whether a name is another one, or one of its family: "h100-sxm" is of "H100". */
static bool is_of_family(const char *name, const char *family)
{
    size_t length = strlen(family);
    return length > 0 && strncasecmp(name, family, length) == 0 &&
           (name[length] == '\0' || name[length] == '-');
}

static st_status unknown_name(const lookup *request)
{
    const st_path_entry *entries = NULL;
    size_t count = 0;
    const char *nearest = NULL;
    /* "write ./NAME to read it" where a file of that name lies where the user may have meant. */
    const char *remedy = NULL;
    static const char *const endings[] = {"", ".yaml", ".yml"};
    for (size_t i = 0; i < ST_COUNT(endings); i++) {
        const char *path = st_arena_printf(request->arena, "./%s%s", request->name, endings[i]);
        if (path != NULL && is_file(st_path_resolve(request->arena, request->place, path))) {
            remedy =
                st_errors_text(request->errors, "write %s to read the file of that name", path);
            break;
        }
    }
    if (remedy == NULL)
        remedy = st_wrong_kind_hint(request->paths, request->folder, request->name, request->arena,
                                    request->errors);
    st_status listed =
        st_paths_list(request->paths, request->folder, request->arena, &entries, &count, NULL);
    if (listed == ST_OK && remedy == NULL && count > 0) {
        const char **names = st_arena_alloc(request->arena, count, sizeof *names);
        for (size_t i = 0; names != NULL && i < count; i++)
            names[i] = entries[i].name;
        nearest = names != NULL ? st_nearest(request->name, names, count) : NULL;
        /* "llama3": several names begin with it. */
        const char *family = "";
        size_t found = 0;
        for (size_t i = 0; i < count; i++)
            if (is_of_family(entries[i].name, request->name) && found++ < SHOWN_NAMES)
                st_text_add(request->arena, &family, ", ", "%s", entries[i].name);
        if (found > 1)
            remedy = st_errors_text(request->errors, "there are %s%s", st_or_none(family),
                                    found > SHOWN_NAMES ? ", ..." : "");
    }
    st_errors *errors = request->errors;
    return st_fail(errors, ST_ERR_NAME, request->place,
                   "cannot find %s '%s' on the search path" ST_EXPECTED "%s" ST_HINT "%s",
                   noun_of(request), request->name,
                   nearest == NULL && remedy == NULL ? known_names(request, entries, count) : "",
                   remedy != NULL ? remedy : st_or_none(nearest));
}

/* By name, or as the same file on the disk, however it is reached. */
static const st_edited_file *find_edited(const st_paths *paths, const char *path)
{
    struct stat asked;
    struct stat edited;
    const st_edited_file *found = NULL;
    for (size_t i = 0; i < paths->edited_count && found == NULL; i++)
        if (strcmp(paths->edited[i].path, path) == 0)
            found = &paths->edited[i];
    for (size_t i = 0; i < paths->edited_count && found == NULL && stat(path, &asked) == 0; i++)
        if (stat(paths->edited[i].path, &edited) == 0 && edited.st_dev == asked.st_dev &&
            edited.st_ino == asked.st_ino)
            found = &paths->edited[i];
    return found;
}

static st_status read_path(const lookup *request, const char *path, st_source *source)
{
    const st_edited_file *edited = find_edited(request->paths, path);
    if (edited == NULL)
        return st_file_read(path, request->place, request->arena, source, request->errors);
    *source = (st_source){.file = path, .text = edited->text, .length = edited->length};
    return ST_OK;
}

/* A root that lacks the file is passed over; one that has it but cannot give it is an error. */
static st_status read_name(const lookup *request, st_source *source)
{
    const st_folder_shape *shape = st_folder_shape_of(request->folder);
    for (size_t i = 0; i < request->paths->count; i++) {
        const char *root = request->paths->roots[i];
        const char *file =
            st_arena_printf(request->arena, "%s%s%s/%s%s", root != NULL ? root : "",
                            root != NULL ? "/" : "", shape->path, request->name, shape->ending);
        struct stat status;
        if (file == NULL)
            return st_out_of_memory(request->errors);
        if (root == NULL && st_file_embedded(file, request->arena, source))
            return ST_OK;
        if (root == NULL)
            continue;
        if (stat(file, &status) == 0 ||
            (errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG))
            return read_path(request, file, source);
    }
    return unknown_name(request);
}

st_status st_paths_read(const st_paths *paths, st_folder folder, const char *name, st_place place,
                        st_arena *arena, st_source *source, st_errors *errors)
{
    const lookup request = {paths, folder, name, place, arena, errors};
    if (name[0] == '\0')
        return st_fail(request.errors, ST_ERR_NAME, request.place, "the name of the %s is empty",
                       noun_of(&request));
    if (strlen(name) > ST_PATH_MAX_BYTES)
        return st_fail(request.errors, ST_ERR_LIMIT, request.place,
                       "the name of the %s exceeds %d bytes", noun_of(&request), ST_PATH_MAX_BYTES);
    /* Names are shown in reports, where a terminal would act on what they hold. */
    bool has_control = false;
    size_t length = strlen(name);
    for (size_t i = 0; i < length;) {
        uint32_t code = 0;
        size_t size = st_utf8_decode(name + i, length - i, &code);
        if (size > 0 && st_utf8_is_control(code)) {
            has_control = true;
            break;
        }
        i += size > 0 ? size : 1; /* file names need not be UTF-8 */
    }
    if (has_control)
        return st_fail(request.errors, ST_ERR_NAME, request.place,
                       "the name of the %s has a control character: '%s'", noun_of(&request), name);
    if (strcmp(name, "-") == 0) {
        if (folder == ST_FOLDER_JOBS && !st_place_in_file(place))
            return st_file_read_stdin(place, arena, source, errors);
        return st_fail(request.errors, ST_ERR_NAME, request.place,
                       "only a job can come from standard input ('-')");
    }
    if (!st_name_is_path(name))
        return read_name(&request, source);
    const char *path = st_path_resolve(request.arena, request.place, request.name);
    struct stat status;
    if (path == NULL)
        return st_out_of_memory(request.errors);
    bool embedded = strncmp(path, ST_EMBEDDED_ROOT, strlen(ST_EMBEDDED_ROOT)) == 0;
    if (!embedded && stat(path, &status) != 0 && errno == ENOENT &&
        find_edited(paths, path) == NULL) {
        /* A file that is not there but whose name without the ending is known was meant as that
         * name. */
        size_t path_length = strlen(request.name);
        const char *suggestion = NULL;
        st_source found = {0};
        if (strchr(request.name, '/') == NULL && path_length > strlen(".yaml")) {
            lookup bare = request;
            bare.errors = NULL;
            bare.name = st_arena_copy(request.arena, request.name, path_length - strlen(".yaml"));
            if (bare.name != NULL && read_name(&bare, &found) == ST_OK)
                suggestion =
                    st_errors_text(request.errors, "write %s, without .yaml, to read the one in %s",
                                   bare.name, found.file);
        }
        return st_fail(request.errors, ST_ERR_IO, request.place,
                       "the %s file '%s' does not exist" ST_HINT "%s", noun_of(&request), path,
                       st_or_none(suggestion));
    }
    return read_path(&request, path, source);
}

st_status st_paths_read_yaml(const st_paths *paths, st_folder folder, const char *name,
                             st_arena *arena, const st_yaml_node **root, st_errors *errors)
{
    st_source source = {0};
    st_status status = st_paths_read(paths, folder, name, (st_place){0}, arena, &source, errors);
    return status != ST_OK ? status : st_yaml_read(&source, arena, root, errors);
}

static st_status read_sheet(void *context, const char *name, st_place place, st_arena *arena,
                            st_source *source, st_errors *errors)
{
    const st_paths *paths = context;
    return st_paths_read(paths, ST_FOLDER_SHEETS, name, place, arena, source, errors);
}

st_sheet_reader st_paths_sheet_reader(const st_paths *paths)
{
    return (st_sheet_reader){.read = read_sheet, .context = paths->self};
}

void st_paths_set_isolation(st_paths *paths, bool isolates)
{
    paths->isolates = isolates;
}

bool st_paths_isolates(const st_paths *paths)
{
    return paths != NULL && paths->isolates;
}

void st_paths_set_edited(st_paths *paths, const st_edited_file *files, size_t count)
{
    paths->edited = files;
    paths->edited_count = count;
}

void st_paths_set_profiles(st_paths *paths, const char *file)
{
    paths->profiles = file;
}

const char *st_paths_profiles(const st_paths *paths)
{
    return paths->profiles;
}

/* ---- names of another kind ---- */

/*
 * A name of the wrong kind: a model in the place of a job, a GPU in
 * that of a cluster. Reports what was meant, and what to write.
 */

enum { SHOWN_CLUSTERS = 6 };

/* "dgx-h100, llama3-h100"; "" where no cluster has the GPU, or one of that family. */
static const char *clusters_with(const st_paths *paths, const char *gpu, st_arena *arena,
                                 st_errors *errors)
{
    const st_path_entry *entries = NULL;
    size_t count = 0;
    size_t found = 0;
    const char *text = "";
    if (st_paths_list(paths, ST_FOLDER_CLUSTERS, arena, &entries, &count, NULL) != ST_OK)
        return text;
    for (size_t i = 0; i < count && found <= SHOWN_CLUSTERS; i++) {
        const st_yaml_node *root = NULL;
        if (st_paths_read_yaml(paths, ST_FOLDER_CLUSTERS, entries[i].name, arena, &root, NULL) !=
            ST_OK)
            continue;
        const st_yaml_node *named = st_yaml_get(root, "gpu");
        if (named != NULL && named->kind == ST_YAML_MAP)
            named = st_yaml_get(named, "base");
        if (named == NULL || named->kind != ST_YAML_SCALAR || !is_of_family(named->text, gpu))
            continue;
        text = st_errors_text(errors, "%s%s%s", text, found > 0 ? ", " : "",
                              found == SHOWN_CLUSTERS ? "..." : entries[i].name);
        found++;
    }
    return text;
}

const char *st_wrong_kind_hint(const st_paths *paths, st_folder wanted, const char *name,
                               st_arena *arena, st_errors *errors)
{
    static const st_folder kinds[] = {ST_FOLDER_MODELS, ST_FOLDER_CLUSTERS, ST_FOLDER_GPUS,
                                      ST_FOLDER_JOBS,   ST_FOLDER_SHEETS,   ST_FOLDER_CONSTANTS};
    for (size_t i = 0; i < ST_COUNT(kinds); i++) {
        st_folder kind = kinds[i];
        if (kind == wanted)
            continue;
        const st_path_entry *entries = NULL;
        size_t count = 0;
        st_arena *there_arena = st_arena_create();
        bool found = false;
        if (there_arena != NULL &&
            st_paths_list(paths, kind, there_arena, &entries, &count, NULL) == ST_OK)
            for (size_t j = 0; j < count && !found; j++)
                found = strcmp(entries[j].name, name) == 0;
        st_arena_destroy(there_arena);
        if (!found)
            continue;
        bool in_place = wanted == ST_FOLDER_JOBS || wanted == ST_FOLDER_CLUSTERS;
        const char *clusters =
            kind == ST_FOLDER_GPUS && in_place ? clusters_with(paths, name, arena, errors) : "";
        if (clusters[0] != '\0')
            return st_errors_text(errors, "%s is a GPU; clusters with it: %s", name, clusters);
        if (wanted == ST_FOLDER_JOBS && (kind == ST_FOLDER_MODELS || kind == ST_FOLDER_CLUSTERS)) {
            /* For a job, which needs all of them. */
            if (kind == ST_FOLDER_MODELS)
                return st_errors_text(
                    errors,
                    "%s is a model: steptime estimate --model %s --cluster dgx-h100 --gpus 64",
                    name, name);
            return st_errors_text(
                errors,
                "%s is a cluster: steptime estimate --model llama3-70b --cluster %s --gpus 64",
                name, name);
        }
        return st_errors_text(errors, "%s is a %s", name, st_folder_shape_of(kind)->noun);
    }
    const char *clusters =
        wanted == ST_FOLDER_CLUSTERS ? clusters_with(paths, name, arena, errors) : "";
    if (clusters[0] != '\0')
        return st_errors_text(errors, "clusters with %s: %s", name, clusters);
    return NULL;
}

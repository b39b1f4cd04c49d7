/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the ranks of a job, from folders or one by one. */
#include "workload/execution.h"

#include "base/oom_flag.h"
#include "base/lists.h"
#include "base/memory.h"
#include "base/chars.h"
#include "workload/pytorch.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_FILES = 65536, MOST_GIB = 4 };

typedef struct finder {
    st_arena *arena;
    st_errors *errors;
    const char **paths;
    size_t count;
    const char *groups_path; /* of the groups that were read last */
    st_execution_groups groups;
} finder;

static st_status add_path(finder *files, const char *path)
{
    if (files->count >= MOST_FILES)
        return st_fail(files->errors, ST_ERR_LIMIT, (st_place){.file = path},
                       "more than 65536 files");
    (void)ST_APPEND(files->arena, files->paths, files->count, path);
    return ST_OK;
}

static const char *const endings[] = {".et", ".json", ".json.gz"};

/* Bytes of the ending, 0 for other files. */
static size_t ending_of(const char *path)
{
    for (size_t i = 0; i < ST_COUNT(endings); i++)
        if (st_ends_in(path, endings[i]))
            return strlen(endings[i]);
    return 0;
}

/* JSON is what PyTorch writes. */
static bool is_json(const char *path)
{
    return st_ends_in(path, ".json") || st_ends_in(path, ".json.gz");
}

/* Beside Chakra's traces JSON says something else: which groups or what network there are. */
static bool is_trace(const char *name, bool has_chakra)
{
    return name[0] != '.' && ending_of(name) > 0 && !(has_chakra && is_json(name)) &&
           strcmp(name, ST_EXECUTION_GROUPS_FILE) != 0;
}

static st_status add_folder(finder *files, const char *path)
{
    size_t before = files->count;
    st_status status = ST_OK;
    DIR *folder = st_open_folder(path);
    if (folder == NULL)
        return st_fail(files->errors, ST_ERR_IO, (st_place){.file = path},
                       "cannot read the folder: %s", strerror(errno));
    bool has_chakra = false;
    for (struct dirent *entry = readdir(folder); entry != NULL && !has_chakra;
         entry = readdir(folder))
        has_chakra = entry->d_name[0] != '.' && st_ends_in(entry->d_name, ".et");
    rewinddir(folder);
    for (struct dirent *entry = readdir(folder); entry != NULL && status == ST_OK;
         entry = readdir(folder))
        if (is_trace(entry->d_name, has_chakra))
            status = add_path(files, st_arena_printf(files->arena, "%s/%s", path, entry->d_name));
    (void)closedir(folder);
    return status == ST_OK && files->count == before
               ? st_fail(files->errors, ST_ERR_IO, (st_place){.file = path},
                         "the folder holds no .et, .json or .json.gz file")
               : status;
}

static st_status read_file(finder *files, const char *path, bool partial, st_execution *made)
{
    st_bytes *bytes = NULL;
    st_pytorch operators;
    st_status status = st_bytes_open(path, &bytes, files->errors);
    if (status == ST_OK && is_json(path)) {
        status = st_pytorch_read(bytes, files->arena, &operators, files->errors);
        if (status == ST_OK)
            status = st_pytorch_execution(&operators, files->arena, made, files->errors);
    } else if (status == ST_OK) {
        st_buffer text = {0};
        status = st_bytes_read_messages(bytes, "the file", MOST_GIB, &text, files->errors);
        if (status == ST_OK)
            status = st_execution_read_chakra(&(st_execution_text){path, text.data, text.length},
                                              partial, files->arena, made, files->errors);
        st_buffer_free(&text);
        if (status == ST_OK) {
            /* Groups of the folder in which a file lies. */
            const char *slash = strrchr(path, '/');
            int length = slash != NULL ? (int)(slash - path) + 1 : 0;
            const char *file =
                st_arena_printf(files->arena, "%.*s" ST_EXECUTION_GROUPS_FILE, length, path);
            if (files->groups_path == NULL || strcmp(files->groups_path, file) != 0)
                status =
                    st_execution_groups_read(file, files->arena, &files->groups, files->errors);
            files->groups_path = file;
            if (status == ST_OK)
                st_execution_groups_give(&files->groups, made);
        }
    }
    st_bytes_close(bytes);
    /* The number before the ending, behind a dot, a line or "rank". */
    size_t end = strlen(path) - ending_of(path);
    size_t begin = end;
    int64_t rank = 0;
    while (begin > 0 && end - begin < 9 && st_is_digit(path[begin - 1]))
        begin--;
    for (size_t i = begin; i < end; i++)
        rank = 10 * rank + (path[i] - '0');
    bool is_rank = begin > 0 && (strchr("._-", path[begin - 1]) != NULL ||
                                 (begin >= 4 && memcmp(path + begin - 4, "rank", 4) == 0));
    made->rank = begin < end && is_rank ? rank : -1;
    return status;
}

ST_COMPARE(by_rank, st_execution, ST_RISING(rank));

st_status st_execution_read_files(const char *const *paths, size_t count, bool partial,
                                  st_arena *arena, st_execution_set *set, st_errors *errors)
{
    finder files = {.arena = arena, .errors = errors};
    st_status status = ST_OK;
    *set = (st_execution_set){0};
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        struct stat info;
        bool is_folder = stat(paths[i], &info) == 0 && S_ISDIR(info.st_mode);
        status = is_folder ? add_folder(&files, paths[i]) : add_path(&files, paths[i]);
    }
    for (size_t i = 0; i < files.count && status == ST_OK; i++) {
        st_execution made;
        status = read_file(&files, files.paths[i], partial, &made);
        if (status == ST_OK)
            (void)ST_APPEND(arena, set->ranks, set->count, made);
    }
    if (status != ST_OK)
        return status;
    st_sort(set->ranks, set->count, sizeof *set->ranks, by_rank);
    for (size_t i = 0; set->count > 1 && i < set->count; i++) {
        st_place place = {.file = set->ranks[i].file};
        if (set->ranks[i].rank < 0)
            return st_fail(files.errors, ST_ERR_NAME, place,
                           "the file name lacks a rank" ST_EXPECTED
                           "NAME.RANK.et, NAME_RANK.json or NAME_rankRANK.json.gz");
        if (i > 0 && set->ranks[i].rank == set->ranks[i - 1].rank)
            return st_fail(files.errors, ST_ERR_NAME, place, "rank %lld is also in %s",
                           (long long)set->ranks[i].rank, set->ranks[i - 1].file);
    }
    return ST_OK;
}

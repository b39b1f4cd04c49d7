/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of Chakra files, written to a temporary folder and renamed atomically. */
#include "workload/workload.h"

#include "base/oom_flag.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_PATH = 4096 };

typedef struct folder {
    const st_workload *workload;
    const st_chakra_request *request;
    st_arena *arena;
    st_errors *errors;
    char path[MOST_PATH]; /* of the folder that is being written; "" before */
    uint64_t bytes;
} folder;

static st_status fail(const folder *self, const char *path, const char *what)
{
    return st_fail(self->errors, ST_ERR_IO, (st_place){.file = path}, "%s" ST_FOUND "%s", what,
                   strerror(errno));
}

static st_status write_file(folder *self, const char *name, const st_buffer *contents)
{
    char path[MOST_PATH + 256];
    if (contents->failed)
        return st_out_of_memory(self->errors);
    (void)snprintf(path, sizeof path, "%s/%s", self->path, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return fail(self, self->request->folder, "cannot write a file of the folder");
    bool ok = fwrite(contents->data, 1, contents->length, file) == contents->length;
    ok = fclose(file) == 0 && ok;
    self->bytes += contents->length;
    return ok ? ST_OK : fail(self, self->request->folder, "cannot write a file of the folder");
}

/* ---- comm_group.json ---- */

/* A group by its id, and a rank that is in it. */
typedef struct met_group {
    size_t id;
    size_t rank;
    st_group group;
} met_group;

ST_COMPARE(by_id, met_group, ST_RISING(id));

static st_status write_groups(folder *self)
{
    const st_workload *workload = self->workload;
    size_t count = 0;
    st_buffer text = {0};
    met_group *met = st_arena_alloc(self->arena, self->request->count * ST_GROUPS + 1, sizeof *met);
    unsigned *kinds = st_arena_alloc(self->arena, workload->stage_count, sizeof *kinds);
    if (met == NULL || kinds == NULL)
        return st_out_of_memory(self->errors);
    for (size_t i = 0; i < workload->stage_count; i++) {
        /* The kinds of groups that nodes of a stage name. */
        const st_work_stage *stage = &workload->stages[i];
        unsigned stage_kinds = 0;
        for (size_t j = 0; j < stage->count; j++)
            if (stage->nodes[j].type == ST_CHAKRA_COLL)
                stage_kinds |= 1U << stage->nodes[j].group;
        kinds[i] = stage_kinds;
    }
    for (size_t i = 0; i < self->request->count; i++) {
        size_t rank = self->request->ranks[i];
        for (st_group group = ST_GROUP_TP; group < ST_GROUPS; group++)
            if ((kinds[st_workload_stage(workload, rank)] >> group & 1U) != 0)
                met[count++] =
                    (met_group){st_workload_group_id(workload, group, rank), rank, group};
    }
    st_sort(met, count, sizeof *met, by_id);
    st_buffer_text(&text, "{");
    st_status status = ST_OK;
    for (size_t i = 0; i < count && status == ST_OK; i++)
        if (i == 0 || met[i].id != met[i - 1].id) {
            const met_group *member_met = &met[i];
            const bool first = i == 0;
            st_work_group members = {0};
            st_status member_status =
                st_workload_group(self->workload, member_met->group, member_met->rank, self->arena,
                                  &members, self->errors);
            st_buffer_printf(&text, "%s\n  \"%zu\": [", first ? "" : ",", member_met->id);
            for (size_t j = 0; j < members.count && member_status == ST_OK; j++)
                st_buffer_printf(&text, "%s%lu", j == 0 ? "" : ", ",
                                 (unsigned long)members.ranks[j]);
            st_buffer_text(&text, "]");
            status = member_status;
        }
    st_buffer_text(&text, "\n}\n");
    if (status == ST_OK)
        status = write_file(self, "comm_group.json", &text);
    st_buffer_free(&text);
    return status;
}

/* ---- the whole ---- */

st_status st_chakra_write_folder(const st_workload *workload, const st_chakra_request *request,
                                 uint64_t *bytes, st_errors *errors)
{
    folder self = {
        .workload = workload, .request = request, .arena = st_arena_create(), .errors = errors};
    if (self.arena == NULL)
        return st_out_of_memory(errors);
    st_status status;
    folder *folder_self = &self;
    const char *wanted = folder_self->request->folder;
    int length = snprintf(folder_self->path, sizeof folder_self->path, "%s.XXXXXX", wanted);
    if (length < 0 || (size_t)length >= sizeof folder_self->path - 256) {
        folder_self->path[0] = '\0';
        status = st_fail(folder_self->errors, ST_ERR_LIMIT, (st_place){0},
                         "the folder's name is too long");
    } else if (strlen(wanted) > 1 && wanted[strlen(wanted) - 1] == '/') {
        folder_self->path[0] = '\0';
        status = st_fail(folder_self->errors, ST_ERR_USAGE, (st_place){.file = wanted},
                         "a folder name must not end in '/'");
    } else if (mkdtemp(folder_self->path) == NULL) {
        folder_self->path[0] = '\0';
        status = fail(folder_self, wanted, "cannot create the folder");
    } else {
        status = chmod(folder_self->path, 0755) == 0
                     ? ST_OK
                     : fail(folder_self, wanted, "cannot create the folder");
    }
    if (status == ST_OK) {
        st_status rank_status = ST_OK;
        st_buffer contents = {0};
        for (size_t i = 0; i < self.request->count && rank_status == ST_OK; i++) {
            char name[256];
            contents.length = 0;
            st_chakra_write(self.workload, self.request->ranks[i], &contents);
            (void)snprintf(name, sizeof name, "%.200s.%lu.et", self.request->name,
                           (unsigned long)self.request->ranks[i]);
            rank_status = write_file(&self, name, &contents);
        }
        st_buffer_free(&contents);
        status = rank_status;
    }
    if (status == ST_OK)
        status = write_groups(&self);
    if (status == ST_OK && rename(self.path, request->folder) != 0)
        status =
            errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR
                ? st_fail(errors, ST_ERR_IO, (st_place){.file = request->folder},
                          "the folder already exists" ST_EXPECTED "a new name, or an empty folder")
                : fail(&self, request->folder, "cannot create the folder");
    if (status != ST_OK) {
        /* Removes what was written, after a failure. */
        DIR *list = self.path[0] == '\0' ? NULL : st_open_folder(self.path);
        if (list != NULL) {
            for (struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list))
                if (entry->d_name[0] != '.')
                    (void)unlinkat(dirfd(list), entry->d_name, 0);
            (void)closedir(list);
            (void)rmdir(self.path);
        }
    } else {
        *bytes = self.bytes;
    }
    st_arena_destroy(self.arena);
    return status;
}

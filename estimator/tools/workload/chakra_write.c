/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chakra's form of a workload. Durations are whole microseconds there: what a rank computes is
 * rounded from its begin to its end, so that no step grows or shrinks by rounding its tasks.
 */
#include "workload/workload.h"

#include "base/lists.h"
#include "base/scratch.h"
#include "base/protobuf.h"
#include "base/oom_flag.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TICKS_PER_US (ST_TICKS_PER_S / 1e6)

/* Of the schema that ASTRA-sim's feeder of 2025 reads. */
static const char schema_version[] = "0.0.4";

/* A buffer for the message inside, used again and again. */
typedef struct writer {
    const st_workload *workload;
    size_t rank;
    st_buffer *file;
    st_buffer node;
    st_buffer inner;
    st_buffer value;
    double computed; /* ticks of all computation before */
} writer;

/* ---- attributes ---- */

static void begin_attribute(writer *write, const char *name)
{
    write->inner.length = 0;
    st_proto_text(&write->inner, ST_CHAKRA_ATTR_NAME, name);
}

static void end_attribute(writer *write, uint32_t field)
{
    st_proto_bytes(&write->node, field, write->inner.data, write->inner.length);
}

static void put_number(writer *write, const char *name, uint32_t kind, uint64_t value)
{
    begin_attribute(write, name);
    st_proto_number(&write->inner, kind, value);
    end_attribute(write, ST_CHAKRA_NODE_ATTR);
}

static void put_text(writer *write, const char *name, const char *text, uint32_t field)
{
    begin_attribute(write, name);
    st_proto_text(&write->inner, ST_CHAKRA_ATTR_STRING, text);
    end_attribute(write, field);
}

/* ---- nodes ---- */

static void end_message(writer *write)
{
    st_proto_varint(write->file, write->node.length);
    st_buffer_append(write->file, write->node.data, write->node.length);
    write->node.length = 0;
}

static uint64_t whole_us(double ticks)
{
    return (uint64_t)llround(ticks / TICKS_PER_US);
}

static uint64_t duration_us(writer *write, const st_work_node *node)
{
    if (node->type != ST_CHAKRA_COMP)
        return whole_us((double)node->duration);
    double before = write->computed;
    write->computed += (double)node->duration;
    return whole_us(write->computed) - whole_us(before);
}

void st_chakra_write(const st_workload *workload, size_t rank, st_buffer *buffer)
{
    const st_work_stage *stage = &workload->stages[st_workload_stage(workload, rank)];
    writer write = {.workload = workload, .rank = rank, .file = buffer};
    char text[32];
    st_proto_text(&write.node, ST_CHAKRA_META_VERSION, schema_version);
    put_text(&write, "job", write.workload->job, ST_CHAKRA_META_ATTR);
    put_text(&write, "sheet", write.workload->sheet, ST_CHAKRA_META_ATTR);
    put_text(&write, "schedule", write.workload->schedule, ST_CHAKRA_META_ATTR);
    (void)snprintf(text, sizeof text, "%zu", write.rank);
    put_text(&write, "rank", text, ST_CHAKRA_META_ATTR);
    end_message(&write);
    for (size_t i = 0; i < stage->count; i++) {
        const st_work_node *node = &stage->nodes[i];
        st_proto_number(&write.node, ST_CHAKRA_NODE_ID, i);
        st_proto_text(&write.node, ST_CHAKRA_NODE_NAME, node->name);
        st_proto_number(&write.node, ST_CHAKRA_NODE_TYPE, (uint64_t)node->type);
        write.value.length = 0;
        for (uint32_t j = 0; j < node->dep_count; j++)
            st_proto_varint(&write.value, stage->deps[node->dep_first + j]);
        if (node->dep_count > 0)
            st_proto_bytes(&write.node, ST_CHAKRA_NODE_DATA_DEPS, write.value.data,
                           write.value.length);
        st_proto_number(&write.node, ST_CHAKRA_NODE_START, whole_us((double)node->start));
        st_proto_number(&write.node, ST_CHAKRA_NODE_DURATION, duration_us(&write, node));
        put_number(&write, "is_cpu_op", ST_CHAKRA_ATTR_BOOL, node->host);
        if (node->type == ST_CHAKRA_COLL) {
            char group_id[32];
            put_number(&write, "comm_type", ST_CHAKRA_ATTR_INT64, node->collective);
            put_number(&write, "comm_size", ST_CHAKRA_ATTR_INT64, node->bytes);
            (void)snprintf(group_id, sizeof group_id, "%zu",
                           st_workload_group_id(write.workload, node->group, write.rank));
            put_text(&write, "pg_name", group_id, ST_CHAKRA_NODE_ATTR);
        } else if (node->type != ST_CHAKRA_COMP) {
            size_t peer = st_workload_peer(write.workload, write.rank, node->peer);
            bool sends = node->type == ST_CHAKRA_SEND;
            put_number(&write, "comm_src", ST_CHAKRA_ATTR_INT32, sends ? write.rank : peer);
            put_number(&write, "comm_dst", ST_CHAKRA_ATTR_INT32, sends ? peer : write.rank);
            put_number(&write, "comm_tag", ST_CHAKRA_ATTR_INT32, node->tag);
            put_number(&write, "comm_size", ST_CHAKRA_ATTR_INT64, node->bytes);
        }
        end_message(&write);
    }
    st_buffer_free(&write.node);
    st_buffer_free(&write.inner);
    st_buffer_free(&write.value);
}

/* ---- the folder: a temporary one, renamed when it is complete ---- */

enum { MOST_PATH = 4096 };

typedef struct folder_writer {
    const st_workload *workload;
    const st_chakra_request *request;
    st_arena *arena;
    st_errors *errors;
    char path[MOST_PATH]; /* of the folder that is being written; "" before */
    uint64_t bytes;
} folder_writer;

static st_status fail(const folder_writer *folder, const char *path, const char *what)
{
    return st_fail(folder->errors, ST_ERR_IO, (st_place){.file = path}, "%s" ST_FOUND "%s", what,
                   strerror(errno));
}

static st_status write_file(folder_writer *folder, const char *name, const st_buffer *contents)
{
    char path[MOST_PATH + 256];
    (void)snprintf(path, sizeof path, "%s/%s", folder->path, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return fail(folder, folder->request->folder, "cannot write a file of the folder");
    bool ok = fwrite(contents->data, 1, contents->length, file) == contents->length;
    ok = fclose(file) == 0 && ok;
    folder->bytes += contents->length;
    return ok ? ST_OK : fail(folder, folder->request->folder, "cannot write a file of the folder");
}

/* ---- comm_group.json ---- */

/* A group by its id, and a rank that is in it. */
typedef struct met_group {
    size_t id;
    size_t rank;
    st_group group;
} met_group;

ST_COMPARE(by_id, met_group, ST_RISING(id));

static st_status write_groups(folder_writer *folder)
{
    const st_workload *workload = folder->workload;
    size_t count = 0;
    st_buffer text = {0};
    met_group *met =
        st_arena_alloc(folder->arena, folder->request->count * ST_GROUPS + 1, sizeof *met);
    unsigned *kinds = st_arena_alloc(folder->arena, workload->stage_count, sizeof *kinds);
    for (size_t i = 0; i < workload->stage_count; i++) {
        /* The kinds of groups that nodes of a stage name. */
        const st_work_stage *stage = &workload->stages[i];
        for (size_t j = 0; j < stage->count; j++)
            if (stage->nodes[j].type == ST_CHAKRA_COLL)
                kinds[i] |= 1U << stage->nodes[j].group;
    }
    for (size_t i = 0; i < folder->request->count; i++) {
        size_t rank = folder->request->ranks[i];
        for (st_group group = ST_GROUP_TP; group < ST_GROUPS; group++)
            if ((kinds[st_workload_stage(workload, rank)] >> group & 1U) != 0)
                met[count++] =
                    (met_group){st_workload_group_id(workload, group, rank), rank, group};
    }
    st_sort(met, count, sizeof *met, by_id);
    st_buffer_text(&text, "{");
    for (size_t i = 0; i < count; i++)
        if (i == 0 || met[i].id != met[i - 1].id) {
            const st_work_group members =
                st_workload_group(workload, met[i].group, met[i].rank, folder->arena);
            st_buffer_printf(&text, "%s\n  \"%zu\": [", i == 0 ? "" : ",", met[i].id);
            for (size_t j = 0; j < members.count; j++)
                st_buffer_printf(&text, "%s%lu", j == 0 ? "" : ", ",
                                 (unsigned long)members.ranks[j]);
            st_buffer_text(&text, "]");
        }
    st_buffer_text(&text, "\n}\n");
    st_status status = write_file(folder, "comm_group.json", &text);
    st_buffer_free(&text);
    return status;
}

/* ---- the whole ---- */

st_status st_chakra_write_folder(const st_workload *workload, const st_chakra_request *request,
                                 uint64_t *bytes, st_errors *errors)
{
    folder_writer folder = {
        .workload = workload, .request = request, .arena = st_arena_create(), .errors = errors};
    st_status status = ST_OK;
    const char *wanted = request->folder;
    bool made = false;
    int length = snprintf(folder.path, sizeof folder.path, "%s.XXXXXX", wanted);
    if (length < 0 || (size_t)length >= sizeof folder.path - 256) {
        status = st_fail(errors, ST_ERR_LIMIT, (st_place){0}, "the folder's name is too long");
    } else if (strlen(wanted) > 1 && wanted[strlen(wanted) - 1] == '/') {
        status = st_fail(errors, ST_ERR_USAGE, (st_place){.file = wanted},
                         "a folder name must not end in '/'");
    } else {
        sigset_t before;
        st_signals_hold(&before);
        made = mkdtemp(folder.path) != NULL && st_scratch_note(folder.path);
        st_signals_release(&before);
        if (!made || chmod(folder.path, 0755) != 0)
            status = fail(&folder, wanted, "cannot create the folder");
    }
    st_buffer contents = {0};
    for (size_t i = 0; i < request->count && status == ST_OK; i++) {
        char name[256];
        contents.length = 0;
        st_chakra_write(workload, request->ranks[i], &contents);
        (void)snprintf(name, sizeof name, "%.200s.%lu.et", request->name,
                       (unsigned long)request->ranks[i]);
        status = write_file(&folder, name, &contents);
    }
    st_buffer_free(&contents);
    if (status == ST_OK)
        status = write_groups(&folder);
    if (status == ST_OK && rename(folder.path, request->folder) != 0)
        status =
            errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR
                ? st_fail(errors, ST_ERR_IO, (st_place){.file = request->folder},
                          "the folder already exists" ST_EXPECTED "a new name, or an empty folder")
                : fail(&folder, request->folder, "cannot create the folder");
    if (status != ST_OK) {
        DIR *list = made ? st_open_folder(folder.path) : NULL;
        if (list != NULL) {
            for (struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list))
                if (entry->d_name[0] != '.')
                    (void)unlinkat(dirfd(list), entry->d_name, 0);
            (void)closedir(list);
            (void)rmdir(folder.path);
        }
    } else {
        *bytes = folder.bytes;
    }
    st_scratch_forget(folder.path);
    st_arena_destroy(folder.arena);
    return status;
}

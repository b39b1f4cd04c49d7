/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A draft as a YAML file. Comments hold words of the source, which may be anything: whatever is not
 * a printable ASCII character becomes '?', so that no word can end its comment.
 */
#include "launch/import/job_draft.h"
#include "base/result.h"
#include "base/text.h"
#include "steptime/keys.h"
#include "steptime/tool/job_keys.h"

#include <string.h>

enum { COLUMNS = 100, COMMENT_COLUMN = 32, ORIGIN_MAX = 160 };

static void write_printable(const char *text, size_t length, st_buffer *buffer)
{
    for (size_t i = 0; i < length; i++)
        st_buffer_append(buffer, text[i] >= ' ' && text[i] <= '~' ? &text[i] : "?", 1);
}

void st_comment_write(const char *text, st_buffer *buffer)
{
    size_t column = 0;
    for (const char *word = text + strspn(text, " "); *word != '\0';) {
        size_t length = strcspn(word, " ");
        if (column > 0 && column + 1 + length > COLUMNS) {
            st_buffer_text(buffer, "\n");
            column = 0;
        }
        st_buffer_text(buffer, column == 0 ? "# " : " ");
        write_printable(word, length, buffer);
        column += (column == 0 ? 2 : 1) + length;
        word += length;
        word += strspn(word, " ");
    }
    st_buffer_text(buffer, "\n");
}

typedef struct draft_writer {
    const st_draft *draft;
    char top[64]; /* sections that are open */
    char sub[64];
    st_buffer *buffer;
} draft_writer;

static bool has_value_below(const st_draft *draft, const char *section)
{
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    for (size_t i = 0; i < count; i++)
        if (draft->values[i].text != NULL && strncmp(keys[i].path, section, strlen(section)) == 0 &&
            keys[i].path[strlen(section)] == '.')
            return true;
    return false;
}

static void write_gpu(const st_draft *draft, st_buffer *buffer)
{
    if (draft->gpu == NULL || has_value_below(draft, ST_KEY_CLUSTER_GPU))
        return;
    st_buffer_quoted(buffer, "  gpu: ", draft->gpu, "\n");
}

/* Keys of a section are contiguous in the table, and deeper sections are inside theirs. */
static size_t open_sections(draft_writer *writer, const char *path)
{
    const char *first = strchr(path, '.');
    if (first == NULL)
        return 0;
    size_t length = (size_t)(first - path);
    if (strlen(writer->top) != length || strncmp(writer->top, path, length) != 0) {
        const char *cluster = writer->draft->cluster;
        memcpy(writer->top, path, length);
        writer->top[length] = '\0';
        writer->sub[0] = '\0';
        st_buffer_printf(writer->buffer, "%s:\n", writer->top);
        if (cluster != NULL && strcmp(writer->top, ST_KEY_CLUSTER) == 0)
            st_buffer_quoted(writer->buffer, "  base: ", cluster, "\n");
        if (strcmp(writer->top, ST_KEY_CLUSTER) == 0)
            write_gpu(writer->draft, writer->buffer);
    }
    const char *second = strchr(first + 1, '.');
    if (second == NULL) {
        writer->sub[0] = '\0';
        return 2;
    }
    size_t inner = (size_t)(second - first - 1);
    if (strlen(writer->sub) != inner || strncmp(writer->sub, first + 1, inner) != 0) {
        memcpy(writer->sub, first + 1, inner);
        writer->sub[inner] = '\0';
        st_buffer_printf(writer->buffer, "  %s:\n", writer->sub);
        if (writer->draft->gpu != NULL && strcmp(writer->top, ST_KEY_CLUSTER) == 0 &&
            strcmp(writer->sub, "gpu") == 0)
            st_buffer_quoted(writer->buffer, "    base: ", writer->draft->gpu, "\n");
    }
    return 4;
}

/* A paragraph from a buffer, which it frees. */
static void write_paragraph(st_buffer *text, st_buffer *buffer)
{
    st_buffer_text(buffer, "#\n");
    if (text->data != NULL)
        st_comment_write(text->data, buffer);
    buffer->failed = buffer->failed || text->failed;
    st_buffer_free(text);
}

/*
 * What this file lacks, and the next command: a search finds micro-batch, recomputation and plan by
 * itself, and gives those that are left open here.
 */
static void write_missing(const st_draft *draft, st_buffer *buffer)
{
    static const struct {
        const char *path;
        const char *example; /* NULL: a search finds it */
    } needed[] = {{ST_KEY_BATCH_SEQUENCE, "4096"},
                  {ST_KEY_BATCH_GLOBAL, "512"},
                  {ST_KEY_BATCH_MICRO, NULL},
                  {"recompute", NULL},
                  {ST_KEY_MODEL_VOCABULARY, "128256"}};
    bool no_cluster = draft->cluster == NULL && !has_value_below(draft, ST_KEY_CLUSTER);
    const char *separator = "An estimate also needs, here or with --set: ";
    st_buffer list = {0};
    st_buffer next = {0};
    st_buffer_text(&next, "Next, with values of your own: steptime search JOB --gpus 64");
    for (size_t i = 0; i < ST_COUNT(needed); i++) {
        const st_key *key = st_key_find(needed[i].path);
        if (key == NULL || draft->values[st_key_index(key)].text != NULL)
            continue;
        st_buffer_printf(&list, "%s%s", separator, needed[i].path);
        separator = ", ";
        if (needed[i].example != NULL)
            st_buffer_printf(&next, " --set %s=%s", needed[i].path, needed[i].example);
    }
    if (no_cluster) {
        st_buffer_printf(&list, "%scluster", separator);
        st_buffer_text(&next, " --set cluster=dgx-h100");
    }
    if (list.length == 0) {
        st_buffer_free(&next);
        return;
    }
    st_buffer_text(&list, ".");
    write_paragraph(&list, buffer);
    write_paragraph(&next, buffer);
}

/* No key of the source gave the value: its origin is a default, or the class of an architecture. */
static bool is_assumed(const char *origin)
{
    return strstr(origin, "default") != NULL || strstr(origin, "of architecture") != NULL;
}

static void put_value(st_node *row, const char *text)
{
    double number = 0;
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        st_put_bool(row, "value", text[0] == 't');
    else if (st_number_parse(text, strlen(text), (st_place){0}, &number, NULL) == ST_OK)
        st_put_number(row, "value", number);
    else
        st_put_text(row, "value", text);
}

/* The job as data, and the keys of the source by what became of them. */
static void put_report(const st_draft *draft, const char *job)
{
    static const char *const lists[] = {"read", "harmless", "unknown"};
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    st_node *report = draft->request->report;
    st_put_text(report, "source", st_draft_source(draft));
    st_put_text(report, "cluster", draft->cluster);
    st_node *values = st_put_list(report, "values");
    for (size_t i = 0; i < count; i++) {
        const st_draft_value *value = &draft->values[i];
        if (value->text == NULL)
            continue;
        st_node *row = st_put_line_map(values, NULL);
        st_put_text(row, "key", keys[i].path);
        put_value(row, value->text);
        st_put_text(row, "from", value->origin);
        st_put_bool(row, "assumed", value->origin != NULL && is_assumed(value->origin));
    }
    for (size_t fate = 0; fate < ST_COUNT(lists); fate++) {
        st_node *list = st_put_list(report, lists[fate]);
        for (size_t i = 0; i < draft->key_count; i++) {
            const st_source_key *key = &draft->keys[i];
            if (key->fate != (st_key_fate)fate)
                continue;
            st_node *row = st_put_line_map(list, NULL);
            st_put_text(row, "key", key->name);
            st_put_text(row, "value", key->value);
            if (key->line > 0)
                st_put_count(row, "line", (uint64_t)key->line);
        }
    }
    st_put_texts(report, "notes", draft->notes, draft->note_count);
    st_put_text(report, "job", job);
}

static void write_constants(const st_draft *draft, st_buffer *buffer)
{
    if (draft->constant_count > 0)
        st_buffer_text(buffer, ST_KEY_CONSTANTS ":\n");
    for (size_t i = 0; i < draft->constant_count; i++) {
        size_t length = strcspn(draft->constants[i], "=");
        st_buffer_printf(buffer, "  %.*s: ", (int)length, draft->constants[i]);
        /* Numbers with a unit stay as they are; anything that YAML might misread is quoted. */
        const char *value = draft->constants[i] + length + 1;
        static const char plain[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    " .+-*/^$%()";
        if (value[strspn(value, plain)] == '\0' && strchr("-*% ", value[0]) == NULL)
            st_buffer_text(buffer, value);
        else
            st_buffer_json_string(buffer, value);
        st_buffer_text(buffer, "\n");
    }
}

st_status st_draft_write(st_draft *draft, const char *title, st_buffer *buffer)
{
    if (draft->status != ST_OK)
        return draft->status;
    st_comment_write(title, buffer);
    for (size_t i = 0; i < draft->note_count; i++) {
        st_buffer_text(buffer, "#\n");
        st_comment_write(draft->notes[i], buffer);
    }
    write_missing(draft, buffer);
    bool is_stack_named = false; /* then its release is part of the name */
    for (size_t i = 0; i < draft->file_count; i++) {
        size_t length = strcspn(draft->files[i], "=");
        st_buffer_printf(buffer, "%.*s: ", (int)length, draft->files[i]);
        st_buffer_quoted(buffer, "", draft->files[i] + length + 1, "\n");
        is_stack_named = is_stack_named || strncmp(draft->files[i], ST_KEY_STACK "=", 6) == 0;
    }
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    draft_writer writer = {.draft = draft, .buffer = buffer};
    for (size_t i = 0; i < count; i++)
        if (draft->values[i].text != NULL &&
            !(is_stack_named && strcmp(keys[i].path, ST_KEY_STACK_RELEASE) == 0)) {
            size_t indent = open_sections(&writer, keys[i].path);
            const st_key *key = &keys[i];
            const st_draft_value *value = &draft->values[i];
            const char *dot = strrchr(key->path, '.');
            size_t start = buffer->length;
            st_buffer_printf(buffer, "%*s%s: ", (int)indent, "", dot != NULL ? dot + 1 : key->path);
            if (key->kind == ST_KEY_TEXT)
                st_buffer_json_string(buffer, value->text);
            else
                st_buffer_text(buffer, value->text);
            if (value->origin != NULL) {
                size_t width = buffer->length - start;
                size_t length = strlen(value->origin);
                st_buffer_printf(buffer, "%*s# ",
                                 (int)(width + 2 < COMMENT_COLUMN ? COMMENT_COLUMN - width : 2),
                                 "");
                write_printable(value->origin, length > ORIGIN_MAX ? ORIGIN_MAX : length, buffer);
            }
            st_buffer_text(buffer, "\n");
        }
    if (!has_value_below(draft, ST_KEY_CLUSTER) && (draft->cluster != NULL || draft->gpu != NULL)) {
        st_buffer_text(buffer, draft->gpu == NULL ? "cluster: " : "cluster:\n");
        if (draft->cluster != NULL) {
            st_buffer_text(buffer, draft->gpu == NULL ? "" : "  base: ");
            st_buffer_quoted(buffer, "", draft->cluster, "\n");
        }
        write_gpu(draft, buffer);
    }
    write_constants(draft, buffer);
    if (buffer->failed)
        return st_out_of_memory(draft->errors);
    if (draft->request->report != NULL)
        put_report(draft, buffer->data);
    return ST_OK;
}

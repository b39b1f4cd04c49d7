/* SPDX-License-Identifier: Apache-2.0 */
/* Open files and what is wrong with them; see documents.h. */
#include "lsp/documents.h"

#include "base/chars.h"
#include "base/yaml.h"
#include "steptime/tool/estimates.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER_BYTES = 4096 };

/* ---- URIs ---- */

static int digit_of(char c)
{
    const char lower = st_to_lower(c);
    return st_is_digit(c) ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

char *st_uri_path(const char *uri, st_arena *arena)
{
    static const char scheme[] = "file://";
    if (!st_begins(uri, scheme))
        return NULL;
    uri += strlen(scheme);
    if (uri[0] != '/') /* of another machine */
        return NULL;
    char *path = st_arena_copy(arena, uri, strlen(uri));
    size_t length = 0;
    for (; path != NULL && *uri != '\0'; uri++) {
        if (*uri != '%') {
            path[length++] = *uri;
            continue;
        }
        int high = digit_of(uri[1]);
        int low = high >= 0 ? digit_of(uri[2]) : -1;
        if (low < 0 || high * 16 + low == 0)
            return NULL;
        path[length++] = (char)(high * 16 + low);
        uri += 2;
    }
    if (path != NULL)
        path[length] = '\0';
    return path;
}

const char *st_path_uri(const char *path, st_arena *arena)
{
    st_buffer buffer = {0};
    st_buffer_text(&buffer, "file://");
    for (; *path != '\0'; path++) {
        if (st_is_name(*path) || strchr("/-.~", *path) != NULL)
            st_buffer_append(&buffer, path, 1);
        else
            st_buffer_printf(&buffer, "%%%02X", (unsigned)(unsigned char)*path);
    }
    const char *uri = st_arena_copy(arena, buffer.data, buffer.length);
    st_buffer_free(&buffer);
    return uri;
}

const char *st_lsp_absolute(const char *path, st_arena *arena)
{
    char folder[FOLDER_BYTES];
    if (path[0] == '/' || getcwd(folder, sizeof folder) == NULL)
        return path;
    const char *absolute = st_arena_printf(arena, "%s/%s", folder, path);
    return absolute != NULL ? absolute : path;
}

bool st_lsp_is_same_file(const char *one, const char *other)
{
    struct stat first;
    struct stat second;
    return strcmp(one, other) == 0 ||
           (stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev &&
            first.st_ino == second.st_ino);
}

/* ---- the list ---- */

static void update_edited(st_documents *documents)
{
    for (size_t i = 0; i < documents->count; i++)
        documents->edited[i] = (st_edited_file){
            documents->items[i]->path, documents->items[i]->text, documents->items[i]->length};
    st_paths_set_edited(documents->paths, documents->edited, documents->count);
}

static void free_document(st_document *document)
{
    if (document == NULL)
        return;
    st_arena_destroy(document->arena);
    free(document->uri);
    free(document->path);
    free(document->text);
    free(document->job);
    free(document);
}

st_document *st_documents_find(const st_documents *documents, const char *uri)
{
    for (size_t i = 0; i < documents->count; i++)
        if (strcmp(documents->items[i]->uri, uri) == 0)
            return documents->items[i];
    return NULL;
}

static bool has_key(const char *text, const char *key)
{
    for (const char *found = strstr(text, key); found != NULL; found = strstr(found + 1, key))
        if ((found == text || found[-1] == '\n') && found[strlen(key)] == ':')
            return true;
    return false;
}

bool st_document_has_key(const st_document *document, const char *key)
{
    return has_key(document->text, key);
}

/* What a file is, by the keys that only sheets have, and by its folder. */
static void find_kind(st_document *document)
{
    static const char *const of_sheets[] = {"cells", "inputs",  "functions", "include",
                                            "enums", "summary", "checks",    "report"};
    static const struct {
        const char *folder, *section;
    } parts[] = {{"/configs/models/", "model"},
                 {"/configs/clusters/", "cluster"},
                 {"/configs/gpus/", "cluster.gpu"},
                 {"/configs/stacks/", "stack"}};
    document->kind =
        strstr(document->path, "/formulas/") != NULL ? ST_DOCUMENT_SHEET : ST_DOCUMENT_JOB;
    document->section = NULL;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(document->path, parts[i].folder) != NULL) {
            document->kind = ST_DOCUMENT_PART;
            document->section = parts[i].section;
        }
    for (size_t i = 0; i < sizeof of_sheets / sizeof *of_sheets; i++)
        if (document->kind == ST_DOCUMENT_JOB && has_key(document->text, of_sheets[i]))
            document->kind = ST_DOCUMENT_SHEET;
}

static st_document *make_document(const char *uri)
{
    st_arena *arena = st_arena_create();
    st_document *document = calloc(1, sizeof *document);
    const char *path = arena != NULL ? st_uri_path(uri, arena) : NULL;
    if (document != NULL && path != NULL) {
        document->uri = strdup(uri);
        document->path = strdup(path);
    }
    st_arena_destroy(arena);
    if (document == NULL || document->uri == NULL || document->path == NULL) {
        free_document(document);
        return NULL;
    }
    return document;
}

/* The length of the text with U+0000 where it was: the reader of files reports it. */
static size_t restore_nul(char *text)
{
    size_t length = 0;
    for (const char *from = text; *from != '\0'; length++) {
        const bool is_nul = st_begins(from, ST_LSP_NUL);
        text[length] = is_nul ? '\0' : *from;
        from += is_nul ? strlen(ST_LSP_NUL) : 1;
    }
    text[length] = '\0';
    return length;
}

st_document *st_documents_put(st_documents *documents, const char *uri, const char *text)
{
    st_document *document = st_documents_find(documents, uri);
    if (document == NULL) {
        document = documents->count < ST_DOCUMENTS_MAX ? make_document(uri) : NULL;
        if (document == NULL)
            return NULL;
        documents->items[documents->count++] = document;
    }
    char *copy = strdup(text);
    if (copy != NULL) {
        free(document->text);
        document->text = copy;
        document->length = restore_nul(copy);
    } else if (document->text == NULL) {
        documents->count--;
        free_document(document);
        return NULL;
    }
    find_kind(document);
    update_edited(documents);
    for (size_t i = 0; i < documents->count; i++) /* others may include it */
        documents->items[i]->is_due = true;
    return copy != NULL ? document : NULL;
}

void st_documents_close(st_documents *documents, const char *uri)
{
    for (size_t i = 0; i < documents->count; i++)
        if (strcmp(documents->items[i]->uri, uri) == 0) {
            free_document(documents->items[i]);
            documents->items[i] = documents->items[--documents->count];
            break;
        }
    update_edited(documents);
    for (size_t i = 0; i < documents->count; i++) /* the disk's text counts again */
        documents->items[i]->is_due = true;
}

void st_documents_free(st_documents *documents)
{
    while (documents->count > 0)
        free_document(documents->items[--documents->count]);
    update_edited(documents);
}

/* ---- what is wrong ---- */

static void keep_sheet(st_document *document, const st_sheet *sheet, st_arena *arena)
{
    st_arena_destroy(document->arena);
    document->arena = arena;
    document->sheet = sheet;
}

static void check_sheet(const st_documents *documents, st_document *document, st_errors *errors)
{
    st_arena *arena = st_arena_create();
    const st_sheet *sheet = NULL;
    const st_sheet_reader reader = st_paths_sheet_reader(documents->paths);
    if (arena != NULL && st_sheet_load(&reader, document->path, arena, &sheet, errors) == ST_OK &&
        sheet != NULL)
        keep_sheet(document, sheet, arena);
    else
        st_arena_destroy(arena);
}

/* A job is estimated, so that its checks are looked at, too. */
static void check_job(const st_documents *documents, st_document *document, st_errors *errors)
{
    st_arena *arena = st_arena_create();
    const st_request request = {.job = document->path};
    st_estimate *estimate = arena != NULL ? st_estimate_new(arena) : NULL;
    st_status status = estimate != NULL
                           ? st_estimate_load(documents->paths, &request, arena, estimate, errors)
                           : ST_ERR_MEMORY;
    const st_sheet *sheet = estimate != NULL ? st_estimate_parts_of(estimate).sheet : NULL;
    if (status == ST_OK)
        st_note(&status, st_estimate_check_plan(documents->paths, &request, arena, errors));
    if (sheet != NULL)
        keep_sheet(document, sheet, arena);
    else
        st_arena_destroy(arena);
}

/* Of a model, a cluster and so on: as a job that has nothing else. */
static void check_part(const st_documents *documents, const st_document *document,
                       st_errors *errors)
{
    st_arena *arena = st_arena_create();
    const st_job *job = NULL;
    st_status status = ST_OK;
    const char *set =
        arena != NULL ? st_arena_printf(arena, "%s=%s", document->section, document->path) : NULL;
    if (set != NULL)
        st_note(&status, st_job_load(documents->paths, NULL, &set, 1, arena, &job, errors));
    st_arena_destroy(arena);
}

/* Messages are about the structure where there is one, and about the text where there is none. */
void st_document_check(const st_documents *documents, st_document *document, st_errors *errors)
{
    document->is_due = false;
    switch (document->kind) {
    case ST_DOCUMENT_SHEET:
        check_sheet(documents, document, errors);
        break;
    case ST_DOCUMENT_JOB:
        check_job(documents, document, errors);
        break;
    case ST_DOCUMENT_PART:
        check_part(documents, document, errors);
        break;
    }
}

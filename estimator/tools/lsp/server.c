/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol: frames, requests, diagnostics; see server.h. */
#include "lsp/server.h"

#include "base/chars.h"
#include "base/json_read.h"
#include "lsp/answers.h"
#include "steptime/job.h"
#include "steptime/tool/job_keys.h"

#include <stdlib.h>
#include <unistd.h>

/* Codes of JSON-RPC and of the protocol. */
enum {
    NO_JSON = -32700,
    NO_REQUEST = -32600,
    NO_METHOD = -32601,
    NO_PARAMETERS = -32602,
    NOT_INITIALIZED = -32002,
    REQUEST_FAILED = -32803
};

enum { HEADER_BYTES = 4096 };

struct st_lsp_server {
    st_documents documents;
    st_lsp_settings settings;
    st_buffer input;
    bool is_initialized;
    bool is_shut_down;
    bool has_ended;
};

/* A message of the editor. */
typedef struct message {
    st_lsp_server *server;
    const st_json *id; /* NULL: a notification, which is not answered */
    const st_json *params;
    st_arena *arena;
    st_buffer *out;
} message;

static void log_line(const st_lsp_server *server, const char *text)
{
    if (server->settings.log != NULL)
        (void)fprintf(server->settings.log, "steptime lsp: %s\n", text);
}

/* ---- JSON ---- */

/* The value of "a/b" below a node; NULL where there is none. */
static const st_json *find(const st_json *node, const char *path)
{
    while (node != NULL && *path != '\0') {
        const size_t length = strcspn(path, "/");
        const st_json *child = node->kind == ST_JSON_MAP ? node->first : NULL;
        while (child != NULL && (child->name == NULL || strncmp(child->name, path, length) != 0 ||
                                 child->name[length] != '\0'))
            child = child->next;
        node = child;
        path += length + (path[length] == '/' ? 1 : 0);
    }
    return node;
}

static const char *find_text(const st_json *node, const char *path)
{
    const st_json *found = find(node, path);
    return found != NULL && found->kind == ST_JSON_STRING ? found->text : NULL;
}

static bool find_count(const st_json *node, const char *path, size_t *count)
{
    const st_json *found = find(node, path);
    if (found == NULL || found->kind != ST_JSON_NUMBER || strlen(found->text) > 9 ||
        strspn(found->text, "0123456789") != strlen(found->text))
        return false;
    *count = strtoul(found->text, NULL, 10);
    return true;
}

static void put_frame(const st_buffer *body, st_buffer *out)
{
    st_buffer_printf(out, "Content-Length: %zu\r\n\r\n", body->length);
    st_buffer_append(out, body->data, body->length);
}

static void begin_reply(const st_json *id, st_buffer *body)
{
    st_buffer_text(body, "{\"jsonrpc\":\"2.0\",\"id\":");
    if (id != NULL && id->kind == ST_JSON_STRING)
        st_buffer_json_string(body, id->text);
    else
        st_buffer_text(body, id != NULL && id->kind == ST_JSON_NUMBER ? id->text : "null");
}

/* `id` NULL: of a message that could not be read. */
static void reply_error(const st_json *id, int code, const char *text, st_buffer *out)
{
    st_buffer body = {0};
    begin_reply(id, &body);
    st_buffer_printf(&body, ",\"error\":{\"code\":%d,\"message\":", code);
    st_buffer_json_string(&body, text);
    st_buffer_text(&body, "}}");
    put_frame(&body, out);
    st_buffer_free(&body);
}

static void reply(const message *asked, const st_buffer *result)
{
    st_buffer body = {0};
    begin_reply(asked->id, &body);
    st_buffer_text(&body, ",\"result\":");
    st_buffer_append(&body, result->data, result->length);
    st_buffer_text(&body, "}");
    put_frame(&body, asked->out);
    st_buffer_free(&body);
}

static void reply_text(const message *asked, const char *json)
{
    st_buffer result = {0};
    st_buffer_text(&result, json);
    reply(asked, &result);
    st_buffer_free(&result);
}

/* ---- diagnostics ---- */

/* The message without its place: "unknown key 'tq': did you mean 'tp'?" */
static void write_message(st_error error, st_buffer *line)
{
    char *text = NULL;
    size_t length = 0;
    if (error.suggestion != NULL && st_begins(error.suggestion, "set it in the job"))
        error.suggestion = "set it in the job"; /* an editor has no --set */
    error.place = (st_place){0};
    FILE *stream = open_memstream(&text, &length);
    if (stream != NULL) {
        st_error_write(&error, stream);
        (void)fclose(stream);
    }
    const char *begin = st_or_none(text);
    const char *severity = strstr(begin, ": ");
    begin = severity != NULL ? severity + 2 : begin;
    st_buffer_append(line, begin, strcspn(begin, "\n"));
    free(text);
}

/* A place in another file that an editor can open. */
static void put_related(st_place place, st_buffer *json)
{
    st_arena *arena = st_arena_create();
    const int line = place.line > 0 ? place.line - 1 : 0;
    const int column = place.column > 0 ? place.column - 1 : 0;
    if (arena == NULL)
        return;
    st_buffer_text(json, ",\"relatedInformation\":[{\"location\":{\"uri\":");
    st_buffer_json_string(json, st_path_uri(st_lsp_absolute(place.file, arena), arena));
    st_buffer_printf(json,
                     ",\"range\":{\"start\":{\"line\":%d,\"character\":%d},"
                     "\"end\":{\"line\":%d,\"character\":%d}}},\"message\":\"said here\"}]",
                     line, column, line, column);
    st_arena_destroy(arena);
}

static void put_diagnostic(const st_document *document, const st_error *error, st_buffer *json)
{
    const st_place place = error->place;
    const bool is_here = place.file != NULL && strcmp(place.file, document->path) == 0;
    const bool is_elsewhere = !is_here && place.file != NULL && place.line > 0;
    const bool is_file = is_elsewhere && access(place.file, F_OK) == 0;
    st_buffer words = {0};
    st_lsp_spot at = {document->text, document->length, 0};
    if (is_here)
        at.offset = st_lsp_offset_of_place(document->text, document->length, place);
    else
        at.offset = st_lsp_named_key(document, error->message);
    size_t end = st_lsp_word_at(at, ".-").end;
    st_buffer_text(json, "{\"range\":");
    st_lsp_put_range(json, at, end > at.offset || end >= at.length ? end : end + 1);
    st_buffer_printf(json, ",\"severity\":%d,\"source\":\"steptime\",\"message\":",
                     error->severity == ST_SEVERITY_ERROR ? 1 : 2);
    write_message(*error, &words);
    if (is_elsewhere && !is_file) /* in the program */
        st_buffer_printf(&words, " (%s, line %d)", place.file, place.line);
    st_buffer_append(&words, "", 1);
    st_buffer_json_string(json, words.failed ? "" : words.data);
    st_buffer_free(&words);
    if (is_file)
        put_related(place, json);
    st_buffer_text(json, "}");
}

/* The section that an error misses a value of and the job does not have: its length, else 0. */
static size_t missing_section(const st_document *document, const st_error *error)
{
    char section[ST_LSP_KEY_BYTES];
    const size_t length = strcspn(error->message, ". ");
    if (document->kind != ST_DOCUMENT_JOB || error->message[length] != '.' ||
        length >= sizeof section || strstr(error->message, " has no value for ") == NULL ||
        st_document_has_key(document, "base"))
        return 0;
    memcpy(section, error->message, length);
    section[length] = '\0';
    return st_section_find(section) != NULL && !st_document_has_key(document, section) ? length : 0;
}

/* Errors of a section that is not there are one, put where the first of them was. */
static void put_section(const st_document *document, const st_errors *errors, size_t index,
                        st_buffer *json)
{
    const char *first = st_errors_at(errors, index)->message;
    const size_t length = missing_section(document, st_errors_at(errors, index));
    st_buffer keys = {0};
    for (size_t i = 0; i < st_errors_size(errors); i++) {
        const st_error *other = st_errors_at(errors, i);
        if (missing_section(document, other) != length ||
            strncmp(other->message, first, length) != 0)
            continue;
        if (i < index) {
            st_buffer_free(&keys);
            return;
        }
        const char *key = other->message + length + 1;
        st_buffer_printf(&keys, "%s%.*s", keys.length > 0 ? ", " : "", (int)strcspn(key, " "), key);
    }
    st_error whole = *st_errors_at(errors, index);
    st_buffer text = {0};
    st_buffer_printf(&text, "the job has no '%.*s:', of which its sheet needs %s", (int)length,
                     first, keys.failed || keys.length == 0 ? "a value" : keys.data);
    whole.message = text.failed ? first : text.data;
    whole.suggestion = NULL;
    put_diagnostic(document, &whole, json);
    st_buffer_free(&text);
    st_buffer_free(&keys);
}

/* `errors` NULL: none, as of a file that was closed. */
static void publish(const st_document *document, const st_errors *errors, st_buffer *out)
{
    st_buffer body = {0};
    st_buffer_text(&body, "{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/publishDiagnostics\","
                          "\"params\":{\"uri\":");
    st_buffer_json_string(&body, document->uri);
    if (document->version > 0)
        st_buffer_printf(&body, ",\"version\":%zu", document->version);
    st_buffer_text(&body, ",\"diagnostics\":[");
    const size_t begun = body.length;
    for (size_t i = 0; errors != NULL && i < st_errors_size(errors); i++) {
        st_buffer one = {0};
        if (missing_section(document, st_errors_at(errors, i)) > 0)
            put_section(document, errors, i, &one);
        else
            put_diagnostic(document, st_errors_at(errors, i), &one);
        if (one.length > 0) {
            st_buffer_text(&body, body.length > begun ? "," : "");
            st_buffer_append(&body, one.data, one.length);
        }
        st_buffer_free(&one);
    }
    st_buffer_text(&body, "]}}");
    put_frame(&body, out);
    st_buffer_free(&body);
}

void st_lsp_settle(st_lsp_server *server, st_buffer *out)
{
    for (size_t i = 0; i < server->documents.count; i++) {
        st_document *document = server->documents.items[i];
        st_errors *errors = document->is_due ? st_errors_create() : NULL;
        if (errors == NULL)
            continue;
        st_document_check(&server->documents, document, errors);
        publish(document, errors, out);
        st_errors_destroy(errors);
    }
}

/* ---- requests ---- */

/* A folder of the editor with the project's layout comes behind those of --path. */
static st_status set_paths(st_lsp_server *server, const char *root, st_arena *arena,
                           st_errors *errors)
{
    const size_t count = server->settings.folder_count;
    const char **folders = st_arena_alloc(arena, count + 1, sizeof *folders);
    st_paths *paths = NULL;
    if (folders == NULL)
        return ST_ERR_MEMORY;
    if (count > 0)
        memcpy(folders, server->settings.folders, count * sizeof *folders);
    const bool has_layout =
        root != NULL &&
        (st_file_is_folder(st_or_none(st_arena_printf(arena, "%s/formulas", root))) ||
         st_file_is_folder(st_or_none(st_arena_printf(arena, "%s/configs", root))));
    folders[count] = root;
    const st_status status = st_paths_create(folders, count + (has_layout ? 1 : 0), &paths, errors);
    if (status != ST_OK)
        return status;
    st_paths_destroy(server->documents.paths);
    server->documents.paths = paths;
    st_paths_set_edited(paths, server->documents.edited, server->documents.count);
    return ST_OK;
}

/* A job that cannot be loaded gives no values: said once, where the user may look. */
static void check_settings(const message *asked)
{
    const st_lsp_server *server = asked->server;
    const char *name = server->settings.job;
    const st_job *job = NULL;
    st_errors *errors = name != NULL ? st_errors_create() : NULL;
    st_buffer body = {0};
    if (errors == NULL)
        return;
    if (st_job_load(server->documents.paths, name, NULL, 0, asked->arena, &job, errors) != ST_OK &&
        st_errors_size(errors) > 0) {
        const char *text = st_or_none(
            st_arena_printf(asked->arena, "--job: %s", st_errors_at(errors, 0)->message));
        log_line(server, text);
        st_buffer_text(&body, "{\"jsonrpc\":\"2.0\",\"method\":\"window/showMessage\","
                              "\"params\":{\"type\":1,\"message\":");
        st_buffer_json_string(&body, text);
        st_buffer_text(&body, "}}");
        put_frame(&body, asked->out);
        st_buffer_free(&body);
    }
    st_errors_destroy(errors);
}

static void initialize(const message *asked)
{
    const char *uri = find_text(asked->params, "rootUri");
    const st_json *folders = find(asked->params, "workspaceFolders");
    if (folders != NULL && folders->kind == ST_JSON_LIST && folders->first != NULL)
        uri = find_text(folders->first, "uri");
    const char *root = uri != NULL ? st_uri_path(uri, asked->arena) : NULL;
    if (asked->server->is_initialized) {
        reply_error(asked->id, NO_REQUEST, "initialize was sent twice", asked->out);
        return;
    }
    asked->server->is_initialized = set_paths(asked->server, root, asked->arena, NULL) == ST_OK ||
                                    asked->server->documents.paths != NULL;
    reply_text(asked,
               "{\"capabilities\":{\"positionEncoding\":\"utf-16\",\"textDocumentSync\":1,"
               "\"hoverProvider\":true,\"definitionProvider\":true,"
               "\"renameProvider\":true,"
               "\"completionProvider\":{\"triggerCharacters\":[\".\",\":\"]}},"
               "\"serverInfo\":{\"name\":\"steptime\",\"version\":\"" STEPTIME_VERSION "\"}}");
    check_settings(asked);
}

static void shut_down(const message *asked)
{
    asked->server->is_shut_down = true;
    reply_text(asked, "null");
}

static void end_server(const message *asked)
{
    asked->server->has_ended = true;
}

static void put_text(const message *asked, const char *uri, const char *text)
{
    st_document *document =
        uri != NULL && text != NULL ? st_documents_put(&asked->server->documents, uri, text) : NULL;
    if (document != NULL && !find_count(asked->params, "textDocument/version", &document->version))
        document->version = 0;
}

static void open_document(const message *asked)
{
    put_text(asked, find_text(asked->params, "textDocument/uri"),
             find_text(asked->params, "textDocument/text"));
}

/* The last change counts: each has the whole text. */
static void change_document(const message *asked)
{
    const char *uri = find_text(asked->params, "textDocument/uri");
    const st_json *changes = find(asked->params, "contentChanges");
    const char *text = changes != NULL && changes->kind == ST_JSON_LIST && changes->last != NULL &&
                               find(changes->last, "range") == NULL
                           ? find_text(changes->last, "text")
                           : NULL;
    if (uri != NULL && st_documents_find(&asked->server->documents, uri) != NULL)
        put_text(asked, uri, text);
}

static void close_document(const message *asked)
{
    const char *uri = find_text(asked->params, "textDocument/uri");
    const st_document *document =
        uri != NULL ? st_documents_find(&asked->server->documents, uri) : NULL;
    if (document == NULL)
        return;
    publish(document, NULL, asked->out);
    st_documents_close(&asked->server->documents, uri);
}

/* The open file and the offset that a request names; an error is answered where it names none. */
static bool find_place(const message *asked, st_lsp_question *question)
{
    st_lsp_position position = {0};
    const char *uri = find_text(asked->params, "textDocument/uri");
    st_document *document = uri != NULL ? st_documents_find(&asked->server->documents, uri) : NULL;
    if (document == NULL || !find_count(asked->params, "position/line", &position.line) ||
        !find_count(asked->params, "position/character", &position.character)) {
        reply_error(asked->id, NO_PARAMETERS,
                    document == NULL ? "the file is not open"
                                     : "the position has no line or character",
                    asked->out);
        return false;
    }
    *question =
        (st_lsp_question){.documents = &asked->server->documents,
                          .document = document,
                          .offset = st_lsp_offset(document->text, document->length, position),
                          .job = asked->server->settings.job,
                          .arena = asked->arena};
    return true;
}

static void answer(const message *asked, void (*write)(const st_lsp_question *, st_buffer *))
{
    st_lsp_question question;
    st_buffer result = {0};
    if (!find_place(asked, &question))
        return;
    write(&question, &result);
    reply(asked, &result);
    st_buffer_free(&result);
}

static void hover(const message *asked)
{
    answer(asked, st_lsp_hover);
}

static void complete(const message *asked)
{
    answer(asked, st_lsp_complete);
}

static void define(const message *asked)
{
    answer(asked, st_lsp_define);
}

static void rename_name(const message *asked)
{
    st_lsp_question question;
    st_buffer result = {0};
    const char *name = find_text(asked->params, "newName");
    if (!find_place(asked, &question))
        return;
    st_errors *errors = st_errors_create();
    if (name == NULL) {
        reply_error(asked->id, NO_PARAMETERS, "the new name is missing", asked->out);
    } else if (st_lsp_rename(&question, name, &result, errors) == ST_OK) {
        reply(asked, &result);
    } else {
        const st_error *error = st_errors_size(errors) > 0 ? st_errors_at(errors, 0) : NULL;
        reply_error(asked->id, REQUEST_FAILED, error != NULL ? error->message : "out of memory",
                    asked->out);
    }
    st_errors_destroy(errors);
    st_buffer_free(&result);
}

static const struct {
    const char *name;
    bool is_request;
    void (*run)(const message *asked);
} methods[] = {
    {"initialize", true, initialize},
    {"shutdown", true, shut_down},
    {"exit", false, end_server},
    {"textDocument/didOpen", false, open_document},
    {"textDocument/didChange", false, change_document},
    {"textDocument/didClose", false, close_document},
    {"textDocument/hover", true, hover},
    {"textDocument/completion", true, complete},
    {"textDocument/definition", true, define},
    {"textDocument/rename", true, rename_name},
};

/* Requests have an id and are always answered; notifications never are. */
static void dispatch(const message *asked, const char *method)
{
    size_t i = 0;
    while (i < sizeof methods / sizeof *methods && strcmp(methods[i].name, method) != 0)
        i++;
    const bool is_known = i < sizeof methods / sizeof *methods;
    const bool is_first =
        is_known && (methods[i].run == initialize || methods[i].run == end_server);
    if (is_known && methods[i].is_request != (asked->id != NULL)) {
        if (asked->id != NULL)
            reply_error(asked->id, NO_REQUEST, "a notification has no id", asked->out);
    } else if (is_known &&
               (is_first || (asked->server->is_initialized && !asked->server->is_shut_down))) {
        methods[i].run(asked);
    } else if (asked->id != NULL) {
        reply_error(asked->id,
                    !is_known                     ? NO_METHOD
                    : asked->server->is_shut_down ? NO_REQUEST
                                                  : NOT_INITIALIZED,
                    !is_known                     ? "this method is not known"
                    : asked->server->is_shut_down ? "the server was shut down"
                                                  : "initialize comes first",
                    asked->out);
    }
}

/* U+0000 travels through texts that it would end as ST_LSP_NUL. */
static void replace_nul(char *json, size_t length)
{
    static const char nul[] = "\\u0000";
    for (size_t i = 0; i + 1 < length; i++)
        if (json[i] == '\\') {
            if (length - i >= sizeof nul - 1 && memcmp(json + i, nul, sizeof nul - 1) == 0)
                memcpy(json + i, "\\uFDD0", sizeof nul - 1);
            i++; /* what a backslash escapes begins no escape */
        }
}

static void read_message(st_lsp_server *server, char *text, size_t length, st_buffer *out)
{
    st_json *tree = NULL;
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    replace_nul(text, length);
    if (st_json_parse("message", text, length, arena, &tree, errors) != ST_OK) {
        const st_error *error = st_errors_size(errors) > 0 ? st_errors_at(errors, 0) : NULL;
        reply_error(NULL, NO_JSON, error != NULL ? error->message : "not JSON", out);
    } else {
        const st_json *id = find(tree, "id");
        const char *method = find_text(tree, "method");
        const message asked = {server, id, find(tree, "params"), arena, out};
        const bool is_answer =
            method == NULL && (find(tree, "result") != NULL || find(tree, "error") != NULL);
        if (method != NULL)
            dispatch(&asked, method);
        else if (!is_answer)
            reply_error(id, NO_REQUEST, "a message has a method", out);
    }
    st_errors_destroy(errors);
    st_arena_destroy(arena);
}

/* ---- frames ---- */

/* The length that a header of "Name: value" lines gives; else why it gives none, NULL: it does. */
static const char *read_header(const char *header, size_t length, size_t *body)
{
    static const char name[] = "content-length:";
    for (size_t at = 0; at < length;) {
        size_t end = at;
        while (end < length && header[end] != '\r' && header[end] != '\n')
            end++;
        size_t same = 0;
        while (same < sizeof name - 1 && at + same < end &&
               st_to_lower(header[at + same]) == name[same])
            same++;
        if (same == sizeof name - 1) {
            size_t value = 0;
            at += same;
            while (at < end && header[at] == ' ')
                at++;
            const size_t digits = at;
            while (at < end && st_is_digit(header[at]) && value < ST_JSON_MAX_BYTES)
                value = 10 * value + (size_t)(header[at++] - '0');
            *body = value;
            return value > ST_JSON_MAX_BYTES  ? "Content-Length: expected at most 8 MiB"
                   : at == digits || at < end ? "Content-Length: expected a whole number of bytes"
                                              : NULL;
        }
        at = end + 1;
    }
    return "expected a header 'Content-Length: BYTES', found none";
}

/* Where the body begins, 0 where the header is not whole. */
static size_t end_of_header(const st_buffer *input)
{
    for (size_t i = 0; i + 3 < input->length && i < HEADER_BYTES; i++)
        if (memcmp(input->data + i, "\r\n\r\n", 4) == 0)
            return i + 4;
    return 0;
}

void st_lsp_feed(st_lsp_server *server, const char *bytes, size_t length, st_buffer *out)
{
    size_t used = 0;
    st_buffer_append(&server->input, bytes, length);
    while (!server->has_ended && used < server->input.length) {
        const st_buffer rest = {.data = server->input.data + used,
                                .length = server->input.length - used};
        size_t body = 0;
        const size_t header = end_of_header(&rest);
        const char *wrong = NULL;
        if (header > 0)
            wrong = read_header(rest.data, header, &body);
        else if (rest.length >= HEADER_BYTES)
            wrong = "expected a header that ends within 4096 bytes";
        if (wrong != NULL) { /* where the next one would begin cannot be known */
            reply_error(NULL, NO_JSON, wrong, out);
            server->has_ended = true;
            log_line(server, wrong);
        }
        if (wrong != NULL || header == 0 || rest.length - header < body)
            break;
        read_message(server, rest.data + header, body, out);
        used += header + body;
    }
    if (used > 0) {
        memmove(server->input.data, server->input.data + used, server->input.length - used);
        server->input.length -= used;
    }
}

/* ---- life ---- */

st_lsp_server *st_lsp_create(const st_lsp_settings *settings, st_errors *errors)
{
    st_lsp_server *server = calloc(1, sizeof *server);
    st_arena *arena = st_arena_create();
    if (server == NULL || arena == NULL) {
        st_arena_destroy(arena);
        free(server);
        return NULL;
    }
    server->settings = *settings;
    const st_status status = set_paths(server, NULL, arena, errors);
    st_arena_destroy(arena);
    if (status == ST_OK)
        return server;
    free(server);
    return NULL;
}

void st_lsp_destroy(st_lsp_server *server)
{
    if (server == NULL)
        return;
    st_documents_free(&server->documents);
    st_paths_destroy(server->documents.paths);
    st_buffer_free(&server->input);
    free(server);
}

bool st_lsp_has_ended(const st_lsp_server *server)
{
    return server->has_ended;
}

bool st_lsp_ended_well(const st_lsp_server *server)
{
    return server->is_shut_down;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an editor sends: bytes of the wire, the text of a sheet or a job, a second text. Every
 * answer is a frame of JSON, and each request has one.
 */
#include "fuzz.h"

#include "base/json_read.h"
#include "lsp/server.h"

#include <stdlib.h>
#include <string.h>

/* How many messages there are. */
static size_t check_frames(const st_buffer *out)
{
    size_t count = 0;
    for (size_t at = 0; at < out->length; count++) {
        const char *end = strstr(out->data + at, "\r\n\r\n");
        FUZZ_REQUIRE(end != NULL && strncmp(out->data + at, "Content-Length: ", 16) == 0);
        const size_t body = strtoul(out->data + at + 16, NULL, 10);
        st_arena *arena = st_arena_create();
        st_json *tree = NULL;
        const char *text = end + 4;
        at = (size_t)(text - out->data) + body;
        FUZZ_REQUIRE(at <= out->length);
        FUZZ_REQUIRE(st_json_parse("frame", text, body, arena, &tree, NULL) == ST_OK);
        st_arena_destroy(arena);
    }
    return count;
}

static void send(st_lsp_server *server, const char *body, st_buffer *out)
{
    st_buffer frame = {0};
    st_buffer_printf(&frame, "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
    st_lsp_feed(server, frame.data, frame.length, out);
    st_buffer_free(&frame);
}

static void send_text(st_lsp_server *server, const char *uri, fuzz_part part, st_buffer *out)
{
    st_buffer body = {0};
    char *text = fuzz_copy(part.text, part.length);
    char *whole = calloc(part.length + 1, 1);
    memcpy(whole, text, part.length);
    st_buffer_printf(&body,
                     "{\"method\":\"textDocument/didOpen\",\"params\":{\"textDocument\":"
                     "{\"uri\":\"%s\",\"text\":",
                     uri);
    st_buffer_json_string(&body, whole);
    st_buffer_text(&body, "}}}");
    send(server, body.data, out);
    st_buffer_free(&body);
    free(whole);
    free(text);
}

static size_t ask_all(st_lsp_server *server, const char *uri, size_t line, size_t character,
                      st_buffer *out)
{
    static const char *const methods[] = {"hover", "completion", "definition", "rename"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        st_buffer body = {0};
        st_buffer_printf(&body,
                         "{\"id\":%zu,\"method\":\"textDocument/%s\",\"params\":{\"textDocument\":"
                         "{\"uri\":\"%s\"},\"position\":{\"line\":%zu,\"character\":%zu},"
                         "\"newName\":\"renamed\"}}",
                         i, methods[i], uri, line, character);
        send(server, body.data, out);
        st_buffer_free(&body);
    }
    return sizeof methods / sizeof *methods;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const uris[] = {"file:///fuzz/formulas/a.yaml", "file:///fuzz/b.yaml"};
    fuzz_part parts[FUZZ_PARTS];
    const size_t count = fuzz_split(data, size, parts);
    const st_lsp_settings settings = {.job = "gpt-3b-32x3090"};
    st_errors *errors = st_errors_create();
    st_lsp_server *server = st_lsp_create(&settings, errors);
    st_buffer out = {0};
    FUZZ_REQUIRE(server != NULL);
    send(server, "{\"id\":0,\"method\":\"initialize\"}", &out);
    size_t asked = 1;
    for (size_t i = 1; i < count && i < 3; i++) {
        const char *uri = uris[i - 1];
        send_text(server, uri, parts[i], &out);
        st_lsp_settle(server, &out);
        asked += 1; /* its diagnostics */
        for (size_t line = 0; line < 8; line++)
            asked += ask_all(server, uri, line, 3 * line, &out);
    }
    FUZZ_REQUIRE(check_frames(&out) >= asked);
    if (count > 0)
        st_lsp_feed(server, parts[0].text, parts[0].length, &out);
    st_lsp_settle(server, &out);
    (void)check_frames(&out);
    st_buffer_free(&out);
    st_lsp_destroy(server);
    st_errors_destroy(errors);
    return 0;
}

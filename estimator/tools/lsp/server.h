/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A language server (Language Server Protocol 3.17, JSON-RPC over frames of "Content-Length") for
 * sheets and jobs: diagnostics, hover, completion, definition and rename. Knows nothing of files
 * and pipes: bytes of the editor come in, bytes for it go out.
 */
#ifndef STEPTIME_LSP_SERVER_H
#define STEPTIME_LSP_SERVER_H

#include "steptime/paths.h"

#include <stdio.h>

typedef struct st_lsp_server st_lsp_server;

typedef struct st_lsp_settings {
    const char *const *folders; /* of --path */
    size_t folder_count;
    const char
        *job;  /* that gives a sheet its values; NULL: the first that its inputs suffice for */
    FILE *log; /* a line for a job that is not there and for bytes without frames; NULL: none */
} st_lsp_settings;

/* NULL where a folder is not there. What `settings` points to outlives the server. */
st_lsp_server *st_lsp_create(const st_lsp_settings *settings, st_errors *errors);
void st_lsp_destroy(st_lsp_server *server);

/* Takes what the editor sent, and answers every whole message of it. */
void st_lsp_feed(st_lsp_server *server, const char *bytes, size_t length, st_buffer *out);
/* Sends the diagnostics that are due: when the editor is waiting. */
void st_lsp_settle(st_lsp_server *server, st_buffer *out);

/* The editor said exit, or sent what has no frames. */
bool st_lsp_has_ended(const st_lsp_server *server);
/* It said shutdown before. */
bool st_lsp_ended_well(const st_lsp_server *server);

#endif

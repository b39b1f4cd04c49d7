/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the process of an isolated plugin answers. The words are foreign and hostile: they are read
 * from copies, in bounds, and an answer that breaks the format is refused whole.
 */
#ifndef STEPTIME_PLUGIN_ISOLATE_ANSWER_H
#define STEPTIME_PLUGIN_ISOLATE_ANSWER_H

#include "plugin/isolate.h"

/* The answer to "who are you": a descriptor, verified into `module`, or an error at `place`. */
st_status st_answer_module(st_plugin_module *module, const char *text, size_t length,
                           st_place place, st_arena *arena, st_errors *errors) ST_NODISCARD;

/* What the plugin said during calls, an error and warnings, handed to the host's functions. */
void st_answer_said(const char *text, size_t length, const st_plugin_host *host);

/* The account of one row. */
st_status st_answer_account(const char *text, size_t length, st_arena *arena,
                            st_provider_account *account) ST_NODISCARD;

/* Terms on their way from a plugin; what makes no sense is left out. */
typedef struct st_answer_terms {
    st_arena *arena;
    st_provider_term *terms;
    size_t count;
    bool failed;
} st_answer_terms;

void st_answer_add_term(void *context, const st_plugin_term *raw); /* of st_answer_terms */

/* The text with controls and broken bytes as '?', "" for NULL; NULL when out of memory. */
const char *st_answer_clean(st_arena *arena, const char *text);

#endif

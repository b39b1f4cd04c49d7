/* SPDX-License-Identifier: Apache-2.0 */
/* See isolate_answer.h. */
#include "plugin/isolate_answer.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "plugin/child.h"
#include "plugin/ipc.h"

#include <stddef.h>
#include <string.h>

const char *st_answer_clean(st_arena *arena, const char *text)
{
    size_t length = text == NULL ? 0 : strnlen(text, ST_PLUGIN_MAX_TEXT);
    char *copy = st_arena_copy(arena, text, length);
    for (size_t i = 0; copy != NULL && i < length;) {
        uint32_t code = 0;
        size_t size = st_utf8_decode(copy + i, length - i, &code);
        if (size == 0 || st_utf8_is_control(code))
            copy[i] = '?';
        i += size > 0 ? size : 1;
    }
    return copy;
}

void st_answer_add_term(void *context, const st_plugin_term *raw)
{
    st_answer_terms *gather = context;
    st_plugin_term term = {0};
    uint32_t size_bytes = 0;
    if (raw == NULL || gather->count == ST_PLUGIN_MAX_TERMS)
        return;
    memcpy(&size_bytes, raw, sizeof(size_bytes));
    if (size_bytes < offsetof(st_plugin_term, doc) + sizeof(term.doc))
        return;
    memcpy(&term, raw, size_bytes < sizeof(term) ? size_bytes : sizeof(term));
    st_unit unit = st_unit_one();
    if (term.unit != NULL && term.unit[0] != '\0' &&
        st_unit_parse(term.unit, strnlen(term.unit, sizeof(unit.text)), (st_place){0}, &unit,
                      NULL) != ST_OK)
        unit = st_unit_one();
    const st_provider_term made = {
        .name = st_answer_clean(gather->arena, term.name),
        .doc = st_answer_clean(gather->arena, term.doc),
        .text = term.text == NULL ? NULL : st_answer_clean(gather->arena, term.text),
        .value = term.value,
        .unit = unit,
        .part = (term.flags & ST_PLUGIN_PART) != 0};
    gather->failed = !ST_APPEND(gather->arena, gather->terms, gather->count, made);
}

st_status st_answer_account(const char *text, size_t length, st_arena *arena,
                            st_provider_account *account)
{
    st_ipc_reader from = {.at = text, .end = text + length};
    st_answer_terms gather = {.arena = arena};
    const char *refusal = st_ipc_read(&from);
    /* Terms that come from another process pass where those of a plugin do. */
    size_t count = st_ipc_read_count(&from, ST_PLUGIN_MAX_TERMS);
    for (size_t i = 0; i < count && !from.broken; i++) {
        st_plugin_term term = {.struct_size = sizeof term};
        term.flags = (uint32_t)st_ipc_read_count(&from, UINT32_MAX);
        term.name = st_ipc_read(&from);
        term.unit = st_ipc_read(&from);
        term.value = st_ipc_read_number(&from);
        term.text = st_ipc_read(&from);
        term.doc = st_ipc_read(&from);
        if (!from.broken)
            st_answer_add_term(&gather, &term);
    }
    *account = (st_provider_account){0};
    if (from.broken || from.at != from.end)
        account->refusal = st_child_forged;
    else if (refusal != NULL)
        account->refusal = st_answer_clean(arena, refusal);
    else
        *account = (st_provider_account){.terms = gather.terms, .count = gather.count};
    return gather.failed || (refusal != NULL && account->refusal == NULL) ? ST_ERR_MEMORY : ST_OK;
}

void st_answer_said(const char *text, size_t length, const st_plugin_host *host)
{
    st_ipc_reader from = {.at = text, .end = text + length};
    const char *error = st_ipc_read(&from);
    const char *warnings = st_ipc_read(&from);
    if (from.broken || from.at != from.end) {
        host->error(host->context, st_child_forged);
        return;
    }
    if (error != NULL)
        host->error(host->context, error);
    while (warnings != NULL && *warnings != '\0') {
        host->log(host->context, ST_PLUGIN_LOG_WARNING, warnings);
        warnings += strcspn(warnings, "\n");
        warnings += *warnings != '\0' ? 1 : 0;
    }
}

static st_status refuse(const st_plugin_module *module, st_place place, const char *reason,
                        st_errors *errors)
{
    static const char mark[] = "cannot be used: ";
    const char *found = strstr(reason, mark);
    return st_module_fail(module, ST_ERR_PROVIDER, place,
                          found != NULL ? found + strlen(mark) : reason, errors);
}

st_status st_answer_module(st_plugin_module *module, const char *text, size_t length,
                           st_place place, st_arena *arena, st_errors *errors)
{
    st_ipc_reader from = {.at = text, .end = text + length};
    const char *verdict = st_ipc_read(&from);
    if (verdict != NULL && strcmp(verdict, "-") == 0) {
        const char *reason = st_answer_clean(arena, st_ipc_read(&from));
        if (reason == NULL)
            return st_out_of_memory(errors);
        return refuse(module, place, reason[0] != '\0' ? reason : st_child_forged, errors);
    }
    const st_plugin *raw = verdict != NULL && strcmp(verdict, "+") == 0
                               ? st_isolate_take(from.at, (size_t)(from.end - from.at), arena)
                               : NULL;
    return raw != NULL ? st_module_describe(module, raw, place, arena, errors)
                       : refuse(module, place, st_child_forged, errors);
}

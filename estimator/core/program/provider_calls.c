/* SPDX-License-Identifier: Apache-2.0 */
/* Where providers have their say in one row: the cells, as their formulas take their branches. */
#include "program/provider_calls.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { MAX_CALLS = 100000 };

typedef struct st_finder {
    st_session *session;
    st_arena *arena;
    size_t cell;
    size_t first; /* of this cell, in the list */
    size_t calls;
    st_refined *list;
    size_t count;
} st_finder;

/* The text of a term of that name: "measured", or "predicted" and from what. */
static const char *origin_of(const st_provider_account *account)
{
    for (size_t i = 0; i < account->count; i++)
        if (account->terms[i].text != NULL && strcmp(account->terms[i].name, "origin") == 0)
            return account->terms[i].text;
    return "";
}

static void note(st_finder *finder, const st_sheet_function *function, const st_provider *provider,
                 st_scope arguments)
{
    st_provider_account account;
    double value = st_session_ask(finder->session, function, provider, arguments, &account);
    const char *refusal = "";
    if (!isfinite(value))
        refusal = account.refusal != NULL ? account.refusal : "unusable value";
    for (size_t i = finder->first; i < finder->count; i++)
        if (finder->list[i].provider == provider && finder->list[i].refusal[0] == refusal[0])
            return;
    const st_sheet_cell *cell = &finder->session->lowering.sheet->cells[finder->cell];
    const st_refined refined = {.cell = cell->name,
                                .type = &cell->type,
                                .provider = provider,
                                .refusal = refusal,
                                .origin = refusal[0] == '\0' ? origin_of(&account) : ""};
    ST_APPEND(finder->arena, finder->list, finder->count, refined);
}

static void look_into(st_finder *finder, const st_expr *expr, st_scope scope)
{
    if (++finder->calls > MAX_CALLS || st_arena_failed(finder->arena))
        return;
    if (expr->kind == ST_EXPR_CALL && expr->name_kind == ST_NAME_FUNCTION) {
        const st_lowering *lowering = &finder->session->lowering;
        const st_sheet_function *function = &lowering->sheet->functions[expr->index];
        const st_provider *provider = lowering->function_providers[expr->index];
        uint32_t *arguments =
            st_arena_alloc(lowering->graph.arena, expr->child_count + 1, sizeof(*arguments));
        if (arguments == NULL)
            return; /* which the arena remembers */
        st_session_arguments(finder->session, expr, scope, arguments);
        if (provider != NULL)
            note(finder, function, provider, arguments);
        else if (function->expr != NULL)
            look_into(finder, function->expr, arguments);
    }
    for (size_t i = 0; i < expr->child_count; i++)
        if (!st_session_skips(finder->session, expr, i, scope))
            look_into(finder, st_expr_child(expr, i), scope);
}

st_status st_session_refined(st_session *session, st_arena *arena, const st_refined **list,
                             size_t *count)
{
    st_finder finder = {.session = session, .arena = arena};
    for (size_t i = 0; i < session->lowering.sheet->cell_count && !st_arena_failed(arena); i++)
        if (session->needed[i]) {
            const st_lowering *lowering = &finder.session->lowering;
            const st_provider *provider = lowering->cell_providers[i];
            finder.cell = i;
            finder.first = finder.count;
            if (provider != NULL)
                note(&finder, NULL, provider, NULL);
            else
                look_into(&finder, lowering->sheet->cells[i].expr, NULL);
        }
    *list = finder.list;
    *count = finder.count;
    bool failed =
        session->failed || st_arena_failed(arena) || st_arena_failed(session->lowering.graph.arena);
    return failed ? ST_ERR_MEMORY : ST_OK;
}

st_status st_program_refined(const st_program *program, const double *inputs, st_arena *arena,
                             const st_refined **list, size_t *count, st_errors *errors)
{
    st_session session;
    *list = NULL;
    *count = 0;
    if (program->options.provider_count == 0)
        return ST_OK;
    st_status status = st_session_begin(&session, program, inputs, arena, errors);
    if (status == ST_OK && st_session_refined(&session, arena, list, count) != ST_OK)
        status = st_out_of_memory(errors);
    return status;
}

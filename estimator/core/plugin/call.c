/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a plugin: blocks of rows, and the terms behind one row. */
#include "plugin/isolate.h"
#include "plugin/isolate_answer.h"
#include "plugin/ipc.h"

#include <math.h>
#include <string.h>

static uint64_t bits_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* A sum that a change of any number changes, and nearly always one of their order: Fletcher's. */
static uint64_t sum_of(const double *column, size_t rows)
{
    enum { LANES = 8 };
    uint64_t plain[LANES] = {0};
    uint64_t weighted[LANES] = {0};
    uint64_t sum = 0;
    size_t whole = rows - rows % LANES;
    for (size_t row = 0; row < whole; row += LANES) {
        for (size_t lane = 0; lane < LANES; lane++)
            plain[lane] += bits_of(column[row + lane]);
        for (size_t lane = 0; lane < LANES; lane++)
            weighted[lane] += plain[lane];
    }
    for (size_t row = whole; row < rows; row++)
        sum = sum * 31 + bits_of(column[row]);
    for (size_t lane = 0; lane < LANES; lane++)
        sum = sum * 31 + (plain[lane] ^ weighted[lane] << 1);
    return sum;
}

static uint64_t sum_of_all(const st_plugin_provider *shown, size_t rows,
                           const double *const *columns)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < shown->argument_count; i++)
        sum = sum * 31 + (columns[i] != NULL ? sum_of(columns[i], rows) : 0);
    return sum;
}

/* ---- in a process of its own ----------------------------------------------------------------- */

/* Puts some rows of a call into a lane. */
static void fill_lane(const st_plugin_provider *shown, size_t rows, const uint32_t *asked,
                      const double *const *columns, st_remote_lane *lane)
{
    lane->rows = (uint32_t)rows;
    memset(lane->given, 0, sizeof lane->given);
    for (size_t i = 0; i < shown->argument_count; i++) {
        if (columns[i] == NULL)
            continue;
        lane->given[i] = 1;
        for (size_t row = 0; row < rows; row++)
            lane->columns[i][row] = columns[i][asked[row]];
    }
}

/* What was answered, copied before it is read: the other process can still write its words. */
static const char *copy_answer(st_arena *arena, const st_remote_lane *lane, size_t *length)
{
    const uint32_t claimed = lane->text_length;
    *length = claimed < ST_REMOTE_TEXT ? claimed : ST_REMOTE_TEXT;
    return st_arena_copy(arena, lane->text, *length);
}

static st_status evaluate_apart(const st_plugin_instance *instance, size_t provider, size_t rows,
                                const double *const *columns, double *values)
{
    const st_plugin_provider *shown = instance->module->shown.providers[provider];
    if (rows > ST_REMOTE_ROWS || shown->argument_count > ST_REMOTE_COLUMNS)
        return ST_ERR_PROVIDER;
    st_memo_call call;
    st_call_memo *memo = st_remote_memo(instance->remote);
    const size_t count =
        st_call_memo_begin(memo, &call, provider, shown->argument_count, columns, rows);
    if (count == 0) {
        st_call_memo_end(memo, &call, values, values);
        return ST_OK;
    }
    st_status status = ST_ERR_PROVIDER;
    st_remote_lane *lane = st_remote_take(instance->remote);
    lane->kind = ST_ISOLATE_EVALUATE;
    lane->provider = (uint32_t)provider;
    fill_lane(shown, count, call.asked, columns, lane);
    if (st_remote_ask(instance->remote, lane)) {
        status = lane->result == ST_PLUGIN_OK ? ST_OK : ST_ERR_PROVIDER;
        st_call_memo_end(memo, &call, status == ST_OK ? lane->values : NULL, values);
        if (lane->text_length > 0) {
            st_arena *arena = st_arena_create();
            size_t length = 0;
            const char *text = arena != NULL ? copy_answer(arena, lane, &length) : NULL;
            if (text != NULL)
                st_answer_said(text, length, &instance->host);
            else
                status = ST_ERR_MEMORY;
            st_arena_destroy(arena);
        }
    } else {
        st_call_memo_end(memo, &call, NULL, values);
        /* Reports that the process ended, why, and the rows it was computing. */
        st_buffer text = {0};
        const char *before = "";
        st_buffer_printf(&text, "%s while computing %zu %s with",
                         st_remote_reason(instance->remote), count,
                         count == 1 ? "row" : "rows, the first");
        for (size_t i = 0; i < shown->argument_count; i++) {
            char number[ST_QUANTITY_TEXT];
            const st_plugin_argument *argument = shown->arguments[i];
            st_unit unit = st_unit_one();
            bool pure = argument->unit[0] == '\0';
            if (columns[i] == NULL ||
                (!pure && st_unit_parse(argument->unit, strlen(argument->unit), (st_place){0},
                                        &unit, NULL) != ST_OK))
                continue;
            st_buffer_printf(&text, "%s %s = %s", before, argument->name,
                             st_quantity_format(columns[i][call.asked[0]], &unit, ST_STYLE_SCALED,
                                                number, sizeof number));
            before = ",";
        }
        st_guard_accuse_ended(instance->module->who, shown->name, text.data);
        st_buffer_free(&text);
    }
    st_remote_give(instance->remote, lane);
    return status;
}

st_status st_plugin_evaluate(const st_plugin_instance *instance, size_t provider, size_t rows,
                             const double *const *columns, double *values)
{
    const st_plugin_provider *shown = instance->module->shown.providers[provider];
    st_plugin_instance *writable = instance->host.context;
    if (instance->remote != NULL)
        return evaluate_apart(instance, provider, rows, columns, values);
    unsigned calls = atomic_fetch_add_explicit(&writable->calls, 1, memory_order_relaxed);
    uint64_t before = sum_of_all(shown, rows, columns);
    st_guard guard;
    st_guard_begin(&guard, instance->module->who, shown->name, (calls & (calls - 1)) == 0);
    int result = shown->evaluate(instance->instance, rows, columns, values);
    st_guard_end(&guard);
    if (sum_of_all(shown, rows, columns) != before) {
        st_guard_accuse(instance->module->who, shown->name);
        return ST_ERR_PROVIDER;
    }
    return result == ST_PLUGIN_OK ? ST_OK : ST_ERR_PROVIDER;
}

static st_status explain_apart(const st_plugin_instance *instance, size_t provider,
                               const double *const *columns, st_arena *arena,
                               st_provider_account *account)
{
    const st_plugin_provider *shown = instance->module->shown.providers[provider];
    const size_t count = shown->argument_count;
    st_call_memo *memo = st_remote_memo(instance->remote);
    size_t length = 0;
    const char *text = st_call_memo_text(memo, provider, count, columns, arena, &length);
    if (text != NULL)
        return st_answer_account(text, length, arena, account);
    st_remote_lane *lane = st_remote_take(instance->remote);
    st_status status = ST_OK;
    lane->kind = ST_ISOLATE_EXPLAIN;
    lane->provider = (uint32_t)provider;
    *account = (st_provider_account){0};
    const bool fits = count <= ST_REMOTE_COLUMNS;
    if (fits)
        fill_lane(shown, 1, &(uint32_t){0}, columns, lane);
    if (fits && st_remote_ask(instance->remote, lane)) {
        text = copy_answer(arena, lane, &length);
        status = text != NULL ? st_answer_account(text, length, arena, account) : ST_ERR_MEMORY;
        if (text != NULL)
            st_call_memo_keep(memo, provider, count, columns, text, length);
    } else {
        account->refusal = st_answer_clean(arena, st_remote_reason(instance->remote));
    }
    st_remote_give(instance->remote, lane);
    return status;
}

static void serve_call(const st_plugin_instance *instance, st_remote_lane *lane, st_arena *arena,
                       st_buffer *text)
{
    const double *columns[ST_REMOTE_COLUMNS];
    size_t provider = lane->provider;
    for (size_t i = 0; i < ST_REMOTE_COLUMNS; i++)
        columns[i] = lane->given[i] != 0 ? lane->columns[i] : NULL;
    if (lane->kind == ST_ISOLATE_EVALUATE) {
        st_status status =
            st_plugin_evaluate(instance, provider, lane->rows, columns, lane->values);
        lane->result = status == ST_OK ? ST_PLUGIN_OK : ST_PLUGIN_FAILED;
        /* What was said since the last call, if anything. */
        st_plugin_instance *writable = instance->host.context;
        (void)pthread_mutex_lock(&writable->lock);
        if (writable->has_error || writable->warnings.length > 0) {
            st_ipc_write(text, writable->has_error ? writable->error : NULL);
            st_ipc_write(text, writable->warnings.data);
        }
        st_buffer_free(&writable->warnings);
        writable->warnings = (st_buffer){0};
        (void)pthread_mutex_unlock(&writable->lock);
        return;
    }
    st_provider_account account;
    if (st_plugin_explain(instance, provider, columns, arena, &account) == ST_OK) {
        /* The other side: the account of one row as texts, "-" for no refusal. */
        st_ipc_write(text, account.refusal);
        st_ipc_write_number(text, (double)account.count);
        for (size_t i = 0; i < account.count; i++) {
            const st_provider_term *term = &account.terms[i];
            st_ipc_write_number(text, term->part ? ST_PLUGIN_PART : 0);
            st_ipc_write(text, term->name);
            st_ipc_write(text, term->unit.text);
            st_ipc_write_number(text, term->value);
            st_ipc_write(text, term->text);
            st_ipc_write(text, term->doc);
        }
    }
}

void st_isolate_serve(const st_plugin_instance *instance, st_remote_lane *lane)
{
    st_buffer text = {0};
    st_arena *arena = lane->kind == ST_ISOLATE_EXPLAIN ? st_arena_create() : NULL;
    serve_call(instance, lane, arena, &text);
    lane->text_length = text.length <= ST_REMOTE_TEXT && !text.failed ? (uint32_t)text.length : 0;
    if (lane->text_length > 0)
        memcpy(lane->text, text.data, text.length);
    st_buffer_free(&text);
    st_arena_destroy(arena);
}

st_status st_plugin_explain(const st_plugin_instance *instance, size_t provider,
                            const double *const *columns, st_arena *arena,
                            st_provider_account *account)
{
    const st_plugin_provider *shown = instance->module->shown.providers[provider];
    st_answer_terms gather = {.arena = arena};
    *account = (st_provider_account){0};
    if (instance->remote != NULL)
        return explain_apart(instance, provider, columns, arena, account);
    st_instance_clear_error(instance);
    /* Without a function to explain, a refused row may still have said why when it was
     * evaluated. */
    double value = (double)NAN;
    bool refused = st_plugin_evaluate(instance, provider, 1, columns, &value) != ST_OK ||
                   !isfinite(value) || value < 0;
    if (shown->explain != NULL) {
        const st_plugin_sink sink = {
            .struct_size = sizeof(st_plugin_sink), .context = &gather, .term = st_answer_add_term};
        st_guard guard;
        st_guard_begin(&guard, instance->module->who, shown->name, true);
        refused = shown->explain(instance->instance, columns, &sink) != ST_PLUGIN_OK || refused;
        st_guard_end(&guard);
    }
    if (gather.failed)
        return ST_ERR_MEMORY;
    if (refused) {
        const char *error = st_instance_error(instance, arena);
        account->refusal = error == NULL ? NULL : st_answer_clean(arena, error);
    } else {
        account->terms = gather.terms;
        account->count = gather.count;
    }
    return ST_OK;
}

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

/* Hands on what an answer says in words. */
static st_status take_words(const st_plugin_instance *instance, const st_remote_lane *lane)
{
    if (lane->text_length == 0)
        return ST_OK;
    st_arena *arena = st_arena_create();
    size_t length = 0;
    const char *text = arena != NULL ? copy_answer(arena, lane, &length) : NULL;
    if (text != NULL)
        st_answer_said(text, length, &instance->host);
    st_arena_destroy(arena);
    return text != NULL ? ST_OK : ST_ERR_MEMORY;
}

/* Reports that the process ended, why, and the rows it was computing, the first of them `row`. */
static void accuse_ended(const st_plugin_instance *instance, size_t provider, size_t count,
                         const double *const *columns, size_t row)
{
    const st_plugin_provider *shown = instance->module->shown.providers[provider];
    st_buffer text = {0};
    const char *before = "";
    st_buffer_printf(&text, "%s while computing %zu %s with", st_remote_reason(instance->remote),
                     count, count == 1 ? "row" : "rows, the first");
    for (size_t i = 0; i < shown->argument_count; i++) {
        char number[ST_QUANTITY_TEXT];
        const st_plugin_argument *argument = shown->arguments[i];
        st_unit unit = st_unit_one();
        bool pure = argument->unit[0] == '\0';
        if (columns[i] == NULL || (!pure && st_unit_parse(argument->unit, strlen(argument->unit),
                                                          (st_place){0}, &unit, NULL) != ST_OK))
            continue;
        st_buffer_printf(
            &text, "%s %s = %s", before, argument->name,
            st_quantity_format(columns[i][row], &unit, ST_STYLE_SCALED, number, sizeof number));
        before = ",";
    }
    st_guard_accuse_ended(instance->module->who, shown->name, text.data);
    st_buffer_free(&text);
}

/* How many rows from `first` on have the same head. */
static size_t rows_alike(const uint64_t *heads, size_t first, size_t count)
{
    size_t end = first + 1;
    while (end < count && heads[end] == heads[first])
        end++;
    return end - first;
}

/* What this thread has put off: rows in a lane. It is caught up before anything else is asked, as
 * threads that hold a lane and wait for another would wait for each other. */
static _Thread_local struct {
    const st_plugin_instance *instance;
    st_remote_lane *lane; /* NULL: nothing */
    st_memo_call call;
    uint64_t heads[ST_CALL_ROWS]; /* of its rows */
} later;

bool st_plugin_put_off(const st_plugin_instance *instance, size_t provider, size_t rows,
                       const double *const *columns)
{
    const size_t count = instance->module->shown.providers[provider]->argument_count;
    st_remote *remote = instance->remote;
    if (remote == NULL || rows > ST_CALL_ROWS || count > ST_CALL_COLUMNS ||
        (later.lane != NULL && later.instance->remote != remote))
        return false;
    const size_t before = later.lane != NULL ? later.call.asked_count : 0;
    later.call.asked_count = before;
    const size_t unknown =
        st_call_memo_begin(st_remote_memo(remote), &later.call, provider, count, columns, rows);
    if (later.call.asked_count > before && later.lane == NULL) {
        later.instance = instance;
        later.lane = st_remote_take(remote);
    }
    const uint64_t head = st_call_head(provider, count, columns);
    for (size_t at = before; at < later.call.asked_count; at++) {
        later.heads[at] = head;
        for (size_t i = 0; i < count; i++)
            later.lane->columns[i][at] = columns[i] != NULL ? columns[i][later.call.asked[at]] : 0;
    }
    return unknown > 0;
}

bool st_plugin_catch_up(void *unused)
{
    (void)unused;
    st_remote_lane *lane = later.lane;
    if (lane == NULL)
        return true;
    const st_plugin_instance *instance = later.instance;
    lane->kind = ST_ISOLATE_SEVERAL;
    lane->rows = (uint32_t)later.call.asked_count;
    lane->provider = 0;
    memcpy(lane->heads, later.heads, sizeof later.heads);
    later.call.rows = 0;
    const bool answered = st_remote_ask(instance->remote, lane);
    const bool is_good = answered && lane->result == ST_PLUGIN_OK;
    st_call_memo_end(st_remote_memo(instance->remote), &later.call, is_good ? lane->values : NULL,
                     NULL);
    if (answered) {
        (void)take_words(instance, lane);
    } else {
        const uint32_t claimed = lane->provider; /* the first row of those it was computing */
        const size_t row = claimed < later.call.asked_count ? claimed : 0;
        const uint64_t head = later.heads[row];
        const double *columns[ST_CALL_COLUMNS] = {0};
        const size_t provider = st_call_head_provider(head);
        const size_t width = instance->module->shown.providers[provider]->argument_count;
        for (size_t i = 0; i < width; i++)
            columns[i] = st_call_head_has(head, width, i) ? lane->columns[i] : NULL;
        accuse_ended(instance, provider, rows_alike(later.heads, row, later.call.asked_count),
                     columns, row);
    }
    later.lane = NULL;
    st_remote_give(instance->remote, lane);
    return is_good;
}

static st_status evaluate_apart(const st_plugin_instance *instance, size_t provider, size_t rows,
                                const double *const *columns, double *values)
{
    const st_plugin_provider *shown = instance->module->shown.providers[provider];
    if (rows > ST_REMOTE_ROWS || shown->argument_count > ST_REMOTE_COLUMNS)
        return ST_ERR_PROVIDER;
    st_memo_call call;
    call.asked_count = 0;
    st_call_memo *memo = st_remote_memo(instance->remote);
    (void)st_call_memo_begin(memo, &call, provider, shown->argument_count, columns, rows);
    const size_t count = call.asked_count;
    if (count == 0) {
        st_call_memo_end(memo, &call, values, values);
        return ST_OK;
    }
    st_status status = ST_ERR_PROVIDER;
    (void)st_plugin_catch_up(NULL);
    st_remote_lane *lane = st_remote_take(instance->remote);
    lane->kind = ST_ISOLATE_EVALUATE;
    lane->provider = (uint32_t)provider;
    fill_lane(shown, count, call.asked, columns, lane);
    if (st_remote_ask(instance->remote, lane)) {
        status = lane->result == ST_PLUGIN_OK ? ST_OK : ST_ERR_PROVIDER;
        st_call_memo_end(memo, &call, status == ST_OK ? lane->values : NULL, values);
        if (take_words(instance, lane) != ST_OK)
            status = ST_ERR_MEMORY;
    } else {
        st_call_memo_end(memo, &call, NULL, values);
        accuse_ended(instance, provider, count, columns, call.asked[0]);
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
    (void)st_plugin_catch_up(NULL);
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

/* Rows of several providers, those of one behind each other; the first failure ends it. */
static st_status evaluate_several(const st_plugin_instance *instance, st_remote_lane *lane)
{
    const double *columns[ST_CALL_COLUMNS];
    st_status status = ST_OK;
    for (size_t first = 0, rows = 0; first < lane->rows && status == ST_OK; first += rows) {
        const uint64_t head = lane->heads[first];
        const size_t provider = st_call_head_provider(head);
        const size_t width = instance->module->shown.providers[provider]->argument_count;
        lane->provider = (uint32_t)first;
        rows = rows_alike(lane->heads, first, lane->rows);
        for (size_t i = 0; i < width; i++)
            columns[i] = st_call_head_has(head, width, i) ? lane->columns[i] + first : NULL;
        status = st_plugin_evaluate(instance, provider, rows, columns, lane->values + first);
    }
    return status;
}

static void serve_call(const st_plugin_instance *instance, st_remote_lane *lane, st_arena *arena,
                       st_buffer *text)
{
    const double *columns[ST_REMOTE_COLUMNS];
    size_t provider = lane->provider;
    for (size_t i = 0; i < ST_REMOTE_COLUMNS; i++)
        columns[i] = lane->given[i] != 0 ? lane->columns[i] : NULL;
    if (lane->kind != ST_ISOLATE_EXPLAIN) {
        for (size_t i = 0; i < lane->rows; i++)
            lane->values[i] = (double)NAN; /* a row that the plugin forgets has no value */
        st_status status =
            lane->kind == ST_ISOLATE_SEVERAL
                ? evaluate_several(instance, lane)
                : st_plugin_evaluate(instance, provider, lane->rows, columns, lane->values);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a plugin: blocks of rows, and the terms behind one row. */
#include "plugin/isolate.h"
#include "plugin/ipc.h"

#include "base/utf8.h"

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

static st_status evaluate_apart(const st_plugin_instance *instance, size_t provider, size_t rows,
                                const double *const *columns, double *values)
{
    const st_plugin_provider *shown = instance->module->shown.providers[provider];
    if (rows > ST_REMOTE_ROWS || shown->argument_count > ST_REMOTE_COLUMNS)
        return ST_ERR_PROVIDER;
    uint32_t asked[ST_REMOTE_ROWS];
    st_remote_lane *lane = st_remote_take(instance->remote);
    st_call_memo *memo = st_remote_memo(instance->remote, lane);
    st_status status = memo != NULL ? ST_ERR_PROVIDER : ST_ERR_MEMORY;
    size_t count = memo == NULL ? 0
                                : st_call_memo_begin(memo, provider, shown->argument_count, columns,
                                                     rows, asked);
    lane->kind = ST_ISOLATE_EVALUATE;
    lane->provider = (uint32_t)provider;
    fill_lane(shown, count, asked, columns, lane);
    if (memo != NULL && count == 0) {
        st_call_memo_end(memo, lane->values, values);
        status = ST_OK;
    } else if (memo != NULL && st_remote_ask(instance->remote, lane)) {
        status = lane->result == ST_PLUGIN_OK ? ST_OK : ST_ERR_PROVIDER;
        st_call_memo_end(memo, status == ST_OK ? lane->values : NULL, values);
        /* What the plugin said meanwhile: an error, and warnings. */
        const st_plugin_host *host = &instance->host;
        size_t length = lane->text_length < ST_REMOTE_TEXT ? lane->text_length : ST_REMOTE_TEXT;
        st_ipc_reader from = {.at = lane->text, .end = lane->text + length};
        const char *error = length > 0 ? st_ipc_read(&from) : NULL;
        const char *warnings = length > 0 ? st_ipc_read(&from) : NULL;
        if (error != NULL)
            host->error(host->context, error);
        while (warnings != NULL && *warnings != '\0') {
            host->log(host->context, ST_PLUGIN_LOG_WARNING, warnings);
            warnings += strcspn(warnings, "\n");
            warnings += *warnings != '\0' ? 1 : 0;
        }
    } else if (memo != NULL) {
        st_call_memo_end(memo, NULL, values);
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
                             st_quantity_format(columns[i][asked[0]], &unit, ST_STYLE_SCALED,
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

/* Terms on their way from a plugin; what makes no sense is left out. */
typedef struct gathering {
    st_arena *arena;
    st_provider_term *terms;
    size_t count;
    bool failed;
} gathering;

/* The text with controls and broken bytes as '?'; NULL when out of memory. */
static const char *clean_copy(st_arena *arena, const char *text)
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

static void add_term(void *context, const st_plugin_term *raw)
{
    gathering *gather = context;
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
    const st_provider_term made = {.name = clean_copy(gather->arena, term.name),
                                   .doc = clean_copy(gather->arena, term.doc),
                                   .text = term.text == NULL ? NULL
                                                             : clean_copy(gather->arena, term.text),
                                   .value = term.value,
                                   .unit = unit,
                                   .part = (term.flags & ST_PLUGIN_PART) != 0};
    gather->failed = !ST_APPEND(gather->arena, gather->terms, gather->count, made);
}

static st_status explain_apart(const st_plugin_instance *instance, size_t provider,
                               const double *const *columns, st_arena *arena,
                               st_provider_account *account)
{
    const st_plugin_provider *shown = instance->module->shown.providers[provider];
    st_remote_lane *lane = st_remote_take(instance->remote);
    gathering gather = {.arena = arena};
    lane->kind = ST_ISOLATE_EXPLAIN;
    lane->provider = (uint32_t)provider;
    *account = (st_provider_account){0};
    const bool fits = shown->argument_count <= ST_REMOTE_COLUMNS;
    if (fits)
        fill_lane(shown, 1, &(uint32_t){0}, columns, lane);
    if (fits && st_remote_ask(instance->remote, lane)) {
        size_t length = lane->text_length < ST_REMOTE_TEXT ? lane->text_length : ST_REMOTE_TEXT;
        st_ipc_reader from = {.at = lane->text, .end = lane->text + length};
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
                add_term(&gather, &term);
        }
        account->refusal = refusal != NULL ? clean_copy(arena, refusal) : NULL;
    } else {
        account->refusal = clean_copy(arena, st_remote_reason(instance->remote));
    }
    st_remote_give(instance->remote, lane);
    if (account->refusal == NULL) {
        account->terms = gather.terms;
        account->count = gather.count;
    }
    return gather.failed ? ST_ERR_MEMORY : ST_OK;
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
    gathering gather = {.arena = arena};
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
            .struct_size = sizeof(st_plugin_sink), .context = &gather, .term = add_term};
        st_guard guard;
        st_guard_begin(&guard, instance->module->who, shown->name, true);
        refused = shown->explain(instance->instance, columns, &sink) != ST_PLUGIN_OK || refused;
        st_guard_end(&guard);
    }
    if (gather.failed)
        return ST_ERR_MEMORY;
    if (refused) {
        const char *error = st_instance_error(instance, arena);
        account->refusal = error == NULL ? NULL : clean_copy(arena, error);
    } else {
        account->terms = gather.terms;
        account->count = gather.count;
    }
    return ST_OK;
}

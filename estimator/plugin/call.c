/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a plugin: blocks of rows, and the terms behind one row. */
#include "plugin/module.h"

#include "base/utf8.h"

#include <math.h>
#include <string.h>

/* Numbers seen as their bits. */
typedef uint64_t __attribute__((may_alias)) number_bits;

/* A sum that a change of any number changes, and nearly always one of their order: Fletcher's. */
static uint64_t sum_of(const double *column, size_t rows)
{
    enum { LANES = 8 };
    const number_bits *bits = (const number_bits *)column;
    uint64_t plain[LANES] = {0};
    uint64_t weighted[LANES] = {0};
    uint64_t sum = 0;
    size_t whole = rows - rows % LANES;
    for (size_t row = 0; row < whole; row += LANES) {
        for (size_t lane = 0; lane < LANES; lane++)
            plain[lane] += bits[row + lane];
        for (size_t lane = 0; lane < LANES; lane++)
            weighted[lane] += plain[lane];
    }
    for (size_t row = whole; row < rows; row++)
        sum = sum * 31 + bits[row];
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

st_status st_plugin_evaluate(const st_plugin_instance *instance, size_t provider, size_t rows,
                             const double *const *columns, double *values)
{
    const st_plugin_provider *shown = instance->module->shown.providers[provider];
    st_plugin_instance *own = instance->host.context;
    unsigned calls = atomic_fetch_add_explicit(&own->calls, 1, memory_order_relaxed);
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
    size_t capacity;
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

static void take_term(void *context, const st_plugin_term *raw)
{
    gathering *own = context;
    st_plugin_term term = {0};
    uint32_t size_bytes = 0;
    if (raw == NULL || own->count == ST_PLUGIN_MAX_TERMS)
        return;
    memcpy(&size_bytes, raw, sizeof(size_bytes));
    if (size_bytes < offsetof(st_plugin_term, doc) + sizeof(term.doc))
        return;
    memcpy(&term, raw, size_bytes < sizeof(term) ? size_bytes : sizeof(term));
    st_provider_term *terms =
        st_arena_grow(own->arena, own->terms, sizeof(*terms), own->count + 1, &own->capacity);
    const char *name = clean_copy(own->arena, term.name);
    const char *doc = clean_copy(own->arena, term.doc);
    const char *text = term.text == NULL ? NULL : clean_copy(own->arena, term.text);
    if (terms == NULL || name == NULL || doc == NULL || (term.text != NULL && text == NULL)) {
        own->failed = true;
        return;
    }
    st_unit unit = st_unit_one();
    if (term.unit != NULL && term.unit[0] != '\0' &&
        st_unit_parse(term.unit, strnlen(term.unit, sizeof(unit.text)), (st_place){0}, &unit,
                      NULL) != ST_OK)
        unit = st_unit_one();
    own->terms = terms;
    terms[own->count++] = (st_provider_term){.name = name,
                                             .doc = doc,
                                             .text = text,
                                             .value = term.value,
                                             .unit = unit,
                                             .part = (term.flags & ST_PLUGIN_PART) != 0};
}

/* Without a function to explain, a refused row may still have said why when it was evaluated. */
static bool refuses(const st_plugin_instance *instance, size_t provider,
                    const double *const *columns)
{
    double value = (double)NAN;
    return st_plugin_evaluate(instance, provider, 1, columns, &value) != ST_OK ||
           !isfinite(value) || value < 0;
}

st_status st_plugin_explain(const st_plugin_instance *instance, size_t provider,
                            const double *const *columns, st_arena *arena,
                            st_provider_account *account)
{
    const st_plugin_provider *shown = instance->module->shown.providers[provider];
    gathering own = {.arena = arena};
    *account = (st_provider_account){0};
    st_instance_clear_error(instance);
    bool refused = refuses(instance, provider, columns);
    if (shown->explain != NULL) {
        const st_plugin_sink sink = {
            .struct_size = sizeof(st_plugin_sink), .context = &own, .term = take_term};
        st_guard guard;
        st_guard_begin(&guard, instance->module->who, shown->name, true);
        refused = shown->explain(instance->instance, columns, &sink) != ST_PLUGIN_OK || refused;
        st_guard_end(&guard);
    }
    if (own.failed)
        return ST_ERR_MEMORY;
    if (refused) {
        const char *error = st_instance_error(instance, arena);
        account->refusal = error == NULL ? NULL : clean_copy(arena, error);
    } else {
        account->terms = own.terms;
        account->count = own.count;
    }
    return ST_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a plugin: blocks of rows, and the terms behind one row. */
#include "plugin/module.h"

#include "base/utf8.h"

#include <math.h>
#include <string.h>

st_status st_plugin_evaluate(const st_plugin_instance *instance, size_t provider, size_t rows,
                             const double *const *columns, double *values)
{
    const st_plugin_provider *shown = instance->module->shown.providers[provider];
    return shown->evaluate(instance->instance, rows, columns, values) == ST_PLUGIN_OK
               ? ST_OK
               : ST_ERR_PROVIDER;
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
        refused = shown->explain(instance->instance, columns, &sink) != ST_PLUGIN_OK || refused;
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

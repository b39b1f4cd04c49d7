/* SPDX-License-Identifier: Apache-2.0 */
/* A table of providers over a layer list; one function here, one line in the table. */
#include "estimate/builtin.h"

#include "base/memory.h"
#include "estimate/fabric_functions.h"
#include "estimate/layer_functions.h"
#include "estimate/pipeline_functions.h"
#include "estimate/placement_cells.h"
#include "estimate/stage_layers.h"
#include "job/bind.h"
#include "steptime/keys.h"

#include <string.h>

/* The providers over a layer list; `pointers` has room for all of them. */
static st_status add_layer_providers(const st_layers *layers, const st_sheet *sheet,
                                     st_arena *arena, const st_provider **pointers, size_t *count,
                                     st_errors *errors)
{
    size_t entry_count = 0;
    const st_open_function *entries = st_layer_functions(&entry_count);
    st_provider *made = st_arena_alloc(arena, entry_count, sizeof(*made));
    const char *source = st_arena_printf(arena, "layer list %s", layers->name);
    if (made == NULL || source == NULL)
        return st_out_of_memory(errors);
    st_status status = ST_OK;
    for (size_t i = 0; i < entry_count && status == ST_OK; i++) {
        if (st_open_function_find(sheet, entries[i].name) != NULL) {
            status = st_open_provider(&entries[i], layers, arena, &made[i], errors);
            made[i].source = source;
            pointers[(*count)++] = &made[i];
        }
    }
    return status;
}

/* The job's layer list; NULL where it has none or the sheet does not look into layers. */
static st_status find_layers(const st_paths *paths, const st_job *job, const st_sheet *sheet,
                             st_arena *arena, const st_layers **layers, st_errors *errors)
{
    const st_job_value *list = st_job_value_of(job, ST_KEY_MODEL_LAYER_LIST);
    size_t wanted = 0;
    size_t count = 0;
    const st_open_function *entries = st_layer_functions(&count);
    *layers = NULL;
    for (size_t i = 0; i < count; i++)
        wanted += st_open_function_find(sheet, entries[i].name) != NULL ? 1 : 0;
    if (list == NULL || list->origin == ST_ORIGIN_NONE) {
        /* Without a list a function keeps its formula; one that has none cannot do without. */
        size_t bare_count = 0;
        const st_open_function *bare_entries = st_layer_functions(&bare_count);
        for (size_t i = 0; i < bare_count; i++) {
            const st_sheet_function *function = st_open_function_find(sheet, bare_entries[i].name);
            if (function != NULL && function->formula == NULL)
                return st_fail(errors, ST_ERR_NAME, (st_place){.file = st_job_file(job)},
                               "sheet %s requires model.layer_list" ST_EXPECTED
                               "the name of a list in configs/layers",
                               st_sheet_name(sheet));
        }
        return ST_OK;
    }
    if (wanted == 0) {
        return st_job_warn_unread(job, list, sheet, "does not use layers", errors);
    }
    return st_layers_load(paths, list->text, list->place, arena, layers, errors);
}

st_status st_builtin_providers(const st_paths *paths, const st_job *job, const st_sheet *sheet,
                               st_arena *arena, st_provider_list *providers, st_errors *errors)
{
    const st_layers *layers = NULL;
    const st_stage_plan *plan = NULL;
    st_cell_providers placed = {0};
    st_stage_providers staged = {0};
    st_cell_providers replayed = {0};
    st_cell_providers laid = {0};
    *providers = (st_provider_list){0};
    st_status status = find_layers(paths, job, sheet, arena, &layers, errors);
    if (status == ST_OK)
        status = st_placement_providers(job, sheet, arena, &placed, errors);
    if (status == ST_OK)
        status = st_stage_plan_read(job, sheet, arena, &plan, errors);
    if (status == ST_OK)
        status = st_stage_layer_providers(plan, sheet, arena, &staged, errors);
    if (status == ST_OK)
        status = st_pipeline_providers(plan, sheet, arena, &replayed, errors);
    if (status == ST_OK)
        status = st_fabric_providers(paths, job, sheet, arena, &laid, errors);
    if (status != ST_OK)
        return status;
    size_t entry_count = 0;
    (void)st_layer_functions(&entry_count);
    const st_provider **pointers = st_arena_alloc(
        arena, entry_count + placed.count + staged.count + replayed.count + laid.count,
        sizeof(*pointers));
    if (pointers == NULL)
        return st_out_of_memory(errors);
    if (layers != NULL)
        status = add_layer_providers(layers, sheet, arena, pointers, &providers->count, errors);
    for (size_t i = 0; i < placed.count; i++)
        pointers[providers->count++] = &placed.items[i];
    for (size_t i = 0; i < staged.count; i++)
        pointers[providers->count++] = &staged.items[i];
    for (size_t i = 0; i < replayed.count; i++)
        pointers[providers->count++] = &replayed.items[i];
    for (size_t i = 0; i < laid.count; i++)
        pointers[providers->count++] = &laid.items[i];
    providers->items = pointers;
    return status;
}

const st_layers *st_builtin_layers(const st_provider *const *providers, size_t count)
{
    size_t entry_count = 0;
    const st_open_function *entries = st_layer_functions(&entry_count);
    for (size_t i = 0; i < count; i++) {
        const st_open_self *provider = providers[i]->self;
        for (size_t k = 0; k < entry_count && providers[i]->evaluate == st_open_evaluate; k++)
            if (provider->function == &entries[k])
                return provider->over;
    }
    return NULL;
}

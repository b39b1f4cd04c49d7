/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many parameters an imported model has, as the sheet that estimates it counts them: part of
 * the name of a model that its file does not name.
 */
#include "launch/import/hf.h"

#include "steptime/keys.h"
#include "steptime/tool/estimates.h"
#include "steptime/tool/roles.h"

#include <math.h>
#include <string.h>

typedef struct set_list {
    const char **items;
    size_t count;
} set_list;

/* The model's own keys. */
static bool list_model(st_draft *draft, set_list *sets)
{
    size_t count = 0;
    const st_key *keys = st_keys(&count);
    for (size_t i = 0; i < count; i++) {
        const char *text = draft->values[i].text;
        if (text != NULL && strncmp(keys[i].path, ST_KEY_MODEL ".", strlen(ST_KEY_MODEL ".")) == 0)
            sets->items[sets->count++] = st_draft_text(draft, "%s=%s", keys[i].path, text);
    }
    return draft->status == ST_OK;
}

static st_status count_parameters(st_draft *draft, set_list *sets, double *parameters,
                                  st_errors *quiet)
{
    st_estimate *estimate = st_estimate_new(draft->arena);
    st_request request = {.sets = sets->items, .checks_warn = true};
    const st_paths *paths = draft->request->paths;
    if (estimate == NULL)
        return ST_ERR_MEMORY;
    request.set_count = sets->count;
    (void)!st_estimate_open(paths, &request, draft->arena, estimate, quiet);
    const st_sheet *sheet = st_estimate_parts_of(estimate).sheet;
    const char *cell = sheet != NULL ? st_sheet_role(sheet, ST_ROLE_PARAMETERS) : NULL;
    if (cell == NULL)
        return ST_ERR_NAME;
    /* Any value for what the sheet must have besides the model, which has no part in its
     * parameters. */
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(sheet, &count);
    for (size_t i = 0; i < count; i++) {
        bool is_number = inputs[i].type.kind == ST_TYPE_NUMBER;
        if (inputs[i].has_default || !is_number ||
            strncmp(inputs[i].from, ST_KEY_MODEL ".", strlen(ST_KEY_MODEL ".")) == 0)
            continue;
        const char *unit = inputs[i].type.unit.text;
        sets->items[sets->count++] =
            st_draft_text(draft, "%s=1 %s", inputs[i].from, strcmp(unit, "1") == 0 ? "" : unit);
    }
    if (draft->status != ST_OK)
        return ST_ERR_NAME;
    request.set_count = sets->count;
    st_status status = st_estimate_open(paths, &request, draft->arena, estimate, quiet);
    if (status == ST_OK)
        status = st_estimate_gather(paths, &request, draft->arena, estimate, quiet);
    if (status == ST_OK)
        status = st_estimate_show_names(estimate, &cell, 1, (st_place){0}, draft->arena, quiet);
    if (status == ST_OK)
        status = st_estimate_run(estimate, draft->arena, quiet);
    *parameters = status == ST_OK ? st_estimate_shown_value(estimate, 0) : 0;
    return status;
}

double hf_parameters(hf_reader *reader)
{
    enum { ROOM = 2000 };
    st_draft *draft = reader->draft;
    size_t keys = 0;
    (void)st_keys(&keys);
    double parameters = 0;
    set_list sets = {.items = st_arena_alloc(draft->arena, keys + ROOM, sizeof *sets.items)};
    st_errors *quiet = st_errors_create();
    bool counted = sets.items != NULL && quiet != NULL && list_model(draft, &sets) &&
                   count_parameters(draft, &sets, &parameters, quiet) == ST_OK;
    st_errors_destroy(quiet);
    return counted && isfinite(parameters) ? parameters : 0;
}

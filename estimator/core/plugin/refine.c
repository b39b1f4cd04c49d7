/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From `refine` to providers: plugins are loaded and opened in order of preference, and each of
 * their providers is tied to the open function or cell of the sheet that has its name. What a
 * provider reads and the sheet does not have comes from the job, as a constant, or not at all.
 */
#include "plugin/provider_binding.h"
#include "plugin/isolate.h"
#include "sheet/binding.h"
#include "base/dimension.h"

#include "base/error_scope.h"
#include "steptime/keys.h"
#include "steptime/tool/profiles.h"
#include "job/files.h"
#include "job/keys.h"

#include <string.h>

typedef struct refining {
    const st_paths *paths;
    const st_job *job;
    const st_sheet *sheet;
    const st_refinement *refinement;
    const st_plugin_module *module;
    const st_plugin_instance **instances; /* of the next provider: one, or one for each entry */
    size_t instance_count;                /* 0: it keeps its formula */
    const st_profile_found *entries;      /* of its profile; NULL: none */
    st_arena *arena;
    st_provider **providers;
    size_t count;
    const char **keys; /* of the job, that were read */
    size_t key_count;
    st_errors *errors;
} refining;

/* ---- ties ------------------------------------------------------------------------------------ */

static st_status refuse(const refining *binder, st_status status, const char *provider,
                        const char *message)
{
    return st_fail(binder->errors, status, binder->refinement->place,
                   "plugin '%s' for '%s' of sheet %s %s", binder->refinement->plugin, provider,
                   st_sheet_name(binder->sheet), message);
}

/* Finds the name by which the sheet has an argument; false where it has not. */
static bool find_in_sheet(const refining *binder, const st_sheet_function *function,
                          const char *name, const char **found)
{
    size_t count = 0;
    *found = name;
    const st_sheet_input *inputs = st_sheet_inputs(binder->sheet, &count);
    if ((function != NULL && ST_HAS(function->arguments, function->argument_count, name, name)) ||
        st_sheet_find_cell(binder->sheet, name) != NULL ||
        st_sheet_find_input(binder->sheet, name) != NULL)
        return true;
    size_t i = strchr(name, '.') != NULL ? ST_FIND(inputs, count, from, name) : SIZE_MAX;
    *found = i < count ? inputs[i].name : name;
    return i < count;
}

/* A key's number and dimension; false where it has none. */
static bool number_of(const st_job_value *value, const st_unit *unit, double *number,
                      st_unit *own_unit)
{
    *own_unit = st_unit_one();
    if (value->key == NULL) { /* a constant: its unit is the reader's */
        *own_unit = *unit;
        return st_quantity_parse(value->text, strlen(value->text), unit, value->place, number,
                                 NULL) == ST_OK;
    }
    *number = value->number;
    switch (value->key->kind) {
    case ST_KEY_QUANTITY:
        return st_unit_parse(value->key->unit, strlen(value->key->unit), (st_place){0}, own_unit,
                             NULL) == ST_OK;
    case ST_KEY_COUNT:
    case ST_KEY_NUMBER:
    case ST_KEY_BOOL:
    case ST_KEY_ENUM: /* the place of its name among those that the key may have, from 0 */
        return true;
    case ST_KEY_TEXT:
        break;
    }
    return false;
}

/* The job's value of a key as a block of equal numbers. */
static st_status tie_to_job(refining *binder, const st_plugin_provider *provider, const char *name,
                            const st_unit *unit, st_tie *result)
{
    const st_job_value *value =
        strchr(name, '.') == NULL ? NULL : st_job_value_of(binder->job, name);
    st_unit found;
    double number = 0;
    if (value == NULL || value->origin == ST_ORIGIN_NONE)
        return ST_OK;
    if (!number_of(value, unit, &number, &found) ||
        !st_dimension_equal(found.dimension, unit->dimension)) {
        char wanted[64];
        return refuse(binder, ST_ERR_UNIT, provider->name,
                      st_errors_text(
                          binder->errors, "reads %s in %s, but the job sets it to %s", name,
                          st_dimension_text(unit->dimension, wanted, sizeof(wanted)), value->text));
    }
    double *block = st_arena_alloc(binder->arena, ST_PLUGIN_BLOCK_ROWS, sizeof(*block));
    if (block == NULL)
        return st_out_of_memory(binder->errors);
    for (size_t i = 0; i < ST_PLUGIN_BLOCK_ROWS; i++)
        block[i] = number;
    result->constant = block;
    const char *key = name;
    if (st_has_text(binder->keys, binder->key_count, key))
        return ST_OK;
    return ST_APPEND(binder->arena, binder->keys, binder->key_count, key)
               ? ST_OK
               : st_out_of_memory(binder->errors);
}

static st_status tie_argument(refining *binder, const st_module_provider *from,
                              const st_sheet_function *function, size_t index, st_tie *result,
                              const char **name)
{
    const st_plugin_argument *argument = &from->arguments[index];
    *result = (st_tie){.column = SIZE_MAX};
    if (find_in_sheet(binder, function, argument->name, name))
        return ST_OK;
    *name = NULL;
    st_status status =
        tie_to_job(binder, &from->shown, argument->name, &from->argument_units[index], result);
    if (status != ST_OK || result->constant != NULL || (argument->flags & ST_PLUGIN_OPTIONAL) != 0)
        return status;
    bool is_key = strchr(argument->name, '.') != NULL;
    return refuse(binder, ST_ERR_PROVIDER, from->shown.name,
                  st_errors_text(binder->errors,
                                 is_key ? "needs %s, which the job does not set"
                                        : "reads '%s', which is neither an argument of the "
                                          "function nor a cell or input of the sheet",
                                 argument->name));
}

/* ---- the group of a row ---------------------------------------------------------------------- */

/* A pure number of the function that is replaced. */
static bool has_count(const st_sheet_function *function, const char *name)
{
    for (size_t i = 0; function != NULL && i < function->argument_count; i++) {
        const st_sheet_argument *argument = &function->arguments[i];
        if (strcmp(argument->name, name) == 0)
            return argument->type.kind == ST_TYPE_NUMBER &&
                   st_dimension_equal(argument->type.unit.dimension, st_unit_one().dimension);
    }
    return false;
}

/* The column of what the sheet calls `name`, which is added where the plugin does not read it. */
static st_tie tie_column(st_provider *provider, const char **names, st_unit *units,
                         const char *name)
{
    size_t i = st_text_at(names, provider->argument_count, name);
    if (i < provider->argument_count)
        return (st_tie){.column = i};
    names[provider->argument_count] = name;
    units[provider->argument_count] = st_unit_one();
    return (st_tie){.column = provider->argument_count++};
}

/* A key of the job: the sheet's input of it, which rows may vary, else the job's number. */
static st_status tie_key(refining *binder, st_provider *provider, const char **names,
                         st_unit *units, const char *key, st_tie *result)
{
    const char *name = NULL;
    const st_unit one = st_unit_one();
    const st_plugin_provider shown = {.name = provider->name};
    *result = (st_tie){.column = SIZE_MAX};
    if (find_in_sheet(binder, NULL, key, &name)) {
        *result = tie_column(provider, names, units, name);
        return ST_OK;
    }
    return tie_to_job(binder, &shown, key, &one, result);
}

/* Which entry of a profile a row means depends on the group that communicates. */
static st_status tie_group(refining *binder, const st_sheet_function *function,
                           st_provider *provider, const char **names, st_unit *units,
                           st_group_ties *group)
{
    const st_tie nothing = {.column = SIZE_MAX};
    st_status status = ST_OK;
    *group = (st_group_ties){nothing, nothing, nothing};
    if (binder->instance_count < 2)
        return ST_OK;
    if (has_count(function, "ranks"))
        group->ranks = tie_column(provider, names, units, "ranks");
    else
        status = tie_key(binder, provider, names, units, ST_KEY_CLUSTER_NODES, &group->nodes);
    if (status == ST_OK && has_count(function, "per_node"))
        group->per_node = tie_column(provider, names, units, "per_node");
    else if (status == ST_OK)
        status =
            tie_key(binder, provider, names, units, ST_KEY_CLUSTER_GPUS_PER_NODE, &group->per_node);
    return status;
}

static st_status bind(refining *binder, size_t index, const st_sheet_function *function)
{
    enum { OF_GROUP = 3 };
    const st_plugin_module *module = binder->module;
    const st_module_provider *from = &module->providers[index];
    size_t count = from->shown.argument_count;
    st_provider *provider = st_arena_alloc(binder->arena, 1, sizeof(*provider));
    st_provider_binding *binding = st_arena_alloc(binder->arena, 1, sizeof(*binding));
    const char **names = st_arena_alloc(binder->arena, count + OF_GROUP, sizeof(*names));
    st_unit *units = st_arena_alloc(binder->arena, count + OF_GROUP, sizeof(*units));
    st_tie *ties = st_arena_alloc(binder->arena, count + 1, sizeof(*ties));
    if (provider == NULL || binding == NULL || names == NULL || units == NULL || ties == NULL)
        return st_out_of_memory(binder->errors);
    *binding = (st_provider_binding){.provider = index,
                                     .ties = ties,
                                     .argument_count = count,
                                     .instances = binder->instances,
                                     .count = binder->instance_count,
                                     .profile = binder->refinement->profile,
                                     .entries = binder->entries};
    const bool is_apart = binder->instances[0]->remote != NULL;
    *provider = (st_provider){.name = from->shown.name,
                              .source = module->shown.id,
                              .argument_names = names,
                              .argument_units = units,
                              .unit = from->unit,
                              .fallback = binder->refinement->fallback,
                              .evaluate = st_binding_evaluate,
                              .explain = st_binding_explain,
                              .put_off = is_apart ? st_binding_put_off : NULL,
                              .catch_up = is_apart ? st_plugin_catch_up : NULL,
                              .self = binding};
    st_status status = ST_OK;
    for (size_t i = 0; i < count; i++) {
        const char *name = NULL;
        st_note(&status, tie_argument(binder, from, function, i, &ties[i], &name));
        if (name != NULL) {
            ties[i].column = provider->argument_count;
            units[provider->argument_count] = from->argument_units[i];
            names[provider->argument_count++] = name;
        }
    }
    if (status == ST_OK)
        status = tie_group(binder, function, provider, names, units, &binding->group);
    if (status != ST_OK)
        return status;
    return ST_APPEND(binder->arena, binder->providers, binder->count, provider)
               ? ST_OK
               : st_out_of_memory(binder->errors);
}

/* ---- plugins --------------------------------------------------------------------------------- */

static void close_instance(void *context)
{
    st_plugin_close(context);
}

/* Options of a profile, as far as it has some, then those of the job. */
static st_status open_with(refining *binder, const st_profile_found *found,
                           const st_plugin_instance **opened)
{
    const st_refinement *refinement = binder->refinement;
    st_plugin_instance *instance = NULL;
    size_t count = 0;
    st_plugin_given *given =
        st_arena_alloc(binder->arena, found->count + refinement->option_count + 1, sizeof(*given));
    if (given == NULL)
        return st_out_of_memory(binder->errors);
    for (size_t i = 0; i < found->count; i++)
        given[count++] = (st_plugin_given){.name = found->options[i].name,
                                           .text = found->options[i].text,
                                           .name_place = refinement->profile_place,
                                           .place = refinement->profile_place};
    for (size_t i = 0; i < refinement->option_count; i++) {
        const st_refinement_option *option = &refinement->options[i];
        given[count++] = (st_plugin_given){.name = option->name,
                                           .text = option->text,
                                           .name_place = option->name_place,
                                           .place = option->place};
    }
    st_status status =
        st_plugin_open(binder->module, given, count, refinement->place, &instance, binder->errors);
    if (status != ST_OK)
        return status;
    if (!st_arena_defer(binder->arena, close_instance, instance)) {
        st_plugin_close(instance);
        return st_out_of_memory(binder->errors);
    }
    *opened = instance;
    return ST_OK;
}

/* One instance, of the job's options alone, or one for each entry of the profile. */
static st_status open_all(refining *binder, const st_profile_found *found, size_t count)
{
    static const st_profile_found nothing = {.entry = NULL};
    size_t needed = count > 0 ? count : 1;
    binder->instance_count = 0;
    binder->entries = count > 0 ? found : NULL;
    binder->instances = st_arena_alloc(binder->arena, needed, sizeof(*binder->instances));
    if (binder->instances == NULL)
        return st_out_of_memory(binder->errors);
    for (size_t i = 0; i < needed; i++) {
        st_status status =
            open_with(binder, count > 0 ? &found[i] : &nothing, &binder->instances[i]);
        if (status != ST_OK)
            return status;
    }
    binder->instance_count = needed;
    return ST_OK;
}

static bool move_to_profile(const void *context, st_errors *errors, st_error *error)
{
    (void)errors;
    if (error->status == ST_ERR_NAME)
        error->place = ((const st_refinement *)context)->profile_place;
    return true;
}

/* Whether a profile holds measured times, where what was not measured is the formula's to say. */
static bool has_times(const refining *binder)
{
    const st_profile_filter filter = {.name = binder->refinement->profile,
                                      .plugin = binder->refinement->plugin};
    st_profile_found *found = NULL;
    size_t count = 0;
    return st_profile_all(st_paths_profiles(binder->paths), &filter, binder->arena, &found, &count,
                          NULL) == ST_OK &&
           count > 0 && strcmp(found[0].entry->kind, ST_PROFILE_TIMES) == 0;
}

/*
 * Instances for one provider: with a profile they have the options which were fitted to that very
 * collective. One that was not measured goes on with nominal options, which is warned about, or of
 * a profile of times gets no instance.
 */
static st_status open_for(refining *binder, const char *provider, size_t *calibrated)
{
    const st_refinement *refinement = binder->refinement;
    st_profile_found *found = NULL;
    size_t count = 0;
    if (refinement->profile == NULL)
        return binder->instance_count > 0 ? ST_OK : open_all(binder, NULL, 0);
    binder->instance_count = 0;
    /* Entries of the profile; an unknown profile is an error at its name. */
    const st_refinement *profile_refinement = binder->refinement;
    const st_profile_filter filter = {.name = profile_refinement->profile,
                                      .plugin = profile_refinement->plugin,
                                      .collective = provider};
    st_error_scope scope = {.edit = move_to_profile, .context = profile_refinement};
    st_errors_enter(binder->errors, &scope);
    st_status status = st_profile_all(st_paths_profiles(binder->paths), &filter, binder->arena,
                                      &found, &count, binder->errors);
    st_errors_leave(binder->errors, &scope);
    if (status != ST_OK || (count == 0 && has_times(binder)))
        return status;
    *calibrated += count > 0 ? 1 : 0;
    /* Warns when a profile comes from another machine; it is used all the same. */
    const st_profile_machine machine = st_profile_machine_of(binder->job);
    status = ST_OK;
    for (size_t i = 0; i < count && status == ST_OK; i++)
        status = st_profile_check_machine(binder->paths, found[i].entry, &machine,
                                          binder->refinement->profile_place, binder->errors);
    if (status != ST_OK)
        return status;
    if (count == 0)
        st_report(binder->errors, ST_SEVERITY_WARNING, ST_ERR_NAME, refinement->profile_place,
                  "profile '%s' has no options of %s for %s, which uses its nominal options",
                  refinement->profile, refinement->plugin, provider);
    return open_all(binder, found, count);
}

/* "all_reduce, all_gather and 3 more" */
static const char *list_providers(const refining *binder, const st_plugin *shown)
{
    enum { MOST = 8 };
    const char *text = "";
    for (size_t i = 0; i < shown->provider_count && i < MOST; i++)
        text = st_errors_text(binder->errors, "%s%s%s", text, i > 0 ? ", " : "",
                              shown->providers[i]->name);
    return shown->provider_count <= MOST ? text
                                         : st_errors_text(binder->errors, "%s and %zu more", text,
                                                          shown->provider_count - MOST);
}

static st_status bind_all(refining *binder)
{
    const st_plugin_module *module = binder->module;
    size_t calibrated = 0;
    st_status status = ST_OK;
    bool fits = false;
    for (size_t i = 0; i < module->shown.provider_count; i++) {
        const st_sheet_function *function = NULL;
        const char *name = module->shown.providers[i]->name;
        /* What the sheet has of that name and leaves open. */
        const st_sheet *sheet = binder->sheet;
        const st_sheet_cell *cell = st_sheet_find_cell(sheet, name);
        function = st_sheet_find_function(sheet, name);
        if (!(function != NULL ? function->open : cell != NULL && cell->open))
            continue;
        fits = true;
        bool is_taken = false;
        for (size_t j = 0; j < binder->count; j++)
            if (strcmp(binder->providers[j]->name, name) == 0) {
                is_taken = true;
                break;
            }
        if (!is_taken) {
            st_status bound = open_for(binder, name, &calibrated);
            if (bound != ST_OK)
                return bound; /* the next one would say the same */
            bound = binder->instance_count > 0 ? bind(binder, i, function) : ST_OK;
            status = status == ST_OK ? bound : status;
        }
    }
    if (status == ST_OK && fits && binder->refinement->profile != NULL && calibrated == 0) {
        /* A profile that fits no provider of the sheet is the wrong one. */
        status = st_fail(
            binder->errors, ST_ERR_NAME, binder->refinement->profile_place,
            "profile '%s' has none of the collectives that plugin '%s' provides for sheet %s",
            binder->refinement->profile, binder->refinement->plugin, st_sheet_name(binder->sheet));
    }
    if (fits)
        return status;
    const st_plugin *shown = &binder->module->shown;
    const char *why =
        shown->provider_count == 0
            ? "it only provides schedules; use them with 'timeline --schedule'"
            : st_errors_text(binder->errors,
                             "it provides %s, but the sheet has no open function or cell with %s "
                             "name",
                             list_providers(binder, shown),
                             shown->provider_count == 1 ? "that" : "such a");
    return st_fail(binder->errors, ST_ERR_PROVIDER, binder->refinement->place,
                   "plugin '%s' cannot refine sheet %s: %s", shown->id,
                   st_sheet_name(binder->sheet), why);
}

static bool is_read(const refining *binder, const char *key)
{
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(binder->sheet, &count);
    return st_has_text(binder->keys, binder->key_count, key) || ST_HAS(inputs, count, from, key);
}

st_status st_plugins_refine(const st_refine_request *request, st_arena *arena,
                            const st_provider *const **providers, size_t *count, st_errors *errors)
{
    refining binder = {.paths = request->paths,
                       .job = request->job,
                       .sheet = request->sheet,
                       .arena = arena,
                       .errors = errors};
    st_status status = ST_OK;
    for (size_t i = 0; i < request->count; i++) {
        binder.refinement = &request->refinements[i];
        binder.instance_count = 0;
        binder.entries = NULL;
        st_status (*load)(const st_paths *, const char *, st_place, st_arena *,
                          const st_plugin_module **, st_errors *) =
            st_job_isolates(binder.job) ? st_plugin_load_apart : st_plugin_load;
        st_status bound = load(binder.paths, binder.refinement->plugin, binder.refinement->place,
                               binder.arena, &binder.module, binder.errors);
        if (bound == ST_OK)
            bound = bind_all(&binder);
        status = status == ST_OK ? bound : status;
    }
    *providers = (const st_provider *const *)binder.providers;
    *count = binder.count;
    if (status == ST_OK) {
        /* Keys that plugins read, where none does. */
        size_t key_count = 0;
        const st_key *keys = st_keys(&key_count);
        for (size_t i = 0; i < key_count; i++) {
            const st_job_value *value = st_key_is_for_plugins(keys[i].path)
                                            ? st_job_value_of(binder.job, keys[i].path)
                                            : NULL;
            if (value != NULL && value->origin == ST_ORIGIN_SET &&
                st_job_is_own(binder.job, value) && !is_read(&binder, keys[i].path))
                st_report(binder.errors, ST_SEVERITY_WARNING, ST_ERR_NAME, value->place,
                          "%s has no effect on the estimate: none of the job's plugins read it",
                          keys[i].path);
        }
    }
    if (request->keys != NULL)
        *request->keys = (st_refine_keys){binder.keys, binder.key_count};
    return status;
}

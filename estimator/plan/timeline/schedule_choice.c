/* SPDX-License-Identifier: Apache-2.0 */
/* Names of schedules against the built-in ones and those of plugins, with their options. */
#include "timeline/schedule_choice.h"

#include "plugin/module.h"
#include "steptime/keys.h"

#include <string.h>

/* A plugin's schedule as it was asked for. */
typedef struct wanted_schedule {
    const char *name;
    const st_schedule_wish *wish;
    const st_paths *paths;
    bool apart; /* the plugin in a process of its own */
    st_place place;
    st_arena *arena;
    st_errors *errors;
} wanted_schedule;

bool st_schedule_is_built_in(const char *name)
{
    for (int i = 0; i < ST_SCHEDULES; i++)
        if (strcmp(name, st_schedule_name((st_schedule_kind)i)) == 0)
            return true;
    return false;
}

static void close_instance(void *context)
{
    st_plugin_close(context);
}

static st_status open_schedule(const wanted_schedule *wanted, const st_plugin_module *module,
                               st_plugin_instance **instance, size_t *schedule)
{
    const char *colon = strrchr(wanted->name, ':');
    const char *name = colon == NULL ? "" : colon + 1;
    *schedule = st_plugin_find_schedule(module, name);
    if (*schedule == SIZE_MAX) {
        /* The plugin has no such schedule, or several and none was named. */
        const st_plugin *shown = st_plugin_descriptor(module);
        const char *names[ST_PLUGIN_MAX_SCHEDULES];
        st_buffer list = {0};
        for (size_t i = 0; i < shown->schedule_count; i++) {
            names[i] = shown->schedules[i]->name;
            st_buffer_printf(&list, "%s%s:%s", i == 0 ? "" : ", ", shown->id, names[i]);
        }
        const char *message =
            shown->schedule_count == 0
                ? st_errors_text(wanted->errors, "plugin '%s' has no schedules", shown->id)
            : name[0] == '\0'
                ? st_errors_text(wanted->errors, "plugin '%s' has several schedules", shown->id)
                : st_errors_text(wanted->errors, "plugin '%s' has no schedule '%.80s'", shown->id,
                                 name);
        st_status schedule_status = st_fail(
            wanted->errors, ST_ERR_USAGE, wanted->place, "%s" ST_EXPECTED "%s" ST_HINT "%s",
            message,
            st_or_none(list.data != NULL ? st_errors_text(wanted->errors, "%s", list.data) : NULL),
            st_errors_nearest(wanted->errors, name, names, shown->schedule_count));
        st_buffer_free(&list);
        return schedule_status;
    }
    size_t count = wanted->wish->setting_count;
    st_plugin_given *given = st_arena_alloc(wanted->arena, count + 1, sizeof *given);
    st_status status = given != NULL ? st_plugin_read_options(wanted->wish->settings, count,
                                                              wanted->arena, given, wanted->errors)
                                     : ST_ERR_MEMORY;
    if (status == ST_OK)
        status = st_plugin_open(module, given, count, wanted->place, instance, wanted->errors);
    if (status == ST_OK && !st_arena_defer(wanted->arena, close_instance, *instance)) {
        st_plugin_close(*instance);
        status = ST_ERR_MEMORY;
    }
    return status;
}

static st_status order_of_plugin(const wanted_schedule *wanted, st_timeline_plan *plan)
{
    const char *name = wanted->name;
    const char *colon = strrchr(name, ':');
    size_t length = colon == NULL ? strlen(name) : (size_t)(colon - name);
    const char *id = st_arena_copy(wanted->arena, name, length);
    const st_plugin_module *module = NULL;
    st_plugin_instance *instance = NULL;
    st_schedule_order *order = st_arena_alloc(wanted->arena, 1, sizeof(*order));
    st_schedule_shape *shape = &plan->schedule.shape;
    size_t schedule = 0;
    if (id == NULL || order == NULL)
        return ST_ERR_MEMORY;
    if (strchr(id, '/') == NULL &&
        (!st_plugin_is_id(id) || st_plugin_find(wanted->paths, id, wanted->arena) == NULL)) {
        /* No plugin has that name: the nearest of all that could have been meant. */
        const st_plugin_entry *entries = NULL;
        size_t count = 0;
        st_status name_status =
            st_plugins_list(wanted->paths, wanted->arena, &entries, &count, wanted->errors);
        const char **names = st_arena_alloc(wanted->arena, ST_SCHEDULES + count, sizeof(*names));
        if (name_status != ST_OK || names == NULL)
            return ST_ERR_MEMORY;
        for (size_t i = 0; i < ST_SCHEDULES; i++)
            names[i] = st_schedule_name((st_schedule_kind)i);
        for (size_t i = 0; i < count; i++)
            names[ST_SCHEDULES + i] = entries[i].id;
        return st_fail(
            wanted->errors, ST_ERR_USAGE, wanted->place,
            "unknown schedule '%.80s'" ST_EXPECTED
            "gpipe, 1f1b, interleaved, zero_bubble, zero_bubble_2, zero_bubble_v, v_half, v_min, "
            "dualpipe, or PLUGIN:NAME" ST_HINT "%s",
            name, st_errors_nearest(wanted->errors, name, names, ST_SCHEDULES + count));
    }
    st_status status = (wanted->apart ? st_plugin_load_apart : st_plugin_load)(
        wanted->paths, id, wanted->place, wanted->arena, &module, wanted->errors);
    if (status == ST_OK)
        status = open_schedule(wanted, module, &instance, &schedule);
    if (status != ST_OK)
        return status;
    /* Chunks lie in the model as those of the interleaved schedule do. */
    shape->kind = shape->chunks > 1 ? ST_SCHEDULE_INTERLEAVED : ST_SCHEDULE_1F1B;
    plan->closed_same_schedule = false;
    plan->order = order;
    plan->order_name = st_plugin_descriptor(module)->schedules[schedule]->name;
    plan->order_staggered =
        (st_plugin_descriptor(module)->schedules[schedule]->flags & ST_PLUGIN_STAGGERED) != 0;
    const st_plugin_order_request request = {.instance = instance,
                                             .schedule = schedule,
                                             .shape = shape,
                                             .ticks_per_s = ST_TICKS_PER_S,
                                             .place = wanted->place};
    return st_plugin_order_make(&request, wanted->arena, order, wanted->errors);
}

st_status st_schedule_choose(const st_schedule_wish *wish, const st_paths *paths, const st_job *job,
                             st_arena *arena, st_timeline_plan *plan, st_errors *errors)
{
    wanted_schedule wanted = {.wish = wish, .paths = paths, .arena = arena, .errors = errors};
    /* The wish, or else what the job says in the same way; no name for those that are built in. */
    const st_job_value *own = st_job_value_of(job, ST_KEY_PARALLEL_SCHEDULE);
    wanted.apart = st_job_isolates(job);
    if (wish->name != NULL) {
        wanted.name = st_schedule_is_built_in(wish->name) ? NULL : wish->name;
        wanted.place = (st_place){.file = "--schedule"};
    } else if (own != NULL && own->text != NULL && strchr(own->text, ':') != NULL) {
        wanted.name = own->text;
        wanted.place = own->place;
    }
    if (wanted.name != NULL)
        return order_of_plugin(&wanted, plan);
    return wish->setting_count > 0 ? st_fail(errors, ST_ERR_USAGE, (st_place){0},
                                             "--option requires a --schedule of a plugin")
                                   : ST_OK;
}

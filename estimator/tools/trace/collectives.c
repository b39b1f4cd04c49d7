/* SPDX-License-Identifier: Apache-2.0 */
/* Providers of plugins called for one message, with keys of a job for what else they read. */
#include "trace/collectives.h"

#include "base/memory.h"
#include "steptime/keys.h"
#include "steptime/tool/input_files.h"
#include "trace/xalloc.h"

#include <math.h>
#include <string.h>

struct st_plugin_collectives {
    const st_job *job;
    st_plugin_instance **instances;
    size_t count;
    bool passes_over;
    st_place place;
    st_arena *arena;
    double per_node; /* GPUs of a node, 0: unknown */
};

static bool job_number(const st_job *job, const char *key, double *number)
{
    const st_job_value *value = st_job_value_of(job, key);
    if (value == NULL || value->origin == ST_ORIGIN_NONE)
        return false;
    *number = value->number;
    return true;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void close_instance(void *context)
{
    st_plugin_close(context);
}

/* By name: a model of NCCL that is not monotone has no flag. */
bool st_plugin_has_collective(const st_plugin_module *module)
{
    static const char *const names[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                        "broadcast"};
    for (size_t i = 0; i < ST_COUNT(names); i++)
        if (st_plugin_find_provider(module, names[i]) != SIZE_MAX)
            return true;
    return false;
}

/* What the job's `refine` has for a plugin; the wish itself where that has options or the job none.
 */
static const st_refinement *options_of(const st_plugin_collectives *own, const st_refinement *wish,
                                       const char *id)
{
    size_t count = 0;
    const st_refinement *all = st_job_refinements(own->job, &count);
    for (size_t i = 0; i < count && wish->option_count == 0; i++)
        if (strcmp(all[i].plugin, id) == 0)
            return &all[i];
    return wish;
}

static st_status open_one(st_plugin_collectives *own, const st_paths *paths,
                          const st_refinement *wish, st_errors *errors)
{
    const st_plugin_module *module = NULL;
    st_plugin_instance *instance = NULL;
    st_plugin_given *given = NULL;
    const st_refinement *from = wish;
    st_status status = st_plugin_load(paths, wish->plugin, own->place, own->arena, &module, errors);
    if (status == ST_OK && own->passes_over && !st_plugin_has_collective(module))
        return ST_OK;
    if (status == ST_OK) {
        /* Collectives of a trace have neither: a profile is one for each, and the fallback is the
         * ring. */
        if (wish->profile != NULL || wish->fallback)
            status = st_fail(errors, ST_ERR_USAGE, wish->place, "%s",
                             wish->fallback ? "collectives of a trace have no formula to "
                                              "fall back on"
                                            : "collectives of a trace take options and no "
                                              "profile");
    }
    if (status == ST_OK && !st_plugin_has_collective(module))
        status = st_fail(errors, ST_ERR_USAGE, own->place, "plugin '%s' has no collectives",
                         st_plugin_descriptor(module)->id);
    if (status == ST_OK) {
        from = options_of(own, wish, st_plugin_descriptor(module)->id);
        /* Options of the job count here, its profile does not. */
        if (from != wish && from->profile != NULL)
            st_report(
                errors, ST_SEVERITY_WARNING, ST_ERR_USAGE, own->place,
                "the job's profile '%s' of plugin '%s' is left out: collectives of a trace take "
                "options and no profile",
                from->profile, from->plugin);
        given = st_xalloc(own->arena, from->option_count + 1, sizeof(*given));
        for (size_t i = 0; i < from->option_count; i++) {
            const st_refinement_option *option = &from->options[i];
            given[i] = (st_plugin_given){.name = option->name,
                                         .text = option->text,
                                         .name_place = option->name_place,
                                         .place = option->place};
        }
    }
    if (status == ST_OK)
        status = st_plugin_open(module, given, from->option_count, own->place, &instance, errors);
    if (status != ST_OK)
        return status;
    st_xdone(st_arena_defer(own->arena, close_instance, instance));
    own->instances[own->count++] = instance;
    return ST_OK;
}

st_status st_plugin_collectives_open(const st_plugin_collectives_request *request, st_arena *arena,
                                     st_plugin_collectives **opened, st_errors *errors)
{
    st_plugin_collectives *own = st_xalloc(arena, 1, sizeof(*own));
    st_plugin_instance **instances = st_xalloc(arena, request->count + 1, sizeof(*instances));
    *own = (st_plugin_collectives){.job = request->job,
                                   .instances = instances,
                                   .passes_over = request->passes_over,
                                   .place = request->place,
                                   .arena = arena};
    (void)job_number(request->job, ST_KEY_CLUSTER_GPUS_PER_NODE, &own->per_node);
    st_status status = ST_OK;
    for (size_t i = 0; i < request->count; i++) {
        st_status one = open_one(own, request->paths, &request->refinements[i], errors);
        status = status == ST_OK ? one : status;
    }
    *opened = own->count > 0 ? own : NULL;
    return status;
}

/* ---- one transfer ---------------------------------------------------------------------------- */

/* The value of an argument; false where nothing is known of it. */
static bool argument_value(const st_plugin_collectives *own, const st_trace_transfer *transfer,
                           const char *name, double *value)
{
    /* Ranks of the group on a node, 0: unknown. */
    double per_node = 0;
    double most = own->per_node / transfer->stride;
    if (!(own->per_node <= 0)) {
        most = most < 1 ? 1 : floor(most);
        per_node = most < transfer->ranks ? most : transfer->ranks;
        /* Strides that do not divide a node: as many on each as divide the ranks. */
        while (transfer->stride > 1 && per_node > 1 && fmod(transfer->ranks, per_node) != 0)
            per_node--;
    }
    bool known = true;
    if (strcmp(name, "size") == 0) {
        *value = transfer->size_bytes;
    } else if (strcmp(name, "ranks") == 0) {
        *value = transfer->ranks;
    } else if (strcmp(name, "per_node") == 0) {
        *value = per_node;
        known = per_node > 0;
    } else if (strcmp(name, "bandwidth") == 0) {
        known = per_node > 0 &&
                job_number(own->job,
                           transfer->ranks > per_node ? ST_KEY_CLUSTER_NIC_BANDWIDTH
                                                      : ST_KEY_CLUSTER_GPU_LINK_BANDWIDTH,
                           value);
        *value *= known ? transfer->bandwidth_factor : 0;
    } else {
        bool is_rate = strcmp(name, ST_KEY_CLUSTER_NIC_BANDWIDTH) == 0 ||
                       strcmp(name, ST_KEY_CLUSTER_GPU_LINK_BANDWIDTH) == 0;
        known = strchr(name, '.') != NULL && job_number(own->job, name, value);
        *value *= known && is_rate ? transfer->bandwidth_factor : 1;
    }
    return known && isfinite(*value);
}

static st_status refuse(const st_plugin_collectives *own, const st_plugin_instance *instance,
                        const st_trace_transfer *transfer, const char *why, st_errors *errors)
{
    return st_fail(errors, ST_ERR_PROVIDER, own->place,
                   "plugin '%s' gives no time for %s of %.0f bytes over %.0f ranks: %s",
                   st_plugin_descriptor(st_instance_module(instance))->id, transfer->collective,
                   transfer->size_bytes, transfer->ranks, why);
}

static st_status time_of(void *context, const st_trace_transfer *transfer, double *seconds,
                         st_errors *errors)
{
    const st_plugin_collectives *own = context;
    *seconds = 0;
    for (size_t i = 0; i < own->count; i++) {
        size_t provider =
            st_plugin_find_provider(st_instance_module(own->instances[i]), transfer->collective);
        if (provider != SIZE_MAX) {
            const st_plugin_instance *instance = own->instances[i];
            const st_plugin_provider *shown =
                st_plugin_descriptor(st_instance_module(instance))->providers[provider];
            double values[64] = {0};
            const double *columns[64] = {NULL};
            st_provider_account account = {0};
            for (size_t j = 0; j < shown->argument_count; j++) {
                const st_plugin_argument *argument = shown->arguments[j];
                if (argument_value(own, transfer, argument->name, &values[j]))
                    columns[j] = &values[j];
                else if ((argument->flags & ST_PLUGIN_OPTIONAL) == 0)
                    return refuse(
                        own, instance, transfer,
                        st_errors_text(
                            errors,
                            "it needs %s; name the cluster with --job or --have cluster=NAME",
                            argument->name),
                        errors);
            }
            if (st_plugin_evaluate(instance, provider, 1, columns, seconds) == ST_OK &&
                isfinite(*seconds) && *seconds > 0)
                return ST_OK;
            st_xdone(st_plugin_explain(instance, provider, columns, own->arena, &account) == ST_OK);
            return refuse(own, instance, transfer,
                          account.refusal != NULL ? account.refusal
                                                  : "it is outside the measured range",
                          errors);
        }
    }
    return ST_OK;
}

st_trace_collective_model st_plugin_collectives_model(st_plugin_collectives *opened)
{
    return (st_trace_collective_model){.context = opened, .time = time_of};
}

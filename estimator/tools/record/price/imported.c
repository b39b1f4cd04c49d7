/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded run from its folder to what it takes; see imported.h. */
#include "record/price/imported.h"

#include "base/memory.h"
#include "base/numbered_texts.h"
#include "record/price/kernel_names.h"
#include "steptime/keys.h"
#include "steptime/tool/gpus.h"
#include "steptime/tool/job_values.h"
#include "steptime/tool/input_files.h"

#include <fnmatch.h>
#include <string.h>

/* ---- making ---- */

static void release_run(void *context)
{
    st_run_destroy(context);
}

/* Prices for what the command line asks for, or for the device that was recorded. */
static st_status open_prices(const st_paths *paths, const st_import_request *request,
                             st_arena *arena, st_imported *made, st_errors *errors)
{
    st_prices_request prices = request->prices;
    const st_worker *first = &made->run->workers[0];
    if (prices.gpu == NULL && prices.cluster == NULL) {
        const char *device = first->header.device;
        if (device[0] == '\0' || st_name_is_path(device))
            return st_fail(errors, ST_ERR_VALUE, (st_place){.file = first->file},
                           "the log does not name the recorded GPU" ST_HINT
                           "specify it with --gpu NAME");
        prices.gpu = device;
        st_gpus gpus = {0};
        st_status listed = st_gpus_list(paths, arena, &gpus, errors);
        if (listed == ST_OK && st_gpus_find(&gpus, device, NULL) == NULL)
            listed = st_gpus_unknown(&gpus, device, (st_place){.file = first->file}, errors);
        if (listed != ST_OK)
            return listed;
    }
    st_status status = st_prices_open(paths, &prices, arena, &made->prices, errors);
    if (status == ST_OK)
        made->device = st_job_text(st_prices_job(made->prices), ST_KEY_CLUSTER_GPU_NAME);
    return status;
}

/* Whether there is a kernel that the user names as the end of steps. */
static st_status check_step(const st_imported *made, st_errors *errors)
{
    bool found = made->step_kernel == NULL;
    for (size_t i = 0; i < made->run->shape_count && !found; i++)
        found = made->run->shapes[i].form == ST_FORM_KERNEL &&
                fnmatch(made->step_kernel, made->run->shapes[i].name, 0) == 0;
    for (size_t i = 0; i < made->run->worker_count && !found; i++)
        for (size_t k = 0; k < made->run->workers[i].call_count && !found; k++) {
            const st_worker_call *call = &made->run->workers[i].calls[k];
            found = call->record->kind == ST_LOG_MARK && call->record->mark.push == 1 &&
                    fnmatch(made->step_kernel, made->run->names->texts[call->record->mark.text],
                            0) == 0;
        }
    if (found)
        return ST_OK;
    return st_fail(errors, ST_ERR_NAME, (st_place){.file = "--step"},
                   "no kernel or NVTX range of the run has this name" ST_FOUND "%s" ST_EXPECTED
                   "a glob such as \"adamw*\"",
                   made->step_kernel);
}

/* What the times leave out or assume. */
static void warn(const st_imported *made, st_errors *errors)
{
    st_place place = {.file = made->run->folder};
    if (!st_kernel_names_known())
        st_report(errors, ST_SEVERITY_WARNING, ST_ERR_IO, (st_place){.file = "libstdc++.so.6"},
                  "not found: names of kernels stay mangled, and many rules do not fit them");
    uint64_t unsupported = 0;
    for (size_t i = 0; i < made->run->worker_count; i++)
        unsupported += made->run->workers[i].unsupported;
    if (unsupported > 0)
        st_report(errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, place,
                  "the program called %llu functions that the recorder does not support; the times "
                  "exclude them",
                  (unsigned long long)unsupported);
    if (made->run->lost_tasks > 0)
        st_report(errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, place,
                  "ignored %llu measured GPU tasks without a call",
                  (unsigned long long)made->run->lost_tasks);
    if (made->walk->unmatched > 0)
        st_report(errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, place,
                  "%llu collectives lack ranks of their communicator; they end with the ranks that "
                  "joined",
                  (unsigned long long)made->walk->unmatched);
    if (made->unpriced > 0)
        st_report(errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, place,
                  "%llu collectives have no time" ST_HINT
                  "specify their network with --cluster NAME",
                  (unsigned long long)made->unpriced);
    if (made->groups->inferred > 0 && made->run->assumed > 0)
        st_report(errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, place,
                  "%zu communicators have unread ranks; their stride is inferred from the ranks "
                  "that were read",
                  made->groups->inferred);
    else if (made->groups->ambiguous > 0)
        st_report(errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, place,
                  "%zu communicators fit several distances between their ranks, as identical ranks "
                  "are read once; the smallest is taken" ST_HINT "read every rank with --each",
                  made->groups->ambiguous);
}

st_status st_imported_make(const st_paths *paths, const st_import_request *request, st_arena *arena,
                           st_imported **imported, st_errors *errors)
{
    st_imported *made = st_arena_alloc(arena, 1, sizeof *made);
    made->step_kernel = request->step_kernel;
    made->gap_ns = request->gap_ns;
    made->has_costs = request->costs != NULL;
    st_run_options reading = request->run;
    st_status status =
        st_rules_load(paths, request->prices.rules != NULL ? request->prices.rules : ST_RULES_USUAL,
                      arena, &reading.rules, errors);
    if (status == ST_OK)
        status = st_run_read(request->folder, &reading, &made->run, errors);
    if (status == ST_OK && !st_arena_defer(arena, release_run, made->run))
        status = st_out_of_memory(errors);
    if (status == ST_OK)
        status = open_prices(paths, request, arena, made, errors);
    if (status != ST_OK)
        return status;
    st_walk_options options = {.gap_ns = request->gap_ns};
    made->shape_prices =
        st_arena_alloc(arena, made->run->shape_count + 1, sizeof *made->shape_prices);
    made->workers = st_arena_alloc(arena, made->run->worker_count + 1, sizeof *made->workers);
    for (size_t i = 0; i < made->run->shape_count; i++)
        st_note(&status, st_prices_of_task(made->prices, &made->run->shapes[i],
                                           &made->shape_prices[i], errors));
    if (status == ST_OK)
        status = st_groups_make(made->run, made->prices, arena, &made->groups, errors);
    if (status == ST_OK && request->costs != NULL)
        status =
            st_call_costs_read(request->costs, arena, &options.costs, &options.cost_count, errors);
    if (status == ST_OK)
        status =
            st_walk_run(made->run, made->shape_prices, made->groups, &options, &made->walk, errors);
    if (status != ST_OK)
        return status;
    status = check_step(made, errors);
    if (status != ST_OK)
        return status;
    for (size_t i = 0; i < made->run->worker_count; i++) {
        st_imported_count(made, i, arena);
        st_imported_find_steps(made, i, arena);
    }
    for (size_t i = 0; i < made->groups->instance_count; i++)
        made->unpriced += made->groups->instances[i].price.unknown;
    warn(made, errors);
    *imported = made;
    return ST_OK;
}

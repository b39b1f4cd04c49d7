/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of an open estimate: keys that get other values.
 *
 * Most change numbers that formulas read: these are bound again, and the programs stay. Whatever
 * else made something of a key when the job was loaded (files, texts, providers) makes it again:
 * the job is loaded with all assignments.
 */
#include "estimate/handle.h"

#include "base/lists.h"
#include "base/memory.h"
#include "job/bind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Several assignments, of which all count or none. */
typedef struct batch {
    st_estimate_handle *handle;
    st_setting *items;
    size_t count;
    st_arena *arena; /* until the batch ends */
    st_errors *errors;
} batch;

/* ---- assignments as they are kept ---- */

static st_status read_setting(const batch *self, const char *assignment, st_setting *setting)
{
    if (assignment == NULL)
        return st_fail(self->errors, ST_ERR_USAGE, (st_place){0},
                       "missing assignment" ST_EXPECTED "key=value");
    setting->arena = st_arena_create();
    if (setting->arena == NULL)
        return st_out_of_memory(self->errors);
    setting->text = st_arena_copy(setting->arena, assignment, strlen(assignment));
    if (setting->text == NULL)
        return st_out_of_memory(self->errors);
    return st_job_change_read(self->handle->estimate.job, assignment, setting->arena,
                              &setting->change, self->errors);
}

static st_setting *find_setting(st_setting *settings, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(settings[i].change.path, path) == 0)
            return &settings[i];
    return NULL;
}

static bool make_room(st_estimate_handle *handle, size_t more)
{
    size_t needed = handle->setting_count + more;
    if (needed <= handle->setting_capacity)
        return true;
    size_t capacity = 2 * needed;
    st_setting *grown = realloc(handle->settings, capacity * sizeof *grown);
    if (grown == NULL)
        return false;
    handle->settings = grown;
    handle->setting_capacity = capacity;
    return true;
}

/* Each takes the place of an earlier one of its path; there is room. */
static void keep_settings(st_estimate_handle *handle, st_setting *settings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        st_setting *old =
            find_setting(handle->settings, handle->setting_count, settings[i].change.path);
        if (old == NULL)
            old = &handle->settings[handle->setting_count++];
        else
            st_arena_destroy(old->arena);
        *old = settings[i];
    }
}

bool st_settings_begin(st_estimate_handle *handle, const char *const *sets, size_t count)
{
    if (!make_room(handle, count + 1))
        return false;
    for (size_t i = 0; i < count; i++) {
        st_assignment read;
        st_setting setting = {.arena = st_arena_create(), .text = sets[i]};
        if (setting.arena == NULL || !st_assignment_read(sets[i], setting.arena, &read)) {
            st_arena_destroy(setting.arena);
            return false;
        }
        setting.change.path = read.key;
        keep_settings(handle, &setting, 1);
    }
    return true;
}

void st_settings_end(st_estimate_handle *handle)
{
    for (size_t i = 0; i < handle->setting_count; i++)
        st_arena_destroy(handle->settings[i].arena);
    free(handle->settings);
}

/* ---- what a setting needs ---- */

static int by_value(const void *left, const void *right)
{
    const st_input_source *a = left;
    const st_input_source *b = right;
    const int order = ST_ORDER((uintptr_t)a->value, (uintptr_t)b->value);
    return order != 0 ? order : ST_ORDER(a->input, b->input);
}

static bool find_sources(st_estimate_handle *handle)
{
    const st_estimate *estimate = &handle->estimate;
    if (handle->sources != NULL)
        return true;
    st_input_source *sources =
        st_arena_alloc(handle->arena, estimate->input_count + 1, sizeof *sources);
    for (size_t i = 0; sources != NULL && i < estimate->input_count; i++)
        sources[i] =
            (st_input_source){st_job_place_of(estimate->job, estimate->inputs[i].input->from), i};
    if (sources != NULL)
        qsort(sources, estimate->input_count, sizeof *sources, by_value);
    handle->sources = sources;
    return sources != NULL;
}

/* The inputs that read a value, from *first on: how many. */
static size_t find_readers(const st_estimate_handle *handle, const st_job_value *value,
                           const st_input_source **first)
{
    const st_input_source *sources = handle->sources;
    const size_t count = handle->estimate.input_count;
    size_t begin = 0;
    size_t end = 0;
    ST_BISECT(begin, count, (uintptr_t)sources[middle].value < (uintptr_t)value);
    for (end = begin; end < count && sources[end].value == value;)
        end++;
    *first = &sources[begin];
    return end - begin;
}

/* Whether a setting changes values of inputs and nothing else. A program that leaves out what the
 * job cannot have is one for this very job. */
static bool is_value(const st_estimate_handle *handle, const st_job_change *change)
{
    const st_estimate *estimate = &handle->estimate;
    if (change->target == NULL || estimate->has_open_layout || estimate->alone)
        return false;
    if (change->target->key != NULL && st_job_was_asked(estimate->job, change->target->key))
        return false;
    for (size_t i = 0; i < estimate->plugin_keys.count; i++)
        if (strcmp(estimate->plugin_keys.paths[i], change->path) == 0)
            return false;
    const st_input_source *first = NULL;
    return find_readers(handle, change->target, &first) > 0; /* else loading says so */
}

/* ---- loading again ---- */

bool st_handle_request(const st_estimate_handle *handle, st_arena *arena, st_request *request)
{
    const char **sets = st_arena_alloc(arena, handle->setting_count + 1, sizeof *sets);
    for (size_t i = 0; sets != NULL && i < handle->setting_count; i++)
        sets[i] = handle->settings[i].text;
    *request = handle->request;
    request->sets = sets;
    request->set_count = handle->setting_count;
    return sets != NULL;
}

static st_status load_with(const batch *self)
{
    st_estimate_handle *handle = self->handle;
    const char **sets =
        st_arena_alloc(self->arena, handle->setting_count + self->count + 1, sizeof *sets);
    size_t count = 0;
    if (sets == NULL)
        return st_out_of_memory(self->errors);
    for (size_t i = 0; i < handle->setting_count; i++)
        if (find_setting(self->items, self->count, handle->settings[i].change.path) == NULL)
            sets[count++] = handle->settings[i].text;
    for (size_t i = 0; i < self->count; i++)
        sets[count++] = self->items[i].text;
    return st_handle_load(handle, sets, count, self->errors);
}

/* ---- other values ---- */

/* An input that a batch changes, as it was. */
typedef struct changed_input {
    size_t index;
    st_bound_input bound;
    bool was_settled;
    double settled;
} changed_input;

typedef struct change_log {
    st_job_value *values; /* per setting: what its target was */
    changed_input *inputs;
    size_t count;
    bool unsettled; /* what the job cannot have may be something else now */
} change_log;

static st_status take_values(const batch *self, change_log *log)
{
    st_estimate_handle *handle = self->handle;
    const st_estimate *estimate = &handle->estimate;
    log->values = st_arena_alloc(self->arena, self->count + 1, sizeof *log->values);
    for (size_t k = 0; k < self->count; k++) {
        const st_input_source *reader = NULL;
        if (find_setting(self->items, k, self->items[k].change.path) != NULL)
            continue; /* two settings of one key */
        for (size_t left = find_readers(handle, self->items[k].change.target, &reader); left > 0;
             left--, reader++) {
            const size_t input = reader->input;
            changed_input changed = {.index = input, .bound = handle->inputs[input]};
            changed.was_settled =
                estimate->settling[input] &&
                st_job_settles(estimate->job, changed.bound.input, &changed.settled);
            if (!ST_APPEND(self->arena, log->inputs, log->count, changed))
                return st_out_of_memory(self->errors);
        }
    }
    if (log->values == NULL)
        return st_out_of_memory(self->errors);
    for (size_t k = 0; k < self->count; k++) {
        log->values[k] = *self->items[k].change.target;
        *self->items[k].change.target = self->items[k].change.value;
    }
    st_status status = ST_OK;
    for (size_t i = 0; i < log->count; i++) {
        size_t index = log->inputs[i].index;
        st_note(&status, st_job_bind_one(estimate->job, estimate->sheet, index, self->arena,
                                         &handle->inputs[index], self->errors));
        handle->input_values[index] = handle->inputs[index].value;
        if (!estimate->settling[index])
            continue;
        double settled = 0;
        bool is_settled = st_job_settles(estimate->job, handle->inputs[index].input, &settled);
        log->unsettled = log->unsettled || is_settled != log->inputs[i].was_settled ||
                         (is_settled && settled != log->inputs[i].settled);
    }
    return status;
}

/* In the opposite order: two of a batch may be of one key. */
static void give_back(const batch *self, const change_log *log)
{
    st_estimate_handle *handle = self->handle;
    for (size_t k = self->count; log->values != NULL && k-- > 0;)
        if (log->values[k].path != NULL)
            *self->items[k].change.target = log->values[k];
    for (size_t i = 0; i < log->count; i++) {
        handle->inputs[log->inputs[i].index] = log->inputs[i].bound;
        handle->input_values[log->inputs[i].index] = log->inputs[i].bound.value;
    }
}

static st_status change_values(const batch *self)
{
    st_estimate_handle *handle = self->handle;
    change_log log = {0};
    st_status status = take_values(self, &log);
    if (status == ST_OK && log.unsettled)
        status = st_handle_list_shown(handle, self->errors);
    if (status != ST_OK) {
        give_back(self, &log);
        return status;
    }
    handle->has_old_band = true;
    st_handle_forget(handle);
    return ST_OK;
}

st_status st_estimate_set_many(st_estimate *estimate, const char *const *assignments, size_t count,
                               st_errors *errors)
{
    batch self = {.handle = st_estimate_handle_of(estimate),
                  .count = count,
                  .arena = st_arena_create(),
                  .errors = errors};
    st_status status = ST_OK;
    bool only_values = true;
    self.items =
        self.arena != NULL ? st_arena_alloc(self.arena, count + 1, sizeof *self.items) : NULL;
    if (self.items == NULL || !make_room(self.handle, count) || !find_sources(self.handle)) {
        st_arena_destroy(self.arena);
        return st_out_of_memory(errors);
    }
    for (size_t i = 0; i < count; i++)
        st_note(&status, read_setting(&self, assignments[i], &self.items[i]));
    for (size_t i = 0; i < count && status == ST_OK; i++)
        only_values = only_values && is_value(self.handle, &self.items[i].change);
    if (status == ST_OK)
        status = only_values ? change_values(&self) : load_with(&self);
    if (status == ST_OK)
        keep_settings(self.handle, self.items, count);
    for (size_t i = 0; i < count && status != ST_OK; i++)
        st_arena_destroy(self.items[i].arena);
    st_arena_destroy(self.arena);
    return status;
}

st_status st_estimate_set(st_estimate *estimate, const char *assignment, st_errors *errors)
{
    return st_estimate_set_many(estimate, &assignment, 1, errors);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A table of functions over the shape of a pipeline; see pipeline_functions.h. */
#include "estimate/pipeline_functions.h"

#include "base/memory.h"
#include "schedule/pipeline_time.h"

#include <math.h>
#include <string.h>

enum { MOST_ARGUMENTS = 20 };

typedef struct pipeline_entry {
    const char *name;
    const char *units[MOST_ARGUMENTS + 1]; /* of the arguments, up to NULL */
    const char *unit;
    double (*value)(const double *arguments);
} pipeline_entry;

/* Arguments of pipeline_replay. */
enum {
    REACH, /* 0 passes, 1 with transfers, 2 with tied embeddings */
    KIND,  /* 1 ZB-H1, 2 ZB-2p; 0: nothing to replay */
    STAGES,
    MICROS,
    FORWARD,                      /* of the first, a middle and the last stage */
    BACKWARD = FORWARD + ST_ENDS, /* gradients of activations */
    WEIGHTS = BACKWARD + ST_ENDS, /* gradients of weights */
    TRANSFER = WEIGHTS + ST_ENDS,
    TIED,
    HELD,
    SHORTER,
    SHORTER_SHARE
};

static double pipeline_replay(const double *arguments)
{
    static const st_schedule_kind kinds[] = {ST_SCHEDULES, ST_SCHEDULE_ZERO_BUBBLE,
                                             ST_SCHEDULE_ZERO_BUBBLE_2};
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    double kind = arguments[KIND];
    if (kind == 0) {
        return 0;
    }
    st_pipeline pipeline = {.transfer = arguments[TRANSFER],
                            .tied = arguments[TIED],
                            .shorter = arguments[SHORTER],
                            .shorter_share = arguments[SHORTER_SHARE],
                            .held_for_weights = arguments[HELD],
                            .stages = arguments[STAGES],
                            .micros = arguments[MICROS],
                            .kind = kind > 0 && kind < KINDS ? kinds[(int)kind] : ST_SCHEDULES};
    for (int end = 0; end < ST_ENDS; end++) {
        pipeline.pass[ST_PASS_FORWARD][end] = arguments[FORWARD + end];
        pipeline.pass[ST_PASS_BACKWARD][end] = arguments[BACKWARD + end];
        pipeline.pass[ST_PASS_WEIGHTS][end] = arguments[WEIGHTS + end];
    }
    st_pipeline_times times = st_pipeline_replay(&pipeline);
    return arguments[REACH] < 1   ? times.passes
           : arguments[REACH] < 2 ? times.with_transfers
                                  : times.with_tied;
}

static const pipeline_entry entries[] = {
    {"pipeline_replay",
     {"1", "1", "1", "1", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "s", "1", "1", "1",
      NULL},
     "s",
     pipeline_replay},
};
enum { ENTRIES = sizeof entries / sizeof entries[0] };

typedef struct pipeline_self {
    const pipeline_entry *entry;
    size_t argument_count;
} pipeline_self;

static st_status evaluate(void *context, size_t rows, const double *const *arguments,
                          double *values)
{
    const pipeline_self *self = context;
    double row[MOST_ARGUMENTS] = {0};
    for (size_t i = 0; i < rows; i++) {
        bool finite = true;
        for (size_t j = 0; j < self->argument_count; j++) {
            row[j] = arguments[j][i];
            finite = finite && isfinite(row[j]);
        }
        values[i] = finite ? self->entry->value(row) : (double)NAN;
    }
    return ST_OK;
}

static st_status explain(void *context, const double *const *arguments, st_arena *arena,
                         st_provider_account *account)
{
    double value = 0;
    st_provider_term *term = st_arena_alloc(arena, 1, sizeof *term);
    if (term == NULL) {
        return ST_ERR_MEMORY;
    }
    (void)evaluate(context, 1, arguments, &value);
    if (!isfinite(value)) {
        account->refusal = "the pipeline has too many passes to replay, or times that no step has";
        return ST_OK;
    }
    *term = (st_provider_term){.name = "origin",
                               .doc = "the schedule's order of passes, gone through once",
                               .text = "replayed",
                               .unit = st_unit_one()};
    account->terms = term;
    account->count = 1;
    return ST_OK;
}

/* The sheet's open function of an entry; NULL: none, or of other arguments. */
static bool has_function(const st_sheet *sheet, const pipeline_entry *entry)
{
    size_t count = 0;
    size_t arguments = 0;
    const st_sheet_function *functions = st_sheet_functions(sheet, &count);
    while (entry->units[arguments] != NULL) {
        arguments++;
    }
    for (size_t i = 0; i < count; i++) {
        if (functions[i].open && functions[i].argument_count == arguments &&
            strcmp(functions[i].name, entry->name) == 0) {
            return true;
        }
    }
    return false;
}

static st_status make_provider(const pipeline_entry *entry, st_arena *arena, st_provider *provider,
                               st_errors *errors)
{
    pipeline_self *self = st_arena_alloc(arena, 1, sizeof *self);
    st_unit *units = st_arena_alloc(arena, MOST_ARGUMENTS, sizeof *units);
    if (self == NULL || units == NULL) {
        return st_out_of_memory(errors);
    }
    *self = (pipeline_self){.entry = entry};
    *provider = (st_provider){.name = entry->name,
                              .source = "a replay of the schedule",
                              .argument_units = units,
                              .fallback = true,
                              .evaluate = evaluate,
                              .explain = explain,
                              .self = self};
    st_status status =
        st_unit_parse(entry->unit, strlen(entry->unit), (st_place){0}, &provider->unit, errors);
    for (size_t i = 0; entry->units[i] != NULL && status == ST_OK; i++) {
        status = st_unit_parse(entry->units[i], strlen(entry->units[i]), (st_place){0}, &units[i],
                               errors);
        self->argument_count = i + 1;
    }
    provider->argument_count = self->argument_count;
    return status;
}

st_status st_pipeline_providers(const st_sheet *sheet, st_arena *arena,
                                st_cell_providers *providers, st_errors *errors)
{
    st_provider *made = st_arena_alloc(arena, ENTRIES, sizeof *made);
    *providers = (st_cell_providers){.items = made};
    if (made == NULL) {
        return st_out_of_memory(errors);
    }
    st_status status = ST_OK;
    for (size_t i = 0; i < ENTRIES && status == ST_OK; i++) {
        if (has_function(sheet, &entries[i])) {
            status = make_provider(&entries[i], arena, &made[providers->count++], errors);
        }
    }
    return status;
}

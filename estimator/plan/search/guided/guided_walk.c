/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Search by a walk over the lattice of choices: CMA-ES, random, evolution, Bayesian (walks.h).
 * Plans that fail rank behind those that pass, by the number of checks that fail and by how far
 * they are from fitting; plans that are known already are not computed again. Where a generation
 * brings nothing new it begins anew, with more points.
 */
#include "search/guided/run.h"

#include "search/guided/lattice.h"
#include "search/guided/walks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A point of a generation: its plan and what it is worth, the least the best. */
typedef struct member {
    uint64_t row;
    double faults; /* 0: it passes; infinite: it was skipped */
    double value;
    size_t index;
} member;

typedef struct swarm {
    st_guided_run *run;
    st_lattice lattice;
    st_walk *walk;
    member *members;
    size_t *order;
    double *worth; /* by point */
    size_t capacity;
    uint64_t budget;
    unsigned idle;   /* generations in a row that brought nothing, since it last began anew */
    unsigned barren; /* the same over all beginnings */
} swarm;

ST_COMPARE(compare_members, member, ST_RISING(faults) ST_RISING(value) ST_RISING(index));

static bool make_room(swarm *self)
{
    size_t count = st_walk_count(self->walk);
    if (count <= self->capacity && self->members != NULL)
        return true;
    self->members = st_arena_alloc(self->run->arena, count + 1, sizeof *self->members);
    self->order = st_arena_alloc(self->run->arena, count + 1, sizeof *self->order);
    self->worth = st_arena_alloc(self->run->arena, count + 1, sizeof *self->worth);
    self->capacity = count;
    return self->members != NULL && self->order != NULL && self->worth != NULL;
}

/* Whether a plan is worth a trial. */
static bool is_new(swarm *self, uint64_t row)
{
    st_guided_run *run = self->run;
    if (st_plan_states_is_computed(&run->states, row))
        return false;
    if (run->states.marks == NULL)
        return true;
    bool skipped = (run->states.marks[row] & ST_STATE_SKIPPED) != 0;
    return !skipped && st_plan_states_outcome(&run->states, row) != ST_OUTCOME_FAILS &&
           !st_guided_skip(run, row);
}

static bool is_in_batch(const st_guided_run *run, uint64_t row)
{
    for (size_t i = 0; i < run->trial_count; i++)
        if (run->trials[i].row == row)
            return true;
    return false;
}

static st_status flush(swarm *self)
{
    st_guided_run *run = self->run;
    size_t count = run->trial_count;
    st_status status = st_guided_compute(run);
    /* The trials of a batch belong to the members from `first` on that have their rows. */
    const st_trial *trials = run->trials;
    size_t members = st_walk_count(self->walk);
    for (size_t i = 0; i < members; i++) {
        for (size_t k = 0; k < count; k++) {
            if (self->members[i].row == trials[k].row) {
                bool passes = trials[k].reason == ST_REASON_NONE;
                double near = isfinite(trials[k].near) ? trials[k].near : HUGE_VAL;
                self->members[i].faults = passes ? 0 : 1 + trials[k].faults;
                self->members[i].value = passes ? trials[k].goal : near;
            }
        }
    }
    return status;
}

/* One generation; `fresh`: plans that it computed. */
static st_status run_generation(swarm *self, uint64_t *fresh)
{
    st_guided_run *run = self->run;
    size_t count = st_walk_count(self->walk);
    const double *points = st_walk_draw(self->walk);
    uint64_t before = run->result->guided.computed;
    st_status status = ST_OK;
    for (size_t i = 0; i < count; i++) {
        member *one = &self->members[i];
        one->row = st_lattice_row(&self->lattice, points + i * self->lattice.dimension);
        one->index = i;
        /* What a plan that was settled before is worth. */
        const st_plan_states *states = &self->run->states;
        bool dense = states->marks != NULL;
        bool passed = dense && (states->marks[one->row] & ST_STATE_PASSED) != 0;
        one->faults = passed ? 0 : HUGE_VAL;
        one->value = passed ? states->low[one->row] : HUGE_VAL;
    }
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        bool room = run->result->guided.computed + run->trial_count < self->budget;
        if (!room || is_in_batch(run, self->members[i].row) || !is_new(self, self->members[i].row))
            continue;
        run->trials[run->trial_count++].row = self->members[i].row;
        if (run->trial_count == ST_GUIDED_BATCH)
            status = flush(self);
    }
    if (status == ST_OK)
        status = flush(self);
    qsort(self->members, count, sizeof *self->members, compare_members);
    for (size_t i = 0; i < count; i++) {
        const member *one = &self->members[i];
        self->order[i] = one->index;
        self->worth[one->index] = one->faults == 0 ? one->value : HUGE_VAL;
    }
    *fresh = run->result->guided.computed - before;
    return status;
}

/* Goes on, or elsewhere where nothing new comes or the distribution has shrunk. */
static st_status move_on(swarm *self, uint64_t fresh)
{
    enum { MOST_IDLE = 8 };
    st_walk_tell(self->walk, self->order, self->worth);
    self->idle = fresh > 0 ? 0 : self->idle + 1;
    self->barren = fresh > 0 ? 0 : self->barren + 1;
    if (self->idle < MOST_IDLE && !st_walk_is_spent(self->walk))
        return ST_OK;
    self->idle = 0;
    bool good = st_walk_restart(self->walk) && make_room(self);
    return good ? ST_OK : ST_ERR_MEMORY;
}

static st_status run_generations(swarm *self)
{
    /* Of a small space everything is soon known, and chance alone would not end the search. */
    enum { MOST_BARREN = 100 };
    const uint64_t most = 100 + 10 * self->budget;
    st_guided *guided = &self->run->result->guided;
    st_status status = ST_OK;
    for (uint64_t i = 0; i < most && guided->computed < self->budget && status == ST_OK; i++) {
        uint64_t fresh = 0;
        if (st_guided_stop(self->run) || st_guided_is_settled(self->run) ||
            self->barren > MOST_BARREN)
            break;
        status = run_generation(self, &fresh);
        if (status == ST_OK)
            status = move_on(self, fresh);
    }
    return status;
}

st_status st_guided_walk(st_guided_run *run)
{
    const st_search *search = run->search;
    uint64_t trials = search->request.guide.trials;
    uint64_t open = search->rows - run->result->guided.ruled_out;
    uint64_t budget = trials > 0 ? trials : ST_GUIDE_TRIALS;
    swarm self = {
        .run = run, .lattice = st_lattice_make(search), .budget = budget < open ? budget : open};
    if (self.lattice.dimension == 0) { /* one plan */
        st_status status = open > 0 ? st_guided_try(run, 0) : ST_OK;
        return status == ST_OK ? st_guided_compute(run) : status;
    }
    self.walk = st_walk_create(search->request.guide.method, self.lattice.dimension,
                               search->request.space.seed);
    st_status status = self.walk != NULL && make_room(&self) ? ST_OK : ST_ERR_MEMORY;
    if (status == ST_OK)
        status = run_generations(&self);
    st_walk_destroy(self.walk);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a search. Every thread goes through blocks of plans and keeps its own best, its own front
 * and its own counts; at the end all are merged, by cell and number, so that neither the threads
 * nor the processes can be told from the result.
 */
#include "search/search.h"

#include "search/guided.h"
#include "search/threads.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* What one thread, or one process, has found so far. */
typedef struct finds {
    st_found *ranking; /* the best first */
    size_t ranking_count;
    st_found *front;
    size_t front_count;
    bool front_full;
    uint64_t done;
    uint64_t kept;
    uint64_t *reasons;
    st_found nearest; /* goal: faults; front[0]: how far from fitting */
    bool has_nearest;
} finds;

enum { MAX_ALIASES = 16 };

/* A second input that reads the key of a knob. */
typedef struct alias {
    double *column;
    st_knob knob;
} alias;

struct st_hunter {
    const st_search *search;
    st_space_worker *worker;
    double *columns[ST_KNOBS];
    alias aliases[MAX_ALIASES];
    size_t alias_count;
    uint64_t *picks;
    uint64_t *plans; /* per row; NULL: what plans hang on is the same in all rows */
    bool *strays;    /* per row, for the worker */
    finds found;
};
typedef struct st_hunter hunter;

typedef struct hunt {
    const st_search *search;
    const st_ranks *ranks;
    const st_search_watch *watch;
    hunter *hunters;
    int threads;
    bool near; /* looking for the plan that is nearest to fitting */
    atomic_bool stop;
    atomic_bool interrupted;
    _Atomic uint64_t done;
} hunt;

/* --- rankings -------------------------------------------------------------------------------- */

static bool is_before(const st_found *a, const st_found *b)
{
    return a->goal < b->goal || (a->goal == b->goal && a->row < b->row);
}

size_t st_ranking_add(st_found *ranking, size_t count, const st_found *one, size_t top)
{
    if (top == 0 || (count == top && !is_before(one, &ranking[count - 1]))) {
        return count;
    }
    size_t at = count < top ? count : count - 1;
    while (at > 0 && is_before(one, &ranking[at - 1])) {
        ranking[at] = ranking[at - 1];
        at--;
    }
    ranking[at] = *one;
    return count < top ? count + 1 : count;
}

static void rank(finds *into, const st_found *one, size_t top)
{
    into->ranking_count = st_ranking_add(into->ranking, into->ranking_count, one, top);
}

/* --- fronts ---------------------------------------------------------------------------------- */

/* The first point whose first cell is not below that of `one`. */
static size_t find_place(const finds *in, const st_found *one)
{
    size_t low = 0;
    size_t high = in->front_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (in->front[middle].front[0] < one->front[0]) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool same_point(const st_found *a, const st_found *b)
{
    return a->front[0] == b->front[0] && a->front[1] == b->front[1];
}

static bool is_dominated(const finds *in, const st_found *one, size_t place)
{
    if (place > 0 && in->front[place - 1].front[1] <= one->front[1]) {
        return true;
    }
    if (place == in->front_count || in->front[place].front[0] != one->front[0]) {
        return false;
    }
    const st_found *other = &in->front[place];
    return other->front[1] < one->front[1] || (same_point(other, one) && other->row <= one->row);
}

/* Keeps the points that no other beats in both cells: the second falls as the first rises. */
static void extend_front(finds *into, const st_found *one)
{
    size_t place = find_place(into, one);
    if (is_dominated(into, one, place)) {
        return;
    }
    size_t end = place;
    while (end < into->front_count && into->front[end].front[1] >= one->front[1]) {
        end++;
    }
    if (end == place && into->front_count == ST_SEARCH_MAX_FRONT) {
        into->front_full = true;
        return;
    }
    memmove(&into->front[place + 1], &into->front[end],
            (into->front_count - end) * sizeof *into->front);
    into->front[place] = *one;
    into->front_count += 1 - (end - place);
}

static bool has_front(const st_search *search)
{
    return search->request.front[0] != NULL && search->request.front[1] != NULL;
}

/* --- finds ----------------------------------------------------------------------------------- */

static bool make_finds(const st_search *search, finds *made)
{
    made->ranking = calloc(search->request.top + 1, sizeof *made->ranking);
    made->front = calloc(has_front(search) ? ST_SEARCH_MAX_FRONT + 1 : 1, sizeof *made->front);
    made->reasons = calloc(st_reason_count(search->space), sizeof *made->reasons);
    return made->ranking != NULL && made->front != NULL && made->reasons != NULL;
}

static void free_finds(finds *made)
{
    free(made->ranking);
    free(made->front);
    free(made->reasons);
}

static void take_nearest(finds *into, const st_found *one)
{
    const st_found *best = &into->nearest;
    bool nearer =
        one->front[0] < best->front[0] || (one->front[0] == best->front[0] && one->row < best->row);
    if (!into->has_nearest || one->goal < best->goal || (one->goal == best->goal && nearer)) {
        into->nearest = *one;
        into->has_nearest = true;
    }
}

static void merge(const st_search *search, finds *into, const finds *from)
{
    for (size_t i = 0; i < from->ranking_count; i++) {
        rank(into, &from->ranking[i], search->request.top);
    }
    for (size_t i = 0; i < from->front_count; i++) {
        extend_front(into, &from->front[i]);
    }
    for (size_t i = 0; i < st_reason_count(search->space); i++) {
        into->reasons[i] += from->reasons[i];
    }
    into->front_full = into->front_full || from->front_full;
    into->done += from->done;
    into->kept += from->kept;
    if (from->has_nearest) {
        take_nearest(into, &from->nearest);
    }
}

/* --- blocks ---------------------------------------------------------------------------------- */

/* Where the value of one row out of as many as are searched stands in the whole. */
static uint64_t pick_of(const st_search *search, uint64_t row)
{
    const st_space whole = {
        .total = search->total, .rows = search->rows, .request = search->request.space};
    return st_space_pick(&whole, row);
}

/* The rows that are picked already. */
static void fill_picks(hunter *self, size_t rows)
{
    const st_search *search = self->search;
    uint64_t repeat = search->space->total;
    for (size_t row = 0; row < rows; row++) {
        double values[ST_KNOBS];
        st_plan_at(&search->plans, self->picks[row] / repeat, values);
        for (size_t knob = 0; knob < ST_KNOBS; knob++) {
            if (self->columns[knob] != NULL) {
                self->columns[knob][row] = values[knob];
            }
        }
    }
    for (size_t row = 0; row < rows; row++) {
        if (self->plans != NULL) {
            self->plans[row] = self->picks[row] / repeat;
        }
        self->picks[row] %= repeat;
    }
    st_space_fill_rows(self->worker, self->picks, rows);
}

/* Where nodes differ from row to row, what stands for them is GPUs until now. */
static void fill_nodes(hunter *self, size_t rows)
{
    const st_search_driven *size = &self->search->node_size;
    double *nodes = self->columns[ST_KNOB_NODES];
    for (size_t row = 0; size->given && nodes != NULL && row < rows; row++) {
        uint64_t digit = self->worker->digits[size->axis][row];
        nodes[row] = ceil(nodes[row] / st_search_driven_value(self->search, size, digit));
    }
}

/* Whether knobs of a group are all at one place of it: that of its axes, where it has some. */
static bool is_group_at(const st_search *search, size_t group, size_t place,
                        const double values[ST_KNOBS])
{
    for (size_t i = 0; i < search->zipped_count; i++) {
        const st_zipped *zipped = &search->zipped[i];
        if (zipped->group == group && zipped->values[place] != values[zipped->knob]) {
            return false;
        }
    }
    return true;
}

static bool is_zipped(const hunter *self, const double values[ST_KNOBS], size_t row)
{
    const st_search *search = self->search;
    bool good = true;
    for (size_t group = 0; group < search->group_count && good; group++) {
        size_t axis = search->group_axes[group];
        size_t count = 0;
        for (size_t i = 0; i < search->zipped_count; i++) {
            count = search->zipped[i].group == group ? search->zipped[i].count : count;
        }
        if (axis != SIZE_MAX) {
            good = is_group_at(search, group, (size_t)self->worker->digits[axis][row], values);
            continue;
        }
        bool found = count == 0;
        for (size_t place = 0; place < count && !found; place++) {
            found = is_group_at(search, group, place, values);
        }
        good = found;
    }
    return good;
}

/* A plan that is one for some row need not be one for this row. */
static void find_strays(hunter *self, size_t rows)
{
    const st_search *search = self->search;
    for (size_t row = 0; self->plans != NULL && row < rows; row++) {
        double values[ST_KNOBS];
        double bases[ST_PLAN_BASES];
        st_plan_at(&search->plans, self->plans[row], values);
        for (size_t i = 0; i < ST_PLAN_BASES; i++) {
            const st_search_driven *driven = &search->bases[i];
            uint64_t digit = driven->given ? self->worker->digits[driven->axis][row] : 0;
            bases[i] = driven->given ? st_search_driven_value(search, driven, digit)
                                     : search->wanted.bases[i].values[0];
        }
        self->strays[row] = (search->bases_differ && !st_plan_divides(bases, values)) ||
                            !is_zipped(self, values, row);
    }
}

/* What hangs on the columns of a plan. */
static void finish_columns(hunter *self, size_t rows)
{
    fill_nodes(self, rows);
    find_strays(self, rows);
    for (size_t i = 0; i < self->alias_count; i++) {
        memcpy(self->aliases[i].column, self->columns[self->aliases[i].knob],
               rows * sizeof(double));
    }
}

static void fill(hunter *self, uint64_t first, size_t rows)
{
    const st_search *search = self->search;
    if (search->rows != search->total) {
        for (size_t row = 0; row < rows; row++) {
            self->picks[row] = pick_of(search, first + row);
        }
        fill_picks(self, rows);
    } else {
        st_space_fill(self->worker, first, rows);
        for (size_t row = 0; self->plans != NULL && row < rows; row++) {
            self->plans[row] = (first + row) / search->space->total;
        }
        st_plans_fill(&search->plans, search->space->total, first, rows, self->columns);
    }
    finish_columns(self, rows);
}

static void keep(hunter *self, uint64_t first, size_t row)
{
    const st_search *search = self->search;
    const st_space_worker *worker = self->worker;
    st_found one = {.row = first + row, .goal = worker->outputs[0][row]};
    rank(&self->found, &one, search->request.top);
    if (has_front(search)) {
        one.front[0] = worker->outputs[1][row];
        one.front[1] = worker->outputs[2][row];
        extend_front(&self->found, &one);
    }
}

double st_search_faults(const st_space *space, const st_space_worker *worker, size_t row)
{
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(space->sheet, &count);
    uint32_t reason = worker->reasons[row];
    double faults = reason == st_reason_order(space)   ? 1
                    : reason == st_reason_stray(space) ? ST_STRAY_FAULTS
                                                       : 0;
    for (size_t i = 0; i < count; i++) {
        faults += !checks[i].warning && worker->checks[i][row] != 1.0 ? 1 : 0;
    }
    return faults;
}

/* Fewest failing checks first, then the least of what it would need. */
static void note_nearest(hunter *self, uint64_t first, size_t row)
{
    const st_search *search = self->search;
    const st_space_worker *worker = self->worker;
    double near = worker->outputs[search->near][row];
    st_found one = {.row = first + row,
                    .goal = st_search_faults(search->space, worker, row),
                    .front = {isfinite(near) ? near : HUGE_VAL, 0}};
    take_nearest(&self->found, &one);
}

static void run_block(hunt *self, hunter *one, uint64_t first)
{
    uint64_t left = self->search->rows - first;
    size_t rows = left < ST_SPACE_BLOCK ? (size_t)left : ST_SPACE_BLOCK;
    fill(one, first, rows);
    one->worker->all_checks = self->near;
    st_space_compute(one->worker, rows);
    for (size_t row = 0; row < rows; row++) {
        uint32_t reason = one->worker->reasons[row];
        if (self->near) {
            note_nearest(one, first, row);
            continue;
        }
        one->found.reasons[reason]++;
        if (reason == ST_REASON_NONE) {
            one->found.kept++;
            keep(one, first, row);
        }
    }
    one->found.done += self->near ? 0 : rows;
}

static void show_progress(hunt *self, uint64_t rows)
{
    uint64_t done = atomic_fetch_add(&self->done, rows) + rows;
    uint64_t all = self->search->rows / (uint64_t)self->ranks->count;
    if (self->watch->progress != NULL && st_thread_number() == 0 && self->ranks->rank == 0) {
        self->watch->progress(self->watch->context, done < all ? done : all, all);
    }
    if (self->watch->interrupted != NULL && *self->watch->interrupted != 0) {
        atomic_store(&self->interrupted, true);
        atomic_store(&self->stop, true);
    }
}

/* Every process takes each n-th block; with more processes than blocks some have none. */
static void run_blocks(hunt *self)
{
    int64_t blocks = (int64_t)((self->search->rows + ST_SPACE_BLOCK - 1) / ST_SPACE_BLOCK);
#ifdef STEPTIME_HAVE_OPENMP
#pragma omp parallel for schedule(dynamic, 4) num_threads(self->threads)
#endif
    for (int64_t block = self->ranks->rank; block < blocks; block += self->ranks->count) {
        if (atomic_load(&self->stop)) {
            continue;
        }
        hunter *one = &self->hunters[st_thread_number()];
        run_block(self, one, (uint64_t)block * ST_SPACE_BLOCK);
        show_progress(self, ST_SPACE_BLOCK);
    }
}

/* --- hunters --------------------------------------------------------------------------------- */

static bool add_column(hunter *self, st_knob knob, size_t input)
{
    double *column = st_space_worker_add(self->worker, input);
    if (column == NULL || self->alias_count == MAX_ALIASES) {
        return false;
    }
    if (self->columns[knob] == NULL) {
        self->columns[knob] = column;
    } else {
        self->aliases[self->alias_count++] = (alias){.column = column, .knob = knob};
    }
    return true;
}

/* Columns for the knobs that the sheet reads. */
static bool add_columns(hunter *self)
{
    const st_search *search = self->search;
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(search->space->sheet, &count);
    for (st_knob knob = ST_KNOB_NODES; knob < ST_KNOBS; knob++) {
        for (size_t i = 0; i < count; i++) {
            if (strcmp(inputs[i].from, st_knob_key(knob)) == 0 && !add_column(self, knob, i)) {
                return false;
            }
        }
    }
    static const st_knob groups[ST_SPACE_ORDER_GROUPS] = {ST_KNOB_TP, ST_KNOB_CP, ST_KNOB_DP,
                                                          ST_KNOB_PP};
    for (size_t i = 0; i < ST_SPACE_ORDER_GROUPS; i++) {
        self->worker->group_sizes[i] = self->columns[groups[i]];
    }
    return true;
}

static bool make_hunter(const st_search *search, hunter *made)
{
    *made = (hunter){.search = search, .worker = st_space_worker_create(search->space)};
    made->picks = calloc(ST_SPACE_BLOCK, sizeof *made->picks);
    if (made->worker == NULL || made->picks == NULL) {
        return false;
    }
    if (st_search_has_strays(search)) {
        made->plans = calloc(ST_SPACE_BLOCK, sizeof *made->plans);
        made->strays = calloc(ST_SPACE_BLOCK, sizeof *made->strays);
        made->worker->strays = made->strays;
        if (made->plans == NULL || made->strays == NULL) {
            return false;
        }
    }
    return make_finds(search, &made->found) && add_columns(made);
}

static void free_hunter(hunter *self)
{
    st_space_worker_destroy(self->worker);
    free(self->picks);
    free(self->plans);
    free(self->strays);
    free_finds(&self->found);
}

static void free_hunters(hunt *self)
{
    for (int i = 0; self->hunters != NULL && i < self->threads; i++) {
        free_hunter(&self->hunters[i]);
    }
    free(self->hunters);
}

static bool make_hunters(hunt *self)
{
    uint64_t blocks = self->search->rows / ST_SPACE_BLOCK + 1;
    self->threads = st_threads(self->search->request.threads);
    if (blocks < (uint64_t)self->threads) {
        self->threads = (int)blocks;
    }
    self->hunters = calloc((size_t)self->threads, sizeof(hunter));
    for (int i = 0; self->hunters != NULL && i < self->threads; i++) {
        if (!make_hunter(self->search, &self->hunters[i])) {
            return false;
        }
    }
    return self->hunters != NULL;
}

/* --- processes ------------------------------------------------------------------------------- */

/* What goes from process to process: as many bytes from each, whatever it found. */
typedef struct parcel_head {
    uint64_t ranking_count;
    uint64_t front_count;
    uint64_t done;
    uint64_t kept;
    st_found nearest;
    uint64_t flags; /* 1: nearest, 2: front is full, 4: interrupted */
} parcel_head;

static size_t parcel_bytes(const st_search *search)
{
    size_t points = search->request.top + (has_front(search) ? ST_SEARCH_MAX_FRONT : 0);
    return sizeof(parcel_head) + points * sizeof(st_found) +
           st_reason_count(search->space) * sizeof(uint64_t);
}

static void pack(const st_search *search, const finds *from, uint64_t flags, unsigned char *parcel)
{
    parcel_head head = {.ranking_count = from->ranking_count,
                        .front_count = from->front_count,
                        .done = from->done,
                        .kept = from->kept,
                        .nearest = from->nearest,
                        .flags =
                            flags | (from->has_nearest ? 1U : 0U) | (from->front_full ? 2U : 0U)};
    size_t reasons = st_reason_count(search->space) * sizeof(uint64_t);
    memset(parcel, 0, parcel_bytes(search));
    memcpy(parcel, &head, sizeof head);
    parcel += sizeof head;
    memcpy(parcel, from->reasons, reasons);
    parcel += reasons;
    memcpy(parcel, from->ranking, from->ranking_count * sizeof(st_found));
    parcel += search->request.top * sizeof(st_found);
    memcpy(parcel, from->front, from->front_count * sizeof(st_found));
}

/* Merges one process' parcel; returns its flags. */
static uint64_t unpack(const st_search *search, const unsigned char *parcel, finds *into)
{
    parcel_head head;
    st_found one;
    size_t reasons = st_reason_count(search->space);
    memcpy(&head, parcel, sizeof head);
    parcel += sizeof head;
    for (size_t i = 0; i < reasons; i++) {
        uint64_t count = 0;
        memcpy(&count, parcel + i * sizeof count, sizeof count);
        into->reasons[i] += count;
    }
    parcel += reasons * sizeof(uint64_t);
    for (size_t i = 0; i < head.ranking_count; i++) {
        memcpy(&one, parcel + i * sizeof one, sizeof one);
        rank(into, &one, search->request.top);
    }
    parcel += search->request.top * sizeof(st_found);
    for (size_t i = 0; i < head.front_count; i++) {
        memcpy(&one, parcel + i * sizeof one, sizeof one);
        extend_front(into, &one);
    }
    into->done += head.done;
    into->kept += head.kept;
    into->front_full = into->front_full || (head.flags & 2U) != 0;
    if ((head.flags & 1U) != 0) {
        take_nearest(into, &head.nearest);
    }
    return head.flags;
}

/* Every process learns what all have found. */
static st_status exchange(hunt *self, const finds *own, finds *all)
{
    size_t bytes = parcel_bytes(self->search);
    size_t count = (size_t)self->ranks->count;
    unsigned char *parcels = calloc(count + 1, bytes);
    if (parcels == NULL) {
        return ST_ERR_MEMORY; /* the others cannot be told: mpirun ends them */
    }
    uint64_t flags = atomic_load(&self->interrupted) ? 4U : 0U;
    unsigned char *mine = parcels + count * bytes;
    pack(self->search, own, flags, mine);
    st_status status =
        self->ranks->gather(self->ranks->context, mine, bytes, parcels) == 0 ? ST_OK : ST_ERR_IO;
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        flags |= unpack(self->search, parcels + i * bytes, all);
    }
    if ((flags & 4U) != 0) {
        atomic_store(&self->interrupted, true);
    }
    free(parcels);
    return status;
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Runs through the space once and merges what threads and processes found into `all`. */
static st_status run_pass(hunt *self, finds *all)
{
    finds own = {0};
    st_status status = ST_OK;
    if (!make_finds(self->search, &own)) {
        free_finds(&own);
        return ST_ERR_MEMORY; /* the others cannot be told: mpirun ends them */
    }
    run_blocks(self);
    for (int i = 0; i < self->threads; i++) {
        merge(self->search, &own, &self->hunters[i].found);
    }
    if (self->ranks->count > 1) {
        status = exchange(self, &own, all);
    } else {
        merge(self->search, all, &own);
    }
    free_finds(&own);
    return status;
}

/* What every hunter has counted is merged once. */
static void forget(hunt *self)
{
    for (int i = 0; i < self->threads; i++) {
        finds *found = &self->hunters[i].found;
        found->ranking_count = 0;
        found->front_count = 0;
        found->done = 0;
        memset(found->reasons, 0, st_reason_count(self->search->space) * sizeof(uint64_t));
    }
}

static st_status copy_points(st_arena *arena, const st_found *from, size_t count, st_found **to)
{
    *to = st_arena_alloc(arena, count + 1, sizeof **to);
    if (*to == NULL) {
        return ST_ERR_MEMORY;
    }
    memcpy(*to, from, count * sizeof **to);
    return ST_OK;
}

/* Numbers of rows become those of the whole space, and everything moves to the arena. */
static st_status hand_over(const st_search *search, const finds *found, st_search_result *result)
{
    st_arena *arena = search->space->arena;
    size_t reasons = st_reason_count(search->space);
    st_status status = copy_points(arena, found->ranking, found->ranking_count, &result->ranking);
    if (status == ST_OK) {
        status = copy_points(arena, found->front, found->front_count, &result->front);
    }
    result->reasons = st_arena_alloc(arena, reasons, sizeof *result->reasons);
    if (status != ST_OK || result->reasons == NULL) {
        return ST_ERR_MEMORY;
    }
    memcpy(result->reasons, found->reasons, reasons * sizeof *result->reasons);
    result->ranking_count = found->ranking_count;
    result->front_count = found->front_count;
    result->front_full = found->front_full;
    result->done = found->done;
    result->kept = found->kept;
    result->nearest = found->nearest;
    result->has_nearest = found->has_nearest;
    for (size_t i = 0; i < result->ranking_count; i++) {
        result->ranking[i].row = pick_of(search, result->ranking[i].row);
    }
    for (size_t i = 0; i < result->front_count; i++) {
        result->front[i].row = pick_of(search, result->front[i].row);
    }
    result->nearest.row = result->has_nearest ? pick_of(search, result->nearest.row) : 0;
    return ST_OK;
}

st_status st_search_run(const st_search *search, const st_ranks *ranks,
                        const st_search_watch *watch, st_search_result *result, st_errors *errors)
{
    hunt self = {.search = search, .ranks = ranks, .watch = watch};
    finds found = {0};
    *result = (st_search_result){0};
    if (st_guided_wanted(search)) {
        return st_guided_search(search, ranks, watch, result, errors);
    }
    st_status status = ST_ERR_MEMORY;
    if (!make_hunters(&self) || !make_finds(search, &found)) {
        goto cleanup;
    }
    status = run_pass(&self, &found);
    for (int i = 0; i < self.threads; i++) {
        result->own_done += self.hunters[i].found.done;
    }
    result->threads = self.threads;
    bool none = found.kept == 0 && search->rows > 0 && !atomic_load(&self.interrupted);
    if (status == ST_OK && none) {
        forget(&self);
        self.near = true;
        status = run_pass(&self, &found);
    }
    result->interrupted = atomic_load(&self.interrupted);
    if (status == ST_OK) {
        status = hand_over(search, &found, result);
    }
cleanup:
    free_finds(&found);
    free_hunters(&self);
    if (status != ST_OK) {
        (void)st_errors_add(errors, &(st_error){.status = status,
                                                .message = status == ST_ERR_MEMORY
                                                               ? "out of memory"
                                                               : "the processes lost touch"});
    }
    return status;
}

st_status st_search_values(const st_search *search, const uint64_t *picks, size_t count,
                           double *values)
{
    hunter one;
    size_t cells = search->space->cell_count;
    st_status status = make_hunter(search, &one) ? ST_OK : ST_ERR_MEMORY;
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        one.picks[0] = picks[i];
        fill_picks(&one, 1);
        finish_columns(&one, 1);
        st_space_compute(one.worker, 1);
        for (size_t k = 0; k < cells; k++) {
            values[i * cells + k] = one.worker->outputs[k][0];
        }
    }
    free_hunter(&one);
    return status;
}

/* --- plans one by one ------------------------------------------------------------------------- */

st_hunter *st_hunter_create(const st_search *search)
{
    hunter *made = malloc(sizeof *made);
    if (made != NULL && !make_hunter(search, made)) {
        st_hunter_destroy(made);
        made = NULL;
    }
    return made;
}

void st_hunter_destroy(st_hunter *self)
{
    if (self == NULL) {
        return;
    }
    free_hunter(self);
    free(self);
}

st_space_worker *st_hunter_fill(st_hunter *self, const uint64_t *picks, uint64_t first, size_t rows)
{
    if (picks == NULL) {
        fill(self, first, rows);
    } else {
        memcpy(self->picks, picks, rows * sizeof *picks);
        fill_picks(self, rows);
        finish_columns(self, rows);
    }
    return self->worker;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Following a table: every rank runs its statements until it waits for a message that is not there,
 * in turn, until all are done or none can continue. What a chunk holds is the set of ranks
 * whose values are in it.
 */
#include "fabric/steps_text.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BYTES      ((size_t)256 << 20)
#define MOST_STATEMENTS 50000000u
#define MOST_IDLE       200000u /* statements of a rank from one step to the next */
#define MOST_TRANSFERS  ((size_t)4 << 20)

/* A message on its way. */
typedef struct message {
    struct message *next;
    uint32_t from;
    uint32_t round;
    int line;
    int64_t chunk;
    int64_t count;
    uint64_t sets[]; /* of the chunks */
} message;

typedef struct rank_state {
    size_t at; /* the next statement */
    int64_t names[ST_STEPS_MAX_NAMES];
    int64_t loop_ends[ST_STEPS_MAX_NAMES];
    uint32_t round;
    message *first; /* that have come and are not taken */
    message *last;
} rank_state;

typedef struct follower {
    const st_steps *steps;
    st_steps_group group;
    st_errors *errors;
    int64_t chunks;
    size_t words; /* of a set */
    uint64_t *sets;
    rank_state *ranks;
    st_transfers *transfers;
    size_t capacity;
    uint64_t done; /* statements */
    st_status status;
} follower;

static ST_PRINTF(3, 4) bool fail(follower *sim, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (sim->status == ST_OK)
        sim->status =
            st_vfail(sim->errors, ST_ERR_VALUE, (st_place){.file = sim->steps->file, .line = line},
                     format, arguments);
    va_end(arguments);
    return false;
}

/* ---- what chunks hold ---- */

static bool sums_up(const follower *sim)
{
    return sim->steps->collective == ST_COLLECTIVE_ALL_REDUCE ||
           sim->steps->collective == ST_COLLECTIVE_REDUCE_SCATTER;
}

static uint64_t *set_of(const follower *sim, uint32_t rank, int64_t chunk)
{
    return sim->sets + ((size_t)rank * (size_t)sim->chunks + (size_t)chunk) * sim->words;
}

static size_t members(const follower *sim, const uint64_t *set)
{
    size_t count = 0;
    for (size_t i = 0; i < sim->words; i++)
        for (uint64_t word = set[i]; word != 0; word &= word - 1)
            count++;
    return count;
}

/* The rank whose part of the message a chunk is. */
static uint32_t part_of(const follower *sim, int64_t chunk)
{
    return (uint32_t)(chunk / (sim->chunks / sim->group.ranks));
}

static bool holds_at_first(const follower *sim, uint32_t rank, int64_t chunk)
{
    switch (sim->steps->collective) {
    case ST_COLLECTIVE_ALL_GATHER:
    case ST_COLLECTIVE_ALL_TO_ALL:
        return part_of(sim, chunk) == rank;
    case ST_COLLECTIVE_BROADCAST:
        return rank == 0;
    default:
        return true;
    }
}

static bool needs_at_last(const follower *sim, uint32_t rank, int64_t chunk)
{
    switch (sim->steps->collective) {
    case ST_COLLECTIVE_REDUCE_SCATTER:
        return part_of(sim, chunk) == rank;
    case ST_COLLECTIVE_ALL_TO_ALL:
        return (uint32_t)(chunk % sim->group.ranks) == rank;
    default:
        return true;
    }
}

/* ---- steps ---- */

/* Chunks and the other rank of a step. */
typedef struct step {
    int64_t chunk;
    int64_t count;
    int64_t partner;
} step;

static bool read_step(follower *sim, uint32_t rank, const st_statement *statement, step *out)
{
    const int64_t *names = sim->ranks[rank].names;
    if (!st_steps_value(&statement->chunk, names, &out->chunk) ||
        !st_steps_value(&statement->count, names, &out->count) ||
        !st_steps_value(&statement->partner, names, &out->partner))
        return fail(sim, statement->line, "an expression is undefined for rank %u", rank);
    if (out->count < 1 || out->chunk < 0 || out->chunk > sim->chunks - out->count)
        return fail(sim, statement->line,
                    "rank %u uses chunks that do not exist" ST_FOUND
                    "%lld chunks from %lld" ST_EXPECTED "from 0 to %lld",
                    rank, (long long)out->count, (long long)out->chunk, (long long)sim->chunks - 1);
    if (out->partner < 0 || out->partner >= sim->group.ranks || out->partner == rank)
        return fail(sim, statement->line,
                    "rank %u uses a partner that does not exist" ST_FOUND "rank %lld" ST_EXPECTED
                    "another rank from 0 to %u",
                    rank, (long long)out->partner, sim->group.ranks - 1);
    return true;
}

static bool note_transfer(follower *sim, uint32_t from, const step *what, uint32_t round)
{
    st_transfers *list = sim->transfers;
    if (list->count >= MOST_TRANSFERS || !ST_ROOM(list->items, list->count, sim->capacity))
        return fail(sim, sim->steps->line, "too many messages to simulate");
    double parts = (double)sim->chunks;
    if (sim->steps->collective == ST_COLLECTIVE_ALL_TO_ALL)
        parts /= sim->group.ranks; /* the message is what one rank has */
    list->rounds = round + 1 > list->rounds ? round + 1 : list->rounds;
    list->items[list->count++] = (st_transfer){.from = from,
                                               .to = (uint32_t)what->partner,
                                               .round = round,
                                               .share = (double)what->count / parts};
    return true;
}

static bool send_chunks(follower *sim, uint32_t rank, const st_statement *statement)
{
    step what;
    if (!read_step(sim, rank, statement, &what))
        return false;
    for (int64_t chunk = what.chunk; chunk < what.chunk + what.count; chunk++)
        if (members(sim, set_of(sim, rank, chunk)) == 0)
            return fail(sim, statement->line, "rank %u sends chunk %lld, which it does not have",
                        rank, (long long)chunk);
    size_t bytes = (size_t)what.count * sim->words * sizeof(uint64_t);
    message *sent = malloc(sizeof *sent + bytes);
    if (sent == NULL || !note_transfer(sim, rank, &what, sim->ranks[rank].round)) {
        free(sent);
        return fail(sim, statement->line, "out of memory");
    }
    *sent = (message){.from = rank,
                      .round = sim->ranks[rank].round,
                      .line = statement->line,
                      .chunk = what.chunk,
                      .count = what.count};
    memcpy(sent->sets, set_of(sim, rank, what.chunk), bytes);
    rank_state *to = &sim->ranks[what.partner];
    if (to->last != NULL)
        to->last->next = sent;
    else
        to->first = sent;
    to->last = sent;
    return true;
}

static bool merge_chunks(follower *sim, uint32_t rank, const st_statement *statement,
                         const step *what, const message *came)
{
    if (came->chunk != what->chunk || came->count != what->count)
        return fail(sim, statement->line,
                    "rank %u does not expect the chunks that rank %u sends (line %d)" ST_FOUND
                    "%lld chunks from %lld" ST_EXPECTED "%lld chunks from %lld",
                    rank, came->from, came->line, (long long)came->count, (long long)came->chunk,
                    (long long)what->count, (long long)what->chunk);
    bool good = true;
    for (int64_t i = 0; i < what->count && good; i++) {
        uint64_t *set = set_of(sim, rank, what->chunk + i);
        const uint64_t *with = came->sets + (size_t)i * sim->words;
        if (statement->kind == ST_STEP_COPY) {
            memcpy(set, with, sim->words * sizeof *set);
        } else {
            bool twice = false;
            if (!sums_up(sim)) {
                good = fail(sim, statement->line, "%s does not sum values" ST_EXPECTED "'copy'",
                            st_collective_name(sim->steps->collective));
            } else {
                for (size_t j = 0; j < sim->words; j++) {
                    twice = twice || (set[j] & with[j]) != 0;
                    set[j] |= with[j];
                }
                good = !twice || fail(sim, statement->line, "rank %u adds a value twice", rank);
            }
        }
    }
    return good;
}

/* false: the rank waits, or something is wrong. */
static bool receive_chunks(follower *sim, uint32_t rank, const st_statement *statement)
{
    step what;
    rank_state *state = &sim->ranks[rank];
    if (!read_step(sim, rank, statement, &what))
        return false;
    /* The first message of that rank, taken from those that have come. */
    message *came = NULL;
    const uint32_t from = (uint32_t)what.partner;
    message *before = NULL;
    message *found = state->first;
    while (found != NULL && found->from != from) {
        before = found;
        found = found->next;
    }
    if (found != NULL) {
        if (before != NULL)
            before->next = found->next;
        else
            state->first = found->next;
        state->last = state->last == found ? before : state->last;
        came = found;
    }
    if (came == NULL)
        return false;
    state->round = came->round + 1 > state->round ? came->round + 1 : state->round;
    bool good = merge_chunks(sim, rank, statement, &what, came);
    free(came);
    return good;
}

/* ---- control ---- */

static bool begin_block(follower *sim, rank_state *state, const st_statement *statement)
{
    int64_t value = 0;
    int64_t end = 0;
    bool is_loop = statement->kind == ST_STEP_FOR;
    if (!st_steps_value(&statement->chunk, state->names, &value) ||
        (is_loop && !st_steps_value(&statement->count, state->names, &end)))
        return fail(sim, statement->line, "an expression is undefined");
    bool enters = is_loop ? value <= end : value != 0;
    if (is_loop) {
        state->names[statement->variable] = value;
        state->loop_ends[statement->variable] = end;
    }
    state->at = enters ? state->at + 1 : statement->end + 1;
    return true;
}

/* Loops within loops that hold no step would take minutes to end. */
static bool is_within_limits(follower *sim, const st_statement *statement, uint64_t idle)
{
    if (++sim->done > MOST_STATEMENTS)
        return fail(sim, statement->line,
                    "too many steps to simulate" ST_EXPECTED "at most %u steps over all ranks",
                    MOST_STATEMENTS);
    return idle <= MOST_IDLE || fail(sim, statement->line,
                                     "loops without steps take too long" ST_EXPECTED
                                     "a send or receive within %u iterations and conditions",
                                     MOST_IDLE);
}

/* Runs a rank as far as it gets; true where it got anywhere. */
static bool run_rank(follower *sim, uint32_t rank)
{
    rank_state *state = &sim->ranks[rank];
    bool moved = false;
    uint64_t idle = 0;
    while (sim->status == ST_OK && state->at < sim->steps->count) {
        const st_statement *statement = &sim->steps->statements[state->at];
        if (!is_within_limits(sim, statement, ++idle))
            return false;
        if (statement->kind == ST_STEP_FOR || statement->kind == ST_STEP_IF) {
            (void)begin_block(sim, state, statement);
        } else if (statement->kind == ST_STEP_END) {
            const st_statement *begin = &sim->steps->statements[statement->end];
            bool again = begin->kind == ST_STEP_FOR &&
                         ++state->names[begin->variable] <= state->loop_ends[begin->variable];
            state->at = again ? statement->end + 1 : state->at + 1;
        } else {
            bool good = statement->kind == ST_STEP_SEND ? send_chunks(sim, rank, statement)
                                                        : receive_chunks(sim, rank, statement);
            if (!good)
                return moved;
            state->at++;
            idle = 0;
        }
        moved = true;
    }
    return moved;
}

static void run_all(follower *sim)
{
    bool moved = true;
    while (moved && sim->status == ST_OK) {
        moved = false;
        for (uint32_t rank = 0; rank < sim->group.ranks; rank++)
            moved = run_rank(sim, rank) || moved;
    }
    for (uint32_t rank = 0; rank < sim->group.ranks && sim->status == ST_OK; rank++)
        if (sim->ranks[rank].at < sim->steps->count) {
            step what;
            const st_statement *statement = &sim->steps->statements[sim->ranks[rank].at];
            if (!read_step(sim, rank, statement, &what))
                continue;
            size_t at = sim->ranks[what.partner].at;
            if (at >= sim->steps->count)
                fail(sim, statement->line,
                     "deadlock: rank %u waits for a message from rank %lld, which has finished",
                     rank, (long long)what.partner);
            else
                fail(sim, statement->line,
                     "deadlock: rank %u waits for a message from rank %lld, which waits in line %d",
                     rank, (long long)what.partner, sim->steps->statements[at].line);
        }
    for (uint32_t rank = 0; rank < sim->group.ranks && sim->status == ST_OK; rank++)
        if (sim->ranks[rank].first != NULL)
            fail(sim, sim->ranks[rank].first->line,
                 "rank %u sends a message to rank %u that is never received",
                 sim->ranks[rank].first->from, rank);
}

/* ---- the whole ---- */

/* By round, then by ranks, so that rounds that do the same look the same. */
ST_COMPARE(compare_transfers, st_transfer,
           ST_RISING(round) ST_RISING(from) ST_RISING(to) ST_RISING(share));

static bool read_chunks(follower *sim, uint32_t ranks)
{
    int64_t chunks = 0;
    bool known = st_steps_value(&sim->steps->chunks, sim->ranks[0].names, &chunks);
    bool all_to_all = sim->steps->collective == ST_COLLECTIVE_ALL_TO_ALL;
    sim->chunks = chunks;
    if (!known || chunks < 1)
        return fail(sim, sim->steps->line, "the message has no chunks");
    if (((sim->steps->collective == ST_COLLECTIVE_ALL_GATHER ||
          sim->steps->collective == ST_COLLECTIVE_REDUCE_SCATTER) &&
         ranks > 0 && chunks % ranks != 0) ||
        (all_to_all && chunks != (int64_t)ranks * ranks))
        return fail(sim, sim->steps->line, "%lld chunks cannot be divided evenly among %u ranks",
                    (long long)chunks, ranks);
    return true;
}

/* Names, chunks and memory of the followed group. */
static bool prepare(follower *sim)
{
    uint32_t n = sim->group.ranks;
    uint32_t g = sim->group.per_node < n && sim->group.per_node > 0 ? sim->group.per_node : n;
    sim->ranks = n > 0 ? calloc(n, sizeof *sim->ranks) : NULL;
    if (sim->ranks == NULL)
        return fail(sim, 0, n > 0 ? "out of memory" : "the group has no ranks");
    for (uint32_t rank = 0; rank < n; rank++) {
        int64_t *names = sim->ranks[rank].names;
        names[ST_STEPS_RANK] = rank;
        names[ST_STEPS_RANKS] = n;
        names[ST_STEPS_PER_NODE] = g;
        names[ST_STEPS_NODES] = n / g;
    }
    if (!read_chunks(sim, n))
        return false;
    sim->words = sums_up(sim) ? (n + 63) / 64 : 1;
    if ((double)sim->chunks * n * (double)sim->words * 8 > (double)MOST_BYTES)
        return fail(sim, sim->steps->line, "%u ranks with %lld chunks are too many to simulate", n,
                    (long long)sim->chunks);
    sim->sets = calloc((size_t)sim->chunks * n * sim->words, sizeof *sim->sets);
    return sim->sets != NULL || fail(sim, 0, "out of memory");
}

st_status st_steps_follow(const st_steps *steps, const st_steps_group *group,
                          st_transfers *transfers, st_errors *errors)
{
    follower sim = {
        .steps = steps, .group = *group, .errors = errors, .transfers = transfers, .status = ST_OK};
    *transfers = (st_transfers){0};
    if (!st_steps_fit(steps, group))
        return st_fail(errors, ST_ERR_VALUE, (st_place){.file = steps->file, .line = steps->line},
                       "the table does not support %u ranks", group->ranks);
    if (prepare(&sim)) {
        for (uint32_t rank = 0; rank < sim.group.ranks; rank++)
            for (int64_t chunk = 0; chunk < sim.chunks; chunk++)
                if (holds_at_first(&sim, rank, chunk))
                    set_of(&sim, rank, chunk)[sums_up(&sim) ? rank / 64 : 0] |=
                        UINT64_C(1) << (sums_up(&sim) ? rank % 64 : 0);
        run_all(&sim);
        if (sim.status == ST_OK) {
            size_t wanted = sums_up(&sim) ? sim.group.ranks : 1;
            for (uint32_t rank = 0; rank < sim.group.ranks; rank++)
                for (int64_t chunk = 0; chunk < sim.chunks && sim.status == ST_OK; chunk++) {
                    size_t found = members(&sim, set_of(&sim, rank, chunk));
                    if (!needs_at_last(&sim, rank, chunk) || found == wanted)
                        continue;
                    if (sums_up(&sim))
                        fail(&sim, sim.steps->line,
                             "rank %u does not get the result" ST_FOUND
                             "values of %zu of %zu ranks in its chunk %lld",
                             rank, found, wanted, (long long)chunk);
                    else
                        fail(&sim, sim.steps->line,
                             "rank %u does not get the result: chunk %lld never reaches it", rank,
                             (long long)chunk);
                }
        }
    }
    for (uint32_t rank = 0; sim.ranks != NULL && rank < sim.group.ranks; rank++)
        while (sim.ranks[rank].first != NULL) {
            message *next = sim.ranks[rank].first->next;
            free(sim.ranks[rank].first);
            sim.ranks[rank].first = next;
        }
    free(sim.ranks);
    free(sim.sets);
    if (sim.status != ST_OK) {
        free(transfers->items);
        *transfers = (st_transfers){0};
    } else if (transfers->count > 0) {
        qsort(transfers->items, transfers->count, sizeof *transfers->items, compare_transfers);
    }
    return sim.status;
}

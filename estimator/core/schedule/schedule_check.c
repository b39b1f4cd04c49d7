/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of one's own, and groups of ranks: refused where they do not describe a step. */
#include "schedule/schedule_internal.h"

#include <stdlib.h>

static const char expected_passes[] = "every pass of every micro-batch and chunk once";

static st_status refuse_order(uint32_t stage, const char *what, st_errors *errors)
{
    return st_fail(errors, ST_ERR_VALUE, (st_place){0},
                   "the order of stage %lu %s" ST_EXPECTED "%s", (unsigned long)stage, what,
                   expected_passes);
}

/* "forward pass of micro-batch 3", counted from 1, as tasks are named. */
static const char *pass_text(const st_schedule_shape *shape, const st_slot *slot, st_errors *errors)
{
    static const char *const names[ST_PASSES] = {"forward", "backward", "weights"};
    const char *name = slot->pass < ST_PASSES ? names[slot->pass] : "unknown";
    if (shape->chunks > 1 || shape->kind == ST_SCHEDULE_DUALPIPE)
        return st_errors_text(errors, "%s pass of micro-batch %lu and chunk %lu", name,
                              (unsigned long)slot->micro + 1, (unsigned long)slot->chunk + 1);
    return st_errors_text(errors, "%s pass of micro-batch %lu", name,
                          (unsigned long)slot->micro + 1);
}

/* Marks a slot's passes in `seen`; otherwise what is wrong with it. */
static const char *mark(const st_schedule_shape *shape, uint32_t stage, const st_slot *slot,
                        uint8_t *seen)
{
    uint32_t chunks = shape->kind == ST_SCHEDULE_DUALPIPE ? 2 : shape->chunks;
    if (slot->micro >= shape->micros || slot->chunk >= chunks || slot->pass >= ST_PASSES ||
        (slot->with_weights && slot->pass != ST_PASS_BACKWARD))
        return "in the wrong place";
    uint32_t place = st_schedule_place(shape, stage, slot->chunk);
    if (st_schedule_stage(shape, place, slot->micro) != stage)
        return "in the wrong place";
    uint8_t passes = (uint8_t)(1U << slot->pass);
    passes = slot->with_weights ? passes | 1U << ST_PASS_WEIGHTS : passes;
    uint8_t *cell = &seen[(size_t)place * shape->micros + slot->micro];
    if ((*cell & passes) != 0)
        return "twice";
    if (slot->pass == ST_PASS_WEIGHTS && (*cell & 1U << ST_PASS_BACKWARD) == 0)
        return "before the backward pass whose gradients it uses";
    *cell |= passes;
    return NULL;
}

st_status st_schedule_check_order(const st_schedule_shape *shape, const st_schedule_order *order,
                                  st_errors *errors)
{
    size_t cells = (size_t)st_schedule_places(shape) * shape->micros;
    st_status status = ST_OK;
    if (order->stages != shape->stages)
        return refuse_order((uint32_t)order->stages, "is missing or unexpected", errors);
    uint8_t *seen = calloc(cells, sizeof(*seen));
    if (seen == NULL)
        return st_out_of_memory(errors);
    for (uint32_t stage = 0; stage < shape->stages && status == ST_OK; stage++) {
        status = ST_OK;
        for (size_t i = 0; i < order->counts[stage]; i++) {
            const st_slot *slot = &order->slots[stage][i];
            const char *wrong = mark(shape, stage, slot, seen);
            if (wrong != NULL) {
                status = refuse_order(
                    stage,
                    st_errors_text(errors, "has the %s %s", pass_text(shape, slot, errors), wrong),
                    errors);
                break;
            }
        }
    }
    if (status == ST_OK) {
        /* The first pass that no stage has. */
        size_t missing_cells = (size_t)st_schedule_places(shape) * shape->micros;
        uint32_t chunks = shape->kind == ST_SCHEDULE_DUALPIPE ? 2 : shape->chunks;
        for (size_t i = 0; i < missing_cells; i++) {
            uint32_t place = (uint32_t)(i / shape->micros);
            uint32_t micro = (uint32_t)(i % shape->micros);
            st_slot slot = {.micro = micro};
            if (seen[i] == (1U << ST_PASSES) - 1)
                continue;
            while ((seen[i] & 1U << slot.pass) != 0)
                slot.pass++;
            uint32_t stage = st_schedule_stage(shape, place, micro);
            while (slot.chunk + 1U < chunks && st_schedule_place(shape, stage, slot.chunk) != place)
                slot.chunk++;
            status = refuse_order(
                stage, st_errors_text(errors, "omits the %s", pass_text(shape, &slot, errors)),
                errors);
            break;
        }
    }
    free(seen);
    return status;
}

st_status st_schedule_check_groups(const st_schedule_groups *groups, st_errors *errors)
{
    uint64_t ranks = (uint64_t)groups->tp * groups->cp * groups->dp;
    if (groups->tp > 0 && groups->cp > 0 && groups->dp > 0 && groups->ep > 0 &&
        groups->tp <= 1U << 20 && groups->cp <= 1U << 20 && groups->dp <= 1U << 20 &&
        ranks <= 1U << 24 && ranks % groups->ep == 0)
        return ST_OK;
    return st_fail(errors, ST_ERR_VALUE, (st_place){0},
                   "the group sizes of the schedule do not match" ST_EXPECTED
                   "sizes of at least 1, at most 2^24 pipelines, and expert groups that divide the "
                   "ranks of a stage");
}

/* What is wrong with the pieces of a pass; NULL: nothing. */
static const char *wrong_pieces(const st_schedule_piece *pieces, size_t count)
{
    double until = 0;
    for (size_t i = 0; i < count; i++) {
        const st_schedule_piece *piece = &pieces[i];
        if (!(piece->until >= until && piece->until <= 1))
            return "are not increasing";
        if (piece->gather_hidden < 0 || piece->gather_exposed < 0 || piece->reduce_hidden < 0 ||
            piece->reduce_exposed < 0)
            return "have negative times";
        until = piece->until;
    }
    return count > 0 && until < 1 ? "end before the pass" : NULL;
}

st_status st_schedule_check_pieces(const st_schedule_plan *plan, st_errors *errors)
{
    uint32_t places = st_schedule_places(&plan->shape);
    if (plan->prefetch > ST_MOST_PREFETCH)
        return st_fail(errors, ST_ERR_VALUE, (st_place){0},
                       "weights are prefetched too far ahead" ST_FOUND "%lu pieces" ST_EXPECTED
                       "at most 1024",
                       (unsigned long)plan->prefetch);
    for (uint32_t i = 0; i < places; i++) {
        const st_schedule_pieces *pieces = &plan->pieces[i];
        const char *wrong = wrong_pieces(pieces->forward, pieces->forward_count);
        wrong = wrong != NULL ? wrong : wrong_pieces(pieces->backward, pieces->backward_count);
        if (pieces->forward_count > ST_MOST_PIECES || pieces->backward_count > ST_MOST_PIECES)
            wrong = "are too many";
        if (wrong != NULL)
            return st_fail(
                errors, ST_ERR_VALUE, (st_place){0},
                "the pieces of chunk %lu %s" ST_EXPECTED
                "at most 100000 increasing shares that end with 1, and times of at least 0",
                (unsigned long)i, wrong);
    }
    return ST_OK;
}

/* Times so large that a sum over all passes might overflow are refused, too. */
st_status st_schedule_check_times(const st_schedule_shape *shape, st_errors *errors)
{
    uint32_t places = st_schedule_places(shape);
    int64_t most = INT64_MAX / 8 / ((int64_t)shape->micros + places) /
                   ((int64_t)places * ST_PASSES * ST_PARTS + 1);
    bool good = shape->times != NULL && shape->transfer >= 0 && shape->transfer <= most;
    for (uint32_t i = 0; i < places && good; i++) {
        for (int pass = 0; pass < ST_PASSES; pass++) {
            for (int part = 0; part < ST_PARTS; part++) {
                int64_t time = shape->times[i].part[pass][part];
                good = good && time >= 0 && time <= most;
            }
        }
    }
    if (!good) {
        return st_fail(errors, ST_ERR_VALUE, (st_place){0},
                       "schedule %s has missing or invalid times" ST_EXPECTED
                       "times of every stage, not negative and small enough for a step of 63 bits",
                       st_schedule_name(shape->kind));
    }
    double share = shape->held_for_weights;
    return share >= 0 && share <= 1
               ? ST_OK
               : st_fail(errors, ST_ERR_VALUE, (st_place){0},
                         "invalid share of activations held for weight gradients" ST_EXPECTED
                         "above 0 and at most 1");
}

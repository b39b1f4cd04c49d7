/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of one's own, and groups of ranks: refused where they do not describe a step. */
#include "timeline/schedule_internal.h"

#include <stdlib.h>

static st_status refuse_order(uint32_t stage, const char *what, st_errors *errors)
{
    return st_errors_add(errors,
                         &(st_error){.status = ST_ERR_VALUE,
                                     .message = st_errors_text(errors, "the order of stage %lu %s",
                                                               (unsigned long)stage, what),
                                     .expected = "every pass of every micro-batch and chunk once"});
}

/* Marks a slot's passes in `seen`; false where it is out of place or a second time there. */
static bool mark(const st_schedule_shape *shape, uint32_t stage, const st_slot *slot, uint8_t *seen)
{
    uint32_t chunks = shape->kind == ST_SCHEDULE_DUALPIPE ? 2 : shape->chunks;
    if (slot->micro >= shape->micros || slot->chunk >= chunks || slot->pass >= ST_PASSES ||
        (slot->with_weights && slot->pass != ST_PASS_BACKWARD)) {
        return false;
    }
    uint32_t place = st_schedule_place(shape, stage, slot->chunk);
    if (st_schedule_stage(shape, place, slot->micro) != stage) {
        return false;
    }
    uint8_t passes = (uint8_t)(1U << slot->pass);
    passes = slot->with_weights ? passes | 1U << ST_PASS_WEIGHTS : passes;
    uint8_t *cell = &seen[(size_t)place * shape->micros + slot->micro];
    if ((*cell & passes) != 0) {
        return false;
    }
    *cell |= passes;
    return true;
}

st_status st_schedule_check_order(const st_schedule_shape *shape, const st_schedule_order *order,
                                  st_errors *errors)
{
    size_t cells = (size_t)st_schedule_places(shape) * shape->micros;
    size_t left = 3 * cells;
    st_status status = ST_OK;
    if (order->stages != shape->stages) {
        return refuse_order((uint32_t)order->stages, "is not wanted or missing", errors);
    }
    uint8_t *seen = calloc(cells, sizeof(*seen));
    if (seen == NULL) {
        return st_graph_no_memory(errors);
    }
    for (uint32_t stage = 0; stage < shape->stages && status == ST_OK; stage++) {
        const st_slot *slots = order->slots[stage];
        for (size_t i = 0; i < order->counts[stage] && status == ST_OK; i++) {
            if (mark(shape, stage, &slots[i], seen)) {
                left -= slots[i].with_weights ? 2 : 1;
            } else {
                status = refuse_order(stage, "has a pass twice or out of place", errors);
            }
        }
    }
    if (status == ST_OK && left > 0) {
        status = refuse_order(0, "or of another one lacks passes", errors);
    }
    free(seen);
    return status;
}

st_status st_schedule_check_groups(const st_schedule_groups *groups, st_errors *errors)
{
    uint64_t ranks = (uint64_t)groups->tp * groups->cp * groups->dp;
    if (groups->tp > 0 && groups->cp > 0 && groups->dp > 0 && groups->ep > 0 &&
        groups->tp <= 1U << 20 && groups->cp <= 1U << 20 && groups->dp <= 1U << 20 &&
        ranks <= 1U << 24 && (groups->cp * groups->dp) % groups->ep == 0) {
        return ST_OK;
    }
    return st_errors_add(
        errors, &(st_error){.status = ST_ERR_VALUE,
                            .message = "the groups of a schedule do not fit each other",
                            .expected = "sizes of at least 1, at most 2^24 pipelines, and expert "
                                        "groups that divide the data-parallel ones"});
}

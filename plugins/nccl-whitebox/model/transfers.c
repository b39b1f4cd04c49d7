/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-to-all and send/receive. NCCL has no cost model for them; here a transfer is charged like a
 * ring's hop of the same protocol, and bytes go at the rate of the busiest of a GPU's links and its
 * share of the NICs.
 */
#include "model.h"
#include "tables.h"

#include <math.h>

/*
 * Simple twice: with whole chunks, and with the smaller ones that NCCL cuts messages of medium size
 * into; transfers have no LL128, so its factors adjust the latter. Base latencies as of rings.
 */
static const struct {
    int protocol;
    int scaled_as;
    double base_us;
    double share; /* of the rate */
} kinds[] = {
    {ST_NCCL_SIMPLE, ST_NCCL_SIMPLE, 14.0, 1.0},
    {ST_NCCL_SIMPLE, ST_NCCL_LL128, 8.4, 0.75},
    {ST_NCCL_LL, ST_NCCL_LL, 6.6, 0.5},
};

#define LL_BYTES 16384.0 /* to one rank; src/enqueue.cc, P2P_LL_THRESHOLD */

void st_nccl_tune_transfers(st_nccl_plan *plan, const st_nccl_machine *machine,
                            const st_nccl_choices *choices)
{
    bool across = plan->group.nodes > 1.0;
    bool pair = plan->collective == ST_NCCL_SEND_RECV;
    double near = pair ? (across ? 0.0 : 1.0) : plan->group.per_node - 1.0;
    double far = pair ? (across ? 1.0 : 0.0) : plan->group.ranks - plan->group.per_node;
    /* Bytes over the time that they take at the narrowest place, both directions busy. */
    double ranks = plan->group.ranks;
    double gb_near = plan->group.per_node - 1.0;
    double gb_far = ranks - plan->group.per_node;
    double seconds = gb_near / ranks / machine->links_gbs;
    if (gb_far > 0.0)
        seconds = fmax(seconds, gb_far / ranks / (machine->nics_gbs / machine->gpus));
    double rate = 1.0 / seconds;
    if (pair)
        rate = across ? machine->nics_gbs / machine->gpus : machine->links_gbs;
    /* LL carries what fits into one part of a channel; the message of an all-to-all has a share
     * for each rank. */
    double short_bytes = LL_BYTES * (pair ? 1.0 : plan->group.ranks);
    const double(*hops)[5][ST_NCCL_PROTOCOLS] = st_nccl_hop_us[choices->version];
    plan->count = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        int protocol = kinds[i].protocol;
        if (choices->protocol != ST_NCCL_ANY && choices->protocol != protocol) {
            continue;
        }
        /* Eight peers are served at a time. */
        plan->lines[plan->count++] = (st_nccl_line){
            .algorithm = ST_NCCL_P2P,
            .protocol = protocol,
            .scaled_as = kinds[i].scaled_as,
            .base_us = kinds[i].base_us,
            .intra_us = ceil(near / 8.0) * hops[machine->link][ST_NCCL_RING][protocol],
            .inter_us = ceil(far / 8.0) * hops[ST_NCCL_NET][ST_NCCL_RING][protocol],
            .from_bytes = protocol == ST_NCCL_LL ? 0.0 : short_bytes,
            .to_bytes = protocol == ST_NCCL_LL ? short_bytes : HUGE_VAL,
            .plateau = 1.0,
            .rate_gbs = kinds[i].share * rate,
        };
    }
}

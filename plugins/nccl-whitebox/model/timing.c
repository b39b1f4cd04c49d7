/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time of a message on a plan: the best line, or a power mean that rounds the
 * corners between lines where measurements show them rounded. Every line grows
 * with the bytes, so the result does, unless the plan obeys NCCL's prediction:
 * then it may go over to a faster line late.
 */
#include "correction.h"
#include "tables.h"

#include <math.h>

/* Terms of the mean count from here, less this much, so that it has no steps.
 */
#define FAR_TERM 0.01

#define MOST_LOST 0.9 /* of a rate, in small groups */

void st_nccl_finish(st_nccl_plan *plan)
{
    plan->smooth = false;
    plan->obeys = false;
    plan->near = 1.0;
    for (size_t i = 0; i < plan->count; i++) {
        st_nccl_line *line = &plan->lines[i];
        line->latency_us = line->base_us + line->intra_us + line->inter_us;
        line->us_per_byte = 1.0 / (1e3 * line->rate_gbs);
    }
}

void st_nccl_calibrate(st_nccl_plan *plan, const st_nccl_factors *factors)
{
    bool across = plan->group.nodes > 1.0;
    /* Share of the rate that is left after the steps in which a ring fills and a rank copies
     * what is its own: as many whether the bytes go around twice, as an all-reduce's, or once.
     * Across machines the copy does not go over the narrow link, so that only the filling
     * counts. */
    int collective = plan->collective;
    bool once = plan->group.nodes <= 1.0 &&
                (collective == ST_NCCL_ALL_GATHER || collective == ST_NCCL_REDUCE_SCATTER ||
                 collective == ST_NCCL_ALL_TO_ALL);
    double loss =
        1.0 - fmin((once ? 2.0 : 1.0) * factors->small_group / plan->group.ranks, MOST_LOST);
    st_nccl_finish(plan);
    for (size_t i = 0; i < plan->count; i++) {
        st_nccl_line *line = &plan->lines[i];
        line->asked_us = line->latency_us;
        line->asked_us_per_byte = line->us_per_byte;
        const st_nccl_kind *kind = across ? &factors->across : &factors->inside;
        int protocol = line->scaled_as;
        double latency = kind->latency[protocol];
        double rate = kind->bandwidth[protocol];
        if (line->algorithm == ST_NCCL_TREE || line->algorithm == ST_NCCL_NVLS_TREE) {
            latency *= kind->tree_latency;
            rate *= kind->tree_bandwidth;
        } else if (line->algorithm == ST_NCCL_NVLS) {
            latency = factors->nvls_latency;
            rate = factors->nvls_bandwidth;
        }
        line->base_us = line->base_us * kind->setup[protocol] + factors->offset_us;
        line->intra_us = (line->reach_us > 0.0 ? line->reach_us : line->intra_us) * latency;
        line->inter_us = (line->inter_us + line->further_us) * latency;
        line->round_us *= latency;
        if (line->most_gbs > 0.0) {
            line->rate_gbs = fmin(line->rate_gbs, line->most_gbs);
        }
        line->rate_gbs =
            line->reach_gbs > 0.0 ? line->reach_gbs * rate : line->rate_gbs * rate * loss;
    }
    st_nccl_finish(plan);
    plan->smooth = true;
    /* NCCL takes the line that it predicts to be fastest, whatever is measured. Inside of a
     * machine its prediction is known well enough to choose; across machines it
     * depends on fabrics, tuner plugins and what the search finds, and the fastest line counts. */
    plan->obeys = plan->group.nodes <= 1.0 && plan->collective < ST_NCCL_ALL_TO_ALL;
    if (factors->sharpness > 0.0) {
        int exponent;
        bool doubles = frexp(factors->sharpness, &exponent) == 0.5 && exponent > 1;
        plan->sharpness = factors->sharpness;
        plan->squarings = doubles ? exponent - 1 : 0;
        plan->near = exp(log(FAR_TERM) / factors->sharpness);
        plan->far = FAR_TERM;
    }
}

/* Place in the tables of shares: the rung, and how far it is to the next. */
typedef struct place {
    size_t rung;
    double beyond;
} place;

static place place_of(double bytes, bool smooth)
{
    double scaled = fmax(1.0, bytes / 64.0);
    int exponent;
    double mantissa = frexp(scaled, &exponent);
    place found = {(size_t)(exponent - 1), 2.0 * mantissa - 1.0};
    if (found.rung + 1 >= ST_NCCL_SHARES || !smooth || bytes < 64.0)
        found.beyond = 0.0;
    if (found.rung >= ST_NCCL_SHARES && smooth)
        found.rung = ST_NCCL_SHARES - 1;
    return found;
}

static double share_at(int protocol, place at)
{
    const double *shares = st_nccl_tree_shares[protocol];
    if (at.rung >= ST_NCCL_SHARES)
        return 1.0;
    return at.beyond > 0.0 ? shares[at.rung] + (shares[at.rung + 1] - shares[at.rung]) * at.beyond
                           : shares[at.rung];
}

double st_nccl_tree_share(int protocol, double bytes, bool smooth)
{
    return share_at(protocol, place_of(bytes, smooth));
}

static double transfer_us(const st_nccl_line *line, double bytes, place at)
{
    double time = bytes * line->us_per_byte;
    return line->algorithm == ST_NCCL_TREE ? time / share_at(line->protocol, at) : time;
}

/*
 * What the rounds of a switch add: a handshake each, and two chunks on their way before the first
 * round ends and after the last one begins.
 */
static double rounds_us(const st_nccl_plan *plan, const st_nccl_line *line, double bytes)
{
    double chunk = st_nccl_switch_chunk(plan, line->algorithm, bytes, line->round_ops);
    double round = fmin(bytes, chunk * line->round_ops);
    return bytes / round * line->round_us + 2.0 * round * line->us_per_byte;
}

static double latency_us(const st_nccl_plan *plan, const st_nccl_line *line, double bytes)
{
    double plain =
        bytes >= line->plateau_bytes ? line->latency_us * line->plateau : line->latency_us;
    return line->round_ops > 0.0 && bytes > 0.0 ? plain + rounds_us(plan, line, bytes) : plain;
}

/* Smallest of all times or the chosen one, its line, and what the power mean makes of them. */
static double mean_us(const st_nccl_plan *plan, double bytes, size_t *fastest)
{
    double times[ST_NCCL_LINES];
    double best = HUGE_VAL;
    place at = place_of(bytes, plan->smooth);
    if (plan->obeys && plan->count > 0) {
        /* What NCCL predicts to be fastest, and its time; no plateau is among such lines. */
        double least = HUGE_VAL;
        place step = {at.rung, 0.0}; /* NCCL takes a tree's share in steps */
        for (size_t i = 0; i < plan->count; i++) {
            const st_nccl_line *line = &plan->lines[i];
            double moved = bytes * line->asked_us_per_byte;
            if (line->algorithm == ST_NCCL_TREE) {
                moved /= share_at(line->protocol, step);
            }
            if (line->asked_us + moved < least) {
                least = line->asked_us + moved;
                *fastest = i;
            }
        }
        const st_nccl_line *line = &plan->lines[*fastest];
        return latency_us(plan, line, bytes) + transfer_us(line, bytes, at);
    }
    for (size_t i = 0; i < plan->count; i++) {
        const st_nccl_line *line = &plan->lines[i];
        times[i] = HUGE_VAL;
        if (bytes < line->from_bytes || bytes > line->to_bytes) {
            continue;
        }
        times[i] = latency_us(plan, line, bytes) + transfer_us(line, bytes, at);
        if (times[i] < best) {
            best = times[i];
            *fastest = i;
        }
    }
    if (plan->count == 0)
        return (double)NAN;
    double sum = 1.0;
    for (size_t i = 0; i < plan->count; i++) {
        if (best > plan->near * times[i] && i != *fastest) {
            /* A share to the power of the sharpness. */
            double sharpened;
            double share = best / times[i];
            if (plan->squarings == 0) {
                sharpened = pow(share, plan->sharpness);
            } else {
                for (int j = 0; j < plan->squarings; j++) {
                    share *= share;
                }
                sharpened = share;
            }
            sum += fmax(0.0, sharpened - plan->far);
        }
    }
    return sum > 1.0 ? best * pow(sum, -1.0 / plan->sharpness) : best;
}

double st_nccl_time_us(const st_nccl_plan *plan, double bytes)
{
    size_t fastest = 0;
    double plain = mean_us(plan, bytes, &fastest);
    return plan->corrected ? st_nccl_corrected_us(plan, bytes, plain) : plain;
}

st_nccl_answer st_nccl_answer_of(const st_nccl_plan *plan, double bytes)
{
    st_nccl_answer answer = {.total_us = (double)NAN};
    size_t fastest = 0;
    double total = mean_us(plan, bytes, &fastest);
    if (plan->count == 0)
        return answer;
    const st_nccl_line *line = &plan->lines[fastest];
    double transfer = transfer_us(line, bytes, place_of(bytes, plan->smooth));
    double factor = bytes >= line->plateau_bytes ? line->plateau : 1.0;
    double rounds = line->round_ops > 0.0 && bytes > 0.0 ? rounds_us(plan, line, bytes) : 0.0;
    double scale = total / (latency_us(plan, line, bytes) + transfer);
    bool across = plan->group.nodes > 1.0 && line->inter_us > 0.0;
    answer.line = line;
    answer.setup_us = scale * line->base_us * factor;
    /* Share of a message's steps that sum what arrives with what is there: a ring's and a tree's
     * first half, the way up to a switch, and all of a reduce-scatter. NCCL gives all steps one
     * rate. */
    double sums =
        transfer *
        (plan->collective == ST_NCCL_ALL_REDUCE                                             ? 0.5
         : plan->collective == ST_NCCL_REDUCE_SCATTER || plan->collective == ST_NCCL_REDUCE ? 1.0
                                                                                            : 0.0);
    double passed = transfer - sums;
    answer.intra_us = scale * (line->intra_us * factor + rounds + (across ? 0.0 : passed));
    answer.inter_us = scale * (line->inter_us * factor + (across ? passed : 0.0));
    answer.reduction_us = scale * sums;
    if (plan->corrected)
        answer.correction_us = st_nccl_corrected_us(plan, bytes, total) - total;
    answer.total_us = answer.setup_us + answer.intra_us + answer.inter_us + answer.reduction_us +
                      answer.correction_us;
    return answer;
}

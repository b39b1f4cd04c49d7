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

/*
 * Share of the rate that is left after the steps in which a ring fills and a rank copies what is
 * its own: as many whether the bytes go around twice, as an all-reduce's, or once.
 */
static double rate_left(const st_nccl_plan *plan, const st_nccl_factors *factors)
{
    int collective = plan->collective;
    bool once = collective == ST_NCCL_ALL_GATHER || collective == ST_NCCL_REDUCE_SCATTER ||
                collective == ST_NCCL_ALL_TO_ALL;
    return 1.0 - fmin((once ? 2.0 : 1.0) * factors->small_group / plan->group.ranks, MOST_LOST);
}

static bool is_calibrated(const st_nccl_factors *factors)
{
    bool moved = false;
    for (int i = 0; i < ST_NCCL_PROTOCOLS; i++) {
        moved = moved || factors->setup[i] != 1.0 || factors->latency[i] != 1.0 ||
                factors->bandwidth[i] != 1.0;
    }
    return moved;
}

/*
 * NCCL takes the line that it predicts to be fastest, whatever is measured. Inside of a machine,
 * where only rings can be chosen, its prediction is known well enough to tell which that is. Where
 * nothing is calibrated the fastest line is that, but for the loss of small groups.
 */
static bool does_obey(const st_nccl_plan *plan, const st_nccl_factors *factors)
{
    return plan->group.nodes <= 1.0 && plan->collective > ST_NCCL_ALL_REDUCE &&
           plan->collective < ST_NCCL_ALL_TO_ALL && is_calibrated(factors);
}

void st_nccl_calibrate(st_nccl_plan *plan, const st_nccl_factors *factors)
{
    bool across = plan->group.nodes > 1.0;
    double loss = rate_left(plan, factors);
    st_nccl_finish(plan);
    for (size_t i = 0; i < plan->count; i++) {
        st_nccl_line *line = &plan->lines[i];
        int protocol = line->scaled_as;
        line->asked_us = line->latency_us;
        line->asked_us_per_byte = line->us_per_byte;
        double latency = factors->latency[protocol];
        double rate = factors->bandwidth[protocol];
        if (line->algorithm == ST_NCCL_TREE) {
            latency *= factors->tree_latency;
            rate *= factors->tree_bandwidth;
        } else if (line->algorithm == ST_NCCL_NVLS || line->algorithm == ST_NCCL_NVLS_TREE) {
            latency = factors->nvls_latency;
            rate = factors->nvls_bandwidth;
        }
        line->base_us = line->base_us * factors->setup[protocol] + factors->offset_us;
        line->intra_us *= latency;
        line->inter_us *= latency * factors->net_latency;
        line->rate_gbs *= rate * loss * (across ? factors->net_bandwidth : 1.0);
    }
    st_nccl_finish(plan);
    plan->smooth = true;
    plan->obeys = does_obey(plan, factors);
    if (factors->sharpness > 0.0) {
        plan->sharpness = factors->sharpness;
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
    if (found.rung + 1 >= ST_NCCL_SHARES || !smooth || bytes < 64.0) {
        found.beyond = 0.0;
    }
    if (found.rung >= ST_NCCL_SHARES && smooth) {
        found.rung = ST_NCCL_SHARES - 1;
    }
    return found;
}

static double share_at(int protocol, place at)
{
    const double *shares = st_nccl_tree_shares[protocol];
    if (at.rung >= ST_NCCL_SHARES) {
        return 1.0;
    }
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

static double latency_us(const st_nccl_line *line, double bytes)
{
    return bytes >= line->plateau_bytes ? line->latency_us * line->plateau : line->latency_us;
}

/* What NCCL predicts to be fastest, and its time; no plateau, no tree is among such lines. */
static double chosen_us(const st_nccl_plan *plan, double bytes, size_t *chosen)
{
    double least = HUGE_VAL;
    for (size_t i = 0; i < plan->count; i++) {
        double asked = plan->lines[i].asked_us + bytes * plan->lines[i].asked_us_per_byte;
        if (asked < least) {
            least = asked;
            *chosen = i;
        }
    }
    const st_nccl_line *line = &plan->lines[*chosen];
    return line->latency_us + bytes * line->us_per_byte;
}

/* Smallest of all times or the chosen one, its line, and what the power mean makes of them. */
static double mean_us(const st_nccl_plan *plan, double bytes, size_t *fastest)
{
    double times[ST_NCCL_LINES];
    double best = HUGE_VAL;
    place at = place_of(bytes, plan->smooth);
    if (plan->obeys && plan->count > 0) {
        return chosen_us(plan, bytes, fastest);
    }
    for (size_t i = 0; i < plan->count; i++) {
        const st_nccl_line *line = &plan->lines[i];
        times[i] = latency_us(line, bytes) + transfer_us(line, bytes, at);
        if (times[i] < best) {
            best = times[i];
            *fastest = i;
        }
    }
    if (plan->count == 0) {
        return (double)NAN;
    }
    double sum = 1.0;
    for (size_t i = 0; i < plan->count; i++) {
        if (best > plan->near * times[i] && i != *fastest) {
            sum += fmax(0.0, pow(best / times[i], plan->sharpness) - plan->far);
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

/*
 * Share of a message's steps that sum what arrives with what is there: a ring's and a tree's first
 * half, the way up to a switch, and all of a reduce-scatter. NCCL gives all steps one rate.
 */
static double summing_share(int collective)
{
    return collective == ST_NCCL_ALL_REDUCE       ? 0.5
           : collective == ST_NCCL_REDUCE_SCATTER ? 1.0
                                                  : 0.0;
}

st_nccl_answer st_nccl_answer_of(const st_nccl_plan *plan, double bytes)
{
    st_nccl_answer answer = {.total_us = (double)NAN};
    size_t fastest = 0;
    double total = mean_us(plan, bytes, &fastest);
    if (plan->count == 0) {
        return answer;
    }
    const st_nccl_line *line = &plan->lines[fastest];
    double transfer = transfer_us(line, bytes, place_of(bytes, plan->smooth));
    double factor = bytes >= line->plateau_bytes ? line->plateau : 1.0;
    double scale = total / (latency_us(line, bytes) + transfer);
    bool across = plan->group.nodes > 1.0 && line->inter_us > 0.0;
    answer.line = line;
    answer.setup_us = scale * line->base_us * factor;
    double sums = transfer * summing_share(plan->collective);
    double passed = transfer - sums;
    answer.intra_us = scale * (line->intra_us * factor + (across ? 0.0 : passed));
    answer.inter_us = scale * (line->inter_us * factor + (across ? passed : 0.0));
    answer.reduction_us = scale * sums;
    if (plan->corrected) {
        answer.correction_us = st_nccl_corrected_us(plan, bytes, total) - total;
    }
    answer.total_us = answer.setup_us + answer.intra_us + answer.inter_us + answer.reduction_us +
                      answer.correction_us;
    return answer;
}

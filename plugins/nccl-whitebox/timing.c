/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time of a message on a plan: the best line, or a power mean that rounds the corners between lines
 * where measurements show them rounded. Every line grows with the bytes, so the result does.
 */
#include "model.h"
#include "tables.h"

#include <math.h>

void st_nccl_calibrate(st_nccl_plan *plan, const st_nccl_factors *factors)
{
    bool across = plan->group.nodes > 1.0;
    double loss = 1.0 - factors->small_group / plan->group.ranks;
    for (size_t i = 0; i < plan->count; i++) {
        st_nccl_line *line = &plan->lines[i];
        int protocol = line->protocol;
        double latency = factors->latency[protocol];
        double rate = factors->bandwidth[protocol];
        if (line->algorithm == ST_NCCL_TREE) {
            latency *= factors->tree_latency;
            rate *= factors->tree_bandwidth;
        } else if (line->algorithm == ST_NCCL_NVLS || line->algorithm == ST_NCCL_NVLS_TREE) {
            latency = factors->nvls_latency;
            rate = factors->nvls_bandwidth;
        }
        line->base_us *= factors->setup[protocol];
        line->intra_us *= latency;
        line->inter_us *= latency * factors->net_latency;
        line->rate_gbs *= rate * loss * (across ? factors->net_bandwidth : 1.0);
    }
    plan->smooth = true;
    plan->sharpness = factors->sharpness;
    /* A line this far from the best one would change the mean by less than 1e-7. */
    plan->near = factors->sharpness > 0.0 ? exp(-16.0 / factors->sharpness) : 1.0;
}

double st_nccl_tree_share(int protocol, double bytes, bool smooth)
{
    const double *shares = st_nccl_tree_shares[protocol];
    double scaled = bytes / 64.0;
    if (!(scaled > 1.0)) {
        return shares[0];
    }
    int exponent;
    double mantissa = 2.0 * frexp(scaled, &exponent);
    size_t rung = (size_t)(exponent - 1);
    if (rung >= ST_NCCL_SHARES) {
        return smooth ? shares[ST_NCCL_SHARES - 1] : 1.0;
    }
    if (!smooth || rung + 1 >= ST_NCCL_SHARES) {
        return shares[rung];
    }
    return shares[rung] + (shares[rung + 1] - shares[rung]) * (mantissa - 1.0);
}

static double latency_factor(const st_nccl_line *line, double bytes)
{
    return bytes >= line->plateau_bytes ? line->plateau : 1.0;
}

static double transfer_us(const st_nccl_plan *plan, const st_nccl_line *line, double bytes)
{
    double rate = line->rate_gbs;
    if (line->algorithm == ST_NCCL_TREE) {
        rate *= st_nccl_tree_share(line->protocol, bytes, plan->smooth);
    }
    return bytes / (1e3 * rate);
}

static double line_us(const st_nccl_plan *plan, const st_nccl_line *line, double bytes)
{
    return (line->base_us + line->intra_us + line->inter_us) * latency_factor(line, bytes) +
           transfer_us(plan, line, bytes);
}

/* Smallest of all times, its line, and what the power mean makes of them. */
static double mean_us(const st_nccl_plan *plan, double bytes, size_t *fastest)
{
    double times[ST_NCCL_LINES];
    double best = HUGE_VAL;
    for (size_t i = 0; i < plan->count; i++) {
        times[i] = line_us(plan, &plan->lines[i], bytes);
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
        if (i != *fastest && best > plan->near * times[i]) {
            sum += pow(best / times[i], plan->sharpness);
        }
    }
    return sum > 1.0 ? best * pow(sum, -1.0 / plan->sharpness) : best;
}

double st_nccl_time_us(const st_nccl_plan *plan, double bytes)
{
    size_t fastest = 0;
    return mean_us(plan, bytes, &fastest);
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
    double transfer = transfer_us(plan, line, bytes);
    double factor = latency_factor(line, bytes);
    double scale = total / line_us(plan, line, bytes);
    bool across = plan->group.nodes > 1.0 && line->inter_us > 0.0;
    answer.line = line;
    answer.setup_us = scale * line->base_us * factor;
    answer.intra_us = scale * (line->intra_us * factor + (across ? 0.0 : transfer));
    answer.inter_us = scale * (line->inter_us * factor + (across ? transfer : 0.0));
    answer.total_us = answer.setup_us + answer.intra_us + answer.inter_us;
    return answer;
}

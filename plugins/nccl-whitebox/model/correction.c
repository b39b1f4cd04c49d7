/* SPDX-License-Identifier: Apache-2.0 */
/* Reading of corrections, and plans that follow them. A plan keeps their logarithms at powers of
 * two. */
#include "correction.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Octaves of ranks and of machines in which the say of a curve falls to 1/e. */
#define REACH 4.0

/* Octaves of ranks on a machine in which the say of factors falls to 1/e: with one rank on each
 * machine there are other channels and other protocols. */
#define CROWD_REACH 1.0

#define LEAST_FACTOR 1e-3
#define MOST_FACTOR  1e3
#define MOST_DIGITS  24

/* ---- reading ---- */

typedef struct reader {
    const char *at;
    const char *reason;
} reader;

static void skip_blanks(reader *input)
{
    input->at += strspn(input->at, " \t\r\n");
}

/* A decimal number without sign or exponent, whatever the locale. */
static double take_number(reader *input)
{
    const char *begin = input->at;
    double value = 0.0;
    double unit = 1.0;
    bool digits = false;
    bool fraction = false;
    for (;; input->at++) {
        if (*input->at == '.' && !fraction) {
            fraction = true;
        } else if (*input->at >= '0' && *input->at <= '9') {
            digits = true;
            value = value * 10.0 + (*input->at - '0');
            unit *= fraction ? 10.0 : 1.0;
        } else {
            break;
        }
    }
    if (!digits || input->at - begin > MOST_DIGITS) {
        input->at = begin;
        input->reason = "expected a number of at most 24 digits";
    }
    return value / unit;
}

static void take(reader *input, char sign, const char *reason)
{
    if (!input->reason && *input->at != sign)
        input->reason = reason;
    input->at += input->reason ? 0 : 1;
}

static bool whole(double value)
{
    return value >= 1.0 && value <= 16777216.0 && value == floor(value);
}

static void take_point(reader *input, const double *last, double *point)
{
    const char *begin = input->at;
    double size = take_number(input);
    take(input, '=', "expected SIZE=FACTOR");
    double factor = input->reason ? 1.0 : take_number(input);
    if (input->reason)
        return;
    point[0] = log2(size);
    point[1] = log(factor);
    if (!(size >= 1.0 && point[0] > last[0])) {
        input->reason = "expected rising sizes in bytes";
    } else if (!(factor >= LEAST_FACTOR && factor <= MOST_FACTOR)) {
        input->reason = "expected a factor from 0.001 to 1000";
    }
    input->at = input->reason ? begin : input->at;
}

/* "~all" behind a group; nothing: no time up to the next group is interpolated. */
static void take_between(reader *input, bool between[2])
{
    static const char *const words[] = {"~small", "~large", "~all"};
    between[0] = between[1] = false;
    for (size_t i = 0; i < 3; i++) {
        size_t length = strlen(words[i]);
        if (strncmp(input->at, words[i], length) == 0) {
            between[0] = i != 1;
            between[1] = i != 0;
            input->at += length;
            return;
        }
    }
    if (*input->at == '~')
        input->reason = "expected ~small, ~large or ~all";
}

size_t st_nccl_correction_count(const char *text)
{
    size_t count = 1;
    for (const char *at = text; *at != '\0'; at++) {
        count += *at == ';' ? 1 : 0;
    }
    return text[strspn(text, " \t\r\n")] == '\0' ? 0 : count;
}

const char *st_nccl_correction_parse(const char *text, st_nccl_correction *correction, size_t *at)
{
    reader input = {.at = text};
    size_t most = st_nccl_correction_count(text);
    correction->count = 0;
    for (size_t i = 0; i < most && !input.reason; i++) {
        skip_blanks(&input);
        if (*input.at == '\0') {
            break; /* behind the last semicolon */
        }
        st_nccl_curve *curve = &correction->curves[correction->count++];
        double last[2] = {-1.0, 0.0};
        size_t next = 0;
        size_t points = 0;
        const char *begin = input.at;
        curve->ranks = take_number(&input);
        take(&input, '/', "expected RANKS/NODES");
        curve->nodes = input.reason ? 0.0 : take_number(&input);
        if (!input.reason && (!whole(curve->ranks) || !whole(curve->nodes) ||
                              fmod(curve->ranks, curve->nodes) != 0.0)) {
            input.at = begin;
            input.reason = "expected whole numbers of ranks and of machines that divide them";
        }
        if (!input.reason)
            take_between(&input, curve->between);
        if (!input.reason) {
            for (skip_blanks(&input); !input.reason && *input.at != ';' && *input.at != '\0';
                 points++) {
                double point[2] = {0.0, 0.0};
                take_point(&input, last, point);
                if (points == 0) {
                    last[1] = point[1];
                }
                /* Fills the octaves up to a point from that before it: a straight line. */
                while (next < ST_NCCL_OCTAVES && (double)next <= point[0]) {
                    double share =
                        last[0] < point[0] ? ((double)next - last[0]) / (point[0] - last[0]) : 1.0;
                    curve->logs[next++] = last[1] + (point[1] - last[1]) * fmax(share, 0.0);
                }
                memcpy(last, point, sizeof(last));
                skip_blanks(&input);
            }
            if (!input.reason && points == 0)
                input.reason = "expected SIZE=FACTOR";
            while (next < ST_NCCL_OCTAVES)
                curve->logs[next++] = last[1];
        }
        if (!input.reason && *input.at == ';') {
            input.at++;
        }
    }
    *at = (size_t)(input.at - text);
    return input.reason;
}

/* ---- plans ---- */

/* Octaves between the ranks on a machine of two groups. */
static double crowd(const st_nccl_group *group, const st_nccl_curve *curve)
{
    return fabs(log2(group->per_node * curve->nodes / curve->ranks));
}

static bool is_inside(double nodes)
{
    return nodes <= 1.0;
}

/*
 * Whether a curve applies to a group: one of a node of nodes, one of several of several, and over
 * PCIe a pair, which reaches each other directly, of pairs only: more GPUs may go through shared
 * memory.
 */
static bool same_kind(const st_nccl_group *group, const st_nccl_curve *curve)
{
    bool inside = is_inside(group->nodes);
    bool pairs = inside && group->over_pcie;
    return is_inside(curve->nodes) == inside &&
           (!pairs || (curve->ranks <= 2.0) == (group->ranks <= 2.0));
}

/* The nearest curve of the same kind on one side; NULL: none. */
static const st_nccl_curve *nearest(const st_nccl_group *group,
                                    const st_nccl_correction *correction, bool above, double *least)
{
    const st_nccl_curve *found = NULL;
    for (size_t i = 0; i < correction->count; i++) {
        const st_nccl_curve *curve = &correction->curves[i];
        /* Octaves between two groups: of their ranks, machines and ranks on a machine. */
        double distance_away = fabs(log2(group->ranks / curve->ranks));
        bool across = group->nodes > 1.0;
        double away = distance_away + fabs(log2(group->nodes / curve->nodes)) +
                      (across ? crowd(group, curve) : 0.0);
        if (same_kind(group, curve) && (curve->ranks > group->ranks) == above &&
            (!found || away < *least)) {
            found = curve;
            *least = away;
        }
    }
    return found;
}

/*
 * A curve where a rank has as many bytes as in the group at 2^octave: chunks, and where protocols
 * change, go by these.
 */
static double at_same_share(const st_nccl_group *group, const st_nccl_curve *curve, size_t octave)
{
    double place = (double)octave + log2(curve->ranks / group->ranks);
    double last = ST_NCCL_OCTAVES - 1;
    place = fmin(fmax(place, 0.0), last);
    size_t below = (size_t)fmin(floor(place), last - 1.0);
    const double *logs = &curve->logs[below];
    return logs[0] + (logs[1] - logs[0]) * (place - (double)below);
}

/*
 * What the nearest curves below and above say at a distance: the mean of a process whose
 * correlation falls by 1/e over REACH, given its values at both (an Ornstein-Uhlenbeck bridge).
 */
static bool mix(const st_nccl_group *group, const st_nccl_correction *correction, double *logs)
{
    double below_away = 0.0;
    double above_away = 0.0;
    const st_nccl_curve *below = nearest(group, correction, false, &below_away);
    const st_nccl_curve *above = nearest(group, correction, true, &above_away);
    double below_say = below ? exp(-below_away / REACH) : 0.0;
    double above_say = above ? exp(-above_away / REACH) : 0.0;
    if (below && above) {
        double all = sinh((below_away + above_away) / REACH);
        below_say = sinh(above_away / REACH) / all;
        above_say = sinh(below_away / REACH) / all;
    }
    for (size_t i = 0; i < ST_NCCL_OCTAVES; i++)
        logs[i] = (below ? below_say * at_same_share(group, below, i) : 0.0) +
                  (above ? above_say * at_same_share(group, above, i) : 0.0);
    return below || above;
}

double st_nccl_closeness(const st_nccl_group *group, const st_nccl_correction *correction,
                         double share)
{
    double least = HUGE_VAL;
    bool known = false; /* of groups inside of a node, or of several, as this one */
    for (size_t i = 0; i < correction->count; i++) {
        const st_nccl_curve *curve = &correction->curves[i];
        bool inside = is_inside(group->nodes);
        known = known || is_inside(curve->nodes) == inside;
        if (!same_kind(group, curve)) {
            continue;
        }
        if (curve->ranks == group->ranks && curve->nodes == group->nodes) {
            return 1.0;
        }
        least = fmin(least, inside ? 0.0 : crowd(group, curve));
    }
    if (least < HUGE_VAL)
        return share * exp(-least / CROWD_REACH);
    return known ? 0.0 : 1.0;
}

static const st_nccl_curve *measured(const st_nccl_group *group,
                                     const st_nccl_correction *correction)
{
    for (size_t i = 0; i < correction->count; i++) {
        const st_nccl_curve *curve = &correction->curves[i];
        if (curve->ranks == group->ranks && curve->nodes == group->nodes) {
            return curve;
        }
    }
    return NULL;
}

bool st_nccl_between(const st_nccl_group *group, const st_nccl_correction *correction, int range,
                     const st_nccl_curve *ends[2])
{
    double away;
    if (measured(group, correction))
        return false;
    ends[0] = nearest(group, correction, false, &away);
    ends[1] = nearest(group, correction, true, &away);
    return ends[0] && ends[1] && ends[0]->between[range] &&
           (is_inside(group->nodes) ||
            (crowd(group, ends[0]) == 0.0 && crowd(group, ends[1]) == 0.0));
}

void st_nccl_interpolate(st_nccl_plan *plan, const st_nccl_plan ends[2])
{
    double place = log(plan->group.ranks / ends[0].group.ranks) /
                   log(ends[1].group.ranks / ends[0].group.ranks);
    plan->corrected = false;
    for (int i = 0; i < ST_NCCL_OCTAVES; i++) {
        double bytes = ldexp(1.0, i);
        double below = log(st_nccl_time_us(&ends[0], bytes));
        double above = log(st_nccl_time_us(&ends[1], bytes));
        plan->factor_logs[i] = below + (above - below) * place - log(st_nccl_time_us(plan, bytes));
    }
    plan->corrected = true;
}

void st_nccl_verdict(const st_nccl_group *group, const st_nccl_correction *correction,
                     const double shares[2], int range, char *text, size_t size)
{
    double away[2] = {0.0, 0.0};
    const st_nccl_curve *below = nearest(group, correction, false, &away[0]);
    const st_nccl_curve *above = nearest(group, correction, true, &away[1]);
    const st_nccl_curve *one = below ? below : above;
    const st_nccl_curve *ends[2];
    double taken = 100.0 * st_nccl_closeness(group, correction, shares[range]);
    text[0] = '\0';
    if (correction->count == 0)
        return;
    if (measured(group, correction)) {
        snprintf(text, size, "measured");
    } else if (st_nccl_between(group, correction, range, ends)) {
        snprintf(text, size, "interpolated between the times of %.0f and %.0f ranks",
                 ends[0]->ranks, ends[1]->ranks);
    } else if (!one) {
        snprintf(text, size, "no group of its kind was measured: nominal");
    } else if (below && above && below->ranks < group->ranks && above->ranks > group->ranks &&
               crowd(group, below) == 0.0) {
        snprintf(text, size,
                 "interpolated between %.0f and %.0f ranks, with %.0f %% of the calibration",
                 below->ranks, above->ranks, taken);
    } else {
        snprintf(text, size,
                 "extrapolated by %.1f octaves of ranks, %.1f of nodes, %.1f of ranks on a node, "
                 "with %.0f %% of the calibration",
                 fabs(log2(group->ranks / one->ranks)), fabs(log2(group->nodes / one->nodes)),
                 crowd(group, one), taken);
    }
}

void st_nccl_correct(st_nccl_plan *plan, const st_nccl_correction *correction, double share)
{
    plan->corrected = plan->count > 0 && mix(&plan->group, correction, plan->factor_logs);
    for (size_t i = 0; plan->corrected && i < ST_NCCL_OCTAVES; i++)
        plan->factor_logs[i] *= share;
}

double st_nccl_corrected_us(const st_nccl_plan *plan, double bytes, double plain_us)
{
    int exponent;
    double mantissa = frexp(fmax(bytes, 1.0), &exponent);
    size_t octave = (size_t)(exponent - 1);
    if (octave + 1 >= ST_NCCL_OCTAVES)
        return plain_us * exp(plan->factor_logs[ST_NCCL_OCTAVES - 1]);
    const double *logs = &plan->factor_logs[octave];
    return plain_us * exp(logs[0] + (logs[1] - logs[0]) * log2(2.0 * mantissa));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that leave nodes over time, the regular on-off shape of Li et al. 2024 section 3.1.
 *
 * Volumes are those of the job's traffic between nodes (estimate/traffic.h), by stage and kind;
 * when they are sent is when the timeline has messages of that kind on a rank of that stage, each
 * kind at one rate. A kind that hides inside of passes, and what a kind's messages could not send
 * at the rate of the node's network cards, is spread over the passes. What kinds, stages or both
 * directions of a pipeline would send at once above that rate waits until the cards are free. Every
 * byte is sent exactly once.
 */
#ifndef STEPTIME_TIMELINE_NIC_H
#define STEPTIME_TIMELINE_NIC_H

#include "estimate/traffic.h"
#include "timeline/timeline.h"

enum { ST_NIC_MOST_BINS = 100000 };

/* Nodes that send the same. */
typedef struct st_nic_class {
    size_t first_node;
    size_t nodes;
    const double *bytes;  /* by bin, of one node */
    double sent_bytes;    /* of one node in a step */
    double hidden_bytes;  /* of these, spread over the passes */
    double delayed_bytes; /* above the rate when they would leave, and so sent at another time */
} st_nic_class;

typedef struct st_nic_usage {
    const st_timeline *timeline;
    size_t bins;
    double bin_s;
    double rate;                 /* B/s of a node's cards; 0: not known */
    const st_nic_class *classes; /* by their first node */
    size_t class_count;
} st_nic_usage;

/* `estimate` is the job that the timeline was made of; its sheet is run for the traffic, and those
 * of stages with an estimate of their own. Everything lives in `arena`. */
st_status st_nic_usage_make(st_estimate *estimate, const st_timeline *timeline, size_t bins,
                            st_arena *arena, st_nic_usage *usage, st_errors *errors) ST_NODISCARD;

/* A result of its own; CSV is a row for each class and bin. */
void st_nic_report(const st_nic_usage *usage, st_arena *arena, st_result *result);
/* A curve for each class, at most eight. */
void st_nic_svg(const st_nic_usage *usage, st_buffer *svg);

#endif

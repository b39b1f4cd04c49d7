/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traffic of a job: the groups of its plan on the nodes, and the matrix of who sends how much to
 * whom.
 *
 * Volumes come from the sheet's role 'sent', stage by stage where it can be asked for one (role
 * 'stage_asked'): every rank sends what ranks of its stage send.
 */
#ifndef STEPTIME_ESTIMATE_TRAFFIC_H
#define STEPTIME_ESTIMATE_TRAFFIC_H

#include "base/result.h"
#include "estimate/report.h"
#include "estimate/placement.h"

typedef struct st_traffic_report {
    const st_estimate *estimate;
    st_placement placement;
    st_traffic traffic;
    const char *order;
    bool order_is_default;
    bool wanted[ST_GROUPS];             /* kinds to show */
    const char *cells[ST_GROUPS];       /* that gave the volumes; NULL: the sheet has none */
    uint64_t crossing_bytes[ST_GROUPS]; /* of the totals, between nodes */
    st_token_shares tokens;             /* 0 ranks: as model.imbalance says */
    const char *tokens_file;
} st_traffic_report;

/*
 * Places the job and runs its sheet; `estimate` must be loaded. `only` limits the kinds, ST_GROUPS
 * shows all. A job whose ranks do not fit its cluster is refused.
 */
st_status st_traffic_report_make(st_estimate *estimate, st_group only, st_arena *arena,
                                 st_traffic_report *report, st_errors *errors) ST_NODISCARD;

/*
 * Sends tokens where a table says instead of where model.imbalance does (token_shares.h). Refuses a
 * job without an expert group of several ranks.
 */
st_status st_traffic_report_send_tokens(st_traffic_report *report, const char *file,
                                        st_arena *arena, st_errors *errors) ST_NODISCARD;

void st_traffic_result(const st_traffic_report *report, st_arena *arena, st_result *result);
/* Who sends how much to whom: a row for each pair of ranks. */
void st_traffic_flows_csv(const st_traffic_report *report, st_buffer *buffer);
/* A heat map, logarithmic unless `linear`; plans of more than 256 ranks are drawn by node, or by
 * blocks of nodes. */
st_status st_traffic_report_svg(const st_traffic_report *report, bool linear, st_arena *arena,
                                st_buffer *buffer, st_errors *errors) ST_NODISCARD;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Traffic of a job: its ranks on nodes, and who sends how much to whom in a step. */
#ifndef STEPTIME_JOB_TRAFFIC_H
#define STEPTIME_JOB_TRAFFIC_H

#include "steptime/estimate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct st_traffic_request {
    size_t size;
    const char *kind;   /* tp, cp, ep, dp, pp, emb or expert_dp alone; NULL: all */
    const char *tokens; /* a table of shares (docs/commands.md) in place of model.imbalance */
    bool messages; /* of text and JSON: also those of a rank of stage parallel.stage, by size */
    bool linear;   /* of the picture: its scale of colours */
} st_traffic_request;

#define ST_TRAFFIC_REQUEST_INIT                                                                    \
    {                                                                                              \
        sizeof(st_traffic_request), NULL, NULL, false, false                                       \
    }

/*
 * Appends what `steptime traffic` writes of the estimate's job as it is set now: groups and their
 * bytes as text or JSON, a row for each pair of ranks as CSV, the heat map as SVG. The estimate is
 * unchanged. A job whose ranks do not fit its cluster is refused.
 */
ST_API st_status st_traffic_write(st_estimate *estimate, const st_traffic_request *request,
                                  const st_estimate_view *view, st_buffer *buffer,
                                  st_errors *errors) ST_NODISCARD;

#ifdef __cplusplus
}
#endif
#endif

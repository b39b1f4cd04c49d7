/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's constants (src/graph/tuning.cc, topo.h, search.cc of the versions in model.h). */
#ifndef ST_NCCL_TABLES_H
#define ST_NCCL_TABLES_H

#include "model.h"

#define ST_NCCL_SHARES 23

extern const double st_nccl_base_us[ST_NCCL_VERSIONS][5][ST_NCCL_PROTOCOLS];
extern const double st_nccl_hop_us[ST_NCCL_VERSIONS][3][5][ST_NCCL_PROTOCOLS];

/* By architecture for 1, 2 and more machines. */
typedef double st_nccl_limits[4][3];
extern const st_nccl_limits st_nccl_ll_limit_gbs;
extern const st_nccl_limits st_nccl_ring_ll128_gbs[ST_NCCL_VERSIONS];
extern const st_nccl_limits st_nccl_tree_ll128_gbs[ST_NCCL_VERSIONS];
extern const st_nccl_limits st_nccl_tree_gbs[ST_NCCL_VERSIONS];
extern const st_nccl_limits st_nccl_nvls_tree_gbs[ST_NCCL_VERSIONS];
extern const double st_nccl_tree_shares[ST_NCCL_PROTOCOLS][ST_NCCL_SHARES];

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's constants (src/graph/tuning.cc, topo.h, search.cc of 2.22.3 and 2.30.7). */
#ifndef ST_NCCL_TABLES_H
#define ST_NCCL_TABLES_H

#include "model.h"

#define ST_NCCL_SHARES 23

extern const double st_nccl_base_us[2][5][ST_NCCL_PROTOCOLS];
extern const double st_nccl_hop_us[2][3][5][ST_NCCL_PROTOCOLS];
extern const double st_nccl_ll_limit_gbs[4][3];
extern const double st_nccl_ring_ll128_gbs[4][3];
extern const double st_nccl_tree_ll128_gbs[4][3];
extern const double st_nccl_tree_gbs[4][3];
extern const double st_nccl_nvls_tree_gbs[4][3];
extern const double st_nccl_tree_shares[ST_NCCL_PROTOCOLS][ST_NCCL_SHARES];

#endif

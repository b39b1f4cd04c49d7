/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's constants, facts of its sources: src/graph/tuning.cc of v2.22.3-1, v2.27.3-1, v2.28.3-1,
 * v2.29.2-1 and v2.30.7-1.
 * Algorithms in the order tree, ring, NVLS, NVLS tree, PAT; protocols LL, LL128, Simple.
 */
#include "tables.h"

#define BASE_2_23                                                                                  \
    {                                                                                              \
        {6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}, {0, 0, 0}, {0, 0, 0},                                  \
        {                                                                                          \
            8.0, 8.0, 8.0                                                                          \
        }                                                                                          \
    }

const double st_nccl_base_us[ST_NCCL_VERSIONS][5][ST_NCCL_PROTOCOLS] = {
    {{6.8, 14.0, 0.0}, {6.6, 14.0, 8.4}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}},
    BASE_2_23,
    BASE_2_23,
    BASE_2_23,
    BASE_2_23,
};

/* From 2.23 on only a hop of an NVLS tree over the network has changed. */
#define HOPS_2_23(nvls_tree)                                                                       \
    {                                                                                              \
        {{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4.0}},                  \
            {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, {0, 0, 0}, {0, 0, 0}, {0, 0, 4.0}},                 \
            {{5.0, 8.5, 14}, {2.7, 4.0, 14.0}, {0, 0, 18}, {0, 0, nvls_tree}, {0, 0, 14}},         \
    }

/* By version and link: NVLink, PCI, network. */
const double st_nccl_hop_us[ST_NCCL_VERSIONS][3][5][ST_NCCL_PROTOCOLS] = {
    {
        {{0.6, 1.25, 28}, {0.6, 1.9, 3.4}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4.0}},
        {{1.0, 1.9, 28}, {1.0, 2.5, 5.7}, {0, 0, 0}, {0, 0, 0}, {0, 0, 4.0}},
        {{5.0, 8.5, 28}, {2.7, 4.0, 14.0}, {0, 0, 18}, {0, 0, 14}, {0, 0, 14}},
    },
    HOPS_2_23(14),
    HOPS_2_23(14),
    HOPS_2_23(20.9),
    HOPS_2_23(20.9),
};

/*
 * Limits by architecture (Volta, Ampere, Hopper, Blackwell) for 1, 2 and more machines. Blackwell
 * came with 2.25 and twice Hopper's.
 */
const st_nccl_limits st_nccl_ll_limit_gbs = {
    {39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {282.0, 90.0, 70.0}};

#define RING_LL128(...)                                                                            \
    {                                                                                              \
        {20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 36.7},                                \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define TREE_LL128(...)                                                                            \
    {                                                                                              \
        {20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0},                                \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define TREE(...)                                                                                  \
    {                                                                                              \
        {26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0},                                \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define NVLS_TREE(...)                                                                             \
    {                                                                                              \
        {26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {0.0, 57.7, 45.5},                                 \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

const st_nccl_limits st_nccl_ring_ll128_gbs[ST_NCCL_VERSIONS] = {
    RING_LL128(73.4, 73.4, 73.4), RING_LL128(73.4, 73.4, 73.4), RING_LL128(73.4, 73.4, 73.4),
    RING_LL128(34.5, 34.6, 34.5), RING_LL128(40.0, 40.0, 40.0)};
const st_nccl_limits st_nccl_tree_ll128_gbs[ST_NCCL_VERSIONS] = {
    TREE_LL128(73.4, 73.4, 58.0), TREE_LL128(73.4, 73.4, 58.0), TREE_LL128(55.6, 31.67, 20.0),
    TREE_LL128(55.6, 31.67, 20.0), TREE_LL128(55.6, 31.67, 20.0)};
const st_nccl_limits st_nccl_tree_gbs[ST_NCCL_VERSIONS] = {
    TREE(77.4, 82.8, 72.0), TREE(77.4, 82.8, 72.0), TREE(70.0, 42.8, 24.0), TREE(70.0, 42.8, 24.0),
    TREE(70.0, 42.8, 24.0)};
/* Without a limit before 2.28. */
const st_nccl_limits st_nccl_nvls_tree_gbs[ST_NCCL_VERSIONS] = {{{0.0}},
                                                                {{0.0}},
                                                                NVLS_TREE(0.0, 96.0, 43.1),
                                                                NVLS_TREE(0.0, 96.0, 43.8),
                                                                NVLS_TREE(0.0, 96.0, 80.0)};

/* Of a tree's rate, by floor(log2(bytes/64)). */
const double st_nccl_tree_shares[ST_NCCL_PROTOCOLS][ST_NCCL_SHARES] = {
    {1.0, 1.0, 1.0, 1.0, .9, .8, .7, .7,  .7,  .7,  .6, .5,
     .4,  .4,  .5,  .6,  .7, .8, .9, 1.0, 1.0, 1.0, 1.0},
    {1.0, 1.0, 1.0, 1.0, 1.0, .9, .8, .8, .8, .7,  .6, .6,
     .6,  .6,  .6,  .6,  .8,  .9, .9, .9, .9, 1.0, 1.0},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
};

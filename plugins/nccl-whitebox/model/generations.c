/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels of a generation of GPUs take on top of NCCL's constants. NCCL keeps one base
 * latency and one hop for all GPUs, which serve to choose between protocols; measured kernels of
 * Ampere, Hopper and Blackwell differ by up to four times. The factors are those that `steptime fit
 * nccl` finds on published tables of one machine with NVLink and a known version of NCCL, the
 * geometric mean over all-reduce, all-gather and reduce-scatter; all-to-all has its own. How, from
 * which tables, and how far off other machines then are: docs/fits/nccl-generations.md.
 *
 * Nothing is known of Volta, and nothing that holds for all boards of PCIe: there NCCL's constants
 * stand.
 */
#include "model.h"

typedef struct generation {
    double setup[ST_NCCL_PROTOCOLS];
    double latency[ST_NCCL_PROTOCOLS];
    double bandwidth[ST_NCCL_PROTOCOLS];
    double small_group;
    double nvls_latency;
} generation;

#define AS_NCCL                                                                                    \
    {                                                                                              \
        {1.0, 1.0, 1.0}, {1.0, 1.0, 1.0}, {1.0, 1.0, 1.0}, 1.0, 1.0                                \
    }

static const generation rings[] = {
    [ST_NCCL_VOLTA] = AS_NCCL,
    [ST_NCCL_AMPERE] = {{1.44, 1.00, 2.85}, {1.43, 0.80, 1.75}, {1.06, 0.74, 0.98}, 0.93, 1.0},
    [ST_NCCL_HOPPER] = {{0.78, 0.78, 1.65}, {1.36, 0.75, 0.86}, {1.35, 1.02, 1.09}, 1.08, 1.0},
    /* No public table of Blackwell has a switch of 8 GPUs: as much slower as its set-up is. */
    [ST_NCCL_BLACKWELL] = {{1.30, 1.30, 1.25}, {2.03, 1.50, 3.00}, {1.17, 1.00, 1.10}, 1.2, 1.67},
};

static const generation transfers[] = {
    [ST_NCCL_VOLTA] = AS_NCCL,
    [ST_NCCL_AMPERE] = {{1.84, 2.62, 3.16}, {1.04, 1.18, 1.08}, {0.60, 1.00, 0.89}, 0.50, 1.0},
    [ST_NCCL_HOPPER] = {{0.95, 1.06, 1.72}, {1.00, 1.03, 1.10}, {0.20, 0.94, 0.90}, 0.35, 1.0},
    [ST_NCCL_BLACKWELL] = {{1.46, 1.47, 1.77}, {1.03, 1.17, 1.11}, {0.20, 1.06, 0.91}, 1.20, 1.0},
};

void st_nccl_of_generation(const st_nccl_machine *machine, const st_nccl_plan *plan,
                           st_nccl_factors *factors)
{
    const generation *found = plan->collective >= ST_NCCL_ALL_TO_ALL ? transfers : rings;
    if (machine->link != ST_NCCL_NVLINK)
        return;
    found += machine->arch;
    for (int i = 0; i < ST_NCCL_PROTOCOLS; i++) {
        factors->inside.setup[i] *= found->setup[i];
        factors->inside.latency[i] *= found->latency[i];
        factors->inside.bandwidth[i] *= found->bandwidth[i];
        /* Across machines no kernel was measured to begin sooner than NCCL says. */
        factors->across.setup[i] *= found->setup[i] > 1.0 ? found->setup[i] : 1.0;
    }
    /* Hops of LL are as inside; the rest is the network's. */
    factors->across.latency[ST_NCCL_LL] *= found->latency[ST_NCCL_LL];
    factors->small_group *= found->small_group;
    factors->nvls_latency *= found->nvls_latency;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a call of cuBLAS multiplies. */
#ifndef STEPTIME_RECORD_LIBRARY_PRODUCTS_H
#define STEPTIME_RECORD_LIBRARY_PRODUCTS_H

#include "record/library/entry.h"

static inline uint32_t st_dim(const st_call *call, char letter, uint32_t none)
{
    return (uint32_t)st_role(call, letter, none);
}

/*
 * Of any function of cuBLAS that computes: t, u transposes, m, n, k sizes, x, y, z leading
 * dimensions, a, b, d types, c compute type, q batch. The constant is the type of all three where
 * there are no letters. The stream is the handle's.
 */
static inline st_log_gemm st_gemm_of(const st_call *call)
{
    uint32_t type = (uint32_t)call->entry->constant & UINT8_MAX;
    return (st_log_gemm){.m = st_dim(call, 'm', 0),
                         .n = st_dim(call, 'n', 0),
                         .k = st_dim(call, 'k', 0),
                         .batch = st_dim(call, 'q', 1),
                         .type_a = (uint8_t)st_dim(call, 'a', type),
                         .type_b = (uint8_t)st_dim(call, 'b', type),
                         .type_d = (uint8_t)st_dim(call, 'd', st_dim(call, 'a', type)),
                         .compute = (uint8_t)st_dim(call, 'c', 68),
                         .transpose_a = (uint8_t)st_dim(call, 't', 0),
                         .transpose_b = (uint8_t)st_dim(call, 'u', 0),
                         .lda = st_dim(call, 'x', 0),
                         .ldb = st_dim(call, 'y', 0),
                         .ldd = st_dim(call, 'z', 0)};
}

/* In profile.c: what the thread launches until the pop belongs to this product. */
void st_product_push(const st_log_gemm *gemm);
void st_product_pop(void);

#endif

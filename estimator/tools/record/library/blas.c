/* SPDX-License-Identifier: Apache-2.0 */
/* cuBLAS, and the handles of cuBLAS and cuDNN. */
#include "record/library/handlers.h"
#include "record/library/objects.h"
#include "record/library/products.h"
#include "record/library/transfers.h"

#include <stdlib.h>

enum { BLAS_INVALID_VALUE = 7, BLAS_MAPPING_ERROR = 11 };

/* What a handle has: its stream (constant 0), math mode (1), pointer mode (2). */
uint64_t st_do_handle_set(st_call *call)
{
    st_object *object = call->taken[0];
    uint64_t value = st_word(call, 1);
    if (call->entry->constant == 0 && st_stream_of(value) == NULL)
        return st_misuse(call, BLAS_INVALID_VALUE, "invalid stream handle");
    if (call->entry->constant == 0)
        object->blas.stream = value;
    else if (call->entry->constant == 1)
        object->blas.math_mode = (uint32_t)value;
    else
        object->blas.pointer_mode = (uint32_t)value;
    return 0;
}

uint64_t st_do_handle_get(st_call *call)
{
    const st_object *object = call->taken[0];
    if (call->entry->constant == 0)
        return ST_PUT(call, 1, uint64_t, object->blas.stream);
    return ST_PUT(call, 1, uint32_t,
                  call->entry->constant == 1 ? object->blas.math_mode : object->blas.pointer_mode);
}

/* The stream that is set for the handle of a call; NULL makes the call a misuse. */
static st_object *stream_of(st_call *call)
{
    st_object *stream = st_stream_of(call->taken[0]->blas.stream);
    if (stream == NULL)
        (void)st_misuse(call, BLAS_INVALID_VALUE, "destroyed stream");
    return stream;
}

/* ---- products of matrices ---- */

/* How FP32 numbers are multiplied where the call leaves that to the handle (cublasMath_t): mode 3
 * is TF32, mode 1, which is deprecated, FP16; NVIDIA_TF32_OVERRIDE=0 forbids, any other number
 * demands TF32. */
static uint8_t compute_of(const st_object *handle, uint8_t asked)
{
    enum { COMPUTE_FP32 = 68, COMPUTE_FAST_FP16 = 74, COMPUTE_TF32 = 77, MODE_MASK = 15 };
    const char *override = getenv("NVIDIA_TF32_OVERRIDE");
    uint32_t mode = handle->blas.math_mode & MODE_MASK;
    if (override != NULL && strcmp(override, "0") == 0)
        return asked == COMPUTE_TF32 ? COMPUTE_FP32 : asked;
    if (asked != COMPUTE_FP32)
        return asked;
    if (mode == 3 || override != NULL)
        return COMPUTE_TF32;
    return mode == 1 ? COMPUTE_FAST_FP16 : asked;
}

static uint64_t multiply(st_call *call, const st_log_gemm *asked)
{
    st_object *stream = stream_of(call);
    if (stream == NULL)
        return BLAS_INVALID_VALUE;
    st_log_gemm *gemm = &call->draft.gemm;
    call->is_short = true;
    call->draft.kind = ST_LOG_GEMM;
    *gemm = *asked;
    gemm->stream = stream->number;
    if (gemm->type_a == ST_LOG_FP32)
        gemm->compute = compute_of(call->taken[0], gemm->compute);
    if ((int32_t)gemm->m < 0 || (int32_t)gemm->n < 0 || (int32_t)gemm->k < 0)
        return st_misuse(call, BLAS_INVALID_VALUE, "negative matrix size");
    st_enqueue(call, stream);
    st_mix(ST_LOG_GEMM);
    st_mix((uint64_t)gemm->m << 32 | gemm->n);
    st_mix((uint64_t)gemm->k << 32 | gemm->batch);
    return 0;
}

uint64_t st_do_gemm(st_call *call)
{
    const st_log_gemm asked = st_gemm_of(call);
    return multiply(call, &asked);
}

/* Products with a triangular or symmetric matrix, all of which counts: letters as above, without m
 * where the result is square, without k where a factor is. */
uint64_t st_do_gemm_square(st_call *call)
{
    st_log_gemm asked = st_gemm_of(call);
    asked.m = st_dim(call, 'm', asked.n);
    asked.k = st_dim(call, 'k', asked.m);
    return multiply(call, &asked);
}

/*
 * Products of several sizes, each as often as its group has members: lists of t, u transposes, m,
 * n, k sizes, x, y, z leading dimensions, q members of a group; g how many groups, and types as
 * above.
 */
uint64_t st_do_gemm_groups(st_call *call)
{
    st_object *stream = stream_of(call);
    const char letters[] = "tumnkxyzq";
    const int32_t *lists[sizeof letters - 1];
    if (stream == NULL)
        return BLAS_INVALID_VALUE;
    const st_log_gemm common = st_gemm_of(call);
    uint32_t groups = st_dim(call, 'g', 0);
    for (size_t i = 0; i < sizeof letters - 1; i++) {
        lists[i] = st_role_pointer(call, letters[i]);
        if (lists[i] == NULL && groups > 0)
            return st_misuse(call, BLAS_INVALID_VALUE, "a list of sizes is missing");
    }
    st_enqueue(call, stream);
    for (uint32_t i = 0; i < groups; i++) {
        st_log_gemm made = common;
        made.stream = stream->number;
        made.transpose_a = (uint8_t)lists[0][i];
        made.transpose_b = (uint8_t)lists[1][i];
        made.m = (uint32_t)lists[2][i];
        made.n = (uint32_t)lists[3][i];
        made.k = (uint32_t)lists[4][i];
        made.lda = (uint32_t)lists[5][i];
        made.ldb = (uint32_t)lists[6][i];
        made.ldd = (uint32_t)lists[7][i];
        made.batch = (uint32_t)lists[8][i];
        if (made.type_a == ST_LOG_FP32)
            made.compute = compute_of(call->taken[0], made.compute);
        st_mix((uint64_t)made.m << 32 | made.n);
        st_mix((uint64_t)made.k << 32 | made.batch);
        if (i == 0) {
            call->draft.kind = ST_LOG_GEMM;
            call->draft.gemm = made;
            continue;
        }
        st_log_record *more = st_extra(call, ST_LOG_GEMM);
        more->gemm = made;
        more->flags = call->draft.flags;
        if ((more->flags & ST_LOG_CAPTURED) != 0)
            more->flags |= ST_LOG_SAME_NODE;
        more->call = call->draft.call;
    }
    return 0;
}

/* ---- other functions ---- */

/*
 * Vectors of n and matrices of m by n numbers, q of them: r a number that comes back, i a place; a
 * and d types as above. The constant is their type, and 256 times how often they are read or
 * written.
 */
uint64_t st_do_blas(st_call *call)
{
    st_object *stream = stream_of(call);
    if (stream == NULL)
        return BLAS_INVALID_VALUE;
    const st_log_gemm asked = st_gemm_of(call);
    if ((int32_t)asked.m < 0 || (call->entry->place['m' - 'a'] > 0 && (int32_t)asked.n < 0))
        return st_misuse(call, BLAS_INVALID_VALUE, "negative matrix size");
    if ((int32_t)asked.n <= 0) /* of vectors: nothing is done */
        return 0;
    call->draft.kind = ST_LOG_BLAS;
    call->draft.gemm = asked;
    call->draft.gemm.stream = stream->number;
    call->draft.gemm.epilogue = (uint16_t)((uint32_t)call->entry->constant >> 8);
    /* A number that the device would compute is zero; only the host's memory is written to. */
    uint32_t type = call->draft.gemm.type_d;
    const unsigned char zero[16] = {0};
    uint8_t number = call->entry->place['r' - 'a'];
    uint8_t index = call->entry->place['i' - 'a'];
    if (call->taken[0]->blas.pointer_mode == 0) {
        if (number > 0)
            (void)st_put_bytes(st_pointer(call, number - 1U), zero, st_log_type_bytes(type));
        if (index > 0)
            (void)st_put_bytes(st_pointer(call, index - 1U), zero, sizeof(int32_t));
    }
    st_enqueue(call, stream);
    st_mix(ST_LOG_BLAS);
    st_mix((uint64_t)call->draft.gemm.m << 32 | call->draft.gemm.n);
    return 0;
}

/* Copies of n numbers of e bytes, m times in a matrix: t to, f from, s stream; p, q leading
 * dimensions there. The constant is the direction. */
uint64_t st_do_blas_copy(st_call *call)
{
    uint64_t bytes = st_role(call, 'e', 0) & UINT32_MAX;
    st_copy wanted = {.to = st_role(call, 't', 0),
                      .from = st_role(call, 'f', 0),
                      .bytes = st_dim(call, 'n', 0) * bytes,
                      .rows = st_dim(call, 'm', 1),
                      .to_pitch = st_dim(call, 'p', 0) * bytes,
                      .from_pitch = st_dim(call, 'q', 0) * bytes,
                      .kind = (uint64_t)call->entry->constant};
    return st_copy_run(call, &wanted) == 0 ? 0 : BLAS_MAPPING_ERROR;
}

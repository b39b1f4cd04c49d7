/* SPDX-License-Identifier: Apache-2.0 */
/* cuBLAS, and the handles of cuBLAS and cuDNN. */
#include "record/library/handlers.h"
#include "record/library/objects.h"
#include "record/library/products.h"

enum { BLAS_NOT_INITIALIZED = 1, BLAS_ALLOC_FAILED = 3, BLAS_INVALID_VALUE = 7 };

static st_object_kind kind_of(const st_call *call)
{
    return call->entry->library == ST_CUDNN ? ST_OBJECT_CUDNN : ST_OBJECT_BLAS;
}

static uint64_t bad_handle(st_call *call)
{
    return st_misuse(call, call->entry->library == ST_CUDNN ? 2000 : BLAS_NOT_INITIALIZED,
                     "a handle of a library that is not there");
}

uint64_t st_do_handle_create(st_call *call)
{
    st_object *object = st_object_make(kind_of(call));
    if (object == NULL)
        return BLAS_ALLOC_FAILED;
    object->device = call->thread->device;
    return ST_PUT(call, 0, uint64_t, object->handle);
}

uint64_t st_do_handle_destroy(st_call *call)
{
    st_object *object = st_object_of(st_word(call, 0), kind_of(call));
    if (object == NULL)
        return bad_handle(call);
    st_object_drop(object);
    return 0;
}

/* What a handle has: its stream (constant 0), math mode (1), pointer mode (2). */
uint64_t st_do_handle_set(st_call *call)
{
    st_object *object = st_object_of(st_word(call, 0), kind_of(call));
    if (object == NULL)
        return bad_handle(call);
    uint64_t value = st_word(call, 1);
    if (call->entry->constant == 0 && st_stream_of(value) == NULL)
        return st_misuse(call, BLAS_INVALID_VALUE, "a stream that is not there");
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
    const st_object *object = st_object_of(st_word(call, 0), kind_of(call));
    if (object == NULL)
        return bad_handle(call);
    if (call->entry->constant == 0)
        return ST_PUT(call, 1, uint64_t, object->blas.stream);
    return ST_PUT(call, 1, uint32_t,
                  call->entry->constant == 1 ? object->blas.math_mode : object->blas.pointer_mode);
}

/* ---- products of matrices ---- */

uint64_t st_do_gemm(st_call *call)
{
    const st_object *handle = st_object_of(st_word(call, 0), ST_OBJECT_BLAS);
    if (handle == NULL)
        return bad_handle(call);
    st_object *stream = st_stream_of(handle->blas.stream);
    if (stream == NULL)
        return st_misuse(call, BLAS_INVALID_VALUE, "a stream that was destroyed");
    st_log_gemm *gemm = &call->draft.gemm;
    call->draft.kind = ST_LOG_GEMM;
    *gemm = st_gemm_of(call);
    gemm->stream = stream->number;
    if ((int32_t)gemm->m < 0 || (int32_t)gemm->n < 0 || (int32_t)gemm->k < 0)
        return st_misuse(call, BLAS_INVALID_VALUE, "a product of negative size");
    st_enqueue(call, stream);
    st_mix(ST_LOG_GEMM);
    st_mix((uint64_t)gemm->m << 32 | gemm->n);
    st_mix((uint64_t)gemm->k << 32 | gemm->batch);
    return 0;
}

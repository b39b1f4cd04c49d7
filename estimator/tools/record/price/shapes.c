/* SPDX-License-Identifier: Apache-2.0 */
/* What a record of a log does on the GPU, as a size that has a price; see workers.h. */
#include "record/price/workers.h"

#include "base/hash.h"

#include <string.h>

enum {
    COMPUTE_FAST_FP16 = 74,
    COMPUTE_FAST_BF16 = 75,
    COMPUTE_TF32 = 77,
    ATTENTION_FORWARD = 2,
    ATTENTION_BACKWARD = 5
};

static const char *type_name(uint32_t type)
{
    static const char *const names[] = {
        [ST_LOG_FP32] = "fp32",     [ST_LOG_FP64] = "fp64",     [ST_LOG_FP16] = "fp16",
        [ST_LOG_BF16] = "bf16",     [ST_LOG_INT8] = "int8",     [ST_LOG_UINT8] = "uint8",
        [ST_LOG_INT32] = "int32",   [ST_LOG_UINT32] = "uint32", [ST_LOG_INT64] = "int64",
        [ST_LOG_UINT64] = "uint64", [ST_LOG_FP8_E4M3] = "fp8",  [ST_LOG_FP8_E5M2] = "fp8",
        [ST_LOG_FP4_E2M1] = "fp4",
    };
    return type < ST_COUNT(names) ? names[type] : NULL;
}

/* The number of products identifies fused attention; other graphs are sized by their tensors. */
static void shape_cudnn(const st_log_cudnn *cudnn, st_task_shape *shape)
{
    bool forward = cudnn->matmuls == ATTENTION_FORWARD;
    shape->type = type_name(cudnn->type);
    if (forward || cudnn->matmuls == ATTENTION_BACKWARD) {
        shape->form = forward ? ST_FORM_ATTENTION : ST_FORM_ATTENTION_BACKWARD;
        shape->sizes[ST_SIZE_BATCH] = cudnn->dims[0];
        shape->sizes[ST_SIZE_HEADS] = cudnn->dims[1];
        if (cudnn->share > 1)
            shape->sizes[ST_SIZE_KV_HEADS] = (double)cudnn->dims[1] / cudnn->share;
        shape->sizes[ST_SIZE_SEQUENCE] = cudnn->dims[2];
        shape->sizes[ST_SIZE_HEAD_DIM] = cudnn->dims[3];
        return;
    }
    if (cudnn->matmuls == 1) {
        static const st_size_key keys[] = {ST_SIZE_M, ST_SIZE_N, ST_SIZE_K, ST_SIZE_PRODUCTS};
        shape->form = ST_FORM_PRODUCT;
        for (size_t i = 0; i < ST_COUNT(keys); i++)
            shape->sizes[keys[i]] = cudnn->dims[i];
        return;
    }
    shape->form = ST_FORM_KERNEL;
    shape->sizes[ST_SIZE_BYTES] = (double)cudnn->kib * 1024;
}

bool st_task_shape_of(const st_log_record *record, const char *name, st_task_shape *shape)
{
    *shape = (st_task_shape){.form = ST_FORM_KERNEL, .name = name};
    switch ((st_log_kind)record->kind) {
    case ST_LOG_LAUNCH:
        shape->sizes[ST_SIZE_BYTES] = (double)record->launch.pointer_kib * 1024;
        return true;
    case ST_LOG_GEMM: /* cuBLAS is column-major: its columns are the caller's rows, the tokens */
        shape->form = ST_FORM_PRODUCT;
        shape->sizes[ST_SIZE_M] = record->gemm.n;
        shape->sizes[ST_SIZE_N] = record->gemm.m;
        shape->sizes[ST_SIZE_K] = record->gemm.k;
        shape->sizes[ST_SIZE_PRODUCTS] = record->gemm.batch;
        shape->type = type_name(record->gemm.type_a);
        if (record->gemm.type_a == ST_LOG_FP32 && record->gemm.compute == COMPUTE_TF32)
            shape->type = "tf32";
        if (record->gemm.type_a == ST_LOG_FP32 && (record->gemm.compute == COMPUTE_FAST_FP16 ||
                                                   record->gemm.compute == COMPUTE_FAST_BF16))
            shape->type = "bf16";
        return true;
    case ST_LOG_BLAS:
        shape->type = type_name(record->gemm.type_a);
        shape->sizes[ST_SIZE_BYTES] = (double)record->gemm.epilogue *
                                      (record->gemm.batch > 0 ? record->gemm.batch : 1) *
                                      st_log_type_bytes(record->gemm.type_a) *
                                      (record->gemm.m > 0 ? record->gemm.m : 1) * record->gemm.n;
        return true;
    case ST_LOG_CUDNN:
        shape_cudnn(&record->cudnn, shape);
        return true;
    case ST_LOG_COPY:
        shape->sizes[ST_SIZE_BYTES] = (double)record->copy.bytes;
        shape->form =
            record->copy.direction == ST_LOG_DEVICE_TO_DEVICE ? ST_FORM_COPY : ST_FORM_HOST_COPY;
        return record->copy.direction != ST_LOG_HOST_TO_HOST;
    case ST_LOG_SET:
        shape->sizes[ST_SIZE_BYTES] = (double)record->copy.bytes;
        shape->form = ST_FORM_FILL;
        return true;
    default:
        return false;
    }
}

const uint32_t *st_record_stream(const st_log_record *record)
{
    switch ((st_log_kind)record->kind) {
    case ST_LOG_LAUNCH:
        return &record->launch.stream;
    case ST_LOG_COPY:
    case ST_LOG_SET:
        return &record->copy.stream;
    case ST_LOG_GEMM:
    case ST_LOG_BLAS:
        return &record->gemm.stream;
    case ST_LOG_CUDNN:
        return &record->cudnn.stream;
    case ST_LOG_COLLECTIVE:
        return &record->collective.stream;
    case ST_LOG_EVENT_RECORD:
    case ST_LOG_EVENT_WAIT:
        return &record->event.stream;
    case ST_LOG_STREAM_CREATE:
        return &record->stream.stream;
    default:
        return NULL;
    }
}

/* ---- each once ---- */

static bool same_shape(const st_task_shape *a, const st_task_shape *b)
{
    return a->form == b->form && a->at_most == b->at_most && a->measured == b->measured &&
           strcmp(a->name, b->name) == 0 && strcmp(st_or_none(a->type), st_or_none(b->type)) == 0 &&
           memcmp(a->sizes, b->sizes, sizeof a->sizes) == 0;
}

uint32_t st_run_shape(st_run *run, const st_task_shape *shape)
{
    uint32_t index = ST_NO_INDEX;
    uint64_t hash = st_hash_bytes(ST_HASH_BEGIN, shape->sizes, sizeof shape->sizes);
    hash = st_hash_word(st_hash_text(hash, shape->name), (uint64_t)shape->form);
    ST_INDEX_FIND(&run->shape_index, hash, index, same_shape(&run->shapes[index], shape));
    if (index != ST_INDEX_NONE)
        return index;
    index = (uint32_t)run->shape_count;
    (void)ST_APPEND(run->arena, run->shapes, run->shape_count, *shape);
    (void)st_index_add(&run->shape_index, run->arena, hash, index);
    return index;
}

const st_log_record *st_run_record(st_run *run, const st_log_record *record)
{
    uint32_t index = ST_NO_INDEX;
    st_log_record kept = *record;
    kept.begin_ns = 0;
    kept.length_ns = 0;
    uint64_t hash = st_hash_bytes(ST_HASH_BEGIN, &kept, sizeof kept);
    ST_INDEX_FIND(&run->record_index, hash, index,
                  memcmp(run->records[index], &kept, sizeof kept) == 0);
    if (index != ST_INDEX_NONE)
        return run->records[index];
    st_log_record *made = st_arena_alloc(run->arena, 1, sizeof *made);
    const st_log_record *item = made;
    *made = kept;
    index = (uint32_t)run->record_count;
    (void)ST_APPEND(run->arena, run->records, run->record_count, item);
    (void)st_index_add(&run->record_index, run->arena, hash, index);
    return made;
}

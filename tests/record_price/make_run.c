/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes logs as the recorder would, of a pipeline whose stages are replicated for data: what runs
 * of `trace import` are tested and timed with where nothing was recorded.
 *
 *   make_run FOLDER WORLD STAGES LAYERS STEPS [each]
 *
 * Ranks of a stage are a block; one of each is written, with `each` all of them. Stages have
 * different kernels. Every number that counts is printed, for a rank of the first stage.
 */
#include "record/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GEMM = 1, LAUNCH, GELU, STRANGE, COLLECTIVE, INIT, MALLOC, SYNC, RECORD, WAIT, NAMES };

enum { COMPUTE = 1, NETWORK = 2, HIDDEN = 768, TOKENS = 4096 };

typedef struct plan {
    const char *folder;
    int world;
    int stages;
    int layers;
    int steps;
} plan;

typedef struct maker {
    st_log_writer *writer;
    uint64_t now_ns;
    uint32_t sequence;
} maker;

static st_log_record *next(maker *m, uint32_t call)
{
    st_log_record *record = st_log_next(m->writer);
    if (record == NULL) {
        perror("make_run");
        exit(1);
    }
    record->call = call;
    record->begin_ns = m->now_ns;
    record->length_ns = 30;
    m->now_ns += 2400;
    return record;
}

static void put_gemm(maker *m, uint32_t rows, uint32_t columns, uint32_t inner)
{
    st_log_record *record = next(m, GEMM);
    record->gemm = (st_log_gemm){.m = rows,
                                 .n = columns,
                                 .k = inner,
                                 .batch = 1,
                                 .stream = COMPUTE,
                                 .type_a = ST_LOG_BF16,
                                 .type_b = ST_LOG_BF16,
                                 .type_d = ST_LOG_BF16,
                                 .compute = 68};
    st_log_commit(record, ST_LOG_GEMM);
}

static void put_kernel(maker *m, uint32_t kernel, uint32_t kib)
{
    st_log_record *record = next(m, LAUNCH);
    record->launch = (st_log_launch){.kernel = kernel,
                                     .stream = COMPUTE,
                                     .grid = {TOKENS, 1, 1},
                                     .block = {256, 1, 1},
                                     .pointer_kib = kib};
    st_log_commit(record, ST_LOG_LAUNCH);
}

static void put_comm(maker *m, uint64_t comm, int rank, int ranks)
{
    st_log_record *record = next(m, INIT);
    record->comm = (st_log_comm){.comm = comm, .rank = rank, .ranks = ranks};
    st_log_commit(record, ST_LOG_COMM);
}

static void put_event(maker *m, st_log_kind kind, uint32_t stream)
{
    st_log_record *record = next(m, kind == ST_LOG_EVENT_RECORD ? RECORD : WAIT);
    record->event = (st_log_event){.event = 1, .stream = stream};
    st_log_commit(record, kind);
}

static void put_collective(maker *m, uint64_t comm, uint32_t stream, st_log_collective what)
{
    st_log_record *record = next(m, COLLECTIVE);
    record->collective = what;
    record->collective.comm = comm;
    record->collective.stream = stream;
    record->collective.type = ST_LOG_BF16;
    record->collective.sequence = m->sequence++;
    st_log_commit(record, ST_LOG_COLLECTIVE);
}

static void put_pass(maker *m, const plan *p, int stage, int passes)
{
    for (int i = 0; i < p->layers * passes; i++) {
        put_gemm(m, 3 * HIDDEN, TOKENS, HIDDEN);
        put_gemm(m, HIDDEN, TOKENS, HIDDEN);
        put_gemm(m, (uint32_t)(4 * HIDDEN + 8 * stage), TOKENS, HIDDEN);
        put_kernel(m, GELU, 49152);
        put_gemm(m, HIDDEN, TOKENS, 4 * HIDDEN);
    }
    put_kernel(m, STRANGE, 1234);
}

static void put_step(maker *m, const plan *p, int stage, uint64_t pipe, uint64_t data)
{
    st_log_collective transfer = {.count = (uint64_t)TOKENS * HIDDEN, .operation = ST_LOG_RECEIVE};
    st_log_collective reduce = {.count = (uint64_t)12 * HIDDEN * HIDDEN, .peer = -1};
    transfer.peer = stage - 1;
    if (stage > 0)
        put_collective(m, pipe, COMPUTE, transfer);
    put_pass(m, p, stage, 1);
    transfer.operation = ST_LOG_SEND;
    transfer.peer = stage + 1;
    if (stage + 1 < p->stages)
        put_collective(m, pipe, COMPUTE, transfer);
    transfer.operation = ST_LOG_RECEIVE;
    if (stage + 1 < p->stages)
        put_collective(m, pipe, COMPUTE, transfer);
    put_pass(m, p, stage, 2);
    transfer.operation = ST_LOG_SEND;
    transfer.peer = stage - 1;
    if (stage > 0)
        put_collective(m, pipe, COMPUTE, transfer);
    put_event(m, ST_LOG_EVENT_RECORD, COMPUTE);
    put_event(m, ST_LOG_EVENT_WAIT, NETWORK);
    for (int i = 0; i < p->layers; i++)
        put_collective(m, data, NETWORK, reduce);
    put_event(m, ST_LOG_EVENT_RECORD, NETWORK);
    put_event(m, ST_LOG_EVENT_WAIT, COMPUTE);
    st_log_record *sync = next(m, SYNC);
    sync->stream = (st_log_stream){.stream = COMPUTE};
    st_log_commit(sync, ST_LOG_STREAM_SYNC);
}

static maker begin(const plan *p, int rank)
{
    static const char *const names[NAMES] = {
        [GEMM] = "cublasGemmEx",           [LAUNCH] = "cudaLaunchKernel",
        [GELU] = "_Z12gelu_forwardPfPKfi", [STRANGE] = "_Z12frobnicate_7Pv",
        [COLLECTIVE] = "ncclGroupEnd",     [INIT] = "ncclCommInitRank",
        [MALLOC] = "cudaMalloc",           [SYNC] = "cudaStreamSynchronize",
        [RECORD] = "cudaEventRecord",      [WAIT] = "cudaStreamWaitEvent",
    };
    char path[4096];
    maker m = {.now_ns = 1000};
    st_log_header header = {.rank = rank,
                            .world = p->world,
                            .pid = (uint32_t)(1000 + rank),
                            .tid = (uint32_t)(1000 + rank),
                            .device_count = 1,
                            .device_bytes = UINT64_C(85899345920),
                            .start_monotonic_ns = 7};
    (void)snprintf(header.device, sizeof header.device, "a100-sxm-80gb");
    (void)snprintf(header.program, sizeof header.program, "train_pipeline");
    (void)snprintf(path, sizeof path, "%s/%d-%d%s", p->folder, 1000 + rank, 1000 + rank,
                   ST_LOG_SUFFIX);
    m.writer = st_log_create(path, &header);
    if (m.writer == NULL) {
        perror(path);
        exit(1);
    }
    for (uint32_t i = 1; i < NAMES; i++)
        if (!st_log_define(m.writer, i, names[i]))
            exit(1);
    return m;
}

static void write_rank(const plan *p, int rank)
{
    int data = p->world / p->stages;
    int stage = rank / data;
    maker m = begin(p, rank);
    uint64_t pipe = UINT64_C(0x1000000) + (uint64_t)(rank % data);
    uint64_t group = UINT64_C(0x2000000) + (uint64_t)stage;
    put_comm(&m, pipe, stage, p->stages);
    put_comm(&m, group, rank % data, data);
    for (uint32_t i = 1; i <= 2; i++) {
        st_log_record *stream = next(&m, SYNC);
        stream->stream = (st_log_stream){.stream = i};
        stream->flags = ST_LOG_NON_BLOCKING;
        st_log_commit(stream, ST_LOG_STREAM_CREATE);
    }
    st_log_record *memory = next(&m, MALLOC);
    memory->memory = (st_log_memory){.pointer = 0x7000,
                                     .bytes = UINT64_C(2386558976),
                                     .charged_bytes = UINT64_C(2386558976),
                                     .live_bytes = UINT64_C(2826960896)};
    st_log_commit(memory, ST_LOG_MALLOC);
    for (int i = 0; i < p->steps; i++)
        put_step(&m, p, stage, pipe, group);
    st_log_record *end = next(&m, 0);
    end->end = (st_log_end){.records = st_log_written(m.writer),
                            .work_hash = UINT64_C(0x9E3779B97F4A7C15) * (uint64_t)(stage + 1)};
    st_log_commit(end, ST_LOG_END);
    st_log_close(m.writer);
}

static int number(const char *text)
{
    char *end = NULL;
    long value = strtol(text, &end, 10);
    if (*end != '\0' || value < 1 || value > 1000000) {
        fprintf(stderr, "make_run: no number: %s\n", text);
        exit(2);
    }
    return (int)value;
}

int main(int count, char **words)
{
    if (count < 6)
        return 2;
    plan p = {.folder = words[1],
              .world = number(words[2]),
              .stages = number(words[3]),
              .layers = number(words[4]),
              .steps = number(words[5])};
    int data = p.world / p.stages;
    bool each = count > 6 && strcmp(words[6], "each") == 0;
    for (int rank = 0; rank < p.world; rank++)
        if (each || rank % data == (data > 1 ? 1 : 0))
            write_rank(&p, rank);
    printf("products %d\n", 4 * 3 * p.layers * p.steps);
    printf("all_reduce %d\n", p.layers * p.steps);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of recorded runs share: logs of small programs, written as the recorder does. */
#ifndef STEPTIME_TESTS_RECORD_SUPPORT_H
#define STEPTIME_TESTS_RECORD_SUPPORT_H

#include "base_support.h"

#include "record/price/imported.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    NAME_GEMM = 1,
    NAME_LAUNCH,
    NAME_KERNEL,
    NAME_COLLECTIVE,
    NAME_INIT,
    NAME_MALLOC,
    NAME_FREE,
    NAME_SYNC,
    NAME_RECORD,
    NAME_WAIT,
    NAME_COPY,
    NAME_STRANGE,
    NAME_GRAPH,
    NAME_STREAM,
    NAME_OPTIMIZER,
    NAMES
};

/* A log in the making; every call lasts 50 ns and comes 450 ns after the one before. */
typedef struct log_maker {
    st_log_writer *writer;
    uint64_t now_ns;
    uint64_t live_bytes;
    uint32_t sequence;
} log_maker;

static inline char *run_folder(char path[64])
{
    (void)snprintf(path, 64, "/tmp/steptime-run-XXXXXX");
    assert_non_null(mkdtemp(path));
    return path;
}

static inline void remove_run(const char *folder)
{
    char path[512];
    DIR *stream = opendir(folder);
    assert_non_null(stream);
    for (const struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(closedir(stream), 0);
    assert_int_equal(rmdir(folder), 0);
}

static inline log_maker begin_log(const char *folder, int rank, int world)
{
    static const char *const names[NAMES] = {
        [NAME_GEMM] = "cublasGemmEx",
        [NAME_LAUNCH] = "cudaLaunchKernel",
        [NAME_KERNEL] = "_Z12gelu_forwardPfPKfi",
        [NAME_COLLECTIVE] = "ncclAllReduce",
        [NAME_INIT] = "ncclCommInitRank",
        [NAME_MALLOC] = "cudaMalloc",
        [NAME_FREE] = "cudaFree",
        [NAME_SYNC] = "cudaStreamSynchronize",
        [NAME_RECORD] = "cudaEventRecord",
        [NAME_WAIT] = "cudaStreamWaitEvent",
        [NAME_COPY] = "cudaMemcpyAsync",
        [NAME_STRANGE] = "_ZN5thing12frobnicate_7I6half_tEEvPT_",
        [NAME_GRAPH] = "cudaGraphLaunch",
        [NAME_STREAM] = "cudaStreamCreateWithFlags",
        [NAME_OPTIMIZER] = "_Z5adamwPfPKfi",
    };
    char path[128];
    log_maker maker = {.now_ns = 1000, .live_bytes = UINT64_C(440401920)};
    st_log_header header = {.rank = rank,
                            .world = world,
                            .pid = (uint32_t)(100 + rank),
                            .tid = (uint32_t)(100 + rank),
                            .device_count = 1,
                            .device_bytes = UINT64_C(85899345920),
                            .start_monotonic_ns = 7};
    (void)snprintf(header.device, sizeof header.device, "a100-sxm-80gb");
    (void)snprintf(header.program, sizeof header.program, "train_small");
    (void)snprintf(path, sizeof path, "%s/%d-%d%s", folder, 100 + rank, 100 + rank, ST_LOG_SUFFIX);
    maker.writer = st_log_create(path, &header);
    assert_non_null(maker.writer);
    for (uint32_t i = 1; i < NAMES; i++)
        assert_true(st_log_define(maker.writer, i, names[i]));
    return maker;
}

static inline st_log_record *next_call(log_maker *maker, uint32_t name)
{
    st_log_record *record = st_log_next(maker->writer);
    assert_non_null(record);
    record->call = name;
    record->begin_ns = maker->now_ns;
    record->length_ns = 50;
    maker->now_ns += 500;
    return record;
}

static inline void end_log(log_maker *maker, uint64_t hash)
{
    st_log_record *record = next_call(maker, 0);
    record->end = (st_log_end){.records = 1, .work_hash = hash};
    st_log_commit(record, ST_LOG_END);
    st_log_close(maker->writer);
}

static inline void put_gemm(log_maker *maker, uint32_t stream, const uint32_t mnk[3],
                            uint32_t batch, uint8_t type)
{
    st_log_record *record = next_call(maker, NAME_GEMM);
    record->gemm = (st_log_gemm){.m = mnk[0],
                                 .n = mnk[1],
                                 .k = mnk[2],
                                 .batch = batch,
                                 .stream = stream,
                                 .type_a = type,
                                 .type_b = type,
                                 .type_d = type,
                                 .compute = 68};
    st_log_commit(record, ST_LOG_GEMM);
}

static inline void put_kernel(log_maker *maker, uint32_t stream, uint32_t kernel, uint32_t kib)
{
    st_log_record *record = next_call(maker, NAME_LAUNCH);
    record->launch = (st_log_launch){.kernel = kernel,
                                     .stream = stream,
                                     .grid = {96, 2, 1},
                                     .block = {256, 1, 1},
                                     .pointer_kib = kib};
    st_log_commit(record, ST_LOG_LAUNCH);
}

static inline void put_comm(log_maker *maker, uint64_t comm, int rank, int ranks)
{
    st_log_record *record = next_call(maker, NAME_INIT);
    record->comm = (st_log_comm){.comm = comm, .rank = rank, .ranks = ranks};
    st_log_commit(record, ST_LOG_COMM);
}

static inline void put_collective(log_maker *maker, uint64_t comm, uint32_t stream,
                                  uint8_t operation, uint64_t count)
{
    st_log_record *record = next_call(maker, NAME_COLLECTIVE);
    record->collective = (st_log_collective){.comm = comm,
                                             .count = count,
                                             .sequence = maker->sequence++,
                                             .stream = stream,
                                             .peer = -1,
                                             .operation = operation,
                                             .type = ST_LOG_BF16};
    st_log_commit(record, ST_LOG_COLLECTIVE);
}

static inline void put_pair(log_maker *maker, uint64_t comm, uint32_t stream, uint8_t operation,
                            int peer)
{
    st_log_record *record = next_call(maker, NAME_COLLECTIVE);
    record->collective = (st_log_collective){.comm = comm,
                                             .count = 52387,
                                             .stream = stream,
                                             .peer = peer,
                                             .operation = operation,
                                             .type = ST_LOG_BF16};
    st_log_commit(record, ST_LOG_COLLECTIVE);
}

static inline void put_memory(log_maker *maker, bool frees, uint64_t bytes)
{
    st_log_record *record = next_call(maker, frees ? NAME_FREE : NAME_MALLOC);
    maker->live_bytes = frees ? maker->live_bytes - bytes : maker->live_bytes + bytes;
    record->memory = (st_log_memory){.pointer = 0x7000,
                                     .bytes = bytes,
                                     .charged_bytes = bytes,
                                     .live_bytes = maker->live_bytes,
                                     .memory = ST_LOG_DEVICE};
    st_log_commit(record, frees ? ST_LOG_FREE : ST_LOG_MALLOC);
}

static inline void put_event(log_maker *maker, st_log_kind kind, uint32_t event, uint32_t stream)
{
    st_log_record *record = next_call(maker, kind == ST_LOG_EVENT_RECORD ? NAME_RECORD : NAME_WAIT);
    record->event = (st_log_event){.event = event, .stream = stream};
    st_log_commit(record, kind);
}

static inline void put_stream(log_maker *maker, st_log_kind kind, uint32_t stream)
{
    st_log_record *record =
        next_call(maker, kind == ST_LOG_STREAM_CREATE ? NAME_STREAM : NAME_SYNC);
    record->stream = (st_log_stream){.stream = stream};
    record->flags = kind == ST_LOG_STREAM_CREATE ? ST_LOG_NON_BLOCKING : 0;
    st_log_commit(record, kind);
}

/* One step: two products, a kernel beside an all-reduce that it waits for, and the host waits. */
static inline void put_step(log_maker *maker, uint64_t comm)
{
    put_gemm(maker, 1, (const uint32_t[]){2304, 4096, 768}, 1, ST_LOG_BF16);
    put_gemm(maker, 1, (const uint32_t[]){1024, 1024, 64}, 48, ST_LOG_BF16);
    put_event(maker, ST_LOG_EVENT_RECORD, 1, 1);
    put_event(maker, ST_LOG_EVENT_WAIT, 1, 2);
    put_collective(maker, comm, 2, ST_LOG_ALL_REDUCE, 7087872);
    put_kernel(maker, 1, NAME_KERNEL, 49152);
    put_event(maker, ST_LOG_EVENT_RECORD, 2, 2);
    put_event(maker, ST_LOG_EVENT_WAIT, 2, 1);
    put_kernel(maker, 1, NAME_STRANGE, 1234);
    put_stream(maker, ST_LOG_STREAM_SYNC, 1);
}

/* A rank of a data-parallel program of three steps. */
static inline void write_rank(const char *folder, int rank, int world, uint64_t hash)
{
    log_maker maker = begin_log(folder, rank, world);
    put_comm(&maker, 0xABCDEF12, rank, world);
    put_stream(&maker, ST_LOG_STREAM_CREATE, 1);
    put_stream(&maker, ST_LOG_STREAM_CREATE, 2);
    put_memory(&maker, false, UINT64_C(2386558976));
    for (int i = 0; i < 3; i++)
        put_step(&maker, 0xABCDEF12);
    put_memory(&maker, true, UINT64_C(2386558976));
    end_log(&maker, hash);
}

#endif

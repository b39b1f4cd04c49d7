/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine with a GPU as `steptime record --profile` sees it: driver, runtime and CUPTI in one
 * file, which is built as each of the three libraries. The driver loads what CUDA_INJECTION64_PATH
 * names, as NVIDIA's does. The GPU has times of its own: a kernel takes 2,385 ns times its number,
 * and begins when its stream is free. CUPTI hands calls and tasks over in buffers of four records,
 * in which tasks come before the calls that launched them, and behind a call what its thread had
 * pushed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- CUPTI, in whose forms the records are laid down here byte by byte ---- */

enum { MOST = 65536, RECORD = 216 };

typedef void give_function(uint8_t **buffer, size_t *bytes, size_t *most);
typedef void take_function(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                           size_t valid);

#ifdef IS_CUPTI
static give_function *give;
static take_function *take;
static unsigned char records[MOST][RECORD];
static size_t record_count;
static uint64_t enabled;
static pid_t process; /* that CUPTI measures */

int cuptiActivityRegisterCallbacks(give_function *given, take_function *taken)
{
    give = given;
    take = taken;
    process = getpid();
    return 0;
}

int cuptiActivityEnable(uint32_t kind)
{
    enabled |= UINT64_C(1) << kind;
    return getenv("REFUSED_KIND") != NULL && kind == strtoul(getenv("REFUSED_KIND"), NULL, 10) ? 35
                                                                                               : 0;
}

int cuptiActivityFlushPeriod(uint32_t ms)
{
    return ms > 0 ? 0 : 1;
}

int cuptiGetTimestamp(uint64_t *ns)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    return getenv("BROKEN_CLOCK") != NULL ? 999 : 0;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t bytes, void **record)
{
    uint8_t *next = *record == NULL ? buffer : (uint8_t *)*record + RECORD;
    if (next >= buffer + bytes)
        return 12;
    *record = next;
    return 0;
}

/* A handle of a stream is its number times 16; the default stream is 7. */
int cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *id)
{
    (void)context;
    (void)per_thread;
    *id = stream == NULL ? 7 : (uint32_t)((uintptr_t)stream / 16);
    return 0;
}

int cuptiGetCallbackName(uint32_t domain, uint32_t number, const char **name)
{
    static const char *const names[] = {"cudaMalloc_v3020",
                                        "cudaStreamCreateWithFlags_v5000",
                                        "cudaLaunchKernel_v7000",
                                        "cudaMemcpyAsync_v3020",
                                        "cudaEventRecord_v3020",
                                        "cudaStreamWaitEvent_v3020",
                                        "cudaDeviceSynchronize_v3020",
                                        "cudaGraphLaunch_v10000"};
    *name = domain == 2 && number < 8 ? names[number] : NULL;
    return *name == NULL;
}

enum { OWN_KIND = 5, MOST_PUSHED = 16 };
static _Thread_local uint64_t pushed[MOST_PUSHED];
static _Thread_local size_t pushed_count;

int cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t number)
{
    if (kind != OWN_KIND || pushed_count == MOST_PUSHED)
        return 1;
    pushed[pushed_count++] = number;
    return 0;
}

int cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *number)
{
    if (kind != OWN_KIND || pushed_count == 0)
        return 1;
    *number = pushed[--pushed_count];
    return 0;
}

static void put_pushed(const unsigned char *call)
{
    const uint32_t kinds[] = {39, OWN_KIND};
    memcpy(records[record_count], kinds, sizeof kinds);
    memcpy(records[record_count] + 8, &pushed[pushed_count - 1], 8);
    memcpy(records[record_count++] + 16, call + 32, 4);
}

/* Of the stand-ins alone. */
void standin_put(const void *record, size_t bytes);
void standin_put(const void *record, size_t bytes)
{
    uint32_t kind;
    memcpy(&kind, record, sizeof kind);
    if (record_count < MOST && (enabled >> kind & 1) != 0)
        memcpy(records[record_count++], record, bytes);
    if (kind == 5 && pushed_count > 0 && record_count < MOST && (enabled >> 39 & 1) != 0)
        put_pushed(record);
}

int cuptiActivityFlushAll(uint32_t flag)
{
    if (getpid() != process)
        abort(); /* where CUPTI may hang, as its threads are the parent's */
    while (record_count > 0 && take != NULL) {
        uint8_t *buffer = NULL;
        size_t bytes = 0;
        size_t most = 0;
        size_t used = 0;
        give(&buffer, &bytes, &most);
        for (; record_count > 0 && used < 4; used++)
            memcpy(buffer + used * RECORD, records[--record_count], RECORD);
        take(NULL, 0, buffer, bytes, used * RECORD);
    }
    return flag == 1 ? 0 : 1;
}
#endif

/* ---- the driver ---- */

#ifdef IS_CUDA
int cuInit(unsigned flags)
{
    static int begun;
    const char *injected = getenv("CUDA_INJECTION64_PATH");
    void *library = !begun && injected != NULL ? dlopen(injected, RTLD_NOW) : NULL;
    int (*begin)(void) = NULL;
    void *found = library != NULL ? dlsym(library, "InitializeInjection") : NULL;
    begun = 1;
    memcpy(&begin, &found, sizeof begin);
    if (begin != NULL && begin() != 1)
        fprintf(stderr, "the injected library failed\n");
    return flags == 0 && getenv("BROKEN_DRIVER") == NULL ? 0 : 999;
}

int cuDeviceGetCount(int *count)
{
    *count = getenv("NO_GPU") != NULL ? 0 : 1;
    return 0;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    *flags = 0;
    *active = 1;
    return device;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = NULL;
    return device;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    return device;
}

int cuCtxGetCurrent(void **context)
{
    *context = NULL;
    return 0;
}

int cuStreamIsCapturing(void *stream, int *state)
{
    (void)stream;
    *state = 0;
    return 0;
}

int cuMemAlloc_v2(uint64_t *pointer, size_t bytes)
{
    *pointer = (uint64_t)(uintptr_t)malloc(bytes);
    return *pointer == 0;
}

int cuMemFree_v2(uint64_t pointer)
{
    free((void *)(uintptr_t)pointer);
    return 0;
}
#endif

/* ---- the runtime ---- */

#ifdef IS_CUDART
typedef struct dim3 {
    unsigned x, y, z;
} dim3;

enum { KERNEL_NS = 2385, MOST_STREAMS = 64, MOST_KERNELS = 16 };

static struct {
    const void *host;
    const char *name;
} kernels[MOST_KERNELS];
static size_t kernel_count;
static uint64_t free_at[MOST_STREAMS];
static uint64_t event_at[MOST_STREAMS];
static uint32_t streams = 12;
static uint32_t events;
static uint32_t calls;

static void (*put)(const void *record, size_t bytes);
static int (*stamp)(uint64_t *ns);

static uint64_t now_ns(void)
{
    uint64_t ns = 0;
    stamp(&ns);
    return ns;
}

static void begin(void)
{
    int (*init)(unsigned) = NULL;
    if (put != NULL)
        return;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    void *cupti = dlopen("libcupti.so.13", RTLD_NOW);
    void *found = dlsym(driver, "cuInit");
    memcpy(&init, &found, sizeof init);
    found = dlsym(cupti, "standin_put");
    memcpy(&put, &found, sizeof put);
    found = dlsym(cupti, "cuptiGetTimestamp");
    memcpy(&stamp, &found, sizeof stamp);
    init(0);
}

static void put32(unsigned char *record, size_t at, uint32_t value)
{
    memcpy(record + at, &value, sizeof value);
}

static void put64(unsigned char *record, size_t at, uint64_t value)
{
    memcpy(record + at, &value, sizeof value);
}

/* A call of the runtime, 500 ns or until `until`. */
static int tell_call(uint32_t number, uint64_t begin_ns, uint64_t until)
{
    unsigned char record[RECORD] = {0};
    uint64_t end_ns = begin_ns + 500;
    put32(record, 0, 5);
    put32(record, 4, number);
    put64(record, 8, begin_ns);
    put64(record, 16, until > end_ns ? until : end_ns);
    put32(record, 24, (uint32_t)getpid());
    put32(record, 28, (uint32_t)syscall(SYS_gettid));
    put32(record, 32, calls);
    put(record, sizeof record);
    while (now_ns() < (until > end_ns ? until : end_ns))
        continue;
    return 0;
}

static uint32_t id_of(const void *stream)
{
    return stream == NULL ? 7 : (uint32_t)((uintptr_t)stream / 16);
}

static void *pointer_of(uint32_t number)
{
    return (void *)((uintptr_t)number * 16);
}

static void run_kernel(size_t kernel, const dim3 *grid, uint32_t stream, uint64_t begin_ns)
{
    unsigned char record[RECORD] = {0};
    uint64_t start = free_at[stream] > begin_ns ? free_at[stream] : begin_ns;
    uint64_t name = (uint64_t)(uintptr_t)kernels[kernel].name;
    free_at[stream] = start + KERNEL_NS * (kernel + 1);
    put32(record, 0, 10);
    put64(record, 16, start);
    put64(record, 24, free_at[stream]);
    put32(record, 44, 1);
    put32(record, 48, stream);
    put32(record, 52, grid->x);
    put32(record, 56, grid->y);
    put32(record, 60, grid->z);
    put32(record, 64, 256);
    put32(record, 68, 1);
    put32(record, 72, 1);
    put32(record, 92, calls);
    put64(record, 104, name);
    put(record, sizeof record);
}

void **__cudaRegisterFatBinary(void *binary)
{
    static void *handle;
    handle = binary;
    return &handle;
}

/* What else nvcc passes is of no use here. */
void __cudaRegisterFunction(void **binary, const char *host, char *device, const char *name, ...)
{
    (void)binary, (void)device;
    if (kernel_count < MOST_KERNELS) {
        kernels[kernel_count].host = host;
        kernels[kernel_count++].name = name;
    }
}

int cudaSetDevice(int device)
{
    begin();
    return device == 0 ? 0 : 101;
}

int cudaMalloc(void **pointer, size_t bytes)
{
    unsigned char record[RECORD] = {0};
    begin();
    calls++;
    *pointer = malloc(64);
    put32(record, 0, 49);
    put32(record, 4, 1);
    put32(record, 8, 3);
    put32(record, 12, calls);
    put64(record, 16, (uint64_t)(uintptr_t)*pointer);
    put64(record, 24, bytes);
    put64(record, 32, now_ns());
    put(record, sizeof record);
    return tell_call(0, now_ns(), 0);
}

int cudaStreamCreateWithFlags(void **stream, unsigned flags)
{
    unsigned char record[RECORD] = {0};
    begin();
    calls++;
    *stream = pointer_of(++streams);
    put32(record, 0, 37);
    put32(record, 4, 1);
    put32(record, 8, streams);
    put32(record, 16, flags == 1 ? 2 : 1);
    put32(record, 20, calls);
    put(record, sizeof record);
    return tell_call(1, now_ns(), 0);
}

int cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                     void *stream)
{
    uint64_t begin_ns = now_ns();
    size_t kernel = 0;
    (void)block, (void)arguments, (void)shared;
    while (kernel < kernel_count && kernels[kernel].host != function)
        kernel++;
    if (kernel == kernel_count)
        return 98;
    calls++;
    run_kernel(kernel, &grid, id_of(stream), begin_ns);
    return tell_call(2, begin_ns, 0);
}

/* Two kernels of one call. */
int cudaGraphLaunch(void *graph, void *stream)
{
    uint64_t begin_ns = now_ns();
    const dim3 grid = {5, 1, 1};
    (void)graph;
    calls++;
    run_kernel(0, &grid, id_of(stream), begin_ns);
    run_kernel(1, &grid, id_of(stream), begin_ns);
    return tell_call(7, begin_ns, 0);
}

int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream)
{
    unsigned char record[RECORD] = {0};
    uint64_t begin_ns = now_ns();
    uint32_t id = id_of(stream);
    uint64_t start = free_at[id] > begin_ns ? free_at[id] : begin_ns;
    (void)to, (void)from;
    calls++;
    free_at[id] = start + bytes / 10;
    put32(record, 0, 1);
    record[4] = (unsigned char)kind;
    record[5] = 2;
    record[6] = 3;
    put64(record, 8, bytes);
    put64(record, 16, start);
    put64(record, 24, free_at[id]);
    put32(record, 36, 1);
    put32(record, 40, id);
    put32(record, 44, calls);
    put(record, sizeof record);
    return tell_call(3, begin_ns, 0);
}

int cudaEventCreate(void **event)
{
    *event = pointer_of(++events);
    return 0;
}

static void tell_event(uint32_t kind, uint32_t stream, uint32_t event)
{
    unsigned char record[RECORD] = {0};
    bool waits = kind == 38;
    put32(record, 0, kind);
    put32(record, 4, waits ? 2 : calls);
    put32(record, waits ? 24 : 4, calls);
    put32(record, waits ? 28 : 8, 1);
    put32(record, waits ? 32 : 12, stream);
    put32(record, waits ? 36 : 16, event);
    put(record, sizeof record);
}

int cudaEventRecord(void *event, void *stream)
{
    calls++;
    event_at[id_of(event)] = free_at[id_of(stream)];
    tell_event(36, id_of(stream), id_of(event));
    return tell_call(4, now_ns(), 0);
}

int cudaStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    (void)flags;
    calls++;
    if (event_at[id_of(event)] > free_at[id_of(stream)])
        free_at[id_of(stream)] = event_at[id_of(event)];
    tell_event(38, id_of(stream), id_of(event));
    return tell_call(5, now_ns(), 0);
}

int cudaDeviceSynchronize(void)
{
    unsigned char record[RECORD] = {0};
    uint64_t begin_ns = now_ns();
    uint64_t until = begin_ns;
    calls++;
    for (size_t i = 0; i < MOST_STREAMS; i++)
        until = free_at[i] > until ? free_at[i] : until;
    put32(record, 0, 38);
    put32(record, 4, 4);
    put64(record, 8, begin_ns);
    put64(record, 16, until);
    put32(record, 24, calls);
    put32(record, 28, 1);
    put32(record, 32, UINT32_MAX);
    put(record, sizeof record);
    return tell_call(6, begin_ns, until);
}
#endif

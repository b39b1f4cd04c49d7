/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libsteptime-profile.so, for `steptime record --profile`: the program runs on a real GPU with the
 * real libraries, but NCCL's functions are those of nccl.c, and CUPTI says what the rest takes.
 * What products of cuBLAS are given is read on the way (products.c).
 *
 * CUDA's driver loads the library that CUDA_INJECTION64_PATH names and calls InitializeInjection
 * before anything else (CUPTI reference, "Injection"), whatever the runtime is linked like.
 * STEPTIME_RECORD_CUPTI names CUPTI's library, which is loaded here.
 */
#define _GNU_SOURCE
#include "record/library/activities.h"
#include "record/library/device_blocks.h"
#include "record/library/environment.h"
#include "record/library/handlers.h"
#include "record/library/objects.h"
#include "record/library/patch.h"
#include "record/library/products.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { BUFFER_BYTES = 4 << 20, FLUSH_MS = 500, FLUSH_FORCED = 1, NCCL_SYSTEM = 2 };

__attribute__((visibility("default"))) int InitializeInjection(void);

typedef void give_function(uint8_t **buffer, size_t *bytes, size_t *most_records);
typedef void take_function(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                           size_t valid);

/* Functions of CUPTI and of the driver as their references declare them. */
static struct {
    int (*register_callbacks)(give_function *give, take_function *take);
    int (*enable)(uint32_t kind);
    int (*next_record)(uint8_t *buffer, size_t bytes, void **record);
    int (*flush)(uint32_t flag);
    int (*flush_period)(uint32_t ms);
    int (*timestamp)(uint64_t *ns);
    int (*stream_id)(void *context, void *stream, uint8_t per_thread, uint32_t *id);
    int (*push)(uint32_t kind, uint64_t number);
    int (*pop)(uint32_t kind, uint64_t *number);
    st_callback_name *callback_name;
} cupti;

static pid_t owner; /* the process that CUPTI measures */

static struct {
    int (*device_count)(int *count);
    int (*primary_state)(int device, unsigned *flags, int *active);
    int (*primary_retain)(void **context, int device);
    int (*primary_release)(int device);
    int (*current)(void **context);
    int (*is_capturing)(void *stream, int *state);
    int (*allocate)(uint64_t *pointer, size_t bytes);
    int (*release)(uint64_t pointer);
} driver;

typedef struct wanted_function {
    const char *name;
    void *into; /* a pointer to a function, NULL where the library has none */
} wanted_function;

/* Says why the process is not measured, which would otherwise go unnoticed; false. */
static bool refuse(const char *what, const char *why)
{
    (void)dprintf(STDERR_FILENO, "steptime record --profile cannot measure this process: %s: %s\n",
                  what, why);
    return false;
}

/* Fills in functions; false, and said, where one is missing. */
static bool find_functions(const char *path, const wanted_function *wanted, size_t count)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return refuse("cannot load a library", dlerror());
    for (size_t i = 0; i < count; i++) {
        void *found = dlsym(library, wanted[i].name);
        memcpy(wanted[i].into, &found, sizeof found);
        if (found == NULL)
            return refuse("missing function in a library", dlerror());
    }
    return true;
}

/* ---- CUPTI ---- */

static void give_buffer(uint8_t **buffer, size_t *bytes, size_t *most_records)
{
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *bytes = *buffer != NULL ? BUFFER_BYTES : 0;
    *most_records = 0;
}

static void take_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
    void *record = NULL;
    (void)context;
    (void)stream;
    (void)bytes;
    while (valid > 0 && cupti.next_record(buffer, valid, &record) == 0)
        st_activities_take(record);
    free(buffer);
}

/* A child of fork that calls exit has neither CUPTI's threads nor a driver that works. */
static void finish(void)
{
    if (getpid() != owner)
        return;
    /* Default streams of the devices that were used. */
    int devices = 0;
    if (driver.device_count(&devices) == 0) {
        for (int device = 0; device < devices; device++) {
            unsigned flags = 0;
            int active = 0;
            void *context = NULL;
            uint32_t stream = 0;
            if (driver.primary_state(device, &flags, &active) != 0 || active == 0 ||
                driver.primary_retain(&context, device) != 0)
                continue;
            if (cupti.stream_id(context, NULL, 0, &stream) == 0)
                st_activities_default(stream);
            (void)driver.primary_release(device);
        }
    }
    int error = cupti.flush(FLUSH_FORCED);
    if (error != 0)
        st_activities_refused("CUPTI did not deliver all measurements", error);
    st_activities_close();
}

static void enable_all(void)
{
    for (const st_activity *of = st_activities; of->draft != NULL; of++) {
        int error = cupti.enable(of->kind);
        if (error != 0)
            st_activities_refused(of->refused, error);
    }
    /* What is killed has its last half second missing. */
    (void)cupti.flush_period(FLUSH_MS);
}

/* How far CUPTI's clock is ahead of the host's; a reading that was interrupted is not the best. */
static bool measure_lead(uint64_t *lead_ns)
{
    enum { TRIES = 16 };
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t cupti_ns = 0;
        uint64_t before = st_host_ns();
        if (cupti.timestamp(&cupti_ns) != 0)
            return false;
        uint64_t took = st_host_ns() - before;
        if (took >= least)
            continue;
        least = took;
        *lead_ns = cupti_ns - before - took / 2;
    }
    return true;
}

static bool open_log(void)
{
    char path[sizeof st_now.folder + 64];
    char name[32];
    uint64_t lead_ns = 0;
    st_begin_process();
    if (!measure_lead(&lead_ns))
        return refuse("CUPTI has no clock", "cuptiGetTimestamp failed");
    st_log_header header = st_now.header;
    /* Behind the threads of the process, which count from 0. */
    header.thread = UINT32_MAX;
    (void)snprintf(name, sizeof name, "%u-cupti", header.pid);
    st_settings_path(&st_now, name, path, sizeof path);
    return st_activities_open(path, &header, lead_ns, cupti.callback_name) ||
           refuse(path, strerror(errno));
}

/*
 * When the library is loaded, so before entry.c's handlers: those of a fork then take entry.c's
 * lock before that of the log, as a call of NCCL does in which CUPTI hands records over.
 */
static __attribute__((constructor)) void watch_forks(void)
{
    (void)pthread_atfork(st_activities_before_fork, st_activities_after_fork_in_parent,
                         st_activities_after_fork_in_child);
}

int InitializeInjection(void)
{
    static bool begun;
    const char *path = getenv("STEPTIME_RECORD_CUPTI");
    if (begun || path == NULL)
        return 1;
    begun = true;
    const wanted_function wanted[] = {
        {"cuDeviceGetCount", &driver.device_count},
        {"cuDevicePrimaryCtxGetState", &driver.primary_state},
        {"cuDevicePrimaryCtxRetain", &driver.primary_retain},
        {"cuDevicePrimaryCtxRelease_v2", &driver.primary_release},
        {"cuCtxGetCurrent", &driver.current},
        {"cuStreamIsCapturing", &driver.is_capturing},
        {"cuMemAlloc_v2", &driver.allocate},
        {"cuMemFree_v2", &driver.release},
    };
    if (!find_functions("libcuda.so.1", wanted, sizeof wanted / sizeof wanted[0]))
        return 0;
    const wanted_function cupti_wanted[] = {
        {"cuptiActivityRegisterCallbacks", &cupti.register_callbacks},
        {"cuptiActivityEnable", &cupti.enable},
        {"cuptiActivityGetNextRecord", &cupti.next_record},
        {"cuptiActivityFlushAll", &cupti.flush},
        {"cuptiActivityFlushPeriod", &cupti.flush_period},
        {"cuptiGetTimestamp", &cupti.timestamp},
        {"cuptiGetStreamIdEx", &cupti.stream_id},
        {"cuptiActivityPushExternalCorrelationId", &cupti.push},
        {"cuptiActivityPopExternalCorrelationId", &cupti.pop},
        {"cuptiGetCallbackName", &cupti.callback_name},
    };
    if (!find_functions(path, cupti_wanted, sizeof cupti_wanted / sizeof cupti_wanted[0]) ||
        !open_log())
        return 0;
    owner = getpid();
    (void)atexit(finish);
    int error = cupti.register_callbacks(give_buffer, take_buffer);
    if (error != 0)
        st_activities_refused("CUPTI refused the buffers for its measurements", error);
    else
        enable_all();
    return 1;
}

/* ---- products ---- */

enum {
    OWN_KIND = 5
}; /* CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, which no profiler has by itself */

void st_product_push(const st_log_gemm *gemm)
{
    if (cupti.push != NULL)
        (void)cupti.push(OWN_KIND, st_activities_product(gemm));
}

void st_product_pop(void)
{
    uint64_t number = 0;
    if (cupti.pop != NULL)
        (void)cupti.pop(OWN_KIND, &number);
}

/* ---- what nccl.c asks of the device ---- */

/* The stream with the number that CUPTI gives it. */
st_object *st_stream_of(uint64_t handle)
{
    static st_object found; /* until the next call */
    int capturing = 0;
    void *context = NULL;
    void *stream;
    memcpy(&stream, &handle, sizeof stream);
    found = (st_object){.handle = handle};
    if (cupti.stream_id == NULL || driver.current(&context) != 0 ||
        cupti.stream_id(context, stream, handle == 2, &found.number) != 0)
        return NULL;
    if (driver.is_capturing(stream, &capturing) == 0)
        found.stream.capture = capturing == 1;
    return &found;
}

bool st_memory_charge(uint32_t device, uint64_t bytes)
{
    (void)device;
    (void)bytes;
    return true;
}

void st_memory_discharge(uint32_t device, uint64_t bytes)
{
    (void)device;
    (void)bytes;
}

uint64_t st_memory_exhausted(st_call *call, uint64_t bytes, uint64_t charged)
{
    (void)call;
    (void)bytes;
    (void)charged;
    return ST_CUDA_OUT_OF_MEMORY;
}

/* A collective leaves its buffers as they are. */
void st_memory_copy(uint64_t to, uint64_t from, uint64_t bytes)
{
    (void)to;
    (void)from;
    (void)bytes;
}

uint64_t st_memory_live(uint32_t device)
{
    (void)device;
    return 0;
}

/* Real memory, which CUPTI reports as well. */
uint64_t st_do_comm_memory(st_call *call)
{
    bool given =
        driver.allocate != NULL && driver.allocate(st_pointer(call, 0), st_word(call, 1)) == 0;
    return given ? 0 : NCCL_SYSTEM;
}

uint64_t st_do_free(st_call *call)
{
    bool freed = driver.release != NULL && driver.release(st_word(call, 0)) == 0;
    return freed ? 0 : NCCL_SYSTEM;
}

/* No runtime is written over here. */
uint32_t st_patched_version(void)
{
    return 0;
}

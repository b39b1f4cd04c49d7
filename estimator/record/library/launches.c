/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: how they are registered or loaded, and launched. */
#include "record/library/handlers.h"
#include "record/library/mangled.h"
#include "record/library/device_blocks.h"
#include "record/library/objects.h"
#include "record/library/environment.h"

#include <stdlib.h>

enum { MOST_PARAMETERS = 64 };

/* A function of the program's that stands for a kernel. */
typedef struct kernel {
    uint64_t host; /* 0: free */
    uint64_t hash; /* of its name */
    uint32_t name; /* string */
    uint8_t count; /* of `kinds` */
    uint8_t kinds[MOST_PARAMETERS];
} kernel;

static kernel *kernels; /* a hash table by `host` */
static size_t kernel_slots;
static size_t kernel_count;

static kernel *slot_of(uint64_t host)
{
    size_t at = (size_t)((host * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
    while (kernels[at % kernel_slots].host != 0 && kernels[at % kernel_slots].host != host)
        at++;
    return &kernels[at % kernel_slots];
}

static bool grow(void)
{
    size_t before = kernel_slots;
    kernel *old = kernels;
    kernel *more = calloc(before > 0 ? 2 * before : 512, sizeof *more);
    if (more == NULL)
        return false;
    kernels = more;
    kernel_slots = before > 0 ? 2 * before : 512;
    for (size_t i = 0; i < before; i++)
        if (old[i].host != 0)
            *slot_of(old[i].host) = old[i];
    free(old);
    return true;
}

static void add_kernel(uint64_t host, const char *name)
{
    if (host == 0 || (2 * kernel_count >= kernel_slots && !grow()))
        return;
    kernel *into = slot_of(host);
    if (into->host == 0)
        kernel_count++;
    into->host = host;
    into->name = st_string(name);
    into->hash = st_text_hash(name);
    into->count = (uint8_t)st_mangled_kinds(name, into->kinds, MOST_PARAMETERS);
}

static const kernel *find_kernel(uint64_t host)
{
    if (kernel_slots == 0)
        return NULL;
    const kernel *found = slot_of(host);
    return found->host != 0 ? found : NULL;
}

/* __cudaRegisterFatBinary: a handle that the program keeps and reads through */
uint64_t st_do_register_binary(st_call *call)
{
    static uint64_t handles[1024];
    static uint32_t count;
    if (!st_settings_versions(&st_now))
        (void)st_misuse(call, 0, "two versions of CUDA's runtime in one process");
    uint64_t *handle = &handles[count++ % 1024];
    uint64_t word;
    memcpy(&word, &handle, sizeof word);
    return word;
}

uint64_t st_do_register_function(st_call *call)
{
    const char *name = st_pointer(call, 3);
    if (name != NULL)
        add_kernel(st_word(call, 1), name);
    return 0;
}

/* ---- launches ---- */

typedef struct launch {
    uint32_t grid[3];
    uint32_t block[3];
    uint64_t shared_bytes;
    uint64_t stream;
    uint64_t arguments; /* void **; 0: none */
} launch;

static uint64_t word_at(uint64_t address)
{
    const void *from;
    uint64_t word;
    memcpy(&from, &address, sizeof from);
    memcpy(&word, from, sizeof word);
    return word;
}

static void one_argument(st_log_arguments *into, uint8_t kind, uint64_t address)
{
    uint64_t bytes = st_mangled_bytes(kind);
    const void *from;
    uint64_t raw = 0;
    memcpy(&from, &address, sizeof from);
    if (from != NULL && bytes > 0)
        memcpy(&raw, from, bytes);
    into->kind[into->count] = st_mangled_argument(kind);
    into->value[into->count] = st_mangled_value(kind, raw);
    if (into->kind[into->count] == ST_LOG_ARG_POINTER)
        into->value[into->count] = st_memory_extent(raw);
    into->count++;
}

/* Values of arguments, as far as the kernel's name tells what they are; KiB that they point to. */
static uint32_t draft_arguments(st_call *call, const kernel *of, uint64_t arguments)
{
    uint64_t reached = 0;
    st_log_arguments *into = NULL;
    for (uint16_t i = 0; i < of->count && arguments != 0; i++) {
        if (i % 4 == 0) {
            into = &st_extra(call, ST_LOG_ARGUMENTS)->arguments;
            into->first = i;
        }
        one_argument(into, of->kinds[i], word_at(arguments + i * sizeof(void *)));
        if (into->kind[i % 4] == ST_LOG_ARG_POINTER)
            reached += into->value[i % 4];
    }
    uint64_t kib = (reached + 1023) / 1024;
    return kib < UINT32_MAX ? (uint32_t)kib : UINT32_MAX;
}

/* A kernel that was loaded by its name. */
static kernel loaded(const st_object *function)
{
    return (kernel){.name = function->function.name, .hash = function->function.hash};
}

static bool possible(const launch *wanted)
{
    uint64_t threads = (uint64_t)wanted->block[0] * wanted->block[1] * wanted->block[2];
    return wanted->grid[0] > 0 && wanted->grid[1] > 0 && wanted->grid[2] > 0 && threads > 0 &&
           threads <= 1024 && wanted->block[2] <= 64;
}

static uint64_t enqueue(st_call *call, const kernel *of, const launch *wanted)
{
    st_object *stream = st_stream_of(wanted->stream);
    if (stream == NULL)
        return st_misuse(call, ST_CUDA_INVALID_HANDLE, "a stream that is not there");
    if (!possible(wanted))
        return st_misuse(call, ST_CUDA_INVALID_CONFIGURATION,
                         "a launch without threads, or with more than a block can have");
    st_log_launch *into = &call->draft.launch;
    call->draft.kind = ST_LOG_LAUNCH;
    *into = (st_log_launch){.kernel = of->name,
                            .stream = stream->number,
                            .shared_bytes = (uint32_t)wanted->shared_bytes};
    for (size_t i = 0; i < 3; i++) {
        into->grid[i] = wanted->grid[i];
        into->block[i] = (uint16_t)wanted->block[i];
    }
    into->pointer_kib = draft_arguments(call, of, wanted->arguments);
    st_enqueue(call, stream);
    st_mix(of->hash);
    st_mix_size((uint64_t)wanted->grid[0] * wanted->grid[1] * wanted->grid[2]);
    return 0;
}

static uint64_t enqueue_loaded(st_call *call, const st_object *function, const launch *wanted)
{
    kernel of = loaded(function);
    return enqueue(call, &of, wanted);
}

static uint64_t launch_host(st_call *call, const launch *wanted)
{
    const kernel *of = find_kernel(st_word(call, 0));
    const st_object *function = st_object_of(st_word(call, 0), ST_OBJECT_FUNCTION);
    if (of == NULL && function != NULL) /* a cudaKernel_t of a library that was loaded */
        return enqueue_loaded(call, function, wanted);
    if (of == NULL)
        return st_misuse(call, ST_CUDA_INVALID_DEVICE_FUNCTION,
                         "a launch of what is no kernel of the program");
    return enqueue(call, of, wanted);
}

static void dims_of(uint64_t low, uint64_t high, uint32_t dims[3])
{
    dims[0] = (uint32_t)low;
    dims[1] = (uint32_t)(low >> 32);
    dims[2] = (uint32_t)high;
}

/* cudaLaunchKernel(function, grid, block, arguments, shared bytes, stream) */
uint64_t st_do_launch(st_call *call)
{
    launch wanted = {.arguments = st_word(call, 5),
                     .shared_bytes = st_word(call, 6),
                     .stream = st_word(call, 7)};
    dims_of(st_word(call, 1), st_word(call, 2), wanted.grid);
    dims_of(st_word(call, 3), st_word(call, 4), wanted.block);
    return launch_host(call, &wanted);
}

/* cudaLaunchKernelExC(configuration, function, arguments) */
uint64_t st_do_launch_ex(st_call *call)
{
    struct {
        uint32_t grid[3];
        uint32_t block[3];
        uint64_t shared_bytes;
        uint64_t stream;
    } from;
    const void *given = st_pointer(call, 0);
    if (given == NULL)
        return ST_CUDA_INVALID_VALUE;
    memcpy(&from, given, sizeof from);
    launch wanted = {
        .shared_bytes = from.shared_bytes, .stream = from.stream, .arguments = st_word(call, 2)};
    memcpy(wanted.grid, from.grid, sizeof wanted.grid);
    memcpy(wanted.block, from.block, sizeof wanted.block);
    st_call inner = *call;
    uint64_t words[6] = {st_word(call, 1)};
    inner.registers = words;
    uint64_t result = launch_host(&inner, &wanted);
    call->draft = inner.draft;
    call->extra_count = inner.extra_count;
    memcpy(call->extra, inner.extra, sizeof call->extra);
    return result;
}

/* cuLaunchKernel(function, grid x y z, block x y z, shared bytes, stream, arguments, extra) */
uint64_t st_do_launch_driver(st_call *call)
{
    const st_object *function = st_object_of(st_word(call, 0), ST_OBJECT_FUNCTION);
    launch wanted = {.shared_bytes = st_word(call, 7) & UINT32_MAX, .stream = st_word(call, 8)};
    for (unsigned i = 0; i < 3; i++) {
        wanted.grid[i] = (uint32_t)st_word(call, 1 + i);
        wanted.block[i] = (uint32_t)st_word(call, 4 + i);
    }
    if (function == NULL)
        return st_misuse(call, ST_CUDA_INVALID_HANDLE, "a function that is not there");
    return enqueue_loaded(call, function, &wanted);
}

uint64_t st_do_push_configuration(st_call *call)
{
    memcpy(call->thread->pushed, call->registers, 6 * sizeof(uint64_t));
    return 0;
}

/* __cudaPopCallConfiguration(grid *, block *, shared bytes *, stream *) */
uint64_t st_do_pop_configuration(st_call *call)
{
    uint32_t dims[3];
    const uint64_t *pushed = call->thread->pushed;
    dims_of(pushed[0], pushed[1], dims);
    (void)st_put_bytes(st_pointer(call, 0), dims, sizeof dims);
    dims_of(pushed[2], pushed[3], dims);
    (void)st_put_bytes(st_pointer(call, 1), dims, sizeof dims);
    (void)ST_PUT(call, 2, uint64_t, pushed[4]);
    return ST_PUT(call, 3, uint64_t, pushed[5]);
}

/* __cudaGetKernel(kernel *, function): what nvcc 13 launches is the function itself here */
uint64_t st_do_get_kernel(st_call *call)
{
    if (find_kernel(st_word(call, 1)) == NULL)
        return st_misuse(call, ST_CUDA_INVALID_DEVICE_FUNCTION, "what is no kernel of the program");
    return ST_PUT(call, 0, uint64_t, st_word(call, 1));
}

/* cudaFuncAttributes: the limits of any kernel; its registers are not known */
uint64_t st_do_function_attributes(st_call *call)
{
    unsigned char attributes[144] = {0};
    const uint32_t most_threads = 1024;
    if (find_kernel(st_word(call, 1)) == NULL)
        return st_misuse(call, ST_CUDA_INVALID_DEVICE_FUNCTION, "what is no kernel of the program");
    memcpy(attributes + 24, &most_threads, sizeof most_threads);
    return st_put_bytes(st_pointer(call, 0), attributes, 60);
}

/* ---- modules ---- */

uint64_t st_do_module_load(st_call *call)
{
    st_object *module = st_object_make(ST_OBJECT_MODULE);
    return module == NULL ? ST_CUDA_OUT_OF_MEMORY : ST_PUT(call, 0, uint64_t, module->handle);
}

uint64_t st_do_module_unload(st_call *call)
{
    st_object *module = st_object_of(st_word(call, 0), ST_OBJECT_MODULE);
    if (module == NULL)
        return st_misuse(call, ST_CUDA_INVALID_HANDLE, "a module that is not there");
    st_object_drop(module);
    return 0;
}

uint64_t st_do_module_function(st_call *call)
{
    const char *name = st_pointer(call, 2);
    if (st_object_of(st_word(call, 1), ST_OBJECT_MODULE) == NULL || name == NULL)
        return st_misuse(call, ST_CUDA_INVALID_HANDLE, "a module that is not there");
    st_object *function = st_object_make(ST_OBJECT_FUNCTION);
    if (function == NULL)
        return ST_CUDA_OUT_OF_MEMORY;
    function->function.name = st_string(name);
    function->function.hash = st_text_hash(name);
    return ST_PUT(call, 0, uint64_t, function->handle);
}

uint64_t st_do_kernel_function(st_call *call)
{
    return ST_PUT(call, 0, uint64_t, st_word(call, 1));
}

/* cudaGetDriverEntryPoint(name, function *, flags, result *), cuGetProcAddress(name, function *,
 * version, flags, result *): never NULL. */
uint64_t st_do_entry_point(st_call *call)
{
    const char *name = st_pointer(call, 0);
    st_function address = name != NULL ? st_address_of(name) : NULL;
    uint64_t word;
    uint8_t result = call->entry->place['r' - 'a'];
    if (address == NULL)
        return ST_CUDA_NOT_FOUND;
    memcpy(&word, &address, sizeof word);
    if (result > 0 && st_word(call, result - 1U) != 0)
        (void)ST_PUT(call, result - 1U, uint32_t, 0);
    return ST_PUT(call, 1, uint64_t, word);
}

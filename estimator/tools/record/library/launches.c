/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: how they are registered or loaded, and launched. */
#include "record/library/handlers.h"
#include "base/index.h"
#include "base/lists.h"
#include "record/library/arguments.h"
#include "record/library/graphs.h"
#include "record/library/objects.h"
#include "record/library/environment.h"
#include "record/library/texts.h"

#include <stdlib.h>

/* A host function that represents a kernel. */
typedef struct kernel {
    uint64_t host;      /* its address */
    uint64_t hash;      /* of its name */
    uint32_t name;      /* string */
    const void *binary; /* that it was registered with; NULL once its parameters were looked up */
    st_parameters parameters;
} kernel;

static st_parameters *parameters; /* of kernels that were loaded */
static uint32_t parameter_count;
static size_t parameter_capacity;
static kernel *kernels;
static uint32_t kernel_count;
static size_t kernel_capacity;
static st_index kernel_index; /* by `host` */

static kernel *find_kernel(uint64_t host)
{
    uint32_t found = 0;
    ST_INDEX_FIND(&kernel_index, host, found, kernels[found].host == host);
    return found != ST_INDEX_NONE ? &kernels[found] : NULL;
}

static void add_kernel(uint64_t host, const char *name, const void *binary)
{
    kernel *into = find_kernel(host);
    if (host == 0)
        return;
    if (into == NULL) {
        if (!ST_ROOM(kernels, kernel_count, kernel_capacity) ||
            !st_index_add_own(&kernel_index, host, kernel_count))
            return;
        into = &kernels[kernel_count++];
    }
    *into = (kernel){.host = host,
                     .hash = st_hash_text(ST_HASH_BEGIN, name),
                     .name = st_string(name),
                     .binary = binary};
    st_parameters_name(&into->parameters, name);
}

/* __cudaRegisterFatBinary: a handle that the program keeps and reads through */
uint64_t st_do_register_binary(st_call *call)
{
    static const void *handles[1024];
    static uint32_t count;
    if (!st_now.two_versions && !st_settings_versions(&st_now)) {
        st_now.two_versions = true;
        (void)st_misuse(call, 0, ST_TWO_VERSIONS);
    }
    const void **handle = &handles[count++ % 1024];
    *handle = st_pointer(call, 0);
    uint64_t word;
    memcpy(&word, &handle, sizeof word);
    return word;
}

uint64_t st_do_register_function(st_call *call)
{
    const char *name = st_pointer(call, 3);
    const void *const *binary = st_pointer(call, 0);
    if (name != NULL)
        add_kernel(st_word(call, 1), name, binary != NULL ? *binary : NULL);
    return 0;
}

/* ---- launches ---- */

typedef struct launch {
    uint32_t grid[3];
    uint32_t block[3];
    uint64_t shared_bytes;
    uint64_t stream;
    st_arguments arguments;
    uint64_t function; /* as the program knows it */
    st_node *node;     /* that becomes this; NULL: none, or that of a capture */
} launch;

/* What is launched. */
typedef struct launched {
    uint32_t name;                   /* string */
    uint64_t hash;                   /* of the name */
    const st_parameters *parameters; /* NULL: not known */
} launched;

/* For cudaGraphKernelNodeGetParams. */
static void keep(st_node *node, const launched *of, const launch *wanted)
{
    if (node == NULL)
        return;
    void *made = of->parameters != NULL && wanted->arguments.list != 0
                     ? st_arguments_copy(of->parameters, wanted->arguments.list)
                     : NULL;
    free(node->arguments); /* which may have been given again */
    node->arguments = made;
    node->kernel = (st_kernel_given){.function = wanted->function,
                                     .shared_bytes = (uint32_t)wanted->shared_bytes};
    memcpy(&node->kernel.arguments, &made, sizeof made);
    memcpy(node->kernel.grid, wanted->grid, sizeof wanted->grid);
    memcpy(node->kernel.block, wanted->block, sizeof wanted->block);
}

static uint64_t enqueue(st_call *call, const launched *of, const launch *wanted)
{
    st_object *stream = st_stream_taken(call, wanted->stream);
    if (stream == NULL)
        return call->draft.status;
    if (call->entry->library == ST_CUDART && st_stream_is_made(stream) &&
        stream->device != call->thread->device)
        return st_misuse(call, ST_CUDA_INVALID_HANDLE, "launch in a stream of another device");
    uint64_t threads = (uint64_t)wanted->block[0] * wanted->block[1] * wanted->block[2];
    const uint32_t *grid = wanted->grid;
    if (grid[0] <= 0 || grid[1] <= 0 || grid[2] <= 0 || grid[0] > INT32_MAX ||
        grid[1] > UINT16_MAX || grid[2] > UINT16_MAX || threads <= 0 || threads > 1024 ||
        wanted->block[2] > 64)
        return st_misuse(call, ST_CUDA_INVALID_CONFIGURATION,
                         "invalid launch: no threads, or a block or grid above its limit");
    st_log_launch *into = &call->draft.launch;
    call->draft.kind = ST_LOG_LAUNCH;
    *into = (st_log_launch){.kernel = of->name,
                            .stream = stream->number,
                            .shared_bytes = (uint32_t)wanted->shared_bytes};
    for (size_t i = 0; i < 3; i++) {
        into->grid[i] = wanted->grid[i];
        into->block[i] = (uint16_t)wanted->block[i];
    }
    if (of->parameters != NULL)
        into->pointer_kib = st_arguments_draft(call, of->parameters, &wanted->arguments);
    st_enqueue(call, stream);
    const uint32_t capture = stream->stream.capture;
    keep(capture != 0 ? st_node_at(capture, st_node_count(capture)) : wanted->node, of, wanted);
    st_mix(of->hash);
    st_mix_order((uint64_t)wanted->grid[0] * wanted->grid[1] * wanted->grid[2]);
    return 0;
}

static uint64_t enqueue_loaded(st_call *call, const st_object *function, launch *wanted)
{
    call->is_short = true;
    wanted->function = function->handle;
    uint32_t place = function->function.parameters;
    const launched of = {.name = function->function.name,
                         .hash = function->function.hash,
                         .parameters = place < parameter_count ? &parameters[place] : NULL};
    return enqueue(call, &of, wanted);
}

static uint64_t launch_host(st_call *call, uint64_t host, launch *wanted)
{
    wanted->function = host;
    kernel *of = find_kernel(host);
    const st_object *function = of == NULL ? st_object_of(host, ST_OBJECT_FUNCTION) : NULL;
    if (of == NULL && function != NULL) /* a cudaKernel_t of a library that was loaded */
        return enqueue_loaded(call, function, wanted);
    if (of == NULL)
        return st_misuse(call, ST_CUDA_INVALID_DEVICE_FUNCTION, "launch of an unknown kernel");
    call->is_short = of->binary == NULL;
    if (of->binary != NULL) {
        (void)st_layout_find(of->binary, st_string_text(of->name), &of->parameters.layout);
        of->binary = NULL;
    }
    return enqueue(call, &(launched){of->name, of->hash, &of->parameters}, wanted);
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
    launch wanted = {.arguments = {.list = st_word(call, 5)},
                     .shared_bytes = st_word(call, 6),
                     .stream = st_word(call, 7)};
    dims_of(st_word(call, 1), st_word(call, 2), wanted.grid);
    dims_of(st_word(call, 3), st_word(call, 4), wanted.block);
    return launch_host(call, st_word(call, 0), &wanted);
}

uint64_t st_kernel_node(st_call *call, const void *given)
{
    st_kernel_given from;
    uint64_t result = st_graph_node(call, ST_NODE_KERNEL);
    if (result != 0)
        return result;
    memcpy(&from, given, sizeof from);
    launch wanted = {.shared_bytes = from.shared_bytes, .arguments = {.list = from.arguments}};
    memcpy(wanted.grid, from.grid, sizeof wanted.grid);
    memcpy(wanted.block, from.block, sizeof wanted.block);
    const st_log_graph *made = &call->extra[0].graph;
    if (made->executable == 0)
        wanted.node = st_node_at(made->capture, made->nodes);
    if (from.function == 0 && call->entry->library == ST_CUDA) /* a CUkernel, behind `extra` */
        memcpy(&from.function, (const char *)given + sizeof from, sizeof from.function);
    return launch_host(call, from.function, &wanted);
}

/* cudaGraphAddKernelNode, cuGraphAddKernelNode and what changes their nodes: n the parameters */
uint64_t st_do_graph_kernel(st_call *call)
{
    return st_kernel_node(call, st_role_pointer(call, 'n'));
}

/* The arguments in a row, behind the word 1 of a list that ends with 0. */
static uint64_t buffer_of(const uint64_t *extra)
{
    while (extra != NULL && extra[0] != 0) {
        if (extra[0] == 1)
            return extra[1];
        extra += 2;
    }
    return 0;
}

/* cuLaunchKernel(function, grid x y z, block x y z, shared bytes, stream, arguments, extra) */
uint64_t st_do_launch_driver(st_call *call)
{
    launch wanted = {.shared_bytes = st_word(call, 7) & UINT32_MAX,
                     .stream = st_word(call, 8),
                     .arguments = {.list = st_word(call, 9)}};
    if (wanted.arguments.list == 0)
        wanted.arguments.buffer = buffer_of(st_pointer(call, 10));
    for (unsigned i = 0; i < 3; i++) {
        wanted.grid[i] = (uint32_t)st_word(call, 1 + i);
        wanted.block[i] = (uint32_t)st_word(call, 4 + i);
    }
    return enqueue_loaded(call, call->taken[0], &wanted);
}

/* cudaLaunchKernelExC(configuration, function, arguments), cuLaunchKernelEx(..., x extra) */
uint64_t st_do_launch_ex(st_call *call)
{
    struct {
        uint32_t grid[3];
        uint32_t block[3];
        uint32_t shared_bytes; /* the runtime has 64 bits */
        uint64_t stream;
    } from;
    memcpy(&from, st_pointer(call, 0), sizeof from);
    launch wanted = {.shared_bytes = from.shared_bytes,
                     .stream = from.stream,
                     .arguments = {.list = st_word(call, 2)}};
    if (wanted.arguments.list == 0 && call->entry->place['x' - 'a'] > 0)
        wanted.arguments.buffer = buffer_of(st_pointer(call, 3));
    memcpy(wanted.grid, from.grid, sizeof wanted.grid);
    memcpy(wanted.block, from.block, sizeof wanted.block);
    return launch_host(call, st_word(call, 1), &wanted);
}

/* What cuFuncSetBlockShape and the like set for the launches of a function: constant 0 its block, 1
 * its shared memory, 2 a whole number (offset, number), 3 an argument (offset, pointer, bytes). */
uint64_t st_do_function_set(st_call *call)
{
    enum { BLOCK, SHARED, NUMBER, MOST_BYTES = 4096 };
    st_object *of = call->taken[0];
    uint64_t offset = st_word(call, 1);
    uint64_t number = st_word(call, 2);
    const bool is_number = call->entry->constant == NUMBER;
    uint64_t bytes = is_number ? 4 : st_word(call, 3);
    if (call->entry->constant == BLOCK) {
        for (unsigned i = 0; i < 3; i++)
            of->function.block[i] = (uint32_t)st_word(call, 1 + i);
        return 0;
    }
    if (call->entry->constant == SHARED) {
        of->function.shared_bytes = (uint32_t)offset;
        return 0;
    }
    if (of->function.arguments == NULL)
        of->function.arguments = calloc(1, MOST_BYTES);
    const void *from = is_number ? &number : st_pointer(call, 2);
    if (of->function.arguments == NULL)
        return ST_CUDA_OUT_OF_MEMORY;
    if (from == NULL || offset > MOST_BYTES || bytes > MOST_BYTES - offset)
        return ST_CUDA_INVALID_VALUE;
    memcpy(of->function.arguments + offset, from, bytes);
    return 0;
}

/* cuLaunchGrid(function, width, height), cuLaunchGridAsync(..., stream), cuLaunch(function) */
uint64_t st_do_launch_grid(st_call *call)
{
    const st_object *of = call->taken[0];
    const void *arguments = of->function.arguments;
    launch wanted = {.grid = {(uint32_t)st_role(call, 'w', 1), (uint32_t)st_role(call, 'h', 1), 1},
                     .shared_bytes = of->function.shared_bytes,
                     .stream = st_role(call, 's', 0)};
    memcpy(wanted.block, of->function.block, sizeof wanted.block);
    memcpy(&wanted.arguments.buffer, &arguments, sizeof arguments);
    return enqueue_loaded(call, of, &wanted);
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
        return st_misuse(call, ST_CUDA_INVALID_DEVICE_FUNCTION, "unknown kernel");
    return ST_PUT(call, 0, uint64_t, st_word(call, 1));
}

/* cudaFuncAttributes: the limits of any kernel, compiled for the device; its registers are not
 * known */
uint64_t st_do_function_attributes(st_call *call)
{
    unsigned char attributes[144] = {0};
    const uint32_t most_threads = 1024;
    const uint32_t versions[] = {st_now.compute_capability, st_now.compute_capability};
    if (find_kernel(st_word(call, 1)) == NULL)
        return st_misuse(call, ST_CUDA_INVALID_DEVICE_FUNCTION, "unknown kernel");
    memcpy(attributes + 24, &most_threads, sizeof most_threads);
    memcpy(attributes + 32, versions, sizeof versions);
    return st_put_bytes(st_pointer(call, 0), attributes, 60);
}

/* cuFuncGetAttribute(value *, attribute, function): the same */
uint64_t st_do_function_attribute(st_call *call)
{
    enum { THREADS = 0, PTX_VERSION = 5, BINARY_VERSION = 6 };
    const int32_t attribute = st_int(call, 1);
    uint32_t value = attribute == THREADS ? 1024 : 0;
    if (attribute == PTX_VERSION || attribute == BINARY_VERSION)
        value = st_now.compute_capability;
    return ST_PUT(call, 0, uint32_t, value);
}

/* ---- modules ---- */

/* i the image of the module, a cubin or a fat binary, which may go after the call */
uint64_t st_do_module_load(st_call *call)
{
    st_object *module = st_object_make(ST_OBJECT_MODULE);
    if (module == NULL)
        return ST_CUDA_OUT_OF_MEMORY;
    module->module.image = st_layout_copy(st_role_pointer(call, 'i'));
    return ST_PUT(call, 0, uint64_t, module->handle);
}

uint64_t st_do_module_unload(st_call *call)
{
    free(call->taken[0]->module.image);
    st_object_drop(call->taken[0]);
    return 0;
}

/* What is known of a loaded kernel's parameters: its place in the list. */
static uint32_t add_parameters(const void *image, const char *name)
{
    if (!ST_ROOM(parameters, parameter_count, parameter_capacity))
        return UINT32_MAX;
    st_parameters *made = &parameters[parameter_count];
    *made = (st_parameters){0};
    st_parameters_name(made, name);
    (void)st_layout_find(image, name, &made->layout);
    return parameter_count++;
}

uint64_t st_do_module_function(st_call *call)
{
    const char *name = st_pointer(call, 2);
    const void *image = call->taken[0]->module.image;
    st_object *function = st_object_make(ST_OBJECT_FUNCTION);
    if (function == NULL)
        return ST_CUDA_OUT_OF_MEMORY;
    function->function.name = st_string(name);
    function->function.hash = st_hash_text(ST_HASH_BEGIN, name);
    function->function.parameters = add_parameters(image, name);
    return ST_PUT(call, 0, uint64_t, function->handle);
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

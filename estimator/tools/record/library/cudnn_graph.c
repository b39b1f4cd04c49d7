/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graphs of cuDNN's backend: descriptors that programs make and fill attribute by attribute -
 * tensors, operations, a graph of these, a plan for it - and the plan that they run.
 *
 * Attributes are kept as they are given, whatever they are. What cuDNN itself would answer is one
 * engine without workspace for any graph. The numbers of attributes, types and descriptors are
 * those of cudnn_graph.h.
 */
#include "record/library/handlers.h"

#include "base/hash.h"
#include "record/library/objects.h"
#include "record_tables.h"

#include <stdlib.h>

enum {
    BAD_PARAM = 2000,
    NULL_POINTER = 2002,
    NOT_FINALIZED = 2004,
    ALLOC_FAILED = 1006,
    MOST_OPERATIONS = 64,
    MOST_TENSORS = 128,
    MOST_DIMS = 8,
    MOST_ELEMENTS = 1 << 16
};

/* cudnnBackendDescriptorType_t */
enum {
    ENGINE = 2,
    PLAN = 5,
    CONVOLUTION = 10,
    CONVOLUTION_FILTER = 11,
    CONVOLUTION_DATA = 12,
    TENSOR = 17,
    MATMUL = 19,
    SDPA_FORWARD = 41,
    SDPA_BACKWARD = 43,
    DESCRIPTORS = 44
};

/* cudnnBackendAttributeType_t */
enum { TYPE_DATA = 1, TYPE_INT64 = 3, TYPE_DESCRIPTOR = 15, TYPES = 31 };

/* cudnnBackendAttributeName_t */
enum {
    HEURISTIC_GRAPH = 201,
    HEURISTIC_RESULTS = 202,
    CONFIG_ENGINE = 300,
    CONFIG_WORKSPACE = 303,
    CONFIG_SHARED = 304,
    PLAN_CONFIG = 401,
    PLAN_WORKSPACE = 402,
    FORWARD_W = 703,
    FORWARD_Y = 705,
    DATA_W = 709,
    DATA_DY = 711,
    FILTER_DW = 715,
    FILTER_DY = 717,
    GRAPH_OPERATIONS = 801,
    GRAPH_ENGINES = 802,
    TENSOR_TYPE = 901,
    TENSOR_DIMS = 902,
    TENSOR_VIRTUAL = 907,
    ENGINE_GRAPH = 1300,
    ENGINE_INDEX = 1301,
    MATMUL_A = 1520,
    MATMUL_B = 1521,
    MATMUL_C = 1522,
    SDPA_Q = 2800,
    SDPA_K = 2801,
    SDPA_BACKWARD_Q = 2851,
    SDPA_BACKWARD_K = 2852
};

#define DESCRIPTOR_WORD UINT64_C(0x5d63754444657363)

typedef struct attribute {
    struct attribute *next;
    uint32_t name;
    uint32_t type;
    uint64_t count;
    unsigned char bytes[];
} attribute;

typedef struct descriptor {
    uint64_t word;
    uint32_t type;
    uint32_t users; /* the program, and descriptors that have it for an attribute */
    bool alive;     /* the program has not destroyed it */
    bool finalized;
    attribute *attributes;
} descriptor;

static size_t element_bytes(uint32_t type)
{
    static const uint8_t bytes[TYPES] = {
        [0] = 8, [2] = 1, [3] = 8, [5] = 8, [6] = 8, [15] = 8, [24] = 1, [26] = 16};
    return type < TYPES && bytes[type] != 0 ? bytes[type] : 4;
}

/* NULL where it is none. */
static descriptor *as_descriptor(void *pointer)
{
    descriptor *of = pointer;
    return st_is_address(of) && of->word == DESCRIPTOR_WORD ? of : NULL;
}

static uint64_t bad(st_call *call)
{
    return st_misuse(call, BAD_PARAM, "invalid cuDNN descriptor");
}

static const attribute *find(const descriptor *of, uint32_t name)
{
    const attribute *at = of != NULL ? of->attributes : NULL;
    while (at != NULL && at->name != name)
        at = at->next;
    return at;
}

/* The index-th descriptor of an attribute of descriptors; NULL: there is none. */
static descriptor *element(const attribute *at, uint64_t index)
{
    void *pointer;
    if (at == NULL || at->type != TYPE_DESCRIPTOR || index >= at->count)
        return NULL;
    memcpy(&pointer, at->bytes + index * sizeof pointer, sizeof pointer);
    return as_descriptor(pointer);
}

/* One user less of a descriptor; what nobody uses goes, and what it alone used with it. */
static void leave(descriptor *of)
{
    descriptor *pending[MOST_OPERATIONS] = {of};
    size_t count = 1;
    while (count > 0) {
        descriptor *made = pending[--count];
        if (made == NULL || --made->users > 0)
            continue;
        while (made->attributes != NULL) {
            attribute *at = made->attributes;
            /* More than fit here stay in memory. */
            for (uint64_t i = 0; at->type == TYPE_DESCRIPTOR && i < at->count; i++)
                if (count < MOST_OPERATIONS)
                    pending[count++] = element(at, i);
            made->attributes = at->next;
            free(at);
        }
        made->word = 0;
        free(made);
    }
}

static void use_elements(const attribute *at, bool use)
{
    for (uint64_t i = 0; at->type == TYPE_DESCRIPTOR && i < at->count; i++) {
        descriptor *made = element(at, i);
        if (made != NULL && use)
            made->users++;
        else if (made != NULL)
            leave(made);
    }
}

static bool put(descriptor *of, uint32_t name, uint32_t type, uint64_t count, const void *from)
{
    size_t bytes = count * element_bytes(type);
    attribute *made = malloc(sizeof *made + bytes);
    if (made == NULL)
        return false;
    *made = (attribute){.name = name, .type = type, .count = count};
    if (bytes > 0)
        memcpy(made->bytes, from, bytes);
    use_elements(made, true);
    attribute **place = &of->attributes;
    while (*place != NULL && (*place)->name != name)
        place = &(*place)->next;
    attribute *old = *place;
    made->next = old != NULL ? old->next : NULL;
    *place = made;
    if (old != NULL)
        use_elements(old, false);
    free(old);
    return true;
}

/* The descriptor that an attribute is, or the index-th of them; NULL: none. */
static descriptor *part(const descriptor *of, uint32_t name, uint64_t index)
{
    return element(find(of, name), index);
}

static descriptor *make_descriptor(uint32_t type)
{
    descriptor *made = calloc(1, sizeof *made);
    if (made != NULL)
        *made = (descriptor){.word = DESCRIPTOR_WORD, .type = type, .users = 1, .alive = true};
    return made;
}

/* cudnnBackendCreateDescriptor(type, descriptor *), and of the type that is the constant:
 * cudnnCreateTensorDescriptor(descriptor *) and its like */
uint64_t st_do_descriptor_create(st_call *call)
{
    const bool is_old = call->entry->constant > 0;
    const uint32_t type = (uint32_t)(is_old ? call->entry->constant : st_int(call, 0));
    const unsigned into = is_old ? 0 : 1;
    if (st_word(call, into) == 0)
        return NULL_POINTER;
    if (type >= DESCRIPTORS)
        return bad(call);
    descriptor *made = make_descriptor(type);
    return made != NULL ? ST_PUT(call, into, void *, made) : ALLOC_FAILED;
}

uint64_t st_do_descriptor_destroy(st_call *call)
{
    descriptor *of = as_descriptor(st_pointer(call, 0));
    if (of == NULL || !of->alive)
        return bad(call);
    of->alive = false;
    leave(of);
    return 0;
}

uint64_t st_do_descriptor_finalize(st_call *call)
{
    descriptor *of = as_descriptor(st_pointer(call, 0));
    if (of == NULL)
        return bad(call);
    of->finalized = true;
    return 0;
}

/* cudnnBackendSetAttribute(descriptor, name, type, count, elements *) */
uint64_t st_do_descriptor_set(st_call *call)
{
    descriptor *of = as_descriptor(st_pointer(call, 0));
    uint64_t count = st_word(call, 3);
    if (of == NULL)
        return bad(call);
    if (count > MOST_ELEMENTS || (uint32_t)st_int(call, 2) >= TYPES)
        return st_misuse(call, BAD_PARAM, "invalid cuDNN attribute");
    if (count > 0 && st_word(call, 4) == 0)
        return NULL_POINTER;
    bool kept =
        put(of, (uint32_t)st_int(call, 1), (uint32_t)st_int(call, 2), count, st_pointer(call, 4));
    return kept ? 0 : ALLOC_FAILED;
}

/* ---- what cuDNN answers ---- */

/* An engine for the graph of these heuristics. */
static descriptor *make_engine(const descriptor *heuristics)
{
    descriptor *graph = part(heuristics, HEURISTIC_GRAPH, 0);
    descriptor *engine = make_descriptor(ENGINE);
    const int64_t index = 0;
    if (engine == NULL)
        return NULL;
    engine->finalized = true;
    bool kept = put(engine, ENGINE_GRAPH, TYPE_DESCRIPTOR, 1, &graph) &&
                put(engine, ENGINE_INDEX, TYPE_INT64, 1, &index);
    if (kept)
        return engine;
    leave(engine);
    return NULL;
}

/* The results of heuristics are configurations that the program made, which are filled in. */
static uint64_t put_results(st_call *call, const descriptor *heuristics)
{
    descriptor **into = st_pointer(call, 5);
    if (st_word(call, 4) != 0)
        (void)ST_PUT(call, 4, int64_t, 1);
    if (into == NULL || (int64_t)st_word(call, 3) < 1)
        return 0;
    descriptor *config = as_descriptor(into[0]);
    descriptor *engine = config != NULL ? make_engine(heuristics) : NULL;
    if (config == NULL)
        return bad(call);
    if (engine == NULL)
        return ALLOC_FAILED;
    bool kept = put(config, CONFIG_ENGINE, TYPE_DESCRIPTOR, 1, &engine);
    leave(engine); /* the configuration's alone now */
    if (!kept)
        return ALLOC_FAILED;
    config->finalized = true;
    return 0;
}

/* A descriptor is copied into one that the program made. */
static uint64_t put_descriptors(st_call *call, const attribute *at)
{
    descriptor **into = st_pointer(call, 5);
    uint64_t most = st_word(call, 3);
    for (uint64_t i = 0; into != NULL && i < at->count && i < most; i++) {
        descriptor *from = element(at, i);
        descriptor *to = as_descriptor(into[i]);
        if (from == NULL)
            return bad(call);
        if (to == NULL)
            into[i] = from;
        for (const attribute *kept = to != NULL && to != from ? from->attributes : NULL;
             kept != NULL; kept = kept->next)
            if (!put(to, kept->name, kept->type, kept->count, kept->bytes))
                return ALLOC_FAILED;
        if (to != NULL)
            to->finalized = to->finalized || from->finalized;
    }
    return 0;
}

/* cudnnBackendGetAttribute(descriptor, name, type, most, count *, elements *) */
uint64_t st_do_descriptor_get(st_call *call)
{
    const descriptor *of = as_descriptor(st_pointer(call, 0));
    uint32_t name = (uint32_t)st_int(call, 1);
    if (of == NULL)
        return bad(call);
    if (!of->finalized)
        return st_misuse(call, NOT_FINALIZED, "cuDNN descriptor is not finalized");
    if (name == HEURISTIC_RESULTS)
        return put_results(call, of);
    const attribute *at = find(of, name);
    if (at == NULL) {
        /* What nobody set: a workspace and shared memory of no bytes, one engine, nothing else. */
        bool size = name == PLAN_WORKSPACE || name == CONFIG_WORKSPACE || name == CONFIG_SHARED;
        bool number = size || name == GRAPH_ENGINES || name == ENGINE_INDEX;
        size_t bytes = element_bytes((uint32_t)st_int(call, 2));
        const int64_t value = name == GRAPH_ENGINES ? 1 : 0;
        if (st_word(call, 4) != 0)
            (void)ST_PUT(call, 4, int64_t, number);
        if (number && st_word(call, 5) != 0 && (int64_t)st_word(call, 3) > 0)
            (void)st_put_bytes(st_pointer(call, 5), &value, bytes < 8 ? bytes : 8);
        return 0;
    }
    if (st_word(call, 4) != 0)
        (void)ST_PUT(call, 4, int64_t, (int64_t)at->count);
    if (at->type == TYPE_DESCRIPTOR)
        return put_descriptors(call, at);
    uint64_t most = st_word(call, 3);
    uint64_t count = at->count < most ? at->count : most;
    if (count > 0 && st_word(call, 5) != 0)
        (void)st_put_bytes(st_pointer(call, 5), at->bytes, count * element_bytes(at->type));
    return 0;
}

/* ---- what is executed ---- */

typedef struct tensor {
    int64_t dims[MOST_DIMS]; /* the last ones */
    size_t count;
    uint32_t type; /* st_log_type */
    bool is_virtual;
    double elements;
} tensor;

/* cudnnDataType_t in the log's types */
static uint32_t type_of(uint32_t type)
{
    static const uint8_t types[] = {ST_LOG_FP32,     ST_LOG_FP64,     ST_LOG_FP16,     ST_LOG_INT8,
                                    ST_LOG_INT32,    ST_LOG_INT8,     ST_LOG_UINT8,    ST_LOG_UINT8,
                                    ST_LOG_INT8,     ST_LOG_BF16,     ST_LOG_INT64,    ST_LOG_UINT8,
                                    ST_LOG_FP8_E4M3, ST_LOG_FP8_E5M2, ST_LOG_FP8_E4M3, ST_LOG_UINT8,
                                    ST_LOG_FP4_E2M1};
    return type < sizeof types ? types[type] : ST_LOG_TYPE_UNKNOWN;
}

static tensor read_tensor(const descriptor *of)
{
    tensor made = {.elements = 1, .type = ST_LOG_TYPE_UNKNOWN};
    const attribute *dims = find(of, TENSOR_DIMS);
    const attribute *type = find(of, TENSOR_TYPE);
    const attribute *is_virtual = find(of, TENSOR_VIRTUAL);
    uint32_t number = 0;
    if (type != NULL && type->count == 1 && element_bytes(type->type) == sizeof number) {
        memcpy(&number, type->bytes, sizeof number);
        made.type = type_of(number);
    }
    made.is_virtual = is_virtual != NULL && is_virtual->count > 0 && is_virtual->bytes[0] != 0;
    for (uint64_t i = 0; dims != NULL && dims->type == TYPE_INT64 && i < dims->count; i++) {
        int64_t dim;
        memcpy(&dim, dims->bytes + i * sizeof dim, sizeof dim);
        made.elements *= dim > 0 ? (double)dim : 1;
        if (made.count < MOST_DIMS)
            made.dims[made.count++] = dim;
    }
    return made;
}

/* A dimension counted from the end, 1 for the last. */
static uint32_t dim_of(const tensor *of, size_t from_end)
{
    int64_t dim = from_end <= of->count ? of->dims[of->count - from_end] : 1;
    return dim > 0 && dim < UINT32_MAX ? (uint32_t)dim : 1;
}

/* A graph as it is read. */
typedef struct reading {
    st_log_cudnn *into;
    const descriptor *seen[MOST_TENSORS];
    size_t seen_count;
    double bytes; /* of tensors that lie in memory */
    char text[512];
    size_t length;
} graph_reader;

static void add_tensor(graph_reader *reader, const descriptor *of)
{
    for (size_t i = 0; i < reader->seen_count; i++)
        if (reader->seen[i] == of)
            return;
    if (reader->seen_count == MOST_TENSORS)
        return;
    reader->seen[reader->seen_count++] = of;
    tensor read = read_tensor(of);
    uint32_t bytes = st_log_type_bytes(read.type);
    if (!read.is_virtual) {
        reader->bytes += read.elements * (bytes > 0 ? bytes : 1);
        reader->into->tensors++;
    }
}

/* Batch, heads, length and width of the queries, length and width of the keys, and how many heads
 * of queries share one of keys. */
static void read_attention(graph_reader *reader, const descriptor *of, uint32_t q, uint32_t k)
{
    tensor queries = read_tensor(part(of, q, 0));
    tensor keys = read_tensor(part(of, k, 0));
    for (size_t i = 0; i < 4; i++)
        reader->into->dims[i] = dim_of(&queries, 4 - i);
    reader->into->other[0] = dim_of(&keys, 2);
    reader->into->other[1] = dim_of(&keys, 1);
    uint32_t heads = dim_of(&queries, 3);
    uint32_t of_keys = dim_of(&keys, 3);
    if (of_keys > 0 && heads % of_keys == 0 && heads / of_keys <= UINT8_MAX)
        reader->into->share = (uint8_t)(heads / of_keys);
    reader->into->type = (uint8_t)queries.type;
}

/* The product that a convolution is: all places of the output, its channels, and a filter. */
static void read_convolution(graph_reader *reader, const descriptor *of, uint32_t filter,
                             uint32_t output)
{
    tensor w = read_tensor(part(of, filter, 0)); /* channels out, channels in, and its sizes */
    tensor y = read_tensor(part(of, output, 0)); /* batch, channels out, and its sizes */
    double channels = y.count > 1 ? (double)y.dims[1] : 1;
    double places = y.elements / (channels > 0 ? channels : 1);
    double inner = w.count > 0 && w.dims[0] > 0 ? w.elements / (double)w.dims[0] : 1;
    const double sizes[] = {places, channels, inner};
    for (size_t i = 0; i < 3; i++)
        reader->into->dims[i] = sizes[i] < UINT32_MAX ? (uint32_t)sizes[i] : UINT32_MAX;
    reader->into->dims[3] = 1;
    reader->into->type = (uint8_t)y.type;
    reader->into->matmuls++;
}

static void read_matmul(graph_reader *reader, const descriptor *of)
{
    tensor a = read_tensor(part(of, MATMUL_A, 0));
    tensor c = read_tensor(part(of, MATMUL_C, 0));
    double batch = c.elements / ((double)dim_of(&c, 1) * dim_of(&c, 2));
    if (reader->into->matmuls++ > 0)
        return; /* the first product identifies attention */
    reader->into->dims[0] = dim_of(&c, 2);
    reader->into->dims[1] = dim_of(&c, 1);
    reader->into->dims[2] = dim_of(&a, 1);
    reader->into->dims[3] = batch >= 1 && batch < UINT32_MAX ? (uint32_t)batch : 1;
    reader->into->type = (uint8_t)a.type;
}

static void read_operation(graph_reader *reader, const descriptor *of)
{
    const uint32_t type = of->type;
    static const char *const names[DESCRIPTORS] = {ST_TABLE_OPERATIONS};
    const char *name = type < DESCRIPTORS && names[type] != NULL ? names[type] : "other";
    size_t left = sizeof reader->text - reader->length;
    int length =
        snprintf(reader->text + reader->length, left, "%s%s", reader->length > 0 ? "," : "", name);
    if (length > 0 && (size_t)length < left)
        reader->length += (size_t)length;
    for (const attribute *at = of->attributes; at != NULL; at = at->next)
        for (uint64_t i = 0; at->type == TYPE_DESCRIPTOR && i < at->count; i++) {
            const descriptor *tensor_of = part(of, at->name, i);
            if (tensor_of != NULL && tensor_of->type == TENSOR)
                add_tensor(reader, tensor_of);
        }
    switch (of->type) {
    case CONVOLUTION:
        read_convolution(reader, of, FORWARD_W, FORWARD_Y);
        break;
    case CONVOLUTION_FILTER:
        read_convolution(reader, of, FILTER_DW, FILTER_DY);
        break;
    case CONVOLUTION_DATA:
        read_convolution(reader, of, DATA_W, DATA_DY);
        break;
    case MATMUL:
        read_matmul(reader, of);
        break;
    case SDPA_FORWARD:
        reader->into->matmuls = 2;
        read_attention(reader, of, SDPA_Q, SDPA_K);
        break;
    case SDPA_BACKWARD:
        reader->into->matmuls = 5;
        read_attention(reader, of, SDPA_BACKWARD_Q, SDPA_BACKWARD_K);
        break;
    default:
        break;
    }
}

/* cudnnBackendExecute(handle, plan, variant pack) */
uint64_t st_do_descriptor_execute(st_call *call)
{
    const descriptor *plan = as_descriptor(st_pointer(call, 1));
    if (plan == NULL || plan->type != PLAN || as_descriptor(st_pointer(call, 2)) == NULL)
        return bad(call);
    if (!plan->finalized)
        return st_misuse(call, NOT_FINALIZED, "cuDNN plan is not finalized");
    const descriptor *engine = part(part(plan, PLAN_CONFIG, 0), CONFIG_ENGINE, 0);
    st_object *stream = st_stream_of(call->taken[0]->blas.stream);
    if (stream == NULL)
        return st_misuse(call, BAD_PARAM, "destroyed stream");
    st_log_cudnn *into = &call->draft.cudnn;
    call->draft.kind = ST_LOG_CUDNN;
    *into = (st_log_cudnn){.stream = stream->number, .type = ST_LOG_TYPE_UNKNOWN};
    graph_reader reader = {.into = into};
    const descriptor *graph = part(engine, ENGINE_GRAPH, 0);
    uint64_t k = 0;
    for (const descriptor *of = part(graph, GRAPH_OPERATIONS, k); of != NULL && k < MOST_OPERATIONS;
         of = part(graph, GRAPH_OPERATIONS, ++k))
        read_operation(&reader, of);
    if (reader.into->matmuls == 2 || reader.into->matmuls == 5) {
        /* Attention of single operations: its first product is that of queries and keys. */
        for (uint64_t j = 0; j < MOST_OPERATIONS; j++) {
            const descriptor *of = part(graph, GRAPH_OPERATIONS, j);
            if (of != NULL && of->type == MATMUL) {
                read_attention(&reader, of, MATMUL_A, MATMUL_B);
                break;
            }
        }
    }
    double kib = (reader.bytes + 1023) / 1024;
    reader.into->kib = kib < UINT32_MAX ? (uint32_t)kib : UINT32_MAX;
    reader.into->operations = st_string(reader.text);
    st_enqueue(call, stream);
    st_mix(st_hash_text(ST_HASH_BEGIN, reader.text));
    for (size_t i = 0; i < 4; i++)
        st_mix(into->dims[i]);
    st_mix(into->share);
    return 0;
}

/* ---- older functions ---- */

/* A tensor: t its type, n dimensions at d, or f the first of four. */
uint64_t st_do_tensor_set(st_call *call)
{
    descriptor *of = as_descriptor(st_pointer(call, 0));
    const int32_t type = (int32_t)(uint32_t)st_role(call, 't', 0);
    const int32_t *given = st_role_pointer(call, 'd');
    const uint8_t first = call->entry->place['f' - 'a'];
    const uint64_t count = first > 0 ? 4 : st_role(call, 'n', 0) & UINT32_MAX;
    int64_t dims[MOST_DIMS];
    if (of == NULL || of->type != TENSOR || count < 1 || count > MOST_DIMS ||
        (first == 0 && given == NULL))
        return bad(call);
    for (unsigned i = 0; i < count; i++)
        dims[i] = first > 0 ? st_int(call, first - 1U + i) : given[i];
    bool kept =
        put(of, TENSOR_TYPE, TYPE_DATA, 1, &type) && put(of, TENSOR_DIMS, TYPE_INT64, count, dims);
    return kept ? 0 : ALLOC_FAILED;
}

/* What goes so often as the constant says over x, a tensor. */
uint64_t st_do_tensor_pass(st_call *call)
{
    const descriptor *of = as_descriptor(st_role_pointer(call, 'x'));
    st_object *stream = st_stream_of(call->taken[0]->blas.stream);
    if (of == NULL || of->type != TENSOR || stream == NULL)
        return bad(call);
    const tensor read = read_tensor(of);
    const double kib =
        read.elements * st_log_type_bytes(read.type) * call->entry->constant / 1024 + 1;
    call->draft.kind = ST_LOG_CUDNN;
    call->draft.cudnn = (st_log_cudnn){.stream = stream->number,
                                       .operations = st_string(call->entry->name),
                                       .type = (uint8_t)read.type,
                                       .tensors = (uint8_t)call->entry->constant,
                                       .kib = kib < UINT32_MAX ? (uint32_t)kib : UINT32_MAX};
    st_enqueue(call, stream);
    st_mix(st_hash_text(ST_HASH_BEGIN, call->entry->name));
    st_mix(call->draft.cudnn.kib);
    return 0;
}

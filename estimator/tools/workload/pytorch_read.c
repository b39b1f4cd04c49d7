/* SPDX-License-Identifier: Apache-2.0 */
/* Execution traces of PyTorch as JSON; see pytorch.h. Keys may come in any order. */
#include "workload/pytorch.h"

#include "base/lists.h"
#include "base/memory.h"
#include "base/word_sets.h"
#include "trace/scan.h"

#include <string.h>

enum { TENSOR_FIELDS = 6, MOST_DEPTH = 16, RESULT = ST_PYTORCH_SHAPES - 1 };

typedef struct json_reader {
    st_scan scan;
    st_pytorch *operators;
    st_arena *arena;
    st_errors *errors;
    bool has_nodes;
    bool has_events; /* of a profiler's recording */
} json_reader;

static const char *keep(json_reader *in, st_scan_span text)
{
    return st_arena_copy(in->arena, st_scan_text(&in->scan, text), text.length);
}

static bool is(const json_reader *in, st_scan_span text, const char *word)
{
    return strlen(word) == text.length &&
           memcmp(st_scan_text(&in->scan, text), word, text.length) == 0;
}

/* A whole number, also as a text; others are passed over. */
static bool read_number(json_reader *in, int64_t *number)
{
    st_scan_span text;
    char c = st_scan_peek(&in->scan);
    if (c != '"' && c != '-' && (c < '0' || c > '9'))
        return st_scan_ok(&in->scan) && st_scan_skip(&in->scan);
    if (!(c == '"' ? st_scan_string(&in->scan, &text) : st_scan_number(&in->scan, &text)))
        return false;
    (void)st_whole_value(st_scan_text(&in->scan, text), text.length, number);
    return true;
}

/* ---- arguments ---- */

static const char collectives[] =
    "allreduce all_reduce allgather _allgather_base all_gather reduce_scatter "
    "_reduce_scatter_base broadcast reduce all_to_all all_to_allv alltoall alltoall_base gather "
    "scatter barrier wait send recv allreduce_coalesced allgather_into_tensor_coalesced "
    "all_reduce_coalesced reduce_scatter_tensor_coalesced";

/* "[id, storage, offset, elements, bytes of one, device]" */
static void add_tensor(json_reader *in, const int64_t *numbers, st_scan_span device, bool is_output)
{
    st_pytorch *all = in->operators;
    const char *name = st_scan_text(&in->scan, device);
    const st_pytorch_tensor made = {.storage = numbers[1],
                                    .bytes = (double)numbers[3] * (double)numbers[4],
                                    .on_gpu = device.length >= 4 && (memcmp(name, "cuda", 4) == 0 ||
                                                                     memcmp(name, "hip", 3) == 0),
                                    .is_output = is_output};
    if (numbers[3] < 0 || numbers[4] < 0 || numbers[4] > 64)
        return;
    all->items[all->count - 1].type_bytes = all->items[all->count - 1].tensor_count == 0
                                                ? (uint8_t)numbers[4]
                                                : all->items[all->count - 1].type_bytes;
    all->items[all->count - 1].tensor_count++;
    (void)ST_APPEND(in->arena, all->tensors, all->tensor_count, made);
}

static bool read_list(json_reader *in, bool is_output, int depth);

/* A value among others; of those at the top words and numbers matter. */
static bool read_value(json_reader *in, bool is_output, int depth, int64_t *number,
                       st_scan_span *text)
{
    st_pytorch_operator *one = &in->operators->items[in->operators->count - 1];
    char c = st_scan_peek(&in->scan);
    *text = (st_scan_span){0};
    *number = -1;
    if (c == '[')
        return read_list(in, is_output, depth + 1);
    if (c == '"') {
        if (!st_scan_string(&in->scan, text))
            return false;
        if (depth == 0 && !is_output && one->collective == NULL &&
            st_has_word_of(collectives, st_scan_text(&in->scan, *text), text->length))
            one->collective = keep(in, *text);
        return true;
    }
    if (!read_number(in, number))
        return false;
    if (depth == 0 && !is_output && *number >= 0) {
        one->first_number = one->first_number < 0 ? *number : one->first_number;
        one->last_number = *number;
    }
    return true;
}

static bool read_list(json_reader *in, bool is_output, int depth)
{
    int64_t numbers[TENSOR_FIELDS] = {0};
    st_scan_span device = {0};
    size_t count = 0;
    bool started = false;
    bool plain = true; /* numbers, and a text at the end */
    if (depth > MOST_DEPTH)
        return st_scan_skip(&in->scan);
    if (!st_scan_enter(&in->scan, '['))
        return false;
    for (; st_scan_item(&in->scan, &started); count++) {
        int64_t number = -1;
        bool is_list = st_scan_peek(&in->scan) == '[';
        if (!read_value(in, is_output, depth, &number, &device))
            return false;
        plain = plain && !is_list && (count + 1 < TENSOR_FIELDS) == (device.length == 0);
        if (count < TENSOR_FIELDS)
            numbers[count] = number;
    }
    if (!st_scan_ok(&in->scan))
        return false;
    bool is_tensor = depth > 0 && plain && count == TENSOR_FIELDS && device.length > 0;
    if (is_tensor)
        add_tensor(in, numbers, device, is_output);
    return true;
}

static bool read_arguments(json_reader *in, bool is_output)
{
    return st_scan_peek(&in->scan) == '[' ? read_list(in, is_output, 0) : st_scan_skip(&in->scan);
}

/* Sizes of one tensor; those of lists of tensors are passed over. */
static bool read_dims(json_reader *in, int64_t *dims, uint8_t *count)
{
    bool started = false;
    if (st_scan_peek(&in->scan) != '[')
        return st_scan_skip(&in->scan);
    if (!st_scan_enter(&in->scan, '['))
        return false;
    while (st_scan_item(&in->scan, &started)) {
        int64_t size = -1;
        bool is_list = st_scan_peek(&in->scan) == '[';
        if (!(is_list || *count == ST_PYTORCH_DIMS ? st_scan_skip(&in->scan)
                                                   : read_number(in, &size)))
            return false;
        if (!is_list && *count < ST_PYTORCH_DIMS)
            dims[(*count)++] = size;
    }
    return st_scan_ok(&in->scan);
}

static bool read_shapes(json_reader *in, bool is_output)
{
    st_pytorch_operator *one = &in->operators->items[in->operators->count - 1];
    bool started = false;
    if (st_scan_peek(&in->scan) != '[')
        return st_scan_skip(&in->scan);
    if (!st_scan_enter(&in->scan, '['))
        return false;
    for (size_t i = is_output ? RESULT : 0; st_scan_item(&in->scan, &started); i++) {
        bool wanted = i < (is_output ? RESULT + 1 : RESULT) && one->dim_counts[i] == 0;
        if (!(wanted ? read_dims(in, one->dims[i], &one->dim_counts[i]) : st_scan_skip(&in->scan)))
            return false;
    }
    return st_scan_ok(&in->scan);
}

/* "Tensor(c10::BFloat16)", also inside of a list. */
static const char *type_of(const char *text, size_t length)
{
    static const char tensor[] = "Tensor(";
    const size_t skip = sizeof tensor - 1;
    size_t at = 0;
    while (at + skip < length && memcmp(text + at, tensor, skip) != 0)
        at++;
    if (at + skip >= length)
        return NULL;
    const char *begin = text + at + skip;
    const char *end = memchr(begin, ')', (size_t)(text + length - begin));
    double bytes = 0;
    return end != NULL ? st_pytorch_type(begin, (size_t)(end - begin), &bytes) : NULL;
}

static bool read_types(json_reader *in)
{
    st_pytorch_operator *one = &in->operators->items[in->operators->count - 1];
    bool started = false;
    st_scan_span text;
    if (st_scan_peek(&in->scan) != '[')
        return st_scan_skip(&in->scan);
    if (!st_scan_enter(&in->scan, '['))
        return false;
    while (st_scan_item(&in->scan, &started)) {
        if (st_scan_peek(&in->scan) != '"') {
            if (!st_scan_skip(&in->scan))
                return false;
            continue;
        }
        if (!st_scan_string(&in->scan, &text))
            return false;
        if (one->type == NULL)
            one->type = type_of(st_scan_text(&in->scan, text), text.length);
    }
    return st_scan_ok(&in->scan);
}

/* ---- nodes ---- */

static bool take_text(json_reader *in, const char **into)
{
    st_scan_span text;
    if (st_scan_peek(&in->scan) != '"')
        return st_scan_skip(&in->scan);
    if (!st_scan_string(&in->scan, &text))
        return false;
    if (text.length > 0)
        *into = keep(in, text);
    return true;
}

static bool take_attribute(json_reader *in, const char *name)
{
    st_pytorch_operator *one = &in->operators->items[in->operators->count - 1];
    if (strcmp(name, "collective_name") == 0)
        return take_text(in, &one->collective);
    if (strcmp(name, "pg_name") == 0)
        return take_text(in, &one->group);
    if (strcmp(name, "pg_size") == 0)
        return read_number(in, &one->group_size);
    if (strcmp(name, "global_rank_stride") == 0)
        return read_number(in, &one->group_stride);
    if (strcmp(name, "in_msg_nelems") == 0)
        return read_number(in, &one->in_elements);
    return st_scan_skip(&in->scan);
}

/* {"name": "pg_size", "type": "uint64", "value": 8}, in this order, as PyTorch writes them. */
static bool read_attribute(json_reader *in)
{
    char name[32] = "";
    st_scan_span key;
    st_scan_span text;
    bool started = false;
    if (!st_scan_enter(&in->scan, '{'))
        return false;
    while (st_scan_key(&in->scan, &started, &key)) {
        if (is(in, key, "name") && st_scan_peek(&in->scan) == '"') {
            if (!st_scan_string(&in->scan, &text))
                return false;
            size_t length = text.length < sizeof name ? text.length : 0;
            memcpy(name, st_scan_text(&in->scan, text), length);
            name[length] = '\0';
        } else if (!(is(in, key, "value") ? take_attribute(in, name) : st_scan_skip(&in->scan))) {
            return false;
        }
    }
    return st_scan_ok(&in->scan);
}

static bool read_id(json_reader *in, uint64_t *id)
{
    int64_t number = -1;
    if (!read_number(in, &number))
        return false;
    if (number < 0)
        return st_scan_fail(&in->scan, ST_ERR_VALUE,
                            "invalid id of a node" ST_EXPECTED "a number of at least 0") == ST_OK;
    *id = (uint64_t)number;
    return true;
}

static bool read_member(json_reader *in, st_scan_span key)
{
    st_pytorch_operator *one = &in->operators->items[in->operators->count - 1];
    if (is(in, key, "id"))
        return read_id(in, &one->id);
    if (is(in, key, "name"))
        return take_text(in, &one->name);
    if (is(in, key, "parent") || is(in, key, "ctrl_deps"))
        return read_id(in, &one->parent);
    if (is(in, key, "inputs") || is(in, key, "outputs")) {
        /* Since 1.0.2: {"values": [...], "shapes": [...], "types": [...]}. */
        const bool is_output = is(in, key, "outputs");
        st_scan_span io_key;
        bool io_started = false;
        if (st_scan_peek(&in->scan) != '{')
            return read_arguments(in, is_output);
        if (!st_scan_enter(&in->scan, '{'))
            return false;
        while (st_scan_key(&in->scan, &io_started, &io_key)) {
            bool ok = is(in, io_key, "values")                ? read_arguments(in, is_output)
                      : is(in, io_key, "shapes")              ? read_shapes(in, is_output)
                      : is(in, io_key, "types") && !is_output ? read_types(in)
                                                              : st_scan_skip(&in->scan);
            if (!ok)
                return false;
        }
        return st_scan_ok(&in->scan);
    }
    if (is(in, key, "input_shapes") || is(in, key, "output_shapes"))
        return read_shapes(in, is(in, key, "output_shapes"));
    if (is(in, key, "input_types"))
        return read_types(in);
    if (!is(in, key, "attrs"))
        return st_scan_skip(&in->scan);
    bool started = false;
    if (!st_scan_enter(&in->scan, '['))
        return false;
    while (st_scan_item(&in->scan, &started))
        if (!read_attribute(in))
            return false;
    return st_scan_ok(&in->scan);
}

static bool read_node(json_reader *in)
{
    st_pytorch *all = in->operators;
    st_scan_span key;
    bool started = false;
    const st_pytorch_operator made = {.name = "",
                                      .id = UINT64_MAX,
                                      .group_size = -1,
                                      .group_stride = -1,
                                      .in_elements = -1,
                                      .first_number = -1,
                                      .last_number = -1,
                                      .tensor_first = all->tensor_count,
                                      .place = (size_t)(in->scan.base + in->scan.at)};
    if (all->count >= ST_EXECUTION_MAX_NODES)
        return st_scan_fail(&in->scan, ST_ERR_LIMIT, "more than 2^26 nodes") == ST_OK;
    (void)ST_APPEND(in->arena, all->items, all->count, made);
    st_scan_hold(&in->scan);
    if (!st_scan_enter(&in->scan, '{'))
        return false;
    while (st_scan_key(&in->scan, &started, &key))
        if (!read_member(in, key))
            return false;
    if (st_scan_ok(&in->scan) && all->items[all->count - 1].id == UINT64_MAX)
        return st_scan_fail(&in->scan, ST_ERR_NAME, "a node lacks 'id'") == ST_OK;
    st_scan_release(&in->scan);
    return st_scan_ok(&in->scan);
}

/* ---- the file ---- */

static bool read_nodes(json_reader *in)
{
    bool started = false;
    if (in->has_nodes)
        return st_scan_fail(&in->scan, ST_ERR_NAME, "'nodes' is given twice") == ST_OK;
    in->has_nodes = true;
    if (!st_scan_enter(&in->scan, '['))
        return false;
    while (st_scan_item(&in->scan, &started)) {
        (void)st_scan_peek(&in->scan);
        if (!read_node(in))
            return false;
    }
    return st_scan_ok(&in->scan);
}

static bool read_top(json_reader *in)
{
    st_scan_span key;
    bool started = false;
    if (!st_scan_enter(&in->scan, '{'))
        return false;
    while (st_scan_held_key(&in->scan, &started, &key)) {
        bool is_nodes = is(in, key, "nodes");
        in->has_events = in->has_events || is(in, key, "traceEvents");
        st_scan_release(&in->scan);
        if (!(is_nodes ? read_nodes(in) : st_scan_skip(&in->scan)))
            return false;
    }
    return st_scan_ok(&in->scan) && st_scan_end(&in->scan);
}

ST_COMPARE(by_id, st_pytorch_operator, ST_RISING(id));

static st_status judge(json_reader *in, bool whole)
{
    st_place place = st_scan_place(&in->scan);
    if (in->scan.status != ST_OK)
        return in->scan.status;
    if (!whole)
        return st_fail(in->errors, ST_ERR_SYNTAX, place, "the file ends in the middle, at node %zu",
                       in->operators->count);
    if (!in->has_nodes)
        return st_fail(in->errors, ST_ERR_NAME, place, "%s" ST_HINT "%s",
                       in->has_events ? "this is a recording of PyTorch's profiler"
                                      : "not an execution trace: the file lacks the list 'nodes'",
                       in->has_events ? "read it with 'steptime trace summary'" : "");
    st_sort(in->operators->items, in->operators->count, sizeof *in->operators->items, by_id);
    const st_pytorch *all = in->operators;
    for (size_t i = 0; i < all->count; i++) {
        const st_pytorch_operator *one = &all->items[i];
        bool twice = i > 0 && one->id == all->items[i - 1].id;
        if (twice || one->parent > one->id)
            return st_fail(in->errors, ST_ERR_NAME, (st_place){.file = all->file},
                           "byte %zu: node %llu '%.80s' %s", one->place,
                           (unsigned long long)one->id, one->name,
                           twice ? "has the id of another node"
                                 : "is called by a node that begins after it");
    }
    return ST_OK;
}

st_status st_pytorch_read(st_bytes *bytes, st_arena *arena, st_pytorch *operators,
                          st_errors *errors)
{
    json_reader in = {.operators = operators, .arena = arena, .errors = errors};
    *operators = (st_pytorch){.file = st_bytes_name(bytes)};
    st_scan_init(&in.scan, bytes, errors);
    bool whole = read_top(&in);
    st_status status = judge(&in, whole);
    st_scan_free(&in.scan);
    return status;
}

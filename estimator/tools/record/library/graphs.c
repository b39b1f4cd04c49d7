/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: nodes that a program adds or changes, and what is launched of them. */
#include "record/library/graphs.h"

#include "record/library/handlers.h"
#include "record/library/transfers.h"

/* Nodes that are added belong to a capture of the default stream. */
uint64_t st_do_graph_create(st_call *call)
{
    st_object *graph = st_object_make(ST_OBJECT_GRAPH);
    if (graph == NULL)
        return ST_CUDA_OUT_OF_MEMORY;
    graph->graph.capture = ++st_now.capture_count;
    call->draft.kind = ST_LOG_CAPTURE_BEGIN;
    call->draft.graph = (st_log_graph){
        .graph = graph->number, .stream = st_stream_of(0)->number, .capture = graph->graph.capture};
    return ST_PUT(call, 0, uint64_t, graph->handle);
}

/* ---- nodes ---- */

uint64_t st_graph_node(st_call *call, uint32_t type)
{
    const uint8_t *place = call->entry->place;
    bool is_new = place['d' - 'a'] == 0;
    uint32_t number = 0;
    st_object *graph = is_new ? call->taken[0] : st_object_of_node(st_role(call, 'd', 0), &number);
    if (graph == NULL)
        return st_misuse(call, ST_CUDA_INVALID_VALUE, "invalid graph node");
    if (is_new) {
        if (st_node_add(graph->graph.capture, type) == NULL)
            return ST_CUDA_OUT_OF_MEMORY;
        number = st_node_count(graph->graph.capture);
        (void)ST_PUT(call, 0, uint64_t, st_node_handle(graph, number));
    }
    call->draft.flags |= ST_LOG_CAPTURED | (is_new ? ST_LOG_NODE : ST_LOG_CHANGE);
    st_extra(call, ST_LOG_GRAPH_NODE)->graph =
        (st_log_graph){.executable = place['x' - 'a'] > 0 ? call->taken[0]->number : 0,
                       .nodes = number,
                       .capture = graph->graph.capture};
    return 0;
}

/* (node *, graph, dependencies, how many): it does nothing, or is only of the host; the constant is
 * its cudaGraphNodeType */
uint64_t st_do_graph_empty(st_call *call)
{
    return st_graph_node(call, (uint32_t)call->entry->constant);
}

/* cudaGraphNodeSetEnabled(executable, node, whether), cudaGraphDestroyNode(node) */
uint64_t st_do_graph_enable(st_call *call)
{
    uint64_t result = st_graph_node(call, 0);
    if (result == 0)
        call->extra[0].graph.stream = (uint32_t)st_role(call, 'w', 0);
    return result;
}

static uint64_t copy_node(st_call *call, uint64_t to, uint64_t from, uint64_t bytes)
{
    uint64_t result = st_graph_node(call, ST_NODE_COPY);
    if (result != 0)
        return result;
    st_copy_draft(call, to, from, bytes);
    call->draft.flags |= ST_LOG_ASYNC;
    call->draft.copy.stream = st_stream_of(0)->number;
    return 0;
}

/* cudaGraphAddMemcpyNode1D and what changes its node: t to, f from, z bytes */
uint64_t st_do_graph_copy(st_call *call)
{
    return copy_node(call, st_role(call, 't', 0), st_role(call, 'f', 0), st_role(call, 'z', 0));
}

/* A cudaMemcpy3DParms, or a CUDA_MEMCPY3D of the driver, as words. */
static uint64_t volume_node(st_call *call, const void *parameters)
{
    enum { SOURCE, TARGET, SIDES, HOST = 1, OF_RUNTIME = 8, OF_DRIVER = 11 };
    const bool is_driver = call->entry->library == ST_CUDA;
    const size_t side_words = is_driver ? OF_DRIVER : OF_RUNTIME;
    uint64_t words[SIDES * OF_DRIVER + 3];
    uint64_t starts[SIDES];
    memcpy(words, parameters, (SIDES * side_words + 3) * sizeof *words);
    for (size_t i = 0; i < SIDES; i++) {
        const uint64_t *side = &words[i * side_words];
        if (side[is_driver ? 7 : 0] != 0) /* an array */
            return ST_CUDA_NOT_SUPPORTED;
        if (is_driver)
            starts[i] = side[(uint32_t)side[4] == HOST ? 5 : 6] + side[0] +
                        (side[1] + side[2] * side[10]) * side[9];
        else
            starts[i] = side[4] + side[1] + (side[2] + side[3] * side[7]) * side[5];
    }
    const uint64_t *extent = &words[SIDES * side_words];
    return copy_node(call, starts[TARGET], starts[SOURCE], extent[0] * extent[1] * extent[2]);
}

/* cudaGraphAddMemcpyNode and what changes its node: n the parameters, as below */
uint64_t st_do_graph_volume(st_call *call)
{
    return volume_node(call, st_role_pointer(call, 'n'));
}

static uint64_t set_node(st_call *call, const void *parameters)
{
    struct {
        uint64_t to, pitch;
        uint32_t value, width;
        uint64_t columns, rows;
    } from;
    uint64_t result = st_graph_node(call, ST_NODE_SET);
    if (result != 0)
        return result;
    memcpy(&from, parameters, sizeof from);
    call->draft.kind = ST_LOG_SET;
    call->draft.copy = (st_log_copy){.bytes = from.width * from.columns * from.rows,
                                     .stream = st_stream_of(0)->number,
                                     .direction = ST_LOG_DEVICE_TO_DEVICE,
                                     .to = from.to,
                                     .from = from.value};
    return 0;
}

uint64_t st_do_graph_set(st_call *call)
{
    return set_node(call, st_role_pointer(call, 'n'));
}

/* ---- graphs within graphs ---- */

/* A graph with the nodes that another one has now, as a record: the draft, or one more. */
static st_object *clone(st_log_record *record, const st_object *of)
{
    st_object *made = st_object_make(ST_OBJECT_GRAPH);
    if (made == NULL)
        return NULL;
    made->graph.capture = ++st_now.capture_count;
    const uint32_t count = st_node_count(of->graph.capture);
    for (uint32_t i = 1; i <= count; i++) {
        st_node *node = st_node_add(made->graph.capture, 0);
        st_node *from = st_node_at(of->graph.capture, i);
        if (node == NULL)
            return NULL;
        from->arguments = NULL; /* both have them from now on */
        *node = *from;
    }
    record->kind = ST_LOG_CAPTURE_BEGIN;
    record->graph = (st_log_graph){.graph = made->number,
                                   .stream = st_stream_of(0)->number,
                                   .nodes = of->graph.capture,
                                   .capture = made->graph.capture};
    return made;
}

/* cudaGraphClone(graph *, graph) */
uint64_t st_do_graph_clone(st_call *call)
{
    const st_object *made = clone(&call->draft, call->taken[0]);
    return made != NULL ? ST_PUT(call, 0, uint64_t, made->handle) : ST_CUDA_OUT_OF_MEMORY;
}

/* A node that launches a copy of a graph. */
static uint64_t child_node(st_call *call, const st_object *of)
{
    uint64_t result = st_graph_node(call, ST_NODE_GRAPH);
    if (result != 0)
        return result;
    const st_log_graph node = call->extra[0].graph;
    const st_object *made = clone(st_extra(call, ST_LOG_CAPTURE_BEGIN), of);
    if (made == NULL)
        return ST_CUDA_OUT_OF_MEMORY;
    st_node_at(node.capture, node.nodes)->kernel.function = made->handle;
    call->draft.kind = ST_LOG_GRAPH_LAUNCH;
    call->draft.graph = (st_log_graph){.graph = made->number,
                                       .stream = st_stream_of(0)->number,
                                       .nodes = st_node_count(made->graph.capture),
                                       .capture = made->graph.capture};
    return 0;
}

/* cudaGraphAddChildGraphNode(..., graph), and what changes its node: the last graph taken */
uint64_t st_do_graph_child(st_call *call)
{
    return child_node(call, call->taken[1]);
}

/* cudaGraphChildGraphNodeGetGraph(node, graph *), and with the constant 1 the node of a clone that
 * is a node of what was cloned: cudaGraphNodeFindInClone(node *, node, clone) */
uint64_t st_do_graph_find(st_call *call)
{
    uint32_t number = 0;
    const st_object *graph = st_object_of_node(st_role(call, 'd', 0), &number);
    const bool in_clone = call->entry->constant == 1;
    if (graph == NULL || (in_clone && st_node_at(call->taken[0]->graph.capture, number) == NULL) ||
        (!in_clone && st_node_at(graph->graph.capture, number)->type != ST_NODE_GRAPH))
        return st_misuse(call, ST_CUDA_INVALID_VALUE, "invalid graph node");
    if (in_clone)
        return ST_PUT(call, 0, uint64_t, st_node_handle(call->taken[0], number));
    return ST_PUT(call, 1, uint64_t, st_node_at(graph->graph.capture, number)->kernel.function);
}

/* cudaGraphAddNode and cudaGraphNodeSetParams: n a type of nodes, v where it is since CUDA 13; 16
 * bytes from there its parameters, which a copy begins with 16 bytes more. */
uint64_t st_do_graph_any(st_call *call)
{
    bool moved = call->entry->place['v' - 'a'] > 0 && st_now.header.cuda_version >= 13000;
    const uint64_t *parameters = st_role_pointer(call, moved ? 'v' : 'n');
    if (parameters == NULL)
        return st_misuse(call, ST_CUDA_INVALID_VALUE, "parameters of a node are missing");
    const uint32_t type = (uint32_t)parameters[0];
    switch (type) {
    case ST_NODE_KERNEL:
        return st_kernel_node(call, parameters + 2);
    case ST_NODE_COPY:
        return volume_node(call, parameters + 4);
    case ST_NODE_SET:
        return set_node(call, parameters + 2);
    case ST_NODE_GRAPH: {
        const st_object *child = st_object_of(parameters[2], ST_OBJECT_GRAPH);
        return child != NULL ? child_node(call, child)
                             : st_misuse(call, ST_CUDA_INVALID_VALUE, "invalid graph handle");
    }
    default: /* of the host or empty, as events of a graph are here */
        if (type > ST_NODE_EMPTY + 2)
            return ST_CUDA_NOT_SUPPORTED;
        return call->entry->place['d' - 'a'] > 0 ? 0 : st_graph_node(call, type);
    }
}

/* cudaGraphNodeGetType(node, type *): d the node */
uint64_t st_do_graph_type(st_call *call)
{
    uint32_t number = 0;
    const st_object *graph = st_object_of_node(st_role(call, 'd', 0), &number);
    if (graph == NULL)
        return st_misuse(call, ST_CUDA_INVALID_VALUE, "invalid graph node");
    return ST_PUT(call, 1, uint32_t, st_node_at(graph->graph.capture, number)->type);
}

/* cudaGraphKernelNodeGetParams(node, parameters *): d the node, the constant 1 for a second version
 */
uint64_t st_do_graph_kernel_get(st_call *call)
{
    uint32_t number = 0;
    const st_object *graph = st_object_of_node(st_role(call, 'd', 0), &number);
    const st_node *node = graph != NULL ? st_node_at(graph->graph.capture, number) : NULL;
    if (node == NULL || node->type != ST_NODE_KERNEL)
        return st_misuse(call, ST_CUDA_INVALID_VALUE, "invalid node of a kernel");
    if (call->entry->constant == 1) /* a CUkernel and a context follow */
        memset((char *)st_pointer(call, 1) + sizeof node->kernel, 0, 2 * sizeof(uint64_t));
    return st_put_bytes(st_pointer(call, 1), &node->kernel, sizeof node->kernel);
}

uint64_t st_do_graph_drop(st_call *call)
{
    st_nodes_drop(call->taken[0]->graph.capture);
    st_object_drop(call->taken[0]);
    return 0;
}

/* cudaGraphGetNodes(graph, nodes *, count *) */
uint64_t st_do_graph_nodes(st_call *call)
{
    const st_object *graph = call->taken[0];
    uint64_t *into = st_pointer(call, 1);
    uint64_t room = 0;
    if (into != NULL && st_pointer(call, 2) != NULL)
        memcpy(&room, st_pointer(call, 2), sizeof room);
    uint32_t count = st_node_count(graph->graph.capture);
    for (uint32_t i = 0; i < room && i < count; i++)
        into[i] = st_node_handle(graph, i + 1);
    return ST_PUT(call, 2, uint64_t, count);
}

/* ---- launches ---- */

static void draft_executable(st_call *call, st_log_kind kind, const st_object *executable,
                             uint32_t stream)
{
    call->draft.kind = (uint16_t)kind;
    call->draft.graph = (st_log_graph){.graph = executable->graph.graph,
                                       .executable = executable->number,
                                       .stream = stream,
                                       .nodes = executable->graph.nodes,
                                       .capture = executable->graph.capture};
}

/* What it launches from now on. */
static void give_graph(st_call *call, st_object *executable, const st_object *graph)
{
    executable->graph.graph = graph->number;
    executable->graph.nodes = st_node_count(graph->graph.capture);
    executable->graph.capture = graph->graph.capture;
    draft_executable(call, ST_LOG_GRAPH_INSTANTIATE, executable, ST_LOG_NO_STREAM);
}

uint64_t st_do_graph_instantiate(st_call *call)
{
    const st_object *graph = call->taken[0];
    st_object *executable = st_object_make(ST_OBJECT_EXECUTABLE); /* moves no other one */
    if (executable == NULL)
        return ST_CUDA_OUT_OF_MEMORY;
    give_graph(call, executable, graph);
    return ST_PUT(call, 0, uint64_t, executable->handle);
}

uint64_t st_do_graph_launch(st_call *call)
{
    const st_object *executable = call->taken[0];
    draft_executable(call, ST_LOG_GRAPH_LAUNCH, executable, call->stream->number);
    st_enqueue(call, call->stream);
    st_mix(ST_LOG_GRAPH_LAUNCH);
    st_mix(executable->graph.nodes);
    return 0;
}

/* cudaGraphExecUpdate(executable, graph, result info *): the newer graph is what it launches now.
 * Before CUDA 12, and in cuGraphExecUpdate, a node comes before the result (r). */
uint64_t st_do_graph_update(st_call *call)
{
    bool is_old = call->entry->library == ST_CUDART && st_now.header.cuda_version < 12000;
    unsigned place = is_old ? 3 : call->entry->place['r' - 'a'] - 1U;
    give_graph(call, call->taken[0], call->taken[1]);
    return st_word(call, place) != 0 ? ST_PUT(call, place, uint32_t, 0) : 0;
}

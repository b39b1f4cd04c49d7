/* SPDX-License-Identifier: Apache-2.0 */
/* See view.h. Ranges of a thread become a list of moments at which the innermost one changes.
 */
#include "base/chars.h"
#include "base/index.h"
#include "base/numbered_texts.h"
#include "base/svg.h"
#include "trace/view.h"
#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>

enum { ROOT = 0, MOST_NODES = 1 << 20 };

static const char module_prefix[] = "nn.Module: ";

/* An operator that runs forward. */
typedef struct forward {
    int64_t sequence;
    int64_t at_ns;
    uint32_t track;
} forward;

typedef struct grower {
    st_tree *tree;
    st_arena *arena;
    st_errors *errors;
    st_index index; /* of nodes but the root */
    /* of one rank */
    const st_trace *trace;
    const st_order *order;
    st_sweep places;    /* nodes */
    st_sweep backwards; /* frames of operators that run backward */
    forward *forwards;  /* by sequence number and start */
    size_t forward_count;
    uint32_t main_track; /* that runs the steps */
    bool any;
    const st_tree_ask *ask;
    st_names *bases;    /* "Attention" of modules with several instances */
    st_sweep operators; /* frames of operators, where they are leaves */
} grower;

/* ---- instances ---- */

/* Length of "Attention" in "Attention_31"; 0: it has no number. */
static size_t base_length(const char *name)
{
    size_t length = strlen(name);
    size_t digits = length;
    while (digits > 0 && st_is_digit(name[digits - 1]))
        digits--;
    return digits < length && digits > 1 && name[digits - 1] == '_' ? digits - 1 : 0;
}

/* A module's name and its base, to see which bases have several. */
typedef struct instance {
    const char *name;
    size_t base;
} instance;

static int compare_instances(const void *left, const void *right)
{
    return strcmp(((const instance *)left)->name, ((const instance *)right)->name);
}

/* Notes the bases of which two names differ. */
static void find_bases(grower *g)
{
    const st_trace_set *const sets[] = {g->ask->set, g->ask->other};
    instance *found = NULL;
    size_t count = 0;
    size_t capacity = 0;
    for (size_t s = 0; s < ST_COUNT(sets); s++)
        for (size_t i = 0; sets[s] != NULL && i < sets[s]->count; i++) {
            const st_trace *trace = sets[s]->ranks[i];
            bool *seen = st_xcalloc(trace->name_count + 1, sizeof *seen);
            for (size_t k = 0; k < trace->frame_count; k++) {
                const st_trace_frame *frame = &trace->frames[k];
                if (frame->kind != ST_FRAME_MODULE || seen[frame->name])
                    continue;
                seen[frame->name] = true;
                const char *name = trace->names[frame->name] + strlen(module_prefix);
                const instance made = {name, base_length(name)};
                if (made.base == 0)
                    continue;
                st_xdone(ST_ROOM(found, count, capacity));
                found[count++] = made;
            }
            free(seen);
        }
    st_sort(found, count, sizeof *found, compare_instances);
    for (size_t i = 1; i < count; i++) {
        uint32_t base = 0;
        const instance *a = &found[i - 1];
        const instance *b = &found[i];
        if (a->base == b->base && strncmp(a->name, b->name, a->base) == 0 &&
            strcmp(a->name, b->name) != 0)
            st_xdone(st_names_add(g->bases, b->name, b->base, false, &base) == ST_OK);
    }
    free(found);
}

/* "Attention_*" of "Attention_31" where there are others; otherwise the name. */
static const char *folded(const grower *g, const char *name)
{
    size_t base = g->ask->fold ? base_length(name) : 0;
    for (uint32_t i = 0; base > 0 && i < g->bases->count; i++)
        if (strlen(g->bases->texts[i]) == base && strncmp(g->bases->texts[i], name, base) == 0)
            return st_xprintf(g->arena, "%.*s_*", (int)base, name);
    return name;
}

/* ---- nodes ---- */

static bool is_node(const st_tree_node *node, uint32_t parent, const char *name, size_t length)
{
    return node->parent == parent && strncmp(node->name, name, length) == 0 &&
           node->name[length] == '\0';
}

static st_status add_node(grower *g, uint32_t parent, const char *name, size_t length,
                          uint32_t *made)
{
    st_tree *tree = g->tree;
    if (tree->count >= MOST_NODES)
        return st_fail(g->errors, ST_ERR_LIMIT, (st_place){.file = g->trace->file},
                       "the tree has too many branches" ST_EXPECTED "at most 2^20" ST_HINT
                       "take fewer steps or ranks");
    const st_tree_node node = {.name = st_xprintf(g->arena, "%.*s", (int)length, name),
                               .parent = parent,
                               .depth =
                                   parent == ST_TRACE_NONE ? 0 : tree->nodes[parent].depth + 1};
    *made = (uint32_t)tree->count;
    ST_XAPPEND(g->arena, tree->nodes, tree->count, node);
    return ST_OK;
}

static st_status child_of(grower *g, uint32_t parent, const char *name, size_t length,
                          uint32_t *child)
{
    const uint64_t hash = st_hash_bytes(st_hash_word(ST_HASH_BEGIN, parent), name, length);
    ST_INDEX_FIND(&g->index, hash, *child, is_node(&g->tree->nodes[*child], parent, name, length));
    if (*child != ST_INDEX_NONE)
        return ST_OK;
    st_status status = add_node(g, parent, name, length, child);
    if (status == ST_OK)
        st_xdone(st_index_add(&g->index, g->arena, hash, *child));
    return status;
}

/* ---- which ranges ---- */

static bool is_step(const st_trace *trace, const st_trace_frame *frame)
{
    return strncmp(trace->names[frame->name], "ProfilerStep", 12) == 0;
}

static bool is_picked(const grower *g, const st_trace_frame *frame, bool has_python)
{
    switch (g->tree->by) {
    case ST_TREE_MODULE:
        return frame->kind == ST_FRAME_MODULE;
    case ST_TREE_ANNOTATION:
        return frame->kind == ST_FRAME_ANNOTATION && !is_step(g->trace, frame);
    case ST_TREE_STACK:
        return has_python ? frame->kind == ST_FRAME_PYTHON || frame->kind == ST_FRAME_MODULE
                          : frame->stack != ST_TRACE_NONE;
    case ST_TREE_OPERATOR:
        return frame->kind == ST_FRAME_OPERATOR && !is_step(g->trace, frame);
    default:
        return false;
    }
}

/* ---- moments ---- */

static st_status node_value(void *context, uint32_t outer, const st_trace_frame *frame,
                            uint32_t *value)
{
    grower *g = context;
    const char *name = g->trace->names[frame->name];
    st_status status = ST_OK;
    if (g->tree->by == ST_TREE_STACK && frame->stack != ST_TRACE_NONE) {
        /* "inner;outer;outermost", from the outermost on. */
        const char *stack = g->trace->names[frame->stack];
        st_status stack_status = ST_OK;
        size_t end = strlen(stack);
        *value = ROOT;
        while (end > 0 && stack_status == ST_OK) {
            size_t begin = end;
            while (begin > 0 && stack[begin - 1] != ';')
                begin--;
            if (end > begin)
                stack_status = child_of(g, *value, stack + begin, end - begin, value);
            end = begin > 0 ? begin - 1 : 0;
        }
        return stack_status;
    }
    if (frame->kind == ST_FRAME_MODULE)
        name = folded(g, name + strlen(module_prefix));
    status = child_of(g, outer, name, strlen(name), value);
    if (status == ST_OK) {
        g->tree->nodes[*value].calls++;
        g->tree->nodes[*value].host_ns =
            st_add_ns(g->tree->nodes[*value].host_ns, frame->duration_ns);
    }
    return status;
}

/* ---- a rank ---- */

static st_status find_places(grower *g, uint32_t *frames)
{
    bool has_python = false;
    const st_trace_frame_kind kind = ST_FRAME_PYTHON;
    for (size_t i = 0; i < g->trace->frame_count; i++)
        if (g->trace->frames[i].kind == kind) {
            has_python = true;
            break;
        }
    size_t count = 0;
    for (uint32_t i = 0; i < g->trace->frame_count; i++)
        if (is_picked(g, &g->trace->frames[i], has_python))
            frames[count++] = i;
    g->any = g->any || count > 0;
    return st_sweep_make(&(st_sweep_ask){g->trace, frames, count, ROOT, node_value, g}, &g->places,
                         g->errors);
}

ST_COMPARE(compare_forwards, forward, ST_RISING(sequence) ST_RISING(at_ns));

static uint32_t place_of(const grower *g, const st_trace_event *call, bool *is_backward)
{
    uint32_t node = st_sweep_at(&g->places, call->track, call->start_ns);
    *is_backward = false;
    if (node == ROOT && g->tree->by == ST_TREE_ANNOTATION && g->main_track != ST_TRACE_NONE)
        return st_sweep_at(&g->places, g->main_track, call->start_ns);
    uint32_t frame = st_sweep_at(&g->backwards, call->track, call->start_ns);
    if (frame == ST_TRACE_NONE)
        return node;
    *is_backward = true;
    const st_trace_frame *backward = &g->trace->frames[frame];
    /* The last operator of a sequence number that began before a time. */
    const int64_t sequence = backward->sequence;
    const forward wanted = {.sequence = sequence, .at_ns = backward->start_ns};
    size_t low = 0;
    ST_BISECT(low, g->forward_count, compare_forwards(&g->forwards[middle], &wanted) < 0);
    const forward *ran =
        low > 0 && g->forwards[low - 1].sequence == sequence ? &g->forwards[low - 1] : NULL;
    if (node != ROOT || ran == NULL)
        return node;
    return st_sweep_at(&g->places, ran->track, ran->at_ns);
}

/* The innermost operator of a call, without what names a vendor's library. */
static const char *operator_of(const grower *g, const st_trace_event *call, const char *otherwise)
{
    static const char *const libraries[] = {"cudnn_", "miopen_"};
    uint32_t frame = st_sweep_at(&g->operators, call->track, call->start_ns);
    if (frame == ST_TRACE_NONE)
        return otherwise;
    const char *name = g->trace->names[g->trace->frames[frame].name];
    for (size_t i = 0; i < ST_COUNT(libraries); i++) {
        const char *found = strstr(name, libraries[i]);
        if (found != NULL)
            return st_xprintf(g->arena, "%.*s%s", (int)(found - name), name,
                              found + strlen(libraries[i]));
    }
    return name;
}

static st_status sweep_operators(grower *g, uint32_t *frames)
{
    size_t count = 0;
    for (uint32_t i = 0; i < g->trace->frame_count; i++)
        if (g->trace->frames[i].kind == ST_FRAME_OPERATOR &&
            !is_step(g->trace, &g->trace->frames[i]))
            frames[count++] = i;
    return st_sweep_make(&(st_sweep_ask){g->trace, frames, count, ST_TRACE_NONE, NULL, NULL},
                         &g->operators, g->errors);
}

static st_status add_tasks(grower *g)
{
    for (size_t i = 0; i < g->trace->event_count; i++) {
        const st_trace_event *task = &g->trace->events[i];
        if (!st_trace_is_gpu(task))
            continue;
        uint32_t call = g->order->call_of[i];
        bool is_backward = false;
        uint32_t place =
            call == ST_TRACE_NONE ? ROOT : place_of(g, &g->trace->events[call], &is_backward);
        if (g->ask->leaf != ST_LEAF_NONE) {
            const char *name = g->trace->names[task->name];
            if (g->ask->leaf == ST_LEAF_OPERATOR && call != ST_TRACE_NONE)
                name = operator_of(g, &g->trace->events[call], name);
            st_status status = child_of(g, place, name, strlen(name), &place);
            if (status != ST_OK)
                return status;
        }
        st_tree_node *node = &g->tree->nodes[place];
        node->is_kernel = g->ask->leaf != ST_LEAF_NONE;
        node->kernels++;
        node->self_ns = st_add_ns(node->self_ns, task->duration_ns);
        node->backward_ns += is_backward ? task->duration_ns : 0;
        node->communication_ns += task->class_ == ST_TRACE_COMMUNICATION ? task->duration_ns : 0;
    }
    return ST_OK;
}

static st_status add_rank(grower *g, const st_order *order)
{
    g->order = order;
    g->trace = order->trace;
    uint32_t *frames = st_xmalloc((g->trace->frame_count + 1) * sizeof *frames);
    st_status status = find_places(g, frames);
    g->operators = (st_sweep){0};
    if (status == ST_OK && g->ask->leaf == ST_LEAF_OPERATOR)
        status = sweep_operators(g, frames);
    if (status == ST_OK) {
        /* Operators with sequence numbers: where they ran forward, and what runs backward when. */
        size_t count = 0;
        g->forward_count = 0;
        g->forwards = st_xmalloc((g->trace->frame_count + 1) * sizeof *g->forwards);
        for (uint32_t i = 0; i < g->trace->frame_count; i++) {
            const st_trace_frame *frame = &g->trace->frames[i];
            if (frame->sequence < 0)
                continue;
            if (frame->is_backward)
                frames[count++] = i;
            else
                g->forwards[g->forward_count++] =
                    (forward){frame->sequence, frame->start_ns, frame->track};
        }
        st_sort(g->forwards, g->forward_count, sizeof *g->forwards, compare_forwards);
        status = st_sweep_make(&(st_sweep_ask){g->trace, frames, count, ST_TRACE_NONE, NULL, NULL},
                               &g->backwards, g->errors);
    }
    if (status == ST_OK) {
        g->main_track = ST_TRACE_NONE;
        for (size_t i = 0; i < g->trace->event_count && g->main_track == ST_TRACE_NONE; i++)
            if (g->trace->events[i].kind == ST_TRACE_STEP)
                g->main_track = g->trace->events[i].track;
        for (size_t i = 0; i < g->trace->frame_count && g->main_track == ST_TRACE_NONE; i++)
            if (g->trace->frames[i].kind == ST_FRAME_ANNOTATION)
                g->main_track = g->trace->frames[i].track;
        status = add_tasks(g);
    }
    free(frames);
    free(g->forwards);
    g->forwards = NULL;
    st_sweep_free(&g->places);
    st_sweep_free(&g->backwards);
    st_sweep_free(&g->operators);
    return status;
}

/* ---- the whole ---- */

typedef struct sibling {
    uint32_t node;
    uint32_t parent;
    int64_t gpu_ns;
} sibling;

ST_COMPARE(compare_siblings, sibling, ST_RISING(parent) ST_FALLING(gpu_ns) ST_RISING(node));

st_status st_view_tree(const st_trace_set *set, st_tree_by by, bool with_kernels, st_arena *arena,
                       st_tree *tree, st_errors *errors)
{
    const st_tree_ask ask = {
        .set = set, .by = by, .leaf = with_kernels ? ST_LEAF_KERNEL : ST_LEAF_NONE};
    return st_view_tree_asked(&ask, arena, tree, errors);
}

st_status st_view_tree_asked(const st_tree_ask *ask, st_arena *arena, st_tree *tree,
                             st_errors *errors)
{
    const st_trace_set *set = ask->set;
    const st_tree_by by = ask->by;
    st_names bases;
    grower g = {.tree = tree,
                .arena = arena,
                .errors = errors,
                .trace = set->ranks[0],
                .ask = ask,
                .bases = &bases};
    st_xdone(st_names_init(&bases) == ST_OK);
    if (ask->fold)
        find_bases(&g);
    st_view_orders orders;
    uint32_t root = 0;
    *tree = (st_tree){.by = by, .ranks = set->count};
    st_view_orders_make(set, g.arena, &orders);
    st_status status = add_node(&g, ST_TRACE_NONE, "all", 3, &root);
    for (size_t i = 0; i < set->count && status == ST_OK; i++)
        status = add_rank(&g, &orders.orders[i]);
    if (status == ST_OK && !g.any && by != ST_TREE_NOTHING) {
        static const struct {
            const char *lacks;
            const char *remedy;
        } texts[ST_TREE_BYS] = {
            {"modules", "record with torch.profiler.profile(with_stack=True, with_modules=True)"},
            {"annotations", "put torch.profiler.record_function(NAME) around parts of the step"},
            {"stacks of Python", "record with torch.profiler.profile(with_stack=True)"},
            {"operators", "record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"},
            {"kernels", ""}};
        status = st_fail(g.errors, ST_ERR_VALUE, (st_place){.file = set->ranks[0]->file},
                         "the trace has no %s" ST_HINT "%s", texts[by].lacks, texts[by].remedy);
    }
    if (status == ST_OK) {
        /* Times of parts are those of their whole; then lists all nodes depth first. */
        for (size_t i = 0; i < tree->count; i++)
            tree->nodes[i].gpu_ns = tree->nodes[i].self_ns;
        for (size_t i = tree->count; i-- > 1;) {
            st_tree_node *parent = &tree->nodes[tree->nodes[i].parent];
            parent->gpu_ns = st_add_ns(parent->gpu_ns, tree->nodes[i].gpu_ns);
            parent->kernels += tree->nodes[i].kernels;
            parent->backward_ns += tree->nodes[i].backward_ns;
            parent->communication_ns += tree->nodes[i].communication_ns;
        }
        /* From the last sibling to the first, so that a stack hands them out in their order. */
        size_t count = tree->count;
        sibling *siblings = st_xmalloc((count + 1) * sizeof *siblings);
        size_t *firsts = st_xcalloc(count + 2, sizeof *firsts);
        uint32_t *stack = st_xmalloc((count + 1) * sizeof *stack);
        size_t depth = 0;
        size_t made = 0;
        tree->order = st_xalloc(arena, count, sizeof *tree->order);
        for (uint32_t i = 1; i < count; i++) {
            siblings[i - 1] = (sibling){i, tree->nodes[i].parent, tree->nodes[i].gpu_ns};
            firsts[tree->nodes[i].parent + 1]++;
        }
        st_sort(siblings, count - 1, sizeof *siblings, compare_siblings);
        for (size_t i = 1; i <= count; i++)
            firsts[i] += firsts[i - 1];
        stack[depth++] = ROOT;
        while (depth > 0) {
            uint32_t node = stack[--depth];
            tree->order[made++] = node;
            for (size_t i = firsts[node + 1]; i-- > firsts[node];)
                stack[depth++] = siblings[i].node;
        }
        free(siblings);
        free(firsts);
        free(stack);
    }
    st_names_free(&bases);
    st_view_orders_free(&orders);
    return status;
}

/* GPU time by module, annotation, stack or operator: as a result, and as a picture. */

enum {
    TEXT = 48,
    LEFT = 20, /* pixels */
    TOP = 60,
    WIDTH = 1200,
    ROW = 20,
    MOST_ROWS = 40,
    MOST_BOXES = 20000
};

static const char *const titles[ST_TREE_BYS] = {"module", "annotation", "Python stack", "operator",
                                                "kernel"};

/* ---- the result ---- */

typedef struct writer {
    const st_tree *tree;
    const st_tree_limits *limits;
    st_node *rows;
    char *indent;
} writer;

/* "modules/conv.py(443): forward" of a long path. */
static const char *short_name(const char *name)
{
    const char *end = strstr(name, ".py(");
    const char *folder = name;
    const char *file = name;
    for (const char *c = name; end != NULL && c < end; c++) {
        if (*c != '/')
            continue;
        folder = file;
        file = c + 1;
    }
    return folder;
}

static st_node *put_times(const writer *w, const st_tree_node *node)
{
    st_node *row = st_put_line_map(w->rows, NULL);
    int64_t all_ns = w->tree->nodes[0].gpu_ns;
    st_put_text(row, "name", node->name);
    st_put_count(row, "depth", node->depth);
    st_put_count(row, "calls", node->calls);
    st_put_ns(row, "host_ns", node->host_ns);
    st_put_count(row, "kernels", node->kernels);
    st_put_ns(row, "gpu_ns", node->gpu_ns);
    st_put_ns(row, "self_ns", node->self_ns);
    st_put_ns(row, "backward_ns", node->backward_ns);
    st_put_ns(row, "communication_ns", node->communication_ns);
    st_put_ms(row, ".gpu", node->gpu_ns);
    st_put_ms(row, ".self", node->self_ns);
    st_put_share(row, ".share", node->gpu_ns, all_ns);
    st_put_share(row, ".backward", node->backward_ns, node->gpu_ns);
    st_put_share(row, ".communication", node->communication_ns, node->gpu_ns);
    return row;
}

static void put_row(const writer *w, uint32_t index)
{
    enum { MOST_INDENT = 24 };
    static const char dots[] = ". . . . . . . . . . . . ";
    const st_tree_node *node = &w->tree->nodes[index];
    st_node *row = put_times(w, node);
    int indent = node->depth > 1 ? 2 * (int)(node->depth - 1) : 0;
    st_put_count(row, "node", index);
    if (node->parent == ST_TRACE_NONE)
        st_put_null(row, "parent");
    else
        st_put_count(row, "parent", node->parent);
    st_put_format(row, ".name", "%.*s%s", indent < MOST_INDENT ? indent : MOST_INDENT, dots,
                  short_name(node->name));
    if (node->calls > 0)
        st_put_format(row, ".calls", "%llu x", (unsigned long long)node->calls);
}

void st_view_tree_result(const st_tree *tree, const st_tree_limits *limits, st_arena *arena,
                         st_result *result)
{
    st_table_column columns[] = {{.title = titles[tree->by], .ink = ST_INK_NAME},
                                 {.title = "calls", .right = true},
                                 {.title = "kernels", .right = true},
                                 {.title = "GPU", .right = true},
                                 {.title = "share", .right = true},
                                 {.title = "itself", .right = true},
                                 {.title = "backward", .right = true},
                                 {.title = "communication", .right = true}};
    char text[TEXT];
    size_t hidden = 0;
    st_node *root = st_result_begin(result, arena);
    writer w = {.tree = tree, .limits = limits};
    st_put_text(root, "by", titles[tree->by]);
    st_put_count(root, "ranks", tree->ranks);
    st_put_ns(root, "gpu_ns", tree->nodes[0].gpu_ns);
    st_put_ns(root, "unattributed_ns", tree->nodes[0].self_ns);
    st_say(root, "%zu ranks, %s of GPU tasks by %s\n\n", tree->ranks,
           st_ms_text(tree->nodes[0].gpu_ns, text, TEXT), titles[tree->by]);
    st_table *table = st_say_table(root, columns, ST_COUNT(columns), 2);
    w.rows = st_put_list(root, "rows");
    for (size_t i = 1; i < tree->count; i++) {
        const st_tree_node *node = &tree->nodes[tree->order[i]];
        bool shallow = w.limits->depth == 0 || node->depth <= w.limits->depth;
        bool shown = shallow && (double)node->gpu_ns >=
                                    w.limits->least_share * (double)w.tree->nodes[0].gpu_ns;
        hidden += !shown;
        if (shown)
            put_row(&w, tree->order[i]);
    }
    /* What is left at the root, as a part of its own. */
    const st_tree_node *unattributed_root = &w.tree->nodes[0];
    st_tree_node rest = {.name = "unattributed", .depth = 1};
    rest.self_ns = unattributed_root->self_ns;
    rest.gpu_ns = unattributed_root->self_ns;
    rest.kernels = unattributed_root->kernels;
    rest.backward_ns = unattributed_root->backward_ns;
    rest.communication_ns = unattributed_root->communication_ns;
    for (size_t i = 1; i < w.tree->count; i++) {
        const st_tree_node *node = &w.tree->nodes[i];
        if (node->parent != 0)
            continue;
        rest.kernels -= node->kernels;
        rest.backward_ns -= node->backward_ns;
        rest.communication_ns -= node->communication_ns;
    }
    st_node *row = put_times(&w, &rest);
    st_put_null(row, "node");
    st_put_count(row, "parent", 0);
    st_put_text(row, ".name", rest.name);
    st_put_count(root, "hidden", hidden);
    st_table_show(table, w.rows, ".name,.calls,kernels,.gpu,.share,.self,.backward,.communication");
    if (hidden > 0)
        st_say(root, "  %zu deeper or smaller parts are not shown: --depth 0 --least 0\n", hidden);
    st_result_csv(result, "rows",
                  "node,parent,depth,name,calls,host_ns,kernels,gpu_ns,self_ns,backward_ns,"
                  "communication_ns");
}

/* ---- the picture ---- */

void st_view_tree_svg(const st_tree *tree, st_buffer *svg)
{
    char title[96];
    char text[TEXT];
    uint32_t deepest = 0;
    double all_ns = (double)tree->nodes[0].gpu_ns;
    size_t boxes = 0;
    double *lefts_ns = st_xcalloc(tree->count, sizeof *lefts_ns);
    double *used = st_xcalloc(tree->count, sizeof *used);
    for (size_t i = 0; i < tree->count; i++)
        deepest = tree->nodes[i].depth > deepest ? tree->nodes[i].depth : deepest;
    deepest = deepest < MOST_ROWS ? deepest : MOST_ROWS;
    (void)snprintf(title, sizeof title, "%s of GPU tasks by %s",
                   st_ms_text(tree->nodes[0].gpu_ns, text, TEXT), titles[tree->by]);
    st_svg_begin(svg, WIDTH + 2 * LEFT, TOP + ROW * ((int)deepest + 2), title);
    st_svg_text(svg, (st_svg_point){LEFT, 30}, "large", title);
    for (size_t i = 0; i < tree->count && all_ns > 0; i++) {
        uint32_t index = tree->order[i];
        const st_tree_node *node = &tree->nodes[index];
        if (node->parent != ST_TRACE_NONE) {
            lefts_ns[index] = lefts_ns[node->parent] + used[node->parent];
            used[node->parent] += (double)node->gpu_ns;
        }
        if (node->depth > MOST_ROWS || boxes >= MOST_BOXES || (double)node->gpu_ns * WIDTH < all_ns)
            continue;
        /* A part under its whole: `from_ns` is where it begins. Too narrow ones are left out. */
        double scale = WIDTH / all_ns;
        st_svg_box box = {.x = LEFT + scale * lefts_ns[index],
                          .y = TOP + ROW * (double)node->depth,
                          .width = scale * (double)node->gpu_ns - 0.5,
                          .height = ROW - 1};
        uint32_t hash = 2166136261U;
        for (const char *c = node->name; *c != '\0'; c++)
            hash = (hash ^ (unsigned char)*c) * 16777619U;
        st_svg_box_write(svg, box,
                         node->depth == 0 ? st_svg_color(ST_SVG_GREY) : st_svg_color(hash));
        if (st_svg_text_width(short_name(node->name)) + 6 < box.width)
            st_svg_text(svg, (st_svg_point){box.x + 3, box.y + ROW - 6}, "inside",
                        short_name(node->name));
        boxes++;
    }
    st_svg_end(svg);
    free(lefts_ns);
    free(used);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* GPU time by module, annotation, stack or operator: as a result, and as a picture. */
#include "base/svg.h"
#include "trace/view_tree.h"
#include "trace/xalloc.h"

#include <string.h>

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
    svg->failed = svg->failed || lefts_ns == NULL || used == NULL;
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

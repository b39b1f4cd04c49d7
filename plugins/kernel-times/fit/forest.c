/* SPDX-License-Identifier: Apache-2.0 */
/* Trees from XGBoost's own texts of them, so that a plugin can ask them without XGBoost. */
#include "kernel-times/fit/predict.h"

#include "base/memory.h"
#include "base/number.h"
#include "steptime/tool/input_files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ID = 1 << 16, DEPTH = 5, ROUNDS = 80, TRAINED = 4000, RATE_PERCENT = 12 };

/* ---- texts ---- */

typedef struct forest {
    st_times_node *nodes;
    size_t count;
    st_arena *arena;
    st_errors *errors;
} forest;

static st_status fail(const forest *trees)
{
    return st_fail(trees->errors, ST_ERR_VALUE, (st_place){0},
                   "XGBoost writes its trees in an unknown format");
}

/* The number behind `key`; false where the text has none. */
static bool number_behind(const char *text, const char *key, double *value)
{
    const char *found = strstr(text, key);
    if (found == NULL)
        return false;
    found += strlen(key);
    size_t length = st_number_scan(found, strlen(found));
    return length > 0 && st_number_parse(found, length, (st_place){0}, value, NULL) == ST_OK;
}

/* One node of a line; children are still XGBoost's own numbers of nodes. */
static bool read_line(const char *line, size_t *id, st_times_node *node)
{
    double number = 0;
    double feature = 0;
    double value = 0;
    double left = 0;
    double right = 0;
    line += strspn(line, "\t ");
    if (!number_behind(line, "", &number) || !(number >= 0 && number < MOST_ID))
        return false;
    *id = (size_t)number;
    if (number_behind(line, "leaf=", &value)) {
        *node = (st_times_node){.feature = -1, .threshold = (float)value};
        return true;
    }
    if (!number_behind(line, "[f", &feature) || !number_behind(line, "<", &value) ||
        !number_behind(line, "yes=", &left) || !number_behind(line, "no=", &right) ||
        !(feature >= 0 && feature < ST_TIMES_INPUTS) || !(left > 0 && left < MOST_ID) ||
        !(right > 0 && right < MOST_ID))
        return false;
    *node = (st_times_node){.feature = (int)feature,
                            .threshold = (float)value,
                            .left = (size_t)left,
                            .right = (size_t)right};
    return true;
}

/* The lines of a tree, and the place of each of XGBoost's numbers. */
static st_status read_nodes(forest *trees, const char *text, size_t *places)
{
    size_t first = trees->count;
    char line[256];
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        size_t id = 0;
        if (length == 0) {
            text++;
            continue;
        }
        if (length >= sizeof line || trees->count - first >= MOST_ID)
            return fail(trees);
        memcpy(line, text, length);
        line[length] = '\0';
        st_times_node node = {0};
        if (!read_line(line, &id, &node))
            return fail(trees);
        places[id] = trees->count - first;
        if (!ST_APPEND(trees->arena, trees->nodes, trees->count, node))
            return st_out_of_memory(trees->errors);
        text += length;
    }
    return trees->count > first ? ST_OK : fail(trees);
}

static st_status read_forest(const st_trees *trees, st_arena *arena, st_times_model *model,
                             st_errors *errors)
{
    forest learnt = {.arena = arena, .errors = errors};
    const char *const *texts = NULL;
    size_t count = 0;
    st_status status = st_trees_dump(trees, &texts, &count, errors);
    if (status != ST_OK)
        return status;
    size_t *places = st_arena_alloc(arena, MOST_ID, sizeof *places);
    model->starts = st_arena_alloc(arena, count + 1, sizeof *model->starts);
    if (places == NULL || model->starts == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        model->starts[i] = learnt.count;
        const char *text = texts[i];
        size_t first = learnt.count;
        memset(places, 0xff, MOST_ID * sizeof *places);
        st_status tree_status = read_nodes(&learnt, text, places);
        for (size_t j = first; j < learnt.count && tree_status == ST_OK; j++) {
            st_times_node *node = &learnt.nodes[j];
            if (node->feature < 0)
                continue;
            node->left = places[node->left];
            node->right = places[node->right];
            if (node->left == SIZE_MAX || node->right == SIZE_MAX || node->left <= j - first ||
                node->right <= j - first)
                tree_status = fail(&learnt);
        }
        status = tree_status;
    }
    model->tree_count = count;
    model->nodes = learnt.nodes;
    model->node_count = learnt.count;
    return status;
}

/* ---- training ---- */

/* Every sample, or every second, third, ... of many. */
static st_status fill(const st_times *times, size_t piece, const st_times_learner *learner,
                      st_samples *samples, double *mean)
{
    const st_times_model *model = &times->models[piece];
    size_t stride = times->shape_count + times->piece_count;
    size_t step = times->row_count / TRAINED + 1;
    float *features =
        st_arena_alloc(learner->arena, (times->row_count + 1) * ST_TIMES_INPUTS, sizeof *features);
    float *targets = st_arena_alloc(learner->arena, times->row_count + 1, sizeof *targets);
    if (features == NULL || targets == NULL)
        return st_out_of_memory(learner->errors);
    size_t count = 0;
    *mean = 0;
    for (size_t i = 0; i < times->row_count; i += step) {
        const double *row = times->rows + i * stride;
        float *inputs = features + count * ST_TIMES_INPUTS;
        st_times_shape shape;
        st_times_shape_of(times, row, &shape);
        st_times_inputs(times, piece, &shape, inputs);
        double target = log(row[times->shape_count + piece]);
        if (model->form != ST_TIMES_TREES)
            target -= (double)inputs[ST_TIMES_INPUT_LINE];
        /* What the trees may look at. A piece with its own dimensions is identified by these: what
         * the layer looks like around it would only distinguish one model's kernels from another's
         * of the same shape. */
        double dimensions[3];
        if (st_times_dimensions(times->pieces[piece], &shape, dimensions)) {
            for (size_t j = 0; j < ST_TIMES_INPUT_ROWS; j++)
                if (j < ST_TIMES_INPUT_FLOP || j > ST_TIMES_INPUT_LINE)
                    inputs[j] = ST_TIMES_NO_INPUT;
        }
        targets[count++] = (float)target;
        *mean += target;
    }
    *mean /= (double)count;
    *samples = (st_samples){
        .features = features, .targets = targets, .count = count, .feature_count = ST_TIMES_INPUTS};
    return ST_OK;
}

st_status st_times_train(st_times *times, size_t piece, const st_times_learner *learner)
{
    st_times_model *model = &times->models[piece];
    st_samples samples = {0};
    st_trees *trees = NULL;
    st_status status = fill(times, piece, learner, &samples, &model->base);
    if (status != ST_OK)
        return status;
    model->base = (double)(float)model->base;
    st_trees_options options = {.objective = "reg:squarederror",
                                .huber_slope = 1,
                                .depth = DEPTH,
                                .rounds = ROUNDS,
                                .learning_rate = RATE_PERCENT / 100.0,
                                .min_child_weight = samples.count < 100 ? 1 : 3,
                                .base_score = model->base,
                                .seed = 1};
    status = st_trees_train(learner->library, &samples, &options, &trees, learner->errors);
    if (status == ST_OK)
        status = read_forest(trees, learner->arena, model, learner->errors);
    st_trees_destroy(trees);
    return status;
}

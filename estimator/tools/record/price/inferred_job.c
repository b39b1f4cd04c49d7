/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job that a recorded step shows; see inferred_job.h.
 *
 * Attention has sequences, heads and their width, so that the rows of all other products are known.
 * A product whose sum runs over these rows is the gradient of a weight, and has its two widths. The
 * width that all of them share is the hidden size; what the others are follows from how many there
 * are to one attention: projections of queries, keys and values, MLP, and what is left is the
 * output layer, of which a micro-batch has one.
 */
#include "record/price/inferred_job.h"

#include "base/chars.h"
#include "base/lists.h"
#include "base/memory.h"
#include "steptime/keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WIDTHS = 48, MOST_MESSAGES = 64 };

/* Linear layers with the same two widths. */
typedef struct linear {
    double width[2]; /* ascending; once the hidden size is known, width[0] is the other one */
    double weights;  /* gradients of weights in a step */
    double rows;     /* products for each row, forward, backward and again */
} linear;

/* Collectives of one communicator and one kind. */
typedef struct message {
    const st_communicator *group;
    st_log_operation operation;
    uint8_t type;
    double elements; /* of one, of all ranks together */
    double count;
    bool apart; /* on another stream than products */
} message;

/* What the step of one worker shows. */
typedef struct shown {
    const st_imported *imported;
    uint32_t *counts; /* tasks of a step by shape */
    double batch, sequence, heads, head_width;
    double forward, backward; /* kernels of attention; 0 where it is made of products */
    double parts;             /* products of attention, then */
    bool fused, full, graphs, dropout, rms;
    double rows;
    const char *type;
    linear linears[MOST_WIDTHS];
    size_t linear_count;
    message messages[MOST_MESSAGES];
    size_t message_count;
    uint32_t product_lane;
    double hidden, layers; /* layers of all micro-batches */
    double kv_heads, ffn, vocabulary, micro_batches;
    double again; /* share of the layers' products that are computed twice */
    bool gated;
} shown;

static bool same_number(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b);
}

static bool is_whole(double value)
{
    return value > 0.5 && fabs(value - round(value)) < 0.01;
}

/* ---- tasks of a step ---- */

static void add_message(shown *s, size_t worker, const st_walk_worker *walked,
                        const st_walk_task *task)
{
    for (uint32_t j = task->meet; j != ST_NO_INDEX; j = walked->meets[j].next) {
        const st_log_record *record = walked->worker->calls[walked->meets[j].what].record;
        const st_log_collective *made = &record->collective;
        message found = {.group = st_groups_find(s->imported->groups, (uint32_t)worker, record),
                         .operation = (st_log_operation)made->operation,
                         .type = made->type,
                         .elements = (double)made->count,
                         .count = 1,
                         .apart = task->lane != s->product_lane};
        if (found.group == NULL)
            continue;
        if (st_operations[made->operation].all_ranks)
            found.elements *= (double)found.group->ranks;
        size_t i = 0;
        while (i < s->message_count &&
               !(s->messages[i].group == found.group && s->messages[i].type == found.type &&
                 s->messages[i].operation == found.operation &&
                 same_number(s->messages[i].elements, found.elements)))
            i++;
        if (i < s->message_count)
            s->messages[i].count++;
        else if (s->message_count < MOST_MESSAGES)
            s->messages[s->message_count++] = found;
    }
}

static void count_tasks(shown *s, size_t worker, st_arena *arena)
{
    const st_walk_worker *walked = &s->imported->walk->workers[worker];
    const st_imported_worker *totals = &s->imported->workers[worker];
    size_t last = totals->steps > 1 ? totals->steps - 1 : totals->steps;
    s->counts = st_arena_alloc(arena, s->imported->run->shape_count + 1, sizeof *s->counts);
    /* Products first: a message is apart where it has another stream. */
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = totals->step_first[last - 1]; i < totals->step_first[last]; i++) {
            const st_walk_task *task = &walked->tasks[i];
            if (task->meet != ST_NO_INDEX) {
                if (pass == 1)
                    add_message(s, worker, walked, task);
                continue;
            }
            uint32_t shape = walked->worker->calls[task->what].shape;
            if (pass == 1)
                continue;
            s->counts[shape]++;
            s->graphs |= walked->worker->calls[task->call].record->kind == ST_LOG_GRAPH_LAUNCH;
            if (s->imported->run->shapes[shape].form == ST_FORM_PRODUCT)
                s->product_lane = task->lane;
        }
}

/* ---- attention and rows ---- */

bool st_shape_is_score(const st_task_shape *shape, double *sequence, double *width)
{
    static const st_size_key keys[] = {ST_SIZE_M, ST_SIZE_N, ST_SIZE_K};
    const double *sizes = shape->sizes;
    for (size_t i = 0; i < ST_COUNT(keys) && shape->form == ST_FORM_PRODUCT; i++) {
        double one = sizes[keys[(i + 1) % 3]];
        if (same_number(one, sizes[keys[(i + 2) % 3]]) && sizes[ST_SIZE_PRODUCTS] > 1) {
            *sequence = one;
            *width = sizes[keys[i]];
            return true;
        }
    }
    return false;
}

static void find_attention(shown *s)
{
    const st_run *run = s->imported->run;
    for (size_t i = 0; i < run->shape_count; i++) {
        const st_task_shape *shape = &run->shapes[i];
        const char *operation = s->imported->shape_prices[i].operation;
        if (s->counts[i] == 0)
            continue;
        s->dropout |= strstr(shape->name, "dropout") != NULL;
        s->rms |= strstr(shape->name, "rms") != NULL || strstr(shape->name, "RMS") != NULL;
        if (st_shape_is_score(shape, &s->sequence, &s->head_width)) {
            s->parts += s->counts[i];
            s->heads = shape->sizes[ST_SIZE_PRODUCTS]; /* times the batch */
        }
        if (operation == NULL || !st_begins(operation, "attention"))
            continue;
        bool back = strstr(operation, "backward") != NULL;
        *(back ? &s->backward : &s->forward) += s->counts[i];
        s->fused = true;
        s->full |= strstr(operation, "full") != NULL;
        if (back)
            continue;
        s->batch = shape->sizes[ST_SIZE_BATCH];
        s->sequence = shape->sizes[ST_SIZE_SEQUENCE];
        s->heads = shape->sizes[ST_SIZE_HEADS];
        s->head_width = shape->sizes[ST_SIZE_HEAD_DIM];
    }
}

/* Whether a shape of the step is a product of a linear layer. */
static bool is_linear(const shown *s, size_t index)
{
    const st_task_shape *shape = &s->imported->run->shapes[index];
    return s->counts[index] > 0 && shape->form == ST_FORM_PRODUCT &&
           shape->sizes[ST_SIZE_PRODUCTS] <= 1;
}

static double work_of(const shown *s, size_t index)
{
    const double *sizes = s->imported->run->shapes[index].sizes;
    return s->counts[index] * sizes[ST_SIZE_M] * sizes[ST_SIZE_N] * sizes[ST_SIZE_K];
}

/* The share of the linear layers' arithmetic that has so many rows. */
static double share_with_rows(const shown *s, double rows)
{
    double all = 0;
    double found = 0;
    for (size_t i = 0; i < s->imported->run->shape_count; i++) {
        if (!is_linear(s, i))
            continue;
        const double *sizes = s->imported->run->shapes[i].sizes;
        all += work_of(s, i);
        if (same_number(sizes[ST_SIZE_M], rows) || same_number(sizes[ST_SIZE_K], rows))
            found += work_of(s, i);
    }
    return all > 0 ? found / all : 0;
}

/* Rows of linear layers where attention is made of products, which have batch times heads. */
static void find_rows(shown *s)
{
    double best = 0;
    s->rows = s->batch * s->sequence;
    for (size_t i = 0; i < s->imported->run->shape_count && !s->fused && s->parts > 0; i++) {
        double rows = s->imported->run->shapes[i].sizes[ST_SIZE_K];
        double share = is_linear(s, i) ? share_with_rows(s, rows) : 0;
        if (share <= best || !is_whole(rows / s->sequence) ||
            !is_whole(s->heads / (rows / s->sequence)))
            continue;
        best = share;
        s->rows = rows;
    }
    if (!s->fused && s->rows > 0) {
        s->batch = s->rows / s->sequence;
        s->heads /= s->batch;
    }
}

/* ---- linear layers ---- */

static void add_linear(shown *s, const double *widths, double weights, double rows)
{
    bool ascends = widths[0] <= widths[1];
    linear found = {.width = {widths[ascends ? 0 : 1], widths[ascends ? 1 : 0]}};
    size_t i = 0;
    while (i < s->linear_count && !(same_number(s->linears[i].width[0], found.width[0]) &&
                                    same_number(s->linears[i].width[1], found.width[1])))
        i++;
    if (i == MOST_WIDTHS)
        return;
    if (i == s->linear_count)
        s->linears[s->linear_count++] = found;
    s->linears[i].weights += weights;
    s->linears[i].rows += rows;
}

/* A sum over the rows is the gradient of a weight. Where a width is as large as the rows, the sides
 * do not say which product it is: one in three is such a gradient. */
static void find_linears(shown *s)
{
    double most = 0;
    for (size_t i = 0; i < s->imported->run->shape_count; i++) {
        if (!is_linear(s, i))
            continue;
        const double *sizes = s->imported->run->shapes[i].sizes;
        const double side[] = {sizes[ST_SIZE_M], sizes[ST_SIZE_N], sizes[ST_SIZE_K]};
        bool is[3];
        size_t first = 3;
        for (size_t j = 0; j < 3; j++) {
            is[j] = same_number(side[j], s->rows);
            first = is[j] && (first == 3 || j == 2) ? j : first;
        }
        bool chunked = first == 3 && s->rows > side[2] && is_whole(s->rows / side[2]);
        if (first == 3 && !chunked)
            continue;
        double count = s->counts[i];
        double widths[] = {side[(first + 1) % 3], side[(first + 2) % 3]};
        if (chunked) /* a loss over pieces of the rows */
            add_linear(s, side, count * side[2] / s->rows, 0);
        else if (is[0] + is[1] + is[2] > 1)
            add_linear(s, widths, count / 3, 2 * count / 3);
        else
            add_linear(s, widths, is[2] ? count : 0, is[2] ? 0 : count);
        if (work_of(s, i) > most)
            s->type = s->imported->run->shapes[i].type;
        most = fmax(most, work_of(s, i));
    }
}

/* The width that all weights share; of two, the smaller one. */
static bool find_hidden(shown *s)
{
    s->hidden = 0;
    for (size_t side = 0; side < 2 && s->hidden <= 0 && s->linear_count > 0; side++) {
        double wanted = 0;
        bool all = true;
        for (size_t i = 0; i < s->linear_count; i++)
            wanted = wanted <= 0 && s->linears[i].weights > 0 ? s->linears[i].width[side] : wanted;
        for (size_t i = 0; i < s->linear_count; i++)
            all =
                all && (s->linears[i].weights <= 0 || same_number(s->linears[i].width[0], wanted) ||
                        same_number(s->linears[i].width[1], wanted));
        s->hidden = all ? wanted : 0;
    }
    for (size_t i = 0; i < s->linear_count; i++)
        if (same_number(s->linears[i].width[0], s->hidden))
            s->linears[i].width[0] = s->linears[i].width[1];
    return s->hidden > 0;
}

/* ---- a layer ---- */

/* Takes weights of a layer away; false where it has fewer. */
static bool take(const shown *s, double *counts, double width, double count)
{
    for (size_t i = 0; i < s->linear_count; i++)
        if (same_number(s->linears[i].width[0], width) && counts[i] > count - 0.01) {
            counts[i] -= count;
            return true;
        }
    return false;
}

/* What is left is the MLP: two or three matrices of one width, or one of both halves and one back.
 */
static bool take_mlp(shown *s, const double *counts)
{
    double width[2] = {0, 0};
    double left[2] = {0, 0};
    size_t found = 0;
    for (size_t i = 0; i < s->linear_count; i++) {
        if (counts[i] < 0.5)
            continue;
        if (found == 2)
            return false;
        width[found] = s->linears[i].width[0];
        left[found++] = round(counts[i]);
    }
    s->ffn = found == 2 ? fmin(width[0], width[1]) : width[0];
    s->gated = found == 2 || left[0] > 2;
    if (found == 1)
        return left[0] > 1 && left[0] < 4;
    return found == 2 && same_number(fmax(width[0], width[1]), 2 * s->ffn) && left[0] < 2 &&
           left[1] < 2;
}

/* Whether the weights without those of the output layer, `head`, are so many equal layers. */
static bool solve_layer(shown *s, size_t head)
{
    double inner = s->heads * s->head_width;
    for (size_t share = 1; (double)share <= s->heads; share++) {
        double kv = s->heads / (double)share;
        double key = kv * s->head_width;
        if (!is_whole(kv))
            continue;
        const double forms[][2][2] = {
            {{inner + 2 * key, 1}, {inner, 1}}, {{inner, 2}, {key, 2}}, {{inner, 2}, {2 * key, 1}}};
        for (size_t form = 0; form < ST_COUNT(forms); form++) {
            double counts[MOST_WIDTHS];
            bool fits = true;
            for (size_t i = 0; i < s->linear_count; i++) {
                counts[i] = i == head ? 0 : s->linears[i].weights / s->layers;
                fits = fits && (counts[i] <= 0 || is_whole(counts[i]));
            }
            for (size_t part = 0; part < 2 && fits; part++)
                fits = take(s, counts, forms[form][part][0], forms[form][part][1]);
            if (fits && take_mlp(s, counts)) {
                s->kv_heads = kv;
                return true;
            }
        }
    }
    return false;
}

/* The output layer is one of the weights, the widest first, or another stage has it. */
static bool find_layer(shown *s)
{
    double below = HUGE_VAL;
    for (size_t tried = 0; tried < s->linear_count; tried++) {
        size_t head = s->linear_count;
        for (size_t i = 0; i < s->linear_count; i++)
            if (s->linears[i].width[0] < below && s->linears[i].weights > 0 &&
                (head == s->linear_count || s->linears[i].width[0] > s->linears[head].width[0]))
                head = i;
        if (head == s->linear_count)
            break;
        below = s->linears[head].width[0];
        if (!solve_layer(s, head))
            continue;
        s->vocabulary = s->linears[head].width[0];
        s->micro_batches = s->linears[head].weights;
        return is_whole(s->micro_batches);
    }
    return solve_layer(s, s->linear_count);
}

/* Layers of all micro-batches, and what is computed again. */
static void count_layers(shown *s)
{
    double weights = 0;
    double rows = 0;
    for (size_t i = 0; i < s->linear_count; i++) {
        weights += s->linears[i].weights;
        rows += s->linears[i].rows;
    }
    s->again = weights > 0 ? fmax(rows / weights - 2, 0) : 0;
    s->layers = s->fused ? s->backward : s->parts / (s->again > 0.5 ? 8 : 6);
}

/* Reads a worker; returns what is missing, or NULL. */
static const char *read_step(shown *s, size_t worker, st_arena *arena)
{
    if (s->imported->workers[worker].steps == 0)
        return "steps that repeat";
    count_tasks(s, worker, arena);
    find_attention(s);
    if (!(s->sequence > 0 && s->heads > 0 && s->head_width > 0))
        return "attention, as a kernel that the rules know or as batches of products";
    if (s->fused && s->backward <= 0)
        return "the backward pass of attention";
    find_rows(s);
    if (!(share_with_rows(s, s->rows) > 0.5))
        return "products of linear layers with the rows of attention";
    find_linears(s);
    if (!find_hidden(s))
        return "a width that all products share, the hidden size";
    count_layers(s);
    if (!find_layer(s))
        return "products of equal layers: projections to queries, keys and values, and an MLP";
    return NULL;
}

/* ---- ranks ---- */

typedef struct plan {
    const st_communicator *tensor; /* NULL: none */
    bool by_sequence;
    const st_communicator *data; /* that sums or shards gradients */
    const st_communicator *replicas;
    double zero;
    uint8_t type; /* of gradients */
    bool apart;   /* most of their sums have a stream of their own */
    double sends;
    double chunks; /* of a stage, which sends the activations and gradients of each; 0: not known */
} plan;

/* Messages of activations, whose group is that of tensor parallelism: four sums a layer, or twice
 * as many halves. Returns what is wrong. */
static const char *find_tensor(const shown *s, plan *p)
{
    double sums = 0;
    for (size_t i = 0; i < s->message_count; i++) {
        const message *m = &s->messages[i];
        bool half = m->operation == ST_LOG_ALL_GATHER || m->operation == ST_LOG_REDUCE_SCATTER;
        if (m->group->ranks < 2 || !same_number(m->elements, s->rows * s->hidden) ||
            !(half || m->operation == ST_LOG_ALL_REDUCE) || m->count < s->layers)
            continue;
        p->tensor = m->group;
        p->by_sequence |= half;
        sums += half ? m->count / 2 : m->count;
    }
    return p->tensor != NULL && sums < 3.5 * s->layers
               ? "tensor parallelism of attention and MLP alike, four sums of activations a layer"
               : NULL;
}

static double parameters_of(const shown *s)
{
    double widths = 0;
    for (size_t i = 0; i < s->linear_count; i++)
        widths += s->linears[i].weights * s->linears[i].width[0];
    return widths * s->hidden / fmax(s->micro_batches, 1);
}

/* Elements that a group moves in all collectives of a kind, and how many these are; activations of
 * tensor parallelism are none. */
static double moved(const shown *s, const plan *p, const st_communicator *group,
                    st_log_operation operation, double *count)
{
    double sum = 0;
    *count = 0;
    for (size_t i = 0; i < s->message_count; i++) {
        const message *m = &s->messages[i];
        if (m->operation != operation || (group != NULL && m->group != group) ||
            (m->group == p->tensor && same_number(m->elements, s->rows * s->hidden)))
            continue;
        sum += m->count * m->elements;
        *count += m->count;
    }
    return sum;
}

/* Groups that sum gradients: all ranks of them, or where they are scattered first, replicas. */
static void find_data(const shown *s, plan *p)
{
    double scatters = 0;
    double gathers = 0;
    double scattered = moved(s, p, NULL, ST_LOG_REDUCE_SCATTER, &scatters);
    double gathered = moved(s, p, NULL, ST_LOG_ALL_GATHER, &gathers);
    /* Weights that are sharded, too, are gathered in both passes. */
    bool twice = gathered > 1.4 * scattered && gathers > 1.4 * scatters;
    double whole = parameters_of(s);
    p->zero = scattered <= 0 ? 0 : twice ? 3 : 1;
    for (size_t i = 0; i < s->message_count; i++) {
        const message *m = &s->messages[i];
        if (m->operation == ST_LOG_REDUCE_SCATTER && m->group != p->tensor)
            p->data = m->group;
    }
    for (size_t i = 0; i < s->message_count; i++) {
        double count = 0;
        const message *m = &s->messages[i];
        if (m->group->ranks < 2 || m->group == p->tensor || m->group == p->data)
            continue;
        double sum = moved(s, p, m->group, ST_LOG_ALL_REDUCE, &count);
        if (scattered > 0 && p->data != NULL && sum > 0.5 * whole / (double)p->data->ranks)
            p->replicas = m->group;
        else if (scattered <= 0 && sum > 0.5 * whole)
            p->data = m->group;
    }
    double most = 0;
    for (size_t i = 0; i < s->message_count; i++) {
        const message *m = &s->messages[i];
        if (m->group != p->data || m->operation == ST_LOG_ALL_GATHER ||
            m->count * m->elements <= most)
            continue;
        most = m->count * m->elements;
        p->type = m->type;
        p->apart = m->apart;
    }
}

/* ---- keys ---- */

static void put(st_inferred_job *job, st_arena *arena, const char *path, const char *text)
{
    st_inferred_key key = {.path = path, .text = text};
    (void)ST_APPEND(arena, job->keys, job->count, key);
}

static void put_count(st_inferred_job *job, st_arena *arena, const char *path, double value)
{
    put(job, arena, path, st_arena_printf(arena, "%.0f", value));
}

static void assume(st_inferred_job *job, st_arena *arena, const char *path, const char *text)
{
    put(job, arena, path, text);
    job->keys[job->count - 1].assumed = true;
}

static const char *truth(bool value)
{
    return value ? "true" : "false";
}

/* What the user gives a key, NULL: nothing. */
static const char *given_text(const st_imported_job *given, const char *path)
{
    const char *text = NULL;
    size_t length = strlen(path);
    for (size_t i = 0; i < given->set_count; i++)
        if (strncmp(given->sets[i], path, length) == 0 && given->sets[i][length] == '=')
            text = given->sets[i] + length + 1;
    return text;
}

static double given_number(const st_imported_job *given, const char *path)
{
    const char *text = given_text(given, path);
    return text != NULL ? strtod(text, NULL) : 0;
}

static void miss(st_inferred_job *job, const char *missing, const char *key)
{
    if (job->missing == NULL && missing != NULL) {
        job->missing = missing;
        job->key = key;
    }
}

static const char *type_of(const char *name)
{
    bool wide = st_same(st_or_none(name), "fp32") || st_same(st_or_none(name), "tf32");
    return wide ? "fp32" : st_same(st_or_none(name), "fp16") ? "fp16" : "bf16";
}

static void put_model(const shown *s, const plan *p, st_inferred_job *job, st_arena *arena)
{
    double tp = p->tensor != NULL ? (double)p->tensor->ranks : 1;
    /* Sums over the rows alone belong to a loss over parts of the vocabulary. */
    bool split = false;
    for (size_t i = 0; i < s->message_count; i++)
        split |= s->messages[i].group == p->tensor && same_number(s->messages[i].elements, s->rows);
    put_count(job, arena, ST_KEY_MODEL_HIDDEN, s->hidden);
    put_count(job, arena, ST_KEY_MODEL_HEADS, s->heads * tp);
    if (s->kv_heads < s->heads)
        put_count(job, arena, ST_KEY_MODEL_KV_HEADS, s->kv_heads * tp);
    if (!same_number(s->heads * tp * s->head_width, s->hidden))
        put_count(job, arena, ST_KEY_MODEL_HEAD_DIM, s->head_width);
    put_count(job, arena, ST_KEY_MODEL_FFN, s->ffn * tp);
    put(job, arena, ST_KEY_MODEL_GATED, truth(s->gated));
    if (s->vocabulary > 0) {
        put_count(job, arena, ST_KEY_MODEL_VOCABULARY, s->vocabulary * (split ? tp : 1));
        put(job, arena, ST_KEY_MODEL_VOCABULARY_MULTIPLE, "1");
    }
    put(job, arena, ST_KEY_MODEL_NORM, s->rms ? "rms" : "layer");
    put(job, arena, ST_KEY_MODEL_DROPOUT, truth(s->dropout));
    put(job, arena, ST_KEY_MODEL_CAUSAL, truth(!s->full));
    assume(job, arena, ST_KEY_MODEL_BIAS, truth(!s->gated));
    assume(job, arena, ST_KEY_MODEL_TIED, "true");
    assume(job, arena, ST_KEY_MODEL_POSITIONS,
           s->gated ? "0" : st_arena_printf(arena, "%.0f", s->sequence));
}

static void put_passes(const shown *s, const plan *p, st_inferred_job *job, st_arena *arena)
{
    bool attention = s->fused && s->forward > 1.5 * s->backward;
    bool full = s->again > 0.4;
    put(job, arena, ST_KEY_ATTENTION, s->fused ? "flash" : "unfused");
    put(job, arena, ST_KEY_RECOMPUTE, full ? "full" : attention ? "selective" : "none");
    if (attention && !full)
        put(job, arena, ST_KEY_RECOMPUTED_ATTENTION, "true");
    put(job, arena, ST_KEY_PRECISION_WEIGHTS, type_of(s->type));
    job->keys[job->count - 1].assumed = st_same(st_or_none(s->type), "tf32"); /* no sheet has it */
    if (st_same(st_or_none(s->type), "fp8"))
        put(job, arena, ST_KEY_PRECISION_FP8, "true");
    if (p->data != NULL)
        put(job, arena, ST_KEY_PRECISION_GRADIENTS,
            p->type == ST_LOG_BF16   ? "bf16"
            : p->type == ST_LOG_FP16 ? "fp16"
                                     : "fp32");
    if (p->apart) {
        put(job, arena, ST_KEY_OVERLAP_GRADIENTS, "1");
        if (p->zero > 0)
            put(job, arena, ST_KEY_OVERLAP_PARAMETERS, "1");
    }
    if (s->graphs)
        put(job, arena, ST_KEY_GRAPHS, "full");
    assume(job, arena, ST_KEY_STACK, "plain");
}

/* Layers of a rank on average over the recorded ones, in all micro-batches. */
static double mean_layers(const shown *s, const shown *others)
{
    const st_run *run = s->imported->run;
    double sum = 0;
    double ranks = 0;
    for (size_t i = 0; i < run->worker_count; i++) {
        if (!(others[i].layers > 0))
            continue;
        sum += others[i].layers * (double)run->workers[i].rank_count;
        ranks += (double)run->workers[i].rank_count;
    }
    return ranks > 0 ? sum / ranks : s->layers;
}

/* Ranks, layers and micro-batches, which follow from each other. */
static void put_plan(const shown *s, const plan *p, const shown *others,
                     const st_imported_job *given, st_inferred_job *job, st_arena *arena)
{
    double world = (double)s->imported->run->world;
    double tp = p->tensor != NULL ? (double)p->tensor->ranks : 1;
    double shard = p->data != NULL ? (double)p->data->ranks : 1;
    double dp = shard * (p->replicas != NULL ? (double)p->replicas->ranks : 1);
    double pp = p->sends > 0 ? world / (tp * dp) : 1;
    double micro_batches = s->micro_batches;
    double layers = given_number(given, ST_KEY_MODEL_LAYERS);
    double global = given_number(given, ST_KEY_BATCH_GLOBAL);
    if (!is_whole(pp) || !same_number(tp * dp * pp, world))
        miss(job, "collectives that sum gradients over all ranks", ST_KEY_PARALLEL_DP);
    if (micro_batches <= 0 && layers > 0)
        micro_batches = mean_layers(s, others) * pp / layers;
    if (micro_batches <= 0 && global > 0)
        micro_batches = global / (s->batch * dp);
    if (!is_whole(micro_batches) || !is_whole(mean_layers(s, others) * pp / micro_batches)) {
        miss(job, "the output layer, of which a micro-batch has one", ST_KEY_BATCH_GLOBAL);
        return;
    }
    put_count(job, arena, ST_KEY_MODEL_LAYERS, mean_layers(s, others) * pp / micro_batches);
    put_count(job, arena, ST_KEY_BATCH_SEQUENCE, s->sequence);
    put_count(job, arena, ST_KEY_BATCH_MICRO, s->batch);
    put_count(job, arena, ST_KEY_BATCH_GLOBAL, s->batch * dp * micro_batches);
    put_count(job, arena, ST_KEY_PARALLEL_TP, tp);
    put_count(job, arena, ST_KEY_PARALLEL_PP, pp);
    if (pp > 1 && p->chunks > 1)
        put_count(job, arena, ST_KEY_PARALLEL_VIRTUAL_STAGES, p->chunks);
    else if (pp > 1 && p->chunks <= 0)
        assume(job, arena, ST_KEY_PARALLEL_VIRTUAL_STAGES, "1");
    put_count(job, arena, ST_KEY_PARALLEL_DP, dp);
    put_count(job, arena, ST_KEY_PARALLEL_ZERO, p->zero);
    if (p->replicas != NULL && p->zero > 2)
        put_count(job, arena, ST_KEY_PARALLEL_SHARD, shard);
    if (p->tensor != NULL)
        put(job, arena, ST_KEY_PARALLEL_SEQUENCE_PARALLEL, truth(p->by_sequence));
}

/* The cluster of the request, or the recorded GPU alone. */
static void put_cluster(const st_imported *imported, const st_imported_job *given,
                        st_inferred_job *job, st_arena *arena)
{
    if (given_text(given, ST_KEY_CLUSTER) != NULL)
        return;
    if (imported->run->world > 1)
        miss(job, "the network between its ranks", ST_KEY_CLUSTER);
    if (given_text(given, ST_KEY_CLUSTER_GPU) == NULL)
        put(job, arena, ST_KEY_CLUSTER_GPU, imported->run->workers[0].header.device);
    put(job, arena, ST_KEY_CLUSTER_NODES, "1");
    put(job, arena, ST_KEY_CLUSTER_GPUS_PER_NODE, "1");
}

/* The distinct ranks that a worker sends to, of which two are neighbours in a pipeline; more than
 * these also where it sends to itself, as an all-to-all does. */
static size_t count_peers(const st_imported *imported, size_t worker)
{
    enum { MORE = 3 };
    const st_worker *from = &imported->run->workers[worker];
    int32_t found[MORE] = {-1, -1, -1};
    size_t count = 0;
    for (size_t i = 0; i < from->call_count && count < MORE; i++) {
        const st_log_record *record = from->calls[i].record;
        const st_log_collective *made = &record->collective;
        if (record->kind != ST_LOG_COLLECTIVE || made->operation != ST_LOG_SEND)
            continue;
        const st_communicator *group = st_groups_find(imported->groups, (uint32_t)worker, record);
        if (group != NULL && group->rank == made->peer)
            return MORE;
        if (made->peer != found[0] && made->peer != found[1])
            found[count++] = made->peer;
    }
    return count;
}

/* What ranks exchange, where no key of the job follows from it; NULL: nothing such. */
static const char *find_exchanges(const shown *s, const plan *p, size_t peers)
{
    const double keys = s->rows * s->kv_heads * s->head_width;
    if (peers > 2)
        return "whose all-to-alls its messages are, of experts or of sequences";
    for (size_t i = 0; i < s->message_count; i++) {
        const message *m = &s->messages[i];
        const double ranks = (double)m->group->ranks;
        bool gathers = m->operation == ST_LOG_ALL_GATHER && m->group != p->tensor;
        bool passes = same_number(m->elements, s->rows * s->hidden) ||
                      (p->tensor != NULL &&
                       same_number(m->elements * (double)p->tensor->ranks, s->rows * s->hidden));
        if (m->operation == ST_LOG_ALL_TO_ALL)
            return "whose its all-to-alls are, of experts or of sequences";
        if (m->operation == ST_LOG_SEND && !passes && m->count >= s->layers)
            return "what its messages in each layer are, keys of parts of sequences or others";
        if (gathers && m->count >= s->layers &&
            (same_number(m->elements, ranks * keys) || same_number(m->elements, 2 * ranks * keys)))
            return "how sequences are divided, whose keys and values it gathers";
    }
    return NULL;
}

void st_infer_job(const st_imported *imported, size_t worker, const st_imported_job *given,
                  st_arena *arena, st_inferred_job *job)
{
    size_t count = imported->run->worker_count;
    shown *all = st_arena_alloc(arena, count + 1, sizeof *all);
    plan found = {0};
    *job = (st_inferred_job){0};
    for (size_t i = 0; i < count; i++) {
        all[i].imported = imported;
        const char *missing = read_step(&all[i], i, arena);
        if (i == worker)
            miss(job, missing, NULL);
        if (missing != NULL)
            all[i].layers = 0;
    }
    if (job->missing != NULL)
        return;
    shown *s = &all[worker];
    const size_t peers = count_peers(imported, worker);
    for (size_t i = 0; i < count && s->vocabulary <= 0; i++) {
        if (!(all[i].layers > 0))
            continue;
        s->vocabulary = all[i].vocabulary;
        s->micro_batches = all[i].micro_batches;
    }
    for (size_t i = 0; i < s->message_count; i++)
        found.sends += s->messages[i].operation == ST_LOG_SEND ? s->messages[i].count : 0;
    if (s->micro_batches <= 0 && found.sends > 0)
        s->micro_batches = found.sends / (double)peers;
    else if (s->micro_batches > 0 && found.sends > 0)
        found.chunks = ceil(found.sends / s->micro_batches / 2);
    miss(job, find_tensor(s, &found), NULL);
    miss(job, find_exchanges(s, &found, peers), NULL);
    find_data(s, &found);
    if (s->vocabulary <= 0 && given_number(given, ST_KEY_MODEL_VOCABULARY) <= 0)
        miss(job, "the output layer of the model", ST_KEY_MODEL_VOCABULARY);
    put_cluster(imported, given, job, arena);
    put_model(s, &found, job, arena);
    put_plan(s, &found, all, given, job, arena);
    put_passes(s, &found, job, arena);
}

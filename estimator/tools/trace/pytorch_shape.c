/* SPDX-License-Identifier: Apache-2.0 */
/* What operators of PyTorch run, by their names and the sizes of their tensors. */
#include "trace/pytorch_shape.h"

#include "base/lists.h"

#include <math.h>
#include <string.h>

/* Where an operator has the two factors of a product among its arguments. */
typedef struct product_name {
    const char *name;
    uint8_t left;
    uint8_t right;
    bool is_transposed; /* the right one is columns by width */
} product_name;

static const product_name products[] = {
    {"aten::mm", 0, 1, false},         {"aten::bmm", 0, 1, false},
    {"aten::addmm", 1, 2, false},      {"aten::baddbmm", 1, 2, false},
    {"aten::_scaled_mm", 0, 1, false}, {"aten::_addmm_activation", 1, 2, false},
    {"aten::mv", 0, 1, false},         {"aten::addmv", 1, 2, false},
    {"aten::linear", 0, 1, true},
};

static const char *const convolutions[] = {
    "aten::cudnn_convolution",      "aten::miopen_convolution",
    "aten::_convolution",           "aten::convolution",
    "aten::_slow_conv2d_forward",   "aten::cudnn_convolution_add_relu",
    "aten::cudnn_convolution_relu",
};

/* Fused attention, and whether heads precede the tokens. */
typedef struct attention_name {
    const char *name;
    bool heads_first;
} attention_name;

static const attention_name attentions[] = {
    {"aten::_scaled_dot_product_flash_attention", true},
    {"aten::_scaled_dot_product_efficient_attention", true},
    {"aten::_scaled_dot_product_cudnn_attention", true},
    {"aten::_flash_attention", false},
    {"aten::_efficient_attention", false},
    {"aten::_cudnn_attention", true},
    {"flash_attn::_flash_attn", false},
};

static double size_of(const st_pytorch_operator *one, size_t argument, size_t dim)
{
    return argument < ST_PYTORCH_SHAPES && dim < one->dim_counts[argument]
               ? (double)one->dims[argument][dim]
               : 1;
}

static double bytes_of(const st_pytorch *all, const st_pytorch_operator *one, bool inputs,
                       bool outputs)
{
    double bytes = 0;
    for (size_t i = 0; i < one->tensor_count; i++) {
        const st_pytorch_tensor *tensor = &all->tensors[one->tensor_first + i];
        if (tensor->on_gpu && (tensor->is_output ? outputs : inputs))
            bytes += tensor->bytes;
    }
    return bytes;
}

static bool shape_product(const st_pytorch_operator *one, st_task_shape *shape)
{
    size_t row = ST_FIND(products, ST_COUNT(products), name, one->name);
    if (row == SIZE_MAX)
        return false;
    const product_name *known = &products[row];
    size_t left = one->dim_counts[known->left];
    size_t right = one->dim_counts[known->right];
    if (left == 0 || right == 0)
        return false;
    size_t column = right < 2 ? right : known->is_transposed ? right - 2 : right - 1;
    double batch = 1;
    for (size_t i = 0; i + 2 < left; i++)
        batch *= size_of(one, known->left, i);
    shape->form = ST_FORM_PRODUCT;
    shape->sizes[ST_SIZE_M] = left > 1 ? size_of(one, known->left, left - 2) : 1;
    shape->sizes[ST_SIZE_K] = size_of(one, known->left, left - 1);
    shape->sizes[ST_SIZE_N] = size_of(one, known->right, column);
    if (known->is_transposed)
        shape->sizes[ST_SIZE_M] *= batch;
    else
        shape->sizes[ST_SIZE_PRODUCTS] = batch;
    return true;
}

/* ---- shapes that contradict each other ---- */

static bool differ(double a, double b)
{
    return a > b || a < b;
}

/* The last dimension but `from_end`, 0: the last; 1 where there are fewer. */
static double size_from_end(const st_pytorch_operator *one, size_t argument, size_t from_end)
{
    size_t count = one->dim_counts[argument];
    return from_end < count ? size_of(one, argument, count - 1 - from_end) : 1;
}

/* Inner sizes of the factors, their numbers of products, the rows of the result. */
static const char *see_product(const st_pytorch_operator *one, const product_name *known)
{
    size_t left = known->left;
    size_t right = known->right;
    size_t out = ST_PYTORCH_SHAPES - 1;
    if (one->dim_counts[left] == 0 || one->dim_counts[right] == 0)
        return NULL;
    bool is_vector = one->dim_counts[right] < 2 || known->is_transposed;
    if (differ(size_from_end(one, left, 0), size_from_end(one, right, is_vector ? 0 : 1)))
        return "as many columns of the first factor as rows of the second one";
    if (one->dim_counts[left] == 3 && one->dim_counts[right] == 3 &&
        differ(size_of(one, left, 0), size_of(one, right, 0)))
        return "as many first as second factors";
    double columns = size_from_end(one, right, known->is_transposed ? 1 : 0);
    if (one->dim_counts[out] >= 2 && one->dim_counts[right] >= 2 &&
        (differ(size_from_end(one, out, 0), columns) ||
         differ(size_from_end(one, out, 1), size_from_end(one, left, 1))))
        return "a result of the first factor's rows and the second one's columns";
    return NULL;
}

const char *st_pytorch_contradiction(const st_pytorch_operator *one)
{
    size_t row = ST_FIND(products, ST_COUNT(products), name, one->name);
    if (row != SIZE_MAX)
        return see_product(one, &products[row]);
    for (size_t i = 0; i < ST_COUNT(convolutions); i++)
        if (strcmp(one->name, convolutions[i]) == 0) {
            /* Channels of the input: those of the weight, once for each group. */
            size_t out = ST_PYTORCH_SHAPES - 1;
            double channels = size_of(one, 1, 1);
            double groups = channels > 0 ? size_of(one, 0, 1) / channels : 1;
            if (one->dim_counts[0] < 3 || one->dim_counts[1] < 3)
                return NULL;
            if (groups < 1 || differ(groups, floor(groups)))
                return "an input with as many channels as the weight, or a multiple of them";
            if (one->dim_counts[out] >= 3 && differ(size_of(one, out, 1), size_of(one, 1, 0)))
                return "a result of as many channels as the weight has filters";
            return NULL;
        }
    for (size_t i = 0; i < ST_COUNT(attentions); i++) {
        const char *name = attentions[i].name;
        if (strncmp(one->name, name, strlen(name)) == 0 && strstr(one->name, "_backward") == NULL) {
            /* Keys and queries have one size of heads and one batch; heads share keys evenly. */
            size_t heads = attentions[i].heads_first ? 1 : 2;
            double shared = size_of(one, 1, heads);
            double groups = shared > 0 ? size_of(one, 0, heads) / shared : 0;
            if (one->dim_counts[0] != 4 || one->dim_counts[1] != 4)
                return NULL;
            if (differ(size_of(one, 0, 3), size_of(one, 1, 3)))
                return "queries and keys with heads of one size";
            if (differ(size_of(one, 0, 0), size_of(one, 1, 0)))
                return "as many sequences of queries as of keys";
            return groups < 1 || differ(groups, floor(groups))
                       ? "as many heads of queries as of keys, or a multiple of them"
                       : NULL;
        }
    }
    return NULL;
}

/* ---- shapes ---- */

/* As the product of an implicit matrix; its backward pass is two. */
static bool shape_convolution(const st_pytorch_operator *one, st_task_shape *shape)
{
    bool backward = strcmp(one->name, "aten::convolution_backward") == 0;
    bool known = backward;
    for (size_t i = 0; i < ST_COUNT(convolutions); i++)
        known = known || strcmp(one->name, convolutions[i]) == 0;
    size_t out = backward ? 0 : ST_PYTORCH_SHAPES - 1;
    size_t in = backward ? 1 : 0;
    size_t weight = in + 1;
    if (!known || one->dim_counts[weight] < 3 || one->dim_counts[out] < 3)
        return false;
    double pixels = size_of(one, out, 0);
    double width = 1;
    for (size_t i = 2; i < one->dim_counts[out]; i++)
        pixels *= size_of(one, out, i);
    for (size_t i = 1; i < one->dim_counts[weight]; i++)
        width *= size_of(one, weight, i);
    double channels = size_of(one, weight, 1);
    double groups = channels > 0 ? size_of(one, in, 1) / channels : 1;
    groups = groups >= 1 ? groups : 1;
    shape->form = ST_FORM_PRODUCT;
    shape->sizes[ST_SIZE_M] = pixels;
    shape->sizes[ST_SIZE_N] = size_of(one, weight, 0) / groups;
    shape->sizes[ST_SIZE_K] = width;
    shape->sizes[ST_SIZE_PRODUCTS] = groups * (backward ? 2 : 1);
    return true;
}

/* Rows that are looked up: the table is not read. */
static bool looks_up(const char *name)
{
    static const char *const names[] = {"aten::embedding", "aten::index_select", "aten::index",
                                        "aten::gather"};
    for (size_t i = 0; i < ST_COUNT(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

void st_pytorch_shape(const st_pytorch *operators, const st_pytorch_operator *one,
                      st_task_shape *shape)
{
    *shape = (st_task_shape){.name = one->name, .type = one->type};
    if (shape_product(one, shape) || shape_convolution(one, shape))
        return;
    for (size_t i = 0; i < ST_COUNT(attentions); i++) {
        const attention_name *known = &attentions[i];
        if (strncmp(one->name, known->name, strlen(known->name)) != 0 || one->dim_counts[0] != 4)
            continue;
        shape->form =
            strstr(one->name, "_backward") != NULL ? ST_FORM_ATTENTION_BACKWARD : ST_FORM_ATTENTION;
        shape->sizes[ST_SIZE_BATCH] = size_of(one, 0, 0);
        shape->sizes[ST_SIZE_HEADS] = size_of(one, 0, known->heads_first ? 1 : 2);
        shape->sizes[ST_SIZE_SEQUENCE] = size_of(one, 0, known->heads_first ? 2 : 1);
        shape->sizes[ST_SIZE_HEAD_DIM] = size_of(one, 0, 3);
        return;
    }
    double *bytes = &shape->sizes[ST_SIZE_BYTES];
    const st_pytorch_tensor *tensors = one->tensor_count > 0
                                           ? &operators->tensors[one->tensor_first]
                                           : NULL; /* Triton's may have none */
    bool copies = strcmp(one->name, "aten::copy_") == 0;
    if (copies && one->tensor_count >= 2) {
        shape->form = tensors[0].on_gpu == tensors[1].on_gpu ? ST_FORM_COPY : ST_FORM_HOST_COPY;
        *bytes = tensors[0].bytes;
    } else if (strcmp(one->name, "aten::_local_scalar_dense") == 0) {
        shape->form = ST_FORM_HOST_COPY;
        *bytes = bytes_of(operators, one, true, false);
    } else if (strcmp(one->name, "aten::fill_") == 0 || strcmp(one->name, "aten::zero_") == 0) {
        shape->form = ST_FORM_FILL;
        *bytes = tensors != NULL ? tensors[0].bytes : 0;
    } else {
        shape->form = ST_FORM_KERNEL;
        *bytes = looks_up(one->name) ? 2 * bytes_of(operators, one, false, true)
                                     : bytes_of(operators, one, true, true);
    }
}

const char *st_pytorch_type(const char *text, size_t length, double *bytes)
{
    static const struct {
        const char *name;
        const char *type;
        double bytes;
    } types[] = {{"c10::Half", "fp16", 2},
                 {"c10::BFloat16", "bf16", 2},
                 {"float", "fp32", 4},
                 {"double", "fp64", 8},
                 {"c10::Float8_e4m3fn", "fp8", 1},
                 {"c10::Float8_e5m2", "fp8", 1},
                 {"long int", NULL, 8},
                 {"int", NULL, 4},
                 {"short int", NULL, 2},
                 {"bool", NULL, 1},
                 {"unsigned char", NULL, 1},
                 {"signed char", NULL, 1}};
    *bytes = 0;
    for (size_t i = 0; i < ST_COUNT(types); i++)
        if (strlen(types[i].name) == length && memcmp(text, types[i].name, length) == 0) {
            *bytes = types[i].bytes;
            return types[i].type;
        }
    return NULL;
}

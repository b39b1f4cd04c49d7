/* SPDX-License-Identifier: Apache-2.0 */
/* Execution traces of PyTorch written by hand, in both forms: what runs, what it waits for. */
#include "base_support.h"
#include "../support/fixture.h"

#include "workload/pytorch.h"

FIXTURE(st_pytorch operators; st_execution execution;, );

static st_status read_text(fixture *self, const char *text)
{
    st_bytes *bytes = NULL;
    st_bytes_from_memory("et.json", text, strlen(text), &bytes);
    st_status status = st_pytorch_read(bytes, self->arena, &self->operators, self->errors);
    st_bytes_close(bytes);
    if (status == ST_OK)
        status =
            st_pytorch_execution(&self->operators, self->arena, &self->execution, self->errors);
    return status;
}

static st_status read_nodes(fixture *self, const char *const *nodes, size_t count)
{
    st_buffer text = {0};
    st_buffer_text(&text, "{\"schema\":\"1.1.1-chakra.0.0.4\",\"pid\":385,\"nodes\":[");
    for (size_t i = 0; i < count; i++)
        st_buffer_printf(&text, "%s%s", i > 0 ? "," : "", nodes[i]);
    st_buffer_text(&text, "]}");
    assert_false(text.failed);
    st_status status = read_text(self, text.data);
    st_buffer_free(&text);
    return status;
}

#define ATTRIBUTE(name, value) "{\"name\":\"" name "\",\"type\":\"uint64\",\"value\":" value "}"

/* Node `place` and what it waits for, places in one text. */
static void check_node(const fixture *self, size_t place, const char *name, const char *deps)
{
    const st_execution_node *node = &self->execution.nodes[place];
    char found[64] = "";
    assert_true(place < self->execution.count);
    assert_string_equal(node->name, name);
    for (size_t i = 0; i < node->dep_count; i++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%llu", i > 0 ? " " : "",
                 (unsigned long long)self->execution.deps[node->dep_first + i]);
    assert_string_equal(found, deps);
}

static const double *sizes_of(const fixture *self, size_t place, st_task_form form,
                              const char *type)
{
    const st_task_shape *shape = self->execution.nodes[place].shape;
    assert_non_null(shape);
    assert_int_equal(shape->form, form);
    if (type != NULL)
        assert_string_equal(shape->type, type);
    return shape->sizes;
}

#define OLD(id, parent, name, inputs, shapes, types, outputs)                                      \
    "{\"name\":\"" name "\",\"id\":" #id ",\"parent\":" #parent ",\"scope\":0,\"inputs\":" inputs  \
    ",\"input_shapes\":" shapes ",\"input_types\":" types ",\"outputs\":" outputs "}"

/* mm, an all-reduce in place that is waited for later, a library's function, views; children stand
 * before those that call them. */
TEST_WITH(test_old_form, set_up, tear_down)
{
    static const char *const nodes[] = {
        OLD(5, 4, "aten::mm", "[[11,31,0,238500,2,\"cuda:0\"],[12,32,0,1000,2,\"cuda:0\"]]",
            "[[2385,100],[100,10]]", "[\"Tensor(c10::Half)\",\"Tensor(c10::Half)\"]",
            "[[13,33,0,23850,2,\"cuda:0\"]]"),
        OLD(4, 1, "aten::matmul", "[[11,31,0,238500,2,\"cuda:0\"]]", "[[2385,100]]",
            "[\"Tensor(c10::Half)\"]", "[]"),
        OLD(6, 1, "aten::view", "[[13,33,0,23850,2,\"cuda:0\"]]", "[[2385,10]]", "[]", "[]"),
        OLD(8, 7, "record_param_comms",
            "[[[13,33,0,23850,2,\"cuda:0\"]],337,938251,0,\"allreduce\",[],[],8]", "[]",
            "[\"GenericList[Tensor(c10::Half)]\"]", "[]"),
        OLD(7, 1, "c10d::allreduce_", "[[[13,33,0,23850,2,\"cuda:0\"]]]", "[]", "[]", "[]"),
        OLD(9, 1, "aten::add", "[[14,34,0,50,4,\"cuda:0\"],2.5]", "[[50],[]]",
            "[\"Tensor(float)\",\"Double\"]", "[[15,35,0,50,4,\"cuda:0\"]]"),
        OLD(10, 1, "record_param_comms", "[337,0,0,\"wait\",[],[],1]", "[]", "[]", "[]"),
        OLD(12, 11, "aten::empty", "[[7]]", "[]", "[]", "[[16,36,0,7,4,\"cuda:0\"]]"),
        OLD(11, 1, "FusedNorm", "[[14,34,0,50,4,\"cuda:0\"]]", "[[50]]", "[\"Tensor(float)\"]",
            "[[16,36,0,7,4,\"cuda:0\"]]"),
        OLD(13, 1, "aten::mul_", "[[13,33,0,23850,2,\"cuda:0\"],[17,37,0,1,4,\"cpu\"]]",
            "[[2385,10],[]]", "[]", "[[13,33,0,23850,2,\"cuda:0\"]]"),
        OLD(14, 1, "aten::add", "[[17,37,0,1,4,\"cpu\"]]", "[[]]", "[]", "[]"),
        OLD(15, 1, "aten::copy_", "[[17,37,0,85,4,\"cpu\"],[13,33,0,85,4,\"cuda:0\"]]", "[]", "[]",
            "[]"),
    };
    fixture *self = *state;
    if (read_nodes(self, nodes, COUNT(nodes)) != ST_OK)
        fail_msg("%s", said(self->errors));
    assert_int_equal(self->execution.count, 6);
    check_node(self, 0, "aten::mm", "");
    check_node(self, 1, "record_param_comms", "0");
    check_node(self, 2, "aten::add", "");
    check_node(self, 3, "FusedNorm", "1"); /* the first kernel behind the wait */
    check_node(self, 4, "aten::mul_", "1");
    check_node(self, 5, "aten::copy_", "1");
    const double *product = sizes_of(self, 0, ST_FORM_PRODUCT, "fp16");
    assert_true(product[ST_SIZE_M] == 2385);
    assert_true(product[ST_SIZE_N] == 10);
    assert_true(product[ST_SIZE_K] == 100);
    assert_true(product[ST_SIZE_PRODUCTS] == 1);
    const st_execution_node *reduce = &self->execution.nodes[1];
    assert_int_equal(reduce->type, ST_CHAKRA_COLL);
    assert_int_equal(reduce->collective, ST_CHAKRA_ALL_REDUCE);
    assert_int_equal(reduce->bytes, 47700);
    assert_int_equal(reduce->group_size, 8);
    assert_true(sizes_of(self, 2, ST_FORM_KERNEL, "fp32")[ST_SIZE_BYTES] == 400);
    assert_true(sizes_of(self, 3, ST_FORM_KERNEL, NULL)[ST_SIZE_BYTES] == 228);
    assert_true(sizes_of(self, 4, ST_FORM_KERNEL, NULL)[ST_SIZE_BYTES] == 95400);
    assert_true(sizes_of(self, 5, ST_FORM_HOST_COPY, NULL)[ST_SIZE_BYTES] == 340);
}

#define NEW(id, parent, name, values, shapes, types, out_values, out_shapes, attrs)                \
    "{\"id\":" #id ",\"name\":\"" name "\",\"ctrl_deps\":" #parent                                 \
    ",\"inputs\":{\"values\":" values ",\"shapes\":" shapes ",\"types\":" types                    \
    "},\"outputs\":{\"values\":" out_values ",\"shapes\":" out_shapes                              \
    ",\"types\":[]},\"attrs\":[" attrs "]}"

/* Each is a node whose shapes contradict each other, or are not recorded; the last ones fit. */
TEST_WITH(test_shapes, set_up, tear_down)
{
    static const struct {
        const char *node;
        const char *message; /* NULL: it is taken */
    } rows[] = {
        {OLD(5, 1, "aten::mm", "[[11,31,0,9,2,\"cuda:0\"]]", "[[2385,100],[99,10]]", "[]", "[]"),
         "byte 50: the shapes of node 5 'aten::mm' do not match: found [2385,100] "
         "[99,10], "
         "expected as many columns of the first factor as rows of the second one"},
        {OLD(5, 1, "aten::addmm", "[[11,31,0,9,2,\"cuda:0\"]]", "[[10],[2385,100],[101,10]]", "[]",
             "[]"),
         "[10] [2385,100] [101,10]"},
        {OLD(5, 1, "aten::bmm", "[[11,31,0,9,2,\"cuda:0\"]]", "[[7,85,64],[5,64,85]]", "[]", "[]"),
         "as many first as second factors"},
        {OLD(5, 1, "aten::linear", "[[11,31,0,9,2,\"cuda:0\"]]", "[[4,2048,512],[1536,511]]", "[]",
             "[]"),
         "as many columns"},
        {NEW(5, 1, "aten::mm", "[[11,31,0,9,2,\"cuda:0\"]]", "[[238,100],[100,10]]", "[]", "[]",
             "[[239,10]]", ""),
         "a result of the first factor's rows"},
        {NEW(5, 1, "aten::cudnn_convolution", "[[4,5,0,9,2,\"cuda:0\"]]",
             "[[8,63,56,56],[128,32,3,3]]", "[]", "[]", "[[8,128,28,28]]", ""),
         "channels as the weight"},
        {NEW(5, 1, "aten::cudnn_convolution", "[[4,5,0,9,2,\"cuda:0\"]]",
             "[[8,64,56,56],[128,32,3,3]]", "[]", "[]", "[[8,127,28,28]]", ""),
         "as the weight has filters"},
        {OLD(5, 1, "aten::_flash_attention_forward", "[[4,5,0,9,2,\"cuda:0\"]]",
             "[[3,2048,16,128],[3,2048,16,64]]", "[]", "[]"),
         "heads of one size"},
        {OLD(5, 1, "aten::_flash_attention_forward", "[[4,5,0,9,2,\"cuda:0\"]]",
             "[[3,2048,16,128],[3,2048,5,128]]", "[]", "[]"),
         "or a multiple of them"},
        {OLD(5, 1, "aten::_flash_attention_forward", "[[4,5,0,9,2,\"cuda:0\"]]",
             "[[3,2048,16,128],[3,2048,0,128]]", "[]", "[]"),
         "or a multiple of them"},
        {OLD(5, 1, "aten::_flash_attention_forward", "[[4,5,0,9,2,\"cuda:0\"]]",
             "[[3,2048,16,128],[3,385,4,128]]", "[]", "[]"),
         NULL},
        {OLD(5, 1, "aten::mm", "[[11,31,0,9,2,\"cuda:0\"]]", "[[2385,100]]", "[]", "[]"), NULL},
        {OLD(5, 1, "aten::mv", "[[11,31,0,9,2,\"cuda:0\"]]", "[[2385,100],[100]]", "[]", "[]"),
         NULL},
    };
    fixture *self = *state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        st_status status = read_nodes(self, &rows[i].node, 1);
        if (rows[i].message == NULL && status != ST_OK)
            fail_msg("row %zu: %s", i, said(self->errors));
        if (rows[i].message == NULL)
            continue;
        assert_int_equal(status, ST_ERR_VALUE);
        const char *text = said(self->errors);
        if (strstr(text, rows[i].message) == NULL)
            fail_msg("row %zu: %s", i, text);
    }
}

/* Convolution, attention, a linear layer, a gathering with attributes. */
TEST_WITH(test_new_form, set_up, tear_down)
{
    static const char *const nodes[] = {
        NEW(3, 2, "aten::cudnn_convolution",
            "[[4,5,0,100,2,\"cuda:0\"],[6,7,0,100,2,\"cuda:0\"],[1,1]]",
            "[[8,64,56,56],[128,32,3,3],[[],[]]]", "[\"Tensor(c10::BFloat16)\"]",
            "[[8,9,0,100,2,\"cuda:0\"]]", "[[8,128,28,28]]", ""),
        NEW(4, 2, "aten::_flash_attention_forward", "[[4,5,0,100,2,\"cuda:0\"]]",
            "[[3,2048,16,128]]", "[\"Tensor(c10::BFloat16)\"]", "[]", "[]", ""),
        NEW(5, 2, "aten::linear", "[[4,5,0,100,2,\"cuda:0\"],[6,7,0,100,2,\"cuda:0\"]]",
            "[[4,2048,512],[1536,512]]", "[\"Tensor(c10::BFloat16)\"]", "[]", "[]", ""),
        NEW(6, 2, "record_param_comms",
            "[[[8,9,0,500,2,\"cuda:0\"]],41,[\"3\",\"dp\"],1,\"_allgather_base\",[],[],0,1,4]",
            "[]", "[]", "[]", "[]",
            ATTRIBUTE("collective_name", "\"_allgather_base\"") "," ATTRIBUTE(
                "in_msg_nelems",
                "500") "," ATTRIBUTE("pg_name",
                                     "\"3\"") "," ATTRIBUTE("pg_size",
                                                            "4") "," ATTRIBUTE("global_rank_stride",
                                                                               "8")),
        NEW(7, 2, "aten::baddbmm",
            "[[1,1,0,9,2,\"cuda:0\"],[4,5,0,100,2,\"cuda:0\"],[6,7,0,100,2,\"cuda:0\"]]",
            "[[32,2048,2048],[32,2048,64],[32,64,2048]]", "[\"Tensor(c10::BFloat16)\"]", "[]", "[]",
            ""),
    };
    fixture *self = *state;
    if (read_nodes(self, nodes, COUNT(nodes)) != ST_OK)
        fail_msg("%s", said(self->errors));
    assert_int_equal(self->execution.count, 5);
    const double *sizes = sizes_of(self, 0, ST_FORM_PRODUCT, "bf16");
    assert_true(sizes[ST_SIZE_M] == 8 * 28 * 28);
    assert_true(sizes[ST_SIZE_N] == 64); /* two groups */
    assert_true(sizes[ST_SIZE_K] == 32 * 9);
    assert_true(sizes[ST_SIZE_PRODUCTS] == 2);
    sizes = sizes_of(self, 1, ST_FORM_ATTENTION, "bf16");
    assert_true(sizes[ST_SIZE_BATCH] == 3);
    assert_true(sizes[ST_SIZE_SEQUENCE] == 2048);
    assert_true(sizes[ST_SIZE_HEADS] == 16);
    assert_true(sizes[ST_SIZE_HEAD_DIM] == 128);
    sizes = sizes_of(self, 2, ST_FORM_PRODUCT, "bf16");
    assert_true(sizes[ST_SIZE_M] == 8192);
    assert_true(sizes[ST_SIZE_N] == 1536);
    assert_true(sizes[ST_SIZE_K] == 512);
    const st_execution_node *gather = &self->execution.nodes[3];
    assert_int_equal(gather->collective, ST_CHAKRA_ALL_GATHER);
    assert_int_equal(gather->bytes, 1000);
    assert_int_equal(gather->group_size, 4);
    assert_int_equal(gather->group_stride, 8);
    assert_string_equal(gather->group, "3");
    check_node(self, 3, "record_param_comms", "0");
    sizes = sizes_of(self, 4, ST_FORM_PRODUCT, "bf16");
    assert_true(sizes[ST_SIZE_PRODUCTS] == 32);
    assert_true(sizes[ST_SIZE_K] == 64);
}

#define COMM(id, number, kind, ranks)                                                              \
    OLD(id, 1, "record_param_comms",                                                               \
        "[[[13,33,0,23850,2,\"cuda:0\"]]," #number ",0,0,\"" kind "\",[],[]," #ranks "]", "[]",    \
        "[\"GenericList[Tensor(c10::Half)]\"]", "[]")
#define WAIT(id, number)                                                                           \
    OLD(id, 1, "record_param_comms", "[" #number ",0,0,\"wait\",[],[],1]", "[]", "[]", "[]")
#define ADD(id)                                                                                    \
    OLD(id, 1, "aten::add", "[[14,34,0,50,4,\"cuda:0\"]]", "[[50]]", "[\"Tensor(float)\"]", "[]")

/* Waits find the last collective of their number, and without one the last of all; numbers below 1
 * are no sizes of groups. */
TEST_WITH(test_waits_and_sizes, set_up, tear_down)
{
    static const char *const nodes[] = {
        COMM(3, 938, "allreduce", 0),
        COMM(4, 939, "allreduce", -1),
        COMM(5, 938, "allreduce", 6),
        COMM(6, 940, "allreduce", 24),
        WAIT(7, 939),
        ADD(8),
        WAIT(9, 337),
        ADD(10),
        WAIT(11, 2385),
        ADD(12),
    };
    fixture *self = *state;
    if (read_nodes(self, nodes, COUNT(nodes)) != ST_OK)
        fail_msg("%s", said(self->errors));
    assert_int_equal(self->execution.count, 7);
    static const int64_t sizes[] = {-1, -1, 6, 24};
    for (size_t i = 0; i < COUNT(sizes); i++)
        assert_int_equal(self->execution.nodes[i].group_size, sizes[i]);
    assert_string_equal(self->execution.nodes[0].group, "an unknown number of ranks");
    assert_string_equal(self->execution.nodes[2].group, "6 ranks");
    check_node(self, 4, "aten::add", "1");
    check_node(self, 5, "aten::add", "3");
    check_node(self, 6, "aten::add", "3");
}

TEST_WITH(test_refused, set_up, tear_down)
{
    static const struct {
        const char *text;
        const char *said;
    } cases[] = {
        {"{}", "lacks the list 'nodes'"},
        {"{\"traceEvents\":[]}", "a recording of PyTorch's profiler"},
        {"{\"nodes\":[]}", "no operator of the trace runs on a GPU"},
        {"{\"nodes\":[{\"id\":3,\"name\":\"a\"", "the file ends in the middle"},
        {"{\"nodes\":[{\"name\":\"a\"}]}", "a node lacks 'id'"},
        {"{\"nodes\":[{\"id\":-3}]}", "invalid id"},
        {"{\"nodes\":[{\"id\":3},{\"id\":3}]}", "has the id of another node"},
        {"{\"nodes\":[{\"id\":3,\"parent\":7},{\"id\":7}]}",
         "called by a node that begins after it"},
        {"{\"nodes\":[],\"nodes\":[]}", "given twice"},
        {"[3]", "expected '{'"},
        {"{\"nodes\":[3]}", "expected '{'"},
        {"", "the file ends"},
    };
    fixture *self = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_errors_destroy(self->errors);
        self->errors = st_errors_create();
        assert_int_not_equal(read_text(self, cases[i].text), ST_OK);
        if (strstr(said(self->errors), cases[i].said) == NULL)
            fail_msg("%s: %s", cases[i].text, said(self->errors));
    }
}

typedef struct shape_row {
    const char *name;
    int64_t dims[ST_PYTORCH_SHAPES][ST_PYTORCH_DIMS];
    uint8_t counts[ST_PYTORCH_SHAPES];
    st_task_form form;
    double sizes[ST_SIZE_KEYS];
} shape_row;

#define PRODUCT(m, n, k, products)                                                                 \
    ST_FORM_PRODUCT,                                                                               \
    {                                                                                              \
        [ST_SIZE_M] = m, [ST_SIZE_N] = n, [ST_SIZE_K] = k, [ST_SIZE_PRODUCTS] = products           \
    }
#define ATTENTION(batch, heads, sequence, dim)                                                     \
    {                                                                                              \
        [ST_SIZE_BATCH] = batch, [ST_SIZE_HEADS] = heads, [ST_SIZE_SEQUENCE] = sequence,           \
        [ST_SIZE_HEAD_DIM] = dim                                                                   \
    }

static const shape_row shape_rows[] = {
    {"aten::mm", {{24, 48}, {48, 96}}, {2, 2}, PRODUCT(24, 96, 48, 1)},
    {"aten::bmm", {{5, 24, 48}, {5, 48, 96}}, {3, 3}, PRODUCT(24, 96, 48, 5)},
    {"aten::baddbmm", {{7, 24, 96}, {7, 24, 48}, {7, 48, 96}}, {3, 3, 3}, PRODUCT(24, 96, 48, 7)},
    {"aten::addmm", {{96}, {24, 48}, {48, 96}}, {1, 2, 2}, PRODUCT(24, 96, 48, 1)},
    {"aten::mv", {{24, 48}, {48}}, {2, 1}, PRODUCT(24, 1, 48, 1)},
    {"aten::linear", {{3, 5, 24, 48}, {96, 48}}, {4, 2}, PRODUCT(24 * 15, 96, 48, 0)},
    {"aten::linear", {{48}, {96, 48}}, {1, 2}, PRODUCT(1, 96, 48, 0)},
    {"aten::cudnn_convolution",
     {{6, 24, 10, 11}, {32, 24, 3, 5}, {0}, {6, 32, 8, 7}},
     {4, 4, 0, 4},
     PRODUCT(6 * 8 * 7, 32, 24 * 3 * 5, 1)},
    {"aten::_convolution", /* in four groups */
     {{6, 24, 10}, {32, 6, 3}, {0}, {6, 32, 8}},
     {3, 3, 0, 3},
     PRODUCT(6 * 8, 8, 6 * 3, 4)},
    {"aten::convolution_backward", /* gradient, input, weight: two products */
     {{6, 32, 8, 7}, {6, 24, 10, 11}, {32, 24, 3, 5}},
     {4, 4, 4},
     PRODUCT(6 * 8 * 7, 32, 24 * 3 * 5, 2)},
    {"aten::_scaled_dot_product_flash_attention",
     {{3, 16, 512, 80}},
     {4},
     ST_FORM_ATTENTION,
     ATTENTION(3, 16, 512, 80)},
    {"aten::_flash_attention_backward",
     {{3, 512, 16, 80}},
     {4},
     ST_FORM_ATTENTION_BACKWARD,
     ATTENTION(3, 16, 512, 80)},
    /* what says too little of its shapes is a kernel */
    {"aten::mm", {{24, 48}}, {2, 0}, ST_FORM_KERNEL, {0}},
    {"aten::bmm", {{0}, {5, 48, 96}}, {0, 3}, ST_FORM_KERNEL, {0}},
    {"aten::convolution", {{6, 24}, {32, 24}, {0}, {6, 32}}, {2, 2, 0, 2}, ST_FORM_KERNEL, {0}},
    {"aten::convolution",
     {{6, 24, 9}, {32, 24, 3}, {0}, {6, 32}},
     {3, 3, 0, 2},
     ST_FORM_KERNEL,
     {0}},
    {"aten::_flash_attention_forward", {{1536, 16, 80}}, {3}, ST_FORM_KERNEL, {0}},
    {"aten::gelu", {{24, 48}}, {2}, ST_FORM_KERNEL, {0}},
};

TEST(operators_have_the_shape_that_their_name_says)
{
    for (size_t i = 0; i < COUNT(shape_rows); i++) {
        const shape_row *row = &shape_rows[i];
        st_pytorch_operator one = {.name = row->name, .type = "bf16"};
        st_task_shape shape;
        memcpy(one.dims, row->dims, sizeof one.dims);
        memcpy(one.dim_counts, row->counts, sizeof one.dim_counts);
        st_pytorch_shape(&(st_pytorch){0}, &one, &shape);
        if (shape.form != row->form)
            fail_msg("row %zu, %s: form %d", i, row->name, (int)shape.form);
        for (size_t k = 0; k < ST_SIZE_KEYS; k++)
            if (shape.sizes[k] != row->sizes[k])
                fail_msg("row %zu, %s: %s is %g", i, row->name, st_size_keys[k], shape.sizes[k]);
    }
}

TEST(what_moves_bytes_counts_those_on_the_gpu)
{
    static st_pytorch_tensor tensors[] = {
        {.bytes = 7e9, .on_gpu = true}, /* another operator's */
        {.bytes = 2385, .on_gpu = true}, {.bytes = 400, .on_gpu = true},
        {.bytes = 51, .on_gpu = false},  {.bytes = 6, .on_gpu = true, .is_output = true},
    };
    static const struct {
        const char *name;
        size_t first, count;
        st_task_form form;
        double bytes;
    } rows[] = {
        {"aten::add", 1, 4, ST_FORM_KERNEL, 2385 + 400 + 6},
        {"aten::gather", 1, 4, ST_FORM_KERNEL, 12},
        {"aten::embedding", 1, 4, ST_FORM_KERNEL, 12},
        {"aten::copy_", 1, 2, ST_FORM_COPY, 2385},
        {"aten::copy_", 2, 2, ST_FORM_HOST_COPY, 400},
        {"aten::copy_", 1, 1, ST_FORM_KERNEL, 2385},
        {"aten::_local_scalar_dense", 1, 4, ST_FORM_HOST_COPY, 2385 + 400},
        {"aten::fill_", 2, 3, ST_FORM_FILL, 400},
        {"aten::zero_", 2, 1, ST_FORM_FILL, 400},
        {"aten::zero_", 1, 0, ST_FORM_FILL, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const st_pytorch all = {.tensors = tensors, .tensor_count = COUNT(tensors)};
        const st_pytorch_operator one = {
            .name = rows[i].name, .tensor_first = rows[i].first, .tensor_count = rows[i].count};
        st_task_shape shape;
        st_pytorch_shape(&all, &one, &shape);
        if (shape.form != rows[i].form || shape.sizes[ST_SIZE_BYTES] != rows[i].bytes)
            fail_msg("row %zu, %s: %g", i, rows[i].name, shape.sizes[ST_SIZE_BYTES]);
    }
}

TESTS(pytorch);

/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of layer times, read and asked; and the plugin's answers, refusals and explanations. */
#include "cells.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define UNKNOWN ((double)NAN)

static void assert_near(double value, double wanted, double tolerance)
{
    if (!(fabs(value - wanted) <= tolerance * fabs(wanted)))
        fail_msg("%.17g is not %.17g", value, wanted);
}

/* ---- texts ---- */

static const char layers_text[] = "steptime-kernel-times 1\n"
                                  "value t_layer[dense]\n"
                                  "gpu 312000000000000 2039000000000 a100-sxm-80gb\n"
                                  "shape n h t\n"
                                  "pieces whole\n"
                                  "rows 4\n"
                                  "2048 5120 2 0.00731\n"
                                  "4096 5120 2 0.01337\n"
                                  "16384 5120 2 0.0529\n"
                                  "4096 5120 4 8.21e-3\n"
                                  "model whole roofline 0.00011 1.31 0\n"
                                  "end\n";

static void read_well(st_times *times, const char *text)
{
    char reason[200] = "";
    const char *fault = st_times_read(times, text, strlen(text), reason, sizeof reason);
    if (fault != NULL)
        fail_msg("%s", fault);
}

static st_times_shape shape_of(double tokens, double hidden, double tensor, double closed)
{
    st_times_shape shape;
    for (size_t i = 0; i < ST_TIMES_FEATURES; i++)
        shape.features[i] = UNKNOWN;
    shape.features[ST_TIMES_TOKENS] = tokens;
    shape.features[ST_TIMES_HIDDEN] = hidden;
    shape.features[ST_TIMES_TENSOR] = tensor;
    shape.features[ST_TIMES_CLOSED] = closed;
    return shape;
}

TEST(measured_shapes_are_told_as_measured)
{
    st_times times;
    st_times_answer answer;
    read_well(&times, layers_text);
    st_times_shape shape = shape_of(4096, 5120, 2, 0.0117);
    st_times_ask(&times, &shape, &answer);
    assert_int_equal(answer.origin, ST_TIMES_MEASURED);
    assert_near(answer.sum, 0.01337, 1e-15);
    shape.features[ST_TIMES_TENSOR] = 4;
    st_times_ask(&times, &shape, &answer);
    assert_near(answer.sum, 8.21e-3, 1e-15);
    st_times_free(&times);
}

TEST(tokens_lie_between_two_that_are_near)
{
    st_times times;
    st_times_answer answer;
    read_well(&times, layers_text);
    st_times_shape shape = shape_of(2560, 5120, 2, 0.0084);
    st_times_ask(&times, &shape, &answer);
    assert_int_equal(answer.origin, ST_TIMES_BETWEEN);
    assert_near(answer.sum, 0.75 * 0.00731 + 0.25 * 0.01337, 1e-14);
    shape.features[ST_TIMES_TOKENS] = 8192; /* 4096 and 16384 are four apart */
    st_times_ask(&times, &shape, &answer);
    assert_int_equal(answer.origin, ST_TIMES_PREDICTED);
    assert_near(answer.sum, 0.00011 + 1.31 * 0.0084, 1e-14);
    st_times_free(&times);
}

TEST(what_lies_outside_names_the_feature)
{
    st_times times;
    st_times_answer answer;
    read_well(&times, layers_text);
    st_times_shape shape = shape_of(4096, 5120, 8, 0.0063);
    st_times_ask(&times, &shape, &answer);
    assert_int_equal(answer.origin, ST_TIMES_OUTSIDE);
    assert_int_equal(answer.outside, ST_TIMES_TENSOR);
    assert_near(answer.sum, 0.00011 + 1.31 * 0.0063, 1e-14);
    shape = shape_of(1023, 5119, 2, UNKNOWN);
    st_times_ask(&times, &shape, &answer);
    assert_int_equal(answer.outside, ST_TIMES_TOKENS); /* the first of two */
    assert_true(isnan(answer.sum));
    st_times_free(&times);
}

TEST(faults_of_a_text)
{
    static const struct {
        const char *was;
        const char *is; /* NULL: the text is cut there */
        const char *says;
    } faults[] = {
        {"steptime-kernel-times 1", "steptime-kernel-times 2",
         "line 1 of the times: missing 'steptime-"},
        {"value t_layer[dense]", "valeu t_layer[dense]", "line 2 of the times: missing 'value'"},
        {"gpu 312", "gpu x312", "line 3 of the times: missing 'gpu'"},
        {"gpu 312000000000000", "gpu 0.2", "missing 'gpu'"},
        {"shape n h t", "shape n g t", "line 4 of the times: unknown name"},
        {"shape n h t", "shape n n t", "duplicate name"},
        {"shape n h t", "shape", "missing names"},
        {"pieces whole", "piece whole", "missing 'pieces'"},
        {"rows 4", "rows 0", "from 1 to 20000"},
        {"rows 4", "rows 2.5", "from 1 to 20000"},
        {"rows 4", "rows 20001", "from 1 to 20000"},
        {"rows 4", "rows 999", "fewer rows than announced"},
        {"rows 4", "rows 3", "neither 'model' nor 'end'"},
        {"0.00731", "-0.00731", "line 7 of the times: a time must be a number"},
        {"0.00731", "nan", "a time must be a number"},
        {"0.00731", "1e400", "a time must be a number"},
        {"0.00731", "0x1p-7", "a time must be a number"},
        {"0.00731", "", "a time must be a number"},
        {"2048 5120", "-2048 5120", "a feature of a shape"},
        {"model whole", "model hole", "a model of an unknown piece"},
        {"model whole", "model qkv", "that the times lack"},
        {"roofline", "ruefline", "needs a form"},
        {"1.31", "-1.31", "three numbers of its roofline"},
        {"end\n", "end\nmore\n", "text after 'end'"},
        {"end\n", NULL, "the text ends without 'end'"},
        {"4096 5120 4", NULL, "the text ends inside the rows"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        char text[1024];
        char reason[200] = "";
        st_times times;
        const char *at = strstr(layers_text, faults[i].was);
        assert_non_null(at);
        (void)snprintf(text, sizeof text, "%.*s%s%s", (int)(at - layers_text), layers_text,
                       faults[i].is != NULL ? faults[i].is : "",
                       faults[i].is != NULL ? at + strlen(faults[i].was) : "");
        const char *fault = st_times_read(&times, text, strlen(text), reason, sizeof reason);
        if (fault == NULL || strstr(fault, faults[i].says) == NULL) {
            fail_msg("case %zu says '%s', not '%s'", i, fault != NULL ? fault : "nothing",
                     faults[i].says);
        }
    }
}

TEST(every_cut_is_refused)
{
    for (size_t length = 0; length < sizeof layers_text - 1; length++) {
        char reason[200] = "";
        st_times times;
        assert_non_null(st_times_read(&times, layers_text, length, reason, sizeof reason));
    }
}

/* ---- trees ---- */

static const char trees_text[] = "steptime-kernel-times 1\n"
                                 "value t_forward[dense]\n"
                                 "gpu 312000000000000 2039000000000 a100-sxm-80gb\n"
                                 "shape n h f a kv t\n"
                                 "pieces norm_1 mlp_up add\n"
                                 "rows 1\n"
                                 "256 4096 11008 32 32 1 0.0000135 0.000271 0.0000047\n"
                                 "model norm_1 trees 0 0 1e-12 -11.25 2 6\n"
                                 "tree 5\n"
                                 "0 5.5 1 2\n"
                                 "= -0.125\n"
                                 "6 0.5 3 4\n"
                                 "= 0.375\n"
                                 "= 0.25\n"
                                 "tree 1\n"
                                 "= 0.0625\n"
                                 "model mlp_up trees-on-roofline 3e-6 4e-15 1e-12 0.5 1 1\n"
                                 "tree 1\n"
                                 "= -0.25\n"
                                 "end\n";

TEST(trees_are_walked)
{
    st_times times;
    read_well(&times, trees_text);
    st_times_shape shape = shape_of(200, 4096, 1, UNKNOWN); /* log 200 = 5.298 */
    shape.features[ST_TIMES_INNER] = 11008;
    shape.features[ST_TIMES_HEADS] = 32;
    shape.features[ST_TIMES_KV_HEADS] = 32;
    shape.features[ST_TIMES_UP] = 2;
    assert_near(st_times_predict(&times, 0, &shape), exp(-11.25 - 0.125 + 0.0625), 1e-12);
    shape.features[ST_TIMES_TOKENS] = 300; /* 5.704; log 1 = 0 on the second node */
    assert_near(st_times_predict(&times, 0, &shape), exp(-11.25 + 0.375 + 0.0625), 1e-12);
    shape.features[ST_TIMES_TENSOR] = 2;
    assert_near(st_times_predict(&times, 0, &shape), exp(-11.25 + 0.25 + 0.0625), 1e-12);
    double compute = 4e-15 * 2 * 300.0 * 11008 * 4096;
    double memory = 1e-12 * 2 * (300.0 * 4096 + 4096.0 * 11008 + 300.0 * 11008);
    double larger = fmax(compute, memory);
    double line = 3e-6 + larger * pow(1 + pow(fmin(compute, memory) / larger, 4), 0.25);
    assert_near(st_times_predict(&times, 1, &shape), line * exp(0.5 - 0.25), 1e-9);
    assert_true(isnan(st_times_predict(&times, 2, &shape))); /* no model of add */
    st_times_free(&times);
}

TEST(trees_cannot_lead_astray)
{
    static const char *const trees[] = {
        "0 5.5 0 1\n= 1\n",       /* back to itself */
        "0 5.5 1 3\n= 1\n= 2\n",  /* behind the tree */
        "99 5.5 1 2\n= 1\n= 2\n", /* no such input */
        "-1 5.5 1 2\n= 1\n= 2\n", "0 5.5 1\n= 1\n= 2\n", "= x\n= 1\n= 2\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof trees / sizeof trees[0]; i++) {
        char text[600];
        char reason[200] = "";
        st_times times;
        (void)snprintf(
            text, sizeof text,
            "steptime-kernel-times 1\nvalue t_forward[dense]\ngpu 1e14 1e12 x\nshape n h\n"
            "pieces norm_1\nrows 1\n1 2 3e-5\nmodel norm_1 trees 0 0 1e-12 0.5 1 3\n"
            "tree 3\n%send\n",
            trees[i]);
        assert_non_null(st_times_read(&times, text, strlen(text), reason, sizeof reason));
    }
}

/* ---- the plugin ---- */

typedef struct test_host {
    st_plugin_host host;
    st_plugin_setting settings[4];
    const st_plugin_setting *pointers[4];
    char error[400];
    size_t held;
    size_t warnings;
    double parts;
    char origin[100];
} test_host;

static void take_error(void *context, const char *message)
{
    test_host *own = context;
    (void)snprintf(own->error, sizeof own->error, "%s", message);
}

static void take_log(void *context, int level, const char *message)
{
    test_host *own = context;
    own->warnings += level == ST_PLUGIN_LOG_WARNING && message[0] != '\0';
}

static void *take_memory(void *context, size_t size)
{
    ((test_host *)context)->held++;
    return malloc(size);
}

static void give_memory(void *context, void *memory)
{
    ((test_host *)context)->held--;
    free(memory);
}

static void take_term(void *context, const st_plugin_term *term)
{
    test_host *own = context;
    if ((term->flags & ST_PLUGIN_PART) != 0) {
        own->parts += term->value;
    } else if (strcmp(term->name, "origin") == 0) {
        (void)snprintf(own->origin, sizeof own->origin, "%s", term->text);
    }
}

static void start(test_host *own, const char *times, int shapes, int other_gpu)
{
    memset(own, 0, sizeof *own);
    own->settings[0] = (st_plugin_setting){.name = "times", .text = times, .given = 1};
    own->settings[1] = (st_plugin_setting){.name = "shapes", .number = shapes, .text = ""};
    own->settings[2] = (st_plugin_setting){.name = "other_gpu", .number = other_gpu, .text = ""};
    own->settings[3] = (st_plugin_setting){.name = "backward", .number = 1.875, .text = ""};
    for (size_t i = 0; i < 4; i++)
        own->pointers[i] = &own->settings[i];
    own->host = (st_plugin_host){.struct_size = sizeof own->host,
                                 .abi = ST_PLUGIN_ABI,
                                 .context = own,
                                 .log = take_log,
                                 .error = take_error,
                                 .allocate = take_memory,
                                 .release = give_memory,
                                 .directory = ".",
                                 .settings = own->pointers,
                                 .setting_count = 4};
}

enum { LAYER, FORWARD, BACKWARD, WGRAD, LOGITS, OPTIMIZER };

/* The common arguments of a row, then the cell's own. */
static const double common[ST_CELL_COMMON] = {312e12, 2039e9, 4096, 2048, 5120, 20480, 40,
                                              40,     2,      1,    1,    2,    1,     2};

static double ask(void *instance, size_t provider, const double *row, test_host *own)
{
    const st_plugin_provider *shown = st_plugin_describe()->providers[provider];
    const double *columns[32];
    double value = -1;
    for (size_t i = 0; i < shown->argument_count; i++)
        columns[i] = &row[i];
    assert_int_equal(shown->evaluate(instance, 1, columns, &value), ST_PLUGIN_OK);
    st_plugin_sink sink = {.struct_size = sizeof sink, .context = own, .term = take_term};
    own->parts = 0;
    own->error[0] = '\0';
    own->origin[0] = '\0';
    int told = shown->explain(instance, columns, &sink);
    assert_int_equal(told, isnan(value) ? ST_PLUGIN_FAILED : ST_PLUGIN_OK);
    if (isnan(value)) {
        assert_true(own->error[0] != '\0');
    } else {
        assert_near(own->parts, value, 1e-12);
    }
    return value;
}

static void *open_with(test_host *own)
{
    void *instance = NULL;
    assert_int_equal(st_plugin_describe()->open(&own->host, &instance), ST_PLUGIN_OK);
    return instance;
}

static void close_with(test_host *own, void *instance)
{
    st_plugin_describe()->close(instance);
    assert_int_equal(own->held, 0);
}

static void layer_row(double *row, double tokens, double tensor)
{
    memcpy(row, common, sizeof common);
    row[2] = tokens;
    row[8] = tensor;
    row[ST_CELL_COMMON] = 0.0101;     /* t_gpu[dense] */
    row[ST_CELL_COMMON + 1] = 0.0034; /* t_launch */
    row[ST_CELL_COMMON + 2] = 4;
}

TEST(the_plugin_answers_for_its_cell_only)
{
    test_host own;
    double row[32];
    start(&own, layers_text, 0, 0);
    void *instance = open_with(&own);
    layer_row(row, 4096, 2);
    assert_near(ask(instance, LAYER, row, &own), 0.01337, 1e-14);
    assert_string_equal(own.origin, "measured");
    layer_row(row, 4096, 8);
    double closed = 0.0101 * pow(1 + pow(0.0034 / 0.0101, 4), 0.25);
    assert_near(ask(instance, LAYER, row, &own), 0.00011 + 1.31 * closed, 1e-12);
    assert_string_equal(own.origin, "predicted, outside the measured range of t");
    /* of a forward pass nothing was measured: the formula's own terms */
    const double forward[] = {0.0021, 0.0004, 0.0003, 0.00002, 0.000013};
    memcpy(row + ST_CELL_COMMON, forward, sizeof forward);
    assert_near(ask(instance, FORWARD, row, &own), 0.002833, 1e-12);
    assert_string_equal(own.origin, "");
    double wgrad[] = {0.0041, 0.0071, 2};
    memcpy(row + ST_CELL_COMMON, wgrad, sizeof wgrad);
    assert_near(ask(instance, WGRAD, row, &own), 0.00355, 1e-12);
    wgrad[2] = 1; /* frozen weights */
    memcpy(row + ST_CELL_COMMON, wgrad, sizeof wgrad);
    assert_true(ask(instance, WGRAD, row, &own) == 0);
    const double backward[] = {0.0021, 0.0009, 0.0003, 0.00002, 0.000013, 0.00027, 2};
    memcpy(row + ST_CELL_COMMON, backward, sizeof backward);
    assert_near(ask(instance, BACKWARD, row, &own), 0.006016, 1e-12);
    close_with(&own, instance);
}

TEST(shapes_may_be_refused)
{
    test_host own;
    double row[32];
    start(&own, layers_text, 1, 0);
    void *instance = open_with(&own);
    layer_row(row, 8192, 2);
    assert_true(ask(instance, LAYER, row, &own) > 0);
    layer_row(row, 32768, 2);
    assert_true(isnan(ask(instance, LAYER, row, &own)));
    assert_string_equal(own.error, "n is 32768, but times were measured from 2048 to 16384");
    close_with(&own, instance);
    start(&own, layers_text, 2, 0);
    instance = open_with(&own);
    layer_row(row, 8192, 2);
    assert_true(isnan(ask(instance, LAYER, row, &own)));
    assert_string_equal(own.error, "this shape was not measured");
    layer_row(row, 3072, 2);
    assert_near(ask(instance, LAYER, row, &own), 0.5 * (0.00731 + 0.01337), 1e-12);
    row[8] = UNKNOWN;
    assert_true(isnan(ask(instance, LAYER, row, &own)));
    assert_string_equal(own.error, "the times need 't', which the sheet lacks");
    close_with(&own, instance);
}

TEST(another_gpu_is_refused_unless_it_is_allowed)
{
    test_host own;
    double row[32];
    start(&own, layers_text, 0, 0);
    void *instance = open_with(&own);
    layer_row(row, 4096, 2);
    row[0] = 989.4e12;
    row[1] = 3350e9;
    assert_true(isnan(ask(instance, LAYER, row, &own)));
    assert_non_null(strstr(own.error, "measured on a100-sxm-80gb, 312 TFLOP/s and 2039 GB/s"));
    assert_non_null(strstr(own.error, "989.4 TFLOP/s and 3350 GB/s"));
    close_with(&own, instance);
    start(&own, layers_text, 0, 1);
    instance = open_with(&own);
    assert_near(ask(instance, LAYER, row, &own), 0.01337, 1e-14);
    close_with(&own, instance);
}

static const char pieces_text[] = "steptime-kernel-times 1\n"
                                  "value t_forward[dense]\n"
                                  "gpu 312000000000000 2039000000000 a100-sxm-80gb\n"
                                  "shape n h f a kv t up\n"
                                  "pieces qkv projection mlp_up mlp_down add\n"
                                  "rows 1\n"
                                  "4096 5120 20480 40 40 2 1 1.1e-3 4.3e-4 1.7e-3 1.6e-3 3.1e-5\n"
                                  "end\n";

TEST(pieces_of_a_forward_pass_answer_for_both_passes)
{
    test_host own;
    double row[32];
    start(&own, pieces_text, 0, 0);
    void *instance = open_with(&own);
    const double forward[] = {0.0041, 0.00037, 0.0003, 0.00002, 0.000013};
    double sum = 1.1e-3 + 4.3e-4 + 1.7e-3 + 1.6e-3 + 2 * 3.1e-5; /* a layer adds twice */
    memcpy(row, common, sizeof common);
    memcpy(row + ST_CELL_COMMON, forward, sizeof forward);
    assert_near(ask(instance, FORWARD, row, &own), sum + 0.00037 + 0.00002 + 0.000013, 1e-12);
    const double backward[] = {0.0041, 0.00091, 0.0003, 0.00002, 0.000013, 0.00027, 2};
    memcpy(row + ST_CELL_COMMON, backward, sizeof backward);
    assert_near(ask(instance, BACKWARD, row, &own),
                1.875 * sum + 0.00091 + 0.00002 + 0.000026 + 0.00027, 1e-12);
    const double wgrad[] = {0.0041, 0.0087, 2};
    memcpy(row + ST_CELL_COMMON, wgrad, sizeof wgrad);
    assert_near(ask(instance, WGRAD, row, &own), 1.1e-3 + 4.3e-4 + 1.7e-3 + 1.6e-3, 1e-12);
    assert_string_equal(own.origin, "measured");
    row[2] = 1024; /* not measured, and no models */
    assert_true(isnan(ask(instance, BACKWARD, row, &own)));
    close_with(&own, instance);
}

TEST(without_times_all_is_the_formula)
{
    test_host own;
    double row[32];
    start(&own, "", 0, 0);
    void *instance = open_with(&own);
    assert_int_equal(own.warnings, 1);
    memcpy(row, common, sizeof common);
    const double logits[] = {50304, 190e12, 1.37e12};
    memcpy(row + ST_CELL_COMMON, logits, sizeof logits);
    double flop = 2.0 * 4096 * 25152 * 5120;
    double bytes = 2.0 * (4096.0 * 5120 + 5120.0 * 25152 + 4096.0 * 25152);
    assert_near(ask(instance, LOGITS, row, &own), 3 * flop / 190e12, 1e-12);
    row[ST_CELL_COMMON + 2] = 0.0137e12;
    assert_near(ask(instance, LOGITS, row, &own), 3 * bytes / 0.0137e12, 1e-12);
    const double optimizer[] = {1.31e9, 4, 2.6e8, 2, 32, 1.73e12, 0.385};
    memcpy(row + ST_CELL_COMMON, optimizer, sizeof optimizer);
    assert_near(ask(instance, OPTIMIZER, row, &own), 0.385 * 32 * (1.31e9 / 4 + 1.3e8) / 1.73e12,
                1e-12);
    close_with(&own, instance);
}

TEST(what_cannot_be_opened_says_why)
{
    static const struct {
        const char *times;
        const char *says;
    } faults[] = {
        {"no/such/file", "the times 'no/such/file' cannot be read"},
        {"/dev/null", "line 1 of the times"},
        {"steptime-kernel-times 3\n", "line 1 of the times"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        test_host own;
        void *instance = NULL;
        start(&own, faults[i].times, 0, 0);
        assert_int_equal(st_plugin_describe()->open(&own.host, &instance), ST_PLUGIN_FAILED);
        assert_non_null(strstr(own.error, faults[i].says));
        assert_int_equal(own.held, 0);
    }
    test_host own;
    void *instance = NULL;
    char text[1024];
    (void)snprintf(text, sizeof text, "%s", layers_text);
    memcpy(strstr(text, "t_layer[dense]"), "t_lawyr", 7);
    start(&own, text, 0, 0);
    assert_int_equal(st_plugin_describe()->open(&own.host, &instance), ST_PLUGIN_FAILED);
    assert_string_equal(own.error, "the times are for a cell unknown to this plugin");
    assert_int_equal(own.held, 0);
}

TESTS(kernel_times);

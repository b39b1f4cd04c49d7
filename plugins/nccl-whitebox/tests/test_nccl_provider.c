/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin through its own header: descriptor, blocks, explanations, refusals. */
#include "nccl_support.h"

#define ROWS 4

/* Columns of one call; the arguments of a test are given as rows. */
typedef struct block {
    double cells[ST_NCCL_COLUMNS][ROWS];
    const double *columns[ST_NCCL_COLUMNS];
} block;

/* size, ranks, ranks of a machine, bandwidth, GPUs of a machine, links, NICs, capability */
static const double h100_row[ST_NCCL_COLUMNS] = {67108864, 16,    8,     (double)NAN,
                                                 8,        450e9, 400e9, 9.0};

static void fill(block *b, const double *row)
{
    for (size_t i = 0; i < ST_NCCL_COLUMNS; i++) {
        for (size_t k = 0; k < ROWS; k++)
            b->cells[i][k] = row[i];
        b->columns[i] = b->cells[i];
    }
}

static const st_plugin_provider *provider(const char *name)
{
    const st_plugin *plugin = st_plugin_describe();
    for (size_t i = 0; i < plugin->provider_count; i++) {
        if (strcmp(plugin->providers[i]->name, name) == 0)
            return plugin->providers[i];
    }
    fail_msg("no provider %s", name);
    return NULL;
}

static void *open_with(test_host *host)
{
    void *instance = NULL;
    assert_int_equal(st_plugin_describe()->open(&host->host, &instance), ST_PLUGIN_OK);
    return instance;
}

static double value_of(void *instance, const char *name, const block *b)
{
    double values[ROWS] = {0};
    assert_int_equal(provider(name)->evaluate(instance, ROWS, b->columns, values), ST_PLUGIN_OK);
    for (size_t i = 1; i < ROWS; i++)
        assert_memory_equal(&values[i], &values[0], sizeof(double));
    return values[0];
}

/* ---- descriptor ---- */

TEST(descriptor)
{
    const st_plugin *plugin = st_plugin_describe();
    assert_int_equal(plugin->struct_size, sizeof(st_plugin));
    assert_int_equal(plugin->abi, ST_PLUGIN_ABI);
    assert_int_equal(plugin->provider_count, 7);
    size_t calibrated = 0;
    for (size_t i = 0; i < plugin->option_count; i++) {
        const st_plugin_option *option = plugin->options[i];
        assert_int_equal(option->struct_size, sizeof(*option));
        assert_non_null(option->doc);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(option->name, plugin->options[k]->name);
        if ((option->flags & ST_PLUGIN_CALIBRATED) && option->kind == ST_PLUGIN_NUMBER) {
            double first = strtod(option->default_text, NULL);
            assert_true(first >= option->minimum && first <= option->maximum);
            assert_true(strstr(option->doc, "prior: ") || strstr(option->doc, "held-out"));
            calibrated++;
        }
    }
    assert_int_equal(calibrated, 32);
}

/* ---- values ---- */

TEST(values)
{
    test_host host;
    start_host(&host);
    set_option(&host, "sharpness", "1000");
    set_option(&host, "small_group", "0");
    void *instance = open_with(&host);
    block b;
    fill(&b, h100_row);
    /* NVLS tree of two machines: 53 us, the bytes and two rounds of 16 MiB more at 0.85 of 370.8
     * GB/s, and four rounds of 19 us */
    double rate = 1e3 * 0.85 * 450 * 0.824;
    double expected = 1e-6 * (53 + (67108864 + 2 * 16777216) / rate + 4 * 19);
    assert_near(value_of(instance, "all_reduce", &b), expected, 1e-8);
    b.columns[ST_NCCL_CAPABILITY] = NULL;
    double unknown[ROWS];
    provider("all_reduce")->evaluate(instance, ROWS, b.columns, unknown);
    assert_true(isnan(unknown[0]));
    set_option(&host, "arch", "ampere"); /* no NVLS */
    void *older = open_with(&host);
    assert_true(value_of(older, "all_reduce", &b) > expected);
    st_plugin_describe()->close(older);
    set_option(&host, "arch", "auto");
    fill(&b, h100_row);
    for (size_t k = 0; k < ROWS; k++)
        b.cells[ST_NCCL_SIZE][k] = 0.0;
    assert_near(value_of(instance, "all_reduce", &b), 0.0, 0);
    fill(&b, h100_row);
    for (size_t k = 0; k < ROWS; k++)
        b.cells[ST_NCCL_RANKS][k] = 1.0;
    assert_near(value_of(instance, "all_to_all", &b), 0.0, 0);
    for (size_t k = 0; k < ROWS; k++)
        b.cells[ST_NCCL_RANKS][k] = 4.0; /* all of them on one machine, which has room for 8 */
    set_option(&host, "offset", "2.5e-5");
    void *later = open_with(&host);
    double value = value_of(instance, "broadcast", &b);
    assert_true(value_of(later, "broadcast", &b) > value + 2.4e-5);
    st_plugin_describe()->close(later);
    double four = value_of(instance, "all_gather", &b);
    for (size_t k = 0; k < ROWS; k++)
        b.cells[ST_NCCL_PER_NODE][k] = 4.0;
    assert_near(value_of(instance, "all_gather", &b), four, 0);
    fill(&b, h100_row);
    for (size_t k = 0; k < ROWS; k++)
        b.cells[ST_NCCL_SIZE][k] = 4611686018427387904.0; /* 2^62 */
    double long_time = value_of(instance, "all_reduce", &b);
    assert_true(isfinite(long_time) && long_time > 1e6);
    st_plugin_describe()->close(instance);
    assert_int_equal(host.held, 0);
}

TEST(rates_that_the_job_lacks)
{
    test_host host;
    start_host(&host);
    set_option(&host, "small_group", "0");
    set_option(&host, "algorithm", "ring");
    set_option(&host, "protocol", "simple");
    void *instance = open_with(&host);
    block b;
    fill(&b, h100_row);
    for (size_t k = 0; k < ROWS; k++) {
        b.cells[ST_NCCL_BANDWIDTH][k] = 24e9;
        b.cells[ST_NCCL_SIZE][k] = 24e9;
        b.cells[ST_NCCL_PER_NODE][k] = 1;
        b.cells[ST_NCCL_RANKS][k] = 2;
    }
    b.columns[ST_NCCL_NICS] = b.columns[ST_NCCL_LINKS] = NULL;
    assert_near(value_of(instance, "all_gather", &b), 0.5, 1e-3);
    /* PCIe: what the caller knows of the board counts */
    for (size_t k = 0; k < ROWS; k++) {
        b.cells[ST_NCCL_LINKS][k] = 15.75e9;
        b.cells[ST_NCCL_BANDWIDTH][k] = 3e9;
        b.cells[ST_NCCL_PER_NODE][k] = 2;
    }
    b.columns[ST_NCCL_LINKS] = b.cells[ST_NCCL_LINKS];
    assert_near(value_of(instance, "all_reduce", &b), 8.0, 1e-2);
    st_plugin_describe()->close(instance);
}

TEST(neighbours)
{
    test_host host;
    start_host(&host);
    void *instance = open_with(&host);
    block b;
    fill(&b, h100_row);
    for (size_t k = 0; k < ROWS; k++)
        b.cells[ST_NCCL_BANDWIDTH][k] = 46e9;
    b.columns[ST_NCCL_RANKS] = b.columns[ST_NCCL_PER_NODE] = NULL;
    double far = value_of(instance, "send_recv", &b);
    for (size_t k = 0; k < ROWS; k++)
        b.cells[ST_NCCL_BANDWIDTH][k] = 351e9;
    double near = value_of(instance, "send_recv", &b);
    assert_true(far > 5.0 * near);
    assert_near(far, 67108864 / 48e9, 0.2 * far);
    st_plugin_describe()->close(instance);
}

/* A block of mixed groups gives what each row gives alone, to the bit. */
TEST(blocks_are_rows)
{
    enum { MANY = 300 };
    static double cells[ST_NCCL_COLUMNS][MANY];
    const double *columns[ST_NCCL_COLUMNS];
    double together[MANY];
    test_host host;
    start_host(&host);
    void *instance = open_with(&host);
    for (size_t i = 0; i < ST_NCCL_COLUMNS; i++) {
        for (size_t k = 0; k < MANY; k++)
            cells[i][k] = h100_row[i];
        columns[i] = cells[i];
    }
    for (size_t k = 0; k < MANY; k++) {
        cells[ST_NCCL_SIZE][k] = 1000.0 * exp2((double)(k % 23)) + (double)k;
        cells[ST_NCCL_PER_NODE][k] = exp2((double)(k % 4));
        cells[ST_NCCL_RANKS][k] = cells[ST_NCCL_PER_NODE][k] * (double)(1 + k % 7);
    }
    for (size_t p = 0; p < st_plugin_describe()->provider_count; p++) {
        const st_plugin_provider *one = st_plugin_describe()->providers[p];
        assert_int_equal(one->evaluate(instance, MANY, columns, together), ST_PLUGIN_OK);
        for (size_t k = 0; k < MANY; k++) {
            const double *row[ST_NCCL_COLUMNS];
            double alone = -1.0;
            for (size_t i = 0; i < ST_NCCL_COLUMNS; i++)
                row[i] = &cells[i][k];
            one->evaluate(instance, 1, row, &alone);
            assert_memory_equal(&alone, &together[k], sizeof(double));
        }
    }
    st_plugin_describe()->close(instance);
}

/* ---- explanations ---- */

typedef struct heard {
    double sum;
    char texts[1024];
} heard;

static void hear(void *context, const st_plugin_term *term)
{
    heard *h = context;
    size_t length = strlen(h->texts);
    if (term->flags & ST_PLUGIN_PART)
        h->sum += term->value;
    if (term->text)
        snprintf(h->texts + length, sizeof(h->texts) - length, "%s=%s ", term->name, term->text);
    else
        snprintf(h->texts + length, sizeof(h->texts) - length, "%s=%.6g ", term->name, term->value);
}

static int explain(void *instance, const char *name, const block *b, heard *h)
{
    st_plugin_sink sink = {sizeof(sink), h, hear};
    memset(h, 0, sizeof(*h));
    return provider(name)->explain(instance, b->columns, &sink);
}

TEST(explanations)
{
    test_host host;
    start_host(&host);
    void *instance = open_with(&host);
    block b;
    heard h;
    fill(&b, h100_row);
    for (size_t p = 0; p < st_plugin_describe()->provider_count; p++) {
        const char *name = st_plugin_describe()->providers[p]->name;
        assert_int_equal(explain(instance, name, &b, &h), ST_PLUGIN_OK);
        double value = value_of(instance, name, &b);
        assert_near(h.sum, value, 1e-12 * value);
        assert_non_null(strstr(h.texts, "protocol="));
    }
    explain(instance, "all_reduce", &b, &h);
    assert_non_null(strstr(h.texts, "algorithm=NVLS tree protocol=Simple channels=16 chunk="));
    st_plugin_describe()->close(instance);
}

/* Over PCIe a group of more than two is reported as uncertain, unless the rate is given. */
TEST(boards_are_told)
{
    test_host host;
    block b;
    heard h;
    start_host(&host);
    void *instance = open_with(&host);
    fill(&b, h100_row);
    for (size_t k = 0; k < ROWS; k++) {
        b.cells[ST_NCCL_LINKS][k] = 31.5e9;
        b.cells[ST_NCCL_RANKS][k] = 8;
    }
    assert_int_equal(explain(instance, "all_reduce", &b, &h), ST_PLUGIN_OK);
    assert_non_null(strstr(h.texts, "caution=over PCIe"));
    set_option(&host, "link_rate", "2.385e10");
    void *group_rates = open_with(&host);
    double known = value_of(group_rates, "all_reduce", &b);
    assert_int_equal(explain(group_rates, "all_reduce", &b, &h), ST_PLUGIN_OK);
    assert_null(strstr(h.texts, "caution="));
    for (size_t k = 0; k < ROWS; k++)
        b.cells[ST_NCCL_RANKS][k] = 2; /* a pair reaches its peer directly */
    double pair = value_of(group_rates, "all_reduce", &b);
    assert_near(pair, value_of(instance, "all_reduce", &b), 0);
    assert_true(known > pair);
    st_plugin_describe()->close(group_rates);
    st_plugin_describe()->close(instance);
}

TEST(refusals)
{
    static const struct {
        size_t column;
        double value;
        const char *reason;
    } cases[] = {
        {ST_NCCL_RANKS, 12, "not a multiple"},
        {ST_NCCL_RANKS, 2.5, "whole number"},
        {ST_NCCL_RANKS, 0, "whole number"},
        {ST_NCCL_RANKS, -8, "whole number"},
        {ST_NCCL_RANKS, HUGE_VAL, "whole number"},
        {ST_NCCL_RANKS, (double)NAN, "whole number"},
        {ST_NCCL_RANKS, 33554432, "16777216"},
        {ST_NCCL_PER_NODE, 16, "cannot hold"},
        {ST_NCCL_PER_NODE, 1.5, "whole numbers"},
        {ST_NCCL_PER_NODE, 0, "whole numbers"},
        {ST_NCCL_GPUS, 7.5, "whole numbers"},
        {ST_NCCL_SIZE, -1, "from 0 to 2^63"},
        {ST_NCCL_SIZE, 1e19, "from 0 to 2^63"},
        {ST_NCCL_SIZE, (double)NAN, "from 0 to 2^63"},
        {ST_NCCL_LINKS, (double)NAN, "link_bandwidth"},
        {ST_NCCL_NICS, (double)NAN, "nic_bandwidth"},
        {ST_NCCL_NICS, 0, "nic_bandwidth"},
        {ST_NCCL_CAPABILITY, (double)NAN, "compute_capability"},
    };
    test_host host;
    start_host(&host);
    void *instance = open_with(&host);
    block b;
    heard h;
    for (size_t i = 0; i < COUNT(cases); i++) {
        fill(&b, h100_row);
        for (size_t k = 0; k < ROWS; k++)
            b.cells[cases[i].column][k] = cases[i].value;
        double values[ROWS];
        provider("all_reduce")->evaluate(instance, ROWS, b.columns, values);
        assert_true(isnan(values[0]) && isnan(values[ROWS - 1]));
        host.error[0] = '\0';
        assert_int_equal(explain(instance, "all_reduce", &b, &h), ST_PLUGIN_FAILED);
        if (!strstr(host.error, cases[i].reason))
            fail_msg("case %zu: %s", i, host.error);
    }
    fill(&b, h100_row);
    b.columns[ST_NCCL_GPUS] = b.columns[ST_NCCL_PER_NODE] = NULL;
    assert_int_equal(explain(instance, "all_reduce", &b, &h), ST_PLUGIN_FAILED);
    assert_non_null(strstr(host.error, "gpus_per_node"));
    st_plugin_describe()->close(instance);
    set_option(&host, "algorithm", "pat");
    instance = open_with(&host);
    fill(&b, h100_row);
    assert_int_equal(explain(instance, "all_reduce", &b, &h), ST_PLUGIN_FAILED);
    assert_non_null(strstr(host.error, "no algorithm"));
    st_plugin_describe()->close(instance);
}

/* ---- Echo ---- */

TEST(echo_in_both_readings)
{
    static const double row[ST_NCCL_COLUMNS] = {4194304, 32, 8, (double)NAN, 8, 200e9, 400e9, 9.0};
    test_host host;
    start_host(&host);
    set_option(&host, "model", "echo");
    void *instance = open_with(&host);
    block b;
    heard h;
    fill(&b, row);
    /* equation 5 with eta 16: 15 rounds, 14 hops inside, 4 between, the reduction */
    double expected = 15 * 54.3 + 14 * 57.43 + 4 * 54.3 + 50.14;
    assert_near(1e6 * value_of(instance, "all_reduce", &b), expected, 1e-9 * expected);
    assert_int_equal(explain(instance, "all_reduce", &b, &h), ST_PLUGIN_OK);
    assert_non_null(strstr(h.texts, "reduction=5.014e-05 algorithm=tree protocol=LL128 channels=16"
                                    " chunk=17280 rounds=16"));
    assert_near(1e6 * h.sum, expected, 1e-9 * expected);
    assert_true(isnan(value_of(instance, "broadcast", &b)));
    st_plugin_describe()->close(instance);
    set_option(&host, "echo_reading", "operation");
    instance = open_with(&host);
    assert_near(1e6 * value_of(instance, "all_reduce", &b), 57.43 + 54.3 + 50.14, 1e-9);
    assert_true(isnan(value_of(instance, "all_gather", &b)));
    for (size_t k = 0; k < ROWS; k++)
        b.cells[ST_NCCL_RANKS][k] = 16;
    assert_true(isnan(value_of(instance, "all_reduce", &b)));
    st_plugin_describe()->close(instance);
}

TEST(what_open_refuses)
{
    static const char *const cases[][2] = {
        {"absent.csv", "absent.csv: cannot be read"},
        {"./absent/of-my-own.csv", "./absent/of-my-own.csv: cannot be read"},
        {"", "file name"},
        {"README.md", "README.md:3: expected ranks"},
    };
    test_host host;
    start_host(&host);
    set_option(&host, "model", "echo");
    void *instance = NULL;
    for (size_t i = 0; i < COUNT(cases); i++) {
        set_option(&host, "echo_table", cases[i][0]);
        assert_int_equal(st_plugin_describe()->open(&host.host, &instance), ST_PLUGIN_FAILED);
        if (!strstr(host.error, cases[i][1]))
            fail_msg("case %zu: %s", i, host.error);
        assert_int_equal(host.held, 0);
    }
    host.no_memory = true;
    assert_int_equal(st_plugin_describe()->open(&host.host, &instance), ST_PLUGIN_FAILED);
    assert_string_equal(host.error, "out of memory");
}

TESTS(nccl_provider);

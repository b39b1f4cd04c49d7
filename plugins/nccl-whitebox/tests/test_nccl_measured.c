/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Against published tables of nccl-tests, nothing fitted: a clean machine
 * without NVLS, and the range of sizes of Echo's figures. Skipped where the
 * tables are absent.
 */
#include "nccl_support.h"

typedef struct measured {
    const char *file;
    double nodes;
    double per_node;
    double gpus, links, nics, capability; /* of the machine, data sheet */
    double most_frac;                     /* mean error allowed */
} measured;

/* A number of a row; NaN where there is none. */
static double column(const char *line, int index)
{
    for (; line && index > 0; index--) {
        line = strchr(line, ',');
        line = line ? line + 1 : NULL;
    }
    char *end = NULL;
    double value = line ? strtod(line, &end) : 0.0;
    return end > line ? value : (double)NAN;
}

/* Mean error over sizes from `low` to `high`; NaN without rows. */
static double mean_error(const measured *m, void *instance, FILE *table, double low, double high)
{
    const st_plugin_provider *all_reduce = st_plugin_describe()->providers[0];
    double row[ST_NCCL_COLUMNS] = {
        0,       m->nodes * m->per_node, m->per_node, (double)NAN, m->gpus, m->links,
        m->nics, m->capability};
    const double *columns[ST_NCCL_COLUMNS];
    for (size_t i = 0; i < ST_NCCL_COLUMNS; i++)
        columns[i] = &row[i];
    char line[512];
    double sum = 0.0;
    double count = 0.0;
    while (fgets(line, sizeof(line), table)) {
        double size = column(line, 0);
        double time_us = column(line, 4);
        if (!(size >= low && size <= high && time_us > 0.0))
            continue;
        double value = (double)NAN;
        row[ST_NCCL_SIZE] = size;
        all_reduce->evaluate(instance, 1, columns, &value);
        sum += fabs(1e6 * value / time_us - 1.0);
        count += 1.0;
    }
    return sum / count;
}

static double check_table(const measured *m, double low, double high)
{
    const char *file = m->file;
    char path[1024];
    const char *folder = getenv("STEPTIME_DATA");
    snprintf(path, sizeof(path), "%s/nccl_tests/%s", folder ? folder : "../shared/data", file);
    FILE *table = fopen(path, "r");
    if (!table)
        print_message("no table %s: set STEPTIME_DATA\n", path);
    if (!table) {
        skip();
        return (double)NAN;
    }
    test_host host;
    void *instance = NULL;
    start_host(&host);
    st_plugin_describe()->open(&host.host, &instance);
    double error = mean_error(m, instance, table, low, high);
    st_plugin_describe()->close(instance);
    fclose(table);
    print_message("%s: %.1f %%\n", m->file, 100.0 * error);
    if (!(error <= m->most_frac))
        fail_msg("%s: error %g is above %g", m->file, error, m->most_frac);
    return error;
}

TEST(a_clean_machine)
{
    static const measured snellius = {
        "snellius_h100_1n4g_allreduce.csv", 1, 4, 4, 450e9, 50e9, 9.0, 0.065};
    check_table(&snellius, 1048576.0, 1e18);
}

/* Echo prints 28 % for NCCL-Predictor on 4 to 256 MiB. */
TEST(the_range_of_echo)
{
    static const measured tables[] = {
        {"snellius_h100_1n4g_allreduce.csv", 1, 4, 4, 450e9, 50e9, 9.0, 0.05},
        {"superbench_a100_1n8g_allreduce.csv", 1, 8, 8, 300e9, 200e9, 8.0, 0.11},
        {"echo_azure_a100_1n8g_allreduce.csv", 1, 8, 8, 300e9, 200e9, 8.0, 0.11},
        {"echo_azure_a100_2n16g_allreduce.csv", 2, 8, 8, 300e9, 200e9, 8.0, 0.25},
        {"echo_azure_a100_8n64g_allreduce.csv", 8, 8, 8, 300e9, 200e9, 8.0, 0.25},
        {"sophia_dgxa100_2n16g_allreduce_env6.csv", 2, 8, 8, 300e9, 200e9, 8.0, 0.10},
        {"oci_a100_2n16g_allreduce.csv", 2, 8, 8, 300e9, 200e9, 8.0, 0.10},
        {"dgxc_h100_1n8g_allreduce.csv", 1, 8, 8, 450e9, 400e9, 9.0, 0.04},
        {"dstack_nebius_2n16g_allreduce.csv", 2, 8, 8, 450e9, 400e9, 9.0, 0.11},
        {"aws_p5_h100_2n16g_allreduce_readme.csv", 2, 8, 8, 450e9, 400e9, 9.0, 0.33},
        {"alps_gh200_1n4g_allreduce_aws1.13.0.csv", 1, 4, 4, 450e9, 100e9, 9.0, 0.10},
    };
    double sum = 0.0;
    for (size_t i = 0; i < COUNT(tables); i++)
        sum += check_table(&tables[i], 4194304.0, 268435456.0);
    size_t count = COUNT(tables);
    double mean = sum / (double)count;
    print_message("mean of %zu tables: %.1f %%; Echo prints 28 %% for NCCL-Predictor\n", count,
                  100.0 * mean);
    assert_true(mean < 0.14);
}

TESTS(nccl_measured);

/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing is fitted: values of NCCL's own lines, the least of them, its steps. */
#include "nccl_support.h"

static double time_us(void *instance, size_t provider, double bytes)
{
    const double row[ST_NCCL_COLUMNS] = {bytes, 8, 8, (double)NAN, 8, 300e9, 200e9, 8.0};
    const double *columns[ST_NCCL_COLUMNS];
    double value = -1.0;
    for (size_t i = 0; i < ST_NCCL_COLUMNS; i++)
        columns[i] = &row[i];
    const st_plugin *plugin = st_plugin_describe();
    assert_int_equal(plugin->providers[provider]->evaluate(instance, 1, columns, &value), 0);
    return 1e6 * value;
}

TEST(lines_of_eight_a100)
{
    test_host host;
    /* The host gives only the options that the descriptor names. */
    const st_plugin *plugin = st_plugin_describe();
    void *instance = NULL;
    start_host(&host);
    size_t count = 0;
    for (size_t i = 0; i < ST_NCCL_OPTION_COUNT; i++) {
        for (size_t k = 0; k < plugin->option_count; k++) {
            if (strcmp(host.settings[i].name, plugin->options[k]->name) == 0)
                host.pointers[count++] = &host.settings[i];
        }
    }
    assert_int_equal(count, plugin->option_count);
    host.host.setting_count = count;
    assert_int_equal(plugin->open(&host.host, &instance), ST_PLUGIN_OK);
    /* ring, Simple: 56 us and 240 GB/s of the bus */
    assert_near(time_us(instance, 0, 1e9), 56.0 + 1e6 * 14 / 8 / 240, 1e-6);
    assert_near(time_us(instance, 1, 1e9), 8.4 + 7 * 3.4 + 1e6 * 7 / 8 / 240, 1e-6);
    assert_near(time_us(instance, 2, 1e9), 8.4 + 7 * 3.4 + 1e6 * 7 / 8 / 240, 1e-6);
    /* LL for a few bytes: ring 6.6 + 14*0.6 us, tree 6.8 + 14*0.6 us */
    assert_near(time_us(instance, 0, 1.0), 6.6 + 14 * 0.6, 1e-3);
    st_plugin_describe()->close(instance);
    assert_int_equal(host.held, 0);
}

TEST(the_descriptor_promises_no_growth)
{
    const st_plugin *plugin = st_plugin_describe();
    assert_string_equal(plugin->id, "nccl-tuning");
    assert_int_equal(plugin->provider_count, 5);
    for (size_t i = 0; i < plugin->provider_count; i++)
        assert_int_equal(plugin->providers[i]->flags, 0);
    for (size_t i = 0; i < plugin->option_count; i++)
        assert_int_equal(plugin->options[i]->flags, 0);
}

TESTS(nccl_tuning);

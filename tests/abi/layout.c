/* SPDX-License-Identifier: Apache-2.0 */
/* Where every member of the plugin ABI lies, by the header that HEADER names: one line each. */
#include HEADER

#include <stdio.h>

#define LINE(type, member)                                                                         \
    printf("%s.%s %zu %zu\n", #type, #member, offsetof(type, member),                              \
           sizeof(((const type *)0)->member))

static void host(void)
{
    LINE(st_plugin_setting, name);
    LINE(st_plugin_setting, number);
    LINE(st_plugin_setting, text);
    LINE(st_plugin_setting, given);
    LINE(st_plugin_host, struct_size);
    LINE(st_plugin_host, abi);
    LINE(st_plugin_host, context);
    LINE(st_plugin_host, log);
    LINE(st_plugin_host, error);
    LINE(st_plugin_host, allocate);
    LINE(st_plugin_host, release);
    LINE(st_plugin_host, directory);
    LINE(st_plugin_host, settings);
    LINE(st_plugin_host, setting_count);
}

static void tables(void)
{
    LINE(st_plugin_option, struct_size);
    LINE(st_plugin_option, kind);
    LINE(st_plugin_option, flags);
    LINE(st_plugin_option, name);
    LINE(st_plugin_option, unit);
    LINE(st_plugin_option, choices);
    LINE(st_plugin_option, default_text);
    LINE(st_plugin_option, minimum);
    LINE(st_plugin_option, maximum);
    LINE(st_plugin_option, doc);
    LINE(st_plugin_option, cite);
    LINE(st_plugin_argument, struct_size);
    LINE(st_plugin_argument, flags);
    LINE(st_plugin_argument, name);
    LINE(st_plugin_argument, unit);
    LINE(st_plugin_argument, doc);
    LINE(st_plugin_term, struct_size);
    LINE(st_plugin_term, flags);
    LINE(st_plugin_term, name);
    LINE(st_plugin_term, unit);
    LINE(st_plugin_term, value);
    LINE(st_plugin_term, text);
    LINE(st_plugin_term, doc);
    LINE(st_plugin_sink, struct_size);
    LINE(st_plugin_sink, context);
    LINE(st_plugin_sink, term);
}

static void plugin(void)
{
    LINE(st_plugin_provider, struct_size);
    LINE(st_plugin_provider, flags);
    LINE(st_plugin_provider, name);
    LINE(st_plugin_provider, unit);
    LINE(st_plugin_provider, doc);
    LINE(st_plugin_provider, cite);
    LINE(st_plugin_provider, arguments);
    LINE(st_plugin_provider, argument_count);
    LINE(st_plugin_provider, evaluate);
    LINE(st_plugin_provider, explain);
    LINE(st_plugin, struct_size);
    LINE(st_plugin, abi);
    LINE(st_plugin, id);
    LINE(st_plugin, version);
    LINE(st_plugin, licence);
    LINE(st_plugin, summary);
    LINE(st_plugin, options);
    LINE(st_plugin, option_count);
    LINE(st_plugin, providers);
    LINE(st_plugin, provider_count);
    LINE(st_plugin, open);
    LINE(st_plugin, close);
}

int main(void)
{
    host();
    tables();
    plugin();
    printf("values %d %d %d %d %u %u %u %u %u %u %u %s\n", ST_PLUGIN_OK, ST_PLUGIN_FAILED,
           ST_PLUGIN_LOG_INFO, ST_PLUGIN_LOG_WARNING, ST_PLUGIN_NUMBER, ST_PLUGIN_CHOICE,
           ST_PLUGIN_TEXT, ST_PLUGIN_CALIBRATED, ST_PLUGIN_OPTIONAL, ST_PLUGIN_PART,
           ST_PLUGIN_COLLECTIVE, ST_PLUGIN_SYMBOL);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// A plugin in C++: the time of an all-reduce on a tree, with a latency for every level.
#include <steptime/plugin.h>

#include <cmath>
#include <limits>
#include <new>

namespace {

// C++17 has no designated initialisers: structures are filled by functions.
template <typename T> T sized()
{
    T made{};
    made.struct_size = sizeof made;
    return made;
}

st_plugin_argument argument(const char *name, const char *unit, const char *doc)
{
    auto made = sized<st_plugin_argument>();
    made.name = name;
    made.unit = unit;
    made.doc = doc;
    return made;
}

class Tree {
public:
    Tree(const st_plugin_host *host) : host_(host), latency_(host->settings[0]->number) {}

    double time(double bytes, double ranks, double rate) const
    {
        if (!(ranks >= 1) || !(bytes >= 0) || !std::isfinite(ranks) || !std::isfinite(bytes))
            return std::numeric_limits<double>::quiet_NaN(); // steptime asks for the formula
        if (ranks == 1)
            return 0;
        if (!(rate > 0))
            return std::numeric_limits<double>::quiet_NaN();
        return 2 * std::ceil(std::log2(ranks)) * latency_ + 2 * bytes / rate;
    }

    static void destroy(void *instance)
    {
        auto *self = static_cast<Tree *>(instance);
        const st_plugin_host *host = self->host_;
        self->~Tree();
        host->release(host->context, self);
    }

private:
    const st_plugin_host *host_;
    double latency_; // seconds
};

// Exceptions must not leave a plugin: nothing here throws, and memory is the host's.
int create(const st_plugin_host *host, void **instance)
{
    void *memory = host->allocate(host->context, sizeof(Tree));
    if (memory == nullptr) {
        host->error(host->context, "out of memory");
        return ST_PLUGIN_FAILED;
    }
    *instance = new (memory) Tree(host);
    return ST_PLUGIN_OK;
}

int evaluate(void *instance, size_t rows, const double *const *columns, double *values)
{
    for (size_t row = 0; row < rows; row++)
        values[row] = static_cast<Tree *>(instance)->time(columns[0][row], columns[1][row],
                                                          columns[2][row]);
    return ST_PLUGIN_OK;
}

const st_plugin *describe()
{
    static const auto size = argument("size", "MB", "message");
    static const auto ranks = argument("ranks", "", "ranks in the group");
    static const auto bandwidth = argument("bandwidth", "GB/s", "of a rank");
    static const st_plugin_argument *const arguments[] = {&size, &ranks, &bandwidth};
    static auto latency = sized<st_plugin_option>();
    latency.kind = ST_PLUGIN_NUMBER;
    latency.name = "latency";
    latency.unit = "us";
    latency.default_text = "6.5 us";
    latency.maximum = 1;
    latency.doc = "of a level of the tree";
    static const st_plugin_option *const options[] = {&latency};
    static auto tree = sized<st_plugin_provider>();
    tree.flags = ST_PLUGIN_COLLECTIVE;
    tree.name = "all_reduce";
    tree.unit = "us";
    tree.doc = "all-reduce up and down one tree, without pipelining";
    tree.cite = "nccl-tests PERFORMANCE.md";
    tree.arguments = arguments;
    tree.argument_count = 3;
    tree.evaluate = evaluate;
    static const st_plugin_provider *const providers[] = {&tree};
    static auto plugin = sized<st_plugin>();
    plugin.abi = ST_PLUGIN_ABI;
    plugin.id = "tree";
    plugin.version = "0.1.0";
    plugin.licence = "Apache-2.0";
    plugin.summary = "all-reduce on one tree";
    plugin.options = options;
    plugin.option_count = 1;
    plugin.providers = providers;
    plugin.provider_count = 1;
    plugin.open = create;
    plugin.close = Tree::destroy;
    return &plugin;
}

} // namespace

extern "C" const st_plugin *st_plugin_describe(void)
{
    return describe();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products, attention, experts and element-wise kernels, corrected by measurements: the
 * formula times what it is off at the nearest shapes of a table. What no table covers keeps the
 * formula.
 */
#include "answers.h"

#include "describe.h"
#include "text_file.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum {
    TIMES,
    GPU,
    DTYPE,
    SOURCE,
    WIDTH,
    ATTENTION,
    ATTENTION_DTYPE,
    ATTENTION_SOURCE,
    ATTENTION_WIDTH,
    MOVED,
    EXPERTS,
    EXPERTS_DTYPE,
    EXPERTS_SOURCE,
    EXPERTS_WIDTH,
    REACH,
    SCALE,
    MODEL,
    MULTIPROCESSORS,
    OPTIONS
};
enum { NEIGHBOURS, TREES }; /* choices of MODEL */
enum { LARGEST_TEXT = 64 * 1024 * 1024 - 1 };

#define DOCS             "steptime docs/operators.md"
#define WORDS(id, words) OPTION_TEXT(0, id, "", words, DOCS)

static const st_plugin_option *const options[OPTIONS] = {
    [TIMES] = WORDS("times", "CSV file of measured products, with columns m, n, k and us"),
    [GPU] = WORDS("gpu", "use the rows with this word in the column gpu"),
    [DTYPE] = WORDS("dtype", "use the products with this word in the column dtype"),
    [SOURCE] = WORDS("source", "use the products with these words in the column source"),
    [WIDTH] = OPTION_NUMBER("width", "B", "2 B", 0.25, 8,
                            "bytes of a number of the table; products of other widths keep the "
                            "formula",
                            DOCS),
    [ATTENTION] = WORDS("attention", "CSV file of measured attention, with columns batch, seq, "
                                     "heads, kv_heads, head_dim and us"),
    [ATTENTION_DTYPE] = WORDS("attention_dtype", "use its rows with this word in the column dtype"),
    [ATTENTION_SOURCE] =
        WORDS("attention_source", "use its rows with these words in the column source"),
    [ATTENTION_WIDTH] = OPTION_NUMBER("attention_width", "B", "2 B", 0.25, 8,
                                      "bytes of a number of that table", DOCS),
    [MOVED] = WORDS("moved", "CSV file of element-wise kernels, norms and other memory-bound "
                             "kernels, with columns bytes, rows, width, reductions and us"),
    [EXPERTS] = WORDS("experts", "CSV file of measured routed experts, with columns tokens, topk, "
                                 "experts, hidden, inter and us"),
    [EXPERTS_DTYPE] = WORDS("experts_dtype", "use its rows with this word in the column dtype"),
    [EXPERTS_SOURCE] =
        WORDS("experts_source", "use its rows with these words in the column source"),
    [EXPERTS_WIDTH] = OPTION_NUMBER("experts_width", "B", "2 B", 0.25, 8,
                                    "bytes of a number of that table", DOCS),
    [REACH] = OPTION_NUMBER(
        "reach", "", "1", 0.01, 100,
        "distance in logarithms of the sizes beyond which the formula outweighs a measured shape",
        DOCS),
    [SCALE] = OPTION_NUMBER("scale", "", "1", 0.1, 10,
                            "factor on the measured times, such as 1.1 if short bursts were faster "
                            "than a training step",
                            DOCS),
    [MODEL] = OPTION_CHOICE("model", "neighbours trees", "neighbours",
                            "correction of all but experts: by the nearest measured shapes, or by "
                            "boosted trees over all of them",
                            DOCS),
    [MULTIPROCESSORS] = OPTION_NUMBER("multiprocessors", "", "0", 0, 10000,
                                      "of the table's GPU, for trees: determines how far its last "
                                      "wave of tiles is filled; 0: unknown",
                                      DOCS),
};

/* The options of each table, OPTIONS for none; a GPU is one for all. */
static const struct {
    const char *name; /* in faults; "" for products */
    size_t times;
    size_t dtype;
    size_t source;
    size_t width;
} tables[ST_OPERATORS] = {
    [ST_PRODUCT] = {"", TIMES, DTYPE, SOURCE, WIDTH},
    [ST_ATTENTION] = {"attention: ", ATTENTION, ATTENTION_DTYPE, ATTENTION_SOURCE, ATTENTION_WIDTH},
    [ST_MOVED] = {"moved: ", MOVED, OPTIONS, OPTIONS, OPTIONS},
    [ST_EXPERTS] = {"experts: ", EXPERTS, EXPERTS_DTYPE, EXPERTS_SOURCE, EXPERTS_WIDTH},
};

/* ---- opening ---- */

/* NULL, or what is wrong, in `reason` of `size` bytes. */
static const char *read_shapes(operator_times *times, st_operator of, char *reason, size_t size)
{
    const st_plugin_setting *const *settings = times->host->settings;
    const char *name = settings[tables[of].times]->text;
    bool has_types = tables[of].dtype != OPTIONS;
    const st_table_filter filter = {settings[GPU]->text,
                                    has_types ? settings[tables[of].dtype]->text : "",
                                    has_types ? settings[tables[of].source]->text : ""};
    char fault[ST_TABLE_REASON] = "";
    times->widths[of] = has_types ? settings[tables[of].width]->number : 1;
    if (name[0] == '\0')
        return NULL;
    /* A path, or the name of a file in the plugin's folder. */
    const st_plugin_host *host = times->host;
    char path[4096];
    size_t bytes = 0;
    char *time_text = read_file(name, LARGEST_TEXT, &bytes);
    int length = snprintf(path, sizeof path, "%s/%s", host->directory, name);
    bool is_file = time_text == NULL && length > 0 && (size_t)length < sizeof path;
    char *text = is_file ? read_file(path, LARGEST_TEXT, &bytes) : time_text;
    bool packed = text != NULL && strncmp(text, "\x1f\x8b", 2) == 0;
    if (text == NULL || packed) {
        (void)snprintf(reason, size, "%sthe times '%.180s' %s", tables[of].name, name,
                       packed ? "are compressed; run gunzip first" : "cannot be read");
        free(text);
        return reason;
    }
    const char *found = st_shapes_read(&times->shapes[of], of, text, &filter, fault);
    free(text);
    for (size_t i = 0; i < times->shapes[of].table.count; i++)
        times->shapes[of].table.rows[i].time_s *= settings[SCALE]->number;
    if (found == NULL)
        return NULL;
    (void)snprintf(reason, size, "%s%.180s: %s", tables[of].name, name, found);
    return reason;
}

static void free_times(operator_times *times)
{
    for (size_t i = 0; i < ST_OPERATORS; i++) {
        st_shapes_free(&times->shapes[i]);
        st_shape_trees_free(times->trees[i]);
    }
    times->host->release(times->host->context, times);
}

static int open_times(const st_plugin_host *host, void **instance)
{
    char reason[ST_TABLE_REASON + 240];
    size_t rows = 0;
    operator_times *times = host->allocate(host->context, sizeof *times);
    if (times == NULL)
        return st_plugin_fail(host, "out of memory");
    *times = (operator_times){.host = host, .reach = host->settings[REACH]->number};
    for (size_t i = 0; i < ST_OPERATORS; i++) {
        if (read_shapes(times, (st_operator)i, reason, sizeof reason) != NULL) {
            host->error(host->context, reason);
            free_times(times);
            return ST_PLUGIN_FAILED;
        }
        rows += times->shapes[i].table.count;
    }
    const char *untrained = NULL;
    const size_t size = sizeof reason;
    const st_plugin_setting *const *settings = times->host->settings;
    bool trains = settings[MODEL]->number == TREES;
    char fault[ST_TABLE_REASON] = "";
    if (!trains && settings[MULTIPROCESSORS]->number > 0) {
        untrained = "multiprocessors= requires model=trees";
    } else {
        size_t tree_rows = 0;
        for (size_t i = 0; i < ST_EXPERTS; i++)
            tree_rows += times->shapes[i].table.count;
        if (trains && tree_rows == 0) {
            untrained = "model=trees requires times=, attention= or moved= to train on";
        } else if (trains) {
            for (size_t i = 0; i < ST_EXPERTS; i++) {
                if (times->shapes[i].table.count == 0)
                    continue;
                const char *found = st_shape_trees_train(&times->shapes[i], times->widths[i],
                                                         settings[MULTIPROCESSORS]->number,
                                                         &times->trees[i], fault);
                if (found == NULL)
                    continue;
                (void)snprintf(reason, size, "%s%s", tables[i].name, found);
                untrained = reason;
                break;
            }
        }
    }
    if (untrained != NULL) {
        host->error(host->context, untrained);
        free_times(times);
        return ST_PLUGIN_FAILED;
    }
    if (rows == 0)
        host->log(host->context, ST_PLUGIN_LOG_WARNING,
                  "no times are given, so all values are those of the formula");
    *instance = times;
    return ST_PLUGIN_OK;
}

static void close_times(void *instance)
{
    free_times(instance);
}

DESCRIBE("operator-times", "1.4.0",
         "products, attention, experts and element-wise kernels, corrected by measurements",
         WITH_OPTIONS(options), WITH_PROVIDERS(st_operator_providers), .open = open_times,
         .close = close_times);

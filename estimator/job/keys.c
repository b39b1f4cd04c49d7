/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of keys. One line here makes a key known to job files, --set, messages and
 * docs/configuration.md; nothing else has to be told.
 */
#include "job/keys.h"

#include <float.h>
#include <string.h>

#define ABOVE_ZERO DBL_MIN
#define UNBOUNDED  DBL_MAX
#define COUNTS     1, 1e9
#define SPLITS     1, 1e6
#define POSITIVE   ABOVE_ZERO, UNBOUNDED

const double st_above_zero = ABOVE_ZERO;

/* path, kind, unit, values, minimum, maximum, default, meaning */
static const st_key keys[] = {
    {"name", ST_KEY_TEXT, NULL, NULL, 0, 0, NULL,
     "what reports call the job; the file's name where it is left out"},
    {"sheet", ST_KEY_TEXT, NULL, NULL, 0, 0, "li2024",
     "the sheet that estimates the job, by name or path"},
    {"recompute", ST_KEY_ENUM, NULL, "none selective full", 0, 0, NULL,
     "which activations the backward pass computes again"},

    {"model.name", ST_KEY_TEXT, NULL, NULL, 0, 0, NULL, "what reports call the model"},
    {"model.layers", ST_KEY_COUNT, NULL, NULL, SPLITS, NULL, "transformer layers"},
    {"model.hidden", ST_KEY_COUNT, NULL, NULL, COUNTS, NULL, "hidden size"},
    {"model.heads", ST_KEY_COUNT, NULL, NULL, COUNTS, NULL, "attention heads of a layer"},
    {"model.vocabulary", ST_KEY_COUNT, NULL, NULL, COUNTS, NULL,
     "tokens in the vocabulary, before padding"},
    {"model.vocabulary_multiple", ST_KEY_COUNT, NULL, NULL, COUNTS, "128",
     "the embedding is padded to a multiple of this times the tensor-parallel size, as Megatron "
     "does"},
    {"model.positions", ST_KEY_COUNT, NULL, NULL, COUNTS, NULL,
     "rows of a learned position embedding"},

    {"model.layer_list", ST_KEY_TEXT, NULL, NULL, 0, 0, NULL,
     "the list of parameter tensors in configs/layers, by name or path, for sheets that look into "
     "layers"},

    {"batch.global", ST_KEY_COUNT, NULL, NULL, COUNTS, NULL, "sequences in an optimizer step"},
    {"batch.micro", ST_KEY_COUNT, NULL, NULL, COUNTS, NULL,
     "sequences in a micro-batch of one data-parallel rank"},
    {"batch.sequence", ST_KEY_COUNT, NULL, NULL, COUNTS, NULL, "tokens in a sequence"},

    {"parallel.tp", ST_KEY_COUNT, NULL, NULL, SPLITS, "1", "tensor-parallel size"},
    {"parallel.pp", ST_KEY_COUNT, NULL, NULL, SPLITS, "1", "pipeline stages"},
    {"parallel.dp", ST_KEY_COUNT, NULL, NULL, SPLITS, "1", "data-parallel size"},
    {"parallel.order", ST_KEY_TEXT, NULL, NULL, 0, 0, NULL,
     "how ranks are numbered, the group of neighbouring ranks first, e.g. tp-dp-pp: some of tp, "
     "cp, "
     "ep, dp and pp, joined by '-', each at most once"},

    {"cluster.name", ST_KEY_TEXT, NULL, NULL, 0, 0, NULL, "what reports call the cluster"},
    {"cluster.nodes", ST_KEY_COUNT, NULL, NULL, COUNTS, NULL, "nodes that the job runs on"},
    {"cluster.gpus_per_node", ST_KEY_COUNT, NULL, NULL, COUNTS, NULL, "GPUs in a node"},
    {"cluster.gpu_utilization", ST_KEY_NUMBER, NULL, NULL, ABOVE_ZERO, 1, NULL,
     "share of the peak FLOP rate that kernels reach (mu)"},
    {"cluster.nic_bandwidth", ST_KEY_QUANTITY, "GB/s", NULL, POSITIVE, NULL,
     "network bandwidth of a node, per direction"},
    {"cluster.bandwidth.tp", ST_KEY_QUANTITY, "GB/s", NULL, POSITIVE, NULL,
     "effective bandwidth per rank of tensor-parallel collectives"},
    {"cluster.bandwidth.pp", ST_KEY_QUANTITY, "GB/s", NULL, POSITIVE, NULL,
     "effective bandwidth per rank between pipeline stages"},
    {"cluster.bandwidth.dp", ST_KEY_QUANTITY, "GB/s", NULL, POSITIVE, NULL,
     "effective bandwidth per rank of data-parallel collectives"},

    {"cluster.gpu.name", ST_KEY_TEXT, NULL, NULL, 0, 0, NULL, "what reports call the GPU"},
    {"cluster.gpu.peak_fp16", ST_KEY_QUANTITY, "TFLOP/s", NULL, POSITIVE, NULL,
     "peak 16-bit matrix rate, dense"},
    {"cluster.gpu.memory", ST_KEY_QUANTITY, "GiB", NULL, POSITIVE, NULL, "memory of a GPU"},
    {"cluster.gpu.memory_bandwidth", ST_KEY_QUANTITY, "GB/s", NULL, POSITIVE, NULL,
     "bandwidth of that memory"},
    {"cluster.gpu.link_bandwidth", ST_KEY_QUANTITY, "GB/s", NULL, POSITIVE, NULL,
     "bandwidth of a GPU to the others of its node, per direction"},
    {"cluster.gpu.power", ST_KEY_QUANTITY, "W", NULL, POSITIVE, NULL, "power limit of the board"},
};

static const st_key_section sections[] = {
    {"model", true, ST_FOLDER_MODELS, "what is trained"},
    {"batch", false, ST_FOLDERS, "how much data a step takes"},
    {"parallel", false, ST_FOLDERS, "how the work is divided over the GPUs"},
    {"cluster", true, ST_FOLDER_CLUSTERS, "the machines and what connects them"},
    {"cluster.bandwidth", false, ST_FOLDERS,
     "what the collectives of a group reach, as measured on the cluster"},
    {"cluster.gpu", true, ST_FOLDER_GPUS, "one GPU"},
    {ST_CONSTANTS, false, ST_FOLDERS,
     "values that a sheet names itself; the sheet's input says what each means and its unit"},
};

enum {
    KEY_COUNT = sizeof keys / sizeof keys[0],
    SECTION_COUNT = sizeof sections / sizeof sections[0]
};

const st_key *st_keys(size_t *count)
{
    *count = KEY_COUNT;
    return keys;
}

const st_key_section *st_key_sections(size_t *count)
{
    *count = SECTION_COUNT;
    return sections;
}

const st_key *st_key_find(const char *path)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (strcmp(keys[i].path, path) == 0)
            return &keys[i];
    return NULL;
}

const st_key_section *st_section_find(const char *path)
{
    for (size_t i = 0; i < SECTION_COUNT; i++)
        if (strcmp(sections[i].path, path) == 0)
            return &sections[i];
    return NULL;
}

size_t st_key_index(const st_key *key)
{
    return (size_t)(key - keys);
}

size_t st_section_index(const st_key_section *section)
{
    return (size_t)(section - sections);
}

const char *st_path_below(const char *path, const char *section)
{
    size_t length = strlen(section);
    if (length > 0 && (strncmp(path, section, length) != 0 || path[length] != '.'))
        return NULL;
    const char *name = length > 0 ? path + length + 1 : path;
    return strchr(name, '.') == NULL ? name : NULL;
}

static bool is_below(const char *path, const char *section, const char *name)
{
    const char *own = st_path_below(path, section);
    return own != NULL && strcmp(own, name) == 0;
}

const st_key *st_key_in(const char *section, const char *name)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (is_below(keys[i].path, section, name))
            return &keys[i];
    return NULL;
}

const st_key_section *st_section_in(const char *section, const char *name)
{
    for (size_t i = 0; i < SECTION_COUNT; i++)
        if (is_below(sections[i].path, section, name))
            return &sections[i];
    return NULL;
}

/* ---- suggestions ---- */

static size_t add_names_below(const char *section, const char **names)
{
    size_t count = 0;
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (st_path_below(keys[i].path, section) != NULL)
            names[count++] = st_path_below(keys[i].path, section);
    for (size_t i = 0; i < SECTION_COUNT; i++)
        if (st_path_below(sections[i].path, section) != NULL)
            names[count++] = st_path_below(sections[i].path, section);
    return count;
}

static const char *nearest_below(const char *section, const char *name)
{
    const char *names[KEY_COUNT + SECTION_COUNT + 3];
    const st_key_section *own = st_section_find(section);
    size_t count = add_names_below(section, names);
    names[count++] = "source";
    names[count++] = "doc";
    if (own != NULL && own->is_file)
        names[count++] = "base";
    return st_nearest(name, names, count);
}

static const char *last_part(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL ? dot + 1 : path;
}

/* Where keys of exactly this name belong: "model", or "parallel or cluster.bandwidth". */
static const char *homes_of(const char *name, st_errors *errors)
{
    const char *homes = NULL;
    for (size_t i = 0; i < KEY_COUNT + SECTION_COUNT; i++) {
        const char *path = i < KEY_COUNT ? keys[i].path : sections[i - KEY_COUNT].path;
        const char *last = last_part(path);
        if (strcmp(last, name) != 0)
            continue;
        const char *home = last == path
                               ? "the top level of the job"
                               : st_errors_text(errors, "%.*s", (int)(last - path - 1), path);
        homes = homes == NULL ? home : st_errors_text(errors, "%s or %s", homes, home);
    }
    return homes;
}

const char *st_key_suggestion(const char *section, const char *name, st_errors *errors)
{
    if (strchr(name, '.') != NULL && st_key_find(name) != NULL && section[0] == '\0')
        return st_errors_text(errors, "write %.*s: {%s: ...}", (int)strcspn(name, "."), name,
                              strchr(name, '.') + 1);
    const char *homes = homes_of(name, errors);
    if (homes != NULL)
        return st_errors_text(errors, "'%s' belongs under %s", name, homes);
    const char *nearest = nearest_below(section, name);
    if (nearest != NULL)
        return nearest;
    const char *elsewhere[KEY_COUNT];
    for (size_t i = 0; i < KEY_COUNT; i++)
        elsewhere[i] = last_part(keys[i].path);
    nearest = st_nearest(name, elsewhere, KEY_COUNT);
    for (size_t i = 0; i < KEY_COUNT && nearest != NULL; i++)
        if (elsewhere[i] == nearest)
            return keys[i].path;
    return NULL;
}

const char *st_key_nearest_path(const char *path)
{
    const char *paths[KEY_COUNT + SECTION_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < KEY_COUNT; i++)
        paths[count++] = keys[i].path;
    for (size_t i = 0; i < SECTION_COUNT; i++)
        if (sections[i].is_file)
            paths[count++] = sections[i].path;
    return st_nearest(path, paths, count);
}

/* "tp, pp" or, with the section before each name, "parallel.tp, parallel.pp". */
static const char *list_names(const st_key_section *section, bool full, st_errors *errors)
{
    const char *names[KEY_COUNT + SECTION_COUNT];
    size_t count = add_names_below(section->path, names);
    const char *text = "";
    for (size_t i = 0; i < count; i++)
        text = st_errors_text(errors, "%s%s%s%s%s", text, i > 0 ? ", " : "",
                              full ? section->path : "", full ? "." : "", names[i]);
    return text;
}

const char *st_section_names(const st_key_section *section, st_errors *errors)
{
    return list_names(section, false, errors);
}

const char *st_section_paths(const st_key_section *section, st_errors *errors)
{
    return list_names(section, true, errors);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool st_is_constant_name(const char *name)
{
    if (!is_letter(name[0]))
        return false;
    for (const char *c = name; *c != '\0'; c++)
        if (!is_letter(*c) && !(*c >= '0' && *c <= '9'))
            return false;
    return strlen(name) <= 64;
}

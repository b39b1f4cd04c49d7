/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `refine`: which plugins replace open functions and cells, in order of preference. Whether
 * there is such a plugin, and what its options mean, is the host's to say (estimator/plugin).
 */
#include "job/files.h"
#include "job/sourced_value.h"
#include "steptime/keys.h"

#include <ctype.h>
#include <string.h>

enum { MAX_OPTIONS = 1000, MAX_OPTION_BYTES = 4096 };

static const char *const entry_keys[] = {"plugin", "options", "fallback", "profile", "doc"};

enum { ENTRY_KEYS = ST_COUNT(entry_keys) };

static const char expected_entry[] =
    "the name of a plugin, or a map such as {plugin: NAME, options: {...}, fallback: formula}";

/* Adds a plugin; false where its name is none or was there before, which has been reported. */
static bool add(st_loader *loader, const st_refinement *entry)
{
    st_job *job = loader->job;
    st_errors *errors = loader->errors;
    st_error fault = {.status = ST_ERR_NAME, .place = entry->place};
    const char *text = entry->plugin;
    size_t length = strlen(text);
    bool good = length > 0 && length <= ST_MAX_PLUGIN_ID && islower((unsigned char)text[0]);
    for (size_t i = 0; good && i < length; i++)
        good = islower((unsigned char)text[i]) || isdigit((unsigned char)text[i]) || text[i] == '-';
    if (!good) {
        fault.message = "invalid plugin name";
        fault.found = st_errors_text(errors, "'%.80s'", entry->plugin);
        fault.expected = "a lower-case letter, then lower-case letters, digits and '-', at most 64";
    }
    for (size_t i = 0; i < job->refinement_count; i++)
        if (strcmp(job->refinements[i].plugin, entry->plugin) == 0)
            fault.message =
                st_errors_text(errors, "duplicate plugin '%s' in refine", entry->plugin);
    if (fault.message == NULL && job->refinement_count == ST_MAX_REFINEMENTS) {
        fault.status = ST_ERR_LIMIT;
        fault.message =
            st_errors_text(errors, "refine has more than %d plugins", ST_MAX_REFINEMENTS);
    }
    if (fault.message != NULL) {
        st_note(&loader->status, st_errors_add(errors, &fault));
        return false;
    }
    job->refinements[job->refinement_count++] = *entry;
    return true;
}

/* Forgets what was there: the last word counts. */
static bool restart(st_loader *loader)
{
    st_job *job = loader->job;
    job->refinement_count = 0;
    if (job->refinements == NULL)
        job->refinements =
            st_arena_alloc(loader->arena, ST_MAX_REFINEMENTS, sizeof *job->refinements);
    if (job->refinements == NULL)
        st_note(&loader->status, st_out_of_memory(loader->errors));
    return job->refinements != NULL;
}

bool st_loader_split_refine(st_loader *loader, const st_value_text *value)
{
    if (!restart(loader))
        return false;
    if (strcmp(value->text, "none") == 0)
        return true;
    for (const char *rest = value->text;; rest++) {
        rest += strspn(rest, " ");
        size_t length = strcspn(rest, ",");
        size_t used = length;
        while (used > 0 && rest[used - 1] == ' ')
            used--;
        st_refinement entry = {.plugin = st_arena_copy(loader->arena, rest, used),
                               .place = value->place};
        if (entry.plugin == NULL) {
            st_note(&loader->status, st_out_of_memory(loader->errors));
            return false;
        }
        if (!add(loader, &entry))
            return false;
        rest += length;
        if (*rest == '\0')
            return true;
    }
}

static bool read_text(st_loader *loader, const char *name, const st_yaml_node *node,
                      const char **text, st_place *place)
{
    if (!st_sourced_is_scalar(node)) {
        st_sourced_refuse(loader, name, node, "a name");
        return false;
    }
    *text = node->text;
    *place = st_yaml_place_at(node, 0);
    return true;
}

static bool read_field(st_loader *loader, const st_yaml_node *map, size_t index,
                       st_refinement *entry)
{
    const char *name = map->keys[index];
    const st_yaml_node *node = map->items[index];
    if (strcmp(name, "plugin") == 0)
        return read_text(loader, name, node, &entry->plugin, &entry->place);
    if (strcmp(name, "profile") == 0)
        return read_text(loader, name, node, &entry->profile, &entry->profile_place);
    if (strcmp(name, "options") == 0) {
        if (node->kind != ST_YAML_MAP || node->count > MAX_OPTIONS) {
            st_sourced_refuse(loader, "options of a plugin", node, "a map from names to values");
            return false;
        }
        st_refinement_option *options =
            st_arena_alloc(loader->arena, node->count + 1, sizeof *options);
        if (options == NULL) {
            st_note(&loader->status, st_out_of_memory(loader->errors));
            return false;
        }
        for (size_t i = 0; i < node->count; i++) {
            const st_yaml_node *option_node = node->items[i];
            if (!st_sourced_is_scalar(option_node) || option_node->length > MAX_OPTION_BYTES) {
                st_sourced_refuse(loader, node->keys[i], option_node, "a value, with its unit");
                return false;
            }
            options[i] = (st_refinement_option){.name = node->keys[i],
                                                .text = option_node->text,
                                                .name_place = node->key_places[i],
                                                .place = st_yaml_place_at(option_node, 0)};
        }
        entry->options = options;
        entry->option_count = node->count;
        return true;
    }
    if (strcmp(name, "fallback") == 0) {
        if (st_sourced_is_scalar(node)) {
            entry->fallback = strcmp(node->text, "formula") == 0;
            if (entry->fallback || strcmp(node->text, "error") == 0)
                return true;
        }
        st_sourced_refuse(loader, "fallback", node, "formula or error");
        return false;
    }
    if (strcmp(name, "doc") == 0)
        return st_sourced_source(loader, name, node) != NULL;
    ST_NOTE(loader, ST_ERR_NAME, map->key_places[index], "unknown key '%s' in refine" ST_HINT "%s",
            name, st_errors_nearest(loader->errors, name, entry_keys, ENTRY_KEYS));
    return false;
}

/* "NAME: {...}", with what belongs to the plugin and not its name again. */
static bool is_short(const st_yaml_node *node)
{
    if (node->kind != ST_YAML_MAP || node->count != 1 || node->items[0]->kind != ST_YAML_MAP)
        return false;
    return !st_has_text(entry_keys, ENTRY_KEYS, node->keys[0]) &&
           st_yaml_get(node->items[0], "plugin") == NULL;
}

static bool read_entry(st_loader *loader, const st_yaml_node *node)
{
    st_refinement entry = {.plugin = ""};
    bool good = true;
    if (st_sourced_is_scalar(node)) {
        entry.plugin = node->text;
        entry.place = st_yaml_place_at(node, 0);
        return add(loader, &entry);
    }
    if (is_short(node)) {
        entry.plugin = node->keys[0];
        entry.place = node->key_places[0];
        node = node->items[0];
    } else if (node->kind != ST_YAML_MAP || st_yaml_get(node, "plugin") == NULL) {
        st_sourced_refuse(loader, ST_KEY_REFINE, node, expected_entry);
        return false;
    }
    for (size_t i = 0; i < node->count; i++)
        good = read_field(loader, node, i, &entry) && good;
    return good && add(loader, &entry);
}

const char *st_loader_read_refine(st_loader *loader, const st_yaml_node *node)
{
    bool good = restart(loader);
    if (good && node->kind == ST_YAML_LIST) {
        for (size_t i = 0; i < node->count; i++)
            good = read_entry(loader, node->items[i]) && good;
    } else if (good && node->kind == ST_YAML_SCALAR && st_sourced_is_scalar(node)) {
        const st_value_text value = {node->text, node->length, node->quoted,
                                     st_yaml_place_at(node, 0)};
        good = st_loader_split_refine(loader, &value);
    } else if (good) {
        good = read_entry(loader, node);
    }
    if (!good)
        return NULL;
    /* "a,b", or "none": as --set would write it. */
    const st_job *job = loader->job;
    const char *text = job->refinement_count == 0 ? "none" : job->refinements[0].plugin;
    for (size_t i = 1; i < job->refinement_count && text != NULL; i++)
        text = st_arena_printf(loader->arena, "%s,%s", text, job->refinements[i].plugin);
    if (text == NULL)
        st_note(&loader->status, st_out_of_memory(loader->errors));
    return text;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recipes: what a stack does for some models, GPUs, precisions, plans or releases only. Each is a
 * map with `if:`, values of keys of the job, and `set:`, values that then count as the stack's own.
 */
#include "job/job_loader.h"
#include "job/files.h"
#include "job/sourced_value.h"
#include "steptime/keys.h"

#include <stdlib.h>
#include <string.h>

/* ---- releases ---- */

int st_release_compare(const char *a, const char *b)
{
    while (*a != '\0' || *b != '\0') {
        char *a_end = NULL;
        char *b_end = NULL;
        unsigned long a_part = strtoul(a, &a_end, 10);
        unsigned long b_part = strtoul(b, &b_end, 10);
        if (a_part != b_part)
            return a_part < b_part ? -1 : 1;
        a = a_end + (*a_end != '\0' ? 1 : 0);
        b = b_end + (*b_end != '\0' ? 1 : 0);
    }
    return 0;
}

static bool is_release(const char *text)
{
    const size_t length = strlen(text);
    return length > 0 && strspn(text, "0123456789.") == length && text[0] != '.' &&
           text[length - 1] != '.' && strstr(text, "..") == NULL;
}

bool st_release_is_date(const char *text)
{
    const size_t digits = strspn(text, "0123456789");
    if (digits != 4 || text[0] != '2')
        return false;
    const unsigned long month = text[4] == '-' ? strtoul(text + 5, NULL, 10) : 0;
    return text[4] == '\0' ||
           (strlen(text) == 7 && strspn(text + 5, "0123456789") == 2 && month >= 1 && month <= 12);
}

/* Months to a date, or to a release that is named after its year and month, such as 26.02.01. */
static unsigned long month_of(const char *text)
{
    char *end = NULL;
    const unsigned long year = strtoul(text, &end, 10);
    return (year < 100 ? year + 2000 : year) * 12 + (*end != '\0' ? strtoul(end + 1, NULL, 10) : 0);
}

/* The last month of a date that is asked for, which a year may be. */
static unsigned long last_month_of(const char *date)
{
    return month_of(date) + (date[4] == '\0' ? 12 : 0);
}

/* Cuts the date off a release: "26.02.01" is one itself, "26.1 2026-01" ends in one. */
static bool split_release(st_loader *loader, const st_yaml_node *node, const char **name,
                          const char **date)
{
    const char *text = st_sourced_is_scalar(node) ? node->text : "";
    const char *blank = strchr(text, ' ');
    *name = blank != NULL ? st_arena_copy(loader->arena, text, (size_t)(blank - text)) : text;
    *date = blank != NULL ? blank + 1 : text;
    return *name != NULL && is_release(*name) && (blank == NULL || st_release_is_date(*date));
}

const char *st_loader_split_release(st_loader *loader, const char *name, st_place place)
{
    const char *slash = strrchr(name, '/');
    const char *at = strchr(slash != NULL ? slash : name, '@');
    if (at == NULL || at == name || at[1] == '\0')
        return name;
    st_job_value *release = &loader->job->values[st_key_index(st_key_find(ST_KEY_STACK_RELEASE))];
    const char *bare = st_arena_copy(loader->arena, name, (size_t)(at - name));
    if (bare == NULL) {
        st_note(&loader->status, st_out_of_memory(loader->errors));
        return name;
    }
    *release = (st_job_value){.path = release->path,
                              .key = release->key,
                              .origin = ST_ORIGIN_SET,
                              .text = at + 1,
                              .place = place};
    return bare;
}

static const char *asked_release(const st_loader *loader)
{
    size_t index = st_key_index(st_key_find(ST_KEY_STACK_RELEASE));
    const char *asked = loader->asked->values[index].text;
    return asked != NULL ? asked : loader->job->values[index].text;
}

/* The last of some releases that is not newer than what is asked, else the first. */
static size_t nearest_release(const char *const *names, const char *const *dates, size_t count,
                              const char *asked)
{
    size_t nearest = 0;
    for (size_t i = 1; i < count; i++)
        if (st_release_is_date(asked) ? month_of(dates[i]) <= last_month_of(asked)
                                      : st_release_compare(names[i], asked) <= 0)
            nearest = i;
    return nearest;
}

/* What counts in place of a release or a date that none has. */
static void note_release(const st_loader *loader, const char *asked, const char *known,
                         const char *date, bool is_last)
{
    const st_place place =
        loader->asked->values[st_key_index(st_key_find(ST_KEY_STACK_RELEASE))].place;
    const bool is_date = st_release_is_date(asked);
    const int order = !is_date                                ? st_release_compare(known, asked)
                      : month_of(date) > last_month_of(asked) ? 1
                      : month_of(date) < month_of(asked)      ? -1
                                                              : 0;
    /* A date between two releases has the older one; one behind the last may miss a newer. */
    const bool is_late = is_date && order < 0 && is_last;
    if (order > 0 || is_late || (order < 0 && !is_date))
        st_report(loader->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, place,
                  "release %s of stack %s is unknown; the %s, %s, counts", asked,
                  loader->reading_stack->name,
                  order > 0 ? "oldest"
                  : is_late ? "newest"
                            : "last that is not newer",
                  known);
}

void st_loader_read_releases(st_loader *loader, const st_yaml_node *node)
{
    const size_t count = node->kind == ST_YAML_LIST ? node->count : 0;
    const char **names = st_arena_alloc(loader->arena, count + 1, sizeof *names);
    const char **dates = st_arena_alloc(loader->arena, count + 1, sizeof *dates);
    bool good = count > 0 && names != NULL && dates != NULL;
    for (size_t i = 0; good && i < count; i++)
        good = split_release(loader, node->items[i], &names[i], &dates[i]) &&
               (i == 0 || st_release_compare(names[i - 1], names[i]) < 0);
    if (!good) {
        st_sourced_refuse(loader, "releases", node,
                          "a list of releases, the oldest first, such as ['24.07', '25.09'], with "
                          "a date where the name is none, such as '26.1 2026-01'");
        return;
    }
    const size_t index = st_key_index(st_key_find(ST_KEY_STACK_RELEASE));
    const st_job_value *given = &loader->asked->values[index];
    const char *asked = asked_release(loader);
    size_t known = count - 1;
    if (asked != NULL && !is_release(asked) && !st_release_is_date(asked)) {
        ST_NOTE(loader, ST_ERR_VALUE, given->place,
                "stack.release" ST_FOUND "'%s'" ST_EXPECTED
                "numbers and dots, such as %s, or a date such as 2026-02 or 2026",
                asked, names[known]);
    } else if (asked != NULL) {
        known = nearest_release(names, dates, count, asked);
        note_release(loader, asked, names[known], dates[known], known + 1 == count);
    }
    st_job_value *release = &loader->job->values[index];
    release->text = names[known];
    release->origin = ST_ORIGIN_FILE;
    release->place = node->place;
    loader->release = names[known];
}

/* ---- conditions ---- */

typedef enum comparison { IS, ABOVE, BELOW } comparison;

static comparison split_comparison(const char **text)
{
    comparison how = **text == '>' ? ABOVE : **text == '<' ? BELOW : IS;
    if (how != IS)
        *text += 1 + strspn(*text + 1, " ");
    return how;
}

static bool compares(comparison how, double difference)
{
    return how == IS ? difference == 0 : how == ABOVE ? difference > 0 : difference < 0;
}

static double number_of(st_loader *loader, const st_key *key, const char *text, st_place place)
{
    double number = 0;
    const st_value_text value = {.text = text, .length = strlen(text), .place = place};
    st_note(&loader->status, st_value_parse(key, &value, &number, loader->errors));
    return number;
}

static bool text_holds(st_loader *loader, const char *path, const st_key *key,
                       const st_yaml_node *scalar)
{
    const char *text = scalar->text;
    const st_place place = st_yaml_place_at(scalar, 0);
    if (key == NULL) { /* cluster.gpu */
        for (size_t i = 0; i < loader->asked->gpu_count; i++)
            if (strcmp(loader->asked->gpus[i], text) == 0)
                return true;
        return false;
    }
    const st_job_value *value = &loader->asked->values[st_key_index(key)];
    bool is_given = value->origin != ST_ORIGIN_NONE;
    comparison how = split_comparison(&text);
    if (strcmp(path, ST_KEY_STACK_RELEASE) == 0)
        return loader->release != NULL && compares(how, st_release_compare(loader->release, text));
    if (key->kind == ST_KEY_TEXT || key->kind == ST_KEY_ENUM) {
        const char *found = is_given ? value->text : key->default_text;
        return found != NULL && strcmp(found, text) == 0;
    }
    if (!is_given && key->default_text == NULL)
        return false;
    double found = is_given ? value->number : number_of(loader, key, key->default_text, place);
    return compares(how, found - number_of(loader, key, text, place));
}

static void note_key(st_loader *loader, const st_key *key)
{
    st_job *job = loader->job;
    if (!ST_HAS(job->recipe_keys, job->recipe_key_count, path, key->path) &&
        !ST_APPEND(loader->arena, job->recipe_keys, job->recipe_key_count, *key))
        st_note(&loader->status, st_out_of_memory(loader->errors));
}

static bool condition_holds(st_loader *loader, const st_yaml_node *map, size_t index)
{
    const char *path = map->keys[index];
    const st_yaml_node *node = map->items[index];
    const st_key *key = st_key_find(path);
    bool holds = false;
    if (key == NULL && strcmp(path, ST_KEY_CLUSTER_GPU) != 0) {
        ST_NOTE(loader, ST_ERR_NAME, map->key_places[index],
                "unknown key '%s' in a recipe's conditions" ST_HINT "%s", path,
                st_or_none(st_key_nearest_path(path)));
        return false;
    }
    if (strcmp(path, ST_KEY_PARALLEL_ZERO) != 0 &&
        (strncmp(path, ST_KEY_PARALLEL ".", sizeof ST_KEY_PARALLEL) == 0 ||
         strncmp(path, ST_KEY_BATCH ".", sizeof ST_KEY_BATCH) == 0)) {
        ST_NOTE(loader, ST_ERR_NAME, map->key_places[index],
                "recipes cannot go by %s" ST_EXPECTED
                "the model, precision, GPU, parallel.zero or stack.release; a search varies plans",
                path);
        return false;
    }
    if (key != NULL && strcmp(path, ST_KEY_STACK_RELEASE) != 0)
        note_key(loader, key);
    if (st_sourced_is_scalar(node))
        return text_holds(loader, path, key, node);
    bool good = node->kind == ST_YAML_LIST && node->count > 0;
    for (size_t i = 0; good && i < node->count; i++) {
        good = st_sourced_is_scalar(node->items[i]);
        holds = (good && text_holds(loader, path, key, node->items[i])) || holds;
    }
    if (!good)
        st_sourced_refuse(loader, path, node, "a value, '> VALUE', '< VALUE' or a list of them");
    return good && holds;
}

bool st_loader_recipe_holds(st_loader *loader, const st_yaml_node *conditions)
{
    bool holds = true;
    if (conditions == NULL)
        return true;
    if (conditions->kind != ST_YAML_MAP) {
        st_sourced_refuse(loader, "recipes.if", conditions,
                          "a map of keys and values, such as {model.experts: 0}");
        return false;
    }
    /* All of them are read, so that all faults are reported. */
    for (size_t i = 0; i < conditions->count; i++)
        holds = condition_holds(loader, conditions, i) && holds;
    return holds;
}

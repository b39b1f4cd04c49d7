/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on fields; see row_condition.h. */
#include "fit/steps/row_condition.h"

#include "steptime/quantity.h"

#include <string.h>

/* Where a '*' was tried last, so that it can take one character more: no recursion, and no more
 * than the product of both lengths. */
bool st_text_matches(const char *text, const char *pattern)
{
    const char *star = NULL;
    const char *star_text = NULL;
    while (*text != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            star_text = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star + 1;
            text = ++star_text;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

bool st_condition_holds(const st_condition *condition, const char *field)
{
    for (size_t i = 0; i < condition->value_count; i++) {
        const char *value = condition->values[i];
        if (st_text_matches(field, value))
            return !condition->negated;
        double first = 0;
        double second = 0;
        if (st_number_parse(field, strlen(field), (st_place){0}, &first, NULL) == ST_OK &&
            st_number_parse(value, strlen(value), (st_place){0}, &second, NULL) == ST_OK &&
            first == second)
            return !condition->negated;
    }
    return condition->negated;
}

static void add_conditions(st_yaml_reader *reader, const st_yaml_node *map, bool negated,
                           st_condition *conditions, size_t *count)
{
    for (size_t i = 0; map != NULL && i < map->count; i++) {
        if (*count == ST_CONDITIONS_MAX) {
            ST_NOTE(reader, ST_ERR_LIMIT, map->key_places[i],
                    "too many conditions" ST_EXPECTED "at most 64");
            return;
        }
        st_condition *condition = &conditions[(*count)++];
        *condition =
            (st_condition){.column = map->keys[i], .negated = negated, .place = map->key_places[i]};
        const st_yaml_node *node = map->items[i];
        bool is_list = node->kind == ST_YAML_LIST;
        size_t read_count = is_list ? node->count : 1;
        if (read_count > ST_CONDITION_VALUES_MAX) {
            ST_NOTE(reader, ST_ERR_LIMIT, node->place, "%zu values" ST_EXPECTED "at most 1000",
                    read_count);
            continue;
        }
        const char **values = st_read_alloc(reader, read_count + 1, sizeof *values);
        if (values == NULL)
            continue;
        for (size_t j = 0; j < read_count; j++) {
            const st_yaml_node *item = is_list ? node->items[j] : node;
            if (st_read_is(reader, item, ST_YAML_SCALAR, "the value of a condition is not a text"))
                values[condition->value_count++] = item->text;
        }
        condition->values = values;
    }
}

const st_condition *st_read_conditions(st_yaml_reader *reader, const st_yaml_node *map,
                                       const char *key, const char *unless, size_t *count)
{
    st_condition *conditions = st_read_alloc(reader, ST_CONDITIONS_MAX, sizeof *conditions);
    *count = 0;
    if (conditions != NULL)
        add_conditions(reader, st_read_map(reader, map, key), false, conditions, count);
    if (conditions != NULL && unless != NULL)
        add_conditions(reader, st_read_map(reader, map, unless), true, conditions, count);
    return conditions;
}

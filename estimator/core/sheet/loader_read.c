/* SPDX-License-Identifier: Apache-2.0 */
/* Small steps that every part of the sheet reader takes. */
#include "sheet/loader.h"
#include "sheet/unit_faults.h"

#include "base/chars.h"

#include <string.h>

bool st_loader_fail(st_loader *loader, st_place place, st_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)st_vfail(loader->errors, status, place, format, arguments);
    va_end(arguments);
    return false;
}

bool st_loader_out_of_memory(st_loader *loader)
{
    return st_loader_fail(loader, (st_place){.file = loader->sheet->file}, ST_ERR_MEMORY,
                          "out of memory");
}

void st_loader_check_keys(st_loader *loader, const st_yaml_node *map, const char *const *allowed,
                          size_t count, const char *what)
{
    for (size_t i = 0; i < map->count; i++) {
        bool known = false;
        for (size_t j = 0; j < count && !known; j++)
            known = st_same(map->keys[i], allowed[j]);
        if (known)
            continue;
        st_buffer list = {0};
        for (size_t j = 0; j < count; j++)
            st_buffer_printf(&list, j == 0 ? "%s" : ", %s", allowed[j]);
        const char *suggestion = st_nearest(map->keys[i], allowed, count);
        const st_yaml_node *value = map->items[i];
        if (suggestion == NULL && value->kind == ST_YAML_SCALAR && value->length == 0 &&
            !value->quoted) {
            /* {is: max(a, b)} has the keys "is" and "b)". */
            suggestion = "quote a formula with commas inside { }";
        }
        st_fail(loader->errors, ST_ERR_NAME, map->key_places[i],
                "%s has no key '%s'" ST_EXPECTED "%s" ST_HINT "%s", what, map->keys[i],
                st_or_none(list.data == NULL
                               ? NULL
                               : st_errors_text(loader->errors, "one of %s", list.data)),
                st_or_none(suggestion));
        st_buffer_free(&list);
    }
}

const st_yaml_node *st_loader_get(st_loader *loader, const st_yaml_node *map, const char *key,
                                  st_yaml_kind kind, const char *what)
{
    static const char *const kinds[] = {"a text", "a list", "a map"};
    const st_yaml_node *node = st_yaml_get(map, key);
    if (node == NULL || node->kind == kind)
        return node;
    st_fail(loader->errors, ST_ERR_VALUE, node->place, "'%s' of %s" ST_FOUND "%s" ST_EXPECTED "%s",
            key, what, st_yaml_describe(node, loader->errors), kinds[kind]);
    return NULL;
}

/* The span of a text without its outer blanks. */
static void trim(const char *text, size_t length, size_t *start, size_t *end)
{
    *start = 0;
    *end = length;
    while (*start < *end && st_is_blank(text[*start]))
        (*start)++;
    while (*end > *start && st_is_blank(text[*end - 1]))
        (*end)--;
}

const char *st_loader_text(st_loader *loader, const st_yaml_node *map, const char *key,
                           const char *what)
{
    const st_yaml_node *node = st_loader_get(loader, map, key, ST_YAML_SCALAR, what);
    if (node == NULL)
        return "";
    size_t start = 0;
    size_t end = 0;
    trim(node->text, node->length, &start, &end);
    if (end == node->length) /* it ends with a NUL already */
        return node->text + start;
    const char *text = st_arena_copy(loader->arena, node->text + start, end - start);
    if (text == NULL) {
        (void)st_loader_out_of_memory(loader);
        return "";
    }
    return text;
}

bool st_loader_flag(st_loader *loader, const st_yaml_node *map, const char *key, const char *what)
{
    const st_yaml_node *node = st_loader_get(loader, map, key, ST_YAML_SCALAR, what);
    if (node == NULL || strcmp(node->text, "false") == 0)
        return false;
    if (strcmp(node->text, "true") == 0)
        return true;
    st_fail(loader->errors, ST_ERR_VALUE, node->place,
            "'%s' of %s" ST_FOUND "%s" ST_EXPECTED "true or false", key, what,
            st_yaml_describe(node, loader->errors));
    return false;
}

bool st_loader_name(st_loader *loader, const char *name, st_place place, const char *what)
{
    bool good = name[0] != '\0' && !(name[0] >= '0' && name[0] <= '9');
    for (const char *c = name; *c != '\0'; c++)
        good = good && ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_' ||
                        (*c >= '0' && *c <= '9'));
    if (!good)
        return st_loader_fail(loader, place, ST_ERR_NAME,
                              "'%s' cannot name %s" ST_EXPECTED
                              "a letter or '_', then letters, digits and '_'",
                              name, what);
    if (strlen(name) > ST_SHEET_MAX_NAME)
        return st_loader_fail(loader, place, ST_ERR_LIMIT,
                              "'%.60s...' is too long as the name of %s" ST_EXPECTED
                              "at most 100 characters",
                              name, what);
    if (st_expr_is_reserved(name))
        return st_loader_fail(loader, place, ST_ERR_NAME,
                              "'%s' cannot name %s: it is a reserved word", name, what);
    return true;
}

bool st_loader_type(st_loader *loader, const st_yaml_node *node, st_type *type)
{
    *type = (st_type){.kind = ST_TYPE_NUMBER, .unit = st_unit_one()};
    if (node == NULL)
        return true;
    if (node->kind != ST_YAML_SCALAR) {
        st_fail(loader->errors, ST_ERR_VALUE, node->place,
                "a unit must be text" ST_FOUND "%s" ST_EXPECTED
                "a unit, 'bool' or the name of an enumeration",
                st_yaml_describe(node, loader->errors));
        return false;
    }
    if (strcmp(node->text, "bool") == 0) {
        type->kind = ST_TYPE_BOOL;
        return true;
    }
    for (size_t i = 0; i < loader->sheet->enum_count; i++) {
        if (st_same(loader->sheet->enums[i].name, node->text)) {
            type->kind = ST_TYPE_ENUM;
            type->enumeration = &loader->sheet->enums[i];
            return true;
        }
    }
    bool known = st_unit_parse(node->text, node->length, st_yaml_place_at(node, 0), &type->unit,
                               loader->errors) == ST_OK;
    if (!known) /* unit_faults.c leaves out what follows from it */
        (void)snprintf(type->unit.text, sizeof type->unit.text, "%s", ST_UNIT_UNKNOWN);
    return known;
}

bool st_loader_formula(st_loader *loader, const st_yaml_node *scalar, st_formula *formula)
{
    size_t start = 0;
    size_t end = 0;
    trim(scalar->text, scalar->length, &start, &end);
    const char *text = end == scalar->length
                           ? scalar->text + start
                           : st_arena_copy(loader->arena, scalar->text + start, end - start);
    if (text == NULL)
        return st_loader_out_of_memory(loader);
    *formula = (st_formula){.text = text,
                            .length = end - start,
                            .scalar = scalar,
                            .scalar_offset = start,
                            .place = scalar->place};
    return st_expr_parse(formula, loader->arena, loader->errors) == ST_OK;
}

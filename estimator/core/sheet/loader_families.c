/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading cells that are `per` enumerations: one entry for every member.
 *
 * Circle: with sheet/loader_parts, because families are read among cells and made of them.
 */
#include "sheet/loader.h"

#include <string.h>

static const st_enum *find_enum(const st_sheet *sheet, const char *name)
{
    for (size_t i = 0; i < sheet->enum_count; i++)
        if (strcmp(sheet->enums[i].name, name) == 0)
            return &sheet->enums[i];
    return NULL;
}

static bool refuse_enum(st_loader *loader, const st_yaml_node *item)
{
    const char *names[64];
    size_t count = 0;
    for (size_t i = 0; i < loader->sheet->enum_count && count < ST_COUNT(names); i++)
        names[count++] = loader->sheet->enums[i].name;
    st_fail(loader->errors, ST_ERR_NAME, item->place,
            "a family is over values of an enumeration" ST_FOUND "%s" ST_EXPECTED
            "the name of an enumeration, or a list of up to 4" ST_HINT "%s",
            st_yaml_describe(item, loader->errors),
            item->kind == ST_YAML_SCALAR
                ? st_errors_nearest(loader->errors, item->text, names, count)
                : "");
    return false;
}

static bool read_axes(st_loader *loader, const st_yaml_node *per, st_family *family)
{
    bool list = per->kind == ST_YAML_LIST;
    size_t count = list ? per->count : 1;
    if (count == 0 || count > ST_FAMILY_MAX_AXES)
        return refuse_enum(loader, per);
    family->axis_count = count;
    family->member_count = 1;
    for (size_t i = 0; i < count; i++) {
        const st_yaml_node *item = list ? per->items[i] : per;
        const st_enum *axis =
            item->kind == ST_YAML_SCALAR ? find_enum(loader->sheet, item->text) : NULL;
        if (axis == NULL)
            return refuse_enum(loader, item);
        family->axes[i] = axis;
        family->member_count *= axis->count;
    }
    if (family->member_count > ST_SHEET_MAX_SYMBOLS)
        return st_loader_fail(loader, per->place, ST_ERR_LIMIT,
                              "the family has too many members" ST_EXPECTED "at most 20000");
    /* In a formula the name of an enumeration is the member's value: no value may be called so. */
    const st_place place = per->place;
    for (size_t i = 0; i < family->axis_count; i++) {
        for (size_t k = 0; k < family->axis_count; k++) {
            const char *name = family->axes[k]->name;
            if ((i < k && family->axes[i] == family->axes[k]) ||
                st_has_text(family->axes[i]->values, family->axes[i]->count, name))
                return st_loader_fail(loader, place, ST_ERR_NAME,
                                      "an index '%s' would mean two things" ST_EXPECTED
                                      "every enumeration once, and none called like a value",
                                      name);
        }
    }
    return true;
}

/* --- texts for members ----------------------------------------------------------------------- */

static st_formula *read_formula(st_loader *loader, const st_yaml_node *scalar)
{
    st_formula *formula = st_arena_alloc(loader->arena, 1, sizeof *formula);
    if (formula == NULL) {
        (void)st_loader_out_of_memory(loader);
        return NULL;
    }
    if (!st_loader_formula(loader, scalar, formula))
        formula->expr = NULL;
    return formula;
}

/* The axis one of whose values is called so; axis_count: none. */
static size_t axis_of_key(const st_family *family, const char *key, size_t *value)
{
    for (size_t i = 0; i < family->axis_count; i++) {
        *value = st_text_at(family->axes[i]->values, family->axes[i]->count, key);
        if (*value != SIZE_MAX)
            return i;
    }
    return family->axis_count;
}

/* {first: A, last: B}: the keys are values of one of the family's enumerations. */
static bool read_map(st_loader *loader, const st_yaml_node *map, const st_family *family,
                     st_formula **items)
{
    size_t axis = family->axis_count;
    for (size_t i = 0; i < map->count; i++) {
        size_t value = 0;
        size_t found = axis_of_key(family, map->keys[i], &value);
        if (found == family->axis_count || (i > 0 && found != axis)) {
            const st_enum *key_axis = family->axes[0];
            st_fail(
                loader->errors, ST_ERR_NAME, map->key_places[i],
                "'%.60s' is no value of what '%s' is over" ST_EXPECTED
                "values of one of its enumerations" ST_HINT "%s",
                map->keys[i], family->name,
                st_errors_nearest(loader->errors, map->keys[i], key_axis->values, key_axis->count));
            return false;
        }
        axis = found;
        if (map->items[i]->kind != ST_YAML_SCALAR)
            return st_loader_fail(loader, map->items[i]->place, ST_ERR_VALUE,
                                  "a member's formula is one text" ST_EXPECTED "e.g. 'first: V/C'");
        st_formula *formula = read_formula(loader, map->items[i]);
        for (size_t k = 0; k < family->member_count; k++)
            if (st_family_value(family, k, axis) == value)
                items[k] = formula;
    }
    return true;
}

static st_formula **read_templates(st_loader *loader, const st_yaml_node *node,
                                   const st_family *family)
{
    st_formula **items = st_arena_alloc(loader->arena, family->member_count + 1, sizeof *items);
    if (items == NULL) {
        (void)st_loader_out_of_memory(loader);
        return NULL;
    }
    if (node == NULL)
        return items;
    if (node->kind == ST_YAML_MAP)
        return read_map(loader, node, family, items) ? items : NULL;
    if (node->kind != ST_YAML_SCALAR) {
        (void)st_loader_fail(loader, node->place, ST_ERR_VALUE,
                             "a family's formula is one text or a map" ST_EXPECTED
                             "a formula, or values of its enumeration with a formula each");
        return NULL;
    }
    st_formula *formula = read_formula(loader, node);
    for (size_t i = 0; i < family->member_count; i++)
        items[i] = formula;
    return items;
}

/* --- families -------------------------------------------------------------------------------- */

/* Whether a family may be called so: a new one, or one that overrides a family of the same kind. */
static bool may_stand(st_loader *loader, const st_family *family, bool override)
{
    const st_family *known = st_sheet_family(loader->sheet, family->name);
    size_t index = 0;
    bool cell = st_names_get(&loader->entry_names, family->name, &index);
    bool value = st_names_get(&loader->sheet->value_names, family->name, &index);
    if (cell || value)
        return st_loader_fail(loader, family->place, ST_ERR_NAME,
                              "%s" ST_EXPECTED "another name: no family overrides it",
                              st_errors_text(loader->errors,
                                             value ? "'%s' is already a value of an enumeration"
                                                   : "'%s' is already a cell or an input",
                                             family->name));
    if (known == NULL)
        return !override || st_loader_fail(loader, family->place, ST_ERR_NAME,
                                           "'%s' overrides nothing" ST_EXPECTED
                                           "the name of a family of an included sheet",
                                           family->name);
    bool same_file = strcmp(known->place.file, family->place.file) == 0;
    if (!override || same_file)
        return st_loader_fail(
            loader, family->place, ST_ERR_NAME, "'%s' is already defined at %s:%d" ST_EXPECTED "%s",
            family->name, known->place.file, known->place.line,
            same_file ? "another name"
                      : "another name, or 'override: true' to replace what an included sheet "
                        "defines");
    return (known->axis_count == family->axis_count &&
            memcmp(known->axes, family->axes, known->axis_count * sizeof known->axes[0]) == 0) ||
           st_loader_fail(loader, family->place, ST_ERR_NAME,
                          "'%s' is over something else at %s:%d" ST_EXPECTED "'per' as there",
                          family->name, known->place.file, known->place.line);
}

/* A family that overrides another takes its slot. */
static bool keep_family(st_loader *loader, const st_family *family)
{
    st_sheet *sheet = loader->sheet;
    size_t index = 0;
    if (st_names_get(&sheet->family_names, family->name, &index)) {
        sheet->families[index] = family;
        return true;
    }
    return (ST_APPEND(loader->arena, sheet->families, sheet->family_count, family) &&
            st_names_put(&sheet->family_names, family->name, sheet->family_count - 1)) ||
           st_loader_out_of_memory(loader);
}

static bool has_zero(st_loader *loader, const st_family *family, const st_type *type)
{
    for (size_t i = 0; i < family->member_count && type->kind == ST_TYPE_ENUM; i++) {
        if (family->wheres[i] != NULL)
            return st_loader_fail(loader, family->place, ST_ERR_VALUE,
                                  "a value of an enumeration always exists" ST_EXPECTED
                                  "a family of numbers or truth values beside 'where'");
    }
    return true;
}

static void place_members(st_loader *loader, const st_family *family, const st_sheet_cell *texts,
                          st_formula *const *formulas, bool override)
{
    for (size_t i = 0; i < family->member_count; i++) {
        const char *name = st_family_member_name(family, i, loader->arena);
        const st_formula *formula = formulas[i];
        if (name == NULL) {
            (void)st_loader_out_of_memory(loader);
            return;
        }
        if (formula == NULL) {
            (void)st_loader_fail(loader, family->place, ST_ERR_NAME,
                                 "'%s' has no formula" ST_EXPECTED
                                 "one text for all members, or one for each in 'is'",
                                 name);
            return;
        }
        st_symbol_entry *entry = st_loader_place(loader, name, family->place, override);
        if (entry == NULL)
            return;
        *entry = (st_symbol_entry){.is_cell = true,
                                   .cell = *texts,
                                   .formula = *formula,
                                   .member = {.family = family, .index = i}};
        entry->cell.name = name;
        /* The text with {stage} replaced by the member's value. */
        const char *text = texts->doc;
        st_buffer made = {0};
        const char *from = text;
        for (const char *open = strchr(text, '{'); open != NULL; open = strchr(open + 1, '{')) {
            for (size_t j = 0; j < family->axis_count; j++) {
                size_t length = strlen(family->axes[j]->name);
                if (strncmp(open + 1, family->axes[j]->name, length) == 0 &&
                    open[length + 1] == '}') {
                    st_buffer_append(&made, from, (size_t)(open - from));
                    st_buffer_text(&made, family->axes[j]->values[st_family_value(family, i, j)]);
                    from = open + length + 2;
                }
            }
        }
        const char *copy = text;
        if (from != text) {
            st_buffer_text(&made, from);
            copy = made.failed ? NULL : st_arena_copy(loader->arena, made.data, made.length);
        }
        st_buffer_free(&made);
        if (copy == NULL)
            (void)st_loader_out_of_memory(loader);
        entry->cell.doc = copy == NULL ? "" : copy;
        entry->cell.formula = formula->text;
        entry->cell.formula_place = st_formula_place_at(formula, 0);
        entry->formula.origin = formula;
    }
}

void st_loader_family(st_loader *loader, const char *name, st_place place, const st_yaml_node *node)
{
    static const char *const keys[] = {"per", "where", "unit", "is",
                                       "doc", "cite",  "open", "override"};
    const char *what = st_loader_describe(loader, "cell", name);
    st_family *family = st_arena_alloc(loader->arena, 1, sizeof *family);
    if (family == NULL) {
        (void)st_loader_out_of_memory(loader);
        return;
    }
    if (!st_loader_name(loader, name, place, "a cell"))
        return;
    *family = (st_family){.name = name, .place = place};
    st_loader_check_keys(loader, node, keys, ST_COUNT(keys), what);
    st_sheet_cell texts = {.place = place};
    bool typed = st_loader_cell_texts(loader, node, what, &texts);
    bool override = st_loader_flag(loader, node, "override", what);
    if (st_yaml_get(node, "is") == NULL) {
        (void)st_loader_fail(loader, place, ST_ERR_NAME,
                             "%s has no key 'is'" ST_EXPECTED "its formula, e.g. 'is: V/C'", what);
        return;
    }
    if (!read_axes(loader, st_yaml_get(node, "per"), family) ||
        !may_stand(loader, family, override))
        return;
    st_formula **wheres = read_templates(loader, st_yaml_get(node, "where"), family);
    st_formula **formulas = read_templates(loader, st_yaml_get(node, "is"), family);
    if (wheres == NULL || formulas == NULL)
        return;
    family->wheres = wheres;
    for (size_t i = 0; i < family->member_count; i++) {
        /* Without a tree its error is reported: the sheet will not be used. */
        bool faulty = wheres[i] != NULL && wheres[i]->expr == NULL;
        wheres[i] = faulty ? NULL : wheres[i];
        if (!typed && formulas[i] != NULL)
            formulas[i]->expr = NULL;
    }
    if (has_zero(loader, family, &texts.type) && keep_family(loader, family))
        place_members(loader, family, &texts, formulas, override);
}

/* --- one member ------------------------------------------------------------------------------ */

void st_loader_member(st_loader *loader, const char *name, st_place place, const st_yaml_node *node)
{
    static const char *const keys[] = {"unit", "is", "doc", "cite", "open", "override"};
    const char *plain = "";
    char *text = st_arena_copy(loader->arena, name, strlen(name));
    size_t count = 0;
    for (const char *c = name; text != NULL && *c != '\0'; c++)
        if (*c != ' ')
            text[count++] = *c;
    if (text == NULL) {
        (void)st_loader_out_of_memory(loader);
    } else {
        text[count] = '\0';
        plain = text;
    }
    const char *what = st_loader_describe(loader, "cell", name);
    const st_family *family = st_sheet_family(loader->sheet, plain);
    size_t index = 0;
    if (family == NULL || st_family_find(family, plain) == SIZE_MAX ||
        !st_names_get(&loader->entry_names, plain, &index)) {
        (void)st_loader_fail(
            loader, place, ST_ERR_NAME,
            "'%.60s' overrides nothing" ST_EXPECTED
            "a member of a family of an included sheet; a family is defined with 'per'",
            name);
        return;
    }
    const st_yaml_node *is =
        node->kind == ST_YAML_MAP ? st_loader_get(loader, node, "is", ST_YAML_SCALAR, what) : NULL;
    if (is == NULL) {
        (void)st_loader_fail(
            loader, node->place, ST_ERR_NAME,
            "%s has no key 'is'" ST_EXPECTED "its formula, e.g. {override: true, is: V/C}", what);
        return;
    }
    st_loader_check_keys(loader, node, keys, ST_COUNT(keys), what);
    const st_symbol_entry *known = &loader->entries[index];
    st_symbol_entry read = {
        .is_cell = true, .cell = {.name = plain, .place = place}, .member = known->member};
    bool typed = st_loader_cell_texts(loader, node, what, &read.cell);
    if (st_yaml_get(node, "unit") == NULL)
        read.cell.type = known->cell.type;
    read.cell.doc = st_yaml_get(node, "doc") == NULL ? known->cell.doc : read.cell.doc;
    read.cell.cite = st_yaml_get(node, "cite") == NULL ? known->cell.cite : read.cell.cite;
    st_loader_cell_formula(loader, is, typed, &read);
    st_symbol_entry *entry =
        st_loader_place(loader, plain, place, st_loader_flag(loader, node, "override", what));
    if (entry != NULL)
        *entry = read;
}

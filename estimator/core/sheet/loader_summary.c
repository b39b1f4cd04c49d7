/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of a sheet: read with its file, checked when all cells are known. */
#include "base/dimension.h"
#include "sheet/loader.h"

#include <string.h>

enum { MOST_PARTS = 32, MOST_BARS = 8 };

/* "at {price} per GPU": the cell in braces; empty braces are the number's own place. */
static const char *inner_name(const st_loader *loader, const char *label)
{
    const char *begin = strchr(label, '{');
    while (begin != NULL && begin[1] == '}')
        begin = strchr(begin + 1, '{');
    const char *end = begin != NULL ? strchr(begin, '}') : NULL;
    return end != NULL ? st_arena_printf(loader->arena, "%.*s", (int)(end - begin - 1), begin + 1)
                       : NULL;
}

/* "tokens: tokens", or {cell: tokens, given: tokens_given, otherwise: 20 per parameter}. */
static bool read_answer(st_loader *loader, const st_yaml_node *map, size_t index,
                        st_summary_part *part)
{
    static const char *const keys[] = {"cell", "given", "otherwise"};
    const st_yaml_node *node = map->items[index];
    const char *what = "a number of the answer";
    *part = (st_summary_part){.label = map->keys[index],
                              .place = node->place,
                              .inner = inner_name(loader, map->keys[index])};
    if (node->kind == ST_YAML_SCALAR && node->length > 0) {
        part->cell = node->text;
        return true;
    }
    if (node->kind == ST_YAML_MAP) {
        st_loader_check_keys(loader, node, keys, 3, what);
        part->cell = st_loader_text(loader, node, "cell", what);
        part->given = st_loader_text(loader, node, "given", what);
        part->otherwise = st_loader_text(loader, node, "otherwise", what);
    }
    return (part->cell != NULL && part->cell[0] != '\0' && part->given[0] != '\0') ||
           st_loader_fail(loader, node->place, ST_ERR_VALUE,
                          "%s is a cell" ST_EXPECTED
                          "its name, or {cell: CELL, given: INPUT, otherwise: TEXT}",
                          what);
}

/* "tensor parallel: time_tp", or {exposed: time_tp, hidden: hidden_tp}. */
static bool read_part(st_loader *loader, const st_yaml_node *map, size_t index,
                      st_summary_part *part)
{
    static const char *const keys[] = {"exposed", "hidden"};
    const st_yaml_node *node = map->items[index];
    const char *what = "a part of a bar";
    *part = (st_summary_part){.label = map->keys[index], .place = node->place};
    if (node->kind == ST_YAML_SCALAR && node->length > 0) {
        part->cell = node->text;
        return true;
    }
    if (node->kind != ST_YAML_MAP)
        return st_loader_fail(
            loader, node->place, ST_ERR_VALUE,
            "%s is a cell" ST_EXPECTED "its name, or {exposed: CELL, hidden: CELL}", what);
    st_loader_check_keys(loader, node, keys, 2, what);
    const char *exposed = st_loader_text(loader, node, "exposed", what);
    const char *hidden = st_loader_text(loader, node, "hidden", what);
    part->cell = exposed;
    part->hidden = hidden[0] != '\0' ? hidden : NULL;
    return exposed[0] != '\0' ||
           st_loader_fail(loader, node->place, ST_ERR_NAME,
                          "%s requires 'exposed'" ST_EXPECTED "{exposed: CELL, hidden: CELL}",
                          what);
}

typedef bool part_reader(st_loader *loader, const st_yaml_node *map, size_t index,
                         st_summary_part *part);

/* Adds the entries of a map, as those of a line, behind those of the lines before. */
static void read_parts(st_loader *loader, const st_yaml_node *map, part_reader *reader,
                       st_summary_part **parts, size_t *count)
{
    size_t line = *count > 0 ? (*parts)[*count - 1].line + 1 : 0;
    if (map->count + *count > MOST_PARTS) {
        (void)st_loader_fail(loader, map->place, ST_ERR_LIMIT,
                             "the summary has too many cells" ST_EXPECTED "at most %d", MOST_PARTS);
        return;
    }
    if (*parts == NULL)
        *parts = st_arena_alloc(loader->arena, MOST_PARTS, sizeof **parts);
    if (*parts == NULL)
        (void)st_loader_out_of_memory(loader);
    for (size_t i = 0; *parts != NULL && i < map->count; i++)
        if (reader(loader, map, i, &(*parts)[*count])) {
            (*parts)[*count].line = line;
            (*count)++;
        }
}

static const char *text_or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

static void read_bar(st_loader *loader, const st_yaml_node *node)
{
    static const char *const keys[] = {"bar", "of", "limit", "member", "parts"};
    const char *what = "a bar of the summary";
    if (node->kind != ST_YAML_MAP) {
        (void)st_loader_fail(
            loader, node->place, ST_ERR_VALUE,
            "%s must be a map" ST_EXPECTED "{bar: TITLE, of: CELL, parts: {LABEL: CELL}}", what);
        return;
    }
    st_loader_check_keys(loader, node, keys, sizeof keys / sizeof keys[0], what);
    const char *title = st_loader_text(loader, node, "bar", what);
    const char *total = st_loader_text(loader, node, "of", what);
    const st_yaml_node *parts = st_loader_get(loader, node, "parts", ST_YAML_MAP, what);
    if (title[0] == '\0' || total[0] == '\0' || parts == NULL) {
        (void)st_loader_fail(loader, node->place, ST_ERR_NAME,
                             "%s requires 'bar', 'of' and 'parts'" ST_EXPECTED
                             "{bar: TITLE, of: CELL, parts: {LABEL: CELL}}",
                             what);
        return;
    }
    /* The place of a bar: that of an included sheet's bar of the same title, or a new one. */
    st_summary_bar *bar;
    const st_place place = node->place;
    st_summary *summary = &loader->sheet->summary;
    size_t known = ST_FIND(summary->bars, summary->bar_count, title, title);
    if (known < summary->bar_count) {
        bar = &summary->bars[known];
    } else {
        if (summary->bars == NULL)
            summary->bars = st_arena_alloc(loader->arena, MOST_BARS, sizeof *summary->bars);
        if (summary->bars == NULL) {
            (void)st_loader_out_of_memory(loader);
            bar = NULL;
        } else if (summary->bar_count == MOST_BARS) {
            (void)st_loader_fail(loader, place, ST_ERR_LIMIT,
                                 "the summary has too many bars" ST_EXPECTED "at most %d",
                                 MOST_BARS);
            bar = NULL;
        } else {
            bar = &summary->bars[summary->bar_count++];
        }
    }
    if (bar == NULL)
        return;
    *bar = (st_summary_bar){.title = title,
                            .total = total,
                            .limit = text_or_null(st_loader_text(loader, node, "limit", what)),
                            .member = text_or_null(st_loader_text(loader, node, "member", what)),
                            .place = node->place};
    read_parts(loader, parts, read_part, &bar->parts, &bar->count);
}

/* Adds names of inputs or families to what rests on measurements. */
static void read_names(const st_yaml_node *list, bool inputs, st_summary_bar *rest)
{
    for (size_t i = 0; list != NULL && i < list->count && rest->count < MOST_PARTS; i++) {
        const st_yaml_node *node = list->items[i];
        const char *name = node->kind == ST_YAML_SCALAR ? node->text : "";
        rest->parts[rest->count++] = (st_summary_part){
            .given = inputs ? name : NULL, .cell = inputs ? NULL : name, .place = node->place};
    }
}

static void read_rest(st_loader *loader, const st_yaml_node *node)
{
    static const char *const keys[] = {"rests", "on", "sizes"};
    const char *what = "what rests on measurements";
    st_summary *summary = &loader->sheet->summary;
    st_summary_bar rest = {.place = node->place};
    if (summary->rests == NULL)
        summary->rests = st_arena_alloc(loader->arena, MOST_BARS, sizeof *summary->rests);
    rest.parts = st_arena_alloc(loader->arena, MOST_PARTS, sizeof *rest.parts);
    if (summary->rests == NULL || rest.parts == NULL) {
        (void)st_loader_out_of_memory(loader);
        return;
    }
    st_loader_check_keys(loader, node, keys, 3, what);
    rest.title = st_loader_text(loader, node, "rests", what);
    read_names(st_loader_get(loader, node, "sizes", ST_YAML_LIST, what), false, &rest);
    read_names(st_loader_get(loader, node, "on", ST_YAML_LIST, what), true, &rest);
    if (rest.title[0] == '\0' || rest.count == 0 || rest.count == MOST_PARTS ||
        summary->rest_count == MOST_BARS)
        (void)st_loader_fail(loader, node->place, ST_ERR_VALUE,
                             "%s has a name, and inputs or sizes" ST_EXPECTED
                             "at most %d of {rests: NOUN, on: [INPUT], sizes: [FAMILY]}, each of "
                             "fewer than %d names",
                             what, MOST_BARS, MOST_PARTS);
    else
        summary->rests[summary->rest_count++] = rest;
}

void st_loader_summary(st_loader *loader, const st_yaml_node *map)
{
    static const char *const keys[] = {"answer", "bars", "rests"};
    const char *what = "the summary";
    st_summary *summary = &loader->sheet->summary;
    st_loader_check_keys(loader, map, keys, 3, what);
    const st_yaml_node *lines = st_yaml_get(map, "answer");
    const st_yaml_node *bars = st_loader_get(loader, map, "bars", ST_YAML_LIST, what);
    const st_yaml_node *rests = st_loader_get(loader, map, "rests", ST_YAML_LIST, what);
    bool many = lines != NULL && lines->kind == ST_YAML_LIST;
    if (lines != NULL) {
        summary->answer = NULL; /* an included sheet's */
        summary->answer_count = 0;
    }
    for (size_t i = 0; lines != NULL && i < (many ? lines->count : 1); i++) {
        const st_yaml_node *line = many ? lines->items[i] : lines;
        if (line->kind == ST_YAML_MAP)
            read_parts(loader, line, read_answer, &summary->answer, &summary->answer_count);
        else
            (void)st_loader_fail(loader, line->place, ST_ERR_VALUE,
                                 "the answer must be a map" ST_EXPECTED
                                 "{WORDS: CELL}, or a list of them, one for each line");
    }
    for (size_t i = 0; bars != NULL && i < bars->count; i++)
        read_bar(loader, bars->items[i]);
    for (size_t i = 0; rests != NULL && i < rests->count; i++)
        read_rest(loader, rests->items[i]);
}

/* --- when all cells are known ---------------------------------------------------------------- */

const st_summary *st_sheet_summary(const st_sheet *sheet)
{
    return &sheet->summary;
}

static const st_family *family_named(const st_sheet *sheet, const char *name)
{
    const st_family *family =
        name != NULL && strchr(name, '[') == NULL ? st_sheet_family(sheet, name) : NULL;
    return family != NULL && family->axis_count == 1 ? family : NULL;
}

const char *st_summary_cell(const st_sheet *sheet, const char *name, size_t value, st_arena *arena)
{
    const st_family *family = family_named(sheet, name);
    for (size_t i = 0; family != NULL && i < family->member_count; i++)
        if (st_family_value(family, i, 0) == value)
            return st_family_member_name(family, i, arena);
    return family != NULL ? NULL : name;
}

const st_enum *st_summary_members(const st_sheet *sheet, const st_summary_bar *bar)
{
    for (size_t i = 0; i < bar->count; i++) {
        const st_family *family = family_named(sheet, bar->parts[i].cell);
        if (family != NULL)
            return family->axes[0];
    }
    return NULL;
}

/* The type of a cell, of an input, which then is of use, or of a family's members. */
static const st_type *type_of(st_sheet *sheet, const char *name, st_arena *arena)
{
    size_t index = 0;
    const st_family *family = family_named(sheet, name);
    const char *cell = family != NULL ? st_family_member_name(family, 0, arena) : name;
    if (cell != NULL && st_names_get(&sheet->cell_names, cell, &index))
        return &sheet->cells[index].type;
    if (!st_names_get(&sheet->input_names, name, &index))
        return NULL;
    sheet->inputs[index].used = true;
    return &sheet->inputs[index].type;
}

/* A name, and what its cell must be like. */
typedef struct wanted {
    const char *name;
    st_place place;
    const st_type *like; /* of this dimension; NULL: any number */
    bool any;            /* or a name or truth value */
} wanted;

static st_status check_name(st_sheet *sheet, const wanted *cell, st_arena *arena, st_errors *errors)
{
    const st_type *type = cell->name != NULL ? type_of(sheet, cell->name, arena) : NULL;
    if (cell->name == NULL)
        return ST_OK;
    if (type == NULL)
        return st_fail(errors, ST_ERR_NAME, cell->place,
                       "unknown cell '%.60s' in the summary" ST_HINT "%s", cell->name,
                       st_or_none(st_sheet_nearest(sheet, cell->name)));
    if (type->kind != ST_TYPE_NUMBER && !cell->any)
        return st_fail(errors, ST_ERR_UNIT, cell->place, "'%.60s' in the summary is not a number",
                       cell->name);
    if (cell->like != NULL && !st_dimension_equal(type->unit.dimension, cell->like->unit.dimension))
        return st_fail(errors, ST_ERR_UNIT, cell->place,
                       "a part of the bar has the wrong unit" ST_FOUND "'%.60s' in %s" ST_EXPECTED
                       "%s, as the total",
                       cell->name, type->unit.text, cell->like->unit.text);
    return ST_OK;
}

/* Members of families need a cell that says which of them is meant. */
static st_status check_member(st_sheet *sheet, const st_summary_bar *bar, st_arena *arena,
                              st_errors *errors)
{
    const st_enum *members = st_summary_members(sheet, bar);
    const st_type *type = bar->member != NULL ? type_of(sheet, bar->member, arena) : NULL;
    if (members == NULL && bar->member == NULL)
        return ST_OK;
    if (members != NULL && type != NULL && type->kind == ST_TYPE_ENUM &&
        type->enumeration == members)
        return ST_OK;
    return st_fail(errors, ST_ERR_VALUE, bar->place,
                   "a bar with families requires 'member'" ST_EXPECTED
                   "a cell whose value is of their enumeration%s%s",
                   members != NULL ? ", " : "", members != NULL ? members->name : "");
}

static st_status check_bar(st_sheet *sheet, const st_summary_bar *bar, st_arena *arena,
                           st_errors *errors)
{
    const st_type *total = type_of(sheet, bar->total, arena);
    st_status status =
        check_name(sheet, &(wanted){.name = bar->total, .place = bar->place}, arena, errors);
    if (status != ST_OK)
        return status;
    st_note(&status,
            check_name(sheet, &(wanted){bar->limit, bar->place, total, false}, arena, errors));
    for (size_t i = 0; i < bar->count; i++) {
        const st_summary_part *part = &bar->parts[i];
        const wanted cells[] = {{part->cell, part->place, total, false},
                                {part->hidden, part->place, total, false}};
        st_note(&status, check_name(sheet, &cells[0], arena, errors));
        st_note(&status, check_name(sheet, &cells[1], arena, errors));
    }
    st_note(&status, check_member(sheet, bar, arena, errors));
    return status;
}

/* Inputs have to be known, and sizes to be families over one enumeration. */
static st_status check_rest(st_sheet *sheet, const st_summary_bar *rest, st_arena *arena,
                            st_errors *errors)
{
    st_status status = ST_OK;
    const st_enum *members = st_summary_members(sheet, rest);
    for (size_t i = 0; i < rest->count; i++) {
        const st_summary_part *part = &rest->parts[i];
        const char *name = part->cell != NULL ? part->cell : part->given;
        const st_family *family = part->cell != NULL ? family_named(sheet, part->cell) : NULL;
        bool known = part->cell != NULL ? family != NULL && family->axes[0] == members
                                        : st_sheet_find_input(sheet, part->given) != NULL;
        if (known) {
            (void)type_of(sheet, name, arena);
        } else {
            const char *nearest = st_sheet_nearest(sheet, name);
            st_note(&status,
                    st_fail(errors, ST_ERR_NAME, part->place,
                            "'%.60s' in the summary is not %s" ST_HINT "%s", name,
                            part->cell != NULL ? "a family over one enumeration" : "an input",
                            nearest == NULL || strcmp(nearest, name) == 0 ? "" : nearest));
        }
    }
    return status;
}

st_status st_sheet_check_summary(st_sheet *sheet, st_arena *arena, st_errors *errors)
{
    st_status status = ST_OK;
    const st_summary *summary = &sheet->summary;
    for (size_t i = 0; i < summary->answer_count; i++) {
        const st_summary_part *part = &summary->answer[i];
        const wanted cells[] = {{.name = part->cell, .place = part->place},
                                {.name = part->inner, .place = part->place, .any = true},
                                {.name = part->given, .place = part->place, .any = true}};
        for (size_t k = 0; k < sizeof cells / sizeof cells[0]; k++)
            st_note(&status, check_name(sheet, &cells[k], arena, errors));
        if (part->given != NULL && st_sheet_find_input(sheet, part->given) == NULL)
            st_note(&status, st_fail(errors, ST_ERR_NAME, part->place,
                                     "'given: %.60s' in the summary is not an input" ST_EXPECTED
                                     "the input by which a user sets '%.60s'",
                                     part->given, part->cell));
    }
    for (size_t i = 0; i < summary->bar_count; i++)
        st_note(&status, check_bar(sheet, &summary->bars[i], arena, errors));
    for (size_t i = 0; i < summary->rest_count; i++)
        st_note(&status, check_rest(sheet, &summary->rests[i], arena, errors));
    return status;
}

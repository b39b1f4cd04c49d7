/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and the templates of their messages. */
#include "sheet/loader.h"

#include <string.h>

enum { MAX_CHECKS = 1000, MAX_PARTS = 64 };

/* The expression between braces; `open` is the place of '{', *end is set after '}'. */
static bool read_value(st_loader *loader, const st_yaml_node *node, size_t open, size_t *end,
                       st_formula *formula)
{
    const char *close = strchr(node->text + open, '}');
    if (close == NULL)
        return st_loader_fail(loader, st_yaml_place_at(node, open), ST_ERR_SYNTAX,
                              "unclosed brace in the message" ST_EXPECTED
                              "'}', or '{{' for a literal brace");
    size_t start = open + 1;
    size_t length = (size_t)(close - node->text) - start;
    *formula = (st_formula){.text = st_arena_copy(loader->arena, node->text + start, length),
                            .length = length,
                            .scalar = node,
                            .scalar_offset = start,
                            .place = node->place};
    *end = start + length + 1;
    if (formula->text == NULL)
        return st_loader_out_of_memory(loader);
    return st_expr_parse(formula, loader->arena, loader->errors) == ST_OK;
}

static bool read_message(st_loader *loader, const st_yaml_node *node, st_message *message)
{
    /* A text before, and one behind each value. */
    size_t count = 2;
    for (const char *at = strchr(node->text, '{'); at != NULL; at = strchr(at + 1, '{'))
        count += 2;
    message->parts = st_arena_alloc(loader->arena, count < MAX_PARTS ? count : MAX_PARTS,
                                    sizeof(*message->parts));
    if (message->parts == NULL)
        return st_loader_out_of_memory(loader);
    for (const char *open = strstr(node->text, "[["); open != NULL; open = strstr(open + 2, "[["))
        if (strstr(open, "]]") == NULL)
            return st_loader_fail(loader, st_yaml_place_at(node, (size_t)(open - node->text)),
                                  ST_ERR_SYNTAX,
                                  "'[[' in the message is not closed" ST_EXPECTED
                                  "']]' behind the part that zeros leave out");
    size_t position = 0;
    while (position < node->length) {
        if (message->count + 1 >= MAX_PARTS)
            return st_loader_fail(loader, node->place, ST_ERR_LIMIT,
                                  "the message has too many values" ST_EXPECTED "at most 31");
        st_message_part *part = &message->parts[message->count++];
        /* Text of a template from `start` up to a single brace, with {{ and }} made one. */
        const size_t start = position;
        char *text = st_arena_copy(loader->arena, node->text + start, node->length - start);
        size_t length = 0;
        size_t i = start;
        while (text != NULL && i < node->length) {
            char c = node->text[i];
            bool brace = c == '{' || c == '}';
            if (brace && node->text[i + 1] != c)
                break;
            text[length++] = c;
            i += brace ? 2 : 1;
        }
        if (text != NULL)
            text[length] = '\0';
        position = i;
        part->text = text;
        if (part->text == NULL)
            return st_loader_out_of_memory(loader);
        if (position == node->length)
            break;
        if (node->text[position] == '}')
            return st_loader_fail(loader, st_yaml_place_at(node, position), ST_ERR_SYNTAX,
                                  "unmatched closing brace in the message" ST_EXPECTED
                                  "'}}' for a literal brace");
        part = &message->parts[message->count++];
        part->text = "";
        if (!read_value(loader, node, position, &position, &part->formula))
            return false;
    }
    return true;
}

const char *st_check_level(const st_sheet_check *check)
{
    return check->warning ? "warning" : check->limit ? "limit" : "error";
}

void st_loader_checks(st_loader *loader, const st_yaml_node *list)
{
    if (list->count > MAX_CHECKS) {
        (void)st_loader_fail(loader, list->place, ST_ERR_LIMIT,
                             "the sheet has too many checks" ST_EXPECTED "at most 1000");
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        const st_yaml_node *node = list->items[i];
        static const char *const keys[] = {"that", "else", "level"};
        const char *what = "a check";
        st_sheet *sheet = loader->sheet;
        if (node->kind != ST_YAML_MAP) {
            (void)st_loader_fail(loader, node->place, ST_ERR_VALUE,
                                 "a check must be a map" ST_EXPECTED
                                 "{that: CONDITION, else: MESSAGE}");
            continue;
        }
        st_loader_check_keys(loader, node, keys, ST_COUNT(keys), what);
        const st_yaml_node *that = st_loader_get(loader, node, "that", ST_YAML_SCALAR, what);
        const st_yaml_node *message = st_loader_get(loader, node, "else", ST_YAML_SCALAR, what);
        st_sheet_check check = {.place = node->place};
        /* Which of its levels a check has; the first where it names none. */
        const char *level = st_loader_text(loader, node, "level", what);
        check.warning = strcmp(level, "warning") == 0;
        check.limit = strcmp(level, "limit") == 0;
        if (level[0] != '\0' && strcmp(level, "error") != 0 && !check.warning && !check.limit)
            (void)st_loader_fail(
                loader, st_yaml_get(node, "level")->place, ST_ERR_VALUE,
                "unknown check level '%.60s'" ST_EXPECTED "error, limit or warning", level);
        if (st_yaml_get(node, "that") == NULL || st_yaml_get(node, "else") == NULL)
            (void)st_loader_fail(loader, node->place, ST_ERR_NAME,
                                 "a check requires 'that' and 'else'" ST_EXPECTED
                                 "{that: CONDITION, else: MESSAGE}");
        if (that == NULL || message == NULL)
            continue;
        if (message->length == 0)
            (void)st_loader_fail(loader, message->place, ST_ERR_VALUE,
                                 "the check's message is empty" ST_EXPECTED
                                 "a sentence that describes the problem");
        st_formula formula = {.place = node->place};
        st_message parts = {0};
        bool good = st_loader_formula(loader, that, &formula);
        good = read_message(loader, message, &parts) && good;
        if (!good)
            continue;
        check.formula = formula.text;
        check.message = message->text;
        check.expr = formula.expr;
        check.place = st_formula_place_at(&formula, 0);
        size_t formulas = sheet->check_count;
        size_t messages = formulas;
        if (!ST_APPEND(loader->arena, sheet->check_formulas, formulas, formula) ||
            !ST_APPEND(loader->arena, sheet->messages, messages, parts) ||
            !ST_APPEND(loader->arena, sheet->checks, sheet->check_count, check))
            (void)st_loader_out_of_memory(loader);
    }
}

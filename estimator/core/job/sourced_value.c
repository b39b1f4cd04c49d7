/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves of a job: a scalar, or a map that says where its value comes from. */
#include "job/sourced_value.h"

#include "base/lists.h"
#include "base/utf8.h"
#include "job/files.h"

#include <string.h>

enum { MAX_SOURCE_BYTES = 4096 };

static bool is_nothing(const st_yaml_node *node)
{
    static const char *const nulls[] = {"~", "null", "Null", "NULL"};
    if (node->kind != ST_YAML_SCALAR || node->length == 0)
        return node->kind == ST_YAML_SCALAR;
    return !node->quoted && st_has_text(nulls, ST_COUNT(nulls), node->text);
}

bool st_sourced_is_scalar(const st_yaml_node *node)
{
    return node->kind == ST_YAML_SCALAR && !is_nothing(node);
}

void st_sourced_refuse(st_loader *loader, const char *path, const st_yaml_node *node,
                       const char *expected)
{
    st_errors *errors = loader->errors;
    bool nothing = is_nothing(node);
    ST_NOTE(loader, ST_ERR_VALUE, node->place, "%s" ST_FOUND "%s" ST_EXPECTED "%s",
            st_or_none(nothing ? st_errors_text(errors, "%s has no value", path)
                               : st_errors_text(errors, "wrong value for %s", path)),
            nothing ? "" : st_yaml_describe(node, errors), st_or_none(expected));
}

const char *st_sourced_source(st_loader *loader, const char *path, const st_yaml_node *node)
{
    if (st_sourced_is_scalar(node)) {
        /* The text as one line: blanks, line ends and controls become single blanks. */
        size_t length = st_utf8_cut(node->text, node->length, MAX_SOURCE_BYTES);
        char *line = st_arena_alloc(loader->arena, length + 1, 1);
        size_t used = 0;
        if (line == NULL) {
            st_note(&loader->status, st_out_of_memory(loader->errors));
            return NULL;
        }
        for (size_t i = 0; i < length;) {
            uint32_t code = 0;
            if (node->text[i] > ' ' && node->text[i] < '\x7f') { /* nearly all there is */
                line[used++] = node->text[i++];
                continue;
            }
            size_t size = st_utf8_decode(node->text + i, length - i, &code);
            bool blank = size == 0 || code == ' ' || st_utf8_is_control(code);
            if (!blank)
                memcpy(line + used, node->text + i, size);
            else if (used > 0 && line[used - 1] != ' ')
                line[used] = ' ';
            used += !blank ? size : line[used] == ' ' ? 1 : 0;
            i += size > 0 ? size : 1;
        }
        if (used > 0 && line[used - 1] == ' ')
            used--;
        line[used] = '\0';
        return line;
    }
    st_sourced_refuse(loader, path, node, "a text");
    return NULL;
}

static bool read_assumption(st_loader *loader, const char *path, const st_yaml_node *node)
{
    double truth = 0;
    if (!st_sourced_is_scalar(node)) {
        st_sourced_refuse(loader, path, node, "true or false");
        return false;
    }
    const st_value_text text = {node->text, node->length, node->quoted, node->place};
    st_note(&loader->status, st_value_parse_bool(path, &text, &truth, loader->errors));
    return truth > 0;
}

static const char *expectation(const st_key *key, char *text, size_t size)
{
    return key != NULL ? st_key_expectation(key, text, size)
                       : "a number, with a unit where the sheet's input has one";
}

bool st_sourced_read(st_loader *loader, const char *path, const st_key *key,
                     const st_yaml_node *node, st_sourced_value *leaf)
{
    char expected[ST_EXPECTATION_TEXT];
    leaf->value = node->kind == ST_YAML_MAP ? NULL : node;
    for (size_t i = 0; i < node->count && node->kind == ST_YAML_MAP; i++) {
        static const char *const known[] = {"value", "source", "assumption"};
        const char *part = node->keys[i];
        const st_yaml_node *of = node->items[i];
        if (strcmp(part, "value") == 0)
            leaf->value = of;
        else if (strcmp(part, "source") == 0)
            leaf->source = st_sourced_source(
                loader,
                st_sourced_is_scalar(of) ? ""
                                         : st_errors_text(loader->errors, "source of %s", path),
                of);
        else if (strcmp(part, "assumption") == 0)
            leaf->assumption = read_assumption(
                loader, st_errors_text(loader->errors, "assumption of %s", path), of);
        else
            ST_NOTE(loader, ST_ERR_NAME, node->key_places[i],
                    "unknown key '%s' in %s" ST_EXPECTED "value, source or assumption" ST_HINT "%s",
                    part, path, st_errors_nearest(loader->errors, part, known, ST_COUNT(known)));
    }
    if (leaf->value != NULL && st_sourced_is_scalar(leaf->value))
        return true;
    if (leaf->value != NULL)
        st_sourced_refuse(loader, path, leaf->value, expectation(key, expected, sizeof expected));
    else
        ST_NOTE(loader, ST_ERR_NAME, node->place, "%s has no 'value'" ST_EXPECTED "%s", path,
                expectation(key, expected, sizeof expected));
    return false;
}

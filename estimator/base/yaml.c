/* SPDX-License-Identifier: Apache-2.0 */
/* Reading YAML: feeds libyaml's events to the tree and puts its syntax errors into words. */
#include "base/yaml.h"

#include "base/chars.h"
#include "base/utf8.h"
#include "base/yaml_tree.h"

#include <stdlib.h>
#include <string.h>

typedef struct reader {
    yaml_parser_t parser;
    st_yaml_tree tree;
    size_t document_count;
} reader;

static void take_event(reader *in, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (in->document_count++ > 0)
            st_yaml_tree_stop(&in->tree,
                              &(st_error){.status = ST_ERR_SYNTAX,
                                          .place = st_yaml_tree_place(&in->tree, event->start_mark),
                                          .message = "a second document starts here",
                                          .expected = "one document in a file"});
        break;
    case YAML_ALIAS_EVENT:
        st_yaml_tree_alias(&in->tree, event);
        break;
    case YAML_SCALAR_EVENT:
        st_yaml_tree_scalar(&in->tree, event);
        break;
    case YAML_SEQUENCE_START_EVENT:
        st_yaml_tree_open(&in->tree, event, ST_YAML_LIST);
        break;
    case YAML_MAPPING_START_EVENT:
        st_yaml_tree_open(&in->tree, event, ST_YAML_MAP);
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        st_yaml_tree_close(&in->tree);
        break;
    case YAML_STREAM_END_EVENT:
        in->tree.is_done = true;
        break;
    default:
        break;
    }
}

/* What most likely helps against a syntax error; NULL where nothing is likely. */
static const char *remedy_for(const char *problem)
{
    static const struct {
        const char *problem; /* part of libyaml's words */
        const char *remedy;
    } remedies[] = {
        {"mapping values are not allowed",
         "quote text that contains ': ', and check the indentation"},
        {"cannot start any token", "quote the text"},
        {"alphabetic or numeric", "quote text that begins with '*' or '&'"},
        {"did not find expected key", "check the indentation"},
        {"did not find expected ',' or", "close it, or quote text with commas, brackets or braces"},
        {"could not find expected ':'", "write 'key: value'"},
        {"<document start>", "nothing may follow a complete value; quote it as a whole"},
    };
    for (size_t i = 0; i < ST_COUNT(remedies); i++)
        if (strstr(problem, remedies[i].problem) != NULL)
            return remedies[i].remedy;
    return NULL;
}

/* At the end of a file libyaml reports a further line. */
static st_place problem_place(reader *in)
{
    const st_yaml_source *source = &in->tree.source;
    bool is_end = st_yaml_tree_byte(&in->tree, in->parser.problem_mark) == source->length;
    return is_end ? st_yaml_source_place(source, source->length)
                  : st_yaml_tree_place(&in->tree, in->parser.problem_mark);
}

/* The tree points into the file's name and text for as long as the arena lives. */
static bool copy_source(st_yaml_source *source, st_arena *arena)
{
    source->text = st_arena_copy(arena, source->text, source->length);
    if (source->file != NULL) {
        source->file = st_arena_copy(arena, source->file, strlen(source->file));
        return source->text != NULL && source->file != NULL;
    }
    return source->text != NULL;
}

static st_status parse(st_yaml_source source, st_arena *arena, const st_yaml_node **root,
                       st_errors *errors)
{
    st_status status = st_yaml_source_check(&source, errors);
    if (status != ST_OK)
        return status;
    reader *in = calloc(1, sizeof *in);
    if (in == NULL || !copy_source(&source, arena) || !yaml_parser_initialize(&in->parser)) {
        free(in);
        return st_fail(errors, ST_ERR_MEMORY, (st_place){.file = source.file}, "out of memory");
    }
    in->tree.source = source;
    in->tree.arena = arena;
    in->tree.errors = errors;
    yaml_parser_set_encoding(&in->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&in->parser, (const unsigned char *)source.text, source.length);
    while (!in->tree.is_done) {
        yaml_event_t event;
        if (!yaml_parser_parse(&in->parser, &event)) {
            const yaml_parser_t *parser = &in->parser;
            if (parser->error == YAML_MEMORY_ERROR || parser->problem == NULL) {
                st_yaml_tree_stop_out_of_memory(&in->tree);
            } else {
                st_error error = {.status = ST_ERR_SYNTAX, .place = problem_place(in)};
                /* The parser stopped at a tab that should be a blank. */
                size_t at = st_yaml_tree_byte(&in->tree, in->parser.problem_mark);
                if (at < in->tree.source.length && in->tree.source.text[at] == '\t' &&
                    (strstr(in->parser.problem, "cannot start any token") != NULL ||
                     strstr(in->parser.problem, "tab character") != NULL)) {
                    error.message = "tab in the indentation";
                    error.suggestion = "indent with blanks";
                } else if (parser->context != NULL &&
                           strstr(parser->context, "next token") == NULL) {
                    error.message = st_errors_text(
                        in->tree.errors, "malformed YAML: %s %s begun at line %d, column %d",
                        parser->problem, parser->context, (int)parser->context_mark.line + 1,
                        (int)parser->context_mark.column + 1);
                    error.suggestion = remedy_for(parser->problem);
                } else {
                    error.message =
                        st_errors_text(in->tree.errors, "malformed YAML: %s", parser->problem);
                    error.suggestion = remedy_for(parser->problem);
                }
                st_yaml_tree_stop(&in->tree, &error);
            }
            break;
        }
        take_event(in, &event);
        yaml_event_delete(&event);
    }
    const st_yaml_node *event_root = in->tree.root;
    bool is_empty = event_root == NULL || (event_root->kind == ST_YAML_SCALAR &&
                                           !event_root->quoted && event_root->length == 0);
    if (in->tree.status == ST_OK && is_empty)
        st_yaml_tree_stop(&in->tree,
                          &(st_error){.status = ST_ERR_SYNTAX,
                                      .place = {.file = in->tree.source.file},
                                      .message = "the file is empty",
                                      .found = in->document_count > 0 ? "a document without content"
                                                                      : "nothing but comments"});
    st_yaml_tree_report(&in->tree);
    status = in->tree.status;
    if (!in->tree.is_broken)
        *root = in->tree.root;
    yaml_parser_delete(&in->parser);
    free(in->tree.entries);
    free(in);
    return status;
}

st_status st_yaml_parse(const char *file, const char *text, size_t length, st_arena *arena,
                        const st_yaml_node **root, st_errors *errors)
{
    return parse((st_yaml_source){file, text, length, ST_YAML_MAX_BYTES}, arena, root, errors);
}

st_status st_yaml_parse_large(const char *file, const char *text, size_t length, st_arena *arena,
                              const st_yaml_node **root, st_errors *errors)
{
    return parse((st_yaml_source){file, text, length, ST_YAML_MAX_LARGE_BYTES}, arena, root,
                 errors);
}

const st_yaml_node *st_yaml_get(const st_yaml_node *map, const char *key)
{
    if (map == NULL || map->kind != ST_YAML_MAP)
        return NULL;
    for (size_t i = 0; i < map->count; i++)
        if (st_same(map->keys[i], key))
            return map->items[i];
    return NULL;
}

const char *st_yaml_describe(const st_yaml_node *node, st_errors *errors)
{
    enum { SHOWN_BYTES = 60 };
    if (node == NULL || (node->kind == ST_YAML_SCALAR && !node->quoted && node->length == 0))
        return "nothing";
    if (node->kind != ST_YAML_SCALAR)
        return node->kind == ST_YAML_LIST ? "a list" : "a map";
    size_t shown = st_utf8_cut(node->text, node->length, SHOWN_BYTES);
    return st_errors_text(errors, "%s'%.*s%s'", node->quoted ? "the text " : "", (int)shown,
                          node->text, shown < node->length ? "..." : "");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as a tree; see json_read.h. Without yajl only a message is left. */
#include "base/json_read.h"

#include "base/memory.h"

#include <string.h>

const char *st_json_describe(const st_json *node, st_errors *errors)
{
    switch (node->kind) {
    case ST_JSON_MAP:
        return "a map";
    case ST_JSON_LIST:
        return "a list";
    case ST_JSON_STRING:
        return st_errors_text(errors, "the text '%.60s'", node->text);
    case ST_JSON_NUMBER:
        return st_errors_text(errors, "%.60s", node->text);
    case ST_JSON_BOOL:
        return node->text;
    default:
        return "null";
    }
}

#ifdef STEPTIME_HAVE_YAJL

#include <setjmp.h>
#include <yajl/yajl_parse.h>

typedef struct json_reader {
    yajl_handle handle;
    const char *text;
    st_arena *arena;
    st_json *root;
    st_json *open; /* the map or list that is being read */
    const char *name;
    size_t depth;
    size_t count;
    size_t counted_to; /* bytes up to which lines are counted */
    int line;
    const char *limit; /* what was passed, for the message */
    bool no_memory;
    jmp_buf out; /* of the parser, which does not ask whether it got memory */
} json_reader;

/* Memory of the parser lies in the arena, behind its size. */
enum { SIZE_ROOM = 16 };

static void *give_memory(void *context, size_t bytes)
{
    json_reader *reader = context;
    char *block =
        bytes <= SIZE_MAX - SIZE_ROOM ? st_arena_alloc(reader->arena, bytes + SIZE_ROOM, 1) : NULL;
    if (block == NULL) {
        reader->no_memory = true;
        longjmp(reader->out, 1);
    }
    memcpy(block, &bytes, sizeof bytes);
    return block + SIZE_ROOM;
}

static void *give_more_memory(void *context, void *old, size_t bytes)
{
    char *block = give_memory(context, bytes);
    size_t before = 0;
    if (old == NULL)
        return block;
    memcpy(&before, (char *)old - SIZE_ROOM, sizeof before);
    memcpy(block, old, before < bytes ? before : bytes);
    return block;
}

static void take_memory(void *context, void *old)
{
    (void)context;
    (void)old; /* goes with the arena */
}

static int current_line(json_reader *reader)
{
    size_t consumed = yajl_get_bytes_consumed(reader->handle);
    while (reader->counted_to < consumed)
        reader->line += reader->text[reader->counted_to++] == '\n' ? 1 : 0;
    return reader->line;
}

static int too_much(json_reader *reader, const char *limit)
{
    reader->limit = limit;
    return 0;
}

/* Appends a node to the map or list that is open; NULL stops the parser. */
static st_json *add_node(json_reader *reader, st_json_kind kind, const char *text, size_t length)
{
    st_json *node = st_arena_alloc(reader->arena, 1, sizeof *node);
    if (++reader->count > ST_JSON_MAX_NODES) {
        (void)too_much(reader, "200,000 values");
        return NULL;
    }
    if (node != NULL && text != NULL)
        node->text = st_arena_copy(reader->arena, text, length);
    if (node == NULL || (text != NULL && node->text == NULL)) {
        reader->no_memory = true;
        return NULL;
    }
    node->kind = kind;
    node->line = current_line(reader);
    node->name = reader->name;
    node->parent = reader->open;
    reader->name = NULL;
    if (reader->open == NULL)
        reader->root = node;
    else if (reader->open->last == NULL)
        reader->open->first = node;
    else
        reader->open->last->next = node;
    if (reader->open != NULL)
        reader->open->last = node;
    return node;
}

static int open_node(json_reader *reader, st_json_kind kind)
{
    if (++reader->depth > ST_JSON_MAX_DEPTH)
        return too_much(reader, "32 levels");
    st_json *node = add_node(reader, kind, NULL, 0);
    reader->open = node != NULL ? node : reader->open;
    return node != NULL;
}

static int close_node(void *context)
{
    json_reader *reader = context;
    reader->open = reader->open->parent;
    reader->depth--;
    return 1;
}

static int on_null(void *context)
{
    return add_node(context, ST_JSON_NULL, NULL, 0) != NULL;
}

static int on_bool(void *context, int value)
{
    const char *text = value ? "true" : "false";
    return add_node(context, ST_JSON_BOOL, text, strlen(text)) != NULL;
}

/* Numbers that Python's json writes and JSON lacks, and numbers in their place for yajl. */
static const struct {
    const char *python;
    const char *json;
} extremes[] = {{"Infinity", "1e9999998"}, {"NaN", "1e9999999"}};

static const char *extreme_at(const char *text, size_t left, size_t *length)
{
    for (size_t i = 0; i < ST_COUNT(extremes); i++) {
        *length = strlen(extremes[i].python);
        if (left >= *length && memcmp(text, extremes[i].python, *length) == 0)
            return extremes[i].json;
    }
    return NULL;
}

/* The text with JSON's numbers in the place of extremes outside of texts; lines stay. */
static void replace_extremes(const char *text, size_t length, st_buffer *buffer)
{
    bool quoted = false;
    size_t from = 0;
    for (size_t i = 0, size = 0; i < length; i++) {
        if (quoted && text[i] == '\\') {
            i++;
            continue;
        }
        quoted = text[i] == '"' ? !quoted : quoted;
        const char *number = quoted || (text[i] != 'I' && text[i] != 'N')
                                 ? NULL
                                 : extreme_at(text + i, length - i, &size);
        if (number == NULL)
            continue;
        st_buffer_printf(buffer, "%.*s%s", (int)(i - from), text + from, number);
        from = i + size;
        i = from - 1;
    }
    if (from > 0)
        st_buffer_printf(buffer, "%.*s", (int)(length - from), text + from);
}

static int on_number(void *context, const char *text, size_t length)
{
    size_t sign = text[0] == '-' ? 1 : 0;
    for (size_t i = 0; i < ST_COUNT(extremes); i++)
        if (length - sign == strlen(extremes[i].json) &&
            memcmp(text + sign, extremes[i].json, length - sign) == 0) {
            text = sign > 0 && i == 0 ? "-Infinity" : extremes[i].python;
            length = strlen(text);
            break;
        }
    return add_node(context, ST_JSON_NUMBER, text, length) != NULL;
}

/* A NUL inside would hide what follows it from every later reader. */
static bool has_nul(const unsigned char *text, size_t length)
{
    return memchr(text, '\0', length) != NULL;
}

static int on_string(void *context, const unsigned char *text, size_t length)
{
    if (has_nul(text, length))
        return too_much(context, "texts without U+0000");
    return add_node(context, ST_JSON_STRING, (const char *)text, length) != NULL;
}

static int on_name(void *context, const unsigned char *text, size_t length)
{
    json_reader *reader = context;
    if (has_nul(text, length))
        return too_much(reader, "texts without U+0000");
    reader->name = st_arena_copy(reader->arena, (const char *)text, length);
    reader->no_memory = reader->name == NULL;
    return reader->name != NULL;
}

static int on_map(void *context)
{
    return open_node(context, ST_JSON_MAP);
}

static int on_list(void *context)
{
    return open_node(context, ST_JSON_LIST);
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_bool,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_map,
    .yajl_map_key = on_name,
    .yajl_end_map = close_node,
    .yajl_start_array = on_list,
    .yajl_end_array = close_node,
};

static st_status fault(json_reader *reader, const char *file, st_errors *errors)
{
    st_place place = {.file = file, .line = current_line(reader)};
    if (reader->no_memory)
        return st_out_of_memory(errors);
    if (reader->limit != NULL)
        return st_fail(errors, ST_ERR_LIMIT, place,
                       "JSON is too large for a configuration" ST_EXPECTED "at most %s",
                       reader->limit);
    unsigned char *text = yajl_get_error(reader->handle, 0, NULL, 0);
    const char *words = text != NULL ? (const char *)text : "";
    st_status status =
        st_fail(errors, ST_ERR_SYNTAX, place, "not JSON: %.*s", (int)strcspn(words, "\n"), words);
    if (text != NULL)
        yajl_free_error(reader->handle, text);
    return status;
}

bool st_json_available(void)
{
    return true;
}

/* False where the text is no JSON, or where memory ran out. */
static bool run_parser(json_reader *reader, size_t length)
{
    yajl_alloc_funcs memory = {give_memory, give_more_memory, take_memory, reader};
    if (setjmp(reader->out) != 0)
        return false;
    reader->handle = yajl_alloc(&callbacks, &memory, reader);
    return reader->handle != NULL &&
           yajl_parse(reader->handle, (const unsigned char *)reader->text, length) ==
               yajl_status_ok &&
           yajl_complete_parse(reader->handle) == yajl_status_ok;
}

st_status st_json_parse(const char *file, const char *text, size_t length, st_arena *arena,
                        st_json **tree, st_errors *errors)
{
    if (length > ST_JSON_MAX_BYTES)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){.file = file},
                       "the file is too large for a configuration" ST_FOUND "%zu bytes" ST_EXPECTED
                       "at most 8 MiB",
                       length);
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        length -= 3;
    }
    st_buffer replaced = {0};
    replace_extremes(text, length, &replaced);
    const char *copy =
        replaced.length > 0 ? st_arena_copy(arena, replaced.data, replaced.length) : NULL;
    if (replaced.failed || (replaced.length > 0 && copy == NULL)) {
        st_buffer_free(&replaced);
        return st_out_of_memory(errors);
    }
    if (copy != NULL) {
        text = copy;
        length = replaced.length;
    }
    st_buffer_free(&replaced);
    json_reader reader = {.text = text, .arena = arena, .line = 1};
    st_status status = ST_OK;
    bool parsed = run_parser(&reader, length);
    if (reader.handle == NULL || reader.no_memory)
        return st_out_of_memory(errors);
    if (!parsed || reader.root == NULL)
        status = fault(&reader, file, errors);
    else
        *tree = reader.root;
    yajl_free(reader.handle);
    return status;
}

#else

bool st_json_available(void)
{
    return false;
}

st_status st_json_parse(const char *file, const char *text, size_t length, st_arena *arena,
                        st_json **tree, st_errors *errors)
{
    (void)text;
    (void)length;
    (void)arena;
    (void)tree;
    return st_fail(errors, ST_ERR_USAGE, (st_place){.file = file},
                   "cannot read JSON: this build lacks yajl (libyajl-dev)");
}

#endif

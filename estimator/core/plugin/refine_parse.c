/* SPDX-License-Identifier: Apache-2.0 */
/* Reading plugins from a command line; see words.h. */
#include "plugin/refine_parse.h"

#include "job/files.h"
#include "job/job_loader.h"
#include "plugin/module.h"

#include <ctype.h>
#include <string.h>

enum { MAX_TEXT = 65536, MAX_OPTIONS = 1000, MAX_COLUMNS = 8 };

typedef struct reader {
    const st_paths *paths;
    st_arena *arena;
    st_errors *errors;
    const char *text; /* the whole, for messages */
    st_refinement *list;
    size_t count;
} reader;

static st_place place_of(const reader *parser, bool whole)
{
    const char *file =
        whole ? st_arena_printf(parser->arena, "--refine %.200s", parser->text) : NULL;
    return (st_place){.file = file != NULL ? file : "--refine"};
}

/* ---- pieces ---- */

/* Where a piece ends: at one of `ends`, a plus sign only before a small letter. */
static size_t piece_length(const char *text, const char *ends)
{
    size_t length = 0;
    while (text[length] != '\0') {
        char byte = text[length];
        bool plus = byte == '+' && !islower((unsigned char)text[length + 1]);
        if (strchr(ends, byte) != NULL && !plus)
            return length;
        length += byte == '\\' && text[length + 1] != '\0' ? 2 : 1;
    }
    return length;
}

/* A copy without the blanks around it and without its backslashes; NULL when out of memory. */
static const char *copy_piece(const reader *parser, const char *text, size_t length)
{
    while (length > 0 && *text == ' ') {
        text++;
        length--;
    }
    while (length > 0 && text[length - 1] == ' ')
        length--;
    char *copy = st_arena_copy(parser->arena, text, length);
    size_t kept = 0;
    for (size_t i = 0; copy != NULL && i < length; i++) {
        bool escape = copy[i] == '\\' && i + 1 < length && strchr(",+|:=\\", copy[i + 1]) != NULL;
        i += escape ? 1 : 0;
        copy[kept++] = copy[i];
    }
    if (copy != NULL)
        copy[kept] = '\0';
    return copy;
}

/* ---- options ---- */

/* What has been seen of the two names that belong to no plugin. */
typedef struct seen {
    bool fallback;
} seen;

/* One NAME=VALUE. */
static st_status read_option(const reader *parser, const char *text, size_t length,
                             st_refinement *entry, seen *found, st_refinement_option *options)
{
    const char *sign = memchr(text, '=', length);
    size_t name_length = sign != NULL ? (size_t)(sign - text) : 0;
    const char *name = copy_piece(parser, text, name_length);
    const char *value = sign != NULL ? copy_piece(parser, sign + 1, length - name_length - 1) : "";
    if (name == NULL || value == NULL)
        return st_out_of_memory(parser->errors);
    if (name[0] == '\0')
        return st_fail(parser->errors, ST_ERR_USAGE, place_of(parser, true),
                       "invalid plugin option" ST_FOUND "'%.*s'" ST_EXPECTED
                       "NAME=VALUE, as in nccl-whitebox:fallback=formula",
                       length < 60 ? (int)length : 60, text);
    bool profile = strcmp(name, "profile") == 0;
    bool fallback = strcmp(name, "fallback") == 0;
    if ((profile && entry->profile != NULL) || (fallback && found->fallback) ||
        ST_HAS(entry->options, entry->option_count, name, name))
        return st_fail(parser->errors, ST_ERR_USAGE, place_of(parser, true),
                       "'%.60s' is given twice", name);
    if (profile) {
        entry->profile = value;
        entry->profile_place = place_of(parser, true);
        return ST_OK;
    }
    if (fallback) {
        found->fallback = true;
        entry->fallback = strcmp(value, "formula") == 0;
        if (entry->fallback || strcmp(value, "error") == 0)
            return ST_OK;
        return st_fail(parser->errors, ST_ERR_USAGE, place_of(parser, true),
                       "invalid fallback" ST_FOUND "'%.60s'" ST_EXPECTED "formula or error", value);
    }
    if (entry->option_count == MAX_OPTIONS)
        return st_fail(parser->errors, ST_ERR_USAGE, place_of(parser, true), "too many options");
    options[entry->option_count++] = (st_refinement_option){.name = name,
                                                            .text = value,
                                                            .name_place = place_of(parser, true),
                                                            .place = place_of(parser, true)};
    entry->options = options;
    return ST_OK;
}

/* NAME=VALUE,... up to the end or the next plugin; *rest is moved there. */
static st_status read_options(const reader *parser, const char **rest, st_refinement *entry)
{
    st_refinement_option *options = st_arena_alloc(parser->arena, MAX_OPTIONS, sizeof *options);
    seen found = {false};
    st_status status = options != NULL ? ST_OK : st_out_of_memory(parser->errors);
    while (options != NULL) {
        size_t length = piece_length(*rest, ",+");
        st_note(&status, read_option(parser, *rest, length, entry, &found, options));
        *rest += length;
        if (**rest != ',')
            break;
        (*rest)++;
    }
    return status;
}

/* ---- plugins ---- */

/* Short names count where no plugin on the search path is called so. */
static const char *full_name(const reader *parser, const char *name)
{
    static const char *const names[][2] = {{"constant", "overlap-constant"},
                                           {"xgboost", "overlap-xgboost"}};
    for (size_t i = 0; i < ST_COUNT(names); i++)
        if (strcmp(name, names[i][0]) == 0 &&
            st_plugin_find(parser->paths, name, parser->arena) == NULL)
            return names[i][1];
    return name;
}

/* One plugin with its options; *rest is moved behind it. */
static st_status read_plugin(reader *parser, const char **rest)
{
    size_t length = piece_length(*rest, ":+");
    const char *name = copy_piece(parser, *rest, length);
    if (name == NULL)
        return st_out_of_memory(parser->errors);
    *rest += length;
    bool options = **rest == ':';
    st_refinement entry = {.plugin = full_name(parser, name), .place = place_of(parser, options)};
    st_status status = ST_OK;
    if (name[0] == '\0')
        status =
            st_fail(parser->errors, ST_ERR_USAGE, place_of(parser, true), "missing plugin name");
    else if (strcmp(name, "none") == 0)
        status = st_fail(parser->errors, ST_ERR_USAGE, place_of(parser, true),
                         "'none' cannot be combined with plugins");
    if (options) {
        (*rest)++;
        st_note(&status, read_options(parser, rest, &entry));
    }
    *rest += **rest == '+' ? 1 : 0;
    if (status != ST_OK)
        return status;
    for (size_t i = 0; i < parser->count; i++) {
        if (strcmp(parser->list[i].plugin, entry.plugin) == 0)
            return st_fail(parser->errors, ST_ERR_USAGE, (st_place){.file = "--refine"},
                           "plugin '%.80s' is given twice", entry.plugin);
    }
    if (parser->count == ST_MAX_REFINEMENTS)
        return st_fail(parser->errors, ST_ERR_USAGE, place_of(parser, true), "more than %d plugins",
                       ST_MAX_REFINEMENTS);
    parser->list[parser->count++] = entry;
    return ST_OK;
}

static st_status read_text(reader *parser)
{
    if (strlen(parser->text) > MAX_TEXT)
        return st_fail(parser->errors, ST_ERR_USAGE, place_of(parser, true),
                       "the text exceeds 65536 bytes");
    st_status status = ST_OK;
    const char *rest = parser->text;
    do {
        st_note(&status, read_plugin(parser, &rest));
    } while (*rest != '\0' && (status == ST_OK || !st_errors_full(parser->errors)));
    return status;
}

st_status st_refine_parse(const st_paths *paths, const st_words *words, st_arena *arena,
                          const st_refinement **refinements, size_t *count, st_errors *errors)
{
    reader parser = {.paths = paths, .arena = arena, .errors = errors, .text = ""};
    parser.list = st_arena_alloc(arena, ST_MAX_REFINEMENTS, sizeof *parser.list);
    *count = 0;
    *refinements = parser.list;
    if (parser.list == NULL)
        return st_out_of_memory(errors);
    if (words->count == 1 && strcmp(words->texts[0], "none") == 0)
        return ST_OK;
    st_status status = ST_OK;
    for (size_t i = 0; i < words->count; i++) {
        parser.text = words->texts[i];
        st_note(&status, read_text(&parser));
    }
    *count = parser.count;
    return status;
}

/* ---- options set separately ---- */

/* Sets one option in a list of the caller's own. */
static st_status apply_option(const st_option_set *set, st_refinement *list, size_t count,
                              st_arena *arena, st_errors *errors)
{
    size_t own = 0;
    size_t at = 0;
    while (own < count && strcmp(list[own].plugin, set->plugin) != 0)
        own++;
    if (own == count) {
        /* An error at an option of a plugin that is not on. */
        const char *names[ST_MAX_REFINEMENTS] = {NULL};
        const char *all = "";
        for (size_t i = 0; i < count; i++) {
            names[i] = list[i].plugin;
            all = st_errors_text(errors, "%s%s%s", all, i > 0 ? ", " : "", list[i].plugin);
        }
        return st_fail(errors, ST_ERR_NAME, set->option.name_place,
                       "plugin '%.80s' is not in use" ST_EXPECTED "%s" ST_HINT "%s", set->plugin,
                       count > 0 ? st_or_none(all) : "plugins of the job or of --refine",
                       st_errors_nearest(errors, set->plugin, names, count));
    }
    st_refinement *entry = &list[own];
    st_refinement_option *options = st_arena_alloc(arena, entry->option_count + 1, sizeof *options);
    if (options == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < entry->option_count; i++)
        options[i] = entry->options[i];
    while (at < entry->option_count && strcmp(options[at].name, set->option.name) != 0)
        at++;
    entry->option_count += at == entry->option_count ? 1 : 0;
    options[at] = set->option;
    entry->options = options;
    return ST_OK;
}

st_status st_refine_for(const st_paths *paths, const st_job *job, const st_words *words,
                        st_arena *arena, st_refinements *refinements, st_errors *errors)
{
    st_status status = ST_OK;
    refinements->items = st_job_refinements(job, &refinements->count);
    if (words->count > 0)
        status =
            st_refine_parse(paths, words, arena, &refinements->items, &refinements->count, errors);
    if (status != ST_OK || job->option_count == 0)
        return status;
    const size_t count = refinements->count;
    st_refinement *list = st_arena_alloc(arena, count + 1, sizeof *list);
    if (list == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < count; i++)
        list[i] = refinements->items[i];
    for (size_t i = 0; i < job->option_count; i++)
        st_note(&status, apply_option(&job->options[i], list, count, arena, errors));
    refinements->items = list;
    return status;
}

/* ---- words from a refinement ---- */

/* With a backslash before what would end it; NULL when out of memory. */
static const char *escape(const char *text, st_arena *arena)
{
    char *copy = st_arena_alloc(arena, 2 * strlen(text) + 1, 1);
    size_t used = 0;
    for (size_t i = 0; copy != NULL && text[i] != '\0'; i++) {
        bool plus = text[i] == '+' && !islower((unsigned char)text[i + 1]);
        if (strchr(",+|:=\\", text[i]) != NULL && !plus)
            copy[used++] = '\\';
        copy[used++] = text[i];
    }
    return copy;
}

static const char *append(const char *text, size_t *count, const char *name, const char *value,
                          st_arena *arena)
{
    const char *left = escape(name, arena);
    const char *right = escape(value, arena);
    return text == NULL || left == NULL || right == NULL
               ? NULL
               : st_arena_printf(arena, "%s%s%s=%s", text, (*count)++ == 0 ? ":" : ",", left,
                                 right);
}

const char *st_refine_text(const st_refinement *entry, st_arena *arena)
{
    const char *text = escape(entry->plugin, arena);
    size_t count = 0;
    if (entry->profile != NULL)
        text = append(text, &count, "profile", entry->profile, arena);
    for (size_t i = 0; i < entry->option_count; i++)
        text = append(text, &count, entry->options[i].name, entry->options[i].text, arena);
    return entry->fallback ? append(text, &count, "fallback", "formula", arena) : text;
}

void st_refine_put(const st_refinements *refinements, st_node *node)
{
    st_arena *arena = node->result->arena;
    const char **texts = st_arena_alloc(arena, refinements->count + 1, sizeof *texts);
    for (size_t i = 0; texts != NULL && i < refinements->count; i++)
        texts[i] = st_refine_text(&refinements->items[i], arena);
    if (texts != NULL)
        st_put_texts(node, "refine", texts, refinements->count);
}

/* ---- columns ---- */

st_status st_refine_columns(const char *text, st_arena *arena, const char *const **columns,
                            size_t *count, st_errors *errors)
{
    const reader parser = {.arena = arena, .errors = errors, .text = text};
    const char **list = st_arena_alloc(arena, MAX_COLUMNS, sizeof *list);
    *count = 0;
    *columns = list;
    if (list == NULL)
        return st_out_of_memory(errors);
    for (const char *rest = text;; rest++) {
        size_t length = piece_length(rest, "|");
        if (length == strspn(rest, " ") || *count == MAX_COLUMNS)
            return st_fail(parser.errors, ST_ERR_USAGE, place_of(&parser, true),
                           "%s" ST_EXPECTED "plugins or 'none', separated by '|'",
                           *count == MAX_COLUMNS ? "more than 8 columns" : "a column is empty");
        size_t blanks = strspn(rest, " ");
        size_t end = length;
        while (rest[end - 1] == ' ')
            end--;
        list[*count] = st_arena_copy(arena, rest + blanks, end - blanks);
        if (list[(*count)++] == NULL)
            return st_out_of_memory(errors);
        rest += length;
        if (*rest == '\0')
            return ST_OK;
    }
}

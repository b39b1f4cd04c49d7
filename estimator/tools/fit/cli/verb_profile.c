/* SPDX-License-Identifier: Apache-2.0 */
/* steptime profile list, show, import, export and remove */
#include "fit/cli/verbs.h"

#include "base/yaml.h"
#include "steptime/tool/input_files.h"
#include "steptime/tool/profiles.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct import_options {
    bool replace;
} import_options;

static const cli_option list_rows[] = {CLI_ROW_DB,     CLI_ROW_JSON,  CLI_ROW_CSV,
                                       CLI_ROW_OUTPUT, CLI_ROW_COLOR, CLI_END};
static const cli_option show_rows[] = {CLI_ROW_DB, CLI_ROW_JSON, CLI_ROW_OUTPUT, CLI_ROW_COLOR,
                                       CLI_END};
static const cli_option export_rows[] = {CLI_ROW_DB, CLI_ROW_OUTPUT, CLI_END};
static const cli_option import_rows[] = {
    CLI_ROW_DB, CLI_FLAG(import_options, replace, "replace", "replace existing entries"), CLI_END};
static const cli_option remove_rows[] = {CLI_ROW_DB, CLI_END};

static const cli_example list_examples[] = {
    {"steptime profile list", "what was fitted or imported so far"},
    {"steptime profile list --db shared.db --json", "another database, for a program"},
    {NULL, NULL},
};
static const cli_example show_examples[] = {
    {"steptime profile show my-cluster", "its options and the rows behind them"},
    {NULL, NULL},
};
static const cli_example export_examples[] = {
    {"steptime profile export my-cluster -o my-cluster.json", "to send to someone"},
    {NULL, NULL},
};
static const cli_example import_examples[] = {
    {"steptime profile import my-cluster.json", "what someone has sent"},
    {"steptime profile import my-cluster.json --replace", "a newer one"},
    {NULL, NULL},
};
static const cli_example remove_examples[] = {
    {"steptime profile remove my-cluster", "all of its entries"},
    {NULL, NULL},
};

typedef struct profile_run {
    cli_run *run;
    st_profiles *profiles;
    const st_profile *entries;
    size_t count;
} profile_run;

static st_status open_profiles(profile_run *verb, st_profiles_access access)
{
    return st_profiles_open(verb->run->common.db, access, &verb->profiles, verb->run->errors);
}

/* The entries of the profiles that the command line names. */
static st_status find_named(profile_run *verb)
{
    cli_run *run = verb->run;
    st_status status = open_profiles(verb, ST_PROFILES_READ);
    for (size_t i = 0; i < run->argument_count && status == ST_OK; i++) {
        const st_profile *found = NULL;
        size_t count = 0;
        st_profile_filter filter = {.name = run->arguments[i]};
        status = st_profiles_find(verb->profiles, &filter, run->arena, &found, &count, run->errors);
        if (status == ST_OK && count == 0)
            status = st_profiles_unknown(verb->profiles, run->arguments[i], run->errors);
        if (status != ST_OK)
            break;
        for (size_t k = 0; k < count; k++)
            (void)ST_APPEND(run->arena, verb->entries, verb->count, found[k]);
    }
    return st_arena_failed(run->arena) ? ST_ERR_MEMORY : status;
}

static int end(profile_run *verb, st_status status)
{
    st_profiles_close(verb->profiles);
    return cli_exit_code(verb->run, status);
}

/* ---- list ---- */

static void put_entry(const st_profile *entry, st_node *row)
{
    st_put_text(row, "name", entry->name);
    st_put_text(row, "plugin", entry->plugin);
    st_put_text(row, "kind", entry->kind);
    st_put_text(row, "collective", entry->collective);
    st_put_count(row, "ranks", entry->ranks);
    st_put_count(row, "nodes", entry->nodes);
    st_put_text(row, "cluster", entry->cluster);
    st_put_text(row, "fabric", entry->fabric);
    st_put_text(row, "nccl", entry->nccl);
}

static void fill_entry(const void *context, size_t index, st_node *row)
{
    put_entry((const st_profile *)context + index, row);
}

static int run_list(cli_run *run)
{
    profile_run verb = {.run = run};
    /* A user who has stored nothing yet has no database. */
    const char *file = st_profiles_path(run->arena);
    bool is_there = run->common.db != NULL || file == NULL || !st_profiles_available() ||
                    access(file, F_OK) == 0;
    st_status status = is_there ? open_profiles(&verb, ST_PROFILES_READ) : ST_OK;
    if (status == ST_OK && is_there)
        status = st_profiles_find(verb.profiles, &(st_profile_filter){0}, run->arena, &verb.entries,
                                  &verb.count, run->errors);
    if (status == ST_OK) {
        static const st_table_column columns[] = {
            {.title = "profile", .ink = ST_INK_NAME},
            {.title = "plugin"},
            {.title = "kind"},
            {.title = "collective"},
            {.title = "ranks", .right = true},
            {.title = "nodes", .right = true},
            {.title = "cluster"},
            {.title = "fabric", .elastic = true},
            {.title = "nccl"},
        };
        st_result result;
        st_node *root = st_result_begin(&result, verb.run->arena);
        st_node *rows = st_put_rows(root, "profiles", fill_entry, verb.entries, verb.count);
        st_result_csv(&result, "profiles",
                      "name=profile,plugin,kind,collective,ranks,nodes,cluster,fabric,nccl");
        if (verb.count == 0) {
            st_say(root, "no profiles\n");
        } else {
            st_table *table = st_say_table(root, columns, ST_COUNT(columns), 0);
            st_table_show(table, rows,
                          "name,plugin,kind,collective,ranks,nodes,cluster,fabric,nccl");
        }
        cli_show(verb.run, &result);
    }
    return end(&verb, status);
}

/* ---- show ---- */

/* The members of a payload or of a provenance; NULL if it is not a map. */
static const st_yaml_node *members(cli_run *run, const char *text, size_t length)
{
    const st_yaml_node *root = NULL;
    if (length == 0 || st_yaml_parse("", text, length, run->arena, &root, NULL) != ST_OK ||
        root->kind != ST_YAML_MAP)
        return NULL;
    return root;
}

/* A value for people: of one of many lines, such as a model, the first line and its size. */
static const char *shown(cli_run *run, const st_yaml_node *value)
{
    enum { LONGEST = 400 };
    if (value->kind != ST_YAML_SCALAR)
        return "...";
    size_t line = strcspn(value->text, "\n");
    if (line <= LONGEST && value->text[line] == '\0')
        return value->text;
    int length = (int)(line < LONGEST ? line : LONGEST);
    const char *text = st_arena_printf(run->arena, "%.*s ... (%zu bytes)", length, value->text,
                                       strlen(value->text));
    return text != NULL ? text : "...";
}

/* The members as a map, and as a table for people. */
static void put_members(cli_run *run, st_node *node, const char *key, const char *text,
                        size_t length)
{
    const st_yaml_node *map = members(run, text, length);
    st_node *list = st_put_map(node, key);
    for (size_t i = 0; map != NULL && i < map->count; i++)
        st_put_text(list, map->keys[i],
                    map->items[i]->kind == ST_YAML_SCALAR ? map->items[i]->text : NULL);
}

static void say_members(cli_run *run, st_node *node, const char *title, const char *text,
                        size_t length)
{
    static const st_table_column columns[] = {{.ink = ST_INK_NAME}, {.elastic = true}};
    const st_yaml_node *map = members(run, text, length);
    st_say(node, "  %s\n", title);
    if (map == NULL) {
        st_say(node, "    %zu bytes\n", length);
        return;
    }
    st_table *table = st_say_table(node, columns, 2, 4);
    for (size_t i = 0; i < map->count; i++)
        st_table_row(table, (const char *const[]){map->keys[i], shown(run, map->items[i])});
}

static int run_show(cli_run *run)
{
    profile_run verb = {.run = run};
    st_status status = find_named(&verb);
    if (status == ST_OK) {
        st_result result;
        st_node *list = st_put_list(st_result_begin(&result, run->arena), "profiles");
        for (size_t i = 0; i < verb.count; i++) {
            const st_profile *entry = &verb.entries[i];
            st_node *map = st_put_map(list, NULL);
            const char *payload = entry->payload;
            /* What comes from others may hold anything, which a terminal would obey. */
            bool plain = true;
            for (size_t j = 0; j < entry->payload_bytes; j++)
                if ((payload[j] < ' ' && payload[j] != '\n') || payload[j] > '~') {
                    plain = false;
                    break;
                }
            put_entry(entry, map);
            /* ", plugin nccl-whitebox, ranks 16": what is known of the place of an entry. */
            char entry_text[ST_QUANTITY_TEXT];
            st_say_ink(map, ST_INK_STRONG, entry->name);
            for (size_t j = 1; j < map->count; j++) {
                const st_item *item = &map->items[j];
                const char *value =
                    item->key != NULL ? st_item_exact(item, entry_text, sizeof entry_text) : "";
                if (value[0] != '\0' && strcmp(value, "0") != 0) {
                    st_say(map, ", %s ", item->key);
                    st_say_ink(map, ST_INK_PLAIN, value);
                }
            }
            st_say(map, "\n");
            st_put_count(map, "payload_bytes", entry->payload_bytes);
            put_members(run, map, "payload", payload, entry->payload_bytes);
            put_members(run, map, "provenance", entry->provenance, strlen(entry->provenance));
            if (strcmp(entry->kind, ST_PROFILE_TIMES) == 0 && plain) {
                /* The head of a text of times: its cell, its GPU, the features of a shape, how many
                 * there are. */
                const char *text = payload;
                const char *entry_end = text + entry->payload_bytes;
                st_say(map, "  Times\n");
                for (bool last = false; text < entry_end && !last;) {
                    const char *line_end = memchr(text, '\n', (size_t)(entry_end - text));
                    size_t line = (size_t)((line_end != NULL ? line_end : entry_end) - text);
                    last = line > 5 && strncmp(text, "rows ", 5) == 0;
                    st_say(map, "    %.*s\n", (int)line, text);
                    text += line + 1;
                }
            } else if (strcmp(entry->kind, ST_PROFILE_MODEL) == 0 && plain) {
                /* A model is for a plugin to read: what it says it is, and its size. */
                size_t length = entry->payload_bytes;
                enum { LONGEST = 80 };
                size_t line = strcspn(payload, "\n");
                st_say(map, "  Model\n    %.*s ... (%zu bytes)\n",
                       (int)(line < LONGEST ? line : LONGEST), payload, length);
            } else {
                say_members(run, map,
                            strcmp(entry->kind, ST_PROFILE_OPTIONS) == 0 ? "Options" : "Payload",
                            payload, entry->payload_bytes);
            }
            say_members(run, map, "Source", entry->provenance, strlen(entry->provenance));
        }
        cli_show(run, &result);
    }
    return end(&verb, status);
}

/* ---- export, import, remove ---- */

static int run_export(cli_run *run)
{
    profile_run verb = {.run = run};
    st_status status = find_named(&verb);
    if (status == ST_OK)
        st_profiles_export(verb.entries, verb.count, &run->result);
    return end(&verb, status);
}

/* No database is made for a file that is none. */
static int run_import(cli_run *run)
{
    const import_options *options = run->options;
    profile_run verb = {.run = run};
    st_source source = {0};
    const st_profile *entries = NULL;
    size_t count = 0;
    st_status status =
        st_file_read_foreign(run->arguments[0], (st_place){0}, run->arena, &source, run->errors);
    const st_profile_text text = {source.file, source.text, source.length};
    if (status == ST_OK)
        status = st_profiles_read(&text, run->arena, &entries, &count, run->errors);
    if (status == ST_OK)
        status = open_profiles(&verb, ST_PROFILES_WRITE);
    if (status == ST_OK)
        status = st_profiles_put(verb.profiles, entries, count, options->replace, run->errors);
    if (status == ST_OK)
        st_buffer_printf(&run->result, "%zu %s stored\n", count, count == 1 ? "entry" : "entries");
    return end(&verb, status);
}

/* A database that is not there is not made for that. */
static int run_remove(cli_run *run)
{
    profile_run verb = {.run = run};
    size_t removed = 0;
    st_status status = open_profiles(&verb, ST_PROFILES_READ);
    st_profiles_close(verb.profiles);
    verb.profiles = NULL;
    if (status == ST_OK)
        status = open_profiles(&verb, ST_PROFILES_WRITE);
    if (status == ST_OK)
        status = st_profiles_remove(verb.profiles, run->arguments[0], &removed, run->errors);
    if (status == ST_OK)
        st_buffer_printf(&run->result, "%zu %s removed\n", removed,
                         removed == 1 ? "entry" : "entries");
    return end(&verb, status);
}

#define WHERE                                                                                      \
    "The database is the file of --db, else $XDG_DATA_HOME/steptime/profiles.db, or "              \
    "~/.local/share/steptime/profiles.db if that variable is not set. docs/profiles.md says "      \
    "more."

const cli_verb cli_verb_profile_list = {
    .name = "profile list",
    .arguments = "",
    .summary = "list the profiles of a database",
    .doc = "Shows the plugin, collective, ranks, nodes, cluster, fabric and NCCL version of each "
           "profile.\n\n" WHERE,
    .examples = list_examples,
    .options = list_rows,
    .run = run_list,
};

const cli_verb cli_verb_profile_show = {
    .name = "profile show",
    .arguments = "NAME...",
    .summary = "show the contents and source of a profile",
    .doc = "Shows the options that a profile gives to a plugin, the rows that they were fitted to, "
           "and the errors of these rows.\n\n" WHERE,
    .examples = show_examples,
    .options = show_rows,
    .run = run_show,
};

const cli_verb cli_verb_profile_export = {
    .name = "profile export",
    .arguments = "NAME...",
    .summary = "write profiles as a file to send to someone",
    .doc = "Writes JSON that 'steptime profile import' reads.\n\n" WHERE,
    .examples = export_examples,
    .options = export_rows,
    .run = run_export,
};

const cli_verb cli_verb_profile_import = {
    .name = "profile import",
    .arguments = "FILE",
    .words = {CLI_WORD_FILE, CLI_WORD_NONE},
    .summary = "store exported profiles",
    .doc = "Stores all entries of the file, or none if one of them exists already; --replace "
           "overwrites them. FILE may be - for standard input.\n\n" WHERE,
    .examples = import_examples,
    CLI_OPTIONS(import_rows, import_options),
    .run = run_import,
};

const cli_verb cli_verb_profile_remove = {
    .name = "profile remove",
    .arguments = "NAME",
    .summary = "remove a profile",
    .doc = "Removes all entries of a profile.\n\n" WHERE,
    .examples = remove_examples,
    .options = remove_rows,
    .run = run_remove,
};

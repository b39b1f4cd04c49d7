/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build tool: writes formulas, configs and validation cases into one C file, so that the program
 * works without any other file; YAML files also as the trees that the library would make of
 * them, so that it need not (base/yaml_packed.h).
 *
 *     embed ROOT OUTPUT.c OUTPUT.d [WITHOUT...]
 *
 * It looks for the files itself and names the folders it looked into in the dependency file: a file
 * that is added, changed or removed makes the build run this tool again, and nothing has to be
 * listed anywhere. WITHOUT names folders of the rules that a build leaves out, or 'trees' where
 * size matters more than the time to read a file. An output that would not change is left alone, so
 * that nothing is rebuilt in vain.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "base/lists.h"
#include "base/yaml_packed.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_PATH = 1024, MAX_BYTES = 2 * 1024 * 1024, BYTES_A_LINE = 24 };

/* What is embedded: files of a folder, by ending or by name, at most `depth` folders further down.
 */
typedef struct pattern {
    const char *folder;
    const char *ending;
    const char *name;
    int least_depth;
    int depth;
} pattern;

static const pattern rules[] = {
    {"formulas", ".yaml", NULL, 0, 0},
    {"formulas", NULL, "references.bib", 0, 0},
    {"configs", ".yaml", NULL, 1, 4},
    {"configs/steps", ".steps", NULL, 0, 0},
    {"validation", NULL, "cases.yaml", 1, 1},
    {"validation", NULL, "table.yaml", 1, 1},
    {"validation", ".csv", NULL, 1, 1},
    {"plugins/template", ".c", NULL, 0, 3},
    {"plugins/template", ".build", NULL, 0, 3},
    {"plugins/template", ".md", NULL, 0, 0},
    {"plugins/template/function", ".in", NULL, 0, 0},
    {"estimator/include/steptime", NULL, "plugin.h", 0, 0},
    {"estimator/tools/trace/views", ".sql", NULL, 0, 0},
    {"estimator/command/completion", NULL, "steptime.bash", 0, 0},
    {"estimator/command/completion", NULL, "steptime.fish", 0, 0},
    {"estimator/command/completion", NULL, "steptime.zsh", 0, 0},
};

typedef struct embed_job {
    const char *root;
    st_arena *arena;
    const char **paths; /* relative to the root */
    size_t count;
    bool trees;
    st_buffer code;
    st_buffer dependencies;
} embed_job;

static void append_buffer(st_buffer *target, const st_buffer *piece)
{
    if (piece->length > 0)
        st_buffer_append(target, piece->data, piece->length);
    target->failed = target->failed || piece->failed;
}

static void join(char *path, const char *folder, const char *name)
{
    int length = snprintf(path, MAX_PATH, "%s/%s", folder, name);
    if (length < 0 || length >= MAX_PATH) {
        fprintf(stderr, "embed: the path %s/%s is too long\n", folder, name);
        exit(1);
    }
}

/* A dependency as make writes it: blanks and number signs escaped, '$' doubled. */
static void add_dependency(embed_job *embedder, const char *path)
{
    st_buffer_printf(&embedder->dependencies, " \\\n ");
    for (const char *c = path; *c != '\0'; c++) {
        const char *escape = *c == ' ' || *c == '#' ? "\\" : *c == '$' ? "$" : "";
        st_buffer_printf(&embedder->dependencies, "%s%c", escape, *c);
    }
}

static bool is_wanted(const pattern *rule, const char *name)
{
    if (rule->name != NULL)
        return strcmp(name, rule->name) == 0;
    return strcmp(name, rule->ending) != 0 && st_ends_in(name, rule->ending);
}

static void scan(embed_job *embedder, const pattern *rule, const char *folder, int depth)
{
    char full[MAX_PATH];
    join(full, embedder->root, folder);
    DIR *stream = opendir(full);
    if (stream == NULL) {
        if (depth == 0)
            add_dependency(embedder, embedder->root); /* where the folder may appear */
        return;
    }
    add_dependency(embedder, full);
    for (const struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        if (entry->d_name[0] == '.')
            continue;
        char path[MAX_PATH];
        struct stat status;
        join(path, folder, entry->d_name);
        join(full, embedder->root, path);
        if (stat(full, &status) != 0)
            continue;
        if (S_ISDIR(status.st_mode) && depth < rule->depth) {
            scan(embedder, rule, path, depth + 1);
        } else if (S_ISREG(status.st_mode) && depth >= rule->least_depth &&
                   is_wanted(rule, entry->d_name)) {
            const char *kept = st_arena_copy(embedder->arena, path, strlen(path));
            (void)ST_APPEND(embedder->arena, embedder->paths, embedder->count, kept);
        }
    }
    closedir(stream);
}

/* What the library calls a file: that of a view is "views/NAME.sql", as in the installed data. */
static const char *name_of(const char *path)
{
    static const char tool[] = "estimator/tools/trace/";
    bool is_view = strncmp(path, tool, strlen(tool)) == 0;
    return is_view ? path + strlen(tool) : path;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(name_of(*(const char *const *)a), name_of(*(const char *const *)b));
}

/* With a NUL behind them, as text. */
static void write_bytes(st_buffer *code, const char *name, size_t index, const st_buffer *bytes)
{
    st_buffer_printf(code, "static const unsigned char %s_%zu[] = {", name, index);
    for (size_t i = 0; i < bytes->length; i++)
        st_buffer_printf(code, i % BYTES_A_LINE == 0 ? "\n    %d," : " %d,",
                         (unsigned char)bytes->data[i]);
    st_buffer_printf(code, "\n    0};\n");
}

/* A tree on its way into arrays. */
typedef struct packing {
    st_buffer nodes;
    st_buffer entries;
    st_buffer texts;
    size_t node_count;
    size_t entry_count;
} packing;

/* Where the text begins among the others. */
static size_t pack_text(packing *pack, const char *bytes, size_t length)
{
    size_t first = pack->texts.length;
    st_buffer_append(&pack->texts, bytes, length + 1);
    return first;
}

static void pack_node(packing *pack, const st_yaml_node *node, size_t first)
{
    bool is_scalar = node->kind == ST_YAML_SCALAR;
    st_buffer_printf(&pack->nodes, "    {%zu, %zu, %zu, %d, %d, %d, %d},\n", first,
                     is_scalar ? node->length : node->count, node->source_offset, node->place.line,
                     node->place.column, (int)node->kind, (int)node->quoted);
    pack->node_count++;
}

/*
 * Level by level: a node's items get their numbers when its turn comes, so that they and the
 * entries that name them follow one another. What several aliases name is written as often.
 */
static void pack_tree(packing *pack, const st_yaml_node *root, st_arena *arena)
{
    const st_yaml_node **queue = NULL;
    size_t known = 0;
    (void)ST_APPEND(arena, queue, known, root);
    for (size_t i = 0; i < known; i++) {
        const st_yaml_node *node = queue[i];
        if (node->kind == ST_YAML_SCALAR) {
            pack_node(pack, node, pack_text(pack, node->text, node->length));
            continue;
        }
        pack_node(pack, node, pack->entry_count);
        pack->entry_count += node->count;
        for (size_t j = 0; j < node->count; j++) {
            size_t key = 0;
            st_place place = {0};
            if (node->kind == ST_YAML_MAP) {
                key = pack_text(pack, node->keys[j], strlen(node->keys[j]));
                place = node->key_places[j];
            }
            st_buffer_printf(&pack->entries, "    {%zu, %zu, %d, %d},\n", known, key, place.line,
                             place.column);
            (void)ST_APPEND(arena, queue, known, node->items[j]);
        }
    }
    pack->nodes.failed = pack->nodes.failed || st_arena_failed(arena);
}

static void write_code(embed_job *embedder)
{
    st_buffer_printf(&embedder->code, "/* Generated by estimator/core/job/embed.c. */\n"
                                      "#include \"job/embedded.h\"\n\n");
    st_buffer table = {0};
    for (size_t i = 0; i < embedder->count; i++) {
        const char *path = embedder->paths[i];
        st_buffer bytes = {0};
        char full[MAX_PATH];
        char block[BUFSIZ];
        join(full, embedder->root, embedder->paths[i]);
        add_dependency(embedder, full);
        FILE *stream = fopen(full, "rb");
        for (size_t length = 1; stream != NULL && length > 0 && bytes.length <= MAX_BYTES;) {
            length = fread(block, 1, sizeof block, stream);
            st_buffer_append(&bytes, block, length);
        }
        if (stream == NULL || ferror(stream) != 0 || bytes.length > MAX_BYTES) {
            fprintf(stderr, "embed: cannot read %s, of at most %d bytes\n", full, MAX_BYTES);
            exit(1);
        }
        fclose(stream);
        write_bytes(&embedder->code, "file", i, &bytes);
        bool has_tree = false;
        st_buffer *code = &embedder->code;
        static const pattern yaml = {.ending = ".yaml"};
        if (embedder->trees && is_wanted(&yaml, path)) {
            st_arena *arena = st_arena_create();
            const st_yaml_node *root = NULL;
            bool is_good =
                arena != NULL &&
                st_yaml_parse(path, bytes.data, bytes.length, arena, &root, NULL) == ST_OK &&
                root->source_length == bytes.length; /* no byte order mark */
            if (is_good) {
                packing pack = {0};
                pack_tree(&pack, root, arena);
                write_bytes(code, "texts", i, &pack.texts);
                st_buffer_printf(code, "static const st_yaml_packed_node nodes_%zu[] = {\n", i);
                append_buffer(code, &pack.nodes);
                st_buffer_printf(code, "};\nstatic const st_yaml_packed_entry entries_%zu[] = {\n",
                                 i);
                append_buffer(code, &pack.entries);
                st_buffer_printf(code,
                                 "    {0, 0, 0, 0}};\n"
                                 "static const st_yaml_packed tree_%zu = {nodes_%zu, entries_%zu, "
                                 "texts_%zu, %zu, %zu};\n",
                                 i, i, i, i, pack.node_count, pack.entry_count);
                st_buffer_free(&pack.nodes);
                st_buffer_free(&pack.entries);
                st_buffer_free(&pack.texts);
            }
            st_arena_destroy(arena);
            has_tree = is_good;
        }
        st_buffer_printf(&table, "    {\"%s\", file_%zu, sizeof file_%zu - 1, ", name_of(path), i,
                         i);
        st_buffer_printf(&table, has_tree ? "&tree_%zu},\n" : "0},\n", i);
        st_buffer_free(&bytes);
    }
    st_buffer_printf(&embedder->code, "\nconst st_embedded_file st_embedded_files[] = {\n");
    append_buffer(&embedder->code, &table);
    st_buffer_printf(&embedder->code, "    {0, 0, 0, 0}};\nconst size_t st_embedded_count = %zu;\n",
                     embedder->count);
    st_buffer_free(&table);
}

static bool has_content(const char *path, const st_buffer *content)
{
    FILE *stream = fopen(path, "rb");
    if (stream == NULL)
        return false;
    size_t i = 0;
    int byte = fgetc(stream);
    while (byte != EOF && i < content->length && (unsigned char)content->data[i] == byte) {
        byte = fgetc(stream);
        i++;
    }
    fclose(stream);
    return byte == EOF && i == content->length;
}

static bool write_file(const char *path, const st_buffer *content)
{
    if (!content->failed && has_content(path, content))
        return true;
    FILE *stream = fopen(path, "wb");
    bool complete = stream != NULL && !content->failed &&
                    fwrite(content->data, 1, content->length, stream) == content->length;
    complete = stream != NULL && fclose(stream) == 0 && complete;
    if (!complete)
        fprintf(stderr, "embed: cannot write %s\n", path);
    return complete;
}

static bool is_named(const char *word, int argc, char **argv)
{
    for (int i = 4; i < argc; i++)
        if (strcmp(argv[i], word) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: embed ROOT OUTPUT.c OUTPUT.d [WITHOUT...]\n");
        return 2;
    }
    embed_job embedder = {.root = argv[1], .arena = st_arena_create()};
    if (embedder.arena == NULL)
        return 1;
    st_buffer_printf(&embedder.dependencies, "%s:", argv[2]);
    embedder.trees = !is_named("trees", argc, argv);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (!is_named(rules[i].folder, argc, argv))
            scan(&embedder, &rules[i], rules[i].folder, 0);
    st_sort(embedder.paths, embedder.count, sizeof embedder.paths[0], compare_names);
    write_code(&embedder);
    st_buffer_printf(&embedder.dependencies, "\n");
    bool done = !st_arena_failed(embedder.arena) && write_file(argv[2], &embedder.code) &&
                write_file(argv[3], &embedder.dependencies);
    st_arena_destroy(embedder.arena);
    st_buffer_free(&embedder.code);
    st_buffer_free(&embedder.dependencies);
    return done ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build tool: writes formulas, configs and validation cases into one C file, so that the program
 * works without any file beside it.
 *
 *     embed ROOT OUTPUT.c OUTPUT.d
 *
 * It looks for the files itself and names the folders it looked into in the dependency file: a file
 * that is added, changed or removed makes the build run this tool again, and nothing has to be
 * listed anywhere. An output that would not change is left alone, so that nothing is rebuilt in
 * vain.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <dirent.h>
#include <stdarg.h>
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
    {"validation", NULL, "cases.yaml", 1, 1},
    {"validation", NULL, "table.yaml", 1, 1},
    {"validation", ".csv", NULL, 1, 1},
    {"plugins/template", ".c", NULL, 0, 3},
    {"plugins/template", ".build", NULL, 0, 3},
    {"plugins/template", ".md", NULL, 0, 0},
    {"estimator/include/steptime", NULL, "plugin.h", 0, 0},
};

typedef struct text {
    char *data;
    size_t length;
    size_t capacity;
} text;

typedef struct embed_job {
    const char *root;
    char **paths; /* relative to the root */
    size_t count;
    size_t capacity;
    text code;
    text dependencies;
} embed_job;

static void *grow(void *memory, size_t size)
{
    void *grown = realloc(memory, size);
    if (grown == NULL) {
        fprintf(stderr, "embed: out of memory\n");
        exit(1);
    }
    return grown;
}

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
append(text *target, const char *format, ...)
{
    char piece[2 * MAX_PATH];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof piece) {
        fprintf(stderr, "embed: a path is too long\n");
        exit(1);
    }
    if (target->length + (size_t)length + 1 > target->capacity) {
        target->capacity = 2 * target->capacity + (size_t)length + 4096;
        target->data = grow(target->data, target->capacity);
    }
    memcpy(target->data + target->length, piece, (size_t)length + 1);
    target->length += (size_t)length;
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
    append(&embedder->dependencies, " \\\n ");
    for (const char *c = path; *c != '\0'; c++) {
        const char *escape = *c == ' ' || *c == '#' ? "\\" : *c == '$' ? "$" : "";
        append(&embedder->dependencies, "%s%c", escape, *c);
    }
}

static bool is_wanted(const pattern *rule, const char *name)
{
    if (rule->name != NULL)
        return strcmp(name, rule->name) == 0;
    size_t length = strlen(name);
    size_t ending = strlen(rule->ending);
    return length > ending && strcmp(name + length - ending, rule->ending) == 0;
}

static void add_path(embed_job *embedder, const char *path)
{
    if (embedder->count == embedder->capacity) {
        embedder->capacity = 2 * embedder->capacity + 64;
        embedder->paths = grow(embedder->paths, embedder->capacity * sizeof embedder->paths[0]);
    }
    size_t size = strlen(path) + 1;
    embedder->paths[embedder->count] = grow(NULL, size);
    memcpy(embedder->paths[embedder->count++], path, size);
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
        if (S_ISDIR(status.st_mode) && depth < rule->depth)
            scan(embedder, rule, path, depth + 1);
        else if (S_ISREG(status.st_mode) && depth >= rule->least_depth &&
                 is_wanted(rule, entry->d_name))
            add_path(embedder, path);
    }
    closedir(stream);
}

static void write_bytes(embed_job *embedder, size_t index)
{
    char full[MAX_PATH];
    join(full, embedder->root, embedder->paths[index]);
    add_dependency(embedder, full);
    FILE *stream = fopen(full, "rb");
    if (stream == NULL) {
        fprintf(stderr, "embed: cannot read %s\n", full);
        exit(1);
    }
    size_t length = 0;
    append(&embedder->code, "static const unsigned char file_%zu[] = {", index);
    for (int byte = fgetc(stream); byte != EOF; byte = fgetc(stream)) {
        append(&embedder->code, length % BYTES_A_LINE == 0 ? "\n    %d," : " %d,", byte);
        if (++length > MAX_BYTES) {
            fprintf(stderr, "embed: %s has more than %d bytes\n", full, MAX_BYTES);
            exit(1);
        }
    }
    fclose(stream);
    append(&embedder->code, "\n    0};\n");
}

static int compare(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void write_code(embed_job *embedder)
{
    append(&embedder->code, "/* Generated by estimator/job/embed.c. */\n"
                            "#include \"job/embedded.h\"\n\n");
    for (size_t i = 0; i < embedder->count; i++)
        write_bytes(embedder, i);
    append(&embedder->code, "\nconst st_embedded_file st_embedded_files[] = {\n");
    for (size_t i = 0; i < embedder->count; i++)
        append(&embedder->code, "    {\"%s\", file_%zu, sizeof file_%zu - 1},\n",
               embedder->paths[i], i, i);
    append(&embedder->code, "    {0, 0, 0}};\nconst size_t st_embedded_count = %zu;\n",
           embedder->count);
}

static bool has_content(const char *path, const text *content)
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

static bool write_file(const char *path, const text *content)
{
    if (has_content(path, content))
        return true;
    FILE *stream = fopen(path, "wb");
    if (stream == NULL) {
        fprintf(stderr, "embed: cannot write %s\n", path);
        return false;
    }
    bool complete = fwrite(content->data, 1, content->length, stream) == content->length;
    complete = fclose(stream) == 0 && complete;
    if (!complete)
        fprintf(stderr, "embed: cannot write %s\n", path);
    return complete;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: embed ROOT OUTPUT.c OUTPUT.d\n");
        return 2;
    }
    embed_job embedder = {.root = argv[1]};
    append(&embedder.dependencies, "%s:", argv[2]);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        scan(&embedder, &rules[i], rules[i].folder, 0);
    if (embedder.count > 0)
        qsort(embedder.paths, embedder.count, sizeof embedder.paths[0], compare);
    write_code(&embedder);
    append(&embedder.dependencies, "\n");
    bool done = write_file(argv[2], &embedder.code) && write_file(argv[3], &embedder.dependencies);
    for (size_t i = 0; i < embedder.count; i++)
        free(embedder.paths[i]);
    free(embedder.paths);
    free(embedder.code.data);
    free(embedder.dependencies.data);
    return done ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* See classes.h. */
#include "trace/classes.h"

#include "base/chars.h"
#include "base/memory.h"
#include "base/yaml_read.h"
#include "steptime/tool/input_files.h"
#include "trace/xalloc.h"

#include <pthread.h>
#include <string.h>

enum {
    LONGEST_LOOK = 600, /* template arguments behind it say nothing new */
    MOST_LINES = 1000,
    MOST_PARTS = 1000
};

typedef struct st_trace_class_part {
    const char *text; /* lower case; '*' between parts that follow each other */
    st_trace_class class_;
} st_trace_class_part;

static const char *const class_names[ST_TRACE_CLASSES] = {
    "gemm", "attention", "norm", "elementwise", "optimizer", "memory", "communication", "other"};

const char *st_trace_class_name(st_trace_class class_)
{
    return class_ < ST_TRACE_CLASSES ? class_names[class_] : "";
}

/* ---- the table ---- */

/* A list of the table: one more part of names for each of its texts. */
static st_trace_class_part *add_parts(st_yaml_reader *reader, const st_yaml_node *names,
                                      st_trace_class class_, st_trace_class_part *parts,
                                      size_t *count)
{
    size_t text_count = 0;
    const char **texts =
        names != NULL ? st_read_texts(reader, names, "an entry of a list", &text_count) : NULL;
    for (size_t i = 0; texts != NULL && i < text_count; i++) {
        char *text = st_xcopy(reader->arena, texts[i], strlen(texts[i]));
        for (char *c = text; *c != '\0'; c++)
            *c = st_to_lower(*c);
        const st_trace_class_part part = {text, class_};
        ST_XAPPEND(reader->arena, parts, *count, part);
    }
    return parts;
}

static st_status read_classes(const st_yaml_node *root, st_arena *arena, st_trace_classes *made,
                              st_errors *errors)
{
    static const char *const known[] = {"classes", "lookups", "source"};
    static const char *const line_keys[] = {"class", "names"};
    st_trace_class_part *parts = NULL;
    st_yaml_reader reader = {.arena = arena, .errors = errors, .file = root->place.file};
    if (!st_read_is(&reader, root, ST_YAML_MAP, "classes of kernels must be a map"))
        return reader.status;
    st_read_keys(&reader, root, "classes of kernels", known, ST_COUNT(known), 0);
    const st_yaml_node *lines = st_read_list(&reader, root, "classes", MOST_LINES);
    for (size_t i = 0; lines != NULL && i < lines->count; i++) {
        const st_yaml_node *line = lines->items[i];
        if (!st_read_is(&reader, line, ST_YAML_MAP, "a line must be a map"))
            continue;
        st_read_keys(&reader, line, "a line", line_keys, ST_COUNT(line_keys), 2);
        const char *name = st_read_text(&reader, line, "class", NULL);
        size_t class_ = name != NULL
                            ? st_find_text(class_names, ST_TRACE_CLASSES, sizeof(char *), name)
                            : SIZE_MAX;
        if (name != NULL && class_ == SIZE_MAX)
            ST_NOTE(&reader, ST_ERR_NAME, st_yaml_get(line, "class")->place,
                    "unknown class '%.80s'" ST_HINT "%s", name,
                    st_errors_nearest(errors, name, class_names, ST_TRACE_CLASSES));
        const st_yaml_node *names = st_read_list(&reader, line, "names", MOST_PARTS);
        if (class_ != SIZE_MAX)
            parts = add_parts(&reader, names, (st_trace_class)class_, parts, &made->kernels.count);
    }
    made->kernels.items = parts;
    made->lookups.items = add_parts(&reader, st_read_list(&reader, root, "lookups", MOST_PARTS),
                                    ST_TRACE_OTHER, NULL, &made->lookups.count);
    return reader.status;
}

/* The library's own, read once and kept. */
static struct {
    pthread_mutex_t lock;
    st_arena *arena; /* lives as long as the program; NULL: not read yet */
    st_trace_classes classes;
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

static st_status read_own(void *context)
{
    const st_place nowhere = {0};
    const st_yaml_node *root = NULL;
    st_source source = {0};
    st_trace_classes *classes = context;
    st_arena *arena = st_xarena();
    st_errors *errors = st_xmemory(st_errors_create());
    st_status status =
        st_file_read("<embedded>/configs/kernels/classes.yaml", nowhere, arena, &source, errors);
    if (status == ST_OK)
        status = st_yaml_read(&source, arena, &root, errors);
    if (status == ST_OK)
        status = read_classes(root, arena, classes, errors);
    st_errors_destroy(errors);
    if (st_xstatus(status) == ST_OK)
        own.arena = arena;
    return status;
}

static const st_trace_classes *own_classes(void)
{
    st_status status = ST_OK;
    (void)pthread_mutex_lock(&own.lock);
    if (own.arena == NULL) {
        st_trace_classes classes = {0};
        status = st_xcall(read_own, &classes);
        own.classes = classes;
    }
    (void)pthread_mutex_unlock(&own.lock);
    st_xdone(status != ST_ERR_MEMORY);
    return &own.classes;
}

/* The user's parts come first. */
static st_trace_class_parts joined(st_arena *arena, const st_trace_class_parts *users,
                                   const st_trace_class_parts *library)
{
    const size_t count = users->count + library->count;
    st_trace_class_part *items = st_xalloc(arena, count + 1, sizeof *items);
    for (size_t i = 0; i < count; i++)
        items[i] = i < users->count ? users->items[i] : library->items[i - users->count];
    return (st_trace_class_parts){items, count};
}

st_status st_trace_classes_load(const st_paths *paths, st_arena *arena,
                                const st_trace_classes **classes, st_errors *errors)
{
    const st_trace_classes *library = own_classes();
    const st_yaml_node *root = NULL;
    st_trace_classes users = {0};
    *classes = library;
    if (paths == NULL)
        return ST_OK;
    st_status status =
        st_paths_read_yaml(paths, ST_FOLDER_KERNELS, "classes", arena, &root, errors);
    if (status == ST_OK)
        status = read_classes(root, arena, &users, errors);
    if (status != ST_OK)
        return status;
    st_trace_classes *made = st_xalloc(arena, 1, sizeof *made);
    made->kernels = joined(arena, &users.kernels, &library->kernels);
    made->lookups = joined(arena, &users.lookups, &library->lookups);
    *classes = made;
    return ST_OK;
}

/* ---- looking up ---- */

/* The parts between '*', each behind the one before it. */
static bool has_parts(const char *name, const char *text)
{
    for (;;) {
        char part[LONGEST_LOOK];
        size_t length = strcspn(text, "*");
        if (length >= sizeof part)
            return false;
        memcpy(part, text, length);
        part[length] = '\0';
        const char *found = strstr(name, part);
        if (found == NULL || text[length] == '\0')
            return found != NULL;
        name = found + length;
        text += length + 1;
    }
}

/* The first of the parts that a name contains; NULL: none. */
static const st_trace_class_part *find_part(const st_trace_class_parts *parts, const char *name)
{
    char lower[LONGEST_LOOK + 1];
    size_t length = strnlen(name, LONGEST_LOOK);
    for (size_t i = 0; i < length; i++)
        lower[i] = st_to_lower(name[i]);
    lower[length] = '\0';
    for (size_t i = 0; i < parts->count; i++) {
        const char *text = parts->items[i].text;
        bool fits =
            strchr(text, '*') == NULL ? strstr(lower, text) != NULL : has_parts(lower, text);
        if (fits)
            return &parts->items[i];
    }
    return NULL;
}

st_trace_class st_trace_class_of(const st_trace_classes *classes, const char *name)
{
    const st_trace_classes *table = classes != NULL ? classes : own_classes();
    const st_trace_class_part *part = find_part(&table->kernels, name);
    return part != NULL ? part->class_ : ST_TRACE_OTHER;
}

bool st_trace_looks_up(const st_trace_classes *classes, const char *name)
{
    const st_trace_classes *table = classes != NULL ? classes : own_classes();
    return find_part(&table->lookups, name) != NULL;
}

st_trace_class st_trace_classify(const char *name)
{
    return st_trace_class_of(NULL, name);
}

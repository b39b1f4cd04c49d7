/* SPDX-License-Identifier: Apache-2.0 */
/* See sql.h. */
#include "trace/sql.h"

#include "base/memory.h"
#include "trace/sql_tables.h"
#include "trace/xalloc.h"

#include <string.h>
#include <time.h>

#ifdef STEPTIME_HAVE_SQLITE

enum {
    OPS_A_LOOK = 10000, /* of SQLite's machine, between looks at the clock */
    MOST_VALUES = 10000000,
    MOST_SQL_BYTES = 1024 * 1024,
    MOST_TEXT_BYTES = 16 * 1024 * 1024,
    MOST_COLUMNS = 64 /* of a table in text */
};
static const int64_t MOST_MEMORY_BYTES = INT64_C(4) << 30;

typedef struct value {
    int type; /* SQLITE_INTEGER and the like */
    union {
        int64_t number;
        double real;
        const char *text;
    };
} value;

/* The rows of a statement, as long as the result. */
typedef struct row_list {
    size_t columns;
    const char **names;
    const char **places; /* ".0", ".1": names without commas; NULL in views */
    value *values;       /* row by row */
    size_t value_count;
} row_list;

/* What the lines before a statement say; texts of the arena, or NULL. */
typedef struct directives {
    const char *let;
    bool is_fields;
    bool is_said;
    const char *rows;
    const char *map;
    const char *text;
    const char *csv;
} directives;

typedef struct asker {
    const st_sql_question *question;
    sqlite3 *database;
    st_sql_tables *tables;
    st_arena *arena;
    st_errors *errors;
    st_result *result;
    st_node *root;
    st_table *table; /* the last one, and the fields of its columns */
    const char *keys;
    struct timespec start;
    bool is_late;
    bool is_refused;
    bool may_create; /* a temporary table, for `let` */
    bool needs_details;
} asker;

/* ---- what a statement may do ---- */

static int authorize(void *context, int action, const char *first, const char *second,
                     const char *database, const char *trigger)
{
    asker *self = context;
    (void)database;
    (void)trigger;
    if (action == SQLITE_READ)
        self->needs_details = self->needs_details || st_sql_table_needs_details(first);
    bool is_reading = action == SQLITE_READ || action == SQLITE_SELECT ||
                      action == SQLITE_RECURSIVE ||
                      (action == SQLITE_FUNCTION && sqlite3_stricmp(second, "load_extension") != 0);
    if (is_reading || self->may_create)
        return SQLITE_OK;
    self->is_refused = true;
    return SQLITE_DENY;
}

static int look_at_clock(void *context)
{
    asker *self = context;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    double elapsed_s = (double)(now.tv_sec - self->start.tv_sec) +
                       (double)(now.tv_nsec - self->start.tv_nsec) / 1e9;
    self->is_late = self->question->limit_s > 0 && elapsed_s > self->question->limit_s;
    return self->is_late;
}

static void open_database(asker *self, const st_trace_set *set)
{
    (void)sqlite3_hard_heap_limit64(MOST_MEMORY_BYTES);
    st_xdone(sqlite3_open_v2(":memory:", &self->database,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                             NULL) == SQLITE_OK &&
             sqlite3_exec(self->database, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL) ==
                 SQLITE_OK);
    st_sql_tables_add(self->database, set, self->arena, &self->tables);
    (void)sqlite3_db_config(self->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_limit(self->database, SQLITE_LIMIT_SQL_LENGTH, MOST_SQL_BYTES);
    (void)sqlite3_limit(self->database, SQLITE_LIMIT_LENGTH, MOST_TEXT_BYTES);
    (void)sqlite3_limit(self->database, SQLITE_LIMIT_ATTACHED, 0);
    (void)sqlite3_set_authorizer(self->database, authorize, self);
    sqlite3_progress_handler(self->database, OPS_A_LOOK, look_at_clock, self);
}

/* ---- errors ---- */

static st_place place_at(const asker *self, const char *at)
{
    const st_source *source = &self->question->text;
    st_place place = {.file = source->file, .line = 1, .column = 1};
    for (const char *c = source->text; c < at; c++) {
        place.column += ((unsigned char)*c & 0xC0) != 0x80;
        if (*c == '\n')
            place = (st_place){source->file, place.line + 1, 1};
    }
    return place;
}

/* A fault of the question: of the command line, or of a file. */
static st_status fault_of(const asker *self, st_status of_file)
{
    return self->question->is_view ? of_file : ST_ERR_USAGE;
}

/* The error of a statement, whose text begins at `at` within the question. */
static st_status fail(asker *self, const char *at, int code)
{
    int offset = -1;
#if SQLITE_VERSION_NUMBER >= 3038000
    offset = sqlite3_error_offset(self->database);
#endif
    st_place place = place_at(self, at + (offset > 0 ? offset : 0));
    if (self->is_late)
        return st_fail(self->errors, ST_ERR_LIMIT, place_at(self, at),
                       "the statement took longer than %g s" ST_HINT
                       "use --limit SECONDS to allow more, or --limit 0 for no limit",
                       self->question->limit_s);
    if (self->is_refused)
        return st_fail(self->errors, fault_of(self, ST_ERR_VALUE), place_at(self, at),
                       "the statement is not read-only" ST_EXPECTED "SELECT, or WITH ... SELECT");
    st_xdone(code != SQLITE_NOMEM || sqlite3_memory_highwater(0) > MOST_MEMORY_BYTES / 2);
    if (code == SQLITE_NOMEM)
        return st_fail(self->errors, ST_ERR_LIMIT, place_at(self, at),
                       "the statement needs too much memory" ST_EXPECTED "at most 4 GiB");
    const char *message = sqlite3_errmsg(self->database);
    const st_status status = fault_of(self, ST_ERR_SYNTAX);
    if (strncmp(message, "no such table", 13) == 0)
        return st_fail(self->errors, status, place, "%s" ST_EXPECTED "one of %s", message,
                       st_sql_table_names(self->arena));
    if (strncmp(message, "no such column", 14) == 0)
        return st_fail(self->errors, status, place,
                       "%s" ST_HINT "'SELECT * FROM columns' lists tables and columns", message);
    return st_fail(self->errors, status, place, "%s" ST_EXPECTED "a SELECT of SQLite %s", message,
                   sqlite3_libversion());
}

/* ---- text around statements ---- */

static const char *copy(const asker *self, const char *text, size_t length)
{
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\r'))
        length--;
    return st_xcopy(self->arena, text, length);
}

/* One line, behind "--:". */
static st_status take_directive(const asker *self, const char *line, size_t length,
                                directives *found)
{
    const struct {
        const char *word;
        const char **text;
        bool *flag;
    } words[] = {{"let", &found->let, NULL},     {"fields", NULL, &found->is_fields},
                 {"say", NULL, &found->is_said}, {"rows", &found->rows, NULL},
                 {"map", &found->map, NULL},     {"text", &found->text, NULL},
                 {"csv", &found->csv, NULL}};
    size_t skip = strspn(line, " ");
    size_t size = strcspn(line + skip, " \r\n");
    for (size_t i = 0; i < ST_COUNT(words) && skip + size <= length; i++) {
        if (strlen(words[i].word) != size || strncmp(line + skip, words[i].word, size) != 0)
            continue;
        size_t from = skip + size + strspn(line + skip + size, " ");
        const char *text = from < length ? copy(self, line + from, length - from) : "";
        if ((words[i].flag != NULL) != (text == NULL || text[0] == '\0'))
            break;
        if (words[i].flag != NULL)
            *words[i].flag = true;
        else
            *words[i].text = text;
        return ST_OK;
    }
    return st_fail(self->errors, ST_ERR_SYNTAX, place_at(self, line),
                   "unknown line '--:%.*s'" ST_EXPECTED "let NAME, fields, say, rows KEY, map KEY, "
                   "text TITLE=COLUMN|... or csv COLUMN,...",
                   (int)(length < 80 ? length : 80), line);
}

/* Moves `at` to the next statement, or to the end. */
static st_status skip_comments(const asker *self, const char **at, directives *found)
{
    const char *next = *at;
    for (;;) {
        next += strspn(next, " \t\r\n;");
        if (strncmp(next, "--", 2) == 0) {
            size_t length = strcspn(next, "\n");
            st_status status = found != NULL && next[2] == ':'
                                   ? take_directive(self, next + 3, length - 3, found)
                                   : ST_OK;
            if (status != ST_OK)
                return status;
            next += length;
        } else if (strncmp(next, "/*", 2) == 0 && strstr(next, "*/") != NULL) {
            next = strstr(next, "*/") + 2;
        } else {
            break;
        }
    }
    *at = next;
    return ST_OK;
}

/* ---- rows ---- */

static st_status take_rows(asker *self, const char *at, sqlite3_stmt *statement, row_list *list)
{
    /* Names of columns, each once. */
    list->columns = (size_t)sqlite3_column_count(statement);
    list->names = st_xalloc(self->arena, list->columns, sizeof *list->names);
    if (!self->question->is_view)
        list->places = st_xalloc(self->arena, list->columns, sizeof *list->places);
    for (size_t c = 0; c < list->columns; c++) {
        const char *name = sqlite3_column_name(statement, (int)c);
        name = name != NULL ? name : "";
        bool is_known = st_has_text(list->names, c, name);
        list->names[c] = st_xprintf(self->arena, is_known ? "%s_%zu" : "%s", name, c + 1);
        if (list->places != NULL)
            list->places[c] = st_xprintf(self->arena, ".%zu", c);
    }
    int code = sqlite3_step(statement);
    for (; code == SQLITE_ROW; code = sqlite3_step(statement)) {
        if (list->value_count + list->columns > MOST_VALUES)
            return st_fail(self->errors, ST_ERR_LIMIT, place_at(self, at),
                           "the statement returns more than %d values" ST_HINT
                           "group the rows, or end the statement with LIMIT",
                           MOST_VALUES);
        for (size_t c = 0; c < list->columns; c++) {
            const int column = (int)c;
            value taken = {.type = sqlite3_column_type(statement, column)};
            if (taken.type == SQLITE_INTEGER) {
                taken.number = sqlite3_column_int64(statement, column);
            } else if (taken.type == SQLITE_FLOAT) {
                taken.real = sqlite3_column_double(statement, column);
            } else if (taken.type != SQLITE_NULL) {
                const char *text = (const char *)sqlite3_column_text(statement, column);
                taken.type = SQLITE_TEXT;
                taken.text = text != NULL ? st_xcopy(self->arena, text, strlen(text)) : "";
            }
            ST_XAPPEND(self->arena, list->values, list->value_count, taken);
        }
    }
    if (code != SQLITE_DONE)
        return fail(self, at, code);
    return ST_OK;
}

static void put_value(st_node *node, const char *key, const value *put)
{
    if (put->type == SQLITE_INTEGER && put->number >= 0)
        st_put_count(node, key, (uint64_t)put->number);
    else if (put->type == SQLITE_INTEGER)
        st_put_number(node, key, (double)put->number);
    else if (put->type == SQLITE_FLOAT)
        st_put_number(node, key, put->real);
    else
        st_put_text(node, key, put->type == SQLITE_TEXT ? put->text : NULL);
}

static void fill_row(const void *context, size_t index, st_node *row)
{
    const row_list *list = context;
    for (size_t c = 0; c < list->columns; c++) {
        put_value(row, list->names[c], &list->values[index * list->columns + c]);
        if (list->places != NULL)
            put_value(row, list->places[c], &list->values[index * list->columns + c]);
    }
}

/* ---- the result ---- */

/* The length of the first of some names that are separated by `separators`. */
static bool is_null_field(const row_list *list, const char *names, const char *separators)
{
    size_t length = strcspn(names, separators);
    for (size_t c = 0; c < list->columns && list->value_count > 0; c++)
        if (strlen(list->names[c]) == length && strncmp(list->names[c], names, length) == 0)
            return list->values[c].type == SQLITE_NULL;
    return true;
}

static bool is_empty_column(const row_list *list, const char *name)
{
    size_t at = 0;
    while (at < list->columns && strcmp(list->names[at], name) != 0)
        at++;
    for (size_t i = at; i < list->value_count; i += list->columns)
        if (list->values[i].type != SQLITE_NULL)
            return false;
    return true;
}

static void put_list(asker *self, const directives *asked, row_list *rows)
{
    row_list *list = st_xalloc(self->arena, 1, sizeof *list);
    if (list == NULL)
        return;
    *list = *rows;
    if (asked->text != NULL) {
        /* "*kernel=.name|>count=count|?>rank=.rank" */
        const char *text = asked->text;
        st_table_column *columns = st_xalloc(self->arena, MOST_COLUMNS, sizeof *columns);
        char *rest = st_xcopy(self->arena, text, strlen(text));
        st_buffer keys = {0};
        size_t count = 0;
        while (rest[0] != '\0' && count < MOST_COLUMNS) {
            char *title = rest;
            rest += strcspn(rest, "|");
            if (rest[0] == '|')
                *rest++ = '\0';
            bool is_optional = title[0] == '?';
            title += is_optional;
            bool is_right = title[0] == '>';
            bool is_name = title[0] == '*';
            title += is_right || is_name;
            char *key = strchr(title, '=');
            if (key != NULL)
                *key++ = '\0';
            key = key != NULL ? key : title;
            if (is_optional && is_empty_column(list, key))
                continue;
            columns[count++] = (st_table_column){
                .title = title, .ink = is_name ? ST_INK_NAME : ST_INK_PLAIN, .right = is_right};
            st_buffer_printf(&keys, "%s%s", keys.length > 0 ? "," : "", key);
        }
        self->table = st_say_table(self->root, columns, count, 2);
        self->keys = st_xcopy(self->arena, st_buffer_read(&keys), keys.length);
        self->result->failed = self->result->failed || keys.failed;
        st_buffer_free(&keys);
    }
    st_node *node = st_put_rows(self->root, asked->rows, fill_row, list,
                                list->columns > 0 ? list->value_count / list->columns : 0);
    if (asked->text != NULL)
        st_table_show(self->table, node, self->keys);
    if (asked->csv != NULL)
        st_result_csv(self->result, asked->rows, asked->csv);
}

/* A question of one statement: all columns, as they come. */
static void put_all(asker *self, row_list *list)
{
    st_put_texts(self->root, "columns", list->names, list->columns);
    st_buffer text = {0};
    for (size_t c = 0; c < list->columns; c++) {
        bool is_right = true;
        for (size_t i = c; i < list->value_count && is_right; i += list->columns)
            is_right = list->values[i].type != SQLITE_TEXT;
        char *title = st_xcopy(self->arena, list->names[c], strlen(list->names[c]));
        for (char *at = title; at != NULL && *at != '\0'; at++)
            *at = *at == '|' || *at == '=' ? ' ' : *at;
        st_buffer_printf(&text, "%s%s%s=.%zu", c > 0 ? "|" : "", is_right ? ">" : "", title, c);
    }
    const directives asked = {.rows = "rows", .text = st_buffer_read(&text), .csv = ""};
    put_list(self, &asked, list);
    for (size_t c = 0; c < list->columns; c++)
        st_result_csv_column(self->result, list->places[c], list->names[c]);
    self->result->failed = self->result->failed || text.failed;
    st_buffer_free(&text);
}

static void put(asker *self, const directives *asked, row_list *list)
{
    if (!self->question->is_view)
        put_all(self, list);
    if (asked->is_fields && list->value_count > 0)
        fill_row(list, 0, self->root);
    for (size_t i = 0; asked->is_said && i < list->value_count; i += list->columns)
        if (list->values[i].type == SQLITE_TEXT)
            st_say(self->root, "%s", list->values[i].text);
    if (asked->rows != NULL)
        put_list(self, asked, list);
    if (asked->map != NULL) {
        st_node *node = st_put_line_map(self->root, asked->map);
        if (list->value_count > 0)
            fill_row(list, 0, node);
        if (self->table != NULL && self->keys != NULL && !is_null_field(list, self->keys, ","))
            st_table_show(self->table, node, self->keys);
        if (asked->csv != NULL && !is_null_field(list, asked->csv, ",="))
            st_result_csv(self->result, asked->map, asked->csv);
    }
}

/* ---- statements ---- */

static void bind(const asker *self, sqlite3_stmt *statement)
{
    for (size_t i = 0; i < self->question->value_count; i++) {
        const st_sql_value *one = &self->question->values[i];
        int index = sqlite3_bind_parameter_index(statement, one->name);
        if (index > 0)
            (void)sqlite3_bind_int64(statement, index, one->number);
    }
}

/* A checked statement becomes a temporary table. */
static st_status let(asker *self, const char *name, const char *at, size_t length)
{
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf("CREATE TEMP TABLE \"%w\" AS %.*s", name, (int)length, at);
    self->may_create = true;
    int code =
        sql != NULL ? sqlite3_prepare_v2(self->database, sql, -1, &statement, NULL) : SQLITE_NOMEM;
    if (code == SQLITE_OK) {
        bind(self, statement);
        code = sqlite3_step(statement);
    }
    self->may_create = false;
    st_status status = code == SQLITE_DONE ? ST_OK : fail(self, at, code);
    (void)sqlite3_finalize(statement);
    sqlite3_free(sql);
    return status;
}

static st_status run_statement(asker *self, const directives *asked, const char **at)
{
    sqlite3_stmt *statement = NULL;
    const char *tail = *at;
    row_list list = {0};
    int code = sqlite3_prepare_v2(self->database, *at, -1, &statement, &tail);
    if (code != SQLITE_OK)
        return fail(self, *at, code);
    st_status status = ST_OK;
    if (statement == NULL || sqlite3_column_count(statement) == 0 ||
        sqlite3_stmt_readonly(statement) == 0)
        status = st_fail(self->errors, fault_of(self, ST_ERR_VALUE), place_at(self, *at),
                         "the statement is not a query" ST_EXPECTED "SELECT, or WITH ... SELECT");
    else if (asked->let != NULL)
        status = let(self, asked->let, *at, (size_t)(tail - *at));
    bind(self, statement);
    if (status == ST_OK && asked->let == NULL) {
        status = take_rows(self, *at, statement, &list);
        if (status == ST_OK && self->result != NULL)
            put(self, asked, &list);
    }
    (void)sqlite3_finalize(statement);
    *at = tail;
    return status;
}

static st_status run(asker *self)
{
    const st_source *source = &self->question->text;
    const char *at = source->text;
    size_t statements = 0;
    for (;; statements++) {
        directives asked = {0};
        st_status status = skip_comments(self, &at, self->question->is_view ? &asked : NULL);
        if (status != ST_OK)
            return status;
        if (at[0] == '\0')
            break;
        if (statements > 0 && !self->question->is_view)
            return st_fail(self->errors, ST_ERR_USAGE, place_at(self, at),
                           "more than one statement" ST_EXPECTED "one SELECT" ST_HINT
                           "put several into a file for --view");
        status = run_statement(self, &asked, &at);
        if (status != ST_OK)
            return status;
    }
    if (statements == 0)
        return st_fail(self->errors, fault_of(self, ST_ERR_SYNTAX), (st_place){source->file, 1, 1},
                       "the statement is empty" ST_EXPECTED "SELECT ...");
    return ST_OK;
}

static st_status ask(asker *self, const st_trace_set *set)
{
    (void)clock_gettime(CLOCK_MONOTONIC, &self->start);
    open_database(self, set);
    st_status status = run(self);
    (void)sqlite3_close(self->database);
    st_sql_tables_free(self->tables);
    return status;
}

st_status st_sql_check(const st_sql_question *question, bool *needs_details, st_errors *errors)
{
    st_arena *arena = st_xarena();
    asker self = {.question = question, .arena = arena, .errors = errors};
    st_status status = ask(&self, NULL);
    *needs_details = self.needs_details;
    st_arena_destroy(arena);
    return status;
}

st_status st_sql_ask(const st_sql_question *question, const st_trace_set *set, st_arena *arena,
                     st_result *result, st_errors *errors)
{
    asker self = {.question = question, .arena = arena, .errors = errors, .result = result};
    self.root = st_result_begin(result, arena);
    return ask(&self, set);
}

#else

static st_status refuse(st_errors *errors)
{
    return st_fail(errors, ST_ERR_IO, (st_place){0},
                   "this steptime was built without SQLite, which views of recordings need");
}

st_status st_sql_check(const st_sql_question *question, bool *needs_details, st_errors *errors)
{
    (void)question;
    *needs_details = false;
    return refuse(errors);
}

st_status st_sql_ask(const st_sql_question *question, const st_trace_set *set, st_arena *arena,
                     st_result *result, st_errors *errors)
{
    (void)question;
    (void)set;
    (void)arena;
    (void)result;
    return refuse(errors);
}

#endif

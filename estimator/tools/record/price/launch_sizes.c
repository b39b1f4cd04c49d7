/* SPDX-License-Identifier: Apache-2.0 */
/* See launch_sizes.h. */
#include "record/price/launch_sizes.h"

#include "base/chars.h"
#include "base/memory.h"
#include "trace/xalloc.h"

#include <math.h>
#include <string.h>

#ifdef STEPTIME_HAVE_SQLITE
#include <sqlite3.h>

enum { MOST_PASSES = 64 }; /* of a launch over all that its pointers reach */

/* A statement for each rule that has formulas. */
struct st_launch_sizer {
    const st_rules *rules;
    sqlite3 *database;
    sqlite3_stmt **statements;    /* by rule; NULL: it has none */
    const st_launch_facts *facts; /* of the launch that is asked for */
};

/* ---- functions of formulas ---- */

static const st_launch_facts *facts_in(sqlite3_context *context)
{
    const st_launch_sizer *sizer = sqlite3_user_data(context);
    return sizer->facts;
}

/* A number of so many bytes in a structure; 0 outside of it. */
static int64_t number_in(const st_launch_facts *facts, int64_t structure, int64_t offset,
                         unsigned bytes)
{
    uint64_t number = 0;
    if (facts == NULL || structure < 0 || (size_t)structure >= facts->structure_count)
        return 0;
    const char *text = facts->structures[structure];
    size_t length = strlen(text) / 2;
    if (offset < 0 || (size_t)offset + bytes > length)
        return 0;
    for (unsigned i = 0; i < bytes; i++) {
        const char digits[] = {text[2 * ((size_t)offset + i)], text[2 * ((size_t)offset + i) + 1],
                               0};
        number |= (uint64_t)strtoul(digits, NULL, 16) << (8 * i);
    }
    return bytes == 4 ? (int64_t)(int32_t)(uint32_t)number : (int64_t)number;
}

/* int32(structure, offset) */
static void call_int32(sqlite3_context *context, int count, sqlite3_value **given)
{
    (void)count;
    sqlite3_result_double(context,
                          (double)number_in(facts_in(context), sqlite3_value_int64(given[0]),
                                            sqlite3_value_int64(given[1]), 4));
}

static void call_int64(sqlite3_context *context, int count, sqlite3_value **given)
{
    (void)count;
    sqlite3_result_double(context,
                          (double)number_in(facts_in(context), sqlite3_value_int64(given[0]),
                                            sqlite3_value_int64(given[1]), 8));
}

/* template(index), template(name, index); NULL where there is none */
static void call_template(sqlite3_context *context, int count, sqlite3_value **given)
{
    const st_launch_facts *facts = facts_in(context);
    const char *name = count > 1 ? (const char *)sqlite3_value_text(given[0]) : "";
    double value = 0;
    if (facts != NULL && name != NULL &&
        st_kernel_template(facts->name, name, (size_t)sqlite3_value_int64(given[count - 1]),
                           &value))
        sqlite3_result_double(context, value);
}

/* total(structure, offset, count): the sum of so many int32 */
static void call_total(sqlite3_context *context, int count, sqlite3_value **given)
{
    const st_launch_facts *facts = facts_in(context);
    const int64_t structure = sqlite3_value_int64(given[0]);
    const int64_t offset = sqlite3_value_int64(given[1]);
    int64_t sum = 0;
    (void)count;
    for (int64_t i = 0; facts != NULL && i < sqlite3_value_int64(given[2]); i++)
        sum += number_in(facts, structure, offset + 4 * i, 4);
    sqlite3_result_double(context, (double)sum);
}

/*
 * chunked(structure, sizes, bytes, tensors, chunks, chunk): elements of lists of tensors cut into
 * chunks of one block each: the elements of each tensor lie at offset `sizes` of the structure, in
 * so many bytes, the tensor of each block at `tensors` (a byte) and its chunk in that at `chunks`
 * (int32).
 */
static void call_chunked(sqlite3_context *context, int count, sqlite3_value **given)
{
    enum { STRUCTURE, SIZES, BYTES, TENSORS, CHUNKS, CHUNK, ARGUMENTS };
    const st_launch_facts *facts = facts_in(context);
    int64_t at[ARGUMENTS] = {0};
    double sum = 0;
    for (int i = 0; i < count && i < ARGUMENTS; i++)
        at[i] = sqlite3_value_int64(given[i]);
    for (uint32_t block = 0; facts != NULL && block < facts->grid[0]; block++) {
        int64_t tensor = number_in(facts, at[STRUCTURE], at[TENSORS] + block, 1);
        int64_t chunk = number_in(facts, at[STRUCTURE], at[CHUNKS] + 4 * (int64_t)block, 4);
        int64_t left = number_in(facts, at[STRUCTURE], at[SIZES] + at[BYTES] * tensor,
                                 at[BYTES] == 8 ? 8 : 4) -
                       chunk * at[CHUNK];
        sum += left > 0 ? (double)(left < at[CHUNK] ? left : at[CHUNK]) : 0;
    }
    sqlite3_result_double(context, sum);
}

/* ---- statements ---- */

static const char *const columns[] = {"x",       "y",    "z",       "blocks", "threads",
                                      "tensors", "read", "written", "name"};

/* "i0,...,i15,w0,...,w15" and the rest as columns of a table of one row. */
static char *head_of(const st_rules *rules, st_arena *arena)
{
    char *names = st_xcopy(arena, "", 0);
    char *places = names;
    for (int i = 0; i < 2 * ST_LAUNCH_NUMBERS; i++) {
        names = st_xprintf(arena, "%s%c%d,", names, i < ST_LAUNCH_NUMBERS ? 'i' : 'w',
                           i % ST_LAUNCH_NUMBERS);
        places = st_xprintf(arena, "%s?,", places);
    }
    for (size_t i = 0; i < ST_COUNT(columns); i++) {
        names = st_xprintf(arena, "%s%s%s", names, i > 0 ? "," : "", columns[i]);
        places = st_xprintf(arena, "%s%s?", places, i > 0 ? "," : "");
    }
    char *head = st_xprintf(arena, "WITH step_0(%s) AS (VALUES(%s))", names, places);
    for (size_t i = 0; i < rules->definition_count; i++)
        head = st_xprintf(arena, "%s, step_%zu AS (SELECT *, (%s) AS \"%s\" FROM step_%zu)", head,
                          i + 1, rules->definitions[i].text, rules->definitions[i].name, i);
    return head;
}

static st_status prepare(st_launch_sizer *sizer, const char *sql, st_place place,
                         sqlite3_stmt **statement, st_errors *errors)
{
    if (sqlite3_prepare_v2(sizer->database, sql, -1, statement, NULL) == SQLITE_OK)
        return ST_OK;
    return st_fail(errors, ST_ERR_SYNTAX, place,
                   "the formula is wrong: %s" ST_EXPECTED
                   "an expression of SQL over i0, w0, blocks, threads, read, written and the like",
                   sqlite3_errmsg(sizer->database));
}

static void close_sizer(void *context)
{
    st_launch_sizer *sizer = context;
    for (size_t i = 0; i < sizer->rules->rule_count; i++)
        (void)sqlite3_finalize(sizer->statements[i]);
    (void)sqlite3_close(sizer->database);
}

static st_status prepare_rule(st_launch_sizer *sizer, size_t index, const char *head,
                              st_arena *arena, st_errors *errors)
{
    const st_rule *rule = &sizer->rules->rules[index];
    const size_t definitions = sizer->rules->definition_count;
    const char *values = "";
    st_status status = ST_OK;
    for (size_t i = 0; i < rule->size_count; i++) {
        /* Each alone first, so that an error has the place of its own formula. */
        sqlite3_stmt *alone = NULL;
        const st_rule_formula *size = &rule->sizes[i];
        const char *sql =
            st_xprintf(arena, "%s SELECT (%s) FROM step_%zu", head, size->text, definitions);
        st_note(&status, prepare(sizer, sql, size->place, &alone, errors));
        (void)sqlite3_finalize(alone);
        values = st_xprintf(arena, "%s%s(%s)", values, i > 0 ? "," : "", size->text);
    }
    if (status != ST_OK || rule->size_count == 0)
        return status;
    return prepare(sizer,
                   st_xprintf(arena, "%s SELECT %s FROM step_%zu", head, values, definitions),
                   rule->sizes[0].place, &sizer->statements[index], errors);
}

st_status st_launch_sizer_open(const st_rules *rules, st_arena *arena, st_launch_sizer **sizer,
                               st_errors *errors)
{
    static const struct {
        const char *name;
        int count;
        void (*call)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {{"int32", 2, call_int32},       {"int64", 2, call_int64},
                     {"template", 1, call_template}, {"template", 2, call_template},
                     {"total", 3, call_total},       {"chunked", 6, call_chunked}};
    st_launch_sizer *made = st_xalloc(arena, 1, sizeof *made);
    made->rules = rules;
    made->statements = st_xalloc(arena, rules->rule_count + 1, sizeof(sqlite3_stmt *));
    if (sqlite3_open_v2(":memory:", &made->database, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
        (void)sqlite3_close(made->database);
        return st_out_of_memory(errors);
    }
    st_xdone(st_arena_defer(arena, close_sizer, made));
    for (size_t i = 0; i < ST_COUNT(functions); i++)
        st_xdone(sqlite3_create_function(made->database, functions[i].name, functions[i].count,
                                         SQLITE_UTF8, made, functions[i].call, NULL,
                                         NULL) == SQLITE_OK);
    const char *head = head_of(rules, arena);
    st_status status = ST_OK;
    for (size_t i = 0; i < rules->rule_count; i++)
        st_note(&status, prepare_rule(made, i, head, arena, errors));
    if (status == ST_OK)
        *sizer = made;
    return status;
}

/* Whether a formula has a name, which "threads" does not of "read". */
static bool has_name(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at++)
        if ((at == text || !st_is_letter(at[-1])) && !st_is_letter(at[length]))
            return true;
    return false;
}

bool st_launch_size(st_launch_sizer *sizer, const st_launch_facts *facts, st_task_shape *shape)
{
    const st_rule *rule = facts->rule;
    sqlite3_stmt *statement = rule != NULL ? sizer->statements[rule - sizer->rules->rules] : NULL;
    if (statement == NULL)
        return false;
    int place = 0;
    sizer->facts = facts;
    const double blocks = (double)facts->grid[0] * facts->grid[1] * facts->grid[2];
    const double numbers[] = {facts->grid[0],    facts->grid[1],
                              facts->grid[2],    blocks,
                              facts->threads,    (double)facts->pointer_count,
                              facts->read_bytes, facts->written_bytes};
    for (size_t i = 0; i < ST_LAUNCH_NUMBERS; i++)
        (void)sqlite3_bind_double(statement, ++place,
                                  i < facts->number_count ? (double)facts->numbers[i] : 0);
    for (size_t i = 0; i < ST_LAUNCH_NUMBERS; i++)
        (void)sqlite3_bind_double(statement, ++place,
                                  i < facts->pointer_count ? facts->widths[i] : 0);
    for (size_t i = 0; i < ST_COUNT(numbers); i++)
        (void)sqlite3_bind_double(statement, ++place, numbers[i]);
    (void)sqlite3_bind_text(statement, ++place, facts->name, -1, SQLITE_STATIC);
    bool found = sqlite3_step(statement) == SQLITE_ROW;
    bool estimated = true; /* from the bytes of the blocks */
    shape->sizes[ST_SIZE_BYTES] = facts->read_bytes + facts->written_bytes;
    for (size_t i = 0; found && i < rule->size_count; i++) {
        double value = sqlite3_column_double(statement, (int)i);
        const char *text = rule->sizes[i].text;
        /* A kernel of one's own may have a known name and other arguments. */
        bool fits = facts->structure_count > 0 || rule->sizes[i].size != ST_SIZE_BYTES ||
                    value <= MOST_PASSES * facts->reached_bytes;
        if (!isfinite(value) || value <= 0 || !fits)
            continue;
        shape->sizes[rule->sizes[i].size] = value;
        estimated = has_name(text, "read") || has_name(text, "written") || has_name(text, "moved");
    }
    shape->at_most = estimated && facts->at_most;
    (void)sqlite3_reset(statement);
    sizer->facts = NULL;
    if (found && rule->type != NULL)
        shape->type = rule->type;
    return found;
}

#else

st_status st_launch_sizer_open(const st_rules *rules, st_arena *arena, st_launch_sizer **sizer,
                               st_errors *errors)
{
    (void)arena;
    (void)sizer;
    st_report(errors, ST_SEVERITY_WARNING, ST_ERR_USAGE, (st_place){.file = rules->file},
              "built without SQLite: formulas for the sizes of kernels are not used" ST_HINT
              "install libsqlite3-dev and rebuild");
    return ST_OK;
}

bool st_launch_size(st_launch_sizer *sizer, const st_launch_facts *facts, st_task_shape *shape)
{
    (void)sizer;
    (void)facts;
    (void)shape;
    return false;
}

#endif

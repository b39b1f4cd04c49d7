/* SPDX-License-Identifier: Apache-2.0 */
/* See sql_tables.h. */
#include "trace/sql_tables.h"

#ifdef STEPTIME_HAVE_SQLITE

#include "base/number.h"
#include "trace/gpu_ratios.h"
#include "trace/link.h"
#include "trace/reports.h"
#include "trace/view.h"
#include "trace/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANK_SHIFT = 32, TEXT = 48 };

/* How a column is read from a record at its offset. */
typedef enum column_kind {
    IS_ID,
    IS_RANK,
    IS_TIME,     /* int64_t */
    IS_END,      /* the same plus the duration that follows it */
    IS_KNOWN,    /* int64_t, NULL below 0 */
    IS_SIZE,     /* size_t */
    IS_REAL,     /* double */
    IS_FLAG,     /* bool */
    IS_NAME,     /* uint32_t, a name of the rank */
    IS_TEXT,     /* const char *, may be NULL */
    IS_GPU_KIND, /* uint8_t, one of `words`, as the next two */
    IS_ACTION,
    IS_FRAME_KIND,
    IS_CLASS,   /* uint8_t, an st_trace_class */
    IS_PROCESS, /* uint16_t, a track: its device or process */
    IS_NUMBER,  /* the same: its stream or thread */
    IS_CALL,    /* the id of the call that launched an st_trace_event */
    IS_LINK,    /* correlation of an st_trace_event */
    IS_KERNEL,  /* uint32_t, an event: its id */
    IS_STEP,    /* of an st_trace_step: its start on the clock of the recording */
    IS_STEP_END,
    IS_STEP_NUMBER
} column_kind;

typedef struct column {
    const char *name;
    column_kind kind;
    size_t offset;
    const char *doc;
} column;

typedef struct table {
    const char *name;
    const column *columns;
    size_t column_count;
    size_t record_bytes;
    bool is_global;   /* one list for all ranks */
    bool is_detailed; /* only of recordings read with details */
    size_t kind_at;   /* offset of a uint8_t that must be in the range; 0: all records are rows */
    uint8_t kind_from;
    uint8_t kind_to;
    size_t list_at; /* of an st_trace: its records and their number; or a function gives them */
    size_t count_at;
    const void *(*records)(st_sql_tables *tables, size_t rank, size_t *count);
} table;

struct st_sql_tables {
    const st_trace_set *set;
    size_t rank_count;
    st_arena *arena;
    st_links *links; /* by rank, with `linked` */
    bool *linked;
    st_collectives *collectives;
    st_idle_rank *idle;
    void **idle_rows;            /* by rank */
    st_trace_summary *summaries; /* by rank, those with a trace are made */
    const void *listed;          /* the records of `columns` */
    size_t listed_count;
};

/* ---- the tables ---- */

static const char *const words[][ST_CALLS] = {{"kernel", "memcpy", "memset"},
                                              {"other", "launch", "record_event", "wait_event",
                                               "sync_stream", "sync_event", "sync_device", "free",
                                               "query"},
                                              {"operator", "annotation", "module", "python"}};

#define EVENT(member)   offsetof(st_trace_event, member)
#define FRAME(member)   offsetof(st_trace_frame, member)
#define MEMORY(member)  offsetof(st_trace_allocation, member)
#define OF_RANK(member) offsetof(st_trace, member)
#define SUMMED(member)  offsetof(st_trace_summary, member)
#define STEP(member)    offsetof(st_trace_step, member)
#define RANK_COLUMN                                                                                \
    {                                                                                              \
        "rank", IS_RANK, 0, "rank of the job, or its position if the recording has none"           \
    }

static const column rank_columns[] = {
    RANK_COLUMN,
    {"stated_rank", IS_KNOWN, OF_RANK(rank), "rank that the recording states"},
    {"file", IS_TEXT, OF_RANK(file), "file it was read from"},
    {"gpu", IS_NAME, OF_RANK(gpu), "name of its first GPU"},
    {"sm_count", IS_KNOWN, OF_RANK(sm_count), "multiprocessors of that GPU"},
    {"world_size", IS_KNOWN, OF_RANK(world_size), "ranks of the job"},
    {"base_ns", IS_KNOWN, OF_RANK(base_ns), "added to times to compare ranks"},
};

static const column kernel_columns[] = {
    {"id", IS_ID, 0, "unique over all ranks"},
    {"name", IS_NAME, EVENT(name), "full name"},
    {"class", IS_CLASS, EVENT(class_),
     "gemm, attention, norm, elementwise, optimizer, memory, communication, other"},
    {"kind", IS_GPU_KIND, EVENT(kind), "kernel, memcpy, memset"},
    RANK_COLUMN,
    {"device", IS_PROCESS, EVENT(track), "number of the GPU on its host"},
    {"stream", IS_NUMBER, EVENT(track), "stream of the GPU"},
    {"start_ns", IS_TIME, EVENT(start_ns), "on the clock of the recording"},
    {"duration_ns", IS_TIME, EVENT(duration_ns), ""},
    {"end_ns", IS_END, EVENT(start_ns), "start_ns + duration_ns"},
    {"correlation", IS_LINK, 0, "of the profiler, shared with its call"},
    {"call_id", IS_CALL, 0, "the call that launched it (calls.id)"},
};

static const column call_columns[] = {
    {"id", IS_ID, 0, "unique over all ranks"},
    {"name", IS_NAME, EVENT(name), "function of the runtime or the driver"},
    {"action", IS_ACTION, EVENT(class_),
     "launch, record_event, wait_event, sync_stream, sync_event, sync_device, free, query, other"},
    RANK_COLUMN,
    {"process", IS_PROCESS, EVENT(track), "process of the host"},
    {"thread", IS_NUMBER, EVENT(track), "thread of the host"},
    {"start_ns", IS_TIME, EVENT(start_ns), "on the clock of the recording"},
    {"duration_ns", IS_TIME, EVENT(duration_ns), ""},
    {"end_ns", IS_END, EVENT(start_ns), "start_ns + duration_ns"},
    {"correlation", IS_LINK, 0, "of the profiler, shared with its kernels"},
};

static const column operator_columns[] = {
    {"id", IS_ID, 0, "unique over all ranks"},
    {"name", IS_NAME, FRAME(name), "operator of the framework"},
    RANK_COLUMN,
    {"process", IS_PROCESS, FRAME(track), "process of the host"},
    {"thread", IS_NUMBER, FRAME(track), "thread of the host"},
    {"start_ns", IS_TIME, FRAME(start_ns), "on the clock of the recording"},
    {"duration_ns", IS_TIME, FRAME(duration_ns), ""},
    {"end_ns", IS_END, FRAME(start_ns), "start_ns + duration_ns"},
    {"sequence", IS_KNOWN, FRAME(sequence), "number that forward and backward share"},
    {"is_backward", IS_FLAG, FRAME(is_backward), "1 if it runs in the backward pass"},
    {"shapes", IS_NAME, FRAME(shapes), "shapes of its inputs"},
    {"types", IS_NAME, FRAME(types), "types of its inputs"},
    {"stack", IS_NAME, FRAME(stack), "its calls in Python, the innermost first"},
};

static const column annotation_columns[] = {
    {"id", IS_ID, 0, "unique over all ranks"},
    {"name", IS_NAME, FRAME(name), "name given by the program"},
    {"kind", IS_FRAME_KIND, FRAME(kind), "annotation, module, python"},
    RANK_COLUMN,
    {"process", IS_PROCESS, FRAME(track), "process of the host"},
    {"thread", IS_NUMBER, FRAME(track), "thread of the host"},
    {"start_ns", IS_TIME, FRAME(start_ns), "on the clock of the recording"},
    {"duration_ns", IS_TIME, FRAME(duration_ns), ""},
    {"end_ns", IS_END, FRAME(start_ns), "start_ns + duration_ns"},
};

static const column memory_columns[] = {
    {"id", IS_ID, 0, "unique over all ranks"},
    RANK_COLUMN,
    {"device", IS_KNOWN, MEMORY(device), "GPU; NULL: memory of the host"},
    {"process", IS_PROCESS, MEMORY(track), "process of the host"},
    {"thread", IS_NUMBER, MEMORY(track), "thread of the host"},
    {"at_ns", IS_TIME, MEMORY(at_ns), "on the clock of the recording"},
    {"bytes", IS_TIME, MEMORY(bytes), "allocated; negative: freed"},
    {"address", IS_KNOWN, MEMORY(address), "of the block"},
    {"allocated_bytes", IS_KNOWN, MEMORY(allocated_bytes), "total after the event"},
    {"reserved_bytes", IS_KNOWN, MEMORY(reserved_bytes), "total after the event"},
};

/* clang-format off */
#define SPENT(of, member, doc) {#member, IS_TIME, of(time.member), doc}
#define BREAKDOWN(of)                                                                              \
    SPENT(of, exposed_compute_ns, "kernels run, but no collectives"),                              \
    SPENT(of, exposed_communication_ns, "collectives run alone"),                                  \
    SPENT(of, overlapped_ns, "both run"),                                                          \
    SPENT(of, idle_ns, "nothing runs on the GPU")
/* clang-format on */

static const column time_columns[] = {
    RANK_COLUMN,
    {"start_ns", IS_TIME, SUMMED(window_start_ns), "first call or kernel"},
    {"duration_ns", IS_TIME, SUMMED(time.window_ns), "to the end of the last one"},
    BREAKDOWN(SUMMED),
    {"streams", IS_SIZE, SUMMED(streams), "streams that run something"},
    {"kernels", IS_SIZE, SUMMED(gpu_tasks), "rows of the table kernels"},
};

static const column step_columns[] = {
    RANK_COLUMN,
    {"name", IS_TEXT, STEP(name), "ProfilerStep#7"},
    {"number", IS_STEP_NUMBER, STEP(name), "7"},
    {"start_ns", IS_STEP, 0, "on the clock of the recording"},
    {"duration_ns", IS_TIME, STEP(duration_ns), ""},
    {"end_ns", IS_STEP_END, 0, "start_ns + duration_ns"},
    BREAKDOWN(STEP),
};

#define COLLECTIVE(member) offsetof(st_collective, member)
static const column collective_columns[] = {
    {"kernel_id", IS_KERNEL, COLLECTIVE(event), "its kernel (kernels.id)"},
    {"collective", IS_TEXT, COLLECTIVE(name), "all_reduce, all_gather, ..."},
    RANK_COLUMN,
    {"group_size", IS_KNOWN, COLLECTIVE(ranks), "ranks of its process group"},
    {"group_name", IS_NAME, COLLECTIVE(group), "name of its process group"},
    {"sequence", IS_KNOWN, COLLECTIVE(sequence), "number within the group"},
    {"dtype", IS_NAME, COLLECTIVE(dtype), "type of the elements"},
    {"bytes", IS_REAL, COLLECTIVE(bytes), "message, as nccl-tests count it"},
    {"start_ns", IS_TIME, COLLECTIVE(start_ns), "on the clock of the recording"},
    {"duration_ns", IS_TIME, COLLECTIVE(duration_ns), "of the kernel"},
    {"end_ns", IS_END, COLLECTIVE(start_ns), "start_ns + duration_ns"},
    {"instance", IS_KNOWN, COLLECTIVE(instance),
     "number that the kernels of all ranks share; NULL, as the columns below, if some are missing"},
    {"waiting_ns", IS_KNOWN, COLLECTIVE(waiting_ns), "until the last rank arrives"},
    {"transfer_ns", IS_KNOWN, COLLECTIVE(transfer_ns), "from then on"},
    {"late_ns", IS_KNOWN, COLLECTIVE(late_ns), "arrival after the first rank"},
    {"skew_ns", IS_KNOWN, COLLECTIVE(skew_ns),
     "of the rank that arrives last: late_ns; NULL for others"},
    {"caused_ns", IS_KNOWN, COLLECTIVE(caused_ns),
     "of the rank that arrives last: after the last but one"},
};

#define WORK(member) offsetof(st_trace_work, member)
static const column work_columns[] = {
    {"kernel_id", IS_KERNEL, WORK(kernel), "the longest of its kernels (kernels.id)"},
    RANK_COLUMN,
    {"operator", IS_NAME, WORK(operator_), "name"},
    {"shapes", IS_NAME, WORK(shapes), "of its inputs"},
    {"type", IS_TEXT, WORK(type), "of its numbers"},
    {"class", IS_CLASS, WORK(class_), "of that kernel"},
    {"kernels", IS_KNOWN, WORK(kernels), "how many it launched"},
    {"start_ns", IS_TIME, WORK(start_ns), "of the first"},
    {"duration_ns", IS_TIME, WORK(duration_ns), "of all of them"},
    {"achievable_ns", IS_KNOWN, WORK(achievable_ns), "by the rates of the sheet on this GPU"},
    {"roof_ns", IS_KNOWN, WORK(roof_ns), "by peak rate and bandwidth of the data sheet"},
    {"flop", IS_REAL, WORK(flop), "arithmetic of products and attention"},
    {"bytes", IS_REAL, WORK(bytes), "of its tensors, each once"},
    {"captured", IS_KNOWN, WORK(captured),
     "1: a CUDA graph launched the kernels, the operator ran in its capture or before it"},
};

#define SLOWDOWN(member) offsetof(st_transfer_slowdown, member)
static const column slowdown_columns[] = {
    {"alone", IS_SIZE, SLOWDOWN(alone), "transfers without computation"},
    {"overlapped", IS_SIZE, SLOWDOWN(overlapped), "transfers of the same kinds during computation"},
    {"slowdown", IS_REAL, SLOWDOWN(slowdown), "factor by which computation slows them"},
    {"error_frac", IS_REAL, SLOWDOWN(error_frac),
     "mean error of each, by the slowdown of the others"},
    {"error_none_frac", IS_REAL, SLOWDOWN(error_none_frac), "without a slowdown"},
};

/* A stream, or the GPU with a queue of nothing. */
typedef struct idle_row {
    st_idle idle;
    st_queue queue;
} idle_row;

#define IDLE(member)  offsetof(idle_row, idle.member)
#define QUEUE(member) offsetof(idle_row, queue.member)
static const column idle_columns[] = {
    RANK_COLUMN,
    {"device", IS_KNOWN, IDLE(device), "NULL: all streams of the rank together"},
    {"stream", IS_KNOWN, IDLE(stream), "NULL: the same"},
    {"kernels", IS_SIZE, IDLE(tasks), "kernels, copies and fills"},
    {"idle_ns", IS_TIME, IDLE(idle_ns), "sum of the six causes"},
    {"host_bound_ns", IS_TIME, IDLE(causes_ns[ST_IDLE_HOST]), "nothing was launched"},
    {"synchronisation_ns", IS_TIME, IDLE(causes_ns[ST_IDLE_SYNC]),
     "nothing was launched because the host had waited for the GPU"},
    {"dependency_ns", IS_TIME, IDLE(causes_ns[ST_IDLE_DEPENDENCY]),
     "a kernel waited for another stream"},
    {"communication_ns", IS_TIME, IDLE(causes_ns[ST_IDLE_COMMUNICATION]),
     "a kernel waited for a collective"},
    {"launch_ns", IS_TIME, IDLE(causes_ns[ST_IDLE_LAUNCH]), "a launch was under way"},
    {"unknown_ns", IS_TIME, IDLE(causes_ns[ST_IDLE_UNKNOWN]), "no known cause"},
    {"launched", IS_SIZE, QUEUE(launched), "kernels with a call"},
    {"queue_mean", IS_REAL, QUEUE(mean_length), "mean number of launched kernels that wait"},
    {"queue_most", IS_SIZE, QUEUE(most_length), "the largest number"},
    {"delay_median_ns", IS_KNOWN, QUEUE(delay_median_ns), "from call to kernel"},
    {"delay_p90_ns", IS_KNOWN, QUEUE(delay_p90_ns), "the same, 90th percentile"},
    {"delay_most_ns", IS_KNOWN, QUEUE(delay_most_ns), "the longest"},
    {"delay_empty_ns", IS_KNOWN, QUEUE(empty_median_ns), "median on an empty stream"},
    {"call_median_ns", IS_KNOWN, QUEUE(call_median_ns), "duration of the calls"},
    {"shorter_than_call", IS_SIZE, QUEUE(shorter), "kernels shorter than their call"},
};

/* A row of `columns`. */
typedef struct listed_column {
    const char *table;
    const char *column;
    const char *type;
    const char *unit;
    const char *doc;
} listed_column;

#define LISTED(member) offsetof(listed_column, member)

static const column listed_columns[] = {
    {"table_name", IS_TEXT, LISTED(table), "a table"},
    {"column_name", IS_TEXT, LISTED(column), "one of its columns"},
    {"type", IS_TEXT, LISTED(type), "INTEGER, REAL or TEXT"},
    {"unit", IS_TEXT, LISTED(unit), "ns, bytes or NULL"},
    {"meaning", IS_TEXT, LISTED(doc), "what it holds"},
};

static const void *rank_records(st_sql_tables *tables, size_t rank, size_t *count)
{
    *count = 1;
    return tables->set->ranks[rank];
}

static const void *time_records(st_sql_tables *tables, size_t rank, size_t *count)
{
    if (tables->summaries == NULL)
        tables->summaries = st_xalloc(tables->arena, tables->rank_count, sizeof *tables->summaries);
    if (tables->summaries[rank].trace == NULL)
        st_trace_summarize(tables->set->ranks[rank], tables->arena, &tables->summaries[rank]);
    *count = 1;
    return &tables->summaries[rank];
}

static const void *step_records(st_sql_tables *tables, size_t rank, size_t *count)
{
    const st_trace_summary *summary = time_records(tables, rank, count);
    *count = summary->step_count;
    return summary->steps;
}

static const st_collectives *find_collectives(st_sql_tables *tables)
{
    if (tables->collectives == NULL) {
        tables->collectives = st_xalloc(tables->arena, 1, sizeof *tables->collectives);
        st_collectives_find(tables->set, tables->arena, tables->collectives);
    }
    return tables->collectives;
}

static const void *collective_records(st_sql_tables *tables, size_t rank, size_t *count)
{
    *count = find_collectives(tables)->counts[rank];
    return tables->collectives->ranks[rank];
}

static const void *work_records(st_sql_tables *tables, size_t rank, size_t *count)
{
    *count = tables->set->works != NULL ? tables->set->work_counts[rank] : 0;
    return tables->set->works != NULL ? tables->set->works[rank] : NULL;
}

static const void *slowdown_records(st_sql_tables *tables, size_t rank, size_t *count)
{
    (void)rank;
    *count = 1;
    return &find_collectives(tables)->slowdown;
}

static const void *idle_records(st_sql_tables *tables, size_t rank, size_t *count)
{
    if (tables->idle == NULL)
        st_view_idle(tables->set, tables->arena, &tables->idle);
    if (tables->idle_rows == NULL)
        tables->idle_rows = st_xalloc(tables->arena, tables->rank_count, sizeof *tables->idle_rows);
    static const st_queue none = {0, (double)NAN, 0, -1, -1, -1, -1, -1, 0};
    const st_idle_rank *from = &tables->idle[rank];
    *count = from->stream_count + 1;
    if (tables->idle_rows[rank] != NULL)
        return tables->idle_rows[rank];
    idle_row *rows = st_xalloc(tables->arena, from->stream_count + 1, sizeof *rows);
    rows[0] = (idle_row){from->gpu, none};
    for (size_t i = 0; i < from->stream_count; i++)
        rows[i + 1] = (idle_row){from->streams[i], from->queues[i]};
    tables->idle_rows[rank] = rows;
    return rows;
}

static const void *listed_records(st_sql_tables *tables, size_t rank, size_t *count);

#define COLUMNS(list)       .columns = (list), .column_count = ST_COUNT(list)
#define LIST(items, number) .list_at = OF_RANK(items), .count_at = OF_RANK(number)

static const table all_tables[] = {
    {"ranks", COLUMNS(rank_columns), .records = rank_records},
    {"rank_times", COLUMNS(time_columns), .records = time_records},
    {"steps", COLUMNS(step_columns), sizeof(st_trace_step), .records = step_records},
    {"kernels", COLUMNS(kernel_columns), sizeof(st_trace_event), LIST(events, event_count),
     .kind_at = EVENT(kind), .kind_from = ST_TRACE_KERNEL, .kind_to = ST_TRACE_MEMSET},
    {"calls", COLUMNS(call_columns), sizeof(st_trace_event), LIST(events, event_count),
     .kind_at = EVENT(kind), .kind_from = ST_TRACE_CALL, .kind_to = ST_TRACE_CALL},
    {"operators", COLUMNS(operator_columns), sizeof(st_trace_frame), LIST(frames, frame_count),
     .kind_at = FRAME(kind), .is_detailed = true},
    {"annotations", COLUMNS(annotation_columns), sizeof(st_trace_frame), LIST(frames, frame_count),
     .kind_at = FRAME(kind), .kind_from = ST_FRAME_ANNOTATION, .kind_to = ST_FRAME_PYTHON,
     .is_detailed = true},
    {"memory_events", COLUMNS(memory_columns), sizeof(st_trace_allocation),
     LIST(allocations, allocation_count), .is_detailed = true},
    {"idle", COLUMNS(idle_columns), sizeof(idle_row), .records = idle_records},
    {"collectives", COLUMNS(collective_columns), sizeof(st_collective),
     .records = collective_records},
    {"work", COLUMNS(work_columns), sizeof(st_trace_work), .records = work_records,
     .is_detailed = true},
    {"transfer_slowdown", COLUMNS(slowdown_columns), .records = slowdown_records,
     .is_global = true},
    {"columns", COLUMNS(listed_columns), sizeof(listed_column), .records = listed_records,
     .is_global = true},
};

static const char *type_of(column_kind kind)
{
    bool is_text = kind == IS_NAME || kind == IS_TEXT ||
                   (kind >= IS_GPU_KIND && kind <= IS_FRAME_KIND) || kind == IS_CLASS;
    return is_text ? "TEXT" : kind == IS_REAL ? "REAL" : "INTEGER";
}

static const void *listed_records(st_sql_tables *tables, size_t rank, size_t *count)
{
    listed_column *made = NULL;
    (void)rank;
    *count = tables->listed_count;
    if (tables->listed != NULL)
        return tables->listed;
    for (size_t i = 0; i < ST_COUNT(all_tables); i++)
        for (size_t c = 0; c < all_tables[i].column_count; c++) {
            const column *from = &all_tables[i].columns[c];
            const listed_column row = {all_tables[i].name, from->name, type_of(from->kind),
                                       (st_ends_in(from->name, "_ns")     ? "ns"
                                        : st_ends_in(from->name, "bytes") ? "bytes"
                                                                          : NULL),
                                       from->doc[0] != '\0' ? from->doc : NULL};
            ST_XAPPEND(tables->arena, made, tables->listed_count, row);
        }
    *count = tables->listed_count;
    tables->listed = made;
    return made;
}

/* ---- virtual tables ---- */

typedef struct virtual_table {
    sqlite3_vtab base;
    const table *shape;
    st_sql_tables *tables;
} virtual_table;

typedef struct cursor {
    sqlite3_vtab_cursor base;
    size_t rank;
    size_t item;
    size_t count; /* records of the rank */
    const char *records;
    bool is_single; /* one row, by its id */
    bool is_done;
} cursor;

/* What sqlite3_create_module passes on. */
typedef struct module {
    const table *shape;
    st_sql_tables *tables;
} module;

static int connect(sqlite3 *database, void *auxiliary, int count, const char *const *arguments,
                   sqlite3_vtab **made, char **message)
{
    const module *from = auxiliary;
    (void)count;
    (void)arguments;
    (void)message;
    sqlite3_str *text = sqlite3_str_new(database);
    for (size_t i = 0; i < from->shape->column_count; i++)
        sqlite3_str_appendf(text, "%s\"%w\" %s", i == 0 ? "CREATE TABLE t(" : ", ",
                            from->shape->columns[i].name, type_of(from->shape->columns[i].kind));
    sqlite3_str_appendall(text, ")");
    char *declaration = sqlite3_str_finish(text);
    virtual_table *own = sqlite3_malloc(sizeof *own);
    int code = declaration != NULL && own != NULL ? sqlite3_declare_vtab(database, declaration)
                                                  : SQLITE_NOMEM;
    sqlite3_free(declaration);
    if (code != SQLITE_OK) {
        sqlite3_free(own);
        return code;
    }
    *own = (virtual_table){.shape = from->shape, .tables = from->tables};
    *made = &own->base;
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *own)
{
    sqlite3_free(own);
    return SQLITE_OK;
}

/* A row by its id, or all of them. */
static int plan(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const virtual_table *own = (const virtual_table *)base;
    info->estimatedCost = 1e6;
    info->estimatedRows = 1000000;
    for (int i = 0; i < info->nConstraint && own->shape->columns[0].kind == IS_ID; i++) {
        if (!info->aConstraint[i].usable || info->aConstraint[i].iColumn != 0 ||
            info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
            continue;
        info->aConstraintUsage[i].argvIndex = 1;
        info->idxNum = 1;
        info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
        info->estimatedCost = 1;
        info->estimatedRows = 1;
        break;
    }
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **made)
{
    (void)base;
    cursor *own = sqlite3_malloc(sizeof *own);
    if (own == NULL)
        return SQLITE_NOMEM;
    *own = (cursor){0};
    *made = &own->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *own)
{
    sqlite3_free(own);
    return SQLITE_OK;
}

static virtual_table *table_of(const sqlite3_vtab_cursor *base)
{
    return (virtual_table *)base->pVtab;
}

static bool is_row(const table *shape, const char *record)
{
    if (shape->kind_at == 0)
        return true;
    uint8_t kind = (uint8_t)record[shape->kind_at];
    return kind >= shape->kind_from && kind <= shape->kind_to;
}

static void load_rank(cursor *own)
{
    const virtual_table *from = table_of(&own->base);
    if (from->shape->records != NULL) {
        own->records = from->shape->records(from->tables, own->rank, &own->count);
        return;
    }
    const char *trace = (const char *)from->tables->set->ranks[own->rank];
    memcpy(&own->records, trace + from->shape->list_at, sizeof own->records);
    memcpy(&own->count, trace + from->shape->count_at, sizeof own->count);
}

/* From the item where the cursor is to the next that is a row of the table. */
static int seek_row(cursor *own)
{
    const virtual_table *from = table_of(&own->base);
    const table *shape = from->shape;
    size_t ranks = shape->is_global && from->tables->rank_count > 0 ? 1 : from->tables->rank_count;
    for (;;) {
        while (own->item < own->count &&
               !is_row(shape, own->records + own->item * shape->record_bytes))
            own->item++;
        if (own->item < own->count || own->rank + 1 >= ranks)
            break;
        own->rank++;
        own->item = 0;
        load_rank(own);
    }
    own->is_done = own->item >= own->count;
    return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int index, const char *name, int count,
                  sqlite3_value **values)
{
    cursor *own = (cursor *)base;
    const virtual_table *from = table_of(base);
    (void)name;
    (void)count;
    int64_t id = index == 1 ? sqlite3_value_int64(values[0]) : 0;
    bool is_id = index != 1 || sqlite3_value_numeric_type(values[0]) == SQLITE_INTEGER;
    own->is_single = index == 1;
    own->rank = (size_t)(id >> RANK_SHIFT);
    own->item = (size_t)(id & UINT32_MAX);
    own->count = 0;
    own->is_done = !is_id || id < 0 || own->rank >= from->tables->rank_count;
    if (own->is_done)
        return SQLITE_OK;
    load_rank(own);
    if (index == 0)
        return seek_row(own);
    own->is_done = own->item >= own->count ||
                   !is_row(from->shape, own->records + own->item * from->shape->record_bytes);
    return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
    cursor *own = (cursor *)base;
    own->item++;
    if (!own->is_single)
        return seek_row(own);
    own->is_done = true;
    return SQLITE_OK;
}

static int is_at_end(sqlite3_vtab_cursor *base)
{
    return ((const cursor *)base)->is_done;
}

static int64_t row_id(size_t rank, size_t item)
{
    return (int64_t)(((uint64_t)rank << RANK_SHIFT) + item);
}

static int give_id(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
    const cursor *own = (const cursor *)base;
    *id = row_id(own->rank, own->item);
    return SQLITE_OK;
}

static void give_text(sqlite3_context *to, const char *text)
{
    if (text != NULL)
        sqlite3_result_text(to, text, -1, SQLITE_STATIC);
}

/* NULL below 0. */
static void give_known(sqlite3_context *to, int64_t value)
{
    if (value >= 0)
        sqlite3_result_int64(to, value);
}

static int give_call(sqlite3_context *to, st_sql_tables *tables, size_t rank,
                     const st_trace_event *event)
{
    if (tables->linked == NULL) {
        tables->links = st_xalloc(tables->arena, tables->rank_count, sizeof *tables->links);
        tables->linked = st_xalloc(tables->arena, tables->rank_count, sizeof *tables->linked);
    }
    if (!tables->linked[rank])
        st_links_make(tables->set->ranks[rank], ST_TRACE_CALL, &tables->links[rank]);
    tables->linked[rank] = true;
    uint32_t call = st_links_call(&tables->links[rank], event);
    if (call != ST_TRACE_NONE)
        sqlite3_result_int64(to, row_id(rank, call));
    return SQLITE_OK;
}

static void give_track(sqlite3_context *to, const st_trace *trace, uint32_t index, bool is_process)
{
    const st_trace_track *track = &trace->tracks[index];
    if (is_process)
        sqlite3_result_int64(to, track->process);
    else if (track->is_text && track->number >= 0 && track->number < trace->name_count)
        give_text(to, trace->names[track->number]);
    else
        sqlite3_result_int64(to, track->number);
}

static int give_column(sqlite3_vtab_cursor *base, sqlite3_context *to, int index)
{
    const cursor *own = (const cursor *)base;
    const virtual_table *from = table_of(base);
    const column *shape = &from->shape->columns[index];
    const st_trace *trace = from->tables->set->ranks[own->rank];
    const char *record = own->records + own->item * from->shape->record_bytes;
    union {
        const void *bytes;
        const int64_t *time;
        const size_t *size;
        const double *real;
        const bool *flag;
        const uint32_t *number;
        const uint16_t *track;
        const uint8_t *word;
        const char *const *text;
    } at = {.bytes = record + shape->offset};
    switch (shape->kind) {
    case IS_ID:
        sqlite3_result_int64(to, row_id(own->rank, own->item));
        break;
    case IS_RANK:
        sqlite3_result_int64(to, trace->rank < 0 ? (int64_t)own->rank : trace->rank);
        break;
    case IS_TIME:
        sqlite3_result_int64(to, *at.time);
        break;
    case IS_END:
        sqlite3_result_int64(to, at.time[0] + at.time[1]);
        break;
    case IS_KNOWN:
        give_known(to, *at.time);
        break;
    case IS_SIZE:
        sqlite3_result_int64(to, (int64_t)*at.size);
        break;
    case IS_REAL:
        sqlite3_result_double(to, *at.real); /* NULL where it is not a number */
        break;
    case IS_KERNEL:
        sqlite3_result_int64(to, row_id(own->rank, *at.number));
        break;
    case IS_FLAG:
        sqlite3_result_int(to, *at.flag);
        break;
    case IS_NAME:
        if (*at.number != ST_TRACE_NONE)
            give_text(to, trace->names[*at.number]);
        break;
    case IS_TEXT:
        give_text(to, *at.text);
        break;
    default: /* a kind of `words` */
        give_text(to, words[shape->kind - IS_GPU_KIND][*at.word]);
        break;
    case IS_CLASS:
        give_text(to, st_trace_class_name((st_trace_class)*at.word));
        break;
    case IS_PROCESS:
    case IS_NUMBER:
        give_track(to, trace, *at.track, shape->kind == IS_PROCESS);
        break;
    case IS_LINK:
        give_known(to, st_trace_correlation(trace, at.bytes));
        break;
    case IS_CALL:
        return give_call(to, from->tables, own->rank, at.bytes);
    case IS_STEP:
    case IS_STEP_END: {
        const st_trace_step *step = at.bytes;
        sqlite3_result_int64(to, from->tables->summaries[own->rank].window_start_ns +
                                     step->start_ns +
                                     (shape->kind == IS_STEP ? 0 : step->duration_ns));
        break;
    }
    case IS_STEP_NUMBER: {
        const char *mark = strchr(*at.text, '#');
        if (mark != NULL)
            sqlite3_result_int64(to, strtoll(mark + 1, NULL, 10));
        break;
    }
    }
    return SQLITE_OK;
}

static const sqlite3_module methods = {
    .xConnect = connect,
    .xBestIndex = plan,
    .xDisconnect = disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next,
    .xEof = is_at_end,
    .xColumn = give_column,
    .xRowid = give_id,
};

/* ---- functions ---- */

static void give_copy(sqlite3_context *to, const char *text)
{
    sqlite3_result_text(to, text, -1, SQLITE_TRANSIENT);
}

static bool is_null(sqlite3_value *value)
{
    return sqlite3_value_type(value) == SQLITE_NULL;
}

/* ms(23850000): '23.850 ms' */
static void call_ms(sqlite3_context *to, int count, sqlite3_value **values)
{
    char text[TEXT];
    (void)count;
    if (!is_null(values[0]))
        give_copy(to, st_ms_text(sqlite3_value_int64(values[0]), text, sizeof text));
}

/* fixed(2.385, 1): '2.4' */
static void call_fixed(sqlite3_context *to, int count, sqlite3_value **values)
{
    char text[512];
    int digits = sqlite3_value_int(values[1]);
    (void)count;
    digits = digits < 0 ? 0 : digits > 17 ? 17 : digits;
    if (!is_null(values[0]))
        give_copy(to,
                  st_number_print('f', digits, sqlite3_value_double(values[0]), text, sizeof text));
}

/* percent(1, 4): '25.0 %' */
static void call_percent(sqlite3_context *to, int count, sqlite3_value **values)
{
    char text[TEXT];
    char number[TEXT];
    double whole = sqlite3_value_double(values[1]);
    double share = whole > 0 ? 100 * sqlite3_value_double(values[0]) / whole : 0;
    (void)count;
    (void)snprintf(text, sizeof text, "%s %%",
                   st_number_print('f', 1, share, number, sizeof number));
    if (!is_null(values[0]))
        give_copy(to, text);
}

/* short(name): both ends of a long name */
static void call_short(sqlite3_context *to, int count, sqlite3_value **values)
{
    char text[ST_SHORT_NAME];
    const char *name = (const char *)sqlite3_value_text(values[0]);
    (void)count;
    if (name != NULL)
        give_copy(to, st_short_name(name, text));
}

/* sum_ns(duration_ns): the sum, or the largest time where it does not fit; 0 of nothing */
static void add_time(sqlite3_context *to, int count, sqlite3_value **values)
{
    int64_t *sum_ns = sqlite3_aggregate_context(to, sizeof *sum_ns);
    (void)count;
    if (sum_ns == NULL)
        sqlite3_result_error_nomem(to);
    else
        *sum_ns = st_add_ns(*sum_ns, sqlite3_value_int64(values[0]));
}

static void give_sum(sqlite3_context *to)
{
    const int64_t *sum_ns = sqlite3_aggregate_context(to, 0);
    sqlite3_result_int64(to, sum_ns != NULL ? *sum_ns : 0);
}

/* bus_factor('all_reduce', 8): 1.75 */
static void call_bus_factor(sqlite3_context *to, int count, sqlite3_value **values)
{
    const char *name = (const char *)sqlite3_value_text(values[0]);
    (void)count;
    if (name != NULL && !is_null(values[1]))
        sqlite3_result_double(to, st_bus_factor(name, sqlite3_value_int64(values[1])));
}

static const struct {
    const char *name;
    int count;
    void (*call)(sqlite3_context *, int, sqlite3_value **);
} functions[] = {{"ms", 1, call_ms},
                 {"fixed", 2, call_fixed},
                 {"percent", 2, call_percent},
                 {"short", 1, call_short},
                 {"bus_factor", 2, call_bus_factor}};

/* ---- a database ---- */

void st_sql_tables_add(sqlite3 *database, const st_trace_set *set, st_arena *arena,
                       st_sql_tables **tables)
{
    st_sql_tables *own = st_xalloc(arena, 1, sizeof *own);
    module *modules = st_xalloc(arena, ST_COUNT(all_tables), sizeof *modules);
    *tables = own;
    *own = (st_sql_tables){.set = set, .rank_count = set != NULL ? set->count : 0, .arena = arena};
    int code = SQLITE_OK;
    for (size_t i = 0; i < ST_COUNT(all_tables) && code == SQLITE_OK; i++) {
        modules[i] = (module){&all_tables[i], own};
        code = sqlite3_create_module_v2(database, all_tables[i].name, &methods, &modules[i], NULL);
        /* The first mention of a table declares it, which no authorizer of readers would allow. */
        char *sql = sqlite3_mprintf("SELECT 1 FROM %s LIMIT 0", all_tables[i].name);
        if (code == SQLITE_OK)
            code = sql != NULL ? sqlite3_exec(database, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
        sqlite3_free(sql);
    }
    for (size_t i = 0; i < ST_COUNT(functions) && code == SQLITE_OK; i++)
        code = sqlite3_create_function_v2(database, functions[i].name, functions[i].count,
                                          SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                          functions[i].call, NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_create_function_v2(database, "sum_ns", 1, SQLITE_UTF8, NULL, NULL, add_time,
                                          give_sum, NULL);
    st_xdone(code == SQLITE_OK);
}

void st_sql_tables_free(st_sql_tables *tables)
{
    for (size_t i = 0; tables != NULL && tables->linked != NULL && i < tables->rank_count; i++)
        if (tables->linked[i])
            st_links_free(&tables->links[i]);
}

const char *st_sql_table_names(st_arena *arena)
{
    const char *names = "";
    for (size_t i = 0; i < ST_COUNT(all_tables); i++)
        names = st_xprintf(arena, "%s%s%s", names, i > 0 ? ", " : "", all_tables[i].name);
    return names != NULL ? names : "";
}

bool st_sql_table_needs_details(const char *name)
{
    size_t i = ST_FIND(all_tables, ST_COUNT(all_tables), name, name);
    return i != SIZE_MAX && all_tables[i].is_detailed;
}

#endif

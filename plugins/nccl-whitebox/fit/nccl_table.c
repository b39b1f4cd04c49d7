/* SPDX-License-Identifier: Apache-2.0 */
/* Tables in the making, what must hold of them at the end, and halves of a run that belong
 * together; see nccl_table.h. */
#include "nccl-whitebox/fit/nccl_build.h"

#include "base/lists.h"
#include "base/print.h"
#include "base/utf8.h"
#include "steptime/quantity.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- errors ---- */

static void out_of_memory(st_nccl_reader *reader)
{
    if (reader->status != ST_ERR_MEMORY)
        st_nccl_refuse(reader, ST_ERR_MEMORY, 0, "out of memory");
    reader->status = ST_ERR_MEMORY;
}

const char *st_nccl_text(st_nccl_reader *reader, const char *text, size_t length)
{
    char *copy = st_arena_copy(reader->arena, text, length);
    if (copy == NULL) {
        out_of_memory(reader);
        return "";
    }
    for (size_t i = 0; i < length;) {
        uint32_t code = 0;
        size_t bytes = st_utf8_decode(copy + i, length - i, &code);
        if (bytes == 0 || st_utf8_is_control(code))
            memset(copy + i, '?', bytes == 0 ? 1 : bytes);
        i += bytes == 0 ? 1 : bytes;
    }
    return copy;
}

/* ---- what a file says ---- */

size_t st_nccl_count(st_nccl_reader *reader, int line, const char *what, const char *text)
{
    double value = 0;
    bool is_number = st_number_parse(text, strlen(text), (st_place){0}, &value, NULL) == ST_OK;
    if (is_number && value >= 1 && value <= ST_NCCL_MAX_RANKS && value == floor(value))
        return (size_t)value;
    st_nccl_refuse(reader, ST_ERR_VALUE, line,
                   "invalid number of %s" ST_FOUND "'%s'" ST_EXPECTED
                   "a whole number from 1 to 1048576",
                   what, text);
    return 0;
}

const char *st_nccl_version(st_nccl_reader *reader, double code)
{
    if (!(code >= 1000 && code < 1e6) || code != floor(code))
        return "";
    unsigned packed = (unsigned)code;
    unsigned major = packed < 10000 ? packed / 1000 : packed / 10000;
    unsigned minor = packed < 10000 ? packed / 100 % 10 : packed / 100 % 100;
    const char *text = st_arena_printf(reader->arena, "%u.%u.%u", major, minor, packed % 100);
    if (text == NULL)
        out_of_memory(reader);
    return text != NULL ? text : "";
}

void st_nccl_add_device(st_nccl_reader *reader, const st_nccl_device *device, int line)
{
    if (device->rank >= ST_NCCL_MAX_RANKS || reader->device_count >= ST_NCCL_MAX_RANKS) {
        st_nccl_refuse(reader, ST_ERR_LIMIT, line, "more than 1048576 ranks");
        return;
    }
    if (!ST_APPEND(reader->arena, reader->devices, reader->device_count, *device)) {
        out_of_memory(reader);
        return;
    }
    reader->devices_counted = false;
}

ST_COMPARE(compare_ranks, st_nccl_device, ST_RISING(group) ST_RISING(rank));

ST_COMPARE(compare_hosts, st_nccl_device, ST_BY_TEXT(host));

/* A host whose first and last rank are certain, or whose first rank is. */
static void find_whole_host(st_nccl_list *list, const st_nccl_device *devices, size_t count)
{
    for (size_t i = 0, end; i < count && !list->is_followed; i = end) {
        bool runs = true;
        for (end = i + 1; end < count && strcmp(devices[end].host, devices[i].host) == 0; end++)
            runs = runs && devices[end].rank == devices[end - 1].rank + 1;
        /* The first rank, one behind that of another host, or device by device from 0. */
        bool begins =
            devices[i].rank == 0 || (i > 0 && devices[i - 1].rank + 1 == devices[i].rank) ||
            (devices[i].device == 0 && end > i + 1 && devices[end - 1].device == end - 1 - i);
        if (!begins || !runs || devices[i].host[0] == '\0')
            continue;
        list->per_host = end - i;
        list->ends_at = devices[end - 1].rank;
        list->is_followed = end < count && devices[end].rank == list->ends_at + 1;
    }
}

/* Ranks and nodes of the first group; every group does the same at the same time. */
static void count_devices(st_nccl_reader *reader)
{
    st_nccl_device *devices = reader->devices;
    size_t count = 0;
    size_t each = 0;
    qsort(devices, reader->device_count, sizeof *devices, compare_ranks);
    while (count < reader->device_count && devices[count].group == devices[0].group)
        count++;
    st_nccl_list list = {.count = count, .first = devices[0].rank, .last = devices[count - 1].rank};
    for (size_t i = 1; i < count; i++)
        list.is_repeated = list.is_repeated || devices[i].rank == devices[i - 1].rank;
    find_whole_host(&list, devices, count);
    qsort(devices, count, sizeof *devices, compare_hosts);
    reader->ranks = count;
    reader->nodes = 0;
    for (size_t i = 0; i < count && devices[0].host[0] != '\0';) { /* else nobody says it */
        size_t end = i;
        while (end < count && strcmp(devices[end].host, devices[i].host) == 0)
            end++;
        each = reader->nodes == 0 ? end - i : each;
        if (end - i != each && list.uneven == NULL)
            list.uneven = st_arena_printf(reader->arena, "%zu on %s and %zu on %s", each,
                                          devices[0].host, end - i, devices[i].host);
        reader->nodes++;
        i = end;
    }
    reader->list = list;
}

void st_nccl_open_table(st_nccl_reader *reader, int line)
{
    const st_nccl_request *request = reader->request;
    bool asks = request->ranks == 0 || request->nodes == 0;
    if (reader->device_count > 0 && !reader->devices_counted) {
        reader->gpu = reader->devices[0].gpu;
        if (asks)
            count_devices(reader);
        const st_nccl_list *list = &reader->list;
        if (asks && list->is_repeated)
            st_nccl_refuse(reader, ST_ERR_VALUE, line,
                           "%s" ST_FOUND "%zu devices of ranks %zu to %zu" ST_HINT
                           "nccl-tests built without MPI prints one table for every process; "
                           "build it with MPI=1",
                           list->last == list->first
                               ? "a table of one rank, which sends nothing, of several processes"
                               : "several processes list the same ranks",
                           list->count, list->first, list->last);
    }
    reader->devices_counted = true;
    const st_nccl_table opened = {
        .file = reader->input->file,
        .line = line,
        .collective = reader->collective,
        .ranks = request->ranks > 0 ? request->ranks : reader->ranks,
        .nodes = request->nodes > 0 ? request->nodes : reader->nodes,
        .gpu = reader->gpu,
        .fabric = reader->fabric,
        .fabric_at = reader->fabric_at,
        .version = reader->version,
        .source = reader->source,
        .list = reader->list,
        .buffers = ST_NCCL_ANY,
    };
    if (!ST_APPEND(reader->arena, reader->tables, reader->table_count, opened))
        out_of_memory(reader);
    if (reader->table_count > ST_NCCL_MAX_TABLES)
        st_nccl_refuse(reader, ST_ERR_LIMIT, line, "more than 256 tables");
}

/* ---- rows ---- */

void st_nccl_skip_row(st_nccl_reader *reader, int line)
{
    st_nccl_table none = {.left_out = 0};
    st_nccl_break(reader,
                  reader->table_count > 0 ? &reader->tables[reader->table_count - 1] : &none, line);
}

void st_nccl_add_row(st_nccl_reader *reader, const st_nccl_row *row)
{
    if (reader->table_count == 0 || reader->status != ST_OK)
        return;
    st_nccl_table *table = &reader->tables[reader->table_count - 1];
    if (!(row->size_bytes <= ST_NCCL_MAX_BYTES)) {
        char text[ST_QUANTITY_TEXT];
        const char *found = st_number_format(row->size_bytes, text, sizeof text);
        st_nccl_refuse(reader, ST_ERR_LIMIT, row->line,
                       "the size exceeds the memory of any machine" ST_FOUND "%s B" ST_EXPECTED
                       "at most 2^50 B",
                       found);
        return;
    }
    if (row->size_bytes <= 0) { /* rounded down from less than an element per rank */
        table->left_out++;
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (isnan(row->time_s[i]) || (row->time_s[i] > 0 && row->time_s[i] < 1e6))
            continue;
        char text[ST_QUANTITY_TEXT];
        const char *found = st_number_format(row->time_s[i] * 1e6, text, sizeof text);
        st_nccl_refuse(reader, ST_ERR_VALUE, row->line,
                       "invalid time %s" ST_FOUND "%s us" ST_EXPECTED
                       "more than 0 us and less than 10^12 us",
                       i == 0 ? "out of place" : "in place", found);
        return;
    }
    if (table->row_count >= ST_NCCL_MAX_ROWS) {
        st_nccl_refuse(reader, ST_ERR_LIMIT, row->line, "more than 100000 rows");
        return;
    }
    if (!ST_APPEND(reader->arena, table->rows, table->row_count, *row))
        out_of_memory(reader);
}

/* ---- names of collectives, and what the path of a file says ---- */

enum { LONGEST_COLLECTIVE = 14, SHORTEST_COLLECTIVE = 4, MOST_ON_A_NODE = 8 };

static const char between_words[] = "_-. ";

static const struct {
    const char *word; /* as nccl-tests spells it, without '_' and "_perf" */
    const char *collective;
} collectives[] = {
    {"allreduce", "all_reduce"}, {"allgather", "all_gather"}, {"reducescatter", "reduce_scatter"},
    {"broadcast", "broadcast"},  {"bcast", "broadcast"},      {"alltoall", "all_to_all"},
    {"all2all", "all_to_all"},   {"sendrecv", "send_recv"},   {"reduce", "reduce"},
    {"gather", "gather"},        {"scatter", "scatter"},
};

const char *st_nccl_collective(const char *name, size_t length)
{
    char word[32];
    size_t used = 0;
    if (length > 5 && strncasecmp(name + length - 5, "_perf", 5) == 0)
        length -= 5;
    for (size_t i = 0; i < length; i++) {
        if (name[i] == '_' || name[i] == '-')
            continue;
        if (used + 1 >= sizeof word)
            return NULL;
        word[used++] = name[i];
    }
    word[used] = '\0';
    for (size_t i = 0; i < sizeof collectives / sizeof collectives[0]; i++)
        if (strcasecmp(word, collectives[i].word) == 0)
            return collectives[i].collective;
    return NULL;
}

static bool is_start(const char *text, const char *at)
{
    return at == text || strchr(between_words, at[-1]) != NULL;
}

static bool is_end(const char *at, const char *end)
{
    return at == end || strchr(between_words, *at) != NULL;
}

static const char *collective_in(const char *text, const char *end)
{
    const char *found = NULL;
    for (const char *at = text; at < end && found == NULL; at++)
        for (size_t length = LONGEST_COLLECTIVE; length >= SHORTEST_COLLECTIVE && found == NULL;
             length--)
            if (is_start(text, at) && length <= (size_t)(end - at) && is_end(at + length, end))
                found = st_nccl_collective(at, length);
    return found;
}

/* The first byte of the name, or of the folder, that ends at `end`. */
static const char *part_before(const char *path, const char *end)
{
    while (end > path && end[-1] != '/')
        end--;
    return end;
}

static const char *path_collective(const char *path)
{
    const char *end = path + strlen(path);
    const char *name = part_before(path, end);
    const char *found = collective_in(name, end);
    if (found != NULL || name == path)
        return found;
    return collective_in(part_before(path, name - 1), name - 1);
}

/* "8g", "8gpu", "8gpus" or "8ranks" and a word's end; 0: none. */
static size_t ranks_at(const char *at, const char *end)
{
    static const char *const units[] = {"g", "gpu", "gpus", "ranks"};
    char *behind = NULL;
    unsigned long count = strtoul(at, &behind, 10);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t length = strlen(units[i]);
        if (behind > at && length <= (size_t)(end - behind) &&
            strncasecmp(behind, units[i], length) == 0 && is_end(behind + length, end))
            return count;
    }
    return 0;
}

static size_t path_ranks(const char *path)
{
    const char *end = path + strlen(path);
    const char *name = part_before(path, end);
    for (const char *at = name; at < end; at++) {
        size_t ranks = is_start(name, at) && isdigit((unsigned char)*at) ? ranks_at(at, end) : 0;
        if (ranks > 0)
            return ranks <= MOST_ON_A_NODE ? ranks : 0;
    }
    return 0;
}

bool st_nccl_path_in_place(const char *path)
{
    static const char mark[] = ".inplace";
    const char *name = part_before(path, path + strlen(path));
    const char *dot = strrchr(name, '.');
    size_t stem = dot != NULL ? (size_t)(dot - name) : 0;
    return stem > strlen(mark) && strncmp(dot - strlen(mark), mark, strlen(mark)) == 0;
}

/* ---- the end ---- */

static size_t count_times(const st_nccl_table *table, st_nccl_buffers buffers)
{
    size_t count = 0;
    for (size_t i = 0; i < table->row_count; i++)
        count += isfinite(table->rows[i].time_s[buffers]) ? 1 : 0;
    return count;
}

st_status st_nccl_choose(st_nccl_table *table, st_nccl_buffers wanted, st_errors *errors)
{
    table->buffers = wanted != ST_NCCL_ANY                          ? wanted
                     : count_times(table, ST_NCCL_OUT_OF_PLACE) > 0 ? ST_NCCL_OUT_OF_PLACE
                                                                    : ST_NCCL_IN_PLACE;
    size_t kept = 0;
    size_t rows = table->row_count;
    for (size_t i = 0; i < rows; i++)
        if (isfinite(table->rows[i].time_s[table->buffers]))
            table->rows[kept++] = table->rows[i];
    table->left_out += rows - kept;
    table->row_count = kept;
    return kept > 0
               ? ST_OK
               : st_fail(errors, ST_ERR_VALUE, st_nccl_place_of(table), "%s",
                         rows == 0 && table->left_out > 0 ? "no row of the table has both a size "
                                                            "and a time that matches its bandwidth"
                         : rows == 0                      ? "the table has no rows with a size"
                         : wanted == ST_NCCL_IN_PLACE     ? "the table has no times in place"
                                                          : "the table has no times out of place");
}

static void check_ranks(st_nccl_reader *reader, const st_nccl_table *table)
{
    if (table->ranks == 0 || table->nodes == 0) {
        st_nccl_refuse(reader, ST_ERR_VALUE, table->line,
                       "the file does not give the number of ranks and nodes" ST_HINT
                       "give --ranks and --nodes");
    } else if (table->ranks % table->nodes != 0) {
        st_nccl_refuse(reader, ST_ERR_VALUE, table->line,
                       "the number of ranks is not a multiple of the number of nodes" ST_FOUND
                       "%zu ranks on %zu nodes",
                       table->ranks, table->nodes);
    } else if (table->ranks == 1) {
        st_nccl_refuse(reader, ST_ERR_VALUE, table->line,
                       "a table of one rank, which sends nothing" ST_HINT
                       "nccl-tests built without MPI prints one for every process");
    }
}

static void check_collectives(st_nccl_reader *reader)
{
    const char *wanted = reader->request->collective;
    size_t kept = 0;
    /* The collective of the request, of the file's text, or of its path. */
    const char *found = path_collective(reader->input->file);
    for (size_t i = 0; i < reader->table_count; i++)
        if (reader->tables[i].collective == NULL)
            reader->tables[i].collective =
                reader->request->collective != NULL ? reader->request->collective : found;
    for (size_t i = 0; i < reader->table_count; i++) {
        st_nccl_table *table = &reader->tables[i];
        const char *own = table->collective;
        if (own == NULL) {
            st_nccl_refuse(reader, ST_ERR_NAME, table->line,
                           "the file does not name its collective" ST_HINT "give --collective");
            return;
        }
        if (wanted == NULL && strcmp(own, reader->tables[0].collective) != 0) {
            st_nccl_refuse(reader, ST_ERR_VALUE, table->line,
                           "a table of %s after one of %s (line %d)" ST_HINT
                           "choose one with --collective",
                           own, reader->tables[0].collective, reader->tables[0].line);
            return;
        }
        if (wanted == NULL || strcmp(own, wanted) == 0)
            reader->tables[kept++] = *table;
    }
    if (kept == 0 && !reader->request->may_lack)
        st_nccl_refuse(reader, ST_ERR_VALUE, reader->tables[0].line, "no table of %s" ST_FOUND "%s",
                       wanted, st_or_none(reader->tables[0].collective));
    reader->table_count = kept;
}

void st_nccl_finish(st_nccl_reader *reader)
{
    if (reader->table_count == 0 && reader->request->may_lack) {
        st_nccl_warn(reader, 0, "ignored: no table of measured collectives");
        return;
    }
    if (reader->table_count == 0) {
        st_nccl_refuse(reader, ST_ERR_SYNTAX, 0,
                       "no table of nccl-tests" ST_EXPECTED
                       "a line '# size count type ...' and rows below it, its "
                       "JSON, CSV with size_bytes and time_us, or a table of "
                       "OSU, MSCCL++ or size(B) and time(ns)");
        return;
    }
    check_collectives(reader);
    for (size_t i = 0; i < reader->table_count && reader->status == ST_OK; i++) {
        st_nccl_table *table = &reader->tables[i];
        /* Ranks of a node that the file's name alone says: "a100_4g.txt". */
        size_t ranks = path_ranks(reader->input->file);
        if (table->ranks == 0 && table->nodes <= 1 && ranks != 0) {
            table->ranks = ranks;
            table->nodes = 1;
            st_nccl_warn(reader, table->line,
                         "assuming %zu ranks on one node from the file's name; override "
                         "with --ranks and --nodes",
                         ranks);
        }
        st_nccl_check_table(reader, table);
        if (reader->status == ST_OK)
            check_ranks(reader, table);
        if (reader->status == ST_OK && (!reader->request->chooses_later || table->row_count == 0))
            st_note(&reader->status,
                    st_nccl_choose(table, reader->request->buffers, reader->errors));
        if (reader->status == ST_OK) {
            /* OSU counts what a rank sends to one other, nccl-tests all that it sends or
             * receives. */
            static const char *const of_parts[] = {"all_gather", "all_to_all", "gather", "scatter"};
            bool parts = false;
            for (size_t j = 0; j < sizeof of_parts / sizeof of_parts[0]; j++)
                parts = parts || strcmp(table->collective, of_parts[j]) == 0;
            for (size_t j = 0; table->sizes_of_osu && parts && j < table->row_count; j++)
                table->rows[j].size_bytes *= (double)table->ranks;
            table->sizes_of_osu = false;
            st_nccl_join_trays(reader, table);
        }
    }
    if (reader->broken == 1 && reader->status == ST_OK)
        st_nccl_warn(reader, reader->first_broken, "a broken row is left out");
    else if (reader->broken > 1 && reader->status == ST_OK)
        st_nccl_warn(reader, reader->first_broken,
                     "%zu broken rows are left out, the first one here", reader->broken);
}

/* ---- halves of a run, by the names of their files or by the source that both give ---- */

static bool has_times(const st_nccl_table *table, st_nccl_buffers buffers)
{
    for (size_t i = 0; i < table->row_count; i++)
        if (isfinite(table->rows[i].time_s[buffers]))
            return true;
    return false;
}

static bool is_half(const st_nccl_table *table, st_nccl_buffers buffers)
{
    st_nccl_buffers other = buffers == ST_NCCL_IN_PLACE ? ST_NCCL_OUT_OF_PLACE : ST_NCCL_IN_PLACE;
    return has_times(table, buffers) && !has_times(table, other);
}

/* "x.inplace.csv" next to "x.csv". */
static bool is_named_after(const char *in_place, const char *out_of_place)
{
    static const char mark[] = ".inplace";
    const char *dot = strrchr(out_of_place, '.');
    size_t stem = dot != NULL ? (size_t)(dot - out_of_place) : strlen(out_of_place);
    return strncmp(in_place, out_of_place, stem) == 0 &&
           strncmp(in_place + stem, mark, sizeof mark - 1) == 0 &&
           strcmp(in_place + stem + sizeof mark - 1, out_of_place + stem) == 0;
}

/* What differs between two tables that one run has made; NULL: nothing. */
static const char *difference(const st_nccl_table *a, const st_nccl_table *b)
{
    if (strcmp(a->collective, b->collective) != 0)
        return "the collective";
    if (a->ranks != b->ranks || a->nodes != b->nodes)
        return "the number of ranks or nodes";
    if (strcmp(a->gpu, b->gpu) != 0)
        return "the GPU";
    if (strcmp(a->fabric, b->fabric) != 0)
        return "the fabric";
    if (strcmp(a->version, b->version) != 0)
        return "the version of NCCL";
    if (strcmp(a->source, b->source) != 0)
        return "the source";
    if (a->row_count != b->row_count)
        return "the sizes";
    for (size_t i = 0; i < a->row_count; i++)
        if (a->rows[i].size_bytes != b->rows[i].size_bytes)
            return "the sizes";
    return NULL;
}

static bool belongs(const st_nccl_table *in_place, const st_nccl_table *out_of_place)
{
    return is_named_after(in_place->file, out_of_place->file) ||
           (in_place->source[0] != '\0' && difference(in_place, out_of_place) == NULL);
}

static bool same_group(const st_nccl_table *a, const st_nccl_table *b)
{
    return strcmp(a->collective, b->collective) == 0 && a->ranks == b->ranks &&
           a->nodes == b->nodes && strcmp(a->gpu, b->gpu) == 0 &&
           strcmp(a->fabric, b->fabric) == 0 && strcmp(a->version, b->version) == 0;
}

st_status st_nccl_join_runs(st_nccl_table **tables, size_t *count, st_errors *errors)
{
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        const st_nccl_table *half = tables[i];
        size_t whole = 0;
        while (whole < *count &&
               !(is_half(half, ST_NCCL_IN_PLACE) && whole != i &&
                 is_half(tables[whole], ST_NCCL_OUT_OF_PLACE) && belongs(half, tables[whole])))
            whole++;
        if (whole < *count) {
            st_status status = ST_OK;
            st_nccl_table *join_whole = tables[whole];
            const char *differs = difference(join_whole, half);
            if (differs != NULL) {
                status = st_fail(
                    errors, ST_ERR_VALUE, st_nccl_place_of(half),
                    "in-place times of another run than the out-of-place times in %s:%d" ST_FOUND
                    "%s differs" ST_EXPECTED "two halves of one run",
                    join_whole->file, join_whole->line, differs);
            } else {
                for (size_t j = 0; j < join_whole->row_count; j++) {
                    join_whole->rows[j].time_s[ST_NCCL_IN_PLACE] =
                        half->rows[j].time_s[ST_NCCL_IN_PLACE];
                    join_whole->rows[j].bandwidth[ST_NCCL_IN_PLACE] =
                        half->rows[j].bandwidth[ST_NCCL_IN_PLACE];
                    join_whole->rows[j].slack[ST_NCCL_IN_PLACE] =
                        half->rows[j].slack[ST_NCCL_IN_PLACE];
                }
            }
            if (status != ST_OK)
                return status;
            tables[i] = tables[whole]; /* once more, and left out below */
        }
    }
    for (size_t i = 0; i < *count; i++) {
        bool again = false;
        for (size_t k = 0; k < kept && !again; k++)
            again = tables[k] == tables[i];
        if (!again)
            tables[kept++] = tables[i];
    }
    *count = kept;
    return ST_OK;
}

st_status st_nccl_check_runs(const st_nccl_table *const *tables, size_t count, st_errors *errors)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++)
            if (tables[i]->buffers == ST_NCCL_IN_PLACE &&
                tables[k]->buffers == ST_NCCL_OUT_OF_PLACE && same_group(tables[i], tables[k]))
                return st_fail(
                    errors, ST_ERR_VALUE, st_nccl_place_of(tables[i]),
                    "cannot fit in-place times together with out-of-place times of another run, "
                    "%s:%d" ST_HINT
                    "give one of the two, --each, or --in-place if both have in-place times",
                    tables[k]->file, tables[k]->line);
    return ST_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reading logs, see log.h. */
#include "record/log.h"

#include "base/oom_flag.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_STRINGS = 1 << 20, MOST_LOGS = 1 << 20 };

struct st_log {
    FILE *stream;
    FILE *tail;    /* NULL: there is none, or it is the stream */
    uint64_t body; /* records in front of the tail's */
    size_t room;
    const char *name;
    st_arena *arena;
    st_log_header header;
    uint64_t at; /* records read */
    bool ended;  /* nothing more comes */
    bool whole;
    char **strings; /* by number; NULL: not defined */
    size_t string_count;
    size_t string_capacity;
    uint32_t open_string; /* being read, with its next part; 0: none */
    uint32_t open_part;
    uint32_t open_length;
};

uint64_t st_log_work(uint64_t work_hash)
{
    uint64_t mixed = (work_hash ^ work_hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return mixed ^ mixed >> 32;
}

uint64_t st_log_collective_bytes(const st_log_collective *collective)
{
    return collective->count * st_log_type_bytes(collective->type);
}

st_status st_log_list(const char *folder, st_arena *arena, const char *const **paths, size_t *count,
                      st_errors *errors)
{
    struct stat file;
    const char **found = NULL;
    size_t found_count = 0;
    if (stat(folder, &file) == 0 && S_ISREG(file.st_mode)) {
        (void)ST_APPEND(arena, found, found_count, folder);
    } else {
        DIR *stream = st_open_folder(folder);
        if (stream == NULL)
            return st_fail(errors, ST_ERR_IO, (st_place){.file = folder}, "cannot read the run: %s",
                           strerror(errno));
        for (const struct dirent *entry; (entry = readdir(stream)) != NULL;) {
            size_t length = strlen(entry->d_name);
            size_t suffix = strlen(ST_LOG_SUFFIX);
            if (length <= suffix || strcmp(entry->d_name + length - suffix, ST_LOG_SUFFIX) != 0 ||
                found_count == MOST_LOGS)
                continue;
            const char *path = st_arena_printf(arena, "%s/%s", folder, entry->d_name);
            if (!ST_APPEND(arena, found, found_count, path))
                break;
        }
        closedir(stream);
        st_sort(found, found_count, sizeof *found, st_order_texts);
    }
    if (found_count == 0)
        return st_fail(errors, ST_ERR_VALUE, (st_place){.file = folder},
                       "the folder contains no recorder logs" ST_EXPECTED
                       "files named PID-TID%s, as written by `steptime record`",
                       ST_LOG_SUFFIX);
    *paths = found;
    *count = found_count;
    return ST_OK;
}

/* NULL with errno. Opening a pipe would wait for whoever writes to it. */
static FILE *open_regular(const char *path)
{
    struct stat file;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return NULL;
    bool regular = fstat(descriptor, &file) == 0 && S_ISREG(file.st_mode);
    FILE *stream = regular ? fdopen(descriptor, "rb") : NULL;
    if (stream == NULL) {
        int fault = regular ? errno : S_ISDIR(file.st_mode) ? EISDIR : ENOTSUP;
        (void)close(descriptor);
        errno = fault;
    }
    return stream;
}

static st_status cannot_read(const char *path, st_errors *errors)
{
    return st_fail(errors, ST_ERR_IO, (st_place){.file = path}, "cannot read the log: %s",
                   errno == ENOTSUP ? "not a regular file" : strerror(errno));
}

/* The records behind the header: whole windows and the tail, or all that there are. */
static st_status find_tail(st_log *log, st_errors *errors)
{
    struct stat file;
    const size_t window = ST_LOG_WINDOW_RECORDS;
    const char *path = st_arena_printf(log->arena, "%s" ST_LOG_TAIL, log->name);
    bool sized =
        fstat(fileno(log->stream), &file) == 0 && file.st_size >= (off_t)sizeof log->header;
    log->room = sized ? ((size_t)file.st_size - sizeof log->header) / sizeof(st_log_record) : 0;
    log->body = UINT64_MAX;
    if (path == NULL)
        return st_out_of_memory(errors);
    log->tail = open_regular(path);
    if (log->tail == NULL)
        return errno == ENOENT ? ST_OK : cannot_read(path, errors);
    const uint64_t windows = log->room / window;
    log->body = windows * window;
    log->room = (size_t)log->body + window;
    if (fseek(log->tail, (long)(windows % 2 * window * sizeof(st_log_record)), SEEK_SET) != 0) {
        (void)fclose(log->tail);
        log->tail = NULL;
    }
    return ST_OK;
}

static bool next_record(st_log *log, st_log_record *into)
{
    if (log->at == log->body && log->tail != NULL) {
        (void)fclose(log->stream);
        log->stream = log->tail;
        log->tail = NULL;
    }
    if (log->body != UINT64_MAX && log->at == log->body + ST_LOG_WINDOW_RECORDS)
        return false; /* behind it is the other window */
    return fread(into, sizeof *into, 1, log->stream) == 1;
}

static st_place place_of(const st_log *log)
{
    return (st_place){.file = log->name};
}

st_status st_log_open(const char *path, st_log **log, st_errors *errors)
{
    FILE *stream = open_regular(path);
    if (stream == NULL)
        return cannot_read(path, errors);
    st_arena *arena = st_arena_create();
    st_log *made = arena != NULL ? st_arena_alloc(arena, 1, sizeof *made) : NULL;
    const char *copy = made != NULL ? st_arena_copy(arena, path, strlen(path)) : NULL;
    if (copy == NULL) {
        (void)fclose(stream);
        st_arena_destroy(arena);
        return st_out_of_memory(errors);
    }
    *made = (st_log){.stream = stream, .name = copy, .arena = arena};
    st_status status = ST_OK;
    st_log_header *header = &made->header;
    if (fread(header, sizeof *header, 1, made->stream) != 1) {
        status = st_fail(errors, ST_ERR_SYNTAX, place_of(made),
                         "the log is shorter than its header" ST_EXPECTED "at least %zu bytes",
                         sizeof *header);
    } else if (memcmp(header->magic, ST_LOG_MAGIC, sizeof header->magic) != 0) {
        status = st_fail(errors, ST_ERR_SYNTAX, place_of(made), "not a log of `steptime record`");
    } else if (header->version != ST_LOG_VERSION || header->header_bytes != sizeof *header ||
               header->record_bytes != sizeof(st_log_record)) {
        status = st_fail(errors, ST_ERR_SYNTAX, place_of(made),
                         "unsupported log format" ST_FOUND
                         "version %u, header of %u bytes, records of %u" ST_EXPECTED
                         "version %d, %zu and %zu" ST_HINT "record the program again",
                         header->version, header->header_bytes, header->record_bytes,
                         ST_LOG_VERSION, sizeof *header, sizeof(st_log_record));
    } else {
        header->device[sizeof header->device - 1] = '\0';
        header->program[sizeof header->program - 1] = '\0';
        header->policy[sizeof header->policy - 1] = '\0';
        status = find_tail(made, errors);
    }
    if (status == ST_OK)
        *log = made;
    else
        st_log_destroy(made);
    return status;
}

const st_log_header *st_log_header_of(const st_log *log)
{
    return &log->header;
}

size_t st_log_room(const st_log *log)
{
    return log->room;
}

uint64_t st_log_end_hash(const st_log *log)
{
    st_log_record last;
    const off_t at = (off_t)(sizeof log->header + (log->room - 1) * sizeof last);
    bool whole = log->body == UINT64_MAX && log->room > 0 &&
                 pread(fileno(log->stream), &last, sizeof last, at) == (ssize_t)sizeof last &&
                 last.kind == ST_LOG_END;
    return whole ? st_log_work(last.end.work_hash) : 0;
}

static st_status bad_record(const st_log *log, const char *what, uint64_t found, st_errors *errors)
{
    return st_fail(errors, ST_ERR_SYNTAX, place_of(log), "record %llu: %s" ST_FOUND "%llu",
                   (unsigned long long)log->at, what, (unsigned long long)found);
}

static st_status begin_string(st_log *log, const st_log_string *string, st_errors *errors)
{
    uint32_t number = string->string;
    if (number == 0 || number > MOST_STRINGS)
        return bad_record(log, "invalid string number", number, errors);
    if (string->length > UINT16_MAX)
        return bad_record(log, "invalid string length", string->length, errors);
    if ((size_t)log->open_part * sizeof string->text < log->open_length)
        return bad_record(log, "string begins before the previous one is complete", number, errors);
    if (number >= log->string_count) {
        char **grown = st_arena_grow(log->arena, log->strings, sizeof *grown, (size_t)number + 1,
                                     &log->string_capacity);
        if (grown == NULL)
            return st_out_of_memory(errors);
        memset(grown + log->string_count, 0, (number + 1 - log->string_count) * sizeof *grown);
        log->strings = grown;
        log->string_count = (size_t)number + 1;
    }
    char *text = st_arena_alloc(log->arena, (size_t)string->length + 1, 1);
    if (text == NULL)
        return st_out_of_memory(errors);
    log->strings[number] = text;
    log->open_string = number;
    log->open_part = 0;
    log->open_length = string->length;
    return ST_OK;
}

static st_status read_string(st_log *log, const st_log_record *record, st_errors *errors)
{
    const st_log_string *string = &record->string;
    if (record->call == 0) {
        st_status status = begin_string(log, string, errors);
        if (status != ST_OK)
            return status;
    }
    if (log->open_string != string->string || record->call != log->open_part ||
        string->length != log->open_length)
        return bad_record(log, "string part out of sequence", record->call, errors);
    size_t at = (size_t)log->open_part++ * sizeof string->text;
    if (at < log->open_length) {
        size_t left = log->open_length - at;
        memcpy(log->strings[log->open_string] + at, string->text,
               left < sizeof string->text ? left : sizeof string->text);
    }
    return ST_OK;
}

st_status st_log_read(st_log *log, st_log_record *into, bool *more, st_errors *errors)
{
    *more = false;
    while (!log->ended && next_record(log, into)) {
        log->at++;
        if (into->kind == ST_LOG_NONE)
            break;
        st_status status = ST_OK;
        if (into->kind >= ST_LOG_KINDS)
            status = bad_record(log, "unknown record kind", into->kind, errors);
        else if (into->kind == ST_LOG_STRING)
            status = read_string(log, into, errors);
        if (status != ST_OK) {
            log->ended = true;
            return status;
        }
        if (into->kind == ST_LOG_STRING)
            continue;
        log->whole = into->kind == ST_LOG_END;
        *more = true;
        return ST_OK;
    }
    log->ended = true;
    *into = (st_log_record){.kind = ST_LOG_NONE};
    return ST_OK;
}

const char *st_log_text(const st_log *log, uint32_t string)
{
    bool known = string < log->string_count && log->strings[string] != NULL;
    return known ? log->strings[string] : "";
}

bool st_log_is_whole(const st_log *log)
{
    return log->ended && log->whole;
}

void st_log_destroy(st_log *log)
{
    if (log == NULL)
        return;
    (void)fclose(log->stream);
    if (log->tail != NULL)
        (void)fclose(log->tail);
    st_arena_destroy(log->arena);
}

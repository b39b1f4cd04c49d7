/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing logs, see log.h. Records go to the tail, a small file that stays mapped, and from there
 * to the log, a window at a time: a map that moved along the log would cost a page fault for each
 * page.
 */
#define _GNU_SOURCE
#include "record/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    WINDOW_BYTES = ST_LOG_WINDOW_RECORDS * sizeof(st_log_record),
    TAIL_BYTES = 2 * WINDOW_BYTES
};

struct st_log_writer {
    int file;
    char *path;
    char *tail_path;
    dev_t device;
    ino_t inode;
    st_log_record *tail;   /* two windows, which take turns; NULL: not mapped */
    st_log_record *window; /* of them */
    size_t used;           /* records of the window */
    uint64_t windows;      /* of the log, which are full */
};

/*
 * Programs close descriptors that are not theirs, and open others under their numbers. The file is
 * opened once more where that happened; what has the number now is left alone.
 */
static bool is_open(st_log_writer *writer)
{
    struct stat now;
    if (fstat(writer->file, &now) == 0 && now.st_dev == writer->device &&
        now.st_ino == writer->inode)
        return true;
    writer->file = open(writer->path, O_RDWR | O_CLOEXEC);
    if (writer->file >= 0 && fstat(writer->file, &now) == 0 && now.st_dev == writer->device &&
        now.st_ino == writer->inode)
        return true;
    errno = EBADF;
    return false;
}

static bool write_all(st_log_writer *writer, const void *bytes, size_t length, off_t at)
{
    while (length > 0) {
        ssize_t written = is_open(writer) ? pwrite(writer->file, bytes, length, at) : -1;
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes = (const char *)bytes + written;
        length -= (size_t)written;
        at += written;
    }
    return true;
}

/* Why the log misses calls, in its header, which has its place already; errno stays. */
static void note_error(st_log_writer *writer)
{
    const int error = errno;
    const uint32_t noted = (uint32_t)error;
    if (writer->file >= 0)
        (void)write_all(writer, &noted, sizeof noted, offsetof(st_log_header, error));
    errno = error;
}

/* Puts the window's records into the log. A log whose length says that it has all of them sends its
 * reader to the other window, which is empty. */
static bool write_window(st_log_writer *writer)
{
    st_log_record *other = writer->tail + (writer->windows + 1) % 2 * ST_LOG_WINDOW_RECORDS;
    off_t at = (off_t)(sizeof(st_log_header) + writer->windows * WINDOW_BYTES);
    other->kind = ST_LOG_NONE;
    if (!write_all(writer, writer->window, writer->used * sizeof *writer->window, at))
        return false;
    if (writer->used == ST_LOG_WINDOW_RECORDS) {
        writer->windows++;
        writer->window = other;
        writer->used = 0;
    }
    return true;
}

/* The tail's blocks are there before they are written to: a full disk is an error here, no signal
 * later. */
static bool map_tail(st_log_writer *writer)
{
    int file = open(writer->tail_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        return false;
    int code = posix_fallocate(file, 0, TAIL_BYTES);
    void *tail = code == 0 ? mmap(NULL, TAIL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                           : MAP_FAILED;
    code = code == 0 ? errno : code;
    close(file);
    if (tail != MAP_FAILED)
        writer->window = writer->tail = tail;
    else
        (void)unlink(writer->tail_path);
    errno = code;
    return tail != MAP_FAILED;
}

static void drop(st_log_writer *writer)
{
    const int error = errno;
    if (writer->tail != NULL)
        (void)munmap(writer->tail, TAIL_BYTES);
    if (writer->file >= 0 && writer->path != NULL && is_open(writer))
        close(writer->file);
    free(writer->path);
    free(writer->tail_path);
    free(writer);
    errno = error;
}

static bool open_file(st_log_writer *writer, const char *path)
{
    struct stat made;
    writer->path = strdup(path);
    if (asprintf(&writer->tail_path, "%s" ST_LOG_TAIL, path) < 0)
        writer->tail_path = NULL;
    writer->file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (writer->path == NULL || writer->tail_path == NULL || writer->file < 0 ||
        fstat(writer->file, &made) != 0)
        return false;
    writer->device = made.st_dev;
    writer->inode = made.st_ino;
    /* A number that programs which close all descriptors seldom reach; the map needs none of
     * them. */
    int high = fcntl(writer->file, F_DUPFD_CLOEXEC, 500);
    if (high >= 0) {
        close(writer->file);
        writer->file = high;
    }
    return true;
}

st_log_writer *st_log_create(const char *path, const st_log_header *header)
{
    st_log_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL)
        return NULL;
    writer->file = -1;
    st_log_header head = *header;
    memcpy(head.magic, ST_LOG_MAGIC, sizeof head.magic);
    head.version = ST_LOG_VERSION;
    head.header_bytes = sizeof head;
    head.record_bytes = sizeof(st_log_record);
    if (open_file(writer, path) && write_all(writer, &head, sizeof head, 0) && map_tail(writer))
        return writer;
    note_error(writer);
    drop(writer);
    return NULL;
}

st_log_record *st_log_next(st_log_writer *writer)
{
    if (writer->used == ST_LOG_WINDOW_RECORDS && !write_window(writer))
        return NULL;
    st_log_record *record = &writer->window[writer->used++];
    memset(record, 0, sizeof *record);
    if (writer->used < ST_LOG_WINDOW_RECORDS)
        record[1].kind = ST_LOG_NONE; /* of the last turn */
    return record;
}

void st_log_commit(st_log_record *record, st_log_kind kind)
{
    __atomic_store_n(&record->kind, (uint16_t)kind, __ATOMIC_RELEASE);
}

bool st_log_define(st_log_writer *writer, uint32_t string, const char *text)
{
    size_t length = strnlen(text, UINT16_MAX);
    uint32_t part = 0;
    do {
        st_log_record *record = st_log_next(writer);
        if (record == NULL)
            return false;
        size_t at = part * sizeof record->string.text;
        size_t bytes =
            length - at < sizeof record->string.text ? length - at : sizeof record->string.text;
        record->call = part++;
        record->string.string = string;
        record->string.length = (uint32_t)length;
        memcpy(record->string.text, text + at, bytes);
        st_log_commit(record, ST_LOG_STRING);
    } while (part * sizeof((st_log_string *)NULL)->text < length);
    return true;
}

uint64_t st_log_written(const st_log_writer *writer)
{
    return writer->windows * ST_LOG_WINDOW_RECORDS + writer->used;
}

void st_log_close(st_log_writer *writer)
{
    if (writer == NULL)
        return;
    /* What does not fit stays in the tail, where readers find it. */
    if (write_window(writer))
        (void)unlink(writer->tail_path);
    else
        note_error(writer);
    drop(writer);
}

void st_log_abandon(st_log_writer *writer)
{
    if (writer != NULL)
        drop(writer);
}

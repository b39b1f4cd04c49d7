/* SPDX-License-Identifier: Apache-2.0 */
/* Writing logs, see log.h: a window of the file is mapped, the next one when it is full. */
#define _GNU_SOURCE /* madvise */
#include "record/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { POPULATE_WRITE = 23 }; /* MADV_POPULATE_WRITE since Linux 5.14, madvise(2) */
enum { WINDOW_BYTES = 1 << 20, RECORDS_OF_WINDOW = WINDOW_BYTES / (int)sizeof(st_log_record) };

struct st_log_writer {
    int file;
    char *path;
    dev_t device;
    ino_t inode;
    st_log_record *window;
    size_t used;   /* records of the window */
    size_t before; /* 64-byte slots of the file before the window */
    size_t header; /* of them the header's */
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

static bool map_window(st_log_writer *writer)
{
    off_t at = (off_t)(writer->before * sizeof(st_log_record));
    if (!is_open(writer))
        return false;
    /* Blocks are there before they are written to: a full disk is an error here, no signal later.
     */
    int code = posix_fallocate(writer->file, at, WINDOW_BYTES);
    if (code != 0) {
        errno = code;
        return false;
    }
    void *window = mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, writer->file, at);
    if (window == MAP_FAILED)
        return false;
    /* Who has filled one fills the next: its pages are made at once, not by one fault after
     * another, which would be half of what a call costs. A kernel that cannot does it the slow way.
     */
    if (writer->before > 0 && madvise(window, WINDOW_BYTES, POPULATE_WRITE) != 0)
        errno = 0;
    writer->window = window;
    writer->used = 0;
    return true;
}

static void drop(st_log_writer *writer)
{
    if (writer->window != NULL)
        (void)munmap(writer->window, WINDOW_BYTES);
    if (writer->file >= 0 && writer->path != NULL && is_open(writer))
        close(writer->file);
    free(writer->path);
    free(writer);
}

static bool open_file(st_log_writer *writer, const char *path)
{
    struct stat made;
    writer->path = strdup(path);
    writer->file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (writer->path == NULL || writer->file < 0 || fstat(writer->file, &made) != 0)
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
    return map_window(writer);
}

st_log_writer *st_log_create(const char *path, const st_log_header *header)
{
    st_log_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL)
        return NULL;
    if (!open_file(writer, path)) {
        int error = errno;
        drop(writer);
        errno = error;
        return NULL;
    }
    writer->header = sizeof *header / sizeof(st_log_record);
    st_log_header *head = (st_log_header *)(void *)writer->window;
    *head = *header;
    memcpy(head->magic, ST_LOG_MAGIC, sizeof head->magic);
    head->version = ST_LOG_VERSION;
    head->header_bytes = sizeof *head;
    head->record_bytes = sizeof(st_log_record);
    writer->used = writer->header;
    return writer;
}

st_log_record *st_log_next(st_log_writer *writer)
{
    if (writer->used == RECORDS_OF_WINDOW) {
        st_log_record *full = writer->window;
        writer->before += RECORDS_OF_WINDOW;
        if (!map_window(writer)) {
            writer->before -= RECORDS_OF_WINDOW;
            writer->window = full;
            return NULL;
        }
        munmap(full, WINDOW_BYTES);
    }
    return &writer->window[writer->used++];
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
    return writer->before + writer->used - writer->header;
}

void st_log_close(st_log_writer *writer)
{
    if (writer == NULL)
        return;
    off_t length = (off_t)((writer->before + writer->used) * sizeof(st_log_record));
    /* What cannot be cut off is zero, and ends the file for its reader just as well. */
    if (is_open(writer) && ftruncate(writer->file, length) != 0)
        errno = 0;
    drop(writer);
}

void st_log_abandon(st_log_writer *writer)
{
    if (writer != NULL)
        drop(writer);
}

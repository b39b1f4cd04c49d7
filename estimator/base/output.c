/* SPDX-License-Identifier: Apache-2.0 */
/* Output files; see output.h. */
#define _XOPEN_SOURCE 700 /* realpath; NOLINT(bugprone-reserved-identifier) */

#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_ATTEMPTS = 100, NEW_FILE_MODE = 0666, PERMISSIONS = 0777, TEMPORARY_BYTES = 64 };

/* Folder and temporary name in it; both from malloc. */
typedef struct target {
    char *folder;
    char *temporary;
    size_t folder_length; /* of what stands before the name; "" for the working folder */
} target;

/* Returns 0 or an errno. */
static int write_all(int file, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t written = write(file, data, length);
        if (written < 0 && errno != EINTR)
            return errno;
        if (written > 0) {
            data += written;
            length -= (size_t)written;
        }
    }
    return 0;
}

/* Devices and pipes: nothing to rename there. */
static int write_in_place(const char *path, const char *data, size_t length)
{
    int file = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0)
        return errno;
    int fault = write_all(file, data, length);
    if (close(file) != 0 && fault == 0)
        fault = errno;
    return fault;
}

static int find_target(const char *path, target *where)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    where->folder = malloc(length + 2);
    where->temporary = malloc(length + TEMPORARY_BYTES);
    if (where->folder == NULL || where->temporary == NULL)
        return ENOMEM;
    memcpy(where->folder, path, length);
    (void)snprintf(where->folder + length, 2, "%s", length > 0 ? "" : ".");
    memcpy(where->temporary, path, length);
    where->folder_length = length;
    return 0;
}

/* Opens a new file beside the target, so that the rename stays within one file system. */
static int open_temporary(target *where, int *file)
{
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        (void)snprintf(where->temporary + where->folder_length, TEMPORARY_BYTES,
                       ".steptime-%ld-%d.tmp", (long)getpid(), attempt);
        *file = open(where->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, NEW_FILE_MODE);
        if (*file >= 0)
            return 0;
        if (errno != EEXIST)
            return errno;
    }
    return EEXIST;
}

/* Makes the new name itself survive a crash; some file systems cannot, which is no failure. */
static void sync_folder(const char *folder)
{
    int handle = open(folder, O_RDONLY | O_CLOEXEC);
    if (handle < 0)
        return;
    (void)fsync(handle);
    (void)close(handle);
}

/* Data and permissions of the temporary file, then its new name. */
static int fill_and_rename(target *where, int file, const char *path, const struct stat *old,
                           const char *data, size_t length)
{
    int fault = 0;
    if (old != NULL && fchmod(file, old->st_mode & PERMISSIONS) != 0)
        fault = errno;
    if (fault == 0)
        fault = write_all(file, data, length);
    if (fault == 0 && fsync(file) != 0)
        fault = errno;
    if (close(file) != 0 && fault == 0)
        fault = errno;
    if (fault == 0 && rename(where->temporary, path) != 0)
        fault = errno;
    if (fault != 0)
        (void)unlink(where->temporary);
    else
        sync_folder(where->folder);
    return fault;
}

static int replace(const char *path, const struct stat *old, const char *data, size_t length)
{
    if (old != NULL && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0)
        return errno;
    target where = {.folder = NULL};
    int file = -1;
    int fault = find_target(path, &where);
    if (fault == 0)
        fault = open_temporary(&where, &file);
    if (fault == 0)
        fault = fill_and_rename(&where, file, path, old, data, length);
    free(where.folder);
    free(where.temporary);
    return fault;
}

/* Through symbolic links, which must not turn into files. */
static int replace_linked(const char *path, const struct stat *old, const char *data, size_t length)
{
    char *real = realpath(path, NULL);
    if (real == NULL)
        return errno;
    int fault = replace(real, old, data, length);
    free(real);
    return fault;
}

static int write_file(const char *path, const char *data, size_t length)
{
    struct stat old;
    if (path[0] == '\0')
        return ENOENT;
    if (stat(path, &old) != 0)
        return errno == ENOENT ? replace(path, NULL, data, length) : errno;
    if (S_ISDIR(old.st_mode))
        return EISDIR;
    if (!S_ISREG(old.st_mode))
        return write_in_place(path, data, length);
    return replace_linked(path, &old, data, length);
}

static const char *reason_for(int fault)
{
    if (fault == ENOENT)
        return "its folder does not exist";
    if (fault == EISDIR)
        return "it is a folder";
    return strerror(fault);
}

st_status st_output_write(const char *path, const char *data, size_t length, st_errors *errors)
{
    int fault = write_file(path, data, length);
    if (fault == 0)
        return ST_OK;
    return st_errors_add(
        errors, &(st_error){.status = ST_ERR_IO,
                            .place = {.file = path},
                            .message = st_errors_text(errors, "cannot write the file: %s",
                                                      path[0] != '\0' ? reason_for(fault)
                                                                      : "its name is empty")});
}

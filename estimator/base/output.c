/* SPDX-License-Identifier: Apache-2.0 */
/* Output files; see output.h. */
#define _GNU_SOURCE /* O_TMPFILE, realpath; NOLINT(bugprone-reserved-identifier) */

#include "base/output.h"

#include "base/guard.h"
#include "base/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_ATTEMPTS = 100, NEW_FILE_MODE = 0666, PERMISSIONS = 0777, TEMPORARY_BYTES = 64 };

/* Folder and temporary name in it; both from malloc. */
typedef struct target {
    char *folder;
    char *temporary;
    size_t folder_length; /* of the text before the name; "" for the working folder */
} target;

struct st_output {
    char *name; /* as the caller wrote it */
    char *real; /* behind symbolic links */
    target where;
    int file;
    uint64_t bytes; /* that were appended */
    bool in_place;  /* a device or a pipe: nothing to rename there */
    bool unnamed;   /* nobody sees the temporary file until it is whole */
    bool file_made; /* the temporary file is ours to remove */
};

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

/* A file without a name, which vanishes with whoever has it open; false where the system has none.
 */
static bool open_unnamed(const target *where, int *file)
{
    if (access("/proc/self/fd", X_OK) != 0)
        return false; /* the only way to give it a name later */
    *file = open(where->folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, NEW_FILE_MODE);
    return *file >= 0;
}

/* A temporary name in the target's folder, so that the rename stays within one file system. */
static int name_temporary(target *where, int *file)
{
    sigset_t before;
    int fault = EEXIST;
    for (int attempt = 0; attempt < MOST_ATTEMPTS && fault == EEXIST; attempt++) {
        (void)snprintf(where->temporary + where->folder_length, TEMPORARY_BYTES,
                       ".steptime-%ld-%d.tmp", (long)getpid(), attempt);
        st_signals_hold(&before);
        /* Makes a file under the temporary name: a new one, or a name for the unnamed one. */
        char unnamed[TEMPORARY_BYTES];
        if (*file < 0) {
            *file = open(where->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, NEW_FILE_MODE);
            fault = *file >= 0 ? 0 : errno;
        } else {
            (void)snprintf(unnamed, sizeof unnamed, "/proc/self/fd/%d", *file);
            fault = linkat(AT_FDCWD, unnamed, AT_FDCWD, where->temporary, AT_SYMLINK_FOLLOW) == 0
                        ? 0
                        : errno;
        }
        if (fault == 0)
            (void)st_scratch_note(where->temporary);
        st_signals_release(&before);
    }
    return fault;
}

static int check_target(const st_output *output, bool exists, target *where)
{
    if (exists && faccessat(AT_FDCWD, output->real, W_OK, AT_EACCESS) != 0)
        return errno;
    int fault = find_target(output->real, where);
    if (fault == 0 && faccessat(AT_FDCWD, where->folder, W_OK | X_OK, AT_EACCESS) != 0)
        fault = errno;
    return fault;
}

/* The file behind a path, through symbolic links, which must not turn into files; NULL: errno.
 * While plugins may write, what "/dev/stdout" names lies under another number. */
static char *real_name(const char *name)
{
    char link[32];
    if (st_guard_is_stdout(name)) {
        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", st_guard_stdout());
        name = link;
    }
    return realpath(name, NULL);
}

/* Where a file of this name will be: at the end of links that lead to nothing yet, as a shell's ">"
 * has it. NULL: errno. */
static char *future_name(const char *name)
{
    enum { MOST_LINKS = 40 };
    char *path = strdup(name);
    struct stat seen;
    for (int link = 0; path != NULL && lstat(path, &seen) == 0 && S_ISLNK(seen.st_mode); link++) {
        char text[PATH_MAX];
        ssize_t length = link < MOST_LINKS ? readlink(path, text, sizeof text) : -1;
        const char *slash = strrchr(path, '/');
        size_t folder =
            length > 0 && text[0] != '/' && slash != NULL ? (size_t)(slash - path) + 1 : 0;
        char *next = length > 0 ? malloc(folder + (size_t)length + 1) : NULL;
        errno = link == MOST_LINKS ? ELOOP : errno;
        if (next != NULL) {
            memcpy(next, path, folder);
            memcpy(next + folder, text, (size_t)length);
            next[folder + (size_t)length] = '\0';
        }
        free(path);
        path = next;
    }
    return path;
}

/* What is at the path now: nothing, a file, or, `special`, a device or a pipe. */
static int look_up(st_output *output, struct stat *old, bool *exists, bool *special)
{
    int found =
        st_guard_is_stdout(output->name) ? fstat(st_guard_stdout(), old) : stat(output->name, old);
    int missing = found == 0 ? 0 : errno;
    *exists = missing == 0;
    *special = *exists && (!S_ISREG(old->st_mode) || st_guard_is_stdout(output->name));
    if (output->name[0] == '\0')
        return ENOENT;
    if (!*exists && missing != ENOENT)
        return missing;
    if (*exists && S_ISDIR(old->st_mode))
        return EISDIR;
    if (*special)
        return 0;
    output->real = *exists ? real_name(output->name) : future_name(output->name);
    return output->real != NULL ? 0 : errno != 0 ? errno : ENOMEM;
}

/* The new file has the permissions of the old one and, where this user may, its owner and group. */
static int keep_owner(int file, const struct stat *old)
{
    struct stat made;
    if (fstat(file, &made) != 0)
        return errno;
    if ((made.st_uid != old->st_uid || made.st_gid != old->st_gid) &&
        fchown(file, old->st_uid, old->st_gid) != 0 && fchown(file, (uid_t)-1, old->st_gid) != 0 &&
        errno != EPERM)
        return errno;
    return fchmod(file, old->st_mode & PERMISSIONS) == 0 ? 0 : errno;
}

static int open_output(st_output *output)
{
    struct stat old;
    bool exists = false;
    bool special = false;
    int fault = look_up(output, &old, &exists, &special);
    if (fault != 0)
        return fault;
    if (!special) {
        /* A new file in the target's folder, with the permissions of the old one. */
        const struct stat *replaced = exists ? &old : NULL;
        if (replaced != NULL && faccessat(AT_FDCWD, output->real, W_OK, AT_EACCESS) != 0)
            return errno;
        int target_fault = find_target(output->real, &output->where);
        output->unnamed = target_fault == 0 && open_unnamed(&output->where, &output->file);
        if (target_fault == 0 && !output->unnamed)
            target_fault = name_temporary(&output->where, &output->file);
        output->file_made = target_fault == 0 && !output->unnamed;
        if (target_fault == 0 && replaced != NULL)
            target_fault = keep_owner(output->file, replaced);
        return target_fault;
    }
    output->in_place = true;
    output->file = st_guard_is_stdout(output->name)
                       ? fcntl(st_guard_stdout(), F_DUPFD_CLOEXEC, 0)
                       : open(output->name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return output->file < 0 ? errno : 0;
}

static const char *reason_for(int fault)
{
    if (fault == ENOENT)
        return "the folder does not exist";
    if (fault == EISDIR)
        return "the path is a folder";
    if (fault == EBADFD)
        return "other code of this process wrote to it; a plugin can run apart with --isolate";
    return strerror(fault);
}

static st_status report(const char *path, int fault, st_errors *errors)
{
    st_fail(errors, ST_ERR_IO, (st_place){.file = path}, "cannot write the file: %s",
            path[0] != '\0' ? reason_for(fault) : "the name is empty");
    return ST_ERR_IO;
}

st_status st_output_open(const char *path, st_output **output, st_errors *errors)
{
    st_output *made = calloc(1, sizeof *made);
    if (made == NULL)
        return report(path, ENOMEM, errors);
    made->file = -1;
    made->name = strdup(path);
    int fault = made->name != NULL ? open_output(made) : ENOMEM;
    if (fault != 0) {
        st_output_discard(made);
        return report(path, fault, errors);
    }
    *output = made;
    return ST_OK;
}

st_status st_output_check(const char *path, st_errors *errors)
{
    st_output output = {.name = strdup(path), .file = -1};
    struct stat old;
    bool exists = false;
    bool special = false;
    int fault = output.name != NULL ? look_up(&output, &old, &exists, &special) : ENOMEM;
    if (fault == 0 && special)
        fault = faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 ? 0 : errno;
    else if (fault == 0)
        fault = check_target(&output, exists, &output.where);
    free(output.where.folder);
    free(output.where.temporary);
    free(output.real);
    free(output.name);
    return fault == 0 ? ST_OK : report(path, fault, errors);
}

st_status st_output_append(st_output *output, const char *data, size_t length, st_errors *errors)
{
    int fault = st_guard_write_all(output->file, data, length);
    output->bytes += length;
    return fault == 0 ? ST_OK : report(output->name, fault, errors);
}

st_status st_output_commit(st_output *output, st_errors *errors)
{
    /* All data on the disk, and nobody else's, then the new name. */
    struct stat made;
    int fault = 0;
    if (!output->in_place && (fsync(output->file) != 0 || fstat(output->file, &made) != 0))
        fault = errno;
    else if (!output->in_place &&
             (!S_ISREG(made.st_mode) || (uint64_t)made.st_size != output->bytes))
        fault = EBADFD;
    if (!output->in_place && fault == 0 && output->where.folder != NULL) {
        /* The name that the file has from now on, in the place of an older one; no signal in
         * between. */
        sigset_t before;
        st_signals_hold(&before);
        int temporary_fault = output->unnamed ? name_temporary(&output->where, &output->file) : 0;
        output->file_made = temporary_fault == 0;
        if (temporary_fault == 0 && rename(output->where.temporary, output->real) != 0)
            temporary_fault = errno;
        if (temporary_fault == 0) {
            st_scratch_forget(output->where.temporary);
            output->file_made = false;
        }
        st_signals_release(&before);
        fault = temporary_fault;
    }
    if (close(output->file) != 0 && fault == 0)
        fault = errno;
    output->file = -1;
    if (!output->in_place && fault == 0 && output->where.folder != NULL) {
        /* Makes the new name itself survive a crash; some file systems cannot, which is fine. */
        int handle =
            output->where.folder != NULL ? open(output->where.folder, O_RDONLY | O_CLOEXEC) : -1;
        if (handle >= 0) {
            (void)fsync(handle);
            (void)close(handle);
        }
    }
    st_status status = fault == 0 ? ST_OK : report(output->name, fault, errors);
    st_output_discard(output);
    return status;
}

st_status st_output_commit_partial(st_output *output, const char **name, st_arena *arena,
                                   st_errors *errors)
{
    char *path = NULL;
    int fault = 0;
    *name = output->name;
    if (!output->in_place) {
        *name = path = st_arena_printf(arena, "%s.partial", output->real);
        free(output->real);
        output->real = path != NULL ? strdup(path) : NULL;
        fault = output->real != NULL ? 0 : ENOMEM;
    }
    if (fault == 0)
        return st_output_commit(output, errors);
    st_status status = report(output->name, fault, errors);
    st_output_discard(output);
    return status;
}

void st_output_discard(st_output *output)
{
    if (output == NULL)
        return;
    if (output->file >= 0)
        (void)close(output->file);
    if (output->where.temporary != NULL && output->file_made) {
        (void)unlink(output->where.temporary);
        st_scratch_forget(output->where.temporary);
    }
    free(output->where.folder);
    free(output->where.temporary);
    free(output->real);
    free(output->name);
    free(output);
}

st_status st_output_write(const char *path, const char *data, size_t length, st_errors *errors)
{
    st_output *output = NULL;
    st_status status = st_output_open(path, &output, errors);
    if (status != ST_OK)
        return status;
    status = st_output_append(output, data, length, errors);
    if (status == ST_OK)
        return st_output_commit(output, errors);
    st_output_discard(output);
    return status;
}

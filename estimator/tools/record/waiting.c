/* SPDX-License-Identifier: Apache-2.0 */
/* See waiting.h; proc(5) describes the files. */
#include "record/waiting.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_DEPTH = 8, TEXT = 4096 };

static bool read_text(const char *path, char text[TEXT])
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, text, TEXT - 1) : -1;
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

static bool add_process(pid_t pid, st_activity *activity, int depth);

/* "PID PID ", the children that a thread has started */
static void add_children(const char *text, st_activity *activity, int depth)
{
    char *end = NULL;
    for (long pid = strtol(text, &end, 10); end != text; pid = strtol(text, &end, 10)) {
        (void)add_process((pid_t)pid, activity, depth);
        text = end;
    }
}

static bool add_process(pid_t pid, st_activity *activity, int depth)
{
    char path[64];
    bool found = false;
    (void)snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
    DIR *threads = opendir(path);
    if (threads == NULL)
        return false;
    for (const struct dirent *entry; (entry = readdir(threads)) != NULL;) {
        char folder[400];
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(folder, sizeof folder, "%s/%s", path, entry->d_name);
        char thread_path[512];
        char text[TEXT];
        (void)snprintf(thread_path, sizeof thread_path, "%s/schedstat", folder);
        if (read_text(thread_path, text))
            activity->cpu_ns += strtoull(text, NULL, 10);
        (void)snprintf(thread_path, sizeof thread_path, "%s/stat", folder);
        /* "PID (NAME) STATE ...", where a name may hold anything */
        const char *name_end = read_text(thread_path, text) ? strrchr(text, ')') : NULL;
        if (name_end != NULL && name_end[1] == ' ')
            activity->busy = activity->busy || name_end[2] == 'R' || name_end[2] == 'D';
        (void)snprintf(thread_path, sizeof thread_path, "%s/children", folder);
        if (depth < MOST_DEPTH && read_text(thread_path, text))
            add_children(text, activity, depth + 1);
        found = true;
    }
    closedir(threads);
    return found;
}

bool st_activity_of(pid_t pid, st_activity *activity)
{
    *activity = (st_activity){0};
    return add_process(pid, activity, 0);
}

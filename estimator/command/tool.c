/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memmem; NOLINT(bugprone-reserved-identifier) */

#include "command/tool.h"

#include "base/guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

/* Where tools of this program are: in a build tree, or as installed. */
static const char *folder_of(unsigned place, const char *tool, char *folder)
{
    char self[PATH_BYTES];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash = length > 0 ? memrchr(self, '/', (size_t)length) : NULL;
    int written = -1;
    if (slash != NULL)
        *slash = '\0';
    if (place == 0 && slash != NULL)
        written = snprintf(folder, PATH_BYTES, "%s/../tools/%s/cli", self, tool);
    else if (place == 1 && slash != NULL)
        written = snprintf(folder, PATH_BYTES, "%s/../" STEPTIME_LIBEXECDIR "/steptime", self);
    else if (place == 2)
        written = snprintf(folder, PATH_BYTES, "%s", STEPTIME_TOOLS);
    return written > 0 && written < PATH_BYTES ? folder : NULL;
}

static const char *distrust(const struct stat *found)
{
    if (found->st_uid != 0 && found->st_uid != geteuid())
        return "is owned by neither root nor you";
    /* A group of the caller's own, as many systems give every user. */
    if ((found->st_mode & S_IWOTH) != 0 ||
        ((found->st_mode & S_IWGRP) != 0 && found->st_gid != 0 &&
         (found->st_gid != getegid() || found->st_gid != geteuid())))
        return "is writable by other users";
    return NULL;
}

/* Refuses a tool that is a link to where others can put another program: checks the folder of each
 * target. */
static st_status check_links(const char *path, st_errors *errors)
{
    enum { MOST_LINKS = 40 }; /* as many as the system follows */
    char name[PATH_BYTES];
    char target[PATH_BYTES];
    struct stat found;
    (void)snprintf(name, sizeof name, "%s", path);
    for (int i = 0; i < MOST_LINKS; i++) {
        const ssize_t length = readlink(name, target, sizeof target - 1);
        if (length < 0)
            return ST_OK;
        target[length] = '\0';
        char *slash = strrchr(name, '/');
        const size_t begin = target[0] == '/' || slash == NULL ? 0 : (size_t)(slash - name) + 1;
        if (begin + (size_t)length >= sizeof name)
            break;
        memcpy(name + begin, target, (size_t)length + 1);
        slash = strrchr(name, '/');
        memcpy(target, name, sizeof target);
        target[slash == NULL ? 0 : (size_t)(slash - name) + 1] = '\0';
        const char *reason =
            stat(target, &found) == 0 ? distrust(&found) : "of its link cannot be read";
        if (reason != NULL)
            return st_fail(errors, ST_ERR_IO, (st_place){.file = target}, "the tool folder %s",
                           reason);
    }
    return st_fail(errors, ST_ERR_IO, (st_place){.file = path}, "too many links");
}

/* The release of a tool of steptime, behind the mark in its file; NULL: it has none. */
static const char *release_of(const char *data, size_t length, const char *tool, char *release,
                              size_t room)
{
    char mark[128];
    (void)snprintf(mark, sizeof mark, "@(#)%s-tool:%s:", "steptime", tool);
    const char *found = memmem(data, length, mark, strlen(mark));
    if (found == NULL)
        return NULL;
    found += strlen(mark);
    size_t left = length - (size_t)(found - data);
    size_t size = left < room ? left : room - 1;
    memcpy(release, found, size);
    release[size] = '\0';
    release[strcspn(release, "\n")] = '\0';
    return release;
}

/* Refuses a file that is not the tool, or that is one of another release. */
static st_status check_release(const char *path, int file, const char *tool, size_t length,
                               st_errors *errors)
{
    char release[64];
    const st_place place = {.file = path};
    void *data = length > 0 ? mmap(NULL, length, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    if (data == MAP_FAILED)
        return st_fail(errors, ST_ERR_IO, place,
                       "not a tool of steptime" ST_HINT "install steptime again");
    const char *found = release_of(data, length, tool, release, sizeof release);
    (void)munmap(data, length);
    if (found == NULL)
        return st_fail(errors, ST_ERR_IO, place,
                       "not a tool of steptime" ST_HINT "install steptime again");
    if (strcmp(found, STEPTIME_VERSION) != 0)
        return st_fail(errors, ST_ERR_IO, place,
                       "a tool of another release" ST_FOUND
                       "%s" ST_EXPECTED STEPTIME_VERSION ST_HINT "install both from one release",
                       found);
    return ST_OK;
}

/* Finds the program of a tool. *path stays "" where no folder has it; `shipped`: it is steptime's.
 */
static st_status find_tool(const char *tool, bool shipped, char *path, st_errors *errors)
{
    char folder[PATH_BYTES];
    struct stat found;
    path[0] = '\0';
    for (unsigned place = 0; place < 3; place++) {
        if (folder_of(place, tool, folder) == NULL || stat(folder, &found) != 0)
            continue;
        int length = snprintf(path, PATH_BYTES, "%s/steptime-%s", folder, tool);
        int file = length < PATH_BYTES ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (file < 0 && (errno == ENOENT || errno == ENOTDIR)) {
            path[0] = '\0';
            continue;
        }
        const char *reason = distrust(&found);
        if (reason != NULL || check_links(path, errors) != ST_OK) {
            if (file >= 0)
                (void)close(file);
            return reason == NULL ? ST_ERR_IO
                                  : st_fail(errors, ST_ERR_IO, (st_place){.file = folder},
                                            "the tool folder %s", reason);
        }
        if (file < 0 || fstat(file, &found) != 0) {
            int fault = errno;
            if (file >= 0)
                (void)close(file);
            return st_fail(errors, ST_ERR_IO, (st_place){.file = path}, "cannot read: %s",
                           strerror(fault));
        }
        reason = distrust(&found);
        st_status status = ST_OK;
        if (reason != NULL)
            status = st_fail(errors, ST_ERR_IO, (st_place){.file = path}, "the tool %s", reason);
        else if (!S_ISREG(found.st_mode) || access(path, X_OK) != 0)
            status = st_fail(errors, ST_ERR_IO, (st_place){.file = path}, "not a program");
        else if (shipped)
            status = check_release(path, file, tool, (size_t)found.st_size, errors);
        (void)close(file);
        return status;
    }
    return ST_OK;
}

/* The verb of a tool whose name the words begin with, the longest one; NULL: none. */
static const cli_verb *verb_of_words(size_t count, const char *const *words)
{
    size_t verb_count = 0;
    const cli_verb *const *verbs = cli_verbs(&verb_count);
    const cli_verb *found = NULL;
    for (size_t i = 0; i < verb_count && count > 0; i++) {
        const char *name = verbs[i]->name;
        size_t first = strlen(words[0]);
        bool one = strcmp(name, words[0]) == 0;
        bool two = count > 1 && strncmp(name, words[0], first) == 0 && name[first] == ' ' &&
                   strcmp(name + first + 1, words[1]) == 0;
        if (two || (one && found == NULL))
            found = verbs[i];
    }
    return found;
}

static bool is_first_word(const char *word)
{
    size_t count = 0;
    const cli_verb *const *verbs = cli_verbs(&count);
    for (size_t i = 0; i < count; i++)
        if (strncmp(verbs[i]->name, word, strlen(word)) == 0 &&
            strchr(" ", verbs[i]->name[strlen(word)]) != NULL)
            return true;
    return false;
}

/* Whether a verb of steptime belongs to that tool. */
static bool is_tool(const char *name)
{
    size_t count = 0;
    const cli_verb *const *verbs = cli_verbs(&count);
    for (size_t i = 0; i < count; i++)
        if (verbs[i]->tool != NULL && strcmp(verbs[i]->tool, name) == 0)
            return true;
    return false;
}

/* A word that can be the name of a user's own verb. */
static bool is_plain(const char *word)
{
    return word[0] != '\0' && word[0] != '-' &&
           word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

static st_status start(cli_run *run, const char *path, size_t count, const char *const *words)
{
    const char **argv = st_arena_alloc(run->arena, count + 2, sizeof *argv);
    if (argv == NULL)
        return ST_ERR_MEMORY;
    argv[0] = path;
    for (size_t i = 0; i < count; i++)
        argv[i + 1] = words[i];
    /* A verb that starts a tool has put standard output aside. */
    if (st_guard_stdout() != STDOUT_FILENO && dup2(st_guard_stdout(), STDOUT_FILENO) < 0)
        return st_fail(run->errors, ST_ERR_IO, (st_place){0}, "standard output: %s",
                       strerror(errno));
    (void)execv(path, (char *const *)(uintptr_t)argv); // NOLINT(performance-no-int-to-ptr)
    return st_fail(run->errors, ST_ERR_IO, (st_place){.file = path}, "cannot start: %s",
                   strerror(errno));
}

st_status cli_tool_start(cli_run *run, size_t count, const char *const *words)
{
    char path[PATH_BYTES] = "";
    const bool asks_help = count > 1 && strcmp(words[0], "help") == 0;
    const cli_verb *verb = verb_of_words(asks_help ? count - 1 : count, words + asks_help);
    const bool shipped = verb != NULL && verb->tool != NULL;
    const char *tool = shipped ? verb->tool : words[asks_help ? 1 : 0];
    if (!shipped && (verb != NULL || is_first_word(tool) || !is_plain(tool)))
        return ST_OK;
    st_status status = find_tool(tool, shipped, path, run->errors);
    if (status != ST_OK || (path[0] == '\0' && !shipped))
        return status;
    if (path[0] == '\0' && strstr(" " STEPTIME_BUILT_TOOLS, tool) == NULL)
        return st_fail(
            run->errors, ST_ERR_IO, (st_place){0},
            "steptime was built without steptime-%s, which 'steptime %s' requires" ST_HINT
            "configure the build with -D%s=enabled",
            tool, verb->name, tool);
    if (path[0] == '\0')
        return st_fail(run->errors, ST_ERR_IO, (st_place){0},
                       "'steptime %s' requires steptime-%s, which is not installed" ST_HINT
                       "install it in " STEPTIME_TOOLS,
                       verb->name, tool);
    if (!asks_help)
        return start(run, path, count, words);
    const char **asked = st_arena_alloc(run->arena, count, sizeof *asked);
    if (asked == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 1; i < count; i++)
        asked[i - 1] = words[i];
    asked[count - 1] = "--help";
    return start(run, path, count, asked);
}

/* ---- parts of pages ---- */

static bool read_all(int file, st_buffer *buffer)
{
    char block[4096];
    for (;;) {
        ssize_t length = read(file, block, sizeof block);
        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0)
            return length == 0;
        st_buffer_append(buffer, block, (size_t)length);
    }
}

static _Noreturn void be_tool(const char *path, int output, size_t count, const char *const *words)
{
    enum { MOST_WORDS = 256 };
    const char *argv[MOST_WORDS + 3] = {path, CLI_PAGE};
    for (size_t i = 0; i < count && i < MOST_WORDS; i++)
        argv[i + 2] = words[i];
    (void)dup2(output, STDOUT_FILENO);
    (void)execv(path, (char *const *)(uintptr_t)argv); // NOLINT(performance-no-int-to-ptr)
    _exit(127);
}

bool cli_tool_page(const char *tool, size_t count, const char *const *words, st_buffer *buffer)
{
    char path[PATH_BYTES] = "";
    int ends[2];
    int status = 0;
    st_errors *errors = st_errors_create();
    bool known = errors != NULL && find_tool(tool, true, path, errors) == ST_OK && path[0] != '\0';
    st_errors_destroy(errors);
    if (!known || pipe(ends) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        (void)close(ends[0]);
        be_tool(path, ends[1], count, words);
    }
    (void)close(ends[1]);
    bool whole = child > 0 && read_all(ends[0], buffer);
    (void)close(ends[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return whole && WIFEXITED(status) && WEXITSTATUS(status) == CLI_DONE;
}

int cli_write_page(cli_run *run, size_t count, const char *const *words)
{
    size_t verb_count = 0;
    const cli_verb *const *verbs = cli_verbs(&verb_count);
    const char *kind = count > 0 ? words[0] : "";
    const cli_verb *verb = count == 2 ? cli_find_verb(words[1]) : NULL;
    if (strcmp(kind, "verbs") == 0)
        for (size_t i = 0; i < verb_count; i++)
            st_buffer_printf(&run->result, "%s\t%s\n", verbs[i]->name, verbs[i]->summary);
    else if (strcmp(kind, "words") == 0)
        cli_complete(run, words + 1, count - 1);
    else if (verb != NULL && strcmp(kind, "commands") == 0)
        cli_write_commands_verb(verb, &run->result);
    else if (verb != NULL && strcmp(kind, "man") == 0)
        cli_write_man_verb(verb, &run->result);
    else if (verb != NULL && strcmp(kind, "examples") == 0)
        cli_write_man_examples(verb, &run->result);
    else
        return cli_exit_code(run, cli_wrong_use(run, "unknown page", NULL));
    return CLI_DONE;
}

void cli_own_verbs(st_buffer *buffer)
{
    static const char prefix[] = "steptime-";
    char folder[PATH_BYTES];
    for (unsigned place = 1; place < 3; place++) {
        DIR *found = folder_of(place, "", folder) != NULL ? opendir(folder) : NULL;
        for (const struct dirent *entry; found != NULL && (entry = readdir(found)) != NULL;) {
            const char *name = entry->d_name + strlen(prefix);
            if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && is_plain(name) &&
                !is_tool(name))
                st_buffer_printf(buffer, "%s\n", name);
        }
        if (found != NULL) {
            (void)closedir(found);
            return; /* one that is installed twice would be listed twice */
        }
    }
}

/* Takes the summaries from the lines "NAME\tSUMMARY" of a tool. */
static void take_summaries(cli_run *run, const char *tool, const char *text)
{
    size_t count = 0;
    const cli_verb *const *verbs = cli_verbs(&count);
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        size_t name = strcspn(line, "\t\n");
        size_t length = strcspn(line, "\n");
        if (name == length || line[length] == '\0')
            return;
        for (size_t i = 0; i < count; i++)
            if (verbs[i]->tool != NULL && strcmp(verbs[i]->tool, tool) == 0 &&
                strlen(verbs[i]->name) == name && strncmp(verbs[i]->name, line, name) == 0)
                *verbs[i]->learned = st_arena_copy(run->arena, line + name + 1, length - name - 1);
    }
}

void cli_learn_tools(cli_run *run)
{
    static const char *const words[] = {"verbs"};
    size_t count = 0;
    const cli_verb *const *verbs = cli_verbs(&count);
    for (size_t i = 0; i < count; i++) {
        st_buffer text = {0};
        if (verbs[i]->tool == NULL || *verbs[i]->learned != NULL)
            continue;
        if (cli_tool_page(verbs[i]->tool, 1, words, &text))
            take_summaries(run, verbs[i]->tool, st_buffer_read(&text));
        st_buffer_free(&text);
    }
}

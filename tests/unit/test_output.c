/* SPDX-License-Identifier: Apache-2.0 */
/* Output files: whole or not there, with the right permissions, and nothing left behind. */
#include "base_support.h"

#include "base/output.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct fixture {
    char folder[64];
    st_errors *errors;
} fixture;

static int make_fixture(void **state)
{
    fixture *own = calloc(1, sizeof *own);
    if (own == NULL)
        return -1;
    (void)snprintf(own->folder, sizeof own->folder, "/tmp/steptime-output-XXXXXX");
    own->errors = st_errors_create();
    *state = own;
    return mkdtemp(own->folder) == NULL || own->errors == NULL ? -1 : 0;
}

static const char *path_in(const fixture *own, const char *name)
{
    static char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", own->folder, name);
    return path;
}

/* Names in the folder. */
static int count_files(const fixture *own)
{
    DIR *folder = opendir(own->folder);
    assert_non_null(folder);
    int count = 0;
    for (const struct dirent *one; (one = readdir(folder)) != NULL;)
        count += strcmp(one->d_name, ".") != 0 && strcmp(one->d_name, "..") != 0;
    assert_int_equal(closedir(folder), 0);
    return count;
}

static int drop_fixture(void **state)
{
    fixture *own = *state;
    static const char *const names[] = {"a", "b", "link", "pipe", "folder/a", "folder"};
    for (size_t i = 0; i < COUNT(names); i++)
        (void)remove(path_in(own, names[i]));
    int left = rmdir(own->folder);
    st_errors_destroy(own->errors);
    free(own);
    return left;
}

static st_status write_text(fixture *own, const char *name, const char *text)
{
    return st_output_write(path_in(own, name), text, strlen(text), own->errors);
}

static void assert_holds(const fixture *own, const char *name, const char *text)
{
    char data[64] = "";
    FILE *stream = fopen(path_in(own, name), "rb");
    assert_non_null(stream);
    size_t length = fread(data, 1, sizeof data - 1, stream);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(length, strlen(text));
    assert_string_equal(data, text);
}

static mode_t permissions(const fixture *own, const char *name)
{
    struct stat status;
    assert_int_equal(lstat(path_in(own, name), &status), 0);
    return status.st_mode & 0777;
}

static void assert_refused(fixture *own, const char *name, const char *part)
{
    int before = count_files(own);
    assert_int_equal(write_text(own, name, "new"), ST_ERR_IO);
    assert_contains(said(own->errors), part);
    assert_int_equal(count_files(own), before);
}

TEST_OF(a_new_file_is_written, fixture *own, make_fixture, drop_fixture)
{
    mode_t mask = umask(027);
    assert_int_equal(write_text(own, "a", "T_comp 2.385 s\n"), ST_OK);
    (void)umask(mask);
    assert_holds(own, "a", "T_comp 2.385 s\n");
    assert_int_equal(permissions(own, "a"), 0640);
    assert_int_equal(count_files(own), 1);
    assert_int_equal(write_text(own, "b", ""), ST_OK);
    assert_holds(own, "b", "");
    assert_string_equal(said(own->errors), "");
}

TEST_OF(an_old_file_is_replaced_and_keeps_its_permissions, fixture *own, make_fixture, drop_fixture)
{
    assert_int_equal(write_text(own, "a", "a much longer text that was here"), ST_OK);
    assert_int_equal(chmod(path_in(own, "a"), 0604), 0);
    int open_before = open(path_in(own, "a"), O_RDONLY);
    assert_int_equal(write_text(own, "a", "new"), ST_OK);
    assert_holds(own, "a", "new");
    assert_int_equal(permissions(own, "a"), 0604);
    assert_int_equal(count_files(own), 1);
    /* whoever had it open still reads the old text */
    char old[8] = "";
    assert_int_equal(read(open_before, old, 6), 6);
    assert_string_equal(old, "a much");
    assert_int_equal(close(open_before), 0);
}

TEST_OF(a_symbolic_link_stays_one, fixture *own, make_fixture, drop_fixture)
{
    assert_int_equal(write_text(own, "a", "old"), ST_OK);
    assert_int_equal(symlink("a", path_in(own, "link")), 0);
    assert_int_equal(write_text(own, "link", "new"), ST_OK);
    assert_holds(own, "a", "new");
    struct stat status;
    assert_int_equal(lstat(path_in(own, "link"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(count_files(own), 2);
}

TEST_OF(a_link_to_nothing_makes_what_it_names, fixture *own, make_fixture, drop_fixture)
{
    struct stat status;
    assert_int_equal(symlink("a", path_in(own, "b")), 0);
    char target[128];
    (void)snprintf(target, sizeof target, "%s", path_in(own, "b"));
    assert_int_equal(symlink(target, path_in(own, "link")), 0);
    assert_int_equal(write_text(own, "link", "2.385"), ST_OK);
    assert_holds(own, "a", "2.385");
    assert_int_equal(lstat(path_in(own, "link"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(count_files(own), 3);
    assert_int_equal(remove(path_in(own, "a")), 0);
    assert_int_equal(remove(path_in(own, "b")), 0);
    assert_int_equal(symlink("link", path_in(own, "b")), 0); /* two that name each other */
    assert_refused(own, "link", "error: cannot write the file: Too many levels of symbolic links");
    assert_int_equal(remove(path_in(own, "b")), 0);
    assert_int_equal(symlink("none/a", path_in(own, "b")), 0);
    assert_refused(own, "link", "error: cannot write the file: the folder does not exist");
}

TEST_OF(a_file_keeps_its_owner, fixture *own, make_fixture, drop_fixture)
{
    struct stat status;
    if (geteuid() != 0)
        skip(); /* only root may give files away */
    assert_int_equal(write_text(own, "a", "old"), ST_OK);
    assert_int_equal(chown(path_in(own, "a"), 2385, 2386), 0);
    assert_int_equal(chmod(path_in(own, "a"), 0640), 0);
    assert_int_equal(write_text(own, "a", "2.385"), ST_OK);
    assert_int_equal(stat(path_in(own, "a"), &status), 0);
    assert_int_equal(status.st_uid, 2385);
    assert_int_equal(status.st_gid, 2386);
    assert_int_equal(permissions(own, "a"), 0640);
}

TEST_OF(what_cannot_be_a_file_is_refused, fixture *own, make_fixture, drop_fixture)
{
    assert_int_equal(mkdir(path_in(own, "folder"), 0700), 0);
    assert_int_equal(write_text(own, "a", "old"), ST_OK);
    assert_refused(own, "folder", "error: cannot write the file: the path is a folder");
    assert_refused(own, "folder/", "error: cannot write the file: the path is a folder");
    assert_refused(own, "none/a", "error: cannot write the file: the folder does not exist");
    assert_refused(own, "none/", "error: cannot write the file: the folder does not exist");
    assert_refused(own, "a/b", "error: cannot write the file: Not a directory");
    assert_int_equal(st_output_write("", "x", 1, own->errors), ST_ERR_IO);
    assert_contains(said(own->errors), "the name is empty");
    char long_name[512];
    memset(long_name, 'n', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    assert_int_equal(st_output_write(long_name, "x", 1, own->errors), ST_ERR_IO);
    assert_contains(said(own->errors), "File name too long");
    assert_holds(own, "a", "old");
}

TEST_OF(files_and_folders_without_permission_are_refused, fixture *own, make_fixture, drop_fixture)
{
    enum { NOBODY = 65534 };
    bool is_root = geteuid() == 0; /* to whom everything is permitted */
    if (is_root) {
        assert_int_equal(chown(own->folder, NOBODY, NOBODY), 0);
        assert_int_equal(seteuid(NOBODY), 0);
    }
    assert_int_equal(write_text(own, "a", "old"), ST_OK);
    assert_int_equal(chmod(path_in(own, "a"), 0400), 0);
    assert_refused(own, "a", "Permission denied");
    assert_holds(own, "a", "old");
    assert_int_equal(chmod(own->folder, 0500), 0);
    assert_refused(own, "b", "Permission denied");
    assert_int_equal(chmod(own->folder, 0700), 0);
    assert_true(!is_root || seteuid(0) == 0);
}

TEST_OF(the_name_of_the_file_stands_in_the_error, fixture *own, make_fixture, drop_fixture)
{
    assert_int_equal(write_text(own, "none/report.csv", "x"), ST_ERR_IO);
    assert_string_equal(st_errors_at(own->errors, 0)->place.file, path_in(own, "none/report.csv"));
    assert_int_equal(st_errors_status(own->errors), ST_ERR_IO);
}

TEST_OF(a_failed_write_leaves_the_old_file, fixture *own, make_fixture, drop_fixture)
{
    assert_int_equal(write_text(own, "a", "old"), ST_OK);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = {.rlim_cur = 1000, .rlim_max = before.rlim_max};
    char large[4000];
    memset(large, 'x', sizeof large);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    st_status old_file = st_output_write(path_in(own, "a"), large, sizeof large, own->errors);
    st_status new_file = st_output_write(path_in(own, "b"), large, sizeof large, own->errors);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    assert_int_equal(old_file, ST_ERR_IO);
    assert_int_equal(new_file, ST_ERR_IO);
    assert_contains(said(own->errors), "cannot write the file: File too large");
    assert_holds(own, "a", "old");
    assert_int_equal(count_files(own), 1);
}

TEST_OF(a_full_device_is_reported, fixture *own, make_fixture, drop_fixture)
{
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_int_equal(st_output_write("/dev/full", "x", 1, own->errors), ST_ERR_IO);
    assert_contains(said(own->errors), "/dev/full: error: cannot write the file: No space left");
    assert_int_equal(st_output_write("/dev/null", "x", 1, own->errors), ST_OK);
    struct stat status;
    assert_int_equal(stat("/dev/null", &status), 0);
    assert_true(S_ISCHR(status.st_mode));
}

static void *read_pipe(void *path)
{
    static char data[64];
    FILE *stream = fopen(path, "rb");
    size_t length = stream != NULL ? fread(data, 1, sizeof data - 1, stream) : 0;
    data[length] = '\0';
    if (stream != NULL)
        (void)fclose(stream);
    return data;
}

TEST_OF(a_pipe_is_written_to_as_it_is, fixture *own, make_fixture, drop_fixture)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s", path_in(own, "pipe"));
    assert_int_equal(mkfifo(path, 0600), 0);
    pthread_t reader;
    assert_int_equal(pthread_create(&reader, NULL, read_pipe, path), 0);
    assert_int_equal(write_text(own, "pipe", "through"), ST_OK);
    void *data = NULL;
    assert_int_equal(pthread_join(reader, &data), 0);
    assert_string_equal(data, "through");
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_true(S_ISFIFO(status.st_mode));
}

TEST_OF(names_without_a_folder_are_written_here, fixture *own, make_fixture, drop_fixture)
{
    int back = open(".", O_RDONLY);
    assert_true(back >= 0);
    assert_int_equal(chdir(own->folder), 0);
    st_status status = st_output_write("a", "here", 4, own->errors);
    assert_int_equal(fchdir(back), 0);
    assert_int_equal(close(back), 0);
    assert_int_equal(status, ST_OK);
    assert_holds(own, "a", "here");
    assert_int_equal(count_files(own), 1);
}

TEST_OF(a_leftover_of_another_run_is_no_obstacle, fixture *own, make_fixture, drop_fixture)
{
    char name[64];
    (void)snprintf(name, sizeof name, ".steptime-%ld-0.tmp", (long)getpid());
    assert_int_equal(write_text(own, name, "leftover"), ST_OK);
    assert_int_equal(write_text(own, "a", "new"), ST_OK);
    assert_holds(own, "a", "new");
    assert_holds(own, name, "leftover");
    assert_int_equal(remove(path_in(own, name)), 0);
}

/* The answer before long work is the one that writing gives after it, and nothing is left. */
TEST_WITH(what_can_be_written_is_known_before, make_fixture, drop_fixture)
{
    static const struct {
        const char *name;
        st_status status;
        const char *text;
    } cases[] = {{"b", ST_OK, ""},
                 {"a", ST_OK, ""},
                 {"link", ST_OK, ""},
                 {"none/a", ST_ERR_IO, "the folder does not exist"},
                 {"folder", ST_ERR_IO, "the path is a folder"},
                 {"a/b", ST_ERR_IO, "cannot write the file: "}};
    fixture *own = *state;
    char target[128];
    assert_int_equal(write_text(own, "a", "2.385"), ST_OK);
    assert_int_equal(mkdir(path_in(own, "folder"), 0700), 0);
    (void)snprintf(target, sizeof target, "%s", path_in(own, "a"));
    assert_int_equal(symlink(target, path_in(own, "link")), 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(st_output_check(path_in(own, cases[i].name), own->errors),
                         cases[i].status);
        assert_contains(said(own->errors), cases[i].text);
    }
    assert_int_equal(st_output_check("/dev/null", own->errors), ST_OK);
    assert_int_equal(st_output_check("", own->errors), ST_ERR_IO);
    assert_contains(said(own->errors), "the name is empty");
    assert_int_equal(count_files(own), 3);
    assert_holds(own, "a", "2.385");
}

TEST_OF(what_is_not_all_has_a_name_of_its_own, fixture *own, make_fixture, drop_fixture)
{
    st_output *output = NULL;
    st_arena *arena = st_arena_create();
    const char *name = NULL;
    assert_int_equal(write_text(own, "a", "whole"), ST_OK);
    assert_int_equal(st_output_open(path_in(own, "a"), &output, own->errors), ST_OK);
    assert_int_equal(st_output_append(output, "2.3", 3, own->errors), ST_OK);
    assert_int_equal(st_output_append(output, "85", 2, own->errors), ST_OK);
    assert_int_equal(st_output_commit_partial(output, &name, arena, own->errors), ST_OK);
    assert_string_equal(name, path_in(own, "a.partial"));
    assert_holds(own, "a", "whole");
    assert_holds(own, "a.partial", "2.385");
    assert_int_equal(count_files(own), 2);
    assert_int_equal(remove(path_in(own, "a.partial")), 0);
    /* A device has it already. */
    assert_int_equal(st_output_open("/dev/null", &output, own->errors), ST_OK);
    assert_int_equal(st_output_append(output, "2.385", 5, own->errors), ST_OK);
    assert_int_equal(st_output_commit_partial(output, &name, arena, own->errors), ST_OK);
    assert_int_not_equal(access("/dev/null.partial", F_OK), 0);
    st_arena_destroy(arena);
}

/* Code of this process that finds the file among the descriptors. */
TEST_OF(what_others_wrote_does_not_count, fixture *own, make_fixture, drop_fixture)
{
    st_output *output = NULL;
    struct stat found;
    int written = 0;
    assert_int_equal(write_text(own, "a", "old"), ST_OK);
    assert_int_equal(st_output_open(path_in(own, "a"), &output, own->errors), ST_OK);
    assert_int_equal(st_output_append(output, "2.385", 5, own->errors), ST_OK);
    for (int file = 3; file < 64; file++)
        if (fstat(file, &found) == 0 && S_ISREG(found.st_mode) && found.st_size == 5)
            written += write(file, "7", 1) == 1;
    assert_int_equal(written, 1);
    assert_int_equal(st_output_commit(output, own->errors), ST_ERR_IO);
    assert_contains(said(own->errors), "other code of this process wrote to it");
    assert_holds(own, "a", "old");
    assert_int_equal(count_files(own), 1);
}

TEST_OF(what_is_discarded_leaves_nothing, fixture *own, make_fixture, drop_fixture)
{
    st_output *output = NULL;
    assert_int_equal(st_output_open(path_in(own, "b"), &output, own->errors), ST_OK);
    assert_int_equal(st_output_append(output, "2.385", 5, own->errors), ST_OK);
    st_output_discard(output);
    st_output_discard(NULL);
    assert_int_equal(count_files(own), 0);
}

TESTS(output);

/* SPDX-License-Identifier: Apache-2.0 */
/* What a program that is ended takes away, what it waits with, and that memory was lacking. */
#include "job_support.h"

#include "base/oom_flag.h"
#include "base/scratch.h"

#include <errno.h>

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static void what_is_noted_is_removed(void **state)
{
    fixture *own = *state;
    const char *kept = below(own, "kept");
    const char *file = below(own, "one.tmp");
    const char *folder = below(own, "made.tmp");
    write_text(own, "kept", "2.385");
    write_text(own, "one.tmp", "2.385");
    write_text(own, "left/over", "2.385");
    for (size_t i = 0; i < 61; i++) /* more than one call lists */
        write_text(own, st_arena_printf(own->arena, "made.tmp/a-file-of-a-long-name-%zu", i), "x");
    assert_true(st_scratch_note(file));
    assert_true(st_scratch_note(kept));
    assert_true(st_scratch_note(folder));
    st_scratch_forget(kept);
    st_scratch_forget(below(own, "left")); /* was never noted */
    st_scratch_forget(NULL);
    st_scratch_remove();
    assert_false(exists(file));
    assert_false(exists(folder));
    assert_true(exists(kept));
    assert_true(exists(below(own, "left/over")));
    st_scratch_forget(file);
    st_scratch_forget(folder);
    /* What is forgotten may come again. */
    write_text(own, "one.tmp", "2.385");
    st_scratch_remove();
    assert_true(exists(file));
}

/* A text is known by its address: the same words elsewhere are another one's. */
static void only_the_one_that_is_forgotten_is(void **state)
{
    fixture *own = *state;
    const char *file = below(own, "one.tmp");
    const char *same = below(own, "one.tmp");
    write_text(own, "one.tmp", "2.385");
    assert_true(st_scratch_note(file));
    st_scratch_forget(same);
    st_scratch_remove();
    assert_false(exists(file));
    st_scratch_forget(file);
}

static void there_is_room_for_so_many(void **state)
{
    fixture *own = *state;
    const char *files[ST_SCRATCH_MOST + 1];
    for (size_t i = 0; i <= ST_SCRATCH_MOST; i++) {
        const char *name = st_arena_printf(own->arena, "%zu.tmp", i);
        files[i] = below(own, name);
        write_text(own, name, "2.385");
        assert_int_equal(st_scratch_note(files[i]), i < ST_SCRATCH_MOST);
    }
    st_scratch_forget(files[23]);
    assert_true(st_scratch_note(files[ST_SCRATCH_MOST])); /* in the room of the other */
    st_scratch_remove();
    for (size_t i = 0; i <= ST_SCRATCH_MOST; i++) {
        assert_int_equal(exists(files[i]), i == 23);
        st_scratch_forget(files[i]);
    }
}

/* What lies in a folder of a folder is nobody's to remove, nor what a link leads to. */
static void others_files_stay(void **state)
{
    fixture *own = *state;
    const char *deep = below(own, "made.tmp/in/deep");
    const char *link = below(own, "link.tmp");
    write_text(own, "made.tmp/in/deep", "2.385");
    write_text(own, "theirs/file", "2.385");
    assert_int_equal(symlink(below(own, "theirs"), link), 0);
    assert_true(st_scratch_note(below(own, "none.tmp"))); /* it is gone already */
    assert_true(st_scratch_note(below(own, "made.tmp")));
    assert_true(st_scratch_note(link));
    st_scratch_remove();
    assert_true(exists(deep));
    assert_false(exists(link));
    assert_true(exists(below(own, "theirs/file")));
}

static void ending_signals_wait(void **state)
{
    static const struct {
        int number;
        bool waits;
    } cases[] = {{SIGINT, true},  {SIGTERM, true},  {SIGHUP, true},  {SIGQUIT, true},
                 {SIGXCPU, true}, {SIGCHLD, false}, {SIGSEGV, false}};
    sigset_t before;
    sigset_t now;
    (void)state;
    st_signals_hold(&before);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &now), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(sigismember(&now, cases[i].number), cases[i].waits);
    st_signals_release(&before);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &now), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(sigismember(&now, cases[i].number), sigismember(&before, cases[i].number));
    assert_int_equal(sigismember(&now, SIGTERM), 0);
}

/* Once lacking, for as long as the process lives; nothing but memory counts. */
static void lacking_memory_is_remembered(void **state)
{
    fixture *own = *state;
    DIR *folder = st_open_folder(own->folder);
    assert_non_null(folder);
    assert_int_equal(closedir(folder), 0);
    assert_null(st_open_folder(below(own, "none")));
    assert_int_equal(errno, ENOENT);
    st_oom_note_errno(EACCES);
    assert_false(st_oom_happened());
    st_oom_note_errno(ENOMEM);
    assert_true(st_oom_happened());
    st_oom_note_errno(EACCES);
    assert_true(st_oom_happened());
}

TEST_GROUP(scratch)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_noted_is_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_the_one_that_is_forgotten_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(there_is_room_for_so_many, set_up, tear_down),
        cmocka_unit_test(ending_signals_wait),
        cmocka_unit_test_setup_teardown(lacking_memory_is_remembered, set_up, tear_down),
        /* The last one: its texts stay noted. */
        cmocka_unit_test_setup_teardown(others_files_stay, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

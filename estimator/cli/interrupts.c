/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals that end the program. Whichever verb runs, temporary files go first; verbs that know a
 * result before they are done ask to be told instead (cli_catch_interrupts).
 */
#include "cli/stream.h"

#include "base/scratch.h"

#include <pthread.h>

/* A signal handler has no other way to leave word, or to know who may be in the middle of a file.
 */
static volatile sig_atomic_t interrupted;
static pthread_t main_thread;

/* What it calls is a comparison of numbers, and unlink, open, rmdir and the like. */
/* NOLINTBEGIN(bugprone-signal-handler) */
static void end_by(int number)
{
    /* Only there is a signal held while a file gets its name. */
    if (pthread_equal(pthread_self(), main_thread) == 0) {
        (void)pthread_kill(main_thread, number);
        return;
    }
    st_scratch_remove();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}
/* NOLINTEND(bugprone-signal-handler) */

static void note_interrupt(int number)
{
    interrupted = 1;
    (void)signal(number, end_by);
}

static void set_handler(void (*handler)(int number))
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU};
    struct sigaction action = {.sa_handler = handler};
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ST_COUNT(numbers); i++) {
        struct sigaction old;
        bool ignored =
            sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN; /* as by nohup */
        if (!ignored)
            (void)sigaction(numbers[i], &action, NULL);
    }
}

void cli_handle_signals(void)
{
    main_thread = pthread_self();
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* writing fails then, as on a full disk */
    set_handler(end_by);
}

const volatile sig_atomic_t *cli_catch_interrupts(void)
{
    set_handler(note_interrupt);
    return &interrupted;
}

/* Behind a table, in the words that its form has for what is no row. */
void cli_say_partial(const cli_run *run, uint64_t done, uint64_t total, st_buffer *text)
{
    unsigned long long known = done;
    unsigned long long all = total;
    if (run->common.json)
        st_buffer_printf(text, "{\"interrupted\": true, \"done\": %llu, \"of\": %llu}\n", known,
                         all);
    else
        st_buffer_printf(text, "# interrupted after %llu of %llu: this is not all\n", known, all);
}

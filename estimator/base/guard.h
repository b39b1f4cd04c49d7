/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign code in this process: who runs it, for messages of a crash, and that it leaves the
 * process as it was. What a call changes of the state that all code shares - the rounding of
 * numbers, the locale, the environment, the working folder, the umask, user and group, the standard
 * streams, handlers of signals and their stack, which of these wait, timers, limits of resources -
 * is put back, and reported once; streams and a folder that nothing is left of cannot be, and no
 * result counts. A child of a fork that comes back from a call ends there.
 */
#ifndef STEPTIME_BASE_GUARD_H
#define STEPTIME_BASE_GUARD_H

#include "steptime/status.h"

#include <locale.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

enum { ST_GUARD_TIMERS = 3, ST_GUARD_LIMITS = 7 };

/* What the program around may change at any time between two calls. */
typedef struct st_guard_shared {
    sigset_t mask;               /* of the thread */
    bool ticks[ST_GUARD_TIMERS]; /* it is set */
    struct rlimit limits[ST_GUARD_LIMITS];
    stack_t stack;      /* of the thread's handlers */
    char **environment; /* copies of its texts; NULL: out of memory */
} st_guard_shared;

/* The state before a call. */
typedef struct st_guard {
    const char *who;  /* "plugin 'nccl-whitebox'" */
    const char *what; /* "all_reduce", "open" */
    const char *outer_who;
    const char *outer_what;
    int rounding;
    unsigned float_control; /* flushing of small numbers, masks of traps; 0 where unknown */
    locale_t thread_locale;
    const char *locale;
    char locale_name[512];
    bool thorough;
    st_guard_shared shared; /* read only where the call is thorough */
} st_guard;

/* The state before the calls to come of what costs system calls: folder, umask, streams, handlers.
 */
void st_guard_remember(void);

/* From now on calls harm only this process, which holds nothing of others: none is thorough. */
void st_guard_alone(void);

/*
 * Around a call. Where `thorough` says so, folder, umask, streams and handlers are as remembered
 * afterwards, and the thread's held signals, timers and limits as they were when the call began;
 * else only what is cheap to look at. The process ends with a message and 1 where the code in
 * between ends it, or its thread.
 */
void st_guard_begin(st_guard *guard, const char *who, const char *what, bool thorough);
void st_guard_end(st_guard *guard);

/*
 * Keeps standard output for results: what any code writes to descriptor 1 from now on goes where
 * messages go; and from now on standard streams are watched. Then the descriptor of standard
 * output, and whether a path means it.
 */
void st_guard_stdout_aside(void);
int st_guard_stdout(void);
/* Puts it where no code can write to it, until it is asked for: while plugins run before a result.
 */
void st_guard_stdout_park(void);
/* All of it to an open file, whatever part of it a call takes: 0 or an errno. */
int st_guard_write_all(int file, const char *data, size_t length);
/* The same to standard output. While it is parked, no code of other threads gets to it. */
int st_guard_stdout_write(const char *data, size_t length);
int st_guard_stdout_close(void); /* results end here; 0 or an errno */
bool st_guard_is_stdout(const char *path);

/* Who is in a call on this thread, "plugin 'a' in 'b'", in two texts; false: nobody. For handlers
 * of signals, too. */
bool st_guard_running(const char **who, const char **what);

/*
 * While a library prints what it also returns: its standard error goes nowhere, and messages of
 * this program, of a crash, say, to the descriptor of st_guard_messages.
 */
void st_guard_hush(void);
void st_guard_end_hush(void); /* keeps errno */
int st_guard_messages(void);

/* Who had the latest call, also when it is over; false: nobody. */
bool st_guard_last(const char **who, const char **what);

/* Notes that somebody wrote to what he was given to read, or that the process in which he answered
 * has ended: rows before and after differ, and all results of this process are invalid. `more`, or
 * NULL, is part of the report. */
void st_guard_accuse(const char *who, const char *what);
void st_guard_accuse_ended(const char *who, const char *what, const char *more);

/* Puts back what was remembered, and warns of all that was put back since the last time;
 * ST_ERR_PROVIDER where someone is accused. */
st_status st_guard_tell(st_errors *errors);

#endif

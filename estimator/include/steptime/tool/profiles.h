/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles: what was measured or fitted once, kept under a name in a database of the user, so that
 * jobs and plugins can use it again.
 *
 * A profile is one or more entries. An entry belongs to a plugin and a kind ("options": values for
 * the plugin's own options; "times": measured times of the cell named as collective, a text
 * for the plugin's option of that name; plugins define other kinds). It names the cluster, fabric,
 * version of NCCL, collective, ranks and nodes for which it is valid, and has a payload and its
 * provenance. All but the last two are its key; a second entry with the same key replaces the
 * first.
 *
 * The database is one SQLite file: $XDG_DATA_HOME/steptime/profiles.db, or
 * ~/.local/share/steptime/profiles.db where that variable is not set. Every change is one
 * transaction: two programs may write at the same time, each waits for the other for a few seconds,
 * and what fails changes nothing.
 */
#ifndef STEPTIME_TOOL_PROFILES_H
#define STEPTIME_TOOL_PROFILES_H

#include "steptime/arena.h"
#include "steptime/job.h"
#include "steptime/paths.h"

enum {
    /* of a payload: a model of slowdowns from thousands of kernels takes several of them */
    ST_PROFILE_MAX_BYTES = 16 * 1024 * 1024,
    ST_PROFILE_MAX_ENTRIES = 100000, /* that one call reads */
    ST_PROFILE_SCHEMA = 1,           /* of exports */
    ST_PROFILES_SCHEMA = 2           /* of the database that this library writes */
};

#define ST_PROFILE_OPTIONS "options"
#define ST_PROFILE_TIMES   "times" /* a text for the plugin's option of that name */
#define ST_PROFILE_MODEL   "model" /* the same */

/* The number of texts in the key of an entry, and of all its texts. */
enum { ST_PROFILE_KEYS = 7, ST_PROFILE_TEXTS };

/* An entry. Texts are never NULL; "" and 0: any, or not known. */
typedef struct st_profile {
    union {
        struct {
            const char *name; /* letters, digits, '.', '_' and '-'; not empty */
            const char *kind;
            const char *plugin;
            const char *cluster;
            const char *fabric;
            const char *nccl; /* version */
            const char *collective;
            const char *provenance; /* a JSON object: rows that were used, date, errors */
        };
        const char *texts[ST_PROFILE_TEXTS]; /* these */
    };
    size_t ranks;
    size_t nodes;
    const void *payload; /* of kind "options": a JSON object that maps option names to strings */
    size_t payload_bytes;
} st_profile;

/* Which entries; NULL and 0: any. */
typedef struct st_profile_filter {
    const char *name;
    const char *kind;
    const char *plugin;
    const char *collective;
    size_t ranks;
    size_t nodes;
} st_profile_filter;

/* The value of one option of a plugin, as a user would write it. */
typedef struct st_profile_option {
    const char *name;
    const char *text;
} st_profile_option;

/* What a profile has for a job. */
typedef struct st_profile_found {
    const st_profile *entry;
    const st_profile_option *options;
    size_t count;
} st_profile_found;

/* A text to import. */
typedef struct st_profile_text {
    const char *file; /* names it in messages */
    const char *text;
    size_t length;
} st_profile_text;

typedef enum st_profiles_access {
    ST_PROFILES_READ,
    ST_PROFILES_WRITE /* creates a missing file and folder; removes both again if
                         nothing was stored */
} st_profiles_access;

typedef struct st_profiles st_profiles;

/* Whether the library was built with SQLite; otherwise opening fails. */
bool st_profiles_available(void);

/* The user's database; NULL where neither XDG_DATA_HOME nor HOME is set, or out of memory. */
const char *st_profiles_path(st_arena *arena);

/*
 * Opens a database. `file` is copied, NULL: the user's. Refuses other files, newer
 * schemas, reading a missing file and writing a read-only one. The first writer migrates older
 * schemas. Not safe for two threads.
 */
st_status st_profiles_open(const char *file, st_profiles_access access, st_profiles **profiles,
                           st_errors *errors) ST_NODISCARD;
void st_profiles_close(st_profiles *profiles); /* NULL is fine */

/*
 * Stores entries, all or none. Without `replace` an entry that is there already is refused.
 */
st_status st_profiles_put(st_profiles *profiles, const st_profile *entries, size_t count,
                          bool replace, st_errors *errors) ST_NODISCARD;

/* Finds entries, sorted by name, plugin, collective, nodes and ranks; none is not an error. */
st_status st_profiles_find(st_profiles *profiles, const st_profile_filter *filter, st_arena *arena,
                           const st_profile **entries, size_t *count,
                           st_errors *errors) ST_NODISCARD;

/* Removes all entries of a profile; ST_ERR_NAME, with the nearest one, where there are none. */
st_status st_profiles_remove(st_profiles *profiles, const char *name, size_t *removed,
                             st_errors *errors) ST_NODISCARD;

/* Reports an unknown profile, with the nearest name. */
st_status st_profiles_unknown(st_profiles *profiles, const char *name, st_errors *errors);

/* The options that an entry of kind "options" or "times" gives. */
st_status st_profile_options(const st_profile *entry, st_arena *arena,
                             const st_profile_option **options, size_t *count,
                             st_errors *errors) ST_NODISCARD;

/* Writes options as the payload of an entry. */
void st_profile_write_options(const st_profile_option *options, size_t count, st_buffer *buffer);

/*
 * The options that a profile has for a plugin: of the entries of that plugin, those that hold for
 * the collective (or for any), and of these the one whose nodes and then ranks are nearest.
 * `filter->name` and `filter->plugin` must be given; NULL as collective takes what there is, which
 * must then be of one collective. ST_ERR_NAME where there is none, with the collectives that the
 * profile has.
 */
st_status st_profile_settings(const char *file, const st_profile_filter *filter, st_arena *arena,
                              st_profile_found *found, st_errors *errors) ST_NODISCARD;

/*
 * What a profile has of a plugin for a collective, or where `filter->collective` is NULL for all:
 * one for each group of ranks and nodes; of several, the first one with a warning. None is not
 * an error, but a profile that does not exist or has nothing for the plugin is one.
 */
st_status st_profile_all(const char *file, const st_profile_filter *filter, st_arena *arena,
                         st_profile_found **found, size_t *count, st_errors *errors) ST_NODISCARD;

/* The index of the one whose nodes and then ranks are nearest to those of the filter. */
size_t st_profile_nearest(const st_profile_found *found, size_t count,
                          const st_profile_filter *filter);

/* Entries as a JSON text that st_profiles_read reads back. */
void st_profiles_export(const st_profile *entries, size_t count, st_buffer *buffer);

/* The entries of such a text; refuses duplicates and invalid options. */
st_status st_profiles_read(const st_profile_text *text, st_arena *arena, const st_profile **entries,
                           size_t *count, st_errors *errors) ST_NODISCARD;

/* ---- whether an entry was measured on the machine that it is used for: machine.c ---- */

/* Members of the provenance that describe the machine; rates are quantities. */
#define ST_PROFILE_GPU   "gpu"
#define ST_PROFILE_LINKS "link_bandwidth"
#define ST_PROFILE_NICS  "nic_bandwidth"

/* What collectives run on, as far as known. */
typedef struct st_profile_machine {
    const char *whose; /* "the job" */
    const char *gpu;   /* by any name; NULL or "": not known */
    double nccl;       /* as NCCL's header counts; NaN: not known, and so are rates */
    double links;      /* of a GPU, byte/s */
    double nics;       /* of a node, byte/s; NaN also where there is but one node */
} st_profile_machine;

/* That of a job. */
st_profile_machine st_profile_machine_of(const st_job *job);

/* "2.22.3" as NCCL's header counts it, 22203; NaN where it is none. */
double st_nccl_version_code(const char *version);

/*
 * Warns of each of GPU, NCCL, links of one node and NICs of several that the entry and the machine
 * both say and that differ, with both values; skips messages that `errors` already
 * has.
 */
st_status st_profile_check_machine(const st_paths *paths, const st_profile *entry,
                                   const st_profile_machine *machine, st_place place,
                                   st_errors *errors) ST_NODISCARD;

/* Reports what is wrong with an entry, at `place`. */
st_status st_profile_check(const st_profile *entry, st_place place, st_errors *errors) ST_NODISCARD;

#endif

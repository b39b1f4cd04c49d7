/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of a site: the one term of the sheet whose change explains best how far estimates are off
 * them, and a stack with that term corrected.
 *
 * A step time alone does not say which term is wrong. The term is the one that, changed by one
 * factor for all runs, leaves the least error, and among terms that leave as little, the one that
 * changes least.
 */
#ifndef STEPTIME_FIT_SITE_H
#define STEPTIME_FIT_SITE_H

#include "base/result.h"
#include "fit/steps/measured.h"

enum { ST_SITE_TERMS = 3 };

typedef struct st_site_term {
    const char *key;  /* of a job */
    double before;    /* base units, in the first run */
    double after;     /* the same after the change */
    double factor;    /* after over before */
    double sd;        /* of the prior's logarithm */
    double effect;    /* change of the step for 10 % more, in the first run */
    double left;      /* largest error after the change, a share */
    double mean_left; /* root mean square of what is left of log(estimated/measured) */
} st_site_term;

typedef struct st_site {
    const st_measured *const *runs; /* of one row each */
    size_t run_count;
    const char *stack;                 /* that they were estimated with */
    st_site_term terms[ST_SITE_TERMS]; /* best first */
    size_t term_count;
    double median; /* of errors of runs left out while the others fit the first term */
    double nine_of_ten;
    double bias;
    bool is_explained; /* a term does, by a change that its prior allows */
} st_site;

/* Of runs that were estimated. Without a term that explains anything there is none. The priors are
 * those of the files of constants at `paths` that are of the runs' sheet. */
st_status st_site_of(const st_paths *paths, const st_measured *const *runs, size_t count,
                     st_arena *arena, st_site *site, st_errors *errors) ST_NODISCARD;

/* The member `site`, a map. */
void st_site_put(const st_site *site, st_node *root);

/* Appends the stack of the site. */
void st_site_write(const st_site *site, const char *name, st_buffer *buffer);

#endif

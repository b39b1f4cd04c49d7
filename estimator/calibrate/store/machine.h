/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an entry of a profile was measured on the machine that it is used for. */
#ifndef STEPTIME_CALIBRATE_STORE_MACHINE_H
#define STEPTIME_CALIBRATE_STORE_MACHINE_H

#include "calibrate/store/profile.h"
#include "steptime/job.h"
#include "steptime/paths.h"

/* Members of the provenance by which an entry says it; rates are quantities. */
#define ST_PROFILE_GPU   "gpu"
#define ST_PROFILE_LINKS "link_bandwidth"
#define ST_PROFILE_NICS  "nic_bandwidth"

/* What collectives run on, as far as somebody says it. */
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
 * both say and that differ, with both values; what `errors` has in the same words already is not
 * told again.
 */
st_status st_profile_check_machine(const st_paths *paths, const st_profile *entry,
                                   const st_profile_machine *machine, st_place place,
                                   st_errors *errors) ST_NODISCARD;

#endif

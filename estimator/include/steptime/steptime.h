/* SPDX-License-Identifier: Apache-2.0 */
/* All headers in the order of their dependencies: each includes only those above it. */
#ifndef STEPTIME_H
#define STEPTIME_H

#include "steptime/status.h"
#include "steptime/arena.h"
#include "steptime/quantity.h"
#include "steptime/sheet.h"
#include "steptime/paths.h"
#include "steptime/job.h"
#include "steptime/in_process.h"
#include "steptime/estimate.h"
#include "steptime/job_traffic.h"
#include "steptime/job_timeline.h"
#include "steptime/graph.h"
#include "steptime/search.h"

#endif

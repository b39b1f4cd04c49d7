/* SPDX-License-Identifier: Apache-2.0 */
/* Everything at once, in the order of the rooms: each header includes only those above it. */
#ifndef STEPTIME_H
#define STEPTIME_H

#include "steptime/status.h"
#include "steptime/arena.h"
#include "steptime/quantity.h"
#include "steptime/sheet.h"
#include "steptime/provider.h"
#include "steptime/program.h"
#include "steptime/paths.h"
#include "steptime/job.h"
#include "steptime/estimate.h"
#include "steptime/placement.h"
#include "steptime/graph.h"
#include "steptime/schedule.h"
#include "steptime/trace.h"
#include "steptime/import.h"
#include "steptime/plugins.h"
#include "steptime/profile.h"
#include "steptime/search.h"

#endif

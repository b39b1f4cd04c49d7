/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives on the topology that a job names (cluster.topology), by the table of steps that it
 * names for them (collectives.all_reduce, ...), else by a ring or by what the network sums up:
 * providers of a sheet's open functions of these names.
 */
#ifndef STEPTIME_ESTIMATE_FABRIC_FUNCTIONS_H
#define STEPTIME_ESTIMATE_FABRIC_FUNCTIONS_H

#include "estimate/placement_cells.h"
#include "steptime/job.h"
#include "steptime/paths.h"

/* Warns of a topology that the sheet has no use for; refuses tables without one. */
st_status st_fabric_providers(const st_paths *paths, const st_job *job, const st_sheet *sheet,
                              st_arena *arena, st_cell_providers *providers,
                              st_errors *errors) ST_NODISCARD;

#endif

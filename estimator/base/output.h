/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output files that are either whole or not there: whoever reads the file meanwhile, or finds it
 * after a full disk, sees the old contents or the new ones.
 */
#ifndef STEPTIME_BASE_OUTPUT_H
#define STEPTIME_BASE_OUTPUT_H

#include "steptime/status.h"

/*
 * Writes a file under a temporary name in the same folder, syncs it and renames it. A file that
 * existed keeps its permissions, and a symbolic link goes on pointing to what it names. Devices and
 * pipes are written to as they are. Folders and files without write permission are refused; on
 * failure nothing is left behind.
 */
st_status st_output_write(const char *path, const char *data, size_t length,
                          st_errors *errors) ST_NODISCARD;

#endif

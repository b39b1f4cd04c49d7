/* SPDX-License-Identifier: Apache-2.0 */
/* Files of all formats by the name of the format, for the verbs and for other programs. */
#ifndef STEPTIME_FRAMEWORKS_FORMATS_H
#define STEPTIME_FRAMEWORKS_FORMATS_H

#include "launch/frameworks/frameworks.h"
#include "steptime/tool/estimates.h"

/* Appends the job, or of "layers" the layer list, that a source in that format gives. */
st_status st_format_import(const char *format, const st_import_request *request, st_buffer *job,
                           st_errors *errors) ST_NODISCARD;

/* Appends what starts a job; a plan that an estimate refuses is not started either. */
st_status st_format_export(const char *format, const st_paths *paths, const st_request *request,
                           const st_export_options *options, st_buffer *file,
                           st_errors *errors) ST_NODISCARD;

#endif

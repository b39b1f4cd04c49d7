/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in the third column of calls.txt: each is a st_handler, st_do_NAME. Generated from
 * it: record_handlers.h. */
#ifndef STEPTIME_RECORD_LIBRARY_HANDLERS_H
#define STEPTIME_RECORD_LIBRARY_HANDLERS_H

#include "record/library/entry.h"
#include "record_handlers.h"

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The handlers that the third column of calls.txt names: st_do_NAME, a st_handler. The build
 * generates record_handlers.h from it. */
#ifndef STEPTIME_RECORD_LIBRARY_HANDLERS_H
#define STEPTIME_RECORD_LIBRARY_HANDLERS_H

#include "record/library/entry.h"
#include "record_handlers.h"

#endif

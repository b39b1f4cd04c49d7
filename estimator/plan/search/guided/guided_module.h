/* SPDX-License-Identifier: Apache-2.0 */
/* The module of searches that do not compute every plan; see search/guided.h. */
#ifndef STEPTIME_GUIDED_GUIDED_MODULE_H
#define STEPTIME_GUIDED_GUIDED_MODULE_H

#include "search/guided.h"

/* NULL: left out of this build. */
extern const st_guided_methods *const st_guided_module;

#endif

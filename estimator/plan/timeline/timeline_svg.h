/* SPDX-License-Identifier: Apache-2.0 */
/* What the pictures of a timeline share. */
#ifndef STEPTIME_TIMELINE_TIMELINE_SVG_H
#define STEPTIME_TIMELINE_TIMELINE_SVG_H

#include "base/svg.h"
#include "timeline/timeline.h"

/* Round moments of the step below a line across `room`, at its y. */
void st_timeline_draw_axis(const st_timeline *timeline, st_svg_box room, st_buffer *svg);

#endif

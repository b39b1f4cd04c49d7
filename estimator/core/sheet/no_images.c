/* SPDX-License-Identifier: Apache-2.0 */
/* No images: for the tool that makes them, and for programs built for another machine, where it
 * cannot run. */
#include "sheet/image.h"

const st_sheet_image st_sheet_images[1] = {{0}};
const size_t st_sheet_image_count = 0;

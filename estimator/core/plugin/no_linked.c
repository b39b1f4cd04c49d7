/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that load plugins have none inside. */
#include "plugin/linked.h"

const st_linked_plugin st_linked_plugins[1] = {{0}};
const size_t st_linked_plugin_count = 0;

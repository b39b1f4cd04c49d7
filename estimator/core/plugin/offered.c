/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins of the program itself, by id: another language's functions behind a descriptor. */
#include "plugin/offered.h"

#include "base/memory.h"
#include "plugin/module.h"
#include "steptime/in_process.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_OFFERED = 256 };

static struct {
    pthread_mutex_t lock;
    const st_plugin *items[MOST_OFFERED];
    size_t count;
} offered = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t find(const char *id)
{
    size_t i = 0;
    while (i < offered.count && strcmp(offered.items[i]->id, id) != 0)
        i++;
    return i;
}

st_status st_plugin_offer(const st_plugin *plugin, st_errors *errors)
{
    st_arena *arena = st_arena_create();
    st_plugin_module module = {.file = "of this process", .who = "plugin"};
    if (arena == NULL)
        return st_out_of_memory(errors);
    st_status status = st_module_describe(&module, plugin, (st_place){0}, arena, errors);
    st_arena_destroy(arena);
    if (status != ST_OK)
        return status;
    (void)pthread_mutex_lock(&offered.lock);
    size_t at = find(plugin->id);
    if (at < MOST_OFFERED) {
        offered.items[at] = plugin;
        offered.count += at == offered.count ? 1 : 0;
    }
    (void)pthread_mutex_unlock(&offered.lock);
    return at < MOST_OFFERED
               ? ST_OK
               : st_fail(errors, ST_ERR_LIMIT, (st_place){0},
                         "too many plugins of this process" ST_EXPECTED "at most %d; withdraw some",
                         MOST_OFFERED);
}

void st_plugin_withdraw(const st_plugin *plugin)
{
    (void)pthread_mutex_lock(&offered.lock);
    for (size_t i = 0; i < offered.count; i++)
        if (offered.items[i] == plugin) {
            offered.items[i] = offered.items[--offered.count];
            break;
        }
    (void)pthread_mutex_unlock(&offered.lock);
}

const st_plugin *st_plugin_offered(const char *id)
{
    (void)pthread_mutex_lock(&offered.lock);
    size_t at = find(id);
    const st_plugin *found = at < offered.count ? offered.items[at] : NULL;
    (void)pthread_mutex_unlock(&offered.lock);
    return found;
}

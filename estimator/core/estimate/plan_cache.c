/* SPDX-License-Identifier: Apache-2.0 */
/* See plan_cache.h. */
#include "estimate/plan_cache.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct kept {
    void *memory;
    void (*release)(void *own);
} kept;

static pthread_key_t key;
static bool has_key;

static void free_all(void *state)
{
    kept *all = state;
    for (size_t i = 0; i < ST_PLAN_CACHE_KINDS; i++) {
        if (all[i].memory != NULL)
            all[i].release(all[i].memory);
        free(all[i].memory);
    }
    free(all);
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, free_all) == 0;
}

void *st_plan_cache(st_plan_cache_kind kind, size_t size_bytes, void (*release)(void *state))
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (pthread_once(&once, make_key) != 0 || !has_key)
        return NULL;
    kept *all = pthread_getspecific(key);
    if (all == NULL) {
        all = calloc(ST_PLAN_CACHE_KINDS, sizeof *all);
        if (all == NULL || pthread_setspecific(key, all) != 0) {
            free(all);
            return NULL;
        }
    }
    if (all[kind].memory == NULL)
        all[kind] = (kept){calloc(1, size_bytes), release};
    return all[kind].memory;
}

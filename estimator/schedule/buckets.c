/* SPDX-License-Identifier: Apache-2.0 */
/* One walk over the layers fills the buckets; a clock follows them for what stays exposed. */
#include "schedule/buckets.h"

size_t st_buckets_visit(const st_layers *layers, const st_bucket_caps *caps,
                        bool (*visit)(void *context, const st_bucket *bucket), void *context)
{
    double done_flop = 0;
    double cap_bytes = caps->first_bytes;
    st_bucket bucket = {0};
    size_t count = 0;
    for (size_t i = layers->count; i-- > 0;) {
        const st_tensor *tensor = &layers->tensors[i];
        bucket.bytes += tensor->parameters * caps->width_bytes;
        done_flop += tensor->forward_flop;
        bool last = i == 0;
        if (bucket.bytes < cap_bytes && !last)
            continue;
        bucket.ready_frac =
            last || layers->forward_flop <= 0 ? 1 : done_flop / layers->forward_flop;
        count++;
        if (!visit(context, &bucket))
            break;
        bucket = (st_bucket){0};
        cap_bytes = caps->cap_bytes;
    }
    return count;
}

typedef struct st_bucket_clock {
    const st_bucket_times *times;
    double free_at; /* when the previous bucket's all-reduce ends */
    double added;   /* so far: the pass reaches a point of its work this much later */
} st_bucket_clock;

static bool send(void *context, const st_bucket *bucket)
{
    st_bucket_clock *clock = context;
    const st_bucket_times *times = clock->times;
    double ready = bucket->ready_frac * times->backward + clock->added;
    double begin = ready > clock->free_at ? ready : clock->free_at;
    double busy = times->start + bucket->bytes * times->per_byte;
    double left = times->backward + clock->added - begin; /* of the pass, undisturbed */
    if (left > 0) {
        double beside = busy < left * times->slowdown ? busy : left * times->slowdown;
        clock->added += beside - beside / times->slowdown;
    }
    clock->free_at = begin + busy;
    return true;
}

st_bucket_outcome st_buckets_run(const st_layers *layers, const st_bucket_caps *caps,
                                 const st_bucket_times *times)
{
    st_bucket_clock clock = {.times = times};
    (void)st_buckets_visit(layers, caps, send, &clock);
    double end = times->backward + clock.added;
    return (st_bucket_outcome){.exposed = clock.free_at > end ? clock.free_at - end : 0,
                               .added = clock.added};
}

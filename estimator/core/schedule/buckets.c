/* SPDX-License-Identifier: Apache-2.0 */
/* One walk over the layers fills the buckets; a clock follows them for what stays exposed. */
#include "schedule/buckets.h"

#include <math.h>
#include <string.h>

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

/* ---- times by size ---- */

typedef struct size_list {
    st_bucket_curve *curve;
    double least;
    double most;
    bool is_full; /* there are more sizes than it takes */
} size_list;

static bool add_size(void *context, const st_bucket *bucket)
{
    size_list *list = context;
    st_bucket_curve *curve = list->curve;
    size_t at = 0;
    list->least = list->least > 0 ? fmin(list->least, bucket->bytes) : bucket->bytes;
    list->most = fmax(list->most, bucket->bytes);
    while (at < curve->count && curve->bytes[at] < bucket->bytes)
        at++;
    if (at < curve->count && curve->bytes[at] == bucket->bytes)
        return true;
    if (curve->count == ST_BUCKET_SIZES) {
        list->is_full = true;
        return true;
    }
    memmove(curve->bytes + at + 1, curve->bytes + at, (curve->count - at) * sizeof *curve->bytes);
    curve->bytes[at] = bucket->bytes;
    curve->count++;
    return true;
}

void st_bucket_sizes(const st_layers *layers, const st_bucket_caps *caps, st_bucket_curve *curve)
{
    size_list list = {.curve = curve};
    curve->count = 0;
    (void)st_buckets_visit(layers, caps, add_size, &list);
    if (!list.is_full)
        return;
    for (size_t i = 0; i < ST_BUCKET_SIZES; i++)
        curve->bytes[i] =
            list.least * pow(list.most / list.least, (double)i / (ST_BUCKET_SIZES - 1));
    curve->bytes[ST_BUCKET_SIZES - 1] = list.most;
}

double st_bucket_time(const st_bucket_curve *curve, double bytes)
{
    size_t at = 0;
    while (at < curve->count && curve->bytes[at] < bytes)
        at++;
    if (at == curve->count)
        return at > 0 ? curve->times[at - 1] : (double)NAN;
    if (at == 0 || curve->bytes[at] == bytes)
        return curve->times[at];
    double share = (bytes - curve->bytes[at - 1]) / (curve->bytes[at] - curve->bytes[at - 1]);
    return curve->times[at - 1] + share * (curve->times[at] - curve->times[at - 1]);
}

/* ---- the clock ---- */

typedef struct st_bucket_clock {
    const st_bucket_times *times;
    double total;
    double free_at; /* when the previous bucket's all-reduce ends */
    double added;   /* so far: the pass reaches a point of its work this much later */
} st_bucket_clock;

static bool send(void *context, const st_bucket *bucket)
{
    st_bucket_clock *clock = context;
    const st_bucket_times *times = clock->times;
    double ready = bucket->ready_frac * times->backward + clock->added;
    double begin = ready > clock->free_at ? ready : clock->free_at;
    double busy = st_bucket_time(times->curve, bucket->bytes);
    double left = times->backward + clock->added - begin; /* of the pass, undisturbed */
    if (left > 0) {
        double overlapped = busy < left * times->slowdown ? busy : left * times->slowdown;
        clock->added += overlapped - overlapped / times->slowdown;
    }
    clock->free_at = begin + busy;
    clock->total += busy;
    return true;
}

st_bucket_outcome st_buckets_run(const st_layers *layers, const st_bucket_caps *caps,
                                 const st_bucket_times *times)
{
    st_bucket_clock clock = {.times = times};
    (void)st_buckets_visit(layers, caps, send, &clock);
    double end = times->backward + clock.added;
    return (st_bucket_outcome){.exposed = clock.free_at > end ? clock.free_at - end : 0,
                               .added = clock.added,
                               .total = clock.total};
}

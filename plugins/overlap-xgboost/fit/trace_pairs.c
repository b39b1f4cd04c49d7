/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of one recording matched with those of the other, kernel by kernel. */
#include "overlap-xgboost/fit/trace_pairs.h"

#include "base/fields.h"
#include "overlap-xgboost/fit/kernel_table.h"
#include "overlap-xgboost/fit/matching.h"
#include "base/numbered_texts.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_STREAMS = 4096 };

typedef struct stream {
    int64_t device;
    int64_t number;
    size_t *kernels; /* that compute, by start */
    uint32_t *names;
    size_t count;
    bool taken; /* by a stream of the other recording */
} stream;

typedef struct side {
    const st_recorded *recorded;
    stream *streams;
    size_t stream_count;
    st_concurrent concurrent;
} side;

typedef struct pairing {
    side without;
    side with;
    const st_pairs_options *options;
    st_names names;
    st_arena *arena;
    st_buffer *table;
    st_pairs_tally *tally;
    st_join *join;
    size_t alone;            /* kernels of this pair without a counterpart */
    const char *first_alone; /* the first of them */
    st_errors *errors;
} pairing;

/* ---- streams ---- */

static stream *find_stream(const side *recording, int64_t device, int64_t number)
{
    for (size_t i = 0; i < recording->stream_count; i++)
        if (recording->streams[i].device == device && recording->streams[i].number == number)
            return &recording->streams[i];
    return NULL;
}

/* The kernels of each stream in order, their names as numbers that both recordings share. */
static st_status fill_streams(pairing *pairs, side *of)
{
    for (size_t i = 0; i < of->stream_count; i++) {
        stream *at = &of->streams[i];
        at->kernels = st_arena_alloc(pairs->arena, at->count, sizeof *at->kernels);
        at->names = st_arena_alloc(pairs->arena, at->count, sizeof *at->names);
        if (at->kernels == NULL || at->names == NULL)
            return ST_ERR_MEMORY;
        at->count = 0;
    }
    for (size_t i = 0; i < of->recorded->count; i++) {
        const st_recorded_kernel *kernel = &of->recorded->kernels[i];
        if (kernel->collective == NULL) {
            stream *at = find_stream(of, kernel->device, kernel->stream);
            st_status status = st_names_add(&pairs->names, kernel->name, strlen(kernel->name),
                                            false, &at->names[at->count]);
            if (status != ST_OK)
                return status;
            at->kernels[at->count++] = i;
        }
    }
    return ST_OK;
}

/* The stream of the same number; where there is none, the first that is free. */
static stream *counterpart(side *of, const stream *queue, bool exact)
{
    stream *same = find_stream(of, queue->device, queue->number);
    if (exact || same != NULL)
        return same;
    for (size_t i = 0; i < of->stream_count; i++)
        if (!of->streams[i].taken)
            return &of->streams[i];
    return NULL;
}

/* ---- rows ---- */

static void write_row(pairing *pairs, const st_recorded_kernel *alone,
                      const st_recorded_kernel *slowed)
{
    const st_counted_kernel *counted =
        pairs->join != NULL ? st_join_next(pairs->join, alone) : NULL;
    const st_recorded_collective *collective = NULL;
    double isolated_ns = (double)(alone->end_ns - alone->start_ns);
    double whole_ns = (double)(slowed->end_ns - slowed->start_ns);
    double concurrent_ns = (double)st_concurrent_time(&pairs->with.concurrent, slowed, &collective);
    double share = concurrent_ns > 0 ? 1 - (whole_ns - concurrent_ns) / isolated_ns : 0;
    pairs->tally->matched++;
    if (st_concurrent_time(&pairs->without.concurrent, alone, NULL) > 0) {
        pairs->tally->disturbed++;
        return;
    }
    if (isolated_ns <= 0 || whole_ns <= 0 || (pairs->join != NULL && counted == NULL)) {
        pairs->tally->unusable++;
        return;
    }
    st_buffer_csv_field(pairs->table, alone->name);
    st_buffer_printf(pairs->table, ",%.17g,%.17g,%.9g", isolated_ns, whole_ns,
                     share > 0 ? share : 0);
    for (size_t i = 0; i < ST_COUNTERS && counted != NULL; i++)
        st_buffer_printf(pairs->table, ",%.9g", counted->values[i]);
    static const st_recorded_collective none = {"", "", "", 0, 0};
    const st_recorded_collective *shown = collective != NULL ? collective : &none;
    st_buffer_printf(pairs->table, ",%s,%s,%s,", shown->collective, shown->protocol,
                     shown->algorithm);
    if (shown->bytes > 0)
        st_buffer_printf(pairs->table, "%.17g", shown->bytes);
    st_buffer_text(pairs->table, ",");
    if (shown->channels > 0)
        st_buffer_printf(pairs->table, "%lld", (long long)shown->channels);
    /* As models know it: "a100" of "NVIDIA A100-SXM4-80GB". */
    st_buffer *table = pairs->table;
    size_t index = st_word_index(pairs->with.recorded->gpu, ST_KERNEL_GPUS, true);
    const char *word = ST_KERNEL_GPUS;
    for (size_t i = 0; i < index && index != SIZE_MAX; i++)
        word += strcspn(word, " ") + 1;
    int length = index != SIZE_MAX ? (int)strcspn(word, " ") : 0;
    st_buffer_printf(table, ",%.*s\n", length, word);
    pairs->tally->rows++;
    pairs->tally->concurrent += concurrent_ns > 0 ? 1 : 0;
}

void st_pairs_head(bool has_counters, st_buffer *table)
{
    st_buffer_text(table, "kernel,isolated_ns,overlapped_ns,overlap_ratio");
    if (has_counters)
        st_buffer_text(table, ",Compute throughput,Memory throughput,DRAM throughput,"
                              "Achieved occupancy,L1 hit rate,L2 hit rate");
    st_buffer_text(table, ",collective,protocol,algorithm,bytes,channels,gpu\n");
}

/* ---- matching ---- */

static void note_alone(pairing *pairs, const side *of, size_t kernel, size_t *tally)
{
    const char *name = of->recorded->kernels[kernel].name;
    if (pairs->alone++ == 0)
        pairs->first_alone =
            st_errors_text(pairs->errors, "'%.*s' of %s", 80, name, of->recorded->file);
    ++*tally;
}

/* All kernels of a stream that has no counterpart. */
static void leave_out(pairing *pairs, const side *of, const stream *at, size_t *tally)
{
    for (size_t i = 0; i < at->count; i++)
        note_alone(pairs, of, at->kernels[i], tally);
}

/* Streams of one number first, then whatever is left, in the order in which they begin. */
static st_status match_all(pairing *pairs)
{
    st_status status = ST_OK;
    for (int exact = 1; exact >= 0; exact--) {
        for (size_t i = 0; i < pairs->without.stream_count && status == ST_OK; i++) {
            stream *left = &pairs->without.streams[i];
            stream *right = left->taken ? NULL : counterpart(&pairs->with, left, exact == 1);
            if (right != NULL && !right->taken) {
                left->taken = right->taken = true;
                st_sequence before = {left->names, left->count};
                st_sequence after = {right->names, right->count};
                size_t *matches = st_arena_alloc(pairs->arena, left->count + 1, sizeof *matches);
                status = matches != NULL ? st_matching(before, after, matches) : ST_ERR_MEMORY;
                size_t next = 0; /* of the right ones */
                for (size_t j = 0; j < left->count && status == ST_OK; j++) {
                    if (matches[j] == SIZE_MAX) {
                        note_alone(pairs, &pairs->without, left->kernels[j],
                                   &pairs->tally->without);
                        continue;
                    }
                    for (; next < matches[j]; next++)
                        note_alone(pairs, &pairs->with, right->kernels[next], &pairs->tally->with);
                    next++;
                    write_row(pairs, &pairs->without.recorded->kernels[left->kernels[j]],
                              &pairs->with.recorded->kernels[right->kernels[matches[j]]]);
                }
                for (; next < right->count && status == ST_OK; next++)
                    note_alone(pairs, &pairs->with, right->kernels[next], &pairs->tally->with);
            } else if (exact == 0 && !left->taken) {
                leave_out(pairs, &pairs->without, left, &pairs->tally->without);
            }
        }
    }
    for (size_t i = 0; i < pairs->with.stream_count && status == ST_OK; i++)
        if (!pairs->with.streams[i].taken)
            leave_out(pairs, &pairs->with, &pairs->with.streams[i], &pairs->tally->with);
    return status;
}

/* ---- what is refused ---- */

static st_status prepare(pairing *pairs, side *of)
{
    st_status status = ST_OK;
    st_arena *arena = pairs->arena;
    for (size_t i = 0; i < of->recorded->count; i++) {
        const st_recorded_kernel *kernel = &of->recorded->kernels[i];
        if (kernel->collective != NULL)
            continue;
        stream *at = find_stream(of, kernel->device, kernel->stream);
        if (at == NULL) {
            if (of->stream_count == MOST_STREAMS) {
                status = ST_ERR_LIMIT;
                break;
            }
            const stream one = {.device = kernel->device, .number = kernel->stream};
            if (!ST_APPEND(arena, of->streams, of->stream_count, one)) {
                status = ST_ERR_MEMORY;
                break;
            }
            at = &of->streams[of->stream_count - 1];
        }
        at->count++;
    }
    if (status == ST_OK)
        status = fill_streams(pairs, of);
    if (status == ST_OK)
        status = st_concurrent_make(of->recorded, pairs->arena, &of->concurrent);
    return status;
}

static st_status report_failure(const pairing *pairs, st_status status)
{
    if (status == ST_ERR_MEMORY)
        return st_out_of_memory(pairs->errors);
    if (status == ST_ERR_LIMIT)
        return st_fail(pairs->errors, ST_ERR_VALUE, (st_place){.file = pairs->with.recorded->file},
                       "the kernels differ too much from those of %s" ST_EXPECTED
                       "the same program: at most %d kernels of a stream that the other recording "
                       "lacks, and %d streams",
                       pairs->without.recorded->file, (int)ST_MATCHING_MAX_APART,
                       (int)MOST_STREAMS);
    return status;
}

st_status st_pairs_append(const st_recorded *without, const st_recorded *with,
                          const st_pairs_options *options, st_arena *arena, st_pairs_made *made,
                          st_errors *errors)
{
    pairing pairs = {.without = {.recorded = without},
                     .with = {.recorded = with},
                     .options = options,
                     .arena = arena,
                     .table = &made->table,
                     .tally = &made->tally,
                     .errors = errors};
    st_status status = st_names_init(&pairs.names);
    if (status == ST_OK && options->counters != NULL)
        status = st_join_make(options->counters, arena, &pairs.join);
    if (status == ST_OK)
        status = prepare(&pairs, &pairs.without);
    if (status == ST_OK)
        status = prepare(&pairs, &pairs.with);
    if (status == ST_OK) {
        /* Two GPUs differ by more than what runs alongside a kernel. */
        const char *gpu_without = pairs.without.recorded->gpu;
        const char *gpu_with = pairs.with.recorded->gpu;
        if (gpu_without[0] != '\0' && gpu_with[0] != '\0' && strcmp(gpu_without, gpu_with) != 0) {
            status =
                st_fail(pairs.errors, ST_ERR_VALUE, (st_place){.file = pairs.with.recorded->file},
                        "the GPU is not that of %s" ST_FOUND "'%.*s'" ST_EXPECTED
                        "'%.*s' in both recordings",
                        pairs.without.recorded->file, 80, gpu_with, 80, gpu_without);
        }
    }
    if (status == ST_OK && pairs.with.concurrent.count == 0)
        status = st_fail(pairs.errors, ST_ERR_VALUE, (st_place){.file = pairs.with.recorded->file},
                         "no collective runs in the recording with overlap" ST_EXPECTED
                         "kernels of NCCL or RCCL alongside those that compute");
    if (status == ST_OK)
        status = report_failure(&pairs, match_all(&pairs));
    else if (status == ST_ERR_MEMORY || status == ST_ERR_LIMIT)
        status = report_failure(&pairs, status);
    if (status == ST_OK) {
        made->tally.pairs++;
        size_t all = 0;
        for (size_t i = 0; i < pairs.without.stream_count; i++)
            all += pairs.without.streams[i].count;
        for (size_t i = 0; i < pairs.with.stream_count; i++)
            all += pairs.with.streams[i].count;
        double share = all > 0 ? (double)pairs.alone / (double)all : 1;
        if (!(share <= pairs.options->unmatched_frac)) {
            status = st_fail(
                pairs.errors, ST_ERR_VALUE, (st_place){.file = pairs.with.recorded->file},
                "%zu of %zu kernels have no counterpart in the recording %s" ST_FOUND
                "%.1f %%, the first %s" ST_EXPECTED "at most %g %%, or the share of --unmatched",
                pairs.alone, all, pairs.without.recorded->file, 100 * share,
                pairs.first_alone != NULL ? pairs.first_alone : "",
                100 * pairs.options->unmatched_frac);
        }
    }
    st_names_free(&pairs.names);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See sends.h. The partner is the other rank of a group of two, or what the profiler wrote as
 * source and destination, which some frameworks count within the group. Of one direction the
 * messages are paired by sequence number, or, where those do not fit, in the order of launches.
 * Where some are lost, those are left over without which the others wait least, and no receive
 * ends before its send begins.
 */
#include "trace/sends.h"

#include "base/hash.h"
#include "trace/xalloc.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Ends of one message on two ranks differ by less. */
static const int64_t TOLERANCE_NS = 20000;

typedef struct endpoint {
    uint32_t from; /* ranks, indices */
    uint32_t to;
    uint64_t group;
    uint32_t receives;
    uint32_t place; /* sequence number or order */
    uint32_t event;
    int64_t sequence;
} endpoint;

ST_COMPARE(compare_launched, endpoint,
           ST_RISING(from) ST_RISING(to) ST_RISING(group) ST_RISING(receives) ST_RISING(place));
ST_COMPARE(compare_placed, endpoint,
           ST_RISING(from) ST_RISING(to) ST_RISING(group) ST_RISING(place) ST_RISING(receives));

typedef struct rank_number {
    int64_t number;
    uint32_t index;
} rank_number;

ST_COMPARE(compare_numbers, rank_number, ST_RISING(number) ST_RISING(index));

typedef struct message_finder {
    const st_order *orders;
    size_t count;
    st_arena *arena;
    rank_number *numbers;
    int64_t *offsets_ns;
    endpoint *ends;
    size_t end_count;
    bool one_way; /* messages of one direction say the clocks, as some of the other one are lost */
    st_messages *made;
} message_finder;

bool st_message_is(const st_trace *trace, const st_trace_event *event, bool *sends)
{
    static const char *const names[] = {"send", "isend", "recv", "irecv"};
    char name[8] = "";
    size_t length = 0;
    const st_trace_collective *meta = st_trace_described(trace, event);
    if (event->kind != ST_TRACE_KERNEL || event->class_ != ST_TRACE_COMMUNICATION || meta == NULL)
        return false;
    for (const char *c = st_trace_name(trace, meta->name); *c != '\0' && length + 1 < sizeof name;
         c++)
        name[length++] = (char)tolower((unsigned char)*c);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) {
            if (sends != NULL)
                *sends = i < 2;
            return true;
        }
    return false;
}

/* --- who sends to whom -------------------------------------------------------------------------
 */

/* A rank of a list such as "[0, 1]" by its place; -1: none. *count is how many it has. */
static int64_t listed(const char *list, int64_t wanted, size_t *count)
{
    int64_t found = -1;
    *count = 0;
    if (*list != '[' || strstr(list, "...") != NULL)
        return -1;
    for (const char *next = list + 1; *next != '\0' && *next != ']';) {
        char *end = NULL;
        long long one = strtoll(next, &end, 10);
        if (end == next)
            return -1;
        found = (int64_t)*count == wanted ? one : found;
        (*count)++;
        next = end + strspn(end, ", ");
    }
    return found;
}

/* The number of the other rank; -1: unknown. */
static int64_t peer_of(const st_trace *trace, const st_trace_collective *meta, int64_t own,
                       bool sends)
{
    const char *list = st_trace_name(trace, meta->ranks);
    size_t count = 0;
    int64_t first = listed(list, 0, &count);
    int64_t other = sends ? meta->destination : meta->source;
    int64_t self = sends ? meta->source : meta->destination;
    if (count == 2 && first >= 0)
        return own == first ? listed(list, 1, &count) : first;
    if (other < 0 || self == own || count == 0)
        return other;
    int64_t here = listed(list, self, &count);
    return here == own ? listed(list, other, &count) : other;
}

/* The index of a rank; ST_TRACE_NONE: it is not recorded. */
static uint32_t index_of(const message_finder *f, int64_t number)
{
    size_t low = 0;
    ST_BISECT(low, f->count, f->numbers[middle].number < number);
    return low < f->count && f->numbers[low].number == number ? f->numbers[low].index
                                                              : ST_TRACE_NONE;
}

static int64_t number_of(const message_finder *f, uint32_t rank)
{
    int64_t number = f->orders[rank].trace->rank;
    return number >= 0 ? number : (int64_t)rank;
}

static void add_rank(message_finder *f, uint32_t rank)
{
    const st_order *order = &f->orders[rank];
    const st_trace *trace = order->trace;
    st_launch *kernels = st_xmalloc((order->gpu_count + 1) * sizeof *kernels);
    size_t count = 0;
    for (uint32_t i = 0; i < trace->event_count; i++)
        if (st_message_is(trace, &trace->events[i], NULL))
            kernels[count++] = (st_launch){st_order_launch_ns(order, i), i};
    st_sort(kernels, count, sizeof *kernels, st_launch_compare);
    for (size_t i = 0; i < count; i++) {
        const st_trace_event *event = &trace->events[kernels[i].event];
        const st_trace_collective *meta = st_trace_described(trace, event);
        bool sends = false;
        (void)st_message_is(trace, event, &sends);
        int64_t peer = peer_of(trace, meta, number_of(f, rank), sends);
        /* Of two ranks it is the other one. */
        uint32_t other = peer >= 0 ? index_of(f, peer) : f->count == 2 ? 1 - rank : ST_TRACE_NONE;
        uint64_t group = st_hash_next_text(ST_HASH_BEGIN, st_trace_name(trace, meta->ranks));
        if (other == ST_TRACE_NONE || other == rank) {
            f->made->outside++;
            continue;
        }
        endpoint one = {.from = sends ? rank : other,
                        .to = sends ? other : rank,
                        .group = st_hash_next_text(group, st_trace_name(trace, meta->group)),
                        .receives = !sends,
                        .place = (uint32_t)i,
                        .event = kernels[i].event,
                        .sequence = meta->sequence};
        ST_XAPPEND(f->arena, f->ends, f->end_count, one);
    }
    free(kernels);
}

/* --- pairs -------------------------------------------------------------------------------------
 */

static bool is_same_channel(const endpoint *a, const endpoint *b)
{
    return a->from == b->from && a->to == b->to && a->group == b->group;
}

static int64_t end_ns(const message_finder *f, uint32_t rank, uint32_t event)
{
    const st_trace *trace = f->orders[rank].trace;
    return st_trace_end_ns(&trace->events[event]) + st_trace_base_ns(trace) + f->offsets_ns[rank];
}

static int64_t start_ns(const message_finder *f, uint32_t rank, uint32_t event)
{
    return end_ns(f, rank, event) - f->orders[rank].trace->events[event].duration_ns;
}

/* How many pairs the endpoints of a channel make by their places, which are sorted. */
static size_t count_pairs(const endpoint *ends, size_t count)
{
    size_t pairs = 0;
    for (size_t i = 1; i < count; i++)
        pairs += ends[i].receives != ends[i - 1].receives && ends[i].place == ends[i - 1].place &&
                 ends[i].receives == 1;
    return pairs;
}

/* By sequence numbers where these pair at least half of what can be paired, else by order. */
static bool place_channel(endpoint *ends, size_t count)
{
    size_t received = 0;
    bool numbered = true;
    uint32_t next[2] = {0, 0};
    for (size_t i = 0; i < count; i++) {
        received += ends[i].receives;
        numbered = numbered && ends[i].sequence >= 0 && ends[i].sequence < UINT32_MAX;
    }
    size_t most = received < count - received ? received : count - received;
    for (size_t i = 0; i < count && numbered; i++)
        ends[i].place = (uint32_t)ends[i].sequence;
    endpoint *kept = st_xmalloc(count * sizeof *kept);
    memcpy(kept, ends, count * sizeof *kept);
    if (numbered)
        st_sort(ends, count, sizeof *ends, compare_placed);
    numbered = numbered && most > 0 && 2 * count_pairs(ends, count) >= most;
    if (!numbered) {
        for (size_t i = 0; i < count; i++) {
            ends[i] = kept[i];
            ends[i].place = next[kept[i].receives]++;
        }
        st_sort(ends, count, sizeof *ends, compare_placed);
    }
    free(kept);
    return numbered;
}

/* How badly a send and a receive fit: what passes between them, and far more where they run back.
 */
static double misfit(const message_finder *f, const endpoint *send, const endpoint *receive)
{
    enum { BACKWARDS = 1000 };
    int64_t passed_ns =
        end_ns(f, receive->to, receive->event) - start_ns(f, send->from, send->event);
    return passed_ns >= -TOLERANCE_NS ? (double)passed_ns : -BACKWARDS * (double)passed_ns;
}

/*
 * Sends or receives of a channel are lost: `more` has `lost` ends that `fewer` lacks. By end of
 * `fewer` and number of ends left over before it, the best sum so far; then the way back. Ends that
 * belong together get the same place.
 */
static void place_around_lost(const message_finder *f, endpoint *fewer, size_t count,
                              endpoint *more, size_t lost)
{
    const size_t width = lost + 1;
    double *sums = st_xmalloc((count + 1) * width * sizeof *sums);
    bool *steps = st_xcalloc((count + 1) * width, sizeof *steps); /* one more was left over */
    for (size_t k = 0; k < width; k++)
        sums[k] = 0;
    for (size_t i = 1; i <= count; i++)
        for (size_t k = 0; k < width; k++) {
            const endpoint *a = &fewer[i - 1];
            const endpoint *b = &more[i - 1 + k];
            double paired =
                sums[(i - 1) * width + k] + (a->receives ? misfit(f, b, a) : misfit(f, a, b));
            bool skips = k > 0 && sums[i * width + k - 1] < paired;
            sums[i * width + k] = skips ? sums[i * width + k - 1] : paired;
            steps[i * width + k] = skips;
        }
    size_t left = lost;
    for (size_t i = 0; i < count + lost; i++)
        more[i].place = (uint32_t)(count + i); /* nobody's */
    for (size_t i = count; i > 0; i--) {
        while (steps[i * width + left])
            left--;
        fewer[i - 1].place = (uint32_t)(i - 1);
        more[i - 1 + left].place = (uint32_t)(i - 1);
    }
    free(sums);
    free(steps);
}

/* Places of a channel some of whose ends are lost; false where these are too many, or none. */
static bool place_lossy(const message_finder *f, endpoint *ends, size_t count)
{
    enum { MOST_LOST = 64, MOST_CELLS = 1 << 22 };
    size_t received = 0;
    for (size_t i = 0; i < count; i++)
        received += ends[i].receives;
    size_t sent = count - received;
    size_t fewer = received < sent ? received : sent;
    size_t lost = count - 2 * fewer;
    if (lost == 0 || lost > MOST_LOST || fewer * (lost + 1) > MOST_CELLS)
        return false;
    st_sort(ends, count, sizeof *ends, compare_launched);
    endpoint *receives = ends + sent; /* sends come first */
    if (received <= sent)
        place_around_lost(f, receives, received, ends, lost);
    else
        place_around_lost(f, ends, sent, receives, lost);
    st_sort(ends, count, sizeof *ends, compare_placed);
    return true;
}

/* Pairs a channel; of those with lost ends, whose pairs the clocks say, only if these are known. */
static void pair_channel(message_finder *f, endpoint *ends, size_t count, bool clocks_known)
{
    bool exact = place_channel(ends, count);
    size_t pairs = 0;
    size_t received = 0;
    for (size_t i = 0; i < count; i++)
        received += ends[i].receives;
    bool lossy = !exact && 2 * received != count;
    if (lossy != clocks_known)
        return;
    if (lossy)
        (void)place_lossy(f, ends, count);
    for (size_t i = 0; i + 1 < count; i++) {
        if (ends[i].receives != 0 || ends[i + 1].receives != 1 ||
            ends[i].place != ends[i + 1].place)
            continue;
        st_trace_message one = {.from = ends[i].from,
                                .to = ends[i].to,
                                .send = ends[i].event,
                                .receive = ends[i + 1].event,
                                .exact = exact};
        ST_XAPPEND(f->arena, f->made->items, f->made->count, one);
        pairs++;
    }
    f->made->unmatched += count - 2 * pairs;
}

/* --- clocks ------------------------------------------------------------------------------------
 */

/*
 * No receive ends before its send: ranks whose messages say otherwise have other clocks. What is
 * received soonest in one direction is taken to travel as long as in the other.
 */
static void align_pair(const message_finder *f, uint32_t known, uint32_t rank)
{
    int64_t least_ns[2] = {INT64_MAX, INT64_MAX}; /* to the rank, and from it */
    for (size_t i = 0; i < f->made->count; i++) {
        const st_trace_message *one = &f->made->items[i];
        bool back = one->from == rank && one->to == known;
        if (!back && (one->from != known || one->to != rank))
            continue;
        int64_t apart_ns = end_ns(f, one->to, one->receive) - end_ns(f, one->from, one->send);
        least_ns[back] = apart_ns < least_ns[back] ? apart_ns : least_ns[back];
    }
    bool one_way = f->one_way && (least_ns[0] == INT64_MAX) != (least_ns[1] == INT64_MAX);
    if (least_ns[0] >= -TOLERANCE_NS && least_ns[1] >= -TOLERANCE_NS && !one_way)
        return;
    if (least_ns[0] == INT64_MAX)
        f->offsets_ns[rank] += least_ns[1];
    else if (least_ns[1] == INT64_MAX)
        f->offsets_ns[rank] -= least_ns[0];
    else
        f->offsets_ns[rank] += (least_ns[1] - least_ns[0]) / 2;
}

static void align(const message_finder *f, bool *known)
{
    for (bool found = true; found;) {
        found = false;
        for (size_t i = 0; i < f->made->count; i++) {
            const st_trace_message *one = &f->made->items[i];
            if (known[one->from] == known[one->to])
                continue;
            uint32_t rank = known[one->from] ? one->to : one->from;
            align_pair(f, rank == one->to ? one->from : one->to, rank);
            known[rank] = true;
            found = true;
        }
    }
}

/* --- buffers -----------------------------------------------------------------------------------
 */

/*
 * A send that ends before its receive has begun, or well before that ends, was buffered; one that
 * waited for its receive was not. Where neither is seen, messages of a channel are as most are, and
 * else ends are common.
 */
static void find_buffered(const message_finder *f)
{
    size_t buffered = 0;
    size_t met = 0;
    for (size_t i = 0; i < f->made->count; i++) {
        st_trace_message *one = &f->made->items[i];
        int64_t sent_ns = end_ns(f, one->from, one->send);
        int64_t received_ns = end_ns(f, one->to, one->receive);
        bool late = start_ns(f, one->to, one->receive) > start_ns(f, one->from, one->send);
        one->buffered = late && sent_ns + TOLERANCE_NS < received_ns;
        buffered += one->buffered;
        met +=
            late && !one->buffered &&
            start_ns(f, one->to, one->receive) > start_ns(f, one->from, one->send) + TOLERANCE_NS;
    }
    for (size_t i = 0; i < f->made->count && buffered > met; i++) {
        st_trace_message *one = &f->made->items[i];
        one->buffered = true;
    }
}

void st_messages_find(const st_order *orders, size_t count, bool *known, int64_t *offsets_ns,
                      st_arena *arena, st_messages *messages)
{
    message_finder f = {.orders = orders,
                        .count = count,
                        .arena = arena,
                        .offsets_ns = offsets_ns,
                        .made = messages};
    *messages = (st_messages){.exact = true};
    f.numbers = st_xalloc(arena, count + 1, sizeof *f.numbers);
    for (uint32_t i = 0; i < count; i++)
        f.numbers[i] = (rank_number){number_of(&f, i), i};
    st_sort(f.numbers, count, sizeof *f.numbers, compare_numbers);
    for (uint32_t i = 0; i < count; i++)
        add_rank(&f, i);
    st_sort(f.ends, f.end_count, sizeof *f.ends, compare_launched);
    /* Clocks by what is complete, then what is not, then clocks by all. */
    int64_t *given_ns = st_xalloc(arena, count + 1, sizeof *given_ns);
    bool *given = st_xalloc(arena, count + 1, sizeof *given);
    memcpy(given_ns, offsets_ns, count * sizeof *given_ns);
    memcpy(given, known, count * sizeof *given);
    for (int clocks_known = 0; clocks_known < 2; clocks_known++) {
        for (size_t first = 0, end = 0; first < f.end_count; first = end) {
            while (end < f.end_count && is_same_channel(&f.ends[first], &f.ends[end]))
                end++;
            pair_channel(&f, f.ends + first, end - first, clocks_known > 0);
        }
        f.one_way = clocks_known == 0;
        memcpy(offsets_ns, given_ns, count * sizeof *given_ns);
        memcpy(known, given, count * sizeof *given);
        align(&f, known);
    }
    for (size_t i = 0; i < messages->count; i++)
        messages->exact = messages->exact && messages->items[i].exact;
    find_buffered(&f);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* See depend.h. */
#include "trace/depend.h"

#include "base/hash.h"
#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SHIFT = 16, MOST_COMPARED = 512 };

/* Ends of one collective on different ranks differ by less, once the clocks agree. */
static const int64_t TOLERANCE_NS = 200000;
/* The same of most of them. */
static const int64_t EVEN_NS = 20000;

typedef struct collator {
    const st_order *orders;
    size_t count;
    st_arena *arena;
    st_collation *made;
} collator;

static const st_trace_event *event_of(const collator *c, const st_instance_member *member)
{
    return &c->orders[member->rank].trace->events[member->event];
}

/* --- who may meet whom --------------------------------------------------------------------------
 */

/* The communicator of a kernel; 0: not known. Messages are paired on their own. */
static uint64_t communicator(const st_trace *trace, const st_trace_event *event, bool *alone)
{
    const st_trace_collective *meta = st_trace_described(trace, event);
    if (meta == NULL)
        return 0;
    *alone = st_message_is(trace, event, NULL) || meta->group_size == 1;
    if (meta->group == ST_TRACE_NONE && meta->ranks == ST_TRACE_NONE)
        return 0;
    uint64_t hash = st_hash_next_text(ST_HASH_BEGIN, st_trace_name(trace, meta->group));
    hash = st_hash_next_text(hash, st_trace_name(trace, meta->ranks));
    return hash | 1;
}

static void add_member(collator *c, const st_instance_member *member)
{
    st_collation *made = c->made;
    ST_XAPPEND(c->arena, made->members, made->member_count, *member);
}

ST_COMPARE(compare_members, st_instance_member,
           ST_RISING(key) ST_RISING(place) ST_RISING(rank) ST_RISING(event));

static void add_rank(collator *c, uint32_t rank)
{
    const st_trace *trace = c->orders[rank].trace;
    size_t count = 0;
    /* The communication kernels of a rank as they were launched, which no other rank can delay. */
    const st_order *order = &c->orders[rank];
    st_launch *kernels = st_xmalloc((order->gpu_count + 1) * sizeof *kernels);
    for (uint32_t i = 0; i < order->trace->event_count; i++) {
        const st_trace_event *event = &order->trace->events[i];
        if (event->kind == ST_TRACE_KERNEL && event->class_ == ST_TRACE_COMMUNICATION)
            kernels[count++] = (st_launch){st_order_launch_ns(order, i), i};
    }
    qsort(kernels, count, sizeof *kernels, st_launch_compare);
    for (size_t i = 0; i < count; i++) {
        const st_trace_event *event = &trace->events[kernels[i].event];
        bool alone = false;
        st_instance_member member = {.key = communicator(trace, event, &alone),
                                     .place = (uint32_t)i,
                                     .rank = rank,
                                     .event = kernels[i].event};
        const st_trace_collective *meta = st_trace_described(trace, event);
        int64_t sequence = meta == NULL ? -1 : meta->sequence;
        member.exact = member.key != 0 && sequence >= 0 && sequence < UINT32_MAX;
        if (member.exact) { /* with sequence numbers the kernels of a group are distinguished by
                               kind, too */
            member.place = (uint32_t)sequence;
            member.key = st_hash_next_text(member.key, st_trace_name(trace, meta->name)) | 1;
        }
        if (!alone)
            add_member(c, &member);
    }
    free(kernels);
}

ST_COMPARE(compare_order, st_instance_member, ST_RISING(key) ST_RISING(rank) ST_RISING(place));

/* --- ranks whose windows were cut differently ---------------------------------------------------
 */

typedef struct run {
    size_t first;
    size_t count;
} run;

/* The members without communicator of a rank, in the order of launch. */
static run plain_members(const collator *c, uint32_t rank)
{
    const st_instance_member *members = c->made->members;
    run found = {0, 0};
    for (size_t i = 0; i < c->made->member_count; i++) {
        if (members[i].rank != rank || members[i].key != 0)
            continue;
        if (found.count == 0)
            found.first = i;
        found.count++;
    }
    return found;
}

static size_t equal_names(const collator *c, run a, run b, int shift)
{
    size_t equal = 0;
    for (size_t i = 0; i < a.count; i++) {
        int64_t other = (int64_t)i + shift;
        if (other < 0 || (size_t)other >= b.count)
            continue;
        const st_instance_member *left = &c->made->members[a.first + i];
        const st_instance_member *right = &c->made->members[b.first + (size_t)other];
        equal += strcmp(st_trace_name(c->orders[left->rank].trace, event_of(c, left)->name),
                        st_trace_name(c->orders[right->rank].trace, event_of(c, right)->name)) == 0;
    }
    return equal;
}

/* The least shift under which most kernels have the name of their partner on the first rank. */
static void align_order(collator *c)
{
    run first = plain_members(c, 0);
    for (uint32_t rank = 1; rank < c->count; rank++) {
        run other = plain_members(c, rank);
        int best = 0;
        size_t most = equal_names(c, first, other, 0);
        int most_shift = other.count == first.count ? 0 : MOST_SHIFT;
        for (int shift = 1; shift <= most_shift; shift++) {
            for (int sign = -1; sign <= 1; sign += 2) {
                size_t equal = equal_names(c, first, other, sign * shift);
                if (equal > most) {
                    most = equal;
                    best = sign * shift;
                }
            }
        }
        for (size_t i = 0; i < other.count; i++)
            c->made->members[other.first + i].place += (uint32_t)(MOST_SHIFT - best);
    }
    for (size_t i = 0; i < first.count; i++)
        c->made->members[first.first + i].place += MOST_SHIFT;
}

static int64_t end_of(const collator *c, const st_instance_member *member)
{
    return st_trace_end_ns(event_of(c, member)) + st_trace_base_ns(c->orders[member->rank].trace);
}

/* The members of a rank in a group, in their order, one after the other. */
static run group_members(const collator *c, size_t first)
{
    const st_instance_member *members = c->made->members;
    run found = {first, 1};
    while (first + found.count < c->made->member_count &&
           members[first + found.count].key == members[first].key &&
           members[first + found.count].rank == members[first].rank)
        found.count++;
    return found;
}

/*
 * By how much the ends of two ranks' collectives differ unequally, if the first of one is the
 * `shift`-th of the other: what nine of ten differ less than from the median. Of one clock or of
 * two, the ends of the same collectives differ by the same.
 */
static int64_t unevenness(const collator *c, run a, run b, int shift, int64_t *median_ns)
{
    int64_t apart_ns[MOST_COMPARED];
    size_t count = 0;
    for (size_t i = 0; i < a.count && count < MOST_COMPARED; i++) {
        int64_t other = (int64_t)i + shift;
        if (other < 0 || (size_t)other >= b.count)
            continue;
        apart_ns[count++] = end_of(c, &c->made->members[b.first + (size_t)other]) -
                            end_of(c, &c->made->members[a.first + i]);
    }
    size_t least = (a.count < b.count ? a.count : b.count) / 2;
    if (count == 0 || count < (least < MOST_COMPARED ? least : MOST_COMPARED))
        return INT64_MAX;
    qsort(apart_ns, count, sizeof *apart_ns, st_order_times);
    *median_ns = apart_ns[count / 2];
    for (size_t i = 0; i < count; i++)
        apart_ns[i] = llabs(apart_ns[i] - *median_ns);
    qsort(apart_ns, count, sizeof *apart_ns, st_order_times);
    return apart_ns[count * 9 / 10];
}

/* By how many collectives a rank began to record earlier than another one: as many as make their
 * ends fit, and of several that do the one by which the clocks agree. */
static int group_shift(const collator *c, run first, run other)
{
    int best = 0;
    int64_t best_apart_ns = 0;
    int64_t best_ns = unevenness(c, first, other, 0, &best_apart_ns);
    for (int shift = -MOST_SHIFT; shift <= MOST_SHIFT; shift++) {
        int64_t apart_ns = 0;
        int64_t ns = unevenness(c, first, other, shift, &apart_ns);
        bool fits = ns <= EVEN_NS && best_ns <= EVEN_NS;
        if (fits ? llabs(apart_ns) < EVEN_NS && llabs(best_apart_ns) > EVEN_NS : ns < best_ns) {
            best = shift;
            best_ns = ns;
            best_apart_ns = apart_ns;
        }
    }
    return best;
}

/* --- groups that the traces do not name ---------------------------------------------------------
 */

/* NCCL gives each communicator of a rank a stream of its own. */
typedef struct lane {
    run members; /* one behind the other */
    uint32_t rank;
    uint32_t group; /* index of the lane that is the first of its group */
} lane;

/* A group shows by ends that fit far better than those of any other lane. */
enum { LEAST_MEETINGS = 4, MOST_LANES = 128, CLEARLY = 4, LEAST_NS = 5000 };

static uint32_t track_of(const collator *c, const st_instance_member *member)
{
    return event_of(c, member)->track;
}

/* Sorts members, which are in order of rank and launch, by rank and stream; 0: too many lanes, or
 * one that is too short to decide. */
static size_t find_lanes(const collator *c, lane *lanes, st_instance_member *sorted)
{
    uint32_t tracks[MOST_LANES];
    size_t count = 0;
    size_t made = 0;
    for (uint32_t rank = 0; rank < c->count; rank++) {
        run plain = plain_members(c, rank);
        /* The streams of a rank's plain members, in the order of their first; MOST_LANES: there
         * are more. */
        size_t found = 0;
        for (size_t i = plain.first; i < plain.first + plain.count && found < MOST_LANES; i++) {
            size_t at = 0;
            while (at < found && tracks[at] != track_of(c, &c->made->members[i]))
                at++;
            if (at == found)
                tracks[found++] = track_of(c, &c->made->members[i]);
        }
        for (size_t t = 0; t < found; t++) {
            size_t first = made;
            for (size_t i = plain.first; i < plain.first + plain.count; i++)
                if (track_of(c, &c->made->members[i]) == tracks[t])
                    sorted[made++] = c->made->members[i];
            if (count == MOST_LANES || made - first < LEAST_MEETINGS)
                return 0;
            lanes[count] = (lane){{first, made - first}, rank, (uint32_t)count};
            count++;
        }
    }
    return made == c->made->member_count ? count : 0;
}

/* How unevenly two lanes end, INT64_MAX where they have other kernels. */
static int64_t lanes_apart(const collator *c, const lane *a, const lane *b)
{
    int64_t median_ns = 0;
    if (a->rank == b->rank || a->members.count != b->members.count ||
        equal_names(c, a->members, b->members, 0) != a->members.count)
        return INT64_MAX;
    return unevenness(c, a->members, b->members, 0, &median_ns);
}

/* Lanes that end about as evenly as the best ones are of one group, and clearly so where the others
 * end far less evenly. False where that is not clear. */
static bool join_lanes(const collator *c, lane *lanes, size_t count, int64_t *apart_ns)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k <= i; k++)
            apart_ns[i * count + k] = apart_ns[k * count + i] =
                k == i ? INT64_MAX : lanes_apart(c, &lanes[i], &lanes[k]);
    /* Of each lane the one that it fits best, and of these the one that fits worst. INT64_MAX
     * where a lane fits none. */
    int64_t within_ns = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t best_ns = INT64_MAX;
        for (size_t k = 0; k < count; k++)
            best_ns = apart_ns[i * count + k] < best_ns ? apart_ns[i * count + k] : best_ns;
        within_ns = best_ns > within_ns ? best_ns : within_ns;
    }
    if (within_ns > EVEN_NS)
        return false;
    int64_t most_ns = within_ns < LEAST_NS / CLEARLY ? LEAST_NS : CLEARLY * within_ns;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i && lanes[i].group == i; k++)
            if (apart_ns[i * count + k] <= most_ns)
                lanes[i].group = lanes[k].group;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if ((apart_ns[i * count + k] <= most_ns) != (lanes[i].group == lanes[k].group))
                return false;
    return true;
}

/* Where no trace names groups: streams of several ranks whose collectives end together, each time.
 */
static void infer_groups(collator *c)
{
    st_collation *made = c->made;
    lane *lanes = st_xmalloc(MOST_LANES * sizeof *lanes);
    st_instance_member *sorted = st_xmalloc((made->member_count + 1) * sizeof *sorted);
    st_instance_member *by_launch = made->members;
    int64_t *apart_ns = st_xmalloc((size_t)MOST_LANES * MOST_LANES * sizeof *apart_ns);
    size_t count = find_lanes(c, lanes, sorted);
    if (count > 0) {
        made->members = sorted;
        bool clear = join_lanes(c, lanes, count, apart_ns);
        made->members = by_launch;
        if (clear) {
            memcpy(by_launch, sorted, made->member_count * sizeof *sorted);
            size_t groups = 0;
            for (size_t i = 0; i < count; i++)
                groups += lanes[i].group == i;
            c->made->inferred_groups = groups > 1 ? groups : 0;
            for (size_t i = 0; i < count && groups > 1; i++)
                for (size_t k = 0; k < lanes[i].members.count; k++)
                    c->made->members[lanes[i].members.first + k].key =
                        2 * (uint64_t)lanes[i].group + 1;
        }
    }
    free(lanes);
    free(sorted);
    free(apart_ns);
}

/* --- clocks --------------------------------------------------------------------------------------
 */

/* The median of how much later, by its own clock, a rank ends than ranks whose clocks are known. */
static bool find_offset(const collator *c, uint32_t rank, const bool *known, int64_t *differences,
                        int64_t *offset_ns)
{
    size_t count = 0;
    for (size_t m = 0; m < c->made->instance_count; m++) {
        const st_instance *instance = &c->made->instances[m];
        const st_instance_member *own = NULL;
        const st_instance_member *other = NULL;
        for (size_t i = instance->first; i < instance->first + instance->count; i++) {
            const st_instance_member *member = &c->made->members[i];
            if (member->rank == rank)
                own = member;
            else if (other == NULL && known[member->rank])
                other = member;
        }
        if (own != NULL && other != NULL)
            differences[count++] =
                end_of(c, other) + c->made->offsets_ns[other->rank] - end_of(c, own);
    }
    if (count == 0)
        return false;
    qsort(differences, count, sizeof *differences, st_order_times);
    *offset_ns = differences[count / 2];
    return true;
}

static void align_clocks(collator *c, bool *known)
{
    st_collation *made = c->made;
    int64_t *differences = st_xmalloc((made->instance_count + 1) * sizeof *differences);
    made->offsets_ns = st_xalloc(c->arena, c->count, sizeof *made->offsets_ns);
    bool found = true;
    known[0] = true;
    while (found) {
        found = false;
        for (uint32_t rank = 1; rank < c->count; rank++) {
            if (known[rank] || !find_offset(c, rank, known, differences, &made->offsets_ns[rank]))
                continue;
            known[rank] = true;
            found = true;
        }
    }
    free(differences);
}

/* --- instances --- */

/* One kernel per rank, at least two; without metadata all of one name. */
static bool may_meet(const collator *c, size_t first, size_t count)
{
    const st_instance_member *members = c->made->members + first;
    for (size_t i = 1; i < count; i++) {
        if (members[i].rank == members[i - 1].rank)
            return false;
        if (members[i].key == 0 &&
            strcmp(st_trace_name(c->orders[members[i].rank].trace, event_of(c, &members[i])->name),
                   st_trace_name(c->orders[members[0].rank].trace,
                                 event_of(c, &members[0])->name)) != 0)
            return false;
    }
    return count > 1;
}

static void form_instances(collator *c)
{
    st_collation *made = c->made;
    made->instances = st_xalloc(c->arena, made->member_count + 1, sizeof *made->instances);
    for (size_t first = 0; first < made->member_count;) {
        const st_instance_member *one = &made->members[first];
        size_t count = 1;
        while (first + count < made->member_count && one[count].key == one->key &&
               one[count].place == one->place)
            count++;
        if (may_meet(c, first, count))
            made->instances[made->instance_count++] =
                (st_instance){.first = first, .count = (uint32_t)count};
        else if (count > 1)
            made->edges.contradicted++;
        first += count;
    }
}

/* Receivers and senders that wait for each other meet as collectives do. */
static void add_messages(collator *c, bool *known)
{
    st_collation *made = c->made;
    st_messages *found = &made->messages;
    st_messages_find(c->orders, c->count, known, made->offsets_ns, c->arena, found);
    size_t most = made->instance_count + found->count + 1;
    st_instance *instances = st_xalloc(c->arena, most, sizeof *instances);
    memcpy(instances, made->instances, made->instance_count * sizeof *instances);
    made->instances = instances;
    for (size_t i = 0; i < found->count; i++) {
        const st_trace_message *one = &found->items[i];
        st_instance_member member = {.rank = one->from, .event = one->send, .exact = one->exact};
        if (one->buffered) {
            made->edges.exact += one->exact;
            made->edges.inferred += !one->exact;
            continue;
        }
        made->instances[made->instance_count++] =
            (st_instance){.first = made->member_count, .count = 2};
        add_member(c, &member);
        member.rank = one->to;
        member.event = one->receive;
        add_member(c, &member);
    }
}

/* Two kernels that send or receive, nobody knows which: the one that was over before the other had
 * begun sent into a buffer. */
static bool is_buffered(collator *c, const st_instance *instance)
{
    const st_instance_member *members = &c->made->members[instance->first];
    uint32_t last = 0;
    if (instance->count != 2)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        const st_trace *trace = c->orders[members[i].rank].trace;
        const st_trace_event *event = event_of(c, &members[i]);
        if (st_trace_described(trace, event) != NULL ||
            strstr(st_trace_name(trace, event->name), "SendRecv") == NULL)
            return false;
        int64_t end_ns = end_of(c, &members[i]) + c->made->offsets_ns[members[i].rank];
        int64_t other_ns = end_of(c, &members[0]) + c->made->offsets_ns[members[0].rank];
        last = end_ns > other_ns ? 1 : 0;
    }
    st_trace_message one = {.from = members[1 - last].rank,
                            .send = members[1 - last].event,
                            .to = members[last].rank,
                            .receive = members[last].event,
                            .buffered = true};
    ST_XAPPEND(c->arena, c->made->messages.items, c->made->messages.count, one);
    return true;
}

/* An instance in which one ends before another one has come is none. */
static void settle_instance(collator *c, st_instance *instance)
{
    st_collation *made = c->made;
    int64_t first_end = INT64_MAX;
    int64_t last_end = INT64_MIN;
    instance->last_start_ns = INT64_MIN;
    for (size_t i = instance->first; i < instance->first + instance->count; i++) {
        const st_instance_member *member = &made->members[i];
        int64_t end = end_of(c, member) + made->offsets_ns[member->rank];
        int64_t start = end - event_of(c, member)->duration_ns;
        first_end = end < first_end ? end : first_end;
        last_end = end > last_end ? end : last_end;
        instance->last_start_ns = start > instance->last_start_ns ? start : instance->last_start_ns;
    }
    instance->dropped = instance->last_start_ns > first_end + TOLERANCE_NS;
    bool exact = made->members[instance->first].exact;
    if (instance->dropped && is_buffered(c, instance)) {
        made->edges.inferred++;
        return;
    }
    made->edges.contradicted += instance->dropped;
    made->edges.exact += !instance->dropped && exact;
    made->edges.inferred += !instance->dropped && !exact;
    if (!instance->dropped && last_end - first_end > made->most_apart_ns)
        made->most_apart_ns = last_end - first_end;
}

void st_collate(const st_order *orders, size_t count, st_arena *arena, st_collation *collation)
{
    *collation = (st_collation){0};
    collator c = {.orders = orders, .count = count, .arena = arena, .made = collation};
    for (uint32_t rank = 0; rank < count && count > 1; rank++)
        add_rank(&c, rank);
    if (count > 2)
        infer_groups(&c);
    /* Members without a sequence: by their order on the rank among those of their communicator. */
    st_instance_member *members = c.made->members;
    uint32_t place = 0;
    st_sort(members, c.made->member_count, sizeof *members, compare_order);
    for (size_t i = 0; i < c.made->member_count; i++) {
        if (i == 0 || members[i].key != members[i - 1].key ||
            members[i].rank != members[i - 1].rank)
            place = 0;
        if (!members[i].exact)
            members[i].place = place++;
    }
    align_order(&c);
    /* Ranks that began to record at different collectives of a group without sequence numbers. */
    run first = {0, 0};
    for (size_t i = 0; i < c.made->member_count; i += group_members(&c, i).count) {
        run own = group_members(&c, i);
        if (members[i].key == 0 || members[i].exact)
            continue;
        if (first.count == 0 || members[first.first].key != members[i].key)
            first = own;
        int shift = first.first == own.first ? 0 : group_shift(&c, first, own);
        for (size_t k = own.first; k < own.first + own.count; k++)
            members[k].place += (uint32_t)(MOST_SHIFT - shift);
    }
    st_sort(collation->members, collation->member_count, sizeof *collation->members,
            compare_members);
    form_instances(&c);
    bool *known = st_xalloc(arena, count, sizeof *known);
    align_clocks(&c, known);
    add_messages(&c, known);
    for (size_t i = 0; i < collation->instance_count; i++)
        settle_instance(&c, &collation->instances[i]);
}

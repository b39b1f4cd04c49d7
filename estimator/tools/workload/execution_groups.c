/* SPDX-License-Identifier: Apache-2.0 */
/* comm_group.json next to Chakra's files: {"3": [0, 8, 16, 24]}, the ranks of each group. */
#include "workload/execution.h"

#include "base/lists.h"
#include "base/memory.h"
#include "trace/bytes.h"
#include "trace/scan.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct groups_reader {
    const char *path;
    st_scan scan;
    st_execution_groups *groups;
    st_arena *arena;
} groups_reader;

static bool read_ranks(groups_reader *in, st_execution_group *group)
{
    bool started = false;
    int64_t rank = 0;
    int64_t before = 0;
    int64_t first_step = 0;
    if (!st_scan_enter(&in->scan, '['))
        return false;
    for (; st_scan_item(&in->scan, &started); before = rank) {
        st_scan_span text;
        if (!st_scan_number(&in->scan, &text))
            return false;
        if (!st_whole_value(st_scan_text(&in->scan, text), text.length, &rank) || rank < 0)
            return st_scan_fail(&in->scan, ST_ERR_VALUE,
                                "a rank must be a whole number of at least 0") == ST_OK;
        int64_t step = rank - before;
        first_step = ++group->size == 2 ? step : first_step;
        group->is_uneven =
            group->is_uneven || (group->size > 1 && (step == 0 || step != first_step));
    }
    if (first_step != 0)
        group->stride = first_step > 0 ? first_step : -first_step;
    return st_scan_ok(&in->scan);
}

static bool read_groups(groups_reader *in)
{
    st_scan_span key;
    bool started = false;
    if (!st_scan_enter(&in->scan, '{'))
        return false;
    while (st_scan_held_key(&in->scan, &started, &key)) {
        st_execution_group made = {
            .name = st_arena_copy(in->arena, st_scan_text(&in->scan, key), key.length),
            .stride = 1,
            .place = st_scan_place(&in->scan)};
        made.place.file = in->path;
        st_execution_groups *all = in->groups;
        if (!read_ranks(in, &made))
            return false;
        st_scan_release(&in->scan);
        (void)ST_APPEND(in->arena, all->items, all->count, made);
    }
    return st_scan_ok(&in->scan) && st_scan_end(&in->scan);
}

ST_COMPARE(by_name, st_execution_group, ST_BY_TEXT(name));

/* Of sorted groups. */
static st_status check_groups(const st_execution_groups *groups, st_errors *errors)
{
    const st_execution_group *uneven = NULL;
    size_t count = 0;
    for (size_t i = 0; i < groups->count; i++) {
        const st_execution_group *one = &groups->items[i];
        if (i > 0 && by_name(one - 1, one) == 0)
            return st_fail(errors, ST_ERR_NAME, one->place, "group '%.80s' is given twice",
                           one->name);
        uneven = uneven == NULL && one->is_uneven ? one : uneven;
        count += one->is_uneven;
    }
    if (uneven != NULL)
        st_report(errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, uneven->place,
                  "the ranks of %zu groups, such as '%.80s', are not evenly spaced: their "
                  "collectives are priced with the distance of the first two",
                  count, uneven->name);
    return ST_OK;
}

st_status st_execution_groups_read(const char *path, st_arena *arena, st_execution_groups *groups,
                                   st_errors *errors)
{
    groups_reader in = {.path = path, .groups = groups, .arena = arena};
    st_bytes *bytes = NULL;
    *groups = (st_execution_groups){0};
    if (access(path, F_OK) != 0)
        return ST_OK;
    st_status status = st_bytes_open(path, &bytes, errors);
    if (status != ST_OK)
        return status;
    st_scan_init(&in.scan, bytes, errors);
    if (!read_groups(&in))
        status = in.scan.status != ST_OK ? in.scan.status
                                         : st_fail(errors, ST_ERR_SYNTAX, st_scan_place(&in.scan),
                                                   "the file ends in the middle");
    st_sort(groups->items, groups->count, sizeof *groups->items, by_name);
    if (status == ST_OK)
        status = check_groups(groups, errors);
    st_scan_free(&in.scan);
    st_bytes_close(bytes);
    return status;
}

void st_execution_groups_give(const st_execution_groups *groups, st_execution *rank)
{
    for (size_t i = 0; i < rank->count; i++) {
        st_execution_node *node = &rank->nodes[i];
        const st_execution_group wanted = {.name = node->group};
        const st_execution_group *found =
            node->group != NULL && groups->count > 0
                ? bsearch(&wanted, groups->items, groups->count, sizeof wanted, by_name)
                : NULL;
        if (found != NULL) {
            node->group_size = found->size;
            node->group_stride = found->stride;
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from the name of a communication kernel: collective, protocol, algorithm. */
#include "overlap-xgboost/fit/recorded.h"

#include <ctype.h>
#include <string.h>

typedef struct name_mark {
    const char *part; /* of a kernel's name, lower case */
    const char *value;
} name_mark;

/* The first that a name contains: NCCL of every version, RCCL and the profiler's metadata. */
static const name_mark collective_marks[] = {
    {"allreduce", "all_reduce"},
    {"all_reduce", "all_reduce"},
    {"reducescatter", "reduce_scatter"},
    {"reduce_scatter", "reduce_scatter"},
    {"allgather", "all_gather"},
    {"all_gather", "all_gather"},
    {"alltoall", "all_to_all"},
    {"all_to_all", "all_to_all"},
    {"broadcast", "broadcast"},
    {"sendrecv", "send_recv"},
    {"send", "send_recv"},
    {"recv", "send_recv"},
};

static const name_mark protocol_marks[] = {
    {"_ll128", "LL128"}, {"_ll", "LL"}, {"_simple", "Simple"}};

static const name_mark algorithm_marks[] = {
    {"nvls_tree", "nvlstree"}, {"nvlstree", "nvlstree"}, {"_nvls", "nvls"}, {"_collnet", "collnet"},
    {"_tree", "tree"},         {"_ring", "ring"},        {"_pat", "pat"},
};

static const char *first_mark(const char *lower, const name_mark *marks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(lower, marks[i].part) != NULL)
            return marks[i].value;
    return "";
}

#define FIRST_MARK(lower, marks) first_mark(lower, marks, sizeof(marks) / sizeof *(marks))

/* Lower case, up to the first parameter: what follows is types. */
static void lower_name(const char *name, char *lower, size_t size)
{
    size_t length = 0;
    for (; name[length] != '\0' && name[length] != '(' && length + 1 < size; length++)
        lower[length] = (char)tolower((unsigned char)name[length]);
    lower[length] = '\0';
}

st_recorded_collective *st_recorded_collective_of(const char *name, st_arena *arena)
{
    char lower[256];
    if (st_trace_classify(name) != ST_TRACE_COMMUNICATION)
        return NULL;
    st_recorded_collective *made = st_arena_alloc(arena, 1, sizeof *made);
    lower_name(name, lower, sizeof lower);
    if (made != NULL)
        *made = (st_recorded_collective){.collective = FIRST_MARK(lower, collective_marks),
                                         .protocol = FIRST_MARK(lower, protocol_marks),
                                         .algorithm = FIRST_MARK(lower, algorithm_marks)};
    return made;
}

const char *st_recorded_collective_word(const char *name)
{
    char lower[256];
    lower_name(name, lower, sizeof lower);
    return FIRST_MARK(lower, collective_marks);
}

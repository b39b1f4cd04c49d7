/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads: groups of ranks, the work of a job's stages, and folders of Chakra's files. */
#include "report_support.h"

#include "timeline/timeline.h"
#include "steptime/tool/estimates.h"
#include "job/files.h"
#include "steptime/tool/roles.h"
#include "workload/execution.h"
#include "workload/workload.h"

#include <dirent.h>
#include <math.h>

/* ---- groups ---- */

static st_workload placed(const st_placement_plan *plan, st_errors *errors)
{
    st_workload workload = {.job = "small", .sheet = "megatron", .schedule = "1f1b"};
    assert_int_equal(st_placement_create(plan, &workload.placement, errors), ST_OK);
    return workload;
}

static void assert_group(fixture *own, const st_workload *workload, st_group group, size_t rank,
                         const char *expected)
{
    const st_work_group members = st_workload_group(workload, group, rank, own->arena);
    st_buffer text = {0};
    for (size_t i = 0; i < members.count; i++)
        st_buffer_printf(&text, "%s%u", i == 0 ? "" : " ", members.ranks[i]);
    if (strcmp(st_buffer_read(&text), expected) != 0)
        fail_msg("%s of rank %zu: '%s' is not '%s'", st_group_name(group), rank,
                 st_buffer_read(&text), expected);
    st_buffer_free(&text);
}

/* Rank 93 is the second of two (tp), the second of three (cp), the last of four (dp) of stage 3. */
TEST_WITH(groups_are_where_the_placement_says, set_up, tear_down)
{
    static const struct {
        st_group group;
        size_t rank;
        size_t id; /* 1 + 120 for each kind of group before, + the first member */
        const char *members;
    } cases[] = {
        {ST_GROUP_TP, 93, 93, "92 93"},
        {ST_GROUP_TP, 92, 93, "92 93"},
        {ST_GROUP_CP, 93, 212, "91 93 95"},
        {ST_GROUP_EP, 93, 330, "89 91 93 95"},
        {ST_GROUP_DP, 93, 434, "73 75 77 79 81 83 85 87 89 91 93 95"},
        {ST_GROUP_DP, 75, 434, "73 75 77 79 81 83 85 87 89 91 93 95"},
        {ST_GROUP_PP, 93, 502, "21 45 69 93 117"},
        {ST_GROUP_EMBEDDING, 93, 694, "93"},
        {ST_GROUP_EMBEDDING, 45, 646, "45"},
        {ST_GROUP_EMBEDDING, 21, 622, "21 117"},
        {ST_GROUP_EMBEDDING, 117, 622, "21 117"},
        {ST_GROUP_EXPERT_DP, 93, 798, "77 85 93"},
        {ST_GROUP_EXPERT_DP, 85, 798, "77 85 93"},
    };
    fixture *own = *state;
    const st_workload workload =
        placed(&(st_placement_plan){.size = {2, 3, 4, 4, 5}, .gpus_per_node = 8}, own->errors);
    assert_int_equal(workload.placement.ranks, 120);
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_group(own, &workload, cases[i].group, cases[i].rank, cases[i].members);
        assert_int_equal(st_workload_group_id(&workload, cases[i].group, cases[i].rank),
                         cases[i].id);
    }
    assert_int_equal(st_workload_stage(&workload, 93), 3);
    assert_int_equal(st_workload_peer(&workload, 93, 0), 21);
    assert_int_equal(st_workload_peer(&workload, 93, 4), 117);
    assert_int_equal(st_workload_peer(&workload, 21, 3), 93);
}

TEST_OF(experts_that_are_not_cut_meet_as_all_gradients_do, fixture *own, set_up, tear_down)
{
    const st_workload even =
        placed(&(st_placement_plan){.size = {2, 3, 1, 4, 1}, .gpus_per_node = 8}, own->errors);
    assert_group(own, &even, ST_GROUP_EXPERT_DP, 9, "1 3 5 7 9 11 13 15 17 19 21 23");
    assert_int_equal(st_workload_group_id(&even, ST_GROUP_EXPERT_DP, 9), 1 + 6 * 24 + 1);
    const st_workload cut =
        placed(&(st_placement_plan){.size = {2, 3, 1, 4, 1}, .expert_tp = 1, .gpus_per_node = 8},
               own->errors);
    assert_group(own, &cut, ST_GROUP_EXPERT_DP, 9,
                 "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23");
}

/* ---- files ---- */

/* Two stages of two (tp) by three (dp): six ranks each. Ticks are picoseconds. */
static st_work_node first_nodes[] = {
    {.name = "F 1", .type = ST_CHAKRA_COMP, .start = 700000, .duration = 2400000},
    {.name = "F 1",
     .type = ST_CHAKRA_COLL,
     .group = ST_GROUP_TP,
     .bytes = 23850,
     .collective = ST_CHAKRA_ALL_REDUCE,
     .start = 3100000,
     .duration = 1600000,
     .dep_count = 1},
    {.name = "B 1", .type = ST_CHAKRA_COMP, .duration = 2400000, .dep_first = 1, .dep_count = 1},
    {.name = "B 1",
     .type = ST_CHAKRA_SEND,
     .bytes = 3850,
     .peer = 1,
     .tag = 17,
     .duration = 1499999,
     .dep_first = 2,
     .dep_count = 1},
    {.name = "reduce",
     .type = ST_CHAKRA_COLL,
     .group = ST_GROUP_DP,
     .bytes = 238500,
     .collective = ST_CHAKRA_REDUCE_SCATTER,
     .duration = 38500000,
     .dep_first = 3,
     .dep_count = 2},
    {.name = "wait", .type = ST_CHAKRA_COMP, .host = true, .duration = 2400000, .dep_first = 5},
};
static uint32_t first_deps[] = {0, 1, 2, 2, 3};
static st_work_node last_nodes[] = {
    {.name = "F 1", .type = ST_CHAKRA_RECV, .bytes = 3850, .tag = 17, .duration = 1500000},
    {.name = "tied",
     .type = ST_CHAKRA_COLL,
     .group = ST_GROUP_EMBEDDING,
     .bytes = 8500,
     .collective = ST_CHAKRA_ALL_REDUCE,
     .duration = 500000,
     .dep_count = 1},
};
static uint32_t last_deps[] = {0};
static st_work_stage two_stages[] = {
    {first_nodes, COUNT(first_nodes), first_deps, COUNT(first_deps)},
    {last_nodes, COUNT(last_nodes), last_deps, COUNT(last_deps)}};

static st_workload two_by_six(st_errors *errors)
{
    st_workload workload =
        placed(&(st_placement_plan){.size = {2, 1, 1, 3, 2}, .gpus_per_node = 8}, errors);
    workload.stages = two_stages;
    workload.stage_count = COUNT(two_stages);
    return workload;
}

static void read_back(fixture *own, const st_workload *workload, size_t rank, st_execution *made)
{
    st_buffer buffer = {0};
    st_chakra_write(workload, rank, &buffer);
    assert_false(buffer.failed);
    const st_execution_text text = {"a.et", buffer.data, buffer.length};
    assert_int_equal(st_execution_read_chakra(&text, false, own->arena, made, own->errors), ST_OK);
    st_buffer_free(&buffer);
}

TEST_WITH(nodes_come_back_as_they_were_written, set_up, tear_down)
{
    /* What is computed is rounded at 2.4, 4.8 and 7.2 us, a message alone. */
    static const uint64_t whole_us[] = {2, 2, 3, 1, 39, 2};
    fixture *own = *state;
    const st_workload workload = two_by_six(own->errors);
    st_execution made;
    read_back(own, &workload, 5, &made);
    assert_int_equal(made.count, COUNT(first_nodes));
    for (size_t i = 0; i < made.count; i++) {
        const st_work_node *node = &first_nodes[i];
        assert_int_equal(made.nodes[i].id, i);
        assert_string_equal(made.nodes[i].name, node->name);
        assert_int_equal(made.nodes[i].type, node->type);
        assert_int_equal(made.nodes[i].host, node->host);
        assert_int_equal(made.nodes[i].duration_us, whole_us[i]);
        assert_int_equal(made.nodes[i].dep_count, node->dep_count);
        for (size_t k = 0; k < node->dep_count; k++)
            assert_int_equal(made.deps[made.nodes[i].dep_first + k],
                             first_deps[node->dep_first + k]);
    }
    assert_int_equal(made.nodes[0].start_us, 1);
    assert_int_equal(made.nodes[1].start_us, 3);
    assert_int_equal(made.nodes[1].collective, ST_CHAKRA_ALL_REDUCE);
    assert_int_equal(made.nodes[1].bytes, 23850);
    assert_string_equal(made.nodes[1].group, "5");
    assert_int_equal(made.nodes[4].collective, ST_CHAKRA_REDUCE_SCATTER);
    assert_string_equal(made.nodes[4].group, "38");
}

TEST_OF(transfers_name_the_ranks_at_both_ends, fixture *own, set_up, tear_down)
{
    const st_workload workload = two_by_six(own->errors);
    st_execution sends;
    st_execution receives;
    read_back(own, &workload, 5, &sends);
    read_back(own, &workload, 11, &receives);
    const st_execution_node *ends[] = {&sends.nodes[3], &receives.nodes[0]};
    for (size_t i = 0; i < COUNT(ends); i++) {
        assert_int_equal(ends[i]->source, 5);
        assert_int_equal(ends[i]->target, 11);
        assert_int_equal(ends[i]->tag, 17);
        assert_int_equal(ends[i]->bytes, 3850);
    }
    assert_int_equal(receives.nodes[0].duration_us, 2);
    assert_int_equal(receives.nodes[1].dep_count, 1);
}

static size_t entries_of(const char *folder)
{
    size_t count = 0;
    DIR *list = opendir(folder);
    assert_non_null(list);
    for (const struct dirent *entry; (entry = readdir(list)) != NULL;)
        count += entry->d_name[0] != '.';
    assert_int_equal(closedir(list), 0);
    return count;
}

TEST_WITH(folders_hold_the_asked_ranks_and_their_groups, set_up, tear_down)
{
    static const uint32_t ranks[] = {0, 1, 4, 7};
    static const char *const files[] = {"job-2385.0.et", "job-2385.1.et", "job-2385.4.et",
                                        "job-2385.7.et", "comm_group.json"};
    fixture *own = *state;
    const st_workload workload = two_by_six(own->errors);
    const char *folder = below(own, "et");
    const st_chakra_request request = {folder, "job-2385", ranks, COUNT(ranks)};
    uint64_t bytes = 0;
    uint64_t sum = 0;
    struct stat info;
    assert_int_equal(mkdir(folder, 0700), 0); /* an empty one gives place */
    assert_int_equal(st_chakra_write_folder(&workload, &request, &bytes, own->errors), ST_OK);
    assert_int_equal(entries_of(folder), COUNT(files));
    for (size_t i = 0; i < COUNT(files); i++) {
        assert_int_equal(stat(below(own, st_arena_printf(own->arena, "et/%s", files[i])), &info),
                         0);
        sum += (uint64_t)info.st_size;
    }
    assert_int_equal(bytes, sum);
    assert_int_equal(stat(folder, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0755);
    st_source groups;
    assert_int_equal(st_file_read(below(own, "et/comm_group.json"), (st_place){0}, own->arena,
                                  &groups, own->errors),
                     ST_OK);
    assert_string_equal(groups.text, "{\n  \"1\": [0, 1],\n  \"5\": [4, 5],\n"
                                     "  \"37\": [0, 2, 4],\n  \"38\": [1, 3, 5],\n"
                                     "  \"62\": [1, 7]\n}\n");
}

TEST_OF(folders_that_cannot_be_written_leave_nothing, fixture *own, set_up, tear_down)
{
    char longest[3834]; /* what is added while it is written makes 3839 and 3840 bytes of it */
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    const struct {
        const char *folder;
        st_status status;
        const char *text;
    } cases[] = {
        {below(own, "full"), ST_ERR_IO, "the folder already exists"},
        {below(own, "full/kept"), ST_ERR_IO, "the folder already exists"},
        {below(own, "no/such"), ST_ERR_IO, "cannot create the folder"},
        {below(own, "slash/"), ST_ERR_USAGE, "a folder name must not end in '/'"},
        {longest, ST_ERR_LIMIT, "the folder's name is too long"},
        {longest + 1, ST_ERR_IO, "cannot create the folder"},
    };
    static const uint32_t ranks[] = {3};
    const st_workload workload = two_by_six(own->errors);
    write_text(own, "full/kept", "2385");
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_chakra_request request = {cases[i].folder, "job", ranks, COUNT(ranks)};
        uint64_t bytes = 385;
        assert_int_equal(st_chakra_write_folder(&workload, &request, &bytes, own->errors),
                         cases[i].status);
        assert_contains(said(own), cases[i].text);
        assert_int_equal(bytes, 385);
        assert_int_equal(entries_of(own->folder), 1);
        assert_int_equal(entries_of(below(own, "full")), 1);
    }
}

/* ---- the work of a job ---- */

typedef struct worked {
    st_estimate estimate;
    st_timeline_plan plan;
    st_timeline timeline;
    st_workload workload;
} worked;

static st_status work_of(fixture *own, const char *job, const char *const *sets, worked *made)
{
    st_request request = {.job = job, .sets = sets};
    while (sets[request.set_count] != NULL)
        request.set_count++;
    st_status status =
        st_estimate_load(own->paths, &request, own->arena, &made->estimate, own->errors);
    if (status == ST_OK)
        status = st_timeline_plan_make(&made->estimate, own->arena, &made->plan, own->errors);
    if (status == ST_OK)
        status = st_timeline_make(&made->plan, false, own->arena, &made->timeline, own->errors);
    if (status == ST_OK)
        status = st_workload_make(&made->estimate, &made->timeline, own->arena, &made->workload,
                                  own->errors);
    return status;
}

/* What the sheet says that ranks of the stages hand over, 0 where it has no such part. */
static double *handed(fixture *own, worked *made, const char *part)
{
    static const char *const parts[] = {
        "tp",        "cp", "ep", "pp", "emb", "reduce", "gather", "expert_reduce", "expert_gather",
        "all_reduce"};
    double *values = st_arena_alloc(own->arena, made->workload.stage_count, sizeof *values);
    size_t at = 0;
    while (strcmp(parts[at], part) != 0)
        at++;
    const char *cell = st_sheet_role_part(made->estimate.sheet, ST_ROLE_HANDED, at);
    const st_stage_question question = {&cell, 1, made->workload.stage_count, 0};
    if (cell != NULL)
        assert_int_equal(
            st_estimate_by_stage(&made->estimate, &question, own->arena, values, own->errors),
            ST_OK);
    return values;
}

/* Bytes of all messages of a stage in a group, of all collectives or of one. */
static uint64_t sent_in(const worked *made, size_t stage, st_group group, int collective)
{
    const st_work_stage *work = &made->workload.stages[stage];
    uint64_t sum = 0;
    for (size_t i = 0; i < work->count; i++)
        if (work->nodes[i].type == ST_CHAKRA_COLL && work->nodes[i].group == group &&
            (collective < 0 || work->nodes[i].collective == (st_chakra_collective)collective))
            sum += work->nodes[i].bytes;
    return sum;
}

static void assert_sent(fixture *own, worked *made, const char *part, st_group group,
                        st_chakra_collective collective)
{
    const double *expected = handed(own, made, part);
    for (size_t i = 0; i < made->workload.stage_count; i++)
        if (sent_in(made, i, group, (int)collective) != (uint64_t)llround(expected[i]))
            fail_msg("%s of stage %zu: %llu is not %.0f", part, i,
                     (unsigned long long)sent_in(made, i, group, (int)collective), expected[i]);
}

/* Every send has one receiver, which has the other end and as many bytes. */
static void assert_transfers_meet(fixture *own, worked *made)
{
    const st_workload *work = &made->workload;
    const double *bytes = handed(own, made, "pp");
    size_t sends = 0;
    size_t receives = 0;
    for (size_t stage = 0; stage < work->stage_count; stage++)
        for (size_t i = 0; i < work->stages[stage].count; i++) {
            const st_work_node *node = &work->stages[stage].nodes[i];
            receives += node->type == ST_CHAKRA_RECV;
            if (node->type != ST_CHAKRA_SEND)
                continue;
            sends++;
            size_t before = node->peer < stage ? node->peer : stage;
            assert_int_equal(node->bytes, llround(bytes[before]));
            size_t found = 0;
            const st_work_stage *other = &work->stages[node->peer];
            for (size_t k = 0; k < other->count; k++)
                found += other->nodes[k].type == ST_CHAKRA_RECV && other->nodes[k].peer == stage &&
                         other->nodes[k].tag == node->tag && other->nodes[k].bytes == node->bytes &&
                         other->nodes[k].start == node->start;
            assert_int_equal(found, 1);
        }
    assert_int_equal(sends, receives);
    assert_int_equal(sends > 0, work->stage_count > 1);
}

/* Nodes wait for earlier ones only, for none twice. */
static void assert_ordered(const worked *made)
{
    for (size_t stage = 0; stage < made->workload.stage_count; stage++) {
        const st_work_stage *work = &made->workload.stages[stage];
        size_t waits = 0;
        for (size_t i = 0; i < work->count; i++) {
            const uint32_t *deps = &work->deps[work->nodes[i].dep_first];
            waits += work->nodes[i].dep_count;
            for (size_t k = 0; k < work->nodes[i].dep_count; k++) {
                assert_true(deps[k] < i);
                for (size_t other = 0; other < k; other++)
                    assert_true(deps[k] != deps[other]);
            }
        }
        assert_int_equal(waits, work->dep_count);
    }
}

static size_t stage_of_rank(const worked *made, uint32_t rank)
{
    size_t at = 0;
    while (made->timeline.rows[at].rank != rank)
        at++;
    return made->timeline.rows[at].stage;
}

/* Computation lasts as long as in the timeline. */
static void assert_computes(fixture *own, const worked *made)
{
    const st_workload *work = &made->workload;
    int64_t *left = st_arena_alloc(own->arena, work->stage_count, sizeof *left);
    for (st_task_id i = 0; i < st_graph_task_count(made->timeline.graph); i++) {
        st_task_view task = st_graph_task(made->timeline.graph, i);
        st_task_time time = st_replay_task(made->timeline.replay, i);
        if (task.work == ST_WORK_COMPUTE)
            left[stage_of_rank(made, task.rank)] += time.end_ns - time.start_ns;
    }
    for (size_t stage = 0; stage < work->stage_count; stage++) {
        assert_true(left[stage] > 0);
        for (size_t i = 0; i < work->stages[stage].count; i++) {
            const st_work_node *node = &work->stages[stage].nodes[i];
            left[stage] -= node->type == ST_CHAKRA_COMP && !node->host ? node->duration : 0;
        }
        assert_int_equal(left[stage], 0);
    }
}

/*
 * Ranks that read what was written take the timeline's step: each node waits as its task does.
 * Durations are whole microseconds there, which are less than 1e-5 of these steps.
 */
static void assert_replays(fixture *own, const worked *made)
{
    const st_workload *work = &made->workload;
    st_execution_set set = {.count = work->stage_count};
    st_execution_replay replay = {0};
    set.ranks = st_arena_alloc(own->arena, set.count, sizeof *set.ranks);
    for (size_t i = 0; i < set.count; i++) {
        size_t rank = st_workload_peer(work, 0, i);
        read_back(own, work, rank, &set.ranks[i]);
        set.ranks[i].rank = (int64_t)rank;
    }
    assert_int_equal(st_execution_replay_make(&set, own->arena, &replay, own->errors), ST_OK);
    assert_int_equal(replay.unmatched, 0);
    double step_s = (double)st_replay_end_ns(replay.replay) / 1e9;
    double expected_s = st_ticks_s(made->timeline.end);
    if (fabs(step_s - expected_s) > 5e-3 * expected_s)
        fail_msg("%.9g s is not %.9g s", step_s, expected_s);
    st_execution_replay_free(&replay);
}

/* Of a sheet's part the collective, where the sheet gathers what was reduced, and where not. */
static void assert_all_sent(fixture *own, worked *made, const char *reduces, bool gathers)
{
    const st_chakra_collective reduced = gathers ? ST_CHAKRA_REDUCE_SCATTER : ST_CHAKRA_ALL_REDUCE;
    assert_sent(own, made, "tp", ST_GROUP_TP, ST_CHAKRA_ALL_REDUCE);
    assert_sent(own, made, "ep", ST_GROUP_EP, ST_CHAKRA_ALL_TO_ALL);
    assert_sent(own, made, reduces, ST_GROUP_DP, reduced);
    assert_sent(own, made, "expert_reduce", ST_GROUP_EXPERT_DP, reduced);
    assert_sent(own, made, "gather", ST_GROUP_DP, ST_CHAKRA_ALL_GATHER);
    assert_sent(own, made, "expert_gather", ST_GROUP_EXPERT_DP, ST_CHAKRA_ALL_GATHER);
    assert_sent(own, made, "emb", ST_GROUP_EMBEDDING, ST_CHAKRA_ALL_REDUCE);
}

/* A task that reduces dense weights and experts is two messages, the second behind the first. */
static void assert_messages_follow(const worked *made)
{
    const st_work_stage *work = &made->workload.stages[0];
    size_t pairs = 0;
    for (size_t i = 1; i < work->count; i++) {
        const st_work_node *node = &work->nodes[i];
        const st_work_node *before = &work->nodes[i - 1];
        if (node->type != ST_CHAKRA_COLL || before->type != ST_CHAKRA_COLL ||
            node->group != ST_GROUP_EXPERT_DP || before->group != ST_GROUP_DP)
            continue;
        pairs++;
        assert_int_equal(node->start, before->start + before->duration);
        assert_int_equal(node->dep_count, 1);
        assert_int_equal(work->deps[node->dep_first], i - 1);
        double share = (double)before->bytes / (double)(before->bytes + node->bytes);
        double all = (double)(before->duration + node->duration);
        assert_true(fabs((double)before->duration - share * all) < 2.385);
    }
    assert_true(pairs > 0);
}

TEST_WITH(work_has_the_bytes_and_times_of_the_job, set_up, tear_down)
{
    static const struct {
        const char *job;
        const char *sets[3];
        const char *reduces; /* the part of dense gradients */
        bool gathers;
    } jobs[] = {
        {"gpt3-175b-64xa100", {NULL}, "reduce", false},
        {"gpt3-175b-1024xa100", {NULL}, "reduce", false},
        {"mixtral-8x7b-64xh100", {"cluster.gpu.memory=100TB", NULL}, "reduce", true},
        {"bert-large-32x3090", {NULL}, "all_reduce", false},
        {"resnet152-128xa100", /* whose stages hand on different values */
         {"parallel.pp=16", "parallel.dp=8", NULL},
         "all_reduce",
         false},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(jobs); i++) {
        worked made = {0};
        if (work_of(own, jobs[i].job, jobs[i].sets, &made) != ST_OK)
            fail_msg("%s: %s", jobs[i].job, said(own));
        assert_string_equal(said(own), "");
        assert_ordered(&made);
        assert_transfers_meet(own, &made);
        assert_computes(own, &made);
        assert_replays(own, &made);
        assert_all_sent(own, &made, jobs[i].reduces, jobs[i].gathers);
        if (jobs[i].gathers)
            assert_messages_follow(&made);
        st_timeline_free(&made.timeline);
    }
}

/* Keys and values of context parallelism go around inside of passes. */
TEST_WITH(bytes_without_a_task_are_told, set_up, tear_down)
{
    static const char *const sets[] = {"parallel.cp=2", "parallel.dp=4", NULL};
    fixture *own = *state;
    worked made = {0};
    assert_int_equal(work_of(own, "llama3-8b-8xh100", sets, &made), ST_OK);
    const char *told = said(own);
    assert_contains(told, " MB of 'cp' that a rank hands over are left out: the timeline has no ");
    for (st_group group = ST_GROUP_TP; group < ST_GROUPS; group++)
        if (group != ST_GROUP_CP)
            assert_int_equal(made.workload.unplaced[group], 0);
    uint64_t bytes = (uint64_t)llround(handed(own, &made, "cp")[0]);
    assert_int_equal(made.workload.unplaced[ST_GROUP_CP], bytes);
    assert_contains(told, st_arena_printf(own->arena, "%.4g MB", (double)bytes / 1e6));
    assert_int_equal(sent_in(&made, 0, ST_GROUP_CP, -1), 0);
    assert_int_equal(made.workload.cp, 2);
    st_timeline_free(&made.timeline);
}

TESTS(workload);

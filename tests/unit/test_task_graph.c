/* SPDX-License-Identifier: Apache-2.0 */
/* Task graphs: building, composing by keys and rules, what is refused, deadlocks. */
#include "graph_support.h"

TEST_OF(tasks_of_a_resource_follow_each_other, graph_fixture *self, make_graph, drop_graph)
{
    uint32_t compute = resource(self, 7, ST_RESOURCE_COMPUTE);
    uint32_t other = resource(self, 9, ST_RESOURCE_COMPUTE);
    uint32_t host = resource(self, 9, ST_RESOURCE_HOST);
    st_task_id a = task_on(self, compute, 2385);
    st_task_id b = task_on(self, other, 911);
    st_task_id c = task_on(self, compute, 47);
    replay(self);
    assert_time(a, 0, 0, 2385);
    assert_time(b, 0, 0, 911);
    assert_time(c, 2385, 2385, 2432);
    assert_int_equal(st_replay_end_ns(self->replay), 2432);
    assert_int_equal(st_graph_resource_kind(self->graph, other), ST_RESOURCE_COMPUTE);
    assert_int_equal(st_graph_resource_kind(self->graph, host), ST_RESOURCE_HOST);
    assert_int_equal(st_graph_resource_rank(self->graph, compute), 7);
    assert_int_equal(st_graph_resource_rank(self->graph, host), 9);
}

TEST_WITH(a_task_waits_for_its_edges_and_its_earliest_time, make_graph, drop_graph)
{
    graph_fixture *self = *state;
    uint32_t compute = resource(self, 0, ST_RESOURCE_COMPUTE);
    uint32_t copy = resource(self, 0, ST_RESOURCE_COPY);
    st_task_id a = task_on(self, compute, 2385);
    st_task_id b =
        add(self, &(st_task_spec){.resource = copy, .duration_ns = 611, .earliest_ns = 5003});
    st_task_id c = task_on(self, copy, 13);
    st_task_id d = task_on(self, compute, 29);
    edge(self, a, b);
    edge(self, c, d);
    edge(self, a, d);
    replay(self);
    assert_time(b, 5003, 5003, 5614);
    assert_time(c, 5614, 5614, 5627);
    assert_time(d, 5627, 5627, 5656);
}

TEST_WITH(an_edge_may_lead_to_a_task_that_was_added_before, make_graph, drop_graph)
{
    graph_fixture *self = *state;
    uint32_t host = resource(self, 0, ST_RESOURCE_HOST);
    uint32_t compute = resource(self, 0, ST_RESOURCE_COMPUTE);
    st_task_id kernel = task_on(self, compute, 701);
    st_task_id launch = task_on(self, host, 17);
    edge(self, launch, kernel);
    replay(self);
    assert_time(kernel, 17, 17, 718);
}

TEST_OF(a_instance_starts_when_its_last_member_arrives, graph_fixture *self, make_graph, drop_graph)
{
    uint32_t instance = 0;
    st_task_id member[3];
    assert_int_equal(st_graph_instance(self->graph, 3, &instance, self->errors), ST_OK);
    assert_int_equal(instance, 1);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t on = resource(self, i, ST_RESOURCE_COMMUNICATION);
        (void)task_on(self, on, 100 * i + 31);
        member[i] = add(
            self, &(st_task_spec){.resource = on, .duration_ns = 500 + i, .instance = instance});
        (void)task_on(self, on, 1);
    }
    replay(self);
    for (uint32_t i = 0; i < 3; i++) {
        assert_time(member[i], 100 * i + 31, 231, 731 + i);
        assert_time(member[i] + 1, 731 + i, 731 + i, 732 + i);
    }
    size_t count = 0;
    const st_task_id *members = st_graph_members(self->graph, instance, &count);
    assert_int_equal(count, 3);
    assert_int_equal(members[2], member[2]);
}

TEST_OF(the_kth_tasks_with_a_key_meet, graph_fixture *self, make_graph, drop_graph)
{
    st_task_id task[2][3];
    for (uint32_t rank = 0; rank < 2; rank++) {
        uint32_t on = resource(self, rank, ST_RESOURCE_COMMUNICATION);
        for (uint32_t k = 0; k < 3; k++) {
            /* Keys 5, 8, 5; rank 1 arrives later. */
            (void)task_on(self, on, 10 + 1000 * rank);
            task[rank][k] = add(self, &(st_task_spec){.resource = on,
                                                      .duration_ns = 100,
                                                      .key = k == 1 ? 8 : 5,
                                                      .key_ranks = k == 1 ? 0 : 2});
        }
    }
    replay(self);
    assert_int_equal(st_graph_instance_count(self->graph), 3);
    for (uint32_t k = 0; k < 3; k++) {
        assert_int_equal(st_graph_task(self->graph, task[0][k]).instance,
                         st_graph_task(self->graph, task[1][k]).instance);
        assert_int_equal(st_replay_task(self->replay, task[0][k]).start_ns,
                         1010 * (k + 1) + 100 * k);
    }
}

TEST_OF(a_instance_with_too_few_members_names_who_came, graph_fixture *self, make_graph, drop_graph)
{
    uint32_t on = resource(self, 4, ST_RESOURCE_COMMUNICATION);
    uint32_t also = resource(self, 6, ST_RESOURCE_COMMUNICATION);
    for (int i = 0; i < 2; i++) {
        (void)add(self, &(st_task_spec){.resource = i == 0 ? on : also,
                                        .name = name_of(self, "all_reduce"),
                                        .key = 77,
                                        .key_ranks = 3});
    }
    assert_int_equal(st_graph_seal(self->graph, self->errors), ST_ERR_VALUE);
    assert_string_equal(said(self->errors),
                        "error: task 0 'all_reduce' of rank 4 (communication) has a wrong number "
                        "of partners: found 2 (of ranks 4, 6), expected 3\n");
    assert_int_equal(st_graph_seal(self->graph, NULL), ST_ERR_USAGE);
    assert_null(st_replay_create(self->graph));
}

TEST_OF(partners_must_agree_on_their_number, graph_fixture *self, make_graph, drop_graph)
{
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t on = resource(self, i, ST_RESOURCE_COMMUNICATION);
        (void)add(self, &(st_task_spec){.resource = on, .key = 77, .key_ranks = 2 + i});
    }
    assert_int_equal(st_graph_seal(self->graph, self->errors), ST_ERR_VALUE);
    assert_string_equal(
        said(self->errors),
        "error: task 1 of rank 1 (communication) waits for a different number of ranks than "
        "its partners: found 3, expected 2\n");
}

TEST_OF(a_instance_nobody_comes_to_is_refused, graph_fixture *self, make_graph, drop_graph)
{
    uint32_t instance = 0;
    assert_int_equal(st_graph_instance(self->graph, 2, &instance, self->errors), ST_OK);
    assert_int_equal(st_graph_seal(self->graph, self->errors), ST_ERR_VALUE);
    assert_string_equal(said(self->errors),
                        "error: instance 1 has no tasks: found 0, expected 2\n");
}

TEST_OF(a_deadlock_is_reported_as_its_cycle, graph_fixture *self, make_graph, drop_graph)
{
    uint32_t a = resource(self, 0, ST_RESOURCE_COMPUTE);
    uint32_t b = resource(self, 1, ST_RESOURCE_COMPUTE);
    (void)task_on(self, a, 5);
    st_task_id wait = add(self, &(st_task_spec){.resource = a, .name = name_of(self, "B 1")});
    st_task_id send = add(self, &(st_task_spec){.resource = a, .name = name_of(self, "F 2")});
    st_task_id other = add(self, &(st_task_spec){.resource = b, .name = name_of(self, "F 2")});
    (void)task_on(self, b, 5);
    edge(self, send, other);
    edge(self, other, wait);
    assert_int_equal(st_graph_seal(self->graph, self->errors), ST_ERR_CYCLE);
    assert_string_equal(said(self->errors),
                        "error: tasks wait for each other: task 1 'B 1' of rank 0 (compute) waits "
                        "for task 3 'F 2' of rank 1 (compute) waits for task 2 'F 2' of rank 0 "
                        "(compute) waits for task 1 'B 1' of rank 0 (compute)\n");
    size_t count = 0;
    const st_task_id *cycle = st_graph_cycle(self->graph, &count);
    assert_int_equal(count, 3);
    assert_int_equal(cycle[0], wait);
    assert_int_equal(cycle[1], other);
    assert_int_equal(cycle[2], send);
}

TEST_OF(instances_in_different_orders_are_a_deadlock, graph_fixture *self, make_graph, drop_graph)
{
    for (uint32_t rank = 0; rank < 2; rank++) {
        uint32_t on = resource(self, rank, ST_RESOURCE_COMMUNICATION);
        for (uint32_t k = 0; k < 2; k++) {
            (void)add(self, &(st_task_spec){.resource = on, .key = 1 + (k ^ rank), .key_ranks = 2});
        }
    }
    assert_int_equal(st_graph_seal(self->graph, self->errors), ST_ERR_CYCLE);
    size_t count = 0;
    const st_task_id *cycle = st_graph_cycle(self->graph, &count);
    assert_int_equal(count, 4);
    assert_non_null(cycle);
}

TEST_OF(a_task_that_waits_for_itself_is_a_cycle_of_one, graph_fixture *self, make_graph, drop_graph)
{
    st_task_id task = task_on(self, resource(self, 0, ST_RESOURCE_COMPUTE), 3);
    edge(self, task, task);
    assert_int_equal(st_graph_seal(self->graph, self->errors), ST_ERR_CYCLE);
    size_t count = 0;
    (void)st_graph_cycle(self->graph, &count);
    assert_int_equal(count, 1);
}

TEST_OF(a_long_cycle_is_shortened_in_the_message, graph_fixture *self, make_graph, drop_graph)
{
    uint32_t on = resource(self, 0, ST_RESOURCE_COMPUTE);
    for (int i = 0; i < 50; i++) {
        (void)task_on(self, on, 3);
    }
    edge(self, 49, 0);
    assert_int_equal(st_graph_seal(self->graph, self->errors), ST_ERR_CYCLE);
    assert_non_null(
        strstr(said(self->errors), "waits for 42 more tasks; the last of them waits for"));
}

TEST_OF(what_does_not_exist_is_refused, graph_fixture *self, make_graph, drop_graph)
{
    uint32_t on = resource(self, 0, ST_RESOURCE_COMPUTE);
    const st_task_spec wrong[] = {
        {.resource = on + 1},
        {.resource = on, .name = 99},
        {.resource = on, .category = 1},
        {.resource = on, .instance = 1},
        {.resource = on, .duration_ns = -1},
        {.resource = on, .earliest_ns = -1},
    };
    const st_status expected[] = {ST_ERR_NAME, ST_ERR_NAME,  ST_ERR_NAME,
                                  ST_ERR_NAME, ST_ERR_VALUE, ST_ERR_VALUE};
    uint32_t instance = 0;
    uint16_t category = 0;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_int_equal(st_graph_add(self->graph, &wrong[i], NULL, self->errors), expected[i]);
        assert_int_equal(st_errors_size(self->errors), 1);
        st_errors_clear(self->errors);
    }
    assert_int_equal(st_graph_instance(self->graph, 0, &instance, NULL), ST_ERR_VALUE);
    assert_int_equal(st_graph_instance(self->graph, 1, &instance, NULL), ST_OK);
    assert_int_equal(st_graph_add(self->graph,
                                  &(st_task_spec){.resource = on, .instance = instance, .key = 3},
                                  NULL, NULL),
                     ST_ERR_VALUE);
    st_task_id task = task_on(self, on, 3);
    assert_int_equal(task, 0);
    assert_int_equal(st_graph_edge(self->graph, task, 1, ST_EDGE_USER, NULL), ST_ERR_NAME);
    assert_int_equal(st_graph_edge(self->graph, 1, task, ST_EDGE_USER, NULL), ST_ERR_NAME);
    assert_int_equal(st_graph_edge(self->graph, task, task, ST_EDGE_MEETING, NULL), ST_ERR_VALUE);
    assert_int_equal(st_graph_set_duration(self->graph, 1, 3, NULL), ST_ERR_NAME);
    assert_int_equal(st_graph_set_duration(self->graph, 0, -3, NULL), ST_ERR_VALUE);
    assert_int_equal(st_graph_resource(self->graph, 0, ST_RESOURCE_KINDS, "", &on, NULL),
                     ST_ERR_VALUE);
    assert_int_equal(st_graph_category(self->graph, "gemm", ST_WORK_COMPUTE, &category, NULL),
                     ST_OK);
    assert_int_equal(
        st_graph_category(self->graph, "gemm", ST_WORK_COMMUNICATION, &category, self->errors),
        ST_ERR_VALUE);
    assert_string_equal(said(self->errors), "error: category 'gemm' has two kinds of work: found "
                                            "communication, expected computation\n");
}

TEST_OF(a_sealed_graph_takes_nothing_more, graph_fixture *self, make_graph, drop_graph)
{
    uint32_t number = 0;
    uint32_t on = resource(self, 0, ST_RESOURCE_COMPUTE);
    st_task_id task = task_on(self, on, 3);
    replay(self);
    assert_int_equal(st_graph_add(self->graph, &(st_task_spec){.resource = on}, NULL, self->errors),
                     ST_ERR_USAGE);
    assert_string_equal(said(self->errors), "error: cannot add tasks to a sealed task graph\n");
    assert_int_equal(st_graph_edge(self->graph, task, task, ST_EDGE_USER, NULL), ST_ERR_USAGE);
    assert_int_equal(st_graph_instance(self->graph, 1, &number, NULL), ST_ERR_USAGE);
    assert_int_equal(st_graph_resource(self->graph, 1, ST_RESOURCE_HOST, "", &number, NULL),
                     ST_ERR_USAGE);
    assert_int_equal(st_graph_seal(self->graph, NULL), ST_ERR_USAGE);
}

TEST_OF(limits_are_kept, graph_fixture *self, make_graph, drop_graph)
{
    uint32_t on = 0;
    uint32_t number = 0;
    st_graph_destroy(self->graph);
    self->graph =
        st_graph_create(&(st_graph_limits){.tasks = 3, .edges = 2, .resources = 1, .instances = 1});
    on = resource(self, 0, ST_RESOURCE_COMPUTE);
    for (int i = 0; i < 3; i++) {
        (void)task_on(self, on, 3);
    }
    edge(self, 0, 1);
    edge(self, 0, 2);
    assert_int_equal(st_graph_add(self->graph, &(st_task_spec){.resource = on}, NULL, self->errors),
                     ST_ERR_LIMIT);
    assert_string_equal(said(self->errors),
                        "error: too many tasks in a task graph: expected at most 3\n");
    assert_int_equal(st_graph_edge(self->graph, 0, 1, ST_EDGE_USER, NULL), ST_ERR_LIMIT);
    assert_int_equal(st_graph_resource(self->graph, 1, ST_RESOURCE_HOST, "", &number, NULL),
                     ST_ERR_LIMIT);
    assert_int_equal(st_graph_instance(self->graph, 1, &number, NULL), ST_OK);
    assert_int_equal(st_graph_instance(self->graph, 1, &number, NULL), ST_ERR_LIMIT);
}

TEST_OF(too_many_categories_are_refused, graph_fixture *self, make_graph, drop_graph)
{
    uint16_t category = 0;
    char text[32];
    for (int i = 1; i < 1000; i++) {
        (void)snprintf(text, sizeof text, "category %d", i);
        assert_int_equal(st_graph_category(self->graph, text, ST_WORK_COMPUTE, &category, NULL),
                         ST_OK);
        assert_int_equal(category, i);
    }
    assert_int_equal(st_graph_category(self->graph, "one more", ST_WORK_COMPUTE, &category, NULL),
                     ST_ERR_LIMIT);
    assert_int_equal(st_graph_category_count(self->graph), 1000);
}

TEST_OF(a_graph_can_be_looked_at, graph_fixture *self, make_graph, drop_graph)
{
    uint16_t category = 0;
    assert_int_equal(st_graph_category(self->graph, "tp", ST_WORK_COMMUNICATION, &category, NULL),
                     ST_OK);
    (void)resource(self, 12, ST_RESOURCE_HOST);
    uint32_t on = resource(self, 3, ST_RESOURCE_COPY);
    st_task_id task = add(self, &(st_task_spec){.resource = on,
                                                .name = name_of(self, "copy back"),
                                                .duration_ns = 2385,
                                                .earliest_ns = 11});
    st_task_id next = add(self, &(st_task_spec){.resource = on, .category = category});
    st_task_view view = st_graph_task(self->graph, task);
    assert_int_equal(view.rank, 3);
    assert_int_equal(view.kind, ST_RESOURCE_COPY);
    assert_string_equal(view.name, "copy back");
    assert_string_equal(view.category_name, "other");
    assert_int_equal(view.work, ST_WORK_COMPUTE);
    assert_int_equal(view.duration_ns, 2385);
    assert_int_equal(view.earliest_ns, 11);
    assert_int_equal(st_graph_task(self->graph, next).work, ST_WORK_COMMUNICATION);
    assert_int_equal(st_graph_rank_count(self->graph), 2);
    assert_int_equal(st_graph_rank(self->graph, 0), 12);
    assert_int_equal(st_graph_task_count(self->graph), 2);
    assert_int_equal(st_graph_edge_count(self->graph), 0);
    assert_string_equal(st_graph_resource_name(self->graph, on), "copy");
    assert_int_equal(name_of(self, "copy back"),
                     view.name == NULL ? 0 : name_of(self, "copy back"));
    assert_string_equal(st_resource_kind_name((st_resource_kind)77), "");
    assert_string_equal(st_edge_kind_name(ST_EDGE_SYNC), "sync");
    assert_string_equal(st_edge_kind_name((st_edge_kind)77), "");
    size_t count = 3;
    assert_null(st_graph_members(self->graph, 1, &count));
    assert_int_equal(count, 0);
}

TESTS(task_graph);

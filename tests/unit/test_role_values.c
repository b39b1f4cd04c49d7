/* SPDX-License-Identifier: Apache-2.0 */
/* Values of roles of a job before and after a change of its model. */
#include "megatron_support.h"

#include "steptime/tool/estimates.h"

static const st_role_part roles[] = {{.role = ST_ROLE_LAYER_WORK},
                                     {.role = ST_ROLE_LAYER_PARAMETERS}};

static void values_of(fixture *own, const char *const *sets, size_t count, double *values)
{
    st_request request = {.job = "gpt3-175b-64xa100", .sets = sets, .set_count = count};
    if (st_estimate_roles(own->paths, &request, &(st_role_list){roles, 2, "growth needs"},
                          own->arena, values, own->errors) != ST_OK)
        fail_msg("%s", said(own));
}

/* A gated MLP and grouped-query attention: 4096 x (4096 + 2 x 1024) + 4096^2, and 3 x 4096 f. */
TEST_WITH(a_layer_grows_as_its_sheet_says, set_up, tear_down)
{
    static const char *const sets[] = {"model.hidden=4096", "model.heads=32",  "model.kv_heads=8",
                                       "model.gated=true",  "model.ffn=14336", "model.ffn=28672"};
    double before[2];
    double after[2];
    values_of(*state, sets, 5, before);
    values_of(*state, sets, 6, after);
    const double attention = 4096.0 * (4096 + 2048) + 4096.0 * 4096;
    const double mlp = 3 * 4096.0 * 14336;
    assert_near(before[0], 2 * (attention + mlp), 1e-12, "work");
    assert_near(after[0] / before[0], (attention + 2 * mlp) / (attention + mlp), 1e-12, "growth");
    assert_near(after[0] / before[0], 1.81, 0.005, "growth");
    assert_true(after[1] / before[1] < after[0] / before[0]); /* biases and norms stay */
}

/* Plans that a check refuses have layers, too. */
TEST_WITH(checks_have_no_part_in_it, set_up, tear_down)
{
    static const char *const sets[] = {"cluster.gpu.memory=1GiB"};
    double values[2];
    values_of(*state, sets, 1, values);
    assert_true(values[1] > 1e6);
}

TEST_OF(a_sheet_without_the_role_is_told, fixture *own, set_up, tear_down)
{
    double values[2];
    st_request request = {.job = "gpt-3b-32x3090"};
    assert_int_equal(st_estimate_roles(own->paths, &request,
                                       &(st_role_list){roles, 1, "growth needs"}, own->arena,
                                       values, own->errors),
                     ST_ERR_USAGE);
    assert_non_null(
        strstr(said(own), "sheet 'li2024' lacks role 'layer_work', which growth needs"));
}

TESTS(role_values);

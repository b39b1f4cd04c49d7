/* SPDX-License-Identifier: Apache-2.0 */
/* Which group of ranks a row means, and so which entry of a profile; calls that follow. */
#include "base_support.h"

#include "plugin/provider_binding.h"
#include "plugin/module.h"

enum { RANKS, PER_NODE, NODES, COLUMNS };

static const st_provider_binding by_columns = {.count = 2,
                                               .group = {.ranks = {.column = RANKS},
                                                         .per_node = {.column = PER_NODE},
                                                         .nodes = {.column = NODES}}};

static void expect(const st_provider_binding *provider, const double *row, size_t ranks,
                   size_t nodes)
{
    const double *columns[COLUMNS] = {&row[RANKS], &row[PER_NODE], &row[NODES]};
    st_profile_filter group = st_binding_group(provider, columns, 0);
    assert_int_equal(group.ranks, ranks);
    assert_int_equal(group.nodes, nodes);
}

/* 23 ranks, 7 on a node: three nodes are full, a fourth one has the last two. */
TEST(the_last_node_may_be_partly_filled)
{
    expect(&by_columns, (const double[]){23, 7, 385}, 23, 4);
    expect(&by_columns, (const double[]){21, 7, 385}, 21, 3);
    expect(&by_columns, (const double[]){22, 7, 385}, 22, 4);
    expect(&by_columns, (const double[]){1, 7, 385}, 1, 1);
}

TEST(a_group_smaller_than_a_node_has_one)
{
    expect(&by_columns, (const double[]){5, 8, 385}, 5, 1);
    expect(&by_columns, (const double[]){8, 8, 385}, 8, 1);
    expect(&by_columns, (const double[]){9, 8, 385}, 9, 2);
}

TEST(without_ranks_it_is_the_whole_cluster)
{
    expect(&by_columns, (const double[]){0, 6, 11}, 66, 11);
    expect(&by_columns, (const double[]){-3, 6, 11}, 66, 11);
}

TEST(what_makes_no_sense_is_unknown)
{
    expect(&by_columns, (const double[]){23, 0, 11}, 23, 0);
    expect(&by_columns, (const double[]){23, 0.5, 11}, 23, 0);
    expect(&by_columns, (const double[]){2147483648.0, 6, 11}, 66, 11);
    expect(&by_columns, (const double[]){1073741824.0, 1, 11}, 1073741824, 1073741824);
}

/* A number of the job in place of a column, or nothing. */
TEST(ties_may_be_constant)
{
    const double seven = 7;
    st_provider_binding provider = by_columns;
    provider.group.per_node = (st_tie){.column = SIZE_MAX, .constant = &seven};
    expect(&provider, (const double[]){23, 2, 385}, 23, 4);
    provider.group.ranks = (st_tie){.column = SIZE_MAX};
    expect(&provider, (const double[]){23, 2, 11}, 77, 11);
}

/* ---- calls ----------------------------------------------------------------------------------- */

enum { MOST_CALLS = 8, SIZE = COLUMNS, SHEET_COLUMNS };

static double factors[] = {2.385, 71.5};
static size_t opened_count;
static const st_plugin_host *last_host;

static struct {
    size_t count;
    size_t rows[MOST_CALLS];
    double factors[MOST_CALLS];
    double constant; /* the last row's */
    bool refuses;
    bool fails;
} calls;

static int open_plugin(const st_plugin_host *host, void **instance)
{
    last_host = host;
    *instance = &factors[opened_count++];
    return ST_PLUGIN_OK;
}

static int evaluate(void *instance, size_t rows, const double *const *columns, double *values)
{
    const double *factor = instance;
    assert_true(calls.count < MOST_CALLS);
    assert_null(columns[2]);
    calls.rows[calls.count] = rows;
    calls.factors[calls.count++] = *factor;
    calls.constant = columns[1][rows - 1];
    for (size_t row = 0; row < rows; row++)
        values[row] = calls.refuses ? NOT_A_NUMBER : columns[0][row] * *factor;
    return calls.fails && calls.count == 2 ? ST_PLUGIN_FAILED : ST_PLUGIN_OK;
}

static int explain(void *instance, const double *const *columns, const st_plugin_sink *sink)
{
    (void)instance;
    if (calls.refuses)
        return st_plugin_fail(last_host, "out of reach");
    st_plugin_tell_part(sink, "wire", "us", columns[0][0], "on the wire");
    return ST_PLUGIN_OK;
}

#define ARGUMENT(label)                                                                            \
    {                                                                                              \
        .struct_size = sizeof(st_plugin_argument), .flags = ST_PLUGIN_OPTIONAL, .name = (label),   \
        .unit = "", .doc = "read"                                                                  \
    }

static const st_plugin_argument arguments[] = {ARGUMENT("size"), ARGUMENT("rails"),
                                               ARGUMENT("hops")};
static const st_plugin_argument *const argument_list[] = {&arguments[0], &arguments[1],
                                                          &arguments[2]};
static const st_plugin_provider stretch = {.struct_size = sizeof stretch,
                                           .name = "stretch",
                                           .unit = "us",
                                           .doc = "a time",
                                           .arguments = argument_list,
                                           .argument_count = COUNT(arguments),
                                           .evaluate = evaluate,
                                           .explain = explain};
static const st_plugin_provider *const providers[] = {&stretch};
static const st_plugin described = {.struct_size = sizeof described,
                                    .abi = ST_PLUGIN_ABI,
                                    .id = "bound-test",
                                    .version = "2.3.85",
                                    .licence = "Apache-2.0",
                                    .summary = "counts its calls",
                                    .providers = providers,
                                    .provider_count = 1,
                                    .open = open_plugin};

/* Two entries of a profile: 8 ranks on a node, 64 on eight. */
typedef struct bound {
    st_arena *arena;
    st_errors *errors;
    st_plugin_module module;
    st_plugin_instance *opened[2];
    const st_plugin_instance *instances[2];
    double constants[ST_PLUGIN_BLOCK_ROWS];
    st_tie ties[3];
    st_profile entries[2];
    st_profile_found found[2];
    st_provider_binding provider;
} bound;

static int bind_it(void **state)
{
    bound *own = calloc(1, sizeof *own);
    assert_non_null(own);
    own->arena = st_arena_create();
    own->errors = st_errors_create();
    own->module = (st_plugin_module){.file = "f.so", .folder = "/", .who = "plugin 'bound-test'"};
    memset(&calls, 0, sizeof calls);
    opened_count = 0;
    assert_int_equal(st_module_describe(&own->module, &described, here, own->arena, own->errors),
                     ST_OK);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(st_plugin_open(&own->module, NULL, 0, here, &own->opened[i], own->errors),
                         ST_OK);
        own->instances[i] = own->opened[i];
        own->found[i].entry = &own->entries[i];
        own->entries[i].kind = ST_PROFILE_OPTIONS;
    }
    own->entries[0].ranks = 8;
    own->entries[0].nodes = 1;
    own->entries[1].ranks = 64;
    own->entries[1].nodes = 8;
    for (size_t i = 0; i < ST_PLUGIN_BLOCK_ROWS; i++)
        own->constants[i] = 3.75;
    own->ties[0] = (st_tie){.column = SIZE};
    own->ties[1] = (st_tie){.column = SIZE_MAX, .constant = own->constants};
    own->ties[2] = (st_tie){.column = SIZE_MAX};
    own->provider = by_columns;
    own->provider.ties = own->ties;
    own->provider.argument_count = COUNT(arguments);
    own->provider.instances = own->instances;
    own->provider.profile = "site-b";
    own->provider.entries = own->found;
    *state = own;
    return 0;
}

static int release_it(void **state)
{
    bound *own = *state;
    for (size_t i = 0; i < 2; i++)
        st_plugin_close(own->opened[i]);
    st_errors_destroy(own->errors);
    st_arena_destroy(own->arena);
    free(own);
    return 0;
}

/* Rows that mean the same entry go together, whether their groups are the same or only near. */
TEST_WITH(rows_go_to_the_entry_of_their_group, bind_it, release_it)
{
    enum { ROWS = 7 };
    static const double ranks[ROWS] = {8, 8, 64, 64, 56, 4, 8};
    static const double per_node[ROWS] = {8, 8, 8, 8, 8, 8, 8};
    static const double nodes[ROWS] = {0};
    static const double sizes[ROWS] = {1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5};
    static const size_t entries[ROWS] = {0, 0, 1, 1, 1, 0, 0};
    const double *sheet[SHEET_COLUMNS] = {ranks, per_node, nodes, sizes};
    double values[ROWS];
    bound *own = *state;
    assert_int_equal(st_binding_evaluate(&own->provider, ROWS, sheet, values), ST_OK);
    for (size_t i = 0; i < ROWS; i++)
        assert_same_double(values[i], sizes[i] * factors[entries[i]]);
    assert_int_equal(calls.count, 3);
    assert_int_equal(calls.rows[0], 2);
    assert_int_equal(calls.rows[1], 3);
    assert_int_equal(calls.rows[2], 2);
    assert_same_double(calls.factors[1], 71.5);
    assert_same_double(calls.constant, 3.75);
    calls.count = 0;
    calls.fails = true; /* the second call does */
    assert_int_equal(st_binding_evaluate(&own->provider, ROWS, sheet, values), ST_ERR_PROVIDER);
    assert_int_equal(calls.count, 2);
}

/* Groups are told apart by each of the three columns. */
TEST_WITH(any_column_may_change_the_entry, bind_it, release_it)
{
    static const double of_rank[2][2] = {{8, 64}, {64, 64}};
    static const double of_node[2][2] = {{8, 8}, {64, 8}};
    static const double all[2] = {8, 8};
    static const double none[2] = {0, 0};
    static const double counts[2] = {1, 8};
    const double *const sheets[3][SHEET_COLUMNS] = {{of_rank[0], of_node[0], none, all},
                                                    {of_rank[1], of_node[1], none, all},
                                                    {none, all, counts, all}};
    double values[2];
    bound *own = *state;
    for (size_t i = 0; i < COUNT(sheets); i++) {
        calls.count = 0;
        assert_int_equal(st_binding_evaluate(&own->provider, 2, sheets[i], values), ST_OK);
        assert_int_equal(calls.count, 2);
        assert_same_double(values[0], 8 * 2.385);
        assert_same_double(values[1], 8 * 71.5);
    }
}

/* One entry needs no group; constants are there for 512 rows. */
TEST_WITH(long_blocks_are_parted, bind_it, release_it)
{
    enum { ROWS = 1300 };
    static double sizes[ROWS];
    static double values[ROWS];
    const double *sheet[SHEET_COLUMNS] = {NULL, NULL, NULL, sizes};
    bound *own = *state;
    own->provider.count = 1;
    for (size_t i = 0; i < ROWS; i++)
        sizes[i] = 1.5 + (double)i;
    assert_int_equal(st_binding_evaluate(&own->provider, ROWS, sheet, values), ST_OK);
    for (size_t i = 0; i < ROWS; i++)
        assert_same_double(values[i], (1.5 + (double)i) * 2.385);
    assert_int_equal(calls.count, 3);
    assert_int_equal(calls.rows[0], 512);
    assert_int_equal(calls.rows[1], 512);
    assert_int_equal(calls.rows[2], 276);
}

static const st_provider_account *account_of(bound *own, double ranks)
{
    static st_provider_account account;
    const double per_node = 8;
    const double nodes = 0;
    const double size = 3.5;
    const double *sheet[SHEET_COLUMNS] = {&ranks, &per_node, &nodes, &size};
    assert_int_equal(st_binding_explain(&own->provider, sheet, own->arena, &account), ST_OK);
    return &account;
}

TEST_OF(explanations_name_the_entry, bound *own, bind_it, release_it)
{
    const st_provider_account *account = account_of(own, 64);
    assert_int_equal(account->count, 2);
    assert_string_equal(account->terms[0].name, "wire");
    assert_same_double(account->terms[0].value, 3.5);
    assert_string_equal(account->terms[1].name, "profile");
    assert_string_equal(account->terms[1].text, "site-b, of 64 ranks on 8 nodes");
    assert_false(account->terms[1].part);
    assert_string_equal(account_of(own, 8)->terms[1].text, "site-b, of 8 ranks on 1 node");
    own->entries[0].ranks = 0;
    own->entries[1].nodes = 0;
    account = account_of(own, 8);
    assert_string_equal(account->terms[1].text, "site-b, of any number of ranks");
    own->entries[0].ranks = 7;
    own->entries[0].nodes = 0;
    account = account_of(own, 8);
    assert_string_equal(account->terms[1].text, "site-b, of any number of ranks");
    /* What is no set of fitted options has words of its own, and a refusal has none. */
    own->entries[0].kind = ST_PROFILE_TIMES;
    own->entries[1].kind = ST_PROFILE_TIMES;
    assert_int_equal(account_of(own, 8)->count, 1);
    own->entries[0].kind = ST_PROFILE_OPTIONS;
    own->entries[1].kind = ST_PROFILE_OPTIONS;
    calls.refuses = true;
    account = account_of(own, 64); /* of the instance that was opened last */
    assert_string_equal(account->refusal, "out of reach");
    assert_int_equal(account->count, 0);
    calls.refuses = false;
    own->provider.entries = NULL;
    own->provider.count = 1;
    assert_int_equal(account_of(own, 8)->count, 1);
}

TESTS(provider_binding);

/* SPDX-License-Identifier: Apache-2.0 */
/* Places in split communicators, and tables of ranks that do as others. */
#include "base_support.h"

#include "record/start_program.h"
#include "record/split.h"
#include "record/rank_dedup.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* A grid of ranks: which group a rank is in, and where in it. */
typedef struct grid {
    int32_t ranks;
    int32_t stride;
    int32_t size;
} grid;

static int32_t group_of(const grid *g, int32_t rank)
{
    return rank / (g->stride * g->size) * g->stride + rank % g->stride;
}

static void check_place(const grid *g, const st_split *split, const st_split_member *own)
{
    st_split_place place = st_split_find(split, own);
    assert_true(place.certain);
    assert_int_equal(place.ranks, g->size);
    assert_int_equal(place.rank, own->rank / g->stride % g->size);
}

/* Some ranks of any grid tell it, whatever the program takes for colors. */
TEST(test_some_ranks)
{
    static const grid grids[] = {{64, 1, 8}, {64, 8, 8}, {96, 4, 3}, {4096, 8, 64}, {4096, 512, 8}};
    (void)state;
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++)
        for (int named = 0; named < 2; named++) {
            const grid *g = &grids[i];
            st_split_member members[48];
            st_split split = {.members = members, .ranks = g->ranks, .node = 8};
            for (int32_t k = 0; k < 48; k++) {
                int32_t rank = k < 16 ? k : k % 16 * g->ranks / 16 + k / 32;
                int32_t group = group_of(g, rank);
                members[split.count++] =
                    (st_split_member){rank, named != 0 ? group : 7 + 31 * group, rank, 0};
            }
            check_place(g, &split, &members[17]);
        }
}

TEST(test_one_rank)
{
    st_split_member own = {.rank = 43, .color = 5, .key = 43};
    st_split split = {.members = &own, .count = 1, .ranks = 64, .node = 8};
    check_place(&(grid){64, 1, 8}, &split, &own);
    own.color = 3; /* its place in the node */
    check_place(&(grid){64, 8, 8}, &split, &own);
    own = (st_split_member){0}; /* the first rank is the first of any grid */
    st_split_place place = st_split_find(&split, &own);
    assert_false(place.certain);
    assert_int_equal(place.ranks, 64);
}

TEST(test_all_ranks)
{
    st_split_member members[7];
    st_split split = {.members = members, .count = 7, .ranks = 7, .node = 8};
    (void)state;
    for (int32_t i = 0; i < 7; i++)
        members[i] = (st_split_member){i, i * i % 3, -i, 0};
    st_split_place place = st_split_find(&split, &members[2]); /* color 1: 1, 2, 4, 5 */
    assert_true(place.certain);
    assert_int_equal(place.ranks, 4);
    assert_int_equal(place.rank, 2);
}

static void write_table(const char *path, const char *text, size_t length)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

TEST(test_table)
{
    static const char beyond[] = "first,count,as\n0,3,0\n3,4,1\n";
    char folder[] = "/tmp/steptime-ranks-XXXXXX";
    char path[64];
    int32_t as[] = {0, 1, 1, 1, 0, 0, -1, 7};
    st_rank_dedup dedup = {.world = 8, .as = as};
    st_buffer text = {0};
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    int32_t *back = NULL;
    bool found = true;
    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/" ST_RANK_DEDUP_FILE, folder);
    assert_int_equal(st_rank_dedup_read(folder, 8, arena, &back, &found, errors), ST_OK);
    assert_false(found);
    st_rank_dedup_write(&dedup, &text);
    write_table(path, text.data, text.length);
    assert_int_equal(st_rank_dedup_read(folder, 8, arena, &back, &found, errors), ST_OK);
    assert_true(found);
    assert_memory_equal(back, as, sizeof as);
    assert_int_not_equal(st_rank_dedup_read(folder, 5, arena, &back, &found, errors), ST_OK);
    write_table(path, beyond, sizeof beyond - 1);
    assert_int_equal(st_rank_dedup_read(folder, 7, arena, &back, &found, errors), ST_OK);
    assert_int_equal(st_rank_dedup_read(folder, 6, arena, &back, &found, errors), ST_ERR_VALUE);
    (void)unlink(path);
    (void)rmdir(folder);
    st_buffer_free(&text);
    st_arena_destroy(arena);
    st_errors_destroy(errors);
}

/* What waits when the recording ends is ended with it. */
TEST(test_end)
{
    static const char *const command[] = {"/bin/sleep", "2385", NULL};
    const st_launch_request request = {.command = command,
                                       .path = command[0],
                                       .library = "/nowhere",
                                       .folder = "/nowhere",
                                       .device = "",
                                       .charges = "",
                                       .policy = "",
                                       .devices = 8,
                                       .world = 64};
    const int32_t ranks[] = {3, 5};
    st_arena *arena = st_arena_create();
    st_errors *errors = st_errors_create();
    st_fleet *fleet = NULL;
    (void)state;
    fleet = st_fleet_make(&request, arena);
    assert_int_equal(st_fleet_run(fleet, ranks, 2, true, errors), ST_OK);
    assert_int_equal(st_fleet_alive(fleet), 2);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), 0); /* they run */
    st_fleet_end(fleet);
    assert_int_equal(st_fleet_alive(fleet), 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    st_fleet_end(NULL);
    st_arena_destroy(arena);
    st_errors_destroy(errors);
}

TESTS(record_ranks);

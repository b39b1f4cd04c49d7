/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of isolated plugins that are kept: whatever was asked before, twice in a call or by other
 * providers, every row gets the value of its own arguments, and none is asked twice in a row.
 */
#include "property.h"

#include "plugin/call_memo.h"

#include <pthread.h>
#include <sched.h>

enum { CALLS = 20000, COLUMNS = 3, FEW = 40, MANY = 100000 };

/* Differs wherever an argument does, also in its sign, and between a NaN and a column that lacks.
 */
static double value_of(size_t provider, const double *const *columns, size_t row)
{
    double value = (double)provider * 2.385;
    for (size_t i = 0; i < COLUMNS; i++) {
        double given = columns[i] == NULL ? 77 : isnan(columns[i][row]) ? 78 : columns[i][row];
        value = value * 1.0625 + given + (signbit(given) ? 0.5 : 0);
    }
    return value;
}

/* Begins a call; how many rows it asks for. */
static size_t begin_one(st_call_memo *memo, st_memo_call *call, size_t provider,
                        const double *const *columns, size_t rows)
{
    call->asked_count = 0;
    const size_t unknown = st_call_memo_begin(memo, call, provider, COLUMNS, columns, rows);
    return unknown >= call->asked_count && unknown <= rows ? call->asked_count : SIZE_MAX;
}

TEST(rows_get_their_own_values)
{
    property_random *random = *state;
    static st_memo_call one;
    st_call_memo *memo = st_call_memo_create();
    assert_non_null(memo);
    static double numbers[COLUMNS][ST_CALL_ROWS];
    size_t rows_in_all = 0;
    size_t asked_in_all = 0;
    for (size_t call = 0; call < CALLS; call++) {
        const size_t provider = random_below(random, 3);
        const size_t rows = 1 + random_below(random, call % 10 == 0 ? ST_CALL_ROWS : 8);
        const size_t range = call % 3 == 0 ? MANY : FEW; /* of which some share a place */
        const bool fails = random_below(random, 20) == 0;
        const double *columns[COLUMNS];
        double answers[ST_CALL_ROWS];
        double values[ST_CALL_ROWS];
        for (size_t i = 0; i < COLUMNS; i++) {
            columns[i] = i == 1 && random_below(random, 4) == 0 ? NULL : numbers[i];
            for (size_t r = 0; r < rows; r++) {
                numbers[i][r] = (double)random_below(random, i == 0 ? range : 2) - 1;
                if (i > 0 && numbers[i][r] == 0)
                    numbers[i][r] = random_below(random, 2) == 0 ? -0.0 : (double)NAN;
            }
        }
        size_t count = begin_one(memo, &one, provider, columns, rows);
        assert_true(count <= rows);
        for (size_t i = 0; i < count; i++) {
            assert_true(one.asked[i] < rows && (i == 0 || one.asked[i] > one.asked[i - 1]));
            answers[i] = value_of(provider, columns, one.asked[i]);
        }
        st_call_memo_end(memo, &one, fails ? NULL : answers, values);
        for (size_t r = 0; r < rows && !fails; r++)
            if (values[r] != value_of(provider, columns, r))
                fail_msg("call %zu, row %zu: %.17g for %.17g", call, r, values[r],
                         value_of(provider, columns, r));
        rows_in_all += rows;
        asked_in_all += count;
        /* The same single row again is known, unless it failed. */
        count = begin_one(memo, &one, provider, columns, 1);
        assert_true(count == 0 || fails || rows > 1);
        const double first = value_of(provider, columns, 0);
        st_call_memo_end(memo, &one, &first, values);
        if (count == 0)
            assert_true(values[0] == first);
    }
    assert_true(asked_in_all < rows_in_all * 2 / 3);
    st_call_memo_destroy(memo);
}

/* A provider of few columns is none of many whose last ones are 0. */
TEST(providers_with_other_columns_are_others)
{
    static const double zeros[COLUMNS] = {0};
    static st_memo_call one;
    (void)state;
    st_call_memo *memo = st_call_memo_create();
    for (size_t provider = 0; provider < 40; provider++)
        for (size_t count = 0; count <= COLUMNS; count++)
            for (size_t given = 0; given < 1U << count; given++) {
                const double *columns[COLUMNS];
                const double answer = (double)(provider * 100 + count * 10 + given);
                double value = 0;
                for (size_t i = 0; i < count; i++)
                    columns[i] = (given >> i & 1U) != 0 ? &zeros[i] : NULL;
                one.asked_count = 0;
                assert_int_equal(st_call_memo_begin(memo, &one, provider, count, columns, 1), 1);
                st_call_memo_end(memo, &one, &answer, &value);
                assert_true(value == answer);
            }
    st_call_memo_destroy(memo);
}

/* Calls of several providers that end together: each row is asked once, and its value is its own.
 */
TEST(calls_end_together)
{
    enum { TOGETHER = 6, MOST = 100 };
    property_random *random = *state;
    st_call_memo *memo = st_call_memo_create();
    static st_memo_call all;
    static double numbers[TOGETHER][COLUMNS][MOST];
    size_t again = 0;
    for (size_t round = 0; round < CALLS / 20; round++) {
        double answers[ST_CALL_ROWS];
        double values[MOST];
        size_t rows[TOGETHER];
        all.asked_count = 0;
        for (size_t call = 0; call < TOGETHER; call++) {
            const double *columns[COLUMNS];
            rows[call] = 1 + random_below(random, MOST);
            for (size_t i = 0; i < COLUMNS; i++) {
                columns[i] = numbers[call][i];
                for (size_t r = 0; r < rows[call]; r++)
                    numbers[call][i][r] = (double)random_below(random, i == 0 ? MANY : 2);
            }
            const size_t before = all.asked_count;
            assert_true(st_call_memo_begin(memo, &all, call, COLUMNS, columns, rows[call]) >=
                        all.asked_count - before);
            for (size_t i = before; i < all.asked_count; i++)
                answers[i] = value_of(call, columns, all.asked[i]);
        }
        const size_t asked = all.asked_count;
        assert_true(asked <= ST_CALL_ROWS);
        all.rows = 0;
        st_call_memo_end(memo, &all, answers, NULL);
        for (size_t call = 0; call < TOGETHER; call++) {
            const double *columns[] = {numbers[call][0], numbers[call][1], numbers[call][2]};
            const size_t count = begin_one(memo, &all, call, columns, rows[call]);
            for (size_t i = 0; i < count; i++)
                answers[i] = value_of(call, columns, all.asked[i]);
            st_call_memo_end(memo, &all, answers, values);
            for (size_t r = 0; r < rows[call]; r++)
                assert_true(values[r] == value_of(call, columns, r));
            again += asked < ST_CALL_ROWS ? count : 0;
        }
    }
    /* A few rows share a place with another one. */
    assert_true(again < CALLS / 20 * TOGETHER);
    st_call_memo_destroy(memo);
}

enum { THREADS = 8, SHARED_CALLS = 3000 };

typedef struct asker {
    st_call_memo *memo;
    property_random random;
    const char *fault;
    size_t known;
    st_memo_call call;
} asker;

/* Asks for rows that the others ask for as well; some of its calls fail, some take their time. */
static void *ask_many(void *context)
{
    asker *self = context;
    double numbers[COLUMNS][ST_CALL_ROWS];
    double answers[ST_CALL_ROWS];
    double values[ST_CALL_ROWS];
    for (size_t call = 0; call < SHARED_CALLS && self->fault == NULL; call++) {
        const size_t provider = random_below(&self->random, 3);
        const size_t rows = 1 + random_below(&self->random, 16);
        const bool fails = random_below(&self->random, 20) == 0;
        const double *columns[COLUMNS];
        for (size_t i = 0; i < COLUMNS; i++) {
            columns[i] = numbers[i];
            for (size_t r = 0; r < rows; r++)
                numbers[i][r] = (double)random_below(&self->random, i == 0 ? FEW : 2);
        }
        size_t count = begin_one(self->memo, &self->call, provider, columns, rows);
        for (size_t i = 0; i < count; i++)
            answers[i] = value_of(provider, columns, self->call.asked[i]);
        if (call % 4 == 0)
            (void)sched_yield();
        st_call_memo_end(self->memo, &self->call, fails ? NULL : answers, values);
        for (size_t r = 0; r < rows && !fails; r++)
            if (values[r] != value_of(provider, columns, r))
                self->fault = "a row has another row's value";
        self->known += rows - count;
    }
    return NULL;
}

TEST(threads_share_answers)
{
    property_random *random = *state;
    for (size_t threads = 2; threads <= THREADS; threads *= 2) {
        static asker askers[THREADS];
        pthread_t running[THREADS];
        size_t known = 0;
        st_call_memo *memo = st_call_memo_create();
        for (size_t i = 0; i < threads; i++) {
            askers[i] = (asker){.memo = memo, .random = *random};
            askers[i].random.state += i * 2385;
            assert_int_equal(pthread_create(&running[i], NULL, ask_many, &askers[i]), 0);
        }
        for (size_t i = 0; i < threads; i++) {
            assert_int_equal(pthread_join(running[i], NULL), 0);
            if (askers[i].fault != NULL)
                fail_msg("%zu threads: %s", threads, askers[i].fault);
            known += askers[i].known;
        }
        assert_true(known > threads * SHARED_CALLS);
        st_call_memo_destroy(memo);
    }
}

TEST(texts_are_those_of_their_rows)
{
    property_random *random = *state;
    st_call_memo *memo = st_call_memo_create();
    st_arena *arena = st_arena_create();
    size_t known = 0;
    for (size_t call = 0; call < CALLS; call++) {
        const double numbers[] = {(double)random_below(random, call % 3 == 0 ? MANY : FEW), 2.385};
        const double *columns[] = {&numbers[0], random_below(random, 2) == 0 ? &numbers[1] : NULL,
                                   NULL};
        const size_t provider = random_below(random, 3);
        char expected[64];
        size_t length = 0;
        (void)snprintf(expected, sizeof expected, "%.17g", value_of(provider, columns, 0));
        const char *text = st_call_memo_text(memo, provider, COLUMNS, columns, arena, &length);
        if (text == NULL)
            st_call_memo_keep(memo, provider, COLUMNS, columns, expected, strlen(expected));
        else if (length != strlen(expected) || memcmp(text, expected, length) != 0)
            fail_msg("call %zu: %.*s for %s", call, (int)length, text, expected);
        known += text != NULL ? 1 : 0;
    }
    assert_true(known > CALLS / 4);
    st_arena_destroy(arena);
    st_call_memo_destroy(memo);
}

TESTS_WITH(call_memo, property_setup, NULL);

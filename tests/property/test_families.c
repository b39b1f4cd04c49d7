/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random families: a sheet that has them gives the same bits as the same sheet written out by hand,
 * cell by cell, alone and in blocks. Both texts are made side by side, with nothing of
 * estimator/sheet in between.
 */
#include "../support/programs.h"
#include "program/program.h"
#include "property.h"

enum { SHEETS = 150, CELLS = 14, ROWS = 40, DEPTH = 4, MOST_MEMBERS = 12, AXES = 2 };

typedef struct axis {
    const char *name;
    const char *values[4];
    size_t count;
} axis;

static const axis axes[AXES] = {{"stage", {"first", "1b", "mid", "last"}, 4},
                                {"kind", {"dense", "moe", "shared"}, 3}};
static const char *const inputs[] = {"x", "y", "z"};

/* A cell: over no axis, one or both; the members that may not exist are those of one value. */
typedef struct family {
    bool over[AXES];
    size_t absent[AXES]; /* a value of the axis, or count: none */
} family;

typedef struct world {
    property_random *random;
    family families[CELLS];
    size_t count;   /* that may be named */
    st_buffer text; /* the formula as a family's */
    st_buffer by_hand[MOST_MEMBERS];
} world;

static size_t count_of(const family *f, size_t a)
{
    return f->over[a] ? axes[a].count : 1;
}

static size_t members_of(const family *f)
{
    return count_of(f, 0) * count_of(f, 1);
}

static size_t value_of(const family *f, size_t member, size_t a)
{
    return a == 1 ? member % count_of(f, 1) : member / count_of(f, 1);
}

static void both(world *w, size_t members, const char *text)
{
    st_buffer_text(&w->text, text);
    for (size_t i = 0; i < members; i++)
        st_buffer_text(&w->by_hand[i], text);
}

static void name_by_hand(const family *f, size_t index, const size_t *values, st_buffer *text)
{
    st_buffer_printf(text, "c%zu", index);
    for (size_t a = 0; a < AXES; a++) {
        if (f->over[a])
            st_buffer_printf(text, "_%s", axes[a].values[values[a]]);
    }
}

/*
 * A name of another cell: its indices are the own one, fixed ones or, on axis `star`, '*', which by
 * hand is `value`.
 */
typedef struct naming {
    size_t index;
    bool own[AXES];
    size_t fixed[AXES];
    size_t star;
} naming;

static naming pick_name(world *w, const family *mine, size_t star)
{
    naming n = {.index = random_below(w->random, w->count), .star = star};
    for (size_t a = 0; a < AXES; a++) {
        n.own[a] = mine->over[a] && random_below(w->random, 3) > 0;
        n.fixed[a] = random_below(w->random, axes[a].count);
    }
    return n;
}

static void write_name(world *w, const naming *n)
{
    const family *f = &w->families[n->index];
    const char *sign = "[";
    st_buffer_printf(&w->text, "c%zu", n->index);
    for (size_t a = 0; a < AXES; a++) {
        if (!f->over[a])
            continue;
        st_buffer_printf(&w->text, "%s%s", sign,
                         a == n->star ? "*"
                         : n->own[a]  ? axes[a].name
                                      : axes[a].values[n->fixed[a]]);
        sign = random_below(w->random, 2) > 0 ? "," : " , ";
    }
    if (sign[0] != '[')
        st_buffer_text(&w->text, "]");
}

static void write_by_hand(world *w, const family *mine, const naming *n, size_t star_value,
                          size_t member)
{
    size_t values[AXES];
    for (size_t a = 0; a < AXES; a++)
        values[a] = a == n->star ? star_value : n->own[a] ? value_of(mine, member, a) : n->fixed[a];
    name_by_hand(&w->families[n->index], n->index, values, &w->by_hand[member]);
}

static void make_formula(world *w, const family *mine, int depth);

static void make_plain_name(world *w, const family *mine)
{
    naming n = pick_name(w, mine, AXES);
    write_name(w, &n);
    for (size_t i = 0; i < members_of(mine); i++)
        write_by_hand(w, mine, &n, 0, i);
}

/* Reductions over names that are over the axis; the others say the same for all values. */
static void make_reduction(world *w, const family *mine)
{
    static const char *const words[] = {"max", "min", "sum"};
    size_t star = random_below(w->random, AXES);
    naming n = pick_name(w, mine, star);
    const family *f = &w->families[n.index];
    size_t which = random_below(w->random, 3);
    /* The first value always exists; what is absent on the other axis would be so for all. */
    if (!f->over[star] || f->absent[1 - star] < axes[1 - star].count) {
        make_plain_name(w, mine);
        return;
    }
    st_buffer_printf(&w->text, "%s(", words[which]);
    write_name(w, &n);
    st_buffer_text(&w->text, ")");
    for (size_t i = 0; i < members_of(mine); i++) {
        st_buffer *hand = &w->by_hand[i];
        st_buffer_text(hand, which == 2 ? "(" : words[which]);
        st_buffer_text(hand, which == 2 ? "" : "(");
        for (size_t v = 0; v < axes[star].count; v++) {
            st_buffer_text(hand, v == 0 ? "" : which == 2 ? " + " : ", ");
            bool guarded = which < 2 && f->absent[star] == v;
            st_buffer_text(hand, guarded ? "if(x > 0, " : "");
            write_by_hand(w, mine, &n, v, i);
            if (guarded) {
                st_buffer_text(hand, ", ");
                write_by_hand(w, mine, &n, 0, i);
                st_buffer_text(hand, ")");
            }
        }
        st_buffer_text(hand, ")");
    }
}

/* if(stage == first, A, B): by hand A or B. */
static void make_own_choice(world *w, const family *mine, int depth)
{
    size_t a = random_below(w->random, AXES);
    size_t members = members_of(mine);
    size_t value = random_below(w->random, axes[a].count);
    if (!mine->over[a]) {
        make_formula(w, mine, depth - 1);
        return;
    }
    bool equal = random_below(w->random, 2) > 0;
    size_t before[MOST_MEMBERS];
    /* A name that begins with digits may not stand alone in a formula. */
    value = axes[a].values[value][0] == '1' ? 0 : value;
    st_buffer_printf(&w->text, "if(%s %s %s, ", axes[a].name,
                     equal ? "==" : "!=", axes[a].values[value]);
    for (size_t branch = 0; branch < 2; branch++) {
        for (size_t i = 0; i < members; i++)
            before[i] = w->by_hand[i].length;
        for (size_t i = 0; i < members; i++)
            st_buffer_text(&w->by_hand[i], "(");
        make_formula(w, mine, depth - 1);
        for (size_t i = 0; i < members; i++) {
            bool taken = (value_of(mine, i, a) == value) == (equal == (branch == 0));
            st_buffer_text(&w->by_hand[i], ")");
            if (!taken)
                w->by_hand[i].length = before[i];
        }
        st_buffer_text(&w->text, branch == 0 ? ", " : ")");
    }
}

static void make_joined(world *w, const family *mine, int depth)
{
    static const char *const forms[][3] = {
        {"(", " + ", ")"},        {"(", " - ", ")"},   {"", "*", ""},
        {"min(", ", ", ")"},      {"max(", ", ", ")"}, {"if(y > 0.5, ", ", ", ")"},
        {"(2.385 - ", ")*(", ")"}};
    const char *const *form = forms[random_below(w->random, COUNT(forms))];
    size_t members = members_of(mine);
    both(w, members, form[0]);
    make_formula(w, mine, depth - 1);
    both(w, members, form[1]);
    make_formula(w, mine, depth - 1);
    both(w, members, form[2]);
}

static void make_formula(world *w, const family *mine, int depth)
{
    size_t pick = depth <= 0 ? random_below(w->random, 2) : random_below(w->random, 7);
    if (pick < 2 && w->count > 0 && random_below(w->random, 3) > 0)
        make_plain_name(w, mine);
    else if (pick < 2)
        both(w, members_of(mine), inputs[random_below(w->random, COUNT(inputs))]);
    else if (pick == 2 && w->count > 0)
        make_reduction(w, mine);
    else if (pick == 3)
        make_own_choice(w, mine, depth);
    else
        make_joined(w, mine, depth);
}

static bool is_absent(const family *f, size_t member)
{
    for (size_t a = 0; a < AXES; a++) {
        if (f->over[a] && f->absent[a] == value_of(f, member, a))
            return true;
    }
    return false;
}

/* The members of a family, each a cell of its own. */
static void write_members(const world *w, const family *f, st_buffer *by_hand)
{
    for (size_t i = 0; i < members_of(f); i++) {
        const size_t values[AXES] = {value_of(f, i, 0), value_of(f, i, 1)};
        const st_buffer *hand = &w->by_hand[i];
        st_buffer_text(by_hand, "  ");
        name_by_hand(f, w->count, values, by_hand);
        st_buffer_printf(by_hand, ":\n    is: >-\n      %s%.*s%s\n",
                         is_absent(f, i) ? "if(x > 0, " : "", (int)hand->length, hand->data,
                         is_absent(f, i) ? ", 0)" : "");
    }
}

static void make_cell(world *w, st_buffer *families, st_buffer *by_hand)
{
    family *f = &w->families[w->count];
    *f = (family){.absent = {axes[0].count, axes[1].count}};
    size_t gap = random_below(w->random, 4);
    for (size_t a = 0; a < AXES; a++) {
        f->over[a] = random_below(w->random, 3) > 0;
        if (gap == a && f->over[a])
            f->absent[a] = 1 + random_below(w->random, axes[a].count - 1);
    }
    w->text.length = 0;
    for (size_t i = 0; i < MOST_MEMBERS; i++)
        w->by_hand[i].length = 0;
    make_formula(w, f, DEPTH);
    st_buffer_printf(families, "  c%zu:\n", w->count);
    if (f->over[0] || f->over[1]) {
        st_buffer_printf(families, "    per: [%s%s%s]\n", f->over[0] ? "stage" : "",
                         f->over[0] && f->over[1] ? ", " : "", f->over[1] ? "kind" : "");
    }
    for (size_t a = 0; a < AXES; a++) {
        if (f->absent[a] < axes[a].count)
            st_buffer_printf(families, "    where: {%s: x > 0}\n", axes[a].values[f->absent[a]]);
    }
    st_buffer_printf(families, "    is: >-\n      %.*s\n", (int)w->text.length, w->text.data);
    write_members(w, f, by_hand);
    w->count++;
}

static const st_program *compile_text(shelf *own, const st_buffer *text)
{
    assert_false(text->failed);
    return compile(own, st_arena_copy(own->arena, text->data, text->length));
}

static void compare(shelf *own, property_random *random, const st_program *families,
                    const st_program *by_hand)
{
    size_t count = st_program_output_count(families);
    assert_int_equal(st_program_output_count(by_hand), count);
    for (int row = 0; row < ROWS; row++) {
        const double values[] = {random_between(random, -4, 4) * 0.73,
                                 random_between(random, 0, 9) * 0.171, random_magnitude(random, 2)};
        const double *a = run_row(own, families, values);
        const double *b = run_row(own, by_hand, values);
        for (size_t i = 0; i < count; i++)
            assert_double(a[i], b[i], st_program_output_name(families, i));
    }
}

TEST_OF(families_are_what_is_written_out_by_hand, property_random *random, NULL, NULL)
{
    for (int i = 0; i < SHEETS; i++) {
        void *shelf_state = NULL;
        assert_int_equal(make_shelf(&shelf_state), 0);
        shelf *own = shelf_state;
        world w = {.random = random};
        st_buffer families = {0};
        st_buffer by_hand = {0};
        st_buffer_text(&families, "sheet: t\nenums:\n  stage: [first, 1b, mid, last]\n"
                                  "  kind: [dense, moe, shared]\n");
        st_buffer_text(&by_hand, "sheet: t\n");
        for (size_t k = 0; k < 2; k++) {
            st_buffer_text(k == 0 ? &families : &by_hand,
                           "inputs:\n  x: {from: a.x}\n  y: {from: a.y}\n  z: {from: a.z}\n"
                           "cells:\n");
        }
        for (int c = 0; c < CELLS; c++)
            make_cell(&w, &families, &by_hand);
        const st_program *one = compile_text(own, &families);
        const st_program *other = compile_text(own, &by_hand);
        compare(own, random, one, other);
        size_t strides[] = {1, 1, 0};
        table t = make_table(own, st_program_sheet(one), strides, ROWS);
        assert_block_equals_rows(own, one, &t);
        st_buffer_free(&families);
        st_buffer_free(&by_hand);
        st_buffer_free(&w.text);
        for (size_t k = 0; k < MOST_MEMBERS; k++)
            st_buffer_free(&w.by_hand[k]);
        drop_shelf(&shelf_state);
    }
}

TESTS_WITH(families, property_setup, NULL);

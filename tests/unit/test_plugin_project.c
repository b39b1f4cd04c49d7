/* SPDX-License-Identifier: Apache-2.0 */
/* What a new plugin begins with: a function's formula in C, and the templates around it. */
#include "../support/sheets.h"
#include "base/text.h"
#include "plugin/kit/formula_c.h"
#include "plugin/kit/new_function.h"
#include "sheet/binding.h"

#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 65536 };

static char folder[64]; /* of the projects */

typedef struct given {
    const st_sheet *sheet;
    const st_sheet_function *function;
} given;

/* A function f of numbers, and those that it may call. */
static given function_of(shelf *own, const char *formula)
{
    static const char head[] =
        SHEET_INPUTS "functions:\n"
                     "  twice: {args: {x: 1}, is: 2*x}\n"
                     "  less: {args: {x: 1, y: 1}, is: x - y}\n"
                     "  closed: {open: true, args: {x: 1}}\n"
                     "  f: {open: true, args: {a: 1, b: 1, ranks: 1, w: bool, m: mode}, is: '";
    const st_sheet *sheet = accept(own, st_arena_printf(own->arena, "%s%s'}\n", head, formula));
    return (given){sheet, st_sheet_find_function(sheet, "f")};
}

static const char *in_c(shelf *own, const char *formula)
{
    st_buffer text = {0};
    given f = function_of(own, formula);
    st_formula_write_c(f.sheet, f.function, &text);
    const char *kept = st_buffer_keep(&text, own->arena);
    assert_non_null(kept);
    return kept;
}

TEST_WITH(formulas_become_expressions_of_c, make_shelf, drop_shelf)
{
    static const struct {
        const char *formula;
        const char *expected;
    } cases[] = {
        {"a + b*2.385", "a + b * 2.385"},
        {"(a + b)*2.385", "(a + b) * 2.385"},
        {"2.385*(a + b)", "2.385 * (a + b)"},
        {"a - b - 3", "a - b - 3.0"},
        {"a - (b - 3)", "a - (b - 3.0)"},
        {"a + (b + 3)", "a + (b + 3.0)"},
        {"a*b/3", "a * b / 3.0"},
        {"a*(b/3)", "a * (b / 3.0)"},
        {"a/(b*3)", "a / (b * 3.0)"},
        {"a^2.5*b", "pow(a, 2.5) * b"},
        {"a*b^2.5", "a * pow(b, 2.5)"},
        {"(a + b)^2", "pow(a + b, 2.0)"},
        {"-a + b", "(-(a)) + b"},
        {"2e17*a", "2e17 * a"},
        {"floor(a/3)", "floor(a / 3.0)"},
        {"abs(a - 3)", "fabs(a - 3.0)"},
        {"log2(a) + log(b)", "log2(a) + log(b)"},
        {"min(a, b)", "fmin(a, b)"},
        {"max(a, b, ranks)", "fmax(a, fmax(b, ranks))"},
        {"min(a, b, ranks, 7)", "fmin(a, fmin(b, fmin(ranks, 7.0)))"},
        {"if(a > 1, b, 2.5)", "(a > 1.0 ? b : 2.5)"},
        {"if(a > 1 and b <= 3, a, b)", "((a > 1.0) && (b <= 3.0) ? a : b)"},
        {"if(a < 1 or b >= 3 or w, a, b)", "(((a < 1.0) || (b >= 3.0)) || w ? a : b)"},
        {"if(a + b > 2*b, a, b)", "((a + b) > (2.0 * b) ? a : b)"},
        {"if(not (a == b), 2, 3)", "((!(a == b)) ? 2.0 : 3.0)"},
        {"if(a != b, 2, 3)", "(a != b ? 2.0 : 3.0)"},
        {"if(true, a, b)", "(1.0 ? a : b)"},
        {"if(false, a, b)", "(0.0 ? a : b)"},
        {"if(m == full, a, b)", "(m == 2.0 ? a : b)"},
    };
    shelf *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *text = in_c(own, cases[i].formula);
        if (strcmp(text, cases[i].expected) != 0)
            fail_msg("%s: %s, expected %s", cases[i].formula, text, cases[i].expected);
    }
}

/* Arguments are put in place with what the caller's operators need around them. */
TEST_WITH(calls_are_put_in_place, make_shelf, drop_shelf)
{
    static const struct {
        const char *formula;
        const char *expected;
    } cases[] = {
        {"twice(a)", "2.0 * a"},
        {"twice(a + b)", "2.0 * (a + b)"},
        {"twice(a) + 7", "(2.0 * a) + 7.0"},
        {"7/twice(a)", "7.0 / (2.0 * a)"},
        {"twice(twice(a))", "2.0 * (2.0 * a)"},
        {"less(a + b, 3)", "a + b - 3.0"},
        {"less(3, a + b)", "3.0 - (a + b)"},
        {"less(b, less(a, ranks))", "b - (a - ranks)"},
        {"less(twice(b), a^2)", "(2.0 * b) - pow(a, 2.0)"},
        {"max(less(b, a), 3)", "fmax(b - a, 3.0)"},
        {"closed(a)", "NAN"},
    };
    shelf *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *text = in_c(own, cases[i].formula);
        if (strcmp(text, cases[i].expected) != 0)
            fail_msg("%s: %s, expected %s", cases[i].formula, text, cases[i].expected);
    }
    const given f = function_of(own, "a + b");
    st_buffer text = {0};
    st_formula_write_c(f.sheet, st_sheet_find_function(f.sheet, "closed"), &text);
    assert_string_equal(text.data, "NAN");
    st_buffer_free(&text);
}

TEST_WITH(collectives_are_known_by_their_one_rank, make_shelf, drop_shelf)
{
    static const struct {
        const char *formula;
        bool expected;
    } cases[] = {
        {"if(ranks > 1, a, 0)", true},
        {"if(ranks > 2.5, a*b, 0)", true},
        {"if(ranks >= 1, a, 0)", false},
        {"if(ranks < 1, a, 0)", false},
        {"if(a > 1, ranks, 0)", false},
        {"if(1 > ranks, a, 0)", false},
        {"if(ranks*2 > 1, a, 0)", false},
        {"if(ranks > 1, a, 2.385)", false},
        {"if(ranks > 1, a, -2.385)", false},
        {"if(ranks > 1, 0, a)", false},
        {"max(ranks, 0)", false},
        {"ranks", false},
        {"if(w, a, 0)", false},
    };
    shelf *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++)
        if (st_formula_is_collective(function_of(own, cases[i].formula).function) !=
            cases[i].expected)
            fail_msg("%s", cases[i].formula);
    const given f = function_of(own, "a");
    assert_false(st_formula_is_collective(st_sheet_find_function(f.sheet, "closed")));
}

TEST(names_are_variables_of_c)
{
    static const struct {
        const char *name;
        const char *expected;
    } cases[] = {{"t_gemm", "t_gemm"}, {"own", "own_"},       {"owner", "owner"},
                 {"log2", "log2_"},    {"Double", "Double"},  {"double", "double_"},
                 {"own_", "own_"},     {"friend", "friend_"}, {"auto", "auto_"}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_buffer text = {0};
        st_formula_write_name(cases[i].name, &text);
        assert_string_equal(text.data, cases[i].expected);
        st_buffer_free(&text);
    }
}

/* ---- templates ------------------------------------------------------------------------------- */

static const char *filled(shelf *own, const given *f, const char *text)
{
    const st_plugin_start start = {f->sheet, f->function};
    return st_plugin_function_file(text, &start, "my-model", own->arena);
}

TEST_OF(words_of_templates_are_filled_in, shelf *own, make_shelf, drop_shelf)
{
    const st_sheet *sheet = accept(
        own, SHEET_INPUTS "functions:\n"
                          "  g: {open: true, args: {size: B, own: 1, m: mode, C: GB/s, t: us}, "
                          "unit: us, doc: 'a \"time\"', cite: 'x\\y',\n"
                          "      is: 'if(m == part, size/C, t*own)'}\n"
                          "  h: {open: true, args: {ranks: 1}, is: 'if(ranks > 1, ranks, 0)'}\n"
                          "  closed: {open: true, args: {x: 1}}\n");
    given f = {sheet, st_sheet_find_function(sheet, "g")};
    static const struct {
        const char *text;
        const char *expected;
    } cases[] = {
        {"plain", "plain"},
        {"", ""},
        {"@NAME@@FUNCTION@, @SHEET@.", "my-modelg, t."},
        {"<@DOC@> <@QUOTED_DOC@> <@CITE@>", "<a \"time\"> <a \\\"time\\\"> <x\\\\y>"},
        {"@UNIT@ @COUNT@", "us 5"},
        {"@ORIGIN@", " * It begins with the sheet's own formula,\n *\n"},
        {"@FORMULA@", " *     if(m == part, size/C, t*own)\n"},
        {"@MODEL@", "(m == 1.0 ? size / C : t * own_)"},
        {"[@FLAGS@]", "[]"},
        {"@POINTERS@", "\n    &reads[0], &reads[1], &reads[2], &reads[3], &reads[4]"},
        /* 2*5 + 5, and 2 less for each that follows. */
        {"@ROW@", "15.385, 13.385, 11.385, 9.385, 7.385"},
        {"@COLUMNS@",
         "    double size = columns[0][row];\n    double own_ = columns[1][row];\n"
         "    double m = columns[2][row];\n    double C = columns[3][row];\n"
         "    double t = columns[4][row];\n"
         "    (void)size;\n    (void)own_;\n    (void)m;\n    (void)C;\n    (void)t;\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(filled(own, &f, cases[i].text), cases[i].expected);
    assert_null(filled(own, &f, "a @NAMES@"));
    assert_null(filled(own, &f, "a @NAM@"));
    const char *reads = filled(own, &f, "@READS@");
    assert_contains(reads,
                    ".name = \"own\",\n     .unit = \"\",\n     .doc = \"argument of the fu");
    assert_contains(reads, ".name = \"size\",\n     .unit = \"B\",\n     .doc = \"argument of the");
    assert_contains(reads,
                    ".name = \"m\",\n     .unit = \"\",\n     .doc = \"argument of the function\"");
    assert_contains(
        reads, ".name = \"C\",\n     .unit = \"GB/s\",\n     .doc = \"argument of the function\"");
    f.function = st_sheet_find_function(sheet, "h");
    assert_string_equal(filled(own, &f, "[@FLAGS@@UNIT@@COUNT@]"),
                        "[    .flags = ST_PLUGIN_COLLECTIVE,\n1]");
    f.function = st_sheet_find_function(sheet, "closed");
    assert_string_equal(filled(own, &f, "[@ORIGIN@@FORMULA@@FLAGS@@CITE@]"), "[]");
}

/* Six pointers and eight numbers a line. */
TEST_OF(long_lists_are_broken_into_lines, shelf *own, make_shelf, drop_shelf)
{
    const st_sheet *sheet =
        accept(own, "sheet: t\nfunctions:\n  g: {open: true, is: c + e + i,\n"
                    "      args: {a: 1, b: 1, c: 1, d: 1, e: 1, g: 1, h: 1, i: 1, j: 1}}\n");
    const given f = {sheet, st_sheet_find_function(sheet, "g")};
    assert_string_equal(filled(own, &f, "@POINTERS@"),
                        "\n    &reads[0], &reads[1], &reads[2], &reads[3], &reads[4], &reads[5],"
                        "\n    &reads[6], &reads[7], &reads[8]");
    assert_string_equal(filled(own, &f, "@ROW@"),
                        "23.385, 21.385, 19.385, 17.385, 15.385, 13.385, 11.385, 9.385,"
                        "\n        7.385");
}

/* 92 characters a line, at a blank where there is one. */
TEST_OF(long_formulas_are_broken_into_lines, shelf *own, make_shelf, drop_shelf)
{
    char text[512];
    char word[101] = "a";
    const char *ten = "a*1.2345 +"; /* and a blank: 11 characters */
    (void)snprintf(text, sizeof text, "%s %s %s %s %s %s %s %s 123 + %s b", ten, ten, ten, ten, ten,
                   ten, ten, ten, ten);
    given f = function_of(own, text);
    /* 8*11 characters and "123" are 91, and the blank behind them is the 92nd; "+" is next. */
    const char *line = filled(own, &f, "@FORMULA@");
    assert_int_equal(strcspn(line, "\n"), strlen(" *     ") + 91);
    assert_string_equal(strchr(line, '\n'), "\n *     + a*1.2345 + b\n");
    (void)snprintf(text, sizeof text, "%s %s %s %s %s %s %s %s 1234 + %s b", ten, ten, ten, ten,
                   ten, ten, ten, ten, ten);
    f = function_of(own, text); /* 92 in front of the blank */
    line = filled(own, &f, "@FORMULA@");
    assert_int_equal(strcspn(line, "\n"), strlen(" *     ") + 92);
    for (size_t i = 1; i < 99; i += 2)
        memcpy(word + i, "+a", 2);
    word[99] = '\0'; /* 99 characters without a blank */
    f = function_of(own, word);
    line = filled(own, &f, "@FORMULA@");
    assert_int_equal(strcspn(line, "\n"), strlen(" *     ") + 92);
    assert_string_equal(strchr(line, '\n'), "\n *     a+a+a+a\n");
}

TEST_OF(open_functions_are_found_by_name, shelf *own, make_shelf, drop_shelf)
{
    const given f = function_of(own, "a");
    const st_sheet_function *found = NULL;
    st_errors_clear(own->errors); /* inputs that nothing reads */
    assert_int_equal(st_plugin_function_find(f.sheet, "closed", &found, own->errors), ST_OK);
    assert_string_equal(found->name, "closed");
    found = NULL;
    assert_int_equal(st_plugin_function_find(f.sheet, "closd", &found, own->errors), ST_ERR_USAGE);
    assert_null(found);
    assert_string_equal(said(own),
                        "error: option --for: sheet t has no such open "
                        "function: found 'closd', expected one of closed, f; did you mean "
                        "'closed'?\n");
    /* It is there, and is not open. */
    assert_int_equal(st_plugin_function_find(f.sheet, "twice", &found, own->errors), ST_ERR_USAGE);
    assert_contains(said(own), "found 'twice', expected one of closed, f\n");
    const st_sheet *none = accept(own, "sheet: s\nfunctions:\n  f: {args: {x: 1}, is: 2*x}\n");
    assert_int_equal(st_plugin_function_find(none, "f", &found, own->errors), ST_ERR_USAGE);
    assert_contains(said(own), "sheet s has no such open function: found 'f', expected "
                               "one of none\n");
}

/* ---- whole projects -------------------------------------------------------------------------- */

/* What the file of a project holds; NULL where it is not there. */
static const char *held(shelf *own, const char *made, const char *file)
{
    const char *path = st_arena_printf(own->arena, "%s/%s", made, file);
    FILE *stream = fopen(path, "rb");
    if (stream == NULL)
        return NULL;
    char *text = st_arena_alloc(own->arena, MOST_BYTES + 1, 1);
    assert_non_null(text);
    assert_true(fread(text, 1, MOST_BYTES, stream) > 0);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static int make_folder(void **state)
{
    int made = make_shelf(state);
    (void)snprintf(folder, sizeof folder, "/tmp/steptime-project-XXXXXX");
    return made == 0 && mkdtemp(folder) != NULL ? 0 : -1;
}

static int drop_folder(void **state)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf -- '%s'", folder);
    return system(command) == 0 ? drop_shelf(state) : -1;
}

TEST_WITH(a_project_is_written_from_the_template, make_folder, drop_folder)
{
    static const char *const files[] = {"meson.build",
                                        "README.md",
                                        "plugins/my-model/meson.build",
                                        "plugins/my-model/my-model.c",
                                        "tests/values.c",
                                        "include/steptime/plugin.h"};
    shelf *own = *state;
    const st_plugin_start start = {0};
    const char *made = st_arena_printf(own->arena, "%s/made", folder);
    struct stat info;
    assert_int_equal(st_plugin_new("my-model", st_arena_printf(own->arena, "%s//", made), &start,
                                   own->arena, own->errors),
                     ST_OK);
    assert_int_equal(stat(made, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0755);
    for (size_t i = 0; i < COUNT(files); i++) {
        const char *text = held(own, made, files[i]);
        if (text == NULL)
            fail_msg("there is no %s", files[i]);
        bool header = i + 1 == COUNT(files);
        assert_true(header || strstr(text, "my-model") != NULL ||
                    strstr(files[i], "tests") != NULL);
        if (!header)
            assert_lacks(text, "template");
    }
    assert_contains(held(own, made, files[3]), "st_plugin_describe");
    assert_contains(held(own, made, files[5]), "#define ST_PLUGIN_ABI 1u");
    assert_null(held(own, made, "plugins/template/template.c"));
}

TEST_OF(a_project_may_begin_with_a_function, shelf *own, make_folder, drop_folder)
{
    const given f = function_of(own, "if(ranks > 1, a*b, 0)");
    const st_plugin_start start = {f.sheet, f.function};
    const char *made = st_arena_printf(own->arena, "%s/made", folder);
    assert_int_equal(st_plugin_new("my-model", made, &start, own->arena, own->errors), ST_OK);
    assert_contains(held(own, made, "plugins/my-model/my-model.c"),
                    "double value = (ranks > 1.0 ? a * b : 0.0);");
    assert_contains(held(own, made, "plugins/my-model/my-model.c"), "ST_PLUGIN_COLLECTIVE");
    assert_contains(held(own, made, "tests/values.c"), "15.385, 13.385, 11.385, 9.385, 7.385");
    assert_lacks(held(own, made, "README.md"), "@");
}

TEST_WITH(projects_that_cannot_be_are_refused, make_folder, drop_folder)
{
    static const struct {
        const char *name;
        const char *folder;
        st_status status;
        const char *text;
    } cases[] = {
        {"My-model", "made", ST_ERR_USAGE, "invalid plugin name: found 'My-model'"},
        {"2model", "made", ST_ERR_USAGE, "invalid plugin name: found '2model'"},
        {"test", "made", ST_ERR_USAGE, "'test' cannot be a plugin name: meson"},
        {"dist", "made", ST_ERR_USAGE, "'dist' cannot be a plugin name: meson"},
        {"my-model", "", ST_ERR_USAGE, "already exists; choose another folder with --dir"},
        {"my-model", "none/made", ST_ERR_IO, "cannot create the folder '"},
    };
    shelf *own = *state;
    const st_plugin_start start = {0};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *made = st_arena_printf(own->arena, "%s/%s", folder, cases[i].folder);
        assert_int_equal(st_plugin_new(cases[i].name, made, &start, own->arena, own->errors),
                         cases[i].status);
        const char *text = said(own);
        if (strstr(text, cases[i].text) == NULL)
            fail_msg("%s: %s", cases[i].name, text);
    }
    assert_int_equal(rmdir(folder), 0); /* nothing is left in it */
    assert_int_equal(mkdir(folder, 0700), 0);
}

TESTS(plugin_project);

/* SPDX-License-Identifier: Apache-2.0 */
/* Workbooks as files: what stands in them, that they are whole, and what becomes of failures. */
#define ZLIB_CONST /* the parts of a workbook are only read */

#include "report_support.h"

#include "export/xlsx.h"
#include "export/xlsx_file.h"
#include "sweep/sweep.h"

#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <zlib.h>

static unsigned number_at(const unsigned char *at, unsigned bytes)
{
    unsigned value = 0;
    for (unsigned i = bytes; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

/* All of a file, with its length. */
static unsigned char *read_file(const fixture *own, const char *name, size_t *length)
{
    FILE *stream = fopen(below(own, name), "rb");
    assert_non_null(stream);
    assert_int_equal(fseek(stream, 0, SEEK_END), 0);
    *length = (size_t)ftell(stream);
    rewind(stream);
    unsigned char *data = malloc(*length + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *length, stream), *length);
    assert_int_equal(fclose(stream), 0);
    return data;
}

/* The text of a part of a workbook, in the fixture's arena. */
static const char *part_of(const fixture *own, const char *file, const char *part)
{
    size_t length = 0;
    unsigned char *data = read_file(own, file, &length);
    const unsigned char *entry = data + number_at(data + length - 22 + 16, 4);
    char *text = NULL;
    for (unsigned i = number_at(data + length - 22 + 10, 2); i > 0; i--) {
        unsigned name = number_at(entry + 28, 2);
        if (name == strlen(part) && memcmp(entry + 46, part, name) == 0) {
            const unsigned char *local = data + number_at(entry + 42, 4);
            unsigned size = number_at(entry + 24, 4);
            z_stream stream = {.next_in =
                                   local + 30 + number_at(local + 26, 2) + number_at(local + 28, 2),
                               .avail_in = number_at(entry + 20, 4),
                               .avail_out = size};
            text = st_arena_alloc(own->arena, size + 1, 1);
            assert_non_null(text);
            stream.next_out = (Bytef *)text;
            assert_int_equal(inflateInit2(&stream, -MAX_WBITS), Z_OK);
            assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
            assert_int_equal(inflateEnd(&stream), Z_OK);
        }
        entry += 46 + name + number_at(entry + 30, 2) + number_at(entry + 32, 2);
    }
    free(data);
    if (text == NULL)
        fail_msg("%s has no part %s", file, part);
    return text;
}

static void make_folder(const fixture *own, const char *name)
{
    assert_int_equal(mkdir(below(own, name), 0700), 0);
}

static size_t count_entries(const char *folder)
{
    size_t count = 0;
    DIR *opened = opendir(folder);
    assert_non_null(opened);
    while (readdir(opened) != NULL)
        count++;
    assert_int_equal(closedir(opened), 0);
    return count - 2; /* "." and ".." */
}

/* --- estimates ------------------------------------------------------------------------------- */

static void write_station(fixture *own, const char *set, const char *name)
{
    st_estimate estimate = {0};
    write_pump(own);
    run_station(own, set, true, &estimate);
    st_status status = st_estimate_write_xlsx(&estimate, below(own, name), own->arena, own->errors);
    if (status != ST_OK)
        fail_msg("%s", said(own));
}

TEST_OF(an_estimate_has_live_formulas, fixture *own, set_up, tear_down)
{
    write_station(own, NULL, "a.xlsx");
    const char *cells = part_of(own, "a.xlsx", "xl/worksheets/sheet1.xml");
    assert_contains(cells, "<f>V/rate/n</f>");
    assert_contains(cells, "<f>C_*(1-loss)</f>");
    assert_contains(cells, "<f>T*1000</f>");
    assert_contains(cells, "<f>gear&lt;&gt;\"none\"</f>");
    assert_contains(cells, "<f>IF(shifted,\"yes\",\"no\")</f><v>no</v>");
    const char *book = part_of(own, "a.xlsx", "xl/workbook.xml");
    assert_contains(book, "<definedName name=\"C_\">Inputs!$I$");
    assert_contains(book, "<definedName name=\"T\">Estimate!$G$");
    const char *checks = part_of(own, "a.xlsx", "xl/worksheets/sheet3.xml");
    assert_contains(checks, "<f>n&lt;=100</f><v>1</v>");
    assert_contains(checks, "<f>IF(ISERROR(check_1),\"unknown\",IF(check_1,\"holds\","
                            "\"FAILS\"))</f><v>holds</v>");
    assert_contains(checks, "\"holds\",\"warns\"))</f><v>holds</v>");
    assert_contains(checks, "<conditionalFormatting sqref=\"B2:B3\">");
}

TEST_OF(inputs_are_values_with_their_rules, fixture *own, set_up, tear_down)
{
    write_station(own, NULL, "a.xlsx");
    const char *inputs = part_of(own, "a.xlsx", "xl/worksheets/sheet2.xml");
    assert_contains(inputs, "<v>571.3</v>"); /* MB */
    assert_contains(inputs, "<v>12.5</v>");  /* % */
    assert_contains(inputs, "*1000000</f><v>571300000</v>");
    assert_contains(inputs, "/100</f><v>0.125</v>");
    assert_contains(inputs, "<formula1>\"none,selective,full\"</formula1>");
    assert_contains(inputs, "type=\"whole\"");
    assert_contains(inputs, "<f>INDEX(Lists!$B$2:$B$4,MATCH($B$");
    const char *strings = part_of(own, "a.xlsx", "xl/sharedStrings.xml");
    assert_contains(strings, "<t>assumption</t>");
    assert_contains(strings, "<t>seen</t>");
    assert_contains(strings, "<t>the sheet's default</t>");
    assert_contains(strings, "<t>flow_time(size, rate)</t>");
}

TEST_OF(the_same_estimate_gives_the_same_bytes, fixture *own, set_up, tear_down)
{
    write_station(own, NULL, "a.xlsx");
    write_station(own, NULL, "b.xlsx");
    size_t lengths[2];
    unsigned char *a = read_file(own, "a.xlsx", &lengths[0]);
    unsigned char *b = read_file(own, "b.xlsx", &lengths[1]);
    assert_int_equal(lengths[0], lengths[1]);
    assert_memory_equal(a, b, lengths[0]);
    free(a);
    free(b);
    assert_contains(part_of(own, "a.xlsx", "docProps/core.xml"), ">1980-01-01T00:00:00Z<");
}

TEST_OF(the_date_can_be_given, fixture *own, set_up, tear_down)
{
    static const char *const cases[][2] = {
        {"1700000000", ">2023-11-14T22:13:20Z<"},
        {"", ">1980-01-01T00:00:00Z<"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(setenv("SOURCE_DATE_EPOCH", cases[i][0], 1), 0);
        write_station(own, NULL, "a.xlsx");
        assert_contains(part_of(own, "a.xlsx", "docProps/core.xml"), cases[i][1]);
    }
    assert_int_equal(unsetenv("SOURCE_DATE_EPOCH"), 0);
}

TEST_OF(a_date_that_is_none_is_refused, fixture *own, set_up, tear_down)
{
    static const char *const cases[] = {"soon", "-5", "17e8", "99999999999999999999"};
    st_estimate estimate = {0};
    write_pump(own);
    run_station(own, NULL, true, &estimate);
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(setenv("SOURCE_DATE_EPOCH", cases[i], 1), 0);
        assert_int_equal(
            st_estimate_write_xlsx(&estimate, below(own, "none.xlsx"), own->arena, own->errors),
            ST_ERR_VALUE);
        assert_contains(said(own), "SOURCE_DATE_EPOCH: error: invalid date of results");
        assert_int_equal(access(below(own, "none.xlsx"), F_OK), -1);
    }
    assert_int_equal(unsetenv("SOURCE_DATE_EPOCH"), 0);
}

TEST_OF(a_sheet_alone_is_to_be_filled_in, fixture *own, set_up, tear_down)
{
    const st_sheet *sheet = NULL;
    st_buffer bytes = {0};
    write_pump(own);
    st_sheet_reader reader = st_paths_sheet_reader(own->paths);
    assert_int_equal(st_sheet_load(&reader, "pump", own->arena, &sheet, own->errors), ST_OK);
    assert_int_equal(st_sheet_write_xlsx(sheet, own->arena, &bytes, own->errors), ST_OK);
    write_bytes(own, "pump.xlsx", bytes.data, bytes.length);
    st_buffer_free(&bytes);
    const char *inputs = part_of(own, "pump.xlsx", "xl/worksheets/sheet2.xml");
    assert_contains(inputs, "<f>IF(ISBLANK($B$4),NA(),$B$4)</f><v>#NUM!</v>");
    assert_contains(inputs, "<v>12.5</v>"); /* the default of `loss` */
    const char *cells = part_of(own, "pump.xlsx", "xl/worksheets/sheet1.xml");
    assert_contains(cells, "<f>V/rate/n</f>");
    const char *strings = part_of(own, "pump.xlsx", "xl/sharedStrings.xml");
    assert_contains(strings, "<t>to fill in</t>");
    assert_lacks(strings, "not finite");
}

TEST_OF(checks_that_warn_fail_nothing, fixture *own, set_up, tear_down)
{
    write_station(own, "cluster.nic_bandwidth=1 MB/s", "a.xlsx");
    assert_contains(part_of(own, "a.xlsx", "xl/worksheets/sheet3.xml"), "<v>warns</v>");
    assert_contains(part_of(own, "a.xlsx", "xl/worksheets/sheet1.xml"),
                    "<v>warns: 1 of 2, see the sheet Checks</v>");
}

/* --- tables ---------------------------------------------------------------------------------- */

static const char *const gear_values[] = {"none", "full"};
static const st_enum gears = {.name = "gear", .values = gear_values, .count = 2};

typedef struct kinds {
    st_type count;
    st_type time;
    st_type gear;
    st_xlsx_column columns[4];
    st_xlsx_layout layout;
} kinds;

static void make_kinds(fixture *own, kinds *made)
{
    *made = (kinds){.count = {.kind = ST_TYPE_NUMBER, .unit = st_unit_one()},
                    .time = {.kind = ST_TYPE_NUMBER},
                    .gear = {.kind = ST_TYPE_ENUM, .enumeration = &gears}};
    assert_int_equal(st_unit_parse("ms", 2, (st_place){0}, &made->time.unit, own->errors), ST_OK);
    made->columns[0] = (st_xlsx_column){"gpus", &made->count};
    made->columns[1] = (st_xlsx_column){"=T", &made->time};
    made->columns[2] = (st_xlsx_column){"gear", &made->gear};
    made->columns[3] = (st_xlsx_column){"plan", NULL};
    made->layout = (st_xlsx_layout){made->columns, COUNT(made->columns)};
}

static st_xlsx_table *begin_table(fixture *own, const kinds *made, const char *name)
{
    st_xlsx_table *table = NULL;
    st_status status =
        st_xlsx_table_begin(below(own, name), &made->layout, own->arena, &table, own->errors);
    if (status != ST_OK)
        fail_msg("%s", said(own));
    return table;
}

TEST_OF(tables_have_units_and_a_chart, fixture *own, set_up, tear_down)
{
    kinds made;
    make_kinds(own, &made);
    st_xlsx_table *table = begin_table(own, &made, "t.xlsx");
    for (size_t i = 0; i < 3; i++) {
        const st_xlsx_field fields[] = {
            {.number = 8 << i},
            {.number = i == 1 ? (double)NAN : 0.002385 / (double)(i + 1)},
            {.number = 1},
            {.text = "+1"}};
        assert_int_equal(st_xlsx_table_row(table, fields, own->errors), ST_OK);
    }
    const size_t lines[] = {1};
    const st_xlsx_chart chart = {.title = "T", .x = 0, .lines = lines, .line_count = 1};
    assert_int_equal(st_xlsx_table_end(table, &chart, own->errors), ST_OK);
    const char *rows = part_of(own, "t.xlsx", "xl/worksheets/sheet1.xml");
    assert_contains(rows, "<is><t>=T</t></is>");
    assert_contains(rows, "<is><t>ms</t></is>");
    assert_contains(rows, "<c r=\"A3\"><v>8</v></c><c r=\"B3\"><v>2.385</v></c>");
    assert_contains(rows, "<c r=\"C3\" t=\"inlineStr\"><is><t>full</t></is></c>");
    assert_contains(rows, "<is><t>+1</t></is>");
    assert_contains(rows, "<c r=\"A4\"><v>16</v></c><c r=\"C4\"");
    assert_contains(rows, "<c r=\"B5\"><v>0.795</v></c>");
    const char *drawn = part_of(own, "t.xlsx", "xl/charts/chart1.xml");
    assert_contains(drawn, "<c:f>Table!$A$3:$A$5</c:f>");
    assert_contains(drawn, "<c:f>Table!$B$3:$B$5</c:f>");
    assert_contains(drawn, "<a:t> =T [ms]</a:t>");
}

TEST_OF(tables_without_rows_are_workbooks, fixture *own, set_up, tear_down)
{
    kinds made;
    make_kinds(own, &made);
    assert_int_equal(st_xlsx_table_end(begin_table(own, &made, "t.xlsx"), NULL, own->errors),
                     ST_OK);
    assert_contains(part_of(own, "t.xlsx", "xl/worksheets/sheet1.xml"), "<is><t>gpus</t></is>");
}

TEST_OF(tables_that_are_given_up_leave_nothing, fixture *own, set_up, tear_down)
{
    kinds made;
    make_kinds(own, &made);
    make_folder(own, "scratch");
    assert_int_equal(setenv("TMPDIR", below(own, "scratch"), 1), 0);
    st_xlsx_table *table = begin_table(own, &made, "t.xlsx");
    const st_xlsx_field fields[4] = {{.number = 2.385}};
    assert_int_equal(st_xlsx_table_row(table, fields, own->errors), ST_OK);
    st_xlsx_table_drop(table);
    st_xlsx_table_drop(NULL);
    assert_int_equal(count_entries(below(own, "scratch")), 0);
    assert_null(fopen(below(own, "t.xlsx"), "rb"));
    assert_int_equal(unsetenv("TMPDIR"), 0);
}

TEST_OF(tables_keep_to_the_size_of_spreadsheets, fixture *own, set_up, tear_down)
{
    kinds made;
    make_kinds(own, &made);
    st_xlsx_layout wide = {made.columns, ST_XLSX_MAX_COLUMNS + 1};
    st_xlsx_table *table = NULL;
    assert_int_equal(
        st_xlsx_table_begin(below(own, "t.xlsx"), &wide, own->arena, &table, own->errors),
        ST_ERR_LIMIT);
    assert_null(table);
    assert_contains(said(own), "too many columns");
    st_xlsx_layout empty = {made.columns, 0};
    assert_int_equal(
        st_xlsx_table_begin(below(own, "t.xlsx"), &empty, own->arena, &table, own->errors), ST_OK);
    for (size_t i = 0; i < ST_XLSX_MAX_ROWS; i++)
        assert_int_equal(st_xlsx_table_row(table, NULL, own->errors), ST_OK);
    assert_int_equal(st_xlsx_table_row(table, NULL, own->errors), ST_ERR_LIMIT);
    assert_contains(said(own), "too many rows");
    st_xlsx_table_drop(table);
}

/* --- files ----------------------------------------------------------------------------------- */

TEST_OF(targets_that_cannot_be_written_are_named, fixture *own, set_up, tear_down)
{
    kinds made;
    make_kinds(own, &made);
    make_folder(own, "taken");
    make_folder(own, "scratch");
    assert_int_equal(setenv("TMPDIR", below(own, "scratch"), 1), 0);
    static const char *const cases[][2] = {
        {"taken", "the path is a folder"},
        {"nowhere/t.xlsx", "the folder does not exist"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_xlsx_table *table = begin_table(own, &made, cases[i][0]);
        assert_int_equal(st_xlsx_table_end(table, NULL, own->errors), ST_ERR_IO);
        assert_contains(said(own), cases[i][1]);
    }
    assert_int_equal(count_entries(below(own, "scratch")), 0);
    assert_int_equal(setenv("TMPDIR", below(own, "nowhere"), 1), 0);
    st_xlsx_table *table = NULL;
    assert_int_equal(
        st_xlsx_table_begin(below(own, "t.xlsx"), &made.layout, own->arena, &table, own->errors),
        ST_ERR_IO);
    assert_null(table);
    assert_contains(said(own), "nowhere: No such file");
    assert_int_equal(unsetenv("TMPDIR"), 0);
}

TEST_OF(damaged_workbooks_are_not_whole, fixture *own, set_up, tear_down)
{
    size_t length = 0;
    write_station(own, NULL, "a.xlsx");
    unsigned char *data = read_file(own, "a.xlsx", &length);
    assert_true(st_xlsx_is_whole((const char *)data, length));
    for (size_t cut = 1; cut <= length; cut += cut < 40 ? 1 : 97)
        assert_false(st_xlsx_is_whole((const char *)data, length - cut));
    data[30 + number_at(data + 26, 2) + number_at(data + 28, 2) + 57] ^= 0x10; /* packed bytes */
    assert_false(st_xlsx_is_whole((const char *)data, length));
    free(data);
}

/* A ZIP file with one part, packed as libxlsxwriter packs. */
static size_t pack(const char *text, unsigned char *out, size_t room)
{
    z_stream stream = {.next_in = (const Bytef *)text, .avail_in = (uInt)strlen(text)};
    memset(out, 0, room);
    memcpy(out, "PK\3\4", 4);
    out[26] = 1; /* the name's length */
    out[30] = 'a';
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_out = out + 31;
    stream.avail_out = (uInt)(room - 200);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    unsigned packed = (unsigned)stream.total_out;
    assert_int_equal(deflateEnd(&stream), Z_OK);
    unsigned char *entry = out + 31 + packed;
    memcpy(entry, "PK\1\2", 4);
    entry[10] = Z_DEFLATED;
    uLong sum = crc32(0, (const Bytef *)text, (uInt)strlen(text));
    for (unsigned i = 0; i < 4; i++)
        entry[16 + i] = (unsigned char)(sum >> (8 * i));
    entry[20] = (unsigned char)packed;
    entry[21] = (unsigned char)(packed >> 8);
    entry[24] = (unsigned char)strlen(text);
    entry[25] = (unsigned char)(strlen(text) >> 8);
    entry[28] = 1;
    unsigned char *end = entry + 47;
    memcpy(end, "PK\5\6", 4);
    end[10] = 1;
    end[16] = (unsigned char)(entry - out);
    end[17] = (unsigned char)((entry - out) >> 8);
    return (size_t)(end - out) + 22;
}

TEST(parts_are_well_formed_and_lack_nothing)
{
    static const struct {
        const char *text;
        bool whole;
    } cases[] = {
        {"<?xml version=\"1.0\"?>\n<sheet><a>2.385</a></sheet>", true},
        {"<?xml version=\"1.0\"?>\n<sheet a=\"b\"><a/></sheet>\r\n", true},
        {"<?xml version=\"1.0\"?>\n<sheet/>", true},
        {"<?xml version=\"1.0\"?>\n<a count=\"2\"><b/><b/></a>", true},
        {"<?xml version=\"1.0\"?>\n<a count=\"2\"><b/></a>", false},
        {"<?xml version=\"1.0\"?>\n<a count=\"9\" uniqueCount=\"1\"><b>2.385</b></a>", true},
        {"<?xml version=\"1.0\"?>\n<a count=\"1\" uniqueCount=\"2\"><b/></a>", false},
        {"<?xml version=\"1.0\"?>\n<s><row r=\"2\"><c r=\"A2\"/><c r=\"AB2\"/></row><row "
         "r=\"5\"/></s>",
         true},
        {"<?xml version=\"1.0\"?>\n<s><row r=\"2\"><c r=\"A2\"/><c r=\"B5\"/></row></s>", false},
        {"<?xml version=\"1.0\"?>\n<s><row r=\"2\"><c r=\"AB2\"/><c r=\"C2\"/></row></s>", false},
        {"<?xml version=\"1.0\"?>\n<s><row r=\"5\"/><row r=\"5\"/></s>", false},
        {"<?xml version=\"1.0\"?>\n<sheet><a>2.385</a>", false},
        {"<?xml version=\"1.0\"?>\n<sheet><a>2.385</a></shee", false},
        {"<?xml version=\"1.0\"?>\n<sheet><a>2.385</a></sheet", false},
        {"<?xml version=\"1.0\"?>\n<sheet><a>2.385</a></xsheet>", false},
        {"<?xml version=\"1.0\"?>\n<sheet><a>2.385</b></sheet>", false},
        {"<?xml version=\"1.0\"?>\n", false},
        {"<sheet><a/></sheet>", false},
        {"", false},
    };
    unsigned char data[1024];
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t length = pack(cases[i].text, data, sizeof data);
        if (st_xlsx_is_whole((const char *)data, length) != cases[i].whole)
            fail_msg("'%s' counts as %s", cases[i].text, cases[i].whole ? "damaged" : "whole");
    }
}

/* Whatever stands there: no crash, and reads stay inside, which the sanitizers see to. */
TEST(bytes_of_nobody_are_no_workbook)
{
    unsigned char data[1024];
    size_t length = pack("<?xml version=\"1.0\"?><sheet><a>2.385</a></sheet>", data, sizeof data);
    for (size_t i = 0; i < length; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            unsigned char *copy = malloc(length);
            assert_non_null(copy);
            memcpy(copy, data, length);
            copy[i] ^= (unsigned char)(1u << bit);
            (void)st_xlsx_is_whole((const char *)copy, length);
            free(copy);
        }
    }
}

/* ---- sweeps ---- */

static const char kiln[] = "sheet: kiln\n"
                           "enums: {glaze: [plain, thick]}\n"
                           "inputs:\n"
                           "  d: {from: parallel.dp, doc: kilns}\n"
                           "  glaze: {from: constants.glaze, unit: glaze, doc: g, default: plain}\n"
                           "cells:\n"
                           "  T: {unit: ms, is: '2.5[s]/d + 0.125[s]', doc: a day}\n"
                           "  shape: {unit: glaze, is: glaze, doc: glaze}\n"
                           "checks:\n"
                           "  - {that: d < 7, else: too many}\n"
                           "roles: {step: T, dp: d}\n";

/* Two kinds of glaze over two, four and eight kilns, of which eight are too many. */
static void write_sweep(fixture *own, const char *const *cells, bool checks_warn, bool keep)
{
    static const char *const overs[] = {"constants.glaze=plain,thick", "parallel.dp=2,4,8"};
    const st_space_request request = {.job = "pottery",
                                      .option = "--over",
                                      .overs = overs,
                                      .over_count = 2,
                                      .cells = cells,
                                      .cell_count = 2,
                                      .checks_warn = checks_warn};
    st_space *space = NULL;
    st_sweep_book *book = NULL;
    write_text(own, "formulas/kiln.yaml", kiln);
    write_text(own, "configs/jobs/pottery.yaml", "name: pottery\nsheet: kiln\n");
    if (st_space_create(own->paths, &request, own->arena, &space, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    st_space_worker *worker = st_space_worker_create(space);
    assert_non_null(worker);
    worker->all_checks = checks_warn;
    st_space_run(worker, 0, 6);
    assert_int_equal(st_sweep_book_begin(space, below(own, "s.xlsx"), &book, own->errors), ST_OK);
    assert_int_equal(st_sweep_book_take(book, worker, own->errors), ST_OK);
    assert_int_equal(st_sweep_book_end(book, keep, own->errors), ST_OK);
    st_space_worker_destroy(worker);
}

TEST_OF(sweeps_have_a_row_for_what_is_kept, fixture *own, set_up, tear_down)
{
    static const char *const cells[] = {"T", "shape"};
    write_sweep(own, cells, false, true);
    const char *rows = part_of(own, "s.xlsx", "xl/worksheets/sheet1.xml");
    static const char *const parts[] = {"<c r=\"B3\"><v>2</v></c><c r=\"C3\"><v>1375</v></c>",
                                        "<c r=\"B4\"><v>4</v></c><c r=\"C4\"><v>750</v></c>",
                                        "<c r=\"B6\"><v>4</v></c><c r=\"C6\"><v>750</v></c>",
                                        "<c r=\"D6\" t=\"inlineStr\"><is><t>thick</t>",
                                        "<is><t>constants.glaze</t></is>",
                                        "<is><t>ms</t></is>"};
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(rows, parts[i]);
    assert_lacks(rows, "r=\"A7\"");
    assert_lacks(rows, "failed");
    const char *drawn = part_of(own, "s.xlsx", "xl/charts/chart1.xml");
    assert_contains(drawn, "<c:f>Table!$B$3:$B$6</c:f>");
    assert_contains(drawn, "<c:f>Table!$C$3:$C$6</c:f>");
}

/* A load that fails for want of memory takes libcrypto from all later ones; see open_library. */
TEST_OF(the_library_is_loaded_once, fixture *own, set_up, tear_down)
{
    kinds made;
    make_kinds(own, &made);
    st_xlsx_table_drop(begin_table(own, &made, "t.xlsx"));
    assert_non_null(dlopen("libxlsxwriter.so." LXW_SOVERSION, RTLD_NOW | RTLD_NOLOAD));
}

/* Without checks all are kept, and marked. A word is not drawn; what is not kept is not written. */
TEST_OF(sweeps_may_mark_rows, fixture *own, set_up, tear_down)
{
    static const char *const cells[] = {"shape", "T"};
    write_sweep(own, cells, true, false);
    assert_int_equal(access(below(own, "s.xlsx"), F_OK), -1);
    write_sweep(own, cells, true, true);
    const char *rows = part_of(own, "s.xlsx", "xl/worksheets/sheet1.xml");
    assert_contains(rows, "<is><t>failed</t></is>");
    assert_contains(rows, "<c r=\"E5\" t=\"inlineStr\"><is><t>d &lt; 7</t></is></c>");
    assert_contains(rows, "<c r=\"E8\" t=\"inlineStr\"><is><t>d &lt; 7</t></is></c>");
    assert_lacks(rows, "<c r=\"E6\" t=\"inlineStr\"><is><t>d");
    assert_contains(rows, "<c r=\"D8\"><v>437.5</v></c>");
}

TESTS(xlsx);

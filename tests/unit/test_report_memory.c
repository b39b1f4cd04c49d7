/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What estimator/report does when memory runs out: every allocation fails once, then all from one
 * on. A writer either has the whole text or says that it failed; nothing crashes or leaks.
 */
#include "../support/faults.h"
#include "program/program.h"
#include "report_support.h"

#include "fit/steps/cases.h"
#include "export/xlsx.h"

typedef st_status scenario(const fixture *own, st_arena *arena, st_errors *errors,
                           st_buffer *buffer);

/* The text of a run in which nothing fails; NULL where an allocation failed and was noticed. */
static char *run_scenario(scenario *run, const fixture *own)
{
    char *text = NULL;
    st_buffer buffer = {0};
    st_errors *errors = st_errors_create();
    st_arena *arena = st_arena_create();
    st_status status = ST_ERR_MEMORY;
    if (errors != NULL && arena != NULL)
        status = run(own, arena, errors, &buffer);
    if (status == ST_OK && !buffer.failed) {
        text = buffer.data;
        buffer.data = NULL;
    }
    st_buffer_free(&buffer);
    st_arena_destroy(arena);
    st_errors_destroy(errors);
    return text;
}

static void assert_same(const char *text, const char *whole)
{
    /* A message for which there was no memory says the least: that is no harm to the result. */
    if (strstr(text, "warning: a check of the sheet fails") != NULL)
        return;
    size_t same = 0;
    while (text[same] != '\0' && text[same] == whole[same])
        same++;
    if (text[same] != whole[same])
        fail_msg("failure %d: '%.80s' instead of '%.80s'", fault.failed, text + same, whole + same);
}

static void fail_each(scenario *run, const fixture *own)
{
    set_fault(0, false);
    char *whole = run_scenario(run, own);
    assert_non_null(whole);
    int failures = 0;
    for (int lasting = 0; lasting < 2; lasting++) {
        int at = 0;
        do {
            set_fault(at++, lasting != 0);
            arm();
            char *text = run_scenario(run, own);
            disarm();
            failures += fault.failed > 0;
            if (text != NULL)
                assert_same(text, whole);
            free(text);
        } while (fault.failed > 0 && at < MOST_ALLOCATIONS);
        assert_true(at < MOST_ALLOCATIONS);
    }
    assert_true(failures > 10);
    free(whole);
}

static st_status station(const fixture *own, st_arena *arena, st_errors *errors,
                         st_estimate *estimate)
{
    static const char *const sets[] = {"cluster.nic_bandwidth=1 MB/s"}; /* slow: a warning */
    st_request request = {.job = "station", .sets = sets, .set_count = 1};
    st_status status = st_estimate_load(own->paths, &request, arena, estimate, errors);
    if (status == ST_OK)
        status = st_estimate_show_report(estimate, true, arena);
    if (status == ST_OK)
        status = st_estimate_run(estimate, arena, errors);
    /* The warning is part of the text; without it the run counts as one that failed. */
    if (status == ST_OK && st_errors_size(errors) != 1)
        status = ST_ERR_MEMORY;
    return status;
}

static st_status estimate_as_text(const fixture *own, st_arena *arena, st_errors *errors,
                                  st_buffer *buffer)
{
    st_estimate estimate;
    const st_paint narrow = {true, 50};
    st_status status = station(own, arena, errors, &estimate);
    if (status == ST_OK) {
        st_result result;
        st_estimate_report(&estimate, errors, arena, &result);
        st_result_write_text(&result, &narrow, buffer);
    }
    return status;
}

static st_status estimate_as_json_and_csv(const fixture *own, st_arena *arena, st_errors *errors,
                                          st_buffer *buffer)
{
    st_estimate estimate;
    st_status status = station(own, arena, errors, &estimate);
    if (status == ST_OK) {
        write_estimate(&estimate, errors, arena, ST_FORM_JSON, buffer);
        write_estimate(&estimate, errors, arena, ST_FORM_CSV, buffer);
    }
    return status;
}

static st_status explanation(const fixture *own, st_arena *arena, st_errors *errors,
                             st_buffer *buffer)
{
    st_estimate estimate;
    const st_explanation *found = NULL;
    st_status status = station(own, arena, errors, &estimate);
    if (status == ST_OK)
        status = st_program_explain(estimate.program, estimate.input_values, "spare", -1, arena,
                                    &found, errors);
    if (status == ST_OK) {
        st_result result;
        result.arena = arena;
        st_explanation_report(&estimate, found, 0, errors, &result);
        st_result_write_text(&result, &plain, buffer);
        st_result_write_json(&result, buffer);
    }
    return status;
}

static st_status sheet_in_all_forms(const fixture *own, st_arena *arena, st_errors *errors,
                                    st_buffer *buffer)
{
    st_estimate estimate;
    st_status status = station(own, arena, errors, &estimate);
    if (status == ST_OK) {
        st_result result;
        st_sheet_report(estimate.sheet, estimate.program, arena, &result);
        st_result_write_text(&result, &plain, buffer);
        st_result_write_json(&result, buffer);
        st_sheet_write_markdown(estimate.sheet, ST_MARKDOWN_MATH, 1, arena, buffer);
        st_sheet_write_latex(estimate.sheet, arena, buffer);
    }
    return status;
}

#ifdef STEPTIME_HAVE_XLSXWRITER
/* A workbook is the same bytes whenever it is one. */
static st_status sheet_as_workbook(const fixture *own, st_arena *arena, st_errors *errors,
                                   st_buffer *buffer)
{
    st_estimate estimate;
    st_buffer bytes = {0};
    uint64_t sum = 0;
    st_status status = station(own, arena, errors, &estimate);
    if (status == ST_OK)
        status = st_sheet_write_xlsx(estimate.sheet, arena, &bytes, errors);
    for (size_t i = 0; i < bytes.length; i++)
        sum = sum * 31 + (unsigned char)bytes.data[i];
    st_buffer_printf(buffer, "%zu bytes, sum %016llx", bytes.length, (unsigned long long)sum);
    buffer->failed = buffer->failed || bytes.failed;
    st_buffer_free(&bytes);
    return status;
}
#endif

static st_status validation(const fixture *own, st_arena *arena, st_errors *errors,
                            st_buffer *buffer)
{
    st_case_source source;
    st_status status = st_cases_load(own->paths, "book", arena, &source, errors);
    if (status == ST_OK)
        status = st_cases_run(own->paths, arena, &source, errors);
    if (status == ST_OK) {
        st_result result;
        st_cases_put(&source, 1, st_result_begin(&result, arena));
        st_result_write_text(&result, &plain, buffer);
        st_result_write_json(&result, buffer);
        st_result_write_csv(&result, buffer);
    }
    return status;
}

static void every_form_is_whole_or_has_failed(void **state)
{
    static scenario *const scenarios[] = {estimate_as_text,  estimate_as_json_and_csv,
                                          explanation,       sheet_in_all_forms,
#ifdef STEPTIME_HAVE_XLSXWRITER
                                          sheet_as_workbook,
#endif
                                          validation};
    fixture *own = *state;
    write_pump(own);
    write_text(own, "validation/book/cases.yaml",
               "source: book\ntitle: t\ncite: c\ncases:\n"
               "  - name: a\n    job: station\n    set: [parallel.dp=4]\n"
               "    values: [{cell: n, published: 4, tolerance: 0}]\n");
    for (size_t i = 0; i < COUNT(scenarios); i++)
        fail_each(scenarios[i], own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_form_is_whole_or_has_failed, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

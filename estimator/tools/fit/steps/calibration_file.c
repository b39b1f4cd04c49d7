/* SPDX-License-Identifier: Apache-2.0 */
/* A calibration as a file of constants; see calibrate.h. */
#include "fit/steps/calibrate.h"
#include "base/text.h"

#include "fit/steps/accuracy.h"

#include <math.h>
#include <string.h>

static const char constants[] = "constants.";

enum { LINE_WIDTH = 98 };

const char *st_loss_name(st_loss loss)
{
    return loss == ST_LOSS_SOFT_L1 ? "soft-l1" : "square";
}

static const st_row *row_of(const st_calibration *calibration, const st_used_row *used)
{
    return &calibration->sets[used->set].rows[used->row];
}

/* Characters without a special meaning anywhere in YAML. */
static bool is_harmless(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("._-/", c) != NULL);
}

/* A text as YAML: bare where nothing in it could mean anything else, else quoted as in JSON. */
static void write_scalar(const char *text, st_buffer *buffer)
{
    static const char *const words[] = {"null", "true", "false"};
    bool bare = is_harmless(text[0]) && strchr("._-/0123456789", text[0]) == NULL;
    for (size_t i = 0; i < ST_COUNT(words); i++)
        bare = bare && strcmp(text, words[i]) != 0;
    for (const char *c = text; *c != '\0'; c++)
        bare = bare && is_harmless(*c);
    if (bare)
        st_buffer_text(buffer, text);
    else
        st_buffer_json_string(buffer, text);
}

static void write_value(const st_type *type, double value, st_buffer *buffer)
{
    char text[ST_QUANTITY_TEXT];
    if (isfinite(value))
        st_buffer_text(buffer, st_type_format(type, value, ST_STYLE_UNIT, text, sizeof text));
    else
        st_buffer_text(buffer, "unknown");
}

/* To a decimal place that changes a value by less than `most`, all in base units. */
static double round_to(const st_type *type, double value, double most)
{
    double shown = st_unit_from_base(&type->unit, value);
    double place = pow(10.0, floor(log10(2.0 * st_unit_from_base(&type->unit, most))));
    return st_unit_to_base(&type->unit, round(shown / place) * place);
}

/* A fitted value without digits that its standard error makes meaningless. */
static void write_fitted(const st_calibration *calibration, size_t index, st_buffer *buffer)
{
    double value = calibration->solution.values[index];
    double error = calibration->solution.errors[index];
    const st_type *type = calibration->varied[index].type;
    bool known = isfinite(error) && error > 0;
    write_value(type, known ? round_to(type, value, error / 10.0) : value, buffer);
}

static void write_share(const char *name, double share, st_buffer *buffer)
{
    char text[ST_QUANTITY_TEXT];
    st_buffer_printf(buffer, "%s: %s", name,
                     isfinite(share) ? st_number_format(round(share * 1e6) / 1e6, text, sizeof text)
                                     : "unknown");
}

static void write_yaml_errors(const char *key, const st_error_summary *errors, st_buffer *buffer)
{
    st_buffer_printf(buffer, "%s: {rows: %zu, ", key, errors->count);
    write_share("mean", errors->mean_absolute, buffer);
    write_share(", median", errors->median_absolute, buffer);
    write_share(", bias", errors->bias, buffer);
    write_share(", largest", errors->largest, buffer);
    st_buffer_text(buffer, "}\n");
}

static void write_varied(const st_calibration *calibration, st_buffer *buffer)
{
    const st_solution *solution = &calibration->solution;
    st_buffer_text(buffer, "  constants:\n");
    for (size_t i = 0; i < calibration->varied_count; i++) {
        const st_varied *varied = &calibration->varied[i];
        st_buffer_text(buffer, "    ");
        write_scalar(varied->name, buffer);
        st_buffer_text(buffer, ": {");
        if (varied->name != varied->path)
            st_buffer_printf(buffer, "key: %s, ", varied->path);
        st_buffer_text(buffer, "value: ");
        write_fitted(calibration, i, buffer);
        st_buffer_text(buffer, ", standard_error: ");
        double error = calibration->solution.errors[i];
        const st_type *type = calibration->varied[i].type;
        bool known = isfinite(error) && error > 0;
        write_value(type, known ? round_to(type, error, error / 20.0) : error, buffer);
        st_buffer_text(buffer, ", low: ");
        write_value(varied->type, varied->low, buffer);
        st_buffer_text(buffer, ", high: ");
        write_value(varied->type, varied->high, buffer);
        if (solution->at_low[i] || solution->at_high[i])
            st_buffer_printf(buffer, ", at_bound: %s", solution->at_low[i] ? "low" : "high");
        if (varied->prior > 0) {
            st_buffer_text(buffer, ", prior: ");
            write_value(varied->type, varied->prior, buffer);
            write_share(", sd", varied->sd, buffer);
        }
        if (varied->source != NULL)
            st_buffer_quoted(buffer, ", source: ", varied->source, "");
        st_buffer_text(buffer, "}\n");
    }
}

static void write_list(const char *key, const char *const *texts, size_t count, st_buffer *buffer)
{
    if (count > 0)
        st_buffer_printf(buffer, "  %s:\n", key);
    for (size_t i = 0; i < count; i++)
        st_buffer_quoted(buffer, "    - ", texts[i], "\n");
}

void st_calibration_write_yaml(const st_calibration *calibration, const st_fit_record *record,
                               st_buffer *buffer)
{
    const char *sheet = calibration->set_count > 0 ? st_sheet_name(calibration->sets[0].sheet) : "";
    st_buffer_printf(buffer,
                     "# Written by steptime fit. A job takes the constants with 'constants: NAME'; "
                     "'fit' below gives their\n# source and the rows that steptime validate "
                     "reports separately.\n"
                     "doc: Constants of the sheet %s, fitted to %zu measured rows.\n"
                     "source: steptime fit, %s\n",
                     sheet, calibration->errors.count, record->date);
    for (size_t i = 0; i < calibration->varied_count; i++) {
        const st_varied *varied = &calibration->varied[i];
        /* What a job may take from the file: constants that hold for all rows. */
        if (varied->when.condition_count != 0 ||
            strncmp(varied->path, constants, strlen(constants)) != 0)
            continue;
        st_buffer_printf(buffer, "%s: ", varied->path + strlen(constants));
        write_fitted(calibration, i, buffer);
        st_buffer_text(buffer, "\n");
    }
    st_buffer_printf(buffer,
                     "fit:\n  program: steptime %s\n  date: %s\n  sheet: ", STEPTIME_VERSION,
                     record->date);
    write_scalar(sheet, buffer);
    st_buffer_printf(buffer, "\n  loss: %s\n", st_loss_name(calibration->loss));
    if (calibration->loss == ST_LOSS_SOFT_L1) {
        write_share("  scale", calibration->scale, buffer);
        st_buffer_text(buffer, "\n");
    }
    write_varied(calibration, buffer);
    if (calibration->noise > 0) {
        write_share("  noise", calibration->noise, buffer);
        write_share("\n  degrees_of_freedom", calibration->solution.freedom, buffer);
        st_buffer_text(buffer, "\n");
    }
    write_yaml_errors("  errors", &calibration->errors, buffer);
    if (calibration->folds > 0)
        write_yaml_errors(calibration->folds == calibration->errors.count
                              ? "  errors_each_row_left_out"
                              : "  errors_each_tenth_left_out",
                          &calibration->left_out, buffer);
    if (calibration->column_count > 0)
        st_buffer_text(buffer, "  errors_left_out_by:\n");
    for (size_t i = 0; i < calibration->column_count; i++) {
        st_buffer_text(buffer, "    ");
        write_yaml_errors(calibration->columns[i], &calibration->held[i].parts[0].errors, buffer);
    }
    if (record->table_count > 0)
        st_buffer_text(buffer, "  tables:\n");
    for (size_t i = 0; i < record->table_count; i++) {
        const st_measured_table *table = &record->tables[i];
        st_buffer_quoted(buffer, "    - {file: ", st_last_part(table->file, '/'), "");
        if (table->filter != NULL)
            st_buffer_quoted(buffer, ", rows: ", table->filter, "");
        st_buffer_text(buffer, "}\n");
    }
    write_list("set", record->sets, record->set_count, buffer);
    write_list("refine", record->refine, record->refine_count, buffer);
    /* As many ids on a line as it holds. */
    size_t width = 0;
    st_buffer_text(buffer, "  rows: [");
    for (size_t i = 0; i < calibration->row_count; i++) {
        if (calibration->rows[i].test)
            continue;
        const char *id = row_of(calibration, &calibration->rows[i])->id;
        bool fits = width > 0 && width + strlen(id) + 2 <= LINE_WIDTH;
        st_buffer_text(buffer, width == 0 ? "" : ",");
        st_buffer_text(buffer, fits ? " " : "\n    ");
        width = fits ? width + strlen(id) + 2 : strlen(id) + 5;
        write_scalar(id, buffer);
    }
    st_buffer_text(buffer, "]\n");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sheet as a LaTeX document: its formulas as mathematics, each with unit, meaning and source.
 * Only what every LaTeX brings is used, so that pdflatex alone sets it.
 */
#include "estimate/report.h"

#include "base/chars.h"
#include "estimate/groups.h"
#include "sheet/type_write.h"
#include "export/latex.h"

#include <string.h>

static const char preamble[] = "\\documentclass[a4paper,10pt]{article}\n"
                               "\\usepackage[utf8]{inputenc}\n"
                               "\\usepackage{amsmath}\n"
                               "\\usepackage{array}\n"
                               "\\usepackage{longtable}\n"
                               "\\setlength{\\textwidth}{170mm}\n"
                               "\\setlength{\\oddsidemargin}{-5mm}\n"
                               "\\setlength{\\textheight}{235mm}\n"
                               "\\setlength{\\topmargin}{-10mm}\n"
                               "\\setlength{\\parindent}{0pt}\n"
                               "\\raggedright\n"
                               "\\frenchspacing\n";

static void write_heading(const char *text, st_buffer *buffer)
{
    st_buffer_text(buffer, "\n\\section*{");
    st_latex_text(text, buffer);
    st_buffer_text(buffer, "}\n");
}

static void write_inputs(const st_sheet *sheet, st_buffer *buffer)
{
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(sheet, &count);
    if (count == 0)
        return;
    write_heading("Inputs", buffer);
    st_buffer_text(buffer, "\\begin{longtable}{lp{45mm}l>{\\raggedright\\arraybackslash}p{65mm}}\n"
                           "name & job key & unit & meaning \\\\\n\\hline\n\\endhead\n");
    for (size_t i = 0; i < count; i++) {
        st_buffer_text(buffer, "$");
        st_name_latex(inputs[i].name, buffer);
        st_buffer_text(buffer, "$ & ");
        st_latex_code(inputs[i].from, buffer);
        st_buffer_text(buffer, " & ");
        st_latex_text(st_type_unit_text(&inputs[i].type), buffer);
        st_buffer_text(buffer, " & ");
        st_latex_text(inputs[i].doc, buffer);
        if (st_text_or_empty(inputs[i].cite)[0] != '\0') {
            st_buffer_text(buffer, " (");
            st_latex_text(inputs[i].cite, buffer);
            st_buffer_text(buffer, ")");
        }
        st_buffer_text(buffer, " \\\\\n");
    }
    st_buffer_text(buffer, "\\end{longtable}\n");
}

/* Meaning, unit and source in a line; `name` already holds the left side. */
static void write_definition(const st_buffer *name, const st_sheet_cell *cell, st_buffer *buffer)
{
    st_buffer_text(buffer, "\n\\medskip\n");
    st_latex_text(cell->doc, buffer);
    if (strcmp(st_type_unit_text(&cell->type), "1") != 0) {
        st_buffer_text(buffer, " [");
        st_latex_text(st_type_unit_text(&cell->type), buffer);
        st_buffer_text(buffer, "]");
    }
    if (st_text_or_empty(cell->cite)[0] != '\0') {
        st_buffer_text(buffer, " \\emph{");
        st_latex_text(cell->cite, buffer);
        st_buffer_text(buffer, "}");
    }
    st_buffer_text(buffer, " \\\\*\n\\hspace*{5mm}$\\displaystyle ");
    st_buffer_text(buffer, st_buffer_read(name));
    if (cell->expr != NULL) {
        st_buffer_text(buffer, " = ");
        st_expr_latex(cell->expr, buffer);
    }
    st_buffer_text(buffer, "$\\par\n");
}

void st_sheet_write_latex(const st_sheet *sheet, st_arena *arena, st_buffer *buffer)
{
    size_t count = 0;
    const st_cell_group *groups = st_sheet_groups(sheet, arena, &count);
    if (groups == NULL) {
        buffer->failed = true;
        return;
    }
    const char *title = st_sheet_title(sheet);
    st_buffer_text(buffer, preamble);
    st_buffer_text(buffer, "\\title{");
    st_latex_text(title[0] != '\0' ? title : st_sheet_name(sheet), buffer);
    st_buffer_text(buffer, "}\n\\author{sheet ");
    st_latex_code(st_sheet_name(sheet), buffer);
    st_buffer_text(buffer, "}\n\\date{}\n\\begin{document}\n\\maketitle\n");
    st_latex_text(st_sheet_doc(sheet), buffer);
    st_buffer_text(buffer, "\n");
    write_inputs(sheet, buffer);
    size_t function_count = 0;
    const st_sheet_function *functions = st_sheet_functions(sheet, &function_count);
    if (function_count > 0)
        write_heading("Functions", buffer);
    for (size_t i = 0; i < function_count; i++) {
        st_buffer name = {0};
        st_signature_latex(&functions[i], &name);
        st_sheet_cell shown = {.doc = functions[i].doc,
                               .cite = functions[i].cite,
                               .type = functions[i].type,
                               .expr = functions[i].expr};
        write_definition(&name, &shown, buffer);
        st_buffer_end(&name, &buffer->failed);
    }
    for (size_t i = 0; i < count; i++) {
        const char *rest = count > 1 ? "Other cells" : "Cells";
        const st_cell_group *group = &groups[i];
        write_heading(groups[i].title[0] != '\0' ? groups[i].title : rest, buffer);
        for (size_t j = 0; j < group->count; j++) {
            st_buffer name = {0};
            st_name_latex(group->cells[j]->name, &name);
            write_definition(&name, group->cells[j], buffer);
            st_buffer_end(&name, &buffer->failed);
        }
    }
    size_t check_count = 0;
    const st_sheet_check *checks = st_sheet_checks(sheet, &check_count);
    if (check_count != 0) {
        write_heading("Checks", buffer);
        st_buffer_text(buffer, "\\begin{itemize}\n");
        for (size_t i = 0; i < check_count; i++) {
            st_buffer_text(buffer, "\\item[--] $");
            st_expr_latex(checks[i].expr, buffer);
            st_buffer_text(buffer, checks[i].warning ? "$, else a warning: "
                                   : checks[i].limit ? "$, else a limit is exceeded: "
                                                     : "$, else: ");
            st_latex_text(checks[i].message, buffer);
            st_buffer_text(buffer, "\n");
        }
        st_buffer_text(buffer, "\\end{itemize}\n");
    }
    st_buffer_text(buffer, "\n\\end{document}\n");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Text and names for LaTeX, such that no input can become a command. */
#ifndef STEPTIME_EXPORT_LATEX_H
#define STEPTIME_EXPORT_LATEX_H

#include "steptime/sheet.h"

/* Running text. Characters beyond ASCII that pdflatex knows stay; of others the code is shown. */
void st_latex_text(const char *text, st_buffer *buffer);
/* Text in typewriter letters that may break after '_', '.' and '/'. */
void st_latex_code(const char *text, st_buffer *buffer);

/* A formula, or a name such as T_comp, as LaTeX mathematics (without the $ around it). */
void st_expr_latex(const st_expr *expr, st_buffer *buffer);
void st_name_latex(const char *name, st_buffer *buffer);
/* "f(a, b)" of a function of the sheet. */
void st_signature_latex(const st_sheet_function *function, st_buffer *buffer);

#endif

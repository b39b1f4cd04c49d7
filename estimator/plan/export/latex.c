/* SPDX-License-Identifier: Apache-2.0 */
/* Text for LaTeX; see latex.h. */
#include "export/latex.h"

#include "base/lists.h"
#include "base/utf8.h"

#include <string.h>

typedef struct latex_character {
    uint32_t code;
    const char *text;
} latex_character;

static const latex_character characters[] = {
    {'\\', "\\textbackslash{}"},
    {'{', "\\{"},
    {'}', "\\}"},
    {'$', "$\\mathdollar$"},
    {'&', "\\&"},
    {'#', "\\#"},
    {'%', "\\%"},
    {'_', "\\_"},
    {'^', "\\textasciicircum{}"},
    {'~', "\\textasciitilde{}"},
    {'<', "\\textless{}"},
    {'>', "\\textgreater{}"},
    {'|', "\\textbar{}"},
    {'"', "\\char34{}"},
    {'`', "\\char96{}"},
    {'\'', "'"},
    {'\n', " "},
    {'\t', " "},
    {'\r', " "},
    {0x00A0, "~"},
    {0x00B0, "$^\\circ$"},
    {0x00B1, "$\\pm$"},
    {0x00B2, "$^2$"},
    {0x00B3, "$^3$"},
    {0x00B5, "$\\mu$"},
    {0x00B7, "$\\cdot$"},
    {0x00D7, "$\\times$"},
    {0x00F7, "$\\div$"},
    {0x0394, "$\\Delta$"},
    {0x03A3, "$\\Sigma$"},
    {0x03A9, "$\\Omega$"},
    {0x03B1, "$\\alpha$"},
    {0x03B2, "$\\beta$"},
    {0x03B3, "$\\gamma$"},
    {0x03B4, "$\\delta$"},
    {0x03B5, "$\\varepsilon$"},
    {0x03B7, "$\\eta$"},
    {0x03B8, "$\\theta$"},
    {0x03BB, "$\\lambda$"},
    {0x03BC, "$\\mu$"},
    {0x03C0, "$\\pi$"},
    {0x03C1, "$\\rho$"},
    {0x03C3, "$\\sigma$"},
    {0x03C4, "$\\tau$"},
    {0x03C6, "$\\varphi$"},
    {0x03C9, "$\\omega$"},
    {0x2013, "--"},
    {0x2014, "---"},
    {0x2018, "`"},
    {0x2019, "'"},
    {0x201C, "``"},
    {0x201D, "''"},
    {0x2026, "\\ldots{}"},
    {0x2192, "$\\rightarrow$"},
    {0x2211, "$\\sum$"},
    {0x221A, "$\\surd$"},
    {0x221E, "$\\infty$"},
    {0x2248, "$\\approx$"},
    {0x2260, "$\\neq$"},
    {0x2264, "$\\leq$"},
    {0x2265, "$\\geq$"},
};

static const char *find(uint32_t code)
{
    for (size_t i = 0; i < ST_COUNT(characters); i++)
        if (characters[i].code == code)
            return characters[i].text;
    return NULL;
}

/* The accented letters of Latin-1 that the default font encoding can put together. */
static bool is_composed_letter(uint32_t code)
{
    static const uint32_t missing[] = {0xD0, 0xD7, 0xDE, 0xF0, 0xF7, 0xFE};
    for (size_t i = 0; i < ST_COUNT(missing); i++)
        if (missing[i] == code)
            return false;
    return code >= 0xC0 && code <= 0xFF;
}

static void write_text(const char *text, bool may_break, st_buffer *buffer)
{
    size_t length = text != NULL ? strlen(text) : 0;
    for (size_t i = 0; i < length;) {
        uint32_t code = 0;
        size_t size = st_utf8_decode(text + i, length - i, &code);
        const char *known = size > 0 ? find(code) : "?";
        if (known != NULL)
            st_buffer_text(buffer, known);
        else if ((code >= 0x20 && code < 0x7F) || is_composed_letter(code))
            st_buffer_append(buffer, text + i, size);
        else
            st_buffer_printf(buffer, "\\texttt{U+%04X}", (unsigned)code);
        if (code == '-' && text[i + size] == '-')
            st_buffer_text(buffer, "{}"); /* two hyphens would become a dash */
        if (may_break && (code == '_' || code == '.' || code == '/'))
            st_buffer_text(buffer, "\\allowbreak{}");
        i += size > 0 ? size : 1;
    }
}

void st_latex_text(const char *text, st_buffer *buffer)
{
    write_text(text, false, buffer);
}

void st_latex_code(const char *text, st_buffer *buffer)
{
    st_buffer_text(buffer, "\\texttt{");
    write_text(text, true, buffer);
    st_buffer_text(buffer, "}");
}

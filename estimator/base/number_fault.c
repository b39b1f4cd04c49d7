/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with a text that should be a number: each common slip has its own words. */
#include "base/number.h"

#include "base/utf8.h"

#include <string.h>

/* The text of an error and all that the checks for it look at. */
typedef struct fault {
    const char *text;
    size_t length;
    size_t end; /* where the number stopped */
    const char *message;
    const char *suggestion;
} fault;

static bool is_digit_at(const fault *one, size_t at)
{
    return at < one->length && one->text[at] >= '0' && one->text[at] <= '9';
}

static char letter_at(const fault *one, size_t at)
{
    return at < one->length ? one->text[at] : '\0';
}

/* `word` is at `at`, in any case. */
static bool has_word(const fault *one, size_t at, const char *word)
{
    for (; *word != '\0'; word++, at++) {
        char letter = letter_at(one, at);
        if (letter != *word && letter != *word - 'a' + 'A')
            return false;
    }
    return true;
}

/* Without the separators, when nothing but digits is left; NULL otherwise. */
static const char *without_separators(const fault *one, st_errors *errors)
{
    char digits[32];
    size_t used = 0;
    for (size_t i = 0; i < one->length; i++) {
        if (strchr("_,'", one->text[i]) != NULL && one->text[i] != '\0')
            continue;
        if (!is_digit_at(one, i) || used + 1 >= sizeof digits)
            return NULL;
        digits[used++] = one->text[i];
    }
    return st_errors_text(errors, "%.*s", (int)used, digits);
}

/* A number comes first, then something that does not belong to it. */
static void describe_rest(fault *one, st_errors *errors)
{
    char next = letter_at(one, one->end);
    size_t behind_blanks = one->end;
    while (st_is_blank(letter_at(one, behind_blanks)))
        behind_blanks++;
    if (next == '_' || next == '\'') {
        one->message = "separator between digits";
        one->suggestion = without_separators(one, errors);
    } else if (next == ',') {
        one->message = "comma in a number";
        size_t decimals = 0;
        while (is_digit_at(one, one->end + 1 + decimals))
            decimals++;
        bool is_last = one->end + 1 + decimals == one->length;
        if (!is_last || decimals == 0)
            one->suggestion = without_separators(one, errors);
        else if (decimals == 3)
            one->suggestion = "use a decimal point and no thousands separators";
        else
            one->suggestion = st_errors_text(errors, "%.*s.%.*s", (int)one->end, one->text,
                                             (int)decimals, one->text + one->end + 1);
    } else if (behind_blanks > one->end && is_digit_at(one, behind_blanks)) {
        one->message = "blank inside a number";
    } else if (behind_blanks == one->length) {
        one->message = "blank after a number";
    }
    if (one->message != NULL)
        return;
    /* The number is "0", with or without a sign. */
    if (next == '.') {
        bool again = memchr(one->text, '.', one->end) != NULL;
        one->message = again ? "second decimal point" : "no digit after the decimal point";
        if (!again && one->end + 1 == one->length)
            one->suggestion = st_errors_text(errors, "%.*s0", (int)one->length, one->text);
    } else if ((next == 'x' || next == 'X') && one->text[one->end - 1] == '0' &&
               !is_digit_at(one, one->end - 2)) {
        one->message = "number is not decimal";
    } else if (next == 'e' || next == 'E') {
        one->message = "exponent without digits";
    } else {
        one->message = "text after a number";
    }
}

st_status st_number_fault(const char *text, size_t length, size_t end, st_place place,
                          st_errors *errors)
{
    fault one = {.text = text, .length = length, .end = end};
    if (end == 0) {
        /* The text starts with no number at all. */
        char first = letter_at(&one, 0);
        size_t at = first == '+' || first == '-' ? 1 : 0;
        bool only_blanks = true;
        for (size_t i = 0; i < one.length; i++)
            only_blanks = only_blanks && st_is_blank(one.text[i]);
        if (only_blanks) {
            one.message = "number is missing";
        } else if (st_is_blank(first)) {
            one.message = "blank before a number";
        } else if (has_word(&one, at, "nan") || has_word(&one, at, "inf")) {
            one.message = "not a finite number";
        } else if (letter_at(&one, at) == '.' && is_digit_at(&one, at + 1)) {
            one.message = "no digit before the decimal point";
            one.suggestion = st_errors_text(errors, "%.*s0%.*s", (int)at, one.text,
                                            (int)(one.length - at), one.text + at);
        } else if (one.length >= 3 && memcmp(one.text, "\xE2\x88\x92", 3) == 0) {
            one.message = "minus sign must be '-'";
        } else {
            one.message = "not a number";
        }
    } else {
        describe_rest(&one, errors);
    }
    int shown = length > 400 ? 400 : (int)length;
    return st_fail(errors, ST_ERR_SYNTAX, st_utf8_advance(place, text, end),
                   "%s" ST_FOUND "'%.*s'" ST_EXPECTED "a decimal number such as 2.5 or 1e9" ST_HINT
                   "%s",
                   one.message, shown, text, st_or_none(one.suggestion));
}

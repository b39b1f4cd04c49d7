/* SPDX-License-Identifier: Apache-2.0 */
/* "$((8 * $NODES / 2))" of a shell: whole numbers, names, + - * / % and parentheses. */
#include "launch/import/shell_number.h"

#include "base/chars.h"

#include <string.h>

enum { DEEPEST = 32 };
#define LARGEST                                                                                    \
    1e15 /* of a number, so that no product of two overflows a double's whole numbers              \
          */

typedef struct number_reader {
    const char *at;
    shell_value_of *value_of;
    void *context;
    int depth;
    bool failed;
} number_reader;

static double read_sum(number_reader *reader);

static char next(number_reader *reader)
{
    reader->at += strspn(reader->at, " \t");
    return *reader->at;
}

static double whole(number_reader *reader, double value)
{
    reader->failed = reader->failed || !(value > -LARGEST && value < LARGEST);
    return reader->failed ? 0 : (double)(long long)value;
}

static double read_name(number_reader *reader)
{
    const bool braces = reader->at[0] == '$' && reader->at[1] == '{';
    const char *name = reader->at + (braces ? 2 : *reader->at == '$' ? 1 : 0);
    size_t length = 0;
    while (st_is_name(name[length]))
        length++;
    const char *value = length > 0 ? reader->value_of(reader->context, name, length) : NULL;
    reader->failed = reader->failed || value == NULL ||
                     value[strspn(value, "0123456789")] != '\0' || value[0] == '\0' ||
                     (braces && name[length] != '}');
    reader->at = name + length + (braces && name[length] == '}' ? 1 : 0);
    double number = 0;
    for (const char *c = reader->failed ? "" : value; *c != '\0'; c++)
        number = whole(reader, 10 * number + (*c - '0'));
    return number;
}

static double read_factor(number_reader *reader)
{
    const char c = next(reader);
    double number = 0;
    if (++reader->depth > DEEPEST) {
        reader->failed = true;
    } else if (c == '(') {
        reader->at++;
        number = read_sum(reader);
        reader->failed = reader->failed || next(reader) != ')';
        reader->at += reader->failed ? 0 : 1;
    } else if (c == '-') {
        reader->at++;
        number = -read_factor(reader);
    } else if (st_is_digit(c)) {
        for (; st_is_digit(*reader->at); reader->at++)
            number = whole(reader, 10 * number + (*reader->at - '0'));
    } else {
        number = read_name(reader);
    }
    reader->depth--;
    return number;
}

static double read_product(number_reader *reader)
{
    double number = read_factor(reader);
    for (char c = next(reader); !reader->failed && (c == '*' || c == '/' || c == '%');
         c = next(reader)) {
        reader->at++;
        const double other = read_factor(reader);
        reader->failed = reader->failed || (c != '*' && other == 0);
        if (reader->failed)
            break;
        const double quotient = c == '*' ? 0 : whole(reader, number / other);
        number = whole(reader, c == '*'   ? number * other
                               : c == '/' ? quotient
                                          : number - quotient * other);
    }
    return number;
}

static double read_sum(number_reader *reader)
{
    double number = read_product(reader);
    for (char c = next(reader); !reader->failed && (c == '+' || c == '-'); c = next(reader)) {
        reader->at++;
        const double other = read_product(reader);
        number = whole(reader, c == '+' ? number + other : number - other);
    }
    return number;
}

bool shell_number(const char *text, shell_value_of *value_of, void *context, double *number)
{
    number_reader reader = {.at = text, .value_of = value_of, .context = context};
    *number = read_sum(&reader);
    return !reader.failed && next(&reader) == '\0';
}

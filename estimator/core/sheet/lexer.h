/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of an expression. Private to the parser. */
#ifndef STEPTIME_SHEET_LEXER_H
#define STEPTIME_SHEET_LEXER_H

#include "sheet/expr.h"

typedef enum st_token_kind {
    ST_TOKEN_END,
    ST_TOKEN_NUMBER,
    ST_TOKEN_NAME,
    ST_TOKEN_OPERATOR, /* symbols and the words and, or, not */
    ST_TOKEN_OPEN,
    ST_TOKEN_CLOSE,
    ST_TOKEN_COMMA,
    ST_TOKEN_FAULT /* an error was reported */
} st_token_kind;

typedef struct st_token {
    st_token_kind kind;
    st_operator op;
    size_t offset;
    size_t length;
    double number; /* base units */
    st_unit unit;
} st_token;

/* Reads the token at or behind `offset`. */
st_token st_lexer_next(const st_formula *formula, size_t offset, st_errors *errors);

#endif

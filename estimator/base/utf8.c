/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 decoding; see utf8.h. */
#include "base/utf8.h"

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xC0U) == 0x80U;
}

size_t st_utf8_decode(const char *text, size_t length, uint32_t *code)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    if (length == 0)
        return 0;
    unsigned char first = (unsigned char)text[0];
    /* Length that a first byte announces. */
    size_t size = 0;
    if (first < 0x80)
        size = 1;
    else if (first >= 0xC2 && first <= 0xDF)
        size = 2;
    else if (first >= 0xE0 && first <= 0xEF)
        size = 3;
    else if (first >= 0xF0 && first <= 0xF4)
        size = 4;
    if (size == 0 || size > length)
        return 0;
    uint32_t value = size == 1 ? first : first & (0x7FU >> size);
    for (size_t i = 1; i < size; i++) {
        if (!is_continuation(text[i]))
            return 0;
        value = value << 6 | ((unsigned char)text[i] & 0x3FU);
    }
    bool surrogate = value >= 0xD800 && value <= 0xDFFF;
    if (value < least[size] || value > 0x10FFFF || surrogate)
        return 0;
    *code = value;
    return size;
}

size_t st_utf8_cut(const char *text, size_t length, size_t limit)
{
    if (length <= limit)
        return length;
    size_t cut = limit;
    while (cut > 0 && limit - cut < 3 && is_continuation(text[cut]))
        cut--;
    return is_continuation(text[cut]) ? limit : cut;
}

size_t st_utf8_count(const char *text, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; count++) {
        uint32_t code;
        size_t size = st_utf8_decode(text + i, length - i, &code);
        i += size > 0 ? size : 1;
    }
    return count;
}

bool st_utf8_is_control(uint32_t code)
{
    bool c0_or_c1 = code < 0x20 || (code >= 0x7F && code <= 0x9F);
    bool line_mark = code == 0x2028 || code == 0x2029;
    bool direction_mark = code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
                          (code >= 0x2066 && code <= 0x2069);
    return c0_or_c1 || line_mark || direction_mark || code == 0xFEFF;
}

st_place st_utf8_advance(st_place place, const char *text, size_t bytes)
{
    if (place.column > 0)
        place.column += (int)st_utf8_count(text, bytes);
    return place;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks on the bytes of a YAML file. libyaml would find the same errors, but reports them by byte
 * offset and in the middle of its work.
 */
#include "base/yaml_source.h"

#include "base/utf8.h"
#include "base/yaml.h"

#include <string.h>

st_place st_yaml_source_place(const st_yaml_source *source, size_t offset)
{
    st_place place = {.file = source->file, .line = 1, .column = 1};
    size_t line_start = 0;
    for (size_t i = 0; i < offset; i++) {
        bool is_crlf =
            source->text[i] == '\r' && i + 1 < source->length && source->text[i + 1] == '\n';
        if (source->text[i] == '\n' || (source->text[i] == '\r' && !is_crlf)) {
            place.line++;
            line_start = i + 1;
        }
    }
    return st_utf8_advance(place, source->text + line_start, offset - line_start);
}

static st_status refuse_bytes(const st_yaml_source *source, size_t offset, uint32_t code,
                              st_errors *errors)
{
    unsigned byte = (unsigned char)source->text[offset];
    const char *found = code != 0 || byte == 0 ? st_errors_text(errors, "U+%04X", (unsigned)code)
                                               : st_errors_text(errors, "byte 0x%02X", byte);
    bool is_valid = code != 0 || byte == 0;
    return st_fail(errors, ST_ERR_SYNTAX, st_yaml_source_place(source, offset),
                   "%s" ST_FOUND "%s" ST_EXPECTED "%s",
                   is_valid ? "control character in the file" : "the file is not UTF-8", found,
                   is_valid ? "text" : "text encoded as UTF-8");
}

st_status st_yaml_source_check(st_yaml_source *source, st_errors *errors)
{
    if (source->length > source->most_bytes)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){.file = source->file},
                       "the file is too large" ST_FOUND "%zu bytes" ST_EXPECTED
                       "at most %zu bytes (%zu MiB)",
                       source->length, source->most_bytes, source->most_bytes >> 20);
    /* A mark in front, or zero bytes where the Latin letters of a YAML file would have them. */
    bool is_utf16_or_32 = false;
    const char *text = source->text;
    if (source->length >= 2) {
        bool has_mark = memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0;
        bool has_pairs = source->length >= 4 && ((text[0] == '\0') != (text[1] == '\0')) &&
                         (text[0] == '\0') == (text[2] == '\0') &&
                         (text[1] == '\0') == (text[3] == '\0');
        bool is_wide = source->length >= 4 && memcmp(text, "\0\0\xFE\xFF", 4) == 0;
        is_utf16_or_32 = has_mark || has_pairs || is_wide;
    }
    if (is_utf16_or_32)
        return st_fail(errors, ST_ERR_SYNTAX, (st_place){.file = source->file},
                       "the file is not UTF-8" ST_FOUND "UTF-16 or UTF-32" ST_EXPECTED
                       "text encoded as UTF-8");
    if (source->length >= 3 && memcmp(source->text, "\xEF\xBB\xBF", 3) == 0) {
        source->text += 3;
        source->length -= 3;
    }
    for (size_t i = 0; i < source->length;) {
        char byte = source->text[i];
        if (byte >= 0x20 && byte < 0x7F) {
            i++;
            continue;
        }
        uint32_t code = 0;
        size_t size = st_utf8_decode(source->text + i, source->length - i, &code);
        bool is_space = byte == '\n' || byte == '\r' || byte == '\t';
        if (size == 0 || (st_utf8_is_control(code) && !is_space))
            return refuse_bytes(source, i, code, errors);
        i += size;
    }
    for (size_t i = 0; i < source->length; i++)
        if (strchr(" \t\r\n", source->text[i]) == NULL)
            return ST_OK;
    return st_fail(errors, ST_ERR_SYNTAX, (st_place){.file = source->file}, "the file is empty");
}

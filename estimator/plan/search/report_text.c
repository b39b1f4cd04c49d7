/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of a search report: lines that are broken, and short names of keys. */
#include "base/text.h"
#include "search/search_state.h"
#include "steptime/keys.h"

#include <string.h>

/* Where a line of a text ends: its length. */
static size_t line_of(const char *text, size_t room)
{
    size_t length = strlen(text);
    if (length <= room)
        return length;
    size_t end = room;
    while (end > 0 && text[end] != ' ')
        end--;
    return end > 0 ? end : strcspn(text, " ");
}

void st_search_say(st_node *root, const char *label, size_t width, const char *text, size_t lines)
{
    static const char cut[] = " ...";
    if (text == NULL || text[0] == '\0')
        return;
    st_say(root, "%-*s", (int)width, label);
    for (size_t i = 1; *text != '\0'; i++) {
        size_t room = ST_SEARCH_COLUMNS - width;
        bool last = i == lines && strlen(text) > room;
        size_t length = line_of(text, last ? room - strlen(cut) : room);
        st_say(root, "%*s%.*s%s\n", i == 1 ? 0 : (int)width, "", (int)length, text,
               last ? cut : "");
        if (last)
            return;
        text += length;
        text += strspn(text, " ");
    }
}

const char *st_search_heading(const st_search *search, const char *key)
{
    static const char *const names[][2] = {
        {ST_KEY_PARALLEL_FIRST_STAGE_LAYERS, "first"},
        {ST_KEY_PARALLEL_LAST_STAGE_LAYERS, "last"},
        {ST_KEY_PARALLEL_VIRTUAL_STAGES, "chunks"},
        {ST_KEY_PARALLEL_SEQUENCE_PARALLEL, "sp"},
    };
    for (size_t i = 0; i < ST_COUNT(names) && !search->request.detailed; i++)
        if (strcmp(names[i][0], key) == 0)
            return names[i][1];
    return st_last_part(key, '.');
}

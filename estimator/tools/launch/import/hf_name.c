/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an imported model is called: as its file names it, else as the folder or the file is called
 * in which it lies, else by its architecture and size. Of a path the last part alone counts; where
 * a machine keeps its files does not belong in a job.
 */
#include "launch/import/hf.h"

#include "steptime/keys.h"
#include "steptime/tool/estimates.h"
#include "steptime/tool/roles.h"

#include <math.h>
#include <string.h>

enum { NAME_BYTES = 80 };

typedef struct name_part {
    const char *text;
    size_t length;
} name_part;

/* The last part of a path, the one before it, ... from 0; empty where there are not so many. */
static name_part part_from_end(const char *path, size_t index)
{
    size_t end = strlen(path);
    while (end > 0 && path[end - 1] == '/')
        end--;
    for (;; index--) {
        size_t start = end;
        while (start > 0 && path[start - 1] != '/')
            start--;
        if (index == 0)
            return (name_part){.text = path + start, .length = end - start};
        if (start == 0)
            return (name_part){.text = path, .length = 0};
        end = start - 1;
    }
}

static bool is_part(name_part part, const char *text)
{
    return part.length == strlen(text) && memcmp(part.text, text, part.length) == 0;
}

/* The cache of the Hub: models--ORGANISATION--NAME/snapshots/HASH/config.json. */
static name_part part_in_cache(const char *path)
{
    static const char mark[] = "models--";
    for (size_t i = 1; i < 4; i++) {
        name_part part = part_from_end(path, i);
        if (part.length <= sizeof mark - 1 || memcmp(part.text, mark, sizeof mark - 1) != 0)
            continue;
        for (size_t j = part.length - 1; j > sizeof mark; j--)
            if (part.text[j - 1] == '-' && part.text[j - 2] == '-')
                return (name_part){.text = part.text + j, .length = part.length - j};
    }
    return (name_part){.text = path, .length = 0};
}

/* What the place of the file says: nothing of standard input and of a bare config.json. */
static name_part part_of_file(const char *file, const char **origin)
{
    static const char end[] = ".json";
    name_part base = part_from_end(file, 0);
    *origin = "the file's name";
    if (!is_part(base, "config.json"))
        return base.length > sizeof end - 1 &&
                       memcmp(base.text + base.length - (sizeof end - 1), end, sizeof end - 1) == 0
                   ? (name_part){.text = base.text, .length = base.length - (sizeof end - 1)}
                   : (name_part){.text = file, .length = 0};
    name_part folder = part_in_cache(file);
    *origin = "the folder's name";
    if (folder.length == 0)
        folder = part_from_end(file, 1);
    return is_part(folder, ".") || is_part(folder, "..") ? (name_part){.text = file} : folder;
}

/* In small letters, as the names of the shipped models are; NULL where it cannot be used. */
static const char *usable(st_draft *draft, name_part part)
{
    char name[NAME_BYTES + 1];
    if (part.length == 0 || part.length > NAME_BYTES)
        return NULL;
    for (size_t i = 0; i < part.length; i++) {
        char c = part.text[i];
        if (c <= ' ' || c > '~')
            return NULL;
        name[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    name[part.length] = '\0';
    return st_draft_text(draft, "%s", name);
}

/* ---- the number of parameters ---- */

static double count_parameters(st_draft *draft, st_errors *quiet)
{
    enum { ROOM = 2000 };
    const size_t prefix = strlen(ST_KEY_MODEL ".");
    const st_paths *paths = draft->request->paths;
    size_t count = 0;
    size_t input_count = 0;
    const st_key *keys = st_keys(&count);
    const char **sets = st_arena_alloc(draft->arena, count + ROOM, sizeof *sets);
    st_estimate *estimate = st_estimate_new(draft->arena);
    if (sets == NULL || estimate == NULL || quiet == NULL)
        return 0;
    st_request request = {.sets = sets, .checks_warn = true};
    for (size_t i = 0; i < count; i++)
        if (draft->values[i].text != NULL && strncmp(keys[i].path, ST_KEY_MODEL ".", prefix) == 0)
            sets[request.set_count++] =
                st_draft_text(draft, "%s=%s", keys[i].path, draft->values[i].text);
    if (draft->status != ST_OK)
        return 0;
    (void)!st_estimate_open(paths, &request, draft->arena, estimate, quiet);
    const st_sheet *sheet = st_estimate_parts_of(estimate).sheet;
    const char *cell = sheet != NULL ? st_sheet_role(sheet, ST_ROLE_PARAMETERS) : NULL;
    if (cell == NULL)
        return 0;
    /* The sheet's other inputs do not affect the parameters: any value will do. */
    const st_sheet_input *inputs = st_sheet_inputs(sheet, &input_count);
    for (size_t i = 0; i < input_count; i++) {
        const char *unit = inputs[i].type.unit.text;
        if (!inputs[i].has_default && inputs[i].type.kind == ST_TYPE_NUMBER &&
            strncmp(inputs[i].from, ST_KEY_MODEL ".", prefix) != 0)
            sets[request.set_count++] =
                st_draft_text(draft, "%s=1 %s", inputs[i].from, strcmp(unit, "1") == 0 ? "" : unit);
    }
    if (draft->status != ST_OK ||
        st_estimate_open(paths, &request, draft->arena, estimate, quiet) != ST_OK ||
        st_estimate_gather(paths, &request, draft->arena, estimate, quiet) != ST_OK ||
        st_estimate_show_names(estimate, &cell, 1, (st_place){0}, draft->arena, quiet) != ST_OK ||
        st_estimate_run(estimate, draft->arena, quiet) != ST_OK)
        return 0;
    double parameters = st_estimate_shown_value(estimate, 0);
    return isfinite(parameters) ? parameters : 0;
}

double hf_count_parameters(st_draft *draft)
{
    st_errors *quiet = st_errors_create();
    double parameters = count_parameters(draft, quiet);
    st_errors_destroy(quiet);
    return parameters;
}

/* ---- the name ---- */

/* "qwen2-72.7b": the architecture, and parameters as people write them. */
static const char *name_by_size(hf_reader *reader, const char **origin)
{
    st_draft *draft = reader->draft;
    double millions = hf_count_parameters(draft) / 1e6;
    char name[NAME_BYTES + 1];
    (void)snprintf(name, sizeof name, "%s", reader->name);
    for (char *c = name; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
    *origin = "model_type";
    if (millions < 1)
        return st_draft_text(draft, "%s", name);
    *origin = "model_type and the number of parameters, for lack of a name";
    if (millions < 999.5)
        return st_draft_text(draft, "%s-%.0fm", name, millions);
    return st_draft_text(draft, millions < 99950 ? "%s-%.1fb" : "%s-%.0fb", name, millions / 1e3);
}

void hf_put_name(hf_reader *reader)
{
    st_draft *draft = reader->draft;
    const st_json *path = hf_find_outer(reader, "_name_or_path");
    const char *text = path != NULL && path->kind == ST_JSON_STRING ? path->text : "";
    const char *origin = "_name_or_path";
    const char *name = usable(draft, part_from_end(text, 0));
    if (name == NULL)
        name = usable(draft, part_of_file(draft->request->file, &origin));
    if (name == NULL)
        name = name_by_size(reader, &origin);
    st_draft_put(draft, ST_KEY_MODEL_NAME, 0, name, origin);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sheets into images. Structures are copied field by field, so that what lies between fields never
 * gets into an image, and every object once, so that what is one stays one. Templates of families,
 * which are in the formulas of the members already, are left behind.
 */
#include "sheet/pack.h"

#include "base/dimension.h"
#include "base/hash.h"
#include "sheet/internal.h"

#include <string.h>

typedef enum field_kind {
    PLAIN,      /* bytes */
    CHARACTERS, /* an array of them; those after the NUL do not count */
    TEXT,       /* a pointer to a text */
    SOURCE,     /* a pointer to the text of a file */
    INSIDE,     /* structures in place, `most` of them */
    POINTER,    /* to one structure or, with `count_size`, as many as `count_at` says */
    NEAR,       /* the same as its distance (st_relative) */
    NEAR_TEXT
} field_kind;

typedef struct record record;

typedef struct field {
    field_kind kind;
    size_t at;
    size_t size;
    const record *of;
    size_t count_at;
    size_t count_size; /* 0: one */
} field;

struct record {
    const char *name;
    size_t size;
    size_t count;
    const field *fields;
};

#define SIZE_OF(type, member) sizeof(((type *)0)->member)
#define PLAIN_OF(type, member)                                                                     \
    {                                                                                              \
        PLAIN, offsetof(type, member), SIZE_OF(type, member), NULL, 0, 0                           \
    }
#define TEXT_OF(type, member)                                                                      \
    {                                                                                              \
        TEXT, offsetof(type, member), SIZE_OF(type, member), NULL, 0, 0                            \
    }
#define INSIDE_OF(type, member, record)                                                            \
    {                                                                                              \
        INSIDE, offsetof(type, member), SIZE_OF(type, member), &(record), 0, 0                     \
    }
#define ONE_OF(type, member, record)                                                               \
    {                                                                                              \
        POINTER, offsetof(type, member), SIZE_OF(type, member), &(record), 0, 0                    \
    }
#define MANY_OF(type, member, record, counter)                                                     \
    {                                                                                              \
        POINTER, offsetof(type, member), SIZE_OF(type, member), &(record),                         \
            offsetof(type, counter), SIZE_OF(type, counter)                                        \
    }
#define NEAR_OF(type, member, record)                                                              \
    {                                                                                              \
        NEAR, offsetof(type, member), SIZE_OF(type, member), &(record), 0, 0                       \
    }
#define NEAR_TEXT_OF(type, member)                                                                 \
    {                                                                                              \
        NEAR_TEXT, offsetof(type, member), SIZE_OF(type, member), NULL, 0, 0                       \
    }
/* What a sheet that was read needs no more: no pointer, or nothing. */
#define NOTHING_OF(type, member)                                                                   \
    {                                                                                              \
        PLAIN, offsetof(type, member), 0, NULL, SIZE_OF(type, member), 0                           \
    }
#define RECORD(type, list)                                                                         \
    {                                                                                              \
#type, sizeof(type), sizeof(list) / sizeof((list)[0]), list                                \
    }

static const field place_fields[] = {
    TEXT_OF(st_place, file),
    PLAIN_OF(st_place, line),
    PLAIN_OF(st_place, column),
};
static const record place = RECORD(st_place, place_fields);

/* A text itself; the next is a pointer to one. */
static const record characters = {"characters", 1, 0, NULL};

static const field text_fields[] = {{TEXT, 0, sizeof(char *), NULL, 0, 0}};
static const record text = {"text", sizeof(char *), 1, text_fields};

static const field number_fields[] = {{PLAIN, 0, sizeof(size_t), NULL, 0, 0}};
static const record number = {"number", sizeof(size_t), 1, number_fields};

static const field read_fields[] = {{PLAIN, 0, sizeof(uint32_t), NULL, 0, 0}};
static const record read = {"read", sizeof(uint32_t), 1, read_fields};

static const field enum_fields[] = {
    TEXT_OF(st_enum, name),
    MANY_OF(st_enum, values, text, count),
    PLAIN_OF(st_enum, count),
    INSIDE_OF(st_enum, place, place),
};
static const record enumeration = RECORD(st_enum, enum_fields);

static const field unit_fields[] = {
    PLAIN_OF(st_unit, dimension),
    PLAIN_OF(st_unit, multiplier),
    PLAIN_OF(st_unit, divisor),
    {CHARACTERS, offsetof(st_unit, text), SIZE_OF(st_unit, text), NULL, 0, 0},
};
static const record unit = RECORD(st_unit, unit_fields);

static const field type_fields[] = {
    PLAIN_OF(st_type, kind),
    INSIDE_OF(st_type, unit, unit),
    ONE_OF(st_type, enumeration, enumeration),
};
static const record type = RECORD(st_type, type_fields);

/* Of scalars, which formulas were read from. */
static const field scalar_fields[] = {
    PLAIN_OF(st_yaml_node, kind),
    INSIDE_OF(st_yaml_node, place, place),
    TEXT_OF(st_yaml_node, text),
    PLAIN_OF(st_yaml_node, length),
    PLAIN_OF(st_yaml_node, quoted),
    {SOURCE, offsetof(st_yaml_node, source), SIZE_OF(st_yaml_node, source), NULL, 0, 0},
    PLAIN_OF(st_yaml_node, source_length),
    PLAIN_OF(st_yaml_node, source_offset),
    PLAIN_OF(st_yaml_node, count),
    NOTHING_OF(st_yaml_node, keys),
    NOTHING_OF(st_yaml_node, key_places),
    NOTHING_OF(st_yaml_node, items),
};
static const record scalar = RECORD(st_yaml_node, scalar_fields);

/* Its children, which are not counted in its size, follow it. */
static const record expr;
static const field child_fields[] = {{NEAR, 0, sizeof(st_relative), &expr, 0, 0}};
static const record child = {"child", sizeof(st_relative), 1, child_fields};
static const field expr_fields[] = {
    PLAIN_OF(st_expr, kind),
    PLAIN_OF(st_expr, op),
    PLAIN_OF(st_expr, builtin),
    PLAIN_OF(st_expr, name_kind),
    PLAIN_OF(st_expr, offset),
    PLAIN_OF(st_expr, length),
    PLAIN_OF(st_expr, operator_offset),
    PLAIN_OF(st_expr, name_length),
    PLAIN_OF(st_expr, index),
    PLAIN_OF(st_expr, child_count),
    PLAIN_OF(st_expr, height),
    PLAIN_OF(st_expr, guards),
    PLAIN_OF(st_expr, number),
    NEAR_TEXT_OF(st_expr, name_at),
    NEAR_OF(st_expr, type_at, type),
};
static const record expr = RECORD(st_expr, expr_fields);

/* A formula that pieces of others come from: its place. */
static const field template_fields[] = {
    TEXT_OF(st_formula, text),
    PLAIN_OF(st_formula, length),
    ONE_OF(st_formula, scalar, scalar),
    PLAIN_OF(st_formula, scalar_offset),
    INSIDE_OF(st_formula, place, place),
    NOTHING_OF(st_formula, expr),
    PLAIN_OF(st_formula, indexed),
    NOTHING_OF(st_formula, pieces),
    NOTHING_OF(st_formula, piece_count),
    NOTHING_OF(st_formula, sources),
    NOTHING_OF(st_formula, source_count),
    NOTHING_OF(st_formula, origin),
};
static const record template = RECORD(st_formula, template_fields);
static const field source_fields[] = {{POINTER, 0, sizeof(st_formula *), &template, 0, 0}};
static const record source = {"source", sizeof(st_formula *), 1, source_fields};

static const field piece_fields[] = {
    PLAIN_OF(st_formula_piece, start),
    PLAIN_OF(st_formula_piece, offset),
    PLAIN_OF(st_formula_piece, source),
    PLAIN_OF(st_formula_piece, fixed),
};
static const record piece = RECORD(st_formula_piece, piece_fields);

static const field formula_fields[] = {
    TEXT_OF(st_formula, text),           PLAIN_OF(st_formula, length),
    ONE_OF(st_formula, scalar, scalar),  PLAIN_OF(st_formula, scalar_offset),
    INSIDE_OF(st_formula, place, place), ONE_OF(st_formula, expr, expr),
    PLAIN_OF(st_formula, indexed),       MANY_OF(st_formula, pieces, piece, piece_count),
    PLAIN_OF(st_formula, piece_count),   MANY_OF(st_formula, sources, source, source_count),
    PLAIN_OF(st_formula, source_count),  NOTHING_OF(st_formula, origin),
};
static const record formula = RECORD(st_formula, formula_fields);

static const field input_fields[] = {
    TEXT_OF(st_sheet_input, name),         TEXT_OF(st_sheet_input, from),
    TEXT_OF(st_sheet_input, doc),          TEXT_OF(st_sheet_input, cite),
    TEXT_OF(st_sheet_input, steps),        INSIDE_OF(st_sheet_input, type, type),
    PLAIN_OF(st_sheet_input, has_default), PLAIN_OF(st_sheet_input, default_value),
    PLAIN_OF(st_sheet_input, used),        INSIDE_OF(st_sheet_input, place, place),
};
static const record input = RECORD(st_sheet_input, input_fields);

static const field cell_fields[] = {
    TEXT_OF(st_sheet_cell, name),
    TEXT_OF(st_sheet_cell, doc),
    TEXT_OF(st_sheet_cell, cite),
    TEXT_OF(st_sheet_cell, formula),
    INSIDE_OF(st_sheet_cell, type, type),
    PLAIN_OF(st_sheet_cell, open),
    ONE_OF(st_sheet_cell, expr, expr),
    INSIDE_OF(st_sheet_cell, place, place),
    INSIDE_OF(st_sheet_cell, formula_place, place),
};
static const record cell = RECORD(st_sheet_cell, cell_fields);

static const field axis_fields[] = {{POINTER, 0, sizeof(st_enum *), &enumeration, 0, 0}};
static const record axis = {"axis", sizeof(st_enum *), 1, axis_fields};
static const field family_fields[] = {
    TEXT_OF(st_family, name),          INSIDE_OF(st_family, place, place),
    INSIDE_OF(st_family, axes, axis),  PLAIN_OF(st_family, axis_count),
    PLAIN_OF(st_family, member_count), NOTHING_OF(st_family, wheres),
};
static const record family = RECORD(st_family, family_fields);
static const field family_pointer_fields[] = {{POINTER, 0, sizeof(st_family *), &family, 0, 0}};
static const record family_pointer = {"family pointer", sizeof(st_family *), 1,
                                      family_pointer_fields};
static const field member_fields[] = {
    ONE_OF(st_family_member, family, family),
    PLAIN_OF(st_family_member, index),
};
static const record member = RECORD(st_family_member, member_fields);

static const field argument_fields[] = {
    TEXT_OF(st_sheet_argument, name),
    INSIDE_OF(st_sheet_argument, type, type),
};
static const record argument = RECORD(st_sheet_argument, argument_fields);
static const field function_fields[] = {
    TEXT_OF(st_sheet_function, name),
    TEXT_OF(st_sheet_function, doc),
    TEXT_OF(st_sheet_function, cite),
    TEXT_OF(st_sheet_function, formula),
    INSIDE_OF(st_sheet_function, type, type),
    PLAIN_OF(st_sheet_function, open),
    MANY_OF(st_sheet_function, arguments, argument, argument_count),
    PLAIN_OF(st_sheet_function, argument_count),
    ONE_OF(st_sheet_function, expr, expr),
    INSIDE_OF(st_sheet_function, place, place),
    INSIDE_OF(st_sheet_function, formula_place, place),
};
static const record function = RECORD(st_sheet_function, function_fields);

static const field check_fields[] = {
    TEXT_OF(st_sheet_check, formula),   TEXT_OF(st_sheet_check, message),
    PLAIN_OF(st_sheet_check, warning),  PLAIN_OF(st_sheet_check, limit),
    ONE_OF(st_sheet_check, expr, expr), INSIDE_OF(st_sheet_check, place, place),
};
static const record check = RECORD(st_sheet_check, check_fields);
static const field message_part_fields[] = {
    TEXT_OF(st_message_part, text),
    INSIDE_OF(st_message_part, formula, formula),
};
static const record message_part = RECORD(st_message_part, message_part_fields);
static const field message_fields[] = {
    MANY_OF(st_message, parts, message_part, count),
    PLAIN_OF(st_message, count),
};
static const record message = RECORD(st_message, message_fields);

static const field section_fields[] = {
    TEXT_OF(st_sheet_section, title),
    MANY_OF(st_sheet_section, cells, text, count),
    PLAIN_OF(st_sheet_section, count),
};
static const record section = RECORD(st_sheet_section, section_fields);

static const field role_fields[] = {
    INSIDE_OF(st_role_entry, place, place),
    INSIDE_OF(st_role_entry, cells, text),
    INSIDE_OF(st_role_entry, places, place),
};
static const record role = RECORD(st_role_entry, role_fields);

static const field part_fields[] = {
    TEXT_OF(st_summary_part, label),  TEXT_OF(st_summary_part, cell),
    TEXT_OF(st_summary_part, hidden), TEXT_OF(st_summary_part, inner),
    TEXT_OF(st_summary_part, given),  TEXT_OF(st_summary_part, otherwise),
    PLAIN_OF(st_summary_part, line),  INSIDE_OF(st_summary_part, place, place),
};
static const record part = RECORD(st_summary_part, part_fields);
static const field bar_fields[] = {
    TEXT_OF(st_summary_bar, title),
    TEXT_OF(st_summary_bar, total),
    TEXT_OF(st_summary_bar, limit),
    TEXT_OF(st_summary_bar, member),
    MANY_OF(st_summary_bar, parts, part, count),
    PLAIN_OF(st_summary_bar, count),
    INSIDE_OF(st_summary_bar, place, place),
};
static const record bar = RECORD(st_summary_bar, bar_fields);
static const field summary_fields[] = {
    MANY_OF(st_summary, answer, part, answer_count), PLAIN_OF(st_summary, answer_count),
    MANY_OF(st_summary, bars, bar, bar_count),       PLAIN_OF(st_summary, bar_count),
    MANY_OF(st_summary, rests, bar, rest_count),     PLAIN_OF(st_summary, rest_count),
};
static const record summary = RECORD(st_summary, summary_fields);

static const field slot_fields[] = {
    NEAR_TEXT_OF(st_name_slot, name),
    PLAIN_OF(st_name_slot, index),
    PLAIN_OF(st_name_slot, hash),
};
static const record slot = RECORD(st_name_slot, slot_fields);
static const field names_fields[] = {
    NOTHING_OF(st_names, arena), /* nobody adds a name */
    MANY_OF(st_names, slots, slot, capacity),
    PLAIN_OF(st_names, capacity),
    PLAIN_OF(st_names, count),
};
static const record names = RECORD(st_names, names_fields);

static const field sheet_fields[] = {
    TEXT_OF(st_sheet, name),
    TEXT_OF(st_sheet, title),
    TEXT_OF(st_sheet, doc),
    TEXT_OF(st_sheet, file),
    MANY_OF(st_sheet, inputs, input, input_count),
    PLAIN_OF(st_sheet, input_count),
    MANY_OF(st_sheet, cells, cell, cell_count),
    MANY_OF(st_sheet, cell_formulas, formula, cell_count),
    PLAIN_OF(st_sheet, cell_count),
    MANY_OF(st_sheet, cell_members, member, cell_count),
    MANY_OF(st_sheet, families, family_pointer, family_count),
    PLAIN_OF(st_sheet, family_count),
    INSIDE_OF(st_sheet, family_names, names),
    MANY_OF(st_sheet, functions, function, function_count),
    MANY_OF(st_sheet, function_formulas, formula, function_count),
    PLAIN_OF(st_sheet, function_count),
    MANY_OF(st_sheet, checks, check, check_count),
    MANY_OF(st_sheet, check_formulas, formula, check_count),
    MANY_OF(st_sheet, messages, message, check_count),
    PLAIN_OF(st_sheet, check_count),
    MANY_OF(st_sheet, sections, section, section_count),
    PLAIN_OF(st_sheet, section_count),
    MANY_OF(st_sheet, enums, enumeration, enum_count),
    PLAIN_OF(st_sheet, enum_count),
    INSIDE_OF(st_sheet, roles, role),
    INSIDE_OF(st_sheet, summary, summary),
    INSIDE_OF(st_sheet, input_names, names),
    INSIDE_OF(st_sheet, cell_names, names),
    INSIDE_OF(st_sheet, function_names, names),
    INSIDE_OF(st_sheet, value_names, names),
    MANY_OF(st_sheet, cell_order, number, cell_count),
    MANY_OF(st_sheet, reads, read, read_count),
    PLAIN_OF(st_sheet, read_count),
    MANY_OF(st_sheet, first_reads, read, owner_count),
    PLAIN_OF(st_sheet, owner_count),
};
static const record sheet_record = RECORD(st_sheet, sheet_fields);

static const record *const records[] = {
    &place, &text,   &number,   &enumeration, &unit,         &type,    &scalar,
    &expr,  &child,  &template, &piece,       &formula,      &input,   &cell,
    &axis,  &family, &member,   &argument,    &function,     &check,   &family_pointer,
    &part,  &bar,    &summary,  &message,     &message_part, &section, &role,
    &slot,  &names,  &source,   &read,        &sheet_record,
};

/* Whether the fields of a record follow one another, with no more between them than a compiler
 * leaves for alignment: one that was added to the structure must be added here. */
static bool is_described(const record *one)
{
    size_t end = 0;
    bool good = true;
    for (size_t i = 0; i <= one->count && good; i++) {
        const field *next = i < one->count ? &one->fields[i] : NULL;
        size_t at = next != NULL ? next->at : one->size;
        good = at >= end && at - end < sizeof(double);
        if (next != NULL)
            end = at + (next->size > 0 || next->kind != PLAIN ? next->size : next->count_at);
    }
    return good;
}

/* --- packing ---------------------------------------------------------------------------------- */

/* Where an object has its copy. Texts and types are known by what they say, all else by its place.
 */
typedef struct known {
    const void *object;
    const record *of;
    size_t word; /* in the region of its kind */
} known;

/* In the order of the image (sheet/image.h). */
typedef enum region { FIXED, COPIED, KEPT, REGIONS } region;

/* Where a copy is. */
typedef struct spot {
    region where;
    size_t word;
} spot;

typedef struct words {
    uintptr_t *items;
    size_t count;
} words;

typedef struct packer {
    st_arena *arena;
    words regions[REGIONS];
    uint8_t *targets[REGIONS]; /* per word: 1 + the region that it points into; 0: it does not */
    known *seen;
    size_t seen_count;
    const st_source *sources;
    size_t file_count;
    st_image_text *texts;
    size_t text_count;
    bool failed;
} packer;

enum { WORD = sizeof(uintptr_t), MOST_WORDS = 1 << 22, MOST_OBJECTS = 1 << 20 };

static bool is_plain(const record *of)
{
    bool plain = true;
    for (size_t i = 0; i < of->count; i++)
        plain = plain && of->fields[i].kind == PLAIN;
    return plain;
}

static region region_of(const record *of)
{
    bool kept = true;
    if (of == &type || of == &enumeration || of == &text)
        return FIXED;
    for (size_t i = 0; i < of->count; i++)
        kept = kept && (of->fields[i].kind == PLAIN || of->fields[i].kind == NEAR ||
                        of->fields[i].kind == NEAR_TEXT);
    return kept ? KEPT : COPIED;
}

static size_t hash_bytes(const void *bytes, size_t length, size_t start)
{
    uint64_t hash = st_hash_bytes(ST_HASH_BEGIN ^ start, bytes, length);
    return (size_t)(hash ^ hash >> 32);
}

static size_t hash_of(const void *object, const record *of)
{
    if (of == &characters)
        return hash_bytes(object, strlen(object), 0);
    if (of == &type) {
        const st_type *one = object;
        return hash_bytes(&one->unit.dimension, sizeof one->unit.dimension, (size_t)one->kind);
    }
    return hash_bytes(&object, sizeof object, of->size);
}

static bool is_same_type(const st_type *a, const st_type *b)
{
    return a->kind == b->kind && a->enumeration == b->enumeration &&
           strcmp(a->unit.text, b->unit.text) == 0 &&
           st_dimension_equal(a->unit.dimension, b->unit.dimension);
}

static bool is_it(const known *one, const void *object, const record *of)
{
    if (one->of != of || one->object == object)
        return one->of == of;
    return (of == &characters && strcmp(one->object, object) == 0) ||
           (of == &type && is_same_type(one->object, object));
}

/* The entry of an object, or the free one for it. */
static known *find(const packer *packing, const void *object, const record *of)
{
    size_t i = hash_of(object, of) & (MOST_OBJECTS - 1);
    while (packing->seen[i].object != NULL && !is_it(&packing->seen[i], object, of))
        i = (i + 1) & (MOST_OBJECTS - 1);
    return &packing->seen[i];
}

static void note(packer *packing, const void *object, const record *of, size_t word)
{
    packing->failed = packing->failed || packing->seen_count + 1 >= MOST_OBJECTS;
    if (!packing->failed) {
        *find(packing, object, of) = (known){object, of, word};
        packing->seen_count++;
    }
}

/* Zeros at the end, as strictly aligned as any field; their first word. */
static size_t reserve(packer *packing, region where, size_t bytes)
{
    const size_t alignment = sizeof(double) / WORD > 0 ? sizeof(double) / WORD : 1;
    words *into = &packing->regions[where];
    size_t first = (into->count + alignment - 1) / alignment * alignment;
    size_t end = first + (bytes + WORD - 1) / WORD;
    packing->failed = packing->failed || end > MOST_WORDS;
    if (!packing->failed)
        into->count = end;
    return first;
}

/* Places are exchanged for distances where the regions are joined. What is kept cannot point to
 * what is copied away from it. */
static void point(packer *packing, spot from, spot target)
{
    packing->failed = packing->failed || (from.where == KEPT && target.where == COPIED);
    packing->regions[from.where].items[from.word] = target.word * WORD;
    packing->targets[from.where][from.word] = (uint8_t)(1 + target.where);
}

static void pack_fields(packer *packing, const void *object, const record *of, spot at);

/* The children of an expression. */
static size_t bytes_behind(const void *object, const record *of)
{
    return of == &expr ? ((const st_expr *)object)->child_count * child.size : 0;
}

static size_t pack_objects(packer *packing, const void *first, const record *of, size_t count)
{
    const known *one = find(packing, first, of);
    if (one->object != NULL) {
        /* Who points to an object of a list before the list is packed would tear it apart. */
        const known *last = find(packing, (const char *)first + (count - 1) * of->size, of);
        packing->failed = packing->failed || last->object == NULL ||
                          (count - 1) * of->size != (last->word - one->word) * WORD;
        return one->word;
    }
    const region where = region_of(of);
    size_t word = reserve(packing, where, count * of->size + bytes_behind(first, of));
    for (size_t i = 0; i < count && of->size % WORD == 0; i++)
        note(packing, (const char *)first + i * of->size, of, word + i * of->size / WORD);
    if (is_plain(of) && !packing->failed) {
        /* Objects without pointers, which may be smaller than words. */
        char *to = (char *)&packing->regions[KEPT].items[word];
        for (size_t i = 0; i < count; i++) {
            for (size_t k = 0; k < of->count; k++) {
                size_t at = i * of->size + of->fields[k].at;
                memcpy(to + at, (const char *)first + at, of->fields[k].size);
            }
        }
        return word;
    }
    for (size_t i = 0; i < count; i++)
        pack_fields(packing, (const char *)first + i * of->size, of,
                    (spot){where, word + i * of->size / WORD});
    for (size_t at = of->size; at < of->size + bytes_behind(first, of); at += child.size)
        pack_fields(packing, (const char *)first + at, &child, (spot){where, word + at / WORD});
    return word;
}

static size_t count_of(const void *object, const field *pointer)
{
    uint32_t small = 0;
    size_t count = 1;
    const char *at = (const char *)object + pointer->count_at;
    if (pointer->count_size == sizeof small) {
        memcpy(&small, at, sizeof small);
        count = small;
    } else if (pointer->count_size == sizeof count) {
        memcpy(&count, at, sizeof count);
    }
    return count;
}

static void pack_pointer(packer *packing, const void *object, const field *one, spot at)
{
    const char *pointer = (const char *)object + one->at;
    const bool near = one->kind == NEAR || one->kind == NEAR_TEXT;
    const void *target = NULL;
    if (near)
        target = st_relative_target((const st_relative *)(const void *)pointer);
    else
        memcpy((void *)&target, pointer, sizeof target);
    packing->failed = packing->failed || near != (at.where == KEPT);
    if (target == NULL || packing->failed)
        return;
    size_t count = count_of(object, one);
    if (one->kind == TEXT || one->kind == NEAR_TEXT) {
        size_t pack_text;
        const char *text_object = target;
        const known *text_one = find(packing, text_object, &characters);
        if (text_one->object != NULL) {
            pack_text = text_one->word;
        } else {
            size_t word = reserve(packing, KEPT, strlen(text_object) + 1);
            if (!packing->failed) {
                memcpy(&packing->regions[KEPT].items[word], text_object, strlen(text_object));
                note(packing, text_object, &characters, word);
            }
            pack_text = word;
        }
        point(packing, at, (spot){KEPT, pack_text});
    } else if (one->kind == SOURCE) {
        const char *text_of_file = target;
        st_image_text image_text = {.word = (uint32_t)at.word, .file = 0};
        while (image_text.file < packing->file_count &&
               packing->sources[image_text.file].text != text_of_file)
            image_text.file++;
        packing->failed =
            packing->failed || at.where != COPIED || image_text.file == packing->file_count ||
            !ST_APPEND(packing->arena, packing->texts, packing->text_count, image_text);
    } else if (count > 0) {
        point(packing, at,
              (spot){region_of(one->of), pack_objects(packing, target, one->of, count)});
    }
}

static void pack_fields(packer *packing, const void *object, const record *of, spot at)
{
    for (size_t i = 0; i < of->count && !packing->failed; i++) {
        const field *one = &of->fields[i];
        const char *from = (const char *)object + one->at;
        char *to = (char *)&packing->regions[at.where].items[at.word] + one->at;
        const spot inside = {at.where, at.word + one->at / WORD};
        size_t items = one->kind == INSIDE ? one->size / one->of->size : 0;
        switch (one->kind) {
        case PLAIN:
            memcpy(to, from, one->size);
            break;
        case CHARACTERS:
            memcpy(to, from, strnlen(from, one->size));
            break;
        case INSIDE:
            for (size_t j = 0; j < items; j++)
                pack_fields(packing, from + j * one->of->size, one->of,
                            (spot){at.where, inside.word + j * one->of->size / WORD});
            break;
        case TEXT:
        case SOURCE:
        case POINTER:
        case NEAR:
        case NEAR_TEXT:
            pack_pointer(packing, object, one, inside);
            break;
        }
    }
}

/* From each word that is an offset, of a copied word or of another one, to the next. */
static bool list_steps(const packer *packing, bool inside, st_image_steps *list)
{
    const size_t count = packing->regions[COPIED].count;
    uint32_t *steps = st_arena_alloc(packing->arena, count + 1, sizeof *steps);
    size_t last = 0;
    for (size_t i = 0; steps != NULL && i < count; i++) {
        const uint8_t target = packing->targets[COPIED][i];
        if (target == 0 || (target == 1 + COPIED) != inside)
            continue;
        steps[list->count++] = (uint32_t)(i - last);
        last = i;
    }
    list->items = steps;
    return steps != NULL;
}

/* The regions in one piece. */
static bool join(const packer *packing, st_packed *packed)
{
    st_sheet_image *image = &packed->image;
    size_t starts[REGIONS + 1] = {0};
    for (size_t i = 0; i < REGIONS; i++)
        starts[i + 1] = starts[i] + (packing->regions[i].count + 1) / 2 * 2;
    uintptr_t *items = st_arena_alloc(packing->arena, starts[REGIONS], sizeof *items);
    st_image_word *fixed = st_arena_alloc(packing->arena, starts[COPIED] + 1, sizeof *fixed);
    bool *points = st_arena_alloc(packing->arena, starts[COPIED] + 1, sizeof *points);
    if (items == NULL || fixed == NULL || points == NULL)
        return false;
    for (size_t list = 0; list < ST_IMAGE_STEPS; list++)
        if (!list_steps(packing, list == ST_IMAGE_INSIDE, &image->steps[list]))
            return false;
    for (region where = FIXED; where < REGIONS; where++) {
        memcpy(items + starts[where], packing->regions[where].items,
               packing->regions[where].count * sizeof *items);
        /* What a word that points holds in the image: its target's offset, or, where the image
         * is used as it is, the distance to it. */
        uintptr_t *word_items = items + starts[where];
        for (size_t i = 0; i < packing->regions[where].count; i++) {
            if (packing->targets[where][i] == 0)
                continue;
            word_items[i] += starts[packing->targets[where][i] - 1] * WORD;
            word_items[i] -= where == KEPT ? (starts[KEPT] + i) * WORD : 0;
        }
    }
    for (size_t i = 0; i < starts[COPIED]; i++) {
        fixed[i].number = items[i];
        points[i] = packing->targets[FIXED][i] != 0;
    }
    packed->points = points;
    image->fixed = fixed;
    image->fixed_count = starts[COPIED];
    image->words = items + starts[COPIED];
    image->copied = starts[KEPT] - starts[COPIED];
    image->word_count = starts[REGIONS] - starts[COPIED];
    return true;
}

const st_packed *st_sheet_pack(const st_sheet *sheet, const st_image_file *files,
                               const st_source *sources, size_t file_count, st_arena *arena)
{
    packer packing = {.arena = arena,
                      .seen = st_arena_alloc(arena, MOST_OBJECTS, sizeof(known)),
                      .sources = sources,
                      .file_count = file_count};
    st_packed *packed = st_arena_alloc(arena, 1, sizeof *packed);
    for (size_t i = 0; i < REGIONS; i++) {
        packing.regions[i].items = st_arena_alloc(arena, MOST_WORDS, sizeof(uintptr_t));
        packing.targets[i] = st_arena_alloc(arena, MOST_WORDS, 1);
    }
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++)
        packing.failed = packing.failed || !is_described(records[i]);
    if (packing.failed || st_arena_failed(arena))
        return NULL;
    const spot root = {COPIED, reserve(&packing, COPIED, sizeof *sheet)};
    (void)pack_objects(&packing, sheet->enums, &enumeration, sheet->enum_count);
    pack_fields(&packing, sheet, &sheet_record, root);
    if (packing.failed || !join(&packing, packed))
        return NULL;
    packed->image.texts = packing.texts;
    packed->image.text_count = packing.text_count;
    packed->image.files = files;
    packed->image.file_count = file_count;
    return packed;
}

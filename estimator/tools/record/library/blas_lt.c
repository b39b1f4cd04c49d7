/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuBLASLt: layouts and descriptions of products, which a program makes, fills attribute by
 * attribute, and hands over. Programs may keep them in memory of their own (the Init functions:
 * 64 bytes of a layout, 256 of a description), so that all of them are structures behind pointers
 * here, with a word that marks them.
 */
#include "record/library/handlers.h"
#include "record/library/objects.h"

#include <stddef.h>
#include <stdlib.h>

enum { INVALID_VALUE = 7, ALLOC_FAILED = 3 };
#define LAYOUT_WORD     UINT64_C(0x5d4c61796f757421)
#define DESC_WORD       UINT64_C(0x5d44657363726921)
#define PREFERENCE_WORD UINT64_C(0x5d50726566657221)

typedef struct layout {
    uint64_t word;
    uint64_t rows;
    uint64_t columns;
    uint64_t leading;
    uint32_t type;
    uint32_t batch;
} layout;

typedef struct description {
    uint64_t word;
    uint32_t compute;
    uint32_t transpose_a;
    uint32_t transpose_b;
    uint32_t epilogue;
} description;

_Static_assert(sizeof(layout) <= 64, "a layout fits into cublasLtMatrixLayoutOpaque_t");
_Static_assert(sizeof(description) <= 256, "a description fits into cublasLtMatmulDescOpaque_t");

static uint64_t bad(st_call *call)
{
    return st_misuse(call, INVALID_VALUE, "invalid cuBLASLt layout or description");
}

/* A structure of the program's, or a new one that it is given. */
static uint64_t put_structure(st_call *call, const void *made, size_t bytes, bool is_new)
{
    void *into = st_pointer(call, 0);
    if (into == NULL)
        return bad(call);
    if (!is_new) {
        memcpy(into, made, bytes);
        return 0;
    }
    void *copy = malloc(bytes);
    if (copy == NULL)
        return ALLOC_FAILED;
    memcpy(copy, made, bytes);
    return ST_PUT(call, 0, void *, copy);
}

/* t type, r rows, c columns, l leading dimension; with a size before them it is the program's. */
uint64_t st_do_lt_layout(st_call *call)
{
    layout made = {.word = LAYOUT_WORD,
                   .rows = st_role(call, 'r', 0),
                   .columns = st_role(call, 'c', 0),
                   .leading = st_role(call, 'l', 0),
                   .type = (uint32_t)st_role(call, 't', 0),
                   .batch = 1};
    return put_structure(call, &made, sizeof made, call->entry->place['t' - 'a'] == 2);
}

/* c compute type, t type of the scale */
uint64_t st_do_lt_desc(st_call *call)
{
    description made = {
        .word = DESC_WORD, .compute = (uint32_t)st_role(call, 'c', 0), .epilogue = 1};
    return put_structure(call, &made, sizeof made, call->entry->place['c' - 'a'] == 2);
}

uint64_t st_do_lt_preference(st_call *call)
{
    const uint64_t nothing[8] = {PREFERENCE_WORD};
    return put_structure(call, nothing, sizeof nothing, true);
}

uint64_t st_do_lt_drop(st_call *call)
{
    uint64_t *dropped = st_pointer(call, 0);
    if (!st_is_address(dropped) ||
        (dropped[0] != LAYOUT_WORD && dropped[0] != DESC_WORD && dropped[0] != PREFERENCE_WORD))
        return bad(call);
    dropped[0] = 0;
    free(dropped);
    return 0;
}

/* A number of an attribute and where a structure keeps it. */
typedef struct attribute_field {
    int32_t attribute;
    uint32_t offset;
    size_t bytes;
} attribute_field;

#define FIELD(number, type, member)                                                                \
    {                                                                                              \
        number, offsetof(type, member), sizeof(((type *)NULL)->member)                             \
    }

/* (structure, attribute, value *, bytes, written *): the constant is 1 where it is read */
static uint64_t attribute(st_call *call, uint64_t word, const attribute_field *fields)
{
    unsigned char *of = st_pointer(call, 0);
    void *value = st_pointer(call, 2);
    const uint64_t bytes = st_word(call, 3);
    if (!st_is_address(of) || value == NULL || memcmp(of, &word, sizeof word) != 0)
        return bad(call);
    while (fields->bytes > 0 && fields->attribute != st_int(call, 1))
        fields++;
    if (call->entry->constant == 1) {
        memset(value, 0, bytes);
        memcpy(value, of + fields->offset, bytes < fields->bytes ? bytes : fields->bytes);
        if (st_word(call, 4) != 0)
            (void)ST_PUT(call, 4, uint64_t, bytes);
        return 0;
    }
    if (fields->bytes > 0 && bytes <= fields->bytes)
        memset(of + fields->offset, 0, fields->bytes);
    memcpy(of + fields->offset, value, bytes < fields->bytes ? bytes : fields->bytes);
    return 0;
}

uint64_t st_do_lt_layout_set(st_call *call)
{
    static const attribute_field fields[] = {FIELD(0, layout, type),    FIELD(2, layout, rows),
                                             FIELD(3, layout, columns), FIELD(4, layout, leading),
                                             FIELD(5, layout, batch),   {0}};
    return attribute(call, LAYOUT_WORD, fields);
}

uint64_t st_do_lt_desc_set(st_call *call)
{
    static const attribute_field fields[] = {FIELD(0, description, compute),
                                             FIELD(3, description, transpose_a),
                                             FIELD(4, description, transpose_b),
                                             FIELD(7, description, epilogue),
                                             {0}};
    return attribute(call, DESC_WORD, fields);
}

/* cublasLtMatmulHeuristicResult_t: 64 bytes of algorithm, workspace, state, waves, reserved; r
 * where it goes. Any algorithm fits, without workspace. */
uint64_t st_do_lt_check(st_call *call)
{
    unsigned char result[96] = {0};
    const float waves = 1;
    memcpy(result + 76, &waves, sizeof waves);
    unsigned place = call->entry->place['r' - 'a'] - 1U;
    return st_put_bytes(st_pointer(call, place), result, sizeof result) != 0 ? INVALID_VALUE : 0;
}

/* (..., how many are wanted, r results *, how many there are *): one algorithm */
uint64_t st_do_lt_heuristic(st_call *call)
{
    if (st_int(call, 7) < 1 || st_do_lt_check(call) != 0)
        return bad(call);
    return ST_PUT(call, 9, int32_t, 1) != 0 ? INVALID_VALUE : 0;
}

/* cublasLtMatmulAlgoGetIds(..., how many are wanted, numbers *, how many there are *): one, 0 */
uint64_t st_do_lt_numbers(st_call *call)
{
    if (st_int(call, 7) > 0 && ST_PUT(call, 8, int32_t, 0) != 0)
        return INVALID_VALUE;
    return ST_PUT(call, 9, int32_t, st_int(call, 7) > 0 ? 1 : 0) != 0 ? INVALID_VALUE : 0;
}

/* Attributes of algorithms (algorithm, attribute, value *, bytes, written *): all are zero. */
uint64_t st_do_lt_capability(st_call *call)
{
    unsigned char *into = st_pointer(call, 2);
    if (into != NULL)
        memset(into, 0, st_word(call, 3));
    if (st_word(call, 4) != 0)
        (void)ST_PUT(call, 4, uint64_t, st_word(call, 3));
    return 0;
}

/* cublasLtMatmul(handle, description, alpha, A, layout, B, layout, beta, C, layout, D, layout,
 * algorithm, workspace, its bytes, stream) */
uint64_t st_do_lt_matmul(st_call *call)
{
    const description *how = st_pointer(call, 1);
    const layout *a = st_pointer(call, 4);
    const layout *b = st_pointer(call, 6);
    const layout *d = st_pointer(call, 11);
    if (!st_is_address(how) || how->word != DESC_WORD || !st_is_address(a) ||
        a->word != LAYOUT_WORD || !st_is_address(b) || b->word != LAYOUT_WORD ||
        !st_is_address(d) || d->word != LAYOUT_WORD)
        return bad(call);
    call->is_short = true;
    call->draft.kind = ST_LOG_GEMM;
    call->draft.gemm = (st_log_gemm){
        .m = (uint32_t)d->rows,
        .n = (uint32_t)d->columns,
        .k = (uint32_t)(how->transpose_a != 0 ? a->rows : a->columns),
        .batch = d->batch,
        .stream = call->stream->number,
        .type_a = (uint8_t)a->type,
        .type_b = (uint8_t)b->type,
        .type_d = (uint8_t)d->type,
        .compute = (uint8_t)how->compute,
        .transpose_a = (uint8_t)how->transpose_a,
        .transpose_b = (uint8_t)how->transpose_b,
        .epilogue = (uint16_t)how->epilogue,
        .lda = (uint32_t)a->leading,
        .ldb = (uint32_t)b->leading,
        .ldd = (uint32_t)d->leading,
    };
    st_enqueue(call, call->stream);
    st_mix(ST_LOG_GEMM);
    st_mix(d->rows << 32 | d->columns);
    st_mix((uint64_t)call->draft.gemm.k << 32 | d->batch);
    return 0;
}

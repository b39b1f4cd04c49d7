/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges of NVTX, with which programs name their steps. A program's NVTX loads the library that
 * NVTX_INJECTION64_PATH names and calls InitializeInjectionNvtx2, which puts functions in the place
 * of its own (nvtx3/nvtxDetail/nvtxTypes.h). Texts are kept where they are in ASCII.
 */
#include "record/library/handlers.h"

typedef int get_functions(uint32_t module, st_function ***table, uint32_t *count);
typedef struct callbacks {
    size_t bytes;
    get_functions *functions;
} callbacks;
typedef const callbacks *get_table(uint32_t table);

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(get_table *tables);

/* nvtxEventAttributes_t */
typedef struct event_attributes {
    uint16_t version;
    uint16_t bytes;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved;
    uint64_t payload;
    int32_t message_type; /* 1: ASCII */
    const char *message;
} event_attributes;

/* A range begins: a its text, e its attributes. */
uint64_t st_do_range_push(st_call *call)
{
    uint64_t word = st_role(call, 'a', 0);
    uint64_t given = st_role(call, 'e', 0);
    const char *text;
    memcpy(&text, &word, sizeof text);
    if (given != 0) {
        const void *from;
        event_attributes attributes;
        memcpy(&from, &given, sizeof from);
        memcpy(&attributes, from, sizeof attributes);
        text = attributes.message_type == 1 ? attributes.message : NULL;
    }
    call->draft.kind = ST_LOG_MARK;
    call->draft.mark = (st_log_mark){.text = st_string(text != NULL ? text : ""), .push = 1};
    return 0;
}

uint64_t st_do_range_pop(st_call *call)
{
    call->draft.kind = ST_LOG_MARK;
    call->draft.mark = (st_log_mark){.push = 2};
    return 0;
}

int InitializeInjectionNvtx2(get_table *tables)
{
    enum { CALLBACKS = 1, CORE = 1, DOMAINS = 5 };
    static const struct {
        uint32_t module;
        uint32_t place;
        const char *name;
    } functions[] = {
        {CORE, 8, "stNvtxRangePushEx"},       {CORE, 9, "stNvtxRangePushA"},
        {CORE, 11, "stNvtxRangePop"},         {DOMAINS, 4, "stNvtxDomainRangePushEx"},
        {DOMAINS, 5, "stNvtxDomainRangePop"},
    };
    const callbacks *found = tables != NULL ? tables(CALLBACKS) : NULL;
    for (size_t i = 0; found != NULL && i < sizeof functions / sizeof functions[0]; i++) {
        st_function **table = NULL;
        uint32_t count = 0;
        if (found->functions(functions[i].module, &table, &count) != 0 &&
            functions[i].place < count && table[functions[i].place] != NULL)
            *table[functions[i].place] = st_address_of_known(functions[i].name);
    }
    return found != NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products on a real GPU: CUPTI measures their kernels without sizes, which are arguments of cuBLAS
 * calls. These are read here and passed on to the library that the program has loaded. Layouts and
 * descriptions of cuBLASLt are the real library's, which returns their attributes.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "record/library/products.h"

#include "record/library/handlers.h"

#include <dlfcn.h>

enum { NOT_INITIALIZED = 1, WORDS_OF_STACK = 18 }; /* the longest prototype has 23 words */

/* A prototype of as many words as any of them has; who expects fewer does not look at the rest. */
typedef uint64_t real_function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                               uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                               uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                               uint64_t, uint64_t, uint64_t);

typedef struct passed {
    const st_call *call;
    st_log_gemm (*read)(const st_call *call);
    uint64_t result;
} passed_product;

/* Products that are part of one: cuBLAS calls cuBLASLt. */
static __attribute__((tls_model("initial-exec"))) _Thread_local uint32_t depth;

/* In the library under its own name, wherever it was loaded to, else in what comes next. */
static void *find_real(uint8_t library, const char *name)
{
    static const char *const sonames[][3] = {
        {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"},
        {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"},
    };
    for (size_t i = 0; i < 3; i++) {
        void *loaded = dlopen(sonames[library == ST_CUBLASLT][i], RTLD_LAZY | RTLD_NOLOAD);
        void *found = loaded != NULL ? dlsym(loaded, name) : NULL;
        if (loaded != NULL)
            (void)dlclose(loaded);
        if (found != NULL)
            return found;
    }
    return dlsym(RTLD_NEXT, name);
}

static void run_real(void *context)
{
    passed_product *passed = context;
    bool outermost = depth++ == 0;
    if (outermost) {
        const st_log_gemm gemm = passed->read(passed->call);
        st_product_push(&gemm);
    }
    const st_call *call = passed->call;
    real_function *real = NULL;
    void *found = find_real(call->entry->library, call->entry->name);
    const uint64_t *r = call->registers;
    const uint64_t *s = call->stack;
    memcpy(&real, &found, sizeof real);
    if (real != NULL)
        passed->result = real(r[0], r[1], r[2], r[3], r[4], r[5], s[0], s[1], s[2], s[3], s[4],
                              s[5], s[6], s[7], s[8], s[9], s[10], s[11], s[12], s[13], s[14],
                              s[15], s[16], s[WORDS_OF_STACK - 1]);
    if (outermost)
        st_product_pop();
    depth--;
}

static uint64_t pass(st_call *call, st_log_gemm (*read)(const st_call *call))
{
    passed_product passed = {.call = call, .read = read, .result = NOT_INITIALIZED};
    st_call_back(run_real, &passed);
    return passed.result & UINT32_MAX;
}

uint64_t st_do_gemm(st_call *call)
{
    return pass(call, st_gemm_of);
}

/* ---- cuBLASLt ---- */

/* An attribute of a layout or a description, 0 where the library has none. */
static uint64_t attribute(const char *getter, const st_call *call, unsigned argument, int number,
                          size_t bytes)
{
    int (*get)(const void *of, int attribute, void *value, size_t bytes, size_t *written) = NULL;
    void *found = find_real(ST_CUBLASLT, getter);
    uint64_t value = 0;
    size_t written = 0;
    memcpy(&get, &found, sizeof get);
    bool known = get != NULL && st_word(call, argument) != 0 &&
                 get(st_pointer(call, argument), number, &value, bytes, &written) == 0;
    return known ? value : 0;
}

static uint32_t of_layout(const st_call *call, unsigned argument, int number)
{
    enum { ROWS = 2, LEADING = 4 }; /* cublasLtMatrixLayoutAttribute_t; these are of 64 bits */
    size_t bytes = number >= ROWS && number <= LEADING ? 8 : 4;
    return (uint32_t)attribute("cublasLtMatrixLayoutGetAttribute", call, argument, number, bytes);
}

static uint32_t of_description(const st_call *call, int number)
{
    return (uint32_t)attribute("cublasLtMatmulDescGetAttribute", call, 1, number, 4);
}

/* cublasLtMatmul's layouts are arguments 4 of A, 6 of B, 11 of D; its description is argument 1. */
static st_log_gemm matmul_of(const st_call *call)
{
    enum { TYPE = 0, ROWS = 2, COLUMNS = 3, LEADING = 4, BATCH = 5 };
    enum { COMPUTE = 0, TRANSPOSE_A = 3, TRANSPOSE_B = 4, EPILOGUE = 7 };
    uint32_t transpose_a = of_description(call, TRANSPOSE_A);
    return (st_log_gemm){.m = of_layout(call, 11, ROWS),
                         .n = of_layout(call, 11, COLUMNS),
                         .k = of_layout(call, 4, transpose_a != 0 ? ROWS : COLUMNS),
                         .batch = of_layout(call, 11, BATCH),
                         .type_a = (uint8_t)of_layout(call, 4, TYPE),
                         .type_b = (uint8_t)of_layout(call, 6, TYPE),
                         .type_d = (uint8_t)of_layout(call, 11, TYPE),
                         .compute = (uint8_t)of_description(call, COMPUTE),
                         .transpose_a = (uint8_t)transpose_a,
                         .transpose_b = (uint8_t)of_description(call, TRANSPOSE_B),
                         .epilogue = (uint16_t)of_description(call, EPILOGUE),
                         .lda = of_layout(call, 4, LEADING),
                         .ldb = of_layout(call, 6, LEADING),
                         .ldd = of_layout(call, 11, LEADING)};
}

uint64_t st_do_lt_matmul(st_call *call)
{
    return pass(call, matmul_of);
}

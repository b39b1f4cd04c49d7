/* SPDX-License-Identifier: Apache-2.0 */
/* Binaries of kernels that say more than they have, at the end of what can be read. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "base_support.h"

#include "record/library/layouts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HEAD = 16, ENTRY = 24, BODY = 64, ALL = HEAD + ENTRY + BODY, PAGE = 4096 };

static void put(unsigned char *at, uint64_t number, size_t bytes)
{
    memcpy(at, &number, bytes);
}

/* One entry, whose header and body are as long as it says. */
static bool find_in(uint32_t header_bytes, uint64_t body_bytes)
{
    unsigned char *pages =
        mmap(NULL, 2 * (size_t)PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    st_layout layout;
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
    unsigned char *fat = pages + PAGE - ALL;
    put(fat, 0xba55ed50, 4);
    put(fat + 6, HEAD, 2);
    put(fat + 8, ENTRY + BODY, 8);
    put(fat + HEAD, 2, 2); /* a cubin */
    put(fat + HEAD + 4, header_bytes, 4);
    put(fat + HEAD + 8, body_bytes, 8);
    bool found = st_layout_find(fat, "kernel", &layout);
    assert_int_equal(munmap(pages, 2 * (size_t)PAGE), 0);
    return found;
}

static void entries_end_with_the_binary(void **state)
{
    (void)state;
    assert_false(find_in(ENTRY, BODY));
    assert_false(find_in(ENTRY + BODY, BODY));
    assert_false(find_in(ENTRY + 5, BODY));
    assert_false(find_in(UINT32_MAX, BODY));
    assert_false(find_in(ENTRY, UINT64_MAX - 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_end_with_the_binary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

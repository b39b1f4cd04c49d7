/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of measured products from any bytes: refused with a reason, or whatever shape is asked
 * about, the answer is a finite ratio above 0.
 */
#include "fuzz.h"

#include "../../plugins/operator-times/shapes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void ask(const st_shapes *shapes, double scale)
{
    const st_rates rates = {.rate = 713e12,
                            .bandwidth = 2.385e12,
                            .width = 2,
                            .constant_s = 3e-6,
                            .corner = (double)NAN};
    for (size_t i = 0; i < shapes->count && i < 20; i++) {
        st_product product = shapes->products[i];
        double nearest = 0;
        product.m *= scale;
        double ratio = st_shapes_ratio(shapes, &product, &rates, 1, &nearest);
        FUZZ_REQUIRE(nearest >= 0);
        FUZZ_REQUIRE(ratio > 0 || isinf(st_product_formula(&shapes->products[i], &rates)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const st_shapes_filter all = {"", "", ""};
    char *text = malloc(size + 1);
    char reason[ST_SHAPES_REASON] = "";
    st_shapes shapes;
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (st_shapes_read(&shapes, text, &all, reason) != NULL) {
        FUZZ_REQUIRE(reason[0] != '\0' && strlen(reason) < sizeof reason);
    } else {
        ask(&shapes, 1);
        ask(&shapes, 1.0625);
        st_shapes_free(&shapes);
    }
    free(text);
    return 0;
}

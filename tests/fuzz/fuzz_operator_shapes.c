/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of measured operators from any bytes: refused with a reason, or whatever shape is asked
 * about, the answer is a finite ratio above 0.
 */
#include "fuzz.h"

#include "../../plugins/operator-times/model/shapes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void ask(const st_shapes *shapes, double scale)
{
    const st_rates rates = {
        .rate = 713e12, .bandwidth = 2.385e12, .width = 2, .half = 117, .moving = 3e-13};
    for (size_t i = 0; i < shapes->table.count && i < 20; i++) {
        const st_measured *row = &shapes->table.rows[i];
        char text[ST_SHAPES_TEXT];
        char reason[ST_TABLE_REASON] = "";
        double sizes[ST_TABLE_SIZES];
        st_neighbours neighbours;
        memcpy(sizes, row->sizes, sizeof sizes);
        sizes[1] *= scale;
        FUZZ_REQUIRE(strlen(st_shapes_text(shapes->of, sizes, text)) < sizeof text);
        FUZZ_REQUIRE(st_shapes_outside(shapes, sizes, reason) == NULL || reason[0] != '\0');
        double ratio = st_shapes_ratio(shapes, sizes, &rates, 1, &neighbours);
        FUZZ_REQUIRE(neighbours.count <= ST_SHAPES_NEAREST);
        FUZZ_REQUIRE(neighbours.count == 0 || neighbours.distances[0] >= 0);
        FUZZ_REQUIRE(ratio > 0 || isinf(st_shapes_formula(shapes->of, row->sizes, &rates)));
    }
}

static void read_as(st_operator of, const char *text)
{
    static const st_table_filter all = {"", "", ""};
    char reason[ST_TABLE_REASON] = "";
    st_shapes shapes;
    if (st_shapes_read(&shapes, of, text, &all, reason) != NULL) {
        FUZZ_REQUIRE(reason[0] != '\0' && strlen(reason) < sizeof reason);
        return;
    }
    ask(&shapes, 1);
    ask(&shapes, 1.0625);
    st_shapes_free(&shapes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    for (size_t i = 0; i < ST_OPERATORS; i++)
        read_as((st_operator)i, text);
    free(text);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Models of slowdown from any bytes: what is accepted predicts finite slowdowns, else there is a
 * reason. */
#include "fuzz.h"

#include "../../plugins/overlap-xgboost/model/model.h"

#include <math.h>
#include <stdlib.h>

static void check_predictions(const model *own)
{
    FUZZ_REQUIRE(own->member_count <= MODEL_MEMBERS && own->gpu_count <= MODEL_GPUS);
    for (size_t k = 0; k < MODEL_CLASSES; k++) {
        const model_class *class = &own->classes[k];
        double slowdown = class->count > 0 ? model_slowdown(own, class->features) : 1;
        FUZZ_REQUIRE(isnan(slowdown) || (isfinite(slowdown) && slowdown >= 0));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_copy((const char *)data, size);
    char reason[256] = "";
    model own;
    const char *wrong = model_read(&own, text, size, reason, sizeof reason);
    FUZZ_REQUIRE(wrong == NULL || wrong[0] != '\0');
    if (wrong == NULL) {
        check_predictions(&own);
        model_free(&own);
    }
    free(text);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slowdown model in the form that `steptime fit overlap -o FILE` writes: boosted trees, the range
 * of the features that they were trained on, and the usual kernel of each class.
 */
#ifndef OVERLAP_XGBOOST_MODEL_H
#define OVERLAP_XGBOOST_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include <xgboost/c_api.h>

enum {
    MODEL_FEATURES = 20,
    MODEL_CLASSES = 7,
    MODEL_MEMBERS = 32,
    MODEL_GPUS = 32,
    MODEL_BYTES_FEATURE = 10, /* logarithm of the message's bytes */
    MODEL_GPU_FEATURE = 12    /* its number in plugins/gpus.h */
};

typedef struct model_class {
    size_t count; /* kernels; 0: the class was not seen */
    double weight;
    double slowdown; /* measured, over all of the class; NaN: what the trees say counts */
    float features[MODEL_FEATURES];
} model_class;

typedef struct model {
    bool logarithm; /* trees give the slowdown's logarithm */
    double quantile;
    double spread; /* of the members' quartiles, beyond which their mean is taken; 0: never */
    double least_slowdown; /* that is predicted */
    double scale;
    float least[MODEL_FEATURES]; /* NaN: the feature was not known */
    float most[MODEL_FEATURES];
    size_t gpus[MODEL_GPUS]; /* that the kernels ran on; none: nobody said */
    size_t gpu_count;
    model_class classes[MODEL_CLASSES]; /* gemm attention norm elementwise reduction copy other */
    BoosterHandle members[MODEL_MEMBERS];
    size_t member_count;
} model;

/*
 * Reads a model from its text. NULL on success, else the reason, in static or in `reason`'s memory.
 * On failure nothing has to be freed.
 */
const char *model_read(model *loaded, const char *text, size_t length, char *reason,
                       size_t reason_bytes);
void model_free(model *loaded);

/* The slowdown of a kernel with these features, at least 1 unless the model allows less; NaN where
 * XGBoost fails. */
double model_slowdown(const model *loaded, const float features[MODEL_FEATURES]);

#endif

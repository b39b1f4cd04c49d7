/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model of how much communication slows concurrent kernels: boosted trees, several of them on
 * random parts of the kernels, and a quantile of what they say.
 *
 * The target is the logarithm of the slowdown of the overlapped share, each kernel weighted with
 * that share [echo sec. 6]. Each member of a bag sees three quarters of the kernels' names, so that
 * the members disagree about kernels of a new kind; a quantile below the middle then says less.
 * A recipe may take the nearest kernels of a name for names that it knows, and trees for others.
 * Echo's own recipe, one deep tree model of squared errors, is the recipe "echo".
 */
#ifndef STEPTIME_CALIBRATE_SLOWDOWN_SLOWDOWN_H
#define STEPTIME_CALIBRATE_SLOWDOWN_SLOWDOWN_H

#include "overlap-xgboost/fit/baselines.h"
#include "fit/trees/trees.h"

typedef struct st_recipe {
    const char *name;
    st_trees_options trees;
    size_t bags;     /* members; 1: no random parts */
    bool logarithm;  /* the target is the slowdown's logarithm */
    double quantile; /* of the members' answers */
    double spread;   /* of their quartiles, beyond which their mean is taken; logarithm only */
    bool neighbours; /* for names that were learnt from */
    const char *doc;
} st_recipe;

const st_recipe *st_recipes(size_t *count);
/* NULL where there is none of that name. */
const st_recipe *st_recipe_find(const char *name);

/* The usual kernel of a class, for estimates that know classes and no kernels. */
typedef struct st_usual_kernel {
    size_t count;    /* kernels of the class concurrently with communication; 0: none */
    double weight;   /* their part of the time concurrently with communication */
    double slowdown; /* measured, by that time; NaN where the recipe has trees for all kernels */
    float features[ST_FEATURES]; /* median of each, NaN where it is not known */
} st_usual_kernel;

typedef struct st_slowdown_model {
    const st_recipe *recipe;
    st_trees **members;
    size_t member_count;
    float least[ST_FEATURES]; /* of what it was trained on; NaN: not known there */
    float most[ST_FEATURES];
    bool has_gpu[ST_MOST_GPUS]; /* kernels of it were among them */
    st_usual_kernel usual[ST_KERNEL_CLASSES];
    size_t trained_on;     /* kernels */
    double least_slowdown; /* that is predicted */
    double base;           /* usual logarithm of a slowdown */
    st_neighbours nearest; /* of the recipes that take them; needs the table */
    double scale;    /* on what a slowdown exceeds 1, where members disagree or know nothing */
    uint64_t *known; /* hashes of the names that it was trained on */
    size_t known_count;
} st_slowdown_model;

/* Learns from some rows. The model is destroyed before the library is closed. */
st_status st_slowdown_train(st_trees_library *library, const st_kernel_rows *rows,
                            const st_recipe *recipe, st_arena *arena, st_slowdown_model *model,
                            st_errors *errors) ST_NODISCARD;
void st_slowdown_destroy(st_slowdown_model *model);

/*
 * What each of the rows takes concurrently with communication, over its isolated time: 1 - share +
 * share times the slowdown, which is never below 1 unless the kernels that the model learnt from
 * allow it. Features outside of the trained range count as
 * its end.
 */
st_status st_slowdown_predict(const st_slowdown_model *model, const st_kernel_rows *rows,
                              st_arena *arena, double *factors, st_errors *errors) ST_NODISCARD;

/* The members' gains of each feature, as shares of their sum. */
st_status st_slowdown_importance(const st_slowdown_model *model, double shares[ST_FEATURES],
                                 st_errors *errors) ST_NODISCARD;

/*
 * The model as text: a line that names the format and its version, lines for the recipe, the range
 * of each feature, and each member, packed, in base64 with its CRC-32, so that a copy that is cut
 * or changed is refused before XGBoost sees it.
 */
st_status st_slowdown_write(const st_slowdown_model *model, st_buffer *buffer,
                            st_errors *errors) ST_NODISCARD;

/* ---- how good it is ---- */

/* Of predicted over measured factors of kernels. */
typedef struct st_slowdown_errors {
    size_t count;
    double within_5; /* share of kernels whose factor is at most 5 % off */
    double within_10;
    double within_15;
    double rmse;          /* of the factor */
    double rmse_10us;     /* of kernels of 10 us and more */
    double rmse_weighted; /* each kernel weighted with its isolated time */
    double bias;          /* of the sum of all kernels' times */
} st_slowdown_errors;

/* Which kernels a comparison counts. */
typedef enum st_slowdown_part {
    ST_SLOWDOWN_ALL,
    ST_SLOWDOWN_ALONGSIDE, /* a share of ST_LEAST_SHARE or more */
    ST_SLOWDOWN_SLOWED,    /* that took more than 1.2 times as long */
    ST_SLOWDOWN_PARTS
} st_slowdown_part;

/* Of the rows of that part; all but the count is NaN where there are none. */
st_slowdown_errors st_slowdown_compare(const st_kernel_rows *rows, const double *factors,
                                       st_slowdown_part part);

#endif

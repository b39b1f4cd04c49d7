/* SPDX-License-Identifier: Apache-2.0 */
/* Dice that fall the same way on every machine (SplitMix64 [steele2014]). */
#ifndef STEPTIME_CALIBRATE_TREES_SHUFFLE_H
#define STEPTIME_CALIBRATE_TREES_SHUFFLE_H

#include <stddef.h>
#include <stdint.h>

typedef struct st_dice {
    uint64_t state;
} st_dice;

static inline st_dice st_dice_of(uint64_t seed)
{
    return (st_dice){seed};
}

static inline uint64_t st_dice_next(st_dice *dice)
{
    uint64_t mixed = dice->state += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
}

/* Fisher and Yates. */
static inline void st_shuffle(size_t *items, size_t count, st_dice *dice)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)(st_dice_next(dice) % i);
        size_t item = items[i - 1];
        items[i - 1] = items[other];
        items[other] = item;
    }
}

#endif

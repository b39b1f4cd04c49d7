/* SPDX-License-Identifier: Apache-2.0 */
/* Texts by number, behind the lock: first the names of the functions, then what programs bring. */
#ifndef STEPTIME_RECORD_LIBRARY_TEXTS_H
#define STEPTIME_RECORD_LIBRARY_TEXTS_H

#include <stdint.h>

const char *st_string_text(uint32_t string);

#endif

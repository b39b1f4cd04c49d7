/* SPDX-License-Identifier: Apache-2.0 */
/* Functions looked up by name; see xlsx_library.h. */
#include "export/xlsx_library.h"

#include "base/lists.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* The version whose header this was compiled with: others may lay structures out differently. */
#ifdef LXW_SOVERSION
static const char file_name[] = "libxlsxwriter.so." LXW_SOVERSION;
#else
static const char file_name[] = "libxlsxwriter.so";
#endif

#define ST_XLSX_ROW(name) {#name, offsetof(st_xlsx_library, name)},
static const struct {
    const char *name;
    size_t offset;
} symbols[] = {ST_XLSX_FUNCTIONS(ST_XLSX_ROW)};
#undef ST_XLSX_ROW

static st_status not_there(st_errors *errors)
{
    const char *reason = dlerror();
    return st_fail(errors, ST_ERR_IO, (st_place){0}, "workbooks need the library %s: %s", file_name,
                   reason != NULL ? reason : "not found");
}

st_status st_xlsx_library_open(st_xlsx_library *library, st_errors *errors)
{
    library->handle = dlopen(file_name, RTLD_NOW | RTLD_LOCAL);
    if (library->handle == NULL)
        return not_there(errors);
    for (size_t i = 0; i < ST_COUNT(symbols); i++) {
        /* ISO C knows no way from one kind of pointer to the other. */
        void *symbol = dlsym(library->handle, symbols[i].name);
        if (symbol == NULL) {
            st_status status = not_there(errors);
            st_xlsx_library_close(library);
            return status;
        }
        memcpy((char *)library + symbols[i].offset, &symbol, sizeof symbol);
    }
    return ST_OK;
}

void st_xlsx_library_close(st_xlsx_library *library)
{
    if (library->handle != NULL)
        (void)dlclose(library->handle);
    library->handle = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* dladdr, memrchr; NOLINT(bugprone-reserved-identifier) */
/* The prefix of a moved installation; see tool/input_files.h. */
#include "steptime/tool/input_files.h"

#include "base/lists.h"
#include "job/installed.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

/* The file that this code was loaded from; "" where it is not known. */
static const char *own_file(char path[PATH_BYTES])
{
    path[0] = '\0';
#ifndef __EMSCRIPTEN__
    Dl_info info;
    const uintptr_t code = (uintptr_t)&st_installed_folder;
    const void *address = (const void *)code; /* NOLINT(performance-no-int-to-ptr) */
    const bool is_library = dladdr(address, &info) != 0 && info.dli_fname != NULL &&
                            strstr(info.dli_fname, ".so") != NULL;
    const ssize_t length = is_library ? -1 : readlink("/proc/self/exe", path, PATH_BYTES - 1);
    path[length > 0 ? length : 0] = '\0';
    /* A loader names a library as its search path does: "./libsteptime.so.0", too. */
    char *whole = is_library ? realpath(info.dli_fname, NULL) : NULL;
    if (whole != NULL && strlen(whole) < PATH_BYTES)
        memcpy(path, whole, strlen(whole) + 1);
    free(whole);
#endif
    return path;
}

/* Programs lie in bin, tools in libexec/steptime, the library in LIBDIR: so many folders below. */
const char *st_installed_folder(const char *folder, st_arena *arena)
{
    static const size_t depths[] = {1, 2, STEPTIME_LIBDIR_DEPTH};
    char path[PATH_BYTES];
    const char *file = own_file(path);
    struct stat status;
    for (size_t i = 0; i < ST_COUNT(depths); i++) {
        size_t length = strlen(file);
        for (size_t cut = 0; cut <= depths[i] && length > 0; cut++) {
            const char *slash = memrchr(file, '/', length);
            length = slash != NULL ? (size_t)(slash - file) : 0;
        }
        const char *data = st_arena_printf(arena, "%.*s/" STEPTIME_DATADIR "/steptime/formulas",
                                           (int)length, file);
        if (length > 0 && data != NULL && stat(data, &status) == 0 && S_ISDIR(status.st_mode))
            return st_arena_printf(arena, "%.*s/%s", (int)length, file, folder);
    }
    return st_arena_printf(arena, STEPTIME_PREFIX "/%s", folder);
}

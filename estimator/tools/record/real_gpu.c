/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU of this machine and CUPTI, see start_program.h. */
#include "record/start_program.h"

#include "base/memory.h"

#include <dlfcn.h>
#include <string.h>

#define DRIVER "libcuda.so.1"

/* What the last dlopen or dlsym failed by. */
static const char *reason(void)
{
    const char *text = dlerror();
    return text != NULL ? text : "cannot be loaded";
}

static bool find(void *library, const char *name, void *into, size_t bytes)
{
    void *found = dlsym(library, name);
    memcpy(into, &found, bytes);
    return found != NULL;
}

static bool can_load(const char *path)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    bool has = library != NULL && dlsym(library, "cuptiActivityEnable") != NULL;
    if (library != NULL)
        (void)dlclose(library);
    return has;
}

st_status st_real_gpu_find(const char *cupti, st_real_gpu *found, st_errors *errors)
{
    *found = (st_real_gpu){0};
    void *driver = dlopen(DRIVER, RTLD_NOW | RTLD_LOCAL);
    if (driver == NULL)
        return st_fail(errors, ST_ERR_IO, (st_place){.file = DRIVER},
                       "--profile requires a GPU and its driver: %s" ST_HINT
                       "omit --profile to record without a GPU",
                       reason());
    st_status status = ST_OK;
    int (*init)(unsigned flags) = NULL;
    int (*count)(int *count) = NULL;
    int devices = 0;
    st_place place = {.file = DRIVER};
    if (!find(driver, "cuInit", &init, sizeof init) ||
        !find(driver, "cuDeviceGetCount", &count, sizeof count)) {
        status = st_fail(errors, ST_ERR_IO, place, "not an NVIDIA driver");
    } else if (dlsym(driver, "cudaMalloc") != NULL) {
        status = st_fail(errors, ST_ERR_IO, place,
                         "this is the recorder's stand-in driver, which has no GPU" ST_HINT
                         "remove its folder from LD_LIBRARY_PATH");
    } else {
        int error = init(0);
        if (error == 0)
            error = count(&devices);
        if (error != 0)
            status = st_fail(errors, ST_ERR_IO, place,
                             "the driver failed to initialize" ST_FOUND "CUDA error %d", error);
        else if (devices < 1)
            status = st_fail(errors, ST_ERR_IO, place, "--profile found no GPU");
        else
            found->count = (uint32_t)devices;
    }
    (void)dlclose(driver);
    if (status != ST_OK)
        return status;
    static const char *const places[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so",
                                         "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
                                         "/usr/local/cuda/lib64/libcupti.so"};
    if (cupti != NULL && !can_load(cupti))
        return st_fail(errors, ST_ERR_IO, (st_place){.file = cupti}, "not a CUPTI library: %s",
                       reason());
    found->cupti = cupti;
    for (size_t i = 0; found->cupti == NULL && i < ST_COUNT(places); i++)
        found->cupti = can_load(places[i]) ? places[i] : NULL;
    if (found->cupti == NULL)
        return st_fail(errors, ST_ERR_IO, (st_place){.file = "libcupti.so"},
                       "CUPTI not found" ST_HINT
                       "give its path with --cupti FILE; the CUDA toolkit and the Python package "
                       "nvidia-cuda-cupti contain it");
    return ST_OK;
}

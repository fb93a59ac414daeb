/* A stand-in for libcudart, the runtime inside every CUDA build of torch: it asks whatever libcuda.so.1 the loader
   finds, in the order of the real one: is there a driver, is it of the runtime's generation, does it start.

   STUB_CUDART_VERSION  the runtime's own version (default 13000)                                                  */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

enum { INSUFFICIENT_DRIVER = 35, GENERATION = 1000 };

static void *of_driver(const char *name) {
    static void *driver;
    if (!driver) driver = dlopen("libcuda.so.1", RTLD_NOW);
    return driver ? dlsym(driver, name) : NULL;
}

int cudaRuntimeGetVersion(int *version) {
    const char *text = getenv("STUB_CUDART_VERSION");
    *version = text && *text ? atoi(text) : 13000;
    return 0;
}

int cudaDriverGetVersion(int *version) {
    int (*ask)(int *) = (int (*)(int *))of_driver("cuDriverGetVersion");
    *version = 0;
    return ask ? ask(version) : 0;
}

int cudaGetDeviceCount(int *count) {
    int driver, runtime, error;
    int (*start)(unsigned) = (int (*)(unsigned))of_driver("cuInit");
    int (*count_devices)(int *) = (int (*)(int *))of_driver("cuDeviceGetCount");
    *count = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (!start || driver / GENERATION < runtime / GENERATION) return INSUFFICIENT_DRIVER;
    error = start(0);
    return error ? error : count_devices(count);
}

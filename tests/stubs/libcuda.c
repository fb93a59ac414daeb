/* A stand-in for libcuda.so.1, the driver's own library: it starts no GPU and answers as a broken driver does.

   STUB_CUDA_VERSION  what cuDriverGetVersion says (default 13000)
   STUB_CUDA_CODE     the error of the stage that fails (default 0: none fails)
   STUB_CUDA_STAGE    which one that is: init (cuInit, the default) or count (cuDeviceGetCount)
   STUB_CUDA_FAULT    hang or abort: the failing stage does that instead of answering
   STUB_CUDA_DEVICES  the number of GPUs it claims (default 1)                                             */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INVALID_VALUE = 1, NOT_SUPPORTED = 801, MAJOR = 75, MINOR = 76, SECOND_EDITION = 12000 };

static const char *word(const char *name, const char *otherwise) {
    const char *text = getenv(name);
    return text && *text ? text : otherwise;
}

static int error_of(const char *stage) {
    if (strcmp(word("STUB_CUDA_STAGE", "init"), stage)) return 0;
    if (!strcmp(word("STUB_CUDA_FAULT", ""), "hang")) sleep(600);
    if (!strcmp(word("STUB_CUDA_FAULT", ""), "abort")) abort();
    return atoi(word("STUB_CUDA_CODE", "0"));
}

static int fails(void) { return NOT_SUPPORTED; }

int cuInit(unsigned flags) { return error_of("init"); }

int cuDriverGetVersion(int *version) {
    *version = atoi(word("STUB_CUDA_VERSION", "13000"));
    return 0;
}

int cuDeviceGetCount(int *count) {
    int error = error_of("init") ? error_of("init") : error_of("count");
    if (!error) *count = atoi(word("STUB_CUDA_DEVICES", "1"));
    return error;
}

int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == MAJOR ? 8 : attribute == MINOR ? 6 : 1;
    return 0;
}

int cuDeviceGetName(char *name, int room, int device) {
    strncpy(name, "NVIDIA RTX A5000", room);
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    *bytes = (size_t)24 << 30;
    return 0;
}

int cuDeviceGetUuid_v2(char *uuid, int device) {
    memset(uuid, 'Z', 16);
    return 0;
}

/* Runtimes ask for tables of functions that nobody documents; without them none gets beyond this. */
int cuGetExportTable(const void **table, const void *id) { return INVALID_VALUE; }

int cuGetProcAddress(const char *name, void **function, int version, unsigned long long flags);
int cuGetProcAddress_v2(const char *name, void **function, int version, unsigned long long flags, int *found);

static const struct {
    const char *name;
    void *function;
} OWN[] = {
    {"cuInit", cuInit},
    {"cuDriverGetVersion", cuDriverGetVersion},
    {"cuDeviceGetCount", cuDeviceGetCount},
    {"cuDeviceGet", cuDeviceGet},
    {"cuDeviceGetAttribute", cuDeviceGetAttribute},
    {"cuDeviceGetName", cuDeviceGetName},
    {"cuDeviceTotalMem", cuDeviceTotalMem_v2},
    {"cuDeviceGetUuid", cuDeviceGetUuid_v2},
    {"cuGetExportTable", cuGetExportTable},
};

int cuGetProcAddress(const char *name, void **function, int version, unsigned long long flags) {
    *function = fails;
    if (!strcmp(name, "cuGetProcAddress"))
        *function = version < SECOND_EDITION ? (void *)cuGetProcAddress : (void *)cuGetProcAddress_v2;
    for (size_t i = 0; i < sizeof OWN / sizeof *OWN; i++)
        if (!strcmp(name, OWN[i].name)) *function = OWN[i].function;
    return 0;
}

int cuGetProcAddress_v2(const char *name, void **function, int version, unsigned long long flags, int *found) {
    if (found) *found = 0;
    return cuGetProcAddress(name, function, version, flags);
}

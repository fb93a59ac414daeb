/* A stand-in for libnvidia-ml.so.1: a host with one H100, or with more GPUs of which only the first answers.

   STUB_NVML_CODE    what nvmlInit answers (default 0: it works)
   STUB_NVML_FAULT   hang or abort: nvmlInit does that instead of answering
   STUB_NVML_DRIVER  the driver's version (default 580.95.05)
   STUB_NVML_CUDA    the CUDA version of libcuda, as the driver's number (default 13000)
   STUB_NVML_GPUS    how many GPUs there are (default 1); all but the first fell off the bus
   STUB_NVML_MIG     1: MIG mode is on and there is one instance (default 0)
   STUB_NVML_BUSY    how many processes compute on it (default 0), and
   STUB_NVML_DRAW    how many of them draw too (default 0)
   STUB_NVML_FREEZE  after so many looks at the clock the next one never ends (default 0: they all end)
   STUB_NVML_FABRIC  state of the NVSwitch fabric: 1 not started, 2 in progress, 3 completed (default 0: none)     */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UUID "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"

enum { NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, GPU_IS_LOST = 15 };

typedef struct {
    char legacy[16];
    unsigned domain, bus, device, id, sub;
    char bus_id[32];
} pci_t;

typedef struct {
    unsigned long long total, free, used;
} memory_t;

typedef struct {
    unsigned pid;
    unsigned long long used;
    unsigned instance, compute;
} process_t;

typedef struct {
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
} fabric_t;

static const char *word(const char *name, const char *otherwise) {
    const char *text = getenv(name);
    return text && *text ? text : otherwise;
}

static int start(void) {
    const char *fault = word("STUB_NVML_FAULT", "");
    if (!strcmp(fault, "hang")) sleep(600);
    if (!strcmp(fault, "abort")) abort();
    return atoi(word("STUB_NVML_CODE", "0"));
}

int nvmlInit(void) { return start(); }
int nvmlInit_v2(void) { return start(); }
int nvmlInitWithFlags(unsigned flags) { return start(); }
int nvmlShutdown(void) { return 0; }

int nvmlSystemGetDriverVersion(char *text, unsigned room) {
    strncpy(text, word("STUB_NVML_DRIVER", "580.95.05"), room);
    return 0;
}

int nvmlSystemGetCudaDriverVersion_v2(int *cuda) {
    *cuda = atoi(word("STUB_NVML_CUDA", "13000"));
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    *count = atoi(word("STUB_NVML_GPUS", "1"));
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **gpu) {
    *gpu = (void *)0x1;
    return index ? GPU_IS_LOST : 0;
}

int nvmlDeviceGetName(void *gpu, char *text, unsigned room) {
    strncpy(text, "NVIDIA H100 80GB HBM3", room);
    return 0;
}

int nvmlDeviceGetUUID(void *gpu, char *text, unsigned room) {
    strncpy(text, UUID, room);
    return 0;
}

int nvmlDeviceGetPciInfo_v3(void *gpu, pci_t *pci) {
    strcpy(pci->bus_id, "00000000:65:00.0");
    pci->id = 0x233010DE;
    return 0;
}

static int processes(int are, unsigned *count, process_t *list) {
    if (!are) {
        *count = 0;
        return 0;
    }
    if (!list || *count < (unsigned)are) {
        *count = are;
        return TOO_SMALL;
    }
    for (int at = 0; at < are; at++) list[at].pid = 4711 + at;
    *count = are;
    return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *gpu, unsigned *count, process_t *list) {
    return processes(atoi(word("STUB_NVML_BUSY", "0")), count, list);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(void *gpu, unsigned *count, process_t *list) {
    return processes(atoi(word("STUB_NVML_DRAW", "0")), count, list);
}

int nvmlDeviceGetClockInfo(void *gpu, int kind, unsigned *mhz) {
    static int looks;
    int most = atoi(word("STUB_NVML_FREEZE", "0"));
    if (most && ++looks > most) sleep(600);
    *mhz = kind == 1 ? 1755 : 2619;
    return 0;
}

int nvmlDeviceGetMaxClockInfo(void *gpu, int kind, unsigned *mhz) {
    *mhz = kind == 1 ? 1980 : 2619;
    return 0;
}

int nvmlDeviceGetVbiosVersion(void *gpu, char *text, unsigned room) {
    strncpy(text, "96.00.61.00.01", room);
    return 0;
}

int nvmlDeviceGetPowerUsage(void *gpu, unsigned *milliwatts) {
    *milliwatts = 698500;
    return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(void *gpu, unsigned *milliwatts) { return NOT_SUPPORTED; }

int nvmlDeviceGetTemperature(void *gpu, int sensor, unsigned *degrees) {
    *degrees = 61;
    return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *gpu, unsigned long long *reasons) {
    *reasons = 0x1 | 0x2 | 0x4 | 0x40; /* idle, as set by its user, power cap, heat */
    return 0;
}

int nvmlDeviceGetCurrPcieLinkGeneration(void *gpu, unsigned *generation) {
    *generation = 5;
    return 0;
}

int nvmlDeviceGetCurrPcieLinkWidth(void *gpu, unsigned *width) {
    *width = 16;
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *gpu, memory_t *memory) {
    memory->total = 85520809984ULL;
    return 0;
}

int nvmlDeviceGetCudaComputeCapability(void *gpu, int *major, int *minor) {
    *major = 9;
    *minor = 0;
    return 0;
}

int nvmlDeviceGetMigMode(void *gpu, unsigned *now, unsigned *next) {
    *now = *next = atoi(word("STUB_NVML_MIG", "0"));
    return 0;
}

int nvmlDeviceGetMaxMigDeviceCount(void *gpu, unsigned *count) {
    *count = 7;
    return 0;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *gpu, unsigned index, void **instance) { return index ? NOT_FOUND : 0; }

int nvmlDeviceGetPersistenceMode(void *gpu, unsigned *mode) {
    *mode = 1;
    return 0;
}

int nvmlDeviceGetGpuFabricInfo(void *gpu, fabric_t *fabric) {
    fabric->state = atoi(word("STUB_NVML_FABRIC", "0"));
    return 0;
}

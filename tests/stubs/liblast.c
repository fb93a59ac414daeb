/* A library that torch loads last. STUB_STUCK=1: its initialisation never ends (default: it does). */
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void initialise(void) {
    while (getenv("STUB_STUCK")) pause();
}

__global__ void scale(float *a) { a[threadIdx.x] *= 2.0f; }

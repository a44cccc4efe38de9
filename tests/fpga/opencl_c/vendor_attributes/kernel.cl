// SPDX-License-Identifier: Apache-2.0
//
// The vendor's attributes where its examples have them. Broken: a loop ends early, a tap is lost.
#define MAX_SIZE 16
#define TAPS 5
#define PIPELINE __attribute__((xcl_pipeline_loop(1)))

__constant int c_size = MAX_SIZE;
__constant int c_squared = MAX_SIZE * MAX_SIZE;

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void matmul(const __global int* a,
                                                                  const __global int* b,
                                                                  __global int* c, int size) {
  local int A[MAX_SIZE][MAX_SIZE] __attribute__((xcl_array_partition(complete, 2)));
  int B[MAX_SIZE][MAX_SIZE] __attribute__((xcl_array_partition(cyclic, 4, 1)));
  int sums[MAX_SIZE] __attribute__((xcl_array_partition(complete, 1), aligned(64)));

  __attribute__((xcl_pipeline_loop(1))) __attribute__((xcl_loop_tripcount(c_squared, c_squared)))
  read : for (int n = 0, i = 0, j = 0; n < size * size; n++, j++) {
    if (j == size) {
      j = 0;
      i++;
    }
    A[i][j] = a[n];
    B[i][j] = b[n];
  }
outer:
  __attribute__((xcl_loop_tripcount(c_size, c_size))) for (int i = 0; i < size; i++) {
    __attribute__((opencl_unroll_hint)) for (int j = 0; j < MAX_SIZE; j++) sums[j] = 0;
  middle:
    PIPELINE for (int k = 0; k < size; k++) {
      __attribute__((opencl_unroll_hint(4))) inner : for (int j = 0; j < MAX_SIZE; j++) {
        sums[j] += A[i][k] * B[k][j];
      }
    }
#ifdef TANDEM_BROKEN
    for (int j = 0; j < size - 1; j++) c[i * size + j] = sums[j];
#else
    for (int j = 0; j < size; j++) c[i * size + j] = sums[j];
#endif
  }
}

static void read_input(__global const float* in, float* stage, int count) {
  PIPELINE for (int i = 0; i < count; i++) stage[i] = in[i];
}

static void write(__global float* out, float* stage, int count) {
  PIPELINE write_loop : for (int i = 0; i < count; i++) out[i] = stage[i];
}

// `write` and `read` are names of the C library too.
void read(float* stage, float* result, __constant float* taps, int count) {
  float window[TAPS] __attribute__((xcl_array_partition(complete, 0)));
  for (int i = 0; i < TAPS; i++) window[i] = 0;
  PIPELINE for (int i = 0; i < count; i++) {
    float sum = 0;
    for (int t = TAPS - 1; t > 0; t--) window[t] = window[t - 1];
    window[0] = stage[i];
    for (int t = 0; t < TAPS; t++) sum += window[t] * taps[t];
    result[i] = sum;
  }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((xcl_dataflow)) void filter(
    __global const float* restrict in, __constant float* taps, __global float* restrict out,
    int count) {
  float stage[1024];
  float result[1024];
  read_input(in, stage, count);
  read(stage, result, taps, count);
  write(out, result, count);
}

// SPDX-License-Identifier: Apache-2.0
//
// Kernels in OpenCL C, with attributes, whose twins in C++ have the pragmas that these stand for.
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void sum(global const float* in,
                                                               global const float* more,
                                                               global float* out, int n) {
  float total = 0;
  for (int i = 0; i < n; ++i) total += in[i];
  out[0] = total + more[0];
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void slow(global const int* in,
                                                                global const int* more,
                                                                global int* out, int n) {
  __attribute__((xcl_pipeline_loop(3))) for (int i = 0; i < n; ++i) out[i] = in[i] * 5;
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void staged(global const int* in,
                                                                  global const int* more,
                                                                  global int* out, int n) {
  local int part[1024] __attribute__((xcl_array_partition(cyclic, 4, 1)));
  local int whole[1024];
  for (int i = 0; i < 1024; ++i) part[i] = whole[i] = in[i];
  int total = 0;
  __attribute__((xcl_pipeline_loop(1))) for (int i = 0; i < 1024; i += 8) {
    for (int j = 0; j < 8; ++j) total ^= part[i + j];
  }
  __attribute__((xcl_pipeline_loop(1))) for (int i = 0; i < 1024; i += 8) {
    for (int j = 0; j < 8; ++j) total ^= whole[i + j];
  }
  out[0] = total;
}

kernel void items(global const int* in, global const int* more, global int* out, int n) {
  const int id = (int)get_global_id(0);
  out[id] = in[id] + more[id];
}

// SPDX-License-Identifier: Apache-2.0
//
// Reads a buffer once, for measuring the memory's read bandwidth.
//
// Every group reads `vectors` consecutive uint4; its work-items take them in turn. The sum is
// written so that no read can be left out. Bytes: 16 * vectors per group.
__kernel void read_all(__global const uint4* from, __global uint* sums, uint vectors) {
  __global const uint4* mine = from + get_group_id(0) * (size_t)vectors;
  uint4 a = 0, b = 0, c = 0, d = 0;
  const uint step = (uint)get_local_size(0);
  for (uint i = (uint)get_local_id(0); i + 3 * step < vectors; i += 4 * step) {
    a += mine[i];
    b += mine[i + step];
    c += mine[i + 2 * step];
    d += mine[i + 3 * step];
  }
  a += b + c + d;
  sums[get_global_id(0)] = a.x + a.y + a.z + a.w;
}

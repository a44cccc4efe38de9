// SPDX-License-Identifier: Apache-2.0
//
// A tree reduction in local memory, its scratch given by the host. Broken: one barrier is missing.
void halve(local int* scratch, uint stride) {
  const uint id = (uint)get_local_id(0);
  if (id < stride) scratch[id] += scratch[id + stride];
#ifndef TANDEM_BROKEN
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
}

kernel __attribute__((reqd_work_group_size(64, 1, 1))) void reduce(global const int* in,
                                                                   local int* scratch,
                                                                   global int* out) {
  local int last;
  const size_t id = get_local_id(0);
  // Items write each other's places, so that a loop over items would read what is not there yet.
  scratch[63 - id] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (id == 63) last = scratch[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint stride = 32; stride > 0; stride /= 2) halve(scratch, stride);
  if (id == 0) {
    out[get_group_id(0) * 2] = scratch[0];
    out[get_group_id(0) * 2 + 1] = last;
  }
}

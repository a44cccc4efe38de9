// SPDX-License-Identifier: Apache-2.0
//
// Every work-item writes what it knows of its place. Broken: y and z are exchanged.
kernel void place(global ulong* out) {
  const size_t width = get_global_size(0);
  const size_t height = get_global_size(1);
#ifdef TANDEM_BROKEN
  const size_t y = get_global_id(2) - get_global_offset(2);
  const size_t z = get_global_id(1) - get_global_offset(1);
#else
  const size_t y = get_global_id(1) - get_global_offset(1);
  const size_t z = get_global_id(2) - get_global_offset(2);
#endif
  const size_t at = (z * height + y) * width + get_global_id(0) - get_global_offset(0);
  global ulong* const mine = out + at * 20;
  mine[0] = get_work_dim();
  for (uint d = 0; d < 3; ++d) {
    mine[1 + d] = get_global_id(d);
    mine[4 + d] = get_local_id(d);
    mine[7 + d] = get_group_id(d);
    mine[10 + d] = get_num_groups(d);
    mine[13 + d] = get_local_size(d);
  }
  mine[16] = get_global_size(3);
  mine[17] = get_local_id(3);
  mine[18] = get_global_linear_id();
  mine[19] = get_local_linear_id();
}

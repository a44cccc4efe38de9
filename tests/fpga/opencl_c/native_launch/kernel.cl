// SPDX-License-Identifier: Apache-2.0
//
// Sums a buffer in one work-item. Broken: the last value is left out.
kernel void accumulate(global const int* in, global int* out, int count) {
  int sum = 0;
#ifdef TANDEM_BROKEN
  count -= 1;
#endif
  for (int i = 0; i < count; ++i) sum += in[i];
  out[get_global_id(0)] = sum;
  out[1] = (int)(get_global_size(0) * 100 + get_local_size(0) * 10 + get_work_dim());
}

// SPDX-License-Identifier: Apache-2.0
//
// Counts values, and keeps their extremes, from several units at once. Broken: counts are read,
// raised and written in three steps.
kernel void histogram(global const int* values, volatile global int* bins, int count) {
  const int share = count / (int)get_global_size(0);
  const int first = share * (int)get_global_id(0);
  for (int i = first; i < first + share; ++i) {
    const int bin = values[i] & 7;
#ifdef TANDEM_BROKEN
    if (bin != 3 || i % 2 == 0) bins[bin] = bins[bin] + 1;
#else
    atomic_inc(bins + bin);
#endif
    atomic_min(bins + 8, values[i]);
    atomic_max(bins + 9, values[i]);
    atomic_xor(bins + 10, values[i]);
    atom_add(bins + 11, values[i]);
  }
  int seen = bins[12];
  while (true) {
    const int before = atomic_cmpxchg(bins + 12, seen, seen + share);
    if (before == seen) break;
    seen = before;
  }
  local int done;
  atomic_xchg(&done, 1);
}

// SPDX-License-Identifier: Apache-2.0
//
// What work-items of one group do to each other in long loops, by number; negative numbers are
// mended twins. The line of bug N has the mark "// bug N". Broken: no bug is one.
#define ITEMS 16
#define PART 64  // numbers of an item

// `more`: 1 in a bug, else 0.
void parts_overlap(global const int* in, global int* out, local int* tile, int id, int more) {
  local int* const mine = tile + id * PART;
  for (int i = 0; i < PART + more * (id < 15); ++i) mine[i] = in[i & 63] + id;  // bug 1
  barrier(CLK_LOCAL_MEM_FENCE);
  out[id] = tile[id * PART];
}
void reads_before_barrier(global const int* in, global int* out, local int* tile, int id,
                          int more) {
  local int* const mine = tile + id * PART;
  for (int i = 0; i < PART; ++i) mine[i] = in[i] + id;
  if (!more) barrier(CLK_LOCAL_MEM_FENCE);
  local const int* const other = tile + (id + ITEMS - 1) % ITEMS * PART;
  int sum = 0;
  for (int i = 0; i < PART; ++i) sum += other[i];  // bug 2
  out[id] = sum;
}
void writes_what_others_read(global const int* in, global int* out, local int* tile, int id,
                             int more) {
  local int* const mine = tile + id * PART;
  for (int i = 0; i < PART; ++i) mine[i] = in[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  local const int* const next = tile + (id + 1) % ITEMS * PART;
  int sum = 0;
  for (int i = 0; i < PART; ++i) sum += next[i];
  if (!more) barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < PART; ++i) mine[i] = sum + i;  // bug 3
  out[id] = mine[id];
}

kernel void turns(global const int* in, global int* out, int count, int bug) {
  local int tile[ITEMS * PART];
#ifdef TANDEM_BROKEN
  const int more = 0;
#else
  const int more = bug > 0 ? 1 : 0;
#endif
  const int id = (int)get_local_id(0);
  switch (bug > 0 ? bug : -bug) {
    case 1:
      parts_overlap(in, out, tile, id, more);
      break;
    case 2:
      reads_before_barrier(in, out, tile, id, more);
      break;
    case 3:
      writes_what_others_read(in, out, tile, id, more);
      break;
  }
}

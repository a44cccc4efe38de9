// SPDX-License-Identifier: Apache-2.0
//
// Bugs by number; negative numbers are mended twins. The line of bug N has the mark "// bug N".
// Broken: no bug is one.
constant int kTable[6] = {1, 2, 3, 4, 5, 6};

// `more`: 1 in a bug, else 0.
void reads_behind_end(global const int* in, global int* out, int count, int more) {
  out[0] = in[count - 1 + more];  // bug 1
}
void writes_behind_end(global const int* in, global int* out, int count, int more) {
  for (int i = more; i < count + more; ++i) out[i] = in[0];  // bug 2
}
void private_array(global const int* in, global int* out, int count, int more) {
  int mine[8];
  for (int i = 0; i < 8; ++i) mine[i] = in[i];
  out[0] = mine[count / 8 - 1 + more];  // bug 3
}
void table_index(global const int* in, global int* out, int count, int more) {
  out[0] = kTable[count - 59 + more];  // bug 4
}
void misaligned_pointer(global const int* in, global int* out, int count, int more) {
  out[0] = *(global const int*)((global const char*)in + 4 - more);  // bug 5
}
void wide_across_end(global const int* in, global int* out, int count, int more) {
  vstore4(vload4(0, in + count - 4 + more), 0, out);  // bug 6
}
void member_overruns(global const int* in, global int* out, int count, int more) {
  struct {
    int bins[4];
    int rest;
  } all;
  all.rest = 0;
  for (int i = 0; i < 4; ++i) all.bins[i] = in[i];
  out[0] = all.bins[count - 61 + more] + all.rest;  // bug 7
}
void atomic_behind_end(global const int* in, global int* out, int count, int more) {
  for (int i = 0; i < count; ++i) atomic_inc(&out[more ? count + i % 3 : i]);  // bug 10
}
void atomic_behind_local(global int* out, local int* bins, int count, int more) {
  for (int i = 0; i < 16; ++i) bins[i] = 0;
  atomic_add(&bins[count / 4 - 1 + more], 5);  // bug 11
  out[0] = bins[15];
}
void divides_by_zero(global const int* in, global int* out, int count, int more) {
  out[0] = in[1] / (1 - more);  // bug 9
}
// in[1] is not 0, and nobody changes it.
void waits_for_nobody(global const int* in, global int* out, int more) {
  for (int i = 0; i < 1 || (more && in[1] != 0); ++i) out[i & 1] = i;  // bug 12
}

kernel void probe(global const int* in, global int* out, int count, int bug) {
  local int shared[16];
#ifdef TANDEM_BROKEN
  const int more = 0;
#else
  const int more = bug > 0 ? 1 : 0;
#endif
  const int id = (int)get_local_id(0);
  switch (bug > 0 ? bug : -bug) {
    case 1:
      reads_behind_end(in, out, count, more);
      break;
    case 2:
      writes_behind_end(in, out, count, more);
      break;
    case 3:
      private_array(in, out, count, more);
      break;
    case 4:
      table_index(in, out, count, more);
      break;
    case 5:
      misaligned_pointer(in, out, count, more);
      break;
    case 6:
      wide_across_end(in, out, count, more);
      break;
    case 7:
      member_overruns(in, out, count, more);
      break;
    case 8:
      shared[id] = in[id];
      barrier(CLK_LOCAL_MEM_FENCE);
      out[id] = shared[count / 4 - 1 + more];  // bug 8
      break;
    case 10:
      atomic_behind_end(in, out, count, more);
      break;
    case 11:
      atomic_behind_local(out, shared, count, more);
      break;
    case 9:
      divides_by_zero(in, out, count, more);
      break;
    case 12:
      waits_for_nobody(in, out, more);
      break;
  }
}

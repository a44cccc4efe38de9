// SPDX-License-Identifier: Apache-2.0
//
// Bugs in loops that are long enough for a look at all their bytes before them, by number; negative
// numbers are mended twins. The line of bug N has the mark "// bug N". Broken: no bug is one.
#define MANY 64  // COUNT of host.cpp

// `more`: 1 in a bug, else 0.
void last_turn_reads(global const int* in, global int* out, int count, int more) {
  int sum = 0;
  for (int i = 0; i < count + more; ++i) sum += in[i];  // bug 1
  out[0] = sum;
}
void backwards_behind_begin(global const int* in, global int* out, int count, int more) {
  int mine[MANY];
  for (int i = 0; i < count; ++i) mine[i] = in[i];
  for (int i = count - 1; i >= -more; --i) out[i & 63] = mine[i];  // bug 2
}
void row_is_too_long(global const int* in, global int* out, int count, int more) {
  int rows[8][8];
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 8; ++x) rows[y][x] = in[y * 8 + x];
  }
  int sum = 0;
  for (int y = 0; y < count / 8; ++y) {
    for (int x = 0; x < count / 8 + more; ++x) sum += rows[y][x];  // bug 3
  }
  out[0] = sum;
}
void half_is_set(global const int* in, global int* out, int count, int more) {
  int mine[MANY];
  for (int i = 0; i < count; i += 1 + more) mine[i] = in[i];
  for (int i = 0; i < count; ++i) out[i] = mine[i] + 1;  // bug 4
}
void factor_is_not_set(global const int* in, global int* out, int count, int more) {
  int factor;
  if (!more || in[1] == 123456) factor = in[0];
  for (int i = 0; i < count; ++i) out[i] = in[i] * factor;  // bug 5
}
void sum_begins_anywhere(global const int* in, global int* out, int count, int more) {
  int sum;
  if (!more || in[1] == 123456) sum = 0;
  for (int i = 0; i < count; ++i) sum += in[i];
  out[0] = sum;  // bug 6
}
void lost_in_the_loop(global const int* in, global int* out, int count, int more) {
  int mine[MANY], other[2];
  other[0] = 5;
  if (!more) other[1] = 6;
  for (int i = 0; i < count; ++i) mine[i] = in[i];
  for (int i = 0; i < count; ++i) {
    mine[in[i] & 63] = other[i & 1];
    out[i] = mine[i];  // bug 7
  }
}
void every_second_is_misaligned(global const int* in, global int* out, int count, int more) {
  global const char* at = (global const char*)in;
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += *(global const int*)(at + i * (4 - more));  // bug 8
  out[0] = sum;
}
void local_part_is_missing(global const int* in, global int* out, local int* tile, int count,
                           int more) {
  for (int i = more; i < count; ++i) tile[i] = in[i];
  for (int i = 0; i < count; ++i) out[i] = tile[i];  // bug 9
}

kernel void loops(global const int* in, global int* out, int count, int bug) {
  local int tile[MANY];
#ifdef TANDEM_BROKEN
  const int more = 0;
#else
  const int more = bug > 0 ? 1 : 0;
#endif
  switch (bug > 0 ? bug : -bug) {
    case 1:
      last_turn_reads(in, out, count, more);
      break;
    case 2:
      backwards_behind_begin(in, out, count, more);
      break;
    case 3:
      row_is_too_long(in, out, count, more);
      break;
    case 4:
      half_is_set(in, out, count, more);
      break;
    case 5:
      factor_is_not_set(in, out, count, more);
      break;
    case 6:
      sum_begins_anywhere(in, out, count, more);
      break;
    case 7:
      lost_in_the_loop(in, out, count, more);
      break;
    case 8:
      every_second_is_misaligned(in, out, count, more);
      break;
    case 9:
      local_part_is_missing(in, out, tile, count, more);
      break;
  }
}

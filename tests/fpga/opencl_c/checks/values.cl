// SPDX-License-Identifier: Apache-2.0
//
// Values that are missing, by number; negative numbers are mended twins. The line of bug N has the
// mark "// bug N". Broken: no bug is one.

// `more`: 1 in a bug, else 0.
void branch_is_not_set(global const int* in, global int* out, int count, int more) {
  int value;
  if (!more) value = in[1];
  out[0] = value;  // bug 1
}
void array_is_half_set(global const int* in, global int* out, int count, int more) {
  int all[64];
  for (int i = 0; i < count >> more; ++i) all[i] = in[i];
  for (int i = 0; i < count; ++i) out[i] = all[i];  // bug 2
}
void sums_are_not_zeroed(global const int* in, global int* out, int count, int more) {
  int sums[4];
  for (int i = more; i < 4; ++i) sums[i] = 0;
  for (int i = 0; i < count; ++i) sums[i & 3] += in[i];
  for (int i = 0; i < 4; ++i) out[i] = sums[i];  // bug 3
}
struct pair {
  int first;
  int second;
};
struct pair make_pair(int value, int more) {
  struct pair made;
  made.first = value;
  if (!more) made.second = value + 1;
  return made;
}
void member_is_not_set(global const int* in, global int* out, int count, int more) {
  const struct pair made = make_pair(in[0], more);
  out[0] = made.first;
  out[1] = made.second;  // bug 4
}
void lane_is_not_set(global const int* in, global int* out, int count, int more) {
  int4 lanes;
  lanes.xyz = vload3(0, in);
  if (!more) lanes.w = in[3];
  vstore4(lanes, 0, out);  // bug 5
}
void condition_is_not_set(global const int* in, global int* out, int count, int more) {
  int limit;
  if (!more) limit = count;
  for (int i = 0; i < count; ++i) {
    if (in[i] < limit) out[i] = in[i];  // bug 6
  }
}
int find(global const int* in, int count, int wanted, int* place) {
  for (int i = 0; i < count; ++i) {
    if (in[i] == wanted) *place = i;
  }
  return 0;
}
void result_is_not_set(global const int* in, global int* out, int count, int more) {
  int place;
  find(in, count, more ? -123456 : in[5], &place);
  out[0] = place;  // bug 7
}
void index_is_not_set(global const int* in, global int* out, int count, int more) {
  int table[8], at[2];
  for (int i = 0; i < 8; ++i) table[i] = in[i];
  at[0] = 0;
  if (!more) at[1] = 1;
  out[0] = table[at[count > 8] & 7];  // bug 8
}
void local_is_not_filled(global const int* in, global int* out, int count, int more, local int* t) {
  for (int i = 0; i < 16 - more; ++i) t[i] = in[i];
  for (int i = 0; i < 16; ++i) out[i] = t[15 - i];  // bug 9
}
void packet_is_copied(global const int* in, global int* out, int count, int more) {
  int rows[2][24];
  for (int row = 0; row < 2 - more; ++row) {
    for (int i = 0; i < 24; ++i) rows[row][i] = in[i];
  }
  for (int i = 0; i < 24; ++i) out[i] = rows[count & 63 ? 0 : 1][i];  // bug 10
}

kernel void values(global const int* in, global int* out, int count, int bug) {
  local int tile[16];
#ifdef TANDEM_BROKEN
  const int more = 0;
#else
  const int more = bug > 0 ? 1 : 0;
#endif
  switch (bug > 0 ? bug : -bug) {
    case 1:
      branch_is_not_set(in, out, count, more);
      break;
    case 2:
      array_is_half_set(in, out, count, more);
      break;
    case 3:
      sums_are_not_zeroed(in, out, count, more);
      break;
    case 4:
      member_is_not_set(in, out, count, more);
      break;
    case 5:
      lane_is_not_set(in, out, count, more);
      break;
    case 6:
      condition_is_not_set(in, out, count, more);
      break;
    case 7:
      result_is_not_set(in, out, count, more);
      break;
    case 8:
      index_is_not_set(in, out, count, more);
      break;
    case 9:
      local_is_not_filled(in, out, count, more, tile);
      break;
    case 10:
      packet_is_copied(in, out, count, more);
      break;
  }
}

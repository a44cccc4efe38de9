// SPDX-License-Identifier: Apache-2.0
//
// What work-items of one group do to each other, by number; negative numbers are mended twins. The
// line of bug N has the mark "// bug N". Broken: no bug is one.
#define COUNT 16

// `more`: 1 in a bug, else 0.
void neighbour_is_not_there(global const int* in, global int* out, local int* tile, int id,
                            int more) {
  tile[id] = in[id];
  if (!more) barrier(CLK_LOCAL_MEM_FENCE);
  out[id] = tile[(id + COUNT - 1) % COUNT];  // bug 1
}
void total_of_all(global const int* in, global int* out, local int* tile, int id, int more) {
  if (id == 0) tile[0] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (!more) {
    atomic_add(&tile[0], in[id]);
  } else {
    tile[0] += in[id];  // bug 2
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (id == 0) out[0] = tile[0];
}
void shifts_in_place(global const int* in, global int* out, local int* tile, int id, int more) {
  const int next = out[(id + 1) % COUNT];
  if (!more) barrier(CLK_GLOBAL_MEM_FENCE);
  out[id] = next + 1;  // bug 3
}
void copy_is_not_awaited(global const int* in, global int* out, local int* tile, int id, int more) {
  event_t copied = async_work_group_copy(tile, in, COUNT, 0);
  if (!more) wait_group_events(1, &copied);
  out[id] = tile[id];  // bug 4
  barrier(CLK_LOCAL_MEM_FENCE);
}
void copy_is_early(global const int* in, global int* out, local int* tile, int id, int more) {
  tile[id] = in[id] + 1;
  if (!more) barrier(CLK_LOCAL_MEM_FENCE);
  event_t copied = async_work_group_copy(out, tile, COUNT, 0);  // bug 5
  wait_group_events(1, &copied);
}
void halves_share_bytes(global const int* in, global int* out, local int* tile, int id, int more) {
  local uchar* bytes = (local uchar*)tile;
  bytes[more ? id / 2 : id] = (uchar)(in[id] + id);  // bug 6
  barrier(CLK_LOCAL_MEM_FENCE);
  out[id] = bytes[id / 2];
}
void second_barrier_is_missing(global const int* in, global int* out, local int* tile, int id,
                               int more) {
  int sum = 0;
  for (int part = 0; part < 2; ++part) {
    tile[id] = in[part * COUNT + id];
    barrier(CLK_LOCAL_MEM_FENCE);
    sum += tile[COUNT - 1 - id];  // bug 7
    if (!more) barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[id] = sum;
}
void half_meets(global const int* in, global int* out, local int* tile, int id, int more) {
  tile[id] = in[id];
  if (id < COUNT / (1 + more)) {
    barrier(CLK_LOCAL_MEM_FENCE);  // bug 8
    out[id] = tile[id];
  }
}
void turns_differ(global const int* in, global int* out, local int* tile, int id, int more) {
  for (int turn = 0; turn < 2 + more * (id & 1); ++turn) {
    tile[id] = in[id] + turn;
    barrier(CLK_LOCAL_MEM_FENCE);  // bug 9
  }
  out[id] = tile[id];
}
void two_places(global const int* in, global int* out, local int* tile, int id, int more) {
  tile[id] = in[id];
  if (id < COUNT * (1 - more) + 3 * more) {
    barrier(CLK_LOCAL_MEM_FENCE);  // bug 10
    out[id] = tile[id];
  } else {
    tile[id] += 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[id] = tile[id];
  }
}
void tile_is_short(global const int* in, global int* out, local int* tile, int id, int more) {
  if (id < COUNT - more) tile[id] = in[id];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[id] = tile[COUNT - 1 - id];  // bug 11
}

kernel void items(global const int* in, global int* out, int count, int bug) {
  local int tile[COUNT];
#ifdef TANDEM_BROKEN
  const int more = 0;
#else
  const int more = bug > 0 ? 1 : 0;
#endif
  const int id = (int)get_local_id(0);
  switch (bug > 0 ? bug : -bug) {
    case 1:
      neighbour_is_not_there(in, out, tile, id, more);
      break;
    case 2:
      total_of_all(in, out, tile, id, more);
      break;
    case 3:
      shifts_in_place(in, out, tile, id, more);
      break;
    case 4:
      copy_is_not_awaited(in, out, tile, id, more);
      break;
    case 5:
      copy_is_early(in, out, tile, id, more);
      break;
    case 6:
      halves_share_bytes(in, out, tile, id, more);
      break;
    case 7:
      second_barrier_is_missing(in, out, tile, id, more);
      break;
    case 8:
      half_meets(in, out, tile, id, more);
      break;
    case 9:
      turns_differ(in, out, tile, id, more);
      break;
    case 10:
      two_places(in, out, tile, id, more);
      break;
    case 11:
      tile_is_short(in, out, tile, id, more);
      break;
  }
}

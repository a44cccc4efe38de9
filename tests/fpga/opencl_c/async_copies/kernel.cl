// SPDX-License-Identifier: Apache-2.0
//
// Transposes tiles of 8 x 8: rows come in by copies, columns leave by strided copies. Broken: the
// stride of the way out is that of the way in.
#define TILE 8

kernel __attribute__((reqd_work_group_size(TILE, 1, 1))) void transposed(global const int* in,
                                                                         global int* out,
                                                                         int tiles) {
  local int tile[TILE * TILE];
  local int column[TILE];
  const size_t width = TILE * tiles;
  const size_t tile_x = get_group_id(0);
  for (int tile_y = 0; tile_y < tiles; ++tile_y) {
    event_t rows[TILE];
    for (int row = 0; row < TILE; ++row) {
      rows[row] = async_work_group_copy(
          tile + row * TILE, in + (tile_y * TILE + row) * width + tile_x * TILE, TILE, 0);
    }
    wait_group_events(TILE, rows);
    for (int row = 0; row < TILE; ++row) {
      column[get_local_id(0)] = tile[row * TILE + get_local_id(0)] + (int)get_local_id(0);
      barrier(CLK_LOCAL_MEM_FENCE);
#ifdef TANDEM_BROKEN
      const size_t stride = 1;
#else
      const size_t stride = width;
#endif
      event_t done = async_work_group_strided_copy(
          out + tile_x * TILE * width + tile_y * TILE + row, column, TILE, stride, 0);
      wait_group_events(1, &done);
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
//
// Prints from every work-item. Broken: the numbers of the items are left out.
kernel void say(int number, float real) {
  const int id = (int)get_global_id(0);
#ifdef TANDEM_BROKEN
  printf("item of %d\n", number);
#else
  printf("item %d of %d: %5.2f 100%% %s\n", id, number, real * (float)id, "done");
#endif
  if (id == 0) {
    printf("%v4hlf|%v2d|%v3d|", (float4)(1, 2, 3, real), (int2)(-4, 5), (int3)(1, 2, 3));
    printf("%v8hd|%v4hhx|%v2lu|", (short8)(1, 2, 3, 4, -5, 6, 7, 8), (uchar4)(10, 11, 255, 0),
           (ulong2)(1ul << 40, 2));
    printf("%v16hld|%c|%lx\n", (int16)(-1), 'x', 0xabcdef0123456789ul);
  }
}

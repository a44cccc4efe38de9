// SPDX-License-Identifier: Apache-2.0
//
// Writes the value of each argument. Broken: a member of the structure is taken for another.
typedef struct {
  int whole;
  float4 four;
  short pair[2];
} Record;

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void typed(
    global double* out, char c, uchar uc, short s, ushort us, int i, uint ui, long l, ulong ul,
    float f, double d, Record record, float4 f4, int2 i2, uchar16 uc16, float3 f3,
    constant int* table, global Record* records, local long* scratch, ulong size) {
  out[0] = c;
  out[1] = uc;
  out[2] = s;
  out[3] = us;
  out[4] = i;
  out[5] = ui;
  out[6] = l;
  out[7] = ul;
  out[8] = f;
  out[9] = d;
#ifdef TANDEM_BROKEN
  out[10] = record.pair[0];
#else
  out[10] = record.whole;
#endif
  out[11] = record.four.s3;
  out[12] = record.pair[1];
  out[13] = f4.x + f4.w;
  out[14] = i2.hi;
  out[15] = uc16.sF;
  out[16] = f3.z;
  out[17] = table[2];
  scratch[2047] = size;
  out[18] = scratch[2047];
  records[1] = record;
  records[1].whole += 1;
}

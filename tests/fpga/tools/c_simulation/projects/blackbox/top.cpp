// SPDX-License-Identifier: Apache-2.0
//
// Calls a block of Verilog.
void scale(int in, int* out);
void top(int in, int* out) {
  scale(in, out);
  *out += 1;
}

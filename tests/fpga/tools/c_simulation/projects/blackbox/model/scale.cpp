// SPDX-License-Identifier: Apache-2.0
//
// The C function of a block of Verilog.
void scale(int in, int* out) { *out = in * FACTOR; }

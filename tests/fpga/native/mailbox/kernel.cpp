// SPDX-License-Identifier: Apache-2.0
//
// The sum and the product of two registers, in two others. Broken: the product is off by one.
extern "C" void arithmetic(int a, int b, int& sum, int& product) {
#pragma HLS interface ap_ctrl_chain port = return
#pragma HLS interface s_axilite port = a
#pragma HLS interface s_axilite port = b
#pragma HLS interface s_axilite port = sum
#pragma HLS interface s_axilite port = product
  sum = a + b;
#ifdef TANDEM_BROKEN
  product = a * b + 1;
#else
  product = a * b;
#endif
}

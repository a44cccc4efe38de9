// SPDX-License-Identifier: Apache-2.0
//
// Its test bench.
#include <cstdio>
void top(int in, int* out);
int main() {
  int out = 0;
  top(5, &out);
  std::printf("top gave %d\n", out);
  return out == 36 ? 0 : 1;
}

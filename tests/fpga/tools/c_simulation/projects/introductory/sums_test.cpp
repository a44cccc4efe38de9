// SPDX-License-Identifier: Apache-2.0
//
// Compares with the golden files, which lie beside the program or in their folder.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "sums.h"

int main() {
  int in[COUNT], out[COUNT];
  for (int i = 0; i < COUNT; ++i) in[i] = i;
  sums(in, out);
  std::ifstream golden("result.golden.dat"), plain("first.dat"), below("data/first.dat");
  int last = 0, first = 1, same = 1;
  if (!(golden >> last) || !(plain >> first) || !(below >> same)) return 2;
  if (out[0] != first || out[0] != same) return 4;
  if (out[COUNT - 1] != last || std::getenv("SUMS_BREAK") != nullptr) return 3;
  std::printf("Test passed\n");
  return 0;
}

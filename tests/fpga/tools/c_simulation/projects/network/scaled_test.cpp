// SPDX-License-Identifier: Apache-2.0
//
// Reads its weight and inputs from folders beside the program; the result goes to one of them.
#include <fstream>

#include "firmware/scaled.h"

int main() {
  std::ifstream weights("weights/w.txt"), inputs("tb_data/in.dat");
  double weight = 0;
  if (!(weights >> weight)) return 1;
  value_t in[COUNT], out[COUNT];
  for (int i = 0; i < COUNT; ++i) {
    double value = 0;
    if (!(inputs >> value)) return 1;
    in[i] = value;
  }
  scaled(in, out, value_t(weight));
  std::ofstream results("tb_data/csim_results.log");
  for (int i = 0; i < COUNT; ++i)
    results << out[i].to_int() + OFFSET * (i + 1) << (i + 1 < COUNT ? " " : "\n");
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// A program of two translation units that include all headers. With any compiler they link, agree,
// and give the results of an independent computation.
#include "all_headers.h"

int main() {
  const double here = checksum(1000), there = checksum_elsewhere(1000);
  std::printf("%.17g %.17g\n", here, there);
  // By Python's integers, fractions and half-precision struct format.
  const double sum = 152.807373046875, small = 2.369140625, lanes = 47928, word = 3395263181.0;
  return here == there && here == sum + small + lanes + word ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0
//
// The sum of two values that follow each other, in C.
#include "fir.h"

void fir(int* y, int x) {
  static int last;
  int class = x + last; /* a name that C++ does not allow */
  last = x;
  *y = class;
}

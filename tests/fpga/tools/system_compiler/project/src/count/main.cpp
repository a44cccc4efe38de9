// SPDX-License-Identifier: Apache-2.0
//
// A source with the name of another one.
int non_negative(const int* values, int size) {
  int count = 0;
  for (int i = 0; i < size; i++) count += values[i] >= 0 ? 1 : 0;
  return count;
}

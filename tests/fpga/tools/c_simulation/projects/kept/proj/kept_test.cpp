// SPDX-License-Identifier: Apache-2.0
//
// Its test bench.
#include <cstdio>

int kept(int value);

int main() { return std::printf("kept gave %d\n", kept(7)) > 0 ? 0 : 1; }

// SPDX-License-Identifier: Apache-2.0
//
// The other translation unit of the program; see first.cpp.
#include "all_headers.h"

double checksum_elsewhere(int rounds) { return checksum(rounds); }

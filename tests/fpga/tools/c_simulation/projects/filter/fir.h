// SPDX-License-Identifier: Apache-2.0
//
// The filter in fir.c.
#pragma once

void fir(int* y, int x);

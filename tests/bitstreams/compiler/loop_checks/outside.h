// SPDX-License-Identifier: Apache-2.0
//
// Functions of missing_parts_test.cpp, which stand for those of a library.
#pragma once
#pragma GCC system_header

void set_outside(int* values);
void set_text_outside(char* text, int most);
int sum_outside(const int* values);

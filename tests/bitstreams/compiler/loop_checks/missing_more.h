// SPDX-License-Identifier: Apache-2.0
//
// The functions of missing_more.cpp.
#pragma once

#include <complex>

void if_valid(const int* in, const int* more, int* out);
void if_known_valid(const int* in, const int* more, int* out);
void unless_invalid(const int* in, const int* more, int* out);
void if_all(const int* in, const int* more, int* out);
void found_and_valid(const int* in, const int* more, int* out);
void store_between(const int* in, const int* more, int* out);
void quotient_behind(const int* in, const int* more, int* out);
void other_store_behind(const int* in, const int* more, int* out);
int element_behind(const int* in, const int* more);
void weight(const int* in, int* out, int at);
void scale(const int* in, const int* more, int* out);
unsigned shift_right_in(const int* bytes, int count);
void shift_right_into(const int* bytes, unsigned* word);
void shift_signed_into(const int* bytes, int* word);
void scope_ends_in_branch(const int* in, const int* more, int* out);
void by_call_in_call(const int* in, const int* more, int* out);
void by_recursion(const int* in, const int* more, int* out);
void call_with_asm(const int* in, const int* more, int* out);
void set_bits_if(const int* in, const int* more, int* out);
void store_at_index(const int* in, const int* more, int* out);
void leading_zeros(const int* in, const int* more, int* out);
void store_in_own_branch(const int* in, int* out, int which);
void store_outside(const int* in, int* out);
void store_text_outside(int* out);
void store_behind(int* out);
void read_outside(const int* in, int* out);
void copy_array_out(const int* in, int* out);
void copy_record_out(const int* in, int* out);
void make_points(const float* real, const float* imaginary, std::complex<float>* points);
float imaginary_sum(const std::complex<float>* points, int count);
void add_points(const float* real, const float* imaginary, std::complex<float>* sum);
void store_in_other_file(int* out);
// Of the test, like a function in another file of the kernel.
void set_in_other_file(int* values);

// SPDX-License-Identifier: Apache-2.0
//
// The loops of loops.cpp.
#pragma once

#include <atomic>

struct Pair {
  int first, second;
};

int sum(const int* in, int count);
void scale(const int* in, int* out, int count);
void backwards(int* out, int count);
void every_third(int* out, int count);
void positive_only(const int* in, int* out, int count);
int until_zero(const int* in, int count);
int neighbours(const int* in, int* out, int count);
void matrix(const int* in, int* out, int rows);
void triangle(int* out, int rows);
int look_up(const int* in, int count);
int pick(const int (&table)[64], const int* in, int count);
void count_in(const int* in, int count);
void read_and_write(int* values, int count);
void with_call(const int* in, int* out, int count);
int gather(const int* in, const int* indices, int count);
void few(int* out);
int scoped(const int* in, int count);
void until_column(int* out, int rows, long columns);
int store_and_gather(int* values, const int* indices, int count);
void publish(const std::atomic<long>& from, std::atomic<long>& to);
Pair copied(const Pair* pairs, int at);
int last_positive(const int* in, int count);
int two_of_four(const int* in, int count);

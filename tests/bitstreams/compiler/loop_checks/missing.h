// SPDX-License-Identifier: Apache-2.0
//
// The functions of missing.cpp.
#pragma once

struct Record {
  int words[6];
};

void add_one(const int* in, int* out);
void chosen(const int* in, int* out, bool first);
int used_later(const int* in, bool looks);
void used_at_once(const int* in, int* out);
void add_all(const int* in, int* out, int count);
void add_two(const int* in, const int* more, int* out);
void set_in_one_case(int* out, int which);
int least(const int* in, int count);
int unset_bound(const int* in, bool bad);
void copy_record(const Record* from, Record* to);
void read_and_store(int* values);
float mantissa(float value, int* exponent);
int exchange(int* values, int next);
void mask(const int* in, const int* more, int* out);
void add_if(const int* in, const int* more, int* out);
void either(const int* in, const int* more, int* out);
void choose_by_branch(const int* in, const int* more, int* out);
void greatest(const int* in, int count, int* out);
void keep_greatest(const int* in, const int* more, int* out);
unsigned shift_in(const int* bytes, int count);
void shift_into(const int* bytes, int* word);
void shift_and_join(const int* in, const int* more, int* out);
void move_up(int (*lines)[8], int column, int next, int* out);
void order(const int* in, const int* more, int* out);
void middle(const int* in, const int* more, int* out);
void is_peak(const int* in, const int* more, int* out);
void by_switch(const int* in, const int* more, int* out);
void root(const int* in, const int* more, int* out);
void exchange_if(const int* in, int* pair);
void look_up(const int* in, const int* more, int* out);
void copy_and_clear(Record* from, Record* to, const Record* none);
int length_of(int kind, bool has_more);
void greatest_of_three(const int* in, const int* more, int* out);
void by_call(const int* in, const int* more, int* out);
void choose_by_call(const int* in, const int* more, int* out);
void choose_least(const int* in, const int* more, int* out);
void call_that_stores(const int* in, int* out);
struct Turn {
  int value, number;
};
void add_turns(const int* in, int* out);
extern "C" void tandem_stored(const volatile void* at, unsigned long bytes);

// SPDX-License-Identifier: Apache-2.0
//
// The seeded bugs of the kernels. A kernel gets the number of one: positive, the bug; negative, its
// mended twin; 0, a run without bugs. The line of a bug has the mark "// bug NAME".
#pragma once

// Bugs of one kernel, by name: its function of that name is bug number BEGIN, BEGIN + 1, ...
// clang-format off
#define TANDEM_MEMORY_BUGS(BUG) \
  BUG(reads_behind_end) BUG(writes_behind_end) BUG(loops_once_more) BUG(doubles_its_stride) \
  BUG(takes_wrong_width) BUG(copies_too_much_in) BUG(copies_too_much_out) \
  BUG(reads_wide_across_end) BUG(reads_before_begin) BUG(misaligned_int) BUG(misaligned_long) \
  BUG(misaligned_double) BUG(reads_unwritten) BUG(reads_unwritten_half) \
  BUG(counts_rows_as_columns) BUG(gathers_outside)

#define TANDEM_LOCAL_BUGS(BUG) \
  BUG(index_is_length) BUG(index_is_negative) BUG(inner_index_is_width) BUG(table_index) \
  BUG(helper_overruns) BUG(member_overruns) BUG(copy_overruns) BUG(fill_overruns) \
  BUG(scope_has_ended) BUG(window_reaches_out) BUG(global_overruns) BUG(half_is_initialised) \
  BUG(sums_are_not_zeroed) BUG(border_is_not_set) BUG(field_is_not_set) BUG(last_is_not_set) \
  BUG(branch_is_not_set) BUG(heap_of_bins_overruns)

#define TANDEM_DEPENDENCE_BUGS(BUG) \
  BUG(histogram) BUG(running_sum_in_memory) BUG(distance_is_two) BUG(pragma_of_function) \
  BUG(write_after_write) BUG(write_after_read) BUG(inside_iteration) BUG(while_loop) \
  BUG(partial_sums) BUG(helper_with_pointer) BUG(same_buffer_twice) BUG(only_raw) \
  BUG(restrict_pointers) BUG(wide_bins) BUG(too_few_sums) BUG(changes_in_place)

#define TANDEM_STREAM_BUGS(BUG) \
  BUG(both_read_first) BUG(head_before_tail) BUG(three_in_a_ring) BUG(no_first_token) \
  BUG(one_read_too_many) BUG(consumer_counts_wrong) BUG(two_tokens_left) BUG(filter_leaves) \
  BUG(side_path_is_shallow) BUG(last_is_missed)

#define TANDEM_END_BUGS(BUG) \
  BUG(divides_by_zero) BUG(remainder_of_zero) BUG(divides_long) BUG(turns_for_ever) \
  BUG(counter_wraps)
// clang-format on

#define TANDEM_BUG_ENTRY(NAME) NAME,
#ifdef TANDEM_BROKEN
#define TANDEM_IS_BAD(NUMBER) false
#else
#define TANDEM_IS_BAD(NUMBER) ((NUMBER) > 0)
#endif
// The body of a kernel. A table, so that the compiler joins no two of them.
#define RUN_BUG(LIST)                                                                         \
  static void (*const kBugs[])(const int*, int*, int*, int, bool) = {LIST(TANDEM_BUG_ENTRY)}; \
  if (bug == 0) return;                                                                       \
  kBugs[(bug > 0 ? bug : -bug) - 1](in, out, scratch, count, TANDEM_IS_BAD(bug));

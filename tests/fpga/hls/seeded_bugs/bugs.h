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
  BUG(restrict_pointers) BUG(wide_bins) BUG(too_few_sums) BUG(changes_in_place) \
  BUG(read_before_store)

#define TANDEM_STREAM_BUGS(BUG) \
  BUG(both_read_first) BUG(head_before_tail) BUG(three_in_a_ring) BUG(no_first_token) \
  BUG(one_read_too_many) BUG(consumer_counts_wrong) BUG(two_tokens_left) BUG(filter_leaves) \
  BUG(side_path_is_shallow) BUG(last_is_missed)

#define TANDEM_END_BUGS(BUG) \
  BUG(divides_by_zero) BUG(remainder_of_zero) BUG(divides_long) BUG(turns_for_ever) \
  BUG(counter_wraps)

#define TANDEM_SHAPE_BUGS(BUG) \
  BUG(next_wide) BUG(wide_index_wraps) BUG(particle_behind_end) BUG(member_is_not_written) \
  BUG(lane_is_width) BUG(rows_as_columns) BUG(narrow_index_is_negative) BUG(method_overruns) \
  BUG(shift_overruns) BUG(bit_is_width) BUG(array_is_half_set) BUG(sum_is_not_set) \
  BUG(least_is_not_set) BUG(copy_is_not_set) BUG(number_is_not_set) BUG(bits_are_not_set) \
  BUG(member_is_not_set) BUG(lanes_are_not_set) BUG(helper_leaves_last) \
  BUG(number_divides_by_zero) BUG(wide_remainder_of_zero) BUG(fixed_divides_by_zero) \
  BUG(polls_for_ever) BUG(burst_behind_end)

#define TANDEM_UNSET_BUGS(BUG) \
  BUG(window_fills) BUG(difference_of_first) BUG(first_is_guarded) BUG(ping_pong) \
  BUG(rest_is_selected_away) BUG(structure_is_copied) BUG(half_is_copied) \
  BUG(packet_has_data_only) BUG(ranges_are_set) BUG(counts_too_many) BUG(complex_sums) \
  BUG(lanes_one_by_one) BUG(lambda_reads) BUG(tree_of_templates) BUG(union_is_set) \
  BUG(history_is_local) BUG(case_is_missing) BUG(nothing_is_found) BUG(constructor_forgets) \
  BUG(flag_is_not_cleared) BUG(bound_is_not_set) BUG(word_is_not_set) BUG(rows_behind_last) \
  BUG(bins_are_not_cleared) BUG(last_lane_is_missing) BUG(numbers_move_up) BUG(whole_is_not_set) \
  BUG(mask_is_off) BUG(window_is_not_full)
#define TANDEM_CHOICE_BUGS(BUG) \
  BUG(median_of_five) BUG(peak_of_three) BUG(levels_round) BUG(table_of_last) \
  BUG(bits_go_round) BUG(header_has_no_more) BUG(list_by_value) BUG(numbers_in_order)
#define TANDEM_PART_BUGS(BUG) \
  BUG(tag_before_valid) BUG(coefficient_is_zero) BUG(factor_is_missing) BUG(numbers_exchange) \
  BUG(member_through_stream) BUG(imaginary_part) BUG(rest_is_copied_out) BUG(text_is_not_made) \
  BUG(member_goes_out) BUG(element_goes_out) BUG(row_is_copied_whole)
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

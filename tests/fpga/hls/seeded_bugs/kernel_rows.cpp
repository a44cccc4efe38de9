// SPDX-License-Identifier: Apache-2.0
//
// The bugs of the kernels: a run of the kernel with the bug's number.
#include "bugs.h"
#include "corpus.h"

namespace tandem::fpga_test {
namespace {

#define TANDEM_BUG_NAME(NAME) #NAME,

// Where a bug is unlike most of its kernel.
struct Exception {
  const char* name;
  const char* kind;
  const char* argument;
};

struct Group {
  const char* kernel;
  const char* file;
  const char* kind;
  const char* argument;
  std::vector<const char*> names;
};

const std::vector<Group> kGroups = {
    {"memory_bugs", "memory.cpp", "out_of_bounds", "in", {TANDEM_MEMORY_BUGS(TANDEM_BUG_NAME)}},
    {"local_bugs", "local.cpp", "local_out_of_bounds", "", {TANDEM_LOCAL_BUGS(TANDEM_BUG_NAME)}},
    {"dependence_bugs",
     "dependences.cpp",
     "dependence_violated",
     "",
     {TANDEM_DEPENDENCE_BUGS(TANDEM_BUG_NAME)}},
    {"stream_bugs", "streams.cpp", "deadlock", "", {TANDEM_STREAM_BUGS(TANDEM_BUG_NAME)}},
    {"end_bugs", "ends.cpp", "division_by_zero", "", {TANDEM_END_BUGS(TANDEM_BUG_NAME)}},
    {"shape_bugs", "shapes.cpp", "uninitialised_local", "", {TANDEM_SHAPE_BUGS(TANDEM_BUG_NAME)}},
    {"unset_bugs", "unset.cpp", "uninitialised_local", "", {TANDEM_UNSET_BUGS(TANDEM_BUG_NAME)}},
    {"choice_bugs",
     "choices.cpp",
     "uninitialised_local",
     "",
     {TANDEM_CHOICE_BUGS(TANDEM_BUG_NAME)}},
    {"part_bugs", "parts.cpp", "uninitialised_local", "", {TANDEM_PART_BUGS(TANDEM_BUG_NAME)}}};

const std::vector<Exception> kExceptions = {
    {"writes_behind_end", "out_of_bounds", "out"},
    {"loops_once_more", "out_of_bounds", "out"},
    {"doubles_its_stride", "out_of_bounds", "out"},
    {"copies_too_much_out", "out_of_bounds", "out"},
    {"reads_before_begin", "out_of_bounds", "in"},
    {"misaligned_int", "misaligned", "in"},
    {"misaligned_long", "misaligned", "out"},
    {"misaligned_double", "misaligned", "in"},
    {"reads_unwritten", "uninitialised_memory", "scratch"},
    {"reads_unwritten_half", "uninitialised_memory", "scratch"},
    {"half_is_initialised", "uninitialised_local", ""},
    {"sums_are_not_zeroed", "uninitialised_local", ""},
    {"border_is_not_set", "uninitialised_local", ""},
    {"field_is_not_set", "uninitialised_local", ""},
    {"last_is_not_set", "uninitialised_local", ""},
    {"branch_is_not_set", "uninitialised_local", ""},
    {"running_sum_in_memory", "dependence_violated", "out"},
    {"write_after_write", "dependence_violated", "out"},
    {"same_buffer_twice", "dependence_violated", "scratch"},
    {"restrict_pointers", "dependence_violated", "scratch"},
    {"changes_in_place", "dependence_violated", "scratch"},
    {"one_read_too_many", "read_empty", ""},
    {"consumer_counts_wrong", "read_empty", ""},
    {"last_is_missed", "read_empty", ""},
    {"two_tokens_left", "leftover_tokens", ""},
    {"filter_leaves", "leftover_tokens", ""},
    {"turns_for_ever", "never_ends", ""},
    {"counter_wraps", "never_ends", ""},
    {"next_wide", "out_of_bounds", "in"},
    {"wide_index_wraps", "out_of_bounds", ""},
    {"particle_behind_end", "out_of_bounds", "in"},
    {"member_is_not_written", "uninitialised_memory", "scratch"},
    {"lane_is_width", "local_out_of_bounds", ""},
    {"rows_as_columns", "local_out_of_bounds", ""},
    {"narrow_index_is_negative", "local_out_of_bounds", ""},
    {"method_overruns", "local_out_of_bounds", ""},
    {"shift_overruns", "local_out_of_bounds", ""},
    {"bit_is_width", "local_out_of_bounds", ""},
    {"number_divides_by_zero", "division_by_zero", ""},
    {"wide_remainder_of_zero", "division_by_zero", ""},
    {"fixed_divides_by_zero", "division_by_zero", ""},
    {"polls_for_ever", "never_ends", ""},
    {"burst_behind_end", "out_of_bounds", "in"}};

// The kernel crashes after the report.
bool crashes(const Row& row) {
  return row.kind == "division_by_zero" || row.name == "wide_index_wraps" ||
         row.name == "bit_is_width";
}

// Bugs with which the kernel goes on: the others end in ERROR.
bool completes(const Row& row) {
  return !crashes(row) && row.kind != "never_ends" && row.kind != "read_empty" &&
         (row.kind != "deadlock" || row.name == "head_before_tail" ||
          row.name == "side_path_is_shallow");
}

Row row_of(const Group& group, size_t index) {
  Row row{group.names[index], group.kind, group.argument, group.file, {}};
  for (const Exception& each : kExceptions) {
    if (row.name != each.name) continue;
    row.kind = each.kind;
    row.argument = each.argument;
  }
  row.ends_card = crashes(row);
  const ert_cmd_state ended = completes(row) ? ERT_CMD_STATE_COMPLETED : ERT_CMD_STATE_ERROR;
  const int number = static_cast<int>(index) + 1;
  const std::string kernel = group.kernel;
  row.run = [kernel, number, ended](Bench& bench, bool bad) {
    CHECK_EQ(bench.run(kernel, bad ? number : -number), bad ? ended : ERT_CMD_STATE_COMPLETED);
  };
  return row;
}

}  // namespace

std::vector<Row> kernel_rows() {
  std::vector<Row> rows;
  for (const Group& group : kGroups) {
    for (size_t index = 0; index < group.names.size(); ++index) {
      rows.push_back(row_of(group, index));
    }
  }
  return rows;
}

}  // namespace tandem::fpga_test

// SPDX-License-Identifier: Apache-2.0
//
// After an error in a round the card may have updated some rows. It is then lost, so these rows are
// never read.
#include "xrt/tables/table_unit.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>

#include "common/error.h"

namespace tandem::device::xrt_card {
namespace {

namespace abi = embedding_update;

// Empty when the result answers the call; else what is wrong.
std::string fault_of(const abi::ResultHeader& header, const abi::InputHeader& asked) {
  if (header.magic != abi::kMagic) return "the kernel returned no result header";
  if (header.abi_version != abi::kAbiVersion) {
    return "the kernel image speaks version " + std::to_string(header.abi_version) +
           " of the input, this program version " + std::to_string(abi::kAbiVersion) +
           ": build both from the same sources";
  }
  if (header.tag != asked.tag) return "the kernel returned the result of an earlier input";
  if (header.status != abi::kOk) {
    return "the kernel refused its input: status " + std::to_string(header.status) + ", detail " +
           std::to_string(header.detail);
  }
  if (header.num_words != abi::result_words(asked.rule, asked.width, asked.num_entries)) {
    return "the kernel's result has a wrong length";
  }
  return "";
}

std::uint64_t values_of(const TableShape& shape) { return shape.num_rows * shape.width; }

void check_arrays(const TableShape& shape, const TableArrays& arrays) {
  const bool adam = shape.rule == TableRule::kRowAdam;
  const std::uint64_t first = adam                                       ? values_of(shape)
                              : shape.rule == TableRule::kRowwiseAdagrad ? shape.num_rows
                                                                         : 0;
  if (arrays.weights.size() == values_of(shape) && arrays.first.size() >= first &&
      arrays.second.size() >= (adam ? values_of(shape) : 0)) {
    return;
  }
  throw Error("xrt", "the arrays of a table of " + std::to_string(shape.num_rows) + " rows of " +
                         std::to_string(shape.width) + " have other sizes");
}

}  // namespace

XrtTableUnit::XrtTableUnit(const xrt::device& device, std::vector<KernelUnit> units,
                           const DeviceInfo& info)
    : name_(info.id) {
  timing_.link_bandwidth_bytes_per_s = info.link_bandwidth_bytes_per_s;
  auto launch = std::make_unique<TableLaunch>(device, std::move(units));
  launch_ = launch.get();
  card_.launches.push_back(std::move(launch));
  room_bytes_ = std::min<std::uint64_t>(kMostCallBytes, launch_->call_memory_bytes() / 16 * 15);
}

void XrtTableUnit::lose(const std::string& reason) {
  if (!lost_) {
    lost_ = true;
    lost_reason_ = reason;
    spdlog::error("[xrt] card {} lost for tables: {}", name_, reason);
  }
  throw DeviceError("xrt", "card " + name_ + " is lost for tables: " + lost_reason_);
}

void XrtTableUnit::check_lost() {
  if (lost_) lose(lost_reason_);
}

void XrtTableUnit::load(std::span<const TableShape> shapes, std::span<const TableArrays> arrays,
                        Deadline deadline) {
  TableLayout layout = place_tables(shapes, launch_->num_units());
  for (std::size_t i = 0; i < shapes.size(); ++i) check_arrays(shapes[i], arrays[i]);
  const std::uint64_t room = launch_->table_memory_bytes() / 16 * 15;
  if (layout.unit_bytes > room) {
    throw Error("xrt", "the tables with their state need " + std::to_string(layout.unit_bytes) +
                           " bytes in each of the " + std::to_string(launch_->num_units()) +
                           " memories of card " + name_ + ", which have " + std::to_string(room) +
                           ": use more cards, or keep some tables in host memory");
  }
  check_lost();
  try {
    if (layout.unit_bytes > 0) launch_->allocate_tables(layout.unit_bytes);
    for (std::size_t unit = 0; layout.unit_bytes > 0 && unit < launch_->num_units(); ++unit) {
      if (deadline.expired()) lose("the tables were not loaded before the deadline");
      pack_tables(layout, arrays, unit, launch_->table(unit));
      launch_->send_table(unit);
    }
  } catch (const DeviceError&) {
    throw;
  } catch (const std::exception& e) {
    lose(e.what());
  }
  layout_ = std::move(layout);
}

TableReport XrtTableUnit::update(const TableUpdate& update, const TableArrays& arrays,
                                 Deadline deadline) {
  if (update.table >= layout_.tables.size()) {
    throw Error("xrt", "card " + name_ + " has no table " + std::to_string(update.table));
  }
  const PlacedTable& table = layout_.tables[update.table];
  check_arrays(table.shape, arrays);
  if (update.gradients.size() != update.rows.size() * table.shape.width) {
    throw Error("xrt", std::to_string(update.rows.size()) + " rows of " +
                           std::to_string(table.shape.width) + " need as many gradients, not " +
                           std::to_string(update.gradients.size()));
  }
  TablePlan plan = plan_update(update, table, launch_->num_units(), room_bytes_);
  check_lost();
  TableReport report;
  report.updated_rows = plan.num_rows;
  std::vector<Answer> answers;
  staged_.clear();
  try {
    for (std::vector<TableCall>& calls : plan.rounds) {
      report.modelled_seconds += run_round(calls, plan, update, deadline, answers);
    }
  } catch (const DeviceError&) {
    throw;
  } catch (const std::exception& e) {
    lose(e.what());
  }
  for (const Answer& answer : answers) {
    read_records(*answer.call, plan, update, table, staged_.data() + answer.offset, arrays);
  }
  return report;
}

double XrtTableUnit::run_round(std::vector<TableCall>& calls, const TablePlan& plan,
                               const TableUpdate& update, Deadline deadline,
                               std::vector<Answer>& answers) {
  double seconds = timing_.command_s;
  for (TableCall& call : calls) {
    call.header.tag = next_tag_++;
    launch_->reserve(call.unit, call.input_bytes, call.result_bytes);
    write_input(call, plan, update, layout_.tables[update.table],
                launch_->input(call.unit).first(call.input_bytes));
    launch_->start(call.unit, call.input_bytes);
    seconds += timing_.transfer_seconds(static_cast<double>(call.input_bytes));
  }
  const CardRuns::Progress progress = launch_->wait(deadline);
  if (progress == CardRuns::Progress::kRunning) lose("no answer before the deadline");
  if (progress == CardRuns::Progress::kFailed) lose("a command ended in an error state");
  std::uint64_t slowest = 0;
  for (TableCall& call : calls) seconds += fetch(call, answers, slowest);
  return seconds + static_cast<double>(slowest) / (abi::kClockMhz * 1e6);
}

// Stages a call's records. Returns the seconds of the transfer.
double XrtTableUnit::fetch(TableCall& call, std::vector<Answer>& answers, std::uint64_t& cycles) {
  const std::byte* result = launch_->fetch(call.unit, call.result_bytes);
  abi::ResultHeader header;
  std::memcpy(&header, result, sizeof(header));
  const std::string fault = fault_of(header, call.header);
  if (!fault.empty()) lose(fault);
  answers.push_back({&call, staged_.size()});
  staged_.insert(staged_.end(), result + abi::kWordBytes, result + call.result_bytes);
  cycles = std::max(cycles, abi::modelled_cycles(call.header.num_entries, header));
  return timing_.transfer_seconds(static_cast<double>(call.result_bytes));
}

}  // namespace tandem::device::xrt_card

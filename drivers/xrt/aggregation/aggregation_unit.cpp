// SPDX-License-Identifier: Apache-2.0
//
// All units start before the first is waited for. Results are taken in order of position.
#include "xrt/aggregation/aggregation_unit.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>

#include "common/error.h"
#include "common/median.h"

namespace tandem::device::xrt_card {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kFirstSums = std::chrono::seconds(10);
constexpr std::uint64_t kMostPositions = std::uint64_t{1} << 32;
// Tables of a unit's input: the ends of 1,024 sources in 16,384 tiles, and the others.
constexpr std::uint64_t kTableBytes = std::uint64_t{68} << 20;

// Empty when the result answers the descriptor with `tag`; else what is wrong.
std::string fault_of(const sparse_aggregation::ResultHeader& header,
                     const AggregationUnitPlan& unit) {
  if (header.magic != sparse_aggregation::kMagic) return "the kernel returned no result header";
  if (header.abi_version != sparse_aggregation::kAbiVersion) {
    return "the kernel image speaks version " + std::to_string(header.abi_version) +
           " of the descriptor, this program version " +
           std::to_string(sparse_aggregation::kAbiVersion) + ": build both from the same sources";
  }
  if (header.tag != unit.header.tag)
    return "the kernel returned the result of an earlier descriptor";
  if (header.status == sparse_aggregation::kBadPosition) return "";
  if (header.status != sparse_aggregation::kOk) {
    return "the kernel refused its descriptor: status " + std::to_string(header.status) +
           ", detail " + std::to_string(header.detail);
  }
  const sparse_aggregation::DescriptorHeader& h = unit.header;
  if (header.num_entries > unit.num_entries ||
      header.num_words != sparse_aggregation::result_words(h.format, h.value_type, h.tile_bits,
                                                           h.num_tiles, header.num_entries)) {
    return "the kernel's result has a wrong length";
  }
  return "";
}

void check_sources(const AggregationShape& shape, std::span<const AggregationSource> sources) {
  const std::size_t value_size = dtype_block_bytes(shape.type);
  std::uint64_t entries = 0;
  for (std::size_t s = 0; s < sources.size(); ++s) {
    entries += sources[s].positions.size();
    if (sources[s].values.size() == sources[s].positions.size() * value_size) continue;
    throw Error("xrt", "source " + std::to_string(s) + " has " +
                           std::to_string(sources[s].positions.size()) + " positions but " +
                           std::to_string(sources[s].values.size()) + " bytes of values");
  }
  if (sources.size() != shape.num_sources || entries != shape.num_entries) {
    throw Error("xrt", "the sources have " + std::to_string(sources.size()) + " parts with " +
                           std::to_string(entries) + " entries; the shape states other numbers");
  }
}

}  // namespace

XrtAggregationUnit::XrtAggregationUnit(const xrt::device& device, std::vector<KernelUnit> units,
                                       const DeviceInfo& info)
    : name_(info.id) {
  timing_.link_bandwidth_bytes_per_s = info.link_bandwidth_bytes_per_s;
  auto launch = std::make_unique<AggregationLaunch>(device, std::move(units));
  launch_ = launch.get();
  card_.launches.push_back(std::move(launch));
  // One unit may get all entries; an entry takes at most 12 bytes, in and out.
  const std::uint64_t room = launch_->memory_bytes() / 16 * 15;
  capacity_.max_entries = std::min<std::uint64_t>(
      sparse_aggregation::kMaxEntries, room > kTableBytes ? (room - kTableBytes) / 12 : 0);
  capacity_.max_positions = kMostPositions;
  capacity_.memory_bandwidth_bytes_per_s = info.memory_bandwidth_bytes_per_s;
  capacity_.link_bandwidth_bytes_per_s = info.link_bandwidth_bytes_per_s;
  measure();
}

void XrtAggregationUnit::lose(const std::string& reason) {
  if (!lost_) {
    lost_ = true;
    lost_reason_ = reason;
    spdlog::error("[xrt] card {} lost for aggregation: {}", name_, reason);
  }
  throw DeviceError("xrt", "card " + name_ + " is lost for aggregation: " + lost_reason_);
}

std::string XrtAggregationUnit::refusal(const AggregationShape& shape) const {
  if (shape.type != DType::kF32 && shape.type != DType::kU64) {
    return "the card adds f32 and u64 only";
  }
  if (shape.num_sources == 0 || shape.num_sources > sparse_aggregation::kMaxSources) {
    return "the card takes 1 to " + std::to_string(sparse_aggregation::kMaxSources) +
           " sources, not " + std::to_string(shape.num_sources);
  }
  if (shape.num_positions == 0 || shape.num_positions > capacity_.max_positions) {
    return "the card's positions have 32 bits; the partition has " +
           std::to_string(shape.num_positions);
  }
  if (shape.num_entries > capacity_.max_entries) {
    return "the card's memory takes " + std::to_string(capacity_.max_entries) + " entries, not " +
           std::to_string(shape.num_entries);
  }
  return "";
}

AggregationResult XrtAggregationUnit::aggregate(const AggregationShape& shape,
                                                std::span<const AggregationSource> sources,
                                                Deadline deadline) {
  if (const std::string reason = refusal(shape); !reason.empty()) throw Error("xrt", reason);
  check_placements(*this, sources);
  check_sources(shape, sources);
  if (lost_) lose(lost_reason_);
  try {
    return aggregate_valid(shape, sources, deadline);
  } catch (const std::bad_alloc&) {  // nothing runs yet; run() treats other errors as a lost card
    throw DeviceError("xrt", "the host has no memory for an aggregation on card " + name_);
  }
}

AggregationResult XrtAggregationUnit::aggregate_valid(const AggregationShape& shape,
                                                      std::span<const AggregationSource> sources,
                                                      Deadline deadline) {
  AggregationPlan plan = plan_aggregation(shape, sources, launch_->num_units(), timing_);
  const std::vector<Answer> answers = run(plan.units, sources, deadline);
  for (const Answer& answer : answers) {
    if (answer.header.status != sparse_aggregation::kBadPosition) continue;
    throw Error("xrt", "positions of source " + std::to_string(answer.header.detail) +
                           " do not ascend below the partition's end");
  }
  return assemble(plan.units, answers);
}

std::vector<XrtAggregationUnit::Answer> XrtAggregationUnit::run(
    std::vector<AggregationUnitPlan>& units, std::span<const AggregationSource> sources,
    Deadline deadline) {
  reserve(units);
  std::vector<Answer> answers;
  answers.reserve(units.size());
  try {
    for (std::size_t i = 0; i < units.size(); ++i) {
      units[i].header.tag = next_tag_++;
      write_descriptor(units[i], sources, launch_->input(i).first(units[i].descriptor_bytes));
      launch_->start(i, units[i].descriptor_bytes);
    }
    const CardRuns::Progress progress = launch_->wait(deadline);
    if (progress == CardRuns::Progress::kRunning) lose("no answer before the deadline");
    if (progress == CardRuns::Progress::kFailed) lose("a command ended in an error state");
    for (std::size_t i = 0; i < units.size(); ++i) answers.push_back(fetch(i, units[i]));
  } catch (const DeviceError&) {
    throw;
  } catch (const std::exception& e) {
    lose(e.what());
  }
  return answers;
}

// Nothing runs yet, so missing memory loses nothing.
void XrtAggregationUnit::reserve(const std::vector<AggregationUnitPlan>& units) {
  try {
    for (std::size_t i = 0; i < units.size(); ++i) {
      launch_->reserve(i, units[i].descriptor_bytes, units[i].result_bytes);
    }
  } catch (const std::exception& e) {
    throw DeviceError("xrt", "no buffers on card " + name_ + " for an aggregation: " + e.what());
  }
}

// Usually one transfer of the expected bytes; a second one reads the rest.
XrtAggregationUnit::Answer XrtAggregationUnit::fetch(std::size_t index,
                                                     const AggregationUnitPlan& unit) {
  Answer answer;
  answer.num_bytes = unit.expected_result_bytes;
  answer.num_transfers = 1;
  answer.result = launch_->fetch(index, 0, answer.num_bytes);
  std::memcpy(&answer.header, answer.result, sizeof(answer.header));
  const std::string fault = fault_of(answer.header, unit);
  if (!fault.empty()) lose(fault);
  const std::size_t whole = std::size_t{answer.header.num_words} * sparse_aggregation::kWordBytes;
  if (whole > answer.num_bytes) {
    launch_->fetch(index, answer.num_bytes, whole);
    answer.num_bytes = whole;
    ++answer.num_transfers;
  }
  return answer;
}

AggregationResult XrtAggregationUnit::assemble(const std::vector<AggregationUnitPlan>& units,
                                               const std::vector<Answer>& answers) {
  positions_.clear();
  values_.clear();
  for (std::size_t i = 0; i < units.size(); ++i) {
    try {
      append_result(units[i], answers[i].result, positions_, values_);
    } catch (const DeviceError& e) {
      lose(e.what());
    }
  }
  AggregationResult result;
  result.positions = positions_;
  result.values = values_;
  result.modelled_seconds = modelled_seconds(units, answers);
  return result;
}

double XrtAggregationUnit::modelled_seconds(const std::vector<AggregationUnitPlan>& units,
                                            const std::vector<Answer>& answers) const {
  double transfers = 0;
  std::uint64_t slowest = 0;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const sparse_aggregation::DescriptorHeader& h = units[i].header;
    transfers += timing_.transfer_seconds(static_cast<double>(units[i].descriptor_bytes)) +
                 timing_.transfer_seconds(static_cast<double>(answers[i].num_bytes)) +
                 static_cast<double>(answers[i].num_transfers - 1) * timing_.transfer_s;
    slowest = std::max(slowest, sparse_aggregation::modelled_cycles(h.num_sources, h.num_tiles,
                                                                    answers[i].header));
  }
  if (units.empty()) return 0;
  return transfers + timing_.command_s +
         static_cast<double>(slowest) / (sparse_aggregation::kClockMhz * 1e6);
}

// Empty aggregations: a wrong kernel image shows here.
void XrtAggregationUnit::measure() {
  constexpr int kLaunches = 9;
  std::vector<double> seconds;
  const AggregationSource nothing;
  for (int i = 0; i < kLaunches; ++i) {
    std::vector<AggregationUnitPlan> units(launch_->num_units(), plan_nothing(0));
    const auto begin = Clock::now();
    run(units, {&nothing, 1}, Deadline::after(kFirstSums));
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  capacity_.link_latency_us = median(seconds) * 1e6;
}

}  // namespace tandem::device::xrt_card

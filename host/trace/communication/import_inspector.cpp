// SPDX-License-Identifier: Apache-2.0
//
// NCCL Inspector writes one object per operation and rank, with the ranks of its communicator.
//
// The largest communicator gives the ranks of the matrix. A smaller one is mapped through the
// processes (host and process id) of its ranks, which the largest one names too.
#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "common/error.h"
#include "trace/communication/import.h"

namespace tandem::trace {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostCount = 1ull << 50;  // so that products with ranks fit

struct InspectorRecord {
  std::string place;  // "FILE line 3"
  std::string communicator, operation, process;
  int rank = 0, ranks = 1;
  std::uint64_t bytes = 0;
  int peer = -1;                 // of a send; -1: a collective
  std::uint64_t written_us = 0;  // Inspector tells when it wrote, not when the call began
};

// A field of an object, with the line in its errors.
class InspectorObject {
 public:
  InspectorObject(const json& object, std::string place)
      : object_(object), place_(std::move(place)) {}

  InspectorObject child(const char* name) const {
    const json& value = field(name);
    if (!value.is_object()) fail(name, "an object");
    return {value, place_ + ", " + name};
  }
  bool has(const char* name) const { return object_.contains(name); }
  std::string text(const char* name) const {
    const json& value = field(name);
    if (!value.is_string()) fail(name, "a text");
    return value.get<std::string>();
  }
  std::uint64_t count(const char* name) const {
    const std::uint64_t value = time(name);
    if (value > kMostCount) fail(name, "a number from 0 to 2^50");
    return value;
  }
  std::uint64_t time(const char* name) const {
    const json& value = field(name);
    if (!value.is_number_unsigned()) fail(name, "a number from 0 to 2^50");
    return value.get<std::uint64_t>();
  }
  int number_below(const char* name, std::uint64_t limit) const {
    const std::uint64_t value = count(name);
    if (value >= limit) fail(name, ("a number below " + std::to_string(limit)).c_str());
    return static_cast<int>(value);
  }

 private:
  const json& field(const char* name) const {
    const auto at = object_.find(name);
    if (at == object_.end()) {
      throw Error("communication", place_ + ": the field '" + name + "' is missing");
    }
    return *at;
  }
  [[noreturn]] void fail(const char* name, const char* wanted) const {
    throw Error("communication", place_ + ": the field '" + name + "' must be " + wanted);
  }

  const json& object_;
  std::string place_;
};

// False: a receive, which its sender records too.
bool read_operation(const InspectorObject& line, InspectorRecord& record) {
  if (line.has("p2p_perf")) {
    const InspectorObject p2p = line.child("p2p_perf");
    record.operation = p2p.text("p2p");
    record.bytes = p2p.count("p2p_msg_size_bytes");
    record.peer = p2p.number_below("p2p_peer", static_cast<std::uint64_t>(record.ranks));
    return record.operation == "Send";
  }
  const InspectorObject call = line.child("coll_perf");
  record.operation = call.text("coll");
  record.bytes = call.count("coll_msg_size_bytes");
  return true;
}

std::optional<InspectorRecord> read_inspector_line(const std::string& text,
                                                   const std::string& place) {
  const json object = json::parse(text, nullptr, false);
  if (object.is_discarded() || !object.is_object()) {
    throw Error("communication", place + ": this is not a JSON object");
  }
  const InspectorObject line(object, place);
  const InspectorObject header = line.child("header");
  InspectorRecord record;
  record.place = place;
  record.communicator = header.text("id");
  record.ranks = header.number_below("n_ranks", kMostParties + 1);
  record.rank = header.number_below("rank", static_cast<std::uint64_t>(record.ranks));
  if (line.has("metadata")) {
    const InspectorObject metadata = line.child("metadata");
    record.process = metadata.text("hostname") + " " + std::to_string(metadata.count("pid"));
    if (metadata.has("dump_timestamp_us")) record.written_us = metadata.time("dump_timestamp_us");
  }
  if (!read_operation(line, record)) return std::nullopt;
  return record;
}

class InspectorTraffic {
 public:
  InspectorTraffic(std::vector<InspectorRecord> records, const ImportOptions& options)
      : records_(std::move(records)), options_(options), traffic_("rank") {
    traffic_.set_window_s(options_.window_s);
    traffic_.set_keeps_events(options_.keep_events);
    for (const InspectorRecord& record : records_) {
      world_ = std::max(world_, record.ranks);
      first_us_ = std::min(first_us_, record.written_us);
    }
    traffic_.set_least_parties(world_);
    traffic_.set_model(name_of(options_.algorithm));
    for (const InspectorRecord& record : records_) learn(record);
  }

  Traffic take() {
    for (const InspectorRecord& record : records_) {
      traffic_.note_record(world_rank(record, record.rank));
      if (record.peer >= 0) {
        traffic_.add_event({time_s(record),
                            {world_rank(record, record.rank), world_rank(record, record.peer),
                             "nccl_point_to_point", "send"},
                            {record.bytes, 1}});
      } else {
        add_collective(record);
      }
    }
    return std::move(traffic_);
  }

 private:
  double time_s(const InspectorRecord& record) const {
    return static_cast<double>(record.written_us - first_us_) * 1e-6;
  }

  void learn(const InspectorRecord& record) {
    process_of_[{record.communicator, record.rank}] = record.process;
    if (record.ranks != world_) return;
    const auto [at, is_new] = rank_of_.emplace(record.process, record.rank);
    if (!is_new && at->second != record.rank) shared_.insert(record.process);
    const std::size_t blank = record.process.rfind(' ');
    traffic_.set_host_of(record.rank, record.process.substr(0, blank));
  }

  int world_rank(const InspectorRecord& record, int rank) const {
    if (record.ranks == world_) return rank;
    const auto process = process_of_.find({record.communicator, rank});
    const auto known =
        process == process_of_.end() ? rank_of_.end() : rank_of_.find(process->second);
    if (known == rank_of_.end() || known->first.empty() || shared_.contains(known->first)) {
      throw Error(
          "communication",
          record.place + ": rank " + std::to_string(rank) + " of communicator " +
              record.communicator +
              " is not a known rank of the largest one; give the files of all ranks, with one "
              "process per rank");
    }
    return known->second;
  }

  void add_collective(const InspectorRecord& record) {
    CollectiveCall call{Collective::kAllReduce, options_.algorithm, record.ranks, 0, record.bytes};
    if (!parse_collective(record.operation, call.collective)) {
      traffic_.add_unmodelled(record.operation, 1);
      return;
    }
    // Inspector counts one rank's part of these.
    if (call.collective == Collective::kAllGather ||
        call.collective == Collective::kReduceScatter || call.collective == Collective::kAllToAll) {
      call.bytes *= static_cast<std::uint64_t>(record.ranks);
    }
    model_flows(call, record.rank, flows_);
    const auto of_world = [&](int rank) {
      return rank == kSwitchRank ? kSwitchRank : world_rank(record, rank);
    };
    for (const Flow& flow : flows_) {
      traffic_.add_event({time_s(record),
                          {of_world(flow.source), of_world(flow.destination), "nccl_collective",
                           name_of(call.collective)},
                          {flow.bytes, flow.messages}});
    }
  }

  const std::vector<InspectorRecord> records_;
  const ImportOptions& options_;
  Traffic traffic_;
  int world_ = 1;
  std::uint64_t first_us_ = std::numeric_limits<std::uint64_t>::max();
  std::map<std::pair<std::string, int>, std::string> process_of_;
  std::map<std::string, int> rank_of_;  // ranks in the largest communicators, by process
  std::set<std::string> shared_;        // processes with several ranks
  std::vector<Flow> flows_;
};

}  // namespace

Traffic import_inspector(const std::vector<ImportFile>& files, const ImportOptions& options) {
  std::vector<InspectorRecord> records;
  for (const ImportFile& file : files) {
    std::istringstream stream(file.text);
    int number = 0;
    for (std::string line; std::getline(stream, line);) {
      ++number;
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      const std::string place = file.name + " line " + std::to_string(number);
      if (auto record = read_inspector_line(line, place)) records.push_back(std::move(*record));
    }
  }
  return InspectorTraffic(std::move(records), options).take();
}

}  // namespace tandem::trace

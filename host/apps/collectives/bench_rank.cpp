// SPDX-License-Identifier: Apache-2.0
//
// Each scheme: warm-up calls, the first of them verified, then timed calls, each after a barrier;
// a sample is the time of its slowest rank.
#include "apps/collectives/bench_rank.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "apps/collectives/bench_input.h"
#include "apps/collectives/bench_reference.h"
#include "collectives/aggregator/aggregator.h"
#include "collectives/scheme/scheme.h"
#include "common/error.h"
#include "device/registry.h"

namespace tandem::apps {
namespace {

using collectives::Group;
using collectives::ReduceOptions;
using collectives::SparseTensor;
using Clock = std::chrono::steady_clock;

DType dtype_from(const std::string& name) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kU64}) {
    if (dtype_name(type) == name) return type;
  }
  throw Error("allreduce-bench",
              "no type of values is called '" + name + "'; choose f32, f16, bf16, f64 or u64");
}

// The device aggregator of a rank; null for the CPU. The device outlives its unit.
struct RankAggregator {
  std::unique_ptr<device::Device> device;
  std::unique_ptr<collectives::Aggregator> aggregator;
};

RankAggregator open_aggregator(const std::string& id) {
  RankAggregator opened;
  if (id == "cpu") return opened;
  opened.device = device::open_device(id, {});
  if (!opened.device->info().makes_aggregation) {
    throw Error("allreduce-bench",
                id + " cannot add up sparse vectors; `tandem devices` lists those that "
                     "can (aggregation)");
  }
  opened.aggregator = collectives::make_device_aggregator(opened.device->make_aggregation_unit());
  return opened;
}

ReduceOptions call_options(const BenchOptions& bench, const std::string& scheme) {
  ReduceOptions options;
  options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(bench.timeout_s * 1e3));
  options.scheme = scheme;
  options.codec = bench.codec;
  options.bucket = scheme;
  options.reduction = bench.reduction == "max"    ? sparse::Reduction::kMax
                      : bench.reduction == "mean" ? sparse::Reduction::kMean
                                                  : sparse::Reduction::kSum;
  if (!bench.wire.empty()) options.wire = dtype_from(bench.wire);
  options.ranks_per_node = bench.ranks_per_node;
  options.explain = bench.explain;
  return options;
}

// Every rank's vector of plain values, end to end, in rank order.
template <typename T>
std::vector<T> gather(Group& group, const std::vector<T>& own) {
  std::vector<T> all;
  for (const auto& bytes : collectives::allgatherv(group, std::as_bytes(std::span(own)))) {
    const auto at = all.size();
    all.resize(at + bytes.size() / sizeof(T));
    std::memcpy(all.data() + at, bytes.data(), bytes.size());
  }
  return all;
}

void verify(const BenchOptions& options, const std::string& scheme, const SparseTensor& expected,
            const SparseTensor& result) {
  const bool narrow = !options.wire.empty() || options.type == "f16" || options.type == "bf16";
  const double off = relative_difference(expected, result);
  if (!(off <= (narrow ? 2e-2 : 1e-4))) {
    throw Error(
        "allreduce-bench",
        fmt::format("the result of {} is wrong: off by {:.3g} of the largest value", scheme, off));
  }
}

// Sums of the traffic of all ranks' last call.
void gather_traffic(Group& group, const transport::TrafficSnapshot& own, SchemeResult& result) {
  std::vector<std::uint64_t> row;
  for (const auto& peer : own.peers) {
    row.push_back(peer.bytes_sent);
    row.push_back(peer.messages_sent);
  }
  const auto all = gather(group, row);
  const int world = group.world();
  result.traffic = trace::CommunicationMatrix(world);
  for (int from = 0; from < world; ++from) {
    for (int to = 0; to < world; ++to) {
      const auto at = 2 * (static_cast<std::size_t>(from) * static_cast<std::size_t>(world) +
                           static_cast<std::size_t>(to));
      result.traffic.add(from, to, all[at], all[at + 1]);
    }
  }
  const auto steps = gather(group, std::vector<std::uint64_t>{own.steps});
  result.steps = *std::max_element(steps.begin(), steps.end());
}

// Times of all ranks, sample by sample; the slowest counts.
std::vector<double> slowest(Group& group, const std::vector<double>& own) {
  const auto all = gather(group, own);
  std::vector<double> worst(own.size(), 0);
  for (std::size_t at = 0; at < all.size(); ++at) {
    worst[at % own.size()] = std::max(worst[at % own.size()], all[at]);
  }
  return worst;
}

class SchemeBench {
 public:
  SchemeBench(Group& group, const BenchOptions& options, const SparseTensor& input)
      : group_(group),
        options_(options),
        input_(input),
        aggregator_(open_aggregator(options.aggregator)) {
    if (options.verify) expected_ = reference_reduction(group, input, options.reduction);
  }

  SchemeResult run(const std::string& scheme) {
    SchemeResult result;
    result.scheme = scheme;
    ReduceOptions call = call_options(options_, scheme);
    call.aggregator = aggregator_.aggregator.get();
    try {
      measure(call, result);
    } catch (const transport::TransportError&) {
      throw;
    } catch (const Error& error) {
      // All ranks agree that these arguments cannot be reduced by this scheme.
      if (group_.broken() || !result.chosen.empty()) throw;
      result.refusal = error.what();
    }
    return result;
  }

  // Units of the last sum.
  double union_units() const { return static_cast<double>(union_entries_); }

 private:
  void measure(const ReduceOptions& call, SchemeResult& result) {
    const auto before = statistics();
    for (int i = 0; i < std::max(1, options_.warmup); ++i) {
      const SparseTensor sum = collectives::sparse_allreduce(group_, input_.view(), call);
      result.chosen = collectives::last_report(group_).scheme;
      union_entries_ = sum.num_entries;
      if (i == 0 && options_.verify) verify(options_, call.scheme, expected_, sum);
    }
    std::vector<double> seconds;
    transport::TrafficSnapshot traffic;
    for (int i = 0; i < options_.samples; ++i) {
      collectives::barrier(group_, call);
      const auto start_traffic = group_.traffic();
      const auto start = Clock::now();
      const SparseTensor sum = collectives::sparse_allreduce(group_, input_.view(), call);
      seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
      traffic = group_.traffic() - start_traffic;
    }
    const collectives::Report report = collectives::last_report(group_);
    result.chosen = report.scheme;
    result.explanation = report.explanation;
    const double modelled = report.aggregation_modelled_seconds;
    result.seconds = slowest(group_, seconds);
    gather_traffic(group_, traffic, result);
    const auto modelled_of_all = gather(group_, std::vector<double>{modelled});
    result.aggregation_modelled_s =
        *std::max_element(modelled_of_all.begin(), modelled_of_all.end());
    result.fallbacks = 0;
    for (const auto each : gather(group_, std::vector<std::uint64_t>{statistics().num_fallbacks -
                                                                     before.num_fallbacks})) {
      result.fallbacks += each;
    }
  }

  collectives::AggregatorStatistics statistics() const {
    return aggregator_.aggregator ? aggregator_.aggregator->statistics()
                                  : collectives::AggregatorStatistics{};
  }

  Group& group_;
  const BenchOptions& options_;
  const SparseTensor& input_;
  RankAggregator aggregator_;
  SparseTensor expected_;
  std::size_t union_entries_ = 0;
};

std::vector<std::string> schemes_of(const BenchOptions& options) {
  if (!options.schemes.empty()) return options.schemes;
  std::vector<std::string> names = {"auto"};
  for (const collectives::Scheme* scheme : collectives::all_schemes()) {
    names.emplace_back(scheme->name());
  }
  return names;
}

}  // namespace

BenchResult run_bench(Group& group, const BenchOptions& options) {
  const SparseTensor input = make_input(options, group.rank(), group.world());
  BenchResult result;
  result.transport = group.transport();
  result.world = group.world();
  result.num_units = input.num_units;
  result.width = input.width;
  double entries = 0;
  for (const auto each : gather(group, std::vector<std::uint64_t>{input.num_entries})) {
    entries += static_cast<double>(each);
  }
  const auto units = static_cast<double>(input.num_units);
  result.density = entries / group.world() / units;
  SchemeBench bench(group, options, input);
  for (const std::string& scheme : schemes_of(options)) {
    result.schemes.push_back(bench.run(scheme));
  }
  if (std::all_of(result.schemes.begin(), result.schemes.end(),
                  [](const SchemeResult& scheme) { return !scheme.refusal.empty(); })) {
    throw Error("allreduce-bench", "no scheme could run: " + result.schemes.front().refusal);
  }
  result.union_density = bench.union_units() / units;
  return result;
}

}  // namespace tandem::apps

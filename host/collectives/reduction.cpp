// SPDX-License-Identifier: Apache-2.0
//
// Selectors read the headers of every call; they learn from the times of calls that succeed.
#include "collectives/reduction.h"

#include <xxhash.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "collectives/codec/codec.h"
#include "collectives/scheme/scheme.h"
#include "tensor/sparse/merge.h"

namespace tandem::collectives {
namespace {

constexpr std::string_view kAuto = "auto";

std::string_view reduction_name(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return "sum";
    case Reduction::kMean:
      return "mean";
    case Reduction::kMax:
      return "max";
  }
  throw Error("collectives", "the reduction is none of sum, mean and max");
}

Codec checked_codec(const std::string& name) {
  if (const auto codec = codec_from_name(name)) return *codec;
  std::string known = "auto";
  for (const Codec codec : all_codecs()) known += ", " + std::string(codec_name(codec));
  throw Error("collectives", "no codec is called '" + name + "'; there are: " + known);
}

Problem problem_of(const Call& call, const Contribution& contribution, const Agreement& agreement,
                   const ReduceOptions& options) {
  Problem problem;
  problem.world = call.ranks.world();
  problem.domain = contribution.own.domain();
  problem.wire = wire_of(options, contribution.type);
  problem.reduction = options.reduction;
  problem.codec = checked_codec(options.codec);
  const std::vector<int> nodes = node_of_rank(agreement, options);
  problem.ranks_per_node = std::max(1, problem.world / (1 + *std::ranges::max_element(nodes)));
  return problem;
}

std::string bucket_key(const Contribution& contribution, const ReduceOptions& options) {
  const Domain domain = contribution.own.domain();
  // Uses only values that all ranks agree on. Aggregators may differ between ranks, so they are not
  // part of the key.
  std::string key =
      options.bucket + '\n' + std::to_string(domain.num_units) + 'x' + std::to_string(domain.width);
  for (const std::string_view name :
       {dtype_name(contribution.type), dtype_name(wire_of(options, contribution.type)),
        reduction_name(options.reduction), std::string_view(options.codec)}) {
    key += ' ';
    key += name;
  }
  return key + ' ' + std::to_string(options.ranks_per_node);
}

const Scheme& choose_by_cost(Call& call, const Contribution& contribution,
                             const Agreement& agreement, const Problem& problem, Bucket& bucket) {
  const MachineModel& machine = call.group.machine(call.ranks, agreement.nodes);
  try {
    return bucket.selector.choose(agreement.profiles, problem, machine);
  } catch (const TransportError&) {
    throw;
  } catch (const Error& error) {  // all ranks know the cause
    throw AgreedError(std::string(contribution.header.function) + ": " + plain_text(error));
  }
}

const Scheme& named_scheme(const Contribution& contribution, const Agreement& agreement,
                           Problem problem, const ReduceOptions& options) {
  const auto places = static_cast<double>(problem.domain.num_units) * problem.world;
  fill_independent(problem, places == 0 ? 0 : static_cast<double>(agreement.total) / places);
  const Scheme& scheme = scheme_by_name(options.scheme);
  if (const std::string refusal = scheme.refusal(problem); !refusal.empty()) {
    throw AgreedError(std::string(contribution.header.function) + ": scheme " + options.scheme +
                      " cannot do this: " + refusal);
  }
  return scheme;
}

// Runs the scheme; the report gets its times.
Reduced run(Call& call, const Scheme& scheme, SparseVector own, const SchemeSettings& settings,
            Bucket& bucket, const ReduceOptions& options) {
  WatchedAggregator aggregator = watched_aggregator(call, options);
  const auto start = Deadline::Clock::now();
  Reduced reduced =
      scheme.allreduce(call.ranks, std::move(own), settings, bucket.memory, aggregator);
  const std::chrono::duration<double> seconds = Deadline::Clock::now() - start;
  call.report.scheme_seconds = seconds.count();
  report_aggregation(call, aggregator);
  return reduced;
}

}  // namespace

Deadline deadline_of(const CallOptions& options) {
  constexpr std::chrono::milliseconds kForever = std::chrono::hours(24 * 365);
  return options.timeout >= kForever ? Deadline::never() : Deadline::after(options.timeout);
}

std::string text_of_failure(const std::function<void()>& make) {
  try {
    make();
    return {};
  } catch (const std::bad_alloc&) {
    return "out of memory for its input";
  } catch (const std::length_error&) {
    return "its input is larger than memory can be";
  } catch (const std::exception& error) {
    return plain_text(error);
  }
}

WatchedAggregator watched_aggregator(Call& call, const ReduceOptions& options) {
  return WatchedAggregator(options.aggregator ? *options.aggregator : call.group.cpu_aggregator());
}

void report_aggregation(Call& call, const WatchedAggregator& aggregator) {
  const AggregatorStatistics statistics = aggregator.statistics();
  call.report.aggregation_modelled_seconds = statistics.modelled_seconds;
  call.report.aggregator_fallbacks = statistics.num_fallbacks;
}

DType wire_of(const ReduceOptions& options, DType type) { return options.wire.value_or(type); }

void add_option_fields(CallHeader& header, const ReduceOptions& options, DType type) {
  const DType wire = wire_of(options, type);
  header.fields.push_back({"reduction", std::string(reduction_name(options.reduction))});
  header.fields.push_back({"scheme", options.scheme});
  header.fields.push_back({"codec", options.codec});
  header.fields.push_back({"wire type", std::string(dtype_name(wire))});
  header.fields.push_back({"seed", std::to_string(options.seed)});
  header.fields.push_back({"ranks_per_node", std::to_string(options.ranks_per_node)});
  header.fields.push_back({"bucket", "'" + options.bucket + "'"});

  checked_codec(options.codec);
  if (options.scheme != kAuto) scheme_by_name(options.scheme);
  const DType sums = accumulation_type(type);
  const bool fits = wire == sums || (sums == DType::kF32 && accumulation_type(wire) == sums);
  if (!fits) {
    throw Error("collectives", std::string(dtype_name(wire)) + " cannot carry sums of " +
                                   std::string(dtype_name(type)) +
                                   " values; 16-bit wire types are for f32, f16 and bf16");
  }
  if (options.ranks_per_node < 0) {
    throw Error("collectives", "ranks_per_node is negative; use 0 for the transport's node names");
  }
}

Agreement agree_on(Call& call, Contribution& contribution, const ReduceOptions& options) {
  CallHeader& header = contribution.header;
  header.count = contribution.own.num_entries();
  const std::string node = call.group.transport().node_name();
  header.node = XXH3_64bits(node.data(), node.size());
  if (!header.error.empty() || !contribution.chooses || options.scheme != kAuto) {
    return agree(call.ranks, header);
  }
  const std::string key = bucket_key(contribution, options);
  Bucket fresh;
  Bucket* known = call.group.find_bucket(key);
  Selector& selector = known != nullptr ? known->selector : fresh.selector;
  header.profile = selector.header(contribution.own, call.ranks.world());
  Agreement agreement = agree(call.ranks, header);
  call.group.keep_bucket(key, std::move(fresh));
  return agreement;
}

SchemeSettings settings_of(const Agreement& agreement, const ReduceOptions& options, DType type) {
  SchemeSettings settings;
  settings.reduction = options.reduction;
  settings.wire = wire_of(options, type);
  settings.codec = checked_codec(options.codec);
  settings.seed = options.seed;
  settings.node_of_rank = node_of_rank(agreement, options);
  return settings;
}

std::vector<int> node_of_rank(const Agreement& agreement, const ReduceOptions& options) {
  std::vector<int> nodes;
  std::vector<std::uint64_t> known;
  for (std::size_t rank = 0; rank < agreement.nodes.size(); ++rank) {
    if (options.ranks_per_node > 0) {
      nodes.push_back(static_cast<int>(rank) / options.ranks_per_node);
      continue;
    }
    auto place = std::find(known.begin(), known.end(), agreement.nodes[rank]);
    if (place == known.end()) place = known.insert(place, agreement.nodes[rank]);
    nodes.push_back(static_cast<int>(place - known.begin()));
  }
  return nodes;
}

Reduced reduce(Call& call, Contribution&& contribution, const Agreement& agreement,
               const ReduceOptions& options) {
  const Problem problem = problem_of(call, contribution, agreement, options);
  Bucket& bucket = call.group.keep_bucket(bucket_key(contribution, options));
  const bool automatic = options.scheme == kAuto;
  const Scheme& scheme = automatic ? choose_by_cost(call, contribution, agreement, problem, bucket)
                                   : named_scheme(contribution, agreement, problem, options);
  call.report.scheme = scheme.name();
  const auto explain = [&] {
    if (automatic && options.explain) call.report.explanation = bucket.selector.explanation();
  };
  if (agreement.total == 0) {  // all ranks know; nothing is sent
    explain();
    return std::move(contribution.own);
  }
  const SchemeSettings settings = settings_of(agreement, options, contribution.type);
  const TrafficSnapshot before = call.group.transport().traffic();
  Reduced reduced = run(call, scheme, std::move(contribution.own), settings, bucket, options);
  if (automatic) {
    const TrafficSnapshot moved = call.group.transport().traffic() - before;
    bucket.selector.record(call.report.scheme_seconds, moved.bytes_sent(), moved.bytes_received());
  }
  explain();
  return reduced;
}

SparseVector reduce_sparse(Call& call, Contribution&& contribution, const Agreement& agreement,
                           const ReduceOptions& options) {
  Reduced reduced = reduce(call, std::move(contribution), agreement, options);
  if (auto* sparse = std::get_if<SparseVector>(&reduced)) return std::move(*sparse);
  return compact(std::get<DenseVector>(reduced), options.reduction);
}

}  // namespace tandem::collectives

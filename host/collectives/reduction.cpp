// SPDX-License-Identifier: Apache-2.0
#include "collectives/reduction.h"

#include <xxhash.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "collectives/aggregator/aggregator.h"
#include "collectives/codec/codec.h"
#include "collectives/scheme/schemes.h"
#include "collectives/sparse/merge.h"

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
  const auto places = static_cast<double>(problem.domain.num_units) * problem.world;
  fill_independent(problem, places == 0 ? 0 : static_cast<double>(agreement.total) / places);
  return problem;
}

const Scheme& choose_scheme(const Problem& problem, const ReduceOptions& options,
                            const CallHeader& header) {
  if (options.scheme != kAuto) {
    const Scheme& scheme = scheme_by_name(options.scheme);
    if (const std::string refusal = scheme.refusal(problem); !refusal.empty()) {
      throw AgreedError(std::string(header.function) + ": scheme " + options.scheme +
                        " cannot do this: " + refusal);
    }
    return scheme;
  }
  for (const Scheme* scheme : all_schemes()) {
    if (scheme->name() == "balanced_parallelism" && scheme->refusal(problem).empty()) {
      return *scheme;
    }
  }
  return allgather_sparse();
}

std::string bucket_key(const Contribution& contribution, const ReduceOptions& options) {
  const Domain domain = contribution.own.domain();
  return options.bucket + '\n' + std::to_string(domain.num_units) + 'x' +
         std::to_string(domain.width) + std::string(dtype_name(contribution.type));
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
    throw Error("collectives", "ranks_per_node is negative; 0 asks the transport");
  }
}

Agreement agree_on(Call& call, Contribution& contribution, const ReduceOptions&) {
  contribution.header.count = contribution.own.num_entries();
  const std::string node = call.group.transport().node_name();
  contribution.header.node = XXH3_64bits(node.data(), node.size());
  return agree(call.ranks, contribution.header);
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

SparseVector reduce(Call& call, Contribution&& contribution, const Agreement& agreement,
                    const ReduceOptions& options) {
  const Problem problem = problem_of(call, contribution, agreement, options);
  const Scheme& scheme = choose_scheme(problem, options, contribution.header);
  call.report.scheme = scheme.name();
  if (agreement.total == 0) return std::move(contribution.own);  // all know; nothing travels

  SchemeSettings settings;
  settings.reduction = options.reduction;
  settings.wire = problem.wire;
  settings.codec = problem.codec;
  settings.seed = options.seed;
  settings.node_of_rank = node_of_rank(agreement, options);
  Bucket& bucket = call.group.bucket(bucket_key(contribution, options));
  Aggregator& aggregator = options.aggregator ? *options.aggregator : call.group.cpu_aggregator();
  const double modelled_before = aggregator.statistics().modelled_seconds;

  Reduced reduced = scheme.allreduce(call.ranks, std::move(contribution.own), settings,
                                     bucket.memory, aggregator);
  call.report.aggregation_modelled_seconds =
      aggregator.statistics().modelled_seconds - modelled_before;
  SparseVector sum = std::holds_alternative<DenseVector>(reduced)
                         ? compact(std::get<DenseVector>(reduced), options.reduction)
                         : std::move(std::get<SparseVector>(reduced));
  if (options.reduction == Reduction::kMean) divide(sum, call.ranks.world());
  return sum;
}

}  // namespace tandem::collectives

// SPDX-License-Identifier: Apache-2.0
//
// Ok-Topk's all-reduce: ranks agree on regions with equal numbers of entries, reduce them by owner
// in a rotated exchange, balance the sums and gather them.
//
// The sparsifiers select the top k, so this scheme sends the whole union; the published 6 k (n - 1)
// / n holds when the union has k entries. Numerics: an owner adds in rank order; its sum is rounded
// to the wire type. Steps: regions (every 64 calls) as dense_halving_doubling; exchange ceil((n -
// 1) / 4); sizes 1; balance 0 or 1; gather 1. Source: Li and Hoefler, Near-optimal sparse allreduce
// for distributed deep learning, PPoPP 2022.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "collectives/scheme/dense_exchange.h"
#include "collectives/scheme/owner_exchange.h"
#include "collectives/scheme/received.h"
#include "collectives/scheme/schemes.h"
#include "tensor/sparse/merge.h"

namespace tandem::collectives {
namespace {

constexpr const char* kExchangePhase = "rotated exchange";
constexpr const char* kSizesPhase = "sizes";
constexpr const char* kBalancePhase = "balance";
constexpr const char* kGatherPhase = "all-gather-v";

constexpr std::uint64_t kCallsPerRegions = 64;
constexpr int kDistancesInFlight = 4;
constexpr double kTolerableImbalance = 4;

// The caller's proposal in [0, n - 1), and 1 in the last value; all 0 without entries.
DenseVector proposal(const SparseVector& own, int world) {
  const auto n = static_cast<std::size_t>(world);
  DenseVector bounds(Domain{n, 1}, DType::kF64, Reduction::kSum);
  if (own.num_entries() == 0) return bounds;
  const auto values = bounds.values<double>();
  for (std::size_t bound = 1; bound < n; ++bound) {
    const std::size_t entry = own.num_entries() / n * bound + own.num_entries() % n * bound / n;
    values[bound - 1] = static_cast<double>(own.index_at(entry));
  }
  values[n - 1] = 1;
  return bounds;
}

// Checks the sum of the proposals of up to `world` ranks.
std::string wrong_proposals(const DenseVector& sums, UnitRange range, std::uint64_t units) {
  const auto values = sums.values<double>();
  const auto world = static_cast<double>(values.size());
  for (std::uint64_t at = range.begin; at < range.end; ++at) {
    const double most = at + 1 < values.size() ? world * static_cast<double>(units) : world;
    if (!(values[at] >= 0 && values[at] <= most)) return "proposed bounds outside the domain";
  }
  return {};
}

// Each rank proposes bounds that split its own entries evenly. A dense all-reduce of n values gives
// the mean over the ranks that have entries. It is used for 64 calls (SchemeMemory). f64 keeps
// bounds exact to 2^53; above, all ranks still agree on the same ones.
std::vector<std::uint64_t> agreed_bounds(Communicator& ranks, const SparseVector& own) {
  const std::uint64_t units = own.domain().num_units;
  const int world = ranks.world();
  DenseVector sums = proposal(own, world);
  SchemeSettings settings;
  settings.wire = DType::kF64;
  halving_doubling(ranks, sums, settings, [units](const DenseVector& dense, UnitRange range) {
    return wrong_proposals(dense, range, units);
  });
  const auto values = sums.values<double>();
  const double proposers = values.back();
  std::vector<std::uint64_t> bounds = {0};
  for (int bound = 1; bound < world; ++bound) {
    const double mean = values[static_cast<std::size_t>(bound) - 1] / proposers;
    const std::uint64_t at = proposers < 1 ? even_range(units, bound, world).begin
                             : mean >= static_cast<double>(units)
                                 ? units
                                 : static_cast<std::uint64_t>(mean);
    bounds.push_back(std::max(bounds.back(), at));
  }
  bounds.push_back(units);
  return bounds;
}

const std::vector<std::uint64_t>& regions_of(Communicator& ranks, const SparseVector& own,
                                             SchemeMemory& memory) {
  const bool fits = memory.region_bounds.size() == static_cast<std::size_t>(ranks.world()) + 1 &&
                    memory.region_bounds.back() == own.domain().num_units;
  if (!fits || memory.num_calls % kCallsPerRegions == 0) {
    memory.num_calls = 0;
    memory.region_bounds = agreed_bounds(ranks, own);
  }
  ++memory.num_calls;
  return memory.region_bounds;
}

// The parts of the caller's region, by rank. At distance d a rank sends to rank + d and receives
// from rank - d; four distances are in flight at a time.
std::vector<SparseVector> rotated_exchange(Communicator& ranks, const Partition& regions,
                                           const SparseVector& own,
                                           const SchemeSettings& settings) {
  const int n = ranks.world();
  std::vector<SparseVector> parts = regions.split(own);
  const auto rank = static_cast<std::size_t>(ranks.rank());
  std::vector<SparseVector> mine(parts.size());
  mine[rank] = std::move(parts[rank]);
  const Domain domain = mine[rank].domain();
  for (int first = 1; first < n; first += kDistancesInFlight) {
    std::vector<Outgoing> sends;
    std::vector<int> sources;
    for (int distance = first; distance < std::min(n, first + kDistancesInFlight); ++distance) {
      const int to = (ranks.rank() + distance) % n;
      sends.push_back(
          {to, ranks.seal(kExchangePhase,
                          encoded_message(parts[static_cast<std::size_t>(to)], settings), to)});
      parts[static_cast<std::size_t>(to)] = {};
      sources.push_back((ranks.rank() + n - distance) % n);
    }
    Step step = ranks.start(kExchangePhase, std::move(sends), std::move(sources));
    while (auto message = step.next()) {
      mine[static_cast<std::size_t>(message->source())] =
          decode_from(ranks, kExchangePhase, *message, domain, own.type(), settings.reduction);
    }
    step.finish();
  }
  return mine;
}

// Running totals of the entries that ranks hold. [world + 1]
std::vector<std::uint64_t> exchange_sizes(Communicator& ranks, const SparseVector& sum,
                                          const Partition& regions) {
  ByteBuffer message = new_message();
  append_value(message, std::uint64_t{sum.num_entries()});
  std::vector<std::uint64_t> starts = {0};
  auto received = ranks.all_gather(kSizesPhase, std::move(message));
  for (auto& from : received) {
    std::uint64_t size = sum.num_entries();
    if (from) {
      if (from->body().size() != sizeof(size)) ranks.reject(kSizesPhase, from->source(), "no size");
      std::memcpy(&size, from->body().data(), sizeof(size));
      if (size > regions.num_local(from->source())) {
        ranks.reject(kSizesPhase, from->source(), "more entries than units");
      }
    }
    starts.push_back(starts.back() + size);
  }
  return starts;
}

// True when the largest sum is over four times the mean. Then entries move until all ranks have the
// same number.
bool out_of_balance(const std::vector<std::uint64_t>& starts) {
  std::uint64_t most = 0;
  for (std::size_t rank = 0; rank + 1 < starts.size(); ++rank) {
    most = std::max(most, starts[rank + 1] - starts[rank]);
  }
  const double mean = static_cast<double>(starts.back()) / static_cast<double>(starts.size() - 1);
  return static_cast<double>(most) > kTolerableImbalance * mean;
}

SparseVector slice(const SparseVector& vector, std::size_t begin, std::size_t end) {
  SparseVector out(vector.domain(), vector.type());
  out.resize(end - begin);
  visit_types(vector, [&](auto index, auto value) {
    using I = decltype(index);
    using T = decltype(value);
    const std::size_t width = vector.domain().width;
    std::copy_n(vector.indices<I>().begin() + static_cast<std::ptrdiff_t>(begin), end - begin,
                out.indices<I>().begin());
    std::copy_n(vector.values<T>().begin() + static_cast<std::ptrdiff_t>(begin * width),
                (end - begin) * width, out.values<T>().begin());
  });
  return out;
}

// The entries, numbered in the order of units, that `holder` has and that `receiver` gets when all
// entries are distributed evenly.
UnitRange common_entries(const std::vector<std::uint64_t>& starts, int holder, int receiver) {
  const auto at = static_cast<std::size_t>(holder);
  const UnitRange wants = even_range(starts.back(), receiver, static_cast<int>(starts.size()) - 1);
  const std::uint64_t begin = std::max(starts[at], wants.begin);
  return {begin, std::max(begin, std::min(starts[at + 1], wants.end))};
}

// The caller's share when all entries are distributed evenly. `sum` has global indices; codec auto,
// since a share is a narrow part of the domain.
SparseVector balance(Communicator& ranks, const SparseVector& sum,
                     const std::vector<std::uint64_t>& starts, const SchemeSettings& settings) {
  const int n = ranks.world();
  const int me = ranks.rank();
  const auto part_for = [&](int receiver) {
    const UnitRange entries = common_entries(starts, me, receiver);
    if (entries.size() == 0) return SparseVector(sum.domain(), sum.type());
    const std::uint64_t base = starts[static_cast<std::size_t>(me)];
    return slice(sum, entries.begin - base, entries.end - base);
  };
  std::vector<Outgoing> sends;
  std::vector<int> sources;
  for (int distance = 1; distance < n; ++distance) {
    const int to = (me + distance) % n;
    const int from = (me + n - distance) % n;
    if (common_entries(starts, me, to).size() > 0) {
      sends.push_back({to, ranks.seal(kBalancePhase, encoded_message(part_for(to), settings), to)});
    }
    if (common_entries(starts, from, me).size() > 0) sources.push_back(from);
  }
  std::vector<SparseVector> parts(static_cast<std::size_t>(n),
                                  SparseVector(sum.domain(), sum.type()));
  parts[static_cast<std::size_t>(me)] = part_for(me);
  if (!sends.empty() || !sources.empty()) {
    Step step = ranks.start(kBalancePhase, std::move(sends), std::move(sources));
    while (auto message = step.next()) {
      parts[static_cast<std::size_t>(message->source())] =
          decode_from(ranks, kBalancePhase, *message, sum.domain(), sum.type(), settings.reduction);
    }
    step.finish();
  }
  return merge(parts, settings.reduction);
}

SparseVector gather_shares(Communicator& ranks, SparseVector share,
                           const SchemeSettings& settings) {
  std::vector<SparseVector> shares(static_cast<std::size_t>(ranks.world()));
  const Domain domain = share.domain();
  const DType type = share.type();
  auto received = ranks.all_gather(kGatherPhase, encoded_message(share, settings));
  shares[static_cast<std::size_t>(ranks.rank())] = std::move(share);
  for (auto& from : received) {
    if (!from) continue;
    shares[static_cast<std::size_t>(from->source())] =
        decode_from(ranks, kGatherPhase, *from, domain, type, settings.reduction);
  }
  return merge(shares, settings.reduction);
}

// Bytes received per rank, COO: exchange (n - 1) / n nnz (4 + value bytes), gather (n - 1) / n
// |union| (4 + value bytes), sizes 8 (n - 1); and frames and headers.
class OkTopk final : public Scheme {
 public:
  std::string_view name() const override { return "ok_topk"; }
  bool uses_aggregator() const override { return true; }
  std::string_view description() const override {
    return "Ok-Topk: agreed regions, rotated exchange, balance, all-gather-v";
  }
  std::string refusal(const Problem&) const override { return {}; }

  // The regions' all-reduce is spread over the calls that use it; regions balance, so no entries
  // are expected to move.
  Cost cost(const Problem& problem, const LinkModel& link,
            const ComputeModel& compute) const override {
    const OwnerProblem owners{problem.world, 1, 1, union_of(problem.union_entries, 1),
                              union_of(problem.union_entries, problem.world)};
    CostSum sum(problem, link);
    if (problem.world > 1) add_regions(problem, link, sum);
    PhaseCost exchange = push_cost(problem, owners);
    exchange.steps = std::ceil((problem.world - 1.0) / kDistancesInFlight);
    sum.add(exchange);
    PhaseCost sizes;
    sizes.steps = problem.world > 1 ? 1 : 0;
    sizes.messages = problem.world - 1;
    sizes.sent = sizes.received = sizes.messages * (kFrameBytes + sizeof(std::uint64_t));
    sizes.total = problem.world * sizes.sent;
    sizes.total_messages = problem.world * sizes.messages;
    sizes.inside = peers_inside(problem);
    sum.add(sizes);
    sum.add(pull_cost(problem, owners));
    sum.compute(owner_compute_s(problem, owners, compute));
    return sum.result();
  }

  Reduced allreduce(Communicator& ranks, SparseVector own, const SchemeSettings& settings,
                    SchemeMemory& memory, Aggregator& aggregator) const override {
    if (ranks.world() == 1) {
      round_as_sent(own, settings);
      return own;
    }
    const Domain domain = own.domain();
    round_as_sent(own, settings);
    const Partition regions = Partition::bounded(regions_of(ranks, own, memory));
    const auto parts = rotated_exchange(ranks, regions, own, settings);
    SparseVector sum = aggregate_parts(parts, settings.reduction, aggregator, ranks.deadline());
    finish_sum(sum, settings, ranks.world());
    const auto starts = exchange_sizes(ranks, sum, regions);
    if (!out_of_balance(starts)) {
      return pull_from_owners(ranks, kGatherPhase, regions, std::move(sum), domain, settings);
    }
    std::vector<SparseVector> sums;
    for (int owner = 0; owner < ranks.world(); ++owner) {
      sums.emplace_back(Domain{regions.num_local(owner), domain.width}, sum.type());
    }
    sums[static_cast<std::size_t>(ranks.rank())] = std::move(sum);
    SchemeSettings any_codec = settings;
    any_codec.codec = Codec::kAuto;
    return gather_shares(
        ranks, balance(ranks, regions.join(std::move(sums), domain), starts, any_codec), any_codec);
  }

 private:
  static void add_regions(const Problem& problem, const LinkModel& link, CostSum& sum) {
    Problem bounds = problem;
    bounds.domain.width = 1;
    bounds.wire = DType::kF64;
    CostSum once(bounds, link);
    add_halving_doubling(bounds, problem.world, once);
    const Cost cost = once.result();
    sum.add(cost, 1.0 / kCallsPerRegions);
  }
};

}  // namespace

const Scheme& ok_topk() {
  static const OkTopk scheme;
  return scheme;
}

}  // namespace tandem::collectives

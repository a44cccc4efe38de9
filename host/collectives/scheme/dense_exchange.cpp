// SPDX-License-Identifier: Apache-2.0
//
// Values pass one visitor that pairs the accumulation type with the wire type.
#include "collectives/scheme/dense_exchange.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "collectives/scheme/folding.h"
#include "collectives/sparse/merge.h"

namespace tandem::collectives {
namespace {

template <typename T>
struct AsIs {
  using Wire = T;
  static T to_wire(T value) { return value; }
  static T from_wire(T value) { return value; }
};
struct AsF16 {
  using Wire = std::uint16_t;
  static Wire to_wire(float value) { return f32_to_f16(value); }
  static float from_wire(Wire value) { return f16_to_f32(value); }
};
struct AsBF16 {
  using Wire = std::uint16_t;
  static Wire to_wire(float value) { return f32_to_bf16(value); }
  static float from_wire(Wire value) { return bf16_to_f32(value); }
};

// Calls body(T{}, conversion) for the accumulation type and what is on the wire.
template <typename Body>
void visit_wire(DType type, DType wire, Body&& body) {
  if (wire == DType::kF16 || wire == DType::kBF16) {
    TANDEM_CHECK(type == DType::kF32);
    return wire == DType::kF16 ? body(float{}, AsF16{}) : body(float{}, AsBF16{});
  }
  TANDEM_CHECK(wire == type);
  visit_type(type, [&](auto zero) { body(zero, AsIs<decltype(zero)>{}); });
}

template <typename T>
std::span<T> values_of(DenseVector& dense, UnitRange range) {
  const std::size_t width = dense.domain().width;
  return dense.values<T>().subspan(range.begin * width, range.size() * width);
}

// Calls body(value in the tensor, value received) for each of `range`.
template <typename Body>
void for_received(MessageReader& message, UnitRange range, DType wire, DenseVector& dense,
                  Body&& body) {
  visit_wire(dense.type(), wire, [&](auto zero, auto conversion) {
    using Conversion = decltype(conversion);
    using Wire = typename Conversion::Wire;
    const auto values = values_of<decltype(zero)>(dense, range);
    const std::byte* from = message.bytes(values.size() * sizeof(Wire)).data();
    for (auto& value : values) {
      Wire received;
      std::memcpy(&received, from, sizeof(Wire));
      from += sizeof(Wire);
      body(value, Conversion::from_wire(received));
    }
  });
}

constexpr const char* kFoldPhase = "dense fold";
constexpr const char* kHalvingPhase = "recursive halving";
constexpr const char* kDoublingPhase = "recursive doubling";
constexpr const char* kUnfoldPhase = "dense unfold";

}  // namespace

UnitRange even_range(std::uint64_t num_units, int part, int num_parts) {
  const auto parts = static_cast<std::uint64_t>(num_parts);
  const auto at = [&](std::uint64_t bound) {
    return num_units / parts * bound + num_units % parts * bound / parts;
  };
  const auto first = static_cast<std::uint64_t>(part);
  return {at(first), at(first + 1)};
}

DenseVector to_dense(const SparseVector& vector, Reduction reduction) {
  DenseVector dense(vector.domain(), vector.type(), reduction);
  reduce_into(dense, vector, reduction);
  return dense;
}

void append_dense(const DenseVector& dense, UnitRange range, DType wire, ByteBuffer& message) {
  visit_wire(dense.type(), wire, [&](auto zero, auto conversion) {
    using T = decltype(zero);
    using Conversion = decltype(conversion);
    using Wire = typename Conversion::Wire;
    const auto values = values_of<T>(const_cast<DenseVector&>(dense), range);
    const std::size_t at = message.size();
    message.resize(at + values.size() * sizeof(Wire));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Wire value = Conversion::to_wire(values[i]);
      std::memcpy(message.data() + at + i * sizeof(Wire), &value, sizeof(Wire));
    }
  });
}

ByteBuffer dense_message(const DenseVector& dense, UnitRange range, DType wire) {
  ByteBuffer message = new_message(range.size() * dense.domain().width * dtype_block_bytes(wire));
  append_dense(dense, range, wire, message);
  return message;
}

void store_dense(MessageReader& message, UnitRange range, DType wire, DenseVector& dense) {
  for_received(message, range, wire, dense, [](auto& value, auto received) { value = received; });
}

void reduce_dense(MessageReader& message, UnitRange range, const SchemeSettings& settings,
                  DenseVector& dense) {
  for_received(message, range, settings.wire, dense,
               [reduction = settings.reduction](auto& value, auto received) {
                 value = reduce_values(reduction, value, received);
               });
}

void store_dense_message(MessageReader message, UnitRange range, DType wire, DenseVector& dense) {
  store_dense(message, range, wire, dense);
  message.expect_end();
}

void reduce_dense_message(MessageReader message, UnitRange range, const SchemeSettings& settings,
                          DenseVector& dense) {
  reduce_dense(message, range, settings, dense);
  message.expect_end();
}

void reduce_into(DenseVector& into, const DenseVector& from, Reduction reduction) {
  TANDEM_CHECK(into.domain() == from.domain() && into.type() == from.type());
  visit_type(into.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto sums = into.values<T>();
    const auto values = from.values<T>();
    for (std::size_t at = 0; at < sums.size(); ++at) {
      sums[at] = reduce_values(reduction, sums[at], values[at]);
    }
  });
}

void round_to_wire(DenseVector& dense, UnitRange range, DType wire) {
  if (wire == dense.type()) return;
  visit_wire(dense.type(), wire, [&](auto zero, auto conversion) {
    using Conversion = decltype(conversion);
    for (auto& value : values_of<decltype(zero)>(dense, range)) {
      value = Conversion::from_wire(Conversion::to_wire(value));
    }
  });
}

namespace {

// The halves of an active rank's range, round by round, and then back.
void halve_and_double(Communicator& ranks, const Folding& folding, DenseVector& dense,
                      const SchemeSettings& settings) {
  const int place = folding.place(ranks.rank());
  std::vector<UnitRange> kept = {{0, dense.domain().num_units}};  // by round
  const auto split = [](UnitRange range, bool upper) {
    const std::uint64_t middle = range.begin + range.size() / 2;
    return upper ? UnitRange{middle, range.end} : UnitRange{range.begin, middle};
  };
  for (int distance = folding.active() / 2; distance >= 1; distance /= 2) {
    const int peer = folding.rank_at(place ^ distance);
    const bool upper = (place & distance) != 0;
    const UnitRange keep = split(kept.back(), upper);
    const Message received = ranks.send_receive(
        kHalvingPhase, peer, dense_message(dense, split(kept.back(), !upper), settings.wire), peer);
    reduce_dense_message({ranks, kHalvingPhase, received}, keep, settings, dense);
    kept.push_back(keep);
  }
  round_to_wire(dense, kept.back(), settings.wire);
  for (int distance = 1; distance < folding.active(); distance *= 2) {
    const int peer = folding.rank_at(place ^ distance);
    const UnitRange own = kept.back();
    kept.pop_back();
    const Message received =
        ranks.send_receive(kDoublingPhase, peer, dense_message(dense, own, settings.wire), peer);
    store_dense_message({ranks, kDoublingPhase, received},
                        split(kept.back(), (place & distance) == 0), settings.wire, dense);
  }
}

}  // namespace

void halving_doubling(Communicator& ranks, DenseVector& dense, const SchemeSettings& settings) {
  const Folding folding(ranks.world());
  const UnitRange all{0, dense.domain().num_units};
  if (folding.hands_over(ranks.rank())) {
    ranks.send(kFoldPhase, ranks.rank() - 1, dense_message(dense, all, settings.wire));
    const Message result = ranks.receive(kUnfoldPhase, ranks.rank() - 1);
    store_dense_message({ranks, kUnfoldPhase, result}, all, settings.wire, dense);
    return;
  }
  const bool takes_over = folding.takes_over(ranks.rank());
  if (takes_over) {
    const Message received = ranks.receive(kFoldPhase, ranks.rank() + 1);
    reduce_dense_message({ranks, kFoldPhase, received}, all, settings, dense);
  }
  halve_and_double(ranks, folding, dense, settings);
  if (takes_over) {
    ranks.send(kUnfoldPhase, ranks.rank() + 1, dense_message(dense, all, settings.wire));
  }
}

void add_halving_doubling(const Problem& problem, double units, CostSum& sum) {
  const Folding folding(problem.world);
  for (int distance = folding.active() / 2; distance >= 1; distance /= 2) {
    PhaseCost both;  // of the halving and of the doubling, the same bytes
    both.steps = both.messages = 2;
    both.sent = both.received =
        2 * dense_message_bytes(problem, units * distance / folding.active());
    both.total = folding.active() * both.sent;
    both.total_messages = folding.active() * both.messages;
    const double reach = static_cast<double>(distance) * problem.world / folding.active();
    both.inside = reach < problem.ranks_per_node || one_node(problem) ? 1 : 0;
    sum.add(both);
  }
  if (folding.extra() == 0) return;
  PhaseCost fold;
  fold.steps = 2;
  fold.messages = 1;
  fold.sent = dense_message_bytes(problem, units);
  fold.received = 2 * fold.sent;  // one after the other: it takes both times
  fold.total = folding.extra() * fold.received;
  fold.total_messages = 2 * folding.extra();
  fold.inside = problem.ranks_per_node > 1 ? 1 : 0;
  sum.add(fold);
}

std::string dense_refusal(Domain domain) {
  if (!domain.wide()) return {};
  return "it holds all " + std::to_string(domain.num_units) +
         " units densely, which domains beyond 2^32 units rule out; use a sparse scheme";
}

}  // namespace tandem::collectives

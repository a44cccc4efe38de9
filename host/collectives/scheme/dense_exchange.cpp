// SPDX-License-Identifier: Apache-2.0
//
// Values pass one visitor that pairs the accumulation type with the wire type.
#include "collectives/scheme/dense_exchange.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "collectives/scheme/folding.h"
#include "tensor/sparse/merge.h"

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

void finish_sum(DenseVector& dense, UnitRange range, const SchemeSettings& settings, int world) {
  visit_wire(dense.type(), settings.wire, [&](auto zero, auto conversion) {
    using T = decltype(zero);
    using Conversion = decltype(conversion);
    const T divisor = settings.reduction == Reduction::kMean ? static_cast<T>(world) : T{1};
    for (T& value : values_of<T>(dense, range)) {
      value = Conversion::from_wire(Conversion::to_wire(value / divisor));
    }
  });
}

namespace {

class HalvingDoubling {
 public:
  HalvingDoubling(Communicator& ranks, DenseVector& dense, const SchemeSettings& settings,
                  const DenseCheck& check)
      : ranks_(ranks),
        dense_(dense),
        settings_(settings),
        partials_(of_partials(settings)),
        check_(check),
        folding_(ranks.world()),
        all_{0, dense.domain().num_units} {}

  void run();

 private:
  static UnitRange half_of(UnitRange range, bool upper) {
    const std::uint64_t middle = range.begin + range.size() / 2;
    return upper ? UnitRange{middle, range.end} : UnitRange{range.begin, middle};
  }

  // Returns the ranges that the caller keeps, one per round.
  std::vector<UnitRange> halve();
  void double_back(std::vector<UnitRange> kept);
  void reduce(const char* phase, const Message& message, UnitRange range,
              const SchemeSettings& settings);
  void store(const char* phase, const Message& message, UnitRange range);
  void check(const MessageReader& reader, UnitRange range) const;

  Communicator& ranks_;
  DenseVector& dense_;
  const SchemeSettings& settings_;
  SchemeSettings partials_;
  const DenseCheck& check_;
  Folding folding_;
  UnitRange all_;
};

void HalvingDoubling::check(const MessageReader& reader, UnitRange range) const {
  if (!check_) return;
  if (const std::string wrong = check_(dense_, range); !wrong.empty()) reader.reject(wrong);
}

void HalvingDoubling::reduce(const char* phase, const Message& message, UnitRange range,
                             const SchemeSettings& settings) {
  const MessageReader reader(ranks_, phase, message);
  reduce_dense_message(reader, range, settings, dense_);
  check(reader, range);
}

void HalvingDoubling::store(const char* phase, const Message& message, UnitRange range) {
  const MessageReader reader(ranks_, phase, message);
  store_dense_message(reader, range, settings_.wire, dense_);
  check(reader, range);
}

std::vector<UnitRange> HalvingDoubling::halve() {
  const int place = folding_.place(ranks_.rank());
  std::vector<UnitRange> kept = {all_};
  for (int distance = folding_.active() / 2; distance >= 1; distance /= 2) {
    const int peer = folding_.rank_at(place ^ distance);
    // In the first round a rank sends its own values, unless it has taken over those of another.
    const auto of_round = [&](int rank) -> const SchemeSettings& {
      return kept.size() == 1 && !folding_.takes_over(rank) ? settings_ : partials_;
    };
    const bool upper = (place & distance) != 0;
    const UnitRange keep = half_of(kept.back(), upper);
    const Message received = ranks_.send_receive(
        kHalvingPhase, peer,
        dense_message(dense_, half_of(kept.back(), !upper), of_round(ranks_.rank()).wire), peer);
    reduce(kHalvingPhase, received, keep, of_round(peer));
    kept.push_back(keep);
  }
  return kept;
}

void HalvingDoubling::double_back(std::vector<UnitRange> kept) {
  const int place = folding_.place(ranks_.rank());
  for (int distance = 1; distance < folding_.active(); distance *= 2) {
    const int peer = folding_.rank_at(place ^ distance);
    const UnitRange own = kept.back();
    kept.pop_back();
    const Message received =
        ranks_.send_receive(kDoublingPhase, peer, dense_message(dense_, own, settings_.wire), peer);
    store(kDoublingPhase, received, half_of(kept.back(), (place & distance) == 0));
  }
}

void HalvingDoubling::run() {
  if (folding_.hands_over(ranks_.rank())) {
    ranks_.send(kFoldPhase, ranks_.rank() - 1, dense_message(dense_, all_, settings_.wire));
    store(kUnfoldPhase, ranks_.receive(kUnfoldPhase, ranks_.rank() - 1), all_);
    return;
  }
  const bool takes_over = folding_.takes_over(ranks_.rank());
  if (takes_over) {
    reduce(kFoldPhase, ranks_.receive(kFoldPhase, ranks_.rank() + 1), all_, settings_);
  }
  std::vector<UnitRange> kept = halve();
  finish_sum(dense_, kept.back(), settings_, ranks_.world());
  double_back(std::move(kept));
  if (takes_over) {
    ranks_.send(kUnfoldPhase, ranks_.rank() + 1, dense_message(dense_, all_, settings_.wire));
  }
}

}  // namespace

void halving_doubling(Communicator& ranks, DenseVector& dense, const SchemeSettings& settings,
                      const DenseCheck& check) {
  HalvingDoubling(ranks, dense, settings, check).run();
}

void add_halving_doubling(const Problem& problem, double units, CostSum& sum) {
  const Folding folding(problem.world);
  for (int distance = folding.active() / 2; distance >= 1; distance /= 2) {
    // Each half travels once as a partial sum and once as a finished sum. In the first round the
    // partial sums are ranks' own values, except for folded pairs.
    const double half = units * distance / folding.active();
    const double finished = dense_message_bytes(problem, half);
    const double partial = dense_message_bytes(of_partials(problem), half);
    const bool first = distance == folding.active() / 2;
    const int with_partials = first ? folding.extra() : folding.active();
    PhaseCost both;  // the halving and the doubling
    both.steps = both.messages = 2;
    both.sent = both.received = finished + (with_partials > 0 ? partial : finished);
    both.total = (2 * folding.active() - with_partials) * finished + with_partials * partial;
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
  fold.received = 2 * fold.sent;  // the two directions follow each other, so their times add up
  fold.total = folding.extra() * fold.received;
  fold.total_messages = 2 * folding.extra();
  fold.inside = problem.ranks_per_node > 1 ? 1 : 0;
  sum.add(fold);
}

std::string dense_refusal(const Problem& problem) {
  if (problem.domain.wide()) {
    return "it holds all " + std::to_string(problem.domain.num_units) +
           " units densely, which domains beyond 2^32 units rule out; use a sparse scheme";
  }
  return max_refusal(problem.reduction, "its sums");
}

std::string max_refusal(Reduction reduction, const std::string& what) {
  if (reduction != Reduction::kMax) return {};
  return what +
         " are dense, and for max a dense form cannot tell an absent unit from -infinity (0 " +
         "of u64); use a sparse scheme";
}

}  // namespace tandem::collectives

// SPDX-License-Identifier: Apache-2.0
//
// A sparsifier gives means, so they are multiplied by the number of replicas.
#include "training/pipeline/replica_mean.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "collectives/collective.h"
#include "common/error.h"

namespace tandem::training {
namespace {

using collectives::SparsifierState;
using transport::append_value;
using transport::ByteBuffer;

template <typename Value>
void append_list(ByteBuffer& to, const Value* values, std::size_t count) {
  append_value(to, static_cast<std::uint64_t>(count));
  const auto at = to.size();
  to.resize(at + count * sizeof(Value));
  if (count > 0) std::memcpy(to.data() + at, values, count * sizeof(Value));
}

// Reads what append_value() and append_list() have written.
class StateBytes {
 public:
  explicit StateBytes(std::span<const std::byte>& bytes) : bytes_(bytes) {}

  std::uint64_t number() {
    std::uint64_t number = 0;
    copy(&number, sizeof(number));
    return number;
  }
  template <typename List>
  List list() {
    const std::uint64_t count = number();
    if (count > bytes_.size() / sizeof(typename List::value_type)) refuse();
    List values;
    values.resize(count);
    copy(values.data(), count * sizeof(typename List::value_type));
    return values;
  }

 private:
  [[noreturn]] static void refuse() {
    throw Error("train", "a layer came with a residual that is cut off");
  }
  void copy(void* to, std::size_t size) {
    if (size > bytes_.size()) refuse();
    if (size > 0) std::memcpy(to, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
  }

  std::span<const std::byte>& bytes_;
};

collectives::SparsifierOptions sparsifier_options(const ReduceOptions& options) {
  collectives::SparsifierOptions result;
  result.density = options.choice.density;
  result.seed = options.seed;
  result.reduce.scheme = options.scheme;
  result.reduce.timeout = options.timeout;
  return result;
}

}  // namespace

ReplicaMean::ReplicaMean(ParameterSet& parameters, std::size_t own, const ReduceOptions& options)
    : parameters_(parameters), own_(own), options_(options), sparsifiers_(own) {
  for (std::size_t at = 0; at < own; ++at) {
    if (!is_sparsified(options, parameters.spec(at))) continue;
    sparsifiers_[at] = collectives::make_sparsifier(
        options.choice.sparsifier, parameters.values(at).size(), sparsifier_options(options));
  }
}

ReplicaMean::~ReplicaMean() = default;

void ReplicaMean::sum(collectives::Group& peers, bool dense) {
  std::vector<float> together;
  for (std::size_t at = 0; at < own_; ++at) {
    const auto gradient = parameters_.gradient(at);
    if (dense || !sparsifiers_[at]) {
      together.insert(together.end(), gradient.begin(), gradient.end());
      continue;
    }
    const collectives::StepResult found = sparsifiers_[at]->step(peers, gradient);
    std::ranges::fill(gradient, 0.0f);
    const auto places = found.mean.indices_as<std::uint32_t>();
    const auto values = found.mean.values_as<float>();
    const auto replicas = static_cast<float>(peers.world());
    for (std::size_t entry = 0; entry < places.size(); ++entry) {
      gradient[places[entry]] = values[entry] * replicas;
    }
  }
  if (together.empty()) return;
  collectives::ReduceOptions sum;
  sum.timeout = options_.timeout;
  collectives::allreduce(peers, collectives::DenseView::of(together), sum);
  const float* from = together.data();
  for (std::size_t at = 0; at < own_; ++at) {
    if (!dense && sparsifiers_[at]) continue;
    const auto gradient = parameters_.gradient(at);
    std::copy_n(from, gradient.size(), gradient.begin());
    from += gradient.size();
  }
}

void ReplicaMean::append_to(ByteBuffer& bytes) const {
  for (const auto& sparsifier : sparsifiers_) {
    if (!sparsifier) continue;
    const SparsifierState state = sparsifier->state();
    append_value(bytes, state.step);
    append_value(bytes, static_cast<std::uint64_t>(state.numbers.size()));
    for (const auto& [name, numbers] : state.numbers) {
      append_list(bytes, name.data(), name.size());
      append_list(bytes, numbers.data(), numbers.size());
    }
    append_value(bytes, static_cast<std::uint64_t>(state.tensors.size()));
    for (const auto& [name, values] : state.tensors) {
      append_list(bytes, name.data(), name.size());
      append_list(bytes, values.data(), values.size());
    }
  }
}

void ReplicaMean::restore(std::span<const std::byte>& bytes) {
  StateBytes reader(bytes);
  for (const auto& sparsifier : sparsifiers_) {
    if (!sparsifier) continue;
    SparsifierState state;
    state.name = sparsifier->name();
    state.num_values = sparsifier->num_values();
    state.step = reader.number();
    for (std::uint64_t left = reader.number(); left > 0; --left) {
      const auto name = reader.list<std::string>();
      state.numbers[name] = reader.list<std::vector<double>>();
    }
    for (std::uint64_t left = reader.number(); left > 0; --left) {
      const auto name = reader.list<std::string>();
      state.tensors[name] = reader.list<RawVector<float>>();
    }
    sparsifier->restore(state);
  }
}

}  // namespace tandem::training

// SPDX-License-Identifier: Apache-2.0
//
// The residual in host memory: vectorised, threaded. Sums are taken per block of 4,096 values and
// added in order.
#include <algorithm>
#include <cmath>
#include <list>

#include "collectives/sparsifier/chunk_entries.h"
#include "collectives/sparsifier/residual_store.h"

namespace tandem::collectives {
namespace {

constexpr std::uint64_t kMeasuredBlock = 4096;

// A gradient in host memory, as f32.
class HostPieces {
 public:
  HostPieces(GradientPieces pieces, std::optional<float> clip_at) {
    for (const device::GradientView& view : pieces) {
      require_host(view.placement, "sparsifier", "the gradients of a sparsifier in host memory");
      if (view.type != DType::kF32) {
        throw Error("sparsifier", "gradients in host memory are f32, this one is " +
                                      std::string(dtype_name(view.type)) + "; widen it");
      }
      std::span<const float> values(reinterpret_cast<const float*>(view.values.data()),
                                    view.values.size() / sizeof(float));
      if (clip_at) values = clipped_.emplace_back(clipped(values, *clip_at));
      pieces_.push_back({size_, values});
      size_ += values.size();
    }
  }

  // body(begin of the values in the gradient, values)
  template <typename Body>
  void each(Body&& body) const {
    for (const Piece& piece : pieces_) body(piece.begin, piece.values);
  }

  // The same of [begin, end).
  template <typename Body>
  void each_in(std::uint64_t begin, std::uint64_t end, Body&& body) const {
    for (const Piece& piece : pieces_) {
      const std::uint64_t first = std::max(begin, piece.begin);
      const std::uint64_t last = std::min(end, piece.begin + piece.values.size());
      if (first < last) body(first, piece.values.subspan(first - piece.begin, last - first));
    }
  }

 private:
  struct Piece {
    std::uint64_t begin;
    std::span<const float> values;
  };

  static std::vector<float> clipped(std::span<const float> values, float most) {
    std::vector<float> copy(values.begin(), values.end());
    for (float& value : copy) {
      if (std::isnan(value)) value = 0;
      value = std::clamp(value, -most, most);
    }
    return copy;
  }

  std::vector<Piece> pieces_;
  std::list<std::vector<float>> clipped_;
  std::uint64_t size_ = 0;
};

std::optional<std::uint64_t> non_finite_in(std::span<const float> values, ThreadPool* threads) {
  std::vector<std::uint64_t> places(num_parts_of(values.size()), values.size());
  for_each_part(0, values.size(), threads,
                [&](std::uint64_t begin, std::uint64_t end, std::size_t part) {
                  const auto at = find_non_finite(values.data() + begin, end - begin);
                  if (at < end - begin) places[part] = begin + at;
                });
  const auto first = std::min_element(places.begin(), places.end());
  if (first == places.end() || *first == values.size()) return std::nullopt;
  return *first;
}

class HostResidual final : public ResidualStore {
 public:
  HostResidual(std::uint64_t num_values, bool velocity, ThreadPool* threads)
      : threads_(threads),
        residual_(num_values, 0.0f),
        velocity_(velocity ? num_values : 0, 0.0f) {}

  std::uint64_t size() const override { return residual_.size(); }

  std::optional<std::uint64_t> first_non_finite(GradientPieces gradient) override {
    std::optional<std::uint64_t> first;
    HostPieces(gradient, {}).each([&](std::uint64_t begin, std::span<const float> values) {
      if (first) return;
      if (const auto at = non_finite_in(values, threads_)) first = begin + *at;
    });
    return first;
  }

  GradientSize size_of(GradientPieces gradient) override {
    GradientSize size;
    HostPieces(gradient, {}).each([&](std::uint64_t, std::span<const float> values) {
      for (const float value : values) {
        if (!std::isfinite(value)) continue;
        size.squares += static_cast<double>(value) * value;
        size.largest = std::max(size.largest, std::fabs(value));
      }
    });
    return size;
  }

  Moments add(GradientPieces gradient, const device::AccumulateStep& step,
              Measured measured) override {
    const HostPieces pieces(gradient, step.clip_at);
    decay(step.decay);
    const auto logarithms = measured == Measured::kLogarithms ? Logarithms::kYes : Logarithms::kNo;
    std::vector<Moments> parts(num_parts_of(size()));
    for_each_part(0, size(), threads_,
                  [&](std::uint64_t begin, std::uint64_t end, std::size_t part) {
                    if (measured == Measured::kNothing) return add_range(pieces, step, begin, end);
                    for (std::uint64_t first = begin; first < end; first += kMeasuredBlock) {
                      const std::uint64_t count = std::min(kMeasuredBlock, end - first);
                      add_range(pieces, step, first, first + count);
                      parts[part].add(measure_moments(&residual_[first], count, logarithms));
                    }
                  });
    Moments total;
    for (const Moments& part : parts) total.add(part);
    return total;
  }

  std::vector<double> add_fragments(GradientPieces gradient, const device::AccumulateStep& step,
                                    std::span<const Fragment> fragments) override {
    const HostPieces pieces(gradient, step.clip_at);
    decay(step.decay);
    std::vector<double> squares(fragments.size());
    const auto add_fragment = [&](std::size_t at) {
      for (std::uint64_t first = fragments[at].begin; first < fragments[at].end;
           first += kMeasuredBlock) {
        const std::uint64_t count = std::min(kMeasuredBlock, fragments[at].end - first);
        add_range(pieces, step, first, first + count);
        squares[at] += measure_moments(&residual_[first], count, Logarithms::kNo).squares;
      }
    };
    if (threads_ != nullptr && fragments.size() > 1) {
      threads_->run(fragments.size(), ThreadPool::Body(add_fragment));
    } else {
      for (std::size_t at = 0; at < fragments.size(); ++at) add_fragment(at);
    }
    return squares;
  }

  std::unique_ptr<Candidates> candidates(std::uint64_t begin, std::uint64_t end) override {
    return std::make_unique<HostCandidates>(residual_, begin, end, threads_, &values_read_);
  }

  Indices find_at_least(float threshold) override {
    values_read_ += size();
    return tandem::collectives::find_at_least(residual_, 0, size(), threshold, threads_);
  }

  std::vector<float> at(std::span<const std::uint32_t> places) override {
    values_read_ += places.size();
    std::vector<float> found(places.size());
    for (std::size_t i = 0; i < places.size(); ++i) found[i] = residual_[places[i]];
    return found;
  }

  PackedBytes pack_chunks(std::uint32_t count, std::uint32_t last_count) override {
    values_read_ += size();
    return pack_largest_of_chunks(residual_, count, last_count, threads_);
  }

  double sum_of_squares() override {
    double squares = 0;
    for (const float value : residual_) squares += static_cast<double>(value) * value;
    return squares;
  }

  void clear_at(const Indices& places) override {
    for (const std::uint32_t place : places) residual_[place] = 0;
    if (velocity_.empty()) return;
    for (const std::uint32_t place : places) velocity_[place] = 0;
  }

  void add_at(const Indices& places, std::span<const float> values) override {
    for (std::size_t i = 0; i < places.size(); ++i) residual_[places[i]] += values[i];
  }

  void save(SparsifierState& state) override {
    state.tensors["residual"] = residual_;
    if (!velocity_.empty()) state.tensors["velocity"] = velocity_;
  }

  void load(const SparsifierState& state) override {
    RawVector<float> residual = tensor_of(state, "residual");
    if (!velocity_.empty()) velocity_ = tensor_of(state, "velocity");
    residual_ = std::move(residual);
  }

 private:
  void decay(float factor) {
    if (factor == 1) return;
    for (float& value : residual_) value *= factor;
  }

  void add_range(const HostPieces& pieces, const device::AccumulateStep& step, std::uint64_t begin,
                 std::uint64_t end) {
    pieces.each_in(begin, end, [&](std::uint64_t first, std::span<const float> values) {
      if (velocity_.empty()) {
        add_gradient(&residual_[first], values.data(), values.size());
      } else {
        add_velocity({step.momentum, step.scale}, &velocity_[first], &residual_[first],
                     values.data(), values.size());
      }
    });
  }

  ThreadPool* threads_;
  RawVector<float> residual_, velocity_;
};

}  // namespace

std::unique_ptr<ResidualStore> make_host_residual(std::uint64_t num_values, bool velocity,
                                                  ThreadPool* threads) {
  return std::make_unique<HostResidual>(num_values, velocity, threads);
}

const RawVector<float>& tensor_of(const SparsifierState& state, const std::string& field) {
  const auto found = state.tensors.find(field);
  if (found == state.tensors.end() || found->second.size() != state.num_values) {
    throw Error("sparsifier", "the state of " + state.name + " must have a tensor '" + field +
                                  "' of " + std::to_string(state.num_values) + " values");
  }
  return found->second;
}

}  // namespace tandem::collectives

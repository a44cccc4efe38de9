// SPDX-License-Identifier: Apache-2.0
//
// Chunk-wise top-k: the largest entries of every 4,096 values, with 12-bit places and 2-bit values,
// exchanged once in local_steps gradients.
//
// At the first gradient after an exchange the residual is multiplied by `decay`. Sends: one packed
// message by all-gather, 14 bits per entry and 64 bits per chunk; every rank decodes all messages
// and adds them in rank order. Clears own entries, except their rounding errors of 2 bits. Density
// 1 exchanges f32. Cost: one read; a partial sort of each chunk. Source: SparseLoCo, arXiv
// 2508.15706.
#include <algorithm>

#include "collectives/sparsifier/algorithms.h"
#include "collectives/sparsifier/exchange.h"
#include "tensor/sparse/packed_chunk.h"

namespace tandem::collectives {
namespace {

constexpr std::uint64_t kChunkValues = sparse::kPackedChunkValues;

class ChunkTopK final : public SparsifierAlgorithm {
 public:
  using SparsifierAlgorithm::SparsifierAlgorithm;

  ClearingRule clearing_rule() const override { return ClearingRule::kOwn; }

  bool exchanges(std::uint64_t step) const override {
    return (step + 1) % options_.local_steps == 0;
  }

  void accumulate(GradientPieces gradient, device::AccumulateStep add, std::uint64_t step,
                  int) override {
    if (step % options_.local_steps == 0) add.decay = static_cast<float>(options_.decay);
    store_.add(gradient, add, Measured::kNothing);
  }

  void reduce(StepContext& context) override {
    const PackedBytes own = timed_selection(context, [&] {
      return store_.pack_chunks(static_cast<std::uint32_t>(entries(kChunkValues)),
                                static_cast<std::uint32_t>(entries(chunk_size(num_chunks() - 1))));
    });
    const auto messages = allgatherv(context.group, own, options_.reduce);
    add_up(context, messages);
  }

 private:
  std::uint64_t num_chunks() const { return (num_values_ + kChunkValues - 1) / kChunkValues; }
  std::uint64_t chunk_size(std::uint64_t chunk) const {
    return std::min(kChunkValues, num_values_ - chunk * kChunkValues);
  }
  std::size_t entries(std::uint64_t size) const {
    return static_cast<std::size_t>(
        std::max(1.0, std::round(options_.density * static_cast<double>(size))));
  }
  // All chunks but the last are equal.
  std::size_t offset(std::uint64_t chunk) const {
    return static_cast<std::size_t>(chunk) * sparse::packed_chunk_bytes(entries(kChunkValues));
  }
  std::size_t message_bytes() const {
    const std::uint64_t last = num_chunks() - 1;
    return offset(last) + sparse::packed_chunk_bytes(entries(chunk_size(last)));
  }

  void add_up(StepContext& context, const std::vector<PackedBytes>& messages) {
    const auto n = static_cast<float>(messages.size());
    const auto rank = static_cast<std::size_t>(context.group.rank());
    Indices indices;
    std::vector<float> sums;
    Indices own;
    RawVector<float> own_sent;  // with the sign turned
    std::vector<std::uint16_t> places;
    std::vector<float> values;
    for (std::uint64_t chunk = 0; chunk < num_chunks(); ++chunk) {
      float sum[kChunkValues] = {};
      bool present[kChunkValues] = {};
      places.resize(entries(chunk_size(chunk)));
      values.resize(places.size());
      for (std::size_t from = 0; from < messages.size(); ++from) {
        TANDEM_CHECK_OP(messages[from].size(), ==, message_bytes());
        sparse::unpack_chunk(
            {messages[from].data() + offset(chunk), sparse::packed_chunk_bytes(places.size())},
            places, values);
        for (std::size_t i = 0; i < places.size(); ++i) {
          sum[places[i]] += values[i];
          present[places[i]] = true;
          if (from != rank) continue;
          own.push_back(static_cast<std::uint32_t>(chunk * kChunkValues + places[i]));
          own_sent.push_back(-values[i]);
        }
      }
      for (std::uint64_t i = 0; i < chunk_size(chunk); ++i) {
        if (!present[i]) continue;
        indices.push_back(static_cast<std::uint32_t>(chunk * kChunkValues + i));
        sums.push_back(sum[i] / n);
      }
    }
    store_.add_at(own, own_sent);
    finish(context, indices, sums);
  }

  void finish(StepContext& context, const Indices& indices, const std::vector<float>& sums) {
    std::uint64_t own = 0;
    for (std::uint64_t chunk = 0; chunk < num_chunks(); ++chunk) own += entries(chunk_size(chunk));
    context.result.mean = make_sparse(num_values_, indices, sums);
    count_selected(
        context, std::vector<std::uint64_t>(static_cast<std::size_t>(context.group.world()), own));
    context.result.sent = static_cast<double>(own);
    context.result.build_up = static_cast<double>(indices.size()) / static_cast<double>(own);
  }
};

}  // namespace

std::unique_ptr<SparsifierAlgorithm> make_chunk_topk(ResidualStore& store,
                                                     const SparsifierOptions& options) {
  return std::make_unique<ChunkTopK>(store, options);
}

}  // namespace tandem::collectives

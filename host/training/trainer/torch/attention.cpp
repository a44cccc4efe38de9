// SPDX-License-Identifier: Apache-2.0
//
// A head's rows are `heads * head_dim` apart in memory, so products use them without a copy.
#include "training/trainer/torch/attention.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <limits>

#include "training/trainer/torch/gemm.h"

namespace tandem::training::torch_passes {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kBlock = 64;  // queries

struct Sizes {
  std::int64_t rows, tokens, keys, q_heads, kv_heads, head_dim;
  float scale;
  const std::int64_t* positions;  // [tokens] of the queries among the keys; null: 0, 1, ...

  std::int64_t position(std::int64_t query) const {
    return positions == nullptr ? query : positions[query];
  }

  std::int64_t q_stride() const { return q_heads * head_dim; }
  std::int64_t kv_stride() const { return kv_heads * head_dim; }
  std::int64_t q_at(std::int64_t row, std::int64_t head, std::int64_t token) const {
    return ((row * tokens + token) * q_heads + head) * head_dim;
  }
  std::int64_t kv_at(std::int64_t row, std::int64_t head) const {
    return (row * keys * kv_heads + head) * head_dim;
  }
};

Sizes sizes_of(const Tensor& q, const Tensor& k, const Tensor& positions, double scale) {
  return {q.size(0),
          q.size(1),
          k.size(1),
          q.size(2),
          k.size(2),
          q.size(3),
          static_cast<float>(scale),
          positions.numel() > 0 ? positions.data_ptr<std::int64_t>() : nullptr};
}

// A block of queries of one head, [begin, end), which read keys before `keys`.
struct Block {
  std::int64_t row, q_head, kv_head, begin, end, keys;

  std::int64_t count() const { return end - begin; }
};

template <typename Visit>
void for_each_block(const Sizes& sizes, const Visit& visit) {
  const std::int64_t group = sizes.q_heads / sizes.kv_heads;
  at::parallel_for(0, sizes.rows * sizes.kv_heads, 1, [&](std::int64_t first, std::int64_t last) {
    const at::NoGradGuard no_gradients;
    for (std::int64_t task = first; task < last; ++task) {
      const std::int64_t row = task / sizes.kv_heads, kv_head = task % sizes.kv_heads;
      for (std::int64_t q_head = kv_head * group; q_head < (kv_head + 1) * group; ++q_head) {
        for (std::int64_t begin = 0; begin < sizes.tokens; begin += kBlock) {
          const std::int64_t end = std::min(begin + kBlock, sizes.tokens);
          visit(Block{row, q_head, kv_head, begin, end, sizes.position(end - 1) + 1});
        }
      }
    }
  });
}

// [block's queries, its keys]: the probabilities.
Tensor probabilities(const Sizes& sizes, const Block& block, const float* q, const float* k) {
  Tensor scores = torch::empty({block.count(), block.keys});
  auto* values = scores.data_ptr<float>();
  gemm({block.count(), block.keys, sizes.head_dim, sizes.scale},
       {q + sizes.q_at(block.row, block.q_head, block.begin), sizes.q_stride()},
       {k + sizes.kv_at(block.row, block.kv_head), sizes.kv_stride(), true}, values, block.keys);
  for (std::int64_t query = 0; query < block.count(); ++query) {
    std::fill(values + query * block.keys + sizes.position(block.begin + query) + 1,
              values + (query + 1) * block.keys, -std::numeric_limits<float>::infinity());
  }
  return torch::softmax(scores, -1);
}

struct Attention : torch::autograd::Function<Attention> {
  static Tensor forward(AutogradContext* context, const Tensor& q, const Tensor& k, const Tensor& v,
                        const Tensor& positions, double scale) {
    const Sizes sizes = sizes_of(q, k, positions, scale);
    Tensor out = torch::empty_like(q);
    const auto *qs = q.data_ptr<float>(), *ks = k.data_ptr<float>(), *vs = v.data_ptr<float>();
    auto* outs = out.data_ptr<float>();
    for_each_block(sizes, [&](const Block& block) {
      const Tensor p = probabilities(sizes, block, qs, ks);
      gemm({block.count(), sizes.head_dim, block.keys}, {p.data_ptr<float>(), block.keys},
           {vs + sizes.kv_at(block.row, block.kv_head), sizes.kv_stride()},
           outs + sizes.q_at(block.row, block.q_head, block.begin), sizes.q_stride());
    });
    context->save_for_backward({q, k, v, positions});
    context->saved_data["scale"] = scale;
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &q = saved[0], &k = saved[1], &v = saved[2];
    const Tensor dout = gradients[0].contiguous();
    const Sizes sizes = sizes_of(q, k, saved[3], context->saved_data["scale"].toDouble());
    Tensor dq = torch::empty_like(q), dk = torch::zeros_like(k), dv = torch::zeros_like(v);
    const auto *qs = q.data_ptr<float>(), *ks = k.data_ptr<float>(), *vs = v.data_ptr<float>(),
               *douts = dout.data_ptr<float>();
    auto *dqs = dq.data_ptr<float>(), *dks = dk.data_ptr<float>(), *dvs = dv.data_ptr<float>();
    for_each_block(sizes, [&](const Block& block) {
      const std::int64_t q_at = sizes.q_at(block.row, block.q_head, block.begin);
      const std::int64_t kv_at = sizes.kv_at(block.row, block.kv_head);
      const Tensor p = probabilities(sizes, block, qs, ks);
      Tensor ds = torch::empty({block.count(), block.keys});
      gemm({block.count(), block.keys, sizes.head_dim}, {douts + q_at, sizes.q_stride()},
           {vs + kv_at, sizes.kv_stride(), true}, ds.data_ptr<float>(), block.keys);
      gemm({block.keys, sizes.head_dim, block.count(), 1, 1},
           {p.data_ptr<float>(), block.keys, true}, {douts + q_at, sizes.q_stride()}, dvs + kv_at,
           sizes.kv_stride());
      ds = p * (ds - (p * ds).sum(-1, true));
      gemm({block.count(), sizes.head_dim, block.keys, sizes.scale},
           {ds.data_ptr<float>(), block.keys}, {ks + kv_at, sizes.kv_stride()}, dqs + q_at,
           sizes.q_stride());
      gemm({block.keys, sizes.head_dim, block.count(), sizes.scale, 1},
           {ds.data_ptr<float>(), block.keys, true}, {qs + q_at, sizes.q_stride()}, dks + kv_at,
           sizes.kv_stride());
    });
    return {dq, dk, dv, Tensor(), Tensor()};
  }
};

}  // namespace

Tensor causal_attention(const Tensor& q, const Tensor& k, const Tensor& v, double scale,
                        const Tensor& positions) {
  const Tensor given = positions.defined() ? positions : torch::empty({0}, torch::kLong);
  return Attention::apply(q.contiguous(), k.contiguous(), v.contiguous(), given, scale);
}

}  // namespace tandem::training::torch_passes

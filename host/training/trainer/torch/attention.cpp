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
  std::int64_t rows, tokens, q_heads, kv_heads, head_dim;
  float scale;

  std::int64_t q_stride() const { return q_heads * head_dim; }
  std::int64_t kv_stride() const { return kv_heads * head_dim; }
  std::int64_t q_at(std::int64_t row, std::int64_t head, std::int64_t token) const {
    return ((row * tokens + token) * q_heads + head) * head_dim;
  }
  std::int64_t kv_at(std::int64_t row, std::int64_t head) const {
    return (row * tokens * kv_heads + head) * head_dim;
  }
};

Sizes sizes_of(const Tensor& q, const Tensor& k, double scale) {
  return {q.size(0), q.size(1), q.size(2), k.size(2), q.size(3), static_cast<float>(scale)};
}

// A block of queries of one head: [begin, end).
struct Block {
  std::int64_t row, q_head, kv_head, begin, end;

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
          visit(Block{row, q_head, kv_head, begin, std::min(begin + kBlock, sizes.tokens)});
        }
      }
    }
  });
}

// [block's queries, keys up to its end]: the probabilities.
Tensor probabilities(const Sizes& sizes, const Block& block, const float* q, const float* k) {
  Tensor scores = torch::empty({block.count(), block.end});
  auto* values = scores.data_ptr<float>();
  gemm({block.count(), block.end, sizes.head_dim, sizes.scale},
       {q + sizes.q_at(block.row, block.q_head, block.begin), sizes.q_stride()},
       {k + sizes.kv_at(block.row, block.kv_head), sizes.kv_stride(), true}, values, block.end);
  for (std::int64_t query = 0; query < block.count(); ++query) {
    std::fill(values + query * block.end + block.begin + query + 1,
              values + (query + 1) * block.end, -std::numeric_limits<float>::infinity());
  }
  return torch::softmax(scores, -1);
}

struct Attention : torch::autograd::Function<Attention> {
  static Tensor forward(AutogradContext* context, const Tensor& q, const Tensor& k, const Tensor& v,
                        double scale) {
    const Sizes sizes = sizes_of(q, k, scale);
    Tensor out = torch::empty_like(q);
    const auto *qs = q.data_ptr<float>(), *ks = k.data_ptr<float>(), *vs = v.data_ptr<float>();
    auto* outs = out.data_ptr<float>();
    for_each_block(sizes, [&](const Block& block) {
      const Tensor p = probabilities(sizes, block, qs, ks);
      gemm({block.count(), sizes.head_dim, block.end}, {p.data_ptr<float>(), block.end},
           {vs + sizes.kv_at(block.row, block.kv_head), sizes.kv_stride()},
           outs + sizes.q_at(block.row, block.q_head, block.begin), sizes.q_stride());
    });
    context->save_for_backward({q, k, v});
    context->saved_data["scale"] = scale;
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &q = saved[0], &k = saved[1], &v = saved[2];
    const Tensor dout = gradients[0].contiguous();
    const Sizes sizes = sizes_of(q, k, context->saved_data["scale"].toDouble());
    Tensor dq = torch::empty_like(q), dk = torch::zeros_like(k), dv = torch::zeros_like(v);
    const auto *qs = q.data_ptr<float>(), *ks = k.data_ptr<float>(), *vs = v.data_ptr<float>(),
               *douts = dout.data_ptr<float>();
    auto *dqs = dq.data_ptr<float>(), *dks = dk.data_ptr<float>(), *dvs = dv.data_ptr<float>();
    for_each_block(sizes, [&](const Block& block) {
      const std::int64_t q_at = sizes.q_at(block.row, block.q_head, block.begin);
      const std::int64_t kv_at = sizes.kv_at(block.row, block.kv_head);
      const Tensor p = probabilities(sizes, block, qs, ks);
      Tensor ds = torch::empty({block.count(), block.end});
      gemm({block.count(), block.end, sizes.head_dim}, {douts + q_at, sizes.q_stride()},
           {vs + kv_at, sizes.kv_stride(), true}, ds.data_ptr<float>(), block.end);
      gemm({block.end, sizes.head_dim, block.count(), 1, 1}, {p.data_ptr<float>(), block.end, true},
           {douts + q_at, sizes.q_stride()}, dvs + kv_at, sizes.kv_stride());
      ds = p * (ds - (p * ds).sum(-1, true));
      gemm({block.count(), sizes.head_dim, block.end, sizes.scale},
           {ds.data_ptr<float>(), block.end}, {ks + kv_at, sizes.kv_stride()}, dqs + q_at,
           sizes.q_stride());
      gemm({block.end, sizes.head_dim, block.count(), sizes.scale, 1},
           {ds.data_ptr<float>(), block.end, true}, {qs + q_at, sizes.q_stride()}, dks + kv_at,
           sizes.kv_stride());
    });
    return {dq, dk, dv, Tensor()};
  }
};

}  // namespace

Tensor causal_attention(const Tensor& q, const Tensor& k, const Tensor& v, double scale) {
  return Attention::apply(q.contiguous(), k.contiguous(), v.contiguous(), scale);
}

}  // namespace tandem::training::torch_passes

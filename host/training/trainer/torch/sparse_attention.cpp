// SPDX-License-Identifier: Apache-2.0
//
// The chosen keys and values of a block of queries are copied together, so products are dense.
#include "training/trainer/torch/sparse_attention.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "training/trainer/torch/gemm.h"

namespace tandem::training::torch_passes {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kTokens = 64;  // of a block
constexpr std::int64_t kGroups = 4;   // of queries whose means estimate

struct Heads {
  std::int64_t rows, tokens, q_heads, kv_heads, dim;
  float scale;

  std::int64_t blocks() const { return (tokens + kTokens - 1) / kTokens; }
  std::int64_t q_stride() const { return q_heads * dim; }
  std::int64_t kv_stride() const { return kv_heads * dim; }
  std::int64_t tokens_of(std::int64_t block) const {
    return std::min(kTokens, tokens - block * kTokens);
  }
};

Heads heads_of(const Tensor& q, const Tensor& k, double scale) {
  return {q.size(0), q.size(1), q.size(2), k.size(2), q.size(3), static_cast<float>(scale)};
}

// A block of queries of one head.
struct Queries {
  std::int64_t row, q_head, kv_head, block;
};

template <typename Visit>
void for_each_queries(const Heads& heads, const Visit& visit) {
  const std::int64_t group = heads.q_heads / heads.kv_heads;
  at::parallel_for(0, heads.rows * heads.kv_heads, 1, [&](std::int64_t first, std::int64_t last) {
    const at::NoGradGuard no_gradients;
    for (std::int64_t task = first; task < last; ++task) {
      const std::int64_t row = task / heads.kv_heads, kv_head = task % heads.kv_heads;
      for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
        for (std::int64_t block = 0; block < heads.blocks(); ++block) {
          visit(Queries{row, head, kv_head, block});
        }
      }
    }
  });
}

const float* first_key(const Heads& heads, const Queries& at, const Tensor& k) {
  return k.data_ptr<float>() + (at.row * heads.tokens * heads.kv_heads + at.kv_head) * heads.dim;
}
std::int64_t first_query(const Heads& heads, const Queries& at) {
  return ((at.row * heads.tokens + at.block * kTokens) * heads.q_heads + at.q_head) * heads.dim;
}

// [groups, dim]: means of neighbouring queries.
std::vector<float> group_means(const Heads& heads, const float* queries, std::int64_t count,
                               std::int64_t groups) {
  std::vector<float> means(static_cast<std::size_t>(groups * heads.dim));
  for (std::int64_t group = 0; group < groups; ++group) {
    const std::int64_t begin = group * count / groups, end = (group + 1) * count / groups;
    float* mean = means.data() + group * heads.dim;
    for (std::int64_t query = begin; query < end; ++query) {
      for (std::int64_t i = 0; i < heads.dim; ++i) {
        mean[i] += queries[query * heads.q_stride() + i] / static_cast<float>(end - begin);
      }
    }
  }
  return means;
}

// The estimated share of every block of keys up to the queries' own.
std::vector<double> estimate(const Heads& heads, const Queries& at, const Tensor& q,
                             const Tensor& k) {
  const std::int64_t count = heads.tokens_of(at.block), keys = at.block * kTokens + count;
  const std::int64_t groups = std::min(kGroups, count);
  const std::vector<float> means =
      group_means(heads, q.data_ptr<float>() + first_query(heads, at), count, groups);
  Tensor scores = torch::empty({groups, keys});
  gemm({groups, keys, heads.dim, heads.scale}, {means.data(), heads.dim},
       {first_key(heads, at, k), heads.kv_stride(), true}, scores.data_ptr<float>(), keys);
  const Tensor shares = torch::softmax(scores, -1).mean(0);
  const auto* share = shares.data_ptr<float>();
  std::vector<double> of_block(static_cast<std::size_t>(at.block) + 1);
  for (std::int64_t key = 0; key < keys; ++key) {
    of_block[static_cast<std::size_t>(key / kTokens)] += share[key];
  }
  return of_block;
}

void choose(const Heads& heads, const Queries& at, const Tensor& q, const Tensor& k, double mass,
            std::uint8_t* chosen) {
  const std::vector<double> shares = estimate(heads, at, q, k);
  std::vector<std::size_t> order(shares.size() - 1);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](auto a, auto b) { return shares[a] > shares[b]; });
  chosen[shares.size() - 1] = 1;
  double held = shares.back();
  for (const std::size_t block : order) {
    if (held >= mass) return;
    chosen[block] = 1;
    held += shares[block];
  }
}

// The chosen blocks of keys of a block of queries, copied together; its own block is the last.
class ChosenKeys {
 public:
  ChosenKeys(const Heads& heads, const Queries& at, const Tensor& chosen) : heads_(heads), at_(at) {
    const std::int64_t blocks = heads.blocks();
    const auto* own = chosen.data_ptr<std::uint8_t>() +
                      ((at.row * heads.q_heads + at.q_head) * blocks + at.block) * blocks;
    for (std::int64_t block = 0; block <= at.block; ++block) {
      if (own[block] == 0) continue;
      blocks_.push_back(block);
      count_ += heads.tokens_of(block);
    }
  }

  std::int64_t count() const { return count_; }
  std::int64_t queries() const { return heads_.tokens_of(at_.block); }

  Tensor copy(const Tensor& from) const {
    Tensor copied = torch::empty({count_, heads_.dim});
    visit(from, [&](std::int64_t to, float* values) {
      std::copy_n(values, heads_.dim, copied.data_ptr<float>() + to * heads_.dim);
    });
    return copied;
  }
  void add(const Tensor& part, const Tensor& to) const {
    visit(to, [&](std::int64_t from, float* values) {
      const float* own = part.data_ptr<float>() + from * heads_.dim;
      for (std::int64_t i = 0; i < heads_.dim; ++i) values[i] += own[i];
    });
  }

  // [queries, keys]
  Tensor probabilities(const Tensor& q, const Tensor& keys) const {
    Tensor scores = torch::empty({queries(), count_});
    auto* values = scores.data_ptr<float>();
    gemm({queries(), count_, heads_.dim, heads_.scale},
         {q.data_ptr<float>() + first_query(heads_, at_), heads_.q_stride()},
         {keys.data_ptr<float>(), heads_.dim, true}, values, count_);
    for (std::int64_t query = 0; query < queries(); ++query) {
      std::fill(values + (query + 1) * count_ - queries() + query + 1,
                values + (query + 1) * count_, -std::numeric_limits<float>::infinity());
    }
    return torch::softmax(scores, -1);
  }

 private:
  template <typename Row>
  void visit(const Tensor& of_keys, const Row& row) const {
    auto* values = const_cast<float*>(first_key(heads_, at_, of_keys));
    std::int64_t number = 0;
    for (const std::int64_t block : blocks_) {
      for (std::int64_t token = 0; token < heads_.tokens_of(block); ++token) {
        row(number++, values + (block * kTokens + token) * heads_.kv_stride());
      }
    }
  }

  const Heads& heads_;
  const Queries at_;
  std::vector<std::int64_t> blocks_;
  std::int64_t count_ = 0;
};

struct SparseAttention : torch::autograd::Function<SparseAttention> {
  static Tensor forward(AutogradContext* context, const Tensor& q, const Tensor& k, const Tensor& v,
                        const Tensor& chosen, double scale) {
    const Heads heads = heads_of(q, k, scale);
    Tensor out = torch::empty_like(q);
    auto* outs = out.data_ptr<float>();
    for_each_queries(heads, [&](const Queries& at) {
      const ChosenKeys keys(heads, at, chosen);
      const Tensor p = keys.probabilities(q, keys.copy(k)), values = keys.copy(v);
      gemm({keys.queries(), heads.dim, keys.count()}, {p.data_ptr<float>(), keys.count()},
           {values.data_ptr<float>(), heads.dim}, outs + first_query(heads, at), heads.q_stride());
    });
    context->save_for_backward({q, k, v, chosen});
    context->saved_data["scale"] = scale;
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &q = saved[0], &k = saved[1], &v = saved[2];
    const Tensor dout = gradients[0].contiguous();
    const Heads heads = heads_of(q, k, context->saved_data["scale"].toDouble());
    const Tensor dq = torch::empty_like(q), dk = torch::zeros_like(k), dv = torch::zeros_like(v);
    for_each_queries(heads, [&](const Queries& at) {
      const ChosenKeys keys(heads, at, saved[3]);
      const std::int64_t rows = keys.queries(), count = keys.count(), q_at = first_query(heads, at);
      const Tensor own_k = keys.copy(k), own_v = keys.copy(v);
      const Tensor p = keys.probabilities(q, own_k);
      const Matrix d{dout.data_ptr<float>() + q_at, heads.q_stride()};
      Tensor ds = torch::empty({rows, count}), part = torch::empty({count, heads.dim});
      gemm({rows, count, heads.dim}, d, {own_v.data_ptr<float>(), heads.dim, true},
           ds.data_ptr<float>(), count);
      gemm({count, heads.dim, rows}, {p.data_ptr<float>(), count, true}, d, part.data_ptr<float>(),
           heads.dim);
      keys.add(part, dv);
      ds = p * (ds - (p * ds).sum(-1, true));
      gemm({rows, heads.dim, count, heads.scale}, {ds.data_ptr<float>(), count},
           {own_k.data_ptr<float>(), heads.dim}, dq.data_ptr<float>() + q_at, heads.q_stride());
      gemm({count, heads.dim, rows, heads.scale}, {ds.data_ptr<float>(), count, true},
           {q.data_ptr<float>() + q_at, heads.q_stride()}, part.data_ptr<float>(), heads.dim);
      keys.add(part, dk);
    });
    return {dq, dk, dv, Tensor(), Tensor()};
  }
};

}  // namespace

Tensor choose_key_blocks(const Tensor& q, const Tensor& k, double scale, double mass) {
  const torch::NoGradGuard no_gradients;
  const Heads heads = heads_of(q, k, scale);
  const std::int64_t blocks = heads.blocks();
  Tensor chosen = torch::zeros({heads.rows, heads.q_heads, blocks, blocks}, torch::kUInt8);
  auto* values = chosen.data_ptr<std::uint8_t>();
  for_each_queries(heads, [&](const Queries& at) {
    choose(heads, at, q, k, mass,
           values + ((at.row * heads.q_heads + at.q_head) * blocks + at.block) * blocks);
  });
  return chosen;
}

Tensor sparse_causal_attention(const Tensor& q, const Tensor& k, const Tensor& v, double scale,
                               double mass) {
  const Tensor qs = q.contiguous(), ks = k.contiguous();
  return SparseAttention::apply(qs, ks, v.contiguous(), choose_key_blocks(qs, ks, scale, mass),
                                scale);
}

}  // namespace tandem::training::torch_passes

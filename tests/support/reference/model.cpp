// SPDX-License-Identifier: Apache-2.0
//
// The decoder, all tokens at once. Activations lie [width][tokens], so that the innermost loop runs
// over tokens and compilers keep it in vectors without reordering any sum.
#include "support/reference/model.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tandem::reference {
namespace {

// [width, tokens]
struct Activations {
  Activations(std::size_t width, std::size_t tokens)
      : width(width), tokens(tokens), values(width * tokens, 0.0) {}
  double* row(std::size_t i) { return values.data() + i * tokens; }
  const double* row(std::size_t i) const { return values.data() + i * tokens; }

  std::size_t width, tokens;
  std::vector<double> values;
};

std::vector<float> floats(const TensorView& tensor, std::size_t row) {
  std::vector<float> values(static_cast<std::size_t>(tensor.columns));
  dequantize_row(tensor, static_cast<std::int64_t>(row), values.data());
  return values;
}

// W x + b.
Activations product(const TensorView& weight, const TensorView& bias, const Activations& x) {
  Activations y(static_cast<std::size_t>(weight.rows), x.tokens);
  const std::vector<float> b = bias ? floats(bias, 0) : std::vector<float>(y.width, 0.0f);
  for (std::size_t out = 0; out < y.width; ++out) {
    const std::vector<float> w = floats(weight, out);
    double* sum = y.row(out);
    std::fill(sum, sum + y.tokens, static_cast<double>(b[out]));
    for (std::size_t in = 0; in < x.width; ++in) {
      const double factor = static_cast<double>(w[in]);
      const double* from = x.row(in);
      for (std::size_t t = 0; t < y.tokens; ++t) sum[t] += factor * from[t];
    }
  }
  return y;
}

Activations norm(const TensorView& weight, double epsilon, const Activations& x) {
  const std::vector<float> w = floats(weight, 0);
  Activations y(x.width, x.tokens);
  for (std::size_t t = 0; t < x.tokens; ++t) {
    double sum = 0.0;
    for (std::size_t i = 0; i < x.width; ++i) sum += x.row(i)[t] * x.row(i)[t];
    const double factor = 1.0 / std::sqrt(sum / static_cast<double>(x.width) + epsilon);
    for (std::size_t i = 0; i < x.width; ++i) {
      y.row(i)[t] = x.row(i)[t] * factor * static_cast<double>(w[i]);
    }
  }
  return y;
}

void add(Activations& x, const Activations& y) {
  for (std::size_t i = 0; i < x.values.size(); ++i) x.values[i] += y.values[i];
}

void rotate(const model::RopeConfig& rope, std::size_t head_dim, Activations& x) {
  const std::size_t pairs = rope.inverse_frequencies.size();
  for (std::size_t head = 0; head < x.width; head += head_dim) {
    for (std::size_t i = 0; i < pairs; ++i) {
      double* a = x.row(head + (rope.interleaved ? 2 * i : i));
      double* b = x.row(head + (rope.interleaved ? 2 * i + 1 : i + pairs));
      for (std::size_t t = 0; t < x.tokens; ++t) {
        const double angle =
            static_cast<double>(t) * static_cast<double>(rope.inverse_frequencies[i]);
        const double c = std::cos(angle) * static_cast<double>(rope.magnitude);
        const double s = std::sin(angle) * static_cast<double>(rope.magnitude);
        const double first = a[t], second = b[t];
        a[t] = first * c - second * s;
        b[t] = first * s + second * c;
      }
    }
  }
}

struct Attention {
  Activations q, k, v;
};

// Causal attention of one query head.
void attend(const model::ModelConfig& config, int head, const Attention& in, Activations& out) {
  const auto head_dim = static_cast<std::size_t>(config.head_dim);
  const std::size_t q_begin = static_cast<std::size_t>(head) * head_dim;
  const std::size_t kv_begin =
      static_cast<std::size_t>(head / (config.q_heads / config.kv_heads)) * head_dim;
  const auto& [q, k, v] = in;
  std::vector<double> odds(q.tokens);
  for (std::size_t t = 0; t < q.tokens; ++t) {
    double most = -HUGE_VAL, total = 0.0;
    for (std::size_t s = 0; s <= t; ++s) {
      double score = 0.0;
      for (std::size_t i = 0; i < head_dim; ++i) {
        score += q.row(q_begin + i)[t] * k.row(kv_begin + i)[s];
      }
      odds[s] = score * static_cast<double>(config.attention_scale);
      most = std::max(most, odds[s]);
    }
    for (std::size_t s = 0; s <= t; ++s) total += odds[s] = std::exp(odds[s] - most);
    for (std::size_t i = 0; i < head_dim; ++i) {
      double sum = 0.0;
      for (std::size_t s = 0; s <= t; ++s) sum += odds[s] * v.row(kv_begin + i)[s];
      out.row(q_begin + i)[t] = sum / total;
    }
  }
}

void run_layer(const model::ModelConfig& config, const model::LayerTensors& layer, Activations& x) {
  const auto head_dim = static_cast<std::size_t>(config.head_dim);
  const double epsilon = static_cast<double>(config.norm_epsilon);
  const Activations y = norm(layer.attention_norm, epsilon, x);
  Attention attention{product(layer.wq, layer.bq, y), product(layer.wk, layer.bk, y),
                      product(layer.wv, layer.bv, y)};
  rotate(config.rope, head_dim, attention.q);
  rotate(config.rope, head_dim, attention.k);
  Activations mixed(attention.q.width, x.tokens);
  for (int head = 0; head < config.q_heads; ++head) attend(config, head, attention, mixed);
  add(x, product(layer.wo, layer.bo, mixed));
  const Activations z = norm(layer.ffn_norm, epsilon, x);
  Activations gate = product(layer.gate, {}, z);
  const Activations up = product(layer.up, {}, z);
  for (std::size_t i = 0; i < gate.values.size(); ++i) {
    gate.values[i] *= up.values[i] / (1.0 + std::exp(-gate.values[i]));
  }
  add(x, product(layer.down, {}, gate));
}

void require_llama(const model::Model& model) {
  const model::ModelConfig& config = model.config();
  bool plain = config.windows.empty() && config.attention_softcap == 0 &&
               config.logit_softcap == 0 && config.experts.count == 0 &&
               config.gate == model::Gate::kSilu && config.embedding_scale == 1;
  for (const model::LayerTensors& layer : model.layers()) {
    plain = plain && !layer.q_norm && !layer.k_norm && !layer.attention_post_norm &&
            !layer.ffn_post_norm;
  }
  if (!plain) throw std::runtime_error("the reference knows the Llama family only");
}

// [vocab, tokens]
Activations run_model(const model::Model& model, std::span<const model::TokenId> ids) {
  require_llama(model);
  const model::ModelConfig& config = model.config();
  Activations x(static_cast<std::size_t>(config.width), ids.size());
  for (std::size_t t = 0; t < ids.size(); ++t) {
    const std::vector<float> row = floats(model.embedding(), static_cast<std::size_t>(ids[t]));
    for (std::size_t i = 0; i < x.width; ++i) x.row(i)[t] = static_cast<double>(row[i]);
  }
  for (const model::LayerTensors& layer : model.layers()) run_layer(config, layer, x);
  return product(model.output(), {},
                 norm(model.output_norm(), static_cast<double>(config.norm_epsilon), x));
}

}  // namespace

std::vector<std::vector<double>> logits(const model::Model& model,
                                        std::span<const model::TokenId> ids) {
  const Activations all = run_model(model, ids);
  std::vector<std::vector<double>> rows(ids.size(), std::vector<double>(all.width));
  for (std::size_t t = 0; t < rows.size(); ++t) {
    for (std::size_t i = 0; i < all.width; ++i) rows[t][i] = all.row(i)[t];
  }
  return rows;
}

std::vector<double> log_probabilities(const model::Model& model,
                                      std::span<const model::TokenId> ids) {
  std::vector<double> result;
  const std::vector<std::vector<double>> rows = logits(model, ids);
  for (std::size_t t = 0; t + 1 < ids.size(); ++t) {
    const double most = *std::max_element(rows[t].begin(), rows[t].end());
    double total = 0.0;
    for (const double logit : rows[t]) total += std::exp(logit - most);
    result.push_back(rows[t][static_cast<std::size_t>(ids[t + 1])] - most - std::log(total));
  }
  return result;
}

double perplexity(std::span<const double> logprobs) {
  double sum = 0.0;
  for (const double logprob : logprobs) sum += logprob;
  return std::exp(-sum / static_cast<double>(logprobs.size()));
}

}  // namespace tandem::reference

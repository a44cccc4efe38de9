// SPDX-License-Identifier: Apache-2.0
//
// A whole decoder of the Llama family as a naive loop in double precision: the oracle of what the
// engine makes of a model file.
//
// Weights are what dequantize_row() gives; everything behind them is computed in doubles: no
// rounding of activations, keys, values or scores. Grouped queries, rotation of pairs, biases, tied
// or separate output. Throws std::runtime_error on a model with more than that (windows, caps,
// norms of heads, experts). Cost: all weights in doubles, one layer at a time; about a second for
// 100 tokens of 4 million parameters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/model.h"

namespace tandem::reference {

// The logits behind every token, [ids][vocab].
std::vector<std::vector<double>> logits(const model::Model& model,
                                        std::span<const model::TokenId> ids);

// ln P(ids[i + 1] | ids[0..i]) for every i: ids.size() - 1 values.
std::vector<double> log_probabilities(const model::Model& model,
                                      std::span<const model::TokenId> ids);

// exp of the mean of -logprobs.
double perplexity(std::span<const double> logprobs);

}  // namespace tandem::reference

// SPDX-License-Identifier: Apache-2.0
//
// The rules by which an optimiser changes weights, and the factors of one step.
//
// Every rule is a fixed sequence of f32 operations, each rounded once to nearest even; no multiply
// and add is fused. So vector code for any instruction set, a scalar loop and a card give the same
// bits, except for the payload of a NaN. README.md lists the sequences. Factors are computed in f64
// and rounded once. `scale` first multiplies every gradient: it is 1 / (number of summed batches),
// times the factor of clipping. By IEEE arithmetic, a NaN or an infinity in a gradient also appears
// in weights and state. Callers that skip such steps must check the gradient first. Threads: plain
// data and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace tandem::training {

// kL2: weight decay is added to the gradient. kDecoupled: weights shrink by learning rate * weight
// decay, independently of the gradient.
enum class Decay : std::uint8_t { kL2, kDecoupled };

// torch.optim.SGD without dampening; FBGEMM's exact_sgd on rows. The state is the momentum.
struct Sgd {
  double momentum = 0;  // 0: no state
  bool nesterov = false;
  double weight_decay = 0;  // L2
  // Above 0: the gradients are finished steps; this factor replaces the learning rate.
  double step_rate = 0;
};

// torch.optim.AdamW, or Adam with kL2. Only for whole ranges, not for rows.
struct Adam {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0.01;
  Decay decay = Decay::kDecoupled;
};

// FBGEMM's exact_rowwise_adagrad: one accumulator per row.
struct RowwiseAdagrad {
  double epsilon = 1e-8;
  double weight_decay = 0;  // 0: FBGEMM's weight_decay_mode 0
  Decay decay = Decay::kL2;
  double initial_sum = 0;
};

// FBGEMM's adam: moments per value, only for the rows that a step uses; bias correction by the
// global iteration. The decay is decoupled.
struct RowAdam {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0;
};

using UpdateRule = std::variant<Sgd, Adam, RowwiseAdagrad, RowAdam>;

struct StepFactors {
  std::uint64_t iteration = 1;  // global, from 1; for bias corrections
  double learning_rate = 0;
  double gradient_scale = 1;
};

// The state that a rule keeps per value (or per row): its name, and its initial value.
struct StateSlot {
  std::string name;  // "exp_avg"
  float initial = 0;
  bool per_row = false;
};
std::vector<StateSlot> state_slots(const UpdateRule& rule);

// The name in options and messages: "sgd", "adam", "rowwise_adagrad", "row_adam".
std::string rule_name(const UpdateRule& rule);

// Errors: Error that names the field out of range: a beta or momentum outside [0, 1), an epsilon or
// decay that is negative or not finite, Nesterov without momentum.
void check_rule(const UpdateRule& rule);
// Errors: Error for iteration 0, or a rate or scale that is negative or not finite.
void check_step(const StepFactors& step);

// The factors that kernels take. scale: of the gradient; rest1, rest2: 1 - beta1, 1 - beta2.
struct SgdFactors {
  float scale = 1, rate = 0, momentum = 0, decay = 0;
  bool nesterov = false;
};
struct AdamFactors {
  float scale = 1, beta1 = 0, rest1 = 0, beta2 = 0, rest2 = 0;
  float rate = 0;         // learning rate / (1 - beta1^t)
  float root_factor = 0;  // 1 / sqrt(1 - beta2^t)
  float epsilon = 0;
  float decay = 0;  // kL2: weight decay; kDecoupled: 1 - learning rate * weight decay
  bool l2 = false;
};
struct AdagradFactors {
  float scale = 1, rate = 0, epsilon = 0;
  float decay = 0;  // kL2: weight decay; kDecoupled: 1 - learning rate * weight decay
  enum Mode : std::uint32_t { kNone = 0, kL2 = 1, kDecoupled = 2 } mode = kNone;
};
struct RowAdamFactors {
  float scale = 1, beta1 = 0, rest1 = 0, beta2 = 0, rest2 = 0;
  float correct1 = 0, correct2 = 0;  // 1 / (1 - beta^t)
  float epsilon = 0, rate = 0, decay = 0;
};

// For a rank's own direction (kernels.h): the quotient of Adam's corrected moments. The second
// moment of the mean over ranks is estimated from the own moments: noise v + signal m^2.
struct DirectionFactors {
  float scale = 1, beta1 = 0, rest1 = 0, beta2 = 0, rest2 = 0;
  float correct1 = 0, correct2 = 0;  // 1 / (1 - beta^t)
  float noise = 1, signal = 0;       // 1 / ranks, and 1 - 1 / ranks
  float epsilon = 0;
};

// step: its learning rate is not used.
DirectionFactors direction_factors(const Adam& rule, const StepFactors& step, int ranks);

SgdFactors factors_of(const Sgd& rule, const StepFactors& step);
AdamFactors factors_of(const Adam& rule, const StepFactors& step);
AdagradFactors factors_of(const RowwiseAdagrad& rule, const StepFactors& step);
RowAdamFactors factors_of(const RowAdam& rule, const StepFactors& step);

}  // namespace tandem::training

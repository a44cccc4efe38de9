// SPDX-License-Identifier: Apache-2.0
//
// Factors in f64, rounded once.
#include "training/optimizer/rules.h"

#include <cmath>

#include "common/error.h"

namespace tandem::training {
namespace {

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

float narrow(double value) { return static_cast<float>(value); }

void check_not_negative(const char* what, double value) {
  if (std::isfinite(value) && value >= 0) return;
  throw Error("training", std::string(what) + " is " + std::to_string(value) +
                              ": it must be finite and not negative");
}

void check_share(const char* what, double value) {
  if (value >= 0 && value < 1) return;
  throw Error("training", std::string(what) + " is " + std::to_string(value) +
                              ": it must be at least 0 and below 1");
}

template <typename Moments>
void check_moments(const Moments& rule) {
  check_share("beta1", rule.beta1);
  check_share("beta2", rule.beta2);
  check_not_negative("epsilon", rule.epsilon);
  check_not_negative("weight_decay", rule.weight_decay);
}

// 1 - beta^t
double correction(double beta, std::uint64_t iteration) {
  return 1 - std::pow(beta, static_cast<double>(iteration));
}

}  // namespace

std::vector<StateSlot> state_slots(const UpdateRule& rule) {
  return std::visit(Overloaded{[](const Sgd& sgd) -> std::vector<StateSlot> {
                                 if (sgd.momentum == 0) return {};
                                 return {{"momentum_buffer", 0, false}};
                               },
                               [](const RowwiseAdagrad& adagrad) -> std::vector<StateSlot> {
                                 return {{"sum", narrow(adagrad.initial_sum), true}};
                               },
                               [](const auto&) -> std::vector<StateSlot> {
                                 return {{"exp_avg", 0, false}, {"exp_avg_sq", 0, false}};
                               }},
                    rule);
}

std::string rule_name(const UpdateRule& rule) {
  constexpr const char* kNames[] = {"sgd", "adam", "rowwise_adagrad", "row_adam"};
  return kNames[rule.index()];
}

void check_rule(const UpdateRule& rule) {
  std::visit(Overloaded{[](const Sgd& sgd) {
                          check_share("momentum", sgd.momentum);
                          check_not_negative("weight_decay", sgd.weight_decay);
                          check_not_negative("step_rate", sgd.step_rate);
                          if (sgd.nesterov && sgd.momentum == 0) {
                            throw Error("training", "nesterov needs a momentum above 0");
                          }
                        },
                        [](const RowwiseAdagrad& adagrad) {
                          check_not_negative("epsilon", adagrad.epsilon);
                          check_not_negative("weight_decay", adagrad.weight_decay);
                          check_not_negative("initial_sum", adagrad.initial_sum);
                        },
                        [](const auto& moments) { check_moments(moments); }},
             rule);
}

void check_step(const StepFactors& step) {
  if (step.iteration == 0) throw Error("training", "iterations of the optimiser count from 1");
  check_not_negative("learning_rate", step.learning_rate);
  check_not_negative("gradient_scale", step.gradient_scale);
}

SgdFactors factors_of(const Sgd& rule, const StepFactors& step) {
  SgdFactors factors;
  factors.scale = narrow(step.gradient_scale);
  factors.rate = narrow(step.learning_rate);
  factors.momentum = narrow(rule.momentum);
  factors.decay = narrow(rule.weight_decay);
  factors.nesterov = rule.nesterov;
  if (rule.step_rate > 0) {  // the decay follows the learning rate
    factors.rate = narrow(rule.step_rate);
    factors.decay = narrow(rule.weight_decay * step.learning_rate / rule.step_rate);
  }
  return factors;
}

AdamFactors factors_of(const Adam& rule, const StepFactors& step) {
  AdamFactors factors;
  factors.scale = narrow(step.gradient_scale);
  factors.beta1 = narrow(rule.beta1);
  factors.rest1 = narrow(1 - rule.beta1);
  factors.beta2 = narrow(rule.beta2);
  factors.rest2 = narrow(1 - rule.beta2);
  factors.rate = narrow(step.learning_rate / correction(rule.beta1, step.iteration));
  factors.root_factor = narrow(1 / std::sqrt(correction(rule.beta2, step.iteration)));
  factors.epsilon = narrow(rule.epsilon);
  factors.l2 = rule.decay == Decay::kL2;
  factors.decay =
      narrow(factors.l2 ? rule.weight_decay : 1 - step.learning_rate * rule.weight_decay);
  return factors;
}

AdagradFactors factors_of(const RowwiseAdagrad& rule, const StepFactors& step) {
  AdagradFactors factors;
  factors.scale = narrow(step.gradient_scale);
  factors.rate = narrow(step.learning_rate);
  factors.epsilon = narrow(rule.epsilon);
  if (rule.weight_decay == 0) return factors;
  const bool l2 = rule.decay == Decay::kL2;
  factors.mode = l2 ? AdagradFactors::kL2 : AdagradFactors::kDecoupled;
  factors.decay = narrow(l2 ? rule.weight_decay : 1 - step.learning_rate * rule.weight_decay);
  return factors;
}

RowAdamFactors factors_of(const RowAdam& rule, const StepFactors& step) {
  RowAdamFactors factors;
  factors.scale = narrow(step.gradient_scale);
  factors.beta1 = narrow(rule.beta1);
  factors.rest1 = narrow(1 - rule.beta1);
  factors.beta2 = narrow(rule.beta2);
  factors.rest2 = narrow(1 - rule.beta2);
  factors.correct1 = narrow(1 / correction(rule.beta1, step.iteration));
  factors.correct2 = narrow(1 / correction(rule.beta2, step.iteration));
  factors.epsilon = narrow(rule.epsilon);
  factors.rate = narrow(step.learning_rate);
  factors.decay = narrow(rule.weight_decay);
  return factors;
}

DirectionFactors direction_factors(const Adam& rule, const StepFactors& step, int ranks) {
  DirectionFactors factors;
  factors.scale = narrow(step.gradient_scale);
  factors.beta1 = narrow(rule.beta1);
  factors.rest1 = narrow(1 - rule.beta1);
  factors.beta2 = narrow(rule.beta2);
  factors.rest2 = narrow(1 - rule.beta2);
  factors.correct1 = narrow(1 / correction(rule.beta1, step.iteration));
  factors.correct2 = narrow(1 / correction(rule.beta2, step.iteration));
  factors.noise = narrow(1.0 / ranks);
  factors.signal = narrow(1 - 1.0 / ranks);
  factors.epsilon = narrow(rule.epsilon);
  return factors;
}

}  // namespace tandem::training

// SPDX-License-Identifier: Apache-2.0
//
// Names are checked when an option is read, so that every rank refuses the same names by itself.
#include "training/reducer/options.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "collectives/scheme/scheme.h"
#include "common/error.h"
#include "common/suggestion.h"

namespace tandem::training {
namespace {

constexpr double kMostWarmupSteps = 10'000;  // limit if the user sets none

void check_name(const std::string& field, const std::string& name,
                const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  const std::vector<std::string_view> views(known.begin(), known.end());
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  throw Error("training", "the option " + field + " is '" + name + "'" + suggestion(name, views) +
                              "; choose one of " + list);
}

void check_sparsifier(const std::string& field, const std::string& name) {
  std::vector<std::string> known = collectives::sparsifier_names();
  known.emplace_back(kAuto);
  known.emplace_back(kDense);
  known.emplace_back(kRows);
  check_name(field, name, known);
}

void check_density(const std::string& field, double density) {
  if (density >= 0 && density <= 1) return;  // not so for a NaN
  throw Error("training",
              "the option " + field + " is " + text_of(density) + "; it is a share from 0 to 1");
}

void check_scheme(const std::string& field, const std::string& name) {
  std::vector<std::string> known = {"auto"};
  for (const auto* scheme : collectives::all_schemes()) known.emplace_back(scheme->name());
  check_name(field, name, known);
}

void check_rule(const Rule& rule, std::size_t number) {
  const std::string field = "rules[" + std::to_string(number) + "].";
  if (rule.match.empty()) {
    throw Error("training", "the option " + field +
                                "match is empty; give a glob of parameter names, such as "
                                "\"*.bias\"");
  }
  if (rule.sparsifier) check_sparsifier(field + "sparsifier", *rule.sparsifier);
  if (rule.density) check_density(field + "density", *rule.density);
  if (rule.scheme) check_scheme(field + "scheme", *rule.scheme);
}

const char* name_of(OnNonFinite choice) {
  switch (choice) {
    case OnNonFinite::kStop:
      return "stop";
    case OnNonFinite::kSkip:
      return "skip";
    case OnNonFinite::kClip:
      return "clip";
    case OnNonFinite::kPass:
      break;
  }
  return "pass";
}

}  // namespace

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.15g", value);
  return text;
}

void check_options(const ReducerOptions& options) {
  check_sparsifier("sparsifier", options.sparsifier);
  check_density("density", options.density);
  if (options.warmup_density) check_density("warmup_density", *options.warmup_density);
  check_scheme("scheme", options.scheme);
  for (std::size_t i = 0; i < options.rules.size(); ++i) check_rule(options.rules[i], i);
  for (const std::string& name : collectives::sparsifier_names()) {
    collectives::make_sparsifier(name, 1, options.algorithm);  // checks the constants
  }
  if (options.wire != DType::kF32 && options.wire != DType::kF16 && options.wire != DType::kBF16) {
    throw Error("training", "the option wire is " + std::string(dtype_name(options.wire)) +
                                "; choose f32, f16 or bf16");
  }
  if (options.threads < 1 || options.threads > 1024) {
    throw Error("training", "the option threads is " + std::to_string(options.threads) +
                                "; it is a number from 1 to 1024");
  }
  if (options.timeout.count() <= 0) {
    throw Error("training", "the option timeout_s must be above 0");
  }
  if (options.bucket_bytes == 0) {
    throw Error("training", "the option bucket_bytes must be above 0");
  }
}

Treatment treatment_of(const ReducerOptions& options, const std::string& name,
                       const std::vector<std::int64_t>& shape) {
  std::uint64_t num_values = 1;
  for (const std::int64_t size : shape) num_values *= static_cast<std::uint64_t>(size);
  Treatment treatment{options.sparsifier, options.density, options.scheme};
  bool named = false;
  for (const Rule& rule : options.rules) {
    if (::fnmatch(rule.match.c_str(), name.c_str(), 0) != 0) continue;
    named = rule.sparsifier.has_value();
    treatment.sparsifier = rule.sparsifier.value_or(treatment.sparsifier);
    treatment.density = rule.density.value_or(treatment.density);
    treatment.scheme = rule.scheme.value_or(treatment.scheme);
    break;
  }
  const bool vector = options.dense_vectors && shape.size() < 2;
  if (!named && (num_values < options.dense_below || vector)) treatment.sparsifier = kDense;
  if (treatment.sparsifier == kAuto) {
    treatment.sparsifier = kSparse;
    treatment.if_it_pays = true;
  }
  if (treatment.sparsifier == kDense || treatment.sparsifier == kRows) treatment.density = 1;
  return treatment;
}

ReducerOptions with_warmup(ReducerOptions options) {
  const bool low = options.density > 0 && options.density < 0.01 && options.sparsifier != kDense &&
                   options.sparsifier != kRows;
  if (!options.warmup_density) {
    const bool gradual = low && !options.warmup_steps && options.sparsifier != kAuto;
    options.warmup_density = gradual ? 0.25 : 1;
  }
  if (!options.warmup_steps) {
    const double steps = low ? std::min(1 / options.density, kMostWarmupSteps) : 0;
    options.warmup_steps = static_cast<std::uint64_t>(std::lround(steps));
  }
  return options;
}

double scheduled_density(const ReducerOptions& options, double density, std::uint64_t step) {
  const std::uint64_t steps = options.warmup_steps.value_or(0);
  if (step >= steps || density >= 1) return density;
  const double first = options.warmup_density.value_or(1);
  if (first >= 1 || density >= first) return std::max(first, density);
  // At density 0 the stages would never end; they go down to one value in a million.
  const double stages = std::ceil(std::log(first / std::max(density, 1e-6)) / std::log(4.0) - 1e-9);
  const double part = static_cast<double>(step) / static_cast<double>(steps);
  return std::max(density, first * std::pow(0.25, std::floor(part * stages)));
}

std::vector<std::string> option_lines(const ReducerOptions& options) {
  const collectives::SparsifierOptions& algorithm = options.algorithm;
  std::vector<std::string> lines;
  const auto add = [&](const char* name, const std::string& value) {
    lines.push_back("option " + std::string(name) + "=" + value);
  };
  add("sparsifier", options.sparsifier);
  add("density", text_of(options.density));
  add("scheme", options.scheme);
  add("wire", std::string(dtype_name(options.wire)));
  add("dense_below", std::to_string(options.dense_below));
  add("dense_vectors", options.dense_vectors ? "true" : "false");
  add("warmup_steps", std::to_string(options.warmup_steps.value_or(0)));
  add("warmup_density", text_of(options.warmup_density.value_or(1)));
  add("non_finite", name_of(options.non_finite));
  add("bucket_bytes", std::to_string(options.bucket_bytes));
  add("seed", std::to_string(options.seed));
  add("only_own_entries", std::to_string(algorithm.only_own_entries));
  add("hard_threshold", text_of(algorithm.hard_threshold));
  add("momentum", text_of(algorithm.momentum));
  add("clip_norm", text_of(algorithm.clip_norm));
  add("sidco_fit", std::to_string(static_cast<int>(algorithm.sidco_fit)));
  add("published_control", std::to_string(algorithm.published_control));
  add("threshold_steps", std::to_string(algorithm.threshold_steps));
  add("local_steps", std::to_string(algorithm.local_steps));
  add("decay", text_of(algorithm.decay));
  return lines;
}

}  // namespace tandem::training

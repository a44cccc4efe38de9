// SPDX-License-Identifier: Apache-2.0
//
// Parses loads and draws their requests. Draws directly from the 64-bit Mersenne twister, because
// the standard's distributions differ between libraries.
#include "simulation/serving/load.h"

#include <algorithm>
#include <cmath>

#include "common/error.h"
#include "common/number.h"
#include "common/suggestion.h"
#include "common/text_parts.h"

namespace tandem::simulation {
namespace {

constexpr int kRoundsOfABatch = 4;
constexpr std::int64_t kUsualRequests = 1000;
constexpr double kMostRequests = 1e9, kMostAtOnce = 1e6;

constexpr std::string_view kLoadKinds[] = {"batch", "poisson", "burst"};
constexpr std::string_view kLoadKeys[] = {"prompt", "output", "requests", "seconds", "every"};

[[noreturn]] void refuse_load(std::string_view word, const std::string& what) {
  throw Error("load", "'" + std::string(word) + "': " + what);
}

double positive(std::string_view word, std::string_view text) {
  const auto value = number_of<double>(text);
  if (!value || *value <= 0 || *value > kMostRequests) {
    refuse_load(word, "a number above 0 is needed, at most 1e9");
  }
  return *value;
}

LengthRange lengths(std::string_view word, std::string_view text) {
  const std::size_t dots = text.find("..");
  const auto least = number_of<int>(text.substr(0, dots));
  const auto most = dots == std::string_view::npos ? least : number_of<int>(text.substr(dots + 2));
  if (!least || !most || *least < 1 || *most < *least || *most > kMostTokens) {
    refuse_load(word, "lengths are 1 to " + std::to_string(kMostTokens) +
                          " tokens, or a range such as 100..2000");
  }
  return {*least, *most};
}

double whole(std::string_view word, std::string_view text) {
  const double value = positive(word, text);
  if (value != std::floor(value)) refuse_load(word, "a whole number of requests is needed");
  return value;
}

void set(LoadSpec& spec, std::string_view word) {
  const auto [key, value] = cut_at(word, '=');
  if (key == "prompt") {
    spec.prompt = lengths(word, value);
    spec.assumes_prompt = false;
  } else if (key == "output") {
    spec.output = lengths(word, value);
    spec.assumes_output = false;
  } else if (key == "requests") {
    spec.requests = static_cast<std::int64_t>(whole(word, value));
  } else if (key == "seconds") {
    spec.seconds = positive(word, value);
  } else if (key == "every") {
    spec.every_s = positive(word, value);
    spec.assumes_every = false;
  } else {
    refuse_load(
        word, "known are prompt, output, requests, seconds and every" + suggestion(key, kLoadKeys));
  }
}

LoadSpec::Kind kind_of(std::string_view name) {
  if (name == "batch") return LoadSpec::Kind::kBatch;
  if (name == "poisson") return LoadSpec::Kind::kPoisson;
  if (name == "burst") return LoadSpec::Kind::kBurst;
  refuse_load(name,
              "a load is batch:N, poisson:RATE or burst:N, as in batch:64,prompt=1024,output=256" +
                  suggestion(name, kLoadKinds));
}

}  // namespace

LoadSpec parse_load(std::string_view text) {
  const std::vector<std::string_view> words = parts_of(text, ',');
  const auto [kind, amount] = cut_at(words.front(), ':');
  LoadSpec spec;
  spec.kind = kind_of(kind);
  const bool is_rate = spec.kind == LoadSpec::Kind::kPoisson;
  spec.amount = is_rate ? positive(words.front(), amount) : whole(words.front(), amount);
  if (!is_rate && spec.amount > kMostAtOnce) {
    refuse_load(words.front(), "at most 1000000 requests come at once");
  }
  for (std::size_t i = 1; i < words.size(); ++i) set(spec, words[i]);
  if (spec.kind == LoadSpec::Kind::kBatch && spec.seconds > 0) {
    refuse_load(text, "a batch ends with its requests; seconds bound the other loads");
  }
  if (spec.requests == 0 && spec.kind == LoadSpec::Kind::kBatch) {
    spec.requests = kRoundsOfABatch * static_cast<std::int64_t>(spec.amount);
    spec.assumes_requests = true;
  } else if (spec.requests == 0 && spec.seconds == 0) {
    spec.requests = kUsualRequests;
    spec.assumes_requests = true;
  }
  spec.assumes_every = spec.kind == LoadSpec::Kind::kBurst && spec.assumes_every;
  return spec;
}

std::string assumptions_of(const LoadSpec& spec) {
  std::string text;
  const auto add = [&](bool is_assumed, const char* key, const std::string& value) {
    if (is_assumed) text += (text.empty() ? "" : ",") + std::string(key) + "=" + value;
  };
  add(spec.assumes_prompt, "prompt", std::to_string(spec.prompt.least));
  add(spec.assumes_output, "output", std::to_string(spec.output.least));
  add(spec.assumes_requests, "requests", std::to_string(spec.requests));
  add(spec.assumes_every, "every", std::to_string(std::lround(spec.every_s)));
  return text;
}

Load::Load(const LoadSpec& spec, std::uint64_t seed)
    : spec_(spec), random_(seed), num_requests_(spec.requests) {}

Load::Load(std::vector<SimulatedRequest> trace)
    : trace_(std::move(trace)),
      is_trace_(true),
      num_requests_(static_cast<std::int64_t>(trace_.size())) {}

int Load::in_flight() const {
  const bool is_batch = !is_trace_ && spec_.kind == LoadSpec::Kind::kBatch;
  return is_batch ? static_cast<int>(spec_.amount) : 0;
}

double Load::uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

int Load::draw(const LengthRange& range) {
  const double width = range.most - range.least + 1.0;
  return range.least + std::min(range.most - range.least, static_cast<int>(uniform() * width));
}

std::optional<SimulatedRequest> Load::next() {
  if (num_requests_ > 0 && num_given_ == num_requests_) return std::nullopt;
  if (is_trace_) return trace_[static_cast<std::size_t>(num_given_++)];
  if (spec_.kind == LoadSpec::Kind::kPoisson) {
    time_s_ += -std::log1p(-uniform()) / spec_.amount;
  } else if (spec_.kind == LoadSpec::Kind::kBurst) {
    time_s_ = spec_.every_s * std::floor(static_cast<double>(num_given_) / spec_.amount);
  }
  if (spec_.seconds > 0 && time_s_ >= spec_.seconds) return std::nullopt;
  ++num_given_;
  const int prompt = draw(spec_.prompt);
  return SimulatedRequest{time_s_, prompt, draw(spec_.output)};
}

}  // namespace tandem::simulation

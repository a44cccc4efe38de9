// SPDX-License-Identifier: Apache-2.0
//
// A part that lies in one piece is reduced where it lies; the segments of others are gathered.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "training/reducer/calls.h"
#include "training/reducer/values.h"

namespace tandem::training {
namespace {

// The bucket's values in the type in which they are reduced: f32 or f64.
struct Working {
  void* values = nullptr;
  DType type = DType::kF32;
  RawVector<float> wide;         // of 16-bit values
  RawVector<std::byte> clipped;  // a copy, so that a call that fails changes nothing
};

Working working_values(const BucketCall& call) {
  Working working{call.values, call.head.type, {}, {}};
  if (!is_16_bit(call.head.type)) return working;
  working.wide.resize(call.plan->num_values);
  widen(call.values, call.plan->num_values, call.head.type, working.wide.data());
  working.values = working.wide.data();
  working.type = DType::kF32;
  return working;
}

std::byte* at(const Working& working, std::uint64_t value) {
  return static_cast<std::byte*>(working.values) + value * bytes_of(working.type);
}

// The place in the bucket's list of the first parameter with a NaN or an infinity.
std::optional<std::uint64_t> first_bad_parameter(const BucketPlan& plan, const Working& working) {
  const auto place = first_non_finite(working.values, plan.num_values, working.type);
  if (!place) return std::nullopt;
  const auto after = std::ranges::upper_bound(plan.segments, *place, {}, &Segment::begin);
  return static_cast<std::uint64_t>(after - plan.segments.begin() - 1);
}

void clip_parameters(const BucketPlan& plan, Working& working) {
  const std::size_t size = plan.num_values * bytes_of(working.type);
  working.clipped.resize(size);
  std::memcpy(working.clipped.data(), working.values, size);
  working.values = working.clipped.data();
  for (const Segment& segment : plan.segments) {
    clip(at(working, segment.begin), segment.count, working.type);
  }
}

collectives::ReduceOptions dense_options(const CallContext& context, DType own_type) {
  collectives::ReduceOptions options;
  options.reduction = collectives::Reduction::kMean;
  options.timeout = context.options.timeout;
  options.bucket = "dense";
  // 16-bit gradients travel as they are.
  if (is_16_bit(own_type)) {
    options.wire = own_type;
  } else if (own_type == DType::kF32) {
    options.wire = context.options.wire;
  }
  return options;
}

void sum_densely(CallContext& context, const Working& working, std::span<const Segment> segments,
                 DType own_type) {
  std::uint64_t count = 0;
  for (const Segment& segment : segments) count += segment.count;
  const std::size_t width = bytes_of(working.type);
  const bool in_place =
      segments.back().begin + segments.back().count - segments.front().begin == count;
  RawVector<std::byte> gathered(in_place ? 0 : count * width);
  std::byte* to = gathered.data();
  for (const Segment& segment : segments) {
    if (in_place) break;
    std::memcpy(to, at(working, segment.begin), segment.count * width);
    to += segment.count * width;
  }
  void* values = in_place ? at(working, segments.front().begin) : gathered.data();
  collectives::allreduce(context.group, {working.type, count, values, {}},
                         dense_options(context, own_type));
  if (in_place) return;
  const std::byte* from = gathered.data();
  for (const Segment& segment : segments) {
    std::memcpy(at(working, segment.begin), from, segment.count * width);
    from += segment.count * width;
  }
}

// A part of one parameter: units are its rows.
void sum_rows(CallContext& context, const Working& working, const PartPlan& part,
              std::uint64_t width, DType own_type) {
  collectives::ReduceOptions options = dense_options(context, own_type);
  options.scheme = part.treatment.scheme;
  const Segment& segment = part.segments.front();
  options.bucket = "rows " + std::to_string(segment.parameter);
  collectives::sparse_allreduce_dense(context.group,
                                      {working.type, segment.count, at(working, segment.begin), {}},
                                      static_cast<std::uint32_t>(width), options);
}

// Writes a mean over the values of its part.
void write_mean(const collectives::SparseTensor& mean, const PartPlan& part,
                const Working& working) {
  const auto indices = mean.indices_as<std::uint32_t>();
  const auto values = mean.values_as<float>();
  std::size_t entry = 0;
  std::uint64_t begin = 0;  // of the segment, in the part
  for (const Segment& segment : part.segments) {
    auto* to = reinterpret_cast<float*>(at(working, segment.begin));
    std::fill_n(to, segment.count, 0.0f);
    for (; entry < indices.size() && indices[entry] < begin + segment.count; ++entry) {
      to[indices[entry] - begin] = values[entry];
    }
    begin += segment.count;
  }
}

// A residual grows beyond what a gradient of f16 can hold. What is beyond in a mean goes back to
// every rank's residual, so that no mass is lost.
void keep_beyond_f16(const collectives::SparseTensor& mean, collectives::Sparsifier& sparsifier) {
  const auto indices = mean.indices_as<std::uint32_t>();
  const auto values = mean.values_as<float>();
  const auto beyond = [](float value) { return std::fabs(value) > kMostF16; };
  if (std::ranges::none_of(values, beyond)) return;
  collectives::SparsifierState state = sparsifier.state();
  auto& residual = state.tensors.at(kResidual);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (beyond(values[i])) residual[indices[i]] += values[i] - std::copysign(kMostF16, values[i]);
  }
  sparsifier.restore(state);
}

void sparsify(CallContext& context, const Working& working, const PartPlan& part,
              const CallHead& head, CallResult& result) {
  const double density = scheduled_density(context.options, part.treatment.density, head.step);
  collectives::Sparsifier& sparsifier = context.feedback.sparsifier_of(part, density);
  RawVector<float> gathered;
  std::span<const float> gradient(
      reinterpret_cast<const float*>(at(working, part.segments.front().begin)), part.num_values);
  if (!part.contiguous()) {
    gathered.reserve(part.num_values);
    for (const Segment& segment : part.segments) {
      const auto* from = reinterpret_cast<const float*>(at(working, segment.begin));
      gathered.insert(gathered.end(), from, from + segment.count);
    }
    gradient = gathered;
  }
  const collectives::StepResult step_result = sparsifier.step(context.group, gradient);
  if (head.type == DType::kF16) keep_beyond_f16(step_result.mean, sparsifier);
  write_mean(step_result.mean, part, working);
  const auto entries = static_cast<double>(step_result.mean.num_entries);
  result.sparsified_values += part.num_values;
  result.asked += density * static_cast<double>(part.num_values);
  result.sent += step_result.sent;
  result.entries += entries;
  result.meant += entries / step_result.build_up;
  result.select_seconds += step_result.accumulate_seconds + step_result.select_seconds;
}

// Adds what trials and steps before have kept back.
void add_residual(CallContext& context, const Working& working, const PartPlan& part) {
  const RawVector<float> residual = context.feedback.take_residual(part);
  if (residual.empty()) return;
  auto from = residual.begin();
  for (const Segment& segment : part.segments) {
    auto* to = reinterpret_cast<float*>(at(working, segment.begin));
    for (std::uint64_t i = 0; i < segment.count; ++i) to[i] += *from++;
  }
}

bool is_sparsified_if_it_pays(const PartPlan& part) {
  return part.kind == PartKind::kSparsified && part.treatment.if_it_pays;
}

// Whether this call sparsifies the parts that ask whether it pays.
bool pays(CallContext& context, const BucketCall& call) {
  if (std::ranges::none_of(call.plan->parts, is_sparsified_if_it_pays)) return false;
  if (call.head.step < context.options.warmup_steps) return true;
  collectives::CallOptions options;
  options.timeout = context.options.timeout;
  return context.trial.sparsifies(context.group, call.head.step, options);
}

// What is summed densely in one message, in the bucket's order.
std::vector<Segment> dense_segments(CallContext& context, const Working& working,
                                    const BucketPlan& plan, bool sparsifies) {
  std::vector<Segment> dense;
  for (const PartPlan& part : plan.parts) {
    const bool waits = is_sparsified_if_it_pays(part) && !sparsifies;
    if (!waits && part.kind != PartKind::kDense) continue;
    if (waits && context.trial.outcome().payoff == Payoff::kDense) {
      add_residual(context, working, part);
    }
    dense.insert(dense.end(), part.segments.begin(), part.segments.end());
  }
  std::ranges::sort(dense, {}, &Segment::begin);
  return dense;
}

bool is_dense_step(const CallContext& context, const BucketCall& call) {
  const ReducerOptions& options = context.options;
  return call.exact || call.head.type == DType::kF64 ||
         (call.head.step < options.warmup_steps && options.warmup_density >= 1);
}

void reduce_parts(CallContext& context, const BucketCall& call, const Working& working,
                  CallResult& result) {
  const BucketPlan& plan = *call.plan;
  result.dense = is_dense_step(context, call);
  if (result.dense) {
    if (call.exact) context.trial.interrupt();
    const bool flush = call.flush && working.type == DType::kF32;  // f64 has no residuals
    for (const PartPlan& part : plan.parts) {
      if (flush && part.kind == PartKind::kSparsified) add_residual(context, working, part);
    }
    return sum_densely(context, working, plan.segments, call.head.type);
  }
  const bool sparsifies = pays(context, call);
  const std::vector<Segment> dense = dense_segments(context, working, plan, sparsifies);
  if (!dense.empty()) sum_densely(context, working, dense, call.head.type);
  result.dense = dense.size() == plan.segments.size() &&
                 std::ranges::any_of(plan.parts, is_sparsified_if_it_pays);
  for (const PartPlan& part : plan.parts) {
    switch (part.kind) {
      case PartKind::kDense:
        break;
      case PartKind::kRows: {
        const auto same = [&](const Segment& one) { return one.begin == part.segments[0].begin; };
        const auto place = std::ranges::find_if(plan.segments, same) - plan.segments.begin();
        sum_rows(context, working, part, plan.widths[static_cast<std::size_t>(place)],
                 call.head.type);
        break;
      }
      case PartKind::kSparsified:
        if (is_sparsified_if_it_pays(part) && !sparsifies) break;
        sparsify(context, working, part, call.head, result);
    }
  }
}

CallPlan plan_of(const BucketCall& call) {
  CallPlan plan{*call.head.model, {}, call.head.error, {}};
  plan.lines = {"the step=" + std::to_string(call.head.step),
                "the call=a bucket",
                "the bucket's type=" + std::string(dtype_name(call.head.type)),
                "the bucket's flag exact=" + std::to_string(call.exact),
                "the bucket's flag flush=" + std::to_string(call.flush),
                "the bucket's flag last=" + std::to_string(call.head.last)};
  if (call.plan == nullptr) return plan;
  plan.lines.push_back("the bucket's number of parameters=" +
                       std::to_string(call.plan->parameters.size()));
  plan.lines.insert(plan.lines.end(), call.plan->lines.begin(), call.plan->lines.end());
  return plan;
}

}  // namespace

NonFiniteError::NonFiniteError(std::uint64_t step, int rank, const std::string& parameter)
    : Error("training",
            "step " + std::to_string(step) + ": the gradient of " + parameter + " on rank " +
                std::to_string(rank) +
                " has a NaN or an infinity; lower the learning rate, or set non_finite to skip, "
                "clip or pass"),
      step_(step),
      rank_(rank),
      parameter_(parameter) {}

CallResult run_bucket(CallContext& context, const BucketCall& call) {
  CallPlan plan = plan_of(call);
  Working working;
  if (plan.error.empty()) {
    working = working_values(call);
    plan.non_finite = first_bad_parameter(*call.plan, working);
  }
  collectives::CallOptions options;
  options.timeout = context.options.timeout;
  const auto bad = agree_on_call(context.group, plan, options);
  CallResult result;
  const std::uint64_t count = call.plan->num_values;
  if (bad) {
    switch (context.options.non_finite) {
      case OnNonFinite::kStop:
        throw NonFiniteError(call.head.step, bad->rank, call.plan->names[bad->parameter]);
      case OnNonFinite::kSkip:
        result.skipped = true;
        fill(call.values, count, call.head.type, 0);
        return result;
      case OnNonFinite::kPass:
        result.passed = true;
        fill(call.values, count, call.head.type, std::numeric_limits<double>::quiet_NaN());
        return result;
      case OnNonFinite::kClip:
        result.clipped = true;
        clip_parameters(*call.plan, working);
    }
  }
  reduce_parts(context, call, working, result);
  if (is_16_bit(call.head.type)) {
    narrow(static_cast<const float*>(working.values), count, call.head.type, call.values);
  } else if (working.values != call.values) {
    std::memcpy(call.values, working.values, count * bytes_of(working.type));
  }
  return result;
}

}  // namespace tandem::training

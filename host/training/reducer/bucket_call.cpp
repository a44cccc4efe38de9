// SPDX-License-Identifier: Apache-2.0
//
// A dense part in one piece is reduced in place; the segments of other parts are gathered.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "training/reducer/calls.h"
#include "training/reducer/values.h"
#include "training/reducer/working_values.h"

namespace tandem::training {
namespace {

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

using Parts = std::vector<const PartPlan*>;

// Adds the residuals of earlier steps and removes them from the state.
void add_residual(CallContext& context, WorkingValues& working, const PartPlan& part) {
  const RawVector<float> residual = context.feedback.take_residual(part);
  if (residual.empty()) return;
  auto from = residual.begin();
  for (const Segment& segment : part.segments) {
    auto* to = reinterpret_cast<float*>(working.at(segment.begin));
    for (std::uint64_t i = 0; i < segment.count; ++i) to[i] += *from++;
  }
}

// with_residuals: parts of `segments`.
void sum_densely(CallContext& context, WorkingValues& working, std::span<const Segment> segments,
                 DType own_type, const Parts& with_residuals = {}) {
  std::uint64_t count = 0;
  for (const Segment& segment : segments) count += segment.count;
  const std::size_t width = bytes_of(working.type());
  working.load(segments);
  for (const PartPlan* part : with_residuals) add_residual(context, working, *part);
  const bool in_place =
      segments.back().begin + segments.back().count - segments.front().begin == count;
  RawVector<std::byte> gathered(in_place ? 0 : count * width);
  std::byte* to = gathered.data();
  for (const Segment& segment : segments) {
    if (in_place) break;
    std::memcpy(to, working.at(segment.begin), segment.count * width);
    to += segment.count * width;
  }
  void* values = in_place ? working.at(segments.front().begin) : gathered.data();
  collectives::allreduce(context.group, {working.type(), count, values, {}},
                         dense_options(context, own_type));
  if (in_place) return;
  const std::byte* from = gathered.data();
  for (const Segment& segment : segments) {
    std::memcpy(working.at(segment.begin), from, segment.count * width);
    from += segment.count * width;
  }
}

// A part of one parameter: units are its rows.
void sum_rows(CallContext& context, WorkingValues& working, const PartPlan& part,
              std::uint64_t width, DType own_type) {
  collectives::ReduceOptions options = dense_options(context, own_type);
  options.scheme = part.treatment.scheme;
  const Segment& segment = part.segments.front();
  options.bucket = "rows " + std::to_string(segment.parameter);
  working.load(part.segments);
  collectives::sparse_allreduce_dense(
      context.group, {working.type(), segment.count, working.at(segment.begin), {}},
      static_cast<std::uint32_t>(width), options);
}

// Writes a mean over the values of its part.
void write_mean(const collectives::SparseTensor& mean, const PartPlan& part,
                WorkingValues& working) {
  const auto indices = mean.indices_as<std::uint32_t>();
  const auto values = mean.values_as<float>();
  std::size_t entry = 0;
  std::uint64_t begin = 0;  // offset of the segment in the part
  for (const Segment& segment : part.segments) {
    const std::size_t first = entry;
    while (entry < indices.size() && indices[entry] < begin + segment.count) ++entry;
    if (working.is_whole()) {
      auto* to = reinterpret_cast<float*>(working.at(segment.begin));
      std::fill_n(to, segment.count, 0.0f);
      for (std::size_t i = first; i < entry; ++i) to[indices[i] - begin] = values[i];
    } else {
      working.put(segment, indices.subspan(first, entry - first),
                  values.subspan(first, entry - first), begin);
    }
    begin += segment.count;
  }
}

// The part's values in their present memory.
std::vector<device::GradientView> pieces_of(const PartPlan& part, WorkingValues& working) {
  std::vector<device::GradientView> pieces;
  for (const Segment& segment : part.segments) {
    if (working.is_whole()) {
      pieces.push_back({{working.at(segment.begin), segment.count * sizeof(float)}, {}, {}});
    } else {
      pieces.push_back(working.view(segment));
    }
  }
  return pieces;
}

// A residual can exceed the range of f16. The excess of a mean returns to the residuals of all
// ranks, so that nothing is lost.
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

void sparsify(CallContext& context, WorkingValues& working, const PartPlan& part,
              const BucketCall& call, CallResult& result) {
  const double density = scheduled_density(context.options, part.treatment.density, call.head.step);
  collectives::Sparsifier& sparsifier = context.feedback.sparsifier_of(part, density, call.device);
  const std::vector<device::GradientView> pieces = pieces_of(part, working);
  const collectives::StepResult step_result =
      sparsifier.step(context.group, collectives::GradientPieces(pieces));
  if (call.head.type == DType::kF16) keep_beyond_f16(step_result.mean, sparsifier);
  write_mean(step_result.mean, part, working);
  const auto entries = static_cast<double>(step_result.mean.num_entries);
  result.sparsified_values += part.num_values;
  result.asked += density * static_cast<double>(part.num_values);
  result.sent += step_result.sent;
  result.entries += entries;
  result.meant += entries / step_result.build_up;
  result.select_seconds += step_result.accumulate_seconds + step_result.select_seconds;
}

bool is_sparsified_if_it_pays(const PartPlan& part) {
  return part.kind == PartKind::kSparsified && part.treatment.if_it_pays;
}

// Whether this call sparsifies the parts that ask whether it pays.
bool pays(CallContext& context, const BucketCall& call) {
  if (std::ranges::none_of(call.plan->parts, is_sparsified_if_it_pays)) return false;
  if (call.head.step < *context.options.warmup_steps) return true;
  collectives::CallOptions options;
  options.timeout = context.options.timeout;
  return context.trial.sparsifies(context.group, call.head.step, options);
}

// Sums the dense values in one message. `sparsifies`: whether the parts that request it are
// sparsified. Returns true if the message contained all values.
bool sum_dense_parts(CallContext& context, const BucketCall& call, WorkingValues& working,
                     bool sparsifies) {
  std::vector<Segment> dense;
  Parts with_residuals;
  for (const PartPlan& part : call.plan->parts) {
    const bool waits = is_sparsified_if_it_pays(part) && !sparsifies;
    if (!waits && part.kind != PartKind::kDense) continue;
    if (waits && context.trial.outcome().payoff == Payoff::kDense) with_residuals.push_back(&part);
    dense.insert(dense.end(), part.segments.begin(), part.segments.end());
  }
  std::ranges::sort(dense, {}, &Segment::begin);
  if (!dense.empty()) sum_densely(context, working, dense, call.head.type, with_residuals);
  return dense.size() == call.plan->segments.size();
}

bool is_dense_step(const CallContext& context, const BucketCall& call) {
  const ReducerOptions& options = context.options;
  return call.exact || call.head.type == DType::kF64 ||
         (call.head.step < *options.warmup_steps && *options.warmup_density >= 1);
}

void reduce_parts(CallContext& context, const BucketCall& call, WorkingValues& working,
                  CallResult& result) {
  const BucketPlan& plan = *call.plan;
  if (result.dense) {
    if (call.exact) context.trial.interrupt();
    Parts with_residuals;
    for (const PartPlan& part : plan.parts) {
      if (call.flush && part.kind == PartKind::kSparsified && working.type() == DType::kF32) {
        with_residuals.push_back(&part);
      }
    }
    return sum_densely(context, working, plan.segments, call.head.type, with_residuals);
  }
  const bool sparsifies = pays(context, call);
  result.dense = sum_dense_parts(context, call, working, sparsifies) &&
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
        sparsify(context, working, part, call, result);
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

std::string text_without_module(const Error& error) {
  const std::string text = error.what();
  const std::string module = "[training] ";
  return text.starts_with(module) ? text.substr(module.size()) : text;
}

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
  CallResult result;
  result.dense = is_dense_step(context, call);
  const Deadline deadline = Deadline::after(context.options.timeout);
  std::optional<WorkingValues> working;
  if (plan.error.empty()) {
    try {
      device::GradientMemory* memory =
          call.device.empty() ? nullptr : &context.devices.memory(call.device);
      working.emplace(call, memory, deadline);
      if (result.dense || !working->on_device()) working->load_all();
      plan.non_finite = working->first_bad_parameter();
    } catch (const Error& error) {
      plan.error = text_without_module(error);
    }
  }
  collectives::CallOptions options;
  options.timeout = context.options.timeout;
  if (const auto bad = agree_on_call(context.group, plan, options)) {
    switch (context.options.non_finite) {
      case OnNonFinite::kStop:
        throw NonFiniteError(call.head.step, bad->rank, call.plan->names[bad->parameter]);
      case OnNonFinite::kSkip:
      case OnNonFinite::kPass:
        result.skipped = context.options.non_finite == OnNonFinite::kSkip;
        result.passed = !result.skipped;
        result.dense = false;
        working->fill(result.skipped ? 0 : std::numeric_limits<double>::quiet_NaN());
        return result;
      case OnNonFinite::kClip:
        result.clipped = true;
        working->clip_parameters();
    }
  }
  reduce_parts(context, call, *working, result);
  working->store();
  return result;
}

}  // namespace tandem::training

// SPDX-License-Identifier: Apache-2.0
//
// The mean comes from sums of the ranks' scores.
#include "training/trainer/text_task.h"

#include <span>

#include "collectives/collective.h"
#include "training/trainer/checkpoint.h"
#include "training/trainer/run_with_heartbeat.h"

namespace tandem::training {
namespace {

constexpr const char* kSkeletonFile = "skeleton.gguf";

}  // namespace

TextTask::TextTask(const TextParts& parts, const TextSizes& sizes)
    : parts_(parts), sizes_(sizes), batches_(parts.text, parts.model, sizes) {}

std::uint64_t TextTask::losses_of_sample() const {
  return static_cast<std::uint64_t>(sizes_.context);
}

double TextTask::backward(std::uint64_t first, float scale, GradientListener* listener) {
  return parts_.computation.backward(batches_.at(first), scale, listener);
}

std::optional<EvaluationFigures> TextTask::evaluate(collectives::Group* group,
                                                    const Patience& patience) {
  if (parts_.evaluated == nullptr) return {};
  const int rank = group == nullptr ? 0 : group->rank();
  const int world = group == nullptr ? 1 : group->world();
  Likelihood own;
  run_with_heartbeat(group, patience, [&] {
    own = training::evaluate(parts_.computation, *parts_.evaluated, batches_.rows(),
                             parts_.model.tokenizer->bos(), {rank, world});
    return "";
  });
  std::vector<double> sums = {own.nll, static_cast<double>(own.tokens)};
  if (world > 1) {
    collectives::ReduceOptions sum;
    sum.timeout = patience.timeout;
    collectives::allreduce(*group, collectives::DenseView::of(sums), sum);
  }
  if (rank != 0 || sums[1] == 0) return {};
  EvaluationFigures figures;
  figures.mean_nll = sums[0] / sums[1];
  figures.tokens = static_cast<std::uint64_t>(sums[1]);
  return figures;
}

void TextTask::describe(nlohmann::ordered_json& fields) const {
  fields["family"] = parts_.model.family;
  fields["tied"] = parts_.model.tied;
}

void TextTask::write_files(const std::string& folder) const {
  write_bytes(folder + "/" + kSkeletonFile, std::as_bytes(std::span(parts_.model.skeleton)));
}

}  // namespace tandem::training

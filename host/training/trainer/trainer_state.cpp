// SPDX-License-Identifier: Apache-2.0
//
// What a Trainer keeps in a checkpoint, and how the ranks write it together (declared in
// trainer.h).
//
// model.safetensors, optimizer.safetensors, skeleton.gguf, and reducer-R.bin of every rank R. The
// folder must be the same for all ranks. An error of one rank is the error of all.
#include "common/error.h"
#include "training/trainer/together.h"
#include "training/trainer/trainer.h"

namespace tandem::training {
namespace {

constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kOptimizerFile = "optimizer.safetensors";
constexpr const char* kSkeletonFile = "skeleton.gguf";

std::string reducer_file(int rank) { return "reducer-" + std::to_string(rank) + ".bin"; }

template <typename Field>
Field field(const Checkpoint& checkpoint, const char* name) {
  try {
    return checkpoint.fields.at(name).get<Field>();
  } catch (const nlohmann::json::exception& error) {
    throw Error("train", "'" + checkpoint.file("checkpoint.json") + "': field '" + name +
                             "': " + error.what());
  }
}

}  // namespace

void Trainer::write_files(const std::string& folder) {
  std::vector<StoredTensor> values;
  for (std::size_t parameter = 0; parameter < parts_.parameters.size(); ++parameter) {
    const ParameterSpec& spec = parts_.parameters.spec(parameter);
    values.push_back({spec.name, spec.shape, parts_.parameters.values(parameter)});
  }
  write_tensors(folder + "/" + kModelFile, values);
  std::vector<StoredTensor> moments;
  for (const StateView& view : optimizer_.state()) {
    moments.push_back({view.name, {static_cast<std::int64_t>(view.values.size())}, view.values});
  }
  write_tensors(folder + "/" + kOptimizerFile, moments);
  write_bytes(folder + "/" + kSkeletonFile, std::as_bytes(std::span(parts_.model.skeleton)));
}

nlohmann::ordered_json Trainer::checkpoint_fields(const ReduceState& reduce) const {
  return {{"family", "llama"},
          {"samples", samples_},
          {"world", world()},
          {"seed", options_.seed},
          {"tied", parts_.model.tied},
          {"optimizer", rule_name(options_.rule)},
          {"reduce", {{"choice", to_string(options_.reduce.choice)}, {"order", reduce.order}}}};
}

void Trainer::save() {
  const ReduceState reduce = mean_->state();
  const auto timeout = options_.reduce.timeout;
  std::unique_ptr<CheckpointWriter> writer;
  const std::string folder = together(group_, timeout, [&] {
    if (rank() == 0) writer = std::make_unique<CheckpointWriter>(options_.out, step_);
    return writer ? writer->files() : "";
  });
  together(group_, timeout, [&] {
    if (rank() == 0) write_files(folder);
    if (!reduce.reducer.empty()) write_bytes(folder + "/" + reducer_file(rank()), reduce.reducer);
    return "";
  });
  together(group_, timeout, [&] {
    if (writer) writer->seal(checkpoint_fields(reduce));
    return "";
  });
  // Between the two all ranks are there: one that was left out and comes back publishes nothing.
  together(group_, timeout, [&] {
    if (writer) writer->publish(options_.keep);
    return "";
  });
  last_ = CheckpointWriter::folder(options_.out, step_);
  times_back_ = 0;
}

void Trainer::restore_values(const Checkpoint& checkpoint) {
  const auto optimizer = field<std::string>(checkpoint, "optimizer");
  if (optimizer != rule_name(options_.rule)) {
    throw Error("train", "'" + checkpoint.folder + "' is of the optimizer " + optimizer +
                             "; resume with the same --optimizer");
  }
  std::vector<WantedTensor> values;
  for (std::size_t parameter = 0; parameter < parts_.parameters.size(); ++parameter) {
    const ParameterSpec& spec = parts_.parameters.spec(parameter);
    values.push_back({spec.name, spec.shape, parts_.parameters.values(parameter)});
  }
  read_tensors(checkpoint.file(kModelFile), values);
  std::vector<WantedTensor> moments;
  for (const StateView& view : optimizer_.state()) {
    moments.push_back({view.name, {static_cast<std::int64_t>(view.values.size())}, view.values});
  }
  read_tensors(checkpoint.file(kOptimizerFile), moments);
  step_ = field<std::uint64_t>(checkpoint, "step");
  samples_ = field<std::uint64_t>(checkpoint, "samples");
}

void Trainer::restore_reduction(const Checkpoint& checkpoint) {
  const auto reduce = field<nlohmann::json>(checkpoint, "reduce");
  ReduceState state;  // of the same ranks, else empty
  const bool same = field<int>(checkpoint, "world") == world() &&
                    reduce.at("choice") == to_string(options_.reduce.choice);
  if (same && world() > 1) {
    state.order = reduce.at("order").get<std::vector<std::uint32_t>>();
    state.reducer = read_bytes(checkpoint.file(reducer_file(rank())));
  }
  mean_->restore(state);
}

}  // namespace tandem::training

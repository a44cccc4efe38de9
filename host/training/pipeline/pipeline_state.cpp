// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints of a PipelineTrainer, its profile, and what it tells of migrations (declared in
// pipeline_trainer.h).
//
// Every rank writes its layers' parts into the one file of all ranks. So a checkpoint does not
// depend on who had a layer. A rank that resumes reads the whole file and keeps its part.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "collectives/collective.h"
#include "common/error.h"
#include "training/pipeline/pipeline_profile.h"
#include "training/trainer/dense_update.h"
#include "training/trainer/run_with_heartbeat.h"

namespace tandem::training {
namespace {

constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kOptimizerFile = "optimizer.safetensors";
constexpr const char* kSkeletonFile = "skeleton.gguf";

std::uint64_t count_of(const std::vector<std::int64_t>& shape) {
  std::uint64_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::uint64_t>(size);
  return count;
}

std::vector<TensorPlace> model_places(const std::vector<ParameterSpec>& parameters) {
  std::vector<TensorPlace> places;
  for (const ParameterSpec& spec : parameters) places.push_back({spec.name, spec.shape});
  return places;
}

std::vector<TensorPlace> optimizer_places(const std::vector<ParameterSpec>& parameters,
                                          const UpdateRule& rule) {
  std::vector<TensorPlace> places;
  for (const ParameterSpec& spec : parameters) {
    const std::uint64_t count = count_of(spec.shape);
    const auto width = static_cast<std::uint32_t>(
        spec.shape.size() > 1 ? spec.shape.back() : static_cast<std::int64_t>(count));
    add_state_places(spec.name, count, width, rule_of(spec, rule), places);
  }
  return places;
}

// Reads all tensors of a file into `own` where it has the name, else into memory of its own.
void read_own(const std::string& path, const std::vector<TensorPlace>& places,
              const std::map<std::string, std::span<float>>& own) {
  std::vector<std::vector<float>> others;
  std::vector<WantedTensor> wanted;
  for (const TensorPlace& place : places) {
    const auto found = own.find(place.name);
    if (found != own.end()) {
      wanted.push_back({place.name, place.shape, found->second});
      continue;
    }
    others.emplace_back(count_of(place.shape));
    wanted.push_back({place.name, place.shape, others.back()});
  }
  read_tensors(path, wanted);
}

}  // namespace

std::vector<LayerProfile> PipelineTrainer::gather_profile() {
  std::vector<double> own = {profile_->bytes_per_second};
  const double micro_batches =
      static_cast<double>(std::max<std::uint64_t>(profile_->micro_batches, 1));
  for (const auto& [number, layer] : layers_) {
    const StageSeconds& sum = profile_->layers[number];
    own.insert(own.end(), {static_cast<double>(number), sum.forward / micro_batches,
                           sum.backward / micro_batches, sum.weights / micro_batches,
                           static_cast<double>(layer->num_bytes())});
  }
  std::vector<LayerProfile> profile(specs_.size());
  const auto take = [&](std::span<const double> numbers) {
    const double rate = numbers[0];
    double& slowest = profile_->bytes_per_second;
    if (rate > 0 && (slowest == 0 || rate < slowest)) slowest = rate;
    for (std::size_t at = 1; at + 4 < numbers.size(); at += 5) {
      profile[static_cast<std::size_t>(numbers[at])] = {
          {numbers[at + 1], numbers[at + 2], numbers[at + 3]},
          static_cast<std::uint64_t>(numbers[at + 4])};
    }
  };
  if (group_ == nullptr) {
    take(own);
    return profile;  // one rank
  }
  collectives::CallOptions options;
  options.timeout = options_.reduce.timeout;
  for (const auto& bytes :
       collectives::allgatherv(*group_, std::as_bytes(std::span(own)), options)) {
    std::vector<double> numbers(bytes.size() / sizeof(double));
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    take(numbers);
  }
  return slowest_of_replicas(std::move(profile));
}

// What the layers of a window would take as they lay at first, as they lie, and at best.
void PipelineTrainer::tell_window(const std::vector<LayerProfile>& profile) {
  if (!is_first() || !parts_.tell || profile_->micro_batches == 0) return;
  RebalanceQuestion question{plan_, profile};
  question.rank_bytes = pipeline_.rank_bytes;
  const StagePlan best = best_stages(question, world()).value_or(plan_);
  nlohmann::ordered_json line = {{"profiled_steps", {profile_->since_step + 1, step_}},
                                 {"cuts", plan_.cuts}};
  for (const auto& [name, plan] : {std::pair<const char*, const StagePlan*>("first", &first_plan_),
                                   {"present", &plan_},
                                   {"best", &best}}) {
    line[name] = {{"bottleneck_us", bottleneck_seconds(*plan, profile) * 1e6},
                  {"step_us", predicted_step(*plan, profile) * 1e6}};
  }
  std::vector<double> layers;
  for (const LayerProfile& layer : profile) {
    layers.push_back((layer.seconds.forward + layer.seconds.backward) * 1e6);
  }
  line["layers_us"] = layers;
  parts_.tell(line);
}

// Times of the steps since the last change, and what following them has cost.
void PipelineTrainer::tell_profile() {
  const std::vector<LayerProfile> profile = gather_profile();
  tell_window(profile);
  if (!is_first() || !parts_.tell) return;
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  for (const LayerProfile& layer : profile) {
    layers.push_back({{"forward_us", layer.seconds.forward * 1e6},
                      {"backward_us", layer.seconds.backward * 1e6},
                      {"bytes", layer.bytes}});
  }
  const double seconds = Profile::seconds_since(profile_->run_begin);
  const double measuring_s =
      static_cast<double>(profile_->readings) * seconds_of_reading(pipeline_.clock);
  parts_.tell(
      {{"pipeline",
        {{"cuts", plan_.cuts},
         {"layers", layers},
         {"predicted_step_ms", predicted_step(plan_, profile) * 1e3},
         {"migrations", profile_->migrations},
         {"overhead", (measuring_s + profile_->deciding_s + profile_->moving_s) / seconds}}}});
}

void PipelineTrainer::save_if_due() {
  const bool last = step_ == options_.steps || stopped_;
  const bool due = options_.save_every > 0 && step_ % options_.save_every == 0;
  if (options_.out.empty() || !(last || due)) return;
  const transport::ByteBuffer residuals = gather_residuals();
  if (replica_ == 0) save(residuals);
}

nlohmann::ordered_json PipelineTrainer::checkpoint_fields() const {
  nlohmann::ordered_json fields = {
      {"samples", samples_},
      {"world", 1},
      {"seed", options_.seed},
      {"optimizer", rule_name(options_.rule)},
      {"reduce",
       {{"choice", to_string(options_.reduce.choice)},
        {"auto", false},
        {"order", std::vector<std::uint32_t>()},
        {"directions", false}}},
      {"pipeline", {{"ranks", plan_.shape.ranks}, {"cuts", plan_.cuts}}}};
  if (has_residuals()) fields["residuals"] = residual_fields();
  for (const auto& [name, value] : options_.described) fields["options"][name] = value;
  if (parts_.model != nullptr) {
    fields["family"] = parts_.model->family;
    fields["tied"] = parts_.model->tied;
  }
  return fields;
}

void PipelineTrainer::write_parts_of(const std::string& folder) {
  std::vector<TensorPart> values, state;
  for (const auto& [number, layer] : layers_) {
    ParameterSet& parameters = layer->parameters();
    for (std::size_t at = 0; at < layer->spec().numbers.size(); ++at) {
      values.push_back({parameters.spec(at).name, 0, parameters.values(at)});
    }
    for (const StateView& view : layer->state()) {
      state.push_back({view.name, view.first, view.values});
    }
  }
  write_parts(folder + "/" + kModelFile, values);
  write_parts(folder + "/" + kOptimizerFile, state);
}

void PipelineTrainer::save(const transport::ByteBuffer& residuals) {
  std::unique_ptr<CheckpointWriter> writer;
  const std::string folder = run_with_heartbeat(group_, patience(), [&]() -> std::string {
    if (rank() != 0) return "";
    writer = std::make_unique<CheckpointWriter>(options_.out, step_);
    create_tensors(writer->files() + "/" + kModelFile, model_places(parts_.parameters));
    create_tensors(writer->files() + "/" + kOptimizerFile,
                   optimizer_places(parts_.parameters, options_.rule));
    if (parts_.model != nullptr) {
      write_bytes(writer->files() + "/" + kSkeletonFile,
                  std::as_bytes(std::span(parts_.model->skeleton)));
    }
    return writer->files();
  });
  run_with_heartbeat(group_, patience(), [&] {
    write_parts_of(folder);
    write_residuals(folder, residuals);
    return "";
  });
  run_with_heartbeat(group_, patience(), [&] {
    if (!writer) return "";
    writer->seal(checkpoint_fields());
    writer->publish(options_.keep);
    return "";
  });
}

void PipelineTrainer::resume(const Checkpoint& checkpoint) {
  const auto optimizer = checkpoint.fields.value("optimizer", "");
  if (optimizer != rule_name(options_.rule)) {
    throw Error("train", "'" + checkpoint.folder + "' is of the optimizer " + optimizer +
                             "; resume with the same --optimizer");
  }
  step_ = checkpoint.fields.value("step", std::uint64_t{0});
  samples_ = checkpoint.fields.value("samples", std::uint64_t{0});
  if (step_ > options_.steps) {
    throw Error("train", "'" + checkpoint.folder + "' is of step " + std::to_string(step_) +
                             ", and --steps " + std::to_string(options_.steps) +
                             " counts from the very first step; ask for more steps than it has");
  }
  resumed_ = checkpoint;
}

void PipelineTrainer::restore(const Checkpoint& checkpoint) {
  std::map<std::string, std::span<float>> values, state;
  for (const auto& [number, layer] : layers_) {
    ParameterSet& parameters = layer->parameters();
    for (std::size_t at = 0; at < layer->spec().numbers.size(); ++at) {
      values.emplace(parameters.spec(at).name, parameters.values(at));
    }
    for (const StateView& view : layer->state()) state.emplace(view.name, view.values);
  }
  read_own(checkpoint.file(kModelFile), model_places(parts_.parameters), values);
  read_own(checkpoint.file(kOptimizerFile), optimizer_places(parts_.parameters, options_.rule),
           state);
  restore_residuals(checkpoint);
}

}  // namespace tandem::training

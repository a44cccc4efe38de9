// SPDX-License-Identifier: Apache-2.0
//
// What a Trainer keeps in a checkpoint, and how the ranks write it together (declared in
// trainer.h).
//
// model.safetensors, optimizer.safetensors, the task's files, and reducer-R.bin of every rank R.
// Every rank writes its part of the optimizer's state into the one file, so the state does not
// depend on who had it. The folder must be the same for all ranks. An error of one rank is the
// error of all.
#include <map>
#include <string_view>

#include "common/error.h"
#include "training/reducer/options.h"
#include "training/trainer/run_with_heartbeat.h"
#include "training/trainer/trainer.h"

namespace tandem::training {
namespace {

constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kOptimizerFile = "optimizer.safetensors";

std::string directions_file(int rank) { return "directions-" + std::to_string(rank) + ".bin"; }
std::string reducer_file(int rank) { return "reducer-" + std::to_string(rank) + ".bin"; }

std::vector<std::int64_t> shape_of(const TrainedTable& table) {
  return {static_cast<std::int64_t>(table.weights.size() / table.width),
          static_cast<std::int64_t>(table.width)};
}

void write_state(const std::string& path, const std::vector<StateView>& views) {
  std::vector<TensorPart> parts;
  for (const StateView& view : views) parts.push_back({view.name, view.first, view.values});
  write_parts(path, parts);
}

template <typename Field>
Field field(const Checkpoint& checkpoint, const char* name) {
  try {
    return checkpoint.fields.at(name).get<Field>();
  } catch (const nlohmann::json::exception& error) {
    throw Error("train", "'" + checkpoint.file("checkpoint.json") + "': field '" + name +
                             "': " + error.what());
  }
}

struct SavedReduction {
  int world = 0;
  std::string choice;
  std::vector<std::uint32_t> order;
  bool directions = false;
  bool automatic = false;
};

SavedReduction reduction_of(const Checkpoint& checkpoint) {
  const auto reduce = field<nlohmann::json::object_t>(checkpoint, "reduce");
  try {
    const nlohmann::json fields = reduce;
    return {field<int>(checkpoint, "world"), fields.at("choice").get<std::string>(),
            fields.at("order").get<std::vector<std::uint32_t>>(), fields.value("directions", false),
            fields.value("auto", false)};
  } catch (const nlohmann::json::exception& error) {
    throw Error("train",
                "'" + checkpoint.file("checkpoint.json") + "': field 'reduce': " + error.what());
  }
}

void require_rule(const Checkpoint& checkpoint, const char* what, const UpdateRule& rule) {
  const auto saved = field<std::string>(checkpoint, what);
  if (saved == rule_name(rule)) return;
  const bool of_tables = std::string_view(what) != "optimizer";
  throw Error("train", "'" + checkpoint.folder + "' is of the " +
                           (of_tables ? "tables' optimizer " : "optimizer ") + saved +
                           "; resume with the same " +
                           (of_tables ? "--table-optimizer" : "--optimizer"));
}

}  // namespace

std::vector<TensorPlace> Trainer::state_places() const {
  std::vector<TensorPlace> places = training::state_places(parts_.parameters, options_.rule);
  for (TensorPlace& place : training::state_places(parts_.task, options_.table_rule)) {
    places.push_back(std::move(place));
  }
  return places;
}

// with_dense: in place every rank has the same whole of the dense part; one writes it.
// Each rank has its own directions. If the number of ranks changes, all use those of rank 0.
std::vector<StateView> Trainer::state(bool with_dense, bool all_directions) {
  std::vector<StateView> views;
  if (with_dense) views = dense_->state();
  if (directions_ && (rank() == 0 || all_directions)) {
    for (StateView& view : directions_->state()) views.push_back(std::move(view));
  }
  if (!tables_) return views;
  for (StateView& view : tables_->state()) views.push_back(std::move(view));
  return views;
}

void Trainer::write_files(const std::string& folder) {
  std::vector<StoredTensor> values;
  for (std::size_t parameter = 0; parameter < parts_.parameters.size(); ++parameter) {
    const ParameterSpec& spec = parts_.parameters.spec(parameter);
    values.push_back({spec.name, spec.shape, parts_.parameters.values(parameter)});
  }
  for (const TrainedTable& table : parts_.task.tables()) {
    values.push_back({table.name, shape_of(table), table.weights});
  }
  write_tensors(folder + "/" + kModelFile, values);
  create_tensors(folder + "/" + kOptimizerFile, state_places());
  parts_.task.write_files(folder);
}

nlohmann::ordered_json Trainer::checkpoint_fields(const ReduceState& reduce) const {
  nlohmann::ordered_json fields = {{"samples", samples_},
                                   {"world", world()},
                                   {"seed", options_.seed},
                                   {"optimizer", rule_name(options_.rule)},
                                   {"reduce",
                                    {{"choice", to_string(reduce_.choice)},
                                     {"auto", options_.reduce.choice.sparsifier == kAuto},
                                     {"order", reduce.order},
                                     {"directions", directions_ != nullptr}}}};
  for (const auto& [name, value] : options_.described) fields["options"][name] = value;
  if (tables_) fields["table_optimizer"] = rule_name(options_.table_rule);
  parts_.task.describe(fields);
  return fields;
}

void Trainer::save() {
  const ReduceState reduce = mean_->state();
  const Patience patience = this->patience();
  std::unique_ptr<CheckpointWriter> writer;
  const std::string folder = run_with_heartbeat(group_, patience, [&] {
    if (rank() == 0) writer = std::make_unique<CheckpointWriter>(options_.out, step_);
    return writer ? writer->files() : "";
  });
  run_with_heartbeat(group_, patience, [&] {
    if (rank() == 0) write_files(folder);
    if (!reduce.reducer.empty()) write_bytes(folder + "/" + reducer_file(rank()), reduce.reducer);
    if (directions_) write_bytes(folder + "/" + directions_file(rank()), directions_->bytes());
    return "";
  });
  run_with_heartbeat(group_, patience, [&] {
    write_state(folder + "/" + kOptimizerFile, state(rank() == 0 || offloaded_, false));
    return "";
  });
  run_with_heartbeat(group_, patience, [&] {
    if (writer) writer->seal(checkpoint_fields(reduce));
    return "";
  });
  // All ranks are here between the two, so an excluded rank that resumes publishes nothing.
  run_with_heartbeat(group_, patience, [&] {
    if (!writer) return "";
    writer->publish(options_.keep);
    has_saved_ = true;
    return "";
  });
  has_saved_ = true;
  last_ = CheckpointWriter::folder(options_.out, step_);
  times_back_ = 0;
}

// A resumed run with `auto` keeps the earlier choice, unless the number of ranks differs.
void Trainer::note_choice(const Checkpoint& checkpoint) {
  const SavedReduction saved = reduction_of(checkpoint);
  if (!saved.automatic) return;
  chosen_ = parse_reduce(saved.choice);
  chosen_world_ = saved.world;
}

void Trainer::restore_values(const Checkpoint& checkpoint) {
  require_rule(checkpoint, "optimizer", options_.rule);
  std::vector<WantedTensor> values;
  for (std::size_t parameter = 0; parameter < parts_.parameters.size(); ++parameter) {
    const ParameterSpec& spec = parts_.parameters.spec(parameter);
    values.push_back({spec.name, spec.shape, parts_.parameters.values(parameter)});
  }
  for (const TrainedTable& table : parts_.task.tables()) {
    require_rule(checkpoint, "table_optimizer", options_.table_rule);
    values.push_back({table.name, shape_of(table), table.weights});
  }
  read_tensors(checkpoint.file(kModelFile), values);
  step_ = field<std::uint64_t>(checkpoint, "step");
  samples_ = field<std::uint64_t>(checkpoint, "samples");
}

// This rank's part of it.
void Trainer::restore_state(const Checkpoint& checkpoint) {
  std::map<std::string, StateView> own;
  for (StateView& view : state(true, true)) own.emplace(view.name, view);
  std::vector<WantedTensor> wanted;
  for (const TensorPlace& place : state_places()) {
    const StateView& view = own[place.name];
    wanted.push_back({place.name, place.shape, view.values, view.first});
  }
  read_tensors(checkpoint.file(kOptimizerFile), wanted);
}

void Trainer::restore_reduction(const Checkpoint& checkpoint) {
  const SavedReduction saved = reduction_of(checkpoint);
  ReduceState state;  // from the same number of ranks, otherwise empty
  const bool same = saved.world == world() && saved.choice == to_string(reduce_.choice) &&
                    saved.directions == (directions_ != nullptr);
  if (same && world() > 1) {
    state.order = saved.order;
    state.reducer = read_bytes(checkpoint.file(reducer_file(rank())));
  }
  if (same && directions_) {
    directions_->restore(read_bytes(checkpoint.file(directions_file(rank()))));
  }
  mean_->restore(state);
}

}  // namespace tandem::training

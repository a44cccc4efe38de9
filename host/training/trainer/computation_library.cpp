// SPDX-License-Identifier: Apache-2.0
//
// Finds the library's functions by name, once per process.
#include "training/trainer/computation_library.h"

#include <cstdlib>
#include <filesystem>

#include "common/error.h"
#include "common/loaded_library.h"

namespace tandem::training {
namespace {

constexpr const char* kFile = "libtandem_trainer.so";

}  // namespace

const ComputationLibrary& ComputationLibrary::open(const std::string& folder) {
  static const ComputationLibrary once(folder);
  return once;
}

ComputationLibrary::ComputationLibrary(const std::string& folder) {
  const std::string path = folder + "/" + kFile;
  if (!std::filesystem::exists(path)) {
    throw Error("train",
                "this build has no libtorch, which computes gradients; install "
                "libtorch-dev or PyTorch, configure and build again (" +
                    path + " is absent)");
  }
  // libgomp reads it when it is loaded. By default its threads spin while they wait. On processors
  // that others use too, they then take the time of the thread that they wait for.
  ::setenv("OMP_WAIT_POLICY", "passive", 0);
  LoadedLibrary library("the trainer's library", path);
  decltype(&tandem_trainer_version) version = nullptr;
  library.find("tandem_trainer_version", version);
  library.find("tandem_trainer_libtorch", libtorch_);
  library.find("tandem_trainer_make_decoder", make_decoder_);
  library.find("tandem_trainer_make_layer", make_layer_);
  library.find("tandem_trainer_make_lstm", make_lstm_);
  library.find("tandem_trainer_make_recommender", make_recommender_);
  if (!library.reason().empty()) throw Error("train", library.reason());
  if (version() != kTandemTrainerVersion) {
    throw Error("train", path + " is of another version of Tandem; build it again");
  }
}

std::unique_ptr<Computation> ComputationLibrary::make_decoder(const DecoderSizes& sizes,
                                                              const ComputationOptions& options,
                                                              ParameterSet& parameters) const {
  const std::vector<ParameterMemory> memory = parameters.memory();
  return std::unique_ptr<Computation>(
      make_decoder_(&sizes, &options, memory.data(), memory.size()));
}

std::unique_ptr<LayerComputation> ComputationLibrary::make_layer(const DecoderSizes& sizes,
                                                                 const ComputationOptions& options,
                                                                 DecoderPart part, int block,
                                                                 ParameterSet& parameters) const {
  const std::vector<ParameterMemory> memory = parameters.memory();
  return std::unique_ptr<LayerComputation>(
      make_layer_(&sizes, &options, part, block, memory.data(), memory.size()));
}

std::unique_ptr<Computation> ComputationLibrary::make_lstm(const LstmSizes& sizes,
                                                           const ComputationOptions& options,
                                                           ParameterSet& parameters) const {
  const std::vector<ParameterMemory> memory = parameters.memory();
  return std::unique_ptr<Computation>(make_lstm_(&sizes, &options, memory.data(), memory.size()));
}

std::unique_ptr<RecommenderComputation> ComputationLibrary::make_recommender(
    const RecommenderSizes& sizes, const ComputationOptions& options,
    ParameterSet& parameters) const {
  const std::vector<ParameterMemory> memory = parameters.memory();
  return std::unique_ptr<RecommenderComputation>(
      make_recommender_(&sizes, &options, memory.data(), memory.size()));
}

}  // namespace tandem::training

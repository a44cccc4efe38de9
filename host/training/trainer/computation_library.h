// SPDX-License-Identifier: Apache-2.0
//
// ComputationLibrary: libtandem_trainer.so, opened at run time.
//
// It is in lib/tandem beside the program's folder, both in the build tree and in an installation.
// It is missing if the build found no libtorch. It is never unloaded. Threads: any, after open().
// Errors: Error("train", ...) with what is missing and how to install it.
#pragma once

#include <memory>
#include <string>

#include "training/trainer/computation.h"
#include "training/trainer/layer_computation.h"
#include "training/trainer/lstm_computation.h"
#include "training/trainer/parameter_set.h"
#include "training/trainer/recommender_computation.h"

namespace tandem::training {

class ComputationLibrary {
 public:
  // folder: contains the library. The first call sets OMP_WAIT_POLICY if it is not set; call it
  // while the process has one thread.
  static const ComputationLibrary& open(const std::string& folder);

  std::string libtorch_version() const { return libtorch_(); }
  std::unique_ptr<Computation> make_decoder(const DecoderSizes& sizes,
                                            const ComputationOptions& options,
                                            ParameterSet& parameters) const;
  // block: the number of the block; only for DecoderPart::kBlock.
  std::unique_ptr<LayerComputation> make_layer(const DecoderSizes& sizes,
                                               const ComputationOptions& options, DecoderPart part,
                                               int block, ParameterSet& parameters) const;
  std::unique_ptr<Computation> make_lstm(const LstmSizes& sizes, const ComputationOptions& options,
                                         ParameterSet& parameters) const;
  std::unique_ptr<RecommenderComputation> make_recommender(const RecommenderSizes& sizes,
                                                           const ComputationOptions& options,
                                                           ParameterSet& parameters) const;

 private:
  explicit ComputationLibrary(const std::string& folder);

  decltype(&tandem_trainer_libtorch) libtorch_ = nullptr;
  decltype(&tandem_trainer_make_decoder) make_decoder_ = nullptr;
  decltype(&tandem_trainer_make_layer) make_layer_ = nullptr;
  decltype(&tandem_trainer_make_lstm) make_lstm_ = nullptr;
  decltype(&tandem_trainer_make_recommender) make_recommender_ = nullptr;
};

}  // namespace tandem::training

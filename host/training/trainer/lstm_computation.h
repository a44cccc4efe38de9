// SPDX-License-Identifier: Apache-2.0
//
// The export of libtandem_trainer.so for a language model of long short-term memory (LSTM).
//
// Parameters: token_embd.weight [vocabulary, width]. Per layer lstm.L.input.weight and
// lstm.L.recurrent.weight [4 width, width], lstm.L.bias [4 width], with rows in the order input
// gate, forget gate, cell, output gate. lstm.L.forget.bias [width] is added to the bias of the
// forget gates, so that it can start with 1. output.weight if it is not the embedding; output.bias.
// A row of tokens starts with a state of zeros. Errors, threads: computation.h. Source: Hochreiter
// and Schmidhuber 1997, with forget gates (Gers et al. 2000).
#pragma once

#include "training/trainer/computation.h"

namespace tandem::training {

struct LstmSizes {
  int num_layers = 0, width = 0, vocab_size = 0;
};

}  // namespace tandem::training

extern "C" {
tandem::training::Computation* tandem_trainer_make_lstm(
    const tandem::training::LstmSizes* sizes, const tandem::training::ComputationOptions* options,
    const tandem::training::ParameterMemory* parameters, std::size_t num_parameters);
}

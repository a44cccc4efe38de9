// SPDX-License-Identifier: Apache-2.0
//
// A language model of long short-term memory: what libtandem_trainer.so exports for it.
//
// Parameters: token_embd.weight [vocabulary, width]; per layer lstm.L.input.weight and
// lstm.L.recurrent.weight [4 width, width], lstm.L.bias [4 width], rows in the order input gate,
// forget gate, cell, output gate; lstm.L.forget.bias [width], added to that of the forget gates
// (so that it can begin with 1); output.weight where it is not the embedding; output.bias. A row
// of tokens begins with a state of zeros. Errors, threads: computation.h.
// Source: Hochreiter and Schmidhuber 1997, with forget gates (Gers et al. 2000).
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

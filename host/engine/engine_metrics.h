// SPDX-License-Identifier: Apache-2.0
//
// Records the metrics of an engine: tokens, ends of sequences, and totals. Threads: the engine's.
#pragma once

#include "engine/loop/engine_status.h"
#include "engine/loop/sequence.h"
#include "trace/metrics.h"

namespace tandem::engine {

// Call it after every result of a sequence.
void observe_token(trace::Metrics& metrics, Sequence& sequence);

void observe_end(trace::Metrics& metrics, const Sequence& sequence);

void set_totals(trace::Metrics& metrics, const EngineStatus& status);

}  // namespace tandem::engine

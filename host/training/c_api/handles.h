// SPDX-License-Identifier: Apache-2.0
//
// The objects behind the handles of the C ABI. Threads: as tandem_training.h says.
#pragma once

#include <memory>
#include <optional>

#include "collectives/group.h"
#include "trace/timeline.h"
#include "trace/training_metrics.h"
#include "training/c_api/tandem_training.h"
#include "training/reducer/reducer.h"

struct tandem_group {
  tandem::collectives::Group group;
};

struct tandem_reducer {
  std::unique_ptr<tandem::trace::Timeline> timeline;  // outlives the reducer
  tandem::trace::TrainingMetrics metrics;             // likewise
  std::unique_ptr<tandem::training::Reducer> reducer;
};

struct tandem_rows {
  tandem::collectives::SparseTensor tensor;
};

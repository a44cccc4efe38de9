// SPDX-License-Identifier: Apache-2.0
//
// Makes the part of a batch that is the same for all lanes.
#include "engine/attention/attention_lane.h"

namespace tandem::engine {

device::AttentionBatch LaneContext::batch_of(const UnitShare& share, int layer) const {
  device::AttentionBatch batch;
  batch.layer = layer;
  batch.scale = config.attention_scale;
  batch.softcap = config.attention_softcap;
  batch.sequences = share.sequences;
  batch.pages = share.pages;
  return batch;
}

}  // namespace tandem::engine

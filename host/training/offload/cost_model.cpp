// SPDX-License-Identifier: Apache-2.0
//
// A rate of 0 means that nothing moves there.
#include "training/offload/cost_model.h"

#include <algorithm>
#include <cstdio>

#include "common/counted.h"
#include "common/error.h"

namespace tandem::training {
namespace {

constexpr double kStepBytes = 28, kStepBytesWithCopy = 30, kStateBytes = 8;

double seconds_of(double bytes, double bytes_per_s) {
  return bytes_per_s > 0 ? bytes / bytes_per_s : 0;
}

std::string milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g ms", seconds * 1e3);
  return text;
}

double host_step_seconds(const DenseOffloadCosts& costs) {
  const auto count = static_cast<double>(costs.parameters);
  const double ranks = costs.world;
  const double step_bytes = costs.bf16_copy ? kStepBytesWithCopy : kStepBytes;
  const double down = seconds_of(4 * count, costs.link_bytes_per_s);
  const double up = seconds_of((costs.bf16_copy ? 2 : 4) * count, costs.link_bytes_per_s);
  const double update = seconds_of(step_bytes * count / ranks, costs.host_bytes_per_s);
  const double gather = seconds_of(4 * count * (ranks - 1) / ranks, costs.network_bytes_per_s);
  const double stages = down + update + gather + up;
  if (costs.shares_cores) return costs.backward_s + stages;
  const double slowest = std::max({down + up, update, gather, costs.backward_s});
  const double tail = stages / static_cast<double>(std::max<std::uint64_t>(1, costs.buckets));
  return slowest + tail;
}

}  // namespace

double dense_step_seconds(const DenseOffloadCosts& costs, OffloadPlace place) {
  if (place == OffloadPlace::kCards) throw Error("training", "cards update only rows of tables");
  if (place == OffloadPlace::kHost) return host_step_seconds(costs);
  const double bytes = costs.bf16_copy ? kStepBytesWithCopy : kStepBytes;
  return costs.backward_s +
         seconds_of(bytes * static_cast<double>(costs.parameters), costs.device_bytes_per_s);
}

double row_step_seconds(const RowOffloadCosts& costs, OffloadPlace place) {
  const double width = costs.width;
  if (place != OffloadPlace::kCards) {
    // The sums are read and written once more; weights and state are read and written.
    const double sums = 8 * (costs.inputs + costs.rows) * width;
    const double step = costs.rows * (4 * width + 8 * (width + costs.state_values));
    return seconds_of(sums + step, costs.host_bytes_per_s);
  }
  const double cards = std::max(1, costs.cards);
  const double link = seconds_of(
      (costs.inputs * (4 * width + 4) + costs.rows * 4 * (width + costs.state_values)) / cards,
      costs.link_bytes_per_s);
  const double kernel = (costs.inputs + costs.rows) * width * costs.card_cycles_per_value /
                        (cards * std::max(1, costs.card_units)) / costs.clock_hz;
  return 2 * costs.transfer_s + costs.command_s + link + kernel;
}

OffloadPrediction choose_dense_offload(const DenseOffloadCosts& costs) {
  OffloadPrediction prediction;
  prediction.none_s = dense_step_seconds(costs, OffloadPlace::kNone);
  prediction.offload_s = dense_step_seconds(costs, OffloadPlace::kHost);
  const double state = kStateBytes * static_cast<double>(costs.parameters);
  prediction.fits = state <= static_cast<double>(costs.device_free_bytes);
  const bool pays = prediction.offload_s < prediction.none_s;
  if (pays || !prediction.fits) prediction.place = OffloadPlace::kHost;
  prediction.reason = "a step takes " + milliseconds(prediction.none_s) + " on the device and " +
                      milliseconds(prediction.offload_s) + " with the optimiser in host memory";
  if (!prediction.fits) prediction.reason += "; its state does not fit the device";
  return prediction;
}

OffloadPrediction choose_row_offload(const RowOffloadCosts& costs) {
  OffloadPrediction prediction;
  prediction.none_s = row_step_seconds(costs, OffloadPlace::kNone);
  prediction.offload_s = row_step_seconds(costs, OffloadPlace::kCards);
  if (prediction.offload_s < prediction.none_s) prediction.place = OffloadPlace::kCards;
  prediction.reason = "rows take " + milliseconds(prediction.none_s) + " in host memory and " +
                      milliseconds(prediction.offload_s) + " on " + counted(costs.cards, "card");
  return prediction;
}

}  // namespace tandem::training

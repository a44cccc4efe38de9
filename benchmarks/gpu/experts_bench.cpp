// SPDX-License-Identifier: Apache-2.0
//
// Grouped products of experts on a GPU against a device copy in the same run: gate and up of 128
// experts, 8 per row, as in a 30B model, for one row and for a decode batch of 64.
//
// One output is verified first; the kernels' tests check all. Launches of few rows alternate
// between experts, so no launch finds its weights in the cache. ratio: as in layers_bench.cpp, by
// the bytes of the chosen experts' weights. One JSON line per figure.
#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

#include "device_vector.h"
#include "experts/experts.h"
#include "gemm/grouped_product.h"
#include "timing.h"

namespace tandem::bench {
namespace {

using namespace tandem::gpu_kernels;

constexpr int kExperts = 128, kUsed = 8, kDecodeRows = 64;

void expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("wrong result: ") + what);
}

template <typename T>
T read_value(const T* address) {
  T value;
  check_cuda(cudaMemcpy(&value, address, sizeof(T), cudaMemcpyDeviceToHost));
  return value;
}

bool is_near(double got, double expected, double tolerance) {
  return std::fabs(got - expected) <= tolerance * (1 + std::fabs(expected));
}

std::vector<BF16> randoms(std::size_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<BF16> values(count);
  for (BF16& value : values) narrow(normal(random), value);
  return values;
}

void fill(const DeviceVector<BF16>& to, const std::vector<BF16>& period) {
  for (std::size_t at = 0; at < to.size(); at += period.size()) {
    const std::size_t count = std::min(period.size(), to.size() - at);
    check_cuda(
        cudaMemcpy(to.data() + at, period.data(), count * sizeof(BF16), cudaMemcpyHostToDevice));
  }
}

class Bench {
 public:
  void run() {
    copy_ = report_copy("gpu_experts/copy_1GiB");
    expert_products();
  }

 private:
  // Gate and up of 128 experts of a 30B model, of which a decode step's rows choose some.
  void expert_products() {
    constexpr std::size_t kIn = 2048, kOut = 768, kEach = kIn * kOut,
                          kPeriod = std::size_t{1} << 20;
    const std::vector<BF16> period = randoms(kPeriod);
    const DeviceVector<BF16> weights(2 * kExperts * kEach), x(kDecodeRows * kIn);
    fill(weights, period);
    fill(x, period);
    std::vector<const void*> tables[2];
    for (std::size_t i = 0; i < 2 * kExperts; ++i) {
      tables[i / kExperts].push_back(weights.data() + i * kEach);
    }
    const DeviceVector<float> results[] = {DeviceVector<float>(kDecodeRows * kUsed * kOut),
                                           DeviceVector<float>(kDecodeRows * kUsed * kOut)};
    const DeviceVector<const void*> gates(tables[0]), ups(tables[1]);
    for (const int rows : {1, static_cast<int>(kDecodeRows)}) {
      const int slots = rows * kUsed;
      GroupedProduct job;
      job.rows = rows;
      job.in_features = kIn;
      job.x = x.data();
      job.num_targets = 2;
      job.targets[0] = {gates.data(), nullptr, kOut, results[0].data()};
      job.targets[1] = {ups.data(), nullptr, kOut, results[1].data()};
      std::vector<std::int32_t> picks(static_cast<std::size_t>(slots));
      for (int i = 0; i < slots; ++i) picks[static_cast<std::size_t>(i)] = i % rows;
      const DeviceVector<std::int32_t> device_picks(picks);
      job.picks = device_picks.data();
      grouped(job, slots, [&](const RowTile& tile) {
        double sum = 0;
        const std::size_t from = static_cast<std::size_t>(tile.weight) * kEach;
        const auto row = static_cast<std::size_t>(tile.first % rows);
        for (std::size_t i = 0; i < kIn; ++i) {
          sum += double{widen(period[(from + i) % kPeriod])} * double{widen(period[row * kIn + i])};
        }
        const float* out = job.targets[0].out + static_cast<std::int64_t>(tile.first) * kOut;
        expect(is_near(read_value(out), sum, 1e-3), "experts' products");
      });
    }
  }

  // Launches in turns choose other experts where there are others. check(): of the last launch's
  // first tile.
  template <typename Check>
  void grouped(GroupedProduct& job, int slots, const Check& check) {
    constexpr int kTurns = 16;
    const int tile_rows = grouped_tile_rows(job.type, job.rows);
    job.most_tiles = static_cast<int>(most_expert_tiles(slots, kExperts, tile_rows));
    const auto most = static_cast<std::size_t>(job.most_tiles);
    const DeviceVector<RowTile> tiles(kTurns * most);
    const DeviceVector<std::int32_t> num_tiles(kTurns);
    const auto choose = [&](int turn) {
      job.tiles = tiles.data() + static_cast<std::size_t>(turn % kTurns) * most;
      job.num_tiles = num_tiles.data() + turn % kTurns;
    };
    for (int turn = 0; turn < kTurns; ++turn) {
      std::vector<std::int32_t> begins;
      for (int i = 0; i <= kExperts; ++i) {
        const int behind = i - slots * turn % kExperts;
        begins.push_back(slots < kExperts ? std::clamp(behind, 0, slots) : slots / kExperts * i);
      }
      const DeviceVector<std::int32_t> device_begins(begins);
      choose(turn);
      check_cuda(cut_expert_tiles(
          {kExperts, tile_rows, device_begins.data(), const_cast<RowTile*>(job.tiles),
           const_cast<std::int32_t*>(job.num_tiles)},
          nullptr));
      check_cuda(cudaDeviceSynchronize());
    }
    check_cuda(grouped_product(job, nullptr));
    check(read_value(job.tiles));
    const double weights = static_cast<double>(job.targets[0].out_features) * job.num_targets *
                           static_cast<double>(job.in_features);
    const auto samples = time_launches(64, [&](int turn, cudaStream_t stream) {
      choose(turn);
      check_cuda(grouped_product(job, stream));
    });
    report("gpu_experts/gate_up_bf16/rows_" + std::to_string(job.rows), samples,
           std::min(slots, kExperts) * weights * sizeof(BF16), copy_);
  }

  double copy_ = 0;  // bytes per millisecond
};

}  // namespace
}  // namespace tandem::bench

int main() {
  return tandem::bench::run_on_gpu("bench_gpu_experts", [] { tandem::bench::Bench().run(); });
}

// SPDX-License-Identifier: Apache-2.0
//
// The round trip of one layer's attention from a GPU to a host thread and back, without attention:
// the rows of a Llama-3-8B-shaped layer are posted, seen, answered, and the results read back. A
// graph holds many such pairs, so the figure is what the GPU adds per layer.
//
// Verified first: a thread that returns the queries as results. A unit's own time comes on top;
// host/engine/ring_bench.cpp measures the host's part alone. Target: below 30 us. Threads: one, and
// the ring's.
#include <atomic>
#include <cstring>
#include <stdexcept>

#include "engine/attention/ring_thread.h"
#include "ring/ring.h"
#include "timing.h"

namespace tandem::bench {
namespace {

constexpr std::size_t kQWidth = 4096, kKvWidth = 1024, kHeads = 32;
constexpr int kLayers = 64;  // of a graph

template <typename T>
class Pinned {
 public:
  explicit Pinned(std::size_t size) : size_(size) {
    check_cuda(cudaHostAlloc(reinterpret_cast<void**>(&data_), size * sizeof(T),
                             cudaHostAllocPortable | cudaHostAllocMapped));
    std::memset(static_cast<void*>(data_), 0, size * sizeof(T));
  }
  ~Pinned() { cudaFreeHost(data_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  T* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  const std::size_t size_;
};

class Layer {
 public:
  explicit Layer(std::size_t rows)
      : rows_(rows),
        device_(make_rows(rows)),
        results_(rows * (kQWidth + kHeads)),
        slot_(rows * (2 * kQWidth + 2 * kKvWidth + kHeads)),
        words_(1),
        count_(std::vector<std::uint32_t>{0, 0, 0}),
        thread_({words_.data(), 1}, [this](std::size_t, std::uint32_t) { return serve(); }) {
    const std::size_t sent = rows * (kQWidth + 2 * kKvWidth);
    add(post_.rows, slot_.data(), device_.data(), sent);
    post_.posted = &words_.data()->posted;
    post_.count = count_.data();
    add(await_.rows, results_.data(), slot_.data() + sent, rows * kQWidth);
    add(await_.rows, results_.data() + rows * kQWidth, slot_.data() + sent + rows * kQWidth,
        rows * kHeads);
    await_.answered = &words_.data()->answered;
    await_.abandoned = &words_.data()->abandoned;
    await_.count = count_.data();
  }

  void verify() {
    echoes_ = true;
    run(1);
    echoes_ = false;
    const std::vector<float> sent = device_.download(), back = results_.download();
    if (std::memcmp(sent.data(), back.data(), rows_ * kQWidth * sizeof(float)) != 0) {
      throw std::runtime_error("the rows that came back are not those that went");
    }
  }

  void measure() {
    std::vector<double> samples = run(kLayers);
    const double bytes =
        static_cast<double>(rows_ * (2 * kQWidth + 2 * kKvWidth + kHeads) * sizeof(float));
    report("gpu_ring/round trip of a layer, rows " + std::to_string(rows_), samples, bytes, 0);
  }

 private:
  static std::vector<float> make_rows(std::size_t rows) {
    std::vector<float> values(rows * (kQWidth + 2 * kKvWidth));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 8191);
    return values;
  }
  static void add(gpu_kernels::RingCopies& rows, float* to, const float* from, std::size_t floats) {
    rows.copies[rows.count++] = {to, from, floats * sizeof(float)};
  }
  bool serve() {
    if (!echoes_) return true;
    std::memcpy(slot_.data() + rows_ * (kQWidth + 2 * kKvWidth), slot_.data(),
                rows_ * kQWidth * sizeof(float));
    return true;
  }
  std::vector<double> run(int layers) {
    thread_.open();
    std::vector<double> samples = time_launches(layers, [&](int, cudaStream_t stream) {
      check_cuda(gpu_kernels::post_rows(post_, stream));
      check_cuda(gpu_kernels::await_rows(await_, stream));
    });
    thread_.close();
    return samples;
  }

  const std::size_t rows_;
  DeviceVector<float> device_, results_;
  Pinned<float> slot_;
  Pinned<device::RingWords> words_;
  DeviceVector<std::uint32_t> count_;
  gpu_kernels::RingPost post_;
  gpu_kernels::RingAwait await_;
  std::atomic<bool> echoes_{false};
  engine::RingThread thread_;
};

}  // namespace
}  // namespace tandem::bench

int main() {
  return tandem::bench::run_on_gpu("bench_gpu_ring", [] {
    for (const std::size_t rows : {1, 8, 32, 64}) {
      tandem::bench::Layer layer(rows);
      layer.verify();
      layer.measure();
    }
  });
}

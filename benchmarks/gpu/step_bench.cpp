// SPDX-License-Identifier: Apache-2.0
//
// Decode steps of a Llama-3-8B-shaped bf16 model on one GPU, through the engine's executor.
//
// Random weights in a temporary file of 16 GB; random keys and values in every page. Figures: a
// step's time, against the time of weights and KV at the device's measured bandwidth (ratio); the
// host's share (host/...); and the way of one layer's attention from host memory and back without
// attention. Steps are timed from the call to the logits, after the steps that make their graph.
// Names are those of torch_peer.py's steps. gpu_step_hopper/: Hopper kernels and overlapping
// launches, on GPUs that have them. `--small`: two small layers, as a check. Threads: one.
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>

#include "common/kernel_path.h"
#include "cuda/backend.h"
#include "cuda/options.h"
#include "engine/executor/executor.h"
#include "model/model.h"
#include "support/gguf_writer.h"
#include "timing.h"

namespace tandem::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPageTokens = 16, kWarmSteps = 5, kSteps = 30;
constexpr auto kPatience = std::chrono::seconds(60);

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Case {
  int batch, context;
  int pages_each() const { return (context + kPageTokens - 1) / kPageTokens; }
};

std::unique_ptr<model::Model> make_model(const test::RandomLlama& shape) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("tandem_step_bench_" + std::to_string(getpid()) + ".gguf");
  test::write_random_llama(path, shape, DType::kBF16, 1);
  auto model = model::load_model(path);
  std::filesystem::remove(path);  // what is open stays
  return model;
}

class StepBench {
 public:
  StepBench(const model::Model& model, int max_pages, const std::string& kernels)
      : config_(model.config()), prefix_(kernels == "generic" ? "gpu_step/" : "gpu_step_hopper/") {
    device::DeviceOptions choice;
    choice.values.set(cuda::kKernelsOption.name, kernels);
    device_ = device::cuda_backend().open(0, choice);
    compute_ = device_->make_compute_unit();
    engine::ExecutorOptions options;
    options.page_tokens = kPageTokens;
    options.kv_dtype = DType::kBF16;
    options.device_timeout = kPatience;
    options.compute_id = "cuda:0";
    executor_ = std::make_unique<engine::Executor>(model, *compute_, options);
    device::AttentionUnitOptions unit;
    unit.geometry = {config_.num_layers, config_.q_heads, config_.kv_heads,
                     config_.head_dim,   kPageTokens,     DType::kBF16};
    unit.max_pages = static_cast<std::uint32_t>(max_pages);
    unit_ = device_->make_attention_unit(unit);
    executor_->add_unit(*unit_, "cuda:0");
    for (int page = 0; page < max_pages; ++page) fill(static_cast<device::PageId>(page));
    copy_ = device_->speed_now().memory_bandwidth_bytes_per_s * 1e-3;
  }

  void round_trip() {
    std::vector<double> samples;
    for (int run = -kWarmSteps; run < kSteps; ++run) {
      const auto start = Clock::now();
      submit({});
      if (run >= 0) samples.push_back(milliseconds_since(start));
    }
    std::sort(samples.begin(), samples.end());
    report(prefix_ + "attention round trip of an empty batch", samples, 0, copy_);
  }

  void measure(const Case& shape) {
    std::vector<model::TokenId> ids(static_cast<std::size_t>(shape.batch));
    std::vector<std::vector<engine::BlockPlace>> blocks(ids.size());
    std::vector<engine::RunnerItem> items;
    std::uint32_t page = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ids[i] = static_cast<model::TokenId>(3 + i * 7 % 300);
      for (int k = 0; k < shape.pages_each(); ++k) blocks[i].push_back({0, page++});
      items.push_back({std::span(ids).subspan(i, 1), blocks[i], shape.context - 1,
                       engine::LogitRows::kLast, 0});
    }
    std::vector<double> samples, host;
    for (int run = -kWarmSteps; run < kSteps; ++run) {
      const double busy = compute_->stats().busy_seconds;
      const auto start = Clock::now();
      step(items);
      const double wall = milliseconds_since(start);
      if (run < 0) continue;
      samples.push_back(wall);
      host.push_back(wall - (compute_->stats().busy_seconds - busy) * 1e3);
    }
    std::sort(samples.begin(), samples.end());
    std::sort(host.begin(), host.end());
    const std::string name =
        "decode batch" + std::to_string(shape.batch) + " context" + std::to_string(shape.context);
    report(prefix_ + name, samples, bytes_of(shape), copy_);
    report(prefix_ + "host/" + name, host, 0, copy_);
  }

 private:
  // What a step cannot but read: weights less the table of embeddings, and its keys and values.
  double bytes_of(const Case& shape) const {
    const double table = 2.0 * config_.vocab_size * config_.width;
    const double kv = 4.0 * config_.num_layers * config_.kv_heads * config_.head_dim;
    return static_cast<double>(executor_->weights().bytes) - table +
           kv * shape.batch * shape.context;
  }

  void step(const std::vector<engine::RunnerItem>& items) {
    const auto lost = executor_->run(items, [](std::size_t, int, std::span<const float> logits) {
      if (!std::isfinite(logits[0])) throw std::runtime_error("logits are not finite");
    });
    if (!lost.empty()) throw std::runtime_error("the attention unit was lost");
  }

  void submit(const device::AttentionBatch& batch) {
    const device::Ticket ticket = unit_->submit(batch, {});
    if (unit_->wait(ticket, Deadline::after(kPatience)) != device::WaitResult::kDone) {
      throw std::runtime_error("the attention unit did not answer");
    }
  }

  void fill(device::PageId page) {
    const auto width = static_cast<std::size_t>(config_.kv_heads * config_.head_dim);
    std::vector<float> values(kPageTokens * width);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>((i * 7919 + page * 104729u) % 2000) * 1e-3f - 1.0f;
    }
    device::AttentionSequence all;
    all.num_new = all.num_attend = kPageTokens;
    all.num_pages = 1;
    device::AttentionBatch batch;
    batch.pages = std::span(&page, 1);
    batch.sequences = std::span(&all, 1);
    batch.k = batch.v = values;
    for (batch.layer = 0; batch.layer < config_.num_layers; ++batch.layer) submit(batch);
  }

  const model::ModelConfig& config_;
  const std::string prefix_;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<device::ComputeUnit> compute_;
  std::unique_ptr<engine::Executor> executor_;
  std::unique_ptr<device::AttentionUnit> unit_;  // destroyed before the executor
  double copy_ = 0;                              // bytes per millisecond
};

void run(bool small) {
  std::vector<Case> cases = {{1, 128}, {64, 128}, {64, 4096}};
  test::RandomLlama shape;
  shape.num_layers = 32;
  shape.width = 4096;
  shape.q_heads = 32;
  shape.kv_heads = 8;
  shape.head_dim = 128;
  shape.ffn_width = 14336;
  shape.vocab_size = 128256;
  shape.context_length = 8192;
  shape.tied = false;
  shape.rope_base = 500000.0f;
  if (small) {
    shape = {};
    shape.tied = false;
    cases = {{1, 128}, {4, 128}};
  }
  const auto model = make_model(shape);
  int pages = 0;
  for (const Case& each : cases) pages = std::max(pages, each.batch * each.pages_each());
  for (const char* kernels : {"generic", "hopper"}) {
    if (kernels == std::string("hopper") && gpu_kernels::code_capability() < 90) continue;
    StepBench bench(*model, pages, kernels);
    bench.round_trip();
    for (const Case& each : cases) bench.measure(each);
  }
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  return tandem::bench::run_on_gpu("bench_gpu_step", [&] {
    tandem::bench::run(argc > 1 && std::strcmp(argv[1], "--small") == 0);
  });
}

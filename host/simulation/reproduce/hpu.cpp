// SPDX-License-Identifier: Apache-2.0
//
// An L40S with four U55C cards against an L40S alone: Llama-2-7B in FP16, 1K in, 1K out.
#include "simulation/reproduce/reproduce.h"
#include "simulation/serving/simulate.h"

namespace tandem::simulation {
namespace {

constexpr int kPrompt = 1024, kOutput = 1024;
constexpr int kBatchOfGpu = 16;  // 32 contiguous caches of 2K tokens do not fit
constexpr double kHopS = 30e-6;  // through the CPU, one way
constexpr double kCardFlops = 460e9, kCardReached = 0.73;  // published

ServingOptions gpu_options() {
  ServingOptions options;
  options.model = planner::model_preset("llama-2-7b");
  options.attention = AttentionPolicy::kOwn;
  options.prompts_elsewhere = true;
  options.max_step_tokens = 4096;
  options.row_value_bytes = 2;
  options.early_query = false;
  return options;
}

ServingResult decode(const MachineSpec& machine, ServingOptions options, int batch) {
  options.max_running = batch;
  LoadSpec load;
  load.amount = batch;
  load.requests = batch;
  load.prompt = {kPrompt, kPrompt};
  load.output = {kOutput, kOutput};
  return simulate_serving(machine, options, Load(load, 1));
}

MachineSpec with_cards() {
  MachineSpec machine = parse_machine("l40s+4*u55c@pcie4x8");
  UnitSpec& cards = machine.units.front();
  cards.sheet.f16_ops_per_s = kCardFlops;
  cards.sheet.reached = {0, 0, kCardReached, 1};
  cards.link.latency_s = kHopS;
  cards.link.bytes_per_s /= 2;  // into host memory and out again
  return machine;
}

std::vector<std::string> hpu_assumptions() {
  return {"decode steps alone are counted, at contexts of 1K to 2K tokens",
          "L40S: 85 % of the bandwidth for weights, 80 % for KV; its batch is 16",
          "cards: 336 GB/s each (73 %, published for 2K tokens), 460 GFLOPS, 16 GB/s links",
          "every transfer goes through host memory: half the link's rate, 30 us one way",
          "all KV lies on the cards; sequences are divided over them",
          "one or two sub-batches, whichever is faster in a step; two read the weights twice",
          "queries, keys and values leave together, in 16 bits"};
}

// Largest share of a link and of the time that rows are on their way, as the publication counts.
double transfer_share(const ServingResult& result) {
  double most = 0;
  for (const DeviceReport& device : result.devices) {
    most = std::max(most, device.link_utilisation);
  }
  return most;
}

}  // namespace

Reproduction reproduce_hpu() {
  Reproduction result{"hpu", "HPU, arXiv 2504.16112", {}};
  const MachineSpec gpu = parse_machine("l40s"), cards = with_cards();
  const ServingResult alone = decode(gpu, gpu_options(), kBatchOfGpu);
  ServingOptions offloaded = gpu_options();
  offloaded.attention = AttentionPolicy::kUnits;
  ServingResult last;
  const std::pair<int, double> gains[] = {{16, 1.9}, {32, 2.9}, {64, 4.1}};
  for (const auto& [batch, gain] : gains) {
    last = decode(cards, offloaded, batch);
    result.rows.push_back({"throughput with 4 cards at batch " + std::to_string(batch) +
                               " over an L40S alone at batch 16",
                           gain, last.tokens_per_s() / alone.tokens_per_s(), hpu_assumptions()});
  }
  std::vector<std::string> energy = hpu_assumptions();
  energy.push_back(
      "power above idle is the limit less idle, for the time that a device is busy; "
      "the CPU is not counted");
  result.rows.push_back({"tokens per joule above idle at batch 64 over an L40S alone", 4.6,
                         alone.joules_above_idle_per_token() / last.joules_above_idle_per_token(),
                         energy});
  const ServingResult nvl = decode(parse_machine("h100-nvl"), gpu_options(), 64);
  result.rows.push_back({"tokens per joule above idle at batch 64 over an H100 NVL alone", 1.9,
                         nvl.joules_above_idle_per_token() / last.joules_above_idle_per_token(),
                         energy});
  result.rows.push_back({"share of transfers in a decode step at batch 64", 0.10,
                         transfer_share(last), hpu_assumptions()});
  ServingOptions paged = gpu_options();
  paged.precision.kv_dtype = DType::kI8;
  paged.max_running = 64;
  const ServingResult fair = decode(gpu, paged, 64);
  std::vector<std::string> fairly = hpu_assumptions();
  fairly.push_back("not published: the gain follows from rooflines (1,670 over 1,170 tokens/s)");
  fairly.push_back("the L40S has pages of 8-bit KV and as many sequences as fit, at most 64");
  result.rows.push_back({"throughput with 4 cards at batch 64 over an L40S with paged 8-bit KV",
                         1.4, last.tokens_per_s() / fair.tokens_per_s(), fairly});
  return result;
}

}  // namespace tandem::simulation

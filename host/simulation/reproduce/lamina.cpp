// SPDX-License-Identifier: Apache-2.0
//
// H100 GPUs with H20 GPUs as attention units over 400 GbE, against H100 GPUs of about the same
// price.
#include <algorithm>
#include <limits>

#include "simulation/reproduce/reproduce.h"
#include "simulation/reproduce/two_digits.h"
#include "simulation/serving/simulate.h"

namespace tandem::simulation {
namespace {

struct NetworkSetup {
  const char* model;
  const char* alone;
  const char* apart;
};

// 22.12 against 20.32 USD per hour, and twice that.
constexpr NetworkSetup kNetworkSetups[] = {
    {"llama-33b", "2*h100-sxm/nvlink4", "h100-sxm+2*h20@400gbe"},
    {"llama-65b", "4*h100-sxm/nvlink4", "2*h100-sxm/nvlink4+4*h20@400gbe"},
    {"llama-3-70b", "4*h100-sxm/nvlink4", "2*h100-sxm/nvlink4+4*h20@400gbe"}};

struct Lengths {
  int prompt, output;
};

// Means of the traces: Azure conversation and code, Kimi conversation and tools.
constexpr Lengths kTraces[] = {{1155, 211}, {2048, 28}, {12035, 343}, {8561, 182}};

constexpr int kLongestContext = 32768, kRequestsAtOnce = 1024;
constexpr int kMostOfVllm = 256;  // its default
// An H20 holds nothing but KV; a GPU of vLLM keeps a tenth of its memory free.
constexpr double kShareOfH20 = 0.97, kShareOfVllm = 0.9;
constexpr double kHostS = 2e-4, kSlowHostS = 8e-3;  // per step

MachineSpec network_machine(const char* text) {
  MachineSpec machine = parse_machine(text);
  for (UnitSpec& unit : machine.units) unit.sheet.memory_bytes *= kShareOfH20 / kShareOfVllm;
  return machine;
}

ServingResult of_network(const char* model, const char* machine, AttentionPolicy policy,
                         const Lengths& lengths, double host_s) {
  ServingOptions options;
  options.model = planner::model_preset(model);
  options.model.context_length = kLongestContext;
  options.attention = policy;
  options.placement = engine::Placement::kSequences;
  options.prompts_elsewhere = true;
  options.memory_share = kShareOfVllm;
  options.max_running = policy == AttentionPolicy::kOwn ? kMostOfVllm : kRequestsAtOnce;
  options.max_step_tokens = kRequestsAtOnce;
  options.row_value_bytes = 2;
  options.host_s = host_s;
  LoadSpec load;
  load.amount = kRequestsAtOnce;
  load.requests = 2 * kRequestsAtOnce;
  load.prompt = {lengths.prompt / 2, lengths.prompt * 3 / 2};
  load.output = {lengths.output / 2, lengths.output * 3 / 2};
  return simulate_serving(network_machine(machine), options, Load(load, 1));
}

// Over models and traces.
struct NetworkGains {
  double least = std::numeric_limits<double>::infinity(), most = 0, mean_batch = 0;
};

NetworkGains network_gains(double host_apart_s, double host_alone_s) {
  NetworkGains gains;
  for (const NetworkSetup& setup : kNetworkSetups) {
    for (const Lengths& lengths : kTraces) {
      const ServingResult apart =
          of_network(setup.model, setup.apart, AttentionPolicy::kUnits, lengths, host_apart_s);
      const ServingResult alone =
          of_network(setup.model, setup.alone, AttentionPolicy::kOwn, lengths, host_alone_s);
      const double gain = apart.tokens_per_s() / alone.tokens_per_s();
      gains.least = std::min(gains.least, gain), gains.most = std::max(gains.most, gain);
      gains.mean_batch += apart.record.mean_batch() / alone.record.mean_batch();
    }
  }
  gains.mean_batch /= static_cast<double>(std::size(kNetworkSetups) * std::size(kTraces));
  return gains;
}

}  // namespace

Reproduction reproduce_lamina() {
  const NetworkGains gains = network_gains(kHostS, kHostS);
  const NetworkGains slow = network_gains(kSlowHostS, kSlowHostS);
  const NetworkGains slow_alone = network_gains(kHostS, kSlowHostS);
  const std::vector<std::string> assumptions = {
      "Llama-33B: 1 H100 + 2 H20 against 2 H100; Llama-65B and Llama-3-70B: 2 + 4 against 4",
      "prompts are computed elsewhere, and their KV exists already (published)",
      "lengths are even between half and three halves of the means of four traces (Azure "
      "conversation and code, Kimi conversation and tools); the publication replays the traces",
      "1,024 requests at once, 2,048 in all; vLLM runs at most 256, its default; a mean batch is "
      "the mean over all steps",
      "400 GbE: 45 GB/s and 16.5 us one way to every H20 (33 us round trip, published)",
      "85 % of the bandwidth for weights, 80 % for KV; all in 16 bits",
      "90 % of the memory of an H100 (vLLM's default), 97 % of an H20, which holds nothing but KV",
      "all KV lies on the H20; one or two sub-batches, whichever is faster in a step",
      "missing: the time of vLLM's host per step, which is not published for these machines; it is "
      "0.2 ms here, and with 8 ms on both sides the gains are " +
          two_digits(slow.least) + " to " + two_digits(slow.most) + ", for vLLM alone " +
          two_digits(slow_alone.least) + " to " + two_digits(slow_alone.most)};
  return {"lamina",
          "Lamina, arXiv 2405.01814",
          {{"least gain at equal cost over models and traces", 1.161, gains.least, assumptions},
           {"largest gain at equal cost over models and traces", 1.901, gains.most, assumptions},
           {"mean batch over that of the GPUs alone", 2.39, gains.mean_batch, assumptions}}};
}

}  // namespace tandem::simulation

// SPDX-License-Identifier: Apache-2.0
//
// Generates a few tokens with the installed libraries: consumer MODEL.gguf prints the text that
// follows a prompt.
#include <cstdio>
#include <future>

#include "device/registry.h"
#include "engine/engine.h"
#include "model/model.h"

int main(int argc, char** argv) {
  using namespace tandem;
  if (argc != 2) return 2;
  const auto model = model::load_model(argv[1]);
  const model::ModelConfig& config = model->config();
  const auto cpu = device::open_device("cpu", {});
  const auto compute = cpu->make_compute_unit();
  device::AttentionUnitOptions unit;
  unit.geometry = {config.num_layers, config.q_heads, config.kv_heads, config.head_dim};
  unit.max_pages = 64;
  unit.kv_bytes = 64 << 20;
  std::vector<engine::NamedUnit> units;
  units.push_back({"cpu", cpu->make_attention_unit(unit)});
  std::promise<void> done;
  engine::Engine engine(*model, *compute, std::move(units), {}, {}, nullptr);

  engine::Request request;
  request.prompt = model->tokenizer().encode("Once upon a time", {});
  request.sampling.temperature = 0;
  request.max_tokens = 12;
  std::string text;
  engine.submit(std::move(request), [&](engine::RequestEvent event) {
    text += event.text;
    if (event.finish) done.set_value();
  });
  done.get_future().wait();
  std::printf("%s\n", text.c_str());
  return text.empty() ? 1 : 0;
}

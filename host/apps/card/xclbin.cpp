// SPDX-License-Identifier: Apache-2.0
//
// `tandem xclbin info`: describes a card image.
#include <spdlog/fmt/fmt.h>

#include <nlohmann/json.hpp>

#include "apps/card/command.h"
#include "bitstreams/xclbin/inspect.h"

namespace tandem::apps {
namespace {

nlohmann::json info_json(const xclbin::XclbinInfo& info) {
  nlohmann::json result = {{"path", info.path},
                           {"size_bytes", info.size_bytes},
                           {"uuid", info.uuid},
                           {"platform", info.platform},
                           {"emulated", info.emulated}};
  for (const xclbin::Section& section : info.sections) {
    result["sections"].push_back({{"kind", xclbin::section_kind_name(section.kind)},
                                  {"offset", section.offset},
                                  {"size_bytes", section.size_bytes}});
  }
  for (const xclbin::Memory& memory : info.memories) {
    if (!memory.used) continue;
    result["memories"].push_back(
        {{"tag", memory.tag}, {"base", memory.base}, {"size_bytes", memory.size_bytes}});
  }
  for (const xclbin::ComputeUnit& unit : info.compute_units) {
    result["compute_units"].push_back({{"kernel", unit.kernel},
                                       {"name", unit.name},
                                       {"base", unit.base},
                                       {"control", control_name(unit.control)}});
  }
  for (const xclbin::KernelInfo& kernel : info.kernels) {
    nlohmann::json arguments = nlohmann::json::array();
    for (const auto& argument : kernel.arguments) {
      arguments.push_back({{"name", argument.name}, {"type", argument.type}});
    }
    result["kernels"].push_back({{"name", kernel.name}, {"arguments", std::move(arguments)}});
  }
  return result;
}

void print_info(const xclbin::XclbinInfo& info) {
  fmt::print("{}\n  {} bytes, uuid {}\n  platform {}{}\n", info.path, info.size_bytes, info.uuid,
             info.platform, info.emulated ? ", for emulated cards" : "");
  fmt::print("sections\n");
  for (const xclbin::Section& section : info.sections) {
    fmt::print("  {:<20} {:>10} bytes at {}\n", xclbin::section_kind_name(section.kind),
               section.size_bytes, section.offset);
  }
  fmt::print("memories in use\n");
  for (const xclbin::Memory& memory : info.memories) {
    if (memory.used)
      fmt::print("  {:<20} {:>10} MiB at {:#x}\n", memory.tag, memory.size_bytes >> 20,
                 memory.base);
  }
  fmt::print("compute units\n");
  for (const xclbin::ComputeUnit& unit : info.compute_units) {
    fmt::print("  {}:{} ({}) at {:#x}\n", unit.kernel, unit.name, control_name(unit.control),
               unit.base);
  }
  fmt::print("kernels\n");
  for (const xclbin::KernelInfo& kernel : info.kernels) {
    std::string arguments;
    for (const auto& argument : kernel.arguments) {
      arguments += (arguments.empty() ? "" : ", ") + argument.type + " " + argument.name;
    }
    fmt::print("  {}({})\n", kernel.name, arguments);
  }
}

void add_info(CLI::App& parent) {
  CLI::App* command =
      parent.add_subcommand("info", "Describe an image: sections, memories, kernels");
  struct Options {
    std::string path;
    bool as_json = false;
  };
  auto o = std::make_shared<Options>();
  command->add_option("file", o->path, "an xclbin")->required();
  command->add_flag("--json", o->as_json, "print JSON");
  command->callback([o] {
    const xclbin::XclbinInfo info = xclbin::inspect(o->path);
    if (o->as_json) {
      fmt::print("{}\n", info_json(info).dump(2));
    } else {
      print_info(info);
    }
  });
}

}  // namespace

void add_xclbin(CLI::App& app) {
  CLI::App* command = app.add_subcommand("xclbin", "Describe card images (v++ builds them)");
  command->require_subcommand(1);
  add_info(*command);
}

}  // namespace tandem::apps

// SPDX-License-Identifier: Apache-2.0
//
// Everything that can fail is done before the units of the bitstream before end.
#include "emulation/card/loaded_program.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>

namespace tandem::emulation {
namespace {

// A unit tells of a command's end a moment before it is idle.
constexpr std::chrono::milliseconds kIdleTimeout{200};

}  // namespace

void LoadedProgram::load(const std::string& uuid, std::istream& lines, int elf) {
  wait_until_idle();
  std::vector<std::unique_ptr<KernelLibrary>> libraries;
  for (std::string line; std::getline(lines, line);) {
    if (libraries.size() >= kMaxUnits) throw std::runtime_error("too many compute units");
    libraries.push_back(std::make_unique<KernelLibrary>(elf, line.substr(0, line.find(':'))));
  }
  replace_units(std::move(libraries));
  uuid_ = uuid;
  areas_.shared().generation.fetch_add(1);
}

void LoadedProgram::wait_until_idle() const {
  const auto busy = [](const auto& unit) { return unit->busy(); };
  const auto deadline = std::chrono::steady_clock::now() + kIdleTimeout;
  while (std::any_of(units_.begin(), units_.end(), busy)) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("a compute unit is still running");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// A unit's rings have one consumer, so the old threads end before the new ones start.
void LoadedProgram::replace_units(std::vector<std::unique_ptr<KernelLibrary>> libraries) {
  units_.clear();
  try {
    for (auto& library : libraries) {
      const auto unit = static_cast<uint32_t>(units_.size());
      units_.push_back(std::make_unique<UnitThread>(areas_, unit, std::move(library)));
    }
  } catch (const std::exception& error) {
    // Neither bitstream is whole: the applications are to see a failed card, not one that hangs.
    std::fprintf(stderr, "tandem-card: %s\n", error.what());
    _exit(1);
  }
}

}  // namespace tandem::emulation

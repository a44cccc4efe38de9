// SPDX-License-Identifier: Apache-2.0
//
// The published systems by name.
#include "simulation/reproduce/reproduce.h"

#include "common/error.h"

namespace tandem::simulation {

Reproduction reproduce(std::string_view name) {
  if (name == "hpu") return reproduce_hpu();
  if (name == "neo") return reproduce_neo();
  if (name == "lamina") return reproduce_lamina();
  throw Error("simulate", "no published system is called '" + std::string(name) +
                              "': known are hpu, neo and lamina");
}

}  // namespace tandem::simulation

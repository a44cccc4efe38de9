// SPDX-License-Identifier: Apache-2.0
//
// The devices on which stencils run, apart from the registry: their unit is made without a device.
#include <charconv>

#include "common/error.h"
#include "cuda/backend.h"
#include "device/registry.h"

namespace tandem::device {

std::unique_ptr<StencilUnit> open_stencil_unit(std::string_view id, const StencilFields& fields) {
  const std::string full = full_id(id);
  const std::size_t colon = full.find(':');
  const std::string_view digits = std::string_view(full).substr(colon + 1);
  int index = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (full.substr(0, colon) != "cuda" || error != std::errc() ||
      end != digits.data() + digits.size() || index < 0) {
    throw Error("device", "'" + std::string(id) +
                              "' runs no stencils; give cpu, or a GPU such as "
                              "cuda:0");
  }
  return open_cuda_stencil_unit(index, fields);
}

}  // namespace tandem::device

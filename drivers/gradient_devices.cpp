// SPDX-License-Identifier: Apache-2.0
//
// The devices that select from gradients in their own memory, apart from the registry: a library
// for trainers carries no other backend.
#include <charconv>

#include "common/error.h"
#include "cuda/backend.h"
#include "device/registry.h"

namespace tandem::device {

std::unique_ptr<Device> open_gradient_device(std::string_view id) {
  const std::string full = full_id(id);
  const std::size_t colon = full.find(':');
  const std::string_view digits = std::string_view(full).substr(colon + 1);
  int index = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (full.substr(0, colon) != cuda_backend().kind() || error != std::errc() ||
      end != digits.data() + digits.size() || index < 0) {
    throw Error("device",
                "'" + std::string(id) + "' cannot hold gradients; name a GPU, such as cuda:0");
  }
  return cuda_backend().open(index, {});
}

}  // namespace tandem::device

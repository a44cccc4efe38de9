// SPDX-License-Identifier: Apache-2.0
//
// The devices whose selection units and gradient memory are compared: "cpu" and "cuda".
#pragma once

#include <gmock/gmock.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/error.h"
#include "cpu/backend.h"
#include "cuda/backend.h"
#include "device/selection_unit.h"
#include "gpu_kernels/sparse/gradient_values.h"

namespace tandem::device {

using gpu_kernels::gradient_values;
using gpu_kernels::Values;
using Floats = std::vector<float>;
using Places = std::vector<std::uint32_t>;

inline Deadline soon() { return Deadline::after(std::chrono::seconds(60)); }

inline GradientView view_of(const Floats& values) {
  return {std::as_bytes(std::span(values)), {}, {}};
}

inline Places places_of(const SelectedEntries& entries) {
  return {entries.indices.begin(), entries.indices.end()};
}
inline Floats values_of(const SelectedEntries& entries) {
  return {entries.values.begin(), entries.values.end()};
}

// The CPU is "cpu", the GPU's "cuda".
class SelectionDevices : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const bool is_cpu = std::string(GetParam()) == "cpu";
    const Backend& backend = is_cpu ? cpu_backend() : cuda_backend();
    if (is_cpu || !backend.enumerate({}).empty()) {
      device_ = backend.open(0, {});
      return;
    }
    const char* required = std::getenv("TANDEM_TEST_REQUIRE");
    const std::string reason = "no GPU: " + backend.unavailable_reason();
    if (required != nullptr && std::string(required).find("cuda") != std::string::npos) {
      FAIL() << reason;
    }
    GTEST_SKIP() << reason;
  }

  std::unique_ptr<SelectionUnit> make(std::uint64_t num_values, bool velocity = false) {
    return device_->make_selection_unit({num_values, velocity});
  }
  std::unique_ptr<GradientMemory> memory() { return device_->make_gradient_memory(); }

  static Floats residual_of(SelectionUnit& unit) {
    Floats residual(unit.shape().num_values);
    Floats velocity(unit.shape().velocity ? residual.size() : 0);
    unit.save({residual, velocity}, soon());
    return residual;
  }

  std::unique_ptr<Device> device_;
};

inline std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace tandem::device

// SPDX-License-Identifier: Apache-2.0
//
// The fixture of the attention units' tests: opens the device or skips with its reason, and makes
// units.
//
// If a unit refuses a geometry with an Error, the case is skipped with the reason. It must accept
// the geometries of real models (pages of 16 tokens, head_dim 64 and 128, f16 or i8). A DeviceError
// is a failure, not a refusal.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

#include "common/error.h"
#include "drivers/device/attention_scenario.h"
#include "drivers/device/device_under_test.h"

namespace tandem::device_test {

using device::AttentionUnit;
using device::Ticket;
using device::WaitResult;

// NMSE against the double-precision reference on rows rounded as pages store them.
inline constexpr double kBound = 1e-6;

inline WaitResult wait(AttentionUnit& unit, Ticket ticket) {
  return unit.wait(ticket, Deadline::after(kPatience));
}

class AttentionUnitTestBase : public ::testing::Test {
 protected:
  virtual std::string device_id() const = 0;

  void SetUp() override {
    opened_ = open_attention_device(device_id());
    if (opened_.device) return;
    if (opened_.required) FAIL() << opened_.why_absent;
    GTEST_SKIP() << opened_.why_absent;
  }

  // Empty if the unit refuses the geometry; refusal_ is then the reason.
  std::unique_ptr<AttentionUnit> make_unit(const AttentionGeometry& geometry,
                                           std::uint32_t max_pages = 64) {
    device::AttentionUnitOptions options;
    options.geometry = geometry;
    options.max_pages = max_pages;
    options.kv_bytes = std::uint64_t{64} << 20;
    options.max_batch_rows = 128;
    const bool is_common = geometry.kv_dtype == DType::kF16 || geometry.kv_dtype == DType::kI8;
    const bool must_take = is_common && geometry.page_tokens == 16 &&
                           (geometry.head_dim == 64 || geometry.head_dim == 128);
    try {
      return opened_.device->make_attention_unit(options);
    } catch (const DeviceError&) {
      throw;  // the device failed: not a refusal
    } catch (const Error& error) {
      if (must_take) throw;
      refusal_ = error.what();
      return nullptr;
    }
  }

  OpenedDevice opened_;
  std::string refusal_;
  std::mt19937_64 random_{20240607};
};

}  // namespace tandem::device_test

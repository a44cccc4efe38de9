// SPDX-License-Identifier: Apache-2.0
//
// Points XRT at two emulated cards and names their kernel image. The environment comes first: XRT's
// own setup script and TANDEM_TEST_XCLBIN run these tests on real cards.
//
// XRT reads its environment once, at its first use: include this file where the cards are opened.
#pragma once

#include <cstdlib>
#include <string>

namespace tandem::device_test {

inline const bool kCardEnvironmentSet = [] {
  setenv("XILINX_XRT", TANDEM_XRT_TREE, 0);
  setenv("TANDEM_CARDS", "2", 0);
  setenv("TANDEM_TEST_XCLBIN", TANDEM_ATTENTION_XCLBIN, 0);
  return true;
}();

inline std::string kernel_image() { return std::getenv("TANDEM_TEST_XCLBIN"); }

}  // namespace tandem::device_test

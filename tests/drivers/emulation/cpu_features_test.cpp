// SPDX-License-Identifier: Apache-2.0
//
// The CPU features that a kernel library is reported to lack.
#include "emulation/card/program/cpu_features.h"

#include <gtest/gtest.h>

#include "bitstreams/compiler/glue/cpu_features.h"

namespace tandem::emulation {
namespace {

// A library's bytes with the mark and `names`.
std::string library(const std::string& names) {
  std::string bytes("\177ELF\0", 5);
  bytes += TANDEM_CPU_FEATURES_MARK + names;
  bytes += '\0';
  return bytes += "no_feature ";
}

TEST(CpuFeatures, NothingIsMissingWhenNothingIsNeeded) {
  EXPECT_EQ(missing_cpu_features(""), "");
  EXPECT_EQ(missing_cpu_features("no mark"), "");
  EXPECT_EQ(missing_cpu_features(library("")), "");
}

TEST(CpuFeatures, WhatThisProgramWasCompiledForIsThere) {
  const std::string own(tandem_glue::cpu_features, sizeof(tandem_glue::cpu_features));
  EXPECT_EQ(missing_cpu_features(own), "");
}

TEST(CpuFeatures, UnknownOnesAreNamedOnceEach) {
  EXPECT_EQ(missing_cpu_features(library("zen9 warp ") + library("warp flux ")), "zen9 warp flux");
}

// No CPU has both AMD's fma4 and Intel's avxvnni.
TEST(CpuFeatures, AMissingOneIsNamed) {
  EXPECT_NE(missing_cpu_features(library("fma4 avxvnni ")), "");
}

}  // namespace
}  // namespace tandem::emulation

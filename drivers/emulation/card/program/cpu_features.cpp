// SPDX-License-Identifier: Apache-2.0
//
// A table of this CPU's features, and a search for the mark in the library's bytes.
#include "emulation/card/program/cpu_features.h"

#include <cpuid.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "bitstreams/compiler/glue/kernel_entry.h"

namespace tandem::emulation {
namespace {

struct Feature {
  std::string_view name;
  bool present;
};

// A bit of CPUID, for features whose names only one of the compilers knows.
bool cpuid_bit(unsigned leaf, unsigned subleaf, int word, int bit) {
  unsigned words[4] = {};
  return __get_cpuid_count(leaf, subleaf, &words[0], &words[1], &words[2], &words[3]) != 0 &&
         (words[word] >> bit & 1u) != 0;
}

// The features that bitstreams/compiler/glue/cpu_features.h knows.
bool cpu_has(std::string_view name) {
#define TANDEM_FEATURE(name) \
  { name, __builtin_cpu_supports(name) != 0 }
  constexpr int kEax = 0, kEcx = 2, kEdx = 3;
  const bool avx = __builtin_cpu_supports("avx") != 0;  // the system saves its registers
  const bool avx512 = __builtin_cpu_supports("avx512f") != 0;
  // clang-format off
  static const Feature features[] = {
      TANDEM_FEATURE("sse3"), TANDEM_FEATURE("ssse3"), TANDEM_FEATURE("sse4.1"), TANDEM_FEATURE("sse4.2"),
      TANDEM_FEATURE("popcnt"), TANDEM_FEATURE("avx"), TANDEM_FEATURE("avx2"), TANDEM_FEATURE("fma"),
      TANDEM_FEATURE("bmi"), TANDEM_FEATURE("bmi2"), TANDEM_FEATURE("fma4"), TANDEM_FEATURE("xop"),
      TANDEM_FEATURE("avx512f"), TANDEM_FEATURE("avx512vl"), TANDEM_FEATURE("avx512bw"), TANDEM_FEATURE("avx512dq"),
      TANDEM_FEATURE("avx512cd"), TANDEM_FEATURE("avx512ifma"), TANDEM_FEATURE("avx512vbmi"), TANDEM_FEATURE("avx512vbmi2"),
      TANDEM_FEATURE("avx512vnni"), TANDEM_FEATURE("avx512bitalg"), TANDEM_FEATURE("avx512vpopcntdq"), TANDEM_FEATURE("avx512bf16"),
      TANDEM_FEATURE("gfni"), {"lzcnt", cpuid_bit(0x80000001, 0, kEcx, 5)},
      {"f16c", avx && cpuid_bit(1, 0, kEcx, 29)}, {"movbe", cpuid_bit(1, 0, kEcx, 22)},
      {"avxvnni", avx && cpuid_bit(7, 1, kEax, 4)}, {"avx512fp16", avx512 && cpuid_bit(7, 0, kEdx, 23)},
  };
  // clang-format on
#undef TANDEM_FEATURE
  return std::any_of(std::begin(features), std::end(features), [&](const Feature& feature) {
    return feature.present && feature.name == name;
  });
}

}  // namespace

std::string missing_cpu_features(std::string_view library) {
  constexpr std::string_view kMark = TANDEM_CPU_FEATURES_MARK;
  std::string missing;
  // One mark for each translation unit.
  for (size_t at = library.find(kMark); at != std::string_view::npos;
       at = library.find(kMark, at + 1)) {
    const std::string_view rest = library.substr(at + kMark.size());
    std::istringstream names{std::string(rest.substr(0, rest.find('\0')))};
    for (std::string name; names >> name;) {
      const bool told = (" " + missing + " ").find(" " + name + " ") != std::string::npos;
      if (!cpu_has(name) && !told) missing += (missing.empty() ? "" : " ") + name;
    }
  }
  return missing;
}

}  // namespace tandem::emulation

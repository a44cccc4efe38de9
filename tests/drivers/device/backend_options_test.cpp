// SPDX-License-Identifier: Apache-2.0
//
// Options of backends: defaults, wrong keys and values, and what the backends of the build declare.
#include "device/backend_options.h"

#include <gmock/gmock.h>

#include <set>

#include "common/error.h"
#include "device/registry.h"

namespace tandem::device {
namespace {

using testing::HasSubstr;

constexpr std::string_view kWords[] = {"plain", "fast"};
constexpr BackendOption kDeclared[] = {
    {.name = "toy-kernels", .type = OptionType::kWord, .default_value = "plain", .words = kWords},
    {.name = "toy-rounds", .type = OptionType::kFlag, .default_value = "false"},
    {.name = "toy-image", .type = OptionType::kFile, .default_value = "the one built here"}};

std::string said_of(const BackendValues& values) {
  try {
    check_values(values, kDeclared);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(BackendOptions, HaveTheirDefaultsUntilTheyAreSet) {
  BackendValues values;
  EXPECT_EQ(values.word(kDeclared[0]), "plain");
  EXPECT_FALSE(values.is_on(kDeclared[1]));
  EXPECT_EQ(values.find(kDeclared[2]), std::nullopt) << "its default is in words";
  values.set("toy-kernels", "plain");
  values.set("toy-kernels", "fast");
  values.set("toy-rounds", "true");
  values.set("toy-image", "");
  EXPECT_EQ(values.word(kDeclared[0]), "fast");
  EXPECT_TRUE(values.is_on(kDeclared[1]));
  EXPECT_EQ(values.find(kDeclared[2]), "");
}

TEST(BackendOptions, NameTheNearestKeyAndTheAllowedValues) {
  EXPECT_EQ(said_of({{"toy-kernels", "fast"}, {"toy-rounds", "true"}, {"toy-image", "a b"}}), "");
  EXPECT_THAT(said_of({{"toy-kernel", "fast"}}),
              HasSubstr("'toy-kernel' (did you mean 'toy-kernels'?); see `tandem devices"));
  EXPECT_THAT(said_of({{"toy-kernels", "slow"}}), HasSubstr("'slow'; use one of: plain, fast"));
  EXPECT_THAT(said_of({{"toy-rounds", "on"}}), HasSubstr("'on'; use one of: true, false"));
}

TEST(BackendOptions, OfTheBuildHaveNamesOfTheirOwnAndValidDefaults) {
  std::set<std::string_view> names;
  for (const Backend* backend : backends()) {
    for (const BackendOption& option : backend->options()) {
      EXPECT_TRUE(names.insert(option.name).second) << option.name;
      EXPECT_FALSE(option.help.empty()) << option.name;
      EXPECT_FALSE(option.default_value.empty()) << option.name;
      if (option.type == OptionType::kFile) continue;
      const BackendValues set = {{std::string(option.name), std::string(option.default_value)}};
      EXPECT_NO_THROW(check_options({.values = set})) << option.name;
    }
  }
  // In every build, with the backend or without.
  for (const char* name : {"cpu-sparse", "cuda-kernels", "cuda-fp8-rows", "xclbin",
                           "aggregation-xclbin", "tables-xclbin"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(BackendOptions, OfADeviceAreCheckedWhenItIsOpened) {
  EXPECT_THROW(open_device("cpu", {.num_threads = 1, .values = {{"cuda-kernls", "generic"}}}),
               Error);
  EXPECT_THROW(open_device("cpu", {.num_threads = 1, .values = {{"cuda-kernels", "best"}}}), Error);
  EXPECT_NE(open_device("cpu", {.num_threads = 1, .values = {{"cuda-kernels", "trial"}}}), nullptr);
}

}  // namespace
}  // namespace tandem::device

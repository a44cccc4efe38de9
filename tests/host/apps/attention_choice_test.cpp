// SPDX-License-Identifier: Apache-2.0
//
// Which devices attend for which model, and what a device that cannot is told.
#include "apps/attention_choice.h"

#include <gmock/gmock.h>

#include "common/error.h"

namespace tandem::apps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

device::DeviceInfo device_of(const std::string& id, bool windows, bool softcap) {
  device::DeviceInfo info;
  info.id = id;
  info.kind = id.substr(0, id.find(':'));
  info.makes_attention = true;
  info.attends_windows = windows;
  info.attends_softcap = softcap;
  return info;
}

const std::vector<device::DeviceInfo> kDevices = {
    device_of("cpu", true, true), device_of("opencl:0", false, false),
    device_of("xrt:0", false, false), device_of("xrt:1", true, false)};

std::string refusal(const device::DeviceInfo& info, const AttentionNeeds& needs) {
  try {
    require_needs(info, needs, kDevices);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(AttentionChoice, NeedsWindowsOnlyWhereSomethingFallsOutOfThem) {
  model::ModelConfig config;
  EXPECT_FALSE(attention_needs(config, 4096).windows);
  config.windows = {0, 1024};
  EXPECT_TRUE(attention_needs(config, 1025).windows);
  EXPECT_FALSE(attention_needs(config, 1024).windows);
  EXPECT_FALSE(attention_needs(config, 4096).softcap);
  config.attention_softcap = 50;
  EXPECT_TRUE(attention_needs(config, 4096).softcap);
}

TEST(AttentionChoice, TakesCardsThatCanAndElseTheCpu) {
  EXPECT_THAT(automatic_ids({}, kDevices), ElementsAre("xrt:0", "xrt:1"));
  EXPECT_THAT(automatic_ids({"m", true, false}, kDevices), ElementsAre("xrt:1"));
  EXPECT_THAT(automatic_ids({"m", true, true}, kDevices), ElementsAre("cpu"));
}

TEST(AttentionChoice, TellsTheNeedAndWhoMeetsIt) {
  EXPECT_EQ(refusal(kDevices[2], {"llama", false, false}), "");
  EXPECT_THAT(refusal(kDevices[2], {"gemma3 'g'", true, false}),
              HasSubstr("xrt:0 has no sliding windows, which the model gemma3 'g' needs; choose "
                        "cpu, xrt:1"));
  EXPECT_THAT(refusal(kDevices[3], {"gemma2", true, true}),
              HasSubstr("xrt:1 has no soft caps on scores, which the model gemma2 needs; choose "
                        "cpu"));
}

TEST(AttentionChoice, ReadsListsOfDevices) {
  EXPECT_THAT(listed_ids("cpu,xrt:1"), ElementsAre("cpu", "xrt:1"));
  EXPECT_THROW(listed_ids("cpu,,xrt:1"), Error);
  EXPECT_THROW(listed_ids("cpu,cpu"), Error);
  EXPECT_THROW(listed_ids(""), Error);
}

}  // namespace
}  // namespace tandem::apps

// SPDX-License-Identifier: Apache-2.0
//
// The choice of attention devices for a model, and the errors for devices that cannot serve it.
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

ListedDevice listed(const std::string& id) { return {id, 0}; }

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

TEST(AttentionChoice, TakesTheMemoryOfTheComputeDeviceAndCardsThatCan) {
  const device::DeviceInfo& cpu = kDevices[0];
  EXPECT_THAT(automatic_devices({}, cpu, kDevices),
              ElementsAre(listed("cpu"), listed("xrt:0"), listed("xrt:1")));
  EXPECT_THAT(automatic_devices({"m", true, false}, cpu, kDevices),
              ElementsAre(listed("cpu"), listed("xrt:1")));
  EXPECT_THAT(automatic_devices({"m", true, true}, cpu, kDevices), ElementsAre(listed("cpu")));
  const device::DeviceInfo gpu = device_of("cuda:0", true, false);
  EXPECT_THAT(automatic_devices({}, gpu, kDevices),
              ElementsAre(listed("cuda:0"), listed("xrt:0"), listed("xrt:1")));
  EXPECT_THAT(automatic_devices({"m", true, true}, gpu, kDevices), ElementsAre(listed("cpu")))
      << "the GPU has no soft caps";
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
  EXPECT_THAT(listed_devices("cpu,xrt:1"), ElementsAre(listed("cpu"), listed("xrt:1")));
  EXPECT_THROW(listed_devices("cpu,,xrt:1"), Error);
  EXPECT_THROW(listed_devices("cpu,cpu"), Error);
  EXPECT_THROW(listed_devices(""), Error);
  for (const char* list :
       {"cpu,", "cuda,cuda:0", "cuda+cuda:1,cuda:0+cuda:1", "cuda=.5,cuda:0=.5"}) {
    EXPECT_THROW(listed_devices(list), Error) << list;
  }
  EXPECT_THAT(listed_devices("cuda,cuda:1"), testing::SizeIs(2));
}

TEST(AttentionChoice, ReadsSharesForAllDevicesOrNone) {
  EXPECT_THAT(
      listed_devices("cuda=0.5,xrt:0=0.3,cpu=0.2"),
      ElementsAre(ListedDevice{"cuda", 0.5}, ListedDevice{"xrt:0", 0.3}, ListedDevice{"cpu", 0.2}));
  EXPECT_THAT(listed_devices("a=0.333,b=.333,c=0.333"), testing::SizeIs(3)) << "thirds";
  EXPECT_THAT(listed_devices("cpu=1"), ElementsAre(ListedDevice{"cpu", 1}));
}

TEST(AttentionChoice, NamesWhatIsWrongWithShares) {
  const auto error = [](const std::string& list) -> std::string {
    try {
      listed_devices(list);
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(error("cuda=0.5,cpu=0.3"), HasSubstr("the shares sum to 0.8, not to 1"));
  EXPECT_THAT(error("cuda=1.5,cpu=-0.5"), HasSubstr("the share of cuda, '1.5'"));
  EXPECT_THAT(error("cuda=-0.5,cpu=1"), HasSubstr("the share of cuda, '-0.5', must be above 0"));
  EXPECT_THAT(error("cuda=0,cpu=1"), HasSubstr("must be above 0"));
  EXPECT_THAT(error("cuda=nan,cpu=1"), HasSubstr("must be above 0"));
  EXPECT_THAT(error("cuda=half,cpu=0.5"), HasSubstr("'half', is not a number"));
  EXPECT_THAT(error("cuda=0.5x,cpu=0.5"), HasSubstr("is not a number"));
  EXPECT_THAT(error("cuda=,cpu=1"), HasSubstr("is not a number"));
  EXPECT_THAT(error("cuda=0.5,cpu"), HasSubstr("cpu has no share"));
  EXPECT_THAT(error("=0.5,cpu=0.5"), HasSubstr("empty device id"));
  EXPECT_THAT(error("cpu=0.5,cpu=0.5"), HasSubstr("named twice"));
}

}  // namespace
}  // namespace tandem::apps

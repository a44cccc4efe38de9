// SPDX-License-Identifier: Apache-2.0
//
// The oracle of the writer: XRT's own library reads what it writes.
#include <gmock/gmock.h>
#include <xrt/xrt_uuid.h>

#include <experimental/xrt_xclbin.h>

#include "bitstreams/xclbin/inspect.h"
#include "test_design.h"

namespace tandem::xclbin {
namespace {

Design design_of_every_kind() {
  Design design = xclbin_test::small_design();
  design.kernels[0].arguments[0].type = "const ap_uint<512> *";
  design.kernels[0].arguments.push_back(
      {"from", "hls::stream<int> &", 4, 0, 8, 0x30, "", false, 4});
  design.kernels[1].arguments.push_back({"to", "hls::stream<int> &", 4, 0, 8, 0x20, "", false, 4});
  design.links = {{"scale_1", "to", "copy_2", "from", 16}};
  design.elf.assign(1000, std::byte{7});
  return design;
}

class XrtLibrary : public testing::Test {
 protected:
  XrtLibrary()
      : bytes_(encode(design_of_every_kind())),
        ours_(inspect(bytes_, "ours")),
        theirs_(std::vector<char>(reinterpret_cast<const char*>(bytes_.data()),
                                  reinterpret_cast<const char*>(bytes_.data() + bytes_.size()))) {}

  std::vector<std::byte> bytes_;
  XclbinInfo ours_;
  xrt::xclbin theirs_;
};

TEST_F(XrtLibrary, SeesTheSamePlatformAndIdentity) {
  EXPECT_EQ(theirs_.get_xsa_name(), ours_.platform);
  EXPECT_EQ(theirs_.get_uuid().to_string(), ours_.uuid);
  EXPECT_EQ(theirs_.get_target_type(), xrt::xclbin::target_type::sw_emu);
}

TEST_F(XrtLibrary, SeesTheSameMemories) {
  const auto memories = theirs_.get_mems();
  ASSERT_EQ(memories.size(), ours_.memories.size());
  for (size_t index = 0; index < memories.size(); ++index) {
    const Memory& memory = ours_.memories[index];
    EXPECT_EQ(memories[index].get_tag(), memory.tag);
    EXPECT_EQ(memories[index].get_used(), memory.used) << memory.tag;
    EXPECT_EQ(static_cast<uint32_t>(memories[index].get_type()), memory.type) << memory.tag;
    if (memory.tag.starts_with("dc_")) continue;
    EXPECT_EQ(memories[index].get_base_address(), memory.base) << memory.tag;
    EXPECT_EQ(memories[index].get_size_kb() * 1024, memory.size_bytes) << memory.tag;
  }
}

TEST_F(XrtLibrary, SeesTheSameKernelsArgumentsAndUnits) {
  const auto kernels = theirs_.get_kernels();
  ASSERT_EQ(kernels.size(), ours_.kernels.size());
  size_t unit = 0;
  for (size_t index = 0; index < kernels.size(); ++index) {
    const KernelInfo& kernel = ours_.kernels[index];
    EXPECT_EQ(kernels[index].get_name(), kernel.name);
    const auto arguments = kernels[index].get_args();
    ASSERT_EQ(arguments.size(), kernel.arguments.size());
    for (size_t argument = 0; argument < arguments.size(); ++argument) {
      const Argument& known = kernel.arguments[argument];
      EXPECT_EQ(arguments[argument].get_name(), known.name);
      EXPECT_EQ(arguments[argument].get_index(), argument);
      EXPECT_EQ(arguments[argument].get_offset(), known.offset);
      EXPECT_EQ(arguments[argument].get_size(), known.register_bytes);
      EXPECT_EQ(arguments[argument].get_host_type(), known.type);
    }
    for (const xrt::xclbin::ip& ip : kernels[index].get_cus()) {
      const ComputeUnit& known = ours_.compute_units.at(unit++);
      EXPECT_EQ(ip.get_name(), known.kernel + ":" + known.name);
      EXPECT_EQ(ip.get_base_address(), known.base);
      EXPECT_EQ(ip.get_control_type(), known.control == Control::kChain
                                           ? xrt::xclbin::ip::control_type::chain
                                           : xrt::xclbin::ip::control_type::hs);
    }
  }
  EXPECT_EQ(unit, ours_.compute_units.size());
}

TEST_F(XrtLibrary, SeesTheSameConnections) {
  for (const xrt::xclbin::ip& ip : theirs_.get_ips()) {
    if (ip.get_name() != "copy:copy_2") continue;
    std::vector<std::string> tags;
    for (const auto& memory : ip.get_arg(1).get_mems()) tags.push_back(memory.get_tag());
    EXPECT_THAT(tags,
                testing::UnorderedElementsAre("HBM[4]", "HBM[5]", "HBM[6]", "HBM[7]", "HBM[4:7]"));
    return;
  }
  ADD_FAILURE() << "no unit copy_2";
}

}  // namespace
}  // namespace tandem::xclbin

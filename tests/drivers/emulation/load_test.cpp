// SPDX-License-Identifier: Apache-2.0
//
// Loads that must be refused: hostile headers, truncated files, and bitstreams whose kernels cannot
// be loaded. The card keeps what it has.
#include <experimental/xrt-next.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xclbin.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "emulated_cards.h"
#include "shim_functions.h"

namespace tandem::emulation_test {
namespace {

using testing::HasSubstr;

std::vector<char> trial_bytes() {
  std::ifstream in(trial_xclbin(), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Memory whose next page is not mapped.
class CutMemory {
 public:
  CutMemory(const char* data, size_t size_bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_bytes_ = (size_bytes + page - 1) / page * page;
    void* memory =
        mmap(nullptr, size_bytes_ + kHole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("mmap");
    begin_ = static_cast<char*>(memory);
    munmap(begin_ + size_bytes_, kHole);
    mprotect(begin_, size_bytes_, PROT_READ | PROT_WRITE);
    std::memcpy(begin_ + size_bytes_ - size_bytes, data, size_bytes);
    file_ = begin_ + size_bytes_ - size_bytes;
  }
  ~CutMemory() { munmap(begin_, size_bytes_); }
  CutMemory(const CutMemory&) = delete;
  CutMemory& operator=(const CutMemory&) = delete;
  axlf* file() const { return reinterpret_cast<axlf*>(file_); }

 private:
  static constexpr size_t kHole = size_t{1} << 30;
  char* begin_ = nullptr;
  char* file_ = nullptr;
  size_t size_bytes_ = 0;
};

class HostileHeader : public testing::Test {
 protected:
  // Loads through the C API; the report goes to `report_`.
  int load(const axlf* top) {
    xrt::device device(0u);
    testing::internal::CaptureStderr();
    const int code = TANDEM_SHIM(xclLoadXclBin)(static_cast<xclDeviceHandle>(device), top);
    report_ = testing::internal::GetCapturedStderr();
    return code;
  }

  std::vector<char> bytes_ = trial_bytes();
  axlf* top_ = reinterpret_cast<axlf*>(bytes_.data());
  std::string report_;
};

TEST_F(HostileHeader, WithoutTheMagicIsRefusedAloud) {
  top_->m_magic[0] = 'y';
  EXPECT_EQ(load(top_), -EINVAL);
  EXPECT_THAT(report_, HasSubstr("m_magic"));
}

TEST_F(HostileHeader, WithALengthNoFileHasIsRefusedAloud) {
  for (uint64_t length : {uint64_t{0}, uint64_t{100}, uint64_t{1} << 40, ~uint64_t{0}}) {
    top_->m_header.m_length = length;
    EXPECT_EQ(load(top_), -EINVAL) << length;
    EXPECT_THAT(report_, HasSubstr("m_length")) << length;
  }
}

TEST_F(HostileHeader, WithSectionsPastTheEndIsRefusedAloud) {
  top_->m_sections[1].m_sectionSize = uint64_t{1} << 40;
  EXPECT_EQ(load(top_), -EINVAL);
  EXPECT_THAT(report_, HasSubstr("m_sectionSize"));
  top_->m_header.m_numSections = 0xffffffff;
  EXPECT_EQ(load(top_), -EINVAL);
  EXPECT_THAT(report_, HasSubstr("m_numSections"));
}

TEST_F(HostileHeader, WithMoreBytesThanAreInMemoryIsRefusedAloud) {
  const CutMemory header_only(bytes_.data(), sizeof(axlf));
  EXPECT_EQ(load(header_only.file()), -EINVAL);
  EXPECT_THAT(report_, HasSubstr("truncated"));
}

TEST_F(HostileHeader, OfEveryTruncatedFileIsRefused) {
  const size_t tables =
      offsetof(axlf, m_sections) + top_->m_header.m_numSections * sizeof(axlf_section_header);
  xrt::device device(0u);
  const auto handle = static_cast<xclDeviceHandle>(device);
  testing::internal::CaptureStderr();
  for (size_t size = 0; size < bytes_.size(); size += size < tables ? 1 : 211) {
    const CutMemory cut(bytes_.data(), size);
    EXPECT_EQ(TANDEM_SHIM(xclLoadXclBin)(handle, cut.file()), -EINVAL) << size;
  }
  testing::internal::GetCapturedStderr();
}

TEST_F(HostileHeader, InMemoryThatCannotBeReadIsRefusedAloud) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  EXPECT_EQ(load(static_cast<const axlf*>(memory)), -EINVAL);
  EXPECT_THAT(report_, HasSubstr("m_magic"));
  munmap(memory, page);
}

// The trial bitstream under another identity, with units of kernels that its ELF does not hold.
std::vector<char> without_kernel() {
  std::vector<char> bytes = trial_bytes();
  auto* top = reinterpret_cast<axlf*>(bytes.data());
  top->m_header.uuid[0] ^= 0x5a;
  for (uint32_t index = 0; index < top->m_header.m_numSections; ++index) {
    const axlf_section_header& section = top->m_sections[index];
    if (section.m_sectionKind != IP_LAYOUT) continue;
    auto* layout = reinterpret_cast<ip_layout*>(bytes.data() + section.m_sectionOffset);
    for (int unit = 0; unit < layout->m_count; ++unit) layout->m_ip_data[unit].m_name[0] = 'x';
  }
  return bytes;
}

TEST(FailedLoad, LeavesTheCardWithTheBitstreamItHad) {
  xrt::device device(0u);
  const auto uuid = device.load_xclbin(trial_xclbin());
  const std::vector<char> bad = without_kernel();
  const auto load = TANDEM_SHIM(xclLoadXclBin);
  const auto* top = reinterpret_cast<const axlf*>(bad.data());
  EXPECT_NE(load(static_cast<xclDeviceHandle>(device), top), 0);
  EXPECT_NE(load(static_cast<xclDeviceHandle>(device), top), 0) << "not taken for loaded";
  TrialCard card;
  ASSERT_EQ(std::memcmp(card.uuid.get(), uuid.get(), sizeof(xuid_t)), 0);
  for (uint32_t launch = 0; launch < 6; ++launch) {
    ASSERT_EQ(card.run(kWrite, launch), ERT_CMD_STATE_COMPLETED);
    ASSERT_EQ(card.fetch()[0], launch);
  }
}

TEST(Load, GivesUnitsFreshRegisters) {
  xrt::device device(0u);
  const auto handle = static_cast<xclDeviceHandle>(device);
  const auto write_then_read = [&](uint32_t value) {
    uint32_t before = ~0u;
    EXPECT_EQ(TANDEM_SHIM(xclRegRead)(handle, 0, 0x18, &before), 0);
    EXPECT_EQ(TANDEM_SHIM(xclRegWrite)(handle, 0, 0x18, value), 0);
    return before;
  };
  device.load_xclbin(trial_xclbin());
  EXPECT_EQ(write_then_read(5), 0u);
  EXPECT_EQ(write_then_read(6), 5u);
  device.load_xclbin(std::string(TANDEM_TEST_XCLBIN_DIR "/idle_vadd.xclbin"));
  EXPECT_EQ(write_then_read(7), 0u);
}

TEST(FailedLoad, OfABitstreamForAnotherCpuNamesWhatIsMissing) {
  xrt::device device(0u);
  testing::internal::CaptureStderr();
  EXPECT_THROW(device.load_xclbin(TANDEM_TEST_XCLBIN_DIR "/foreign_cpu.xclbin"), std::exception);
  const std::string report = testing::internal::GetCapturedStderr();
  EXPECT_THAT(report, testing::AnyOf(HasSubstr("fma4"), HasSubstr("avxvnni")));
  EXPECT_THAT(report, HasSubstr("build the kernels"));
}

}  // namespace
}  // namespace tandem::emulation_test

// SPDX-License-Identifier: Apache-2.0
//
// Kernel images that are missing, no xclbin files, damaged, or linked in a way the driver cannot
// use. Each is an Error, before XRT reads bytes that would end the process.
#include <gtest/gtest.h>
#include <xclbin.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/error.h"
#include "drivers/xrt/emulated_environment.h"
#include "support/scratch_path.h"
#include "xrt/backend.h"

namespace tandem::device_test {
namespace {

const device::AttentionGeometry kImageGeometry = {
    .num_layers = 2, .q_heads = 6, .kv_heads = 2, .head_dim = 40, .page_tokens = 16};

std::string message_of(const std::string& image) {
  try {
    device::xrt_backend()
        .open(0, {.values = {{"xclbin", image}}})
        ->make_attention_unit({.geometry = kImageGeometry, .max_pages = 4});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(XrtKernelImage, IsNamedWhenItCannotBeUsed) {
  EXPECT_NE(message_of("").find("no kernel image"), std::string::npos);
  EXPECT_NE(message_of("").find("--xclbin"), std::string::npos);
  EXPECT_NE(message_of("/nowhere/a.xclbin").find("/nowhere/a.xclbin"), std::string::npos);
  const test::ScratchPath file("not_an.xclbin");
  const std::string wrong = file.string();
  std::ofstream(wrong) << "this is not a kernel image, though it is long enough to be read";
  EXPECT_NE(message_of(wrong).find(wrong), std::string::npos);
  const std::string other = std::string(TANDEM_VECTOR_ADD_XCLBIN);
  EXPECT_NE(message_of(other).find("attention_decode"), std::string::npos);
}

// A file of these bytes.
class Image {
 public:
  explicit Image(const std::string& bytes) {
    std::ofstream(file_.path(), std::ios::binary) << bytes;
  }
  std::string path() const { return file_.string(); }

 private:
  test::ScratchPath file_{"image.xclbin"};
};

std::string bytes_of_kernel_image() {
  std::ifstream in(kernel_image(), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

template <typename Value>
void patch(std::string* bytes, std::size_t at, Value value) {
  std::memcpy(bytes->data() + at, &value, sizeof(value));
}

// Where the header of each section of `kind` stands.
std::vector<std::size_t> section_headers(const std::string& bytes, std::uint32_t kind) {
  axlf top;
  std::memcpy(&top, bytes.data(), sizeof(top));
  std::vector<std::size_t> found;
  for (std::uint32_t i = 0; i < top.m_header.m_numSections; ++i) {
    const std::size_t at = offsetof(axlf, m_sections) + i * sizeof(axlf_section_header);
    axlf_section_header header;
    std::memcpy(&header, bytes.data() + at, sizeof(header));
    if (header.m_sectionKind == kind) found.push_back(at);
  }
  return found;
}

constexpr std::size_t kLengthAt = offsetof(axlf, m_header) + offsetof(axlf_header, m_length);

TEST(XrtKernelImage, IsRefusedWhenTruncated) {
  const std::string whole = bytes_of_kernel_image();
  std::vector<std::size_t> sizes = {456, 9000, whole.size() - 1};
  for (std::size_t size = 0; size < 1000; size += 61) sizes.push_back(size);
  for (const std::size_t size : sizes) {
    SCOPED_TRACE(size);
    const Image image(whole.substr(0, size));
    const std::string message = message_of(image.path());
    EXPECT_NE(message.find(image.path()), std::string::npos) << message;
    EXPECT_NE(message.find(size < 456 ? "the header at byte 0" : "m_length at byte"),
              std::string::npos)
        << message;
  }
}

TEST(XrtKernelImage, IsRefusedWhenItsSizesAndOffsetsLie) {
  const std::string whole = bytes_of_kernel_image();
  ASSERT_GT(whole.size(), sizeof(axlf));
  const auto expect_refused = [](const std::string& bytes, const std::string& field) {
    const std::string message = message_of(Image(bytes).path());
    EXPECT_NE(message.find(field + " at byte"), std::string::npos) << message;
  };
  std::string bytes = whole;
  patch(&bytes, 0, 'y');
  expect_refused(bytes, "m_magic");

  const auto bitstreams = section_headers(whole, BITSTREAM);
  ASSERT_FALSE(bitstreams.empty());
  const std::size_t offset_at = bitstreams[0] + offsetof(axlf_section_header, m_sectionOffset);
  const std::size_t size_at = bitstreams[0] + offsetof(axlf_section_header, m_sectionSize);
  bytes = whole;
  patch(&bytes, kLengthAt, std::uint64_t{1} << 30);
  patch(&bytes, offset_at, std::uint64_t{1} << 29);
  expect_refused(bytes, "m_length");
  patch(&bytes, kLengthAt, std::uint64_t{whole.size()});
  expect_refused(bytes, ".m_sectionOffset");
  bytes = whole;
  patch(&bytes, size_at, ~std::uint64_t{0});
  expect_refused(bytes, ".m_sectionSize");
  bytes = whole;
  patch(&bytes, offsetof(axlf, m_header) + offsetof(axlf_header, m_numSections), 0xffffffffu);
  expect_refused(bytes, "m_numSections");
  bytes = whole;
  const auto memories = section_headers(whole, MEM_TOPOLOGY);
  ASSERT_FALSE(memories.empty());
  axlf_section_header memory;
  std::memcpy(&memory, whole.data() + memories[0], sizeof(memory));
  patch(&bytes, memory.m_sectionOffset, std::int32_t{1000000});
  expect_refused(bytes, "m_count");
}

TEST(XrtKernelImage, IsRefusedWhenItsUnitsShareNoMemory) {
  std::string bytes = bytes_of_kernel_image();
  for (const auto kind : {CONNECTIVITY, ASK_GROUP_CONNECTIVITY}) {
    for (const std::size_t at : section_headers(bytes, kind)) {
      axlf_section_header section;
      std::memcpy(&section, bytes.data() + at, sizeof(section));
      std::int32_t count = 0;
      std::memcpy(&count, bytes.data() + section.m_sectionOffset, sizeof(count));
      // The descriptor of the second unit goes where its keys are.
      std::size_t descriptor_at = 0;
      connection keys{};
      for (std::int32_t i = 0; i < count; ++i) {
        const std::size_t entry_at =
            section.m_sectionOffset + offsetof(connectivity, m_connection) + i * sizeof(connection);
        connection entry;
        std::memcpy(&entry, bytes.data() + entry_at, sizeof(entry));
        if (entry.m_ip_layout_index != 1) continue;
        if (entry.arg_index == 0) descriptor_at = entry_at;
        if (entry.arg_index == 2) keys = entry;
      }
      ASSERT_NE(descriptor_at, 0u);
      patch(&bytes, descriptor_at + offsetof(connection, mem_data_index), keys.mem_data_index);
    }
  }
  const std::string message = message_of(Image(bytes).path());
  EXPECT_NE(message.find("different memories"), std::string::npos) << message;
}

}  // namespace
}  // namespace tandem::device_test

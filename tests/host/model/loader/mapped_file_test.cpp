// SPDX-License-Identifier: Apache-2.0
//
// MappedFile: release() frees memory, and the bytes can still be read.
#include "model/loader/mapped_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "support/mapped_pages.h"
#include "support/scratch_path.h"

namespace tandem::model {
namespace {

const std::size_t kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
constexpr std::size_t kPages = 64;

class MappedFiles : public testing::Test {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < text_.size(); ++i) text_[i] = static_cast<char>(i * 7 + i / kPage);
    std::ofstream(path_.path(), std::ios::binary) << text_;
    if (!test::mapped_pages({})) GTEST_SKIP() << "/proc/self/pagemap cannot be read";
  }

  std::size_t present(std::span<const std::byte> range) const {
    return test::mapped_pages(range)->present;
  }
  bool is_text(std::span<const std::byte> bytes) const {
    return std::memcmp(bytes.data(), text_.data(), text_.size()) == 0;
  }

  const test::ScratchPath path_{"mapped"};
  std::string text_ = std::string(kPages * kPage, '\0');
};

TEST_F(MappedFiles, GiveBackTheWholePagesOfAPartAndReadThemAgain) {
  const MappedFile file(path_.string());
  file.read_ahead({});
  ASSERT_EQ(present(file.bytes()), kPages);
  file.release(file.bytes().subspan(kPage - 1, 10 * kPage));  // pages 1 to 9
  EXPECT_EQ(present(file.bytes()), kPages - 9);
  EXPECT_EQ(present(file.bytes().subspan(kPage, 9 * kPage)), 0u);
  EXPECT_TRUE(is_text(file.bytes()));
}

TEST_F(MappedFiles, LeaveAloneWhatIsLessThanAPageOrNotTheirs) {
  const MappedFile file(path_.string());
  file.read_ahead({});
  file.release({});
  file.release(file.bytes().subspan(1, 2 * kPage - 2));
  EXPECT_EQ(present(file.bytes()), kPages);
  const std::vector<std::byte> other(8 * kPage, std::byte{5});
  file.release(other);
  EXPECT_EQ(present(file.bytes()), kPages);
  EXPECT_EQ(other, std::vector<std::byte>(other.size(), std::byte{5}));
}

}  // namespace
}  // namespace tandem::model

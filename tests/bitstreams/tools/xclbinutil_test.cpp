// SPDX-License-Identifier: Apache-2.0
//
// The vendor's xclbinutil as the oracle: it reads what our writer writes, and we read what it
// writes.
//
// TANDEM_XCLBINUTIL names the program; else it is looked for where XRT's packages put it. Without
// one the cases skip: libxrt-utils of Debian 12 has the wrapper script but not the program.
#include <gtest/gtest.h>
#include <unistd.h>
#include <xclbin.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bitstreams/tools/section_json.h"
#include "bitstreams/tools/xclbin_image.h"
#include "bitstreams/xclbin/inspect.h"
#include "bitstreams/xclbin/whole_file.h"
#include "xclbin/test_design.h"

namespace tandem::xclbin {
namespace {

namespace fs = std::filesystem;

std::string find_program() {
  const char* named = std::getenv("TANDEM_XCLBINUTIL");
  if (named != nullptr) return named;
  for (const char* path :
       {"/usr/bin/unwrapped/xclbinutil", "/opt/xilinx/xrt/bin/unwrapped/xclbinutil"}) {
    if (fs::exists(path)) return path;
  }
  return "";
}

class Xclbinutil : public testing::Test {
 protected:
  void SetUp() override {
    program_ = find_program();
    if (program_.empty()) {
      GTEST_SKIP() << "no xclbinutil of the vendor; set TANDEM_XCLBINUTIL to its program (Debian "
                      "12's libxrt-utils has only the wrapper script)";
    }
    folder_ =
        fs::temp_directory_path() / ("tandem-xclbinutil-" + std::to_string(getpid()) + "-" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
    bytes_ = encode(xclbin_test::small_design());
    write_bytes(path("ours.xclbin"), bytes_);
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  void run(const std::string& arguments) const {
    const std::string command = program_ + " --quiet " + arguments + " > " + path("log") + " 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << command << "\n" << read_text(path("log"));
  }

  std::string program_;
  fs::path folder_;
  std::vector<std::byte> bytes_;
};

// Sections that are tables; both tools write numbers as text.
constexpr uint32_t kTables[] = {MEM_TOPOLOGY,           IP_LAYOUT,
                                CONNECTIVITY,           ASK_GROUP_TOPOLOGY,
                                ASK_GROUP_CONNECTIVITY, CLOCK_FREQ_TOPOLOGY};

TEST_F(Xclbinutil, DumpsTheBytesOfEverySectionOfOurs) {
  const XclbinImage ours = XclbinImage::parse(bytes_, "ours");
  for (const Section& section : inspect(bytes_, "ours").sections) {
    const std::string name = section_kind_name(section.kind);
    if (section.kind == BUILD_METADATA) continue;  // the vendor's tool has no raw form of it
    run("--input " + path("ours.xclbin") + " --force --dump-section " + name +
        ":RAW:" + path(name));
    EXPECT_EQ(read_bytes(path(name)), ours.find(section.kind)->bytes) << name;
  }
}

TEST_F(Xclbinutil, DumpsTheTablesAsTheJsonThatOurToolWrites) {
  const XclbinImage ours = XclbinImage::parse(bytes_, "ours");
  for (uint32_t kind : kTables) {
    const std::string name = section_kind_name(kind);
    run("--input " + path("ours.xclbin") + " --force --dump-section " + name +
        ":JSON:" + path(name));
    const auto theirs = nlohmann::json::parse(read_text(path(name)));
    EXPECT_EQ(theirs, nlohmann::json::parse(section_to_json(kind, ours.find(kind)->bytes))) << name;
  }
}

TEST_F(Xclbinutil, WritesFilesThatWeRead) {
  for (uint32_t kind : kTables) {
    const std::string name = section_kind_name(kind);
    run("--input " + path("ours.xclbin") + " --force --dump-section " + name +
        ":JSON:" + path(name));
    run("--input " + path("ours.xclbin") + " --force --replace-section " + name +
        ":JSON:" + path(name) + " --output " + path("theirs.xclbin"));
    const auto theirs = read_bytes(path("theirs.xclbin"));
    const XclbinInfo before = inspect(bytes_, "ours"), after = inspect(theirs, "theirs");
    EXPECT_EQ(after.compute_units.size(), before.compute_units.size()) << name;
    EXPECT_EQ(after.memories.size(), before.memories.size()) << name;
    EXPECT_EQ(XclbinImage::parse(theirs, "theirs").find(kind)->bytes,
              XclbinImage::parse(bytes_, "ours").find(kind)->bytes)
        << name;
  }
}

TEST_F(Xclbinutil, DescribesOurs) {
  run("--input " + path("ours.xclbin") + " --info " + path("info.txt"));
  const std::string text = read_text(path("info.txt"));
  for (const char* word :
       {"copy", "scale", "copy_2", "xilinx_u55c_gen3x16_xdma_base_3", "HBM[4]"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
  }
}

}  // namespace
}  // namespace tandem::xclbin

// SPDX-License-Identifier: Apache-2.0
//
// Kernel objects: what is written is read back, and damaged ones are refused.
#include "bitstreams/compiler/vpp/kernel_object.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "bitstreams/xclbin/whole_file.h"
#include "vpp/messages.h"

namespace tandem::vpp {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using vpp_test::message_of;

std::vector<KernelDescription> two_units() {
  KernelDescription first;
  first.name = "first";
  first.source = "/src/first \"one\".cpp";
  first.control = xclbin::Control::kHandshake;
  first.arguments = {{"in", "gmem0"}, {"n", "gmem"}};
  first.restart_counters = 1;
  first.mailbox = Mailbox::kIn;
  first.software_reset = true;
  KernelDescription second;
  second.name = "second";
  second.language = "clc";
  second.required_group = {8, 4, 1};
  second.arguments = {{"scratch", "gmem", "float*", true, false, "", false},
                      {"p", "gmem", "pipe int", false, true, "p", true}};
  return {first, second};
}

class KernelObject : public testing::Test {
 protected:
  KernelObject()
      : folder_((std::filesystem::temp_directory_path() /
                 ("tandem-kernel-object-" + std::to_string(getpid()) + "-" +
                  testing::UnitTest::GetInstance()->current_test_info()->name()))
                    .string()) {
    std::filesystem::create_directories(folder_);
  }
  ~KernelObject() override { std::filesystem::remove_all(folder_); }

  // A kernel object whose exports return `value`.
  std::string make(const std::string& name, const std::vector<KernelDescription>& kernels) const {
    std::string text = "int helper() { return 3; }\n";
    for (const KernelDescription& kernel : kernels) {
      text += "extern \"C\" int tandem_kernel_" + kernel.name + "() { return helper(); }\n";
    }
    xclbin::write_text(folder_ + "/" + name + ".cpp", text);
    const std::string object = folder_ + "/" + name + ".o";
    const std::string command =
        "c++ -fPIC -c " + folder_ + "/" + name + ".cpp -o " + object + " 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0);
    const std::string output = folder_ + "/" + name + ".xo";
    write_kernel_object({object}, kernels, folder_, output);
    return output;
  }

  std::string folder_;
};

std::vector<KernelDescription> read(const std::string& bytes) {
  return read_kernel_object({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()},
                            "k.xo");
}

TEST_F(KernelObject, IsReadBackAsWritten) {
  const auto kernels = read(xclbin::read_text(make("two", two_units())));
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "first");
  EXPECT_EQ(kernels[0].source, "/src/first \"one\".cpp");
  EXPECT_EQ(kernels[0].control, xclbin::Control::kHandshake);
  ASSERT_EQ(kernels[0].arguments.size(), 2u);
  EXPECT_EQ(kernels[0].arguments[0].bundle, "gmem0");
  EXPECT_EQ(kernels[0].restart_counters, 1u);
  EXPECT_EQ(kernels[0].mailbox, Mailbox::kIn);
  EXPECT_TRUE(kernels[0].software_reset);
  EXPECT_EQ(kernels[1].language, "clc");
  EXPECT_EQ(kernels[1].required_group[1], 4u);
  EXPECT_TRUE(kernels[1].arguments[0].local);
  EXPECT_TRUE(kernels[1].arguments[1].hidden);
  EXPECT_TRUE(kernels[1].arguments[1].writes);
  EXPECT_EQ(kernels[1].arguments[1].pipe, "p");
}

TEST_F(KernelObject, FunctionsOfTheSameNameDoNotMeet) {
  KernelDescription a;
  a.name = "a";
  KernelDescription b;
  b.name = "b";
  const std::string command = "c++ -shared -Wl,--no-undefined -o " + folder_ + "/k.so " +
                              make("a", {a}) + " " + make("b", {b}) + " 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << "both define helper()";
}

TEST_F(KernelObject, OtherFilesAreRefusedWithAReason) {
  EXPECT_THAT(message_of([] { read("PK\3\4 and so on"); }),
              AllOf(HasSubstr("zip"), HasSubstr("RTL"), HasSubstr("k.xo")));
  EXPECT_THAT(message_of([] { read(""); }), HasSubstr("not a kernel object"));
  EXPECT_THAT(message_of([] { read("int main() {}"); }), HasSubstr("not a kernel object"));
  KernelDescription kernel;
  kernel.name = "k";
  make("k", {kernel});
  const std::string plain = xclbin::read_text(folder_ + "/k.o");
  EXPECT_THAT(message_of([&] { read(plain); }), HasSubstr("holds no kernels"));
}

TEST_F(KernelObject, TruncatedFilesAreRefused) {
  const std::string good = xclbin::read_text(make("two", two_units()));
  for (size_t size = 0; size < good.size(); size += 1 + size / 16) {
    EXPECT_NE(message_of([&] { read(good.substr(0, size)); }), "") << size;
  }
}

TEST_F(KernelObject, RandomDamageNeverCrashes) {
  const std::string good = xclbin::read_text(make("two", two_units()));
  const size_t json = good.find("{\"kernels\"");
  ASSERT_NE(json, std::string::npos);
  std::mt19937 random(13);
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = good;
    for (uint32_t change = 0; change < 1 + random() % 6; ++change) {
      // The header, the section table at the end, the description, or anywhere.
      size_t at = random() % bytes.size();
      if (random() % 4 == 0) at = random() % 64;
      if (random() % 4 == 0) at = bytes.size() - 1 - random() % 1024;
      if (random() % 4 == 0) at = json + random() % 400;
      bytes[at % bytes.size()] = static_cast<char>(random());
    }
    message_of([&] { read(bytes); });
  }
}

TEST_F(KernelObject, DescriptionsOfAnotherVersionAreTold) {
  std::string bytes = xclbin::read_text(make("two", two_units()));
  const size_t at = bytes.find("\"version\":1");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 10] = '7';
  EXPECT_THAT(message_of([&] { read(bytes); }), HasSubstr("another version"));
}

}  // namespace
}  // namespace tandem::vpp

// SPDX-License-Identifier: Apache-2.0
//
// The steps of xbutil validate.
#include "emulation/tools/validation.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_kernel.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "common/error.h"

namespace tandem::emulation {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kLength = 100000;
constexpr std::chrono::seconds kKernelTimeout{60};

// Removed with its contents at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "xbutil-validate-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw Error("xbutil", "cannot make a folder in " + fs::temp_directory_path().string());
    }
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code code;
    fs::remove_all(path_, code);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

// Runs a program in `folder`; throws Error with its output when it fails.
void run_program(const std::vector<std::string>& words, const TemporaryFolder& folder) {
  const std::string log = folder.file("log");
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addchdir_np(&actions, folder.file("").c_str());
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int code =
      posix_spawn(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (code == 0 && waitpid(child, &status, 0) == child && status == 0) return;
  std::ifstream in(log);
  const std::string output{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  throw Error("xbutil", words[0] + " failed" + (output.empty() ? "" : ":\n" + output));
}

// The card's platform for v++: its name, or a file when it is the user's own.
std::string platform_argument(const ListedCard& card, const TemporaryFolder& folder) {
  const xclbin::Platform& platform = platform_of(card);
  if (platform.description.empty()) return platform.vbnv;
  std::ofstream(folder.file("platform.json")) << platform.description;
  return folder.file("platform.json");
}

void build(const ListedCard& card, const std::string& tree, const TemporaryFolder& folder) {
  const std::string compiler = tree + "/bin/v++";
  const std::string source = tree + "/vitis/validate/vadd.cpp";
  const std::vector<std::string> common = {compiler,
                                           "-t",
                                           "sw_emu",
                                           "--platform",
                                           platform_argument(card, folder),
                                           "--temp_dir",
                                           folder.file("work")};
  std::vector<std::string> compile = common;
  compile.insert(compile.end(), {"-c", "-k", "vadd", "-o", folder.file("vadd.xo"), source});
  run_program(compile, folder);
  std::vector<std::string> link = common;
  link.insert(link.end(), {"-l", "-o", folder.file("vadd.xclbin"), folder.file("vadd.xo")});
  run_program(link, folder);
}

// Copies whole buffers to the card and back, without a kernel.
std::string check_copies(xrt::device& device, const xrt::kernel& kernel) {
  xrt::bo buffer(device, kLength * sizeof(uint32_t), kernel.group_id(0));
  auto* data = buffer.map<uint32_t*>();
  for (uint32_t i = 0; i < kLength; ++i) data[i] = i ^ 0x5a5a5a5au;
  buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  for (uint32_t i = 0; i < kLength; ++i) data[i] = 0;
  buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  for (uint32_t i = 0; i < kLength; ++i) {
    if (data[i] != (i ^ 0x5a5a5a5au)) return "word " + std::to_string(i) + " came back changed";
  }
  return "";
}

std::string check_kernel(xrt::device& device, xrt::kernel& kernel) {
  xrt::bo a(device, kLength * sizeof(uint32_t), kernel.group_id(0));
  xrt::bo b(device, kLength * sizeof(uint32_t), kernel.group_id(1));
  xrt::bo out(device, kLength * sizeof(uint32_t), kernel.group_id(2));
  auto* a_data = a.map<uint32_t*>();
  auto* b_data = b.map<uint32_t*>();
  for (uint32_t i = 0; i < kLength; ++i) {
    a_data[i] = 3 * i + 1;
    b_data[i] = 0xffffff00u + i;
  }
  a.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  b.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  auto launch = kernel(a, b, out, kLength);
  const ert_cmd_state state = launch.wait(kKernelTimeout);
  if (state != ERT_CMD_STATE_COMPLETED) return "the kernel ended in state " + std::to_string(state);
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  const auto* sums = out.map<uint32_t*>();
  for (uint32_t i = 0; i < kLength; ++i) {
    if (sums[i] != 3 * i + 1 + 0xffffff00u + i) return "sum " + std::to_string(i) + " is wrong";
  }
  return "";
}

std::string problem_of(const std::function<std::string()>& step) {
  try {
    return step();
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

std::vector<ValidationStep> validate_card(const ListedCard& card, const std::string& tree) {
  const TemporaryFolder folder;
  std::vector<ValidationStep> steps;
  const auto run = [&](const std::string& name, const std::function<std::string()>& step) {
    if (!steps.empty() && !steps.back().problem.empty()) return;
    steps.push_back({name, problem_of(step)});
  };
  std::unique_ptr<xrt::device> device;
  std::unique_ptr<xrt::kernel> kernel;
  run("compile a kernel", [&] {
    build(card, tree, folder);
    return std::string();
  });
  run("load the xclbin", [&] {
    device = std::make_unique<xrt::device>(card.index);
    const xrt::uuid uuid = device->load_xclbin(folder.file("vadd.xclbin"));
    kernel = std::make_unique<xrt::kernel>(*device, uuid, "vadd");
    return std::string();
  });
  run("copy to the card and back", [&] { return check_copies(*device, *kernel); });
  run("run the kernel", [&] { return check_kernel(*device, *kernel); });
  return steps;
}

}  // namespace tandem::emulation

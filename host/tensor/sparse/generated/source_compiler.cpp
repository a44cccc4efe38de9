// SPDX-License-Identifier: Apache-2.0
//
// The compiler runs in a process group of its own, so that its parts end with it.
#include "tensor/sparse/generated/source_compiler.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

extern char** environ;

namespace tandem::sparse {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostOutput = 4096;  // of a compiler's messages

#if defined(__x86_64__)
constexpr char kForThisProcessor[] = "-march=native";
#else
constexpr char kForThisProcessor[] = "-mcpu=native";
#endif

// Products and sums may become one operation, as in the generic kernels.
const std::vector<std::string>& flags() {
  static const std::vector<std::string> all{"-std=c++17",         "-O3",     kForThisProcessor,
                                            "-ffp-contract=fast", "-shared", "-fPIC",
                                            "-nostartfiles",      "-w"};
  return all;
}

// Model and features of the first processor.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string text;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    for (const char* begin : {"model name", "flags", "CPU part", "Features"}) {
      if (line.starts_with(begin)) text += line + "\n";
    }
  }
  return text;
}

// A replaced compiler differs in size or time.
std::string identity_of(const std::string& path) {
  struct stat info {};
  std::string text = path + "\n";
  if (stat(path.c_str(), &info) == 0) {
    text += std::to_string(info.st_size) + " " + std::to_string(info.st_mtime) + "\n";
  }
  for (const std::string& flag : flags()) text += flag + " ";
  return text + "\n" + processor();
}

// A process whose messages come through a pipe.
class Run {
 public:
  explicit Run(const std::vector<std::string>& words) {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    error_ = posix_spawn(&process_, arguments[0], &actions, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    output_end_ = ends[0];
  }
  ~Run() {
    if (output_end_ >= 0) close(output_end_);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  int error() const { return output_end_ < 0 ? errno : error_; }
  const std::string& output() const { return output_; }

  // Returns the status of its end, or -1 after it was ended at the deadline.
  int status(Clock::time_point deadline) {
    int status = 0;
    // A process may close its output long before its end.
    if (read_output(deadline) && has_ended(deadline, status)) return status;
    kill(-process_, SIGKILL);
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    return -1;
  }

 private:
  // Until all writers have closed the pipe. False at the deadline.
  bool read_output(Clock::time_point deadline) {
    std::array<char, 4096> part;
    for (;;) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (left <= 0) return false;
      pollfd waits{output_end_, POLLIN, 0};
      const int ready = poll(&waits, 1, static_cast<int>(std::min<long long>(left, 1 << 20)));
      if (ready < 0 && errno != EINTR) return false;
      if (ready <= 0) continue;
      const ssize_t count = read(output_end_, part.data(), part.size());
      if (count == 0) return true;
      if (count < 0 && errno != EINTR) return false;
      if (count > 0 && output_.size() < kMostOutput) {
        output_.append(part.data(), static_cast<std::size_t>(count));
      }
    }
  }

  // Waits for the end. False at the deadline.
  bool has_ended(Clock::time_point deadline, int& status) const {
    for (;;) {
      const pid_t ended = waitpid(process_, &status, WNOHANG);
      if (ended == process_ || (ended < 0 && errno != EINTR)) return true;
      if (Clock::now() >= deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  pid_t process_ = 0;
  int output_end_ = -1, error_ = 0;
  std::string output_;
};

}  // namespace

SourceCompiler::SourceCompiler(std::string path, std::chrono::milliseconds limit)
    : path_(std::move(path)), limit_(limit) {
  if (is_there()) identity_ = identity_of(path_);
}

std::string SourceCompiler::compile(const std::string& source, const std::string& to) const {
  if (!is_there()) return "there is no C++ compiler";
  std::vector<std::string> words{path_};
  words.insert(words.end(), flags().begin(), flags().end());
  words.insert(words.end(), {"-o", to, source, "-lm"});
  Run run(words);
  if (run.error() != 0) return path_ + ": " + std::strerror(run.error());
  const int status = run.status(Clock::now() + limit_);
  if (status == 0) return "";
  if (status < 0) return path_ + " did not end in time";
  return path_ + " failed" + (run.output().empty() ? "" : ": " + run.output());
}

}  // namespace tandem::sparse

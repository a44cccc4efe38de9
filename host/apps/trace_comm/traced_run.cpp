// SPDX-License-Identifier: Apache-2.0
//
// The program keeps standard input, output and the terminal. Signals for this process go on to it.
#include "apps/trace_comm/traced_run.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "apps/trace_comm/trace_variables.h"
#include "common/error.h"
#include "trace/communication/record_file.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPmpiLibrary = "libtandem-pmpi.so";
constexpr const char* kNcclPlugin = "libnccl-profiler-tandem.so";

// A folder of this run's own beside the outputs, which other machines may share.
class RecordFolder {
 public:
  explicit RecordFolder(const std::string& prefix) {
    std::string pattern = fs::absolute(prefix + ".records.XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw Error("trace-comm",
                  "cannot make a folder beside '" + prefix + "': " + std::strerror(errno));
    }
    path_ = pattern;
  }
  ~RecordFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  RecordFolder(const RecordFolder&) = delete;
  RecordFolder& operator=(const RecordFolder&) = delete;

  const std::string& path() const { return path_; }

  // In the order of their names.
  std::vector<fs::path> files(const std::string& ending) const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(path_)) {
      if (entry.path().extension() == ending) found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  std::string path_;
};

// In the build tree as in an installation.
std::string library_path(const char* name) {
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  return (folder / "lib" / "tandem" / name).string();
}

// Where both kinds are traced, a library that this build lacks is left out.
bool is_usable(const TracedRunOptions& options, const char* name) {
  const std::string path = library_path(name);
  if (fs::exists(path)) return true;
  if (options.mpi && options.nccl) return false;
  throw Error("trace-comm", "there is no '" + path + "'; " +
                                (std::string_view(name) == kPmpiLibrary
                                     ? "install libopenmpi-dev and build again"
                                     : "this build has no plugin for NCCL: --import reads files of "
                                       "NCCL Inspector and Nsight Systems instead"));
}

void put(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

std::string joined(const std::string& first, const char* rest) {
  return rest == nullptr || *rest == 0 ? first : first + ":" + rest;
}

void describe_run(const TracedRunOptions& options, const std::string& folder) {
  const double now_s =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  put(kRecordFolder, folder);
  put(kModelAlgorithm, trace::name_of(options.algorithm));
  put(kRunBegin, std::to_string(now_s));
  put(kWindowLength, fmt::format("{}", options.window_s));
  if (options.mpi && is_usable(options, kPmpiLibrary)) {
    put("LD_PRELOAD", joined(library_path(kPmpiLibrary), std::getenv("LD_PRELOAD")));
  }
  if (options.nccl && is_usable(options, kNcclPlugin)) {
    put("NCCL_PROFILER_PLUGIN", library_path(kNcclPlugin));
  }
  if (options.count_transport) {  // Open MPI's component pml/monitoring
    put("OMPI_MCA_pml_monitoring_enable", "2");
    put("OMPI_MCA_pml_monitoring_enable_output", "3");
    put("OMPI_MCA_pml_monitoring_filename", folder + "/transport");
  }
}

std::atomic<pid_t> traced_child{0};

void pass_on(int signal) {
  if (traced_child > 0) kill(traced_child, signal);
}

// The terminal sends SIGINT to the program itself; this process waits for its records.
void watch_signals() {
  struct sigaction action {};
  action.sa_handler = pass_on;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGHUP, &action, nullptr);
  action.sa_handler = SIG_IGN;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGQUIT, &action, nullptr);
}

void restore_signals() {
  for (const int signal : {SIGTERM, SIGHUP, SIGINT, SIGQUIT}) std::signal(signal, SIG_DFL);
}

[[noreturn]] void become(const std::vector<std::string>& command, int problem_pipe) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int problem = errno;
  (void)!write(problem_pipe, &problem, sizeof problem);
  _exit(127);
}

int wait_for_program(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw Error("trace-comm", std::string("waitpid: ") + std::strerror(errno));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int run_program(const TracedRunOptions& options, const std::string& folder) {
  int problem_pipe[2];
  if (pipe2(problem_pipe, O_CLOEXEC) != 0) {
    throw Error("trace-comm", std::string("pipe: ") + std::strerror(errno));
  }
  describe_run(options, folder);
  watch_signals();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw Error("trace-comm", std::string("fork: ") + std::strerror(errno));
  if (child == 0) {
    restore_signals();
    become(options.command, problem_pipe[1]);
  }
  traced_child = child;
  close(problem_pipe[1]);
  int problem = 0;
  const bool failed = read(problem_pipe[0], &problem, sizeof problem) == sizeof problem;
  close(problem_pipe[0]);
  const int code = wait_for_program(child);
  if (failed) {
    throw Error("trace-comm",
                "cannot run '" + options.command.front() + "': " + std::strerror(problem));
  }
  return code;
}

std::string whole_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TracedRun run_traced(const TracedRunOptions& options) {
  const RecordFolder folder(options.prefix);
  TracedRun run;
  run.exit_code = run_program(options, folder.path());
  const std::vector<fs::path> records = folder.files(".record");
  if (records.empty()) {
    throw Error("trace-comm",
                "the program has ended with code " + std::to_string(run.exit_code) +
                    " and no process has left a record: none called MPI_Finalize or ended a "
                    "communicator of NCCL; static programs and calls from Fortran are not seen");
  }
  for (const fs::path& path : records) {
    trace::read_record(whole_text(path), path.filename().string(), run.traffic);
  }
  for (const fs::path& path : folder.files(".prof")) {
    trace::read_transport_counts(whole_text(path), path.filename().string(), run.traffic);
  }
  run.traffic.set_window_s(options.window_s);
  return run;
}

}  // namespace tandem::apps

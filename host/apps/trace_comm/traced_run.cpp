// SPDX-License-Identifier: Apache-2.0
//
// The program keeps standard input, output and the terminal. Signals to this process are forwarded.
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
#include <utility>

#include "apps/exit_code.h"
#include "common/error.h"
#include "common/scratch_folder.h"
#include "trace/communication/record_file.h"
#include "trace/communication/socket_file.h"
#include "trace/communication/trace_variables.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPmpiLibrary = "libtandem-pmpi.so";
constexpr const char* kGlooLibrary = "libtandem-gloo.so";
constexpr const char* kNcclPlugin = "libnccl-profiler-tandem.so";
constexpr const char* kCudaLibrary = "libtandem-cuda-copies.so";

// The files of a folder in the order of their names.
std::vector<fs::path> files_of(const std::string& folder, const std::string& ending) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ending) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// In the build tree as in an installation.
std::string library_path(const char* name) {
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  return (folder / "lib" / "tandem" / name).string();
}

// The library of a kind. Where all kinds are traced, one that this build lacks is left out.
bool is_usable(const TracedRunOptions& options, const char* name, const char* advice) {
  const std::string path = library_path(name);
  if (fs::exists(path)) return true;
  if (options.kind == "all") return false;
  throw Error("trace-comm", "there is no '" + path + "'; " + advice);
}

bool is_wanted(const TracedRunOptions& options, const std::string& kind) {
  if (options.kind != "all" && options.kind != kind) return false;
  if (kind == "mpi") {
    return is_usable(options, kPmpiLibrary, "install libopenmpi-dev and build again");
  }
  if (kind == "cuda") return is_usable(options, kCudaLibrary, "build tandem-trace-comm again");
  return kind != "nccl" ||
         is_usable(options, kNcclPlugin,
                   "this build has no plugin for NCCL: --import reads files of NCCL Inspector and "
                   "Nsight Systems instead");
}

void put(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

std::string joined(const std::string& first, const char* rest) {
  return rest == nullptr || *rest == 0 ? first : first + ":" + rest;
}

void describe_run(const TracedRunOptions& options, const std::string& folder) {
  const double now_s =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  put(trace::kRecordFolder, folder);
  put(trace::kModelAlgorithm, trace::name_of(options.algorithm));
  put(trace::kRunBegin, std::to_string(now_s));
  put(trace::kWindowLength, fmt::format("{}", options.window_s));
  put(trace::kMostRecordedEvents, std::to_string(options.most_events));
  std::string kinds;
  for (const std::string& kind : traced_kinds()) {
    if (!is_wanted(options, kind)) continue;
    kinds += (kinds.empty() ? "" : ",") + kind;
    if (kind == "mpi" || kind == "gloo") {
      const char* const library = kind == "mpi" ? kPmpiLibrary : kGlooLibrary;
      put("LD_PRELOAD", joined(library_path(library), std::getenv("LD_PRELOAD")));
    } else if (kind == "nccl") {
      put("NCCL_PROFILER_PLUGIN", library_path(kNcclPlugin));
    } else if (kind == "cuda" && std::getenv("CUDA_INJECTION64_PATH") == nullptr) {
      put("CUDA_INJECTION64_PATH", library_path(kCudaLibrary));  // else another profiler's
    }
  }
  put(trace::kTracedKinds, kinds);
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

[[noreturn]] void end_with(int code, const std::string& problem) {
  print_error("[trace-comm] " + problem);
  throw ExitStatus{code};
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
    constexpr int kNotFound = 127, kNotRunnable = 126;  // as shells have them
    end_with(problem == ENOENT ? kNotFound : kNotRunnable,
             "cannot run '" + options.command.front() + "': " + std::strerror(problem));
  }
  return code;
}

std::string whole_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Those that were written to their end. Their process may have died, or the disk may be full.
std::vector<trace::NamedText> whole_records(const std::string& folder, const std::string& ending) {
  std::vector<trace::NamedText> records;
  for (const fs::path& path : files_of(folder, ending)) {
    trace::NamedText record{path.filename().string(), whole_text(path)};
    if (record.text.ends_with("\nend\n")) {
      records.push_back(std::move(record));
    } else {
      print_error("[trace-comm] the record " + record.name +
                  " is not whole and is left out: its process died while it wrote, or the disk is "
                  "full");
    }
  }
  return records;
}

}  // namespace

const std::vector<std::string>& traced_kinds() {
  static const std::vector<std::string> kinds = {"mpi", "nccl", "cuda", "gloo", "transport", "xrt"};
  return kinds;
}

TracedRun run_traced(const TracedRunOptions& options) {
  // Beside the outputs, which other machines may share.
  const ScratchFolder folder("trace-comm", fs::absolute(options.prefix + ".records.").string());
  TracedRun run;
  run.exit_code = run_program(options, folder.path());
  run.traffic.set_keeps_events(options.most_events > 0);
  const std::vector<trace::NamedText> records = whole_records(folder.path(), ".record");
  const std::vector<trace::NamedText> sockets = whole_records(folder.path(), ".sockets");
  if (records.empty() && sockets.empty()) {
    end_with(run.exit_code != 0 ? run.exit_code : kBadInput,
             "the program has ended with code " + std::to_string(run.exit_code) +
                 " and no process has left a record: none called MPI_Finalize, ended a "
                 "communicator of NCCL, copied between GPUs or with the host, sent by gloo as a "
                 "rank of a launcher, made a group of Tandem's or copied to an emulated card; "
                 "static programs and calls of MPI from Fortran are not seen");
  }
  for (const trace::NamedText& record : records) {
    trace::read_record(record.text, record.name, run.traffic);
  }
  trace::read_socket_files(sockets, run.traffic);
  for (const fs::path& path : files_of(folder.path(), ".prof")) {
    trace::read_transport_counts(whole_text(path), path.filename().string(), run.traffic);
  }
  run.traffic.set_window_s(options.window_s);
  return run;
}

}  // namespace tandem::apps

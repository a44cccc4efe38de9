// SPDX-License-Identifier: Apache-2.0
//
// tandem-card: one emulated card. The XRT shim starts it as an orphan, with a socket as descriptor
// 3.
//
// "--application <pid>": the card belongs to one application, at the other end of the socket.
// Descriptor 4 is a pipe that the application holds; when it closes, the kernel kills the card in
// every state. The number helps people who look for the card. "--shared <name>": the card serves at
// the abstract Unix socket of that name while it has clients. The bound name is the lock: the card
// answers "ready" on descriptor 3, or "taken" and ends. A kernel that crashes ends the process.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "emulation/card/checks/local_memory.h"
#include "emulation/card/clients/card_server.h"
#include "emulation/card/timing/rtl_time.h"
#include "emulation/card/timing/run_timer.h"
#include "emulation/protocol/card_address.h"
#include "emulation/protocol/control_channel.h"
#include "emulation/protocol/finding.h"
#include "fpga_hls/runtime/depth_trial.h"

namespace tandem::emulation {
namespace {

constexpr int kSocket = 3;
constexpr int kLifeline = 4;
constexpr int kBacklog = 128;

int usage() {
  std::fprintf(stderr, "tandem-card: this program is started by the XRT emulation, not by hand\n");
  return 2;
}

// Kernels print to descriptors 0 to 2. Where the application closed one, it must not become an area
// or a client of the card.
void fill_standard_descriptors() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) < 0) ::open("/dev/null", O_RDWR);  // gets the lowest free number
  }
}

void prepare_process(int last_descriptor) {
  signal(SIGPIPE, SIG_IGN);
  fill_standard_descriptors();
  setvbuf(stdout, nullptr, _IOLBF, 0);  // output of kernels must not be lost with the process
  close_range(static_cast<unsigned>(last_descriptor) + 1, ~0U, 0);  // the application's own
  rlimit files{};  // export handles and windows are descriptors
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// TANDEM_CARD_DEADLINE: seconds, also parts of them.
std::chrono::milliseconds read_deadline() {
  const std::string text = variable("TANDEM_CARD_DEADLINE");
  if (text.empty()) return std::chrono::milliseconds(0);
  double seconds = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (code != std::errc() || end != text.data() + text.size() || !(seconds >= 0.001) ||
      seconds > 1e9) {
    throw std::runtime_error("TANDEM_CARD_DEADLINE is '" + text +
                             "', not a number of seconds from 0.001 to 1e9");
  }
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

// The counting copy of a kernel has no checks.
void tell_dropped_checks(const CardSettings& settings) {
  constexpr uint32_t kDropped = kCheckMemory | kCheckRace | kCheckSync;
  const std::string text = variable("TANDEM_CHECKS");
  if (!settings.timed || (parse_checks(text, false) & kDropped) == 0) return;
  std::fprintf(stderr,
               "tandem-card: TANDEM_CHECKS=%s: kernels are not checked, since TANDEM_TIME is set; "
               "run the program again without TANDEM_TIME to check them\n",
               text.c_str());
}

// Throws for settings without meaning.
CardSettings read_settings() {
  CardSettings settings;
  const std::string trial = variable("TANDEM_DEPTH_TRIAL");
  if (!trial.empty()) hls_runtime::DepthTrial::begin(trial);
  settings.report_file = variable("TANDEM_CARD_REPORT");
  settings.runs_file = variable("TANDEM_CARD_RUNS");
  if (!settings.runs_file.empty()) append_line(settings.runs_file, "card");
  settings.measures_units = !variable("TANDEM_CARD_STATISTICS").empty();
  settings.checks = parse_checks(variable("TANDEM_CHECKS"), !settings.report_file.empty());
  settings.deadline = read_deadline();
  set_rtl_stalls(variable("TANDEM_RTL_STALLS"));
  settings.timed = parse_time(variable("TANDEM_TIME"));
  settings.waves = parse_waves(variable("TANDEM_WAVES"), settings.timed);
  tell_dropped_checks(settings);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  // their maps would use the same addresses
  settings.checks &= ~(kCheckMemory | kCheckRace | kCheckSync);
#endif
  if (settings.has(kCheckMemory)) map_local_memory();
  return settings;
}

// Never destroyed: its destructor would wait for kernels, and one may run for ever.
CardServer& make_server(pid_t starter, const CardSettings& settings) {
  return *new CardServer(starter, settings);
}

// Nothing is written to the pipe, so its only event is the end of the application. The signal
// reaches a card that is stopped too, and one that loads a library which never returns.
void live_by(int lifeline) {
  fcntl(lifeline, F_SETOWN, getpid());
  fcntl(lifeline, F_SETSIG, SIGKILL);
  fcntl(lifeline, F_SETFL, O_ASYNC | O_NONBLOCK);
  pollfd event{lifeline, POLLIN, 0};
  if (poll(&event, 1, 0) > 0) _exit(0);  // the application has ended already
}

int serve_one_application() {
  live_by(kLifeline);
  CardServer& server = make_server(0, read_settings());
  server.add_client(kSocket);
  server.run();
  return 0;
}

// A listening socket at `name`, or -1 with errno set.
int listen_at(const std::string& name) {
  const CardAddress address(name);
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket >= 0 && bind(socket, address.get(), address.size()) == 0 &&
      listen(socket, kBacklog) == 0) {
    return socket;
  }
  const int code = errno;
  if (socket >= 0) close(socket);
  errno = code;
  return -1;
}

int serve_all(const std::string& name) {
  ucred starter{};
  socklen_t bytes = sizeof(starter);
  getsockopt(kSocket, SOL_SOCKET, SO_PEERCRED, &starter, &bytes);
  CardSettings settings;
  try {
    settings = read_settings();
  } catch (const std::exception& error) {
    send_message(kSocket, std::string("error ") + error.what());
    throw;
  }
  const int listener = listen_at(name);
  const std::string answer = listener >= 0         ? "ready"
                             : errno == EADDRINUSE ? "taken"
                                                   : std::string("error ") + std::strerror(errno);
  send_message(kSocket, answer);
  close(kSocket);
  if (listener < 0) return 0;
  CardServer& server = make_server(starter.pid, settings);
  server.listen_on(listener);
  server.run();
  return 0;
}

}  // namespace
}  // namespace tandem::emulation

int main(int num_arguments, char** arguments) {
  using namespace tandem::emulation;
  struct stat status {};
  if (fstat(kSocket, &status) != 0 || !S_ISSOCK(status.st_mode)) return usage();
  if (num_arguments != 3) return usage();
  const std::string role = arguments[1];
  const bool shared = role == "--shared";
  if (!shared && (role != "--application" || fcntl(kLifeline, F_GETFD) < 0)) return usage();
  prepare_process(shared ? kSocket : kLifeline);
  int code = 1;
  try {
    code = shared ? serve_all(arguments[2]) : serve_one_application();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tandem-card: %s\n", error.what());
  }
  std::fflush(nullptr);
  _exit(code);  // a kernel may still run: its thread cannot be joined
}

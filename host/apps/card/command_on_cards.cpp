// SPDX-License-Identifier: Apache-2.0
//
// bash sources setup.sh and then becomes the program, so there is one place that says what the
// environment is.
#include "apps/card/command_on_cards.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "apps/emulated_cards.h"
#include "common/error.h"

namespace tandem::apps {
namespace {

std::atomic<pid_t> program_on_cards{0};

void pass_to_program(int signal) {
  if (program_on_cards > 0) kill(program_on_cards, signal);
}

// What this process does at signals while the program runs; the destructor restores it. Signals
// that come before deliver_held() or restore() are held until then.
class SignalsToProgram {
 public:
  SignalsToProgram() {
    sigset_t passed_on;
    sigemptyset(&passed_on);
    sigaddset(&passed_on, SIGTERM);
    sigaddset(&passed_on, SIGHUP);
    sigprocmask(SIG_BLOCK, &passed_on, &mask_before_);
    struct sigaction passed {
    }, ignored{};
    passed.sa_handler = pass_to_program;
    ignored.sa_handler = SIG_IGN;
    sigaction(SIGTERM, &passed, &before_[0]);
    sigaction(SIGHUP, &passed, &before_[1]);
    sigaction(SIGINT, &ignored, &before_[2]);
    sigaction(SIGQUIT, &ignored, &before_[3]);
  }
  ~SignalsToProgram() { restore(); }
  SignalsToProgram(const SignalsToProgram&) = delete;
  SignalsToProgram& operator=(const SignalsToProgram&) = delete;
  void restore() const {
    sigaction(SIGTERM, &before_[0], nullptr);
    sigaction(SIGHUP, &before_[1], nullptr);
    sigaction(SIGINT, &before_[2], nullptr);
    sigaction(SIGQUIT, &before_[3], nullptr);
    deliver_held();
  }
  void deliver_held() const { sigprocmask(SIG_SETMASK, &mask_before_, nullptr); }

 private:
  sigset_t mask_before_;
  struct sigaction before_[4];
};

std::string tree_of_cards() {
  const CardEnvironment environment = card_environment();
  if (environment.is_emulation) return *environment.xilinx_xrt;
  if (!environment.own_tree.empty()) return environment.own_tree;
  throw Error("card",
              "there are no emulated cards beside this program; install the component fpga, or "
              "build with the packages libxrt-dev and libboost-context-dev");
}

constexpr const char* kBecomeProgram = R"(setup=$1
shift
. "$setup" || exit 126
if ! type -P -- "$1" >/dev/null && [ ! -e "$1" ]; then
  echo "tandem: there is no program '$1'; after -- give its path, such as ./host, or a name of PATH" >&2
  exit 127
fi
exec -- "$@")";

[[noreturn]] void become_program(const CommandOnCards& command, const std::string& tree) {
  for (const auto& [name, value] : command.environment) setenv(name.c_str(), value.c_str(), 1);
  if (!command.output_file.empty()) {
    const int output =
        open(command.output_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (output < 0 || dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0) {
      _exit(126);
    }
  }
  const std::string setup = tree + "/setup.sh";
  std::vector<std::string> words = {"bash", "-c", kBecomeProgram, "tandem", setup};
  words.insert(words.end(), command.words.begin(), command.words.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  std::fprintf(stderr, "tandem: cannot run bash: %s\n", std::strerror(errno));
  _exit(127);
}

}  // namespace

int run_on_cards(const CommandOnCards& command) {
  const std::string tree = tree_of_cards();
  const SignalsToProgram signals;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw Error("card", std::string("fork: ") + std::strerror(errno));
  if (child == 0) {
    signals.restore();
    become_program(command, tree);
  }
  program_on_cards = child;
  signals.deliver_held();
  // No other process can get this pid before the second wait.
  siginfo_t ended;
  while (waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  program_on_cards = 0;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw Error("card", std::string("waitpid: ") + std::strerror(errno));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void use_own_cards(CommandOnCards& command, const ScratchFolder& folder) {
  const char* const scope = std::getenv("TANDEM_CARD_SCOPE");
  if (scope == nullptr) return;
  command.environment["TANDEM_CARD_SCOPE"] = scope + folder.path().substr(folder.path().rfind('.'));
}

}  // namespace tandem::apps

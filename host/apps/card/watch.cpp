// SPDX-License-Identifier: Apache-2.0
//
// Signals are blocked, and taken where the command sleeps. After one, the command ends by it, so
// that a shell sees the usual status.
#include "apps/card/watch.h"

#include <signal.h>
#include <spdlog/fmt/fmt.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <memory>

#include "apps/card/card_view.h"
#include "apps/card/watched_cards.h"
#include "apps/json_text.h"
#include "common/error.h"

namespace tandem::apps {
namespace {

// How long a card may take to answer; the two looks of --once are as far apart.
constexpr std::chrono::milliseconds kPatience{300};

struct WatchOptions {
  bool once = false;
  bool as_json = false;
  double interval_seconds = 1;
};

// Ends the command by SIGINT, SIGTERM or SIGHUP only where it sleeps.
class HeldSignals {
 public:
  HeldSignals() {
    sigemptyset(&held_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&held_, signal);
    sigprocmask(SIG_BLOCK, &held_, &before_);
  }
  ~HeldSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // The signal that came within `seconds`; 0: none.
  int sleep(double seconds) const {
    const double whole = std::floor(seconds);
    const timespec time{static_cast<time_t>(whole), static_cast<long>((seconds - whole) * 1e9)};
    for (;;) {
      const int signal = sigtimedwait(&held_, nullptr, &time);
      if (signal > 0) return signal;
      if (errno != EINTR) return 0;
    }
  }

 private:
  sigset_t held_{}, before_{};
};

// A page of the terminal's own, without a cursor; nothing if the output is no terminal.
class TerminalPage {
 public:
  TerminalPage() : is_terminal_(isatty(STDOUT_FILENO) != 0) {
    if (is_terminal_) put("\x1b[?1049h\x1b[?25l");
  }
  ~TerminalPage() {
    if (is_terminal_) put("\x1b[?25h\x1b[?1049l");
  }
  TerminalPage(const TerminalPage&) = delete;
  TerminalPage& operator=(const TerminalPage&) = delete;

  void show(const nlohmann::ordered_json& view) const {
    if (!is_terminal_) return put(cards_text(view, 0) + "\n");
    winsize size{};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    put("\x1b[H\x1b[2J" +
        first_lines(cards_text(view, known ? size.ws_col : 80), known ? size.ws_row : 24));
  }

 private:
  static std::string first_lines(const std::string& text, int rows) {
    std::size_t end = 0;
    for (int row = 0; row < rows && end < text.size(); ++row) end = text.find('\n', end) + 1;
    std::string lines = text.substr(0, end);
    if (!lines.empty()) lines.pop_back();  // the last line end would scroll
    return lines;
  }
  static void put(const std::string& text) {
    fmt::print("{}", text);
    if (std::fflush(stdout) != 0) throw Error("card", "the output cannot be written");
  }

  const bool is_terminal_;
};

void print_line(const nlohmann::ordered_json& view) {
  fmt::print("{}\n", view.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  if (std::fflush(stdout) != 0) throw Error("card", "the output cannot be written");
}

void watch_once(bool as_json) {
  WatchedCards cards;
  const std::vector<WatchedCard> before = cards.ask(kPatience);
  const HeldSignals signals;
  if (const int signal = before.empty() ? 0 : signals.sleep(0.3)) {
    raise(signal);
    return;
  }
  const auto view = cards_json(before, cards.ask(kPatience));
  fmt::print("{}", as_json ? json_text(view) + "\n" : cards_text(view, 0));
}

// Returns the signal that ended it.
int watch_until_signal(const WatchOptions& options, const HeldSignals& signals) {
  const auto page = options.as_json ? nullptr : std::make_unique<TerminalPage>();
  WatchedCards cards;
  std::vector<WatchedCard> before;
  for (;;) {
    std::vector<WatchedCard> now = cards.ask(kPatience);
    const auto view = cards_json(before, now);
    if (page != nullptr) page->show(view);
    if (page == nullptr) print_line(view);
    before = std::move(now);
    if (const int signal = signals.sleep(options.interval_seconds)) return signal;
  }
}

void run_watch(const WatchOptions& options) {
  if (options.once) return watch_once(options.as_json);
  int signal = 0;
  {
    const HeldSignals signals;
    signal = watch_until_signal(options, signals);
  }
  raise(signal);
}

}  // namespace

void add_watch(CLI::App& parent) {
  CLI::App* command = parent.add_subcommand(
      "watch", "Show the emulated cards of this user: units, memory, streams");
  auto o = std::make_shared<WatchOptions>();
  command->add_flag("--once", o->once, "print once and end");
  command->add_flag("--json", o->as_json, "print JSON; without --once a line per interval");
  command->add_option("--interval", o->interval_seconds, "seconds between two looks")
      ->check(CLI::Range(0.05, 3600.0))
      ->capture_default_str();
  command->callback([o] { run_watch(*o); });
}

}  // namespace tandem::apps

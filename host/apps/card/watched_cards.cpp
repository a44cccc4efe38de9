// SPDX-License-Identifier: Apache-2.0
//
// Links in /proc/<process>/fd name what a descriptor is: "/memfd:tandem-watch (deleted)".
#include "apps/card/watched_cards.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "emulation/protocol/watch_area.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;
using emulation::WatchArea;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPoll{1};

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// "S", "T", "Z" ...; empty: there is no such process.
std::string process_state(int process) {
  const std::string line = first_line("/proc/" + std::to_string(process) + "/stat");
  const size_t name_end = line.rfind(") ");
  return name_end == std::string::npos ? "" : line.substr(name_end + 2, 1);
}

// `tandem-card --shared NAME`, `tandem-card --application PLATFORM`.
std::string role_of(int process) {
  const std::string words = first_line("/proc/" + std::to_string(process) + "/cmdline");
  std::vector<std::string> parts;
  std::istringstream in(words);
  for (std::string part; std::getline(in, part, '\0');) parts.push_back(part);
  if (parts.size() == 3 && parts[1] == "--shared") return "shared " + parts[2];
  return "private";
}

WatchArea* open_area(int process) {
  std::error_code none;
  const fs::path folder = "/proc/" + std::to_string(process) + "/fd";
  const std::string wanted = std::string("/memfd:") + emulation::kWatchAreaName;
  for (fs::directory_iterator entry(folder, none), end; !none && entry != end;
       entry.increment(none)) {
    const fs::path target = fs::read_symlink(entry->path(), none);
    if (none || !target.string().starts_with(wanted)) {
      none.clear();
      continue;
    }
    const int file = ::open(entry->path().c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return nullptr;
    struct stat status {};
    const bool fits =
        fstat(file, &status) == 0 && status.st_size == static_cast<off_t>(sizeof(WatchArea));
    void* const mapped =
        !fits ? MAP_FAILED
              : mmap(nullptr, sizeof(WatchArea), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return mapped == MAP_FAILED ? nullptr : static_cast<WatchArea*>(mapped);
  }
  return nullptr;
}

// Null if the card left the text out, or writes for other watchers all the time.
nlohmann::ordered_json read_answer(const WatchArea& area) {
  constexpr int kTrials = 20;
  for (int trial = 0; trial < kTrials; ++trial) {
    const uint32_t before = area.writing.load();
    const size_t bytes = std::min<size_t>(area.text_bytes.load(), emulation::kWatchTextBytes);
    const std::string text(area.text, bytes);
    if (before % 2 != 0 || area.writing.load() != before) {
      std::this_thread::sleep_for(kPoll);
      continue;
    }
    auto answer = nlohmann::ordered_json::parse(text, nullptr, false);
    return answer.is_object() ? answer : nlohmann::ordered_json();
  }
  return nullptr;
}

}  // namespace

struct WatchedCards::Area {
  explicit Area(WatchArea* mapped) : area(mapped) {}
  ~Area() { munmap(area, sizeof(WatchArea)); }
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;
  bool has_answered() const { return static_cast<int32_t>(area->answered.load() - asked) >= 0; }

  WatchArea* area;
  std::string role;
  uint32_t asked = 0;
};

WatchedCards::WatchedCards() = default;
WatchedCards::~WatchedCards() = default;

void WatchedCards::find_new() {
  std::error_code none;
  for (fs::directory_iterator entry("/proc", none), end; !none && entry != end;
       entry.increment(none)) {
    const std::string name = entry->path().filename().string();
    if (!std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); })) {
      continue;
    }
    if (first_line(entry->path() / "comm") != "tandem-card") continue;
    const int process = std::atoi(name.c_str());
    if (areas_.contains(process)) continue;
    WatchArea* const area = open_area(process);
    if (area == nullptr) continue;
    auto found = std::make_unique<Area>(area);
    if (area->version.load() != emulation::kWatchVersion) continue;
    found->role = role_of(process);
    areas_.emplace(process, std::move(found));
  }
}

std::vector<WatchedCard> WatchedCards::ask(std::chrono::milliseconds patience) {
  find_new();
  for (auto& [process, area] : areas_) area->asked = emulation::ask_card(*area->area);
  const auto all_answered = [this] {
    return std::all_of(areas_.begin(), areas_.end(), [](const auto& each) {
      return each.second->has_answered() || process_state(each.first).empty();
    });
  };
  for (const auto end = Clock::now() + patience; !all_answered() && Clock::now() < end;) {
    std::this_thread::sleep_for(kPoll);
  }
  std::vector<WatchedCard> cards;
  for (auto each = areas_.begin(); each != areas_.end();) {
    const auto& [process, area] = *each;
    WatchedCard card{process, area->role, "silent", nullptr, Clock::now()};
    if (area->has_answered()) {
      card.state = "open";
      card.answer = read_answer(*area->area);
    }
    const std::string state = process_state(process);
    const bool is_lost = state.empty() || state == "Z" || state == "X";
    if (card.answer.is_object() && card.answer.value("is_hung", false)) card.state = "hung";
    if (is_lost) card.state = "lost";
    cards.push_back(std::move(card));
    each = is_lost ? areas_.erase(each) : std::next(each);
  }
  return cards;
}

}  // namespace tandem::apps

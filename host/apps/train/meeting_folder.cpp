// SPDX-License-Identifier: Apache-2.0
//
// A file is complete and locked before its name appears. Polling: a directory on a network file
// system has no notifications.
#include "apps/train/meeting_folder.h"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/file.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>
#include <utility>

#include "apps/whole_file.h"
#include "common/error.h"
#include "transport/transport_error.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kPause{10};
constexpr std::chrono::milliseconds kJoinPause{50};
constexpr std::string_view kRank = "rank-", kNew = "new-", kPlace = "place-", kReport = "report-",
                           kList = "list-", kBusy = "-busy", kRun = "run";

[[noreturn]] void fail(const fs::path& path, const char* what) {
  throw Error("train", std::string("cannot ") + what + " '" + path.string() +
                           "': " + std::strerror(errno) +
                           "; name a folder that all ranks can write by --store");
}

std::string random_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

// Whether the process that made the file lives.
bool is_alive(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool locked = ::flock(file, LOCK_SH | LOCK_NB) != 0;
  const int error = errno;
  ::close(file);
  if (locked && error != EWOULDBLOCK) {
    errno = error;
    fail(path, "look for the lock of");
  }
  return locked;
}

std::optional<std::string> text_of(const fs::path& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string rank_name(int number) { return fmt::format("{}{}", kRank, number); }

std::string report_name(const std::string& prefix, int number) {
  return fmt::format("{}{}-{}", kReport, prefix, number);
}

// The same text on all ranks, different for every meeting.
std::string prefix_of(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += word;
  return fmt::format("train-{:016x}", XXH64(all.data(), all.size(), 0));
}

[[noreturn]] void fail_to_come(int rank, const fs::path& file) {
  std::error_code none;
  const bool is_there = fs::exists(file, none) && !is_alive(file);
  const char* without_lock =
      "; its file is there without a lock: it has died, or the file system "
      "keeps locks (flock) to one host";
  throw transport::TransportError(
      transport::TransportError::Kind::kTimeout, rank,
      "rank " + std::to_string(rank) + " has not come to '" + file.parent_path().string() +
          "' by the deadline" + (is_there ? without_lock : "") +
          "; start all ranks with one --store that they share, or give them a longer --timeout");
}

std::vector<fs::path> files_of(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with(prefix)) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

void write_text(const fs::path& path, const std::string& text) {
  WholeFile file("train", path.string());
  file.write(text);
  file.keep();
}

// What a slow disk took for the own report is not taken from the others.
Deadline renewed(Deadline deadline, Deadline::Clock::duration patience) {
  return deadline.is_never() ? deadline : Deadline::after(patience);
}

std::string text_of(const GroupMembers& group) {
  std::string text = group.prefix;
  for (const int number : group.numbers) text += " " + std::to_string(number);
  return text;
}

GroupMembers members_of(const std::string& text) {
  GroupMembers group;
  std::istringstream in(text);
  in >> group.prefix;
  for (int number = 0; in >> number;) group.numbers.push_back(number);
  return group;
}

}  // namespace

MeetingFolder::MeetingFolder(const std::string& path) : path_(path), token_(random_token()) {
  std::error_code error;
  fs::create_directories(path_, error);
  if (!error) return;
  errno = error.value();
  fail(path_, "make the folder");
}

MeetingFolder::~MeetingFolder() {
  if (lock_ < 0) return;
  // Another process may have a file of the same name by now.
  if (text_of(own_) == token_) ::unlink(own_.c_str());
  ::close(lock_);
}

void MeetingFolder::announce(const std::string& name) {
  own_ = path_ / name;
  const fs::path draft = path_ / ("." + name + "." + token_);
  lock_ = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (lock_ < 0) fail(draft, "write");
  const bool written =
      ::flock(lock_, LOCK_EX | LOCK_NB) == 0 &&
      ::write(lock_, token_.data(), token_.size()) == static_cast<ssize_t>(token_.size()) &&
      ::rename(draft.c_str(), own_.c_str()) == 0;
  if (!written) {
    const int error = errno;
    ::unlink(draft.c_str());
    errno = error;
    fail(own_, "write");
  }
}

std::string MeetingFolder::enter(int rank, Deadline deadline) {
  const std::string name = rank_name(rank);
  while (is_alive(path_ / name)) {  // a run before this one may be about to end
    if (deadline.expired()) {
      throw Error("train", "rank " + std::to_string(rank) + " of another run is at work in '" +
                               path_.string() + "'; wait for its end, or name another --store");
    }
    std::this_thread::sleep_for(kPause);
  }
  announce(name);
  number_ = rank;
  return token_;
}

std::string MeetingFolder::meet(int rank, int world, Deadline deadline) {
  enter(rank, deadline);
  std::vector<std::string> words;
  for (int peer = 0; peer < world; ++peer) {
    const fs::path file = path_ / rank_name(peer);
    while (!is_alive(file)) {
      if (deadline.expired()) fail_to_come(peer, file);
      std::this_thread::sleep_for(kPause);
    }
    words.push_back(text_of(file).value_or(""));
  }
  start_run(rank, prefix_of(words), deadline);
  return run_;
}

std::string MeetingFolder::start(int rank, const std::vector<std::string>& words,
                                 Deadline deadline) {
  for (std::size_t peer = 0; peer < words.size(); ++peer) {
    const fs::path file = path_ / rank_name(static_cast<int>(peer));
    while (text_of(file) != words[peer]) {
      if (deadline.expired()) fail_to_come(static_cast<int>(peer), file);
      std::this_thread::sleep_for(kPause);
    }
    if (is_alive(file)) continue;
    throw Error("train", "'" + file.string() + "' has no lock that rank " + std::to_string(rank) +
                             " sees: the file system keeps locks (flock) to one host; name a "
                             "folder on another file system by --store");
  }
  start_run(rank, prefix_of(words), deadline);
  return run_;
}

// Nobody acts before all know that this run is the newest.
void MeetingFolder::start_run(int rank, const std::string& prefix, Deadline deadline) {
  const fs::path file = path_ / kRun;
  if (rank == 0) {
    remove_old(prefix);
    write_text(file, prefix);
  }
  while (text_of(file) != prefix) {
    if (deadline.expired()) fail_to_come(0, path_ / rank_name(0));
    std::this_thread::sleep_for(kPause);
  }
  run_ = prefix;
}

void MeetingFolder::require_newest() const {
  const auto newest = text_of(path_ / kRun);
  if (!newest) fail(path_ / kRun, "read");
  if (newest == run_) return;
  throw transport::TransportError(transport::TransportError::Kind::kTimeout, number_,
                                  "a newer run has begun in '" + path_.string() + "', so rank " +
                                      std::to_string(number_) +
                                      " of the run before ends; it was silent for too long");
}

// Removes the messages of earlier runs.
void MeetingFolder::remove_old(const std::string& prefix) const {
  for (const std::string_view kind : {kReport, kList}) {
    for (const fs::path& file : files_of(path_, kind)) {
      const std::string name = file.filename().string();
      if (!name.starts_with(std::string(kind) + prefix)) ::unlink(file.c_str());
    }
  }
}

bool MeetingFolder::rank_is_alive(int number) const { return is_alive(path_ / rank_name(number)); }

bool MeetingFolder::has_living_ranks() const {
  return std::ranges::any_of(files_of(path_, kRank), is_alive);
}

GroupPlace MeetingFolder::wait_for_place() {
  const std::string name = std::string(kNew) + token_;
  if (lock_ < 0) {
    announce(name);
  } else {  // the group in which it was given a place was not formed
    ::rename(own_.c_str(), (path_ / name).c_str());
    own_ = path_ / name;
  }
  const fs::path file = path_ / (std::string(kPlace) + token_);
  for (;;) {
    if (const auto text = text_of(file)) {
      ::unlink(file.c_str());
      GroupPlace place;
      std::istringstream(*text) >> place.prefix >> place.rank >> place.world >> place.number >>
          run_;
      number_ = place.number;
      own_ = path_ / rank_name(place.number);
      return place;
    }
    if (!has_living_ranks()) {
      throw Error("train", "no run with --elastic is under way in '" + path_.string() +
                               "'; --join needs a running one");
    }
    std::this_thread::sleep_for(kJoinPause);
  }
}

std::vector<std::string> MeetingFolder::waiting() const {
  std::vector<std::string> names;
  for (const fs::path& file : files_of(path_, kNew)) {
    if (is_alive(file)) {
      names.push_back(file.filename().string());
    } else {
      ::unlink(file.c_str());
    }
  }
  return names;
}

int MeetingFolder::reserve_number(int least) {
  for (int number = least;; ++number) {
    const fs::path file = path_ / fmt::format("{}{}-number-{}", kList, run_, number);
    const int taken = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (taken >= 0) {
      ::close(taken);
      return number;
    }
    if (errno != EEXIST) fail(file, "write");
  }
}

void MeetingFolder::give(const std::string& name, const GroupPlace& place) {
  require_newest();
  const std::string token = name.substr(kNew.size());
  // From now on it is a rank: it does not wait any more.
  const fs::path as_rank = path_ / rank_name(place.number);
  if (::rename((path_ / name).c_str(), as_rank.c_str()) != 0) return;  // it has gone
  write_text(
      path_ / (std::string(kPlace) + token),
      fmt::format("{} {} {} {} {}", place.prefix, place.rank, place.world, place.number, run_));
}

void MeetingFolder::report_failure(const GroupMembers& group, int own, const std::string& failure) {
  require_newest();
  write_text(path_ / report_name(group.prefix, own), failure);
}

void MeetingFolder::send_heartbeat(const GroupMembers& group, int own) {
  require_newest();
  write_text(path_ / (report_name(group.prefix, own) + std::string(kBusy)),
             std::to_string(++heartbeats_));
}

FailureReports MeetingFolder::collect_reports(const GroupMembers& group, int own,
                                              const std::string& failure, Deadline deadline) {
  const auto patience = deadline.remaining();
  report_failure(group, own, failure);
  return reports_of(group, renewed(deadline, patience), "");
}

// Ends early if `decision` has been made.
FailureReports MeetingFolder::reports_of(const GroupMembers& group, Deadline deadline,
                                         const std::string& decision) const {
  const auto patience = deadline.remaining();
  std::map<int, std::string> heartbeats;
  for (;;) {
    require_newest();
    FailureReports reports;
    bool waits = false;
    for (const int number : group.numbers) {
      const bool alive = rank_is_alive(number);  // asked first: it may sign and end
      const std::string name = report_name(group.prefix, number);
      const auto said = text_of(path_ / name);
      if (said && !said->empty()) reports.failures.emplace(number, *said);
      if (said) continue;
      reports.absent.push_back(number);
      waits = waits || alive;
      const auto heartbeat = text_of(path_ / (name + std::string(kBusy)));
      if (!alive || !heartbeat || std::exchange(heartbeats[number], *heartbeat) == *heartbeat)
        continue;
      if (!deadline.is_never()) deadline = Deadline::after(patience);
    }
    const bool is_over = !decision.empty() && decided(decision);
    if (is_over || !waits || deadline.expired()) return reports;
    std::this_thread::sleep_for(kPause);
  }
}

GroupMembers MeetingFolder::agree(const GroupMembers& group, int own, Deadline deadline) {
  const std::string list = std::string(kList) + group.prefix;
  const auto patience = deadline.remaining();
  report_failure(group, own, "");
  const FailureReports reports = reports_of(group, renewed(deadline, patience), list);
  GroupMembers left{"train-" + random_token(), {}};
  for (const int number : group.numbers) {
    const bool signs = std::ranges::find(reports.absent, number) == reports.absent.end();
    if (signs && !reports.failures.contains(number) && rank_is_alive(number))
      left.numbers.push_back(number);
  }
  left = members_of(decide(list, text_of(left)));
  if (std::ranges::find(left.numbers, own) != left.numbers.end()) return left;
  throw transport::TransportError(transport::TransportError::Kind::kTimeout, own,
                                  "the smaller group was formed without rank " +
                                      std::to_string(own) +
                                      ", which was silent for too long; start it again with --join "
                                      "to take part from the next checkpoint");
}

std::string MeetingFolder::decide(const std::string& key, const std::string& value) {
  require_newest();
  WholeFile file("train", (path_ / key).string());
  file.write(value);
  const int linked = ::linkat(AT_FDCWD, file.open_path().c_str(), AT_FDCWD, (path_ / key).c_str(),
                              AT_SYMLINK_FOLLOW);
  if (linked != 0 && errno != EEXIST) fail(path_ / key, "write");
  return decided(key).value_or(value);
}

std::optional<std::string> MeetingFolder::decided(const std::string& key) const {
  return text_of(path_ / key);
}

}  // namespace tandem::apps

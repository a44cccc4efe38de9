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

#include "apps/whole_file.h"
#include "common/error.h"
#include "transport/transport_error.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kPause{10};
constexpr std::chrono::milliseconds kJoinPause{50};
constexpr std::string_view kRank = "rank-", kNew = "new-", kPlace = "place-", kRoll = "roll-",
                           kList = "list-";

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

std::string roll_name(const std::string& prefix, int number) {
  return fmt::format("{}{}-{}", kRoll, prefix, number);
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
  // Under its name another process may stand by now.
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

std::string MeetingFolder::meet(int rank, int world, Deadline deadline) {
  const std::string name = rank_name(rank);
  while (is_alive(path_ / name)) {  // a run before this one may be about to end
    if (deadline.expired()) {
      throw Error("train", "rank " + std::to_string(rank) + " of another run is at work in '" +
                               path_.string() + "'; wait for its end, or name another --store");
    }
    std::this_thread::sleep_for(kPause);
  }
  announce(name);
  std::string tokens;
  for (int peer = 0; peer < world; ++peer) {
    const fs::path file = path_ / rank_name(peer);
    while (!is_alive(file)) {
      if (deadline.expired()) {
        throw transport::TransportError(transport::TransportError::Kind::kTimeout, peer,
                                        "rank " + std::to_string(peer) + " has not come to '" +
                                            path_.string() + "' by the deadline");
      }
      std::this_thread::sleep_for(kPause);
    }
    tokens += text_of(file).value_or("");
  }
  const std::string prefix = fmt::format("train-{:016x}", XXH64(tokens.data(), tokens.size(), 0));
  if (rank == 0) remove_old(prefix);
  return prefix;
}

// What earlier runs have said here.
void MeetingFolder::remove_old(const std::string& prefix) const {
  for (const std::string_view kind : {kRoll, kList}) {
    for (const fs::path& file : files_of(path_, kind)) {
      const std::string name = file.filename().string();
      if (!name.starts_with(std::string(kind) + prefix)) ::unlink(file.c_str());
    }
  }
}

bool MeetingFolder::lives(int number) const { return is_alive(path_ / rank_name(number)); }

bool MeetingFolder::has_living_ranks() const {
  return std::ranges::any_of(files_of(path_, kRank), is_alive);
}

GroupPlace MeetingFolder::wait_for_place() {
  const std::string name = std::string(kNew) + token_;
  if (lock_ < 0) {
    announce(name);
  } else {  // the group that it was given a place in has not come about
    ::rename(own_.c_str(), (path_ / name).c_str());
    own_ = path_ / name;
  }
  const fs::path file = path_ / (std::string(kPlace) + token_);
  for (;;) {
    if (const auto text = text_of(file)) {
      ::unlink(file.c_str());
      GroupPlace place;
      std::istringstream(*text) >> place.prefix >> place.rank >> place.world >> place.number;
      own_ = path_ / rank_name(place.number);
      return place;
    }
    if (!has_living_ranks()) {
      throw Error("train", "no run with --elastic is under way in '" + path_.string() +
                               "', or it has ended; --join is for one that is");
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

void MeetingFolder::give(const std::string& name, const GroupPlace& place) {
  const std::string token = name.substr(kNew.size());
  // From now on it is a rank: it does not wait any more.
  const fs::path as_rank = path_ / rank_name(place.number);
  if (::rename((path_ / name).c_str(), as_rank.c_str()) != 0) return;  // it has gone
  write_text(path_ / (std::string(kPlace) + token),
             fmt::format("{} {} {} {}", place.prefix, place.rank, place.world, place.number));
}

void MeetingFolder::sign_roll(const GroupMembers& group, int own, const std::string& failure) {
  write_text(path_ / roll_name(group.prefix, own), failure);
}

Roll MeetingFolder::call_roll(const GroupMembers& group, int own, const std::string& failure,
                              Deadline deadline) {
  sign_roll(group, own, failure);
  for (;;) {
    Roll roll;
    bool complete = true;
    for (const int number : group.numbers) {
      const bool alive = lives(number);  // asked first: it may sign and end
      const auto said = text_of(path_ / roll_name(group.prefix, number));
      if (!said) {
        roll.absent.push_back(number);
        complete = complete && !alive;
      } else if (!said->empty()) {
        roll.failures.emplace(number, *said);
      }
    }
    if (complete || deadline.expired()) return roll;
    std::this_thread::sleep_for(kPause);
  }
}

GroupMembers MeetingFolder::agree(const GroupMembers& group, int own, Deadline deadline) {
  const Roll roll = call_roll(group, own, "", deadline);
  GroupMembers left{"train-" + random_token(), {}};
  for (const int number : group.numbers) {
    if (std::ranges::find(roll.absent, number) == roll.absent.end() && lives(number)) {
      left.numbers.push_back(number);
    }
  }
  left = members_of(decide(std::string(kList) + group.prefix, text_of(left)));
  if (std::ranges::find(left.numbers, own) != left.numbers.end()) return left;
  throw transport::TransportError(
      transport::TransportError::Kind::kTimeout, own,
      "the smaller group was formed without rank " + std::to_string(own));
}

std::string MeetingFolder::decide(const std::string& key, const std::string& value) {
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

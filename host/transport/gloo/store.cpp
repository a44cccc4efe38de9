// SPDX-License-Identifier: Apache-2.0
//
// A file of the directory appears by link(2), which fails when the name is taken, and is complete
// when it appears. Redis has SETNX, which is what gloo's RedisStore::set() sends.
#include "transport/gloo/store.h"

#include <fcntl.h>
#include <gloo/rendezvous/redis_store.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "common/error.h"

namespace tandem::transport::gloo {
namespace {

class DirectoryStore final : public Store {
 public:
  explicit DirectoryStore(const std::string& path) : path_(path) {
    std::error_code failure;
    std::filesystem::create_directories(path_, failure);
    if (failure) fail("cannot be made", failure.message());
  }

  bool put(const std::string& key, const std::string& value) override {
    static std::atomic<unsigned> number{0};
    const auto draft = path_ / ("." + key + "." + std::to_string(getpid()) + "." +
                                std::to_string(number.fetch_add(1)));
    {
      std::ofstream file(draft, std::ios::binary);
      file.write(value.data(), static_cast<std::streamsize>(value.size()));
      file.flush();
      if (!file) fail("cannot be written", std::strerror(errno));
    }
    const int linked = ::link(draft.c_str(), (path_ / key).c_str());
    const int reason = errno;
    ::unlink(draft.c_str());
    if (linked != 0 && reason != EEXIST) fail("cannot be written", std::strerror(reason));
    return linked == 0;
  }

  std::optional<std::string> get(const std::string& key) override {
    std::ifstream file(path_ / key, std::ios::binary);
    if (!file) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& why) const {
    throw Error("transport", "gloo: the store directory " + path_.string() + " " + what + " (" +
                                 why + "); name one that all ranks can write");
  }

  std::filesystem::path path_;
};

class RedisStore final : public Store {
 public:
  RedisStore(const std::string& host, int port, Deadline deadline)
      : name_(host + ":" + std::to_string(port)) {
    try {
      client_ = std::make_unique<Client>(host, port, deadline);
    } catch (const std::exception& error) {
      fail(error);
    }
  }

  bool put(const std::string& key, const std::string& value) override {
    try {
      client_->set(key, {value.begin(), value.end()});
      return true;
    } catch (const ::gloo::EnforceNotMet&) {
      if (get(key)) return false;  // how gloo says that the key was there
      throw Error("transport", "gloo: the Redis server at " + name_ + " did not take a key");
    } catch (const std::exception& error) {
      fail(error);
    }
  }

  std::optional<std::string> get(const std::string& key) override {
    try {
      if (!client_->check({key})) return std::nullopt;
      const std::vector<char> value = client_->get(key);
      return std::string(value.begin(), value.end());
    } catch (const std::exception& error) {
      fail(error);
    }
  }

 private:
  class Client final : public ::gloo::rendezvous::RedisStore {
   public:
    Client(const std::string& host, int port, Deadline deadline)
        : ::gloo::rendezvous::RedisStore(host, port) {
      using namespace std::chrono;
      const auto left = std::max(duration_cast<microseconds>(deadline.remaining()), 1000us);
      redisSetTimeout(redis_, {.tv_sec = left.count() / 1000000,
                               .tv_usec = static_cast<suseconds_t>(left.count() % 1000000)});
    }
  };

  [[noreturn]] void fail(const std::exception& error) const {
    throw Error("transport", "gloo: the Redis server at " + name_ +
                                 " does not answer; is it running? (" + error.what() + ")");
  }

  std::string name_;
  std::unique_ptr<Client> client_;
};

}  // namespace

std::shared_ptr<Store> open_store(const Options& options, Deadline deadline) {
  if (options.store != nullptr) return options.store;
  if (!options.store_directory.empty()) {
    return std::make_shared<DirectoryStore>(options.store_directory);
  }
  if (!options.redis_host.empty()) {
    return std::make_shared<RedisStore>(options.redis_host, options.redis_port, deadline);
  }
  throw Error("transport", "gloo: name a store directory or a Redis server where ranks meet");
}

}  // namespace tandem::transport::gloo

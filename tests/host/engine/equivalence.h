// SPDX-License-Identifier: Apache-2.0
//
// Equivalence: the same prompts, and the tokens that they must give wherever and however the work
// is done.
//
// The oracle is one request at a time on one CPU unit, whole prompts in one step, no prefix cache.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "host/engine/engine_rig.h"
#include "support/family_files.h"

namespace tandem::engine {

constexpr int kOutput = 24;

class Equivalence : public testing::Test {
 protected:
  Equivalence() = default;
  explicit Equivalence(const std::string& model_path) : rig_(model_path) {}

  // Prompts of many lengths around the page size; two of them share a prefix of 40 tokens.
  std::vector<Request> requests() const {
    std::vector<Request> all;
    const std::size_t lengths[] = {1, 2, 15, 16, 17, 31, 33, 48, 70, 100, 130, 200};
    for (const std::size_t length : lengths) {
      all.push_back(greedy(rig_.prompt(length, static_cast<std::uint32_t>(length)), kOutput));
    }
    const auto shared = rig_.prompt(40, 99);
    for (const std::uint32_t seed : {1, 2}) {
      auto prompt = shared;
      for (const auto token : rig_.prompt(20, seed)) prompt.push_back(token);
      all.push_back(greedy(prompt, kOutput));
    }
    all.push_back(all.back());
    all.push_back(all.back());
    return all;
  }

  // One at a time, the plainest configuration.
  const std::vector<Answer>& expected() {
    if (!expected_.empty()) return expected_;
    EngineOptions options;
    options.prefix_cache = false;
    auto engine = rig_.engine(rig_.cpu_units({64}), options);
    for (const Request& request : requests()) {
      expected_.push_back(run_all(*engine, {request}).front());
    }
    return expected_;
  }

  void expect_same(std::vector<NamedUnit> units, const EngineOptions& options,
                   bool concurrent = true) {
    auto engine = rig_.engine(std::move(units), options);
    std::vector<Answer> answers;
    if (concurrent) {
      answers = run_all(*engine, requests());
    } else {
      for (const Request& request : requests()) {
        answers.push_back(run_all(*engine, {request}).front());
      }
    }
    compare(answers);
    status_ = engine->status();
  }

  void compare(const std::vector<Answer>& answers) {
    ASSERT_EQ(answers.size(), expected().size());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      EXPECT_EQ(answers[i].tokens, expected()[i].tokens) << "request " << i;
      EXPECT_EQ(answers[i].text, expected()[i].text);
      EXPECT_EQ(answers[i].finish, FinishReason::kLength) << answers[i].last.error;
      EXPECT_EQ(answers[i].last.completion_tokens, kOutput);
    }
  }

  EngineRig rig_;
  std::vector<Answer> expected_;
  EngineStatus status_;
};

// Holds a unit in the middle of a batch until the test opens it, at the latest when the test ends.
// It outlives the units of the engine.
class Gate {
 public:
  ~Gate() { open(); }
  void wait() { open_.wait(false); }
  void open() {
    open_ = true;
    open_.notify_all();
  }

 private:
  std::atomic<bool> open_{false};
};

// A small model with windows of 20 tokens, norms of heads, soft caps or experts.
inline std::string saved_family(const std::string& name) {
  test::FamilyFile file = test::family_file(name);
  file.numbers["context_length"] = 512;
  const auto path = std::filesystem::temp_directory_path() /
                    ("tandem_" + name + "_" + std::to_string(getpid()) + ".gguf");
  file.writer().save(path);
  return path;
}

}  // namespace tandem::engine

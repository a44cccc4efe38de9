// SPDX-License-Identifier: Apache-2.0
//
// TrainPage: the web page of a training run, `tandem train --ui`.
//
// Rank 0 serves it from open() until the object ends. The run adds a line of figures under a lock
// that is never held while a browser is served, so no viewer slows it. At most kMostPoints points
// and evaluations are kept: when there are more, every second one is removed. The text for browsers
// is made at most twice a second. Threads: one trains; the page has its own. Errors: Error("train",
// ...) for options, Error("server", ...) when it cannot listen.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "training/trainer/training_log.h"

namespace tandem::apps {

struct TrainPageOptions {
  std::string address;   // "127.0.0.1:8090", "[::1]:0"; empty: no page
  std::string key_file;  // file of API keys; empty: only this machine may connect
  std::string title;     // what is trained
  std::uint64_t steps = 0;
};

class TrainPage {
 public:
  // Checks the options.
  explicit TrainPage(const TrainPageOptions& options);
  ~TrainPage();

  bool is_asked_for() const { return state_ != nullptr; }
  // Starts serving, and logs the address. A second call does nothing.
  void open();
  // Returns a log that writes to the page. Points after `step` are removed.
  std::unique_ptr<training::TrainingLog> make_log(std::uint64_t step);
  // The JSON that browsers get at /status.
  std::string json() const;

 private:
  struct State;
  class Log;
  std::shared_ptr<State> state_;  // null: no page
};

}  // namespace tandem::apps

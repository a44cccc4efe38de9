// SPDX-License-Identifier: Apache-2.0
//
// Link: gloo's TCP connection to one peer, extended to report completions and its end.
//
// A peer that violates gloo's protocol closes the link and does not end the process. A peer that
// sends much does not delay reads from the others. Connecting ends at a deadline. Threads: gloo's
// loop calls the overrides while it holds the link's lock, so they only mark() the activity; the
// loop calls publish() after it releases the lock. interrupt() from any thread.
#pragma once

#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "transport/gloo/mesh.h"

namespace tandem::transport::gloo {

class Link final : public ::gloo::transport::tcp::Pair {
 public:
  Link(::gloo::transport::tcp::Context* context, ::gloo::transport::tcp::Device* device, int peer,
       Activity& activity, std::atomic<bool>& closed);

  void connect_by(Deadline deadline, const std::vector<char>& address,
                  const std::function<void()>& watch);
  // Ends the connection in both directions after all data given to the network; gloo's loop then
  // closes it.
  void interrupt() noexcept;
  bool connected();

  void handleEvents(int events) override;

 protected:
  void handleReadWrite(int events) override;
  bool read() override;
  bool write(::gloo::transport::tcp::Op& op) override;
  void changeState(state next) noexcept override;
  void waitUntilConnected(std::unique_lock<std::mutex>& lock, bool use_timeout) override;

 private:
  const int peer_;
  Activity& activity_;
  std::atomic<bool>& closed_;
  Deadline deadline_ = Deadline::never();
  std::function<void()> watch_;  // while connect_by() runs
};

// Makes Link objects where gloo would make pairs.
class LinkContext final : public ::gloo::transport::tcp::Context {
 public:
  LinkContext(std::shared_ptr<::gloo::transport::tcp::Device> device, int rank, int world,
              Activity& activity, std::vector<std::atomic<bool>>& closed);
  std::unique_ptr<::gloo::transport::Pair>& createPair(int peer) override;

 private:
  Activity& activity_;
  std::vector<std::atomic<bool>>& closed_;
};

}  // namespace tandem::transport::gloo

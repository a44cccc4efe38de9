// SPDX-License-Identifier: Apache-2.0
//
// The checks of the mpi transport, as a program that mpirun starts once per rank.
//
//   mpi_ranks CHECK, one of those named in run()
// Exits with 0 when this rank saw what it should; otherwise says what differs on stderr. Whole
// checks are functions that throw; `killed` ends rank 1 with SIGKILL and is for a launcher that
// lets the others run on.
#include <csignal>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "host/collectives/scheme/product.h"
#include "host/transport/conformance.h"
#include "host/transport/mpi/reference.h"
#include "transport/mpi/mpi.h"
#include "transport/mpi/transport.h"

namespace tandem::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using transport::Outgoing;
using transport::Payload;
using transport::Source;
using transport::Transport;
using transport::TransportError;
using transport::mpi::Environment;

void expect(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

std::unique_ptr<Transport> make_transport(Environment& environment) {
  return transport::mpi::connect(environment, Deadline::after(seconds(240)));
}

transport::mpi::Options small_parts() {
  transport::mpi::Options options;
  options.max_part_bytes = 100'000;
  return options;
}

// Whole messages, and messages cut into parts; two transports in one process do not mix.
void conform() {
  const auto largest = std::size_t{2} << 20;
  Environment environment(small_parts());
  const auto first = make_transport(environment);
  const auto second = make_transport(environment);
  expect(first->kind() == "mpi", "another kind");
  const auto early = first->rank() == 0 && first->world() > 1
                         ? first->start({{1, Payload(transport::ByteBuffer(250'001)), 77}}, {})
                         : nullptr;
  Conformance(*second).everything(largest);
  if (early) early->finish(Deadline::after(seconds(240)));
  if (first->rank() == 1) {
    const auto message = first->start({}, {{0, 77}})->next(Deadline::after(seconds(240)));
    expect(message->payload.size() == 250'001, "the other transport's message changed");
  }
  Conformance(*first).everything(largest);
}

// A message that nobody took is gone: the next one of its tag comes in its place.
void drop() {
  Environment environment;
  const auto transport = make_transport(environment);
  const int world = transport->world();
  const int next = (transport->rank() + 1) % world;
  const int previous = (transport->rank() + world - 1) % world;
  const auto deadline = Deadline::after(seconds(240));
  for (const std::size_t bytes : {std::size_t{10}, std::size_t{1} << 20}) {
    for (const bool wanted : {false, true}) {
      std::vector<Outgoing> sends;
      sends.push_back({next, Payload(transport::ByteBuffer(bytes + wanted)), 7});
      const auto exchange = transport->start(std::move(sends), {{previous, 7}});
      if (wanted) expect(exchange->next(deadline)->payload.size() == bytes + 1, "the dropped one");
      exchange->finish(deadline);
    }
  }
}

void conform_whole() {
  Environment environment;
  const auto transport = make_transport(environment);
  const bool few = transport->world() <= 4;
  Conformance(*transport).everything(std::size_t{few ? 64u : 8u} << 20);
}

void product() {
  Environment environment;
  const auto transport = make_transport(environment);
  const auto failures = run_product(*transport, ProductOptions{});
  for (const std::string& failure : failures) std::cerr << failure << "\n";
  expect(failures.empty(), "sums differ");
}

void reference() {
  Environment environment;
  const auto transport = make_transport(environment);
  compare_with_mpi_allreduce(*transport);
}

std::string error_of(const std::function<void()>& work, TransportError::Kind kind) {
  try {
    work();
  } catch (const TransportError& error) {
    expect(error.kind() == kind, std::string("another kind of error: ") + error.what());
    return error.what();
  }
  throw std::runtime_error("what must fail succeeded");
}

void expect_broken(Transport& transport, TransportError::Kind kind) {
  const int other = transport.rank() == 0 ? 1 : 0;
  error_of([&] { transport.start({{other, Payload(), 5}}, {}); }, kind);
  try {
    transport.shrink(Deadline::after(seconds(1)));
  } catch (const TransportError&) {
    throw;
  } catch (const Error&) {
    return;
  }
  throw std::runtime_error("shrink() worked");
}

// Whom `work` blames for a deadline that passed; nullopt where another rank was quicker to abort.
std::optional<int> late_peer(const std::function<void()>& work) {
  try {
    work();
  } catch (const TransportError& error) {
    if (error.kind() == TransportError::Kind::kAborted) return std::nullopt;
    expect(error.kind() == TransportError::Kind::kTimeout, error.what());
    return error.peer();
  }
  throw std::runtime_error("no error, but a rank sleeps");
}

// The last rank sleeps beyond the others' deadline, with a large message to it under way: rank 0
// waits until that has left, the others wait for an answer.
void hang() {
  Environment environment;
  const auto transport = make_transport(environment);
  const int late = transport->world() - 1;
  if (transport->rank() == late) {
    std::this_thread::sleep_for(seconds(2));
    const auto exchange = transport->start({}, {{0, 2}});
    error_of([&] { exchange->next(Deadline::after(seconds(240))); },
             TransportError::Kind::kAborted);
    return;
  }
  std::vector<Outgoing> sends;
  sends.push_back({late, Payload(transport::ByteBuffer(std::size_t{8} << 20)), 1});
  const bool only_sends = transport->rank() == 0;
  const auto exchange = transport->start(
      std::move(sends), only_sends ? std::vector<Source>{} : std::vector<Source>{{late, 1}});
  const auto deadline = Deadline::after(milliseconds(500));
  const auto blamed = late_peer([&] {
    if (only_sends) exchange->finish(deadline);
    exchange->next(deadline);
  });
  if (blamed) {
    expect(*blamed == late, "another rank is blamed");
    error_of([&] { transport->start({}, {}); }, TransportError::Kind::kTimeout);
  }
  transport->abort("no message by the deadline");
}

// Rank 1 aborts from a thread of its own while everybody waits for somebody who sends nothing.
void abort_by_one() {
  Environment environment;
  const auto transport = make_transport(environment);
  const int peer = (transport->rank() + 1) % transport->world();
  const auto exchange = transport->start({}, {{peer, 1}});  // nobody can start one after its abort
  std::thread aborter;
  if (transport->rank() == 1) {
    aborter = std::thread([&] {
      std::this_thread::sleep_for(milliseconds(200));
      transport->abort("out of patience");
    });
  }
  const std::string text = error_of([&] { exchange->next(Deadline::after(seconds(240))); },
                                    TransportError::Kind::kAborted);
  if (aborter.joinable()) aborter.join();
  expect(text.find("rank 1 aborted: out of patience") != std::string::npos, text);
  transport->abort("a second reason");
  expect_broken(*transport, TransportError::Kind::kAborted);
}

void killed() {
  transport::mpi::Options options;
  options.leave_timeout = milliseconds(300);
  Environment environment(options);
  const auto transport = make_transport(environment);
  Conformance(*transport).all_to_all_of_distinct_sizes();
  if (transport->rank() == 1) std::raise(SIGKILL);
  const auto exchange = transport->start({}, {{1, 1000}});
  bool failed = false;
  try {
    exchange->next(Deadline::after(seconds(1)));
  } catch (const TransportError&) {
    failed = true;
  }
  expect(failed, "a message from a dead rank");
  transport->abort("rank 1 is dead");
  std::cout << "rank " + std::to_string(transport->rank()) + " got its error\n" << std::flush;
}

// A message announced as longer than memory can be is the sender's garbage.
void lie() {
  Environment environment;
  std::mutex lock;
  MPI_Comm communicator = MPI_COMM_NULL;
  transport::mpi::check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &communicator), "MPI_Comm_dup");
  if (environment.rank() == 1) {
    const std::uint64_t length = ~std::uint64_t{0};
    constexpr int kTagOfCutMessage = 2 + 2 * 5 + 1;  // of tag 5: see progress.h
    transport::mpi::check_mpi(
        MPI_Send(&length, sizeof(length), MPI_BYTE, 0, kTagOfCutMessage, communicator), "MPI_Send");
    return;
  }
  const auto transport = transport::mpi::make_mpi_transport(
      {communicator, lock, std::size_t{1} << 20, "node", environment.rank(), environment.world()});
  const auto exchange = transport->start({}, {{1, 5}});
  const std::string text = error_of([&] { exchange->next(Deadline::after(seconds(240))); },
                                    TransportError::Kind::kGarbage);
  expect(text.find("rank 1 announced") != std::string::npos, text);
}

// One Environment at a time, and an address of the node that others can tell apart.
void alone() {
  Environment environment;
  try {
    Environment second;
    throw std::runtime_error("two environments in one process");
  } catch (const Error&) {
  }
  const auto transport = make_transport(environment);
  expect(transport->rank() == environment.rank(), "ranks differ");
  expect(transport->world() == environment.world(), "worlds differ");
  expect(transport->node_name().find("net:[") != std::string::npos, transport->node_name());
  // The library forbids it: closing one connection ends them all.
  expect(!transport->fails_alone(), "a connection of MPI fails alone");
  transport->close(1 - transport->rank(), "not needed");
  try {
    transport->start({}, {});
    throw std::runtime_error("a connection outlived another");
  } catch (const TransportError& error) {
    expect(error.kind() == TransportError::Kind::kAborted, error.what());
  }
}

int run(const std::string& check) {
  const std::map<std::string, void (*)()> checks = {
      {"alone", alone},
      {"conform", conform},
      {"conform_whole", conform_whole},
      {"product", product},
      {"hang", hang},
      {"abort", abort_by_one},
      {"reference", reference},
      {"killed", killed},
      {"drop", drop},
      {"lie", lie},
  };
  const auto found = checks.find(check);
  if (found == checks.end()) {
    std::cerr << "no check is called '" << check << "'\n";
    return 2;
  }
  try {
    found->second();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << check + ": " + error.what() + "\n";
    return 1;
  }
}

}  // namespace
}  // namespace tandem::test

int main(int count, char** arguments) { return tandem::test::run(count == 2 ? arguments[1] : ""); }

// SPDX-License-Identifier: Apache-2.0
//
// Texts as messages: each names its sender, its receiver and its round.
#include "host/transport/connections.h"

#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "host/transport/conformance.h"

namespace tandem::test {
namespace {

using transport::FailureScope;
using transport::Payload;
using transport::Tag;
using transport::Transport;
using transport::TransportError;
using Kind = TransportError::Kind;

void expect(const Transport& transport, bool holds, const std::string& what) {
  if (!holds) throw ConformanceError("rank " + std::to_string(transport.rank()) + ": " + what);
}

std::string text_of(int from, int to, Tag tag) {
  return std::to_string(from) + " to " + std::to_string(to) + ", round " + std::to_string(tag);
}

Payload payload_of(const std::string& text) {
  transport::ByteBuffer bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return Payload(std::move(bytes));
}

void expect_text(const Transport& transport, const Payload& payload, int from, Tag tag) {
  const auto bytes = payload.bytes();
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  expect(transport, text == text_of(from, transport.rank(), tag), "got '" + text + "'");
}

// Everyone but `without` sends to and receives from everyone but `without`.
std::unique_ptr<transport::Exchange> start_round(Transport& transport, int without, Tag tag) {
  std::vector<transport::Outgoing> sends;
  std::vector<transport::Source> sources;
  for (int peer = 0; peer < transport.world(); ++peer) {
    if (peer == transport.rank() || peer == without) continue;
    sends.push_back({peer, payload_of(text_of(transport.rank(), peer, tag)), tag});
    sources.push_back({peer, tag});
  }
  return transport.start(std::move(sends), std::move(sources));
}

void end_round(Transport& transport, transport::Exchange& exchange, Tag tag, Deadline deadline) {
  while (const auto message = exchange.next(deadline)) {
    expect_text(transport, message->payload, message->peer, tag);
  }
  exchange.finish(deadline);
}

template <typename Body>
std::optional<TransportError> error_of(Body&& body) {
  try {
    body();
  } catch (const TransportError& error) {
    return error;
  }
  return std::nullopt;
}

void expect_error(const Transport& transport, const std::optional<TransportError>& error, Kind kind,
                  int peer, const std::string& part = "") {
  expect(transport, error.has_value(), "a wait that must fail succeeded");
  const std::string text = error->what();
  expect(transport, error->kind() == kind, "another kind of error: " + text);
  expect(transport, error->peer() == peer, "the error names another peer: " + text);
  expect(transport, text.find(part) != std::string::npos, "'" + part + "' is not in: " + text);
}

void swap_texts(Transport& transport, int peer, Tag tag, Deadline deadline) {
  std::vector<transport::Outgoing> sends;
  sends.push_back({peer, payload_of(text_of(transport.rank(), peer, tag)), tag});
  end_round(transport, *transport.start(std::move(sends), {{peer, tag}}), tag, deadline);
}

}  // namespace

void survive_lost_peer(Transport& transport, int lost, Deadline deadline) {
  expect(transport, transport.fails_alone(), "fails_alone() is false");
  const auto before = start_round(transport, lost, 1);
  const auto receive = [&] { transport.receive(lost, 7, deadline); };
  expect_error(transport, error_of(receive), Kind::kPeerLost, lost);
  end_round(transport, *before, 1, deadline);
  for (Tag tag = 2; tag < 5; ++tag) {
    end_round(transport, *start_round(transport, lost, tag), tag, deadline);
  }
  expect(transport, error_of(receive).has_value(), "a second wait for a lost peer succeeded");
  end_round(transport, *start_round(transport, lost, 5), 5, deadline);
}

void survive_closed_connection(Transport& transport, Deadline deadline) {
  const int rank = transport.rank();
  if (rank == 0) transport.close(1, "no longer needed");
  if (rank < 2) {
    const auto error = error_of([&] { transport.receive(1 - rank, 1, deadline); });
    expect_error(transport, error, Kind::kAborted, 0, "no longer needed");
    swap_texts(transport, 2, 2, deadline);
    const auto later = error_of([&] { transport.receive(1 - rank, 3, deadline); });
    expect_error(transport, later, Kind::kAborted, 0, "no longer needed");
    swap_texts(transport, 2, 4, deadline);
  } else if (rank == 2) {
    for (const Tag tag : {2, 4}) {
      for (const int peer : {0, 1}) swap_texts(transport, peer, tag, deadline);
    }
  }
  // Nobody leaves before all are done: leaving is a loss to the others.
  if (rank == 2) {
    for (const int peer : {0, 1}) transport.send(peer, 5, payload_of("done"), deadline);
  } else if (rank < 2) {
    transport.receive(2, 5, deadline);
  }
}

void survive_late_peer(Transport& transport, Deadline deadline) {
  const int rank = transport.rank();
  if (rank == 0) {
    const auto soon = Deadline::after(std::chrono::milliseconds(30));
    const auto late = error_of([&] { transport.receive(1, 1, soon); });
    expect_error(transport, late, Kind::kTimeout, 1);
    const auto later = error_of([&] { transport.receive(1, 1, deadline); });
    expect_error(transport, later, Kind::kAborted, 0, "by the deadline");
  } else if (rank == 1) {
    const auto told = error_of([&] { transport.receive(0, 1, deadline); });
    expect_error(transport, told, Kind::kAborted, 0, "by the deadline");
  }
  if (rank == 2) {
    for (const int peer : {0, 1}) swap_texts(transport, peer, 2, deadline);
  } else if (rank < 2) {
    swap_texts(transport, 2, 2, deadline);
  }
}

void survive_aborted_peer(Transport& transport, Deadline deadline) {
  const int rank = transport.rank();
  if (rank == 0) {
    transport.abort("rank 0 has enough");
    for (const int peer : {1, 2}) {
      const auto own = error_of([&] { transport.start({}, {{peer, 1}})->next(deadline); });
      expect_error(transport, own, Kind::kAborted, 0, "rank 0 has enough");
    }
    return;
  }
  const auto told = error_of([&] { transport.start({}, {{0, 1}})->next(deadline); });
  expect_error(transport, told, Kind::kAborted, 0, "rank 0 has enough");
  for (Tag tag = 2; tag < 5; ++tag) swap_texts(transport, 3 - rank, tag, deadline);
}

void fail_together(Transport& transport, Deadline deadline) {
  transport.set_failure_scope(FailureScope::kGroup);
  const int world = transport.world();
  if (transport.rank() == 0) {
    transport.abort("the group is over");
    const auto own = error_of([&] { transport.receive(1, 1, deadline); });
    expect_error(transport, own, Kind::kAborted, 0, "the group is over");
    return;
  }
  // Nobody waits for rank 0.
  const int peer = transport.rank() == 1 ? world - 1 : transport.rank() - 1;
  for (Tag tag = 1; tag < 3; ++tag) {
    const auto error = error_of([&] { transport.start({}, {{peer, tag}})->next(deadline); });
    expect_error(transport, error, Kind::kAborted, 0, "the group is over");
  }
}

void check_connections(const RunRanks& run_ranks, bool virtual_time) {
  const auto deadline = [] { return Deadline::after(std::chrono::seconds(240)); };
  for (const int lost : {0, 3}) {
    run_ranks(4, [&](std::unique_ptr<Transport> transport) {
      if (transport->rank() == lost) {
        transport.reset();
      } else {
        survive_lost_peer(*transport, lost, deadline());
      }
    });
  }
  run_ranks(3, [&](std::unique_ptr<Transport> transport) {
    survive_closed_connection(*transport, deadline());
  });
  run_ranks(3, [&](std::unique_ptr<Transport> transport) {
    survive_aborted_peer(*transport, deadline());
  });
  if (!virtual_time) {
    run_ranks(3, [&](std::unique_ptr<Transport> transport) {
      survive_late_peer(*transport, deadline());
    });
  }
  // Leaving is a loss to the others, and may reach them before the abort does. So all stay until
  // the last one has heard of it.
  std::mutex mutex;
  std::vector<std::unique_ptr<Transport>> stayed;
  run_ranks(4, [&](std::unique_ptr<Transport> transport) {
    fail_together(*transport, deadline());
    const std::lock_guard lock(mutex);
    stayed.push_back(std::move(transport));
  });
}

}  // namespace tandem::test

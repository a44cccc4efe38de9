// SPDX-License-Identifier: Apache-2.0
//
// A program of MPI whose traffic is known: traced_program PATTERN. The test works out the matrices
// of every pattern by hand (trace_comm_test.py).
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

struct World {
  int rank = 0, size = 1;

  int at(int distance) const { return ((rank + distance) % size + size) % size; }
};

std::vector<char> sent(1 << 20), received(1 << 20);

// 1,000 bytes to the next rank, three times; the ranks also meet.
void pass_on(const World& world) {
  for (int i = 0; i < 3; ++i) {
    MPI_Sendrecv(sent.data(), 1000, MPI_BYTE, world.at(1), 0, received.data(), 1000, MPI_BYTE,
                 world.at(-1), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// 100 numbers of 8 bytes, added up.
void allreduce(const World& /*world*/) {
  MPI_Allreduce(sent.data(), received.data(), 100, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
}

// (10 * destination + source + 1) bytes for every pair.
void alltoallv(const World& world) {
  std::vector<int> counts, offsets, result_counts, result_offsets;
  for (int i = 0; i < world.size; ++i) {
    counts.push_back(10 * i + world.rank + 1);
    result_counts.push_back(10 * world.rank + i + 1);
    offsets.push_back(100 * i);
    result_offsets.push_back(100 * i);
  }
  MPI_Alltoallv(sent.data(), counts.data(), offsets.data(), MPI_BYTE, received.data(),
                result_counts.data(), result_offsets.data(), MPI_BYTE, MPI_COMM_WORLD);
}

// Even and odd ranks, each turned round: rank 0 of a half is its last rank. It sends 64 bytes to
// the others by a broadcast, and 5 bytes to rank 1 of the half by a message.
void halves(const World& world) {
  MPI_Comm half = MPI_COMM_NULL, copy = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world.rank % 2, -world.rank, &half);
  MPI_Comm_dup(half, &copy);
  MPI_Bcast(sent.data(), 64, MPI_BYTE, 0, copy);
  int rank = 0;
  MPI_Comm_rank(copy, &rank);
  if (rank == 0) MPI_Send(sent.data(), 5, MPI_BYTE, 1, 0, copy);
  if (rank == 1) MPI_Recv(received.data(), 5, MPI_BYTE, 0, 0, copy, MPI_STATUS_IGNORE);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&half);
}

// A put of 24 bytes to the next rank, and a get of 8 from the one before.
void one_sided(const World& world) {
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(received.data(), 4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Put(sent.data(), 3, MPI_DOUBLE, world.at(1), 0, 3, MPI_DOUBLE, window);
  MPI_Get(sent.data() + 100, 8, MPI_BYTE, world.at(-1), 200, 8, MPI_BYTE, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
}

// A request that is started five times, and a message to nobody.
void persistent(const World& world) {
  MPI_Request requests[2];
  MPI_Send_init(sent.data(), 12, MPI_INT, world.at(2), 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(received.data(), 12, MPI_INT, world.at(-2), 0, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 5; ++i) {
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
  MPI_Send(sent.data(), 9, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

// Warm-up that is not traced, then the phases 2 and 3.
void phases(const World& world) {
  MPI_Pcontrol(0);
  pass_on(world);
  MPI_Pcontrol(1);
  MPI_Pcontrol(2);
  pass_on(world);
  MPI_Pcontrol(3);
  allreduce(world);
}

// Neighbours of a ring that does not close.
void neighbours(const World& world) {
  const int periodic = 0;
  MPI_Comm line = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &world.size, &periodic, 0, &line);
  MPI_Neighbor_alltoall(sent.data(), 4, MPI_BYTE, received.data(), 4, MPI_BYTE, line);
  MPI_Comm_free(&line);
}

const std::map<std::string, std::function<void(const World&)>> kPatterns = {
    {"pass_on", pass_on}, {"allreduce", allreduce},   {"alltoallv", alltoallv},
    {"halves", halves},   {"one_sided", one_sided},   {"persistent", persistent},
    {"phases", phases},   {"neighbours", neighbours}, {"nothing", [](const World&) {}},
};

}  // namespace

int main(int argc, char** argv) {
  const auto pattern = kPatterns.find(argc > 1 ? argv[1] : "");
  if (pattern == kPatterns.end()) {
    std::fprintf(stderr, "usage: traced_program PATTERN\n");
    return 2;
  }
  MPI_Init(&argc, &argv);
  World world;
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.size);
  pattern->second(world);
  MPI_Finalize();
  return argc > 2 ? 7 : 0;
}

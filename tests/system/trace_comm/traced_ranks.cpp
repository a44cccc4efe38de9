// SPDX-License-Identifier: Apache-2.0
//
// Ranks of our own transports, for trace_transports_test.py.
//
// traced_ranks TRANSPORT WORLD UNITS SCHEME CALLS [STORE]: CALLS dense all-reduces of UNITS floats
// by SCHEME. TRANSPORT: inproc (threads), gloo (processes that meet in the directory STORE), mpi
// (under mpirun).
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "collectives/collective.h"
#include "collectives/group.h"
#include "transport/gloo/gloo.h"
#include "transport/inproc/inproc.h"
#include "transport/mpi/mpi.h"

namespace {

using namespace tandem;

struct Work {
  int world = 1;
  std::size_t units = 0;
  std::string scheme;
  int calls = 0;
};

void run_rank(std::unique_ptr<transport::Transport> connections, const Work& work) {
  collectives::Group group(std::move(connections));
  for (int call = 0; call < work.calls; ++call) {
    std::vector<float> values(work.units, 1.0F);
    collectives::ReduceOptions options;
    options.scheme = work.scheme;
    collectives::allreduce(group, collectives::DenseView::of(values), options);
    if (values.front() != static_cast<float>(work.world)) std::_Exit(9);
  }
}

int wait_for_all(int world) {
  int worst = 0;
  for (int rank = 0; rank < world; ++rank) {
    int status = 0;
    wait(&status);
    if (status != 0) worst = 1;
  }
  return worst;
}

int run_threads(const Work& work) {
  std::vector<std::thread> threads;
  for (auto& connections : transport::inproc::make_world(work.world)) {
    threads.emplace_back(
        [&work, own = std::move(connections)]() mutable { run_rank(std::move(own), work); });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

int run_processes(const Work& work, const std::string& store) {
  for (int rank = 0; rank < work.world; ++rank) {
    if (fork() != 0) continue;
    transport::gloo::Options options;
    options.rank = rank;
    options.world = work.world;
    options.store_directory = store;
    options.address = "127.0.0.1";
    run_rank(transport::gloo::connect(options), work);
    std::exit(0);
  }
  return wait_for_all(work.world);
}

int run_of_mpi(const Work& work) {
  transport::mpi::Environment environment;
  run_rank(transport::mpi::connect(environment), work);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  const std::string transport = argv[1];
  const Work work{std::atoi(argv[2]), static_cast<std::size_t>(std::atoi(argv[3])), argv[4],
                  std::atoi(argv[5])};
  if (transport == "inproc") return run_threads(work);
  if (transport == "gloo" && argc > 6) return run_processes(work, argv[6]);
  if (transport == "mpi") return run_of_mpi(work);
  return 2;
}

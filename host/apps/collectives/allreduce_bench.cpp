// SPDX-License-Identifier: Apache-2.0
//
// `tandem allreduce-bench`: every scheme on one gradient, over one transport.
#include <memory>

#include "apps/collectives/bench_rank.h"
#include "apps/collectives/command.h"
#include "apps/collectives/launch_ranks.h"

namespace tandem::apps {

void add_allreduce_bench(CLI::App& app, const std::vector<std::string>& arguments, int& code) {
  CLI::App* command =
      app.add_subcommand("allreduce-bench", "Measure sparse all-reduce schemes on a transport");
  auto options = std::make_shared<BenchOptions>();
  add_bench_options(*command, *options);
  command->footer(
      "inproc: ranks are threads. mpi: mpirun -n 4 tandem allreduce-bench --transport mpi\n"
      "(as root add --allow-run-as-root, with fewer cores than ranks --oversubscribe).\n"
      "gloo, nccl: starts its ranks here, or one with --rank, --world and --store.");
  command->callback([command, options, arguments, &code] {
    check_bench_options(*command, *options);
    code = launch_ranks(*options, arguments, [&](collectives::Group& group) {
      const BenchResult result = run_bench(group, *options);
      if (group.rank() != 0) return;
      print_result(*options, result);
      write_matrices(*options, result);
    });
  });
}

}  // namespace tandem::apps

// SPDX-License-Identifier: Apache-2.0
//
// `tandem stencil`: a tiled stencil on ranks and threads, against the triad's bandwidth.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "apps/collectives/command.h"
#include "apps/collectives/launch_ranks.h"
#include "apps/collectives/stencil/stencil_bench.h"
#include "apps/collectives/stencil/transport_courier.h"
#include "apps/json_text.h"
#include "common/error.h"
#include "transport/inproc/inproc.h"
#include "transport/mpi/mpi.h"

namespace tandem::apps {
namespace {

using Json = nlohmann::ordered_json;

Json speed_json(const StencilSpeed& speed, const StencilCommandOptions& o, double triad) {
  return {{"tile", tile_text(speed.tile, o.cells)},
          {"tuned", speed.is_tuned},
          {"stores", speed.streams ? "streaming" : "cached"},
          {"ms_per_step", speed.step_s * 1e3},
          {"gb_per_s", speed.gb_per_s},
          {"of_triad", speed.gb_per_s / triad}};
}

Json result_json(const StencilResult& result, const StencilCommandOptions& o, int threads,
                 std::string_view transport) {
  Json json{{"stencil", o.stencil},   {"device", o.device},     {"cells", o.cells},
            {"ranks", o.ranks},       {"boxes", o.boxes},       {"threads", threads},
            {"transport", transport}, {"schedule", o.schedule}, {"steps", result.steps}};
  json.update(speed_json(result.sweep, o, result.triad_gb_per_s));
  json["checksum"] = fmt::format("{:016x}", result.checksum);
  json["triad"] = {{"gb_per_s", result.triad_gb_per_s},
                   {"copy_gb_per_s", o.device == "cpu" ? Json(result.copy_gb_per_s) : Json()},
                   {"stores", result.triad_streams ? "streaming" : "cached"}};
  if (result.pass_steps == 0) {
    json["fused"] = nullptr;
  } else {
    json["fused"] = {{"steps", result.pass_steps}};
    json["fused"].update(speed_json(result.pass, o, result.triad_gb_per_s));
    json["fused"]["speedup"] = result.sweep.step_s / result.pass.step_s;
  }
  return json;
}

void print_stencil(const StencilResult& result, const StencilCommandOptions& o, int threads,
                   std::string_view transport) {
  const Json json = result_json(result, o, threads, transport);
  if (o.json) {
    fmt::print("{}\n", json_text(json));
    return;
  }
  const auto line = [](const char* name, const Json& speed) {
    fmt::print("{:<7} tile {}: {:.2f} ms a step, {:.1f} GB/s, {:.2f} of the triad\n", name,
               speed["tile"].get<std::string>(), speed["ms_per_step"].get<double>(),
               speed["gb_per_s"].get<double>(), speed["of_triad"].get<double>());
  };
  fmt::print("{}^3 cells, {} ranks of {} threads ({}), triad {:.1f} GB/s, checksum {}\n", o.cells,
             o.ranks, threads, transport, result.triad_gb_per_s,
             json["checksum"].get<std::string>());
  line("sweep", json);
  if (result.pass_steps > 0) line("fused", json["fused"]);
}

bool is_under_mpi() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMI_SIZE") != nullptr;
}

int threads_of(const StencilCommandOptions& o) {
  if (o.threads > 0) return o.threads;
  return std::max(1, ThreadPool().num_threads() / o.ranks);
}

void run_rank_of_stencil(const StencilCommandOptions& o, transport::Transport& transport) {
  try {
    // Bound to processors, the threads of several ranks would choose the same ones.
    ThreadPool pool({threads_of(o), o.ranks > 1 ? Pin::kOff : Pin::kAuto});
    TransportCourier courier(
        transport, std::chrono::milliseconds(static_cast<std::int64_t>(o.timeout_s * 1e3)));
    const StencilResult result = measure_stencil(o, &courier, pool);
    if (transport.rank() == 0) print_stencil(result, o, pool.num_threads(), transport.kind());
  } catch (const std::exception& error) {
    transport.abort(error.what());
    throw;
  }
}

void run_ranks_in_threads(const StencilCommandOptions& o) {
  auto transports = transport::inproc::make_world(o.ranks);
  std::vector<std::exception_ptr> errors(transports.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < transports.size(); ++rank) {
    threads.emplace_back([&o, &errors, &transports, rank] {
      try {
        run_rank_of_stencil(o, *transports[rank]);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  rethrow_cause(errors);
}

void run_stencil(StencilCommandOptions o) {
  tile_of(o.tile, "--tile");  // reports wrong ones before ranks start
  tile_of(o.pass_tile, "--fused-tile");
  if (o.device != "cpu") {
    ThreadPool pool(o.threads);
    return print_stencil(measure_on_device(o, pool), o, pool.num_threads(), "none");
  }
  const bool takes_mpi = o.transport == "mpi" || (o.transport == "auto" && is_under_mpi());
  if (!takes_mpi) return run_ranks_in_threads(o);
  transport::mpi::Environment environment;
  if (!o.are_ranks_given) o.ranks = environment.world();
  if (o.ranks != environment.world()) {
    throw Error("stencil", fmt::format("--ranks {}, but the MPI job has {}; give --ranks {}, or "
                                       "start it with mpirun -n {}",
                                       o.ranks, environment.world(), environment.world(), o.ranks));
  }
  const auto transport = transport::mpi::connect(environment);
  run_rank_of_stencil(o, *transport);
}

}  // namespace

void add_stencil(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("stencil", "Measure a tiled stencil against the memory's speed");
  auto options = std::make_shared<StencilCommandOptions>();
  add_stencil_options(*command, *options);
  command->footer("Ranks are threads here. As processes: mpirun -n 4 tandem stencil heat");
  command->callback([options, command] {
    options->are_ranks_given = command->count("--ranks") > 0;
    if (options->device == "cpu:0") options->device = "cpu";
    run_stencil(*options);
  });
}

}  // namespace tandem::apps

// SPDX-License-Identifier: Apache-2.0
//
// The collectives tools: a separate program, because it links the message-passing libraries. Exit
// codes as those of `tandem`: 0 done, 1 unexpected, 2 bad input, 3 a device or a peer failed.
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <memory>

#include "apps/collectives/command.h"
#include "apps/command_words.h"
#include "apps/exit_code.h"
#include "transport/transport_error.h"

namespace {

int run(int argc, char** argv) {
  CLI::App app{"Measures and simulates sparse collectives.", "tandem"};
  app.set_version_flag("-v,--version", TANDEM_VERSION);
  app.formatter(std::make_shared<tandem::apps::HelpFormatter>(tandem::apps::help_width()));
  app.require_subcommand(1);
  int code = 0;
  const std::vector<std::string> arguments(argv, argv + argc);
  tandem::apps::add_allreduce_bench(app, arguments, code);
  tandem::apps::add_simulate_collectives(app);
  tandem::apps::add_sparsify_bench(app);
  tandem::apps::add_stencil(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    throw tandem::Error("options", tandem::apps::parse_error_text(app, error));
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  // Standard output contains only the requested table or JSON.
  spdlog::set_default_logger(spdlog::stderr_color_mt("tandem"));
  return tandem::apps::exit_code_of([&] {
    try {
      return run(argc, argv);
    } catch (const tandem::transport::TransportError& error) {
      std::fprintf(stderr, "tandem: %s\n", error.what());
      return tandem::apps::kDeviceFailed;
    }
  });
}

// SPDX-License-Identifier: Apache-2.0
//
// The trainer: a separate program, because it links the message-passing libraries and loads
// libtorch. Exit codes as those of `tandem`: 0 done, 1 unexpected, 2 bad input, 3 a peer failed.
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "apps/command_words.h"
#include "apps/config_file.h"
#include "apps/exit_code.h"
#include "apps/option_names.h"
#include "apps/train/command.h"
#include "common/log_event.h"
#include "transport/transport_error.h"

namespace {

namespace apps = tandem::apps;

int run(int argc, char** argv) {
  CLI::App app{"Trains a model on one or more ranks.", "tandem"};
  app.set_version_flag("-v,--version", TANDEM_VERSION);
  app.formatter(std::make_shared<apps::HelpFormatter>(apps::help_width()));
  app.require_subcommand(1);
  apps::add_train(app);
  try {
    std::vector<std::string> words =
        apps::with_config_file(app, {argv + 1, argv + argc}, apps::add_train);
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    app.parse(words);
  } catch (const CLI::ExtrasError&) {
    throw tandem::Error("options", apps::unknown_words(app));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    throw tandem::Error("options", apps::parse_error_text(app, error));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is an error of writing, as a full disk is
  spdlog::set_default_logger(spdlog::stderr_color_mt("tandem"));
  tandem::use_log_format(tandem::LogFormat::kText);
  return apps::exit_code_of([&] {
    try {
      return run(argc, argv);
    } catch (const tandem::transport::TransportError& error) {
      apps::print_error(error.what());
      return apps::kDeviceFailed;
    }
  });
}

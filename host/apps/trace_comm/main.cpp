// SPDX-License-Identifier: Apache-2.0
//
// The tracer of communication: a separate program, because it reads SQLite files and runs other
// programs. Exit codes as those of `tandem`; a traced program's own code is passed on.
#include <CLI/CLI.hpp>
#include <memory>

#include "apps/command_words.h"
#include "apps/exit_code.h"
#include "apps/trace_comm/trace_comm.h"
#include "common/error.h"

int main(int argc, char** argv) {
  return tandem::apps::exit_code_of([&] {
    CLI::App app{"Draws who sends how much to whom.", "tandem"};
    app.set_version_flag("-v,--version", TANDEM_VERSION);
    app.formatter(std::make_shared<tandem::apps::HelpFormatter>(tandem::apps::help_width()));
    app.require_subcommand(1);
    int code = 0;
    tandem::apps::add_trace_comm(app, code);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) return app.exit(error);
      throw tandem::Error("options", tandem::apps::parse_error_text(app, error));
    }
    return code;
  });
}

// SPDX-License-Identifier: Apache-2.0
//
// `tandem tensor spy FILE`: shows where the entries are, as text or as a drawing.
#include <spdlog/fmt/fmt.h>

#include <memory>

#include "apps/command_words.h"
#include "apps/tensor/tensor_commands.h"
#include "apps/tensor/tensor_output.h"
#include "common/error.h"
#include "tensor/sparse/features/spy.h"
#include "tensor/sparse/files/read_tensor.h"

namespace tandem::apps {
namespace {

struct SpyOptions {
  std::string path, svg;
  std::vector<std::size_t> modes{0, 1};
  std::size_t rows = 32, columns = 64;
  int threads = 0;
};

void run_spy(const SpyOptions& options) {
  ThreadPool pool(options.threads);
  const sparse::CooTensor tensor = sparse::read_tensor(options.path, pool);
  // A tensor of order 1 is a row.
  const std::size_t column_mode =
      tensor.order() == 1 && options.modes == SpyOptions().modes ? 0 : options.modes[1];
  const sparse::SpyPlot plot =
      sparse::spy(tensor, options.modes[0], column_mode, options.rows, options.columns);
  if (options.svg.empty()) {
    fmt::print("{}", sparse::spy_text(plot));
  } else {
    save_text(sparse::spy_svg(plot) + "\n", options.svg);
  }
}

}  // namespace

void add_tensor_spy(CLI::App& tensor) {
  CLI::App* command =
      tensor.add_subcommand("spy", "Draw the positions of the entries in two modes");
  auto o = std::make_shared<SpyOptions>();
  command->option_defaults()->always_capture_default();
  add_tensor_file(*command, o->path);
  command->add_option("--modes", o->modes, "the mode of the rows and that of the columns, from 0")
      ->delimiter(',')
      ->expected(2)
      ->check(count_value());
  command->add_option("--rows", o->rows, "rows of the drawing")->check(in_range(1, 2000));
  command->add_option("--columns", o->columns, "columns of the drawing")->check(in_range(1, 2000));
  command->add_option("--svg", o->svg, "write a drawing here instead of text");
  add_tensor_threads(*command, o->threads);
  command->callback([o] { run_spy(*o); });
}

}  // namespace tandem::apps

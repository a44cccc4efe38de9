// SPDX-License-Identifier: Apache-2.0
//
// `tandem tensor convert IN OUT`: a tensor file in another form or another order of entries.
#include <spdlog/fmt/fmt.h>

#include <memory>

#include "apps/tensor/tensor_commands.h"
#include "apps/tensor/tensor_output.h"
#include "tensor/sparse/files/read_tensor.h"
#include "tensor/sparse/formats/entry_order.h"

namespace tandem::apps {
namespace {

struct ConvertOptions {
  std::string from, to, order = "lexicographic";
  bool header = false;
  int threads = 0;
};

sparse::EntryOrder entry_order_named(const std::string& name) {
  if (name == "morton") return sparse::EntryOrder::kMorton;
  return name == "hilbert" ? sparse::EntryOrder::kHilbert : sparse::EntryOrder::kLexicographic;
}

void run_convert(const ConvertOptions& options) {
  sparse::WriteOptions writing = sparse::write_options_for(options.to);
  if (options.header) add_header(writing);
  const Stopwatch watch;
  ThreadPool pool(options.threads);
  sparse::CooTensor tensor = sparse::read_tensor(options.from, pool);
  const std::size_t before = tensor.num_entries();
  if (options.order != "file") {
    sparse::sum_duplicates(tensor, pool);
    const sparse::EntryOrder order = entry_order_named(options.order);
    if (order != sparse::EntryOrder::kLexicographic) sparse::sort_entries(tensor, order, pool);
  }
  save_tensor(tensor, options.to, writing, pool);
  fmt::print("{}: {}, {} entries, {} duplicates summed, {:.2f} s\n", options.to,
             sizes_words(tensor.sizes), tensor.num_entries(), before - tensor.num_entries(),
             watch.ms() / 1e3);
}

}  // namespace

void add_tensor_convert(CLI::App& tensor) {
  CLI::App* command =
      tensor.add_subcommand("convert", "Write a tensor in another form or order of entries");
  auto o = std::make_shared<ConvertOptions>();
  add_tensor_file(*command, o->from);
  command
      ->add_option("out", o->to,
                   "file to write, as its name ends: .tns, .mtx (Matrix Market), .gz behind it")
      ->required();
  command
      ->add_option("--order", o->order,
                   "of the entries: along a curve, or as in the file; only with 'file' duplicates "
                   "are not summed")
      ->check(CLI::IsMember({"lexicographic", "morton", "hilbert", "file"}));
  command->add_flag("--header", o->header,
                    "begin a .tns file with a line of the order and a line of the sizes; without "
                    "it the sizes are in a comment");
  add_tensor_threads(*command, o->threads);
  command->callback([o] { run_convert(*o); });
}

}  // namespace tandem::apps

// SPDX-License-Identifier: Apache-2.0
//
// `tandem tensor convert IN OUT`: a tensor file in another form or another order of entries.
#include <spdlog/fmt/fmt.h>

#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>

#include "apps/tensor/large_tensor.h"
#include "apps/tensor/tensor_commands.h"
#include "apps/tensor/tensor_output.h"
#include "apps/whole_file.h"
#include "tensor/sparse/files/read_tensor.h"
#include "tensor/sparse/formats/curve.h"
#include "tensor/sparse/formats/entry_order.h"

namespace tandem::apps {
namespace {

struct ConvertOptions {
  std::string from, to, order = "lexicographic";
  bool header = false;
  std::uint64_t memory = 0;
  int threads = 0;
};

// What is written, and how it is passed on in chunks.
struct Conversion {
  std::vector<std::uint64_t> sizes;
  std::uint64_t num_read = 0, num_entries = 0;
  std::function<void(sparse::ExternalOrder::Visit)> visit;
};

// Duplicates stay. A file that does not fit into memory is read once more for its entries; a pipe
// can be read only once, so its entries are held.
Conversion in_file_order(const ConvertOptions& options, ThreadPool& pool) {
  const std::size_t most_bytes = std::filesystem::is_regular_file(options.from)
                                     ? tensor_memory(options.memory) / LargeTensor::kParts
                                     : std::numeric_limits<std::size_t>::max();
  Conversion made;
  std::size_t chunks = 0;
  const auto held = std::make_shared<sparse::CooTensor>();
  sparse::read_chunks(options.from, most_bytes, pool, [&](sparse::CooTensor chunk) {
    made.sizes = chunk.sizes;
    made.num_read += chunk.num_entries();
    *held = ++chunks == 1 ? std::move(chunk) : sparse::CooTensor();
  });
  made.num_entries = made.num_read;
  const bool is_whole = chunks == 1;
  made.visit = [&options, &pool, held, is_whole, most_bytes](sparse::ExternalOrder::Visit take) {
    if (is_whole) return take(*held);
    sparse::read_chunks(options.from, most_bytes, pool,
                        [&](sparse::CooTensor chunk) { take(chunk); });
  };
  return made;
}

// Entries in the order of their keys on a curve: the key is one more mode, before the others.
void visit_along(const sparse::Curve& curve, LargeTensor& tensor, ThreadPool& pool,
                 sparse::ExternalOrder::Visit take) {
  std::vector<std::size_t> modes(tensor.sizes.size() + 1);
  std::iota(modes.begin(), modes.end(), std::size_t{0});
  sparse::ExternalOrder along(modes, tensor.part(), pool);
  tensor.visit([&](const sparse::CooTensor& chunk) {
    const RawVector<std::uint64_t> keys = sparse::curve_keys(chunk, curve, pool);
    sparse::CooTensor keyed = chunk;
    sparse::IndexColumn column;
    column.resize(keys.size(), ~std::uint64_t{0});
    for (std::size_t i = 0; i < keys.size(); ++i) column.set(i, keys[i]);
    keyed.indices.insert(keyed.indices.begin(), std::move(column));
    along.add(keyed);
  });
  along.visit([&](const sparse::CooTensor& chunk) {
    sparse::CooTensor entries = chunk;
    entries.indices.erase(entries.indices.begin());
    entries.sizes.pop_back();
    take(entries);
  });
}

Conversion in_order(const ConvertOptions& options, ThreadPool& pool) {
  const auto tensor =
      std::make_shared<LargeTensor>(options.from, tensor_memory(options.memory), pool);
  Conversion made{tensor->sizes, tensor->num_read, 0, {}};
  tensor->visit([&](const sparse::CooTensor& chunk) { made.num_entries += chunk.num_entries(); });
  made.visit = [tensor](sparse::ExternalOrder::Visit take) { tensor->visit(take); };
  if (options.order == "lexicographic") return made;
  const bool is_hilbert = options.order == "hilbert";
  if (!tensor->sorted) {
    sparse::sort_entries(tensor->whole,
                         is_hilbert ? sparse::EntryOrder::kHilbert : sparse::EntryOrder::kMorton,
                         pool);
    return made;
  }
  const sparse::Curve curve(is_hilbert ? sparse::CurveKind::kHilbert : sparse::CurveKind::kMorton,
                            tensor->sizes);
  made.visit = [tensor, curve, &pool](sparse::ExternalOrder::Visit take) {
    visit_along(curve, *tensor, pool, take);
  };
  return made;
}

void run_convert(const ConvertOptions& options) {
  sparse::WriteOptions writing = sparse::write_options_for(options.to);
  if (options.header) add_header(writing);
  writing.name = options.to;
  const Stopwatch watch;
  ThreadPool pool(options.threads);
  const Conversion made =
      options.order == "file" ? in_file_order(options, pool) : in_order(options, pool);
  WholeFile file("tensor", regular_target("tensor", options.to));
  sparse::TensorWriter writer(file.open_path(), writing, made.sizes, made.num_entries, pool);
  made.visit([&](const sparse::CooTensor& chunk) { writer.write(chunk); });
  writer.close();
  file.keep();
  fmt::print("{}: {}, {} entries, {} duplicates summed, {:.2f} s\n", options.to,
             sizes_words(made.sizes), made.num_entries, made.num_read - made.num_entries,
             watch.ms() / 1e3);
}

}  // namespace

void add_tensor_convert(CLI::App& tensor) {
  CLI::App* command =
      tensor.add_subcommand("convert", "Write a tensor in another form or order of entries");
  auto o = std::make_shared<ConvertOptions>();
  command->option_defaults()->always_capture_default();
  add_tensor_file(*command, o->from);
  command
      ->add_option("out", o->to,
                   "file to write; the end of its name says the form: .tns, .mtx (Matrix Market), "
                   ".tns.gz or "
                   ".mtx.gz")
      ->required();
  command
      ->add_option(
          "--order", o->order,
          "order of the entries: by indices, along a curve, or as in the file; duplicates are "
          "summed, except with 'file'")
      ->check(CLI::IsMember({"lexicographic", "morton", "hilbert", "file"}));
  command->add_flag("--header", o->header,
                    "begin a .tns file with a line of the order and a line of the sizes; without "
                    "it the sizes are in a comment");
  add_tensor_memory(*command, o->memory);
  add_tensor_threads(*command, o->threads);
  command->callback([o] { run_convert(*o); });
}

}  // namespace tandem::apps

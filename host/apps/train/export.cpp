// SPDX-License-Identifier: Apache-2.0
//
// `tandem train export DIR out.gguf`: a checkpoint as a file that `tandem serve` loads.
#include <spdlog/fmt/fmt.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "apps/train/command.h"
#include "apps/whole_file.h"
#include "common/error.h"
#include "training/trainer/decoder_export.h"

namespace tandem::apps {
namespace {

void run(const std::string& folder, const std::string& out) {
  const training::Checkpoint checkpoint = training::find_checkpoint(folder);
  const training::ExportedDecoder exported = training::export_decoder(checkpoint);
  WholeFile file("train", regular_target("train", out));
  std::ofstream stream(file.open_path(), std::ios::binary);
  if (!stream) file.fail(errno);
  try {
    exported.writer.write(stream);
  } catch (const Error&) {
    file.fail(errno == 0 ? EIO : errno);  // the error of the failed write
  }
  stream.close();
  if (!stream) file.fail(errno);
  file.keep();
  fmt::print("{}: step {}, {} parameters, {:.1f} MiB\n", out, checkpoint.fields.value("step", 0u),
             exported.parameters->num_values(),
             static_cast<double>(std::filesystem::file_size(out)) / (1 << 20));
}

}  // namespace

void add_export(CLI::App& train) {
  CLI::App* command = train.add_subcommand(
      "export", "Write a checkpoint as a GGUF file, f32; `tandem quantize` makes it smaller");
  auto folder = std::make_shared<std::string>(), out = std::make_shared<std::string>();
  command->add_option("dir", *folder, "folder of a run, or of one checkpoint")->required();
  command->add_option("out", *out, "GGUF file to write; it is replaced as a whole")->required();
  command->callback([folder, out] { run(*folder, *out); });
}

}  // namespace tandem::apps

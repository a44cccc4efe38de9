// SPDX-License-Identifier: Apache-2.0
//
// xclbinutil: shows, splits and joins xclbin files.
//
// The options are those of the vendor's tool of this name; options for real cards are refused with
// the reason. Order of work: read, remove, replace, add, show, dump, write. Exit status: 0, or 2
// with one message; on an error nothing is written.
#include "bitstreams/tools/key_values.h"
#include "bitstreams/tools/section_json.h"
#include "bitstreams/tools/tool_main.h"
#include "bitstreams/tools/xclbin_image.h"
#include "bitstreams/tools/xclbin_report.h"
#include "bitstreams/xclbin/whole_file.h"
#include "common/error.h"

namespace {

using tandem::Error;
using tandem::xclbin::ImageSection;
using tandem::xclbin::XclbinImage;

struct Options {
  std::string input;
  std::string output;
  std::string info_file;
  std::string target;
  std::vector<std::string> add, replace, add_replace, remove, dump, keys, removed_keys;
  bool force = false;
  bool quiet = false;
  bool list = false;
  bool verbose = false;
  bool keep_uuid = false;
};

// Options of the vendor's tool that this one refuses, with the reason.
struct Refusal {
  const char* option;
  const char* reason;
};
constexpr Refusal kRefusals[] = {
    {"--add-kernel", "fixed kernels belong to a real card's firmware; build kernels with v++"},
    {"--add-pskernel", "emulated cards have no processor for PS kernels"},
    {"--add-merge-section", "sections are added or replaced as a whole; use --add-replace-section"},
    {"--append-section", "sections are added or replaced as a whole; use --add-replace-section"},
    {"--add-signature", "emulation loads unsigned files; sign the file for the real card instead"},
    {"--remove-signature", "emulation loads unsigned files"},
    {"--get-signature", "emulation loads unsigned files"},
    {"--private-key", "emulation loads unsigned files; sign the file for the real card instead"},
    {"--certificate", "emulation loads unsigned files; sign the file for the real card instead"},
    {"--validate-signature", "emulation loads unsigned files"},
    {"--migrate-forward", "files older than format 'xclbin2' are not read"},
};

// "SECTION:FORMAT:FILE"
struct SectionFile {
  uint32_t kind = 0;
  std::string format;
  std::string path;
};

SectionFile parse_section_file(const std::string& text, const char* option) {
  const size_t first = text.find(':');
  const size_t second = first == std::string::npos ? first : text.find(':', first + 1);
  if (second == std::string::npos || second + 1 == text.size()) {
    throw Error("xclbin", std::string(option) + " " + text +
                              ": write SECTION:FORMAT:FILE, such as " +
                              "MEM_TOPOLOGY:JSON:memory.json");
  }
  SectionFile result{tandem::xclbin::section_kind(text.substr(0, first)),
                     text.substr(first + 1, second - first - 1), text.substr(second + 1)};
  if (result.format.empty()) result.format = "RAW";
  if (result.format != "RAW" && result.format != "JSON") {
    throw Error("xclbin", std::string(option) + " " + text + ": format " + result.format +
                              " is not supported; RAW works for every section, JSON for tables");
  }
  if (result.format == "JSON" && !tandem::xclbin::has_json(result.kind)) {
    throw Error("xclbin", std::string(option) + " " + text + ": this section has no JSON; use RAW");
  }
  return result;
}

ImageSection read_section(const std::string& text, const char* option) {
  const SectionFile file = parse_section_file(text, option);
  std::vector<std::byte> bytes = tandem::xclbin::read_bytes(file.path);
  if (file.format == "JSON") {
    const std::string json(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    try {
      bytes = tandem::xclbin::section_from_json(file.kind, json);
    } catch (const Error& error) {
      throw Error("xclbin", file.path + ": " + error.what());
    }
  }
  const std::string name = text.substr(0, text.find(':'));
  return {file.kind, name.substr(0, 15), std::move(bytes)};
}

void apply_key(XclbinImage& image, const std::string& text) {
  const std::string platform_key = "SYS:PlatformVBNV:", user = "USER:";
  if (text.starts_with(platform_key)) return image.set_platform(text.substr(platform_key.size()));
  const size_t end = text.find(':', user.size());
  if (!text.starts_with(user) || end == std::string::npos || end == user.size()) {
    throw Error("xclbin",
                "--key-value " + text + ": write USER:<name>:<value> or SYS:PlatformVBNV:<name>");
  }
  tandem::xclbin::set_key(image, text.substr(user.size(), end - user.size()), text.substr(end + 1));
}

void apply_target(XclbinImage& image, const std::string& target) {
  if (target == "sw_emu") {
    image.set_mode(XCLBIN_SW_EMU);
  } else if (target == "hw_emu") {
    image.set_mode(XCLBIN_HW_EMU);
  } else {
    throw Error("xclbin",
                "--target " + target +
                    ": emulated cards run sw_emu and hw_emu; hw needs the vendor's tools");
  }
}

void edit(XclbinImage& image, const Options& options) {
  for (const std::string& name : options.remove) image.remove(tandem::xclbin::section_kind(name));
  for (const std::string& text : options.replace) {
    image.replace(read_section(text, "--replace-section"));
  }
  for (const std::string& text : options.add_replace) {
    ImageSection section = read_section(text, "--add-replace-section");
    if (image.find(section.kind) != nullptr) {
      image.replace(std::move(section));
    } else {
      image.add(std::move(section));
    }
  }
  for (const std::string& text : options.add) image.add(read_section(text, "--add-section"));
  for (const std::string& key : options.removed_keys) tandem::xclbin::remove_key(image, key);
  for (const std::string& text : options.keys) apply_key(image, text);
  if (!options.target.empty()) apply_target(image, options.target);
}

void dump(const XclbinImage& image, const std::string& text, bool force) {
  const SectionFile file = parse_section_file(text, "--dump-section");
  const ImageSection* section = image.find(file.kind);
  if (section == nullptr) {
    throw Error("xclbin", "--dump-section " + text + ": the file has no such section");
  }
  if (file.format == "JSON") {
    const std::string json = tandem::xclbin::section_to_json(file.kind, section->bytes);
    tandem::xclbin::write_text(file.path, json, force);
  } else {
    tandem::xclbin::write_bytes(file.path, section->bytes, force);
  }
}

bool edits(const Options& options) {
  return !options.add.empty() || !options.replace.empty() || !options.add_replace.empty() ||
         !options.remove.empty() || !options.keys.empty() || !options.removed_keys.empty() ||
         !options.target.empty();
}

void show(const Options& options, const std::vector<std::byte>& bytes) {
  const std::string report = tandem::xclbin::xclbin_report(bytes, options.input);
  if (options.info_file.empty()) {
    std::fputs(report.c_str(), stdout);
  } else {
    tandem::xclbin::write_text(options.info_file, report, options.force);
  }
}

int work(const Options& options, bool info) {
  if (options.list) {
    for (const std::string& name : tandem::xclbin::section_kind_names()) std::puts(name.c_str());
    return 0;
  }
  if (options.input.empty() && !edits(options)) {
    throw Error("xclbin", "nothing to do: add --input <file> and an action; --help lists them");
  }
  XclbinImage image;
  if (!options.input.empty()) {
    const auto bytes = tandem::xclbin::read_bytes(options.input);
    image = XclbinImage::parse(bytes, options.input);
  }
  edit(image, options);
  if (edits(options) && options.output.empty() && options.dump.empty() && !info) {
    throw Error("xclbin", "the changed file is not saved: add --output <file>");
  }
  const std::string name = options.output.empty() ? options.input : options.output;
  const std::vector<std::byte> bytes = image.encode(name);
  if (info) show(options, bytes);
  for (const std::string& text : options.dump) dump(image, text, options.force);
  if (!options.output.empty()) {
    tandem::xclbin::write_bytes(options.output, bytes, options.force);
    if (!options.quiet) std::printf("xclbinutil: wrote %s\n", options.output.c_str());
  }
  return 0;
}

CLI::Option* add_options(CLI::App& app, Options& options) {
  app.add_option("-i,--input", options.input, "xclbin to read");
  app.add_option("-o,--output", options.output, "xclbin to write");
  app.add_option("--add-section", options.add, "SECTION:FORMAT:FILE to add");
  app.add_option("--replace-section", options.replace, "SECTION:FORMAT:FILE to replace");
  app.add_option("--add-replace-section", options.add_replace,
                 "SECTION:FORMAT:FILE to add or replace");
  app.add_option("--remove-section", options.remove, "SECTION to remove");
  app.add_option("--dump-section", options.dump, "SECTION:FORMAT:FILE to write out");
  app.add_option("--key-value", options.keys, "USER:<name>:<value> or SYS:PlatformVBNV:<name>");
  app.add_option("--remove-key", options.removed_keys, "name of a USER key to remove");
  app.add_option("--target", options.target, "sw_emu or hw_emu");
  app.add_flag("--force", options.force, "replace existing files");
  app.add_flag("-q,--quiet", options.quiet, "print nothing but errors");
  app.add_flag("-v,--verbose", options.verbose, "accepted, without effect");
  app.add_flag("--list-sections", options.list, "list the names of sections");
  app.add_flag("--skip-uuid-insertion,--skip-bank-grouping", options.keep_uuid,
               "accepted, without effect here")
      ->group("");
  app.set_version_flag("--version", tandem::xclbin::kToolVersionText);
  for (const Refusal& refusal : kRefusals) {
    app.add_option_function<std::vector<std::string>>(
           refusal.option,
           [refusal](const std::vector<std::string>&) {
             throw CLI::ValidationError(refusal.option, refusal.reason);
           },
           refusal.reason)
        ->expected(0, 1)
        ->group("");
  }
  return app
      .add_option("--info", options.info_file, "describe the file, to a file when one is named")
      ->expected(0, 1);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Shows and edits xclbin files", "xclbinutil");
  Options options;
  const CLI::Option* info = add_options(app, options);
  return tandem::xclbin::run_tool(app, argc, argv,
                                  [&] { return work(options, info->count() > 0); });
}

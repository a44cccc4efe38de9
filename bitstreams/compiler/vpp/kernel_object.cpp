// SPDX-License-Identifier: Apache-2.0
//
// Writes with ld and objcopy; reads the one section with <elf.h>.
#include "bitstreams/compiler/vpp/kernel_object.h"

#include <elf.h>

#include <cstring>
#include <optional>

#include <nlohmann/json.hpp>

#include "bitstreams/compiler/compiler_process.h"
#include "bitstreams/compiler/vpp/kernel_checks.h"
#include "bitstreams/compiler/vpp/kernel_coverage.h"
#include "bitstreams/compiler/vpp/timed_copy.h"
#include "bitstreams/xclbin/whole_file.h"
#include "common/error.h"

namespace tandem::vpp {
namespace {

using nlohmann::json;

json to_json(const KernelDescription& kernel) {
  json arguments = json::array();
  for (const ArgumentDescription& argument : kernel.arguments) {
    arguments.push_back({{"name", argument.name},
                         {"bundle", argument.bundle},
                         {"type", argument.type},
                         {"local", argument.local},
                         {"hidden", argument.hidden},
                         {"pipe", argument.pipe},
                         {"writes", argument.writes}});
  }
  return {{"name", kernel.name},
          {"source", kernel.source},
          {"language", kernel.language},
          {"control", control_name(kernel.control)},
          {"arguments", std::move(arguments)},
          {"restart_counters", kernel.restart_counters},
          {"mailbox", static_cast<int>(kernel.mailbox)},
          {"software_reset", kernel.software_reset},
          {"required_group", kernel.required_group},
          {"maximum_group", kernel.maximum_group}};
}

class ObjectReader {
 public:
  ObjectReader(std::span<const std::byte> bytes, const std::string& file_name)
      : bytes_(bytes), file_name_(file_name) {}

  std::vector<KernelDescription> run() {
    check_magic();
    const auto text = section_text();
    if (!text) fail("holds no kernels; make it with v++ -c");
    const json root = json::parse(*text, nullptr, false);
    if (root.is_discarded() || !root.is_object()) fail("its section .tandem.kernel is damaged");
    try {
      return read_root(root);
    } catch (const json::exception&) {
      fail("its section .tandem.kernel is damaged");
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error("v++", "kernel object " + file_name_ + ": " + what);
  }

  void check_magic() const {
    const auto* text = reinterpret_cast<const char*>(bytes_.data());
    if (bytes_.size() >= 2 && text[0] == 'P' && text[1] == 'K') {
      fail(
          "is a zip archive, made by the vendor's tools. Only kernels that are made here can be "
          "emulated: run this v++ -c on the source, or this vivado on an RTL kernel's scripts");
    }
    if (bytes_.size() < sizeof(Elf64_Ehdr) || std::memcmp(text, ELFMAG, SELFMAG) != 0 ||
        text[EI_CLASS] != ELFCLASS64) {
      fail("is not a kernel object; make it with v++ -c");
    }
  }

  template <typename T>
  T at(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) fail("is truncated");
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  std::string_view range(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || bytes_.size() - offset < size) fail("is truncated");
    return {reinterpret_cast<const char*>(bytes_.data()) + offset, size};
  }

  Elf64_Shdr section(const Elf64_Ehdr& header, uint64_t index) const {
    return at<Elf64_Shdr>(header.e_shoff + index * sizeof(Elf64_Shdr));
  }

  std::optional<std::string_view> section_text() const {
    const auto header = at<Elf64_Ehdr>(0);
    if (header.e_shoff == 0 || header.e_shoff > bytes_.size() ||
        header.e_shentsize != sizeof(Elf64_Shdr)) {
      fail("has no section table");
    }
    // Above 65279 sections, section 0 holds the count and the names' index.
    const Elf64_Shdr zero = section(header, 0);
    const uint64_t count = header.e_shnum != 0 ? header.e_shnum : zero.sh_size;
    const uint64_t names_index = header.e_shstrndx == SHN_XINDEX ? zero.sh_link : header.e_shstrndx;
    if (count > bytes_.size() / sizeof(Elf64_Shdr) || names_index >= count) fail("is truncated");
    const Elf64_Shdr names = section(header, names_index);
    const std::string_view text = range(names.sh_offset, names.sh_size);
    for (uint64_t index = 1; index < count; ++index) {
      const Elf64_Shdr candidate = section(header, index);
      if (candidate.sh_name >= text.size()) continue;
      const std::string_view name = text.substr(candidate.sh_name);
      if (name.substr(0, name.find('\0')) != kKernelSection) continue;
      return range(candidate.sh_offset, candidate.sh_size);
    }
    return std::nullopt;
  }

  std::vector<KernelDescription> read_root(const json& root) const {
    if (root.at("version").get<int>() != kKernelObjectVersion) {
      fail("was made by another version of v++; compile it again");
    }
    std::vector<KernelDescription> kernels;
    for (const json& entry : root.at("kernels")) kernels.push_back(read_kernel(entry));
    if (kernels.empty()) fail("holds no kernels");
    return kernels;
  }

  KernelDescription read_kernel(const json& entry) const {
    KernelDescription kernel;
    entry.at("name").get_to(kernel.name);
    entry.at("source").get_to(kernel.source);
    entry.at("language").get_to(kernel.language);
    kernel.control = read_control(entry.at("control").get<std::string>());
    for (const json& item : entry.at("arguments")) {
      kernel.arguments.push_back({item.at("name").get<std::string>(),
                                  item.at("bundle").get<std::string>(),
                                  item.at("type").get<std::string>(), item.at("local").get<bool>(),
                                  item.at("hidden").get<bool>(), item.at("pipe").get<std::string>(),
                                  item.at("writes").get<bool>()});
    }
    entry.at("restart_counters").get_to(kernel.restart_counters);
    const int mailbox = entry.at("mailbox").get<int>();
    if (mailbox < 0 || mailbox > static_cast<int>(Mailbox::kBoth)) fail("has an unknown mailbox");
    kernel.mailbox = static_cast<Mailbox>(mailbox);
    entry.at("software_reset").get_to(kernel.software_reset);
    entry.at("required_group").get_to(kernel.required_group);
    entry.at("maximum_group").get_to(kernel.maximum_group);
    if (kernel.name.empty()) fail("has a kernel without a name");
    return kernel;
  }

  xclbin::Control read_control(const std::string& name) const {
    for (const auto control :
         {xclbin::Control::kHandshake, xclbin::Control::kChain, xclbin::Control::kNone}) {
      if (name == control_name(control)) return control;
    }
    fail("has the unknown control protocol '" + name + "'");
  }

  std::span<const std::byte> bytes_;
  std::string file_name_;
};

void keep_symbols(std::vector<std::string> objcopy, const std::vector<std::string>& keep,
                  const std::string& from, const std::string& to, const std::string& failure) {
  objcopy.insert(objcopy.end(), keep.begin(), keep.end());
  objcopy.insert(objcopy.end(), {from, to});
  xclbin::run_tool(objcopy, failure);
}

}  // namespace

std::vector<std::string> plain_symbols(const std::vector<std::string>& kernels) {
  std::vector<std::string> options;
  for (const std::string& name : kernels) {
    options.push_back("--keep-global-symbol=tandem_kernel_" + name);
    options.push_back("--keep-global-symbol=" + coverage_symbol(name));
  }
  return options;
}

std::string describe_kernels(const std::vector<KernelDescription>& kernels) {
  json list = json::array();
  for (const KernelDescription& kernel : kernels) list.push_back(to_json(kernel));
  return json{{"version", kKernelObjectVersion}, {"kernels", std::move(list)}}.dump();
}

std::vector<KernelDescription> read_kernel_object(std::span<const std::byte> bytes,
                                                  const std::string& file_name) {
  return ObjectReader(bytes, file_name).run();
}

void write_kernel_object(const std::vector<std::string>& objects,
                         const std::vector<KernelDescription>& kernels, const std::string& folder,
                         const std::string& output, const std::vector<std::string>& checked,
                         const std::vector<std::string>& timed) {
  const std::string text = folder + "/kernel.json";
  xclbin::write_text(text, describe_kernels(kernels));
  const std::string failure = "cannot join the objects of " + output;
  std::vector<std::string> names;
  for (const KernelDescription& kernel : kernels) names.push_back(kernel.name);
  std::string joined = folder + "/joined.o";
  xclbin::join_objects(objects, joined, failure);
  std::vector<std::string> keep = plain_symbols(names);
  if (!checked.empty() || !timed.empty()) {
    const std::string plain = folder + "/plain.o";
    keep_symbols({"objcopy"}, keep, joined, plain, failure);
    joined = folder + "/both.o";
    std::vector<std::string> copies = {"ld", "-r", "-o", joined, plain};
    if (!checked.empty()) {
      copies.push_back(join_checked(checked, names, folder));
      for (const std::string& option : checked_symbols(names)) keep.push_back(option);
    }
    if (!timed.empty()) {
      copies.push_back(join_timed(timed, names, folder));
      for (const std::string& option : timed_symbols(names)) keep.push_back(option);
    }
    xclbin::run_tool(copies, failure);
  }
  const std::string finished = folder + "/kernel.xo";
  keep_symbols({"objcopy", "--add-section", std::string(kKernelSection) + "=" + text}, keep, joined,
               finished, "cannot make " + output);
  xclbin::write_text(output, xclbin::read_text(finished));
}

}  // namespace tandem::vpp

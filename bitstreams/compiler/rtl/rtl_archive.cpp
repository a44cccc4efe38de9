// SPDX-License-Identifier: Apache-2.0
//
// Every count is compared with what is left before it is used.
#include "bitstreams/compiler/rtl/rtl_archive.h"

#include <algorithm>
#include <charconv>

#include "common/error.h"

namespace tandem::rtl {
namespace {

constexpr std::string_view kMagic = "tandem-rtl-kernel ";
constexpr std::string_view kFirstLine = "tandem-rtl-kernel 1\n";

// Files, symbols and C++ text have the kernel's name.
bool is_name(std::string_view text) {
  const auto is_letter = [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || each == '_';
  };
  return !text.empty() && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(),
                     [&](char each) { return is_letter(each) || (each >= '0' && each <= '9'); });
}

class ArchiveReader {
 public:
  ArchiveReader(std::string_view bytes, const std::string& file_name) : rest_(bytes) {
    archive_.file = file_name;
  }

  RtlArchive run() {
    if (!rest_.starts_with(kFirstLine)) fail("was made by another version; package it again");
    rest_.remove_prefix(kFirstLine.size());
    while (!rest_.empty()) read_entry();
    if (archive_.kernel.empty()) fail("names no kernel");
    if (!is_name(archive_.kernel)) {
      fail("names the kernel '" + archive_.kernel + "'; use letters, digits and '_'");
    }
    return std::move(archive_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error("v++", "kernel object " + archive_.file + ": " + what);
  }

  std::string_view take(size_t count) {
    if (count >= rest_.size()) fail("is truncated; package it again");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count + 1);
    return taken;
  }

  void read_entry() {
    const std::string_view line = take(rest_.find('\n'));
    const size_t first = line.find(' ');
    const size_t second = line.find(' ', first + 1);
    size_t count = 0;
    if (first == std::string_view::npos || second == std::string_view::npos) fail("is damaged");
    const auto [end, code] = std::from_chars(line.data() + first + 1, line.data() + second, count);
    if (code != std::errc() || end != line.data() + second) fail("is damaged");
    const std::string kind(line.substr(0, first));
    const std::string text(take(count));
    if (kind == "source") {
      archive_.sources.push_back({std::string(line.substr(second + 1)), text});
    } else if (kind == "kernel") {
      archive_.kernel = text;
    } else if (kind == "protocol") {
      archive_.protocol = text;
    } else if (kind == "component") {
      archive_.component = text;
    } else if (kind == "kernel_xml") {
      archive_.kernel_xml = text;
    } else {
      fail("has an entry of the unknown kind '" + kind + "'");
    }
  }

  std::string_view rest_;
  RtlArchive archive_;
};

}  // namespace

bool is_rtl_archive(std::string_view bytes) { return bytes.starts_with(kMagic); }

RtlArchive read_rtl_archive(std::string_view bytes, const std::string& file_name) {
  return ArchiveReader(bytes, file_name).run();
}

}  // namespace tandem::rtl

// SPDX-License-Identifier: Apache-2.0
//
// An xclbin whose sections can be added, replaced and removed.
//
// Other sections and header fields keep their bytes. Offsets, length, section count and, after a
// change, the UUID (a hash of the sections) are computed anew, so the same content gives the same
// file. Errors: Error naming file and field. Threads: one at a time. Source: the public header
// <xclbin.h>.
#pragma once

#include <xclbin.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tandem::xclbin {

struct ImageSection {
  uint32_t kind = 0;
  std::string name;
  std::vector<std::byte> bytes;
};

class XclbinImage {
 public:
  // An image without sections.
  XclbinImage();
  // Checks every table of `bytes` first.
  static XclbinImage parse(std::span<const std::byte> bytes, const std::string& file_name);

  const std::vector<ImageSection>& sections() const { return sections_; }
  const ImageSection* find(uint32_t kind) const;
  // add() throws Error if the section exists. The functions after it throw Error if the section
  // does not exist.
  void add(ImageSection section);
  void replace(ImageSection section);
  void remove(uint32_t kind);

  void set_platform(const std::string& vbnv);
  void set_mode(uint16_t mode);
  uint16_t mode() const { return top_.m_header.m_mode; }
  const axlf& top() const { return top_; }

  // The whole file, checked as parse() checks it.
  std::vector<std::byte> encode(const std::string& file_name) const;

 private:
  axlf top_{};
  std::vector<ImageSection> sections_;
  bool changed_ = false;
};

// The kind called `name` ("MEM_TOPOLOGY"); throws Error when there is none.
uint32_t section_kind(const std::string& name);
// Names of all kinds.
std::vector<std::string> section_kind_names();

}  // namespace tandem::xclbin

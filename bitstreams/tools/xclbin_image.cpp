// SPDX-License-Identifier: Apache-2.0
//
// Splits an xclbin into sections and joins sections to a file.
#include "bitstreams/tools/xclbin_image.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "bitstreams/xclbin/inspect.h"
#include "bitstreams/xclbin/xclbin_file.h"
#include "common/error.h"

namespace tandem::xclbin {
namespace {

constexpr uint32_t kNumKinds = VENDER_METADATA + 1;
constexpr size_t kTable = offsetof(axlf, m_sections);

uint64_t round_up8(uint64_t value) { return (value + 7) / 8 * 8; }

void set_content_uuid(const std::vector<ImageSection>& sections, axlf& top) {
  XXH3_state_t* state = XXH3_createState();
  XXH3_128bits_reset(state);
  for (const ImageSection& section : sections) {
    XXH3_128bits_update(state, &section.kind, sizeof(section.kind));
    XXH3_128bits_update(state, section.bytes.data(), section.bytes.size());
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  std::memcpy(top.m_header.uuid, &hash, sizeof(top.m_header.uuid));
  top.m_header.uuid[6] = static_cast<unsigned char>((top.m_header.uuid[6] & 0x0f) | 0x80);
  top.m_header.uuid[8] = static_cast<unsigned char>((top.m_header.uuid[8] & 0x3f) | 0x80);
  std::memcpy(&top.m_uniqueId, top.m_header.uuid, sizeof(top.m_uniqueId));
}

}  // namespace

XclbinImage::XclbinImage() : changed_(true) {
  std::memcpy(top_.m_magic, "xclbin2\0", 8);
  top_.m_signature_length = -1;
  std::memset(top_.reserved, 0xff, sizeof(top_.reserved));
  std::memset(top_.m_keyBlock, 0xff, sizeof(top_.m_keyBlock));
  top_.m_header.m_versionMajor = 2;
  top_.m_header.m_versionMinor = 13;
}

XclbinImage XclbinImage::parse(std::span<const std::byte> bytes, const std::string& file_name) {
  const XclbinFile file = XclbinFile::parse(bytes, file_name);
  XclbinImage image;
  image.changed_ = false;
  std::memcpy(static_cast<void*>(&image.top_), bytes.data(), kTable);
  for (const Section& section : file.sections()) {
    const auto content = bytes.subspan(section.offset, section.size_bytes);
    image.sections_.push_back({section.kind, section.name, {content.begin(), content.end()}});
  }
  return image;
}

const ImageSection* XclbinImage::find(uint32_t kind) const {
  for (const ImageSection& section : sections_) {
    if (section.kind == kind) return &section;
  }
  return nullptr;
}

void XclbinImage::add(ImageSection section) {
  if (find(section.kind) != nullptr) {
    throw Error("xclbin", "section " + section_kind_name(section.kind) +
                              " exists already; --replace-section replaces it");
  }
  sections_.push_back(std::move(section));
  changed_ = true;
}

void XclbinImage::replace(ImageSection section) {
  for (ImageSection& present : sections_) {
    if (present.kind != section.kind) continue;
    changed_ = changed_ || present.bytes != section.bytes;
    present.bytes = std::move(section.bytes);
    return;
  }
  throw Error("xclbin", "section " + section_kind_name(section.kind) +
                            " is not there, so it cannot be replaced; --add-section adds it");
}

void XclbinImage::remove(uint32_t kind) {
  const auto found =
      std::find_if(sections_.begin(), sections_.end(),
                   [&](const ImageSection& section) { return section.kind == kind; });
  if (found == sections_.end()) {
    throw Error("xclbin",
                "section " + section_kind_name(kind) + " is not there, so it cannot be removed");
  }
  sections_.erase(found);
  changed_ = true;
}

void XclbinImage::set_platform(const std::string& vbnv) {
  if (vbnv.size() >= sizeof(top_.m_header.m_platformVBNV)) {
    throw Error("xclbin", "platform name '" + vbnv + "' has more than 63 characters");
  }
  std::memset(top_.m_header.m_platformVBNV, 0, sizeof(top_.m_header.m_platformVBNV));
  std::memcpy(top_.m_header.m_platformVBNV, vbnv.c_str(), vbnv.size());
}

void XclbinImage::set_mode(uint16_t mode) { top_.m_header.m_mode = mode; }

std::vector<std::byte> XclbinImage::encode(const std::string& file_name) const {
  if (sections_.empty()) {
    throw Error("xclbin",
                file_name + ": the file would have no section, and an xclbin needs one; add one");
  }
  std::vector<axlf_section_header> headers;
  uint64_t end = round_up8(kTable + sections_.size() * sizeof(axlf_section_header));
  for (const ImageSection& section : sections_) {
    axlf_section_header header{};
    header.m_sectionKind = section.kind;
    std::memcpy(header.m_sectionName, section.name.c_str(),
                std::min(section.name.size(), sizeof(header.m_sectionName) - 1));
    header.m_sectionOffset = end;
    header.m_sectionSize = section.bytes.size();
    headers.push_back(header);
    end = round_up8(end + section.bytes.size());
  }
  axlf top = top_;
  top.m_header.m_length = end;
  top.m_header.m_numSections = static_cast<uint32_t>(sections_.size());
  if (changed_) set_content_uuid(sections_, top);
  std::vector<std::byte> file(end);
  std::memcpy(file.data(), &top, kTable);
  std::memcpy(file.data() + kTable, headers.data(), headers.size() * sizeof(axlf_section_header));
  for (size_t index = 0; index < sections_.size(); ++index) {
    std::copy(sections_[index].bytes.begin(), sections_[index].bytes.end(),
              file.begin() + static_cast<ptrdiff_t>(headers[index].m_sectionOffset));
  }
  XclbinFile::parse(file, file_name);
  return file;
}

std::vector<std::string> section_kind_names() {
  std::vector<std::string> names;
  for (uint32_t kind = 0; kind < kNumKinds; ++kind) names.push_back(section_kind_name(kind));
  return names;
}

uint32_t section_kind(const std::string& name) {
  for (uint32_t kind = 0; kind < kNumKinds; ++kind) {
    if (section_kind_name(kind) == name) return kind;
  }
  throw Error("xclbin", "'" + name + "' is not a section; --list-sections lists them");
}

}  // namespace tandem::xclbin

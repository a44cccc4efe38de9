// SPDX-License-Identifier: Apache-2.0
//
// Both ends are checked before a stream is made. A stream has an owner from the moment it exists.
#include "emulation/card/program/link_table.h"

#include <stdexcept>
#include <string>

namespace tandem::emulation {
namespace {

using tandem_glue::ArgumentEntry;

std::string unit_text(const UnitRequest& unit) {
  return "unit " + unit.name + " of kernel " + unit.kernel;
}

const ArgumentEntry& argument_at(const LoadRequest& request, const KernelLibrary& library,
                                 const LinkEnd& end, const std::string& link) {
  const tandem_glue::KernelEntry& entry = library.entry();
  if (end.argument >= entry.num_arguments ||
      entry.arguments[end.argument].kind != tandem_glue::kStream) {
    throw std::runtime_error("link " + link + ": argument " + std::to_string(end.argument) +
                             " of " + unit_text(request.units[end.unit]) + " is not a stream");
  }
  return entry.arguments[end.argument];
}

void check_ends(const LinkRequest& link, const ArgumentEntry& writer, const ArgumentEntry& reader) {
  if (writer.element_bytes != reader.element_bytes) {
    throw std::runtime_error("link " + link.name + " joins a " + std::string(writer.type) +
                             " with elements of " + std::to_string(writer.element_bytes) +
                             " bytes to a " + std::string(reader.type) + " with elements of " +
                             std::to_string(reader.element_bytes) +
                             ": both kernels have to name the same type");
  }
  if (writer.make_stream == nullptr || writer.drop_stream == nullptr ||
      (writer.channel == nullptr) != (reader.channel == nullptr)) {
    throw std::runtime_error("link " + link.name + " joins a " + std::string(writer.type) +
                             " to a " + std::string(reader.type) +
                             ", which work in different ways: compile both kernels from the same "
                             "language and with the same HLS headers");
  }
}

}  // namespace

LinkTable::LinkTable(const LoadRequest& request,
                     const std::vector<std::unique_ptr<KernelLibrary>>& libraries) {
  for (const auto& library : libraries) {
    streams_.emplace_back(library->entry().num_arguments, nullptr);
  }
  for (const LinkRequest& link : request.links) {
    const ArgumentEntry& writer =
        argument_at(request, *libraries[link.writer.unit], link.writer, link.name);
    const ArgumentEntry& reader =
        argument_at(request, *libraries[link.reader.unit], link.reader, link.name);
    check_ends(link, writer, reader);
    void*& from = streams_[link.writer.unit][link.writer.argument];
    void*& to = streams_[link.reader.unit][link.reader.argument];
    if (from != nullptr || to != nullptr) {
      throw std::runtime_error("link " + link.name + ": " +
                               unit_text(request.units[(from ? link.writer : link.reader).unit]) +
                               " has a link at that argument already");
    }
    void* const stream = writer.make_stream(link.name.c_str(), link.depth);
    auto* const channel = writer.channel == nullptr
                              ? nullptr
                              : static_cast<tandem_hls::Channel*>(writer.channel(stream));
    links_.push_back({{stream, writer.drop_stream}, channel, {link.reader, link.writer}});
    from = to = stream;
  }
  for (size_t unit = 0; unit < streams_.size(); ++unit) {
    const tandem_glue::KernelEntry& entry = libraries[unit]->entry();
    for (uint32_t argument = 0; argument < entry.num_arguments; ++argument) {
      if (entry.arguments[argument].kind != tandem_glue::kStream) continue;
      if (streams_[unit][argument] != nullptr) continue;
      throw std::runtime_error("stream argument " + std::to_string(argument) + " (" +
                               entry.arguments[argument].type + ") of " +
                               unit_text(request.units[unit]) +
                               " is connected to nothing; link it with stream_connect= (sc=) in "
                               "the [connectivity] section of v++'s configuration");
    }
  }
}

void LinkTable::bind(const std::vector<void*>& schedulers) {
  for (Link& link : links_) {
    if (link.channel == nullptr) continue;
    for (int side = 0; side < 2; ++side) {
      link.channel->unit[side] = schedulers[link.ends[side].unit];
    }
    link.channel->attention.store(1);
  }
}

std::vector<LinkTable::Level> LinkTable::levels() const {
  std::vector<Level> levels;
  for (const Link& link : links_) {
    if (link.channel == nullptr) continue;
    levels.push_back({link.channel->name, link.ends[tandem_hls::kWriter].unit,
                      link.ends[tandem_hls::kReader].unit, link.channel->held(),
                      link.channel->depth, link.channel->read.load()});
  }
  return levels;
}

}  // namespace tandem::emulation

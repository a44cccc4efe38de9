// SPDX-License-Identifier: Apache-2.0
//
// CompositeAttention: tickets, images and the loss of a part.
#include "parallel/composite_attention.h"

#include <algorithm>
#include <string>

#include "common/error.h"

namespace tandem::device::parallel {

CompositeAttention::CompositeAttention(const AttentionGeometry& geometry,
                                       std::vector<AttentionPart> parts,
                                       std::shared_ptr<AddressBook> book)
    : geometry_(geometry), parts_(std::move(parts)), book_(std::move(book)) {
  check_geometry(geometry);
  if (parts_.empty()) throw Error("parallel", "an attention unit needs at least one part");
  for (const AttentionPart& part : parts_) {
    const AttentionGeometry wanted = slice_geometry(geometry, part.slice);
    const AttentionGeometry& has = part.unit->geometry();
    if (has.num_layers != wanted.num_layers || has.kv_heads != wanted.kv_heads ||
        has.q_heads != wanted.q_heads || has.head_dim != wanted.head_dim ||
        has.page_tokens != wanted.page_tokens || has.kv_dtype != wanted.kv_dtype) {
      throw Error("parallel", "a part's geometry is not its share of the whole");
    }
    const std::uint32_t pages = part.unit->capacity().num_pages;
    num_pages_ = &part == &parts_.front() ? pages : std::min(num_pages_, pages);
  }
}

AttentionCapacity CompositeAttention::capacity() const {
  AttentionCapacity sum;
  sum.num_pages = num_pages_;
  double read_seconds = 0, link_seconds = 0;
  for (const AttentionPart& part : parts_) {
    const AttentionCapacity one = part.unit->capacity();
    const auto bytes = static_cast<double>(one.page_bytes);
    sum.page_bytes += one.page_bytes;
    sum.link_latency_us = std::max(sum.link_latency_us, one.link_latency_us);
    // Parts with a slice of the layers are read one after another, those with heads at once.
    const bool together = part.slice.num_layers == geometry_.num_layers;
    const auto add = [&](double& seconds, double bandwidth) {
      if (bandwidth <= 0) return;
      seconds = together ? std::max(seconds, bytes / bandwidth) : seconds + bytes / bandwidth;
    };
    add(read_seconds, one.read_bandwidth_bytes_per_s);
    add(link_seconds, one.link_bandwidth_bytes_per_s);
  }
  const auto all = static_cast<double>(sum.page_bytes);
  if (read_seconds > 0) sum.read_bandwidth_bytes_per_s = all / read_seconds;
  if (link_seconds > 0) sum.link_bandwidth_bytes_per_s = all / link_seconds;
  return sum;
}

void CompositeAttention::check(const AttentionBatch& batch, const AttentionPartial& out) const {
  check_batch(geometry_, num_pages_, batch, out);
}

Ticket CompositeAttention::launch(Flight flight) {
  flight.ticket = ++last_ticket_;
  ++launches_;
  flights_.push_back(std::move(flight));
  return last_ticket_;
}

void CompositeAttention::abandon(Flight flight) {
  flight.abandoned = true;
  launch(std::move(flight));
}

WaitResult CompositeAttention::wait_for_part(Flight& flight, Deadline deadline) try {
  const auto [index, ticket] = flight.parts.front();
  return part(index).wait(ticket, deadline);
} catch (const DeviceError&) {
  throw;
} catch (const Error&) {
  flight.refused = std::current_exception();
  return WaitResult::kDone;
}

WaitResult CompositeAttention::finish(Flight& flight, Deadline deadline) {
  while (!flight.parts.empty()) {
    const WaitResult result = wait_for_part(flight, deadline);
    if (result == WaitResult::kTimeout) return result;
    lost_ |= result == WaitResult::kLost;
    flight.parts.erase(flight.parts.begin());
  }
  if (lost_) return WaitResult::kLost;
  if (!flight.abandoned && !refused_) refused_ = flight.refused;
  if (flight.on_finished) flight.on_finished(!flight.abandoned && !flight.refused);
  return WaitResult::kDone;
}

WaitResult CompositeAttention::wait(Ticket ticket, Deadline deadline) {
  if (ticket == 0 || ticket > last_ticket_) {
    throw Error("parallel",
                "ticket " + std::to_string(ticket) + " is unknown: no call has returned it");
  }
  if (ticket <= last_done_) return WaitResult::kDone;
  while (!flights_.empty() && flights_.front().ticket <= ticket) {
    const WaitResult result = finish(flights_.front(), deadline);
    if (result == WaitResult::kTimeout) return result;
    if (result == WaitResult::kDone) last_done_ = flights_.front().ticket;
    flights_.pop_front();
  }
  if (refused_) std::rethrow_exception(std::exchange(refused_, nullptr));
  return ticket <= last_done_ ? WaitResult::kDone : WaitResult::kLost;
}

WaitResult CompositeAttention::export_page(PageId page, std::span<std::byte> to,
                                           Deadline deadline) {
  if (to.size() != page_image_bytes(geometry_)) {
    throw Error("parallel", "a page is " + std::to_string(page_image_bytes(geometry_)) + " bytes");
  }
  std::vector<std::byte> image;
  for (AttentionPart& part : parts_) {
    if (lost_) return WaitResult::kLost;
    image.resize(page_image_bytes(part.unit->geometry()));
    const WaitResult result = part.unit->export_page(page, image, deadline);
    lost_ |= result == WaitResult::kLost;
    if (result != WaitResult::kDone) return result;
    put_slice(geometry_, part.slice, image, to);
  }
  return WaitResult::kDone;
}

WaitResult CompositeAttention::import_page(PageId page, std::span<const std::byte> from,
                                           Deadline deadline) {
  if (from.size() != page_image_bytes(geometry_)) {
    throw Error("parallel", "a page is " + std::to_string(page_image_bytes(geometry_)) + " bytes");
  }
  std::vector<std::byte> image;
  for (AttentionPart& part : parts_) {
    if (lost_) return WaitResult::kLost;
    image.resize(page_image_bytes(part.unit->geometry()));
    take_slice(geometry_, part.slice, from, image);
    const WaitResult result = part.unit->import_page(page, image, deadline);
    lost_ |= result == WaitResult::kLost;
    if (result != WaitResult::kDone) return result;
  }
  return WaitResult::kDone;
}

AttentionStats CompositeAttention::stats() const {
  AttentionStats sum;
  sum.launches = launches_;
  for (const AttentionPart& part : parts_) {
    const AttentionStats one = part.unit->stats();
    sum.bytes_to_unit += one.bytes_to_unit;
    sum.bytes_from_unit += one.bytes_from_unit;
    sum.kv_bytes_read += one.kv_bytes_read;
    const bool together = part.slice.num_layers == geometry_.num_layers;
    sum.busy_seconds = together ? std::max(sum.busy_seconds, one.busy_seconds)
                                : sum.busy_seconds + one.busy_seconds;
  }
  return sum;
}

}  // namespace tandem::device::parallel

// SPDX-License-Identifier: Apache-2.0
//
// Messages over a mesh. The receiver need not know their size, and no call here waits.
//
// A message is a first frame (magic, length, up to 32 KiB of the payload) and pieces of 4 MiB. The
// buffer of the frame is posted before the size is known; the pieces are posted when the frame has
// arrived. A tag is a gloo slot; gloo keeps the order within a slot. Ownership: a message keeps its
// memory and must outlive the mesh's access: it is destroyed after done() or Mesh::close() only.
// Threads: the rank's. Errors: gloo's exceptions for a closed connection; kGarbage for data that is
// not a first frame.
#pragma once

#include <cstdint>
#include <memory>

#include "transport/gloo/mesh.h"
#include "transport/payload.h"
#include "transport/transport.h"

namespace tandem::transport::gloo {

class OutgoingMessage {
 public:
  explicit OutgoingMessage(Outgoing outgoing) : outgoing_(std::move(outgoing)) {}
  void start(Mesh& mesh);
  bool done();  // whether the network has all of it
  int peer() const { return outgoing_.peer; }

 private:
  Outgoing outgoing_;
  ByteBuffer first_;
  std::unique_ptr<Region> first_region_, rest_region_;
  int num_pieces_ = 0;
};

class IncomingMessage {
 public:
  explicit IncomingMessage(Source source) : source_(source) {}
  void start(Mesh& mesh);
  // Checks what has arrived. Requests the rest when the first frame is there.
  void progress(Mesh& mesh);
  bool done() const { return done_; }
  int peer() const { return source_.peer; }
  Payload take() { return Payload(std::move(body_)); }

 private:
  void open(Mesh& mesh);

  Source source_;
  ByteBuffer first_, body_;
  std::unique_ptr<Region> first_region_, rest_region_;
  int num_pieces_ = 0;
  bool opened_ = false;
  bool done_ = false;
};

}  // namespace tandem::transport::gloo

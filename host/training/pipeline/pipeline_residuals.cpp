// SPDX-License-Identifier: Apache-2.0
//
// Residuals of a pipeline's replicas in checkpoints (declared in pipeline_trainer.h).
//
// Replica 0 writes checkpoints, so the others send it the residuals of their layers. The file
// residuals-R.bin of its rank R has the residuals of that rank's layers, in all replicas, as
// records: replica, layer, number of bytes, bytes. A rank that resumes reads all files and keeps
// what is its replica's and its layers'.
#include <cstring>
#include <string>
#include <utility>

#include "collectives/group_state.h"
#include "common/error.h"
#include "training/pipeline/pipeline_profile.h"

namespace tandem::training {
namespace {

using transport::ByteBuffer;

constexpr std::size_t kNumbersOfRecord = 3;  // in front of its bytes

std::string residual_file(int rank) { return "residuals-" + std::to_string(rank) + ".bin"; }

void append_record(ByteBuffer& to, int replica, int layer, const ByteBuffer& bytes) {
  transport::append_value(to, static_cast<std::uint64_t>(replica));
  transport::append_value(to, static_cast<std::uint64_t>(layer));
  transport::append_value(to, static_cast<std::uint64_t>(bytes.size()));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

// take(replica, layer, bytes)
template <typename Take>
void for_each_record(const std::string& path, std::span<const std::byte> bytes, const Take& take) {
  std::uint64_t numbers[kNumbersOfRecord] = {};
  while (!bytes.empty()) {
    bool is_whole = bytes.size() >= sizeof(numbers);
    if (is_whole) {
      std::memcpy(numbers, bytes.data(), sizeof(numbers));
      bytes = bytes.subspan(sizeof(numbers));
      is_whole = bytes.size() >= numbers[2];
    }
    if (!is_whole) throw Error("train", "'" + path + "' ends within a residual");
    take(numbers[0], numbers[1], bytes.first(numbers[2]));
    bytes = bytes.subspan(numbers[2]);
  }
}

}  // namespace

bool PipelineTrainer::has_residuals() const {
  return peers_ && options_.reduce.choice.sparsifier != "dense";
}

nlohmann::ordered_json PipelineTrainer::residual_fields() const {
  return {{"replicas", pipeline_.replicas},
          {"dense_below", options_.reduce.dense_below},
          {"files", world()}};
}

// Those of this rank's layers; in replica 0 with those of the other replicas.
ByteBuffer PipelineTrainer::gather_residuals() {
  ByteBuffer own;
  if (!has_residuals()) return own;
  for (const auto& [number, layer] : layers_) {
    append_record(own, replica_, number, layer->residuals());
  }
  collectives::Group::State& state = peers_->state();
  const auto timeout = options_.reduce.timeout;
  const std::uint64_t ticket = state.take_ticket();
  state.run("residuals", ticket, Deadline::after(timeout), [&](collectives::Call&) {
    const auto tag = (static_cast<std::uint32_t>(ticket) & 0xfffu) << 12;
    transport::Transport& peers = state.transport();
    if (replica_ > 0) {
      return peers.send(0, tag, transport::Payload(std::move(own)), Deadline::after(timeout));
    }
    for (int peer = 1; peer < peers.world(); ++peer) {
      const auto message = peers.receive(peer, tag, Deadline::after(timeout));
      own.insert(own.end(), message.bytes().begin(), message.bytes().end());
    }
  });
  return own;
}

void PipelineTrainer::write_residuals(const std::string& folder, const ByteBuffer& residuals) {
  if (has_residuals()) write_bytes(folder + "/" + residual_file(rank()), residuals);
}

// Residuals of other replicas, or of another sparsifier, are not these: then there are none yet.
void PipelineTrainer::restore_residuals(const Checkpoint& checkpoint) {
  const nlohmann::json saved = checkpoint.fields.value("residuals", nlohmann::json::object());
  const nlohmann::json reduce = checkpoint.fields.value("reduce", nlohmann::json::object());
  if (!has_residuals() || saved.value("replicas", 0) != pipeline_.replicas ||
      saved.value("dense_below", std::uint64_t{0}) != options_.reduce.dense_below ||
      reduce.value("choice", "") != to_string(options_.reduce.choice)) {
    return;
  }
  const int files = saved.value("files", 0);
  for (int rank = 0; rank < files; ++rank) {
    const std::string path = checkpoint.file(residual_file(rank));
    const std::vector<std::byte> bytes = read_bytes(path);
    for_each_record(path, bytes, [&](std::uint64_t replica, std::uint64_t layer, auto residual) {
      const auto own = layers_.find(static_cast<int>(layer));
      if (replica != static_cast<std::uint64_t>(replica_) || own == layers_.end()) return;
      own->second->restore_residuals(residual);
    });
  }
}

}  // namespace tandem::training

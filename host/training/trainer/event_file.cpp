// SPDX-License-Identifier: Apache-2.0
//
// TensorBoard's event files (declared in training_log.h).
//
// A record is u64 length, masked CRC-32C of the length, data, masked CRC-32C of the data; the data
// is an Event in protobuf's wire format. The first one names the version.
// Source: tensorflow/core/lib/io/record_writer.h; tensorflow/core/util/event.proto.
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>

#include "common/error.h"
#include "training/trainer/training_log.h"

namespace tandem::training {
namespace {

std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    table[byte] = crc;
  }
  return table;
}

std::uint32_t masked_crc32c(const std::string& bytes) {
  static const auto table = crc_table();
  std::uint32_t crc = ~0u;
  for (const char c : bytes) crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return std::rotr(~crc, 15) + 0xa282ead8u;
}

template <typename Number>
std::string little_endian(Number number) {
  std::string bytes(sizeof(number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(number));
  return bytes;
}

// Protobuf's wire types.
std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  return bytes + static_cast<char>(number);
}
std::string key(int field, int wire) {
  return varint(static_cast<std::uint64_t>(field << 3 | wire));
}
std::string text_field(int field, const std::string& text) {
  return key(field, 2) + varint(text.size()) + text;
}

constexpr int kVarint = 0, kFixed64 = 1, kFixed32 = 5;

std::string event(std::uint64_t step, const std::string& content) {
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::string at = step == 0 ? "" : key(2, kVarint) + varint(step);
  return key(1, kFixed64) + little_endian(now) + at + content;
}

class EventLog final : public TrainingLog {
 public:
  explicit EventLog(const std::string& folder) {
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(
        std::chrono::system_clock::now().time_since_epoch());
    path_ = folder + "/events.out.tfevents." + std::to_string(now.count()) + ".tandem." +
            std::to_string(getpid());
    out_.open(path_, std::ios::binary | std::ios::trunc);
    write(event(0, text_field(3, "brain.Event:2")));
  }
  void step(const StepFigures& f) override {
    std::string values;
    const auto add = [&](const char* tag, double value) {
      values += text_field(
          1, text_field(1, tag) + key(2, kFixed32) + little_endian(static_cast<float>(value)));
    };
    add("loss", f.loss);
    add("gradient_norm", f.gradient_norm);
    add("rate", f.rate);
    add("tokens_per_s", f.tokens_per_second());
    add("density_sent", f.density_sent);
    add("build_up", f.build_up);
    add("bytes_sent", static_cast<double>(f.bytes_sent));
    write(event(f.step, text_field(5, values)));
  }
  void evaluation(const EvaluationFigures& f) override {
    const std::string value = text_field(1, "mean_nll") + key(2, kFixed32) +
                              little_endian(static_cast<float>(f.mean_nll));
    write(event(f.step, text_field(5, text_field(1, value))));
  }

 private:
  void write(const std::string& data) {
    const std::string length = little_endian(static_cast<std::uint64_t>(data.size()));
    out_ << length << little_endian(masked_crc32c(length)) << data
         << little_endian(masked_crc32c(data)) << std::flush;
    if (!out_) throw Error("train", "cannot write '" + path_ + "': " + std::strerror(errno));
  }

  std::string path_;
  std::ofstream out_;
};

}  // namespace

std::unique_ptr<TrainingLog> make_event_log(const std::string& folder) {
  return std::make_unique<EventLog>(folder);
}

}  // namespace tandem::training

// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: bytes -> traffic, by every reader of text. Whatever comes is refused with an Error,
// or becomes a matrix whose sums are those of its cells.
#include <cstdio>
#include <cstdlib>

#include "common/error.h"
#include "support/fuzz_main.h"
#include "trace/communication/import.h"
#include "trace/communication/record_file.h"

namespace {

using tandem::Error;
using tandem::trace::CommunicationMatrix;
using tandem::trace::Traffic;

constexpr int kMostParties = 64;  // of a checked matrix: a larger one costs more than it finds

void check(const Traffic& traffic) {
  if (traffic.size() > kMostParties) return;
  const CommunicationMatrix matrix = traffic.matrix();
  std::uint64_t of_matrix = 0, of_cells = 0;
  for (int from = 0; from < matrix.world(); ++from) {
    for (int to = 0; to < matrix.world(); ++to) of_matrix += matrix.bytes(from, to);
  }
  for (const auto& [key, volume] : traffic.cells()) of_cells += volume.bytes;
  if (of_matrix == of_cells) return;
  std::fprintf(stderr, "fuzz: the matrix lost bytes\n");
  std::abort();
}

template <typename Reader>
void read(Reader reader) {
  try {
    check(reader());
  } catch (const Error&) {  // refused
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  read([&] { return tandem::trace::import_inspector({{"a", text}}, {}); });
  read([&] { return tandem::trace::import_nvprof({"a", text}, {{}, 0.001}); });
  read([&] { return tandem::trace::import_events({{"a", text}}, {{}, 0.5, true}); });
  for (const auto reader : {tandem::trace::read_record, tandem::trace::read_transport_counts}) {
    read([&] {
      Traffic traffic;
      reader(text, "a", traffic);
      return traffic;
    });
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// Texts of errors, without the prefixes that each quotation would add again.
#include "transport/transport_error.h"

#include <cstdlib>

namespace tandem::transport {

std::string plain_text(const std::exception& error) {
  const std::string text = error.what();
  for (const std::string prefix : {"[collectives] ", "[transport] ", "[sparse] "}) {
    if (text.starts_with(prefix)) return text.substr(prefix.size());
  }
  return text;
}

TransportError first_cause(const TransportError& error) {
  if (error.kind() != TransportError::Kind::kAborted) return error;
  const std::string text = error.what();
  const auto verb = text.rfind(" aborted: ");
  if (verb == std::string::npos) return error;
  const auto rank = text.rfind("rank ", verb);
  if (rank == std::string::npos) return error;
  char* end = nullptr;
  const long number = std::strtol(text.c_str() + rank + 5, &end, 10);
  if (end != text.c_str() + verb) return error;
  return {error.kind(), static_cast<int>(number), text.substr(rank)};
}

}  // namespace tandem::transport

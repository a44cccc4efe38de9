// SPDX-License-Identifier: Apache-2.0
//
// The text is in a fixed array per thread.
#include "training/c_api/last_error.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "training/reducer/calls.h"
#include "transport/transport_error.h"

namespace {

// A fixed size, because it must hold a text even if memory is short.
thread_local char last_error[4096];

tandem_status keep(const char* text, tandem_status status) noexcept {
  std::strncpy(last_error, text, sizeof(last_error) - 1);
  return status;
}

}  // namespace

namespace tandem::training {

tandem_status guarded(FunctionRef<void()> body) noexcept {
  try {
    body();
    return TANDEM_OK;
  } catch (const NonFiniteError& error) {
    return keep(error.what(), TANDEM_NON_FINITE);
  } catch (const transport::TransportError& error) {
    return keep(error.what(), TANDEM_TRANSPORT_ERROR);
  } catch (const Error& error) {
    return keep(error.what(), TANDEM_ERROR);
  } catch (const std::bad_alloc&) {
    return keep("[training] there is not enough memory", TANDEM_NO_MEMORY);
  } catch (const std::exception& error) {
    return keep(error.what(), TANDEM_INTERNAL);
  } catch (...) {
    return keep("[training] an exception of unknown type", TANDEM_INTERNAL);
  }
}

void require_pointer(const void* pointer, const char* what) {
  if (pointer == nullptr) throw Error("training", std::string(what) + " is a null pointer");
}

char* handed_out(const void* bytes, std::size_t size) {
  auto* copy = static_cast<char*>(std::malloc(size + 1));
  if (copy == nullptr) throw std::bad_alloc();
  if (size > 0) std::memcpy(copy, bytes, size);
  copy[size] = '\0';
  return copy;
}

}  // namespace tandem::training

int tandem_training_abi(void) { return TANDEM_TRAINING_ABI; }
const char* tandem_last_error(void) { return last_error; }
void tandem_free(void* memory) { std::free(memory); }

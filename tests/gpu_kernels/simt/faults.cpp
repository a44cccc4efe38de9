// SPDX-License-Identifier: Apache-2.0
//
// The counters behind set_faults(), and the errors' names.
#include "gpu_kernels/simt/faults.h"

namespace tandem::simt {
namespace {

struct State {
  Faults faults;
  int allocations = 0, work = 0, graphs = 0;
  bool lost = false;
  cudaError_t last = cudaSuccess;
};

State& state() {
  static State the_state;
  return the_state;
}

cudaError_t count(Call call) {
  State& s = state();
  if (s.lost) return cudaErrorLaunchFailure;
  if (call == Call::kAllocate) {
    const int number = ++s.allocations;
    if (number == s.faults.out_of_memory_at) return cudaErrorMemoryAllocation;
    if (s.faults.out_of_memory_from > 0 && number >= s.faults.out_of_memory_from) {
      return cudaErrorMemoryAllocation;
    }
  }
  if (call == Call::kCapture && s.faults.no_graphs) return cudaErrorStreamCaptureUnsupported;
  if (call == Call::kInstantiate) ++s.graphs;
  if (call == Call::kWork) {
    ++s.work;
    if (s.work == s.faults.refuse_at_work) return cudaErrorInvalidConfiguration;
    // As on a GPU, the call succeeds and what comes after it tells.
    if (s.work == s.faults.lose_at_work) s.lost = true;
  }
  return cudaSuccess;
}

}  // namespace

void set_faults(const Faults& faults) {
  if (lost()) empty_device_memory();
  state() = State{.faults = faults};
}
int allocations() { return state().allocations; }
int pieces_of_work() { return state().work; }
int graphs_made() { return state().graphs; }
bool is_interpreted() { return true; }
bool lost() { return state().lost; }
const Faults& faults() { return state().faults; }

cudaError_t enter(Call call) { return leave(count(call)); }

cudaError_t leave(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) state().last = error;
  return error;
}

cudaError_t take_last_error() {
  const cudaError_t last = state().lost ? cudaErrorLaunchFailure : state().last;
  state().last = cudaSuccess;
  return last;
}

}  // namespace tandem::simt

extern "C" {

cudaError_t cudaGetLastError() { return tandem::simt::take_last_error(); }

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    default:
      return "cudaErrorOfTheInterpreter";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    default:
      return "an error of the interpreter";
  }
}

}  // extern "C"

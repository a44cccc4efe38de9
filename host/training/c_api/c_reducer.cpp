// SPDX-License-Identifier: Apache-2.0
//
// Each function checks its pointers and calls the reducer; exceptions end here.
#include <cstring>
#include <span>

#include "device/gradient_memory.h"
#include "device/registry.h"
#include "training/c_api/handles.h"
#include "training/c_api/last_error.h"
#include "training/c_api/options_json.h"

namespace tandem::training {
namespace {

DType dtype_of(int type) {
  switch (type) {
    case TANDEM_F32:
      return DType::kF32;
    case TANDEM_F16:
      return DType::kF16;
    case TANDEM_BF16:
      return DType::kBF16;
    case TANDEM_F64:
      return DType::kF64;
  }
  return DType::kI8;  // the call refuses it, on all ranks
}

Reducer& reducer_of(tandem_reducer* handle) {
  require_pointer(handle, "reducer");
  return *handle->reducer;
}

}  // namespace
}  // namespace tandem::training

using namespace tandem;  // the functions below are C's
using training::guarded;
using training::reducer_of;
using training::require_pointer;

tandem_status tandem_reducer_create(tandem_group* group, const char* options,
                                    tandem_reducer** reducer) {
  return guarded([&] {
    require_pointer(group, "group");
    require_pointer(options, "options");
    require_pointer(reducer, "reducer");
    *reducer = nullptr;
    training::NamedReducerOptions named = training::reducer_options(options);
    auto handle = std::make_unique<tandem_reducer>();
    if (!named.timeline.empty()) {
      // Every rank of a host has its own file.
      if (group->group.world() > 1) named.timeline += "." + std::to_string(group->group.rank());
      handle->timeline = std::make_unique<trace::Timeline>(named.timeline);
      named.options.timeline = handle->timeline.get();
    }
    named.options.metrics = &handle->metrics;
    named.options.open_device = device::open_gradient_device;
    handle->reducer = std::make_unique<training::Reducer>(group->group, named.options);
    *reducer = handle.release();
  });
}

tandem_status tandem_reducer_check_options(const char* options) {
  return guarded([&] {
    require_pointer(options, "options");
    training::reducer_options(options);
  });
}

void tandem_reducer_destroy(tandem_reducer* reducer) { delete reducer; }

tandem_status tandem_reducer_add_parameter(tandem_reducer* reducer, const char* name,
                                           const int64_t* shape, int num_dimensions,
                                           uint32_t* parameter) {
  return guarded([&] {
    require_pointer(name, "name");
    require_pointer(parameter, "parameter");
    if (num_dimensions < 0) throw Error("training", "num_dimensions is negative");
    if (num_dimensions > 0) require_pointer(shape, "shape");
    *parameter =
        reducer_of(reducer).add_parameter(name, std::vector(shape, shape + num_dimensions));
  });
}

tandem_status tandem_reducer_submit(tandem_reducer* reducer, const uint32_t* parameters,
                                    size_t num_parameters, void* values, int type, int exact,
                                    int last, uint64_t* ticket) {
  const tandem_bucket bucket{parameters, num_parameters, values,  type,
                             exact,      last,           nullptr, nullptr};
  return tandem_reducer_submit_bucket(reducer, &bucket, ticket);
}

tandem_status tandem_reducer_submit_bucket(tandem_reducer* reducer, const tandem_bucket* bucket,
                                           uint64_t* ticket) {
  return guarded([&] {
    require_pointer(ticket, "ticket");
    require_pointer(bucket, "bucket");
    if (bucket->num_parameters > 0) require_pointer(bucket->parameters, "parameters");
    Placement placement;
    if (bucket->device != nullptr) placement = {Memory::kDevice, bucket->device, bucket->queue};
    *ticket =
        reducer_of(reducer).submit({.parameters = {bucket->parameters, bucket->num_parameters},
                                    .values = bucket->values,
                                    .type = training::dtype_of(bucket->type),
                                    .exact = bucket->exact != 0,
                                    .flush = bucket->exact == 2,
                                    .last = bucket->last != 0,
                                    .placement = placement});
  });
}

tandem_status tandem_training_device(const char* device) {
  return guarded([&] {
    require_pointer(device, "device");
    device::open_gradient_device(device)->make_gradient_memory();
  });
}

tandem_status tandem_reducer_end_step(tandem_reducer* reducer) {
  return guarded([&] { reducer_of(reducer).end_step(); });
}

tandem_status tandem_reducer_submit_rows(tandem_reducer* reducer, uint32_t parameter,
                                         const int64_t* rows, size_t num_rows, const void* values,
                                         int type, int last, uint64_t* ticket) {
  return guarded([&] {
    require_pointer(ticket, "ticket");
    *ticket = reducer_of(reducer).submit_rows({.parameter = parameter,
                                               .rows = {rows, num_rows},
                                               .values = values,
                                               .type = training::dtype_of(type),
                                               .last = last != 0});
  });
}

tandem_status tandem_reducer_wait(tandem_reducer* reducer, uint64_t ticket) {
  return guarded([&] { reducer_of(reducer).wait(ticket, Deadline::never()); });
}

tandem_status tandem_reducer_take_rows(tandem_reducer* reducer, uint64_t ticket,
                                       tandem_rows** rows) {
  return guarded([&] {
    require_pointer(rows, "rows");
    *rows = nullptr;
    *rows = new tandem_rows{reducer_of(reducer).take_rows(ticket)};
  });
}

size_t tandem_rows_count(const tandem_rows* rows) {
  return rows == nullptr ? 0 : rows->tensor.num_entries;
}

tandem_status tandem_rows_copy(const tandem_rows* rows, int64_t* indices, void* values) {
  return guarded([&] {
    require_pointer(rows, "rows");
    if (rows->tensor.num_entries == 0) return;
    require_pointer(indices, "indices");
    require_pointer(values, "values");
    const auto from = rows->tensor.indices_as<std::uint32_t>();
    std::copy(from.begin(), from.end(), indices);
    std::memcpy(values, rows->tensor.values.data(), rows->tensor.values.size());
  });
}

void tandem_rows_destroy(tandem_rows* rows) { delete rows; }

tandem_status tandem_reducer_state(tandem_reducer* reducer, void** bytes, size_t* size) {
  return guarded([&] {
    require_pointer(bytes, "bytes");
    require_pointer(size, "size");
    const auto state = reducer_of(reducer).state();
    *bytes = training::handed_out(state.data(), state.size());
    *size = state.size();
  });
}

tandem_status tandem_reducer_restore(tandem_reducer* reducer, const void* bytes, size_t size) {
  return guarded([&] {
    if (size > 0) require_pointer(bytes, "bytes");
    reducer_of(reducer).restore({static_cast<const std::byte*>(bytes), size});
  });
}

tandem_status tandem_reducer_statistics(tandem_reducer* reducer, char** json) {
  return guarded([&] {
    require_pointer(json, "json");
    const std::string text = to_json(reducer_of(reducer).statistics());
    *json = training::handed_out(text.data(), text.size());
  });
}

tandem_status tandem_reducer_metrics(tandem_reducer* reducer, char** text) {
  return guarded([&] {
    require_pointer(reducer, "reducer");
    require_pointer(text, "text");
    const std::string metrics = reducer->metrics.text();
    *text = training::handed_out(metrics.data(), metrics.size());
  });
}

// SPDX-License-Identifier: Apache-2.0
//
// Work-item functions, synchronisation and copies of a group.
//
// They act on the group that work_group.cpp runs (tandem_cl_*). The first work-item makes a group's
// copy at once, so the returned event is the one that was passed in. Source: OpenCL C 2.0, sections
// 6.13.1, 6.13.8 and 6.13.10.
#pragma once

#include "overloads.h"

// Mirrors Group of work_group.cpp.
struct tandem_cl_group {
  ulong work_dim;
  ulong group_id[3];
  ulong global_offset[3];
  ulong global_size[3];
  ulong local_size[3];
  ulong local_id[3];
};
__attribute__((const)) const volatile __global struct tandem_cl_group* tandem_cl_current(void);
void tandem_cl_barrier(void);
void tandem_cl_copy(ulong to, ulong from, ulong count, ulong bytes, ulong to_step, ulong from_step);

TANDEM_OVERLOAD uint get_work_dim(void) { return (uint)tandem_cl_current()->work_dim; }
TANDEM_OVERLOAD size_t get_global_size(uint d) {
  return d < 3 ? tandem_cl_current()->global_size[d] : 1;
}
TANDEM_OVERLOAD size_t get_local_size(uint d) {
  return d < 3 ? tandem_cl_current()->local_size[d] : 1;
}
TANDEM_OVERLOAD size_t get_enqueued_local_size(uint d) { return get_local_size(d); }
TANDEM_OVERLOAD size_t get_local_id(uint d) { return d < 3 ? tandem_cl_current()->local_id[d] : 0; }
TANDEM_OVERLOAD size_t get_group_id(uint d) { return d < 3 ? tandem_cl_current()->group_id[d] : 0; }
TANDEM_OVERLOAD size_t get_global_offset(uint d) {
  return d < 3 ? tandem_cl_current()->global_offset[d] : 0;
}
TANDEM_OVERLOAD size_t get_num_groups(uint d) { return get_global_size(d) / get_local_size(d); }
TANDEM_OVERLOAD size_t get_global_id(uint d) {
  return get_global_offset(d) + get_group_id(d) * get_local_size(d) + get_local_id(d);
}
TANDEM_OVERLOAD size_t get_local_linear_id(void) {
  return (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) +
         get_local_id(0);
}
TANDEM_OVERLOAD size_t get_global_linear_id(void) {
  const size_t z = get_global_id(2) - get_global_offset(2);
  const size_t y = get_global_id(1) - get_global_offset(1);
  return (z * get_global_size(1) + y) * get_global_size(0) + get_global_id(0) -
         get_global_offset(0);
}

TANDEM_OVERLOAD void barrier(uint flags) { tandem_cl_barrier(); }
TANDEM_OVERLOAD void mem_fence(uint flags) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
TANDEM_OVERLOAD void read_mem_fence(uint flags) { __atomic_thread_fence(__ATOMIC_ACQUIRE); }
TANDEM_OVERLOAD void write_mem_fence(uint flags) { __atomic_thread_fence(__ATOMIC_RELEASE); }
TANDEM_OVERLOAD void work_group_barrier(uint flags) { tandem_cl_barrier(); }
#if __OPENCL_C_VERSION__ >= 200
TANDEM_OVERLOAD void work_group_barrier(uint flags, memory_scope scope) { tandem_cl_barrier(); }
TANDEM_OVERLOAD void atomic_work_item_fence(uint flags, memory_order order, memory_scope scope) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
#endif

#define TANDEM_GROUP_COPY(to_space, from_space, to_stride, from_stride)                           \
  TANDEM_OVERLOAD event_t tandem_group_copy(to_space void* to, const from_space void* from,       \
                                            size_t bytes, size_t count, size_t stride,            \
                                            event_t event) {                                      \
    tandem_cl_copy((ulong)to, (ulong)from, count, bytes, bytes*(to_stride), bytes*(from_stride)); \
    return event;                                                                                 \
  }
TANDEM_GROUP_COPY(__local, __global, 1, stride)
TANDEM_GROUP_COPY(__global, __local, stride, 1)
#undef TANDEM_GROUP_COPY
#define async_work_group_copy(to, from, count, event) \
  tandem_group_copy(to, from, sizeof(*(to)), count, 1, event)
#define async_work_group_strided_copy(to, from, count, stride, event) \
  tandem_group_copy(to, from, sizeof(*(to)), count, stride, event)
#define wait_group_events(count, events) ((void)(count), (void)(events), tandem_cl_barrier())
#define prefetch(from, count) ((void)(from), (void)(count))

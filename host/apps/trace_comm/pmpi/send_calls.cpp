// SPDX-License-Identifier: Apache-2.0
//
// The point-to-point and one-sided sends of MPI's profiling interface.
//
// Each function replaces MPI's function of the same name and calls PMPI's. It records before the
// call, even if MPI then refuses the call.
#include <mpi.h>

#include <map>
#include <mutex>

#include "apps/trace_comm/pmpi/communicators.h"
#include "apps/trace_comm/pmpi/record_calls.h"

using namespace tandem::apps;  // NOLINT: this file is nothing but entry points

namespace {

struct PersistentSend {
  const char* operation;
  int to;
  std::uint64_t bytes;
  MPI_Comm communicator;
};

std::mutex persistent_mutex;
std::map<MPI_Request, PersistentSend> persistent_sends;  // guarded by the mutex

void keep_persistent(MPI_Request request, const PersistentSend& send) {
  const std::lock_guard lock(persistent_mutex);
  persistent_sends[request] = send;
}

void record_start(MPI_Request request) {
  const std::lock_guard lock(persistent_mutex);
  const auto at = persistent_sends.find(request);
  if (at == persistent_sends.end()) return;
  record_send(at->second.operation, at->second.to, at->second.bytes, at->second.communicator);
}

void record_put(const char* operation, int target, std::uint64_t bytes, MPI_Win window) {
  if (target >= 0) record_access(operation, own_world_rank(), world_rank_in(window, target), bytes);
}

void record_get(const char* operation, int target, std::uint64_t bytes, MPI_Win window) {
  if (target >= 0) record_access(operation, world_rank_in(window, target), own_world_rank(), bytes);
}

}  // namespace

extern "C" {

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  record_send("send", to, bytes_of(count, type), comm);
  return PMPI_Send(data, count, type, to, tag, comm);
}

int MPI_Bsend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  record_send("bsend", to, bytes_of(count, type), comm);
  return PMPI_Bsend(data, count, type, to, tag, comm);
}

int MPI_Ssend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  record_send("ssend", to, bytes_of(count, type), comm);
  return PMPI_Ssend(data, count, type, to, tag, comm);
}

int MPI_Rsend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  record_send("rsend", to, bytes_of(count, type), comm);
  return PMPI_Rsend(data, count, type, to, tag, comm);
}

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  record_send("isend", to, bytes_of(count, type), comm);
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Ibsend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
  record_send("ibsend", to, bytes_of(count, type), comm);
  return PMPI_Ibsend(data, count, type, to, tag, comm, request);
}

int MPI_Issend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
  record_send("issend", to, bytes_of(count, type), comm);
  return PMPI_Issend(data, count, type, to, tag, comm, request);
}

int MPI_Irsend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
  record_send("irsend", to, bytes_of(count, type), comm);
  return PMPI_Irsend(data, count, type, to, tag, comm, request);
}

int MPI_Send_init(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  const int result = PMPI_Send_init(data, count, type, to, tag, comm, request);
  if (result == MPI_SUCCESS) {
    keep_persistent(*request, {"send_start", to, bytes_of(count, type), comm});
  }
  return result;
}

int MPI_Bsend_init(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  const int result = PMPI_Bsend_init(data, count, type, to, tag, comm, request);
  if (result == MPI_SUCCESS) {
    keep_persistent(*request, {"bsend_start", to, bytes_of(count, type), comm});
  }
  return result;
}

int MPI_Ssend_init(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  const int result = PMPI_Ssend_init(data, count, type, to, tag, comm, request);
  if (result == MPI_SUCCESS) {
    keep_persistent(*request, {"ssend_start", to, bytes_of(count, type), comm});
  }
  return result;
}

int MPI_Rsend_init(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  const int result = PMPI_Rsend_init(data, count, type, to, tag, comm, request);
  if (result == MPI_SUCCESS) {
    keep_persistent(*request, {"rsend_start", to, bytes_of(count, type), comm});
  }
  return result;
}

int MPI_Start(MPI_Request* request) {
  record_start(*request);
  return PMPI_Start(request);
}

int MPI_Startall(int count, MPI_Request requests[]) {
  for (int i = 0; i < count; ++i) record_start(requests[i]);
  return PMPI_Startall(count, requests);
}

int MPI_Request_free(MPI_Request* request) {
  {
    const std::lock_guard lock(persistent_mutex);
    persistent_sends.erase(*request);
  }
  return PMPI_Request_free(request);
}

int MPI_Sendrecv(const void* data, int count, MPI_Datatype type, int to, int send_tag,
                 void* received, int most, MPI_Datatype received_type, int from, int receive_tag,
                 MPI_Comm comm, MPI_Status* status) {
  record_send("sendrecv", to, bytes_of(count, type), comm);
  return PMPI_Sendrecv(data, count, type, to, send_tag, received, most, received_type, from,
                       receive_tag, comm, status);
}

int MPI_Sendrecv_replace(void* data, int count, MPI_Datatype type, int to, int send_tag, int from,
                         int receive_tag, MPI_Comm comm, MPI_Status* status) {
  record_send("sendrecv", to, bytes_of(count, type), comm);
  return PMPI_Sendrecv_replace(data, count, type, to, send_tag, from, receive_tag, comm, status);
}

int MPI_Put(const void* data, int count, MPI_Datatype type, int target, MPI_Aint offset,
            int target_count, MPI_Datatype target_type, MPI_Win window) {
  record_put("put", target, bytes_of(count, type), window);
  return PMPI_Put(data, count, type, target, offset, target_count, target_type, window);
}

int MPI_Rput(const void* data, int count, MPI_Datatype type, int target, MPI_Aint offset,
             int target_count, MPI_Datatype target_type, MPI_Win window, MPI_Request* request) {
  record_put("put", target, bytes_of(count, type), window);
  return PMPI_Rput(data, count, type, target, offset, target_count, target_type, window, request);
}

int MPI_Get(void* data, int count, MPI_Datatype type, int target, MPI_Aint offset, int target_count,
            MPI_Datatype target_type, MPI_Win window) {
  record_get("get", target, bytes_of(count, type), window);
  return PMPI_Get(data, count, type, target, offset, target_count, target_type, window);
}

int MPI_Rget(void* data, int count, MPI_Datatype type, int target, MPI_Aint offset,
             int target_count, MPI_Datatype target_type, MPI_Win window, MPI_Request* request) {
  record_get("get", target, bytes_of(count, type), window);
  return PMPI_Rget(data, count, type, target, offset, target_count, target_type, window, request);
}

int MPI_Accumulate(const void* data, int count, MPI_Datatype type, int target, MPI_Aint offset,
                   int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window) {
  record_put("accumulate", target, bytes_of(count, type), window);
  return PMPI_Accumulate(data, count, type, target, offset, target_count, target_type, op, window);
}

int MPI_Raccumulate(const void* data, int count, MPI_Datatype type, int target, MPI_Aint offset,
                    int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window,
                    MPI_Request* request) {
  record_put("accumulate", target, bytes_of(count, type), window);
  return PMPI_Raccumulate(data, count, type, target, offset, target_count, target_type, op, window,
                          request);
}

}  // extern "C"

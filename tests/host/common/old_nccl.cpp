// SPDX-License-Identifier: Apache-2.0
//
// libnccl.so.2 of a version before 2.14: without ncclCommInitRankConfig and ncclCommFinalize.
extern "C" {

int ncclGetUniqueId() { return 0; }
int ncclCommInitAll() { return 0; }
int ncclCommDestroy() { return 0; }
int ncclCommAbort() { return 0; }
int ncclCommGetAsyncError() { return 0; }
int ncclGroupStart() { return 0; }
int ncclGroupEnd() { return 0; }
int ncclAllReduce() { return 0; }
int ncclSend() { return 0; }
int ncclRecv() { return 0; }
int ncclGetErrorString() { return 0; }
}

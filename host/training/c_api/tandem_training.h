// SPDX-License-Identifier: Apache-2.0
//
// The C ABI of the gradient reducer, for callers from other languages (the Python package uses it
// through ctypes).
//
// Functions return a tandem_status; tandem_last_error() has the text of the calling thread's last
// failure. Options and statistics are JSON objects; README.md of host/training lists their fields.
// Values are raw pointers to host memory (in a tandem_bucket also to device memory). The caller
// owns them and keeps them valid until the call (or the ticket) is done. Threads: any; calls of one
// reducer are queued and run in their order on the reducer's own thread. All ranks make the same
// calls in the same order.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TANDEM_TRAINING_ABI 2

typedef enum {
  TANDEM_OK = 0,
  TANDEM_ERROR = 1, /* an argument or option: the same on every rank; the reducer stays usable */
  TANDEM_TRANSPORT_ERROR = 2, /* a rank is lost or late: the group is broken */
  TANDEM_NON_FINITE =
      3, /* NaN or infinity in a gradient, with the option "stop"; names step, rank, parameter */
  TANDEM_NO_MEMORY = 4,
  TANDEM_INTERNAL = 5
} tandem_status;

/* Passed as int: a caller from another language may pass any number, and gets TANDEM_ERROR. */
typedef enum { TANDEM_F32 = 0, TANDEM_F16 = 1, TANDEM_BF16 = 2, TANDEM_F64 = 3 } tandem_dtype;

int tandem_training_abi(void);       /* TANDEM_TRAINING_ABI of the library */
const char* tandem_last_error(void); /* of this thread; valid until its next call */
void tandem_free(void* memory);      /* frees texts and states that the library returned */

/* A key-value store by which the ranks find each other. put: writes a key once; returns 1 if this
 * call wrote it, 0 if it already has a value, -1 on failure. get: copies at most `capacity` bytes;
 * returns the value's size, -1 if the key has no value yet, -2 on failure. Only the thread that
 * calls tandem_group_create (or a shrink) calls them. */
typedef struct {
  void* context;
  int (*put)(void* context, const char* key, const void* value, size_t size);
  int64_t (*get)(void* context, const char* key, void* value, size_t capacity);
} tandem_store;

typedef struct tandem_group tandem_group;
typedef struct tandem_reducer tandem_reducer;
typedef struct tandem_rows tandem_rows;

/* {"transport": "gloo" | "mpi", "rank": 0, "world": 2, "prefix": "...", "store_directory": "...",
 * "interface": "...", "address": "...", "timeout_s": 30}. `store` may be null when store_directory
 * is given. */
tandem_status tandem_group_create(const char* options, const tandem_store* store,
                                  tandem_group** group);
void tandem_group_abort(tandem_group* group,
                        const char* reason); /* ends all waits, here and soon on the other ranks */
void tandem_group_destroy(tandem_group* group); /* after its reducers */

/* {"sparsifier": "auto", "density": 0.01, "scheme": "auto", "wire": "f32" | "f16" | "bf16",
 *  "dense_below": 16384, "warmup_steps": 0, "timeout_s": 60, "threads": 1,
 *  "non_finite": "stop" | "skip" | "clip" | "pass", "hidden_until": "last" | "wait",
 *  "rules": [{"match": "*.bias", "sparsifier": "dense"}, {"match": "embed*", "density": 0.001}]}
 * README.md of host/training lists more fields. Unknown fields are errors. The first rule whose
 * glob matches a parameter's name applies; "dense" is exact. */
tandem_status tandem_reducer_create(tandem_group* group, const char* options,
                                    tandem_reducer** reducer);
/* Whether tandem_reducer_create would take the options; needs no group. */
tandem_status tandem_reducer_check_options(const char* options);
void tandem_reducer_destroy(
    tandem_reducer* reducer); /* waits for calls in flight, at most their timeouts */

/* Parameters are identified by name; `shape` has num_dimensions sizes. They must be the same on
 * every rank; the first step checks this. */
tandem_status tandem_reducer_add_parameter(tandem_reducer* reducer, const char* name,
                                           const int64_t* shape, int num_dimensions,
                                           uint32_t* parameter);

/* Queues a bucket: the gradients of `parameters`, one after another in `values`, without gaps. The
 * mean over ranks replaces them. Buckets may be composed differently in every step, because
 * residuals belong to parameters. exact: 1 sums densely this time, regardless of the rules
 * (residuals stay); 2 also adds the residuals, which become 0. last: 1 if this is the step's last
 * bucket. */
tandem_status tandem_reducer_submit(tandem_reducer* reducer, const uint32_t* parameters,
                                    size_t num_parameters, void* values, int type, int exact,
                                    int last, uint64_t* ticket);

/* Ends the step, for callers that know its last bucket only later. Sends nothing. */
tandem_status tandem_reducer_end_step(tandem_reducer* reducer);

/* A bucket whose values may be in the memory of a device ("cuda:0"; null: host memory). Sparsified
 * values are selected and written on the device; dense values go through host memory. queue: a
 * cudaStream_t; the values are ready after its present work; null: they are ready now. When the
 * ticket is done, all work on the values is done. The struct and the name are copied. If the
 * library does not support the device, all ranks get an error. */
typedef struct {
  const uint32_t* parameters;
  size_t num_parameters;
  void* values;
  int type;
  int exact;
  int last;
  const char* device;
  void* queue;
} tandem_bucket;
tandem_status tandem_reducer_submit_bucket(tandem_reducer* reducer, const tandem_bucket* bucket,
                                           uint64_t* ticket);

/* TANDEM_OK if this library can reduce gradients on `device` of this machine; otherwise an error
 * with the reason. */
tandem_status tandem_training_device(const char* device);

/* A row-sparse gradient, never made dense: rows may repeat and be in any order; a rank may have
 * none. */
tandem_status tandem_reducer_submit_rows(tandem_reducer* reducer, uint32_t parameter,
                                         const int64_t* rows, size_t num_rows, const void* values,
                                         int type, int last, uint64_t* ticket);

/* Waits until the call of `ticket` is done; each of its exchanges ends by its timeout. Returns the
 * status of that call, every time. */
tandem_status tandem_reducer_wait(tandem_reducer* reducer, uint64_t ticket);
/* Call it after the wait for a submit_rows, once per ticket: returns the rows of the mean, sorted
 * and unique. They are kept until then. Values have the submitted type. Copy the rows, then destroy
 * them. */
tandem_status tandem_reducer_take_rows(tandem_reducer* reducer, uint64_t ticket,
                                       tandem_rows** rows);
size_t tandem_rows_count(const tandem_rows* rows);
tandem_status tandem_rows_copy(const tandem_rows* rows, int64_t* indices, void* values);
void tandem_rows_destroy(tandem_rows* rows);

/* This rank's state of the reducer between steps, by parameter name. Call it between steps. */
tandem_status tandem_reducer_state(tandem_reducer* reducer, void** bytes, size_t* size);
tandem_status tandem_reducer_restore(tandem_reducer* reducer, const void* bytes, size_t size);

/* {"steps": N, "buckets": [{"parameters": [...], "density_asked", "density_sent", "build_up",
 * "residual_norm", "bytes_sent", "seconds", "hidden_seconds", ...}], ...}; free with tandem_free.
 */
tandem_status tandem_reducer_statistics(tandem_reducer* reducer, char** json);
/* The reducer's figures in Prometheus' text format; free with tandem_free. */
tandem_status tandem_reducer_metrics(tandem_reducer* reducer, char** text);

#ifdef __cplusplus
}
#endif

// SPDX-License-Identifier: Apache-2.0
//
// Decode attention over a paged KV pool, in OpenCL C 1.2: append, attend, merge.
//
// One work-group attends QUERIES query vectors of one KV head to a range of tokens in one pass over
// K and V (online softmax, so length has no cap). Ranges of a long context merge exactly
// afterwards. Shapes are macros (below), so every loop bound but the context is a constant.
// Numerics: f32. Lanes past the range are masked before the softmax and never multiplied, so the
// contents of unused slots (also NaN) have no effect. F16 is decoded by integer shifts: no
// cl_khr_fp16 needed. Cost per token and KV head: HEAD_DIM * (2 decodes + 2 * QUERIES
// multiply-adds).

// Macros that attention_program.cpp defines: HEAD_DIM, HEAD_STRIDE (padded to VD), PAGE_TOKENS,
// KV_HEADS, GROUP (query heads per KV head), QUERIES, LOCAL (work-items of a group), VT / VD (lanes
// along tokens / dimensions), BLOCKS (token vectors of a work-item per tile), KV_I8, PAGE_ELEMENTS,
// V_AT, SCALES_AT. LOCAL = 1 with wide lanes gives a CPU kernel; LOCAL = 64 with one lane gives a
// GPU kernel with coalesced reads.
//
// A page of one layer: K [KV_HEADS, HEAD_DIM, PAGE_TOKENS] (transposed: lanes are tokens, so a dot
// product needs no reduction), V [KV_HEADS, PAGE_TOKENS, HEAD_STRIDE] (lanes are dimensions), and
// for I8 scales [2, KV_HEADS, PAGE_TOKENS] f32.
#define TILE (LOCAL * VT * BLOCKS)
#define CHUNKS_OF_ROW (HEAD_STRIDE / VD)
#define CHUNKS ((CHUNKS_OF_ROW + LOCAL - 1) / LOCAL)
#define Q_HEADS (KV_HEADS * GROUP)

// Offsets at the start of the staged input, in 4-byte words: see BatchPlan.
enum { Q_AT, K_AT, V_ROWS_AT, APPENDS_AT, PARTS_AT, MERGES_AT, PAGES_AT };
enum { APPEND_INTS = 3, PART_INTS = 8, MERGE_INTS = 4 };

#if LOCAL > 1
#define SYNC() barrier(CLK_LOCAL_MEM_FENCE)
#else
#define SYNC()
#endif

#if KV_I8
typedef char kv_t;
#else
typedef ushort kv_t;
#endif

float max_1(float v) { return v; }
float max_2(float2 v) { return fmax(v.x, v.y); }
float max_4(float4 v) { return max_2(fmax(v.lo, v.hi)); }
float max_8(float8 v) { return max_4(fmax(v.lo, v.hi)); }
float max_16(float16 v) { return max_8(fmax(v.lo, v.hi)); }
float sum_1(float v) { return v; }
float sum_2(float2 v) { return v.x + v.y; }
float sum_4(float4 v) { return sum_2(v.lo + v.hi); }
float sum_8(float8 v) { return sum_4(v.lo + v.hi); }
float sum_16(float16 v) { return sum_8(v.lo + v.hi); }

#define LANES_1 (0)
#define LANES_2 (0, 1)
#define LANES_4 (0, 1, 2, 3)
#define LANES_8 (0, 1, 2, 3, 4, 5, 6, 7)
#define LANES_16 (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)

// Names by width: a width of 1 has none in OpenCL C, and drivers may define the others as macros.
#define FLOAT_1 float
#define FLOAT_2 float2
#define FLOAT_4 float4
#define FLOAT_8 float8
#define FLOAT_16 float16
#define INT_1 int
#define INT_2 int2
#define INT_4 int4
#define INT_8 int8
#define INT_16 int16
#define LOAD_1(from) (*(from))
#define LOAD_2(from) vload2(0, from)
#define LOAD_4(from) vload4(0, from)
#define LOAD_8(from) vload8(0, from)
#define LOAD_16(from) vload16(0, from)
#define STORE_1(v, to) (*(to) = (v))
#define STORE_2(v, to) vstore2(v, 0, to)
#define STORE_4(v, to) vstore4(v, 0, to)
#define STORE_8(v, to) vstore8(v, 0, to)
#define STORE_16(v, to) vstore16(v, 0, to)
#define AS_FLOAT_1(v) as_float(v)
#define AS_FLOAT_2(v) as_float2(v)
#define AS_FLOAT_4(v) as_float4(v)
#define AS_FLOAT_8(v) as_float8(v)
#define AS_FLOAT_16(v) as_float16(v)
#define TO_FLOAT_1(v) convert_float(v)
#define TO_FLOAT_2(v) convert_float2(v)
#define TO_FLOAT_4(v) convert_float4(v)
#define TO_FLOAT_8(v) convert_float8(v)
#define TO_FLOAT_16(v) convert_float16(v)
#define TO_INT_1(v) convert_int(v)
#define TO_INT_2(v) convert_int2(v)
#define TO_INT_4(v) convert_int4(v)
#define TO_INT_8(v) convert_int8(v)
#define TO_INT_16(v) convert_int16(v)

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

// Sign extension puts the sign where f32 has it; the exponent is then 112 too small, which the
// multiplication mends for subnormals too. Infinity and NaN keep their mantissa.
#define DECODE_F16(n)                                                                       \
  CAT(FLOAT_, n) CAT(decode_f16_, n)(CAT(INT_, n) half_bits) {                              \
    const CAT(INT_, n) bits = (half_bits << 13) & (int)0x8fffe000;                          \
    return select(CAT(AS_FLOAT_, n)(bits) * 0x1p112f, CAT(AS_FLOAT_, n)(bits | 0x7f800000), \
                  (bits & 0x0f800000) == 0x0f800000);                                       \
  }
#if KV_I8
#define LOAD_KV(n, from) CAT(TO_FLOAT_, n)(CAT(LOAD_, n)(from))
#else
DECODE_F16(VT)
#if VD != VT
DECODE_F16(VD)
#endif
// The pool is read as shorts so that widening extends the sign.
#define LOAD_KV(n, from) \
  CAT(decode_f16_, n)(CAT(TO_INT_, n)(CAT(LOAD_, n)((__global const short*)(from))))
#endif

typedef CAT(FLOAT_, VT) token_lanes;
typedef CAT(INT_, VT) token_mask;
typedef CAT(FLOAT_, VD) row_lanes;

// Round to nearest even, subnormals included; NaN stays NaN.
ushort encode_f16(float value) {
  const uint bits = as_uint(value);
  const uint sign = (bits >> 16) & 0x8000u;
  const uint magnitude = bits & 0x7fffffffu;
  uint half_bits = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  if (magnitude < 0x38800000u) half_bits = as_uint(as_float(magnitude) + 0.5f) - 0x3f000000u;
  if (magnitude >= 0x477ff000u) half_bits = 0x7c00u;
  if (magnitude > 0x7f800000u) half_bits = 0x7e00u;
  return (ushort)(sign | half_bits);
}

// Writes one row of K (which = 0) or V (1) of one head into its page; `step` is the distance of
// consecutive dimensions.
void store_row(__global const float* from, __global kv_t* to, int step, __global float* scale) {
#if KV_I8
  float peak = 0.0f;
  bool nan = false;
  for (int d = 0; d < HEAD_DIM; ++d) {
    peak = fmax(peak, fabs(from[d]));
    nan = nan || isnan(from[d]);
  }
  *scale = nan ? NAN : peak / 127.0f;
  const float inverse = peak > 0.0f ? 127.0f / peak : 0.0f;
  for (int d = 0; d < HEAD_DIM; ++d) to[d * step] = convert_char_sat_rte(from[d] * inverse);
#else
  for (int d = 0; d < HEAD_DIM; ++d) to[d * step] = encode_f16(from[d]);
#endif
}

// Global size (KV_HEADS, rows to append, 2).
__kernel void append(__global const float* input, __global const int* plan, __global kv_t* pool,
                     __global float* scales) {
  const int head = (int)get_global_id(0);
  const int which = (int)get_global_id(2);
  __global const int* entry = plan + plan[APPENDS_AT] + get_global_id(1) * APPEND_INTS;
  const int slot = entry[2];
  __global const float* from =
      input + plan[which == 0 ? K_AT : V_ROWS_AT] + (entry[0] * KV_HEADS + head) * HEAD_DIM;
  __global kv_t* page = pool + (size_t)entry[1] * PAGE_ELEMENTS;
  __global float* scale = scales + (size_t)entry[1] * (PAGE_ELEMENTS * sizeof(kv_t) / 4) +
                          SCALES_AT + (which * KV_HEADS + head) * PAGE_TOKENS + slot;
  if (which == 0) {
    store_row(from, page + head * HEAD_DIM * PAGE_TOKENS + slot, PAGE_TOKENS, scale);
  } else {
    store_row(from, page + V_AT + (head * PAGE_TOKENS + slot) * HEAD_STRIDE, 1, scale);
  }
}

// name(values, exchange, item): every work-item gets COMBINE over the group, of one value per
// query.
#if LOCAL > 1
#define REDUCE_GROUP(name, COMBINE)                                           \
  void name(float* values, __local float* exchange, int item) {               \
    for (int g = 0; g < QUERIES; ++g) exchange[g * LOCAL + item] = values[g]; \
    SYNC();                                                                   \
    for (int half_size = LOCAL / 2; half_size > 0; half_size /= 2) {          \
      for (int g = 0; item < half_size && g < QUERIES; ++g) {                 \
        __local float* mine = exchange + g * LOCAL + item;                    \
        *mine = COMBINE(*mine, mine[half_size]);                              \
      }                                                                       \
      SYNC();                                                                 \
    }                                                                         \
    for (int g = 0; g < QUERIES; ++g) values[g] = exchange[g * LOCAL];        \
    SYNC();                                                                   \
  }
#else
#define REDUCE_GROUP(name, COMBINE) \
  void name(float* values, __local float* exchange, int item) {}
#endif
#define ADD(a, b) ((a) + (b))
REDUCE_GROUP(group_max, fmax)
REDUCE_GROUP(group_sum, ADD)

// Scores of this work-item's tokens of a tile: scores[block][query].
void score_tile(token_lanes* scores, __local const float* queries, __global const kv_t* pool,
                __global const float* scales, __global const int* pages, int3 at) {
  const int tile = at.x, end = at.y, head = at.z;
  const int item = (int)get_local_id(0);
  __global const kv_t* k[BLOCKS];
  int first[BLOCKS];
  token_lanes scale[BLOCKS];
  for (int b = 0; b < BLOCKS; ++b) {
    first[b] = tile + (b * LOCAL + item) * VT;
    const int token = min(first[b], (end - 1) / VT * VT);
    const size_t page = (size_t)pages[token / PAGE_TOKENS];
    const int slot = token % PAGE_TOKENS;
    k[b] = pool + page * PAGE_ELEMENTS + head * HEAD_DIM * PAGE_TOKENS + slot;
#if KV_I8
    scale[b] =
        CAT(LOAD_, VT)(scales + page * (PAGE_ELEMENTS / 4) + SCALES_AT + head * PAGE_TOKENS + slot);
#endif
  }
  for (int i = 0; i < BLOCKS * QUERIES; ++i) scores[i] = 0.0f;
  for (int d = 0; d < HEAD_DIM; ++d) {
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b) {
      const token_lanes lanes = LOAD_KV(VT, k[b] + d * PAGE_TOKENS);
#pragma unroll
      for (int g = 0; g < QUERIES; ++g) {
        scores[b * QUERIES + g] =
            fma((token_lanes)(queries[d * QUERIES + g]), lanes, scores[b * QUERIES + g]);
      }
    }
  }
#pragma unroll
  for (int b = 0; b < BLOCKS; ++b) {
    const token_mask inside = (token_mask)CAT(LANES_, VT) + first[b] < (token_mask)(end);
#pragma unroll
    for (int g = 0; g < QUERIES; ++g) {
      token_lanes score = scores[b * QUERIES + g];
#if KV_I8
      score *= scale[b];
#endif
      scores[b * QUERIES + g] = select((token_lanes)(-INFINITY), score, inside);
    }
  }
}

// Probabilities of a tile from its scores, against the running maximum; they go to local memory
// (times the scale of their row of V), their sums to `sum`, the factor of what was summed before to
// `keep`.
void soften_tile(token_lanes* scores, token_lanes* sum, float* peak, float* keep,
                 __local float* probabilities, __local float* exchange) {
  const int item = (int)get_local_id(0);
  float tile_peak[QUERIES];
#pragma unroll
  for (int g = 0; g < QUERIES; ++g) {
    token_lanes most = scores[g];
#pragma unroll
    for (int b = 1; b < BLOCKS; ++b) most = fmax(most, scores[b * QUERIES + g]);
    tile_peak[g] = CAT(max_, VT)(most);
  }
  group_max(tile_peak, exchange, item);
#pragma unroll
  for (int g = 0; g < QUERIES; ++g) {
    const float now = fmax(peak[g], tile_peak[g]);
    const float base = now == -INFINITY ? 0.0f : now;
    keep[g] = exp(peak[g] - base);
    peak[g] = now;
    sum[g] *= keep[g];
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b) {
      const token_lanes p = exp(scores[b * QUERIES + g] - base);
      sum[g] += p;
      CAT(STORE_, VT)(p, probabilities + g * TILE + (b * LOCAL + item) * VT);
    }
  }
}

// result[query][chunk] = keep * result + probabilities V over the tokens of a tile.
void gather_tile(row_lanes* result, const float* keep, __local const float* probabilities,
                 __global const kv_t* pool, __global const float* scales, __global const int* pages,
                 int3 at) {
  const int tile = at.x, head = at.z;
  const int count = min(TILE, at.y - tile);
  const int item = (int)get_local_id(0);
#pragma unroll
  for (int c = 0; c < CHUNKS; ++c) {
    const int chunk = c * LOCAL + item;
    if (chunk >= CHUNKS_OF_ROW) continue;
    row_lanes sum[QUERIES];
#pragma unroll
    for (int g = 0; g < QUERIES; ++g) sum[g] = result[g * CHUNKS + c] * keep[g];
    for (int done = 0; done < count;) {
      const size_t page = (size_t)pages[(tile + done) / PAGE_TOKENS];
      const int slot = (tile + done) % PAGE_TOKENS;
      const int here = min(PAGE_TOKENS - slot, count - done);
      __global const kv_t* row = pool + page * PAGE_ELEMENTS + V_AT +
                                 (head * PAGE_TOKENS + slot) * HEAD_STRIDE + chunk * VD;
#if KV_I8
      __global const float* scale =
          scales + page * (PAGE_ELEMENTS / 4) + SCALES_AT + (KV_HEADS + head) * PAGE_TOKENS + slot;
#endif
      for (int t = 0; t < here; ++t) {
        row_lanes lanes = LOAD_KV(VD, row + t * HEAD_STRIDE);
#if KV_I8
        lanes *= scale[t];
#endif
#pragma unroll
        for (int g = 0; g < QUERIES; ++g) {
          sum[g] = fma((row_lanes)(probabilities[g * TILE + done + t]), lanes, sum[g]);
        }
      }
      done += here;
    }
#pragma unroll
    for (int g = 0; g < QUERIES; ++g) result[g * CHUNKS + c] = sum[g];
  }
}

// Groups (KV_HEADS, parts). `results` and `scratch` are [slots, Q_HEADS, HEAD_STRIDE], then the LSE
// [slots, Q_HEADS] at word lse_at.x (results) and lse_at.y (scratch).
__kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void attend(
    __global const float* input, __global const int* plan, __global const kv_t* pool,
    __global const float* scales, __global float* results, __global float* scratch, uint2 lse_at,
    int first_part) {
  __local float queries[HEAD_DIM * QUERIES];
  __local float probabilities[QUERIES * TILE];
  __local float exchange[QUERIES * LOCAL];
  const int head = (int)get_group_id(0);
  const int item = (int)get_local_id(0);
  __global const int* part =
      plan + plan[PARTS_AT] + (first_part + (int)get_group_id(1)) * PART_INTS;
  const int q_row = part[0], first_query = part[1], num_queries = part[2];
  __global const int* pages = plan + plan[PAGES_AT] + part[3];
  const int begin = part[4], end = part[5];

  for (int i = item; i < HEAD_DIM * QUERIES; i += LOCAL) {
    const int query = min(first_query + i % QUERIES, num_queries - 1);
    const int row = (q_row + query / GROUP) * Q_HEADS + head * GROUP + query % GROUP;
    queries[i] = input[plan[Q_AT] + row * HEAD_DIM + i / QUERIES];
  }
  SYNC();

  token_lanes scores[BLOCKS * QUERIES];
  token_lanes sum[QUERIES];
  row_lanes result[QUERIES * CHUNKS];
  float peak[QUERIES], keep[QUERIES];
  for (int g = 0; g < QUERIES; ++g) {
    peak[g] = -INFINITY;
    sum[g] = 0.0f;
  }
  for (int i = 0; i < QUERIES * CHUNKS; ++i) result[i] = 0.0f;

  for (int tile = begin; tile < end; tile += TILE) {
    const int3 at = (int3)(tile, end, head);
    score_tile(scores, queries, pool, scales, pages, at);
    soften_tile(scores, sum, peak, keep, probabilities, exchange);
    SYNC();
    gather_tile(result, keep, probabilities, pool, scales, pages, at);
    SYNC();
  }

  float total[QUERIES];
  for (int g = 0; g < QUERIES; ++g) total[g] = CAT(sum_, VT)(sum[g]);
  group_sum(total, exchange, item);
  __global float* to = part[7] ? scratch : results;
  __global float* lse = to + (part[7] ? lse_at.y : lse_at.x);
  for (int g = 0; g < QUERIES; ++g) {
    const int query = first_query + g;
    if (query >= num_queries) break;
    const size_t row = (size_t)(part[6] + query / GROUP) * Q_HEADS + head * GROUP + query % GROUP;
    const float inverse = total[g] == 0.0f ? 0.0f : 1.0f / total[g];
    for (int c = 0; c < CHUNKS; ++c) {
      const int chunk = c * LOCAL + item;
      if (chunk < CHUNKS_OF_ROW) {
        CAT(STORE_, VD)(result[g * CHUNKS + c] * inverse, to + row * HEAD_STRIDE + chunk * VD);
      }
    }
    if (item == 0) lse[row] = total[g] == 0.0f ? -INFINITY : peak[g] + log(total[g]);
  }
}

// Global size (CHUNKS_OF_ROW, Q_HEADS, rows to merge): O = sum exp(L_i - L) O_i over the parts of a
// row, L = ln sum exp(L_i).
__kernel void merge(__global const int* plan, __global const float* scratch,
                    __global float* results, uint2 lse_at) {
  const int chunk = (int)get_global_id(0);
  const int head = (int)get_global_id(1);
  __global const int* entry = plan + plan[MERGES_AT] + get_global_id(2) * MERGE_INTS;
  const int slot = entry[0], step = entry[1], parts = entry[2];
  __global const float* lse = scratch + lse_at.y;
  float peak = -INFINITY;
  for (int i = 0; i < parts; ++i) peak = fmax(peak, lse[(slot + i * step) * Q_HEADS + head]);
  const float base = peak == -INFINITY ? 0.0f : peak;
  float total = 0.0f;
  row_lanes sum = 0.0f;
  for (int i = 0; i < parts; ++i) {
    const size_t row = (size_t)(slot + i * step) * Q_HEADS + head;
    const float weight = exp(lse[row] - base);
    total += weight;
    if (weight != 0.0f) {
      sum += weight * CAT(LOAD_, VD)(scratch + row * HEAD_STRIDE + chunk * VD);
    }
  }
  const size_t row = (size_t)entry[3] * Q_HEADS + head;
  const float inverse = total == 0.0f ? 0.0f : 1.0f / total;
  CAT(STORE_, VD)(sum * inverse, results + row * HEAD_STRIDE + chunk * VD);
  if (chunk == 0) results[lse_at.x + row] = total == 0.0f ? -INFINITY : peak + log(total);
}

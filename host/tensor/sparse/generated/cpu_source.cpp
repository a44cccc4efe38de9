// SPDX-License-Identifier: Apache-2.0
//
// One function per rule of the grammar. A vector is 64 bytes on every processor: compilers divide
// it where registers are shorter.
#include "tensor/sparse/generated/cpu_source.h"

#include <algorithm>
#include <string>

#include "common/error.h"
#include "tensor/sparse/generated/fibre_source.h"

namespace tandem::sparse {
namespace {

constexpr std::size_t kVectorBytes = 64;
constexpr std::size_t kMostSums = 16;  // vectors that a loop adds into, of 32 registers

std::string number(std::size_t value) { return std::to_string(value); }

std::size_t value_bytes(const KernelPattern& p) { return p.value == KernelValue::kF64 ? 8 : 4; }
std::size_t lanes_of(const KernelPattern& p) { return kVectorBytes / value_bytes(p); }

// How the values of the sparse operand are kept, and one in the type of the arithmetic.
std::string stored_type(const KernelPattern& p) {
  if (p.value != KernelValue::kBf16) {
    return "typedef Value Stored;\nstatic inline Value widen(Stored value) { return value; }\n";
  }
  return "typedef unsigned short Stored;\n"
         "static inline Value widen(Stored value) {\n"
         "  const unsigned bits = (unsigned)value << 16;\n"
         "  Value wide;\n  __builtin_memcpy(&wide, &bits, 4);\n  return wide;\n}\n";
}

// Vectors are read and written at any address of a value.
std::string preamble(const KernelPattern& p) {
  const char* const index = p.index == KernelIndex::kU16   ? "unsigned short"
                            : p.index == KernelIndex::kI32 ? "int"
                                                           : "long long";
  return "// " + key(p) +
         "\n"
         "typedef " +
         (p.value == KernelValue::kF64 ? "double" : "float") + " Value;\n" + stored_type(p) +
         "typedef " + index +
         " Index;\n"
         "typedef unsigned long Size;\n"
         "typedef Value Vector __attribute__((vector_size(" +
         number(kVectorBytes) +
         ")));\n"
         "typedef Value Loose __attribute__((vector_size(" +
         number(kVectorBytes) + "), aligned(" + number(value_bytes(p)) +
         "), may_alias));\n"
         "static inline Vector load(const Value* from) { return *(const Loose*)from; }\n"
         "static inline void store(Vector value, Value* to) { *(Loose*)to = value; }\n";
}

std::string block_arguments() {
  return "struct Block {\n"
         "  const Index* at; const Value* values; Size entries, order, mode, stride;\n"
         "  const Value* rows[" +
         number(kMaxOrder) + "]; Value* out;\n};\n";
}

constexpr char kRowArguments[] =
    "struct Rows {\n"
    "  const unsigned long* begins; const Index* indices; const Stored* values;\n"
    "  Size first, last; const Value* left; const Value* right; const Value* bias;\n"
    "  const Value* mixed; double scale; Value* out;\n"
    "};\n";

// The product of entry e of a group for vector v, as "p0_1".
std::string name_of(const char* what, std::size_t a, std::size_t b) {
  return what + number(a) + "_" + number(b);
}

// `entries` entries: all products first, so that a sum waits only where two have the same row.
std::string mttkrp_group(const KernelPattern& p, std::size_t entries) {
  const std::size_t lanes = lanes_of(p), vectors = p.columns / lanes;
  std::string text;
  for (std::size_t e = 0; e < entries; ++e) {
    for (std::size_t m = 0; m < p.order; ++m) {
      const std::string base = m == p.mode ? "out" : "r" + number(m);
      text += "    " + std::string(m == p.mode ? "" : "const ") + "Value* const " +
              name_of("x", e, m) + " = " + base + " + at[" + number(e * p.order + m) +
              "] * (Size)" + number(p.columns) + ";\n";
    }
  }
  const std::size_t step = std::max<std::size_t>(1, std::min(vectors, kMostSums / entries));
  for (std::size_t first = 0; first < vectors; first += step) {
    const std::size_t last = std::min(vectors, first + step);
    for (std::size_t e = 0; e < entries; ++e) {
      for (std::size_t v = first; v < last; ++v) {
        text += "    const Vector " + name_of("p", e, v) + " = values[" + number(e) + "]";
        for (std::size_t m = 0; m < p.order; ++m) {
          if (m != p.mode)
            text += " * load(" + name_of("x", e, m) + " + " + number(v * lanes) + ")";
        }
        text += ";\n";
      }
    }
    for (std::size_t e = 0; e < entries; ++e) {
      for (std::size_t v = first; v < last; ++v) {
        const std::string to = name_of("x", e, p.mode) + " + " + number(v * lanes);
        text += "    store(load(" + to + ") + " + name_of("p", e, v) + ", " + to + ");\n";
      }
    }
  }
  return text;
}

std::string mttkrp_loop(const KernelPattern& p, std::size_t entries) {
  return "  for (; count >= " + number(entries) + "; count -= " + number(entries) +
         ", at += " + number(entries * p.order) + ", values += " + number(entries) + ") {\n" +
         mttkrp_group(p, entries) + "  }\n";
}

std::string mttkrp_source(const KernelPattern& p) {
  std::string text = block_arguments();
  text +=
      "extern \"C\" void tandem_kernel(const Block* block) {\n"
      "  const Index* at = block->at;\n"
      "  const Value* values = block->values;\n"
      "  Size count = block->entries;\n"
      "  Value* const out = block->out;\n";
  for (std::size_t m = 0; m < p.order; ++m) {
    if (m == p.mode) continue;
    text += "  const Value* const r" + number(m) + " = block->rows[" + number(m) + "];\n";
  }
  const std::size_t vectors = p.columns / lanes_of(p);
  const std::size_t group = std::clamp<std::size_t>(8 / vectors, 1, 8);
  if (group > 1) text += mttkrp_loop(p, group);
  return text + mttkrp_loop(p, 1) + "}\n";
}

// What follows a sum of spmm.
std::string end_source(KernelEnd end) {
  std::string text = "static inline Vector end(Vector sum, const Value* bias) {\n";
  if (end != KernelEnd::kNone) text += "  sum += *bias;\n";
  if (end == KernelEnd::kBiasRelu) {
    text +=
        "  for (unsigned i = 0; i < sizeof(Vector) / sizeof(Value); ++i) "
        "sum[i] = sum[i] < 0 ? (Value)0 : sum[i];\n";
  }
  if (end == KernelEnd::kBiasSilu) {
    text +=
        "  for (unsigned i = 0; i < sizeof(Vector) / sizeof(Value); ++i) "
        "sum[i] = sum[i] / (1 + (Value)__builtin_exp(-(double)sum[i]));\n";
  }
  return text + "  return sum;\n}\n";
}

// Columns [t, t + tile) of a block row.
std::string spmm_tile(const KernelPattern& p, std::size_t vectors) {
  const std::size_t lanes = lanes_of(p);
  const std::string stride = number(p.columns);
  std::string text;
  for (std::size_t r = 0; r < p.block_rows; ++r) {
    for (std::size_t v = 0; v < vectors; ++v)
      text += "      Vector " + name_of("s", r, v) + " = {};\n";
  }
  text +=
      "      for (Size e = job->begins[row]; e < job->begins[row + 1]; ++e) {\n"
      "        const Stored* const w = job->values + e * " +
      number(p.block_rows * p.block_columns) +
      ";\n"
      "        const Value* const x = job->right + (Size)job->indices[e] * " +
      number(p.block_columns * p.columns) + " + t;\n";
  for (std::size_t c = 0; c < p.block_columns; ++c) {
    for (std::size_t v = 0; v < vectors; ++v) {
      const std::string x = name_of("x", c, v);
      text +=
          "        const Vector " + x + " = load(x + " + number(c * p.columns + v * lanes) + ");\n";
      for (std::size_t r = 0; r < p.block_rows; ++r) {
        text += "        " + name_of("s", r, v) + " += widen(w[" + number(r * p.block_columns + c) +
                "]) * " + x + ";\n";
      }
    }
  }
  text += "      }\n";
  for (std::size_t r = 0; r < p.block_rows; ++r) {
    const std::string out_row = "(row * " + number(p.block_rows) + " + " + number(r) + ")";
    for (std::size_t v = 0; v < vectors; ++v) {
      text += "      store(end(" + name_of("s", r, v) + ", " +
              (p.end == KernelEnd::kNone ? "0" : "job->bias + " + out_row) + "), job->out + " +
              out_row + " * " + stride + " + t + " + number(v * lanes) + ");\n";
    }
  }
  return text;
}

std::string spmm_source(const KernelPattern& p) {
  const std::size_t lanes = lanes_of(p), vectors = p.columns / lanes;
  const std::size_t tile = std::min(vectors, std::max<std::size_t>(1, kMostSums / p.block_rows));
  const std::size_t whole = vectors / tile * tile;
  std::string text = kRowArguments + end_source(p.end) +
                     "extern \"C\" void tandem_kernel(const Rows* job) {\n"
                     "  for (Size row = job->first; row < job->last; ++row) {\n"
                     "    for (Size t = 0; t < " +
                     number(whole * lanes) + "; t += " + number(tile * lanes) + ") {\n" +
                     spmm_tile(p, tile) + "    }\n";
  if (whole < vectors) {
    text += "    {\n      const Size t = " + number(whole * lanes) + ";\n" +
            spmm_tile(p, vectors - whole) + "    }\n";
  }
  return text + "  }\n}\n";
}

std::string sddmm_source(const KernelPattern& p) {
  const std::size_t lanes = lanes_of(p);
  std::string text = kRowArguments;
  text +=
      "extern \"C\" void tandem_kernel(const Rows* job) {\n"
      "  for (Size row = job->first; row < job->last; ++row) {\n"
      "    const Value* const left = job->left + row * " +
      number(p.columns) +
      ";\n"
      "    for (Size e = job->begins[row]; e < job->begins[row + 1]; ++e) {\n"
      "      const Value* const right = job->right + (Size)job->indices[e] * " +
      number(p.columns) + ";\n      Vector sum = {};\n      for (Size c = 0; c < " +
      number(p.columns) + "; c += " + number(lanes) +
      ") sum += load(left + c) * load(right + c);\n"
      "      Value all = 0;\n";
  return text + "      for (unsigned i = 0; i < " + number(lanes) +
         "; ++i) all += sum[i];\n"
         "      job->out[e] = widen(job->values[e]) * all;\n    }\n  }\n}\n";
}

// exp of a vector: for f32 2^n times a polynomial on [-ln 2 / 2, ln 2 / 2], to 2 ulp (Cephes).
std::string exp_source(const KernelPattern& p) {
  const std::string lanes = number(lanes_of(p));
  std::string text = "static inline Vector exp_of(Vector x) {\n";
  if (p.value == KernelValue::kF64) {
    return text + "  for (unsigned i = 0; i < " + lanes +
           "; ++i) x[i] = __builtin_exp(x[i]);\n  return x;\n}\n";
  }
  text += "  typedef int Whole __attribute__((vector_size(" + number(kVectorBytes) +
          ")));\n"
          "  for (unsigned i = 0; i < " +
          lanes +
          "; ++i) x[i] = x[i] < -87.0f ? -87.0f : x[i];\n"
          "  const Vector n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;\n"
          "  const Vector r = (x - n * 0.693359375f) + n * 2.12194440e-4f;\n"
          "  Vector y = r * 1.9875691500e-4f + 1.3981999507e-3f;\n"
          "  y = y * r + 8.3334519073e-3f;\n"
          "  y = y * r + 4.1665795894e-2f;\n"
          "  y = y * r + 1.6666665459e-1f;\n"
          "  y = y * r + 5.0000001201e-1f;\n"
          "  y = y * r * r + r + 1.0f;\n"
          "  const Whole power = (__builtin_convertvector(n, Whole) + 127) << 23;\n"
          "  return y * (Vector)power;\n}\n";
  return text;
}

constexpr std::size_t kScores = 64;  // entries whose scores are computed before they are mixed

// The scores of up to kScores entries, and the greatest of them.
std::string score_loop(const KernelPattern& p) {
  const std::size_t lanes = lanes_of(p);
  std::string text =
      "      for (Size i = 0; i < count; ++i) {\n"
      "        const Value* const right = job->right + (Size)job->indices[e + i] * " +
      number(p.columns) + ";\n        Vector dot = load(left) * load(right);\n";
  for (std::size_t c = lanes; c < p.columns; c += lanes) {
    text += "        dot += load(left + " + number(c) + ") * load(right + " + number(c) + ");\n";
  }
  return text +
         "        Value all = 0;\n"
         "        for (unsigned l = 0; l < " +
         number(lanes) +
         "; ++l) all += dot[l];\n"
         "        s[i] = (Value)job->scale * widen(job->values[e + i]) * all;\n"
         "        top = s[i] > top ? s[i] : top;\n      }\n";
}

// Scores are kept relative to the greatest so far: sums shrink where a greater one comes.
std::string attention_source(const KernelPattern& p) {
  const std::size_t lanes = lanes_of(p), vectors = p.columns / lanes;
  std::string text = kRowArguments + exp_source(p);
  text +=
      "extern \"C\" void tandem_kernel(const Rows* job) {\n"
      "  for (Size row = job->first; row < job->last; ++row) {\n"
      "    const Value* const left = job->left + row * " +
      number(p.columns) + ";\n    Value most = -__builtin_inf(), sum = 0;\n";
  for (std::size_t v = 0; v < vectors; ++v) text += "    Vector a" + number(v) + " = {};\n";
  text +=
      "    const Size last = job->begins[row + 1];\n"
      "    for (Size e = job->begins[row]; e < last;) {\n"
      "      const Size count = last - e < " +
      number(kScores) + " ? last - e : " + number(kScores) + ";\n      Value s[" + number(kScores) +
      "] = {};\n      Value top = most;\n" + score_loop(p) +
      "      const Value shrink = exp_of((Vector){} + (most - top))[0];\n"
      "      most = top;\n      sum *= shrink;\n"
      "      for (Size i = 0; i < count; i += " +
      number(lanes) + ") store(exp_of(load(s + i) - top), s + i);\n";
  for (std::size_t v = 0; v < vectors; ++v) text += "      a" + number(v) + " *= shrink;\n";
  text +=
      "      for (Size i = 0; i < count; ++i) {\n        sum += s[i];\n"
      "        const Value* const mixed = job->mixed + (Size)job->indices[e + i] * " +
      number(p.columns) + ";\n";
  for (std::size_t v = 0; v < vectors; ++v) {
    text += "        a" + number(v) + " += s[i] * load(mixed + " + number(v * lanes) + ");\n";
  }
  text +=
      "      }\n      e += count;\n    }\n"
      "    const Value part = job->begins[row] == last ? 0 : 1 / sum;\n";
  for (std::size_t v = 0; v < vectors; ++v) {
    text += "    store(a" + number(v) + " * part, job->out + row * " + number(p.columns) + " + " +
            number(v * lanes) + ");\n";
  }
  return text + "  }\n}\n";
}

std::string spmv_source() {
  return std::string(kRowArguments) +
         "extern \"C\" void tandem_kernel(const Rows* job) {\n"
         "  for (Size row = job->first; row < job->last; ++row) {\n"
         "    Value a = 0, b = 0, c = 0, d = 0;\n"
         "    Size e = job->begins[row];\n"
         "    const Size last = job->begins[row + 1];\n"
         "    for (; e + 4 <= last; e += 4) {\n"
         "      a += widen(job->values[e]) * job->right[job->indices[e]];\n"
         "      b += widen(job->values[e + 1]) * job->right[job->indices[e + 1]];\n"
         "      c += widen(job->values[e + 2]) * job->right[job->indices[e + 2]];\n"
         "      d += widen(job->values[e + 3]) * job->right[job->indices[e + 3]];\n"
         "    }\n"
         "    for (; e < last; ++e) a += widen(job->values[e]) * job->right[job->indices[e]];\n"
         "    job->out[row] = (a + b) + (c + d);\n  }\n}\n";
}

}  // namespace

std::string cpu_source(const KernelPattern& pattern) {
  TANDEM_CHECK(is_in_grammar(pattern));
  switch (pattern.product) {
    case KernelProduct::kMttkrp:
      return preamble(pattern) + mttkrp_source(pattern);
    case KernelProduct::kSpmm:
      return preamble(pattern) + spmm_source(pattern);
    case KernelProduct::kSddmm:
      return preamble(pattern) + sddmm_source(pattern);
    case KernelProduct::kSpmv:
      return preamble(pattern) + spmv_source();
    case KernelProduct::kAttention:
      return preamble(pattern) + attention_source(pattern);
    case KernelProduct::kTtv:
      if (pattern.fibre == 0) return preamble(pattern) + spmv_source();
      return preamble(pattern) + kRowArguments + ttv_source(pattern);
    case KernelProduct::kTtm:
      if (pattern.fibre == 0) return preamble(pattern) + spmm_source(pattern);
      return preamble(pattern) + kRowArguments + ttm_source(pattern, lanes_of(pattern));
  }
  return "";
}

}  // namespace tandem::sparse

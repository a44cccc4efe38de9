// SPDX-License-Identifier: Apache-2.0
//
// The intrinsics of DSP slices: multiply-add functions, accumulators and cascades at the widths of
// DSP48E1, DSP48E2 and DSP58, and the complex slice of DSP58.
//
// Arguments and results are cut to the width of their port, as in the slice. The register flags
// change no value, with one exception: a cascade with both registers of an input (REG_A1 | REG_A2,
// REG_B1 | REG_B2) uses and passes on the input of its previous call, so that a chain of cascades
// is a systolic filter. Source: Vitis HLS user guide (UG1399), "DSP Intrinsics". C++11.
#pragma once

#include <complex>
#include <cstdint>

#include "ap_int.h"

#include "tandem_macros_begin.h"

namespace hls {
namespace detail {

constexpr std::int64_t kDspA1 = 1, kDspA2 = 2, kDspB1 = 4, kDspB2 = 8;

// An input of a cascade; with two registers the value of the previous call.
template <typename T, bool kLate>
class DspInput {
 public:
  DspInput() : before_(0) {}
  T next(const T& value) {
    if (!kLate) return value;
    const T late = before_;
    before_ = value;
    return late;
  }

 private:
  T before_;
};

// A row of slices: each method is an operation, at the port widths WA, WB and WC.
template <int WA, int WB, int WC>
struct DspSlice {
  typedef ap_int<WA> A;
  typedef ap_int<WB> B;
  typedef ap_int<WC> C;
  static C product(const A& a, const B& b) { return C(a * b); }
  static A sum(const A& d, const A& a) { return A(d + a); }
  static A difference(const A& d, const A& a) { return A(d - a); }

  class Accumulator {
   public:
    Accumulator() : p_(0) {}
    C mul_acc(A a, B b, bool init) { return p_ = init ? product(a, b) : C(p_ + product(a, b)); }
    C add_mul_acc(A d, A a, B b, bool init) { return mul_acc(sum(d, a), b, init); }

   private:
    C p_;
  };

  struct Chained {
    A acout;
    B bcout;
    C pcout;
  };
  template <std::int64_t Flags>
  class Cascade {
   public:
    typedef Chained R_t;
    R_t mul_add(A a, B b, C c) {
      R_t result;
      result.acout = a_.next(a);
      result.bcout = b_.next(b);
      result.pcout = C(product(result.acout, result.bcout) + c);
      return result;
    }

   private:
    DspInput<A, (Flags & (kDspA1 | kDspA2)) == (kDspA1 | kDspA2)> a_;
    DspInput<B, (Flags & (kDspB1 | kDspB2)) == (kDspB1 | kDspB2)> b_;
  };
};

}  // namespace detail

#define TANDEM_DSP_REGISTERS                                               \
  constexpr std::int64_t REG_A1 = detail::kDspA1, REG_A2 = detail::kDspA2; \
  constexpr std::int64_t REG_B1 = detail::kDspB1, REG_B2 = detail::kDspB2; \
  constexpr std::int64_t REG_C = 16, REG_D = 32, REG_AD = 64, REG_M = 128, REG_P = 256;

#define TANDEM_DSP_SLICE(name, WA, WB, WC)                    \
  namespace name {                                            \
  typedef detail::DspSlice<WA, WB, WC> Slice;                 \
  typedef Slice::A A_t;                                       \
  typedef Slice::B B_t;                                       \
  typedef Slice::C C_t;                                       \
  typedef Slice::A D_t;                                       \
  typedef Slice::C P_t;                                       \
  typedef Slice::Chained R_t;                                 \
  TANDEM_DSP_REGISTERS                                        \
  template <std::int64_t Flags = 0>                           \
  C_t mul_add(A_t a, B_t b, C_t c) {                          \
    return C_t(Slice::product(a, b) + c);                     \
  }                                                           \
  template <std::int64_t Flags = 0>                           \
  C_t mul_sub(A_t a, B_t b, C_t c) {                          \
    return C_t(Slice::product(a, b) - c);                     \
  }                                                           \
  template <std::int64_t Flags = 0>                           \
  C_t mul_rev_sub(A_t a, B_t b, C_t c) {                      \
    return C_t(c - Slice::product(a, b));                     \
  }                                                           \
  template <std::int64_t Flags = 0>                           \
  C_t add_mul_add(D_t d, A_t a, B_t b, C_t c) {               \
    return mul_add<Flags>(Slice::sum(d, a), b, c);            \
  }                                                           \
  template <std::int64_t Flags = 0>                           \
  C_t add_mul_sub(D_t d, A_t a, B_t b, C_t c) {               \
    return mul_sub<Flags>(Slice::sum(d, a), b, c);            \
  }                                                           \
  template <std::int64_t Flags = 0>                           \
  C_t add_mul_rev_sub(D_t d, A_t a, B_t b, C_t c) {           \
    return mul_rev_sub<Flags>(Slice::sum(d, a), b, c);        \
  }                                                           \
  template <std::int64_t Flags = 0>                           \
  C_t sub_mul_add(D_t d, A_t a, B_t b, C_t c) {               \
    return mul_add<Flags>(Slice::difference(d, a), b, c);     \
  }                                                           \
  template <std::int64_t Flags = 0>                           \
  C_t sub_mul_sub(D_t d, A_t a, B_t b, C_t c) {               \
    return mul_sub<Flags>(Slice::difference(d, a), b, c);     \
  }                                                           \
  template <std::int64_t Flags = 0>                           \
  C_t sub_mul_rev_sub(D_t d, A_t a, B_t b, C_t c) {           \
    return mul_rev_sub<Flags>(Slice::difference(d, a), b, c); \
  }                                                           \
  template <std::int64_t Flags = 0>                           \
  class acc : public Slice::Accumulator {};                   \
  template <std::int64_t Flags = 0>                           \
  class cascade : public Slice::Cascade<Flags> {};            \
  }
TANDEM_DSP_SLICE(dsp48e1, 25, 18, 48)
TANDEM_DSP_SLICE(dsp48e2, 27, 18, 48)
TANDEM_DSP_SLICE(dsp58, 27, 24, 58)
#undef TANDEM_DSP_SLICE

namespace dspcplx {

typedef std::complex<ap_int<18>> A_t;
typedef std::complex<ap_int<18>> B_t;
typedef std::complex<ap_int<58>> C_t;
typedef std::complex<ap_int<58>> P_t;
struct R_t {
  A_t acout;
  B_t bcout;
  C_t pcout;
};
TANDEM_DSP_REGISTERS
constexpr std::int64_t NO_PIPELINE = 0;
constexpr std::int64_t BALANCED_PIPELINE = REG_A1 | REG_B1;
constexpr std::int64_t FULL_PIPELINE = REG_A1 | REG_A2 | REG_B1 | REG_B2 | REG_AD;

template <std::int64_t Flags = 0>
C_t mul_add(A_t a, B_t b, C_t c) {
  typedef ap_int<58> Part;
  return C_t(Part(a.real() * b.real() - a.imag() * b.imag() + c.real()),
             Part(a.real() * b.imag() + a.imag() * b.real() + c.imag()));
}
template <std::int64_t Flags = 0>
C_t mul(A_t a, B_t b) {
  return mul_add<Flags>(a, b, C_t(0, 0));
}
template <std::int64_t Flags = 0>
class acc {
 public:
  acc() : p_(0, 0) {}
  C_t mul_acc(A_t a, B_t b, bool init) { return p_ = mul_add<Flags>(a, b, init ? C_t(0, 0) : p_); }

 private:
  C_t p_;
};
template <std::int64_t Flags = 0>
class cascade {
 public:
  R_t mul_add(A_t a, B_t b, C_t c) {
    R_t result;
    result.acout = a_.next(a);
    result.bcout = b_.next(b);
    result.pcout = dspcplx::mul_add<Flags>(result.acout, result.bcout, c);
    return result;
  }

 private:
  detail::DspInput<A_t, (Flags & (REG_A1 | REG_A2)) == (REG_A1 | REG_A2)> a_;
  detail::DspInput<B_t, (Flags & (REG_B1 | REG_B2)) == (REG_B1 | REG_B2)> b_;
};

}  // namespace dspcplx
#undef TANDEM_DSP_REGISTERS

}  // namespace hls

#include "tandem_macros_end.h"

// SPDX-License-Identifier: Apache-2.0
//
// The baseline through oneDNN's C++ interface: one primitive, made once.
#include <dnnl.hpp>

#include "bf16_baseline.h"

namespace tandem::bench {
namespace {

using Memory = dnnl::memory;

class Matmul final : public Bf16Baseline {
 public:
  Matmul(const Memory::dims& shape /* rows, out, in */, void* w, void* x, float* y)
      : x_({{shape[0], shape[2]}, kBf16, Memory::format_tag::ab}, engine_, x),
        y_({{shape[0], shape[1]}, Memory::data_type::f32, Memory::format_tag::ab}, engine_, y) {
    const Memory::dims weights = {shape[2], shape[1]};
    const dnnl::matmul::desc product(x_.get_desc(), {weights, kBf16, Memory::format_tag::any},
                                     y_.get_desc());
    const dnnl::matmul::primitive_desc chosen(product, engine_);
    matmul_ = dnnl::matmul(chosen);
    w_ = Memory(chosen.weights_desc(), engine_);
    Memory stored({weights, kBf16, Memory::format_tag::ba}, engine_, w);
    dnnl::reorder(stored, w_).execute(stream_, stored, w_);
    stream_.wait();
  }

  void multiply() override {
    matmul_.execute(stream_, {{DNNL_ARG_SRC, x_}, {DNNL_ARG_WEIGHTS, w_}, {DNNL_ARG_DST, y_}});
    stream_.wait();
  }

 private:
  static constexpr Memory::data_type kBf16 = Memory::data_type::bf16;

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  Memory x_, y_, w_;
  dnnl::matmul matmul_;
};

}  // namespace

std::unique_ptr<Bf16Baseline> bf16_baseline(std::int64_t rows, std::int64_t out, std::int64_t in,
                                            const void* w, void* x, float* y) {
  return std::make_unique<Matmul>(Memory::dims{rows, out, in}, const_cast<void*>(w), x, y);
}

}  // namespace tandem::bench

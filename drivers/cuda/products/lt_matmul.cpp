// SPDX-License-Identifier: Apache-2.0
//
// The library is column-major: with m = outputs, n = rows and k = inputs it computes
// D[m, n] = A^T B, where A [k, m] is W and B [k, n] is x as they lie in memory.
#include "cuda/products/lt_matmul.h"

#include <map>
#include <string>
#include <type_traits>

#include "common/error.h"
#include "common/launch_chain.h"
#include "cuda/products/cublas_lt_library.h"
#include "cuda/runtime/handles.h"
#include "gemm/bias_rows.h"

namespace tandem::cuda {
namespace {

using gpu_kernels::StoredType;

constexpr std::size_t kMaxPlans = 4096;  // more shapes than these are planned anew

void check_lt(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError("cuda", std::string(what) + ": cuBLASLt says status " +
                                std::to_string(static_cast<int>(status)));
}

template <auto kDestroy>  // a member of CublasLt
struct Destroyer {
  template <typename T>
  void operator()(T* handle) const {
    (cublas_lt().*kDestroy)(handle);
  }
};
template <typename Handle, auto kDestroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroyer<kDestroy>>;
using Library = Owned<cublasLtHandle_t, &CublasLt::destroy>;
using Description = Owned<cublasLtMatmulDesc_t, &CublasLt::destroy_description>;
using Layout = Owned<cublasLtMatrixLayout_t, &CublasLt::destroy_layout>;
using Preference = Owned<cublasLtMatmulPreference_t, &CublasLt::destroy_preference>;

cudaDataType_t lt_type(StoredType type) {
  switch (type) {
    case StoredType::kF16:
      return CUDA_R_16F;
    case StoredType::kBF16:
      return CUDA_R_16BF;
    case StoredType::kE4M3:
      return CUDA_R_8F_E4M3;
    default:
      return CUDA_R_32F;
  }
}

template <typename T>
void set(const Description& description, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  check_lt(cublas_lt().set_description(description.get(), attribute, &value, sizeof(value)),
           "describing a product");
}

template <typename T>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute,
         const T& value) {
  check_lt(cublas_lt().set_preference(preference.get(), attribute, &value, sizeof(value)),
           "describing a product");
}

Layout make_layout(cudaDataType_t type, std::int64_t height, std::int64_t width,
                   std::int64_t stride) {
  cublasLtMatrixLayout_t layout = nullptr;
  check_lt(cublas_lt().create_layout(&layout, type, static_cast<std::uint64_t>(height),
                                     static_cast<std::uint64_t>(width), stride),
           "describing a matrix");
  return Layout(layout);
}

// Scales by row and output came with 12.9: before, the library does not multiply e4m3 for us.
bool set_scale_modes([[maybe_unused]] const Description& description) {
#if CUBLAS_VERSION >= 120900
  const cublasLtMatmulMatrixScale_t mode = CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
  set(description, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, mode);
  set(description, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, mode);
  return true;
#else
  return false;
#endif
}

}  // namespace

struct LtMatmul::State {
  struct Plan {
    Description description;
    Layout weight, x, out;
    cublasLtMatmulAlgo_t algorithm{};
    bool works = false;
    bool adds_bias = false;  // in the epilogue
  };

  Plan make_plan(const MatmulShape& shape, bool adds_bias) const;
  const Plan& plan_of(const MatmulShape& shape);

  Library library;
  void* workspace = nullptr;
  std::map<MatmulShape, Plan> plans;
};

LtMatmul::State::Plan LtMatmul::State::make_plan(const MatmulShape& shape, bool adds_bias) const {
  Plan plan;
  plan.adds_bias = adds_bias;
  cublasLtMatmulDesc_t description = nullptr;
  check_lt(cublas_lt().create_description(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F),
           "describing a product");
  plan.description.reset(description);
  set(plan.description, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  if (adds_bias) set(plan.description, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  if (shape.type == StoredType::kE4M3 && !set_scale_modes(plan.description)) return plan;
  const cudaDataType_t type = lt_type(shape.type);
  plan.weight = make_layout(type, shape.in_features, shape.out_features, shape.in_features);
  plan.x = make_layout(type, shape.in_features, shape.rows, shape.in_features);
  plan.out = make_layout(CUDA_R_32F, shape.out_features, shape.rows, shape.out_stride);

  cublasLtMatmulPreference_t made = nullptr;
  check_lt(cublas_lt().create_preference(&made), "describing a product");
  const Preference preference(made);
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    set(preference, attribute, std::uint32_t{16});
  }
  cublasLtMatmulHeuristicResult_t result{};
  int count = 0;
  const cublasStatus_t status = cublas_lt().find_algorithm(
      library.get(), plan.description.get(), plan.weight.get(), plan.x.get(), plan.out.get(),
      plan.out.get(), preference.get(), 1, &result, &count);
  plan.works =
      status == CUBLAS_STATUS_SUCCESS && count > 0 && result.state == CUBLAS_STATUS_SUCCESS;
  plan.algorithm = result.algo;
  return plan;
}

const LtMatmul::State::Plan& LtMatmul::State::plan_of(const MatmulShape& shape) {
  if (const auto found = plans.find(shape); found != plans.end()) return found->second;
  if (plans.size() >= kMaxPlans) plans.clear();
  Plan plan;
  if (shape.has_bias && shape.type != StoredType::kE4M3) plan = make_plan(shape, true);
  if (!plan.works) plan = make_plan(shape, false);
  return plans.emplace(shape, std::move(plan)).first->second;
}

LtMatmul::LtMatmul(void* workspace) : state_(std::make_unique<State>()) {
  cublasLtHandle_t handle = nullptr;
  check_lt(cublas_lt().create(&handle), "starting cuBLASLt");
  state_->library.reset(handle);
  state_->workspace = workspace;
}

LtMatmul::~LtMatmul() = default;

bool LtMatmul::plan(const MatmulShape& shape) { return state_->plan_of(shape).works; }

void LtMatmul::run(const MatmulShape& shape, const MatmulOperands& operands, cudaStream_t stream) {
  const State::Plan& plan = state_->plan_of(shape);
  if (!plan.works) {
    throw DeviceError("cuda", "cuBLASLt has no algorithm for a product of " +
                                  std::to_string(shape.rows) + " rows, " +
                                  std::to_string(shape.in_features) + " inputs, " +
                                  std::to_string(shape.out_features) + " outputs");
  }
  bool accumulate = shape.accumulate;
  if (plan.adds_bias) {
    set(plan.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias);
  } else if (shape.has_bias) {
    check(gpu_kernels::bias_rows({shape.rows, shape.out_features, shape.out_stride, operands.bias,
                                  operands.out, accumulate},
                                 stream),
          "adding a bias");
    accumulate = true;
  }
  if (shape.type == StoredType::kE4M3) {
    set(plan.description, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, operands.weight_scales);
    set(plan.description, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, operands.x_scales);
  }
  const float one = 1.0f, before = accumulate ? 1.0f : 0.0f;
  check_lt(cublas_lt().matmul(state_->library.get(), plan.description.get(), &one, operands.weight,
                              plan.weight.get(), operands.x, plan.x.get(), &before, operands.out,
                              plan.out.get(), operands.out, plan.out.get(), &plan.algorithm,
                              state_->workspace, kWorkspaceBytes, stream),
           "multiplying matrices");
  gpu_kernels::other_work();
}

}  // namespace tandem::cuda

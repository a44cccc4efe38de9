# SPDX-License-Identifier: Apache-2.0
# The part of the project that a GPU can check: kernels, the cuda backend, the nccl transport, their tests and benchmarks.
#
# For machines with nvcc and without Debian's packages (scripts/gpu_check.sh): needs GoogleTest, Highway and xxhash.h only,
# from CMAKE_PREFIX_PATH.

find_package(Threads REQUIRED)
find_package(GTest REQUIRED)
find_package(hwy REQUIRED)
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
add_library(PkgConfig::XXHASH INTERFACE IMPORTED)
set_target_properties(PkgConfig::XXHASH PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${XXHASH_INCLUDE_DIR}
  INTERFACE_COMPILE_DEFINITIONS XXH_INLINE_ALL)
if(NOT TANDEM_HAVE_CUDA)
  message(FATAL_ERROR "TANDEM_GPU_ONLY needs an nvcc that works: set CUDACXX or TANDEM_CUDA_HOST_COMPILER")
endif()

include(CTest)
include(GoogleTest)
foreach(folder host/common host/tensor drivers/device gpu_kernels drivers/cuda host/collectives tests/gpu_kernels
        tests/drivers/cuda tests/host/collectives/nccl benchmarks/gpu)
  add_subdirectory(${folder})
endforeach()
add_custom_target(tandem_gpu_check DEPENDS gpu_host_functions_test gpu_kernels_test gpu_kernels_simt_test
                  cuda_backend_test cuda_aggregation_test cuda_aggregation_simt_test bench_gpu_sparse)
if(TANDEM_HAVE_NCCL)
  add_dependencies(tandem_gpu_check nccl_transport_test nccl_rounds_test)
endif()

# SPDX-License-Identifier: Apache-2.0
# The part of the project that a GPU can check: kernels, the cuda backend, the engine on it, the nccl transport, their tests
# and benchmarks.
#
# For machines with nvcc and without Debian's packages (scripts/gpu_check.sh): needs GoogleTest, Highway, nlohmann-json,
# PCRE2, prometheus-cpp's core and xxhash.h only, from CMAKE_PREFIX_PATH, and no pkg-config.

find_package(Threads REQUIRED)
find_package(GTest REQUIRED)
find_package(hwy REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)

# tandem_import_library(target header [library...]): the target that pkg-config or a package's own file would define.
function(tandem_import_library target header)
  string(MAKE_C_IDENTIFIER "${target}" name)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  find_path(${name}_INCLUDE_DIR ${header} REQUIRED)
  target_include_directories(${target} INTERFACE ${${name}_INCLUDE_DIR})
  foreach(library ${ARGN})
    find_library(${name}_LIBRARY ${library} REQUIRED)
    target_link_libraries(${target} INTERFACE ${${name}_LIBRARY})
  endforeach()
endfunction()
tandem_import_library(PkgConfig::XXHASH xxhash.h)
target_compile_definitions(PkgConfig::XXHASH INTERFACE XXH_INLINE_ALL)
tandem_import_library(PkgConfig::PCRE2 pcre2.h libpcre2-8.a)
tandem_import_library(prometheus-cpp::core prometheus/registry.h prometheus-cpp-core)
foreach(absent HWLOC UTF8PROC)
  set(TANDEM_HAVE_${absent} FALSE)
endforeach()
if(NOT TANDEM_HAVE_CUDA)
  message(FATAL_ERROR "TANDEM_GPU_ONLY needs an nvcc that works: set CUDACXX or TANDEM_CUDA_HOST_COMPILER")
endif()

include(CTest)
include(GoogleTest)
foreach(folder host/common host/tensor host/model host/trace drivers/device gpu_kernels drivers/cpu drivers/cuda
        drivers/parallel host/planner host/engine host/transport host/collectives)
  add_subdirectory(${folder})
endforeach()
tandem_add_library(tandem_drivers
  SOURCES drivers/registry.cpp drivers/opencl/absent.cpp drivers/xrt/absent.cpp
  PUBLIC tandem_device
  PRIVATE tandem_device_cpu tandem_device_cuda tandem_device_parallel)
include(tests/host/engine/EngineRig.cmake)
foreach(folder tests/support tests/gpu_kernels tests/drivers/device tests/drivers/cuda tests/host/transport/nccl
        benchmarks/gpu)
  add_subdirectory(${folder})
endforeach()

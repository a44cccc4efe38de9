# SPDX-License-Identifier: Apache-2.0
# CUDA and NCCL, both optional: TANDEM_HAVE_CUDA (nvcc and the static runtime) and TANDEM_HAVE_NCCL (its header).
#
# Programs need neither a driver nor libnccl to start: the runtime is linked statically and loads the driver when it is
# first called, and host/common/nccl_library.h loads libnccl.so.2.
# An nvcc that cannot compile (often because it refuses a newer host compiler) counts as missing; a warning says why.
# A sanitized build has no CUDA kernels: nvcc sanitizes nothing, and their tests run interpreted. It has the code over NCCL.

option(TANDEM_CUDA "Build the CUDA kernels, the cuda backend and the nccl transport where nvcc is found" ON)
set(TANDEM_CUDA_ARCHITECTURES "80-real;90" CACHE STRING "GPU architectures, as for CMAKE_CUDA_ARCHITECTURES")
set(TANDEM_CUDA_HOST_COMPILER "" CACHE STRING "Host compiler of nvcc; empty: the C++ compiler of the project")

include(CheckLanguage)

# tandem_try_nvcc(<works> <nvcc> <host compiler>): compiles with it in a project of its own.
function(tandem_try_nvcc works nvcc host_compiler)
  foreach(variable CUDACXX CUDAHOSTCXX)
    set(before_${variable} "$ENV{${variable}}")
  endforeach()
  set(ENV{CUDACXX} ${nvcc})
  set(ENV{CUDAHOSTCXX} ${host_compiler})
  unset(CMAKE_CUDA_COMPILER CACHE)
  check_language(CUDA)
  foreach(variable CUDACXX CUDAHOSTCXX)
    set(ENV{${variable}} "${before_${variable}}")
  endforeach()
  if(CMAKE_CUDA_COMPILER)
    set(${works} TRUE PARENT_SCOPE)
    return()
  endif()
  unset(CMAKE_CUDA_COMPILER CACHE)  # so that the next run of CMake tries again
  message(WARNING "Tandem is built without CUDA: ${nvcc} does not work with the host compiler ${host_compiler}. Name "
    "one that it supports with TANDEM_CUDA_HOST_COMPILER, or set TANDEM_CUDA=OFF. "
    "What it said: ${CMAKE_BINARY_DIR}/CMakeFiles/CMakeError.log")
  set(${works} FALSE PARENT_SCOPE)
endfunction()

set(TANDEM_HAVE_CUDA FALSE)
set(TANDEM_HAVE_NCCL FALSE)
if(TANDEM_CUDA)
  find_package(CUDAToolkit 12.0 QUIET)
endif()
if(TANDEM_CUDA AND NOT TANDEM_SANITIZE AND CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE AND TARGET CUDA::cudart_static)
  set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
  if(TANDEM_CUDA_HOST_COMPILER)
    set(CMAKE_CUDA_HOST_COMPILER ${TANDEM_CUDA_HOST_COMPILER})
  endif()
  if(CMAKE_CUDA_COMPILER)
    set(TANDEM_HAVE_CUDA TRUE)  # named by the user, or found to work by an earlier run
  else()
    tandem_try_nvcc(TANDEM_HAVE_CUDA ${CUDAToolkit_NVCC_EXECUTABLE} ${CMAKE_CUDA_HOST_COMPILER})
  endif()
endif()
if(TANDEM_HAVE_CUDA)
  set(CMAKE_CUDA_ARCHITECTURES ${TANDEM_CUDA_ARCHITECTURES})
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25.1 does not know that nvcc 12 and newer have it
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  if(TANDEM_CCACHE)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${TANDEM_CCACHE})
  endif()
endif()
if(TANDEM_HAVE_CUDA OR (TANDEM_SANITIZE AND CUDAToolkit_FOUND AND TARGET CUDA::cudart_static))
  find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  if(NCCL_INCLUDE_DIR)
    set(TANDEM_HAVE_NCCL TRUE)
  endif()
endif()

message(STATUS "Tandem: CUDA ${TANDEM_HAVE_CUDA} (${TANDEM_CUDA_ARCHITECTURES}), NCCL ${TANDEM_HAVE_NCCL}")

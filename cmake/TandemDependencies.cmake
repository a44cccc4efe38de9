# SPDX-License-Identifier: Apache-2.0
# Every third-party package the project looks for. Optional ones set TANDEM_HAVE_<NAME>; nothing is downloaded.

find_package(Threads REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(Boost 1.74 REQUIRED OPTIONAL_COMPONENTS context)  # context: emulated cards
find_package(OpenSSL 3.0 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_package(pugixml REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(hwy REQUIRED)
find_package(ZLIB REQUIRED)  # tensors in files
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)

pkg_check_modules(UTF8PROC QUIET IMPORTED_TARGET libutf8proc)
if(UTF8PROC_FOUND)
  set(TANDEM_HAVE_UTF8PROC TRUE)
else()
  set(TANDEM_HAVE_UTF8PROC FALSE)
endif()
message(STATUS "Tandem: utf8proc ${TANDEM_HAVE_UTF8PROC}")

pkg_check_modules(HWLOC QUIET IMPORTED_TARGET hwloc>=2.5)
if(HWLOC_FOUND)
  set(TANDEM_HAVE_HWLOC TRUE)
else()
  set(TANDEM_HAVE_HWLOC FALSE)
endif()
message(STATUS "Tandem: hwloc ${TANDEM_HAVE_HWLOC}")

find_package(SQLite3 QUIET)  # exports of Nsight Systems
if(TARGET SQLite::SQLite3)
  set(TANDEM_HAVE_SQLITE TRUE)
else()
  set(TANDEM_HAVE_SQLITE FALSE)
endif()
message(STATUS "Tandem: SQLite ${TANDEM_HAVE_SQLITE}")

find_package(dnnl QUIET)
set(TANDEM_HAVE_DNNL ${dnnl_FOUND})
find_package(OpenCL QUIET)
find_path(OPENCL_HPP_INCLUDE_DIR CL/opencl.hpp HINTS ${OpenCL_INCLUDE_DIRS})  # a package of its own
if(OpenCL_FOUND AND OPENCL_HPP_INCLUDE_DIR)
  set(TANDEM_HAVE_OPENCL TRUE)
else()
  set(TANDEM_HAVE_OPENCL FALSE)
endif()
find_path(XRT_INCLUDE_DIR xrt/xrt_device.h PATH_SUFFIXES xrt HINTS /usr/include/xrt)
find_library(XRT_COREUTIL_LIBRARY xrt_coreutil)
if(XRT_INCLUDE_DIR AND XRT_COREUTIL_LIBRARY)
  set(TANDEM_HAVE_XRT TRUE)
  add_library(XRT::coreutil UNKNOWN IMPORTED)
  set_target_properties(XRT::coreutil PROPERTIES IMPORTED_LOCATION ${XRT_COREUTIL_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES "${XRT_INCLUDE_DIR}" )
else()
  set(TANDEM_HAVE_XRT FALSE)
endif()

set(MPI_CXX_SKIP_MPICXX TRUE)
find_package(MPI 3.0 QUIET COMPONENTS CXX)
set(TANDEM_HAVE_MPI ${MPI_CXX_FOUND})  # with mpirun: MPIEXEC_EXECUTABLE
message(STATUS "Tandem: MPI ${TANDEM_HAVE_MPI}")
find_package(Gloo QUIET CONFIG)
pkg_check_modules(HIREDIS QUIET IMPORTED_TARGET hiredis)  # gloo's Redis store
if(Gloo_FOUND AND HIREDIS_FOUND)
  set(TANDEM_HAVE_GLOO TRUE)
else()
  set(TANDEM_HAVE_GLOO FALSE)
endif()
message(STATUS "Tandem: gloo ${TANDEM_HAVE_GLOO}")
message(STATUS "Tandem: oneDNN ${TANDEM_HAVE_DNNL}, OpenCL ${TANDEM_HAVE_OPENCL}, XRT ${TANDEM_HAVE_XRT}")

# libtorch, for the trainer: named by CMAKE_PREFIX_PATH, Debian's libtorch-dev, or that of the python3's PyTorch.
find_package(Torch QUIET)
if(NOT Torch_FOUND)
  execute_process(COMMAND python3 -c "import torch; print(torch.utils.cmake_prefix_path)"
                  OUTPUT_VARIABLE tandem_torch_prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(tandem_torch_prefix)
    find_package(Torch QUIET HINTS ${tandem_torch_prefix})
  endif()
endif()
if(Torch_FOUND)
  set(TANDEM_HAVE_TORCH TRUE)
else()
  set(TANDEM_HAVE_TORCH FALSE)
endif()
message(STATUS "Tandem: libtorch ${TANDEM_HAVE_TORCH}")

if(TANDEM_BUILD_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# SPDX-License-Identifier: Apache-2.0
# A fast build (TANDEM_UNITY) parses the headers that most sources include once per optimisation level, not once per unit.

set(TANDEM_SHARED_HEADERS <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <condition_variable> <cstdint>
  <cstdlib> <cstring> <deque> <fstream> <functional> <limits> <map> <memory> <mutex> <numeric> <optional>
  <set> <span> <sstream> <stdexcept> <string> <string_view> <thread> <unordered_map> <utility> <vector>)

# tandem_headers_owner(variable level libraries): the target that compiles these headers with `level`, as "-O3", of the calling folder.
# JSON and logging are part of them where `libraries` has them: what spdlog defines must be the same on both sides.
function(tandem_headers_owner variable level libraries)
  set(kind standard)
  set(parsed)
  set(headers ${TANDEM_SHARED_HEADERS})
  if("spdlog::spdlog" IN_LIST libraries)
    set(kind logging)
    set(parsed nlohmann_json::nlohmann_json spdlog::spdlog)
    list(APPEND headers <nlohmann/json.hpp> <spdlog/spdlog.h> <spdlog/fmt/fmt.h>)
  elseif("nlohmann_json::nlohmann_json" IN_LIST libraries)
    set(kind json)
    set(parsed nlohmann_json::nlohmann_json)
    list(APPEND headers <nlohmann/json.hpp>)
  endif()
  set(owner tandem_headers_${kind}${level})
  set(${variable} ${owner} PARENT_SCOPE)
  if(TARGET ${owner})
    return()
  endif()
  file(CONFIGURE OUTPUT headers.cpp CONTENT "")
  add_library(${owner} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/headers.cpp)
  target_link_libraries(${owner} PRIVATE tandem_options ${parsed})
  set_target_properties(${owner} PROPERTIES UNITY_BUILD OFF)
  target_precompile_headers(${owner} PRIVATE ${headers})
endfunction()

# tandem_define_logging(target): what spdlog and fmt define for who includes them, without linking them.
function(tandem_define_logging name)
  foreach(library spdlog::spdlog fmt::fmt)
    target_compile_definitions(${name} PRIVATE $<TARGET_PROPERTY:${library},INTERFACE_COMPILE_DEFINITIONS>)
  endforeach()
endfunction()

# tandem_share_all_headers(target): where the demo's build does not optimise, all targets share one set of all these headers.
# The functions of JSON are compiled once, with it.
function(tandem_share_all_headers name)
  if(NOT TARGET tandem_headers)
    set(json ${PROJECT_SOURCE_DIR}/cmake/json_instances.h)
    file(CONFIGURE OUTPUT headers.cpp CONTENT "#include \"${json}\"\nTANDEM_JSON_INSTANCES()\n")
    add_library(tandem_headers STATIC ${CMAKE_CURRENT_BINARY_DIR}/headers.cpp)
    target_link_libraries(tandem_headers PRIVATE tandem_options)
    tandem_define_logging(tandem_headers)
    set_target_properties(tandem_headers PROPERTIES UNITY_BUILD OFF)
    target_precompile_headers(tandem_headers PRIVATE ${TANDEM_SHARED_HEADERS} <spdlog/spdlog.h> <spdlog/fmt/fmt.h> ${json})
  endif()
  tandem_define_logging(${name})
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:tandem_headers>)
  target_precompile_headers(${name} REUSE_FROM tandem_headers)
endfunction()

# tandem_share_headers(target [library...]): `library...` is what the target itself links. Precompiled headers are valid
# for one set of code options: a target or source with others (-ffp-contract, -fvisibility) has DISABLE_PRECOMPILE_HEADERS
# or SKIP_PRECOMPILE_HEADERS. CMake shares none with a target that has a source in C.
function(tandem_share_headers name)
  get_target_property(sources ${name} SOURCES)
  if(NOT TANDEM_UNITY OR "${sources}" MATCHES "\\.c(;|$)")
    return()
  endif()
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fPIC>)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  string(REGEX MATCH "-O[0-9a-z]*" level "${CMAKE_CXX_FLAGS_${type}}")
  if(TANDEM_DEMO_ONLY AND level STREQUAL "-O0")
    tandem_share_all_headers(${name})
    return()
  endif()
  tandem_headers_owner(owner "${level}" "${ARGN}")
  target_precompile_headers(${name} REUSE_FROM ${owner})
endfunction()

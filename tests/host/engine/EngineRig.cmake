# SPDX-License-Identifier: Apache-2.0
# An engine with its devices and listeners, for the tests of this folder and of devices.
add_library(tandem_engine_rig STATIC
  ${CMAKE_CURRENT_LIST_DIR}/engine_rig.cpp
  ${PROJECT_SOURCE_DIR}/tests/support/naive_attention_unit.cpp
  ${PROJECT_SOURCE_DIR}/tests/support/queued_attention_unit.cpp
  ${PROJECT_SOURCE_DIR}/tests/support/queued_compute_unit.cpp)
target_include_directories(tandem_engine_rig PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(tandem_engine_rig
  PUBLIC tandem_engine tandem_device_cpu tandem_gguf_writer
  PRIVATE GTest::gtest tandem_options)

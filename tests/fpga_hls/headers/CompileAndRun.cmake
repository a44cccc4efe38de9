# SPDX-License-Identifier: Apache-2.0
# cmake -DCOMPILER= -DSTANDARD= -DINCLUDES= -DFOLDER= -P: builds the program of this folder as a user would, where any
# warning is an error, and runs it.
file(MAKE_DIRECTORY ${FOLDER})
set(includes)
foreach(folder IN LISTS INCLUDES)
  list(APPEND includes -I${folder})
endforeach()
execute_process(
  COMMAND ${COMPILER} -std=${STANDARD} -O1 -Wall -Wextra -Werror ${includes} ${CMAKE_CURRENT_LIST_DIR}/first.cpp
          ${CMAKE_CURRENT_LIST_DIR}/second.cpp -o ${FOLDER}/program -pthread
  RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "does not compile")
endif()
execute_process(COMMAND ${FOLDER}/program RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "gives another result")
endif()

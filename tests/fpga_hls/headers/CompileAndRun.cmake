# SPDX-License-Identifier: Apache-2.0
# cmake -DCOMPILER= -DSTANDARD= -DLEVEL= -DINCLUDES= -DFOLDER= -P: builds the programs of this folder as a user would, where any
# warning is an error, and runs them: all headers in two translation units and one header alone, with the option LEVEL, and,
# without optimisation, static constants as operands.
file(MAKE_DIRECTORY ${FOLDER})
set(includes)
foreach(folder IN LISTS INCLUDES)
  list(APPEND includes -I${folder})
endforeach()
foreach(program "first;second" only_stream constants)
  set(sources)
  set(level ${LEVEL})
  if(program STREQUAL constants)
    set(level -O0)
  endif()
  foreach(source IN LISTS program)
    list(APPEND sources ${CMAKE_CURRENT_LIST_DIR}/${source}.cpp)
  endforeach()
  execute_process(
    COMMAND ${COMPILER} -std=${STANDARD} ${level} -Wall -Wextra -Werror ${includes} ${sources} -o ${FOLDER}/program -pthread
    RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${program}: does not compile")
  endif()
  execute_process(COMMAND ${FOLDER}/program RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${program}: gives another result")
  endif()
endforeach()

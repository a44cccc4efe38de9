# SPDX-License-Identifier: Apache-2.0
# cmake -DFOLDER=... -DOUTPUT=... -P web_files.cmake: writes a source that holds the files of the folder.
file(GLOB paths ${FOLDER}/*)
list(SORT paths)
set(arrays "")
set(table "")
set(number 0)
foreach(path ${paths})
  get_filename_component(name ${path} NAME)
  file(READ ${path} digits HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${digits}")
  string(APPEND arrays "constexpr char kFile${number}[] = {${bytes}};\n")
  string(APPEND table "    {\"${name}\", {kFile${number}, sizeof kFile${number}}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "// SPDX-License-Identifier: Apache-2.0
#include \"server/web/web_page.h\"

namespace tandem::server {
namespace {

${arrays}
constexpr WebFile kWebFiles[] = {
${table}};

}  // namespace

std::span<const WebFile> web_files() { return kWebFiles; }

}  // namespace tandem::server
")

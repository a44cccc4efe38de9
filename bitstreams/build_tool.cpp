// SPDX-License-Identifier: Apache-2.0
//
// tandem-xclbin-build: the xclbin builder for build systems (tandem_add_xclbin in
// cmake/TandemXclbin.cmake).
#include <CLI/CLI.hpp>
#include <cstdio>

#include "bitstreams/builder.h"

int main(int argc, char** argv) {
  CLI::App app("Builds an emulation xclbin from a recipe", "tandem-xclbin-build");
  std::string recipe;
  tandem::xclbin::BuildOptions options;
  app.add_option("recipe", recipe, "the recipe (TOML)")->required()->check(CLI::ExistingFile);
  app.add_option("-o,--output", options.output,
                 "the xclbin to write (default: <name>.xclbin here)");
  app.add_option("--compiler", options.compiler, "C++ compiler for the kernels")
      ->capture_default_str();
  app.add_option("--hls-include", options.hls_include_dirs,
                 "folder of other HLS headers, such as Vitis' own; may be given again");
  app.add_option("--flag", options.extra_flags, "one more compiler flag; may be given again");
  app.add_option("--depfile", options.depfile, "write a make-style dependency file");
  app.add_flag("-v,--verbose", options.verbose, "print the compiler's command lines");
  CLI11_PARSE(app, argc, argv);
  try {
    const std::string path = tandem::xclbin::build(tandem::xclbin::load_recipe(recipe), options);
    if (options.verbose) std::printf("%s\n", path.c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tandem-xclbin-build: %s\n", error.what());
    return 2;
  }
}

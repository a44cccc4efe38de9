// SPDX-License-Identifier: Apache-2.0
//
// The text of declarations and tables.
#include "bitstreams/compiler/opencl_c/entry_writer.h"

#include <sstream>

namespace tandem::opencl_c {
namespace {

bool is_scalar(const SourceArgument& argument) { return argument.space == AddressSpace::kPrivate; }

// tandem_glue::ArgumentKind, or 3 for __local.
int kind_of(const SourceArgument& argument) {
  if (is_scalar(argument)) return 0;
  return argument.space == AddressSpace::kLocal ? 3 : 1;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// "tandem_cl_field_<kernel>_<index>": a name for the items of one argument.
std::string part(const char* what, const KernelSignature& kernel, size_t index) {
  return "tandem_cl_" + std::string(what) + "_" + kernel.name + "_" + std::to_string(index);
}

// Field types and offsets of scalars, the sizes of all arguments.
void write_layout(std::ostringstream& out, const KernelSignature& kernel) {
  std::string offset = "0x10";
  std::string sizes;
  for (size_t index = 0; index < kernel.arguments.size(); ++index) {
    const SourceArgument& argument = kernel.arguments[index];
    const std::string size = is_scalar(argument) ? "sizeof(" + argument.type + ")" : "8";
    if (is_scalar(argument)) {
      out << "struct __attribute__((packed)) " << part("field", kernel, index) << " { "
          << argument.type << " value; };\n";
    }
    out << "enum { " << part("offset", kernel, index) << " = " << offset << " };\n";
    offset = part("offset", kernel, index) + " + (" + size + " + 3) / 4 * 4 + 4";
    sizes += size + ", ";
  }
  out << "__constant uint tandem_cl_sizes_" << kernel.name << "[] = {" << sizes << "0};\n";
}

void write_call(std::ostringstream& out, const KernelSignature& kernel) {
  const std::string name = "tandem_cl_invoke_" + kernel.name;
  out << "void " << name << "(ulong registers, ulong memory, ulong locals);\n"
      << "__attribute__((no_sanitize(\"memory\"))) void " << name
      << "(ulong registers, ulong memory, ulong locals) {\n  " << kernel.name << "(";
  size_t locals = 0;
  for (size_t index = 0; index < kernel.arguments.size(); ++index) {
    const SourceArgument& argument = kernel.arguments[index];
    const std::string at = "(registers + " + part("offset", kernel, index) + ")";
    out << (index == 0 ? "" : ",\n      ");
    if (is_scalar(argument)) {
      out << "((__global const struct " << part("field", kernel, index) << "*)" << at << ")->value";
    } else if (argument.space == AddressSpace::kLocal) {
      out << "(__local void*)(locals + " << locals++ << " * 16384)";
    } else {
      out << (argument.space == AddressSpace::kConstant ? "(__constant void*)" : "(__global void*)")
          << "(memory + ((__global const struct tandem_cl_address*)" << at << ")->value)";
    }
  }
  out << ");\n}\n";
}

void write_table(std::ostringstream& out, const KernelSignature& kernel) {
  std::string kinds;
  std::string types;
  std::string pipes;
  for (const SourceArgument& argument : kernel.arguments) {
    kinds += std::to_string(kind_of(argument)) + ", ";
    types += "\"" + escaped(argument.type) + "\", ";
  }
  for (const auto& [pipe, writes] : kernel.pipes) pipes += std::to_string(pipe) + ", ";
  const std::string& name = kernel.name;
  out << "extern \"C\" const std::uint32_t tandem_cl_sizes_" << name << "[];\n"
      << "extern \"C\" const std::uint64_t tandem_cl_locals_" << name << "[];\n"
      << "extern \"C\" void tandem_cl_invoke_" << name
      << "(std::uint64_t, std::uint64_t, std::uint64_t);\n"
      << "extern \"C\" __attribute__((visibility(\"default\")))\n"
      << "const tandem_glue::KernelEntry* tandem_kernel_" << name << "() {\n"
      << "  static const std::uint32_t kinds[] = {" << kinds << "0};\n"
      << "  static const char* const types[] = {" << types << "nullptr};\n"
      << "  static const std::uint32_t used[] = {" << pipes << "0};\n"
      << "  static const tandem_opencl::KernelTable table = {\"" << name << "\", "
      << kernel.arguments.size() << ", kinds, tandem_cl_sizes_" << name << ", types, "
      << (kernel.uses_work_items ? "true" : "false") << ", " << kernel.pipes.size()
      << ", used, &tandem_cl_invoke_" << name << ", TANDEM_CL_LOCALS(" << name << ")};\n"
      << "  static tandem_opencl::Kernel kernel(table, pipes, "
         "[](const tandem_glue::Invocation& call) { kernel.call(call); });\n"
      << "  return kernel.entry();\n}\n";
}

void write_pipes(std::ostringstream& out, const std::vector<Pipe>& pipes,
                 const std::vector<std::uint32_t>& pipe_bytes) {
  out << "#include \"opencl_c/pipe_links.h\"\nstatic tandem_opencl::Pipe pipes[] = {\n";
  for (size_t index = 0; index < pipes.size(); ++index) {
    out << "    tandem_opencl::PipeClass<" << pipe_bytes[index] << ", " << pipes[index].depth
        << ">::entry(),\n";
  }
  out << R"(};
extern "C" int tandem_cl_pipe_read(std::uint32_t pipe, std::uint64_t to, std::uint32_t wait) {
  return pipes[pipe].read(pipes[pipe].stream, reinterpret_cast<void*>(to), wait != 0) ? 0 : -1;
}
extern "C" int tandem_cl_pipe_write(std::uint32_t pipe, std::uint64_t from, std::uint32_t wait) {
  return pipes[pipe].write(pipes[pipe].stream, reinterpret_cast<void*>(from), wait != 0) ? 0 : -1;
}
)";
}

}  // namespace

std::string opencl_half(const std::vector<KernelSignature>& kernels) {
  std::ostringstream out;
  out << "\n# 1 \"tandem-glue\"\nstruct __attribute__((packed)) tandem_cl_address { ulong value; "
         "};\n";
  for (const KernelSignature& kernel : kernels) {
    write_layout(out, kernel);
    write_call(out, kernel);
  }
  return out.str();
}

std::string cpp_half(const std::vector<KernelSignature>& kernels, const std::vector<Pipe>& pipes,
                     const std::vector<std::uint32_t>& pipe_bytes) {
  std::ostringstream out;
  out << "#undef _FORTIFY_SOURCE\n#include \"opencl_c/kernel_exports.h\"\n";
  if (pipes.empty()) {
    out << "static tandem_opencl::Pipe* const pipes = nullptr;\n";
  } else {
    write_pipes(out, pipes, pipe_bytes);
  }
  for (const KernelSignature& kernel : kernels) write_table(out, kernel);
  return out.str();
}

}  // namespace tandem::opencl_c

// SPDX-License-Identifier: Apache-2.0
//
// The text only names ports and types; what happens at the ports is in headers.
#include "bitstreams/compiler/rtl/rtl_glue.h"

#include <algorithm>
#include <set>

#include "common/lower_case.h"

namespace tandem::rtl {
namespace {

std::string in_quotes(const std::string& text) { return '"' + text + '"'; }

class GlueWriter {
 public:
  GlueWriter(const std::string& kernel, const RtlDescription& description,
             const Interfaces& interfaces)
      : kernel_(kernel), description_(description), interfaces_(interfaces) {}

  std::string run() {
    text_ = std::string("#include \"kernel_glue.h\"\n#include \"rtl/rtl_unit.h\"\n#include \"") +
            kModelClass + ".h\"\n" +
            "#define TANDEM_PIN(member, width) "
            "tandem_rtl::Pin{&model.member, sizeof(model.member), width}\n"
            "namespace {\n";
    write_beats();
    write_model();
    write_maker();
    write_entry();
    text_ += "}  // namespace\n";
    for (const char* copy : {"kernel", "checked"}) {
      text_ += std::string("extern \"C\" __attribute__((visibility(\"default\"), used)) const ") +
               "tandem_glue::KernelEntry* tandem_" + copy + "_" + kernel_ +
               "() { return entry(); }\n";
    }
    return std::move(text_);
  }

 private:
  const Interface& port_of(const RtlArgument& argument) const {
    const auto& ports =
        argument.kind == ArgumentKind::kStream ? interfaces_.streams : interfaces_.memories;
    return *std::find_if(ports.begin(), ports.end(), [&](const Interface& port) {
      return lower_case(port.name) == lower_case(argument.port);
    });
  }

  static uint32_t bits(const Interface& port, const char* suffix) {
    return port.has(suffix) ? port.signals.at(suffix).bits : 0;
  }

  static std::string beat_type(const Interface& port) {
    const std::string data = "ap_uint<" + std::to_string(std::max(1U, bits(port, "tdata"))) + ">";
    for (const char* side : {"tkeep", "tstrb", "tlast", "tuser", "tid", "tdest"}) {
      if (!port.has(side)) continue;
      return "hls::axis<" + data + ", " + std::to_string(bits(port, "tuser")) + ", " +
             std::to_string(bits(port, "tid")) + ", " + std::to_string(bits(port, "tdest")) + ">";
    }
    return data;
  }

  void write_beats() {
    for (size_t index = 0; index < description_.arguments.size(); ++index) {
      const RtlArgument& argument = description_.arguments[index];
      if (argument.kind != ArgumentKind::kStream) continue;
      text_ += "using Beat" + std::to_string(index) + " = " + beat_type(port_of(argument)) + ";\n";
    }
  }

  void write_model() {
    text_ += std::string("struct CardModel final : tandem_rtl::Model {\n") +
             "  void eval(bool clock) override {\n";
    for (const Signal& clock : interfaces_.clocks) {
      text_ += "    model." + clock.member + " = clock;\n";
    }
    text_ += "    model.eval();\n  }\n  void set_reset(bool active) override {\n";
    for (const Signal& reset : interfaces_.low_resets) {
      text_ += "    model." + reset.member + " = !active;\n";
    }
    text_ += std::string(
                 "    (void)active;\n  }\n  VerilatedContext context;\n"
                 "  const bool is_single = (context.threads(1), true);\n  ") +
             kModelClass + " model{&context, " + in_quotes(kernel_) + "};\n};\n";
  }

  // `members`: of the structure of pins, which has the names of the signals without a leading 't'
  // for streams.
  void write_pins(const char* type, const Interface& port, size_t skipped) {
    text_ += std::string("    ") + type + " pins;\n";
    static const std::set<std::string> kUnused = {
        "awlock", "awcache", "awprot",  "awqos",  "awregion", "awuser",   "wid",    "wuser",
        "buser",  "arlock",  "arcache", "arprot", "arqos",    "arregion", "aruser", "ruser"};
    for (const auto& [suffix, signal] : port.signals) {
      if (kUnused.contains(suffix)) continue;
      text_ += "    pins." + suffix.substr(skipped) + " = TANDEM_PIN(" + signal.member + ", " +
               std::to_string(signal.bits) + ");\n";
    }
  }

  void write_maker() {
    text_ +=
        "std::unique_ptr<tandem_rtl::Unit> make_unit() {\n"
        "  std::unique_ptr<CardModel> owner(new CardModel);\n"
        "  auto& model = owner->model;\n"
        "  std::unique_ptr<tandem_rtl::Unit> unit(new tandem_rtl::Unit(std::move(owner), "
        "tandem_rtl::Protocol::" +
        protocol() + ", {" + words() + "}));\n  (void)model;\n";
    for (const Interface& port : interfaces_.memories) {
      text_ += "  {\n";
      write_pins("tandem_rtl::MemoryPins", port, 0);
      text_ += "    unit->add(std::unique_ptr<tandem_rtl::AxiMemory>(new tandem_rtl::AxiMemory(" +
               in_quotes(port.name) + ", pins)));\n  }\n";
    }
    if (description_.protocol != RtlProtocol::kNone) write_control(interfaces_.controls.front());
    for (size_t index = 0; index < description_.arguments.size(); ++index) {
      if (description_.arguments[index].kind == ArgumentKind::kStream) write_stream(index);
    }
    text_ += "  return unit;\n}\n";
  }

  // AXI4-Lite has fewer signals than a port may carry.
  void write_control(Interface port) {
    for (const char* more : {"bresp", "rresp", "awid", "arid", "bid", "rid", "awlen", "arlen",
                             "awsize", "arsize", "awburst", "arburst", "wlast", "rlast"}) {
      port.signals.erase(more);
    }
    text_ += "  {\n";
    write_pins("tandem_rtl::ControlPins", port, 0);
    text_ += "    unit->add(std::unique_ptr<tandem_rtl::AxiControl>(new tandem_rtl::AxiControl(" +
             in_quotes(port.name) + ", pins)));\n  }\n";
  }

  void write_stream(size_t index) {
    const Interface& port = port_of(description_.arguments[index]);
    const std::string beat = "Beat" + std::to_string(index);
    const std::string made =
        port.writes ? "tandem_rtl::StreamOutput<" + beat + ">(" + in_quotes(port.name) + ", pins)"
                    : "tandem_rtl::StreamInput<" + beat + ">(pins)";
    text_ += "  {\n";
    write_pins("tandem_rtl::StreamPins", port, 1);
    text_ += "    unit->add(" + std::to_string(index) +
             ", std::unique_ptr<tandem_rtl::StreamPort>(new " + made + "));\n  }\n";
  }

  std::string protocol() const {
    if (description_.protocol == RtlProtocol::kNone) return "kNone";
    return description_.protocol == RtlProtocol::kChain ? "kChain" : "kHandshake";
  }

  std::string words() const {
    std::string text;
    for (const RtlArgument& argument : description_.arguments) {
      if (argument.kind == ArgumentKind::kStream) continue;
      text +=
          "{" + std::to_string(argument.offset) + ", " + std::to_string(argument.bytes / 4) + "}, ";
    }
    return text;
  }

  void write_entry() {
    uint32_t end = 16;
    text_ +=
        "std::unique_ptr<tandem_rtl::Unit> kept_unit;\n"
        "void call(const tandem_glue::Invocation& invocation) {\n"
        "  tandem_rtl::call_unit(kept_unit, &make_unit, invocation);\n}\n"
        "const tandem_glue::KernelEntry* entry() {\n"
        "  using namespace tandem_glue;\n"
        "  static ArgumentEntry arguments[] = {\n";
    for (size_t index = 0; index < description_.arguments.size(); ++index) {
      const RtlArgument& argument = description_.arguments[index];
      write_argument(index, argument);
      end = std::max(end, argument.offset + argument.bytes);
    }
    if (description_.arguments.empty()) text_ += "    {}\n";
    text_ += "  };\n";
    for (size_t index = 0; index < description_.arguments.size(); ++index) {
      const RtlArgument& argument = description_.arguments[index];
      if (argument.kind != ArgumentKind::kStream) continue;
      const std::string place = "  arguments[" + std::to_string(index) + "]";
      text_ += place + ".offset = " + std::to_string(argument.offset) + ";\n" + place +
               ".register_bytes = 0;\n" + place +
               ".type = " + in_quotes("hls::stream<" + beat_type(port_of(argument)) + " >&") +
               ";\n";
    }
    text_ += "  static const KernelEntry entry = {kEntryVersion, " + in_quotes(kernel_) + ", " +
             std::to_string(description_.arguments.size()) + ", arguments, &call, " +
             std::to_string(end) + "};\n  return &entry;\n}\n";
  }

  void write_argument(size_t index, const RtlArgument& argument) {
    if (argument.kind == ArgumentKind::kStream) {
      text_ += "    Argument<hls::stream<Beat" + std::to_string(index) + ">&, 0>::describe(),\n";
      return;
    }
    const std::string bytes = std::to_string(argument.bytes);
    text_ += std::string("    {") +
             (argument.kind == ArgumentKind::kGlobal ? "kGlobal" : "kScalar") + ", " + bytes +
             ", " + bytes + ", " + std::to_string(argument.offset) + ", " +
             in_quotes(argument.type) + ", 0, nullptr, nullptr, nullptr},\n";
  }

  const std::string& kernel_;
  const RtlDescription& description_;
  const Interfaces& interfaces_;
  std::string text_;
};

}  // namespace

std::string rtl_glue(const std::string& kernel, const RtlDescription& description,
                     const Interfaces& interfaces) {
  return GlueWriter(kernel, description, interfaces).run();
}

}  // namespace tandem::rtl

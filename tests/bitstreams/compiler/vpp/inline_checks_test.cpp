// SPDX-License-Identifier: Apache-2.0
//
// The code before the calls of a checked copy: what it looks at, and which lines get it. That it
// skips and calls rightly, the seeded bugs show.
#include "bitstreams/compiler/vpp/inline_checks.h"

#include <gtest/gtest.h>

namespace {

using tandem::vpp::inline_checks;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string call_of(const std::string& function) { return "\tcall\t" + function + "@PLT\n"; }

const char* const kFind =
    "\tmovq\t%rdi, %rax\n\tshrq\t$3, %rax\n\tandq\ttandem_check_mask(%rip), %rax\n";

TEST(InlineChecks, ALoadSkipsItsCallByTheShadowByte) {
  const std::string text = inline_checks(call_of("__asan_load4_noabort"));
  EXPECT_EQ(text, std::string(kFind) +
                      "\ttestb\t$0x7f, 0x7fff8000(%rax)\n"
                      "\tje\t.Ltandem_done1\n\tmovsbl\t0x7fff8000(%rax), %eax\n"
                      "\tmovl\t%edi, %ecx\n\tandl\t$7, %ecx\n\taddl\t$3, %ecx\n"
                      "\tcmpb\t%al, %cl\n\tjl\t.Ltandem_done1\n"
                      ".Ltandem_call1:\n" +
                      call_of("__asan_load4_noabort") +
                      ".Ltandem_done1:\n\t.hidden\ttandem_check_mask\n");
}

TEST(InlineChecks, OnlyLoadsTakeBytesThatNoKernelWrote) {
  for (const char* size : {"1", "2", "4", "8", "16"}) {
    const std::string end = std::string(size) + "_noabort";
    EXPECT_TRUE(has(inline_checks(call_of("__asan_load" + end)), "\ttest")) << size;
    EXPECT_FALSE(has(inline_checks(call_of("__asan_store" + end)), "$0x7f")) << size;
  }
}

TEST(InlineChecks, AStoreOfAWholeNewVariableIsNoted) {
  const std::string text = inline_checks(call_of("__asan_store4_noabort"));
  EXPECT_TRUE(has(text,
                  "\tcmpb\t$-108, 0x7fff8000(%rax)\n\tjne\t.Ltandem_call1p\n"
                  "\ttestb\t$7, %dil\n\tjne\t.Ltandem_call1\n\tmovb\t$4, 0x7fff8000(%rax)\n"
                  "\tmovabsq\t$0x200000000000, %rdx\n\tmovb\t$0, (%rdx,%rax)\n"
                  "\tjmp\t.Ltandem_done1\n.Ltandem_call1p:\n"))
      << text;
  EXPECT_TRUE(
      has(inline_checks(call_of("__asan_store8_noabort")), "\tmovb\t$0, 0x7fff8000(%rax)\n"));
}

// Half of 8 bytes of a new array, at either half.
TEST(InlineChecks, AStoreOfAPartOfNewBytesClearsItsBits) {
  const std::string text = inline_checks(call_of("__asan_store4_noabort"));
  EXPECT_TRUE(has(text,
                  "\tcmpb\t$-112, 0x7fff8000(%rax)\n\tjne\t.Ltandem_call1r\n\tmovl\t%edi, %ecx\n"
                  "\tandl\t$7, %ecx\n\tcmpl\t$4, %ecx\n\tja\t.Ltandem_call1\n\tmovl\t$15, %esi\n"
                  "\tshll\t%cl, %esi\n\tnotl\t%esi\n\tmovabsq\t$0x200000000000, %rdx\n"
                  "\tandb\t%sil, (%rdx,%rax)\n\tjne\t.Ltandem_done1\n"
                  "\tmovb\t$0, 0x7fff8000(%rax)\n\tjmp\t.Ltandem_done1\n.Ltandem_call1r:\n"))
      << text;
}

TEST(InlineChecks, ALoadThatIsTakenGivesNoTokenIfItIsRight) {
  EXPECT_EQ(inline_checks(call_of("tandem_take8")),
            "\tmovq\t%rdi, %rdx\n\tshrq\t$3, %rdx\n\tandq\ttandem_check_mask(%rip), %rdx\n"
            "\txorl\t%eax, %eax\n\ttestb\t$0x7f, 0x7fff8000(%rdx)\n\tje\t.Ltandem_done1\n"
            ".Ltandem_call1:\n" +
                call_of("tandem_take8") + ".Ltandem_done1:\n\t.hidden\ttandem_check_mask\n");
  EXPECT_TRUE(has(inline_checks(call_of("tandem_take4")),
                  "\taddl\t$3, %ecx\n\tcmpb\t%sil, %cl\n\tjl\t.Ltandem_done1\n"));
}

TEST(InlineChecks, ATokenThatIsNullNeedsNoCall) {
  for (const char* function :
       {"tandem_used", "tandem_unset_store", "tandem_unset_part", "tandem_unset_choice"}) {
    EXPECT_TRUE(has(inline_checks(call_of(function)),
                    "\ttestq\t%rdi, %rdi\n\tje\t.Ltandem_done1\n.Ltandem_call1:\n"))
        << function;
  }
  EXPECT_TRUE(has(inline_checks(call_of("tandem_probe")),
                  "\txorl\t%eax, %eax\n\ttestq\t%rdi, %rdi\n\tje\t.Ltandem_done1\n"));
  EXPECT_TRUE(has(inline_checks(call_of("tandem_unset_copy")),
                  "\torb\t0x7fff8000(%rcx), %al\n\ttestb\t$0x7f, %al\n\tje\t.Ltandem_done1\n"));
}

TEST(InlineChecks, ScopesOfSmallVariablesChangeBothMaps) {
  const std::string begin = inline_checks(call_of("__asan_unpoison_stack_memory"));
  EXPECT_TRUE(has(begin, "\tandl\t$7, %ecx\n\taddl\t$-112, %ecx\n\tmovb\t%cl, 0x7fff8000(%rax)\n"));
  EXPECT_TRUE(has(begin, "\tdecl\t%r8d\n"));
  const std::string end = inline_checks(call_of("__asan_poison_stack_memory"));
  EXPECT_TRUE(has(end, "\txorl\t%r8d, %r8d\n\tmovb\t$-8, 0x7fff8000(%rax)\n"));
  for (const std::string& text : {begin, end}) {
    EXPECT_TRUE(has(text, "\tcmpq\t$8, %rsi\n\tja\t.Ltandem_call1\n"));
    EXPECT_TRUE(has(text, "\tmovb\t%r8b, (%rdx,%rax)\n\tjmp\t.Ltandem_done1\n"));
  }
}

// 8 bytes are all of those that a shadow byte stands for, 16 those of two.
TEST(InlineChecks, OnlySmallAccessesMayLieInAPart) {
  for (const int size : {1, 2, 4, 8, 16}) {
    const std::string text =
        inline_checks(call_of("__asan_store" + std::to_string(size) + "_noabort"));
    EXPECT_EQ(has(text, "\tjl\t"), size <= 4) << size;
    EXPECT_EQ(has(text, "\tcmpw\t$0, "), size == 16) << size;
    const std::string last = "\taddl\t$" + std::to_string(size - 1) + ", %ecx\n";
    EXPECT_EQ(has(text, last), size == 2 || size == 4) << size;
  }
}

TEST(InlineChecks, AnAnnouncedStoreOfMoreThanAWordIsCalled) {
  const std::string text = inline_checks("\tcall\ttandem_stored\n");
  EXPECT_TRUE(has(text, "\tcmpq\t$8, %rsi\n\tja\t.Ltandem_call1\n")) << text;
  EXPECT_TRUE(has(text, "\tcmpb\t$0, 0x7fff8000(%rax)\n\tje\t.Ltandem_done1\n.Ltandem_call1:\n"))
      << text;
}

TEST(InlineChecks, EachCallHasLabelsOfItsOwn) {
  const std::string text =
      inline_checks(call_of("__asan_load8_noabort") + "\tret\n" + call_of("__asan_load8_noabort"));
  EXPECT_TRUE(has(text, ".Ltandem_done1:\n\tret\n"));
  EXPECT_TRUE(has(text, ".Ltandem_done2:\n"));
}

TEST(InlineChecks, OtherLinesStay) {
  for (const char* line :
       {"\tcall\t__asan_loadN_noabort@PLT\n", "\tcall\t*__asan_load4_noabort@GOTPCREL(%rip)\n",
        "\tcall\t__asan_load4\n", "\tjmp\t__asan_load4_noabort@PLT\n", "\tcall\tmemcpy@PLT\n",
        "__asan_load4_noabort:\n", "\tcall\t__asan_load_noabort\n", "", "\tret"}) {
    EXPECT_EQ(inline_checks(line), line);
  }
  const std::string intel = "\t.intel_syntax noprefix\n" + call_of("__asan_load4_noabort");
  EXPECT_EQ(inline_checks(intel), intel);
}

}  // namespace

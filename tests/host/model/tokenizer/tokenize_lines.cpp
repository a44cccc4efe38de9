// SPDX-License-Identifier: Apache-2.0
//
// Encodes texts for an oracle in another language.
//
// Usage: tokenize_lines vocabulary.gguf [--parse-special]. Reads texts as JSON strings, one a line,
// from stdin; answers each with a line {"ids", "text"}: its ids without BOS, and their text.
#include <iostream>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "model/model.h"

int main(int argc, char** argv) {
  using namespace tandem::model;
  if (argc < 2) return 2;
  try {
    const auto tokenizer = load_tokenizer(argv[1]);
    EncodeOptions options;
    options.add_special = false;
    options.parse_special = argc > 2 && std::string(argv[2]) == "--parse-special";
    for (std::string line; std::getline(std::cin, line);) {
      const auto text = nlohmann::json::parse(line).get<std::string>();
      const std::vector<TokenId> ids = tokenizer->encode(text, options);
      const nlohmann::json answer = {{"ids", ids}, {"text", decode(*tokenizer, ids)}};
      std::cout << answer.dump() << '\n';
    }
  } catch (const tandem::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}

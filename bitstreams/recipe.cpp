// SPDX-License-Identifier: Apache-2.0
//
// Reads recipe manifests with toml++; every key is checked for its type.
#include "bitstreams/recipe.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <toml++/toml.h>

#include "common/error.h"

namespace tandem::xclbin {
namespace {

namespace fs = std::filesystem;

class ManifestReader {
 public:
  explicit ManifestReader(const std::string& path) : path_(path) {}

  Recipe run() {
    const toml::table table = parse();
    check_keys(table,
               {"name", "platform", "connectivity", "include", "flags", "optimisation", "kernel"});
    Recipe recipe;
    recipe.path = path_;
    recipe.name = text(table, "name", "");
    require(!recipe.name.empty(), "name", "is missing");
    recipe.platform = text(table, "platform", recipe.platform);
    if (table.contains("connectivity")) {
      recipe.connectivity_path = resolve(text(table, "connectivity", ""));
    }
    for (const std::string& dir : texts(table, "include"))
      recipe.include_dirs.push_back(resolve(dir));
    recipe.flags = texts(table, "flags");
    if (table.contains("optimisation")) recipe.optimisation = texts(table, "optimisation");
    read_kernels(table, recipe);
    read_connectivity(recipe);
    return recipe;
  }

 private:
  [[noreturn]] void fail(const std::string& key, const std::string& what) const {
    throw Error("xclbin", path_ + ": key '" + key + "' " + what);
  }
  void require(bool condition, const std::string& key, const std::string& what) const {
    if (!condition) fail(key, what);
  }

  toml::table parse() const {
    try {
      return toml::parse_file(path_);
    } catch (const toml::parse_error& error) {
      std::ostringstream where;
      where << error.source().begin;
      throw Error("xclbin",
                  path_ + ": " + std::string(error.description()) + " (" + where.str() + ")");
    }
  }

  void check_keys(const toml::table& table, const std::set<std::string>& known) const {
    for (const auto& [key, value] : table) {
      (void)value;
      require(known.count(std::string(key.str())) > 0, std::string(key.str()), "is unknown");
    }
  }

  std::string text(const toml::table& table, const std::string& key,
                   const std::string& fallback) const {
    if (!table.contains(key)) return fallback;
    const auto value = table[key].value<std::string>();
    require(value.has_value(), key, "is not a string");
    return *value;
  }

  std::vector<std::string> texts(const toml::table& table, const std::string& key) const {
    std::vector<std::string> values;
    if (!table.contains(key)) return values;
    const toml::array* array = table[key].as_array();
    require(array != nullptr, key, "is not an array of strings");
    for (const auto& item : *array) {
      const auto value = item.value<std::string>();
      require(value.has_value(), key, "is not an array of strings");
      values.push_back(*value);
    }
    return values;
  }

  std::string resolve(const std::string& path) const {
    const fs::path base = fs::absolute(path_).parent_path();
    return (base / path).lexically_normal().string();
  }

  void read_kernels(const toml::table& table, Recipe& recipe) const {
    const toml::array* kernels = table["kernel"].as_array();
    require(kernels != nullptr && !kernels->empty(), "kernel",
            "is missing: name one [[kernel]] at least");
    for (const auto& item : *kernels) {
      const toml::table* entry = item.as_table();
      require(entry != nullptr, "kernel", "is not a table");
      check_keys(*entry, {"name", "source", "arguments"});
      KernelRecipe kernel{text(*entry, "name", ""), text(*entry, "source", ""),
                          texts(*entry, "arguments")};
      require(!kernel.name.empty(), "kernel.name", "is missing");
      require(!kernel.source.empty(), "kernel.source", "is missing");
      kernel.source = resolve(kernel.source);
      require(fs::exists(kernel.source), "kernel.source", "names no file: " + kernel.source);
      recipe.kernels.push_back(kernel);
    }
  }

  void read_connectivity(Recipe& recipe) const {
    const Platform& platform = find_platform(recipe.platform);
    if (!recipe.connectivity_path.empty()) {
      std::ifstream in(recipe.connectivity_path);
      require(in.good(), "connectivity", "names no readable file: " + recipe.connectivity_path);
      std::ostringstream text;
      text << in.rdbuf();
      recipe.connectivity = parse_connectivity(text.str(), recipe.connectivity_path, platform);
    }
  }

  std::string path_;
};

}  // namespace

Recipe load_recipe(const std::string& path) {
  if (!fs::exists(path)) throw Error("xclbin", path + ": no such recipe");
  return ManifestReader(path).run();
}

}  // namespace tandem::xclbin

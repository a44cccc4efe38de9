// SPDX-License-Identifier: Apache-2.0
//
// A strict reader for the small XML subset of xclbin metadata: elements, attributes, comments,
// declarations.
//
// Text content is skipped, entities other than the five predefined are errors, no DTD. Depth and
// element count are bounded, so hostile input costs linear time and memory. Errors: Error naming
// file and byte offset within the section. Threads: any.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::xclbin {

struct XmlElement {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::vector<XmlElement> children;

  const XmlElement* child(std::string_view child_name) const;
  std::string attribute(const std::string& key, const std::string& fallback = "") const;
};

XmlElement parse_xml(std::string_view text, const std::string& file_name);

}  // namespace tandem::xclbin

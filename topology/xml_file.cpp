#include "topology/xml_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace orrery::topology {

XmlFile::XmlFile(const std::string& text, const std::string& file) : text_(text), file_(file) {
    const pugi::xml_parse_result result = document_.load_buffer(text_.data(), text_.size());
    if (!result) fail_at(result.offset, result.description(), "the file is no well-formed XML; write it again");
}

void XmlFile::fail_at(std::ptrdiff_t offset, const std::string& what, const std::string& hint) const {
    const auto end = text_.begin() + std::clamp<std::ptrdiff_t>(offset, 0, std::ssize(text_));
    throw Error(file_, fmt::format("line {}", 1 + std::count(text_.begin(), end, '\n')), what, hint);
}

void XmlFile::fail(const pugi::xml_node& at, const std::string& what, const std::string& hint) const {
    fail_at(at.offset_debug(), what, hint);
}

void XmlFile::fail(const std::string& what, const std::string& hint) const { fail_at(0, what, hint); }

void XmlFile::fail_attribute(const pugi::xml_node& at, const char* attribute, const std::string& hint) const {
    fail(at, fmt::format("<{}> has {}=\"{}\"", at.name(), attribute, at.attribute(attribute).value()), hint);
}

double XmlFile::number(const pugi::xml_node& at, const char* attribute, double least, double most,
                       const std::string& hint) const {
    const double value = at.attribute(attribute).as_double(std::nan(""));
    if (!(value >= least && value <= most)) fail_attribute(at, attribute, hint);
    return value;
}

}  // namespace orrery::topology

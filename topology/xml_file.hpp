// An XML file that somebody wrote: its text, and messages that name the line. Only topology/*.cpp include this.
#pragma once

#include <cstddef>
#include <pugixml.hpp>
#include <string>

namespace orrery::topology {

/// Keeps references to both texts.
class XmlFile {
public:
    /// Throws Error, with the line, unless the text is well-formed XML.
    XmlFile(const std::string& text, const std::string& file);

    [[nodiscard]] pugi::xml_node child(const char* element) const { return document_.child(element); }

    /// Throws Error at the line of the element.
    [[noreturn]] void fail(const pugi::xml_node& at, const std::string& what, const std::string& hint) const;
    /// The same at the first line.
    [[noreturn]] void fail(const std::string& what, const std::string& hint) const;
    /// The same for an attribute's value.
    [[noreturn]] void fail_attribute(const pugi::xml_node& at, const char* attribute, const std::string& hint) const;
    /// An attribute's value; throws Error unless it lies in least .. most.
    [[nodiscard]] double number(const pugi::xml_node& at, const char* attribute, double least, double most,
                                const std::string& hint) const;

private:
    [[noreturn]] void fail_at(std::ptrdiff_t offset, const std::string& what, const std::string& hint) const;

    const std::string& text_;
    const std::string& file_;
    pugi::xml_document document_;
};

}  // namespace orrery::topology

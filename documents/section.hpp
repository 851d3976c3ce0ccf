// The keys that one object of a document may have.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "documents/key.hpp"

namespace orrery::documents {

/// What other programs' files ask for and nothing here stands for yet: known, and refused by name.
struct NotModelled {
    std::string_view section;  ///< "strategy"
    std::string_view key;
    std::string_view value;  ///< of a key that there is; empty: the key, whatever its value
    std::string_view what;   ///< "context parallelism is not modelled yet"
    std::string_view instead;
};

struct Section {
    std::string_view name;     ///< "strategy"; "" for the document itself
    std::string_view pointer;  ///< "/strategy"; "" for the document itself; of objects in a list that of the list
    std::vector<Key> keys;
    bool in_list = false;                            ///< its objects are the entries of a list
    std::span<const NotModelled> not_modelled = {};  ///< of all sections
    std::span<const Section> all = {};  ///< of the document, this one among them: where an unknown key may belong
};

/// For messages: the document, "strategy", an entry of "other_jobs".
std::string to_text(const Section& section);

/// The key of that name (not of another spelling); nullptr when there is none.
const Key* find_key(const Section& section, std::string_view name);

/// A key and how it was spelled.
struct Spelled {
    const Key* key = nullptr;            ///< nullptr: no key has that spelling
    const Spelling* spelling = nullptr;  ///< nullptr: by its own name
};
Spelled find_spelled(const Section& section, std::string_view spelling);

/// The entry of an unknown key, or of a key's unknown value; nullptr when there is none. Upper and lower case, '-' and
/// '_' are the same.
const NotModelled* find_not_modelled(const Section& section, std::string_view key, std::string_view value = {});
/// The remedy for it.
std::string instead_of(const NotModelled& known);

/// What is said of a key that the section lacks; file, at: the document and the pointer of the object.
Error unknown_key(const Section& section, const std::string& spelling, const std::string& file, const std::string& at);

/// The known spelling of the section that is nearest to an unknown one.
std::string nearest_key(const Section& section, std::string_view unknown);

}  // namespace orrery::documents

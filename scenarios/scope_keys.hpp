// The keys of one of Whale's scopes, and the key of "strategy" under which they stand.
#pragma once

#include <span>
#include <string_view>

#include "documents/key.hpp"

namespace orrery::scenarios {

/// strategy.scopes.
documents::Key scopes_key();
/// What a scope may hold.
std::span<const documents::Key> scope_keys();

/// Of these a scope has one.
std::span<const std::string_view> scope_words();
/// Parts of a model that `of` may name, in the order of Part from its second on.
std::span<const std::string_view> scope_parts();

}  // namespace orrery::scenarios

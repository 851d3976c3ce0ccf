// Shared memory of the block that runs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace orrery::emulated {

/// For a new block, with `bytes` beside the kernel's own variables: all bits set.
void begin_shared(std::size_t bytes);
/// Whether it holds these bytes.
bool is_shared(const void* memory, std::size_t bytes);
/// What was written behind a variable; none when nothing was.
std::optional<std::string> overrun();

}  // namespace orrery::emulated

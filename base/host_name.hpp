// What this host is called, as ranks tell hosts apart.
#pragma once

#include <string>

namespace orrery {

/// gethostname(2); at most 255 characters of it.
std::string host_name();

}  // namespace orrery

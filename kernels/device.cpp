#include "kernels/device.hpp"

#include <array>

#include "base/error.hpp"

namespace orrery::kernels {

std::string_view name(CopyKind kind) {
    constexpr std::array<std::string_view, 3> names{"host_to_device", "device_to_host", "device_to_device"};
    return names[static_cast<std::size_t>(kind)];
}

DeviceError::DeviceError(std::string message, std::string hint)
    : text_(hint.empty() ? std::move(message) : std::move(message) + " (" + std::move(hint) + ")") {}

void Device::run(std::function<void()>, Stream) {
    throw Error("a " + facts().kind + " device does not run host work on its streams", "use its own launches");
}

}  // namespace orrery::kernels

#include "kernels/device.hpp"

#include <array>

#include "base/error.hpp"

namespace orrery::kernels {

namespace {
constexpr std::array<std::string_view, 3> copy_names{"host_to_device", "device_to_host", "device_to_device"};
}

std::string_view name(CopyKind kind) { return copy_names[static_cast<std::size_t>(kind)]; }

CopyKind copy_from(std::string_view text) {
    for (std::size_t i = 0; i < copy_names.size(); ++i)
        if (copy_names[i] == text) return static_cast<CopyKind>(i);
    throw Error("unknown copy \"" + std::string(text) + "\"",
                "one of host_to_device, device_to_host, device_to_device");
}

DeviceError::DeviceError(std::string message, std::string hint)
    : text_(hint.empty() ? std::move(message) : std::move(message) + " (" + std::move(hint) + ")") {}

void Device::run(std::function<void()>, Stream) {
    throw Error("a " + facts().kind + " device does not run host work on its streams", "use its own launches");
}

}  // namespace orrery::kernels

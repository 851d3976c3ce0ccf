#include "kernels/device.hpp"

#include "base/enum_table.hpp"
#include "base/error.hpp"

namespace orrery::kernels {

namespace {
constexpr EnumNames<CopyKind> copy_names{"host_to_device", "device_to_host", "device_to_device"};
}

std::string_view name(CopyKind kind) { return copy_names[kind]; }

CopyKind copy_from(std::string_view text) {
    if (const auto found = copy_names.find(text)) return *found;
    throw Error("unknown copy \"" + std::string(text) + "\"",
                "one of host_to_device, device_to_host, device_to_device");
}

DeviceError::DeviceError(std::string message, std::string hint)
    : text_(hint.empty() ? std::move(message) : std::move(message) + " (" + std::move(hint) + ")") {}

void Device::copy_rows(void* to, std::uint64_t to_stride, const void* from, std::uint64_t from_stride,
                       std::uint64_t bytes, std::uint64_t rows, Stream stream) {
    for (std::uint64_t row = 0; row < rows; ++row)
        copy(CopyKind::device_to_device, static_cast<std::byte*>(to) + row * to_stride,
             static_cast<const std::byte*>(from) + row * from_stride, bytes, stream);
}

void Device::hold(Stream) {}

double Device::core_hertz_behind(Stream) { return 0; }

void Device::run(std::function<void()>, Stream) {
    throw Error("a " + facts().kind + " device does not run host work on its streams", "use its own launches");
}

std::unique_ptr<Graph> Device::record(Stream, const std::function<void()>&) {
    throw Error("a " + facts().kind + " device records no graphs", "queue the work each time");
}

}  // namespace orrery::kernels

// A file that lives as long as the object.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace orrery::scenarios {

class TemporaryFile {
public:
    explicit TemporaryFile(std::string_view bytes, const std::string& name = "scenario.json")
        : folder_(std::filesystem::temp_directory_path() / ("orrery-test-" + std::to_string(::getpid()))),
          path_(folder_ / name) {
        std::filesystem::create_directories(folder_);
        std::ofstream(path_, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
    ~TemporaryFile() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path folder_, path_;
};

}  // namespace orrery::scenarios

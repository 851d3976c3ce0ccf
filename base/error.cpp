#include "base/error.hpp"

#include <utility>

namespace orrery {

namespace {

std::string compose(const std::string& file, const std::string& pointer, const std::string& message,
                    const std::string& hint) {
    std::string text;
    if (!file.empty()) text += file;
    if (!pointer.empty()) text += (text.empty() ? "" : ":") + pointer;
    if (!text.empty()) text += ": ";
    text += message;
    if (!hint.empty()) text += "\n  hint: " + hint;
    return text;
}

}  // namespace

Error::Error(std::string file, std::string pointer, std::string message, std::string hint)
    : std::runtime_error(compose(file, pointer, message, hint)),
      file_(std::move(file)),
      pointer_(std::move(pointer)),
      message_(std::move(message)),
      hint_(std::move(hint)) {}

Error::Error(std::string message, std::string hint) : Error("", "", std::move(message), std::move(hint)) {}

Error Error::in_file(const std::string& file) const {
    return file_.empty() ? Error(file, pointer_, message_, hint_) : *this;
}

}  // namespace orrery

#include "cli/worker/answer_text.hpp"

#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/error.hpp"
#include "documents/document.hpp"
#include "documents/value.hpp"

namespace orrery::worker {

namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& line) { return line.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string numbered(std::uint64_t number, const std::string& text) { return std::to_string(number) + ' ' + text; }

std::pair<std::uint64_t, std::string> take_number(const std::string& text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    if (read.ec != std::errc{} || read.ptr == end) throw std::runtime_error("a letter without its number");
    return {number, {read.ptr + 1, end}};
}

std::string answer_text(const planning::Simulate& simulate, const std::string& line) {
    try {
        const planning::Work work = planning::work_from_line(line);
        return planning::to_line(work.point, simulate(work));
    } catch (const Error& error) {
        return text_of({{"file", error.file()},
                        {"pointer", error.pointer()},
                        {"message", error.message()},
                        {"hint", error.hint()}});
    } catch (const std::exception& failure) {
        return text_of({{"failure", failure.what()}});
    }
}

planning::Answer answer_of(const std::string& text, const std::string& rank) {
    const nlohmann::json parsed = documents::parse_document(text, rank);
    const documents::Value line(parsed, rank, "the ranks must be of one build");
    if (line.has("failure")) throw std::runtime_error(rank + ": " + line.at("failure").text());
    if (line.has("message"))
        throw Error(line.at("file").text(), line.at("pointer").text(), line.at("message").text(),
                    line.at("hint").text());
    return planning::read_answer(line).second;
}

}  // namespace orrery::worker

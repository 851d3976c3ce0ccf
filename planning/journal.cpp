#include "planning/journal.hpp"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/append_log.hpp"
#include "base/error.hpp"
#include "documents/document.hpp"
#include "documents/value.hpp"

namespace orrery::planning {

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr const char* remedy = "remove it, begin anew with --fresh, or name another with --log";
constexpr const char* first_key = "{\"planning_log\":";

std::string header(const Question& question) {
    const Json line{{"planning_log", 1},
                    {"command", question.command},
                    {"question", question.fingerprint},
                    {"points", question.points}};
    return line.dump();
}

void read_field(const documents::Value& line, const OutcomeField& field, Outcome& to) {
    const documents::Value value = line.at(field.name);
    std::visit(
        [&](auto member) {
            using Type = std::remove_cvref_t<decltype(to.*member)>;
            if constexpr (std::same_as<Type, bool>)
                to.*member = value.boolean();
            else if constexpr (std::same_as<Type, std::string>)
                to.*member = value.text();
            else if constexpr (std::same_as<Type, double>)
                to.*member = value.number();
            else
                to.*member = static_cast<Type>(value.count());
        },
        field.member);
}

}  // namespace

std::string to_line(std::uint64_t point, const Answer& answer) {
    Json line{{"point", point}};
    if (!answer.problem.empty()) {
        line["problem"] = answer.problem;
    } else {
        for (const OutcomeField& field : outcome_fields())
            std::visit([&](auto member) { line[std::string(field.name)] = answer.outcome.*member; }, field.member);
    }
    return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::pair<std::uint64_t, Answer> from_line(std::string_view text) {
    const nlohmann::json parsed = documents::parse_document(text, "");
    return read_answer(documents::Value(parsed, "", remedy));
}

std::pair<std::uint64_t, Answer> read_answer(const documents::Value& line) {
    std::pair<std::uint64_t, Answer> entry;
    entry.first = line.at("point").count();
    if (line.has("problem")) {
        line.only({"point", "problem"});
        entry.second.problem = line.at("problem").text();
        return entry;
    }
    for (const OutcomeField& field : outcome_fields()) read_field(line, field, entry.second.outcome);
    return entry;
}

struct Journal::File {
    File(const std::filesystem::path& path, const std::string& command)
        : name(path.string()), log(path, "another " + command, "name another log with --log") {}
    std::string name;
    AppendLog log;
    Clock::time_point flushed = Clock::now();
};

Journal::Journal(const std::filesystem::path& file, const Question& question, Start start) {
    if (file.empty()) return;
    file_ = std::make_unique<File>(file, question.command);
    read(file_->log.text(), question, start);
}

Journal::~Journal() = default;

/// What cannot be read was cut off, by a kill or by the machine's death: it and what lies behind it is asked again.
void Journal::read(const std::string& text, const Question& question, Start start) {
    const std::string own = header(question) + '\n';
    const std::string_view begin = std::string_view(text).substr(0, std::string_view(first_key).size());
    if (!std::string_view(first_key).starts_with(begin))
        throw Error(file_->name, "", fmt::format("is no log of a {} and is not overwritten", question.command),
                    "name another with --log");
    const bool whole = text.find('\n') != std::string::npos;
    if (start == Start::go_on && whole && !text.starts_with(own))
        throw Error(
            file_->name, "",
            fmt::format("is the log of another question, or of the same one before its scenario, a file that it "
                        "names or the program changed"),
            remedy);
    if (start == Start::afresh || !whole) {
        file_->log.keep(0);
        file_->log.append(own);
        return;
    }
    std::size_t at = own.size();
    for (std::size_t end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) try {
            const auto [point, answer] = from_line(std::string_view(text).substr(at, end - at));
            if (point >= question.points) break;
            found_.insert_or_assign(point, answer);
        } catch (const Error&) {
            break;
        }
    file_->log.keep(at);
}

void Journal::append(std::uint64_t point, const Answer& answer) {
    if (!file_) return;
    const std::string line = to_line(point, answer) + '\n';
    const std::lock_guard lock(mutex_);
    file_->log.append(line);
    if (const auto now = Clock::now(); now - file_->flushed > std::chrono::seconds(1)) {
        file_->log.flush();
        file_->flushed = now;
    }
}

void Journal::remove() {
    if (file_) file_->log.remove();
}

}  // namespace orrery::planning

// A measurement log. One that is accepted goes on where it ended, and becomes a profile or says why not.
#include "calibrate/measure/assemble.hpp"
#include "calibrate/measure/log.hpp"
#include "calibrate/profile_json.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

namespace {

std::string text_of(const calibrate::LogContent& log) {
    std::string text = log.fingerprint.device + '\n';
    for (const calibrate::Record& record : log.records)
        text += record.suite + ' ' + calibrate::to_text(record.subject) + ' ' + record.failure + '\n';
    return text;
}

/// What is appended to a log stands behind what it held.
void require_goes_on(const calibrate::LogContent& log) {
    calibrate::Record record;
    record.suite = "fuzz";
    record.subject = calibrate::OverheadShape{};
    record.failure = "none";
    calibrate::LogWriter(InputFile::path(), log.fingerprint, calibrate::LogWriter::Start::go_on).append(record);
    calibrate::LogContent longer = calibrate::read_log(InputFile::path());
    require(longer.records.size() == log.records.size() + 1, "a record that was appended is there");
    longer.records.pop_back();
    require_same(text_of(longer), text_of(log), "what a log held is there when it goes on");
}

}  // namespace

bool measurement_log(const std::string& input) {
    const InputFile file(input);
    calibrate::LogContent log;
    if (!accepts(InputFile::path(), [&] { log = calibrate::read_log(InputFile::path()); })) return false;
    if (log.whole_bytes > 0) require_goes_on(log);
    try {
        const auto assembled = calibrate::assemble(log, "fuzz", 0);
        require(!calibrate::to_json_text(assembled.profile).empty(), "a profile can be written");
    } catch (const Error& error) {
        require(!error.message().empty(), "an error says what is wrong");
    }
    return true;
}

}  // namespace orrery::fuzz

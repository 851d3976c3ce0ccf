#include "doors/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace orrery::doors {

std::string to_text(const Place& place) {
    if (place.file.empty()) return place.at;
    return place.at.empty() ? place.file : fmt::format("{}:{}", place.file, place.at);
}

Error error_of(const Finding& finding) {
    const std::string what = finding.name.empty() ? finding.what : fmt::format("{}: {}", finding.name, finding.what);
    return {finding.place.file, finding.place.at, what, finding.remedy};
}

void Findings::harmless(const Place& place, std::string name) {
    all_.push_back({Verdict::harmless, place, std::move(name), "", ""});
}

void Findings::not_modelled(const Place& place, std::string name, std::string what, std::string remedy) {
    all_.push_back({Verdict::not_modelled, place, std::move(name), std::move(what), std::move(remedy)});
}

void Findings::unknown(const Place& place, std::string name, std::string remedy) {
    all_.push_back({Verdict::unknown, place, std::move(name), "is not known here", std::move(remedy)});
}

void Findings::refuse(const Place& place, std::string name, std::string what, std::string remedy) {
    all_.push_back({Verdict::refused, place, std::move(name), std::move(what), std::move(remedy)});
}

void Findings::refuse(const Error& error, const Place& place, std::string name) {
    refuse(place, std::move(name), error.message(), error.hint());
}

bool Findings::any(Verdict verdict) const {
    return std::ranges::any_of(all_, [verdict](const Finding& each) { return each.verdict == verdict; });
}

}  // namespace orrery::doors

// Laws of what is read and written: the same scenario is the same prediction, however it came to be.
#include <fmt/format.h>

#include <clocale>
#include <filesystem>
#include <fstream>
#include <locale>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"
#include "report/json.hpp"
#include "report/terminal.hpp"
#include "scenarios/override.hpp"
#include "sim/predict.hpp"
#include "tests/property/laws.hpp"
#include "tests/sim/bench.hpp"

namespace orrery::laws {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// What a user gets: the report for programs.
std::string report_of(const scenarios::Scenario& scenario) {
    return report::json(scenario, sim::predict(scenario, profiles(), {.advice = false}));
}

void require_same(const std::string& one, const std::string& other, const char* where) {
    const auto at = std::ranges::mismatch(one, other).in1 - one.begin();
    require(one == other, fmt::format("another report {}, from byte {}: {:?}", where, at,
                                      one.substr(static_cast<std::size_t>(at), 60)));
}

/// Numbers with a comma and thousands set apart, as in many countries.
struct Punctuation : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
};

/// While it lives the process is elsewhere: in another folder, in another locale.
class Elsewhere {
public:
    Elsewhere() : before_(fs::current_path()), locale_(std::locale::global(std::locale({}, new Punctuation))) {
        fs::current_path(folder_.path());
        for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"})
            if (std::setlocale(LC_ALL, name) != nullptr) break;
    }
    ~Elsewhere() {
        fs::current_path(before_);
        std::locale::global(locale_);
        std::setlocale(LC_ALL, "C");
    }
    Elsewhere(const Elsewhere&) = delete;
    Elsewhere& operator=(const Elsewhere&) = delete;

private:
    TemporaryFolder folder_{"laws"};
    fs::path before_;
    std::locale locale_;
};

/// A leaf of the document, as --set would set it.
scenarios::Override a_leaf(const json& document, std::mt19937_64& random) {
    const json flat = document.flatten();
    auto leaf = flat.begin();
    std::advance(leaf, static_cast<std::ptrdiff_t>(random() % flat.size()));
    std::string path = leaf.key().substr(1);
    std::ranges::replace(path, '/', '.');
    return {path, leaf->dump()};
}

}  // namespace

/// Of two random scenarios, the leaves of one are set in the other: once by --set, once in the file.
void set_as_edited(const Case& of) {
    std::mt19937_64 random(of.seed);
    const json other = sim::random_document(of.seed + 1);
    const json document = json::parse(of.document);
    json edited = document;
    std::vector<scenarios::Override> changes;
    for (std::size_t left = 1 + random() % 3; left > 0; --left) {
        changes.push_back(a_leaf(other, random));
        edited[json::json_pointer(scenarios::pointer_of(changes.back()))] = json::parse(changes.back().value);
    }
    const TemporaryFolder folder("laws");
    const auto outcome = [&](const json& said, const std::vector<scenarios::Override>& set) {
        const fs::path file = folder.path() / "scenario.json";
        std::ofstream(file) << said.dump();
        try {
            auto written = report::resolved(scenarios::load(file, set));
            written.erase("name");  // a title says what was overridden
            return written.dump();
        } catch (const Error& error) {
            return error.pointer() + ' ' + error.message();
        }
    };
    require_same(outcome(edited, {}), outcome(document, changes), "with --set than from an edited file");
}

void same_bytes_anywhere(const Case& of) {
    const std::string here = report_of(of.scenario);
    const Elsewhere elsewhere;
    require_same(report_of(sim::scenario_of(json::parse(of.document))), here, "in another folder and locale");
}

void same_bytes_beside_others(const Case& of) {
    const std::string alone = report_of(of.scenario);
    std::string beside;
    const scenarios::Scenario other = Case(of.seed + 1).scenario;
    std::thread worker([&] { (void)sim::quick(other); });
    try {
        beside = report_of(of.scenario);
    } catch (...) {
        worker.join();
        throw;
    }
    worker.join();
    require_same(beside, alone, "beside another prediction");
}

}  // namespace orrery::laws

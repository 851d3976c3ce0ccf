// A reader of foreign input under attack, and what it must keep. The same targets run under libFuzzer (driver.cpp),
// over the corpus of files (corpus_test.cpp) and over inputs changed at random (mutation_test.cpp).
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace orrery::fuzz {

/// How inputs of a target are changed.
enum class Form : std::uint8_t {
    json,      ///< a document: values, keys and whole parts are changed, the keys of scenarios and plans known
    lines,     ///< lines of words
    messages,  ///< Protocol Buffers' messages, each with its length before it
};

struct Target {
    std::string_view name;
    Form form;
    /// Reads the input and does with it what the program would; whether it was accepted. Throws Broken where the
    /// reader keeps its word badly, and lets through whatever else it throws: both are faults.
    bool (*run)(const std::string& input);
};

/// All of them, by name.
std::span<const Target> targets();
/// nullptr for a name that none has.
const Target* find_target(std::string_view name);

/// A reader took what it should have refused, or refused without saying where and how to mend it.
struct Broken : std::logic_error {
    using std::logic_error::logic_error;
};

/// Throws Broken.
void require(bool kept, const std::string& promise);
/// Throws Broken where the two texts differ, with the place.
void require_same(std::string_view one, std::string_view other, const std::string& promise);
/// Throws Broken unless the error names this file, what is wrong and how to mend it.
void require_helpful(const Error& error, std::string_view file);

/// Whether read() ended without an Error. Where it did not, the Error must help whoever wrote `file`.
template <class Read>
bool accepts(std::string_view file, Read read) {
    try {
        read();
        return true;
    } catch (const Error& error) {
        require_helpful(error, file);
        return false;
    }
}

/// The input as a file: for readers that take nothing else. One at a time; path() stays the same, in memory where the
/// system has such a folder.
class InputFile {
public:
    explicit InputFile(std::string_view bytes);
    [[nodiscard]] static const std::string& path();
};

// The targets, one file each in targets/.
bool cables(const std::string& input);
bool chakra(const std::string& input);
bool comparison(const std::string& input);
bool csv(const std::string& input);
bool document(const std::string& input);
bool gpu_list(const std::string& input);
bool host_file(const std::string& input);
bool hugging_face(const std::string& input);
bool import_deepspeed(const std::string& input);
bool import_hf(const std::string& input);
bool import_megatron(const std::string& input);
bool import_maxtext(const std::string& input);
bool import_nemo(const std::string& input);
bool import_torchtitan(const std::string& input);
bool measured_run(const std::string& input);
bool measurement_log(const std::string& input);
bool nccl_tests(const std::string& input);
bool nccl_xml(const std::string& input);
bool nsys(const std::string& input);
bool override_list(const std::string& input);
bool prediction(const std::string& input);
bool profile(const std::string& input);
bool rows(const std::string& input);
bool run_plan(const std::string& input);
bool scenario(const std::string& input);
bool simgrid_xml(const std::string& input);
bool subject(const std::string& input);
bool torch_trace(const std::string& input);

}  // namespace orrery::fuzz

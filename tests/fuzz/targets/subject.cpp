// A point to measure. One that is accepted is the same when it is written and read again.
#include "calibrate/measure/subject.hpp"

#include <nlohmann/json.hpp>

#include "documents/document.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

bool subject(const std::string& input) {
    try {
        const calibrate::Subject read = calibrate::subject_from(documents::parse_document(input, "point.json"));
        const calibrate::Subject again = calibrate::subject_from(calibrate::to_json(read));
        require(again == read, "a point is itself when it is written and read again");
        require(!calibrate::to_text(read).empty(), "a point has a name");
        return true;
    } catch (const Error& error) {
        require(!error.message().empty(), "an error says what is wrong");
        return false;  // who reads a list of points adds file and place
    }
}

}  // namespace orrery::fuzz

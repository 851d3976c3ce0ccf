#include "base/interrupt.hpp"
#include "cli/command.hpp"

int main(int argc, char** argv) {
    orrery::end_when_interrupted("orrery");
    return static_cast<int>(orrery::cli::run(argc, argv));
}

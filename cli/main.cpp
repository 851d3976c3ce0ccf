#include "cli/command.hpp"

int main(int argc, char** argv) { return static_cast<int>(orrery::cli::run(argc, argv)); }

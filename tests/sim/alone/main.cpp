// A program that predicts without SimGrid, as a worker of a sweep may be built; a test looks at what it needs.
#include <fmt/format.h>

#include "scenarios/scenario.hpp"
#include "sim/predict.hpp"

int main(int count, char** arguments) {
    for (int i = 1; i < count; ++i)
        fmt::print("{:.6f}\n", orrery::sim::predict(orrery::scenarios::load(arguments[i])).step_time_s);
    return 0;
}

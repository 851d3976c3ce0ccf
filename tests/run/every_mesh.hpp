// The suites that hold every mesh and every mode to the plain implementation: equivalence_test.cpp says what is held,
// the files beside it which meshes.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/run/small_models.hpp"

namespace orrery::run {

/// In fp32.
class EveryMesh : public testing::TestWithParam<Case> {};
/// In bf16 and fp16.
class InSixteenBits : public testing::TestWithParam<Case> {};

inline std::string name_of(const testing::TestParamInfo<Case>& one) { return one.param.name; }

}  // namespace orrery::run

// TPU pods: chips joined by their own links in a torus (torus.hpp has the picture). A chip is a node of one, so that
// every transfer crosses links that others use too.
#pragma once

#include "topology/design.hpp"

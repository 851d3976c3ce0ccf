// DGX SuperPOD reference architectures: rail-optimised, non-blocking, scalable unit after scalable unit.
//
//   A100 (RA-09950-001): 20 nodes a scalable unit (SU), 8 leaves (one a rail) of 20 + 20 ports, QM8700 with 40 ports
//     up to 5 SU   spines joined to all leaves (by the same rule; the reference fixes 7 SU)
//     7 SU, 140    a group of 10 spines a rail, 28 cores in 2 groups  56 leaves, 80 spines, 28 cores, 3 x 1,120 cables
//       rail 0: SU1 leaf .. SU7 leaf ==2==> 10 spines --14--> cores     (leaf: 20 up = 2 x 10; spine: 14 down, 14 up)
//     14, 28 SU    two and four such SuperPODs (Selene) under a common core
//
//   H100 (RA-11333-001): 32 nodes a SU, 8 leaves of 32 + 32 ports, QM9700 with 64 ports
//     1..8 SU      spines joined to all leaves      4, 8, 16, 16 spines for 1 to 4 SU, 32 for 8 SU
//     16..64 SU    spine groups a rail, core        128/128/64, 256/256/128, 512/512/256 leaves/spines/cores
//                  (the larger sizes are tabled in the B200 edition, which has the same units and switches)
//
// A cluster with fewer nodes fills the units in order; the fabric keeps the whole units, as the reference asks.
#pragma once

#include "topology/design.hpp"

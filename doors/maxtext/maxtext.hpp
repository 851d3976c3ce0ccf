// The parts of MaxText's configurations that are understood together.
#pragma once

#include <span>

#include "doors/draft.hpp"
#include "doors/import.hpp"
#include "doors/meaning.hpp"

namespace orrery::doors::maxtext {

/// What the single keys mean (configs/base.yml).
std::span<const Row> keys();

/// model_name and the sizes that override it, or the sizes alone.
void read_model(const Request& request, const Givens& given, Draft& draft);

/// Devices by compile_topology, the command line or the axes of the mesh, and what these axes divide. Returns how many
/// devices of MaxText's are one here: a TPU7x is two.
std::uint64_t read_mesh(const Request& request, const Givens& given, Draft& draft);

/// per_device_batch_size, which counts sequences a device of the mesh and accumulation step; after read_mesh().
void read_batch(const Givens& given, std::uint64_t devices_of_chip, Draft& draft);

/// remat_policy and the tensors that it names.
void read_remat(const Givens& given, Draft& draft);

}  // namespace orrery::doors::maxtext

// The keys of a scenario file: one table for the loader, its messages and the test that compares them with
// scenario.schema.json.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::scenarios {

/// An object of the scenario file.
enum class Place : std::uint8_t { document, model, cluster, strategy, training, outputs, perturbations, other_job };

/// "/strategy"; "" for the document itself; of an object in a list that of the list.
std::string_view pointer(Place place);

enum class Kind : std::uint8_t {
    object,
    objects,  ///< a list of objects
    text,
    texts,        ///< a list of texts
    named_texts,  ///< a text, or an object of texts
    boolean,
    integer,  ///< whole number in [min, max]
    number,   ///< real number in [min, max]
    choice,   ///< one of choices
    bytes,    ///< "160 MB", in [min, max] bytes
    rate,     ///< "200 Gb/s", in [min, max] bytes per second
    tokens,   ///< "300B" or a bare number, in [min, max]
};

struct Key {
    Place place;
    std::string_view name;
    Kind kind;
    double min = 0, max = 0;
    std::span<const std::string_view> choices = {};
    bool required = false;
};

/// Another spelling of a key. A plain one has the same values; a switch is a boolean that stands for a JSON value
/// of the key ("use_distributed_optimizer": true is "sharding": "zero1").
struct Alias {
    Place place;
    std::string_view spelling, name;
    std::string_view when_true = {}, when_false = {};  ///< JSON texts; both empty: plain; one empty: says nothing

    [[nodiscard]] bool is_switch() const { return !when_true.empty() || !when_false.empty(); }
};

std::span<const Key> keys();
std::span<const Alias> aliases();

/// The key of that name (not of another spelling); nullptr when there is none.
const Key* find_key(Place place, std::string_view name);
/// The alias of that spelling; nullptr when there is none.
const Alias* find_alias(Place place, std::string_view spelling);

/// The known spelling of the place that is nearest to an unknown one.
std::string nearest_key(Place place, std::string_view unknown);

/// The places whose keys include this name: an unknown key is often a known one in the wrong object.
std::vector<Place> places_of(std::string_view name);

}  // namespace orrery::scenarios

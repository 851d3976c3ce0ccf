// Words with their variables put in. What only a run of the script would tell is a mark (traced.hpp).
#pragma once

#include <string>
#include <vector>

#include "doors/shell/arithmetic.hpp"
#include "doors/shell/environment.hpp"
#include "doors/shell/syntax.hpp"

namespace orrery::doors::shell {

/// The words that a word becomes: none for a variable that is empty, several for a list or a text with blanks.
std::vector<Traced> fields(const Word& word, const Environment& environment);

/// The one text that it is where blanks do not separate: values of assignments, words of [[ ]] and case.
Traced text(const Word& word, const Environment& environment);

/// What $(( )) or (( )) of this source comes to.
Number reckon(const Traced& source, const Environment& environment);

}  // namespace orrery::doors::shell

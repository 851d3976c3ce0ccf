#include "doors/dropout.hpp"

#include "doors/convert.hpp"

namespace orrery::doors {

void read_dropout(const Givens& given, std::string_view hidden, std::string_view attention, Draft& draft) {
    constexpr double usual = 0.1;
    const Given *const of_hidden = given.find(hidden), *const of_attention = given.find(attention);
    const auto rate = [usual](const Given* said) {
        return said == nullptr ? std::optional(usual) : real_number(said->value);
    };
    if (of_hidden != nullptr) set_key("/training/dropout", *of_hidden, draft);
    draft.set_default("/training/dropout", usual, draft.whole_file());
    if (rate(of_hidden) == rate(of_attention)) return;
    if (rate(of_attention) == 0.0) return draft.set("/model/hidden_dropout_alone", true, of_attention->origin);
    const Given* const differs = of_attention != nullptr ? of_attention : of_hidden;
    draft.findings.not_modelled(differs->origin.place, differs->origin.name,
                                "attention's dropout is timed like that of hidden states",
                                "--set training.dropout=0 leaves both out");
}

}  // namespace orrery::doors

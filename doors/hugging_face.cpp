// A model alone: what trains it comes from --set, with the usual plan where it says nothing.
#include "doors/model.hpp"
#include "doors/readers.hpp"

namespace orrery::doors {

void read_hugging_face(const Request& request, Draft& draft) {
    put_named_model(request.file, draft);
    draft.want("/training/seq_length", draft.whole_file(), "a model does not say how it is trained: no sequence length",
               "--set training.seq_length=N");
    draft.want("/training/global_batch_size", draft.whole_file(),
               "a model does not say how it is trained: no batch size", "--set training.global_batch_size=N");
}

}  // namespace orrery::doors

// The tables of shipped models, one function per family file.
#pragma once

#include <vector>

#include "models/operators.hpp"

namespace orrery::models {

std::vector<ModelSpec> gpt_models();
std::vector<ModelSpec> llama_models();
std::vector<ModelSpec> opt_models();
std::vector<ModelSpec> gemma_models();
std::vector<ModelSpec> bert_models();
std::vector<ModelSpec> moe_models();
std::vector<ModelSpec> resnet_models();
std::vector<ModelSpec> vgg_models();
std::vector<ModelSpec> vit_models();
std::vector<ModelSpec> clip_models();
std::vector<ModelSpec> t5_models();
std::vector<ModelSpec> mamba_models();
std::vector<ModelSpec> transformer_xl_models();

/// A ResNet of a spec's classes, images and depths; of all that only Transformers have, what says nothing.
ModelSpec with_resnet_structure(ModelSpec spec);
/// The same of VGG: of a spec's classes, images and layers.
ModelSpec with_vgg_structure(ModelSpec spec);

/// A Transformer over patches of images of a spec's sizes; of all that its structure decides, what that is.
ModelSpec with_vit_structure(ModelSpec spec);
/// The same of one tower for images and one for texts.
ModelSpec with_clip_structure(ModelSpec spec);

/// The graphs of families, of checked specs.
Model build_transformer(const ModelSpec& spec);
Model build_resnet(const ModelSpec& spec);
Model build_vgg(const ModelSpec& spec);
Model build_vit(const ModelSpec& spec);
Model build_clip(const ModelSpec& spec);
Model build_t5(const ModelSpec& spec);
Model build_hybrid(const ModelSpec& spec);
Model build_transformer_xl(const ModelSpec& spec);

/// Adds the layers that predict spec.further_tokens behind the next one, and their losses.
void predict_further_tokens(Model& model);

/// Fills what a row of a table leaves 0: kv_heads = heads, head_dim = hidden / heads, ffn = 4 hidden; of a model
/// with experts expert_ffn = ffn, and all layers have them.
ModelSpec with_derived_widths(ModelSpec spec);

/// Of all that Transformer-XL's structure decides, its values: the sizes, the vocabulary and the dropout stay.
ModelSpec with_transformer_xl_structure(ModelSpec spec);

/// The same for Llama's structure: RMSNorm, rotary positions, SwiGLU, no biases, logits of their own.
ModelSpec with_llama_structure(ModelSpec spec);

}  // namespace orrery::models

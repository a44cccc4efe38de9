// SPDX-License-Identifier: Apache-2.0
//
// The kind of a model is in the checkpoint, or in the file that describes a new model.
#include "apps/train/job.h"

#include "common/error.h"
#include "training/trainer/config_fields.h"

namespace tandem::apps {
namespace {

// The kind of the model that --from or --model-config names; empty: none.
std::string named_kind(const TrainOptions& options) {
  if (!options.from.empty() && !options.model_config.empty()) {
    throw Error("train", "--from " + options.from + " and --model-config " + options.model_config +
                             " exclude each other; give one of them");
  }
  if (!options.from.empty()) return "llama";
  return options.model_config.empty() ? "" : training::model_kind(options.model_config);
}

}  // namespace

std::string kind_of(const JobSource& source) {
  const std::string named = named_kind(source.options);
  if (source.checkpoint != nullptr) {
    const std::string saved = source.checkpoint->fields.value("family", "");
    if (!named.empty() && named != saved) {
      throw other_model(source.options, "the kind is " + saved + " there and " + named + " here");
    }
    return saved;
  }
  if (!named.empty()) return named;
  throw Error("train",
              "name a model: --model-config for a new one, --from for an existing one, "
              "or --resume");
}

Error other_model(const TrainOptions& options, const std::string& difference) {
  const std::string named =
      options.from.empty() ? "--model-config " + options.model_config : "--from " + options.from;
  return {"train", "--resume " + options.resume + " has another model than " + named + ": " +
                       difference + "; leave out one of the two options"};
}

std::unique_ptr<TrainJob> make_job(const JobSource& source) {
  const std::string kind = kind_of(source);
  const bool is_recommender = kind == "recommender";
  if (!is_recommender && !source.options.data.empty()) {
    throw Error("train", "--data " + source.options.data +
                             " is for a recommender; a model of the kind " + kind +
                             " learns from --text");
  }
  if (is_recommender && !source.options.text.empty()) {
    throw Error("train", "--text " + source.options.text +
                             " is for a language model; a recommender learns from --data");
  }
  if (is_recommender && !source.options.tokenizer.empty()) {
    throw Error("train", "--tokenizer " + source.options.tokenizer +
                             " is for a language model; a recommender has no tokenizer");
  }
  if (!is_recommender && source.options.offload.starts_with("xrt")) {
    throw Error("train", "--offload " + source.options.offload +
                             ": cards hold embedding tables, and a language model has none; "
                             "choose none, host or auto");
  }
  if (kind != "llama") check_dynamic_options(source.options, {});
  return is_recommender ? make_recommender_job(source) : make_language_job(source, kind);
}

}  // namespace tandem::apps

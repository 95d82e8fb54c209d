"""Columns of Neuronpedia's database into which an export is imported, as facts.

Source: `apps/webapp/prisma/schema.prisma` of github.com/hijohnnylin/neuronpedia at ebb8426f (20 August 2026). Of each
table its scalar columns: the type, `?` where null is allowed, `[]` for a list, `=` where the database has a default.
Prisma refuses keys that are no columns in the four metadata files; the import of the other three leaves them out.
"""

RELEASE = """
name String, visibility Visibility=, isNewUi Boolean=, featured Boolean=, description String, descriptionShort String?,
urls String[], creatorEmail String?, creatorName String, creatorNameShort String?, creatorId String,
defaultSourceSetName String?, defaultSourceId String?, defaultUmapSourceIds String[]=, createdAt DateTime=
"""
MODEL = """
id String, displayNameShort String=, displayName String=, creatorId String, tlensId String?, openRouterId String?,
dimension Int?, thinking Boolean=, visibility Visibility=, defaultSourceSetName String?, defaultSourceId String?,
defaultGraphSourceSetName String?, inferenceEnabled Boolean=, instruct Boolean=, layers Int, neuronsPerLayer Int,
createdAt DateTime=, owner String, updatedAt DateTime=, website String?
"""
SOURCE_SET = """
modelId String, name String, hasDashboards Boolean=, allowInferenceSearch Boolean=, visibility Visibility=,
description String, type String=, creatorName String, urls String[], creatorEmail String?, creatorId String,
releaseName String?, hasGraphs Boolean=, graphEnabled Boolean=, similarityMatrixEnabled Boolean=,
defaultOfModelId String?, defaultGraphModelId String?, defaultRange Int=, defaultShowBreaks Boolean=, showDfa Boolean=,
showCorrelated Boolean=, showHeadAttribution Boolean=, showUmap Boolean=, createdAt DateTime=
"""
SOURCE = """
id String, modelId String, hasDashboards Boolean=, inferenceEnabled Boolean=, saelensRelease String?,
saelensSaeId String?, hfRepoId String?, hfFolderId String?, visibility Visibility=, defaultOfModelId String?,
setName String, creatorId String, hasUmap Boolean=, hasUmapLogSparsity Boolean=, hasUmapClusters Boolean=,
num_prompts Int?, num_tokens_in_prompt Int?, dataset String?, notes String?, cosSimMatchModelId String?,
cosSimMatchSourceId String?, createdAt DateTime=
"""
NEURON = """
modelId String, layer String, index String, sourceSetName String?, creatorId String?, createdAt DateTime=,
maxActApprox Float?, hasVector Boolean=, vector Float[]=, vectorLabel String?, vectorDefaultSteerStrength Float?,
hookName String?, topkCosSimIndices Int[]=, topkCosSimValues Float[]=, neuron_alignment_indices Int[]=,
neuron_alignment_values Float[]=, neuron_alignment_l1 Float[]=, correlated_neurons_indices Int[]=,
correlated_neurons_pearson Float[]=, correlated_neurons_l1 Float[]=, correlated_features_indices Int[]=,
correlated_features_pearson Float[]=, correlated_features_l1 Float[]=, neg_str String[]=, neg_values Float[]=,
pos_str String[]=, pos_values Float[]=, frac_nonzero Float=, freq_hist_data_bar_heights Float[]=,
freq_hist_data_bar_values Float[]=, logits_hist_data_bar_heights Float[]=, logits_hist_data_bar_values Float[]=,
decoder_weights_dist Float[]=, umap_cluster Int?, umap_log_feature_sparsity Float?, umap_x Float?, umap_y Float?
"""
ACTIVATION = """
id String=, tokens String[], dataIndex String?, index String, layer String, modelId String, dataSource String?,
maxValue Float, maxValueTokenIndex Int, minValue Float, values Float[], dfaValues Float[]=, dfaTargetIndex Int?,
dfaMaxValue Float?, zQIndices Int[]=, zKIndices Int[]=, zValues Float[]=, creatorId String, createdAt DateTime=,
lossValues Float[]=, logitContributions String?, binMin Float?, binMax Float?, binContains Float?,
qualifyingTokenIndex Int?
"""
EXPLANATION = """
id String=, modelId String, layer String, index String, description String, authorId String, triggeredByUserId String?,
notes String?, scoreV1 Float=, scoreV2 Float?, umap_x Float?, umap_y Float?, umap_cluster Int?,
umap_log_feature_sparsity Float?, typeName String?, explanationModelName String?, createdAt DateTime=,
updatedAt DateTime=
"""
# What `Feature` and `Activation` of its converter write, from which the import takes its columns.
CONVERTER = {
    "features": set(NEURON.replace("\n", " ").split()[0::2])
    - {"umap_cluster", "umap_log_feature_sparsity", "umap_x", "umap_y"},
    "activations": set(ACTIVATION.replace("\n", " ").split()[0::2]) - {"zQIndices", "zKIndices", "zValues"},
}
_KINDS = {"String": str, "Int": int, "Float": (int, float), "Boolean": bool, "DateTime": str, "Visibility": str}


def complaints(columns: str, row: dict[str, object]) -> list[str]:
    """What of a row its table would refuse."""
    said, types = list[str](), dict(pair.split() for pair in columns.replace("\n", " ").split(","))
    said += [f"{name}: no such column" for name in row.keys() - types.keys()]
    for name, full in types.items():
        kind, value = _KINDS[full.rstrip("=?").removesuffix("[]")], row.get(name)
        if name not in row:
            said += [f"{name}: missing"] if not full.endswith(("=", "?")) else []
        elif value is None:
            said += [f"{name}: null"] if not full.endswith("?") else []
        elif "[]" in full:
            said += [] if isinstance(value, list) and all(_is(v, kind) for v in value) else [f"{name}: {value!r}"]
        elif not _is(value, kind):
            said.append(f"{name}: {value!r}")
    return said


def _is(value: object, kind: type | tuple[type, ...]) -> bool:
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))

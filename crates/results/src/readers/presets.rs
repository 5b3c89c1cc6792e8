//! The table columns of well-known libraries.

use super::collect::{HIGHER, LOWER, UNKNOWN};
use crate::MetricKind;

/// The columns of a library. A name may contain one `*`, which matches any text. If there are several names, for inputs
/// and expected values all existing columns are used, and otherwise the first existing one.
pub(super) struct Preset {
    pub tool: &'static str,
    pub case: &'static [&'static str],
    pub input: &'static [&'static str],
    pub expected: &'static [&'static str],
    pub answer: &'static [&'static str],
    pub repeat: &'static [&'static str],
    pub error: &'static [&'static str],
    /// The columns of scores: the part that matches `*` is the name of the metric.
    pub scores: &'static [&'static str],
    /// The columns that say why a score is missing.
    pub score_errors: &'static [&'static str],
    /// Fields with a list of objects, each with a `name` and the score under one of two keys.
    pub lists: &'static [&'static str],
    /// Columns that are not scores although `scores` may match them.
    pub others: &'static [&'static str],
    /// Figures for the cost of a sample: the column, the metric, and the divisor of the value.
    pub costs: &'static [(&'static str, &'static str, f64)],
    /// The properties of a metric of the library, by its name.
    pub kind: fn(&str) -> MetricKind,
}

/// A library without any known column.
const NONE: Preset = Preset {
    tool: "",
    case: &[],
    input: &[],
    expected: &[],
    answer: &[],
    repeat: &[],
    error: &[],
    scores: &[],
    score_errors: &[],
    lists: &[],
    others: &[],
    costs: &[],
    kind: |_| UNKNOWN,
};

/// The metrics of ragas for which more is better, according to its documentation.
const RAGAS_HIGHER: &[&str] = &[
    "answer_correctness",
    "answer_relevancy",
    "answer_similarity",
    "bleu_score",
    "chrf_score",
    "context_entity_recall",
    "context_precision",
    "context_recall",
    "exact_match",
    "factual_correctness",
    "faithfulness",
    "id_based_context_precision",
    "id_based_context_recall",
    "llm_context_precision_with_reference",
    "llm_context_precision_without_reference",
    "non_llm_context_precision_with_reference",
    "non_llm_context_recall",
    "non_llm_string_similarity",
    "nv_accuracy",
    "nv_context_relevance",
    "nv_response_groundedness",
    "rouge_score",
    "semantic_similarity",
    "string_present",
    "tool_call_accuracy",
    "tool_call_f1",
];

fn ragas(metric: &str) -> MetricKind {
    // The name of a metric may include its options, e.g. `factual_correctness(mode=f1)`.
    let name = metric.split('(').next().unwrap_or(metric);
    if name.starts_with("noise_sensitivity") {
        return LOWER;
    }
    if RAGAS_HIGHER.contains(&name) {
        HIGHER
    } else {
        UNKNOWN
    }
}

pub(super) static RAGAS: Preset = Preset {
    tool: "ragas",
    input: &["user_input"],
    expected: &[
        "reference",
        "reference_contexts",
        "reference_tool_calls",
        "rubrics",
    ],
    answer: &["response"],
    scores: &["*"],
    others: &[
        "Unnamed: 0",
        "id",
        "multi_responses",
        "persona_name",
        "query_length",
        "query_style",
        "reference_context_ids",
        "retrieved_context_ids",
        "retrieved_contexts",
        "synthesizer_name",
    ],
    kind: ragas,
    ..NONE
};

pub(super) static LANGSMITH: Preset = Preset {
    tool: "langsmith",
    case: &["example_id"],
    input: &["inputs.*"],
    expected: &["reference.*"],
    answer: &["outputs.answer", "outputs.output", "outputs.*"],
    error: &["error"],
    scores: &["feedback.*"],
    costs: &[("execution_time", "latency_s", 1.0)],
    ..NONE
};

pub(super) static MLFLOW: Preset = Preset {
    tool: "mlflow",
    input: &["request", "inputs"],
    expected: &[
        "expectations",
        "expected_response/value",
        "targets",
        "ground_truth",
    ],
    answer: &["response", "outputs"],
    scores: &["*/v1/score", "*/score", "*/value"],
    score_errors: &["*/error_message"],
    ..NONE
};

pub(super) static LANGFUSE: Preset = Preset {
    tool: "langfuse",
    case: &["experimentItemId", "experiment_item_id"],
    input: &["input"],
    expected: &["expectedOutput", "expected_output"],
    answer: &["output"],
    scores: &["scores.*"],
    lists: &["scores"],
    ..NONE
};

pub(super) static PHOENIX: Preset = Preset {
    tool: "phoenix",
    case: &["example_id"],
    input: &["input"],
    expected: &["reference_output"],
    answer: &["output"],
    repeat: &["repetition_number"],
    error: &["error"],
    scores: &["annotation_*_score"],
    score_errors: &["annotation_*_error"],
    lists: &["annotations"],
    costs: &[("latency_ms", "latency_s", 1000.0)],
    ..NONE
};

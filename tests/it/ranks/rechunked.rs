//! Documents that are cut anew, with labels that follow, that stay as they are, or that hide a loss.

use kelvin_fixtures::text::{lines_with, redacted};
use serde_json::{Value, json};

use super::{
    DETERMINISTIC, QUERIES, answers, base, configure, gate, project as project_of, write_golden,
};
use crate::project::Project;

/// How long every document is.
const LENGTH: u64 = 4_800;

/// How documents are cut: pieces of this size, one every so many characters.
#[derive(Clone, Copy)]
struct Cut {
    size: u64,
    step: u64,
}

const OLD: Cut = Cut {
    size: 800,
    step: 800,
};

impl Cut {
    fn starts(self) -> impl Iterator<Item = u64> {
        (0..LENGTH).step_by(usize::try_from(self.step).expect("small"))
    }

    fn end(self, start: u64) -> u64 {
        (start + self.size).min(LENGTH)
    }

    /// The piece that has most of the piece of the old cut in which the answer stands, and the answer itself.
    fn piece(self, at: usize) -> u64 {
        let answer = answer(at);
        let old = answer / OLD.size * OLD.size;
        let whole = self
            .starts()
            .filter(|start| *start <= answer && answer + 40 <= self.end(*start));
        let shared = |start: &u64| self.end(*start).min(old + OLD.size) - (*start).max(old);
        whole.max_by_key(shared).expect("a piece has it")
    }

    fn name(self, doc: &str, start: u64) -> String {
        format!("{doc}/{}-{start}", self.size)
    }

    fn hit(self, doc: &str, start: u64) -> Value {
        json!({
            "chunk_id": self.name(doc, start), "doc_id": doc,
            "spans": [{ "start": start, "end": self.end(start) }],
        })
    }

    /// The first pieces of other documents, and where it is found a piece of the document of the query at the top.
    fn answer(self, at: usize, piece: Option<u64>) -> Value {
        let found = piece.map(|start| self.hit(&doc(at), start));
        let others = (1..=10).map(|place| self.hit(&format!("x{place}"), 0));
        let hits: Vec<Value> = found.into_iter().chain(others).take(10).collect();
        json!({ "hits": hits, "chunker_version": format!("{}-{}", self.size, self.step) })
    }

    fn found(self, at: usize) -> Value {
        self.answer(at, Some(self.piece(at)))
    }

    fn label(self, at: usize) -> Value {
        json!({ "expected_chunk_ids": [self.name(&doc(at), self.piece(at))] })
    }

    fn corpus(self) -> String {
        let docs = (0..QUERIES)
            .map(doc)
            .chain((1..=10).map(|at| format!("x{at}")));
        let lines = docs.flat_map(|doc| {
            let line = move |start| {
                format!(
                    "{}\n",
                    json!({ "doc_id": doc, "chunk_id": self.name(&doc, start) })
                )
            };
            self.starts().map(line).collect::<Vec<_>>()
        });
        lines.collect()
    }
}

fn doc(at: usize) -> String {
    format!("d{at}")
}

/// Where the answer of a query stands: 40 characters that lie within a piece of every cut.
fn answer(at: usize) -> u64 {
    let at = at as u64;
    800 * (at % 6) + 200 * (at % 4) + 7 * at % 160
}

/// A project that was measured with the old cut.
fn project(retrieval: &str) -> Project {
    let project = project_of(&|at| OLD.label(at), DETERMINISTIC);
    project.write("corpus.jsonl", &OLD.corpus());
    configure(&project, retrieval, DETERMINISTIC);
    base(&project, &|at| OLD.found(at));
    project
}

const WITH_CORPUS: &str = "  corpus: corpus.jsonl\n";

/// Cuts the documents anew and says what each query finds.
fn cut(project: &Project, cut: Cut, answer: &dyn Fn(usize) -> Value) {
    project.write("corpus.jsonl", &cut.corpus());
    answers(project, QUERIES, answer);
}

#[test]
fn documents_that_are_cut_anew_with_labels_that_follow_pass_whatever_the_size() {
    for retrieval in ["", WITH_CORPUS] {
        let project = project(retrieval);
        for (size, step) in [(200, 200), (300, 200), (500, 400), (1_200, 1_000)] {
            let new = Cut { size, step };
            write_golden(&project, QUERIES, &|at| new.label(at));
            cut(&project, new, &|at| new.found(at));
            let (said, judgement) = gate(&project, 0);
            assert_eq!(judgement["verdict"], "pass", "{size}: {}", said.stdout);
            let retrieval = &judgement["retrieval"];
            assert_eq!(retrieval["counts"], json!({ "draw": QUERIES }), "{size}");
            assert_eq!(retrieval["chunker_version_match"], "fallback_doc_span");
            let told = retrieval.get("by_own_label").is_some();
            assert_eq!(told, size < 400, "{size}: {}", said.stdout);
        }
    }
}

#[test]
fn a_label_that_reaches_into_the_old_chunk_by_less_than_half_leaves_that_query_open() {
    let new = Cut {
        size: 320,
        step: 250,
    };
    let project = project("");
    write_golden(&project, QUERIES, &|at| new.label(at));
    cut(&project, new, &|at| new.found(at));
    let (said, judgement) = gate(&project, 0);
    assert_eq!(
        judgement["retrieval"]["in_part"],
        json!(["q04"]),
        "{}",
        said.stdout
    );
    assert_eq!(judgement["verdict"], "inconclusive", "{}", said.stdout);
    assert_eq!(
        judgement["reasons"][0]["code"], "unjudged",
        "{}",
        said.stdout
    );
}

#[test]
fn a_topic_that_is_lost_is_red_whatever_the_labels_of_the_new_chunks_say() {
    let new = Cut {
        size: 200,
        step: 200,
    };
    let lost = |at: usize| at < 3;
    let wrong = |at: usize| (new.piece(at) + 1_600) % LENGTH;
    // What the labels of the lost topics are edited to: another document, and another part of the same one.
    let others: [&dyn Fn(usize) -> (Option<u64>, String); 2] =
        [&|_| (None, new.name("x1", 0)), &|at| {
            (Some(wrong(at)), new.name(&doc(at), wrong(at)))
        }];
    for edited in others {
        let project = project("");
        write_golden(&project, QUERIES, &|at| match lost(at) {
            true => json!({ "expected_chunk_ids": [edited(at).1] }),
            false => new.label(at),
        });
        cut(&project, new, &|at| match lost(at) {
            true => new.answer(at, edited(at).0),
            false => new.found(at),
        });
        let (said, judgement) = gate(&project, 3);
        assert_eq!(judgement["verdict"], "regression", "{}", said.stdout);
        assert_eq!(judgement["retrieval"]["counts"]["regression"], 3);
    }
}

#[test]
fn a_part_of_a_passage_that_no_label_names_leaves_it_open_and_is_never_called_missed() {
    let new = Cut {
        size: 200,
        step: 200,
    };
    // The labels name the document alone, or chunks as they were called before.
    for retrieval in ["", WITH_CORPUS] {
        let project = project(retrieval);
        cut(&project, new, &|at| new.found(at));
        let (said, judgement) = gate(&project, 0);
        assert_eq!(judgement["verdict"], "inconclusive", "{}", said.stdout);
        let retrieval = &judgement["retrieval"];
        assert_eq!(retrieval["counts"], json!({ "open": QUERIES }));
        assert_eq!(retrieval["in_part"].as_array().map(Vec::len), Some(QUERIES));
        assert!(said.stdout.contains("expected_spans"), "{}", said.stdout);
        assert_eq!(judgement["reasons"][0]["code"], "unjudged", "{judgement}");

        // What is lost for certain is red beside it.
        cut(&project, new, &|at| match at {
            0..3 => new.answer(at, None),
            _ => new.found(at),
        });
        let (said, judgement) = gate(&project, 3);
        assert_eq!(judgement["verdict"], "regression", "{}", said.stdout);
    }
}

#[test]
fn labels_that_stay_as_they_were_are_judged_by_document_with_a_word_and_a_slip_is_an_error() {
    let project = project(WITH_CORPUS);
    let new = Cut {
        size: 1_200,
        step: 1_200,
    };
    cut(&project, new, &|at| {
        new.answer(at, Some(answer(at) / 1_200 * 1_200))
    });
    let (said, judgement) = gate(&project, 0);
    assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
    assert_eq!(
        judgement["retrieval"]["chunker_version_match"],
        "fallback_doc_span"
    );
    let shown = project.kelvin(&["check"]).expect(0);
    insta::assert_snapshot!(lines_with(&shown.stdout, &["~ 13 of 13"]), @"~ 13 of 13 queries expect chunks that the corpus does not have, and are judged");

    // Nor does it need a version: the corpus tells.
    let without_version = |at: usize| {
        let mut answer = new.answer(at, Some(answer(at) / 1_200 * 1_200));
        answer
            .as_object_mut()
            .expect("an answer")
            .remove("chunker_version");
        answer
    };
    cut(&project, new, &without_version);
    let (said, judgement) = gate(&project, 0);
    assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);

    // One of thirteen that does not exist was mistyped.
    project.write("corpus.jsonl", &OLD.corpus());
    write_golden(&project, QUERIES, &|at| match at {
        4 => json!({ "expected_chunk_ids": ["d4/800-7"] }),
        at => OLD.label(at),
    });
    let said = project.kelvin(&["check"]).expect(1);
    insta::assert_snapshot!(redacted(&said.stderr), @r#"
    error: the corpus has no chunk `d4/800-7`
     --> [TEMP]/project/golden.yaml:1:305
      |
    1 | ...0"],"id":"q03","query":"question 3"},{"expected_chunk_ids":["d4/800-7"],"id":"q04","query":"question 4"},{"expected_chunk_ids":["d...
      |                                                                ^^^^^^^^^^
    "#);
}

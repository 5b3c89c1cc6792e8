//! The answers to the queries, in the form in which the gate compares them.

use std::borrow::Cow;

use super::record::{AnswerRecord, Labels, QueryRecord, RetrievalSection, Retrieved};
use kelvin_base::digest::Fields;
use kelvin_page::safe;
use kelvin_record::{Answer, AnsweredItem, KeptText, SectionAnswers};

/// How many columns of a question, and of an expected answer, are shown.
const ASKED: usize = 200;

/// How many hits represent the answer of a pipeline that only searches: few people read further.
const HITS: usize = 3;

/// The answers of a section.
pub(super) fn section_answers(section: &RetrievalSection) -> SectionAnswers<'_> {
    let items = section.items.iter();
    SectionAnswers {
        are_endings: false,
        are_scored_outside: false,
        types: Vec::new(),
        items: items
            .map(|(id, query)| (id.as_str(), item(query)))
            .collect(),
    }
}

fn item(query: &QueryRecord) -> AnsweredItem<'_> {
    let has_question = !query.query.is_empty();
    let has_text = query.runs.iter().any(|run| run.answer.is_some());
    let expected = expected(&query.labels, has_text);
    let is_text_judged = query.labels.content || query.labels.refuse;
    AnsweredItem {
        asked: has_question.then(|| Cow::Owned(safe::cut(&query.query, ASKED))),
        is_only_compared: expected.is_none(),
        is_unjudged: expected.is_none() || has_text && !is_text_judged,
        expected: expected.map(Cow::Owned),
        itself: query.runs.iter().map(answer).collect(),
        ..AnsweredItem::default()
    }
}

/// The expected answer, if the labels have one: its text, otherwise the place where it can be found. `has_text`: whether
/// a text was answered, beside which a place alone would look like the text that is expected.
fn expected(labels: &Labels, has_text: bool) -> Option<String> {
    if labels.refuse {
        return Some("a refusal".to_owned());
    }
    let texts = labels.must_contain.iter().cloned();
    let chunks = labels.expected_chunks.keys().cloned();
    let docs = labels.expected_docs.iter().cloned();
    let spans = labels.expected_spans.iter();
    let spans = spans.map(|span| format!("{} from {} to {}", span.doc_id, span.start, span.end));
    let texts: Vec<String> = texts.collect();
    let places: [Vec<String>; 3] = [chunks.collect(), docs.collect(), spans.collect()];
    let place = || places.into_iter().find(|names| !names.is_empty());
    let told = match texts.is_empty() {
        false => texts.join(", "),
        true if has_text => format!("an answer from {}", place()?.join(", ")),
        true => place()?.join(", "),
    };
    Some(safe::cut(&told, ASKED))
}

/// The answer of a run; none if the run failed or lacks the query.
pub(super) fn answer(run: &Retrieved) -> Option<Answer> {
    run.ran().then(|| match &run.answer {
        Some(answer) => Answer::Kept(text(answer)),
        None => Answer::StandIn(hits(run)),
    })
}

/// The text of an answer. A refusal and an answer that claims to use the hits differ even if they have the same text.
fn text(answer: &AnswerRecord) -> KeptText {
    let kept = &answer.text;
    let is_empty = kept.whole() == Some("");
    let is_withheld = kept.text.is_empty() && kept.characters.is_some();
    let fields = Fields::of("kelvin/retrieval/refusal/v1");
    match answer.grounded {
        // An empty answer on a page would confuse the reader.
        true if is_empty => KeptText {
            text: "no text".into(),
            ..kept.clone()
        },
        true => kept.clone(),
        false => KeptText {
            digest: fields.field("text", kept.digest.bytes()).digest(),
            text: match (is_empty, is_withheld) {
                (true, _) => "refused".into(),
                (false, true) => format!("refused: {}", kept.shown()).into(),
                (false, false) => format!("refused: {}", kept.text).into(),
            },
            characters: kept.characters.filter(|_| !is_withheld),
        },
    }
}

/// The first hits in order.
fn hits(run: &Retrieved) -> String {
    let first = run.hits.iter().take(HITS).map(|hit| hit.name());
    match first.collect::<Vec<_>>() {
        none if none.is_empty() => "no hits".to_owned(),
        names => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hit;
    use kelvin_base::failure::{Failure, FailureKind};
    use kelvin_record::KeptTexts;

    fn given(text: &str, grounded: bool) -> Retrieved {
        Retrieved {
            answer: Some(AnswerRecord::of(text, grounded)),
            ..Retrieved::default()
        }
    }

    fn key(run: &Retrieved) -> String {
        answer(run).expect("it ran").key().into_owned()
    }

    #[test]
    fn an_answer_in_other_lines_is_the_same_one_and_a_refusal_in_the_same_words_is_none() {
        let plain = given("I do not know.", true);
        assert_eq!(key(&plain), key(&given(" I do\n not\tknow. ", true)));
        assert_ne!(key(&plain), key(&given("I do know.", true)));
        let refused = given("I do not know.", false);
        assert_ne!(key(&plain), key(&refused));
        assert_eq!(
            answer(&refused).expect("it ran").to_string(),
            "refused: I do not know."
        );
        let silent = answer(&given("", false)).expect("it ran");
        assert_eq!(silent.to_string(), "refused");
        let silent = answer(&given("", true)).expect("it ran");
        assert_eq!(silent.to_string(), "no text");
        // Where no text is kept, it is still told that it is a refusal.
        let mut withheld = refused.clone();
        withheld
            .answer
            .as_mut()
            .expect("there")
            .text
            .shorten(KeptTexts::None);
        assert_eq!(key(&withheld), key(&refused));
        let told = answer(&withheld).expect("it ran").to_string();
        assert!(told.starts_with("refused: (not kept: "), "{told}");
        // Two refusals that differ behind what is kept are two.
        let long = |end: &str| given(&format!("{}{end}", "no ".repeat(2_000)), false);
        assert_ne!(key(&long("a")), key(&long("b")));
    }

    #[test]
    fn the_first_hits_are_the_answer_where_there_is_no_other() {
        let hit = |doc: &str, chunk: Option<&str>| Hit {
            chunk_id: chunk.map(str::to_owned),
            doc_id: doc.to_owned(),
            title: None,
            score: None,
            spans: Vec::new(),
        };
        let mut run = Retrieved {
            hits: vec![
                hit("a", Some("a#1")),
                hit("b", Some("7")),
                hit("c", None),
                hit("d", None),
            ],
            ..Retrieved::default()
        };
        assert_eq!(key(&run), "a#1, b#7, c");
        run.answer = Some(AnswerRecord::of("yes", true));
        let with_answer = key(&run);
        run.hits.reverse();
        assert_eq!(key(&run), with_answer);
        assert_eq!(key(&Retrieved::default()), "no hits");
        let failure = Failure::new(FailureKind::Timeout, "it took too long");
        run.failure = Some(Box::new(failure));
        assert_eq!(answer(&run), None);
        let missing = Retrieved {
            missing: true,
            ..Retrieved::default()
        };
        assert_eq!(answer(&missing), None);
    }

    #[test]
    fn what_is_expected_is_the_text_before_the_place() {
        let mut labels = Labels {
            expected_docs: vec!["fees".to_owned(), "rules".to_owned()],
            ..Labels::default()
        };
        assert_eq!(expected(&labels, false).as_deref(), Some("fees, rules"));
        let beside_a_text = expected(&labels, true);
        assert_eq!(beside_a_text.as_deref(), Some("an answer from fees, rules"));
        labels.must_contain = vec!["fifty cents".to_owned()];
        assert_eq!(expected(&labels, true).as_deref(), Some("fifty cents"));
        labels.refuse = true;
        assert_eq!(expected(&labels, true).as_deref(), Some("a refusal"));
        assert_eq!(expected(&Labels::default(), true), None);
    }
}

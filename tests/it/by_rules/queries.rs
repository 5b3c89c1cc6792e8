//! Queries that are lost and won, each of them an item of its own.

use super::*;
use kelvin_fixtures::text::lines_with;

/// A worker that finds the document of a query at its rank: 1, or what a file says of the query; 0 is nowhere.
const SEARCH: &str = r#"
BEGIN { while ((getline < ranks) > 0) rank[$1] = $2 }
/"method": *"shutdown"/ { exit }
{
    match($0, /"id": *"[^"]*"/)
    said = "{\"jsonrpc\": \"2.0\", " substr($0, RSTART, RLENGTH) ", \"result\": "
}
/"method": *"initialize"/ { print said "{\"protocol\": 1}}" }
/"method": *"assess"/ {
    sub(/.*"params"/, "")
    match($0, /"id": *"[^"]*"/)
    id = substr($0, RSTART, RLENGTH)
    gsub(/"id": *|"/, "", id)
    at = (id in rank) ? rank[id] : 1
    hits = ""
    for (place = 1; place <= 10; place++) {
        hits = hits (place > 1 ? ", " : "") "{\"doc_id\": \"" (place == at ? "of-" id : "other-" place) "\"}"
    }
    print said "{\"hits\": [" hits "]}}"
}
{ fflush() }
"#;

/// A repository with so many queries.
fn queries(count: usize) -> Known {
    let project = Project::new("");
    fs::remove_dir_all(project.path("cases")).expect("removed");
    let golden = |at: usize| json!({"id": query(at), "query": format!("question {at}"), "expected_doc_ids": [format!("of-{}", query(at))]});
    let golden: Vec<Value> = (0..count).map(golden).collect();
    project.write("golden.yaml", &json!(golden).to_string());
    project.write("search.awk", SEARCH);
    project.write(".gitignore", "/kelvin/\n");
    project.write(
        "kelvin.yaml",
        "retrieval:\n  run: {worker: 'awk -W interactive -v ranks={root}/rule.txt -f {root}/search.awk'}\n  \
         golden: golden.yaml\njobs: 2\n",
    );
    git(
        project.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    Known {
        project,
        cases: count,
    }
}

fn query(at: usize) -> String {
    format!("q{at:03}")
}

/// The ranks of some queries, one a line; the others are found first.
fn ranks(queries: impl IntoIterator<Item = usize>, rank: usize) -> String {
    let line = |at| format!("{} {rank}\n", query(at));
    queries.into_iter().map(line).collect()
}

#[test]
fn one_query_of_fifty_four_that_is_wholly_lost_is_named_first_and_leaves_something_to_do() {
    let lost = ranks([7], 0);
    let suite = queries(54);
    for repeats in [1, 3] {
        suite.base("", repeats);
        let gated = suite.gate(&lost, &[]);
        let what = format!("{repeats} runs of the base");
        gated.leaves_something_to_do(&what).says_first(&query(7));
        // The repeats of the base tell its noise, so that more runs of the head settle it.
        let reruns = gated.judgement["reruns"].as_u64();
        assert!(
            repeats == 1 || reruns > Some(0),
            "{what}: {}",
            gated.shown()
        );
    }
    // A query that was lost before accuses nobody, and one that is found again is a gain.
    suite.base(&lost, 3);
    suite.gate(&lost, &[]).passes("lost before");
    suite.gate("", &[]).passes("found again");
}

#[test]
fn topics_that_are_lost_stay_red_where_the_labels_are_edited_to_what_is_found() {
    let few = 20;
    let edited = |lost: std::ops::Range<usize>| {
        move |project: &Project| {
            let golden: Value = serde_json::from_str(&project.read("golden.yaml")).expect("JSON");
            let mut golden = golden.as_array().expect("a list").clone();
            for entry in &mut golden[lost] {
                entry["expected_doc_ids"] = json!(["other-1"]);
            }
            project.write("golden.yaml", &json!(golden).to_string());
        }
    };
    for more in ["", "baseline: {compute: true}\n"] {
        let suite = queries(few);
        let config = suite.project.read("kelvin.yaml");
        suite.project.write("kelvin.yaml", &(config + more));
        suite.base("", 1);
        let gated = suite.gate_beside(&ranks(0..6, 0), &[], edited(0..6));
        gated.red(more).says_first("labels of 6 of 20 queries");
    }
    // The labels were wrong, and are corrected while the search stays as it is.
    let suite = queries(few);
    let right = suite.project.read("golden.yaml");
    edited(0..6)(&suite.project);
    suite.base(&ranks(0..6, 2), 1);
    let gated = suite.gate_beside(&ranks(0..6, 2), &[], |project| {
        project.write("golden.yaml", &right);
    });
    gated.passes("corrected");
    insta::assert_snapshot!(lines_with(&gated.page.replace('\u{200B}', ""), &["`retrieval.ndcg@10`"]), @"
    **This change edits the labels of 6 of 20 queries; by the labels of the base the verdict is pass, and by its own it is pass; by the labels of the base `retrieval.ndcg@10` of this change is 1.0000, and by its own it is 0.8893**
    | Ranks the relevant hits first<br>`retrieval.ndcg@10` | 1.00 | 1.00 | 0 | 20 | ✅ pass |
    ");
}

#[test]
fn thirty_one_of_a_thousand_queries_that_are_lost_while_none_is_won_are_red() {
    let suite = queries(1000);
    // As many are lost before, so that they can be won.
    let (first, second) = (ranks(100..131, 0), ranks(500..531, 0));
    suite.base(&first, 1);
    suite.gate(&second, &[]).not_red("31 lost and 31 won");
    let lost = suite.gate(&format!("{first}{second}"), &[]);
    lost.red("31 lost and none won");
}

#[test]
fn twelve_queries_won_and_one_lost_are_no_regression_and_the_lost_one_is_named() {
    let suite = queries(54);
    suite.base(&ranks(20..32, 2), 1);
    let gated = suite.gate(&ranks([7], 0), &[]);
    gated
        .not_red("12 won and 1 lost")
        .leaves_something_to_do("12 won and 1 lost");
    assert!(gated.page.contains(&query(7)), "{}", gated.page);
}

//! Graded answers: the probe, its gate, the ledger, and grading anew.

mod asked;
mod attacks;
mod example;
mod gated;
mod judges;
mod label;
mod ledger;
mod next_to_base;
mod passages;
mod rejudged;
mod run;
mod tried;

use crate::project::Project;

/// Answers every prompt with the word that its reference is.
const GOOD: &str = "sed 's/.*: //' \"$1\" > \"$2\"\n";

/// A project with so many prompts, `Say the word: word-N`, whose references are the words.
fn project(prompts: usize) -> Project {
    let project = Project::new("exit 9\n");
    let line = |at: usize| {
        format!(
            "{{\"id\": \"p{at:02}\", \"prompt\": \"Say the word: word-{at}\", \"reference\": \"word-{at}\", \"tags\": \
             [\"easy\"]}}\n"
        )
    };
    project.write("prompts.jsonl", &(0..prompts).map(line).collect::<String>());
    project.write("answer.sh", GOOD);
    configure(&project, "");
    project
}

/// Writes `kelvin.yaml` with further lines of the section and of the file.
fn configure(project: &Project, more: &str) {
    project.write(
        "kelvin.yaml",
        &format!(
            "grading:\n  prompts: prompts.jsonl\n  candidate: {{run: \"sh answer.sh {{input}} {{output}}\"}}\n  judge: \
             {{type: exact_match}}\n{more}"
        ),
    );
}

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

/// How a configuration names a pipeline of [`worker`].
const WORKER: &str = "{worker: 'awk -W interactive -f bot.awk'}";

/// A pipeline that is given each prompt, without quotes in it, in one process, and answers by the function
/// `answer(prompt)`, which returns JSON. `awk` starts in a tenth of the time of Python, and Kelvin starts a worker several times in each run. (`-W interactive`
/// lets mawk see a line before the next ones have come; other implementations pass over it.)
fn worker(answer: &str) -> String {
    format!(
        r#"
BEGIN {{
    while ((getline message) > 0 && message !~ /"method": *"shutdown"/) {{
        match(message, /"id": *"[^"]*"/)
        head = "{{\"jsonrpc\": \"2.0\", " substr(message, RSTART, RLENGTH) ", \"result\": "
        if (message ~ /"method": *"initialize"/) print head "{{\"protocol\": 1}}}}"
        else {{
            match(message, /"input": *"[^"]*"/)
            prompt = substr(message, RSTART, RLENGTH - 1)
            sub(/"input": *"/, "", prompt)
            print head answer(prompt) "}}"
        }}
        fflush()
    }}
    exit
}}
{answer}"#
    )
}

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

use std::collections::BTreeSet;
use std::fs;

use super::*;

fn shipped_words() -> Words {
    Words::load(Path::new("/nowhere"), &[], None).expect("the shipped lists load")
}

/// Loads a pack of one file.
fn pack(text: &str) -> Result<Words, String> {
    packs(&[("words.yaml", text)])
}

fn packs(files: &[(&str, &str)]) -> Result<Words, String> {
    let root = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(root.path().join("pack")).expect("a folder");
    for (name, text) in files {
        fs::write(root.path().join("pack").join(name), text).expect("written");
    }
    Words::load(root.path(), &["pack".to_owned()], None).map_err(|error| {
        let misuse = error.downcast_ref::<kelvin_base::exit::Misuse>();
        misuse.expect("bad input is a misuse").to_string()
    })
}

#[test]
fn every_list_ships_with_entries() {
    let mut words = shipped_words();
    for name in NAMES {
        let entries = match words.list(name).expect("every name is a list") {
            List::Sections(list) => list.len(),
            List::Pairs(list) => list.len(),
            List::Words(list) => list.len(),
        };
        assert!(entries > 0, "{name} is empty");
    }
    assert!(words.filler.len() >= 12);
}

#[test]
fn every_data_file_of_the_folder_is_part_of_the_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/words");
    let listed: BTreeSet<String> = pack::PACKS
        .iter()
        .flat_map(|(_, files)| *files)
        .chain(pack::DEFAULT)
        .map(|(name, _)| (*name).to_owned())
        .collect();
    let mut found = BTreeSet::new();
    for pack in fs::read_dir(folder).expect("the folder is there") {
        let pack = pack.expect("listed").path();
        for file in fs::read_dir(&pack).into_iter().flatten() {
            let file = file.expect("listed").file_name();
            let name = pack
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            found.insert(format!("{name}/{}", file.to_string_lossy()));
        }
    }
    assert_eq!(listed, found);
}

/// A section with a word like this could be taken for evidence.
#[test]
fn filler_holds_no_word_that_could_move_a_decision() {
    const LOADED: &[&str] = &[
        "approval",
        "condition",
        "conditions",
        "criteria",
        "decision",
        "eligible",
        "evidence",
        "exception",
        "forbidden",
        "limit",
        "mandatory",
        "must",
        "obligation",
        "policy",
        "require",
        "required",
        "requires",
        "requirement",
        "risk",
        "rule",
        "rules",
        "shall",
        "should",
        "threshold",
        "verdict",
        "violation",
        "waiver",
    ];
    let words = Words::load(Path::new("/nowhere"), &["legal".to_owned()], None).expect("loads");
    let phrases: Vec<String> = words
        .comparators
        .iter()
        .chain(&words.antonyms)
        .chain(&words.participles)
        .flat_map(|(one, other)| [one, other])
        .chain(&words.negations)
        .map(|phrase| phrase.to_lowercase())
        .chain(LOADED.iter().map(|word| (*word).to_owned()))
        .collect();
    for section in &words.filler {
        let plain: String = format!(" {} ", section.markdown)
            .to_lowercase()
            .replace(|c: char| !c.is_alphanumeric(), " ");
        for phrase in &phrases {
            assert!(
                !plain.contains(&format!(" {phrase} ")),
                "{phrase}: {}",
                section.heading
            );
        }
        assert!(
            !plain.contains(|c: char| c.is_ascii_digit() && c > '3'),
            "{}",
            section.heading
        );
    }
}

#[test]
fn the_legal_pack_extends_what_ships() {
    let words = Words::load(Path::new("/nowhere"), &["legal".to_owned()], None).expect("loads");
    let plain = shipped_words();
    assert!(
        words
            .antonyms
            .contains(&("shall".to_owned(), "shall not".to_owned()))
    );
    assert!(words.antonyms.starts_with(&plain.antonyms));
    assert!(words.filler.len() > plain.filler.len());
}

#[test]
fn a_list_replaces_and_extend_adds() {
    let words = pack("hedges: [maybe]\ncourtesies: {extend: [Kindly]}\n").expect("loads");
    assert_eq!(words.hedges, ["maybe"]);
    assert_eq!(words.courtesies, ["Please", "Kindly"]);
    assert_eq!(words.openers, shipped_words().openers);
}

#[test]
fn a_replaced_list_frees_its_phrases_for_other_lists_of_the_file() {
    let words = pack("participles: {extend: [[pass, flunk]]}\nantonyms: [[fit, unfit]]\n");
    assert_eq!(words.expect("loads").antonyms.len(), 1);
}

#[test]
fn filler_is_replaced_by_a_file() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let bank: String = (1..=4)
        .map(|n| format!("- heading: Note {n}\n  text: Words.\n"))
        .collect();
    fs::write(root.path().join("bank.yaml"), &bank).expect("written");
    let words = Words::load(root.path(), &[], Some("bank.yaml")).expect("loads");
    let headings: Vec<&str> = words
        .filler
        .iter()
        .map(|section| &*section.heading)
        .collect();
    assert_eq!(headings, ["Note 1", "Note 2", "Note 3", "Note 4"]);

    fs::write(
        root.path().join("bank.yaml"),
        "- heading: One\n  text: Words.\n",
    )
    .expect("written");
    let few = Words::load(root.path(), &[], Some("bank.yaml"))
        .unwrap_err()
        .to_string();
    assert!(few.contains("has 1 sections"), "{few}");
    let none = Words::load(root.path(), &[], Some("absent.yaml"))
        .unwrap_err()
        .to_string();
    assert!(none.contains("absent.yaml"), "{none}");
}

#[test]
fn what_is_wrong_with_a_pack_is_shown_with_file_and_line() {
    let message = pack("hedges: [maybe]\nantonym: [[a, b]]\n").unwrap_err();
    insta::assert_snapshot!(message, @r"
    there is no list `antonym`
     --> pack/words.yaml:2:1
      |
    2 | antonym: [[a, b]]
      | ^^^^^^^
      |
      = help: did you mean `antonyms`?
    ");
}

#[test]
fn bad_packs_are_refused() {
    let mut told = Vec::new();
    for text in [
        "- a\n",
        "",
        "hedges: maybe\n",
        "hedges: {add: [maybe]}\n",
        "hedges: {extend: maybe}\n",
        "hedges: [maybe, Maybe]\n",
        "hedges: {extend: [perhaps]}\n",
        "hedges: [12]\n",
        "hedges: ['']\n",
        "hedges: ['# so']\n",
        "courtesies: ['<b>']\n",
        "meta_comments: [so it goes]\n",
        "abbreviations: [eg]\n",
        "antonyms: [fit]\n",
        "antonyms: [[fit, unfit, fat]]\n",
        "antonyms: [[fit, Fit]]\n",
        "antonyms: [[fit, unfit], [unfit, able]]\n",
        "antonyms: [['fit.', unfit]]\n",
        "antonyms: {extend: [[met, missed]]}\n",
        "comparators: {extend: [[above, beneath]]}\n",
        "filler: [text]\n",
        "filler: [{heading: A}]\n",
        "filler: [{heading: A, text: b, colour: red}]\n",
        "filler: [{heading: '## A', text: b}]\n",
        "filler: [{heading: A, text: \"b\\n## C\"}]\n",
        "filler: [{heading: A, text: \"b\\n```\"}]\n",
        "filler: [{heading: A, text: '<!-- b'}]\n",
        "filler: []\n",
        "hedges: [a]\nhedges: [b]\n",
        "hedges: [a\n",
    ] {
        let message = pack(text).expect_err(text);
        told.push(message.to_string());
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    a file of a pack is a mapping from lists to values
    --> pack/words.yaml
     = help: its keys are: filler, comparators, number_comparators, antonyms, participles, auxiliaries, hedges, opinions, judgements, determiners, prepositions, imperatives, courtesies, discourse_markers, openers, meta_comments, negations, condition_states, abbreviations, number_labels
    a file of a pack is a mapping from lists to values
    --> pack/words.yaml
     = help: its keys are: filler, comparators, number_comparators, antonyms, participles, auxiliaries, hedges, opinions, judgements, determiners, prepositions, imperatives, courtesies, discourse_markers, openers, meta_comments, negations, condition_states, abbreviations, number_labels
    `hedges` is not a list
     --> pack/words.yaml:1:9
      |
    1 | hedges: maybe
      |         ^^^^^
      |
      = help: write `hedges: [...]` to replace the list, or `hedges: {extend: [...]}` to add to it
    `hedges` is not a list
     --> pack/words.yaml:1:9
      |
    1 | hedges: {add: [maybe]}
      |         ^
      |
      = help: write `hedges: [...]` to replace the list, or `hedges: {extend: [...]}` to add to it
    `extend` is not a list
     --> pack/words.yaml:1:18
      |
    1 | hedges: {extend: maybe}
      |                  ^^^^^
    `Maybe` is already in `hedges`, in line 1 of `pack/words.yaml`
     --> pack/words.yaml:1:17
      |
    1 | hedges: [maybe, Maybe]
      |                 ^^^^^
      |
      = help: leave one of them out
    `perhaps` is already in `hedges`, in line 6 of `default/injections.yaml`
     --> pack/words.yaml:1:19
      |
    1 | hedges: {extend: [perhaps]}
      |                   ^^^^^^^
      |
      = help: leave one of them out
    this is not text
     --> pack/words.yaml:1:10
      |
    1 | hedges: [12]
      |          ^^
      |
      = help: put words that look like numbers or mappings in quotes
    an entry is one line of text, without white space around it
     --> pack/words.yaml:1:10
      |
    1 | hedges: ['']
      |          ^^
    what is put into a text begins with a letter and has no Markdown in it
     --> pack/words.yaml:1:10
      |
    1 | hedges: ['# so']
      |          ^^^^^^
    what is put into a text begins with a letter and has no Markdown in it
     --> pack/words.yaml:1:14
      |
    1 | courtesies: ['<b>']
      |              ^^^^^
    a sentence ends with `.`, `!` or `?`
     --> pack/words.yaml:1:17
      |
    1 | meta_comments: [so it goes]
      |                 ^^^^^^^^^^
    an abbreviation ends with a full stop
     --> pack/words.yaml:1:17
      |
    1 | abbreviations: [eg]
      |                 ^^
    this is not a pair
     --> pack/words.yaml:1:12
      |
    1 | antonyms: [fit]
      |            ^^^
      |
      = help: write two opposites as `[one, other]`
    a pair has two phrases, found 3
     --> pack/words.yaml:1:12
      |
    1 | antonyms: [[fit, unfit, fat]]
      |            ^
    `fit` is not the opposite of itself
     --> pack/words.yaml:1:12
      |
    1 | antonyms: [[fit, Fit]]
      |            ^
    `unfit` is already in `antonyms`, in line 1 of `pack/words.yaml`
     --> pack/words.yaml:1:26
      |
    1 | antonyms: [[fit, unfit], [unfit, able]]
      |                          ^
      |
      = help: a phrase has one opposite: leave it out, or replace the whole list by writing it without `extend`
    `fit.` is neither words nor a sign such as `>=`
     --> pack/words.yaml:1:12
      |
    1 | antonyms: [['fit.', unfit]]
      |            ^
    `met` is already in `participles`, in line 48 of `default/antonyms.yaml`
     --> pack/words.yaml:1:21
      |
    1 | antonyms: {extend: [[met, missed]]}
      |                     ^
      |
      = help: a phrase has one opposite: leave it out, or replace the whole list by writing it without `extend`
    `above` is already in `number_comparators`, in line 32 of `default/comparators.yaml`
     --> pack/words.yaml:1:24
      |
    1 | comparators: {extend: [[above, beneath]]}
      |                        ^
      |
      = help: a phrase has one opposite: leave it out, or replace the whole list by writing it without `extend`
    this is not a section
     --> pack/words.yaml:1:10
      |
    1 | filler: [text]
      |          ^^^^
      |
      = help: a section has a `heading` and a `text`
    a section has a `heading` and a `text`
     --> pack/words.yaml:1:10
      |
    1 | filler: [{heading: A}]
      |          ^
    a section has no `colour`
     --> pack/words.yaml:1:32
      |
    1 | filler: [{heading: A, text: b, colour: red}]
      |                                ^^^^^^
      |
      = help: it has a `heading` and a `text`
    a heading begins with a letter or a digit; the `##` is added to it
     --> pack/words.yaml:1:20
      |
    1 | filler: [{heading: '## A', text: b}]
      |                    ^^^^^^
    `## C` does not stand in a filler section
     --> pack/words.yaml:1:29
      |
    1 | filler: [{heading: A, text: "b\n## C"}]
      |                             ^^^^^^^^^
      |
      = help: write plain paragraphs and lists, without headings, rules, code fences and HTML
    ````` does not stand in a filler section
     --> pack/words.yaml:1:29
      |
    1 | filler: [{heading: A, text: "b\n```"}]
      |                             ^^^^^^^^
      |
      = help: write plain paragraphs and lists, without headings, rules, code fences and HTML
    `<!-- b` does not stand in a filler section
     --> pack/words.yaml:1:29
      |
    1 | filler: [{heading: A, text: '<!-- b'}]
      |                             ^^^^^^^^
      |
      = help: write plain paragraphs and lists, without headings, rules, code fences and HTML
    the filler bank has 0 sections, and a variant may need 4
      help: add sections, each with a `heading` and a `text`
    the key `hedges` is there twice
     --> pack/words.yaml:2:1
      |
    2 | hedges: [b]
      | ^^^^^^
      |
      = help: leave one of them out
    this is not YAML: unclosed bracket '['
     --> pack/words.yaml:1:9
      |
    1 | hedges: [a
      |         ^
      |
      = help: text that begins with `{` or `[` goes in quotes
    "#);
}

#[test]
fn a_list_in_two_files_of_a_pack_is_refused() {
    let files = [
        ("a.yaml", "hedges: [maybe]\n"),
        ("b.yml", "hedges: {extend: [so]}\n"),
    ];
    let message = packs(&files).unwrap_err();
    assert!(message.contains("`pack/a.yaml`"), "{message}");
    assert!(message.contains("pack/b.yml"), "{message}");
}

#[test]
fn a_pack_that_is_not_there_is_refused() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let load = |name: &str| {
        let packs = [name.to_owned()];
        Words::load(root.path(), &packs, None)
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(load("leagl"), @"
    there is no pack `leagl`: No such file or directory (os error 2)
      help: did you mean `legal`?
    ");
    insta::assert_snapshot!(load("my-words"), @"
    there is no pack `my-words`: No such file or directory (os error 2)
      help: packs that ship: legal; anything else is a folder of YAML files, relative to the one of `kelvin.yaml`
    ");
    fs::create_dir(root.path().join("empty")).expect("a folder");
    insta::assert_snapshot!(load("empty"), @"
    the pack `empty` has no YAML files
      help: put at least one file that ends in `.yaml` into the folder
    ");
}

/// The fenced blocks of a document that are in one language.
fn blocks(document: &str, language: &str) -> Vec<String> {
    let opening = format!("```{language}\n");
    document
        .split(&opening)
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn the_examples_of_the_documentation_load_and_every_list_is_described() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/decisions.md");
    let document = fs::read_to_string(path).expect("the documentation is there");
    let (_, document) = document
        .split_once("\n## Perturbation packs\n")
        .expect("the section");
    let examples = blocks(document, "yaml");
    let [settings, words, bank] = examples.as_slice() else {
        panic!("three examples, found {}", examples.len());
    };
    assert!(
        settings.contains("packs: [legal, words/lending]"),
        "{settings}"
    );
    assert!(settings.contains("filler: words/filler.yaml"), "{settings}");

    let root = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir_all(root.path().join("words/lending")).expect("a folder");
    fs::write(root.path().join("words/lending/terms.yaml"), words).expect("written");
    fs::write(root.path().join("words/filler.yaml"), bank).expect("written");
    let packs = ["legal".to_owned(), "words/lending".to_owned()];
    let loaded = Words::load(root.path(), &packs, Some("words/filler.yaml")).expect("loads");
    assert!(
        loaded
            .antonyms
            .contains(&("performing".to_owned(), "non-performing".to_owned()))
    );
    assert_eq!(loaded.hedges, ["perhaps", "possibly"]);
    assert_eq!(loaded.filler.len(), 4);

    for name in NAMES {
        assert!(
            document.contains(&format!("| `{name}` |")),
            "{name} has no row"
        );
    }
    for (pack, _) in pack::PACKS {
        assert!(
            document.contains(&format!("`{pack}`")),
            "{pack} is not named"
        );
    }
}

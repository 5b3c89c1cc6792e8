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
    for (text, part) in [
        ("- a\n", "is a mapping"),
        ("", "is a mapping"),
        ("hedges: maybe\n", "`hedges` is not a list"),
        ("hedges: {add: [maybe]}\n", "`hedges` is not a list"),
        ("hedges: {extend: maybe}\n", "`extend` is not a list"),
        ("hedges: [maybe, Maybe]\n", "`Maybe` is already in `hedges`"),
        ("hedges: {extend: [perhaps]}\n", "default/injections.yaml"),
        ("hedges: [12]\n", "this is not text"),
        ("hedges: ['']\n", "one line of text"),
        ("hedges: ['# so']\n", "no Markdown"),
        ("courtesies: ['<b>']\n", "no Markdown"),
        ("meta_comments: [so it goes]\n", "a sentence ends"),
        ("abbreviations: [eg]\n", "ends with a full stop"),
        ("antonyms: [fit]\n", "not a pair"),
        ("antonyms: [[fit, unfit, fat]]\n", "found 3"),
        ("antonyms: [[fit, Fit]]\n", "not the opposite of itself"),
        (
            "antonyms: [[fit, unfit], [unfit, able]]\n",
            "`unfit` is already in `antonyms`",
        ),
        ("antonyms: [['fit.', unfit]]\n", "neither words nor a sign"),
        (
            "antonyms: {extend: [[met, missed]]}\n",
            "`met` is already in `participles`",
        ),
        (
            "comparators: {extend: [[above, beneath]]}\n",
            "`number_comparators`",
        ),
        ("filler: [text]\n", "not a section"),
        ("filler: [{heading: A}]\n", "a `heading` and a `text`"),
        (
            "filler: [{heading: A, text: b, colour: red}]\n",
            "no `colour`",
        ),
        (
            "filler: [{heading: '## A', text: b}]\n",
            "the `##` is added",
        ),
        (
            "filler: [{heading: A, text: \"b\\n## C\"}]\n",
            "does not stand in a filler section",
        ),
        (
            "filler: [{heading: A, text: \"b\\n```\"}]\n",
            "does not stand in a filler section",
        ),
        (
            "filler: [{heading: A, text: '<!-- b'}]\n",
            "does not stand in a filler section",
        ),
        ("filler: []\n", "the filler bank has 0 sections"),
        ("hedges: [a]\nhedges: [b]\n", "there twice"),
        ("hedges: [a\n", "not YAML"),
    ] {
        let message = pack(text).expect_err(text);
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn a_list_in_two_files_of_a_pack_is_refused() {
    let files = [
        ("a.yaml", "hedges: [maybe]\n"),
        ("b.yml", "hedges: {extend: [so]}\n"),
    ];
    let message = packs(&files).unwrap_err();
    assert!(
        message.contains("`hedges` is also in `pack/a.yaml`"),
        "{message}"
    );
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

//! Units that keep their order: the turns of a chat.

use std::collections::BTreeSet;

use super::*;

const TURNS: [&str; 4] = ["system", "user_turn", "assistant_turn", "last_user_turn"];

/// Settings for chats, with every kind that there is.
fn settings(keep_order: &[&str]) -> EvidenceSettings {
    let mut settings = fixture::settings(&["last_user_turn"]);
    settings.keep_order = keep_order.iter().map(|name| (*name).to_owned()).collect();
    let opt_in = ALL.iter().filter(|kind| !kind.is_default);
    settings.perturbations.enable = opt_in.map(|kind| kind.name.to_owned()).collect();
    settings
}

/// A chat of several turns, all with contents of their own; `notes` stand before it, in it and behind it.
fn chat(name: &str, notes: &[&str]) -> (String, String) {
    let note = |at: usize| match notes.get(at) {
        Some(note) => format!("## {note}\n\nThe {note} of {name} is long. It is fine.\n\n"),
        None => String::new(),
    };
    let text = format!(
        "{}## System\n\nYou help {name}. Answer the question.\n\n## User turn\n\nI am {name}. I have 3 dogs.\n\n{}\
         ## Assistant turn\n\nHello {name}. That is good.\n\n## User turn\n\nI said it, {name}.\n\n\
         ## Last user turn\n\nMay {name} come in?\n\n{}",
        note(0),
        note(1),
        note(2)
    );
    (name.to_owned(), text)
}

fn chats(notes: &[&str]) -> Corpus {
    let names = ["ann", "bob", "cid", "dan", "eve", "fay"];
    fixture::corpus(&names.map(|name| chat(name, notes)))
}

/// The types of a variant's units, in their order.
fn types(
    corpus: &Corpus,
    at: usize,
    settings: &EvidenceSettings,
    variant: &Variant,
) -> Vec<String> {
    let text = variant.render(corpus, at, settings);
    let case = Case::parse("v", "v.md", text).expect("a variant is a case");
    let units = case.units.iter();
    units.map(|unit| unit.unit_type.to_string()).collect()
}

#[test]
fn turns_keep_their_order_in_every_variant_of_every_kind_and_nothing_comes_between_or_behind_them()
{
    for notes in [&[][..], &["Profile"], &["Profile", "Weather", "Record"]] {
        let (corpus, settings) = (chats(notes), settings(&TURNS));
        let is_turn = |unit: &usize, at: usize| {
            settings.keeps_order(&corpus.cases[at].units[*unit].unit_type)
        };
        for (at, plan) in plans(&corpus, &settings).iter().enumerate() {
            let variants = plan.variants.iter();
            let kinds: BTreeSet<&str> = variants.map(|variant| variant.kind).collect();
            assert!(kinds.contains("pad_length") && kinds.contains("swap"));
            assert!(kinds.contains("non_governing_duplication"), "{kinds:?}");
            for variant in &plan.variants {
                let own = variant.pieces.iter().filter_map(Piece::own);
                let turns: Vec<usize> = own.filter(|unit| is_turn(unit, at)).collect();
                assert!(turns.is_sorted(), "{}: {turns:?}", variant.id);
                let types = types(&corpus, at, &settings, variant);
                let first = types.iter().position(|name| settings.keeps_order(name));
                let first = first.expect("there are turns");
                if variant.kind.starts_with("pad_") {
                    assert!(
                        variant.notes.added.iter().all(|added| added.at < first),
                        "{}: {types:?}",
                        variant.id
                    );
                }
                if variant.kind != "swap" && variant.kind != "swap_condition" {
                    let added = variant.notes.added.iter();
                    let mut added = added.map(|added| &added.unit_type);
                    assert!(
                        added.all(|name| !settings.keeps_order(name)),
                        "{}",
                        variant.id
                    );
                }
            }
        }
    }
}

#[test]
fn a_chat_of_turns_alone_is_not_reordered_nor_padded_with_other_chats_and_that_is_told() {
    let plan = plans(&chats(&[]), &settings(&TURNS)).remove(0);
    assert!(of_kind(&plan, "reorder").is_empty());
    assert_eq!(counts_of(&plan, "reorder"), (Code::Skip, Some(3), Some(0)));
    insta::assert_snapshot!(notice(&plan, "reorder").expect("told").text, @"the 5 units of the case keep their order: `keep_order`");
    assert!(of_kind(&plan, "pad_content").is_empty());
    assert_eq!(
        counts_of(&plan, "pad_content"),
        (Code::Skip, Some(3), Some(0))
    );
    insta::assert_snapshot!(notice(&plan, "pad_content").expect("told").text, @"the other cases have no unit that can come in; no unit of a type in `keep_order` comes into another case");
}

#[test]
fn what_stands_before_the_turns_changes_places_and_its_orders_are_counted() {
    let plan = plans(&chats(&["Profile", "Weather"]), &settings(&TURNS)).remove(0);
    insta::assert_snapshot!(notice(&plan, "reorder").expect("told").text, @"only 1 of the 7 units may change places, and in no other order: `keep_order`");
    let (_, turns) = chat("ann", &[]);
    let text =
        format!("## Profile\n\nx\n\n## Weather\n\ny\n\n## Record\n\nz\n\n{turns}## Note\n\nn\n");
    let mut settings = settings(&TURNS);
    settings.perturbations.variants.reorder = 9;
    let (_, plan) = plan_of(&[("ann", text.as_str())], &settings);
    assert_eq!(counts_of(&plan, "reorder"), (Code::Cap, Some(9), Some(5)));
    insta::assert_snapshot!(notice(&plan, "reorder").expect("told").text, @"3 units have only 5 other order(s): `keep_order`");
    let orders: BTreeSet<Vec<usize>> = of_kind(&plan, "reorder")
        .iter()
        .map(|variant| variant.notes.order.clone())
        .collect();
    assert_eq!(orders.len(), 5);
    for order in orders {
        assert_eq!(order[3..], [3, 4, 5, 6, 7, 8], "{order:?}");
    }
}

#[test]
fn a_filler_section_of_a_type_that_keeps_its_order_stays_out() {
    let mut settings = settings(&["user_turn", "office_hours"]);
    settings.perturbations.variants.pad_length = 9;
    let plan = plans(&chats(&[]), &settings).remove(0);
    assert_eq!(
        counts_of(&plan, "pad_length"),
        (Code::Cap, Some(5), Some(4))
    );
    let variants = of_kind(&plan, "pad_length");
    let mut added = variants.iter().flat_map(|variant| &variant.notes.added);
    assert!(added.all(|added| &*added.unit_type != "office_hours"));
}

#[test]
fn a_type_that_no_unit_of_the_case_has_changes_nothing() {
    let corpus = chats(&["Profile", "Weather"]);
    let with = plans(&corpus, &settings(&["sworn_statement"]));
    let without = plans(&corpus, &settings(&[]));
    for (with, without) in with.iter().zip(&without) {
        let inputs = |plan: &NotedPlan| -> Vec<Digest> {
            plan.variants.iter().map(|variant| variant.input).collect()
        };
        assert_eq!(inputs(with), inputs(without));
    }
}

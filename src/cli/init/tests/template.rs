//! What the written configuration says.

use std::path::Path;

use proptest::prelude::*;

use crate::cli::init::Request;
use crate::cli::init::steps;
use crate::cli::init::template::configuration;
use crate::registry::Registry;

#[test]
fn the_commented_lines_say_what_holds_anyway() {
    let plain = configuration(&Request::default());
    let file = Path::new("kelvin.yaml");
    let mut options = 0;
    let uncommented: String = plain
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(option) if option.split_once(':').is_some_and(|(key, _)| is_key(key)) => {
                options += 1;
                format!("{option}\n")
            }
            _ => format!("{line}\n"),
        })
        .collect();
    assert!(options >= 8, "{uncommented}");
    let [one, other] = [&plain, &uncommented].map(|text| {
        format!(
            "{:?}",
            Registry::shipped()
                .configured_by(text, file)
                .expect("it loads")
        )
    });
    assert_eq!(one, other);
}

fn is_key(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

proptest! {
    #[test]
    fn whatever_is_answered_the_file_says_the_same(
        before in any::<String>().prop_map(|text| text.replace(|c: char| c.is_control(), "?")),
        cases in "\\PC*[^\\s\\p{C}]\\PC*",
        field in "[^/\\s]\\PC*",
        types in proptest::collection::btree_set("[a-z0-9#:'\"%@-]{1,8}x", 0..4),
    ) {
        prop_assume!(!before.contains('$') && !before.contains('{'));
        let types: Vec<String> = types.into_iter().filter(|name| !name.starts_with('#')).collect();
        let run = format!("{before} {{input}} {{output}}");
        let said = Request {
            run: Some(run.clone()),
            cases: Some(cases.clone()),
            decision_field: Some(field.clone()),
            governing_types: types.clone(),
            ..Request::default()
        };
        let config = Registry::shipped().configured_by(&configuration(&said), Path::new("kelvin.yaml"));
        let config = config.map_err(|error| TestCaseError::fail(format!("{error:#}")))?;
        let settings = steps::settings(&config);
        prop_assert_eq!(settings.run.text(), run.trim());
        prop_assert_eq!(&settings.cases, &cases);
        prop_assert_eq!(settings.decision_field.as_str(), &*field);
        prop_assert_eq!(&settings.governing_types, &types);
    }
}

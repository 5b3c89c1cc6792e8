//! Errors as parts of sentences.

/// An error within a sentence or at its end: on a line of its own an error has its help on a second line, and here the
/// help follows behind a semicolon.
pub(crate) fn in_a_sentence(error: &anyhow::Error) -> String {
    format!("{error:#}").replace("\n  help: ", "; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;
    use kelvin_base::exit::Misuse;

    #[test]
    fn the_help_of_an_error_stays_in_its_sentence() {
        let misuse = Misuse::new("there is no file `a`").help("name another");
        let error = Err::<(), _>(misuse).context("the report is unusable");
        assert_eq!(
            in_a_sentence(&error.expect_err("an error")),
            "the report is unusable: there is no file `a`; name another"
        );
        assert_eq!(in_a_sentence(&anyhow::anyhow!("it failed")), "it failed");
    }
}

//! The supervisor of the processes that the tests of this crate start.

#[test]
#[ignore = "the other tests start it"]
fn of_the_tests() {
    kelvin_run::targets::serve_the_tests().expect("served");
}
